//! States beyond the examples: a walk through the contracts where there are none, and calls repeated until they are
//! refused.

use std::collections::BTreeSet;

use latchkey_runtime::Call;

use crate::act::Act;
use crate::lab::Lab;
use crate::machine::Stuck;
use crate::variant::{acts, freshened};
use crate::way::Alone;
use crate::world::{SEED, State, World};

/// How many steps a walk takes.
const STEPS_MAX: usize = 40;

/// How often a call is repeated to see whether it is refused at last.
const REPEATS_MAX: usize = 12;

/// The seeds of the calls of a walk.
const WALK_SEED: u64 = SEED * 10;

/// Walks from the last state: whatever takes a way that was not taken before, and changes something, is done.
pub(crate) fn walk(lab: &Lab, world: &mut World) -> Result<(), Stuck> {
    let mut taken = BTreeSet::new();
    for seed in 0..STEPS_MAX {
        let Some(state) = world.states.last().cloned() else { return Ok(()) };
        let mut next = None;
        for act in acts(lab, world, &state) {
            let seed = WALK_SEED + u64::try_from(seed).unwrap_or(u64::MAX >> 1);
            let act = act.keyed(&format!("walk-{seed}"));
            let alone = Alone::run(lab, &state.table, &act, seed)?;
            if alone.succeeded() && alone.commits > 0 && taken.insert(alone.way) {
                next = Some(alone);
                break;
            }
        }
        let Some(alone) = next else { return Ok(()) };
        let label = format!("after {}, as a walk through the contracts made it", alone.act.body);
        let history = state.history.then(&alone.act, alone.told.as_ref());
        world.add(label, &alone.table, alone.act.now, history);
    }
    Ok(())
}

/// Adds the states in which one more call of a kind is refused.
pub(crate) fn grow(lab: &Lab, world: &mut World) -> Result<(), Stuck> {
    let mut grown: Vec<State> = Vec::new();
    let mut tried: BTreeSet<(u64, usize)> = BTreeSet::new();
    for state in &world.states {
        for call in &world.calls {
            let alone =
                Alone::run(lab, &state.table, &Act::call(call.clone(), state.now), WALK_SEED)?;
            if !alone.succeeded() || alone.commits == 0 {
                continue;
            }
            let contract = lab.model.contracts.iter().find(|c| c.id == call.contract.as_str());
            let contract = contract.ok_or_else(|| {
                Stuck(format!("there is no contract `{}`, and it was called", call.contract))
            })?;
            for kind in 0..freshened(contract, call, 0).len() {
                if !tried.insert((alone.way, kind)) {
                    continue;
                }
                let fresh = |count: usize| freshened(contract, call, count).into_iter().nth(kind);
                grown.extend(grow_one(lab, state, &fresh)?);
            }
        }
    }
    for state in grown {
        world.add(state.label, &state.table, state.now, state.history);
    }
    Ok(())
}

/// Repeats a call with fresh values until it is refused; the state before that.
fn grow_one(
    lab: &Lab,
    state: &State,
    fresh: &dyn Fn(usize) -> Option<Call>,
) -> Result<Option<State>, Stuck> {
    let mut table = state.table.clone();
    let mut history = state.history.clone();
    let mut before = None;
    for count in 0..REPEATS_MAX {
        let Some(call) = fresh(count) else { return Ok(None) };
        let (now, contract) = (state.now, call.contract.clone());
        let seed = WALK_SEED + 100 + u64::try_from(count).unwrap_or(0);
        let act = Act::call(call, now).keyed(&format!("grown-{seed}"));
        let alone = Alone::run(lab, &table, &act, seed)?;
        if !alone.succeeded() || alone.commits == 0 {
            let label = |times: usize| format!("{}, then {times} × {contract}", state.label);
            // One before the refusal: the next would be the last that is taken.
            let grown = before.filter(|_| count > 1);
            return Ok(grown.map(|(table, history)| State {
                label: label(count - 1),
                table,
                now,
                history,
            }));
        }
        let then = history.then(&alone.act, alone.told.as_ref());
        let table_before = std::mem::replace(&mut table, alone.table.settled());
        before = Some((table_before, std::mem::replace(&mut history, then)));
    }
    Ok(None)
}
