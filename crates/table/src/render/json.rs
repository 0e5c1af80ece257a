//! Renderings as the JSON of DynamoDB's low-level API.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latchkey_value::json::write_text;

use super::{
    BatchGetItem, ConditionCheck, DeleteItem, GetItem, Placeholders, PutItem, Query, Rendered,
    ReturnValues, Scan, TransactGetItems, TransactWriteItem, TransactWriteItems, UpdateItem,
};
use crate::{Datum, Map, Value, View};

/// A list or object that ends within so many columns stays on one line.
const COLUMNS_MAX: usize = 80;

/// How far a leg is indented within its transaction.
const LEG_COLUMNS: usize = 4;

enum Json<'a> {
    Text(Cow<'a, str>),
    /// What stands without quotes.
    Bare(String),
    List(Vec<Json<'a>>),
    Object(Vec<(&'a str, Json<'a>)>),
    /// The object an operation or a leg is, each member on a line of its own.
    Body(Vec<(&'a str, Json<'a>)>),
}

impl<V: Datum> Rendered<V> {
    /// The body of the operation as the low-level API takes it, indented, without a newline at the end.
    pub fn to_json(&self) -> String {
        let json = match self {
            Rendered::GetItem(get) => get_item(get),
            Rendered::BatchGetItem(get) => batch_get_item(get),
            Rendered::TransactGetItems(get) => transact_get_items(get),
            Rendered::Query(query) => self::query(query),
            Rendered::Scan(scan) => self::scan(scan),
            Rendered::PutItem(put) => put_item(put),
            Rendered::UpdateItem(update) => update_item(update),
            Rendered::DeleteItem(delete) => delete_item(delete),
            Rendered::TransactWriteItems(transact) => transact_write_items(transact),
        };
        json.lines(COLUMNS_MAX)
    }
}

impl<V: Datum> TransactWriteItem<V> {
    /// The leg as one of a transaction's, indented as if it stood alone. Its lines break where they break
    /// within [`Rendered::to_json`].
    pub fn to_json(&self) -> String {
        leg(self).lines(COLUMNS_MAX - LEG_COLUMNS)
    }
}

fn get_item<V: Datum>(get: &GetItem<V>) -> Json<'_> {
    Json::Body(vec![
        ("TableName", text(&get.table_name)),
        ("Key", item(&get.key)),
        ("ConsistentRead", bare(get.consistent_read)),
    ])
}

fn batch_get_item<V: Datum>(get: &BatchGetItem<V>) -> Json<'_> {
    let of_table = Json::Body(vec![
        ("Keys", Json::List(get.keys.iter().map(item).collect())),
        ("ConsistentRead", bare(get.consistent_read)),
    ]);
    Json::Body(vec![("RequestItems", Json::Object(vec![(&get.table_name, of_table)]))])
}

fn transact_get_items<V: Datum>(get: &TransactGetItems<V>) -> Json<'_> {
    let leg = |key| {
        let leg = vec![("TableName", text(&get.table_name)), ("Key", item(key))];
        Json::Object(vec![("Get", Json::Body(leg))])
    };
    Json::Body(vec![("TransactItems", Json::List(get.keys.iter().map(leg).collect()))])
}

fn query<V: Datum>(query: &Query<V>) -> Json<'_> {
    let [names, values] = placeholders(&query.placeholders);
    body([
        ("TableName", Some(text(&query.table_name))),
        ("IndexName", query.index_name.as_deref().map(text)),
        ("KeyConditionExpression", Some(text(&query.key_condition))),
        ("FilterExpression", query.filter.as_deref().map(text)),
        names,
        values,
        ("ScanIndexForward", Some(bare(query.scan_index_forward))),
        ("Limit", query.limit.map(bare)),
        ("ExclusiveStartKey", query.exclusive_start_key.as_ref().map(item)),
        ("ConsistentRead", Some(bare(query.consistent_read))),
    ])
}

fn scan<V: Datum>(scan: &Scan<V>) -> Json<'_> {
    let [names, values] = placeholders(&scan.placeholders);
    body([
        ("TableName", Some(text(&scan.table_name))),
        ("IndexName", Some(text(&scan.index_name))),
        ("FilterExpression", scan.filter.as_deref().map(text)),
        names,
        values,
        ("Limit", scan.limit.map(bare)),
        ("ExclusiveStartKey", scan.exclusive_start_key.as_ref().map(item)),
    ])
}

fn put_item<V: Datum>(put: &PutItem<V>) -> Json<'_> {
    let [names, values] = placeholders(&put.placeholders);
    body([
        ("TableName", Some(text(&put.table_name))),
        ("Item", Some(item(&put.item))),
        ("ConditionExpression", put.condition.as_deref().map(text)),
        names,
        values,
        ("ReturnValues", put.return_values.map(code)),
        on_failure(put.return_values_on_condition_check_failure),
    ])
}

fn update_item<V: Datum>(update: &UpdateItem<V>) -> Json<'_> {
    let [names, values] = placeholders(&update.placeholders);
    body([
        ("TableName", Some(text(&update.table_name))),
        ("Key", Some(item(&update.key))),
        ("UpdateExpression", update.update.as_deref().map(text)),
        ("ConditionExpression", update.condition.as_deref().map(text)),
        names,
        values,
        ("ReturnValues", update.return_values.map(code)),
        on_failure(update.return_values_on_condition_check_failure),
    ])
}

fn delete_item<V: Datum>(delete: &DeleteItem<V>) -> Json<'_> {
    let [names, values] = placeholders(&delete.placeholders);
    body([
        ("TableName", Some(text(&delete.table_name))),
        ("Key", Some(item(&delete.key))),
        ("ConditionExpression", delete.condition.as_deref().map(text)),
        names,
        values,
        ("ReturnValues", delete.return_values.map(code)),
        on_failure(delete.return_values_on_condition_check_failure),
    ])
}

fn condition_check<V: Datum>(check: &ConditionCheck<V>) -> Json<'_> {
    let [names, values] = placeholders(&check.placeholders);
    body([
        ("TableName", Some(text(&check.table_name))),
        ("Key", Some(item(&check.key))),
        ("ConditionExpression", Some(text(&check.condition))),
        names,
        values,
        on_failure(Some(check.return_values_on_condition_check_failure)),
    ])
}

fn transact_write_items<V: Datum>(transact: &TransactWriteItems<V>) -> Json<'_> {
    Json::Body(vec![("TransactItems", Json::List(transact.legs.iter().map(leg).collect()))])
}

fn leg<V: Datum>(leg: &TransactWriteItem<V>) -> Json<'_> {
    let body = match leg {
        TransactWriteItem::Put(put) => put_item(put),
        TransactWriteItem::Update(update) => update_item(update),
        TransactWriteItem::Delete(delete) => delete_item(delete),
        TransactWriteItem::ConditionCheck(check) => condition_check(check),
    };
    Json::Object(vec![(leg.operation(), body)])
}

/// A member that may be absent.
type Member<'a> = (&'a str, Option<Json<'a>>);

fn body<'a>(members: impl IntoIterator<Item = Member<'a>>) -> Json<'a> {
    let present = members.into_iter().filter_map(|(name, value)| Some((name, value?)));
    Json::Body(present.collect())
}

/// The maps of names and of values, if there is anything in them.
fn placeholders<V: Datum>(placeholders: &Placeholders<V>) -> [Member<'_>; 2] {
    let names = placeholders.names.iter().map(|(name, it)| (name.as_str(), text(it)));
    let values = placeholders.values.iter().map(|(name, it)| (name.as_str(), datum(it)));
    let map = |members: Vec<_>| (!members.is_empty()).then_some(Json::Object(members));
    [
        ("ExpressionAttributeNames", map(names.collect())),
        ("ExpressionAttributeValues", map(values.collect())),
    ]
}

fn on_failure<'a>(image: Option<ReturnValues>) -> Member<'a> {
    ("ReturnValuesOnConditionCheckFailure", image.map(code))
}

fn code<'a>(image: ReturnValues) -> Json<'a> {
    text(image.code())
}

fn text(text: &str) -> Json<'_> {
    Json::Text(text.into())
}

fn bare<'a>(scalar: impl ToString) -> Json<'a> {
    Json::Bare(scalar.to_string())
}

fn item<V: Datum>(item: &Map<V>) -> Json<'_> {
    Json::Object(item.iter().map(|(name, it)| (name.as_str(), datum(it))).collect())
}

fn datum<V: Datum>(datum: &V) -> Json<'_> {
    let inner = match datum.view() {
        View::Value(value) => return self::value(value),
        View::Name(_, shown) => Json::Text(shown),
        View::Map(map) => item(map),
    };
    Json::Object(vec![(datum.type_of().code(), inner)])
}

fn value(value: &Value) -> Json<'_> {
    let inner = match value {
        Value::Text(it) => text(it),
        Value::Number(number) => Json::Text(number.to_string().into()),
        Value::Bytes(bytes) => Json::Text(STANDARD.encode(bytes).into()),
        Value::Bool(truth) => bare(truth),
        Value::Null => bare(true),
        Value::List(values) => Json::List(values.iter().map(self::value).collect()),
        Value::Map(map) => item(map),
        Value::TextSet(set) => Json::List(set.iter().map(|element| text(element)).collect()),
        Value::NumberSet(set) => {
            Json::List(set.iter().map(|number| Json::Text(number.to_string().into())).collect())
        }
        Value::BytesSet(set) => {
            Json::List(set.iter().map(|bytes| Json::Text(STANDARD.encode(bytes).into())).collect())
        }
    };
    Json::Object(vec![(value.value_type().code(), inner)])
}

impl Json<'_> {
    /// Whether lines of its own would make it no shorter.
    fn is_short(&self) -> bool {
        match self {
            Json::Text(_) | Json::Bare(_) => true,
            Json::List(elements) => elements.is_empty(),
            Json::Object(members) => {
                matches!(members.as_slice(), [] | [(_, Json::Text(_) | Json::Bare(_))])
            }
            Json::Body(_) => false,
        }
    }

    fn has_body(&self) -> bool {
        match self {
            Json::Text(_) | Json::Bare(_) => false,
            Json::List(elements) => elements.iter().any(Json::has_body),
            Json::Object(members) => members.iter().any(|(_, value)| value.has_body()),
            Json::Body(_) => true,
        }
    }

    /// The value on lines of its own, as short as `columns_max` where they can be broken.
    fn lines(&self, columns_max: usize) -> String {
        let mut out = String::new();
        self.write_lines(0, columns_max, &mut out);
        out
    }

    /// Writes the value where `column` columns of the line are taken; further lines have an indentation.
    fn write(&self, indent: usize, column: usize, columns_max: usize, out: &mut String) {
        if !self.has_body() {
            let start = out.len();
            self.write_flat(out);
            let fits = column.saturating_add(columns(out, start)) <= columns_max;
            if fits || self.is_short() {
                return;
            }
            out.truncate(start);
        }
        self.write_lines(indent, columns_max, out);
    }

    /// Writes each element or member on a line of its own.
    fn write_lines(&self, indent: usize, columns_max: usize, out: &mut String) {
        match self {
            Json::Text(_) | Json::Bare(_) => self.write_flat(out),
            Json::List(elements) => {
                let members = elements.iter().map(|element| (None, element));
                write_members(['[', ']'], members, indent, columns_max, out);
            }
            Json::Object(members) | Json::Body(members) => {
                let members = members.iter().map(|(name, value)| (Some(*name), value));
                write_members(['{', '}'], members, indent, columns_max, out);
            }
        }
    }

    fn write_flat(&self, out: &mut String) {
        match self {
            Json::Text(text) => write_text(text, out),
            Json::Bare(text) => out.push_str(text),
            Json::List(elements) => {
                out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    element.write_flat(out);
                }
                out.push(']');
            }
            Json::Object(members) | Json::Body(members) => {
                out.push('{');
                for (at, (name, value)) in members.iter().enumerate() {
                    out.push_str(if at > 0 { ", " } else { "" });
                    write_text(name, out);
                    out.push_str(": ");
                    value.write_flat(out);
                }
                out.push('}');
            }
        }
    }
}

fn write_members<'a>(
    [open, close]: [char; 2],
    members: impl Iterator<Item = (Option<&'a str>, &'a Json<'a>)>,
    indent: usize,
    columns_max: usize,
    out: &mut String,
) {
    let inner = indent.saturating_add(2);
    out.push(open);
    for (at, (name, value)) in members.enumerate() {
        out.push_str(if at > 0 { ",\n" } else { "\n" });
        out.extend(std::iter::repeat_n(' ', inner));
        let start = out.len();
        if let Some(name) = name {
            write_text(name, out);
            out.push_str(": ");
        }
        let column = inner.saturating_add(columns(out, start));
        value.write(inner, column, columns_max, out);
    }
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
    out.push(close);
}

/// How many columns there are from a byte on.
fn columns(out: &str, start: usize) -> usize {
    out.get(start..).map_or(0, |text| text.chars().count())
}
