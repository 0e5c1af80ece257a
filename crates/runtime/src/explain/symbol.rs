//! Symbols: names in place of values before there is a call.
//!
//! A symbol is a type of its own, so a name is never mistaken for a value. Where both are shown, names stand
//! in braces, and the braces of a text that is known are doubled, as a document writes them.

use std::borrow::Cow;
use std::cmp::Ordering;

use latchkey_table::{Datum, KeyText, Map, Text, Value, ValueType, View};
use latchkey_value::Format;

use super::words::{braced, constant, hole};
use crate::evaluate::push;

/// A value that is known before the call, or what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Symbol {
    Known(Value),
    Named(Named),
    Joined(Joined),
    Map(Map<Symbol>),
}

/// A value with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) value_type: ValueType,
    /// The names of the values without which this one is absent.
    pub(super) absent: Vec<String>,
    pub(super) given: Presence,
}

/// Whether a value is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// It is, or is absent for good.
    Always,
    /// If not, its attribute is left alone.
    Maybe,
    /// If not, its attribute is left alone; `null` takes it out.
    MaybeNull,
}

/// A text of literals and names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Joined {
    pieces: Vec<Piece>,
    absent: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Literal(Text),
    /// A name, and the form its value has there.
    Name(String, Option<Format>),
}

impl Symbol {
    pub(super) fn named(name: &str, value_type: ValueType) -> Symbol {
        Symbol::optional(name, value_type, false)
    }

    /// A named value that may be absent, by its own name.
    pub(super) fn optional(name: &str, value_type: ValueType, optional: bool) -> Symbol {
        let absent = if optional { vec![name.to_owned()] } else { Vec::new() };
        Symbol::Named(Named { name: name.to_owned(), value_type, absent, given: Presence::Always })
    }

    /// The same value under a name it was given; one that is known needs none.
    pub(super) fn renamed(self, name: &str) -> Symbol {
        match self {
            Symbol::Known(_) => self,
            other => Symbol::named(name, other.type_of()),
        }
    }

    /// What it is called within an expression.
    pub(super) fn bare(&self) -> Cow<'_, str> {
        match self {
            Symbol::Known(value) => constant(value).into(),
            Symbol::Named(named) => named.name.as_str().into(),
            Symbol::Joined(joined) => match joined.pieces.as_slice() {
                [Piece::Name(name, None)] => name.as_str().into(),
                _ => joined.shown().into(),
            },
            Symbol::Map(_) => "map".into(),
        }
    }

    /// What is shown in its place.
    pub(super) fn shown(&self) -> String {
        match self {
            Symbol::Known(value) => constant(value),
            Symbol::Joined(joined) => joined.shown(),
            Symbol::Named(_) | Symbol::Map(_) => hole(&self.bare(), None),
        }
    }

    /// The names of the values without which this one is absent.
    pub(super) fn absent(&self) -> &[String] {
        match self {
            Symbol::Named(named) => &named.absent,
            Symbol::Joined(joined) => &joined.absent,
            Symbol::Known(_) | Symbol::Map(_) => &[],
        }
    }
}

impl Joined {
    pub(super) fn literal(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Literal(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Literal(text.into())),
        }
    }

    pub(super) fn name(&mut self, name: impl Into<String>, format: Option<Format>) {
        self.pieces.push(Piece::Name(name.into(), format));
    }

    pub(super) fn push(&mut self, symbol: &Symbol, format: Option<Format>) {
        match symbol {
            Symbol::Known(value) => {
                let mut text = Text::default();
                if push(&mut text, value, format).is_err() {
                    text.push_str("{?}");
                }
                self.literal(&text);
            }
            Symbol::Joined(joined) if format.is_some() && joined.pieces.len() != 1 => {
                self.name(format!("\"{}\"", joined.shown()), format);
            }
            Symbol::Joined(joined) => {
                for piece in &joined.pieces {
                    match piece {
                        Piece::Literal(text) => self.literal(text),
                        Piece::Name(name, None) => self.name(name, format),
                        Piece::Name(..) => self.pieces.push(piece.clone()),
                    }
                }
            }
            Symbol::Named(_) | Symbol::Map(_) => self.name(symbol.bare(), format),
        }
        self.absent.extend_from_slice(symbol.absent());
    }

    fn shown(&self) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Literal(text) => braced(text),
            Piece::Name(name, format) => hole(name, *format),
        };
        self.pieces.iter().map(piece).collect()
    }

    /// The text, if there are no names in it.
    fn known(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }
}

impl Datum for Symbol {
    type Text = Joined;

    /// Before there is a call, a number in a key is its name, or its digits.
    fn of_number_key(text: &Joined) -> Symbol {
        match text.pieces.as_slice() {
            [Piece::Name(name, None)] => Symbol::named(name, ValueType::Number),
            [Piece::Literal(digits)] if let Ok(number) = digits.parse() => {
                Symbol::Known(Value::Number(number))
            }
            _ => Symbol::Joined(text.clone()),
        }
    }

    fn view(&self) -> View<'_, Symbol> {
        match self {
            Symbol::Known(Value::Text(text)) => View::Name(ValueType::Text, braced(text).into()),
            Symbol::Known(value) => View::Value(value),
            Symbol::Named(named) => View::Name(named.value_type, self.shown().into()),
            Symbol::Joined(joined) => View::Name(ValueType::Text, joined.shown().into()),
            Symbol::Map(map) => View::Map(map),
        }
    }

    fn known(&self) -> Option<&Value> {
        if let Symbol::Known(value) = self { Some(value) } else { None }
    }
}

impl KeyText for Joined {
    fn key_bytes(&self) -> Option<usize> {
        self.known().map(str::len)
    }

    fn is_number_key(&self) -> bool {
        true
    }
}

impl PartialOrd for Joined {
    fn partial_cmp(&self, other: &Joined) -> Option<Ordering> {
        self.known()?.partial_cmp(other.known()?)
    }
}

impl From<Value> for Symbol {
    fn from(value: Value) -> Symbol {
        Symbol::Known(value)
    }
}

impl From<Joined> for Symbol {
    fn from(joined: Joined) -> Symbol {
        match joined.known() {
            Some(text) => Symbol::Known(Value::from(text)),
            None => Symbol::Joined(joined),
        }
    }
}
