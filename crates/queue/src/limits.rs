//! What a queue bounds, beside what every layer knows: [`latchkey_value::limits`].

/// The longest name of a queue: SQS allows 80, five of which a FIFO queue's suffix takes.
pub const NAME_BYTES_MAX: usize = 75;

/// The most messages one `receive` of the embedded queue gives.
pub const RECEIVE_MAX: usize = 50;

/// The most messages that are looked at or moved in one step of upkeep.
pub const PAGE_MAX: usize = 100;

/// How far messages are counted: beyond, a depth says “10,000+”.
pub const COUNT_MAX: u64 = 10_000;

/// How many queries one count takes at most, each of at most 1 MB.
pub const COUNT_QUERIES_MAX: usize = 16;

/// The longest a message waits before it is tried again, in milliseconds.
pub const PAUSE_MS_MAX: i64 = 5 * 60 * 1_000;

/// How long a dead letter is kept, in seconds: 30 days.
pub const LETTER_SECONDS_KEPT: i64 = 30 * 24 * 60 * 60;

/// The latest time a message can be due: past the year 9999, and of as many digits as every time has.
pub const TIME_MAX: i64 = 999_999_999_999_999;
