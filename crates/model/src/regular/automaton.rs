//! The automaton of a language: states, and steps from one to another on a byte.

use super::{Atom, Bytes, Language};

/// An automaton that accepts the texts of a language.
pub(super) struct Automaton {
    states: Vec<State>,
}

#[derive(Clone, Default)]
struct State {
    steps: Vec<(Bytes, usize)>,
    accepts: bool,
}

impl Automaton {
    /// The state in which it begins.
    pub(super) const START: usize = 0;

    pub(super) fn new(language: &Language) -> Automaton {
        let mut draft = Draft::default();
        let start = draft.state();
        let end = draft.add(language, start);
        draft.without_skips(start, end)
    }

    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    pub(super) fn accepts(&self, state: usize) -> bool {
        self.states.get(state).is_some_and(|state| state.accepts)
    }

    pub(super) fn steps(&self, from: usize) -> impl Iterator<Item = (Bytes, usize)> {
        self.states.get(from).into_iter().flat_map(|state| &state.steps).copied()
    }
}

/// An automaton as it is drawn from a language, with skips: steps that take no byte.
#[derive(Default)]
struct Draft {
    steps: Vec<Vec<(Bytes, usize)>>,
    skips: Vec<Vec<usize>>,
}

impl Draft {
    /// Adds a language behind a state, and gives the state where its texts end. Nothing leads back to `from`, so that
    /// others may begin there too.
    fn add(&mut self, language: &Language, from: usize) -> usize {
        language.atoms.iter().fold(from, |at, atom| self.atom(atom, at))
    }

    fn atom(&mut self, atom: &Atom, from: usize) -> usize {
        match atom {
            Atom::One(bytes) => {
                let to = self.state();
                self.step(from, *bytes, to);
                to
            }
            Atom::Choice(all) => {
                let to = self.state();
                for one in all {
                    let end = self.add(one, from);
                    self.skip(end, to);
                }
                to
            }
            Atom::Repeat(of, least, Some(most)) => {
                let to = self.state();
                let mut at = (0..*least).fold(from, |at, _| self.add(of, at));
                for _ in *least..*most {
                    self.skip(at, to);
                    at = self.add(of, at);
                }
                self.skip(at, to);
                to
            }
            Atom::Repeat(of, least, None) => {
                let at = (1..*least).fold(from, |at, _| self.add(of, at));
                let hub = self.state();
                self.skip(at, hub);
                let end = self.add(of, hub);
                self.skip(end, hub);
                if *least == 0 { hub } else { end }
            }
        }
    }

    fn state(&mut self) -> usize {
        self.steps.push(Vec::new());
        self.skips.push(Vec::new());
        self.steps.len() - 1
    }

    fn step(&mut self, from: usize, bytes: Bytes, to: usize) {
        if let Some(steps) = self.steps.get_mut(from) {
            steps.push((bytes, to));
        }
    }

    fn skip(&mut self, from: usize, to: usize) {
        if let Some(skips) = self.skips.get_mut(from) {
            skips.push(to);
        }
    }

    /// The same automaton without skips: its states are those that a byte leads to, and the start.
    fn without_skips(&self, start: usize, end: usize) -> Automaton {
        let mut numbers = vec![None; self.steps.len()];
        let mut kept = vec![start];
        if let Some(number) = numbers.get_mut(start) {
            *number = Some(Automaton::START);
        }
        let mut states = Vec::new();
        // `kept` grows as states are reached.
        while let Some(from) = kept.get(states.len()).copied() {
            let mut state = State::default();
            for at in self.skipped_to(from) {
                state.accepts |= at == end;
                for (bytes, to) in self.steps.get(at).into_iter().flatten() {
                    let Some(number) = numbers.get_mut(*to) else { continue };
                    let number = *number.get_or_insert_with(|| {
                        kept.push(*to);
                        kept.len() - 1
                    });
                    state.steps.push((*bytes, number));
                }
            }
            states.push(state);
        }
        Automaton { states }
    }

    /// The states that skips alone lead to, the first included.
    fn skipped_to(&self, from: usize) -> Vec<usize> {
        let mut found = vec![from];
        let mut seen = 0;
        while let Some(at) = found.get(seen).copied() {
            seen += 1;
            for to in self.skips.get(at).into_iter().flatten() {
                if !found.contains(to) {
                    found.push(*to);
                }
            }
        }
        found
    }
}

/// A set of pairs of states.
pub(super) struct Pairs {
    width: usize,
    words: Vec<u64>,
}

impl Pairs {
    pub(super) fn new(height: usize, width: usize) -> Pairs {
        Pairs { width, words: vec![0; height.saturating_mul(width).div_ceil(64)] }
    }

    /// Adds a pair; false if it was there.
    pub(super) fn insert(&mut self, p: usize, q: usize) -> bool {
        let at = p * self.width + q;
        let bit = 1u64 << (at % 64);
        self.words.get_mut(at / 64).is_some_and(|word| {
            let new = *word & bit == 0;
            *word |= bit;
            new
        })
    }
}
