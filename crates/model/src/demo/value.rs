//! What an expression of a demo comes to: numbers, texts, times and spans of time.

use std::collections::BTreeMap;

use latchkey_language::ast::{BinaryOp, Expr, ExprKind, Piece, Template};
use latchkey_language::{Rule, Span};
use latchkey_value::{Number, Text, Value, time};

use super::{Mistake, mistake};

/// The longest span of time: that of all times there are.
const SPAN_MAX: i64 = time::MAX - time::MIN;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Known {
    Number(i64),
    Text(String),
    /// Milliseconds since 1970.
    Time(i64),
    /// Milliseconds.
    Span(i64),
}

impl Known {
    /// As it is written in a request; nothing for a time that cannot be written.
    pub(super) fn text(&self) -> Option<String> {
        Some(match self {
            Known::Number(number) | Known::Span(number) => number.to_string(),
            Known::Text(text) => text.clone(),
            Known::Time(at) => time::format(*at)?.to_string(),
        })
    }

    fn value(&self) -> Option<Value> {
        Some(match self {
            Known::Number(number) | Known::Span(number) => Value::Number(Number::from(*number)),
            Known::Text(text) => Value::Text(Text::from(text.as_str())),
            Known::Time(at) => Value::Text(time::format(*at)?),
        })
    }
}

/// What the names in an expression stand for.
pub(super) struct Scene<'a> {
    pub(super) now: i64,
    pub(super) n: Option<i64>,
    pub(super) known: &'a BTreeMap<String, Known>,
}

impl Scene<'_> {
    pub(super) fn value(&self, expression: &Expr) -> Result<Known, Mistake> {
        let span = expression.span;
        match &expression.node {
            ExprKind::Name(name) => self.named(name, span),
            ExprKind::Number(digits) => digits.parse().map(Known::Number).map_err(|_| {
                let help = "other numbers can be chosen as they are written: `one of 1.5, 2.5`";
                mistake(Rule::Type, span, "this is not a whole number", help)
            }),
            ExprKind::Duration(text) => {
                let ms = crate::lower::milliseconds(text);
                let ms = ms.and_then(|ms| i64::try_from(ms).ok()).filter(|ms| *ms <= SPAN_MAX);
                ms.map(Known::Span).ok_or_else(|| match text.ends_with(['s', 'm', 'h', 'd']) {
                    true => too_long(text, span),
                    false => {
                        let message = format!("`{text}` is not a span of time of fixed length");
                        let help = "write a whole number and `ms`, `s`, `m`, `h` or `d`";
                        mistake(Rule::Type, span, message, help)
                    }
                })
            }
            ExprKind::Text(template) => self.template(template).map(Known::Text),
            ExprKind::Binary(left, op, right) => {
                combined(op.node, self.value(left)?, self.value(right)?, span)
            }
            _ => Err(unknown(span)),
        }
    }

    fn named(&self, name: &str, span: Span) -> Result<Known, Mistake> {
        match (name, self.n) {
            ("now", _) => Ok(Known::Time(self.now)),
            ("n", Some(n)) => Ok(Known::Number(n)),
            ("n", None) => {
                let help = "it is the number of the round, within `repeat` and `every`";
                Err(mistake(Rule::Name, span, "`n` has no value here", help))
            }
            _ => self.known.get(name).cloned().ok_or_else(|| {
                let help = "give it a value above, or write a text in quotes";
                mistake(Rule::Name, span, format!("nothing is called `{name}`"), help)
            }),
        }
    }

    fn template(&self, template: &Template) -> Result<String, Mistake> {
        let mut text = Text::default();
        for piece in &template.pieces {
            match piece {
                Piece::Literal(literal) => text.push_str(&literal.node),
                Piece::Hole { value, format } => {
                    let known = self.value(value)?;
                    let pushed = match format {
                        None => known.text().map(|known| text.push_str(&known)),
                        Some(format) => {
                            known.value().and_then(|value| format.node.push(&mut text, &value))
                        }
                    };
                    pushed.ok_or_else(|| {
                        let help = "`:03` is for numbers, `:day` for times, `:upper` for texts";
                        mistake(Rule::Type, value.span, "this value has no such form", help)
                    })?;
                }
            }
        }
        match text.contains(['"', '\\', '$']) {
            false => Ok(text.to_string()),
            true => {
                let message = "a text with a quote, a backslash or a `$`";
                let help = "it would not stay a text within the JSON of a request";
                Err(mistake(Rule::Type, template.span, message, help))
            }
        }
    }
}

fn combined(op: BinaryOp, left: Known, right: Known, span: Span) -> Result<Known, Mistake> {
    use BinaryOp::{Minus, Plus, Times};
    use Known::{Number, Span as Duration, Time};
    let wrong: fn(Span) -> Mistake = match (&left, &right) {
        (Time(_), _) | (_, Time(_)) => too_far,
        (Duration(_), _) | (_, Duration(_)) => |span| too_long("this", span),
        (Number(_) | Known::Text(_), Number(_) | Known::Text(_)) => too_large,
    };
    let known = match (op, left, right) {
        (Plus, Number(a), Number(b)) => a.checked_add(b).map(Number),
        (Minus, Number(a), Number(b)) => a.checked_sub(b).map(Number),
        (Times, Number(a), Number(b)) => a.checked_mul(b).map(Number),
        (Times, Number(a), Duration(b)) | (Times, Duration(a), Number(b)) => {
            a.checked_mul(b).map(Duration)
        }
        (Plus, Duration(a), Duration(b)) => a.checked_add(b).map(Duration),
        (Minus, Duration(a), Duration(b)) => a.checked_sub(b).map(Duration),
        (Plus, Time(a), Duration(b)) | (Plus, Duration(a), Time(b)) => a.checked_add(b).map(Time),
        (Minus, Time(a), Duration(b)) => a.checked_sub(b).map(Time),
        _ => return Err(unknown(span)),
    };
    known.ok_or_else(|| wrong(span))
}

/// A time that cannot be written.
pub(super) fn too_far(span: Span) -> Mistake {
    let message = "this time is before the year 0000, or after the year 9999";
    let help = "write a time within these years, such as `now - 3d`";
    mistake(Rule::Type, span, message, help)
}

/// A span that no two times are apart.
fn too_long(what: &str, span: Span) -> Mistake {
    let what = if what == "this" { "this".to_owned() } else { format!("`{what}`") };
    let message = format!("{what} is too long a span of time");
    let help = "times are of the years 0000 to 9999: write at most `3652424d`";
    mistake(Rule::Type, span, message, help)
}

/// A number that is not computed with.
fn too_large(span: Span) -> Mistake {
    let help = "a demo computes with whole numbers of up to 18 digits";
    mistake(Rule::Type, span, "this number is too large", help)
}

fn unknown(span: Span) -> Mistake {
    let help = "a demo adds and multiplies whole numbers, moves times (`now + 2h`), and fills texts (`\"D{n:03}\"`)";
    mistake(Rule::Type, span, "a demo cannot compute this", help)
}
