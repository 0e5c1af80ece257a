//! The languages of key templates: which texts a template can become.
//!
//! A language is a regular expression over bytes. Questions about keys are questions about languages: whether two
//! share a text, whether a range holds a text of one, whether a text can be split in two ways. Each is decided on
//! automata, exactly. A language may hold more texts than the template makes, never fewer: a rule that asks may
//! refuse a document that is right, and never lets one through that is wrong.

mod automaton;
pub(crate) mod like;
mod pattern;
mod sample;
mod split;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use automaton::{Automaton, Pairs};
pub(crate) use pattern::{is_always_like, of_pattern};
pub use sample::sample;
pub(crate) use split::{Split, Splits, splits};

/// How many pairs of states [`Language::is_within`] looks at.
const WITHIN_MAX: usize = 10_000;

/// A set of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Bytes([u64; 4]);

impl Bytes {
    pub(crate) const NONE: Bytes = Bytes([0; 4]);
    pub(crate) const ALL: Bytes = Bytes([u64::MAX; 4]);
    const LOWERCASE: Bytes = Bytes([0, 0x07ff_fffe_0000_0000, 0, 0]);
    const DIGITS: Bytes = Bytes([0x03ff_0000_0000_0000, 0, 0, 0]);
    const GRAPHIC: Bytes = Bytes([0xffff_fffe_0000_0000, 0x7fff_ffff_ffff_ffff, 0, 0]);

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

    fn and(self, other: Bytes) -> Bytes {
        let [a, b, c, d] = self.0;
        let [e, f, g, h] = other.0;
        Bytes([a & e, b & f, c & g, d & h])
    }

    fn or(self, other: Bytes) -> Bytes {
        let [a, b, c, d] = self.0;
        let [e, f, g, h] = other.0;
        Bytes([a | e, b | f, c | g, d | h])
    }

    /// Whether all of them are among others.
    pub(crate) fn is_within(self, others: Bytes) -> bool {
        self.and(others) == self
    }

    fn meets(self, other: Bytes) -> bool {
        self.and(other) != Bytes::NONE
    }

    /// One of the bytes: a letter, a digit, a sign, whichever of them there is first.
    fn plainest(self) -> Option<u8> {
        let sets = [Bytes::LOWERCASE, Bytes::DIGITS, Bytes::GRAPHIC, Bytes::ALL];
        sets.into_iter().find_map(|set| {
            let words = self.and(set).0;
            let least = words.into_iter().zip([0, 64, 128, 192]).find(|(word, _)| *word != 0);
            least.and_then(|(word, from)| u8::try_from(from + word.trailing_zeros()).ok())
        })
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
    /// A text of one of these languages.
    Choice(Vec<Language>),
    /// Texts of a language, one after another: at least so many, and at most so many if there is a bound.
    Repeat(Language, u32, Option<u32>),
}

impl Atom {
    /// One byte of a set, or more.
    pub(crate) fn many(bytes: Bytes) -> Atom {
        Atom::Repeat(Language { atoms: vec![Atom::One(bytes)] }, 1, None)
    }

    /// Any number of bytes of a set.
    pub(crate) fn any(bytes: Bytes) -> Atom {
        Atom::Repeat(Language { atoms: vec![Atom::One(bytes)] }, 0, None)
    }

    /// How many states of an automaton it takes, about.
    fn size(&self) -> usize {
        match self {
            Atom::One(_) => 1,
            Atom::Choice(all) => all.iter().map(Language::size).sum::<usize>() + 1,
            Atom::Repeat(of, least, most) => {
                let times = most.unwrap_or(*least).max(1);
                let times = usize::try_from(times).unwrap_or(usize::MAX);
                of.size().saturating_mul(times)
            }
        }
    }
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
        self.atoms.push(Atom::any(Bytes::ALL));
        self
    }

    /// Its texts with each byte in another case.
    pub(crate) fn in_case(self, case: fn(u8) -> u8) -> Language {
        let atom = |atom: Atom| match atom {
            Atom::One(bytes) => Atom::One(Bytes::of(bytes.iter().map(case))),
            Atom::Choice(all) => {
                Atom::Choice(all.into_iter().map(|one| one.in_case(case)).collect())
            }
            Atom::Repeat(of, least, most) => Atom::Repeat(of.in_case(case), least, most),
        };
        Language { atoms: self.atoms.into_iter().map(atom).collect() }
    }

    /// The bytes at each place, if all of its texts have one length.
    pub(crate) fn columns(&self) -> Option<Vec<Bytes>> {
        let mut columns = Vec::new();
        for atom in &self.atoms {
            match atom {
                Atom::One(bytes) => columns.push(*bytes),
                Atom::Repeat(of, least, Some(most)) if least == most => {
                    let of = of.columns()?;
                    (0..*least).for_each(|_| columns.extend(&of));
                }
                Atom::Choice(_) | Atom::Repeat(..) => return None,
            }
        }
        Some(columns)
    }

    /// How many states its automaton has, about. What a question costs grows with the product of two sizes.
    pub(crate) fn size(&self) -> usize {
        self.atoms.iter().map(Atom::size).fold(0, usize::saturating_add)
    }

    /// The bytes that its texts can have.
    pub(crate) fn alphabet(&self) -> Bytes {
        self.atoms.iter().fold(Bytes::NONE, |bytes, atom| {
            bytes.or(match atom {
                Atom::One(bytes) => *bytes,
                Atom::Choice(all) => {
                    all.iter().fold(Bytes::NONE, |bytes, one| bytes.or(one.alphabet()))
                }
                Atom::Repeat(_, _, Some(0)) => Bytes::NONE,
                Atom::Repeat(of, ..) => of.alphabet(),
            })
        })
    }

    /// Whether the empty text is one of its texts.
    pub(crate) fn has_empty(&self) -> bool {
        self.atoms.iter().all(|atom| match atom {
            Atom::One(_) => false,
            Atom::Choice(all) => all.iter().any(Language::has_empty),
            Atom::Repeat(of, least, _) => *least == 0 || of.has_empty(),
        })
    }

    /// The text every text of the language begins with.
    pub(crate) fn beginning(&self) -> Vec<u8> {
        let fixed = |atom: &Atom| match atom {
            Atom::One(bytes) => {
                let mut all = bytes.iter();
                all.next().filter(|_| all.next().is_none())
            }
            Atom::Choice(_) | Atom::Repeat(..) => None,
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
        let mut seen = Pairs::new(a.len(), b.len());
        let mut next = vec![(Automaton::START, Automaton::START)];
        while let Some((p, q)) = next.pop() {
            if !seen.insert(p, q) {
                continue;
            }
            if a.accepts(p) && b.accepts(q) {
                return true;
            }
            for (bytes, p) in a.steps(p) {
                let together = b.steps(q).filter(|(other, _)| other.meets(bytes));
                next.extend(together.map(|(_, q)| (p, q)));
            }
        }
        false
    }

    /// Whether all of its texts belong to another. Where that takes too long to find out, the answer is no.
    pub(crate) fn is_within(&self, other: &Language) -> bool {
        let (own, other) = (Automaton::new(self), Automaton::new(other));
        let mut seen = HashSet::new();
        // A state of this one, and all states that the other can be in behind the same bytes.
        let mut next = vec![(Automaton::START, vec![Automaton::START])];
        while let Some((at, others)) = next.pop() {
            if own.accepts(at) && !others.iter().any(|state| other.accepts(*state)) {
                return false;
            }
            for (bytes, to) in own.steps(at) {
                for byte in bytes.iter() {
                    let steps = others.iter().flat_map(|state| other.steps(*state));
                    let fits = steps.filter(|(bytes, _)| bytes.contains(byte));
                    let mut behind: Vec<usize> = fits.map(|(_, state)| state).collect();
                    behind.sort_unstable();
                    behind.dedup();
                    if seen.len() > WITHIN_MAX {
                        return false;
                    }
                    let pair = (to, behind);
                    if !seen.contains(&pair) {
                        seen.insert(pair.clone());
                        next.push(pair);
                    }
                }
            }
        }
        true
    }

    /// Whether some text lies between two others, both included.
    pub(crate) fn meets_range(&self, low: &[u8], high: &[u8]) -> bool {
        let automaton = Automaton::new(self);
        let mut seen = HashSet::new();
        let mut next = vec![(Automaton::START, Some(0), Some(0))];
        while let Some((at, above, below)) = next.pop() {
            if !seen.insert((at, above, below)) {
                continue;
            }
            // A text that ends while it still follows `low` is `low` itself or shorter, and so below it.
            let reached = above.is_none_or(|above| above == low.len());
            if automaton.accepts(at) && reached {
                return true;
            }
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
                // The texts that follow can begin at any place: none of them counts.
                Atom::Choice(all) => {
                    least.extend(all.iter().map(Language::infimum).min().into_iter().flatten());
                    return least;
                }
                Atom::Repeat(of, 1.., _) => {
                    least.extend(of.infimum());
                    return least;
                }
                Atom::Repeat(_, 0, _) => return least,
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
                Atom::Choice(_) | Atom::Repeat(..) => {
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
