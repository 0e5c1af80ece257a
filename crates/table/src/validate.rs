//! Which values and names DynamoDB refuses, whatever is stored.

use crate::limits::{NAME_BYTES_MAX, VALUE_LEVELS_MAX};
use crate::{Invalid, Value};

/// Refuses a value no attribute can have, stored or not: one that nests too deep, or with an empty
/// set or a bad name anywhere in it.
pub(crate) fn value(value: &Value) -> Result<(), Invalid> {
    if value.nests_within(VALUE_LEVELS_MAX) { parts(value) } else { Err(Invalid::TooDeep) }
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
