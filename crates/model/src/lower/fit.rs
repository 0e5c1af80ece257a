//! Whether a value has room where it is put: lengths, patterns, sizes.

use latchkey_language::{Diagnostic, Rule};
use latchkey_value::Number;

use super::Lowering;
use super::field::is_between;
use crate::check::size::text_bytes_max;
use crate::model::{Expr, ExprKind, Kind, TextPiece};
use crate::regular::is_always_like;
use crate::types::{ListOf, Type};

impl Lowering {
    /// Refuses a value that is put where not all of its kind can be.
    pub(super) fn must_fit(&mut self, value: &Expr, expected: Option<&Type>) {
        if let (Kind::Value(found), Some(expected)) = (&value.of, expected)
            && found.fits(expected)
            && let Some((message, help)) = too_wide(value, found, expected)
        {
            self.report(Diagnostic::new(Rule::Type, value.span, message).help(help));
        }
    }

    /// Refuses a value for a member of a record that need not be within the bounds of the member. No store holds a
    /// member to its bounds, as it does an attribute.
    pub(super) fn must_fit_member(&mut self, value: &Expr, expected: &Type) {
        let Kind::Value(found) = &value.of else { return };
        let constant = matches!(value.kind, ExprKind::Number(_));
        if !found.fits(expected) || constant {
            return self.must_fit(value, Some(expected));
        }
        let wrong = too_wide(value, found, expected).or_else(|| wider_number(found, expected));
        if let Some((message, help)) = wrong {
            self.report(Diagnostic::new(Rule::Type, value.span, message).help(help));
        }
    }
}

/// A text that is longer than what it is put into can hold, or not of its pattern: the key rules rest on
/// both.
fn too_wide(value: &Expr, found: &Type, expected: &Type) -> Option<(String, String)> {
    let constant = match &value.kind {
        ExprKind::Text(pieces) => match pieces.as_slice() {
            [] => Some(""),
            [TextPiece::Literal(text)] => Some(text.as_str()),
            _ => None,
        },
        _ => None,
    };
    if let ExprKind::Number(number) = &value.kind {
        let (low, high) = match expected {
            Type::Int { low, high } => (low.map(Number::from), high.map(Number::from)),
            Type::Number { low, high } => (*low, *high),
            _ => (None, None),
        };
        return (!is_between(*number, low, high)).then(|| {
            let message = format!("`{number}` is out of bounds");
            (message, "write one within, or widen them".to_owned())
        });
    }
    // A text whose parts have forms of their own may be of a pattern for certain, as `{now:month}` is.
    let Type::Text { like: Some(wanted), .. } = expected else {
        return wider(constant, found, expected);
    };
    match (&value.kind, found) {
        (ExprKind::Text(_), Type::Text { max, .. })
            if constant.is_none() && is_always_like(&value.language(), wanted) =>
        {
            let like = Some(wanted.clone());
            wider(None, &Type::Text { max: *max, like }, expected)
        }
        _ => wider(constant, found, expected),
    }
}

/// What is wrong with a text, an id or a map that is put where not all of its type can be.
pub(super) fn wider(
    constant: Option<&str>,
    found: &Type,
    expected: &Type,
) -> Option<(String, String)> {
    match (found, expected) {
        (Type::Text { max, like }, Type::Text { max: room, like: wanted }) => {
            let longest = match constant {
                Some(text) => u64::try_from(text.len()).ok(),
                // What the runtime gives, such as the message of a failure, has a bound of its own.
                None => *max,
            };
            if let Some(room) = room.filter(|room| longest.is_some_and(|longest| longest > *room)) {
                let message = format!("this is {found}, and there is room for {room} bytes");
                return Some((message, format!("make it `text({room})`, or make room")));
            }
            let fits = match (wanted, constant) {
                (None, _) => true,
                (Some(wanted), Some(text)) => {
                    super::pattern(wanted).is_ok_and(|pattern| pattern.is_match(text))
                }
                (Some(wanted), None) => like.as_ref() == Some(wanted),
            };
            let wanted = wanted.as_ref().filter(|_| !fits)?;
            let message = format!("this need not be like `{wanted}`");
            Some((message, "give it the type of the attribute: `ENTITY.ATTRIBUTE`".to_owned()))
        }
        (Type::Id | Type::Ulid, Type::Text { like: Some(wanted), .. }) => {
            let message = format!("this need not be like `{wanted}`");
            Some((message, "give it the type of the attribute: `ENTITY.ATTRIBUTE`".to_owned()))
        }
        (Type::Id | Type::Ulid, Type::Text { max: Some(room), .. })
            if constant.is_none()
                && !u64::try_from(text_bytes_max(found)).is_ok_and(|long| long <= *room) =>
        {
            let message = format!(
                "this is {found}, of up to {} bytes, and there is room for {room} bytes",
                text_bytes_max(found)
            );
            Some((message, "give it the type of the attribute, or make room".to_owned()))
        }
        (Type::Map { bytes, depth }, Type::Map { bytes: room, depth: levels })
            if bytes > room || depth > levels =>
        {
            let message = format!("this is {found}, and there is room for {expected}");
            Some((message, "make it no larger than what it is put into".to_owned()))
        }
        (Type::ListOf(found), Type::ListOf(expected)) => wider_list(found, expected),
        (Type::SetOf { of, most }, Type::SetOf { of: expected_of, most: room }) => {
            if most > room {
                let message = format!("this is {found}, and there is room for {expected}");
                return Some((message, "make it no larger than what it is put into".to_owned()));
            }
            wider(None, of, expected_of)
        }
        (Type::Record(members), Type::Record(_)) => members.iter().find_map(|member| {
            let place = expected.member(&member.name)?;
            let (message, help) = wider_within(&member.kind, &place.kind)?;
            Some((format!("`{}`: {message}", member.name), help))
        }),
        _ => None,
    }
}

/// What is wrong with a list that is put where not all of its type can be.
fn wider_list(found: &ListOf, expected: &ListOf) -> Option<(String, String)> {
    if found.low < expected.low || found.high > expected.high {
        let message = format!(
            "this has {} to {} elements, and there must be {} to {}",
            found.low, found.high, expected.low, expected.high
        );
        return Some((message, "give it the same bounds".to_owned()));
    }
    let kept = |by: &Vec<String>| {
        found.unique.as_ref().is_some_and(|found| {
            found.iter().all(|name| by.contains(name)) && (by.is_empty() == found.is_empty())
        })
    };
    if expected.unique.as_ref().is_some_and(|by| !kept(by)) {
        let message = "two of its elements may be alike where they must not be".to_owned();
        return Some((message, "give it the same `unique`".to_owned()));
    }
    wider_within(&found.of, &expected.of)
}

/// What is wrong with a value within another, numbers among them: no store holds those to their bounds.
fn wider_within(found: &Type, expected: &Type) -> Option<(String, String)> {
    wider(None, found, expected).or_else(|| wider_number(found, expected))
}

/// What is wrong with a number that may lie outside the bounds of what it is put into.
fn wider_number(found: &Type, expected: &Type) -> Option<(String, String)> {
    let (low, high) = number_bounds(found)?;
    let (least, most) = number_bounds(expected)?;
    let kept = least.is_none_or(|least| low.is_some_and(|low| low >= least))
        && most.is_none_or(|most| high.is_some_and(|high| high <= most));
    (!kept).then(|| {
        let message = "this may be out of bounds".to_owned();
        (message, "give it the bounds of what it is put into".to_owned())
    })
}

/// The bounds of a number.
fn number_bounds(kind: &Type) -> Option<(Option<Number>, Option<Number>)> {
    match kind {
        Type::Int { low, high } => Some((low.map(Number::from), high.map(Number::from))),
        Type::Number { low, high } => Some((*low, *high)),
        Type::Counter => Some((Some(Number::from(1i64)), None)),
        _ => None,
    }
}
