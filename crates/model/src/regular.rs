//! The languages of key templates: which texts a template can become.
//!
//! A template is a run of atoms, each a set of bytes taken once or many times. Questions about keys are
//! questions about such runs: whether two can become one text, whether a range can hold one.

use std::collections::HashSet;

/// A set of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Bytes([u64; 4]);

impl Bytes {
    pub(crate) const NONE: Bytes = Bytes([0; 4]);
    pub(crate) const ALL: Bytes = Bytes([u64::MAX; 4]);

    pub(crate) fn of(bytes: impl IntoIterator<Item = u8>) -> Bytes {
        let mut set = Bytes::NONE;
        for byte in bytes {
            if let Some(word) = set.0.get_mut(usize::from(byte >> 6)) {
                *word |= 1 << (byte & 63);
            }
        }
        set
    }

    /// The bytes of which something holds.
    pub(crate) fn that(holds: fn(u8) -> bool) -> Bytes {
        Bytes::of((0..=u8::MAX).filter(|byte| holds(*byte)))
    }

    pub(crate) fn contains(self, byte: u8) -> bool {
        self.0.get(usize::from(byte >> 6)).is_some_and(|word| word >> (byte & 63) & 1 == 1)
    }

    fn meets(self, other: Bytes) -> bool {
        self.0.iter().zip(other.0).any(|(a, b)| a & b != 0)
    }

    pub(crate) fn iter(self) -> impl DoubleEndedIterator<Item = u8> {
        (0..=u8::MAX).filter(move |byte| self.contains(*byte))
    }
}

/// A part of a language.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Atom {
    /// One byte of a set.
    One(Bytes),
    /// One byte of a set, or more.
    Many(Bytes),
    /// Any number of bytes of a set.
    Any(Bytes),
    /// One of these texts.
    Choice(Vec<Vec<u8>>),
}

/// The texts that are one atom after another.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Language {
    pub(crate) atoms: Vec<Atom>,
}

impl Language {
    /// One text.
    pub(crate) fn literal(text: &str) -> Language {
        let one = |byte| Atom::One(Bytes::of([byte]));
        Language { atoms: text.bytes().map(one).collect() }
    }

    /// This and then another.
    pub(crate) fn then(mut self, other: Language) -> Language {
        self.atoms.extend(other.atoms);
        self
    }

    /// This and then anything.
    pub(crate) fn then_anything(mut self) -> Language {
        self.atoms.push(Atom::Any(Bytes::ALL));
        self
    }

    /// The text every text of the language begins with.
    pub(crate) fn beginning(&self) -> Vec<u8> {
        let fixed = |atom: &Atom| match atom {
            Atom::One(bytes) => {
                let mut all = bytes.iter();
                all.next().filter(|_| all.next().is_none())
            }
            Atom::Many(_) | Atom::Any(_) | Atom::Choice(_) => None,
        };
        self.atoms.iter().map_while(fixed).collect()
    }

    /// Whether some text belongs to both.
    pub(crate) fn meets(&self, other: &Language) -> bool {
        // Most pairs part ways at once.
        for pair in self.atoms.iter().zip(&other.atoms) {
            match pair {
                (Atom::One(a), Atom::One(b)) if a.meets(*b) => {}
                (Atom::One(_), Atom::One(_)) => return false,
                _ => break,
            }
        }
        let (a, b) = (Automaton::new(self), Automaton::new(other));
        let mut seen = HashSet::new();
        let mut next = vec![(a.start, b.start)];
        while let Some((p, q)) = next.pop() {
            if !seen.insert((p, q)) {
                continue;
            }
            if p == a.end && q == b.end {
                return true;
            }
            next.extend(a.skips(p).map(|p| (p, q)));
            next.extend(b.skips(q).map(|q| (p, q)));
            for (bytes, p) in a.steps(p) {
                next.extend(
                    b.steps(q).filter(|(other, _)| other.meets(bytes)).map(|(_, q)| (p, q)),
                );
            }
        }
        false
    }

    /// Whether some text lies between two others, both included.
    pub(crate) fn meets_range(&self, low: &[u8], high: &[u8]) -> bool {
        let automaton = Automaton::new(self);
        let mut seen = HashSet::new();
        let mut next = vec![(automaton.start, Some(0), Some(0))];
        while let Some((at, above, below)) = next.pop() {
            if !seen.insert((at, above, below)) {
                continue;
            }
            // A text that ends while it still follows `low` is `low` itself or shorter, and so below it.
            let reached = above.is_none_or(|above| above == low.len());
            if at == automaton.end && reached {
                return true;
            }
            next.extend(automaton.skips(at).map(|at| (at, above, below)));
            for (bytes, at) in automaton.steps(at) {
                for byte in bytes.iter() {
                    let above = follow(above, low, byte, |byte, bound| byte > bound, true);
                    let below = follow(below, high, byte, |byte, bound| byte < bound, false);
                    if let (Ok(above), Ok(below)) = (above, below) {
                        next.push((at, above, below));
                    }
                }
            }
        }
        false
    }

    /// A text no greater than any of the language.
    pub(crate) fn infimum(&self) -> Vec<u8> {
        let mut least = Vec::new();
        for atom in &self.atoms {
            match atom {
                Atom::One(bytes) => least.extend(bytes.iter().next()),
                // What follows a run of any length can come at any place.
                Atom::Many(bytes) => {
                    least.extend(bytes.iter().next());
                    return least;
                }
                Atom::Any(_) => return least,
                Atom::Choice(texts) => {
                    least.extend(texts.iter().min().into_iter().flatten());
                    return least;
                }
            }
        }
        least
    }

    /// A text no less than any of the language.
    pub(crate) fn supremum(&self) -> Vec<u8> {
        let mut greatest = Vec::new();
        for atom in &self.atoms {
            match atom {
                Atom::One(bytes) => greatest.extend(bytes.iter().next_back()),
                Atom::Many(_) | Atom::Any(_) | Atom::Choice(_) => {
                    greatest.push(u8::MAX);
                    return greatest;
                }
            }
        }
        greatest
    }
}

/// Follows a bound by one more byte: still along it, or free of it, or on its wrong side.
fn follow(
    along: Option<usize>,
    bound: &[u8],
    byte: u8,
    free: impl Fn(u8, u8) -> bool,
    longer_is_free: bool,
) -> Result<Option<usize>, ()> {
    let Some(at) = along else { return Ok(None) };
    match bound.get(at) {
        Some(limit) if byte == *limit => Ok(Some(at + 1)),
        Some(limit) if free(byte, *limit) => Ok(None),
        Some(_) => Err(()),
        None if longer_is_free => Ok(None),
        None => Err(()),
    }
}

/// An automaton that accepts a language: states, steps on bytes and skips on none.
struct Automaton {
    steps: Vec<Vec<(Bytes, usize)>>,
    skips: Vec<Vec<usize>>,
    start: usize,
    end: usize,
}

impl Automaton {
    fn new(language: &Language) -> Automaton {
        let mut automaton = Automaton { steps: Vec::new(), skips: Vec::new(), start: 0, end: 0 };
        automaton.end = automaton.state();
        for atom in &language.atoms {
            let (from, to) = (automaton.end, automaton.state());
            match atom {
                Atom::One(bytes) => automaton.step(from, *bytes, to),
                Atom::Many(bytes) => {
                    automaton.step(from, *bytes, to);
                    automaton.step(to, *bytes, to);
                }
                Atom::Any(bytes) => {
                    automaton.step(to, *bytes, to);
                    automaton.skip(from, to);
                }
                Atom::Choice(texts) => {
                    for text in texts {
                        let mut at = from;
                        for byte in text {
                            let next = automaton.state();
                            automaton.step(at, Bytes::of([*byte]), next);
                            at = next;
                        }
                        automaton.skip(at, to);
                    }
                }
            }
            automaton.end = to;
        }
        automaton
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

    fn steps(&self, from: usize) -> impl Iterator<Item = (Bytes, usize)> {
        self.steps.get(from).into_iter().flatten().copied()
    }

    fn skips(&self, from: usize) -> impl Iterator<Item = usize> {
        self.skips.get(from).into_iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A small pattern: letters stand for themselves, `+` and `*` for the letter `x` taken often, `?` for
    /// `ab` or `b`.
    fn language(pattern: &str) -> Language {
        let x = Bytes::of(*b"xy");
        let atoms = pattern.bytes().map(|byte| match byte {
            b'+' => Atom::Many(x),
            b'*' => Atom::Any(x),
            b'?' => Atom::Choice(vec![b"ab".to_vec(), b"b".to_vec()]),
            byte => Atom::One(Bytes::of([byte])),
        });
        Language { atoms: atoms.collect() }
    }

    /// Every text of the language up to a length, by trying them all.
    fn texts(pattern: &str) -> Vec<Vec<u8>> {
        let mut all: Vec<Vec<u8>> = vec![Vec::new()];
        for byte in pattern.bytes() {
            let runs = |least: usize| -> Vec<Vec<u8>> {
                let mut runs = vec![Vec::new()];
                let mut found = Vec::new();
                for length in 0..=3 {
                    if length >= least {
                        found.extend(runs.clone());
                    }
                    let longer = |run: &Vec<u8>| {
                        let run = run.clone();
                        b"xy".iter().map(move |byte| [run.clone(), vec![*byte]].concat())
                    };
                    runs = runs.iter().flat_map(longer).collect();
                }
                found
            };
            let parts = match byte {
                b'+' => runs(1),
                b'*' => runs(0),
                b'?' => vec![b"ab".to_vec(), b"b".to_vec()],
                byte => vec![vec![byte]],
            };
            all = all
                .iter()
                .flat_map(|text| {
                    parts.iter().map(move |part| [text.clone(), part.clone()].concat())
                })
                .collect();
        }
        all
    }

    proptest! {
        #[test]
        fn two_languages_meet_where_they_share_a_text(a in "[abxy+*?]{0,3}", b in "[abxy+*?]{0,3}") {
            let theirs: HashSet<_> = texts(&b).into_iter().collect();
            let shared = texts(&a).into_iter().any(|text| theirs.contains(&text));
            // Runs are tried to a length of three, as long as what they could meet; two of them may share a longer one.
            if shared {
                prop_assert!(language(&a).meets(&language(&b)));
            } else if !a.contains(['+', '*']) || !b.contains(['+', '*']) {
                prop_assert!(!language(&a).meets(&language(&b)));
            }
        }

        #[test]
        fn a_range_is_met_where_a_text_lies_in_it(
            pattern in "[abxy+*?]{0,4}",
            low in "[abxy]{0,4}",
            high in "[abxy]{0,4}",
        ) {
            let (low, high) = (low.into_bytes(), high.into_bytes());
            let inside = texts(&pattern).iter().any(|text| low <= *text && *text <= high);
            if inside {
                prop_assert!(language(&pattern).meets_range(&low, &high));
            } else if !pattern.contains(['+', '*']) {
                prop_assert!(!language(&pattern).meets_range(&low, &high));
            }
        }

        #[test]
        fn the_bounds_of_a_language_hold_all_of_it(pattern in "[abxy+*?]{0,4}") {
            let (low, high) = (language(&pattern).infimum(), language(&pattern).supremum());
            for text in texts(&pattern) {
                prop_assert!(low <= text && text <= high);
            }
        }
    }

    #[test]
    fn known_keys_meet_as_they_should() {
        let id = Language { atoms: vec![Atom::Many(Bytes::of(b'a'..=b'z'))] };
        let template = |prefix: &str| Language::literal(prefix).then(id.clone());
        assert!(template("RES#").then_anything().meets(&template("RES#")));
        assert!(!template("RES#").meets(&Language::literal("RES#ACTIVE")));
        assert!(Language::literal("RES#").then_anything().meets(&Language::literal("RES#ACTIVE")));
        assert!(!Language::literal("RES#ACTIVE").meets_range(b"RES#0000", b"RES#9999~"));
        assert!(Language::literal("RES#ACTIVE").meets_range(b"RES#0000", b"RES#Z"));
    }
}
