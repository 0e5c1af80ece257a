//! The names of attributes that a table itself uses.

/// The attribute by which DynamoDB removes expired items (TTL), in seconds since 1970.
pub const EXPIRY_ATTRIBUTE: &str = "expires";

/// The attributes that hold the partition key and the sort key of a table, or of one of its indexes.
pub fn key_attributes(index: Option<&str>) -> [String; 2] {
    ["PK", "SK"].map(|part| format!("{}{part}", index.unwrap_or("")))
}
