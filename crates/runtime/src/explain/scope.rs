//! Expressions before there are values: what is unknown is its own name.

use std::borrow::Cow;
use std::cell::RefCell;

use latchkey_model::model::{BindingId, IdVec, Told};
use latchkey_table::{Action, Datum, Expression, Key, Map, Text, ValueType};
use latchkey_value::name::INCARNATION_ATTRIBUTE;

use super::symbol::{Joined, Named, Presence, Symbol};
use super::words::{Words, word};
use crate::bug::Bug;
use crate::evaluate::{Evaluated, Fault, Limit, Maybe, Values};
use crate::plan::{Code, Elements, Entity, New, Part, Piece, Sign};

/// The most ways a request is shown in. There are as many as its undecided tests have outcomes.
const WAYS_MAX: usize = 16;

/// The values of a call that was not made.
pub(super) struct Symbolic<'a> {
    pub(super) words: Words<'a>,
    pub(super) bound: Bindings,
    choices: RefCell<Choices>,
}

/// The symbols of a contract's names at one statement.
pub(super) type Bindings = IdVec<BindingId, Bound>;

/// The symbol of a name.
#[derive(Clone)]
pub(super) enum Bound {
    Nothing,
    Item(Map<Symbol>),
    Value(Symbol),
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
        Symbolic { words, bound, choices: RefCell::default() }
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
        let names = entity.attributes.iter().map(|attribute| attribute.name.clone());
        let incarnation = entity.remade.then_some(Text::const_new(INCARNATION_ATTRIBUTE));
        let item = names.chain(incarnation).map(|name| (name.clone(), self.read(id, &name)));
        let item = item.collect();
        self.bind(id, Bound::Item(item));
    }

    /// Names the element that an `each` or a `get … for` is at.
    pub(super) fn bind_element(&mut self, each: &Elements) {
        match each.items {
            true => self.bind_item(Some(each.element)),
            false => {
                let element = Symbol::named(self.words.binding(each.element), each.value_type);
                self.bind(each.element, Bound::Value(element));
            }
        }
    }

    pub(super) fn bind(&mut self, binding: BindingId, bound: Bound) {
        self.bound[binding] = bound;
    }

    fn entity(&self, binding: BindingId) -> Option<&'a Entity> {
        let Words { system, contract } = self.words;
        contract.binding_entities[binding].map(|id| &system.entities[id])
    }

    /// An attribute of an item, as it was read.
    fn read(&self, binding: BindingId, name: &str) -> Symbol {
        let entity = self.entity(binding);
        let attribute = entity.and_then(|entity| entity.attributes.iter().find(|a| a.name == name));
        // What no entity declares is an index's key, or the type.
        let (value_type, optional) = attribute.map_or((ValueType::Text, false), |attribute| {
            (attribute.value_type, attribute.optional)
        });
        let name = format!("{}.{name}", self.words.binding(binding));
        Symbol::optional(&name, value_type, optional)
    }

    /// What names stand for when two ways meet: where they differ, something of that name.
    pub(super) fn meet(&mut self, one: &Bindings, other: &Bindings) {
        self.bound = one.map(|id, bound| match (bound, &other[id]) {
            (Bound::Item(a), Bound::Item(b)) => {
                let names = a.iter().chain(b.iter()).map(|(name, _)| name);
                let value = |name: &Text| match (a.get(name), b.get(name)) {
                    (Some(a), Some(b)) if a.shown() == b.shown() => a.clone(),
                    _ => self.read(id, name),
                };
                Bound::Item(names.map(|name| (name.clone(), value(name))).collect())
            }
            (Bound::Nothing, b) => b.clone(),
            (a, _) => a.clone(),
        });
    }

    /// A text of literals and values.
    fn joined(&self, pieces: &[Piece]) -> Result<Joined, Fault> {
        let mut joined = Joined::default();
        for piece in pieces {
            match piece {
                Piece::Literal(literal) => joined.literal(literal),
                Piece::Value(code, format) => joined.push(&self.present(code)?, *format),
            }
        }
        Ok(joined)
    }

    fn present(&self, code: &Code) -> Result<Symbol, Fault> {
        self.value(code)?.map(Cow::into_owned).ok_or_else(|| Fault::bug("a value is absent"))
    }

    /// A value that is not known before the call, named as the document writes it.
    fn unknown(&self, code: &Code, value_type: ValueType) -> Symbol {
        Symbol::named(&self.words.code(code), value_type)
    }

    /// A value that is not known before the call.
    fn made(&self, code: &Code) -> Result<Symbol, Fault> {
        Ok(match code {
            Code::Input(at) => {
                let input = &self.words.contract.inputs[*at];
                Symbol::optional(&input.name, input.value_type, input.optional)
            }
            Code::New(New::Key, _) => self.unknown(code, ValueType::Bytes),
            Code::New(New::Ulid, _) => self.unknown(code, ValueType::Text),
            Code::Attribute(id, name) => self.read(*id, name),
            Code::Member(_, of) => {
                Symbol::optional(&self.words.code(code), of.value_type, of.optional)
            }
            Code::Text(pieces) => self.joined(pieces)?.into(),
            Code::Add(a, sign, b) => sum(&self.present(a)?, *sign, &self.present(b)?),
            Code::Shift(a, sign, by) => {
                let by = match by.as_ref() {
                    Code::Constant(_) => {
                        Symbol::named(&self.words.measured(by, true), ValueType::Number)
                    }
                    by => self.present(by)?,
                };
                combined(&self.present(a)?, *sign, &by, ValueType::Text)
            }
            Code::ShiftMonths(..) | Code::Day(_) => self.unknown(code, ValueType::Text),
            Code::Multiply(..) | Code::Rounded(..) => self.unknown(code, ValueType::Number),
            Code::Elapsed(a, b) => {
                combined(&self.present(a)?, Sign::Minus, &self.present(b)?, ValueType::Number)
            }
            Code::Told(Told::MessageTries)
            | Code::Through(_)
            | Code::Shard(..)
            | Code::Count(_)
            | Code::Sum(..)
            | Code::Size(_)
            | Code::Total(..) => self.unknown(code, ValueType::Number),
            Code::Binding(_)
            | Code::Now
            | Code::CallerId
            | Code::Told(_)
            | Code::Commitment(_)
            | Code::Reveal(_) => self.unknown(code, ValueType::Text),
            Code::Extreme(_, of) => {
                let first = of.first().ok_or_else(|| Fault::bug("a value is absent"))?;
                self.unknown(code, self.present(first)?.type_of())
            }
            Code::Coalesce(of) => {
                let (_, last) = of.last().ok_or_else(|| Fault::bug("a value is absent"))?;
                self.unknown(code, self.present(last)?.type_of())
            }
            Code::CountBy(..) | Code::Object(_) => self.unknown(code, ValueType::Map),
            test => self.unknown(test, ValueType::Bool),
        })
    }
}

/// What an attribute is set to.
fn computed(name: &Text, expression: &Expression<Symbol>, base: &Map<Symbol>) -> Symbol {
    let stored = |name: &Text| match base.get(name) {
        Some(value) => value.clone(),
        None => Symbol::named(&format!(".{name}"), ValueType::Number),
    };
    let term = |expression: &Expression<Symbol>| computed(name, expression, base);
    match expression {
        Expression::Value(Symbol::Named(named)) if named.given != Presence::Always => {
            let before = stored(name);
            let either = format!("{} or {}", named.name, before.bare());
            let removed = named.given == Presence::MaybeNull || !before.absent().is_empty();
            Symbol::optional(&either, named.value_type, removed)
        }
        Expression::Value(value) => value.clone(),
        Expression::Path(path) | Expression::OrElse(path, _) => stored(path.root()),
        Expression::Sum(a, b) => sum(&term(a), Sign::Plus, &term(b)),
        Expression::Difference(a, b) => sum(&term(a), Sign::Minus, &term(b)),
        Expression::Append(..) => stored(name),
    }
}

/// An attribute of which a part is changed.
fn changed(name: &Text, base: &Map<Symbol>, value_type: ValueType) -> Symbol {
    let before = base.get(name).map_or_else(|| format!(".{name}"), |value| value.bare().into());
    Symbol::named(&format!("{before} as changed"), value_type)
}

fn sum(a: &Symbol, sign: Sign, b: &Symbol) -> Symbol {
    let known = a.known_number().zip(b.known_number());
    match known.and_then(|(a, b)| sign.applied(a, b)) {
        Some(sum) => Symbol::Known(sum.into()),
        None => combined(a, sign, b, ValueType::Number),
    }
}

fn combined(a: &Symbol, sign: Sign, b: &Symbol, value_type: ValueType) -> Symbol {
    let right = b.bare();
    let right = if right.contains(' ') { format!("({right})").into() } else { right };
    let name = format!("{} {} {right}", a.bare(), word(sign));
    let absent = [a.absent(), b.absent()].concat();
    Symbol::Named(Named { name, value_type, absent, given: Presence::Always })
}

impl Values for Symbolic<'_> {
    type Value = Symbol;

    fn value<'v>(&'v self, code: &'v Code) -> Evaluated<'v, Symbol> {
        let known = match code {
            Code::Nothing => return Ok(None),
            Code::Constant(value) => return Ok(Some(Cow::Owned(value.clone().into()))),
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

    fn item(&self, binding: BindingId) -> Option<&Map<Symbol>> {
        match &self.bound[binding] {
            Bound::Item(item) => Some(item),
            _ => None,
        }
    }

    /// The first item of a key has no incarnation: there are two ways to find such an item unchanged.
    fn stored(&self, binding: BindingId, name: &str) -> Option<&Symbol> {
        let value = self.item(binding).and_then(|item| item.get(name));
        let knows_first = self.entity(binding).is_some_and(|entity| entity.counting.knows_first);
        if name != INCARNATION_ATTRIBUTE || !knows_first || value.is_none() {
            return value;
        }
        let made = format!("{}.{name}", self.words.binding(binding));
        let (first, later) = (format!("{made} is absent"), format!("{made} is present"));
        let is_first = self.choices.borrow_mut().ask(first, later);
        value.filter(|_| !is_first)
    }

    fn incarnation(&self) -> Result<Symbol, Fault> {
        Ok(Symbol::named("incarnation", ValueType::Text))
    }

    fn second(&self, end: &Symbol) -> Result<Symbol, Fault> {
        Ok(match end {
            Symbol::Named(named) => {
                let name = format!("{}, in seconds", named.name);
                Symbol::Named(Named { name, value_type: ValueType::Number, ..named.clone() })
            }
            known => Symbol::named(&format!("{}, in seconds", known.shown()), ValueType::Number),
        })
    }

    fn maybe(&self, code: &Code) -> Result<Maybe<Symbol>, Fault> {
        let Some(value) = self.value(code)? else { return Ok(Maybe::Left) };
        Ok(Maybe::Set(match value.into_owned() {
            Symbol::Named(named) => {
                let inputs = &self.words.contract.inputs;
                let nullable = match code {
                    Code::Input(at) => inputs[*at].nullable,
                    _ => false,
                };
                let given = if nullable { Presence::MaybeNull } else { Presence::Maybe };
                Symbol::Named(Named { given, ..named })
            }
            value => value,
        }))
    }

    fn leaves_alone(&self, code: &Code) -> Result<bool, Fault> {
        let given = self.words.code(code);
        let (left, set) = (format!("{given} is not given"), format!("{given} is given"));
        Ok(self.choices.borrow_mut().ask(left, set))
    }

    fn found(&self, _source: &Key<Joined>, _name: &str) -> Option<&Symbol> {
        None
    }

    fn image(&self, actions: &[Action<Symbol>], base: &Map<Symbol>) -> Result<Map<Symbol>, Fault> {
        let mut image = base.clone();
        for action in actions {
            let name = action.target();
            match action {
                Action::Set(path, _) | Action::Remove(path) if !path.steps().is_empty() => {
                    image.insert(name.clone(), changed(name, base, ValueType::Map));
                }
                Action::Add(_, value) | Action::Delete(_, value)
                    if value.type_of() == ValueType::TextSet =>
                {
                    image.insert(name.clone(), changed(name, base, ValueType::TextSet));
                }
                Action::Set(_, expression) => {
                    image.insert(name.clone(), computed(name, expression, base));
                }
                Action::Add(_, value) => {
                    let before = Expression::Path(latchkey_table::Path::attribute(name.clone()));
                    let before = computed(name, &before, base);
                    image.insert(name.clone(), sum(&before, Sign::Plus, value));
                }
                Action::Remove(_) | Action::Delete(..) => drop(image.remove(name)),
            }
        }
        Ok(image)
    }

    fn element(&self, value: Symbol) -> Result<Symbol, Fault> {
        Ok(Symbol::named(&value.bare(), ValueType::TextSet))
    }

    fn sum(&self, a: &Symbol, sign: Sign, b: &Symbol) -> Option<Symbol> {
        Some(sum(a, sign, b))
    }

    fn bound(&self, a: &Symbol, sign: Sign, b: &Symbol, _: Limit) -> Option<Symbol> {
        Some(sum(a, sign, b))
    }

    fn text(&self, code: &Code) -> Result<Joined, Fault> {
        let mut text = Joined::default();
        text.push(&self.present(code)?, None);
        Ok(text)
    }

    fn number_key(&self, code: &Code) -> Result<Joined, Fault> {
        self.text(code.lone())
    }

    fn place(&self, parts: &[Part], item: &Map<Symbol>) -> Result<Option<Joined>, Bug> {
        let mut place = Joined::default();
        for part in parts {
            match part {
                Part::Literal(literal) => place.literal(literal),
                Part::Attribute(name, format) => match item.get(name) {
                    Some(value) => place.push(value, *format),
                    None => return Ok(None),
                },
            }
        }
        Ok(Some(place))
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
