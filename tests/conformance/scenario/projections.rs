//! Indexes that hold a part of each item.

use std::sync::Arc;

use latchkey_table::{
    Action, Consistency, Direction, Item, Key, Put, Query, Returning, Schema, SortRange, Text,
    Update, Value,
};

use super::{Went, told};
use crate::backend::Backend;

/// An order of the table, with a note of so many bytes.
fn order(partition: &str, sort: &str, note: usize) -> Item {
    let mut item = Item::from([("PK", partition), ("SK", sort), ("kind", "ORDER")]);
    item.insert("GSI1PK", partition);
    item.insert("GSI1SK", sort);
    item.insert("total", 5);
    item.insert("note", "x".repeat(note).as_str());
    item
}

fn query(table: &Arc<Schema>, index: &str, partition: &str) -> Query {
    Query {
        table: Arc::clone(table),
        index: Some(index.into()),
        partition: partition.into(),
        range: SortRange::All,
        direction: Direction::Ascending,
        filter: None,
        limit: Some(2),
        resume: None,
        consistency: Consistency::Eventual,
    }
}

async fn put(backend: &Backend, item: Item) -> Result<u64, String> {
    let put = Put { table: Arc::clone(&backend.parts), item, condition: None };
    Ok(backend.put(put, Returning::Nothing).await.map_err(told)?.capacity.write)
}

async fn update(backend: &Backend, key: Key, actions: Vec<Action>) -> Result<u64, String> {
    let table = Arc::clone(&backend.parts);
    let update = Update { table, key, actions, condition: None };
    Ok(backend.update(update, Returning::Nothing).await.map_err(told)?.capacity.write)
}

/// Every item of a partition of an index, page by page, and what it cost in half units.
async fn all(backend: &Backend, mut query: Query) -> Result<(Vec<Item>, u64), String> {
    let (mut items, mut halves) = (Vec::new(), 0);
    loop {
        let page = backend.query(&query).await.map_err(told)?;
        items.extend(page.items);
        halves += page.capacity.read_halves;
        match page.resume {
            Some(resume) => query.resume = Some(resume),
            None => return Ok((items, halves)),
        }
    }
}

fn names(item: &Item) -> Vec<&str> {
    item.iter().map(|(name, _)| name.as_str()).collect()
}

pub(super) async fn an_index_answers_with_what_it_holds(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    for sort in ["a", "b", "c"] {
        put(&backend, order(&partition, sort, 10)).await?;
    }
    let (items, _) = all(&backend, query(&backend.parts, "GSI1", &partition)).await?;
    same!(items.len(), 3);
    for item in &items {
        same!(names(item), ["GSI1PK", "GSI1SK", "PK", "SK"]);
    }
    let (items, _) = all(&backend, query(&backend.parts, "GSI2", &partition)).await?;
    same!(items.len(), 0);
    let key = Key::new(partition.as_str(), "b");
    let moved = vec![Action::set("GSI2PK", partition.as_str()), Action::set("GSI2SK", "z")];
    update(&backend, key.clone(), moved).await?;
    let (items, _) = all(&backend, query(&backend.parts, "GSI2", &partition)).await?;
    same!(items.iter().map(names).collect::<Vec<_>>(), [["GSI2PK", "GSI2SK", "PK", "SK", "total"]]);
    // What is listed follows the item.
    update(&backend, key.clone(), vec![Action::set("total", 6)]).await?;
    let (items, _) = all(&backend, query(&backend.parts, "GSI2", &partition)).await?;
    same!(items[0].get("total"), Some(&Value::from(6)));
    update(&backend, key, vec![Action::Remove("total".into())]).await?;
    let (items, _) = all(&backend, query(&backend.parts, "GSI2", &partition)).await?;
    same!(names(&items[0]), ["GSI2PK", "GSI2SK", "PK", "SK"]);
    Ok(())
}

pub(super) async fn an_index_costs_by_what_it_holds(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    // Three units of the table, and one of the index.
    for sort in ["a", "b", "c"] {
        same!(put(&backend, order(&partition, sort, 2500)).await?, 4);
    }
    let (_, halves) = all(&backend, query(&backend.parts, "GSI1", &partition)).await?;
    // Two pages, each within one unit.
    same!(halves, 2);
    let key = |sort: &str| Key::new(partition.as_str(), sort);
    // What no index holds costs none of them anything.
    same!(update(&backend, key("a"), vec![Action::set("total", 7)]).await?, 3);
    let into = vec![Action::set("GSI2PK", partition.as_str()), Action::set("GSI2SK", "z")];
    same!(update(&backend, key("a"), into).await?, 4);
    same!(update(&backend, key("a"), vec![Action::set("total", 8)]).await?, 4);
    same!(update(&backend, key("a"), vec![Action::set("note", "short")]).await?, 3);
    // A move is two writes.
    same!(update(&backend, key("b"), vec![Action::set("GSI1SK", Text::from("y"))]).await?, 5);
    Ok(())
}
