//! The names that belong to the table itself, or to the server.

/// The attribute by which DynamoDB removes expired items (TTL), in seconds since 1970.
pub const EXPIRY_ATTRIBUTE: &str = "expires";

/// The attribute that tells an item from another that stood, or will stand, in its place: a text that no two items
/// share. No attribute of a document has this name, because none has a `#`, and no key of its table may have it.
pub const INCARNATION_ATTRIBUTE: &str = "LATCHKEY#MADE";

/// The longest text in [`INCARNATION_ATTRIBUTE`]: a ULID, a dot, and a number of four digits.
pub const INCARNATION_BYTES_MAX: usize = 31;

/// The attributes of Latchkey's own items, beside keys, type and expiry. An index that has one of them as its key would
/// hold such items, or refuse them.
pub const OWN_ATTRIBUTES: [&str; 20] = [
    "given",
    "claim",
    "status",
    "body",
    "etag",
    "at",
    "id",
    "sentAt",
    "dueAt",
    "send",
    "kept",
    "tries",
    "lease",
    "againAt",
    "putOffSince",
    "claimedUntil",
    "diedAt",
    "failureClass",
    "failureCode",
    "failureMessage",
];

/// The path of the OpenAPI document.
pub const OPENAPI_PATH: &str = "openapi.json";

/// The paths that a server answers itself, without the slash before them. No contract may have one of them.
pub const SERVER_PATHS: [&str; 4] = ["health", "ready", "metrics", OPENAPI_PATH];

/// What the name of the table of Latchkey's own items ends in, where these cannot be among those of a document.
pub const OWN_TABLE_SUFFIX: &str = "-latchkey";

/// The attributes that hold the partition key and the sort key of a table, or of one of its indexes.
pub fn key_attributes(index: Option<&str>) -> [String; 2] {
    ["PK", "SK"].map(|part| format!("{}{part}", index.unwrap_or("")))
}
