//! What a run comes to, as far as anyone can tell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use latchkey_model::Type;
use latchkey_model::model::{ExprKind, Leg, Model, StepKind, each_step};
use latchkey_table::{Item, Key, Value};
use latchkey_value::json;
use latchkey_value::name::INCARNATION_ATTRIBUTE;

use crate::act::Reply;
use crate::lab::{Lab, is_ours};
use crate::machine::Machine;
use crate::table::Table;

/// How an act ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// It told something.
    Told(Reply),
    /// It stopped after so many commits: what it would do next never ran.
    Stopped(usize),
}

/// What a run comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) ends: Vec<End>,
    pub(crate) left: Left,
}

/// What a table has that it did not begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Left {
    /// The items that are otherwise than in the beginning, but for our housekeeping.
    pub(crate) items: BTreeMap<Key, Option<Arc<Item>>>,
    /// What was sent: queue, due time and body.
    pub(crate) messages: Vec<String>,
}

impl Outcome {
    /// What a run comes to, were it cut off here.
    pub(crate) fn of(lab: &Lab, machine: &Machine<'_>) -> Outcome {
        let ends = machine.acting.iter().map(|acting| match &acting.told {
            Some(Some(told)) => End::Told(told.clone()),
            Some(None) | None => End::Stopped(acting.commits),
        });
        Outcome { ends: ends.collect(), left: Left::of(lab, &machine.table) }
    }
}

impl Left {
    /// What a table has that it did not begin with.
    pub(crate) fn of(lab: &Lab, table: &Table) -> Left {
        let (mut items, mut messages) = (BTreeMap::new(), Vec::new());
        for (key, item) in table.changes() {
            if !is_ours(&key.partition) {
                items.insert(key.clone(), item.map(without_housekeeping));
                continue;
            }
            if let Some((home, record)) = item.and_then(|item| lab.record(&key.partition, item)) {
                let mut body = String::new();
                json::write(&Value::Map(record.message().body().clone()), &mut body);
                messages.push(format!("{} at {}: {body}", home.queue(), record.due()));
            }
        }
        messages.sort_unstable();
        Left { items, messages }
    }

    /// The items that are otherwise than in another.
    pub(crate) fn differing<'a>(&'a self, other: &'a Left) -> Vec<&'a Key> {
        let keys: BTreeSet<&Key> = self.items.keys().chain(other.items.keys()).collect();
        keys.into_iter().filter(|key| self.items.get(*key) != other.items.get(*key)).collect()
    }
}

/// An item without what the runtime keeps in it.
fn without_housekeeping(item: &Arc<Item>) -> Arc<Item> {
    if item.get(INCARNATION_ATTRIBUTE).is_none() {
        return Arc::clone(item);
    }
    let mut own = Item::clone(item);
    own.remove(INCARNATION_ATTRIBUTE);
    Arc::new(own)
}

/// The attributes that a second clean run may leave otherwise: counters, times, and what is made of them.
#[derive(Debug)]
pub(crate) struct Loose {
    discriminator: String,
    attributes: BTreeSet<(String, String)>,
    keys: Vec<String>,
}

impl Loose {
    pub(crate) fn of(lab: &Lab) -> Loose {
        let model = &lab.model;
        let mut attributes = BTreeSet::new();
        for entity in &model.entities {
            for attribute in &entity.attributes {
                if matches!(attribute.kind, Type::Counter | Type::Time | Type::Date) {
                    attributes.insert((entity.discriminator.clone(), attribute.name.clone()));
                }
            }
        }
        for body in model.bodies() {
            each_step(&body.steps, &mut |step| {
                if let StepKind::Write(leg) = &step.kind {
                    made_of_counters(model, leg, &mut attributes);
                }
            });
        }
        let keys = lab.system.key_attributes().into_iter().map(str::to_owned).collect();
        Loose { discriminator: model.table.discriminator.clone(), attributes, keys }
    }

    /// Whether two tables were left alike, but for what is loose.
    pub(crate) fn alike(&self, a: &Left, b: &Left) -> bool {
        a == b || (a.messages == b.messages && self.bare(a) == self.bare(b))
    }

    /// The items of a table without what is loose, in an order of their own.
    fn bare(&self, left: &Left) -> Vec<String> {
        let bare = |(key, item): (&Key, &Option<Arc<Item>>)| {
            let Some(item) = item else {
                return format!("{}#{} is gone", key.partition, key.sort);
            };
            let kind = item.get(&self.discriminator).and_then(Value::as_text);
            let kind = kind.map(ToString::to_string).unwrap_or_default();
            let fixed = item.iter().filter(|(name, _)| {
                !self.keys.iter().any(|key| *key == **name)
                    && !self.attributes.contains(&(kind.clone(), name.to_string()))
            });
            let fixed: Item = fixed.map(|(name, value)| (name.clone(), value.clone())).collect();
            let mut text = String::new();
            json::write(&Value::Map(fixed), &mut text);
            text
        };
        let mut all: Vec<String> = left.items.iter().map(bare).collect();
        all.sort_unstable();
        all
    }
}

/// Adds the attributes that a write makes of a counter.
fn made_of_counters(model: &Model, leg: &Leg, attributes: &mut BTreeSet<(String, String)>) {
    let entity = &model.entities[leg.entity];
    let counters: BTreeSet<&str> = model
        .entities
        .iter()
        .filter_map(|entity| entity.counter())
        .map(|counter| counter.name.as_str())
        .collect();
    for given in leg.values.iter().chain(&leg.key) {
        let mut counted = false;
        given.value.walk(&mut |part| {
            counted |= matches!(&part.kind, ExprKind::Attribute(_, name) if counters.contains(name.as_str()));
        });
        if counted {
            attributes.insert((entity.discriminator.clone(), given.attribute.clone()));
        }
    }
}
