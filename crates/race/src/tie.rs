//! Which inputs of a contract belong to one item: the parts of its key, and what is compared with its attributes, such
//! as its version. A call with values of two items finds neither.

use std::collections::BTreeMap;

use latchkey_model::Model;
use latchkey_model::model::{
    BindingId, Contract, Entity, Expr, ExprKind, Given, InputId, Leg, Op, Read, StepKind, What,
    each_step,
};
use latchkey_table::{Item, Value};

use crate::lab::is_ours;
use crate::table::Table;

/// Of how many items of each tie calls are made.
const ITEMS_MAX: usize = 8;

/// What a call gives of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// An input.
    Input(InputId),
    /// The caller's id.
    Caller,
}

/// Values of a call that belong together.
pub(crate) type Parts = BTreeMap<Part, Value>;

/// What a call gives of one item of an entity: each part, and the attribute that it is of the item.
#[derive(Debug)]
struct Tie<'a> {
    entity: &'a Entity,
    parts: Vec<(Part, &'a str)>,
}

impl Tie<'_> {
    /// The values of an item, if they agree with those that are known.
    fn values(&self, item: &Item, known: &Parts) -> Option<Parts> {
        let mut values = Parts::new();
        for (part, attribute) in &self.parts {
            let Some(value) = item.get(attribute) else { continue };
            if known.get(part).is_some_and(|known| known != value) {
                return None;
            }
            values.insert(*part, value.clone());
        }
        Some(values)
    }
}

/// The ties of a contract to items.
#[derive(Debug)]
pub(crate) struct Ties<'a> {
    all: Vec<Tie<'a>>,
    discriminator: &'a str,
}

impl<'a> Ties<'a> {
    pub(crate) fn of(model: &'a Model, contract: &'a Contract) -> Ties<'a> {
        let mut finding = Finding { model, all: Vec::new(), bound: BTreeMap::new() };
        each_step(&contract.steps, &mut |step| match &step.kind {
            StepKind::Allow(test)
            | StepKind::Require(test, _)
            | StepKind::Match(test, _)
            | StepKind::When(test, ..) => finding.test(test),
            StepKind::Read(read) => finding.read(contract, read),
            StepKind::Write(leg) => finding.write(leg),
            _ => {}
        });
        let mut all = finding.all;
        all.retain(|tie| !tie.parts.is_empty());
        Ties { all, discriminator: &model.table.discriminator }
    }

    /// The values that stored items give a call, all of them of items that agree. With `whole`, items that have
    /// nothing to do with each other give theirs too.
    pub(crate) fn values(&self, table: &Table, whole: bool) -> Vec<Parts> {
        let items = table.items();
        let own = || items.iter().filter(|(key, _)| !is_ours(&key.partition)).map(|(_, item)| item);
        let of = |tie: &Tie<'a>| {
            let (name, kind) = (tie.entity.discriminator.as_str(), self.discriminator);
            own().filter(move |item| {
                item.get(kind).and_then(Value::as_text).is_some_and(|kind| *kind == name)
            })
        };
        let mut all: Vec<Parts> = Vec::new();
        for (at, tie) in self.all.iter().enumerate() {
            for item in of(tie).take(ITEMS_MAX) {
                let mut known = tie.values(item, &Parts::new()).unwrap_or_default();
                for (_, other) in self.all.iter().enumerate().filter(|(place, _)| *place != at) {
                    let shares = other.parts.iter().any(|(part, _)| known.contains_key(part));
                    if shares || whole {
                        let agreeing = of(other).find_map(|item| other.values(item, &known));
                        known.extend(agreeing.unwrap_or_default());
                    }
                }
                if !known.is_empty() && !all.contains(&known) {
                    all.push(known);
                }
            }
        }
        all
    }
}

struct Finding<'a> {
    model: &'a Model,
    all: Vec<Tie<'a>>,
    /// The tie of what a binding was read by.
    bound: BTreeMap<BindingId, usize>,
}

impl<'a> Finding<'a> {
    fn read(&mut self, contract: &'a Contract, read: &'a Read) {
        let entity = &self.model.entities[read.entity];
        let parts = match &read.what {
            What::Get(key) => given(key),
            What::Batch(batch) => given(&batch.key),
            What::Query(query) => {
                let mut parts = Vec::new();
                let mut named = |value: &Expr| {
                    let Some(part) = part(value) else { return };
                    let name = match part {
                        Part::Input(input) => contract.inputs[input].name.as_str(),
                        Part::Caller => return,
                    };
                    if let Some(attribute) = entity.attribute(name) {
                        parts.push((part, attribute.name.as_str()));
                    }
                };
                query.values().for_each(|value| value.walk(&mut named));
                parts
            }
            What::Part(_) => return,
        };
        if let Some(binding) = read.binding {
            self.bound.insert(binding, self.all.len());
        }
        self.all.push(Tie { entity, parts });
    }

    fn write(&mut self, leg: &'a Leg) {
        let entity = &self.model.entities[leg.entity];
        let known = leg.target.and_then(|target| self.bound.get(&target)).copied();
        let at = known.unwrap_or(self.all.len());
        if known.is_none() {
            let key = entity.key.attributes();
            let values = leg.values.iter().filter(|given| key.contains(&given.attribute.as_str()));
            self.all.push(Tie { entity, parts: given(leg.key.iter().chain(values)) });
        }
        if let Some(condition) = &leg.condition {
            let stored = |value: &'a Expr| match &value.kind {
                ExprKind::Stored(name) => Some((at, name.as_str())),
                _ => None,
            };
            self.compared(condition, &stored);
            self.test(condition);
        }
    }

    /// Adds what a test compares with attributes of items that were read.
    fn test(&mut self, test: &'a Expr) {
        let bound = self.bound.clone();
        let attribute = |value: &'a Expr| match &value.kind {
            ExprKind::Attribute(binding, name) => Some((*bound.get(binding)?, name.as_str())),
            _ => None,
        };
        self.compared(test, &attribute);
    }

    fn compared(&mut self, test: &'a Expr, of: &dyn Fn(&'a Expr) -> Option<(usize, &'a str)>) {
        let mut add = |part: Option<Part>, value: &'a Expr| {
            let Some((part, (at, attribute))) = part.zip(of(value)) else { return };
            let Some(tie) = self.all.get_mut(at) else { return };
            if !tie.parts.iter().any(|(own, _)| *own == part) {
                tie.parts.push((part, attribute));
            }
        };
        test.walk(&mut |test| match &test.kind {
            ExprKind::Binary(Op::Equal, a, b) => {
                add(part(a), b);
                add(part(b), a);
            }
            ExprKind::Owns(owner) => add(Some(Part::Caller), owner),
            _ => {}
        });
    }
}

/// The parts of a call that a key is made of.
fn given<'a>(key: impl IntoIterator<Item = &'a Given>) -> Vec<(Part, &'a str)> {
    let parts = key.into_iter().filter(|given| given.is_whole());
    parts.filter_map(|given| Some((part(&given.value)?, given.attribute.as_str()))).collect()
}

fn part(value: &Expr) -> Option<Part> {
    match &value.kind {
        ExprKind::Input(input) => Some(Part::Input(*input)),
        ExprKind::CallerId => Some(Part::Caller),
        _ => None,
    }
}
