//! Gets and queries.

use std::sync::Arc;

use latchkey_table::{
    Action, BatchGet, Consistency, Delete, Direction, Error, Get, Leg, Query, Returning, Schema,
    SnapshotGet, SortRange, Transact,
};

use super::{Went, item, key, put, query, sized, store, told, update, walk};
use crate::backend::Backend;

pub(super) async fn a_get_costs_by_size_and_consistency(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    let cases = [("none", 0, 1), ("small", 100, 1), ("4 kb", 4096, 1), ("more", 4097, 2)];
    for (sort, bytes, halves) in cases {
        let stored = (bytes > 0).then(|| sized(&partition, sort, bytes));
        if let Some(stored) = &stored {
            store(&backend, stored.clone()).await?;
        }
        for (consistency, factor) in [(Consistency::Eventual, 1), (Consistency::Strong, 2)] {
            let (table, key) = (Arc::clone(&backend.table), key(&partition, sort));
            let got = backend.get(&Get { table, key, consistency }).await.map_err(told)?;
            same!(got.item, stored, "{sort}");
            same!(got.capacity.read_halves, halves * factor, "{sort} {consistency:?}");
        }
    }
    Ok(())
}

/// Puts an item for each sort key, under it in the first index too.
async fn fill(backend: &Backend, partition: &str, sorts: &[&str]) -> Went {
    for sort in sorts {
        let index = [("GSI1PK", partition.into()), ("GSI1SK", (*sort).into())];
        store(backend, item(partition, sort, &index)).await?;
    }
    Ok(())
}

pub(super) async fn ranges_hold_what_they_say(backend: Arc<Backend>) -> Went {
    use SortRange::{All, BeginsWith, Between, Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
    let partition = backend.partition();
    fill(&backend, &partition, &["a", "b", "ba", "bé", "c"]).await?;
    // Others that begin alike.
    fill(&backend, &format!("{partition}#"), &["b", "x"]).await?;
    let cases = [
        (All, "a b ba bé c"),
        (Equal("b".into()), "b"),
        (Less("b".into()), "a"),
        (LessOrEqual("b".into()), "a b"),
        (Greater("b".into()), "ba bé c"),
        (GreaterOrEqual("b".into()), "b ba bé c"),
        (Between("b".into(), "ba".into()), "b ba"),
        (Between("b".into(), "b".into()), "b"),
        (Between("d".into(), "e".into()), ""),
        (BeginsWith("b".into()), "b ba bé"),
        (BeginsWith("bé".into()), "bé"),
        (BeginsWith("d".into()), ""),
    ];
    for (range, expected) in cases {
        let expected: Vec<&str> = expected.split_whitespace().collect();
        for index in [None, Some("GSI1")] {
            let ranged = Query { range: range.clone(), ..query(&backend, index, &partition) };
            let found = walk(&backend, ranged.clone()).await?.0;
            same!(found, expected, "{range:?} of {index:?}");
            let backwards = Query { direction: Direction::Descending, ..ranged };
            let found: Vec<_> = walk(&backend, backwards).await?.0.into_iter().rev().collect();
            same!(found, expected, "{range:?} of {index:?}, backwards");
        }
    }
    Ok(())
}

pub(super) async fn texts_are_ordered_by_their_bytes(backend: Arc<Backend>) -> Went {
    // By UTF-16 the last would come before the one before it.
    let sorts = [
        "\u{1}",
        " ",
        "A",
        "A\u{1}",
        "AA",
        "Z",
        "a",
        "~",
        "\u{7f}",
        "é",
        "€",
        "\u{ffee}",
        "\u{1f600}",
    ];
    let partition = backend.partition();
    let backwards: Vec<_> = sorts.iter().rev().copied().collect();
    fill(&backend, &partition, &backwards).await?;
    for index in [None, Some("GSI1")] {
        let found = walk(&backend, query(&backend, index, &partition)).await?.0;
        same!(found, sorts, "{index:?}");
        let direction = Direction::Descending;
        let descending = Query { direction, ..query(&backend, index, &partition) };
        same!(walk(&backend, descending).await?.0, backwards, "{index:?}, backwards");
    }
    Ok(())
}

pub(super) async fn pages_of_every_size_hold_every_item_once(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    for n in 0..7 {
        // Items share a key of the index, two by two.
        let shared = format!("{}", n / 2);
        let index = [("GSI1PK", partition.as_str().into()), ("GSI1SK", shared.as_str().into())];
        store(&backend, item(&partition, &format!("S{n}"), &index)).await?;
    }
    let all: Vec<_> = (0..7).map(|n| format!("S{n}")).collect();
    for index in [None, Some("GSI1")] {
        for direction in [Direction::Ascending, Direction::Descending] {
            for limit in 1..9 {
                let paged =
                    Query { direction, limit: Some(limit), ..query(&backend, index, &partition) };
                let (mut found, pages) = walk(&backend, paged).await?;
                // A page that is full may be the last, and has to be asked.
                same!(pages, 7 / usize::try_from(limit).unwrap() + 1, "{index:?} by {limit}");
                if index.is_none() && direction == Direction::Descending {
                    found.reverse();
                } else if index.is_some() {
                    // Which of two with one key comes first, nobody says.
                    found.sort();
                }
                same!(found, all, "{index:?} {direction:?} by {limit}");
            }
        }
    }
    Ok(())
}

pub(super) async fn a_page_goes_on_behind_an_item_that_is_gone(backend: Arc<Backend>) -> Went {
    for index in [None, Some("GSI1")] {
        for (direction, rest) in
            [(Direction::Ascending, ["c", "d"]), (Direction::Descending, ["b", "a"])]
        {
            let partition = backend.partition();
            fill(&backend, &partition, &["a", "b", "c", "d"]).await?;
            let paged = Query { direction, limit: Some(2), ..query(&backend, index, &partition) };
            let first = backend.query(&paged).await.map_err(told)?;
            let resume = first.resume.ok_or("a page that was cut tells where to go on")?;
            let (table, key) = (Arc::clone(&backend.table), resume.key.clone());
            let delete = Delete { table, key, condition: None };
            backend.delete(delete, Returning::Nothing).await.map_err(told)?;
            let found = walk(&backend, Query { resume: Some(resume), ..paged }).await?.0;
            same!(found, rest, "{index:?} {direction:?}");
        }
    }
    Ok(())
}

pub(super) async fn items_enter_leave_and_move_in_an_index(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    store(&backend, item(&partition, "s", &[])).await?;
    let (here, there) = (format!("{partition}-here"), format!("{partition}-there"));
    let set = |name: &str, value: &str| Action::set(name, value);
    let remove = |name: &str| Action::Remove(name.into());
    let steps = [
        (vec![set("GSI1PK", &here)], 0, 0),
        (vec![set("GSI1SK", "a")], 1, 0),
        (vec![set("GSI1SK", "b"), set("x", "y")], 1, 0),
        (vec![set("GSI1PK", &there)], 0, 1),
        (vec![remove("GSI1SK")], 0, 0),
        (vec![set("GSI1SK", "c"), set("GSI1PK", &here)], 1, 0),
        (vec![remove("GSI1PK"), remove("GSI1SK")], 0, 0),
    ];
    for (at, (actions, in_here, in_there)) in steps.into_iter().enumerate() {
        let change = update(&backend, key(&partition, "s"), actions);
        let left = backend.update(change, Returning::New).await.map_err(told)?.item;
        for (index_partition, count) in [(&here, in_here), (&there, in_there)] {
            let page = backend.query(&query(&backend, Some("GSI1"), index_partition)).await;
            let found = page.map_err(told)?.items;
            let expected: Vec<_> = left.iter().take(count).cloned().collect();
            same!(found, expected, "step {at}");
        }
    }
    Ok(())
}

pub(super) async fn a_query_reads_1_mb_at_once(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    for n in 0..5 {
        let mut large = sized(&partition, &format!("S{n}"), 300_000);
        large.insert("GSI1PK", partition.as_str());
        large.insert("GSI1SK", "same");
        store(&backend, large).await?;
    }
    for (index, consistency, halves) in [
        (None, Consistency::Eventual, 1),
        (None, Consistency::Strong, 2),
        (Some("GSI1"), Consistency::Eventual, 1),
    ] {
        for direction in [Direction::Ascending, Direction::Descending] {
            let mut paged = Query { direction, consistency, ..query(&backend, index, &partition) };
            let (mut counts, mut seen, mut read) = (Vec::new(), Vec::new(), 0);
            loop {
                let page = backend.query(&paged).await.map_err(told)?;
                counts.push(page.items.len());
                seen.extend(page.items.iter().map(|item| item.get("SK").cloned()));
                read += page.capacity.read_halves;
                paged.resume = page.resume;
                if paged.resume.is_none() {
                    break;
                }
            }
            seen.sort_by_key(|sort| format!("{sort:?}"));
            seen.dedup();
            same!(seen.len(), 5, "{index:?} {direction:?}");
            same!(counts.iter().sum::<usize>(), 5, "{index:?} {direction:?}");
            same!(counts.len(), 2, "{index:?} {direction:?}: {counts:?}");
            // 5 times 73.2 units of 4 kb, rounded up twice.
            let units = read / halves;
            same!((367..=369).contains(&units), true, "{units} units");
        }
    }
    Ok(())
}

pub(super) async fn a_table_that_is_not_there_is_told(backend: Arc<Backend>) -> Went {
    let missing = Arc::new(Schema::new("Missing").with_index("GSI1"));
    let get = Get { table: missing.clone(), key: key("p", "s"), consistency: Consistency::Strong };
    let (keys, consistency) = (vec![key("p", "s")], Consistency::Strong);
    let batch = BatchGet { table: missing.clone(), keys: keys.clone(), consistency };
    let snapshot = SnapshotGet { table: missing.clone(), keys };
    let query = Query { table: missing.clone(), ..query(&backend, None, "p") };
    let put = latchkey_table::Put { table: missing.clone(), ..put(&backend, item("p", "s", &[])) };
    let legs = vec![Leg::Put(put.clone())];
    let answers = [
        backend.get(&get).await.map(drop),
        backend.batch_get(&batch).await.map(drop),
        backend.snapshot_get(&snapshot).await.map(drop),
        backend.query(&query).await.map(drop),
        backend.put(put, Returning::Nothing).await.map(drop),
        backend.transact(Transact { legs }).await.map(drop),
    ];
    for answer in answers {
        same!(answer, Err(Error::NoTable { name: "Missing".into() }));
    }
    Ok(())
}
