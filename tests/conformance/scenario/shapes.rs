//! Tables with keys of other shapes: numbers, and partitions without a sort key.

use std::sync::Arc;

use latchkey_table::{
    Action, Condition, Consistency, Direction, Get, Item, Key, Leg, Number, Put, Query, Returning,
    Schema, SortRange, Text, Transact, Update, Value,
};

use super::{Went, failed, invalid, told};
use crate::backend::Backend;

fn number(text: &str) -> Number {
    text.parse().unwrap()
}

/// A key of two numbers.
fn numbers(id: i64, at: &str) -> Key {
    Key { partition: Number::from(id).to_key(), sort: number(at).to_key() }
}

fn put(table: &Arc<Schema>, item: Item) -> Put {
    Put { table: Arc::clone(table), item, condition: None }
}

fn event(id: i64, at: &str, owner: &str) -> Item {
    Item::from([
        ("id", Value::from(id)),
        ("at", Value::Number(number(at))),
        ("owner", Value::from(owner)),
    ])
}

fn query(table: &Arc<Schema>, index: Option<&str>, partition: Text, range: SortRange) -> Query {
    Query {
        table: Arc::clone(table),
        index: index.map(Text::from),
        partition,
        range,
        filter: None,
        direction: Direction::Ascending,
        limit: Some(2),
        resume: None,
        consistency: Consistency::Eventual,
    }
}

/// The numbers under a name in all pages.
async fn walk(backend: &Backend, mut query: Query, name: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    loop {
        let page = backend.query(&query).await.map_err(told)?;
        let shown = |item: &Item| item.get(name).and_then(Value::as_number).map(|n| n.to_string());
        found.extend(page.items.iter().filter_map(shown));
        query.resume = page.resume;
        if query.resume.is_none() {
            return Ok(found);
        }
    }
}

pub(super) async fn numbers_are_in_their_order(backend: Arc<Backend>) -> Went {
    let [table, _] = &backend.shapes;
    for at in ["10", "-1.5", "9", "0", "100", "-12"] {
        let put = put(table, event(7, at, "ann"));
        backend.put(put, Returning::Nothing).await.map_err(told)?;
    }
    let get =
        Get { table: Arc::clone(table), key: numbers(7, "-1.5"), consistency: Consistency::Strong };
    same!(backend.get(&get).await.map_err(told)?.item, Some(event(7, "-1.5", "ann")));
    let bound = |text: &str| number(text).to_key();
    let cases = [
        (SortRange::All, vec!["-12", "-1.5", "0", "9", "10", "100"]),
        (SortRange::Equal(bound("9")), vec!["9"]),
        (SortRange::Less(bound("9")), vec!["-12", "-1.5", "0"]),
        (SortRange::GreaterOrEqual(bound("9")), vec!["9", "10", "100"]),
        (SortRange::Between(bound("-2"), bound("10")), vec!["-1.5", "0", "9", "10"]),
    ];
    for (range, expected) in cases {
        let mut query = query(table, None, Number::from(7_i64).to_key(), range);
        same!(walk(&backend, query.clone(), "at").await?, expected, "{:?}", query.range);
        query.direction = Direction::Descending;
        let turned: Vec<&str> = expected.into_iter().rev().collect();
        same!(walk(&backend, query.clone(), "at").await?, turned, "{:?}", query.range);
    }
    for id in [20, -3, 100] {
        let put = put(table, event(id, "1", "bob"));
        backend.put(put, Returning::Nothing).await.map_err(told)?;
    }
    let query = query(table, Some("by.it-2"), "bob".into(), SortRange::All);
    same!(walk(&backend, query, "id").await?, ["-3", "20", "100"]);
    Ok(())
}

pub(super) async fn a_partition_alone_is_an_item(backend: Arc<Backend>) -> Went {
    let [_, table] = &backend.shapes;
    let session =
        |id: &str| Item::from([("session_id", id), ("user-name", "ann"), ("state", "OPEN")]);
    for id in ["S2", "S1", "S3"] {
        backend.put(put(table, session(id)), Returning::Nothing).await.map_err(told)?;
    }
    let again = Put {
        condition: Some(Condition::Absent("session_id".into())),
        ..put(table, session("S1"))
    };
    failed(backend.put(again, Returning::Nothing).await)?;
    let key = Key::new("S1", "");
    let update = Update {
        table: Arc::clone(table),
        key: key.clone(),
        actions: vec![Action::set("state", "CLOSED")],
        condition: Some(Condition::equals("state", "OPEN")),
    };
    let wrote = backend.update(update.clone(), Returning::New).await.map_err(told)?;
    let mut closed = session("S1");
    closed.insert("state", "CLOSED");
    same!(wrote.item, Some(closed.clone()));
    failed(backend.update(update, Returning::New).await)?;
    let get = Get { table: Arc::clone(table), key, consistency: Consistency::Strong };
    same!(backend.get(&get).await.map_err(told)?.item, Some(closed));
    let one = query(table, None, "S1".into(), SortRange::All);
    same!(backend.query(&one).await.map_err(told)?.items.len(), 1);
    let mut all = query(table, Some("by.it-2"), "ann".into(), SortRange::All);
    let mut found = Vec::new();
    loop {
        let page = backend.query(&all).await.map_err(told)?;
        found.extend(
            page.items.iter().filter_map(|item| item.get("session_id")?.as_text().cloned()),
        );
        all.resume = page.resume;
        if all.resume.is_none() {
            break;
        }
    }
    found.sort();
    same!(found, ["S1", "S2", "S3"]);
    Ok(())
}

pub(super) async fn a_transaction_spans_tables(backend: Arc<Backend>) -> Went {
    let [numbers_table, alone] = &backend.shapes;
    let legs = |state: &str| {
        let session = Item::from([("session_id", "T1"), ("state", state)]);
        let absent = Some(Condition::Absent("id".into()));
        vec![
            Leg::Put(put(alone, session)),
            Leg::Put(Put { condition: absent, ..put(numbers_table, event(8, "1", "cyd")) }),
        ]
    };
    backend.transact(Transact { legs: legs("first") }).await.map_err(told)?;
    let failed = failed(backend.transact(Transact { legs: legs("second") }).await)?;
    same!(failed.leg, 1);
    let (table, key) = (Arc::clone(alone), Key::new("T1", ""));
    let got = backend.get(&Get { table, key, consistency: Consistency::Strong }).await;
    let state = got.map_err(told)?.item.and_then(|item| item.get("state").cloned());
    same!(state, Some(Value::from("first")));
    Ok(())
}

pub(super) async fn a_key_is_of_its_type(backend: Arc<Backend>) -> Went {
    let [table, _] = &backend.shapes;
    let mut wrong = event(9, "1", "ann");
    wrong.insert("at", "1");
    same!(invalid(backend.put(put(table, wrong), Returning::Nothing).await)?, None);
    let text = Key::new("9", "1");
    let get = Get { table: Arc::clone(table), key: text, consistency: Consistency::Strong };
    same!(invalid(backend.get(&get).await)?, None);
    let prefix = SortRange::BeginsWith(number("1").to_key());
    let begins = query(table, None, Number::from(9_i64).to_key(), prefix);
    same!(invalid(backend.query(&begins).await)?, None);
    Ok(())
}

/// An item of the table without a sort key, and one of the usual table in the same partition.
async fn two(backend: &Backend, partition: &str, user: &str) -> Result<[Item; 2], String> {
    let [_, table] = &backend.shapes;
    let session = Item::from([("session_id", partition), ("user-name", user)]);
    let other = Item::from([("PK", partition), ("SK", "a"), ("user-name", user)]);
    for (table, item) in [(table, &session), (&backend.table, &other)] {
        backend.put(put(table, item.clone()), Returning::Nothing).await.map_err(told)?;
    }
    Ok([session, other])
}

/// The items of an index, and of a partition, are those of one table.
pub(super) async fn a_table_has_its_own_items(backend: Arc<Backend>) -> Went {
    let [_, table] = &backend.shapes;
    let partition = backend.partition();
    let [session, other] = two(&backend, &partition, "dan").await?;
    let by_user = query(table, Some("by.it-2"), "dan".into(), SortRange::All);
    same!(backend.query(&by_user).await.map_err(told)?.items, vec![session.clone()]);
    let one = query(table, None, partition.as_str().into(), SortRange::All);
    same!(backend.query(&one).await.map_err(told)?.items, vec![session]);
    let same = query(&backend.table, None, partition.as_str().into(), SortRange::All);
    same!(backend.query(&same).await.map_err(told)?.items, vec![other]);
    Ok(())
}

pub(super) async fn housekeeping_is_in_no_index(backend: Arc<Backend>) -> Went {
    let [_, table] = &backend.shapes;
    let session = Item::from([("session_id", "S9"), ("user-name", "eva")]);
    backend.put(put(table, session.clone()), Returning::Nothing).await.map_err(told)?;
    let partition = format!("LATCHKEY#{}", backend.partition());
    let own = Item::from([("PK", partition.as_str()), ("SK", "a"), ("user-name", "eva")]);
    backend.put(put(&backend.table, own), Returning::Nothing).await.map_err(told)?;
    let by_user = query(table, Some("by.it-2"), "eva".into(), SortRange::All);
    let items = backend.query(&by_user).await.map_err(told)?.items;
    let own =
        |item: &Item| item.get("PK").and_then(Value::as_text) == Some(&partition.as_str().into());
    same!((items.contains(&session), items.iter().any(own)), (true, false), "{items:?}");
    Ok(())
}
