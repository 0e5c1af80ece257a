//! Expressions before there are values: what is unknown is its own name.

use std::borrow::Cow;
use std::cell::RefCell;

use latchkey_model::model::{BindingId, Told};
use latchkey_table::{Action, Expression, Item, Text, Value, ValueType};

use super::symbol::{Given, Symbol, Symbols};
use super::words::{Words, constant, hole, word};
use crate::evaluate::{Bindings, Bound, Evaluated, Fault, Maybe, Scope, push};
use crate::plan::{Code, Entity, New, Part, Piece, Sign};

/// The most ways a request is shown in. There are as many as its undecided tests have outcomes.
const WAYS_MAX: usize = 16;

/// The values of a call that was not made.
pub(super) struct Symbolic<'a> {
    pub(super) words: Words<'a>,
    pub(super) symbols: Symbols,
    pub(super) bound: Bindings,
    choices: RefCell<Choices>,
}

/// How tests come out that nobody can decide yet.
#[derive(Default)]
struct Choices {
    made: Vec<Choice>,
    /// How many of them have been asked for so far.
    asked: usize,
}

#[derive(Clone)]
struct Choice {
    test: String,
    negated: String,
    holds: bool,
}

/// One way a request can be made.
pub(super) struct Way<T> {
    /// When it is this one; nothing if it is always.
    pub(super) when: Option<String>,
    pub(super) made: T,
}

impl<'a> Symbolic<'a> {
    pub(super) fn new(words: Words<'a>) -> Symbolic<'a> {
        let bound = words.contract.bindings.map(|_, _| Bound::Nothing);
        let (symbols, choices) = (Symbols::default(), RefCell::default());
        Symbolic { words, symbols, bound, choices }
    }

    /// Makes a request in every way the tests within it can come out.
    pub(super) fn ways<T>(
        &self,
        make: impl Fn() -> Result<T, Fault>,
    ) -> Result<Vec<Way<T>>, Fault> {
        self.choices.replace(Choices::default());
        let mut ways = Vec::new();
        loop {
            self.choices.borrow_mut().asked = 0;
            let made = make()?;
            let mut choices = self.choices.borrow_mut();
            ways.push(Way { when: choices.told(), made });
            if !choices.next() || ways.len() >= WAYS_MAX {
                return Ok(ways);
            }
        }
    }

    /// Names the item a read has found, or a write has left.
    pub(super) fn bind_item(&mut self, binding: Option<BindingId>) {
        let Some((id, entity)) = binding.and_then(|id| Some((id, self.entity(id)?))) else {
            return;
        };
        let attributes = entity.attributes.iter();
        let item =
            attributes.map(|attribute| (attribute.name.clone(), self.read(id, &attribute.name)));
        let item = item.collect();
        self.bind(id, Bound::Item(item));
    }

    pub(super) fn bind(&mut self, binding: BindingId, bound: Bound) {
        self.bound[binding] = bound;
    }

    fn entity(&self, binding: BindingId) -> Option<&'a Entity> {
        let Words { system, contract } = self.words;
        contract.binding_entities[binding].map(|id| &system.entities[id])
    }

    /// An attribute of an item, as it was read.
    fn read(&self, binding: BindingId, name: &str) -> Value {
        let entity = self.entity(binding);
        let attribute = entity.and_then(|entity| entity.attributes.iter().find(|a| a.name == name));
        let (value_type, optional) = attribute.map_or((ValueType::Text, false), |attribute| {
            (attribute.value_type, attribute.optional)
        });
        let name = format!("{}.{name}", self.words.binding(binding));
        self.symbols.value(Symbol::named(&name, value_type).optional(optional))
    }

    /// What names stand for when two ways meet: where they differ, something of that name.
    pub(super) fn meet(&mut self, one: &Bindings, other: &Bindings) {
        let met = one.map(|id, bound| match (bound, &other[id]) {
            (Bound::Item(a), Bound::Item(b)) => {
                let names = a.iter().chain(b.iter()).map(|(name, _)| name);
                let value = |name: &Text| match (a.get(name), b.get(name)) {
                    (Some(a), Some(b)) if self.symbol(a).shown == self.symbol(b).shown => a.clone(),
                    _ => self.read(id, name),
                };
                Bound::Item(names.map(|name| (name.clone(), value(name))).collect())
            }
            (Bound::Nothing, b) => b.clone(),
            (a, _) => a.clone(),
        });
        self.bound = met;
    }

    /// A symbol of a value: itself, or what a constant is.
    pub(super) fn symbol(&self, value: &Value) -> Symbol {
        let known = || Symbol::text(constant(value)).of_type(value.value_type());
        self.symbols.of(value).unwrap_or_else(known)
    }

    fn unknown(&self, name: &str, value_type: ValueType) -> Value {
        self.symbols.value(Symbol::named(name, value_type))
    }

    /// A text of literals and values.
    fn joined(&self, pieces: &[Piece]) -> Result<Symbol, Fault> {
        let mut joined = Symbol::text(String::new());
        for piece in pieces {
            match piece {
                Piece::Literal(literal) => joined.shown.push_str(literal),
                Piece::Value(code, width) => {
                    let value = self.value(code)?.ok_or(Fault::Absent)?;
                    self.push(&mut joined, &value, *width);
                }
            }
        }
        Ok(joined)
    }

    fn push(&self, joined: &mut Symbol, value: &Value, width: Option<usize>) {
        match self.symbols.of(value) {
            Some(symbol) => {
                match width {
                    Some(_) => joined.shown.push_str(&hole(symbol.bare(), width)),
                    None => joined.shown.push_str(&symbol.shown),
                }
                joined.absent.extend(symbol.absent);
            }
            None => {
                let mut text = Text::default();
                push(&mut text, value, width);
                joined.shown.push_str(&text);
            }
        }
    }

    /// A place in an index, whose parts a request has as tokens: with their widths.
    pub(super) fn place(&self, parts: &[Part], text: &str) -> Value {
        let mut joined = Symbol::text(String::new());
        let mut rest = text;
        let mut parts = parts.iter().peekable();
        while let Some(part) = parts.next() {
            let piece = match (part, parts.peek()) {
                (Part::Literal(literal), _) => {
                    rest = rest.strip_prefix(literal.as_str()).unwrap_or(rest);
                    joined.shown.push_str(literal);
                    continue;
                }
                // What has a name ends with its token, what has none where the next part begins.
                (Part::Attribute(..), next) => {
                    let (piece, behind) = self.symbols.first(rest).unwrap_or_else(|| match next {
                        Some(Part::Literal(next)) => rest
                            .split_at_checked(rest.find(next.as_str()).unwrap_or(rest.len()))
                            .unwrap_or((rest, "")),
                        _ => (rest, ""),
                    });
                    rest = behind;
                    piece
                }
            };
            let width = if let Part::Attribute(_, width) = part { *width } else { None };
            self.push(&mut joined, &Value::from(piece), width);
        }
        self.symbols.value(joined)
    }

    /// What an attribute is set to.
    fn computed(&self, name: &Text, expression: &Expression, base: &Item) -> Value {
        let stored = |name: &Text| match base.get(name) {
            Some(value) => value.clone(),
            None => self.unknown(&format!(".{name}"), ValueType::Number),
        };
        let term = |expression: &Expression| self.computed(name, expression, base);
        match expression {
            Expression::Value(value) => match self.symbols.of(value) {
                Some(symbol) if symbol.given != Given::Always => {
                    let before = self.symbol(&stored(name));
                    let shown = format!("{{{} or {}}}", symbol.bare(), before.bare());
                    let removed = symbol.given == Given::MaybeNull || !before.absent.is_empty();
                    let either = Symbol::text(shown).of_type(symbol.value_type);
                    self.symbols.value(either.optional(removed))
                }
                _ => value.clone(),
            },
            Expression::Path(path) => stored(path.root()),
            Expression::OrElse(path, _) => stored(path.root()),
            Expression::Sum(a, b) => self.sum(&term(a), Sign::Plus, &term(b)),
            Expression::Difference(a, b) => self.sum(&term(a), Sign::Minus, &term(b)),
            Expression::Append(..) => stored(name),
        }
    }

    fn sum(&self, a: &Value, sign: Sign, b: &Value) -> Value {
        if let (Value::Number(a), Value::Number(b)) = (a, b) {
            let sum = if sign == Sign::Plus { a.checked_add(*b) } else { a.checked_sub(*b) };
            if let Ok(sum) = sum {
                return Value::Number(sum);
            }
        }
        self.combined(a, sign, self.symbol(b), ValueType::Number)
    }

    fn combined(&self, a: &Value, sign: Sign, b: Symbol, value_type: ValueType) -> Value {
        let a = self.symbol(a);
        let right = b.bare();
        let right = if right.contains(' ') { format!("({right})") } else { right.to_owned() };
        let shown = format!("{{{} {} {right}}}", a.bare(), word(sign));
        let absent = a.absent.into_iter().chain(b.absent).collect();
        self.symbols.value(Symbol { shown, value_type, absent, given: Given::Always })
    }

    /// A value that is not known before the call.
    fn made(&self, code: &Code) -> Result<Value, Fault> {
        let evaluated = |code: &Code| self.value(code)?.map(Cow::into_owned).ok_or(Fault::Absent);
        Ok(match code {
            Code::Input(at) => {
                let input = &self.words.contract.inputs[*at];
                let symbol = Symbol::named(&input.name, input.value_type);
                self.symbols.value(symbol.optional(input.optional))
            }
            Code::New(at) => {
                let key = self.words.contract.new_values.get(*at) == Some(&New::Key);
                let value_type = if key { ValueType::Bytes } else { ValueType::Text };
                self.unknown(&self.words.new_value(*at), value_type)
            }
            Code::Binding(id) => self.unknown(self.words.binding(*id), ValueType::Text),
            Code::Attribute(id, name) => self.read(*id, name),
            Code::Now | Code::CallerId => self.unknown(&self.words.code(code), ValueType::Text),
            Code::Text(pieces) => self.symbols.value(self.joined(pieces)?),
            Code::Add(a, sign, b) => self.sum(&evaluated(a)?, *sign, &evaluated(b)?),
            Code::Shift(a, sign, by) => {
                let by = match by.as_ref() {
                    Code::Constant(_) => Symbol::text(self.words.measured(by, true)),
                    by => self.symbol(&evaluated(by)?),
                };
                self.combined(&evaluated(a)?, *sign, by, ValueType::Text)
            }
            Code::Elapsed(a, b) => {
                let b = self.symbol(&evaluated(b)?);
                self.combined(&evaluated(a)?, Sign::Minus, b, ValueType::Number)
            }
            Code::Told(Told::MessageTries) | Code::Shard(..) | Code::Count(_) | Code::Sum(..) => {
                self.unknown(&self.words.code(code), ValueType::Number)
            }
            Code::Told(_) | Code::Commitment(_) | Code::Reveal(_) => {
                self.unknown(&self.words.code(code), ValueType::Text)
            }
            Code::Extreme(_, of) => {
                let first = of.first().map(evaluated).transpose()?.ok_or(Fault::Absent)?;
                let value_type = self.symbol(&first).value_type;
                self.unknown(&self.words.code(code), value_type)
            }
            Code::CountBy(..) | Code::Object(_) => {
                self.unknown(&self.words.code(code), ValueType::Map)
            }
            test => self.unknown(&self.words.code(test), ValueType::Bool),
        })
    }
}

impl Scope for Symbolic<'_> {
    fn value<'v>(&'v self, code: &'v Code) -> Evaluated<'v> {
        let known = match code {
            Code::Constant(value) => Some(value),
            Code::Binding(id) => match &self.bound[*id] {
                Bound::Value(value) => Some(value),
                _ => None,
            },
            // An attribute that an item no longer has is absent.
            Code::Attribute(id, name) => match self.item(*id) {
                Some(item) => return Ok(item.get(name).map(Cow::Borrowed)),
                None => None,
            },
            _ => None,
        };
        Ok(Some(match known {
            Some(value) => Cow::Borrowed(value),
            None => Cow::Owned(self.made(code)?),
        }))
    }

    fn test(&self, code: &Code) -> Result<bool, Fault> {
        let (test, negated) = (self.words.conjunct(code), self.words.negated(code));
        Ok(self.choices.borrow_mut().ask(test, negated))
    }

    fn item(&self, binding: BindingId) -> Option<&Item> {
        match &self.bound[binding] {
            Bound::Item(item) => Some(item),
            _ => None,
        }
    }

    fn maybe(&self, code: &Code) -> Result<Maybe, Fault> {
        let Some(value) = self.value(code)? else { return Ok(Maybe::Left) };
        Ok(Maybe::Set(match self.symbols.of(&value) {
            Some(symbol) => {
                let inputs = &self.words.contract.inputs;
                let nullable = match code {
                    Code::Input(at) => inputs[*at].nullable,
                    _ => false,
                };
                let given = if nullable { Given::MaybeNull } else { Given::Maybe };
                self.symbols.value(Symbol { given, ..symbol })
            }
            None => value.into_owned(),
        }))
    }

    fn image(&self, actions: &[Action], base: &Item) -> Result<Item, Fault> {
        let mut image = base.clone();
        for action in actions {
            let name = action.target();
            match action {
                Action::Set(_, expression) => {
                    image.insert(name.clone(), self.computed(name, expression, base));
                }
                Action::Add(_, value) => {
                    let before = Expression::Path(latchkey_table::Path::attribute(name.clone()));
                    let sum = self.sum(&self.computed(name, &before, base), Sign::Plus, value);
                    image.insert(name.clone(), sum);
                }
                Action::Remove(_) | Action::Delete(..) => drop(image.remove(name)),
            }
        }
        Ok(image)
    }

    /// A text of its own each time, so that of two bounds the first is never above the second.
    fn text(&self, code: &Code) -> Result<Text, Fault> {
        let value = self.value(code)?.ok_or(Fault::Absent)?;
        let mut text = Symbol::text(String::new());
        self.push(&mut text, &value, None);
        Ok(self.symbols.token(text))
    }
}

impl Choices {
    /// How a test comes out: as it did before, as is planned, or else it holds.
    fn ask(&mut self, test: String, negated: String) -> bool {
        let before = self.made.iter().take(self.asked).find(|choice| choice.test == test);
        if let Some(choice) = before {
            return choice.holds;
        }
        if self.made.len() == self.asked {
            self.made.push(Choice { test, negated, holds: true });
        }
        let holds = self.made.get(self.asked).is_none_or(|choice| choice.holds);
        self.asked += 1;
        holds
    }

    /// Plans the next way; says whether there is one.
    fn next(&mut self) -> bool {
        while self.made.pop_if(|last| !last.holds).is_some() {}
        match self.made.last_mut() {
            Some(last) => {
                last.holds = false;
                true
            }
            None => false,
        }
    }

    fn told(&self) -> Option<String> {
        let told = self.made.iter().map(|choice| {
            if choice.holds { choice.test.as_str() } else { choice.negated.as_str() }
        });
        let told: Vec<&str> = told.collect();
        (!told.is_empty()).then(|| told.join(" and "))
    }
}
