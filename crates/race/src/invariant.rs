//! Whether the invariants of a document hold of the items of a table.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use latchkey_language::Span;
use latchkey_model::Model;
use latchkey_model::model::Invariant;
use latchkey_runtime::{Call, Caller, RawInput};
use latchkey_table::{Item, Key, Text, Value};

use crate::ends::{Ends, Now};
use crate::lab::Lab;
use crate::machine::Stuck;
use crate::port::Fixed;
use crate::table::{Changes, Memory, Table};
use crate::way::Alone;

/// An invariant that does not hold of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    /// The entity.
    pub(crate) entity: String,
    /// What should hold.
    pub(crate) promise: String,
    /// The item.
    pub(crate) key: Key,
    /// Where the invariant is declared.
    pub(crate) span: Span,
}

/// Looks at the tables that acts lead to alone, from one state: each change once.
pub(crate) struct Watched<'a> {
    lab: &'a Lab,
    base: &'a Table,
    seen: Vec<(i64, Changes, Vec<usize>)>,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(lab: &'a Lab, base: &'a Table) -> Watched<'a> {
        Watched { lab, base, seen: Vec::new() }
    }

    /// The invariants, by where they are declared, that a commit of an act breaks and that held before.
    pub(crate) fn broken(&mut self, alone: &Alone) -> Result<Vec<usize>, Stuck> {
        let mut all = Vec::new();
        if self.lab.model.invariants.is_empty() {
            return Ok(all);
        }
        for table in alone.versions.iter().skip(1) {
            all.extend(self.looked_at(table, alone.act.now)?);
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    fn looked_at(&mut self, table: &Table, now: i64) -> Result<Vec<usize>, Stuck> {
        let known = self.seen.iter().find(|(at, seen, _)| *at == now && table.is_changed_to(seen));
        if let Some((.., broken)) = known {
            return Ok(broken.clone());
        }
        let mut found = broken(self.lab, table, now)?;
        if !found.is_empty() {
            let before = broken(self.lab, self.base, now)?;
            found.retain(|broken| !before.contains(broken));
        }
        let places: Vec<usize> = found.into_iter().map(|broken| broken.span.start).collect();
        self.seen.push((now, table.all_changes().clone(), places.clone()));
        Ok(places)
    }
}

/// The invariants that do not hold of a table at an instant, in the order of the document and of the keys. Items that
/// have ended by then are absent.
pub(crate) fn broken(lab: &Lab, table: &Table, now: i64) -> Result<Vec<Broken>, Stuck> {
    let mut found = Vec::new();
    if lab.model.invariants.is_empty() {
        return Ok(found);
    }
    let (ends, instant) = (Ends::of(&lab.model), Now::new(now));
    let mut items = table.items();
    items.retain(|_, item| !ends.is_past(item, &instant));
    for invariant in &lab.model.invariants {
        for (key, item) in &items {
            if is_about(&lab.model, invariant, item) && !holds(lab, table, now, invariant, item)? {
                found.push(Broken {
                    entity: lab.model.entities[invariant.entity].name.clone(),
                    promise: invariant.body.title.clone(),
                    key: key.clone(),
                    span: invariant.span,
                });
            }
        }
    }
    Ok(found)
}

fn is_about(model: &Model, invariant: &Invariant, item: &Item) -> bool {
    let kind = item.get(&model.table.discriminator).and_then(Value::as_text);
    kind.is_some_and(|kind| *kind == model.entities[invariant.entity].discriminator)
}

/// Runs the body of an invariant on an item. The table answers at once, so the body ends at once.
fn holds(
    lab: &Lab,
    table: &Table,
    now: i64,
    invariant: &Invariant,
    item: &Item,
) -> Result<bool, Stuck> {
    let id = invariant.body.id.as_str();
    let mut call = Call::new(id, Caller::new("nobody"));
    call.at = Some(now);
    for input in &invariant.body.inputs {
        let Some(value) = item.get(&input.name) else { continue };
        call.inputs.push((Text::from(input.name.as_str()), RawInput::Json(value.clone())));
    }
    let memory = Arc::new(Memory::of(table.clone()));
    let runtime = lab.runtime.beside(memory, Arc::new(Fixed::new(0, 0)));
    let _timers = lab.clock.enter();
    let mut looking = Box::pin(runtime.look(call));
    let polled = looking.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    let Poll::Ready(Some(outcome)) = polled else {
        return Err(Stuck(format!("{id} cannot be looked at")));
    };
    match outcome.result {
        Ok(_) => Ok(true),
        Err(problem) if problem.code == Invariant::BROKEN => Ok(false),
        Err(problem) => {
            Err(Stuck(format!("{id} ends with `{}`: {}", problem.code, problem.detail)))
        }
    }
}
