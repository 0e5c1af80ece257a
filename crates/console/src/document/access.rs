//! What a contract asks of the table, as the row of a table: the operation, where, and by which keys.
//!
//! It is read from the requests that `explain` renders, so it cannot differ from what is done.

use latchkey_model::Model;
use latchkey_model::model::{By, EntityId, KeyNames, Template};
use latchkey_runtime::Asked;
use serde_json::Value;

/// What keys of Latchkey itself begin with: the record of a call, a message that waits.
const OWN: &str = "LATCHKEY#";

/// One access to the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Access {
    /// DynamoDB's name of the operation, or of the leg of a transaction.
    pub(crate) operation: &'static str,
    /// The index, if it is not the table itself.
    pub(crate) index: Option<String>,
    /// The entity, where the keys tell.
    pub(crate) entity: Option<EntityId>,
    /// The partition.
    pub(crate) partition: String,
    /// The condition on the sort key; empty where there is none.
    pub(crate) sort: String,
    /// How fresh a read is; empty for a write.
    pub(crate) consistency: &'static str,
}

/// The accesses of a contract's requests, each once, without those of Latchkey itself.
///
/// `queried` are the entities that the contract's queries read.
pub(crate) fn accesses(model: &Model, requests: &[Asked], queried: &[EntityId]) -> Vec<Access> {
    let mut all: Vec<Access> = Vec::new();
    for asked in requests {
        for access in of(model, asked, queried) {
            if access.partition.starts_with(OWN) {
                continue;
            }
            let same = |other: &&mut Access| {
                Access { consistency: other.consistency, ..access.clone() } == **other
            };
            match all.iter_mut().find(same) {
                Some(other) if other.consistency != access.consistency => {
                    other.consistency = "either, as asked"
                }
                Some(_) => {}
                None => all.push(access),
            }
        }
    }
    all
}

fn of(model: &Model, asked: &Asked, queried: &[EntityId]) -> Vec<Access> {
    // What explain renders is JSON; were it not, it could not be told here, and is shown as it is beside.
    let Ok(whole) = serde_json::from_str::<Value>(&asked.json) else { return Vec::new() };
    let request = whole.get(asked.operation).unwrap_or(&whole);
    match asked.operation {
        "Query" => query(model, request, queried).into_iter().collect(),
        "TransactGetItems" => {
            let items = request.get("TransactItems").and_then(Value::as_array);
            let keys = items.into_iter().flatten().filter_map(|item| item.get("Get")?.get("Key"));
            keys.filter_map(|key| keyed(model, asked.operation, key, "snapshot")).collect()
        }
        "BatchGetItem" => batch(model, request).into_iter().collect(),
        operation => {
            let key = request.get("Key").or_else(|| request.get("Item"));
            let fresh = if operation == "GetItem" { freshness(request) } else { "" };
            key.and_then(|key| keyed(model, operation_name(asked), key, fresh))
                .into_iter()
                .collect()
        }
    }
}

/// The name of an operation; a leg is one of a transaction.
fn operation_name(asked: &Asked) -> &'static str {
    match asked.operation {
        "Put" => "transact Put",
        "Update" => "transact Update",
        "Delete" => "transact Delete",
        "ConditionCheck" => "transact ConditionCheck",
        other => other,
    }
}

fn freshness(request: &Value) -> &'static str {
    match request.get("ConsistentRead").and_then(Value::as_bool) {
        Some(true) => "strong",
        _ => "eventual",
    }
}

/// An access to one item.
fn keyed(
    model: &Model,
    operation: &'static str,
    key: &Value,
    consistency: &'static str,
) -> Option<Access> {
    let (partition, sort) = key_of(&model.table.key, key)?;
    let told = key.get(&model.table.discriminator).and_then(plain);
    let told = told.and_then(|told| model.entities.position(|entity| entity.discriminator == told));
    let entity = told.or_else(|| entity_of(model, &partition, &sort));
    let named = model.table.key.sort.as_ref().map(|attribute| attribute.name.as_str());
    let sort = match named {
        Some(name) => format!("{name} = \"{sort}\""),
        None => String::new(),
    };
    Some(Access { operation, index: None, entity, partition, sort, consistency })
}

/// The texts of a key.
fn key_of(names: &KeyNames, key: &Value) -> Option<(String, String)> {
    let partition = key.get(&names.partition.name).and_then(plain)?;
    let sort = names.sort.as_ref().and_then(|sort| key.get(&sort.name)).and_then(plain);
    Some((partition, sort.unwrap_or_default()))
}

/// An access to several items of one kind.
fn batch(model: &Model, request: &Value) -> Option<Access> {
    let (_, table) = request.get("RequestItems")?.as_object()?.iter().next()?;
    let keys = table.get("Keys")?.as_array()?;
    let mut access = keyed(model, "BatchGetItem", keys.first()?, freshness(table))?;
    let (partition, sort) = key_of(&model.table.key, keys.last()?)?;
    if keys.len() > 1 && partition != access.partition {
        access.partition = format!("{} … {partition}", access.partition);
    } else if keys.len() > 1 {
        access.sort = format!("{} … {sort}", access.sort);
    }
    Some(access)
}

/// A range.
fn query(model: &Model, request: &Value, queried: &[EntityId]) -> Option<Access> {
    let condition = request.get("KeyConditionExpression")?.as_str()?;
    let (partition, sort) = match condition.split_once(" AND ") {
        Some((partition, sort)) => (partition, sort),
        None => (condition, ""),
    };
    let value = partition.split_once(" = ")?.1;
    let partition = plain(request.get("ExpressionAttributeValues")?.get(value)?)?;
    let index = request.get("IndexName").and_then(Value::as_str).map(str::to_owned);
    let starts = texts(request, sort);
    let entity = ranged(model, index.as_deref(), &partition, &starts, queried);
    let sort = filled(request, sort);
    Some(Access {
        operation: "Query",
        index,
        entity,
        partition,
        sort,
        consistency: freshness(request),
    })
}

/// The value of an attribute, as a person writes it.
fn plain(value: &Value) -> Option<String> {
    let (_, value) = value.as_object()?.iter().next()?;
    Some(match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

/// The texts that a condition names.
fn texts(request: &Value, condition: &str) -> Vec<String> {
    let words = condition.split([' ', ',', '(', ')']).filter(|word| word.starts_with(':'));
    let values = request.get("ExpressionAttributeValues");
    words.filter_map(|word| plain(values?.get(word)?)).collect()
}

/// A condition with its names and values in their places.
fn filled(request: &Value, condition: &str) -> String {
    let mut out = String::new();
    for part in condition.split_inclusive([' ', ',', '(', ')']) {
        let word = part.trim_end_matches([' ', ',', '(', ')']);
        let rest = part.strip_prefix(word).unwrap_or_default();
        let name =
            request.get("ExpressionAttributeNames").and_then(|names| names.get(word)?.as_str());
        let value =
            request.get("ExpressionAttributeValues").and_then(|values| plain(values.get(word)?));
        match (name, value) {
            (Some(name), _) => out.push_str(name),
            (None, Some(value)) => out.push_str(&format!("\"{value}\"")),
            (None, None) => out.push_str(word),
        }
        out.push_str(rest);
    }
    out
}

/// A key without what is in its holes.
pub(crate) fn outline(text: &str) -> String {
    let (mut out, mut depth) = (String::new(), 0usize);
    for c in text.chars() {
        match c {
            '{' => {
                depth += 1;
                out.push(c);
            }
            '}' => {
                depth = depth.saturating_sub(1);
                out.push(c);
            }
            c if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out
}

/// The one entity whose items have such keys.
fn entity_of(model: &Model, partition: &str, sort: &str) -> Option<EntityId> {
    let like = |template: &Template, text: &str| outline(&template.to_string()) == outline(text);
    let has_sort = model.table.key.sort.is_some();
    only(model.entities.enumerate().filter_map(|(id, entity)| {
        let key = &entity.key;
        (like(&key.partition, partition) && (!has_sort || like(&key.sort, sort))).then_some(id)
    }))
}

/// The one entity whose items lie in a range.
fn ranged(
    model: &Model,
    index: Option<&str>,
    partition: &str,
    texts: &[String],
    queried: &[EntityId],
) -> Option<EntityId> {
    let by = match index {
        None => By::Table,
        Some(name) => By::Index(model.indexes.position(|index| index.name == name)?),
    };
    let starts: Vec<String> = texts.iter().map(|text| before_hole(text).to_owned()).collect();
    let first = starts.first().map_or("", String::as_str);
    let common: String = first
        .chars()
        .enumerate()
        .take_while(|(at, c)| starts.iter().all(|start| start.chars().nth(*at) == Some(*c)))
        .map(|(_, c)| c)
        .collect();
    only(model.entities.enumerate().filter_map(|(id, entity)| {
        let place = entity.place(by).filter(|_| queried.contains(&id))?;
        let sort = place.sort.to_string();
        let same = outline(&place.partition.to_string()) == outline(partition);
        (same && before_hole(&sort).starts_with(common.as_str())).then_some(id)
    }))
}

/// The text of a key up to its first value.
fn before_hole(text: &str) -> &str {
    text.split('{').next().unwrap_or_default()
}

fn only(mut all: impl Iterator<Item = EntityId>) -> Option<EntityId> {
    let first = all.next()?;
    all.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_filled_in() {
        let request = serde_json::json!({
            "ExpressionAttributeNames": { "#n0": "PK", "#n1": "SK" },
            "ExpressionAttributeValues": { ":v0": { "S": "A#{a}" }, ":v1": { "S": "B#" }, ":v2": { "N": "7" } },
        });
        assert_eq!(filled(&request, "begins_with(#n1, :v1)"), "begins_with(SK, \"B#\")");
        assert_eq!(filled(&request, "#n1 BETWEEN :v1 AND :v2"), "SK BETWEEN \"B#\" AND \"7\"");
    }

    #[test]
    fn the_outline_of_a_key_has_no_names() {
        assert_eq!(outline("A#{a.b}#{c:02}x"), "A#{}#{}x");
    }
}
