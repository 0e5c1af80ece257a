//! Literals: texts with holes, numbers and durations.

use latchkey_language::ast;
use latchkey_language::{Diagnostic, Rule, Span, Spanned};
use latchkey_value::Format;

use super::Lowering;
use super::scope::Scope;
use crate::check::size::part_bytes_max;
use crate::model::{Expr, ExprKind, Kind, TextPiece};
use crate::types::Type;

impl Lowering {
    pub(super) fn text(&mut self, template: &ast::Template, scope: &mut Scope) -> Vec<TextPiece> {
        let mut pieces = Vec::new();
        for piece in &template.pieces {
            pieces.push(match piece {
                ast::Piece::Literal(text) => TextPiece::Literal(text.node.clone()),
                ast::Piece::Hole { value, format } => {
                    let value = self.sure(value, scope, None);
                    self.has_text(&value);
                    if let (Some(format), Kind::Value(kind)) = (format, &value.of) {
                        self.has_form(kind, format);
                    }
                    TextPiece::Value(value, format.as_ref().map(|format| format.node))
                }
            });
        }
        pieces
    }

    /// Refuses a form that values of a type do not have.
    pub(super) fn has_form(&mut self, kind: &Type, format: &Spanned<Format>) {
        if let Some((message, help)) = kind.misfit(format.node) {
            self.report(Diagnostic::new(Rule::Type, format.span, message).help(help));
        }
    }

    /// Refuses a value that has no text form.
    fn has_text(&mut self, value: &Expr) {
        if let Kind::Value(kind) = &value.of
            && !kind.has_text()
        {
            let message = format!("this is a {kind}, which cannot stand in a text");
            self.report(Diagnostic::new(Rule::Type, value.span, message));
        }
    }

    pub(super) fn number(&mut self, text: &str, span: Span) -> (ExprKind, Kind) {
        let kind = match text.parse::<i64>() {
            Ok(n) => Type::Int { low: Some(n), high: Some(n) },
            Err(_) => Type::Number { low: None, high: None },
        };
        match text.parse() {
            Ok(number) => (ExprKind::Number(number), Kind::Value(kind)),
            Err(error) => {
                let message = format!("`{text}` is not a number: {error}");
                self.report(Diagnostic::new(Rule::Type, span, message));
                (ExprKind::Unknown, Kind::Unknown)
            }
        }
    }

    pub(super) fn duration(&mut self, text: &str, span: Span) -> (ExprKind, Kind) {
        if let Some(months) = months(text) {
            return (ExprKind::Months(months), Kind::Value(Type::Months));
        }
        match milliseconds(text) {
            Some(milliseconds) => (ExprKind::Duration(milliseconds), Kind::Value(Type::Duration)),
            None => {
                let help = "write a whole number and `ms`, `s`, `m`, `h`, `d`, `mo` or `y`";
                let message = format!("`{text}` is not a span of time");
                self.report(Diagnostic::new(Rule::Type, span, message).help(help));
                (ExprKind::Unknown, Kind::Unknown)
            }
        }
    }
}

/// How many bytes a text made of these pieces can have; nothing if one of them has no bound.
pub(super) fn longest(pieces: &[TextPiece]) -> Option<u64> {
    let mut bytes = pieces.iter().map(|piece| match piece {
        TextPiece::Literal(text) => Some(text.len()),
        TextPiece::Value(value, format) => match &value.of {
            Kind::Value(Type::Text { max: None, .. }) => None,
            Kind::Value(kind) => Some(part_bytes_max(kind, *format)),
            _ => None,
        },
    });
    let bytes = bytes.try_fold(0usize, |sum, bytes| Some(sum.saturating_add(bytes?)))?;
    Some(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// The milliseconds of a duration as it is written.
pub(crate) fn milliseconds(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text.strip_prefix(digits)? {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        "d" => 24 * 60 * 60 * 1000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// The months of a duration as it is written.
fn months(text: &str) -> Option<u32> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text.strip_prefix(digits)? {
        "mo" => 1,
        "y" => 12,
        _ => return None,
    };
    digits.parse::<u32>().ok()?.checked_mul(unit)
}
