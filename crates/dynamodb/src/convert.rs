//! Values, items and placeholders as the SDK has them.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use latchkey_table::render::Placeholders;
use latchkey_table::{Item, Map, Number, Text, Value};

/// An answer of the service that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Foreign;

/// An item as the SDK has it.
pub(crate) type SdkItem = HashMap<String, AttributeValue>;

pub(crate) fn to_value(value: Value) -> AttributeValue {
    match value {
        Value::Text(text) => AttributeValue::S(text.into_string()),
        Value::Number(number) => AttributeValue::N(number.to_string()),
        Value::Bytes(bytes) => AttributeValue::B(Blob::new(bytes)),
        Value::Bool(value) => AttributeValue::Bool(value),
        Value::Null => AttributeValue::Null(true),
        Value::List(values) => AttributeValue::L(values.into_iter().map(to_value).collect()),
        Value::Map(map) => AttributeValue::M(to_item(map)),
        Value::TextSet(set) => AttributeValue::Ss(set.into_iter().map(Text::into_string).collect()),
        Value::NumberSet(set) => {
            AttributeValue::Ns(set.into_iter().map(|number| number.to_string()).collect())
        }
        Value::BytesSet(set) => AttributeValue::Bs(set.into_iter().map(Blob::new).collect()),
    }
}

pub(crate) fn to_item(item: Item) -> SdkItem {
    item.into_iter().map(|(name, value)| (name.into_string(), to_value(value))).collect()
}

pub(crate) fn from_value(value: AttributeValue) -> Result<Value, Foreign> {
    let number = |text: String| text.parse::<Number>().map_err(|_| Foreign);
    Ok(match value {
        AttributeValue::S(text) => Value::Text(text.into()),
        AttributeValue::N(text) => Value::Number(number(text)?),
        AttributeValue::B(bytes) => Value::Bytes(bytes.into_inner()),
        AttributeValue::Bool(value) => Value::Bool(value),
        AttributeValue::Null(_) => Value::Null,
        AttributeValue::L(values) => {
            Value::List(values.into_iter().map(from_value).collect::<Result<_, _>>()?)
        }
        AttributeValue::M(map) => Value::Map(from_item(map)?),
        AttributeValue::Ss(set) => Value::TextSet(set.into_iter().map(Text::from).collect()),
        AttributeValue::Ns(set) => {
            Value::NumberSet(set.into_iter().map(number).collect::<Result<BTreeSet<_>, _>>()?)
        }
        AttributeValue::Bs(set) => Value::BytesSet(set.into_iter().map(Blob::into_inner).collect()),
        _ => return Err(Foreign),
    })
}

pub(crate) fn from_item(item: SdkItem) -> Result<Item, Foreign> {
    let pairs: Result<Vec<(Text, Value)>, Foreign> =
        item.into_iter().map(|(name, value)| Ok((name.into(), from_value(value)?))).collect();
    Ok(pairs?.into_iter().collect::<Map>())
}

/// The names, unless there are none: an empty map is refused.
pub(crate) fn names(placeholders: &Placeholders) -> Option<HashMap<String, String>> {
    let names = placeholders.names.iter();
    let names: HashMap<String, String> =
        names.map(|(placeholder, name)| (placeholder.clone(), name.to_string())).collect();
    (!names.is_empty()).then_some(names)
}

/// The values, unless there are none.
pub(crate) fn values(placeholders: Placeholders) -> Option<HashMap<String, AttributeValue>> {
    let values: HashMap<String, AttributeValue> = placeholders
        .values
        .into_iter()
        .map(|(placeholder, value)| (placeholder, to_value(value)))
        .collect();
    (!values.is_empty()).then_some(values)
}
