//! Mistakes put into histories that have none. Each is one that no order explains, whatever else is in the history,
//! because no value is written twice.

use crate::linear::{Asked, Operation, Told};
use crate::serve::chance::Chance;

/// What a broken store might do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mistake {
    /// A read gives what was overwritten before it began.
    StaleRead,
    /// Two swaps of one value both succeed.
    LostUpdate,
    /// A write is acknowledged, and a later read shows what was there before.
    PhantomSuccess,
    /// A read gives what nobody wrote.
    PhantomValue,
    /// A write is refused, and yet a read shows it.
    PhantomRefusal,
}

pub(crate) const MISTAKES: [Mistake; 5] = [
    Mistake::StaleRead,
    Mistake::LostUpdate,
    Mistake::PhantomSuccess,
    Mistake::PhantomValue,
    Mistake::PhantomRefusal,
];

/// The value that an acknowledged operation has written.
fn written(one: &Operation) -> Option<u64> {
    match (one.asked, one.told) {
        (Asked::Write(value) | Asked::Swap(_, value), Told::Done) => Some(value),
        _ => None,
    }
}

fn read(one: &Operation) -> Option<u64> {
    match one.told {
        Told::Value(value) => Some(value),
        _ => None,
    }
}

/// The history with a mistake, if it has a place for one.
pub(crate) fn seed(
    history: &[Operation],
    mistake: Mistake,
    chance: &mut Chance,
) -> Option<Vec<Operation>> {
    let mut places = Vec::new();
    let pairs = (0..history.len()).flat_map(|a| (0..history.len()).map(move |b| (a, b)));
    for (a, b) in pairs.filter(|(a, b)| a != b) {
        places.extend(place(history, mistake, a, b));
    }
    if places.is_empty() {
        return None;
    }
    Some(places.swap_remove(chance.below(places.len())))
}

fn place(history: &[Operation], mistake: Mistake, a: usize, b: usize) -> Option<Vec<Operation>> {
    let (one, other) = (&history[a], &history[b]);
    let mut wrong = history.to_vec();
    match mistake {
        Mistake::StaleRead => {
            let old = written(one)?;
            let mut later = history.iter().filter(|w| written(w).is_some() && one.end < w.start);
            later.find(|newer| newer.end < other.start)?;
            read(other)?;
            wrong[b].told = Told::Value(old);
        }
        Mistake::LostUpdate => {
            let (Asked::Swap(from, _), Told::Done) = (one.asked, one.told) else { return None };
            let (Asked::Swap(same, _), Told::Refused(_)) = (other.asked, other.told) else {
                return None;
            };
            (from == same).then_some(())?;
            wrong[b].told = Told::Done;
        }
        Mistake::PhantomSuccess => {
            (written(one)? == read(other)? && one.end + 2 < other.start).then_some(())?;
            let (asked, told) = (Asked::Write(u64::MAX), Told::Done);
            wrong.push(Operation { asked, told, start: one.end + 1, end: one.end + 1 });
        }
        Mistake::PhantomValue => {
            read(other)?;
            wrong[b].told = Told::Value(u64::MAX);
        }
        Mistake::PhantomRefusal => {
            let (Asked::Swap(from, to), Told::Done) = (one.asked, one.told) else { return None };
            (read(other)? == to).then_some(())?;
            wrong[a].told = Told::Refused(from + 1);
        }
    }
    Some(wrong)
}
