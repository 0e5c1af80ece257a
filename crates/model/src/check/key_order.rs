//! `key-order`: a part of a sort key that does not sort as its value does, or a range that does not
//! fall where it should.

use latchkey_language::{Diagnostic, Rule, Span};

use super::{Report, each_read};
use crate::model::{Expr, ExprKind, Hole, Kind, Model, Piece, Range, Template, TextPiece, What};
use crate::types::Type;

pub(super) fn check(model: &Model, report: &mut Report) {
    for entity in &model.entities {
        let indexes = entity.indexes.iter().map(|index| &index.key.sort);
        for hole in indexes.chain([&entity.key.sort]).flat_map(|sort| sort.holes()) {
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
            let Some(shape) = model.entities[read.entity].place(query.by) else { return };
            for bound in bounds(&query.range) {
                if let Some(diagnostic) = astray(bound, &shape.sort) {
                    report.raise(diagnostic, &step.waivers);
                }
            }
        });
    }
}

fn breach(hole: &Hole) -> Option<(String, String)> {
    let name = &hole.attribute;
    match (&hole.kind, hole.width) {
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

fn bounds(range: &Range) -> Vec<&Expr> {
    match range {
        Range::All => Vec::new(),
        Range::Equal(text) | Range::BeginsWith(text) => vec![text],
        Range::Between(low, high) => vec![low, high],
        Range::Side { bound, .. } => vec![bound],
    }
}

/// A byte of a key, or a value in it.
enum Part<'a> {
    Byte(u8),
    Value(Option<&'a Type>, Span),
}

fn in_key(piece: &Piece) -> Vec<Part<'_>> {
    match piece {
        Piece::Literal(text) => text.bytes().map(Part::Byte).collect(),
        Piece::Hole(hole) => vec![Part::Value(Some(&hole.kind), hole.span)],
    }
}

fn in_bound(piece: &TextPiece) -> Vec<Part<'_>> {
    match piece {
        TextPiece::Literal(text) => text.bytes().map(Part::Byte).collect(),
        TextPiece::Value(value, _) => {
            let kind = if let Kind::Value(kind) = &value.of { Some(kind) } else { None };
            vec![Part::Value(kind, value.span)]
        }
    }
}

/// Lays a bound along the key: a value must meet one it compares with.
fn astray(bound: &Expr, sort: &Template) -> Option<Diagnostic> {
    let ExprKind::Text(pieces) = &bound.kind else { return None };
    let mut key = sort.pieces.iter().flat_map(in_key);
    for part in pieces.iter().flat_map(in_bound) {
        match (part, key.next()) {
            (Part::Byte(a), Some(Part::Byte(b))) if a == b => {}
            (Part::Value(Some(kind), span), Some(Part::Value(Some(expected), at))) => {
                if !kind.compares_with(expected) {
                    let message = format!("this is {kind}, and the key has {expected} there");
                    return Some(misfit(message, span, at));
                }
            }
            (Part::Value(Some(_), span), None) => {
                return Some(misfit("the key ends before this".to_owned(), span, sort.span));
            }
            _ => return None,
        }
    }
    None
}

fn misfit(message: String, span: Span, key: Span) -> Diagnostic {
    Diagnostic::new(Rule::KeyOrder, span, message)
        .other(key, "the key it is compared with")
        .why("keys are compared as text: what does not line up falls anywhere")
        .help("write the bound as the key begins, or give the entity a key that begins so")
}
