//! Which values and names DynamoDB refuses, whatever is stored.

use crate::limits::{
    NAME_BYTES_MAX, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX, VALUE_LEVELS_MAX,
};
use crate::{Datum, Invalid, KeyText, Value, View};

/// Refuses a value no attribute can have, stored or not: one that nests too deep, or with an empty
/// set or a bad name anywhere in it.
pub(crate) fn value<V: Datum>(value: &V) -> Result<(), Invalid> {
    match value.view() {
        View::Value(value) if value.nests_within(VALUE_LEVELS_MAX) => parts(value),
        View::Value(_) => Err(Invalid::TooDeep),
        // What is not known yet is validated once it is.
        View::Name(..) | View::Map(_) => Ok(()),
    }
}

/// Refuses a partition key that is empty or too long.
pub(crate) fn partition(key: &impl KeyText) -> Result<(), Invalid> {
    match key.key_bytes() {
        None | Some(1..=PARTITION_KEY_BYTES_MAX) => Ok(()),
        Some(bytes) => Err(Invalid::PartitionKey { bytes }),
    }
}

/// Refuses a sort key that is empty or too long.
pub(crate) fn sort(key: &impl KeyText) -> Result<(), Invalid> {
    match key.key_bytes() {
        None | Some(1..=SORT_KEY_BYTES_MAX) => Ok(()),
        Some(bytes) => Err(Invalid::SortKey { bytes }),
    }
}

/// The value is known not to nest too deep, which bounds the walk.
fn parts(value: &Value) -> Result<(), Invalid> {
    let empty = match value {
        Value::TextSet(set) => set.is_empty(),
        Value::NumberSet(set) => set.is_empty(),
        Value::BytesSet(set) => set.is_empty(),
        Value::List(list) => return list.iter().try_for_each(parts),
        Value::Map(map) => {
            return map.iter().try_for_each(|(entry, value)| {
                name(entry)?;
                parts(value)
            });
        }
        Value::Text(_) | Value::Number(_) | Value::Bytes(_) | Value::Bool(_) | Value::Null => false,
    };
    if empty { Err(Invalid::EmptySet) } else { Ok(()) }
}

/// Refuses a name no attribute, nor an entry of a map, can have.
pub(crate) fn name(name: &str) -> Result<(), Invalid> {
    match name.len() {
        1..=NAME_BYTES_MAX => Ok(()),
        bytes => Err(Invalid::Name { bytes }),
    }
}
