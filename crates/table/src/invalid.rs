//! What is wrong with a request no backend would carry out.

use crate::{KeyNames, NumberError, Text, ValueType, limits};

/// Why a request, or what it would leave behind, is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each says what it and its fields are")]
pub enum Invalid {
    #[error("a name of {bytes} bytes: an attribute's has 1 to {}", limits::NAME_BYTES_MAX)]
    Name { bytes: usize },
    #[error("a path of {steps} steps: the most is {}", limits::PATH_STEPS_MAX)]
    PathSteps { steps: usize },
    #[error("a value that nests more than {} levels deep", limits::VALUE_LEVELS_MAX)]
    TooDeep,
    #[error("an empty set")]
    EmptySet,
    #[error("an item of {bytes} bytes: the most is {}", limits::ITEM_BYTES_MAX)]
    ItemSize { bytes: usize },
    #[error("the item does not have its key: {names}")]
    NoKey { names: KeyNames },
    #[error("a partition key of {bytes} bytes: it has 1 to {}", limits::PARTITION_KEY_BYTES_MAX)]
    PartitionKey { bytes: usize },
    #[error("a sort key of {bytes} bytes: it has 1 to {}", limits::SORT_KEY_BYTES_MAX)]
    SortKey { bytes: usize },
    #[error("a range of sort keys, or a sort key, where there is none")]
    NoSortKey,
    #[error("the key `{name}` is a number, and this is none")]
    NumberKey { name: Text },
    #[error(
        "`{name}` is a key of index `{index}`, and the value is not of its type or not of fitting length"
    )]
    IndexKey { index: Text, name: Text },
    #[error("the stored item `{item}` cannot be in the table: {reason}")]
    Stored { item: String, reason: Box<Invalid> },
    #[error("`{name}` is part of the key, which an update cannot change")]
    ChangesKey { name: Text },
    #[error("`{name}` is a key of the query, which a filter cannot test")]
    FiltersKey { name: Text },
    #[error("`{name}` cannot be the name of a key attribute")]
    KeyName { name: Text },
    #[error(
        "`{name}` cannot be the name of a table or index: 3 to 255 of `A-Z a-z 0-9 _ - .`, no two alike"
    )]
    TableName { name: Text },
    #[error("{count} indexes: the most is {}", limits::INDEXES_MAX)]
    TooManyIndexes { count: usize },
    #[error(
        "index `{index}` holds too many attributes: the most is {}, and {} in all indexes of a table",
        limits::PROJECTED_INDEX_MAX,
        limits::PROJECTED_MAX
    )]
    Projected { index: Text },
    #[error("the table has no index `{name}`")]
    NoIndex { name: Text },
    #[error("index `{name}` cannot be read strongly")]
    StrongIndex { name: Text },
    #[error("table `{name}` exists with another key: {key}")]
    OtherKey { name: Text, key: KeyNames },
    #[error("table `{name}` was opened with other keys or indexes than the request assumes")]
    OtherSchema { name: Text },

    #[error("a condition of more than {} operators", limits::CONDITION_OPERATORS_MAX)]
    ConditionTooLarge,
    #[error("an `and` or `or` of nothing")]
    EmptyCondition,
    #[error("{count} alternatives: there are 1 to {}", limits::ALTERNATIVES_MAX)]
    Alternatives { count: usize },
    #[error("values of type {found} have no order")]
    Unordered { found: ValueType },
    #[error("a prefix of type {found}")]
    Prefix { found: ValueType },
    #[error("the lower bound is above the upper, or of another type")]
    ReversedBounds,
    #[error("`{path}` is compared with itself")]
    SameOperand { path: String },

    #[error(
        "a condition or an update of more than {} bytes, as DynamoDB writes it: test or change fewer attributes at once",
        limits::EXPRESSION_BYTES_MAX
    )]
    ExpressionSize,
    #[error(
        "names and values of {bytes} bytes in a condition or an update: the most is {}",
        limits::SUBSTITUTED_BYTES_MAX
    )]
    SubstitutedSize { bytes: usize },
    #[error("a sum or a list within another: an update computes one of them for each attribute")]
    Nested,
    #[error("an update of a transaction without an action")]
    NoActions,
    #[error("`{one}` and `{other}` overlap in one update")]
    OverlappingPaths { one: String, other: String },
    #[error("`{path}` lies in nothing that is stored")]
    Path { path: String },
    #[error("there is no `{path}` to compute with")]
    MissingOperand { path: String },
    #[error("an operand of type {found} does not fit")]
    Operand { found: ValueType },
    #[error(transparent)]
    Number(#[from] NumberError),
    #[error("the service refused it: {message}")]
    Service { message: String },

    #[error("a limit of 0, or of more items than one request can ask for")]
    Limit,
    #[error("the resume key is not of this query")]
    Resume,
    #[error("{count} keys: there are 1 to {}", limits::KEYS_MAX)]
    Keys { count: usize },
    #[error("{count} items in one batch: the most is {}", limits::BATCH_ITEMS_MAX)]
    BatchItems { count: usize },
    #[error("{count} legs: a transaction has 1 to {}", limits::LEGS_MAX)]
    Legs { count: usize },
    #[error("two parts of the request are on one item")]
    SameItem,
    #[error("a transaction of {bytes} bytes: the most is {}", limits::TRANSACTION_BYTES_MAX)]
    TransactionSize { bytes: usize },
    #[error("{bytes} bytes in one snapshot: the most is {}", limits::SNAPSHOT_BYTES_MAX)]
    SnapshotSize { bytes: usize },
}
