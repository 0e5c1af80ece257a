//! The language of a pattern, as it is matched against a whole text.

use regex_syntax::hir::{Class, Hir, HirKind};
use regex_syntax::utf8::Utf8Sequences;

use super::like::{Unreadable, hir};
use super::{Atom, Bytes, Language};

/// The largest language of a pattern. A count that would make it larger becomes a loop.
const SIZE_MAX: usize = 1024;

/// A class of more ranges than this is taken to hold every character that is not ASCII.
const SEQUENCES_MAX: usize = 16;

/// The texts that a pattern matches as a whole, or more.
///
/// Anchors and word boundaries are left out, and long counts are loops: both only add texts.
pub(crate) fn of_pattern(pattern: &str) -> Result<Language, Unreadable> {
    let hir = hir(pattern)?;
    let language = language(&hir);
    if language.size() > SIZE_MAX { Err(Unreadable::TooLarge) } else { Ok(language) }
}

/// Whether every text of a language, which is made of ASCII, matches a pattern as a whole. Of a pattern whose own language
/// is known only roughly, the answer is no.
pub(crate) fn is_always_like(found: &Language, pattern: &str) -> bool {
    let Ok(hir) = hir(pattern) else { return false };
    let wanted = language(&hir);
    is_exact(&hir)
        && wanted.size() <= SIZE_MAX
        && found.alphabet().is_within(Bytes::that(|byte| byte.is_ascii()))
        && found.is_within(&wanted)
}

/// Whether [`language`] has no ASCII text that the pattern does not match.
fn is_exact(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) => true,
        HirKind::Look(_) => false,
        HirKind::Capture(capture) => is_exact(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(is_exact),
        HirKind::Repetition(repetition) => {
            let times = Atom::Repeat(language(&repetition.sub), repetition.min, repetition.max);
            times.size() <= SIZE_MAX && is_exact(&repetition.sub)
        }
    }
}

fn language(hir: &Hir) -> Language {
    let atoms = match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Vec::new(),
        HirKind::Literal(literal) => {
            literal.0.iter().map(|byte| Atom::One(Bytes::of([*byte]))).collect()
        }
        HirKind::Class(class) => vec![self::class(class)],
        HirKind::Capture(capture) => return language(&capture.sub),
        HirKind::Concat(parts) => parts.iter().flat_map(|part| language(part).atoms).collect(),
        HirKind::Alternation(parts) => vec![Atom::Choice(parts.iter().map(language).collect())],
        HirKind::Repetition(repetition) => {
            let of = language(&repetition.sub);
            let exact = Atom::Repeat(of.clone(), repetition.min, repetition.max);
            vec![match exact.size() {
                0..=SIZE_MAX => exact,
                _ => Atom::Repeat(of, repetition.min.min(1), None),
            }]
        }
    };
    Language { atoms }
}

/// One character of a class: a byte of ASCII, or one of several sequences of bytes.
fn class(class: &Class) -> Atom {
    let class = match class {
        Class::Unicode(class) => class,
        // In a pattern for texts, `regex` takes a class of bytes only if all of them are ASCII.
        Class::Bytes(bytes) => {
            let all = bytes.iter().flat_map(|range| range.start()..=range.end());
            return Atom::One(Bytes::of(all));
        }
    };
    let mut ascii = Vec::new();
    let mut others = Vec::new();
    for range in class.iter() {
        for sequence in Utf8Sequences::new(range.start(), range.end()) {
            match sequence.as_slice() {
                [one] => ascii.extend(one.start..=one.end),
                _ => others.push(sequence),
            }
        }
    }
    if others.len() > SEQUENCES_MAX {
        others = Utf8Sequences::new('\u{80}', char::MAX).collect();
    }
    if others.is_empty() {
        return Atom::One(Bytes::of(ascii));
    }
    let one = |range: &regex_syntax::utf8::Utf8Range| Atom::One(Bytes::of(range.start..=range.end));
    let mut choice = vec![Language { atoms: vec![Atom::One(Bytes::of(ascii))] }];
    choice.extend(
        others
            .iter()
            .map(|sequence| Language { atoms: sequence.as_slice().iter().map(one).collect() }),
    );
    Atom::Choice(choice)
}
