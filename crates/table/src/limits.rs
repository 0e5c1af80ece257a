//! DynamoDB's limits, which every backend holds to, so that none accepts what another refuses.

/// The largest item, names and values together.
pub const ITEM_BYTES_MAX: usize = 400 * 1024;

/// The longest partition key, of a table or an index.
pub const PARTITION_KEY_BYTES_MAX: usize = 2048;

/// The longest sort key, of a table or an index.
pub const SORT_KEY_BYTES_MAX: usize = 1024;

/// The longest attribute name.
pub const NAME_BYTES_MAX: usize = 64 * 1024 - 1;

/// The longest name of a key attribute.
pub const KEY_NAME_BYTES_MAX: usize = 255;

/// How deep lists and maps may lie in an attribute. The item itself is the 32nd level.
pub const VALUE_LEVELS_MAX: usize = 31;

/// How many steps a path can take into an attribute.
pub const PATH_STEPS_MAX: usize = 32;

/// How much of a partition one query reads.
pub const QUERY_BYTES_MAX: usize = 1024 * 1024;

/// The most keys of a batch or snapshot get.
pub const KEYS_MAX: usize = 100;

/// How much a snapshot get can answer.
pub const SNAPSHOT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The most legs of a transaction.
pub const LEGS_MAX: usize = 100;

/// How much a transaction can write.
pub const TRANSACTION_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The most operators and functions of a condition.
pub const CONDITION_OPERATORS_MAX: usize = 300;

/// The most alternatives of an `in`.
pub const ALTERNATIVES_MAX: usize = 100;

/// The longest expression, placeholders as they stand. It keeps an update within DynamoDB's 300 operators
/// too.
pub const EXPRESSION_BYTES_MAX: usize = 4 * 1024;

/// How much all names and values that stand behind the placeholders of one operation can have.
pub const SUBSTITUTED_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The most global indexes of a table.
pub const INDEXES_MAX: usize = 20;

/// The shortest and longest name of a table or an index.
pub const TABLE_NAME_BYTES: std::ops::RangeInclusive<usize> = 3..=255;
