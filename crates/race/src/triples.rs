//! Groups of three acts. One reads an item that the second removes or makes; the third makes or removes it again, or does
//! what it does only because the second came first.

use std::collections::BTreeSet;

use latchkey_table::{Key, Request};

use crate::act::Act;
use crate::group::{SEED, hashed, own_key, toggles};
use crate::lab::{Lab, is_ours};
use crate::machine::{Effect, Stuck};
use crate::search::Depth;
use crate::way::{Alone, Meeting};
use crate::world::State;

/// The triples of a state, each with what tells it from others. Those in which one goes on from another are looked for by
/// a deep search alone: there are twenty times as many schedules of them as of all others. With `undone`, the ways of two acts of which one undoes
/// the other are looked at once, in whatever state.
pub(crate) fn triples(
    lab: &Lab,
    state: &State,
    kept: &[&Alone],
    depth: Depth,
    mut undone: Option<&mut BTreeSet<(u64, u64)>>,
) -> Result<Vec<(u64, Vec<Act>)>, Stuck> {
    let mut triples = Vec::new();
    let mut ways = BTreeSet::new();
    for first in kept.iter().filter(|alone| alone.commits > 0) {
        let toggled: Vec<(Key, bool)> =
            toggles(first).into_iter().filter(|(key, _)| !is_ours(&key.partition)).collect();
        // One of each way is enough: who reads is what differs.
        if toggled.is_empty() || !ways.insert(first.way) {
            continue;
        }
        let names = |alone: &&&Alone| toggled.iter().any(|(key, _)| alone.keys.contains(key));
        for second in kept.iter().filter(names) {
            if undone.as_mut().is_some_and(|undone| !undone.insert((first.way, second.way))) {
                continue;
            }
            let again = own_key((second.act.clone(), 2));
            let again = Alone::run(lab, &first.table, &again, SEED + 1)?;
            let back = toggles(&again);
            let undoes = |(key, there): &&(Key, bool)| back.contains(&(key.clone(), !there));
            if let Some((key, _)) = toggled.iter().find(undoes) {
                for reader in kept.iter().filter(|reader| reader.keys.contains(key)) {
                    let met = (reader.meets(first, &state.table), first.way, again.way);
                    let acts = vec![reader.act.clone(), first.act.clone(), again.act.clone()];
                    triples.push((hashed(&(3, reader.way, met)), acts));
                }
            } else if depth == Depth::Deep && is_let_in(second, &again) {
                followed(state, kept, (first, &again), &mut triples);
            }
        }
    }
    Ok(triples)
}

/// Whether an act commits something once another has been, which it does not alone.
fn is_let_in(alone: &Alone, again: &Alone) -> bool {
    again.commits > 0 && again.way != alone.way
}

/// The triples of an act that makes something, one that goes on from it, and one that may come between and misses the
/// first: it reads what the first writes, and then something that the second writes, or writes what the second reads.
fn followed(
    state: &State,
    kept: &[&Alone],
    (first, then): (&Alone, &Alone),
    triples: &mut Vec<(u64, Vec<Act>)>,
) {
    for reader in kept {
        let missed = reader.meets(first, &state.table);
        let Some(from) = missed.iter().map(|(at, ..)| *at).filter(|at| is_read(reader, *at)).min()
        else {
            continue;
        };
        let mut met = reader.meets(then, &state.table);
        met.retain(|(at, ..)| *at > from || (*at == from && is_of_several(reader, *at)));
        // One read of one moment, and nothing behind it, sees both or neither.
        if met.is_empty() {
            continue;
        }
        let met: (Vec<Meeting>, Vec<Meeting>) = (missed, met);
        let key = hashed(&(4, reader.way, first.way, then.way, met));
        let acts = vec![reader.act.clone(), first.act.clone(), then.act.clone()];
        triples.push((key, acts));
    }
}

fn is_read(alone: &Alone, at: usize) -> bool {
    alone.events.get(at).is_some_and(|event| matches!(event.effect, Effect::Read(_)))
}

/// Whether a request reads several items one by one.
fn is_of_several(alone: &Alone, at: usize) -> bool {
    alone.events.get(at).is_some_and(|event| matches!(event.request, Request::BatchGet(_)))
}
