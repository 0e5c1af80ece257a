//! What a query asks for must lie along the key: a partition or a range that is made of other values than the key has
//! there, or whose last part is not closed by what follows it, holds items with other parts than those that were given.

use latchkey_language::{Diagnostic, Rule, Span};
use latchkey_value::Format;

use super::super::flow::lets;
use super::super::truth::{Lets, plain};
use super::super::{Report, each_read};
use crate::model::{
    Expr, ExprKind, Hole, Kind, Model, Piece, Query, Range, Template, TextPiece, What,
};
use crate::regular::{Atom, Language, Split, Splits, splits};

/// A text between parts, or a part.
enum Chunk<'a, T> {
    Literal(String),
    Part(&'a T, Option<Format>),
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
    let (given, own) = (given(lets, text)?, of_key(key));
    // A key that is one part is that part, however the text is made.
    if let [Chunk::Part(..)] = own[..] {
        return None;
    }
    let mut pairs = Vec::new();
    for pair in given.iter().zip(&own) {
        match pair {
            (Chunk::Literal(a), Chunk::Literal(b)) if a == b => pairs.push(Language::literal(a)),
            (Chunk::Part(value, format), Chunk::Part(hole, _)) => {
                pairs.push(either(value, *format, hole));
            }
            _ => return crossing(plain(lets, text), key),
        }
    }
    if given.len() != own.len() {
        return crossing(plain(lets, text), key);
    }
    for (at, chunk) in given.iter().enumerate() {
        let (Chunk::Part(value, _), Some(Chunk::Part(hole, _))) = (chunk, own.get(at)) else {
            continue;
        };
        let rest = pairs.iter().skip(at + 1).cloned().fold(Language::default(), Language::then);
        let (first, next) = (pairs.get(at)?, own.get(at + 1));
        if let Some(split) = twice(first, &rest, next) {
            return Some(forged(value.span, hole, &split));
        }
    }
    None
}

/// A bound with a part that what follows does not close: the range has the items of longer values, too.
fn open<'a>(lets: &Lets<'a>, text: &'a Expr, key: &Template) -> Option<Diagnostic> {
    let (given, own) = (given(lets, text)?, of_key(key));
    for (at, pair) in given.iter().zip(&own).enumerate() {
        match pair {
            (Chunk::Literal(a), Chunk::Literal(b)) if a == b => {}
            (Chunk::Part(value, format), Chunk::Part(hole, _)) => {
                let behind = given.get(at + 1..).unwrap_or_default();
                if behind.is_empty() {
                    return None;
                }
                let rest = behind.iter().fold(Language::default(), |rest, chunk| match chunk {
                    Chunk::Literal(text) => rest.then(Language::literal(text)),
                    Chunk::Part(value, format) => rest.then(of_value(value, *format)),
                });
                let first = either(value, *format, hole);
                if let Some(split) = twice(&first, &rest.then_anything(), own.get(at + 1)) {
                    return Some(unclosed(value.span, hole, &split));
                }
            }
            _ => return None,
        }
    }
    None
}

/// A text that can be split in two ways.
fn twice(first: &Language, rest: &Language, next: Option<&Chunk<'_, Hole>>) -> Option<Split> {
    let separator = match next {
        Some(Chunk::Literal(text)) => text.bytes().next(),
        Some(Chunk::Part(..)) => None,
        None => return None,
    };
    if separator.is_some_and(|byte| !first.alphabet().contains(byte)) {
        return None;
    }
    match splits(first, rest) {
        Splits::Twice(split) => Some(split),
        Splits::Never => None,
        // What cannot be told of the key is told there.
        Splits::TooLarge => None,
    }
}

/// What the key has at the place of a value, or the value itself.
fn either(value: &Expr, format: Option<Format>, hole: &Hole) -> Language {
    let (value, own) = (of_value(value, format), hole.kind.language(hole.format));
    if value == own { own } else { Language { atoms: vec![Atom::Choice(vec![value, own])] } }
}

fn of_value(value: &Expr, format: Option<Format>) -> Language {
    match &value.of {
        Kind::Value(kind) => kind.language(format),
        _ => Language::default().then_anything(),
    }
}

/// The chunks of a text that is asked for; nothing, if its parts are not known.
fn given<'a>(lets: &Lets<'a>, text: &'a Expr) -> Option<Vec<Chunk<'a, Expr>>> {
    let text = plain(lets, text);
    let ExprKind::Text(pieces) = &text.kind else { return None };
    let mut chunks = Vec::new();
    for piece in pieces {
        match piece {
            TextPiece::Literal(text) => literal(&mut chunks, text),
            TextPiece::Value(value, format) => chunks.push(Chunk::Part(value, *format)),
        }
    }
    Some(chunks)
}

fn of_key(key: &Template) -> Vec<Chunk<'_, Hole>> {
    let mut chunks = Vec::new();
    for piece in &key.pieces {
        match piece {
            Piece::Literal(text) => literal(&mut chunks, text),
            Piece::Hole(hole) => chunks.push(Chunk::Part(hole, hole.format)),
        }
    }
    chunks
}

fn literal<T>(chunks: &mut Vec<Chunk<'_, T>>, text: &str) {
    match chunks.last_mut() {
        Some(Chunk::Literal(before)) => before.push_str(text),
        _ => chunks.push(Chunk::Literal(text.to_owned())),
    }
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
