//! Whether it is always clear where the first of two parts of a text ends.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use super::Language;
use super::automaton::Automaton;

/// How many pairs of states the search visits before it gives up.
const STEPS_MAX: usize = 1 << 18;

/// Whether a text can be split in two ways.
pub(crate) enum Splits {
    /// No text can.
    Never,
    /// This one can, and none is shorter.
    Twice(Split),
    /// The languages are too large to tell.
    TooLarge,
}

/// A text that can be split in two ways.
pub(crate) struct Split {
    /// The text.
    pub(crate) text: Vec<u8>,
    /// How long the first part is the one way.
    pub(crate) short: usize,
    /// How long it is the other way.
    pub(crate) long: usize,
}

/// Two readings of one text, side by side: where each of them is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum At {
    /// Both are in the first part.
    First(usize, usize),
    /// One has ended the first part and is in the rest; the other is still in the first.
    Apart(usize, usize),
    /// Both are in the rest, which began at two places.
    Rest(usize, usize),
}

/// Looks for a text of `first` and then `rest` that can be split between the two at two places.
pub(crate) fn splits(first: &Language, rest: &Language) -> Splits {
    let (first, rest) = (Automaton::new(first), Automaton::new(rest));
    let start = Automaton::START;
    let mut found = Search::default();
    found.reached.insert(At::First(start, start), None);
    found.open.push_back(At::First(start, start));
    while let Some(at) = found.open.pop_front() {
        match at {
            At::First(p, q) => {
                found.together(at, At::First, (&first, p), (&first, q));
                if first.accepts(p) {
                    // The other continues: at least this byte is between the two ends.
                    found.together(at, At::Apart, (&rest, start), (&first, q));
                }
            }
            At::Apart(r, q) => {
                found.together(at, At::Apart, (&rest, r), (&first, q));
                if first.accepts(q) {
                    found.reach(At::Rest(r, start), at, None);
                }
            }
            At::Rest(r, s) if rest.accepts(r) && rest.accepts(s) => {
                return Splits::Twice(found.split(at));
            }
            At::Rest(r, s) => found.together(at, At::Rest, (&rest, r), (&rest, s)),
        }
        if found.reached.len() > STEPS_MAX {
            return Splits::TooLarge;
        }
    }
    Splits::Never
}

/// What the search has found so far.
#[derive(Default)]
struct Search {
    /// What was reached: from where, and by which byte.
    reached: HashMap<At, Option<(At, Option<u8>)>>,
    open: VecDeque<At>,
}

impl Search {
    /// Takes one byte in both readings.
    fn together(
        &mut self,
        from: At,
        to: fn(usize, usize) -> At,
        (one, p): (&Automaton, usize),
        (other, q): (&Automaton, usize),
    ) {
        for (bytes, p) in one.steps(p) {
            for (others, q) in other.steps(q) {
                if let Some(byte) = bytes.and(others).plainest() {
                    self.reach(to(p, q), from, Some(byte));
                }
            }
        }
    }

    fn reach(&mut self, at: At, from: At, byte: Option<u8>) {
        if let Entry::Vacant(entry) = self.reached.entry(at) {
            entry.insert(Some((from, byte)));
            self.open.push_back(at);
        }
    }

    /// The text that leads to a state, and where its two readings end the first part.
    fn split(&self, end: At) -> Split {
        let mut split = Split { text: Vec::new(), short: 0, long: 0 };
        let mut at = end;
        while let Some(Some((from, byte))) = self.reached.get(&at) {
            split.text.extend(byte);
            // The text is read from its end: these count the bytes that lie behind, until it is turned around.
            match (from, at) {
                (At::First(..), At::Apart(..)) => split.short = split.text.len(),
                (At::Apart(..), At::Rest(..)) => split.long = split.text.len(),
                _ => {}
            }
            at = *from;
        }
        split.text.reverse();
        split.short = split.text.len() - split.short;
        split.long = split.text.len() - split.long;
        split
    }
}
