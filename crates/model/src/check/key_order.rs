//! `key-order`: a part of a sort key that does not sort as its value does, or a range that does not
//! fall where it should.

use latchkey_language::{Diagnostic, Rule, Span};
use latchkey_value::Format;

use super::{Report, each_read};
use crate::model::{
    Expr, ExprKind, Hole, KeyNames, KeyPart, Kind, Model, Piece, Range, Template, TextPiece, What,
};
use crate::types::Type;

pub(super) fn check(model: &Model, report: &mut Report) {
    for entity in &model.entities {
        // A key of numbers is in their order.
        let text = |names: &KeyNames| !names.is_number(KeyPart::Sort);
        let indexes = entity.indexes.iter().filter(|index| text(&model.indexes[index.index].key));
        let indexes = indexes.map(|index| &index.key.sort);
        let own = Some(&entity.key.sort).filter(|_| text(&model.table.key));
        for hole in indexes.chain(own).flat_map(|sort| sort.holes()) {
            if let Some((message, help)) = breach(hole) {
                let diagnostic = Diagnostic::new(Rule::KeyOrder, hole.span, message)
                    .why("keys are compared as text: `10` sorts before `9`")
                    .help(help);
                report.raise(diagnostic, &entity.waivers);
            }
        }
    }
    for contract in model.bodies() {
        each_read(contract, |read, step| {
            let What::Query(query) = &read.what else { return };
            let shapes = || read.entities().filter_map(|id| model.entities[id].place(query.by));
            for (bound, end) in bounds(&query.range) {
                // Of several entities, a bound is made for one of them.
                let mut found: Vec<_> =
                    shapes().map(|shape| astray(bound, end, &shape.sort)).collect();
                if let Some(Some(diagnostic)) = found.pop()
                    && found.iter().all(Option::is_some)
                {
                    report.raise(diagnostic, &step.waivers);
                }
            }
            let high = upper(&query.range).into_iter();
            for diagnostic in
                high.flat_map(|high| shapes().filter_map(|it| beyond_tilde(high, &it.sort)))
            {
                report.raise(diagnostic, &step.waivers);
            }
        });
    }
}

/// A part that does not sort. A part of a time sorts as the time does, and a count down sorts the other way round for all
/// numbers that its type has.
fn breach(hole: &Hole) -> Option<(String, String)> {
    let name = &hole.attribute;
    let width = match hole.format {
        None => None,
        Some(Format::Padded(width)) => Some(width),
        Some(_) => return None,
    };
    match (&hole.kind, width) {
        (Type::Int { low: Some(0..), high: Some(high) }, None) => {
            let digits = high.to_string().len();
            Some((
                format!("`{name}` does not sort as a number does"),
                format!("pad it: `{{{name}:0{digits}}}`"),
            ))
        }
        (Type::Int { .. } | Type::Counter, None) => Some((
            format!("`{name}` does not sort as a number does"),
            format!("bound it and pad it: `{name} int 0..999999` and `{{{name}:06}}`"),
        )),
        (Type::Int { low, .. }, Some(_)) if low.is_none_or(|low| low < 0) => Some((
            format!("`{name}` may be negative, which does not sort"),
            format!("bound it from below: `{name} int 0..`"),
        )),
        (Type::Int { high: Some(high), .. }, Some(width)) if high.to_string().len() > width => {
            Some((
                format!("`{name}` can have more than {width} digits"),
                format!(
                    "pad it to {}: `{{{name}:0{}}}`",
                    high.to_string().len(),
                    high.to_string().len()
                ),
            ))
        }
        // Of 19 digits is the greatest of all.
        (Type::Int { high: None, .. }, Some(width)) if width < 19 => Some((
            format!("`{name}` can have more than {width} digits"),
            format!("bound it from above: `{name} int 0..{}`", "9".repeat(width)),
        )),
        (Type::Number { .. }, _) => Some((
            format!("`{name}` is a decimal, which does not sort as text"),
            "store a whole number of the smallest unit instead, and pad it".to_owned(),
        )),
        _ => None,
    }
}

/// Which end of a range a bound is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// All of the range begins with it, or is it.
    Beginning,
    /// A bound that leaves out no text which begins with it, or all of them.
    Clear,
    /// An upper bound that includes itself, or a lower one that does not: of the texts that begin with it, it parts one
    /// from the others.
    Within,
}

fn bounds(range: &Range) -> Vec<(&Expr, End)> {
    match range {
        Range::All => Vec::new(),
        Range::Equal(text) | Range::BeginsWith(text) => vec![(text, End::Beginning)],
        Range::Between(low, high) => vec![(low, End::Clear), (high, End::Within)],
        Range::Side { below, inclusive, bound } => {
            vec![(bound, if below == inclusive { End::Within } else { End::Clear })]
        }
    }
}

/// A value in a key or a bound, with its form.
#[derive(Clone, Copy)]
struct Shown<'a> {
    kind: &'a Type,
    format: Option<Format>,
    span: Span,
}

/// How a value of a bound lies along one of the key.
enum Fit {
    Same,
    /// It is the beginning of a longer text.
    Begins,
    Misses,
}

impl Shown<'_> {
    /// How many bytes of an instant it has, if that is what it is.
    fn instant_bytes(&self) -> Option<usize> {
        let whole = Type::Time.language(None).columns()?;
        let columns = match self.kind {
            Type::Time | Type::Date => self.kind.language(self.format).columns()?,
            // A text of a pattern that is that of a day, say.
            Type::Text { like: Some(_), .. } if self.format.is_none() => {
                self.kind.language(None).columns()?
            }
            _ => return None,
        };
        let within = columns.len() <= whole.len()
            && columns.iter().zip(&whole).all(|(bytes, whole)| bytes.is_within(*whole));
        within.then_some(columns.len())
    }

    fn fits(&self, key: &Shown<'_>) -> Fit {
        let of_time = matches!(key.kind, Type::Time | Type::Date);
        if let (true, Some(own), Some(whole)) = (of_time, self.instant_bytes(), key.instant_bytes())
        {
            return match own.cmp(&whole) {
                std::cmp::Ordering::Equal => Fit::Same,
                std::cmp::Ordering::Less => Fit::Begins,
                std::cmp::Ordering::Greater => Fit::Misses,
            };
        }
        // Zeros before a number are no other form.
        let form = |shown: &Shown<'_>| match shown.format {
            Some(Format::Padded(_)) => None,
            other => other,
        };
        match self.kind.compares_with(key.kind) && form(self) == form(key) {
            true => Fit::Same,
            false => Fit::Misses,
        }
    }

    fn described(&self) -> String {
        match self.format {
            Some(Format::Padded(_)) | None => self.kind.to_string(),
            Some(format) => format!("{} as `{format}`", self.kind),
        }
    }
}

/// A byte of a key, or a value in it.
enum Part<'a> {
    Byte(u8),
    Value(Option<Shown<'a>>),
}

fn in_key(piece: &Piece) -> Vec<Part<'_>> {
    match piece {
        Piece::Literal(text) => text.bytes().map(Part::Byte).collect(),
        Piece::Hole(hole) => {
            let (kind, format, span) = (&hole.kind, hole.format, hole.span);
            vec![Part::Value(Some(Shown { kind, format, span }))]
        }
    }
}

fn in_bound(piece: &TextPiece) -> Vec<Part<'_>> {
    match piece {
        TextPiece::Literal(text) => text.bytes().map(Part::Byte).collect(),
        TextPiece::Value(value, format) => {
            let kind = if let Kind::Value(kind) = &value.of { Some(kind) } else { None };
            let shown = |kind| Shown { kind, format: *format, span: value.span };
            vec![Part::Value(kind.map(shown))]
        }
    }
}

/// Lays a bound along the key: a value must meet one it compares with.
fn astray(bound: &Expr, end: End, sort: &Template) -> Option<Diagnostic> {
    let ExprKind::Text(pieces) = &bound.kind else { return None };
    let mut key = sort.pieces.iter().flat_map(in_key);
    let mut parts = pieces.iter().flat_map(in_bound).peekable();
    while let Some(part) = parts.next() {
        match (part, key.next()) {
            (Part::Byte(a), Some(Part::Byte(b))) if a == b => {}
            (Part::Value(Some(own)), Some(Part::Value(Some(expected)))) => {
                match (own.fits(&expected), parts.peek()) {
                    (Fit::Same, _) => {}
                    (Fit::Begins, None) if end == End::Within => {
                        return Some(parted(&own, &expected));
                    }
                    (Fit::Begins, None | Some(Part::Byte(_))) => return None,
                    (Fit::Begins, Some(Part::Value(_))) | (Fit::Misses, _) => {
                        let (own_kind, there) = (own.described(), expected.described());
                        let message = format!("this is {own_kind}, and the key has {there} there");
                        return Some(misfit(message, own.span, expected.span));
                    }
                }
            }
            (Part::Value(Some(own)), None) => {
                return Some(misfit("the key ends before this".to_owned(), own.span, sort.span));
            }
            _ => return None,
        }
    }
    None
}

/// The upper end of a range.
fn upper(range: &Range) -> Option<&Expr> {
    match range {
        Range::Between(_, high) => Some(high),
        Range::Side { below: true, bound, .. } => Some(bound),
        Range::All | Range::Equal(_) | Range::BeginsWith(_) | Range::Side { .. } => None,
    }
}

/// A range that ends with `~` where the key has a part whose texts may sort behind that.
fn beyond_tilde(bound: &Expr, sort: &Template) -> Option<Diagnostic> {
    let ExprKind::Text(pieces) = &bound.kind else { return None };
    let mut key = sort.pieces.iter().flat_map(in_key);
    let mut parts = pieces.iter().flat_map(in_bound).peekable();
    while let Some(part) = parts.next() {
        match (part, key.next()?) {
            (Part::Byte(b'~'), Part::Value(Some(there))) if parts.peek().is_none() => {
                let alphabet = there.kind.language(there.format).alphabet();
                let above = (b'~'..=u8::MAX).any(|byte| alphabet.contains(byte));
                let message = "a text of the key can sort behind this `~`";
                return above.then(|| {
                    Diagnostic::new(Rule::KeyOrder, bound.span, message)
                        .other(there.span, "the part of the key")
                        .why("`Éve` sorts behind `~`, as all letters outside ASCII do: the range leaves such items out")
                        .help("bind the part with `like \"[ -}]+\"`, say; or end the range with the next value and `<`")
                });
            }
            (Part::Byte(a), Part::Byte(b)) if a == b => {}
            (Part::Value(_), Part::Value(_)) => {}
            _ => return None,
        }
    }
    None
}

/// A day at the end of a range of times, say.
fn parted(own: &Shown<'_>, key: &Shown<'_>) -> Diagnostic {
    let message =
        format!("this is {}, and the key goes on with the rest of the time", own.described());
    Diagnostic::new(Rule::KeyOrder, own.span, message)
        .other(key.span, "the key it is compared with")
        .why("every key of that day is greater than the day alone: the range ends before all of them, or begins with them")
        .help("end a range with `~` behind it to include the day, or write `<` to end before it and `>=` to begin with it")
}

fn misfit(message: String, span: Span, key: Span) -> Diagnostic {
    Diagnostic::new(Rule::KeyOrder, span, message)
        .other(key, "the key it is compared with")
        .why("keys are compared as text: what does not line up falls anywhere")
        .help("write the bound as the key begins, or give the entity a key that begins so")
}
