//! Contracts and workers that a search did not reach, and why.

use std::collections::BTreeSet;

use latchkey_model::Model;
use latchkey_model::model::{StepKind, each_step};
use latchkey_table::Text;

use crate::group::SEED;
use crate::lab::Lab;
use crate::machine::Stuck;
use crate::variant;
use crate::way::Alone;
use crate::world::World;

/// A contract or worker that took part in no group of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsearched {
    /// Its id.
    pub id: String,
    /// Why no group has it.
    pub why: String,
}

/// The contracts and workers of a document.
pub(crate) fn all(model: &Model) -> Vec<&str> {
    let workers = model.workers.iter().map(|worker| &worker.body);
    model.contracts.iter().chain(workers).map(|body| body.id.as_str()).collect()
}

/// Whether anything in a document writes or sends.
pub(crate) fn writes(model: &Model) -> bool {
    let mut writes = false;
    for body in model.bodies() {
        each_step(&body.steps, &mut |step| writes |= matches!(step.kind, StepKind::Write(_)));
        writes |= !body.sends().is_empty();
    }
    writes
}

/// A contract or worker that took part in no group, with the reason.
pub(crate) fn unsearched(lab: &Lab, world: &World, id: &str) -> Result<Unsearched, Stuck> {
    Ok(Unsearched { id: id.to_owned(), why: why(lab, world, id)? })
}

fn why(lab: &Lab, world: &World, id: &str) -> Result<String, Stuck> {
    let (mut made, mut codes) = (false, BTreeSet::<Text>::new());
    for state in &world.states {
        for act in variant::acts(lab, world, state).iter().filter(|act| act.body == id) {
            let alone = Alone::run(lab, &state.table, act, SEED)?;
            if alone.succeeded() {
                return Ok("it meets no call that writes what it reads or writes".to_owned());
            }
            made = true;
            codes.extend(alone.told.and_then(|told| told.code));
        }
    }
    if made {
        let codes: Vec<String> = codes.iter().map(|code| format!("`{code}`")).collect();
        let codes = if codes.is_empty() { "`later`".to_owned() } else { codes.join(", ") };
        return Ok(format!("no call of it succeeded: {codes}; write an example that does"));
    }
    Ok(match lab.model.workers.iter().any(|worker| worker.body.id == id) {
        true => "no message of its queue was sent; write an example that sends one".to_owned(),
        false => "no call of it could be made; write an example that calls it".to_owned(),
    })
}
