//! Symbols: what stands for a value before there is one.
//!
//! Requests hold values, so a symbol travels as a text that no document has, a *token*. Once a request is
//! rendered, each token is replaced by what it stands for, and given the type it has.

use std::cell::RefCell;

use latchkey_table::render::{Placeholders, Rendered, TransactWriteItem};
use latchkey_table::{Action, Expression, Text, Value, ValueType};

use crate::json;

// Unicode sets these aside for a program's own use: no text that is exchanged has them.
const START: char = '\u{FDD0}';
const END: char = '\u{FDD1}';
const PAD: char = '\u{FDD2}';

/// A token is as long as what it stands for, so that lines break where they should; up to here.
const PADS_MAX: usize = 100;

/// What stands for a value.
#[derive(Debug, Clone)]
pub(super) struct Symbol {
    /// `{name}`, or a text with such in it.
    pub(super) shown: String,
    pub(super) value_type: ValueType,
    /// Those of its parts that may be absent.
    pub(super) absent: Vec<String>,
    pub(super) given: Given,
}

/// Whether a value is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    /// It is, or is absent for good.
    Always,
    /// If not, its attribute is left alone.
    Maybe,
    /// If not, its attribute is left alone; `null` takes it out.
    MaybeNull,
}

impl Symbol {
    /// A value with a name.
    pub(super) fn named(name: &str, value_type: ValueType) -> Symbol {
        Symbol::text(format!("{{{name}}}")).of_type(value_type)
    }

    /// A text.
    pub(super) fn text(shown: String) -> Symbol {
        Symbol { shown, value_type: ValueType::Text, absent: Vec::new(), given: Given::Always }
    }

    pub(super) fn of_type(self, value_type: ValueType) -> Symbol {
        Symbol { value_type, ..self }
    }

    /// It may be absent, by its own name.
    pub(super) fn optional(mut self, optional: bool) -> Symbol {
        if optional {
            self.absent.push(self.bare().to_owned());
        }
        self
    }

    /// The name without its braces.
    pub(super) fn bare(&self) -> &str {
        let inner = self.shown.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        inner.filter(|inner| !inner.contains(['{', '}'])).unwrap_or(&self.shown)
    }
}

/// The symbols of one explanation.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    all: RefCell<Vec<Symbol>>,
}

impl Symbols {
    /// A token for a symbol. A later one sorts behind those before it.
    pub(super) fn token(&self, symbol: Symbol) -> Text {
        let mut all = self.all.borrow_mut();
        let id = format!("{:06}", all.len());
        let pads = symbol.shown.chars().count().saturating_sub(id.len() + 2).min(PADS_MAX);
        all.push(symbol);
        let pads = std::iter::repeat_n(PAD, pads);
        [START].into_iter().chain(id.chars()).chain(pads).chain([END]).collect()
    }

    pub(super) fn value(&self, symbol: Symbol) -> Value {
        Value::Text(self.token(symbol))
    }

    /// What a value stands for, if it is a token.
    pub(super) fn of(&self, value: &Value) -> Option<Symbol> {
        let text = value.as_text()?.strip_prefix(START)?.strip_suffix(END)?;
        self.find(text)
    }

    /// The token a text begins with, and what is behind it.
    pub(super) fn first<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str)> {
        let end = text.strip_prefix(START)?.find(END)?;
        text.split_at_checked(START.len_utf8() + end + END.len_utf8())
    }

    fn find(&self, inner: &str) -> Option<Symbol> {
        let id: usize = inner.trim_end_matches(PAD).parse().ok()?;
        self.all.borrow().get(id).cloned()
    }

    fn replaced(&self, text: &str, mut replace: impl FnMut(Symbol, &mut String)) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once(START) {
            out.push_str(before);
            rest = behind;
            if let Some((inner, behind)) = behind.split_once(END)
                && let Some(symbol) = self.find(inner)
            {
                replace(symbol, &mut out);
                rest = behind;
            }
        }
        out.push_str(rest);
        out
    }

    /// A request as JSON, with each value in the type it has.
    pub(super) fn json(&self, mut rendered: Rendered) -> String {
        let all = placeholders(&mut rendered);
        for (_, value) in all.into_iter().flat_map(|each| &mut each.values) {
            if let Some(token) = self.of_number(value) {
                *value = token;
            }
        }
        const TEXT: &str = "\"S\": \"";
        self.replaced(&rendered.to_json(), |symbol, out| {
            if symbol.value_type != ValueType::Text && out.ends_with(TEXT) {
                out.truncate(out.len() - TEXT.len());
                out.push_str(&format!("\"{}\": \"", symbol.value_type));
            }
            let mut quoted = String::new();
            json::write_text(&symbol.shown, &mut quoted);
            quoted.pop();
            out.extend(quoted.chars().skip(1));
        })
    }

    /// Makes numbers of the tokens that are computed with, for no rendering adds texts.
    pub(super) fn as_operands(&self, actions: &mut [Action]) {
        for action in actions {
            match action {
                Action::Set(_, Expression::Sum(a, b) | Expression::Difference(a, b)) => {
                    for term in [a, b] {
                        if let Expression::Value(value) = term.as_mut() {
                            self.as_number(value);
                        }
                    }
                }
                Action::Add(_, value) => self.as_number(value),
                _ => {}
            }
        }
    }

    fn as_number(&self, value: &mut Value) {
        if let Some(symbol) = self.of(value) {
            let id = self.all.borrow().len();
            let number = i64::try_from(id).ok().and_then(|id| i64::MIN.checked_add(id));
            if let Some(number) = number {
                self.token(symbol);
                *value = Value::from(number);
            }
        }
    }

    /// The token a number stands for. No document has numbers this low.
    fn of_number(&self, value: &Value) -> Option<Value> {
        let id = value.as_number()?.to_i64()?.checked_sub(i64::MIN)?;
        let symbol = self.all.borrow().get(usize::try_from(id).ok()?).cloned()?;
        Some(self.value(symbol))
    }
}

/// The placeholders of a request, of all its legs.
fn placeholders(rendered: &mut Rendered) -> Vec<&mut Placeholders> {
    match rendered {
        Rendered::GetItem(_) | Rendered::BatchGetItem(_) | Rendered::TransactGetItems(_) => {
            Vec::new()
        }
        Rendered::Query(query) => vec![&mut query.placeholders],
        Rendered::PutItem(put) => vec![&mut put.placeholders],
        Rendered::UpdateItem(update) => vec![&mut update.placeholders],
        Rendered::DeleteItem(delete) => vec![&mut delete.placeholders],
        Rendered::TransactWriteItems(transact) => transact
            .legs
            .iter_mut()
            .map(|leg| match leg {
                TransactWriteItem::Put(put) => &mut put.placeholders,
                TransactWriteItem::Update(update) => &mut update.placeholders,
                TransactWriteItem::Delete(delete) => &mut delete.placeholders,
                TransactWriteItem::ConditionCheck(check) => &mut check.placeholders,
            })
            .collect(),
    }
}
