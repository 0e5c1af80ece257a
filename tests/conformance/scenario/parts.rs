//! Parts of an attribute: members of records, and elements of sets.

use std::sync::Arc;

use latchkey_table::{
    Action, Comparator, Condition, Expression, Item, Leg, Operand, Path, Returning, Text, Transact,
    Update, Value,
};

use super::{Went, failed, invalid, item, key, store, told, update};
use crate::backend::Backend;

fn texts(all: &[&str]) -> Value {
    Value::TextSet(all.iter().copied().map(Text::from).collect())
}

fn map(members: &[(&str, Value)]) -> Value {
    Value::Map(members.iter().map(|(name, value)| (Text::from(*name), value.clone())).collect())
}

/// `address.at.floor`
fn floor() -> Path {
    Path::from("address").field("at").field("floor")
}

fn order(partition: &str) -> Item {
    let at = map(&[("floor", 2.into()), ("bell", "ring".into())]);
    let address = map(&[("city", "Ulm".into()), ("zip", "89073".into()), ("at", at)]);
    let lines = Value::List(vec![map(&[("n", 1.into())]), map(&[("n", 2.into())])]);
    item(partition, "s", &[("address", address), ("lines", lines), ("tags", texts(&["a", "b"]))])
}

fn of(backend: &Backend, partition: &str, actions: Vec<Action>) -> Update {
    update(backend, key(partition, "s"), actions)
}

async fn changed(backend: &Backend, update: Update) -> Result<Option<Item>, String> {
    Ok(backend.update(update, Returning::New).await.map_err(told)?.item)
}

pub(super) async fn a_member_changes_and_the_others_stay(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    store(&backend, order(&partition)).await?;
    let address = || Path::from("address");
    let actions = vec![
        Action::Set(address().field("city"), Expression::Value("Bonn".into())),
        Action::Remove(address().field("zip")),
        Action::Set(
            floor(),
            Expression::Sum(
                Box::new(Expression::Path(floor())),
                Box::new(Expression::Value(1.into())),
            ),
        ),
        Action::Set(Path::from("lines").index(1).field("n"), Expression::Value(7.into())),
    ];
    let at = map(&[("floor", 3.into()), ("bell", "ring".into())]);
    let mut expected = order(&partition);
    expected.insert("address", map(&[("city", "Bonn".into()), ("at", at)]));
    let lines = vec![map(&[("n", 1.into())]), map(&[("n", 7.into())])];
    expected.insert("lines", Value::List(lines));
    same!(changed(&backend, of(&backend, &partition, actions)).await?, Some(expected.clone()));
    // A member that is not there is taken out of it all the same.
    let again = vec![Action::Remove(address().field("zip"))];
    same!(changed(&backend, of(&backend, &partition, again)).await?, Some(expected));
    Ok(())
}

/// In a write of its own and in a leg.
pub(super) async fn a_member_of_no_record_is_invalid(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    store(&backend, item(&partition, "s", &[("text", "x".into()), ("address", map(&[]))])).await?;
    for path in [
        Path::from("billing").field("city"),
        Path::from("text").field("city"),
        floor(),
        Path::from("address").index(0),
    ] {
        let set = vec![Action::Set(path.clone(), Expression::Value("Ulm".into()))];
        let alone = of(&backend, &partition, set.clone());
        same!(invalid(backend.update(alone, Returning::Nothing).await)?, None, "{path:?}");
        // Where a condition says that the record is there, the condition decides.
        let record = Condition::Exists(floor());
        let held = Update { condition: Some(record), ..of(&backend, &partition, set) };
        failed(backend.update(held.clone(), Returning::Nothing).await)?;
        let legs = vec![Leg::Update(held)];
        same!(failed(backend.transact(Transact { legs }).await)?.leg, 0, "{path:?}");
    }
    Ok(())
}

pub(super) async fn a_condition_looks_into_a_record(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    store(&backend, order(&partition)).await?;
    let compared = |path: Path, by: Comparator, value: Value| {
        Condition::Compare(Operand::Path(path), by, Operand::Value(value))
    };
    let city = || Path::from("address").field("city");
    let cases = [
        (compared(city(), Comparator::Equal, "Ulm".into()), true),
        (compared(city(), Comparator::NotEqual, "Ulm".into()), false),
        (compared(floor(), Comparator::Greater, 1.into()), true),
        (compared(floor(), Comparator::Greater, 2.into()), false),
        (compared(Path::from("address").field("none"), Comparator::Equal, "x".into()), false),
        (Condition::Exists(floor()), true),
        (Condition::Absent(floor()), false),
        (Condition::Absent(Path::from("address").field("none").field("more")), true),
        (Condition::Exists(Path::from("lines").index(1).field("n")), true),
        (Condition::Exists(Path::from("lines").index(2).field("n")), false),
    ];
    for (condition, holds) in cases {
        let touch = of(&backend, &partition, vec![Action::set("touched", 1)]);
        let touch = Update { condition: Some(condition.clone()), ..touch };
        let went = backend.update(touch, Returning::Nothing).await;
        match holds {
            true => drop(went.map_err(told)?),
            false => same!(failed(went)?.leg, 0, "{condition:?}"),
        }
    }
    Ok(())
}

pub(super) async fn elements_come_and_go(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    store(&backend, order(&partition)).await?;
    let add = |all: &[&str]| Action::Add("tags".into(), texts(all));
    let remove = |all: &[&str]| Action::Delete("tags".into(), texts(all));
    let cases = [
        (add(&["c"]), texts(&["a", "b", "c"])),
        // One that is there, and one that is not.
        (add(&["a", "d"]), texts(&["a", "b", "c", "d"])),
        (remove(&["b"]), texts(&["a", "c", "d"])),
        (remove(&["b", "d"]), texts(&["a", "c"])),
    ];
    for (action, expected) in cases {
        let action = vec![action];
        let after = changed(&backend, of(&backend, &partition, action.clone())).await?;
        let tags = after.and_then(|item| item.get("tags").cloned());
        same!(tags, Some(expected), "{action:?}");
    }
    let wrong = vec![Action::Add("tags".into(), Value::NumberSet([1_i64.into()].into()))];
    let wrong = of(&backend, &partition, wrong);
    same!(invalid(backend.update(wrong, Returning::Nothing).await)?, None);
    Ok(())
}

pub(super) async fn a_set_with_no_elements_is_gone(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    store(&backend, order(&partition)).await?;
    let remove = || vec![Action::Delete("tags".into(), texts(&["a", "b"]))];
    let mut expected = order(&partition);
    expected.remove("tags");
    for _ in 0..2 {
        let after = changed(&backend, of(&backend, &partition, remove())).await?;
        same!(after, Some(expected.clone()));
    }
    let add = vec![Action::Add("tags".into(), texts(&["z"]))];
    expected.insert("tags", texts(&["z"]));
    same!(changed(&backend, of(&backend, &partition, add)).await?, Some(expected));
    Ok(())
}

pub(super) async fn a_condition_counts_and_finds_elements(backend: Arc<Backend>) -> Went {
    let partition = backend.partition();
    store(&backend, order(&partition)).await?;
    let has = |tag: &str| Condition::Contains("tags".into(), Operand::Value(tag.into()));
    let count = |by: Comparator, count: i64| {
        Condition::Compare(Operand::Size("tags".into()), by, count.into())
    };
    let none = || Condition::Absent("tags".into());
    let cases = [
        (has("a"), true),
        (has("c"), false),
        (Condition::Not(Box::new(has("c"))), true),
        (count(Comparator::Less, 3), true),
        (count(Comparator::Less, 2), false),
        // Room for one more, or an element already: what `add` of a bounded set asks.
        (Condition::Or(vec![none(), has("a"), count(Comparator::Less, 2)]), true),
        (Condition::Or(vec![none(), has("c"), count(Comparator::Less, 2)]), false),
    ];
    for (condition, holds) in cases {
        let add = vec![Action::Add("seen".into(), texts(&["x"]))];
        let add = of(&backend, &partition, add);
        let add = Update { condition: Some(condition.clone()), ..add };
        let went = backend.transact(Transact { legs: vec![Leg::Update(add)] }).await;
        match holds {
            true => same!(went.map(|_| ()), Ok(()), "{condition:?}"),
            false => same!(failed(went)?.leg, 0, "{condition:?}"),
        }
    }
    Ok(())
}
