//! Templates of keys: text with holes, as an explanation writes them. A hole is drawn as a chip; that of an input has the
//! input's name on it, and the script fills it in while a visitor types.

pub(crate) mod partition;

use maud::{Markup, html};

use crate::shown::shown;

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Text as it is.
    Text(String),
    /// A value that only a call has.
    Hole {
        /// Its name, or how it is computed.
        name: String,
        /// The form that it has there: `02`, `day`, `lower`.
        form: Option<String>,
    },
}

/// The pieces of a template. Holes stand in braces; a brace of the text itself is doubled.
pub(crate) fn pieces(template: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = template.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '{' | '}' if rest.peek() == Some(&c) => {
                rest.next();
                text.push(c);
            }
            '{' => {
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(hole(&inner(&mut rest)));
            }
            c => text.push(c),
        }
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}

/// What stands in a hole, up to the brace that closes it.
fn inner(rest: &mut impl Iterator<Item = char>) -> String {
    let (mut inner, mut open) = (String::new(), 0_usize);
    for c in rest {
        match c {
            '}' if open == 0 => break,
            '}' => open -= 1,
            '{' => open += 1,
            _ => {}
        }
        inner.push(c);
    }
    inner
}

fn hole(inner: &str) -> Piece {
    let split = inner.rsplit_once(':').filter(|(_, form)| is_form(form));
    match split {
        Some((name, form)) => Piece::Hole { name: name.to_owned(), form: Some(form.to_owned()) },
        None => Piece::Hole { name: inner.to_owned(), form: None },
    }
}

/// Whether a text is a form that a value has in a key.
fn is_form(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    matches!(text, "year" | "month" | "day" | "hour" | "lower" | "upper")
        || (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A hole. `known` is a value that is known before the call.
pub(crate) fn chip(name: &str, form: Option<&str>, known: Option<&str>) -> Markup {
    let own = form.map_or_else(|| name.to_owned(), |form| format!("{name}:{form}"));
    html! {
        @match known {
            Some(known) => span.chip.filled title=(shown(&own)) { (shown(known)) },
            None => span.chip data-input=(name) data-form=[form] data-name=(shown(&own)) { (shown(&own)) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, form: Option<&str>) -> Piece {
        Piece::Hole { name: name.to_owned(), form: form.map(str::to_owned) }
    }

    #[test]
    fn a_template_is_text_and_holes() {
        let text = |text: &str| Piece::Text(text.to_owned());
        assert_eq!(pieces("META"), [text("META")]);
        assert_eq!(pieces(""), []);
        assert_eq!(
            pieces("A#{a}#{b:02}{c:lower}"),
            [
                text("A#"),
                named("a", None),
                text("#"),
                named("b", Some("02")),
                named("c", Some("lower"))
            ]
        );
        assert_eq!(pieces("{{a}}{n:-03}"), [text("{a}"), named("n", Some("-03"))]);
        assert_eq!(pieces("{date - 4d}~"), [named("date - 4d", None), text("~")]);
        assert_eq!(pieces("{a:b}"), [named("a:b", None)]);
        // A form of a joined text; and a brace that nothing closes.
        assert_eq!(pieces("{\"x{y}\":lower}"), [named("\"x{y}\"", Some("lower"))]);
        assert_eq!(pieces("x{y"), [text("x"), named("y", None)]);
    }
}
