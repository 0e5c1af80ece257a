//! DynamoDB's limits, which every backend holds to, so that none accepts what another refuses; and the limits
//! of queues, which the check, the runtime and the queues must mean alike.

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

/// How many bytes one read unit reads.
pub const READ_UNIT_BYTES: usize = 4 * 1024;

/// How many bytes one write unit writes.
pub const WRITE_UNIT_BYTES: usize = 1024;

/// How many read units one partition has a second.
pub const PARTITION_READ_UNITS: u64 = 3_000;

/// How many write units one partition has a second.
pub const PARTITION_WRITE_UNITS: u64 = 1_000;

/// How much of a partition one query reads.
pub const QUERY_BYTES_MAX: usize = 1024 * 1024;

/// The most keys of a batch or snapshot get.
pub const KEYS_MAX: usize = 100;

/// The most items of one batch of puts.
pub const BATCH_ITEMS_MAX: usize = 25;

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

/// The most attributes that an index lists beside its keys.
pub const PROJECTED_INDEX_MAX: usize = 20;

/// The most attributes that all indexes of a table list.
pub const PROJECTED_MAX: usize = 100;

/// The shortest and longest name of a table or an index.
pub const TABLE_NAME_BYTES: std::ops::RangeInclusive<usize> = 3..=255;

/// The largest body of a message, as DynamoDB counts a map; SQS has the same limit for its texts.
pub const MESSAGE_BYTES_MAX: usize = 256 * 1024;

/// Over how many partitions the outbox of a queue is spread.
pub const OUTBOX_SHARDS: u64 = 16;

/// The longest class of a failure that is kept.
pub const FAILURE_CLASS_BYTES_MAX: usize = 32;

/// The longest code of a failure that is kept.
pub const FAILURE_CODE_BYTES_MAX: usize = 128;

/// The longest message of a failure that is kept.
pub const FAILURE_MESSAGE_BYTES_MAX: usize = 1024;

/// How many items past their end one query passes over, at most. A page that has met more ends there.
pub const ENDED_ITEMS_MAX: usize = 300;

/// How long an item stays after its end before it is removed, in seconds: longer than any call runs, so that nothing
/// vanishes under a call.
pub const ENDED_SECONDS_KEPT: i64 = 5 * 60;

/// How long a contract may answer from what an earlier call has read, in seconds.
pub const CACHE_SECONDS_MAX: u32 = 24 * 60 * 60;

/// The most calls that a `limit` may state, in its time and at once.
pub const LIMIT_CALLS_MAX: u32 = 1_000_000;
