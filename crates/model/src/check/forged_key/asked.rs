//! What a query asks for must lie along the key: a partition or a range that is made of other values than the key has
//! there, or whose last part is not closed by what follows it, holds items with other parts than those that were given.

use std::collections::VecDeque;

use latchkey_language::{Diagnostic, Rule, Span};

use super::super::flow::lets;
use super::super::truth::{Lets, plain};
use super::super::{Report, each_read};
use crate::model::{
    Expr, ExprKind, Hole, Kind, Model, Piece, Query, Range, Template, TextPiece, What,
};
use crate::regular::{Atom, Language, Split, Splits, splits};

/// A piece of a text that is asked for: a text, or what a value can be.
enum Given {
    Text(String),
    Value(Language, Span),
}

/// A piece of a key, with what was given for it.
enum Slot<'a> {
    Literal(String),
    Filled { with: Language, span: Span, hole: &'a Hole },
}

/// How what was given ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// With the key.
    Whole,
    /// Before the key does.
    Short,
    /// It is not made as the key is.
    Across,
}

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in model.bodies() {
        let lets = lets(contract);
        each_read(contract, |read, step| {
            let What::Query(query) = &read.what else { return };
            for entity in read.entities() {
                let Some(shape) = model.entities[entity].place(query.by) else { continue };
                let partition = query.partition.as_ref();
                let found = partition.and_then(|text| astray(&lets, text, &shape.partition));
                let bounds = bounds(query).into_iter();
                let open = bounds.filter_map(|text| open(&lets, text, &shape.sort));
                let told: Vec<Diagnostic> = found.into_iter().chain(open).collect();
                // Both bounds of a range mostly begin alike.
                if let Some(first) = told.into_iter().next() {
                    report.raise(first, &step.waivers);
                }
            }
        });
    }
}

fn bounds(query: &Query) -> Vec<&Expr> {
    match &query.range {
        Range::All | Range::Equal(_) => Vec::new(),
        Range::BeginsWith(text) | Range::Side { bound: text, .. } => vec![text],
        Range::Between(low, high) => vec![low, high],
    }
}

/// A partition whose values could be those of other parts of the key.
fn astray<'a>(lets: &Lets<'a>, text: &'a Expr, key: &Template) -> Option<Diagnostic> {
    // A key that is one part is that part, however the text is made.
    if matches!(&key.pieces[..], [Piece::Hole(_)]) {
        return None;
    }
    let text = plain(lets, text);
    let given = given(text)?;
    let (slots, end) = along(given, key);
    if end != End::Whole {
        return crossing(text, key);
    }
    slots.iter().enumerate().find_map(|(at, slot)| {
        let Slot::Filled { with, span, hole } = slot else { return None };
        let behind = slots.get(at + 1..).unwrap_or_default();
        let rest = behind.iter().map(Slot::language).fold(Language::default(), Language::then);
        let split = twice(&either(with, hole), &rest, behind.first())?;
        Some(forged(*span, hole, &split))
    })
}

/// A bound with a part that what follows does not close: the range has the items of longer values, too.
fn open<'a>(lets: &Lets<'a>, text: &'a Expr, key: &Template) -> Option<Diagnostic> {
    let (slots, _) = along(given(plain(lets, text))?, key);
    slots.iter().enumerate().find_map(|(at, slot)| {
        let Slot::Filled { with, span, hole } = slot else { return None };
        let behind = slots.get(at + 1..).unwrap_or_default();
        let rest = behind.iter().map(Slot::language).fold(Language::default(), Language::then);
        let split = twice(&either(with, hole), &rest.then_anything(), behind.first())?;
        Some(unclosed(*span, hole, &split))
    })
}

impl Slot<'_> {
    /// The texts that it can be: those of the key, and those that were given.
    fn language(&self) -> Language {
        match self {
            Slot::Literal(text) => Language::literal(text),
            Slot::Filled { with, hole, .. } => either(with, hole),
        }
    }
}

/// What the key has at the place of a value, or the value itself.
fn either(with: &Language, hole: &Hole) -> Language {
    let own = hole.kind.language(hole.format);
    match *with == own {
        true => own,
        false => Language { atoms: vec![Atom::Choice(vec![with.clone(), own])] },
    }
}

/// A text that can be split in two ways: one of the first, and one of all that is behind.
fn twice(first: &Language, rest: &Language, next: Option<&Slot<'_>>) -> Option<Split> {
    let separator = match next? {
        Slot::Literal(text) => text.bytes().next(),
        Slot::Filled { .. } => None,
    };
    if separator.is_some_and(|byte| !first.alphabet().contains(byte)) {
        return None;
    }
    match splits(first, rest) {
        Splits::Twice(split) => Some(split),
        // What cannot be told of the key is told there.
        Splits::Never | Splits::TooLarge => None,
    }
}

/// The pieces of a text that is asked for; nothing, if it has no value: a constant is what its author meant.
fn given(text: &Expr) -> Option<VecDeque<Given>> {
    let ExprKind::Text(pieces) = &text.kind else { return None };
    let value = |piece: &TextPiece| matches!(piece, TextPiece::Value(..));
    pieces.iter().any(value).then(|| {
        let all = pieces.iter().map(|piece| match piece {
            TextPiece::Literal(text) => Given::Text(text.clone()),
            TextPiece::Value(value, format) => {
                let language = match &value.of {
                    Kind::Value(kind) => kind.language(*format),
                    _ => Language::default().then_anything(),
                };
                Given::Value(language, value.span)
            }
        });
        all.collect()
    })
}

/// Lays what was given along a key. A part of the key is filled with what stands before the text behind the part.
fn along(mut given: VecDeque<Given>, key: &Template) -> (Vec<Slot<'_>>, End) {
    let mut slots = Vec::new();
    let mut pieces = key.pieces.iter().peekable();
    while let Some(piece) = pieces.next() {
        if given.is_empty() {
            return (slots, End::Short);
        }
        match piece {
            Piece::Literal(own) => match follows(&mut given, own) {
                Some(text) if text == *own => slots.push(Slot::Literal(text)),
                Some(text) => {
                    slots.push(Slot::Literal(text));
                    return (slots, End::Short);
                }
                None => return (slots, End::Across),
            },
            Piece::Hole(hole) => {
                let until = match pieces.peek() {
                    Some(Piece::Literal(text)) => Some(text.as_str()),
                    Some(Piece::Hole(_)) => {
                        // Two parts side by side: a value for each.
                        match given.pop_front() {
                            Some(Given::Value(with, span)) => {
                                slots.push(Slot::Filled { with, span, hole });
                                continue;
                            }
                            _ => return (slots, End::Across),
                        }
                    }
                    None => None,
                };
                slots.push(filled(&mut given, until, hole));
            }
        }
    }
    (slots, if given.is_empty() { End::Whole } else { End::Across })
}

/// Takes a text of the key off what was given, or as much of it as there is.
fn follows(given: &mut VecDeque<Given>, own: &str) -> Option<String> {
    let last = given.len() == 1;
    let Some(Given::Text(text)) = given.front_mut() else { return None };
    if let Some(rest) = text.strip_prefix(own) {
        *text = rest.to_owned();
        if text.is_empty() {
            given.pop_front();
        }
        return Some(own.to_owned());
    }
    let begins = last && own.starts_with(text.as_str());
    let begun = begins.then(|| text.clone());
    if begins {
        given.clear();
    }
    begun
}

/// Takes what fills a part: all before the text that follows the part in the key.
fn filled<'a>(given: &mut VecDeque<Given>, until: Option<&str>, hole: &'a Hole) -> Slot<'a> {
    let (mut with, mut span) = (Language::default(), hole.span);
    while let Some(piece) = given.pop_front() {
        match piece {
            Given::Value(language, at) => (with, span) = (with.then(language), at),
            Given::Text(text) => {
                // A range may end within the text that follows the part.
                let begun = |until: &&str| given.is_empty() && until.starts_with(&text);
                let at = until.and_then(|until| text.find(until));
                let Some(at) = at.or_else(|| until.filter(begun).map(|_| 0)) else {
                    with = with.then(Language::literal(&text));
                    continue;
                };
                let (before, rest) = text.split_at(at);
                with = with.then(Language::literal(before));
                given.push_front(Given::Text(rest.to_owned()));
                break;
            }
        }
    }
    Slot::Filled { with, span, hole }
}

/// A partition that does not line up with the key, and can be a key all the same.
fn crossing(text: &Expr, key: &Template) -> Option<Diagnostic> {
    text.language().meets(&key.language()).then(|| {
        let message = "the parts of this partition are not those of the key";
        Diagnostic::new(Rule::ForgedKey, text.span, message)
            .other(key.span, "the key that it is compared with")
            .why("a value could be taken for several parts of the key, or for a part of one")
            .help("write the partition as the key is written, with a value for each of its parts")
    })
}

fn shown(bytes: Option<&[u8]>) -> String {
    String::from_utf8_lossy(bytes.unwrap_or_default()).escape_debug().to_string()
}

fn forged(span: Span, hole: &Hole, split: &Split) -> Diagnostic {
    let name = &hole.attribute;
    let message = format!("nothing tells where `{name}` ends, with what is asked for behind it");
    let (short, long) = (shown(split.text.get(..split.short)), shown(split.text.get(..split.long)));
    Diagnostic::new(Rule::ForgedKey, span, message)
        .other(hole.span, "the part of the key")
        .why(format!(
            "`{}` begins with `{name}` = `{short}` or with `{name}` = `{long}`: the query could read the items of another \
             `{name}`",
            shown(Some(&split.text))
        ))
        .help("ask with values of the types that the key has: `input name Entity.attribute`")
}

fn unclosed(span: Span, hole: &Hole, split: &Split) -> Diagnostic {
    let name = &hole.attribute;
    let message =
        format!("`{name}` can contain what follows it here, so that this range has others");
    let (short, long) = (shown(split.text.get(..split.short)), shown(split.text.get(..split.long)));
    Diagnostic::new(Rule::ForgedKey, span, message)
        .other(hole.span, "the part of the key")
        .why(format!("a range for `{name}` = `{short}` also has the items of `{name}` = `{long}`"))
        .help(format!(
            "write a character behind it in the key that `{name}` cannot contain, such as `#`; or bind `{name}` with \
             `like \"…\"`"
        ))
}
