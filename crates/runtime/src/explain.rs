//! What a contract asks of the table, before there are values.

/// x
pub fn explain() {}
