//! Queries that drop items after they were read.

use std::sync::Arc;

use latchkey_table::{
    Comparator, Condition, Direction, Error, IndexScan, Item, Operand, Query, Value,
};

use super::{Went, item, query, store, told, walk};
use crate::backend::Backend;

/// Nine items, every third of which is open.
async fn fill(backend: &Backend, partition: &str) -> Went {
    for at in 0..9 {
        let state = if at % 3 == 0 { "OPEN" } else { "DONE" };
        let more = [
            ("state", state.into()),
            ("points", at.into()),
            ("GSI1PK", partition.into()),
            ("GSI1SK", format!("s{at}").as_str().into()),
        ];
        store(backend, item(partition, &format!("s{at}"), &more)).await?;
    }
    Ok(())
}

fn open() -> Condition {
    Condition::equals("state", "OPEN")
}

pub(super) async fn pages_hold_what_is_kept_of_what_is_read(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    fill(&backend, &partition).await?;
    for index in [None, Some("GSI1")] {
        for direction in [Direction::Ascending, Direction::Descending] {
            let mut kept = vec!["s0", "s3", "s6"];
            if direction == Direction::Descending {
                kept.reverse();
            }
            for limit in [None, Some(1), Some(2), Some(4), Some(9), Some(20)] {
                let filter = Some(open());
                let filtered =
                    Query { filter, direction, limit, ..query(&backend, index, &partition) };
                let (found, pages) = walk(&backend, filtered).await?;
                same!(found, kept, "{index:?} {direction:?} {limit:?}");
                // The limit is of what is read; a page that fits exactly says that there may be more.
                let read_in = limit.map_or(1, |limit| usize::try_from(9 / limit).unwrap() + 1);
                same!(pages, read_in, "{index:?} {direction:?} {limit:?}");
            }
        }
    }
    Ok(())
}

pub(super) async fn a_page_goes_on_behind_the_last_item_that_was_read(
    backend: Arc<Backend>,
) -> Went {
    let partition = backend.partition();
    fill(&backend, &partition).await?;
    let filtered =
        Query { filter: Some(open()), limit: Some(2), ..query(&backend, None, &partition) };
    let page = backend.query(&filtered).await.map_err(told)?;
    same!((page.items.len(), page.read), (1, 2));
    same!(page.resume.as_ref().map(|resume| resume.key.sort.as_str()), Some("s1"));
    let page = backend.query(&Query { resume: page.resume, ..filtered }).await.map_err(told)?;
    same!((page.items.len(), page.read), (1, 2));
    same!(page.resume.map(|resume| resume.key.sort.to_string()), Some("s3".to_owned()));
    let none = Condition::equals("state", "LOST");
    let nothing = Query { filter: Some(none), limit: Some(4), ..query(&backend, None, &partition) };
    let page = backend.query(&nothing).await.map_err(told)?;
    same!((page.items.len(), page.read, page.resume.is_some()), (0, 4, true));
    Ok(())
}

pub(super) async fn what_is_dropped_is_paid_for(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    for at in 0..4 {
        store(&backend, super::sized(&partition, &format!("s{at}"), 4096)).await?;
    }
    let none = Condition::Absent("filler".into());
    for filter in [None, Some(none)] {
        let page = backend.query(&Query { filter, ..query(&backend, None, &partition) }).await;
        let page = page.map_err(told)?;
        same!((page.read, page.capacity.read_halves), (4, 4));
    }
    Ok(())
}

pub(super) async fn a_filter_tests_what_a_condition_does(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    fill(&backend, &partition).await?;
    let points = |comparator, value: i64| {
        Condition::Compare(Operand::Path("points".into()), comparator, Operand::from(value))
    };
    let cases = [
        (points(Comparator::GreaterOrEqual, 7), "s7 s8"),
        (Condition::And(vec![open(), points(Comparator::Less, 6)]), "s0 s3"),
        (Condition::Or(vec![points(Comparator::Equal, 1), points(Comparator::Equal, 8)]), "s1 s8"),
        (Condition::Not(Box::new(points(Comparator::NotEqual, 4))), "s4"),
        (Condition::Exists("lost".into()), ""),
        (Condition::BeginsWith("state".into(), Operand::from("O")), "s0 s3 s6"),
    ];
    for (filter, expected) in cases {
        let told = format!("{filter:?}");
        let filtered = Query { filter: Some(filter), ..query(&backend, None, &partition) };
        same!(walk(&backend, filtered).await?.0.join(" "), expected, "{told}");
    }
    Ok(())
}

pub(super) async fn no_filter_tests_a_key_of_its_query(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    fill(&backend, &partition).await?;
    for (index, key, other) in [(None, "SK", "GSI1SK"), (Some("GSI1"), "GSI1PK", "SK")] {
        let of = |name: &str| {
            let filter = Some(Condition::BeginsWith(name.into(), Operand::from("s1")));
            Query { filter, ..query(&backend, index, &partition) }
        };
        let refused = backend.query(&of(key)).await;
        let Err(Error::Invalid { .. }) = refused else {
            return Err(format!("{index:?} {key}: {refused:?}"));
        };
        same!(walk(&backend, of(other)).await?.0, ["s1"], "{index:?} {other}");
    }
    Ok(())
}

pub(super) async fn a_scan_of_an_index_meets_every_item_once(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    for at in 0..9 {
        // Three partitions of the index, and items that are not in it.
        let place = format!("{partition}#{}", at % 3);
        let mut more = vec![("points", at.into())];
        if at < 6 {
            more.push(("GSI2PK", place.as_str().into()));
            more.push(("GSI2SK", format!("s{at}").as_str().into()));
        }
        store(&backend, item(&partition, &format!("s{at}"), &more)).await?;
    }
    let dear =
        Condition::Compare(Operand::Path("points".into()), Comparator::Greater, Operand::from(2));
    let cases = [(None, "s0 s1 s2 s3 s4 s5"), (Some(dear), "s3 s4 s5")];
    for (filter, expected) in cases {
        for limit in [None, Some(1), Some(4)] {
            let table = Arc::clone(&backend.table);
            let (index, filter) = ("GSI2".into(), filter.clone());
            let mut scan = IndexScan { table, index, filter, limit, resume: None };
            let mut found = Vec::new();
            loop {
                let page = backend.scan_index(&scan).await.map_err(told)?;
                if page.read > limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap()) {
                    return Err(format!("{limit:?}: {} read", page.read));
                }
                // Other tests share the table.
                let ours = page.items.iter().filter(|item| {
                    item.get("PK").and_then(Value::as_text).is_some_and(|pk| *pk == partition)
                });
                let sort =
                    |item: &Item| item.get("SK").and_then(Value::as_text).unwrap().to_string();
                found.extend(ours.map(sort));
                scan.resume = page.resume;
                if scan.resume.is_none() {
                    break;
                }
            }
            found.sort();
            same!(found.join(" "), expected, "{limit:?}");
        }
    }
    Ok(())
}
