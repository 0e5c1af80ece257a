//! What every commit does to counters: it moves that of each item it changes, and that of the item's guard.

use std::collections::BTreeMap;

use latchkey_language::Rule;
use latchkey_model::model::{KeyNames, KeyShape, Model, each_step};
use latchkey_table::{Item, Number, Value};
use latchkey_value::name::INCARNATION_ATTRIBUTE;

use crate::promise::{Breach, filled};
use crate::table::Table;

/// The counters of a document, by what items carry in the discriminator.
#[derive(Debug)]
pub(crate) struct Counting {
    discriminator: String,
    /// The attributes that hold keys.
    names: KeyNames,
    counters: BTreeMap<String, String>,
    guards: BTreeMap<String, Guard>,
}

/// What guards the items of an entity.
#[derive(Debug)]
struct Guard {
    name: String,
    key: KeyShape,
    counter: String,
}

impl Counting {
    pub(crate) fn of(model: &Model) -> Counting {
        let (mut counters, mut guards) = (BTreeMap::new(), BTreeMap::new());
        // Where the rule is waived, some write leaves a counter alone, and means it.
        if !is_waived(model) {
            for entity in &model.entities {
                if let Some(counter) = entity.counter() {
                    counters.insert(entity.discriminator.clone(), counter.name.clone());
                }
                let guard = entity.guarded_by.map(|guard| &model.entities[guard]);
                if let Some((guard, counter)) = guard.and_then(|it| Some((it, it.counter()?))) {
                    let (name, counter) = (guard.name.clone(), counter.name.clone());
                    let guard = Guard { name, key: guard.key.clone(), counter };
                    guards.insert(entity.discriminator.clone(), guard);
                }
            }
        }
        let (discriminator, names) = (model.table.discriminator.clone(), model.table.key.clone());
        Counting { discriminator, names, counters, guards }
    }

    /// The first counter that a commit did not move as it should.
    pub(crate) fn broken(&self, before: &Table, after: &Table) -> Option<Breach> {
        for (key, new) in after.all_changes() {
            let (old, new) = (before.get(key).map(|item| &**item), new.as_deref());
            if old == new {
                continue;
            }
            let kind = |item: &Item| {
                item.get(&self.discriminator).and_then(Value::as_text).map(ToString::to_string)
            };
            let Some((image, kind)) = new.or(old).and_then(|it| Some((it, kind(it)?))) else {
                continue;
            };
            if let (Some(attribute), Some(old), Some(new)) = (self.counters.get(&kind), old, new)
                && old.get(INCARNATION_ATTRIBUTE) == new.get(INCARNATION_ATTRIBUTE)
                && old.get(&self.discriminator) == new.get(&self.discriminator)
                && !is_next(number(old, attribute), number(new, attribute))
            {
                let attribute = attribute.clone();
                return Some(Breach::Counter { key: key.clone(), attribute });
            }
            if let Some(guard) = self.guards.get(&kind)
                && let Some(place) = filled(&self.names, &guard.key, image)
                && is_unmoved(
                    guard,
                    before.get(&place).map(|item| &**item),
                    after.get(&place).map(|item| &**item),
                )
            {
                return Some(Breach::Guard { key: key.clone(), guard: guard.name.clone() });
            }
        }
        None
    }
}

/// Whether a guard is as it was. Where there is none, nothing has moved.
fn is_unmoved(guard: &Guard, before: Option<&Item>, after: Option<&Item>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => {
            before.get(INCARNATION_ATTRIBUTE) == after.get(INCARNATION_ATTRIBUTE)
                && number(before, &guard.counter) == number(after, &guard.counter)
        }
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn number(item: &Item, attribute: &str) -> Option<Number> {
    item.get(attribute).and_then(Value::as_number)
}

/// Whether a counter has moved by one. One that was not stored counts from its first value.
fn is_next(old: Option<Number>, new: Option<Number>) -> bool {
    let one = Number::from(1i64);
    let old = old.unwrap_or(one);
    new.is_some_and(|new| old.checked_add(one).is_ok_and(|next| next == new))
}

fn is_waived(model: &Model) -> bool {
    let mut waived = model
        .entities
        .iter()
        .flat_map(|entity| &entity.waivers)
        .any(|waiver| waiver.rule == Rule::MissingBump);
    for body in model.bodies() {
        each_step(&body.steps, &mut |step| {
            waived |= step.waivers.iter().any(|waiver| waiver.rule == Rule::MissingBump);
        });
    }
    waived
}
