//! What a table holds, looked at behind the server's back.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use latchkey_embedded::{Options, Store};
use latchkey_table::{Delete, Item, Key, Returning, Scan, Schema, Text, Value as Stored};
use serde_json::{Value, json};

use crate::scene::Scene;
use crate::serve::backend;

/// The table of the lockers.
pub(crate) fn lockers() -> Schema {
    Schema::new("SmartLockerTable").with_index("GSI1")
}

/// The texts of an item, by name.
pub(crate) type Texts = BTreeMap<String, String>;

impl Scene {
    /// All items of a system's table whose partition begins so, in the order of their attributes.
    pub(crate) fn stored(self, system: &str, table: Schema, prefix: &str) -> (Scene, Vec<Texts>) {
        let mut items = Vec::new();
        let scene = self.restart(|data| {
            items = match backend::service() {
                Some(service) => {
                    let request = json!({"TableName": backend::table(data, system)});
                    let answer = service.ask("Scan", &request);
                    answer["Items"].as_array().unwrap().iter().map(texts_on_service).collect()
                }
                None => embedded(data, table, prefix).iter().map(texts).collect(),
            };
        });
        items.retain(|item| item["PK"].starts_with(prefix));
        items.sort();
        (scene, items)
    }

    /// The same, but an item is gone: what no contract does, a table may do.
    pub(crate) fn without(self, system: &str, table: Schema, key: (&str, &str)) -> Scene {
        let (partition, sort) = key;
        self.restart(|data| match backend::service() {
            Some(service) => {
                let key = json!({"PK": {"S": partition}, "SK": {"S": sort}});
                let table = backend::table(data, system);
                service.ask("DeleteItem", &json!({"TableName": table, "Key": key}));
            }
            None => {
                let store = Store::open(data, &Options::default()).unwrap();
                let key = Key::new(partition, sort);
                let delete = Delete { table: Arc::new(table), key, condition: None };
                store.delete(delete, Returning::Nothing).wait().unwrap();
            }
        })
    }
}

fn embedded(data: &Path, table: Schema, prefix: &str) -> Vec<Item> {
    let store = Store::open(data, &Options::default()).unwrap();
    let (table, partition_prefix) = (Arc::new(table), prefix.into());
    store.scan(&Scan { table, partition_prefix, after: None, items_max: 1000 }).unwrap().items
}

fn texts(item: &Item) -> Texts {
    let text =
        |(name, value): (&Text, &Stored)| Some((name.to_string(), value.as_text()?.to_string()));
    item.iter().filter_map(text).collect()
}

fn texts_on_service(item: &Value) -> Texts {
    let text =
        |(name, value): (&String, &Value)| Some((name.clone(), value["S"].as_str()?.to_owned()));
    item.as_object().unwrap().iter().filter_map(text).collect()
}

/// An attribute; empty if there is none.
pub(crate) fn text<'a>(item: &'a Texts, name: &str) -> &'a str {
    item.get(name).map_or("", String::as_str)
}
