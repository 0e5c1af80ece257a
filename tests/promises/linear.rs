//! Whether a history of one register can be put into an order: each operation at one instant between its call and its
//! answer, each answer right at that instant (Wing and Gong's search, with a memory of what was tried).

use std::collections::HashSet;

/// What was asked of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Read,
    Write(u64),
    /// From one value to another.
    Swap(u64, u64),
}

/// What was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// A read gives the value.
    Value(u64),
    Done,
    /// A swap was refused, because of this value.
    Refused(u64),
    /// No answer came. It happened before the end, or never.
    Unknown,
}

/// An operation, with when it was asked for and when it was answered, by one clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) asked: Asked,
    pub(crate) told: Told,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Operation {
    /// The value behind it, if it can happen at this value with this answer.
    fn step(&self, value: u64) -> Option<u64> {
        match (self.asked, self.told) {
            (Asked::Read, Told::Value(read)) => (read == value).then_some(value),
            (Asked::Read, _) => Some(value),
            (Asked::Write(new), _) => Some(new),
            (Asked::Swap(from, _), Told::Refused(met)) => {
                (value == met && value != from).then_some(value)
            }
            // One without an answer that finds another value changes nothing: as if it never happened.
            (Asked::Swap(from, to), _) => (value == from).then_some(to),
        }
    }

    fn is_unknown(&self) -> bool {
        self.told == Told::Unknown
    }
}

/// The longest history that can be searched.
pub(crate) const OPERATIONS_MAX: usize = 128;

/// Whether there is an order, from this value on.
pub(crate) fn is_linear(history: &[Operation], initial: u64) -> bool {
    assert!(history.len() <= OPERATIONS_MAX, "{} operations", history.len());
    let known = (0..history.len()).filter(|at| !history[*at].is_unknown());
    let all: u128 = known.fold(0, |mask, at| mask | (1 << at));
    let mut tried = HashSet::new();
    let mut stack = vec![(0_u128, initial)];
    while let Some((past, value)) = stack.pop() {
        if past & all == all {
            return true;
        }
        // Nothing can come next that was asked for after another was answered which is yet to come.
        let left = || (0..history.len()).filter(|at| past & (1 << at) == 0);
        let answered = left().filter(|at| !history[*at].is_unknown()).map(|at| history[at].end);
        let first_end = answered.min().unwrap_or(u64::MAX);
        for at in left().filter(|at| history[*at].start <= first_end) {
            let Some(next) = history[at].step(value) else { continue };
            // What had no answer and was over by then has not happened.
            let over = left().filter(|other| {
                history[*other].is_unknown() && history[*other].end < history[at].start
            });
            let past = over.fold(past | (1 << at), |mask, other| mask | (1 << other));
            if tried.insert((past, next)) {
                stack.push((past, next));
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use latchkey_testing::chance::Chance;

    /// The same by trying every order of every choice of those without an answer.
    fn by_force(history: &[Operation], value: u64) -> bool {
        fn go(history: &[Operation], order: &mut Vec<usize>, value: u64) -> bool {
            let known = (0..history.len()).filter(|at| !history[*at].is_unknown());
            if known.clone().all(|at| order.contains(&at)) {
                return true;
            }
            for at in 0..history.len() {
                let too_late = |one: &usize| history[at].end < history[*one].start;
                if order.contains(&at) || order.iter().any(too_late) {
                    continue;
                }
                if let Some(next) = history[at].step(value) {
                    order.push(at);
                    if go(history, order, next) {
                        return true;
                    }
                    order.pop();
                }
            }
            false
        }
        go(history, &mut Vec::new(), value)
    }

    fn drawn(chance: &mut Chance) -> Vec<Operation> {
        let value = |chance: &mut Chance| u64::try_from(chance.below(3)).unwrap();
        let one = |chance: &mut Chance| {
            let start = u64::try_from(chance.below(20)).unwrap();
            let end = start + 1 + u64::try_from(chance.below(8)).unwrap();
            let (asked, told) = match chance.below(6) {
                0 | 1 => (Asked::Read, Told::Value(value(chance))),
                2 => (Asked::Write(value(chance)), Told::Done),
                3 => (Asked::Write(value(chance)), Told::Unknown),
                4 => (Asked::Swap(value(chance), value(chance)), Told::Done),
                _ => {
                    let from = value(chance);
                    (Asked::Swap(from, value(chance)), Told::Refused((from + 1) % 3))
                }
            };
            Operation { asked, told, start, end }
        };
        (0..1 + chance.below(6)).map(|_| one(chance)).collect()
    }

    #[test]
    fn the_search_finds_what_trying_every_order_finds() {
        let mut chance = Chance::new(9);
        let mut counts = [0, 0];
        for _ in 0..20_000 {
            let history = drawn(&mut chance);
            let linear = is_linear(&history, 0);
            assert_eq!(linear, by_force(&history, 0), "{history:?}");
            counts[usize::from(linear)] += 1;
        }
        assert!(counts.iter().all(|count| *count > 2_000), "{counts:?}");
    }
}
