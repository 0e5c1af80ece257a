//! Single writes and transactions.

use std::sync::Arc;

use latchkey_table::{
    Action, Check, Condition, Delete, Expression, Leg, Map, Path, Put, Returning, Transact, Update,
    Value,
};

use super::{Went, failed, invalid, item, key, put, sized, store, told, update};
use crate::backend::Backend;

pub(super) async fn an_item_of_every_type_is_kept_exactly(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    let number = |text: &str| Value::Number(text.parse().unwrap());
    let numbers = [
        "0",
        "-1",
        "1.5",
        "12345678901234567890123456789012345678",
        "9.9999999999999999999999999999999999999e125",
        "-1e-130",
        "1000000",
    ];
    let written = item(
        &partition,
        "all",
        &[
            ("numbers", Value::List(numbers.map(number).to_vec())),
            ("number set", Value::NumberSet(numbers.map(|n| n.parse().unwrap()).into())),
            ("text", "é\u{0}\"\\\u{10ffff}".into()),
            ("text set", Value::TextSet(["b".into(), "a".into()].into())),
            ("bytes", Value::Bytes(vec![0, 255, 128])),
            ("bytes set", Value::BytesSet([vec![1], vec![0, 1]].into())),
            ("yes", Value::Bool(true)),
            ("no", Value::Bool(false)),
            ("null", Value::Null),
            ("empty list", Value::List(vec![])),
            ("empty map", Value::Map(Map::new())),
            ("map", Map::from([("a.b", Value::List(vec![Value::Null]))]).into()),
        ],
    );
    store(&backend, written.clone()).await?;
    let read = backend.item(key(&partition, "all")).await.map_err(told)?;
    same!(read, Some(written));
    Ok(())
}

pub(super) async fn a_text_may_be_empty(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    for value in [
        Value::from(""),
        Value::Bytes(vec![]),
        Value::List(vec!["".into()]),
        Value::TextSet(["".into()].into()),
        Value::BytesSet([vec![], vec![0]].into()),
    ] {
        let written = item(&partition, "s", &[("value", value)]);
        store(&backend, written.clone()).await?;
        same!(backend.item(key(&partition, "s")).await.map_err(told)?, Some(written));
    }
    Ok(())
}

pub(super) async fn a_put_answers_with_the_image_asked_for(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    let of = |n: i64| item(&partition, "s", &[("n", n.into())]);
    let cases = [
        (Returning::Old, None),
        (Returning::New, Some(of(1))),
        (Returning::Old, Some(of(1))),
        (Returning::Nothing, None),
    ];
    for (at, (returning, image)) in (0..).zip(cases) {
        let wrote = backend.put(put(&backend, of(at)), returning).await.map_err(told)?;
        same!(wrote.item, image, "{at}");
    }
    Ok(())
}

pub(super) async fn an_update_answers_with_the_image_asked_for(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    let of = |n: i64| Some(item(&partition, "s", &[("n", n.into())]));
    let cases = [
        (Returning::New, of(1)),
        (Returning::New, of(2)),
        (Returning::Old, of(2)),
        (Returning::Nothing, None),
        (Returning::New, of(5)),
    ];
    for (returning, image) in cases {
        let add = vec![Action::Add("n".into(), 1.into())];
        let wrote = backend.update(update(&backend, key(&partition, "s"), add), returning).await;
        same!(wrote.map_err(told)?.item, image, "{returning:?}");
    }
    Ok(())
}

pub(super) async fn an_update_that_makes_an_item_has_no_old_image(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    let make = update(&backend, key(&partition, "s"), vec![Action::set("n", 1)]);
    same!(backend.update(make, Returning::Old).await.map_err(told)?.item, None);
    Ok(())
}

pub(super) async fn a_delete_answers_with_the_image_asked_for(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    let there = item(&partition, "s", &[("n", 1.into())]);
    let cases = [(Returning::Old, true), (Returning::New, false), (Returning::Nothing, false)];
    for (returning, told_of) in cases {
        for stored in [true, false] {
            if stored {
                store(&backend, there.clone()).await?;
            }
            let (table, key) = (Arc::clone(&backend.table), key(&partition, "s"));
            let delete = Delete { table, key: key.clone(), condition: None };
            let wrote = backend.delete(delete, returning).await.map_err(told)?;
            same!(wrote.item, (told_of && stored).then(|| there.clone()), "{returning:?}");
            same!(backend.item(key).await.map_err(told)?, None);
        }
    }
    Ok(())
}

pub(super) async fn an_update_of_nothing_makes_an_item_of_its_key(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    for _ in 0..2 {
        let nothing = update(&backend, key(&partition, "s"), vec![]);
        let wrote = backend.update(nothing, Returning::New).await.map_err(told)?;
        same!(wrote.item, Some(item(&partition, "s", &[])));
    }
    Ok(())
}

pub(super) async fn what_does_not_fit_what_is_stored_is_invalid(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    let stored = item(&partition, "s", &[("n", 1.into()), ("t", "text".into())]);
    store(&backend, stored.clone()).await?;
    let nines = Value::Number("9".repeat(38).parse().unwrap());
    let path = |name: &str| Path::from(name);
    let cases = [
        Action::increment("t", 1),
        Action::increment("absent", 1),
        Action::Add("t".into(), 1.into()),
        Action::Add("n".into(), Value::Number("1e-100".parse().unwrap())),
        Action::Add("n".into(), Value::TextSet(["a".into()].into())),
        Action::Set(path("absent").field("x"), Expression::Value(1.into())),
        Action::Set(path("t").index(0), Expression::Value(1.into())),
        Action::Set(path("a"), Expression::Path(path("absent"))),
    ];
    for action in cases {
        let change = update(&backend, key(&partition, "s"), vec![action.clone()]);
        let refused = invalid(backend.update(change, Returning::Nothing).await);
        same!(refused, Ok(None), "{action:?}");
    }
    same!(backend.item(key(&partition, "s")).await.map_err(told)?, Some(stored));
    // What has just room is no mistake.
    let change = update(&backend, key(&partition, "s"), vec![Action::Add("m".into(), nines)]);
    backend.update(change, Returning::Nothing).await.map_err(told)?;
    Ok(())
}

pub(super) async fn an_update_keeps_to_the_type_of_an_index_key(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    for value in [Value::from(1), Value::Null, Value::List(vec![])] {
        store(&backend, item(&partition, "s", &[("value", value.clone())])).await?;
        for name in ["GSI1PK", "GSI1SK"] {
            // As a constant, and as what is stored.
            for set in [Expression::Value(value.clone()), Expression::Path("value".into())] {
                let set = vec![Action::Set(name.into(), set)];
                let change = update(&backend, key(&partition, "s"), set);
                let refused = invalid(backend.update(change.clone(), Returning::Nothing).await);
                same!(refused, Ok(None), "{change:?}");
            }
        }
    }
    Ok(())
}

/// A write of each kind to one item, on a condition.
fn each(backend: &Backend, partition: &str, condition: &Condition) -> (Put, Update, Delete) {
    let (table, key) = (Arc::clone(&backend.table), key(partition, "s"));
    let (actions, condition) = (vec![Action::set("n", 2)], Some(condition.clone()));
    (
        Put {
            table: table.clone(),
            item: item(partition, "s", &[("n", 3.into())]),
            condition: condition.clone(),
        },
        Update { table: table.clone(), key: key.clone(), actions, condition: condition.clone() },
        Delete { table, key, condition },
    )
}

pub(super) async fn a_refused_write_changes_nothing(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    for stored in [None, Some(item(&partition, "s", &[("n", 1.into())]))] {
        if let Some(stored) = &stored {
            store(&backend, stored.clone()).await?;
        }
        let (put, update, delete) = each(&backend, &partition, &Condition::equals("n", 7));
        for returning in [Returning::Nothing, Returning::Old, Returning::New] {
            same!(failed(backend.put(put.clone(), returning).await)?.leg, 0);
            same!(failed(backend.update(update.clone(), returning).await)?.leg, 0);
            same!(failed(backend.delete(delete.clone(), returning).await)?.leg, 0);
        }
        same!(backend.item(key(&partition, "s")).await.map_err(told)?, stored);
    }
    Ok(())
}

pub(super) async fn a_refused_write_tells_what_it_met(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    for stored in [None, Some(sized(&partition, "s", 3000))] {
        let units = stored.as_ref().map_or(1, |_| 3);
        if let Some(stored) = &stored {
            store(&backend, stored.clone()).await?;
        }
        let (put, update, delete) = each(&backend, &partition, &Condition::equals("n", 7));
        for refused in [
            failed(backend.put(put, Returning::Nothing).await)?,
            failed(backend.update(update, Returning::Nothing).await)?,
            failed(backend.delete(delete, Returning::Nothing).await)?,
        ] {
            same!(refused.item, stored);
            same!(refused.capacity.write, units);
        }
    }
    Ok(())
}

/// A leg of each kind, on an item each; the first two must not be there, the others must.
fn four(backend: &Backend, partition: &str) -> Vec<Leg> {
    let table = || Arc::clone(&backend.table);
    let (absent, there) = (Condition::Absent("PK".into()), Condition::Exists("PK".into()));
    let put_item = item(partition, "put", &[("n", 2.into())]);
    vec![
        Leg::Put(Put { table: table(), item: put_item, condition: Some(absent.clone()) }),
        Leg::Update(Update {
            table: table(),
            key: key(partition, "update"),
            actions: vec![Action::set("n", 2)],
            condition: Some(absent),
        }),
        Leg::Delete(Delete {
            table: table(),
            key: key(partition, "delete"),
            condition: Some(there.clone()),
        }),
        Leg::Check(Check { table: table(), key: key(partition, "check"), condition: there }),
    ]
}

/// Puts the items four legs are on, or all but some.
async fn prepare(backend: &Backend, partition: &str, but: &[&str]) -> Result<(), String> {
    for sort in ["put", "update", "delete", "check"] {
        let there = matches!(sort, "delete" | "check") != but.contains(&sort);
        if there {
            store(backend, item(partition, sort, &[("n", 1.into())])).await?;
        } else {
            let (table, key) = (Arc::clone(&backend.table), key(partition, sort));
            let delete = Delete { table, key, condition: None };
            backend.delete(delete, Returning::Nothing).await.map_err(told)?;
        }
    }
    Ok(())
}

pub(super) async fn a_transaction_is_done_whole_or_not_at_all(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    let legs = four(&backend, &partition);
    for (at, sort) in ["put", "update", "delete", "check"].into_iter().enumerate() {
        prepare(&backend, &partition, &[sort]).await?;
        let refused = failed(backend.transact(Transact { legs: legs.clone() }).await)?;
        same!(refused.leg, at, "{sort}");
        for (sort, there) in [("put", 0), ("update", 1), ("delete", 2), ("check", 3)] {
            let found = backend.item(key(&partition, sort)).await.map_err(told)?;
            let before = (there >= 2) != (there == at);
            let before = before.then(|| item(&partition, sort, &[("n", 1.into())]));
            same!(found, before, "{sort} when leg {at} fails");
        }
    }
    prepare(&backend, &partition, &[]).await?;
    backend.transact(Transact { legs }).await.map_err(told)?;
    for (sort, n) in [("put", Some(2)), ("update", Some(2)), ("delete", None), ("check", Some(1))] {
        let found = backend.item(key(&partition, sort)).await.map_err(told)?;
        same!(found, n.map(|n: i64| item(&partition, sort, &[("n", n.into())])), "{sort}");
    }
    Ok(())
}

pub(super) async fn the_first_leg_that_fails_is_told_with_its_item(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    let legs = four(&backend, &partition);
    let there = |sort: &str| Some(item(&partition, sort, &[("n", 1.into())]));
    let cases: [(&[&str], usize, _); 5] = [
        (&["put", "check"], 0, there("put")),
        (&["check", "update"], 1, there("update")),
        (&["delete", "check"], 2, None),
        (&["check"], 3, None),
        (&["put", "update", "delete", "check"], 0, there("put")),
    ];
    for (but, leg, item) in cases {
        prepare(&backend, &partition, but).await?;
        let refused = failed(backend.transact(Transact { legs: legs.clone() }).await)?;
        same!((refused.leg, refused.item), (leg, item), "{but:?}");
    }
    Ok(())
}

pub(super) async fn a_leg_that_cannot_be_applied_is_told(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    store(&backend, item(&partition, "t", &[("t", "text".into())])).await?;
    let made = Leg::Put(put(&backend, item(&partition, "made", &[])));
    let change = update(&backend, key(&partition, "t"), vec![Action::increment("t", 1)]);
    let legs = vec![made, Leg::Update(change)];
    same!(invalid(backend.transact(Transact { legs }).await)?, Some(1));
    Ok(())
}

pub(super) async fn a_transaction_that_cannot_be_applied_is_refused(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    store(&backend, item(&partition, "t", &[("t", "text".into())])).await?;
    let made = Leg::Put(put(&backend, item(&partition, "made", &[])));
    let change = update(&backend, key(&partition, "t"), vec![Action::increment("t", 1)]);
    let legs = vec![made.clone(), Leg::Update(change.clone())];
    invalid(backend.transact(Transact { legs }).await)?;
    same!(backend.item(key(&partition, "made")).await.map_err(told)?, None);
    // A condition of its own comes first.
    let condition = Some(Condition::Absent("PK".into()));
    let legs = vec![made, Leg::Update(Update { condition, ..change })];
    same!(failed(backend.transact(Transact { legs }).await)?.leg, 1);
    Ok(())
}

pub(super) async fn a_write_costs_by_its_larger_image(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    for (bytes, units) in [(100, 1), (1024, 1), (1025, 2), (5000, 5), (100, 5), (1024, 1)] {
        same!(store(&backend, sized(&partition, "s", bytes)).await?, units, "{bytes}");
    }
    store(&backend, sized(&partition, "s", 2100)).await?;
    let shrink = update(&backend, key(&partition, "s"), vec![Action::Remove("filler".into())]);
    for units in [3, 1] {
        let wrote = backend.update(shrink.clone(), Returning::Nothing).await.map_err(told)?;
        same!(wrote.capacity.write, units);
    }
    store(&backend, sized(&partition, "s", 2100)).await?;
    let (table, key) = (Arc::clone(&backend.table), key(&partition, "s"));
    let delete = Delete { table, key, condition: None };
    for units in [3, 1] {
        let wrote = backend.delete(delete.clone(), Returning::Nothing).await.map_err(told)?;
        same!(wrote.capacity.write, units);
    }
    Ok(())
}

pub(super) async fn indexes_cost_by_what_changes_in_them(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    let indexed = |first: Option<&str>, n: i64| {
        let mut made = item(&partition, "s", &[("n", n.into()), ("GSI2PK", "half".into())]);
        if let Some(sort) = first {
            made.insert("GSI1PK", partition.as_str());
            made.insert("GSI1SK", sort);
        }
        made
    };
    let cases = [
        ("enters", Some("a"), 1, 2),
        ("stays", Some("a"), 1, 1),
        ("changes", Some("a"), 2, 2),
        ("moves", Some("b"), 2, 3),
        ("leaves", None, 2, 2),
        ("is not there", None, 3, 1),
    ];
    for (what, first, n, units) in cases {
        same!(store(&backend, indexed(first, n)).await?, units, "{what}");
    }
    Ok(())
}

pub(super) async fn a_transaction_costs_twice(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    prepare(&backend, &partition, &[]).await?;
    let mut legs = four(&backend, &partition);
    legs.push(Leg::Put(put(&backend, sized(&partition, "large", 2100))));
    let done = backend.transact(Transact { legs }).await.map_err(told)?;
    same!(done.capacity.write, 4 * 2 + 3 * 2);
    Ok(())
}
