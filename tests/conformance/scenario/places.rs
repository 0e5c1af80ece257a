//! Where pages begin: behind a key that no item need have. A query of several partitions goes on so in each of them.

use std::sync::Arc;

use latchkey_table::{
    Direction, Item, Key, Number, Put, Query, Resume, Returning, SortRange, Value,
};

use super::{Went, invalid, item, query, store, told, walk};
use crate::backend::Backend;

/// The sort keys behind a place, in both directions.
async fn behind(backend: &Backend, query: &Query, resume: &Resume) -> Result<[String; 2], String> {
    let mut found = [String::new(), String::new()];
    for (found, direction) in found.iter_mut().zip([Direction::Ascending, Direction::Descending]) {
        for limit in [None, Some(1)] {
            let behind = Some(resume.clone());
            let query = Query { resume: behind, direction, limit, ..query.clone() };
            let sorts = walk(backend, query).await?.0.join(" ");
            if limit.is_some() && sorts != *found {
                return Err(format!("{resume:?}, one by one: {sorts}, not {found}"));
            }
            *found = sorts;
        }
    }
    Ok(found)
}

/// Places before, between and behind the items `b`, `d` and `f`, and at one of them.
const PLACES: [(&str, &str, &str); 7] = [
    ("a", "b d f", ""),
    ("b", "d f", ""),
    ("c", "d f", "b"),
    ("d", "f", "b"),
    ("d#", "f", "d b"),
    ("f", "", "d b"),
    ("g", "", "f d b"),
];

pub(super) async fn a_page_begins_behind_a_key_that_was_never_there(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    for sort in ["b", "d", "f"] {
        store(&backend, item(&partition, sort, &[])).await?;
    }
    for (place, up, down) in PLACES {
        let resume = Resume { key: Key::new(partition.as_str(), place), index_key: None };
        let found = behind(&backend, &query(&backend, None, &partition), &resume).await?;
        same!(found, [up, down], "behind {place}");
    }
    Ok(())
}

pub(super) async fn a_page_of_an_index_begins_behind_an_item_of_another_partition(
    backend: Arc<Backend>,
) -> Went {
    let (partition, other) = (backend.partition(), backend.partition());
    for (index, sorts) in [(&partition, ["b", "d", "f"]), (&other, ["c", "d", "e"])] {
        for sort in sorts {
            let more = [("GSI1PK", index.as_str().into()), ("GSI1SK", sort.into())];
            store(&backend, item(index, sort, &more)).await?;
        }
    }
    for (place, up, down) in PLACES {
        // At an item the place is its own, elsewhere one of the other partition, which may be there or not. Of two
        // items with one key in the index nothing says which comes first.
        let at = if ["b", "d", "f"].contains(&place) { &partition } else { &other };
        let key = Key::new(at.as_str(), place);
        let index_key = Some(Key::new(partition.as_str(), place));
        let query = query(&backend, Some("GSI1"), &partition);
        let found = behind(&backend, &query, &Resume { key, index_key }).await?;
        same!(found, [up, down], "behind {place}");
    }
    Ok(())
}

pub(super) async fn a_page_of_numbers_begins_behind_one_that_was_never_there(
    backend: Arc<Backend>,
) -> Went {
    let [table, _] = &backend.shapes;
    let key = |text: &str| text.parse::<Number>().unwrap().to_key();
    for at in ["-10", "2", "10"] {
        let at: Number = at.parse().unwrap();
        let more = [("id", 41.into()), ("at", Value::Number(at)), ("owner", "eve".into())];
        let put =
            Put { table: Arc::clone(table), item: more.into_iter().collect(), condition: None };
        backend.put(put, Returning::Nothing).await.map_err(told)?;
    }
    for (place, up, down) in [
        ("-11", "-10 2 10", ""),
        ("-1.5", "2 10", "-10"),
        ("9", "10", "2 -10"),
        ("1e3", "", "10 2 -10"),
    ] {
        for (direction, expected) in [(Direction::Ascending, up), (Direction::Descending, down)] {
            let query = Query {
                table: Arc::clone(table),
                index: None,
                partition: key("41"),
                range: SortRange::All,
                direction,
                limit: None,
                resume: Some(Resume {
                    key: Key { partition: key("41"), sort: key(place) },
                    index_key: None,
                }),
                consistency: latchkey_table::Consistency::Eventual,
                filter: None,
            };
            let page = backend.query(&query).await.map_err(told)?;
            let at = |item: &Item| item.get("at").and_then(Value::as_number).map(|n| n.to_string());
            let found: Option<Vec<String>> = page.items.iter().map(at).collect();
            same!(found.map(|all| all.join(" ")), Some(expected.to_owned()), "behind {place}");
        }
    }
    Ok(())
}

/// A query from `c` to `e`, of a partition that has `b`, `d` and `f`.
async fn from_c_to_e(backend: &Backend) -> Result<Query, String> {
    let partition = backend.partition();
    for sort in ["b", "d", "f"] {
        store(backend, item(&partition, sort, &[])).await?;
    }
    let range = SortRange::Between("c".into(), "e".into());
    Ok(Query { range, ..query(backend, None, &partition) })
}

/// The same, behind a place.
fn at(query: &Query, place: &str, direction: Direction) -> Query {
    let key = Key::new(query.partition.clone(), place);
    Query { resume: Some(Resume { key, index_key: None }), direction, ..query.clone() }
}

/// A place within the range need not be an item; one outside is refused, as DynamoDB refuses it.
pub(super) async fn a_page_begins_within_its_range(backend: Arc<Backend>) -> Went {
    use Direction::{Ascending, Descending};
    let query = from_c_to_e(&backend).await?;
    for (place, direction, expected) in
        [("c", Ascending, "d"), ("d", Ascending, ""), ("d", Descending, ""), ("e", Descending, "d")]
    {
        let found = walk(&backend, at(&query, place, direction)).await?.0.join(" ");
        same!(found, expected, "{direction:?} behind {place}");
    }
    for place in ["a", "b", "f"] {
        for direction in [Ascending, Descending] {
            let outside = backend.query(&at(&query, place, direction)).await;
            same!(invalid(outside)?, None, "{direction:?} behind {place}");
        }
    }
    Ok(())
}

pub(super) async fn a_page_begins_at_the_end_of_its_range(backend: Arc<Backend>) -> Went {
    let query = from_c_to_e(&backend).await?;
    for (place, direction) in [("c", Direction::Descending), ("e", Direction::Ascending)] {
        let last = at(&query, place, direction);
        same!(last.is_at_its_end(), true, "{place}");
        same!(walk(&backend, last).await?.0, Vec::<String>::new(), "{place}");
    }
    Ok(())
}

pub(super) async fn the_end_of_a_range_is_refused(backend: Arc<Backend>) -> Went {
    let query = from_c_to_e(&backend).await?;
    for (place, direction) in [("c", Direction::Descending), ("e", Direction::Ascending)] {
        let last = at(&query, place, direction);
        same!(last.is_at_its_end(), true, "{place}");
        same!(invalid(backend.query(&last).await)?, None, "{place}");
    }
    Ok(())
}
