//! Expressions within one call.

mod elements;
mod fault;
mod found;
mod function;
mod own;
mod values;

pub(crate) use elements::Elements;
pub(crate) use fault::Fault;
pub(crate) use found::Found;
pub(crate) use own::of_item;
pub(crate) use values::{Evaluated, KeyText, Limit, Maybe, Values};

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt::Write;

use latchkey_model::model::{BindingId, IdVec, InputId, Told};
use latchkey_table::{Action, Comparator, Item, Key, Map, Number, Text, Value, apply};
use latchkey_value::Format;

use crate::bug::Bug;
use crate::call::Caller;
use crate::draw::{self, Draw};
use crate::expiry::second_of;
use crate::pages::ItemPage;
use crate::plan::{Code, Part, Piece, Sign};
use crate::shape::Seen;
use crate::time;

/// The meaning of a name at this operation.
#[derive(Debug, Clone, Default)]
pub(crate) enum Bound {
    #[default]
    Nothing,
    Item(Item),
    Page(ItemPage),
    Value(Value),
}

/// The inputs of a call, as they were given. `null` is kept apart from what was not given.
pub(crate) type Inputs = IdVec<InputId, Option<Value>>;

/// The meaning of all names of a contract at this operation.
pub(crate) type Bindings = IdVec<BindingId, Bound>;

/// The values of one call.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) caller_id: Value,
    /// The instant of the call, if it is one that can be written.
    pub(crate) now: Option<Value>,
    pub(crate) inputs: Inputs,
    pub(crate) new_values: Vec<Value>,
    /// What tells the items that this call makes from all others, if it makes items that need it.
    pub(crate) incarnation: Option<Text>,
    /// How many writes of this call are committed, in all its attempts.
    pub(crate) commits: u16,
    /// The facts about the message or the send it runs for.
    pub(crate) told: Vec<(Told, Value)>,
    pub(crate) bound: Bindings,
    /// Attributes that are not stored and have their declared default, by the binding of their item.
    pub(crate) assumed: Vec<(BindingId, Text)>,
    /// What views were found to have that their sources lack, by the key of the source. It outlasts an attempt.
    pub(crate) found: Found,
    /// The item whose stored attributes are meant, where no table evaluates them.
    pub(crate) own: Option<Item>,
    /// The elements of the lists that tests are under way of.
    pub(crate) elements: Elements,
}

impl Frame<'_> {
    /// The value of an input, `null` included.
    pub(crate) fn given(&self, input: InputId) -> Option<&Value> {
        self.inputs[input].as_ref()
    }

    pub(crate) fn bind(&mut self, binding: BindingId, bound: Bound) -> Bound {
        self.assumed.retain(|(other, _)| *other != binding);
        std::mem::replace(&mut self.bound[binding], bound)
    }

    /// The item of a binding as it is stored, without what is assumed.
    pub(crate) fn as_stored(&self, binding: BindingId) -> Option<Item> {
        let mut item = self.item(binding)?.clone();
        for (_, name) in self.assumed.iter().filter(|(of, _)| *of == binding) {
            item.remove(name);
        }
        Some(item)
    }

    /// Has a name stand for an item that was read.
    pub(crate) fn bind_seen(&mut self, binding: BindingId, seen: Seen) {
        self.bind(binding, Bound::Item(seen.item));
        self.assumed.extend(seen.assumed.into_iter().map(|name| (binding, name)));
    }

    fn number(&self, code: &Code) -> Result<Number, Fault> {
        let number = self.value(code)?.and_then(|value| value.as_number());
        number.ok_or_else(|| Fault::bug("a number is absent"))
    }

    /// The milliseconds or months of a span of time.
    fn span(&self, code: &Code) -> Result<i64, Fault> {
        self.number(code)?.to_i64().ok_or(Fault::OutOfRange)
    }

    fn joined(&self, pieces: &[Piece]) -> Result<Text, Fault> {
        let mut text = Text::default();
        for piece in pieces {
            match piece {
                Piece::Literal(literal) => text.push_str(literal),
                Piece::Value(code, format) => {
                    let value = self.value(code)?;
                    let value = value.ok_or_else(|| Fault::bug("a part of a text is absent"))?;
                    push(&mut text, &value, *format)?;
                }
            }
        }
        Ok(text)
    }

    fn present(&self, code: &Code) -> Result<bool, Fault> {
        Ok(match code {
            Code::Binding(id) => !matches!(self.bound[*id], Bound::Nothing),
            other => self.value(other)?.is_some(),
        })
    }

    /// The items of a name.
    fn items(&self, binding: BindingId) -> Result<&[Item], Fault> {
        match &self.bound[binding] {
            Bound::Page(found) => Ok(&found.items),
            Bound::Item(item) => Ok(std::slice::from_ref(item)),
            // A `first 1` that found nothing.
            Bound::Nothing => Ok(&[]),
            Bound::Value(_) => Err(Fault::bug("a value is taken for items")),
        }
    }

    fn key(&self, code: &Code) -> Result<Vec<u8>, Fault> {
        match self.value(code)?.map(Cow::into_owned) {
            Some(Value::Bytes(key)) => Ok(key),
            _ => Err(Fault::bug("a key is absent")),
        }
    }

    /// Compares the number that a key draws with another number.
    fn drawn(&self, key: &Code, subject: &Code, number: &Code) -> Result<Ordering, Fault> {
        let draw = Draw::of(&self.key(key)?, &self.text(subject)?);
        let draw = draw.ok_or_else(|| Fault::bug("a key draws nothing"))?;
        Ok(draw.compare(&self.number(number)?))
    }

    /// The value of a function.
    fn called(&self, code: &Code) -> Result<Option<Value>, Fault> {
        Ok(Some(match code {
            Code::Told(what) => {
                let told = self.told.iter().find(|(told, _)| told == what);
                let (_, value) = told.ok_or_else(|| Fault::bug("nothing is told of it"))?;
                value.clone()
            }
            Code::Shard(of, shards) => {
                Value::Number(function::shard(&self.text(of)?, *shards)?.into())
            }
            Code::Day(instant) => {
                let day = time::day(&self.text(instant)?);
                Value::Text(day.ok_or_else(|| Fault::bug("an instant has no day"))?)
            }
            Code::Rounded(rounding, a, by, places) => {
                let by = by.as_ref().map_or(Ok(Number::from(1i64)), |by| self.number(by))?;
                Value::Number(function::rounded(self.number(a)?, by, *places, *rounding)?)
            }
            Code::Commitment(key) => Value::Text(draw::commitment(&self.key(key)?)),
            Code::Reveal(key) => Value::Text(draw::hexadecimal(&self.key(key)?)),
            Code::Extreme(wanted, of) => {
                let value = |code| {
                    let value = self.value(code)?.map(Cow::into_owned);
                    value.ok_or_else(|| Fault::bug("a value to choose from is absent"))
                };
                let values: Result<Vec<Value>, Fault> = of.iter().map(value).collect();
                function::extreme(*wanted, values?)?
            }
            Code::Coalesce(of) => self.coalesced(of)?,
            Code::Count(id) => Value::Number(function::u64_of(self.items(*id)?.len())),
            Code::CountBy(id, name, words) => {
                Value::Map(function::count_by(self.items(*id)?, name, words))
            }
            Code::Sum(id, name) => Value::Number(function::sum(self.items(*id)?, name)?),
            Code::Size(of) => Value::Number(function::size(self.value(of)?.as_deref())?),
            Code::Total(of, member) => {
                Value::Number(function::total(self.value(of)?.as_deref(), member.as_deref())?)
            }
            Code::Object(members) => {
                let mut map = Map::new();
                for (name, code) in members {
                    if let Some(value) = self.value(code)? {
                        map.insert(name.clone(), value.into_owned());
                    }
                }
                Value::Map(map)
            }
            test => Value::Bool(self.test(test)?),
        }))
    }

    fn compares(&self, a: &Code, comparator: Comparator, b: &Code) -> Result<bool, Fault> {
        match (a, b) {
            (Code::Draw(key, subject), number) => {
                return Ok(function::holds(self.drawn(key, subject, number)?, comparator));
            }
            (number, Code::Draw(key, subject)) => {
                let comparator = function::turned(comparator);
                return Ok(function::holds(self.drawn(key, subject, number)?, comparator));
            }
            _ => {}
        }
        let (Some(a), Some(b)) = (self.value(a)?, self.value(b)?) else {
            return Err(Fault::bug("a side of a comparison is absent"));
        };
        Ok(match comparator {
            Comparator::Equal => a == b,
            Comparator::NotEqual => a != b,
            ordered => {
                let found = order(&a, &b);
                let found = found.ok_or_else(|| Fault::bug("two values have no order"))?;
                function::holds(found, ordered)
            }
        })
    }
}

impl Values for Frame<'_> {
    type Value = Value;

    fn value<'a>(&'a self, code: &'a Code) -> Evaluated<'a> {
        let owned = |value: Value| Ok(Some(Cow::Owned(value)));
        match code {
            Code::Constant(value) => Ok(Some(Cow::Borrowed(value))),
            Code::Input(input) => {
                Ok(self.given(*input).filter(|value| **value != Value::Null).map(Cow::Borrowed))
            }
            Code::Binding(id) => match &self.bound[*id] {
                Bound::Value(value) => Ok(Some(Cow::Borrowed(value))),
                Bound::Nothing => Ok(self.elements.get(*id).map(Cow::Owned)),
                Bound::Item(_) | Bound::Page(_) => Err(Fault::bug("an item is taken for a value")),
            },
            Code::Attribute(id, name) => match &self.bound[*id] {
                Bound::Item(item) => Ok(item.get(name).map(Cow::Borrowed)),
                Bound::Nothing | Bound::Page(_) | Bound::Value(_) => {
                    Err(Fault::bug("an attribute is asked of a value that is not an item"))
                }
            },
            Code::Stored(path) if let Some(own) = &self.own => Ok(path.of(own).map(Cow::Borrowed)),
            Code::Member(record, of) => self.member(record, of),
            Code::Nothing => Ok(None),
            Code::Now => match &self.now {
                Some(now) => Ok(Some(Cow::Borrowed(now))),
                None => Err(Fault::OutOfRange),
            },
            Code::CallerId => Ok(Some(Cow::Borrowed(&self.caller_id))),
            Code::New(_, at) => match self.new_values.get(*at) {
                Some(value) => Ok(Some(Cow::Borrowed(value))),
                None => Err(Fault::bug("something new was not made")),
            },
            Code::Text(pieces) => owned(Value::Text(self.joined(pieces)?)),
            Code::Add(a, sign, b) => {
                let sum = sign.applied(self.number(a)?, self.number(b)?);
                owned(Value::Number(sum.ok_or(Fault::OutOfRange)?))
            }
            Code::Shift(instant, sign, by) => {
                let instant = self.text(instant)?;
                let by = self.span(by)?;
                let by = if *sign == Sign::Plus { Some(by) } else { by.checked_neg() };
                let shifted = by.and_then(|by| time::add(&instant, by));
                owned(Value::Text(shifted.ok_or(Fault::OutOfRange)?))
            }
            Code::ShiftMonths(instant, sign, by) => {
                let (instant, by) = (self.text(instant)?, self.span(by)?);
                let by = if *sign == Sign::Plus { Some(by) } else { by.checked_neg() };
                let shifted = by.and_then(|by| time::add_months(&instant, by));
                owned(Value::Text(shifted.ok_or(Fault::OutOfRange)?))
            }
            Code::Multiply(a, b) => {
                let product = self.number(a)?.checked_mul(self.number(b)?);
                owned(Value::Number(product.map_err(|_| Fault::OutOfRange)?))
            }
            Code::Elapsed(later, earlier) => {
                let (later, earlier) = (self.text(later)?, self.text(earlier)?);
                let elapsed = time::between(&later, &earlier).ok_or(Fault::OutOfRange)?;
                owned(Value::from(elapsed))
            }
            other => Ok(self.called(other)?.map(Cow::Owned)),
        }
    }

    fn test(&self, code: &Code) -> Result<bool, Fault> {
        Ok(match code {
            Code::And(a, b) => self.test(a)? && self.test(b)?,
            Code::Or(a, b) => self.test(a)? || self.test(b)?,
            Code::Not(inner) => !self.test(inner)?,
            Code::Owns(what) => match self.value(what)?.as_deref() {
                Some(Value::Text(owner)) => self.caller.owns(owner),
                _ => return Err(Fault::bug("an owner is absent")),
            },
            Code::HasRole(_, roles) => roles.iter().any(|role| self.caller.roles.contains(role)),
            Code::Present(thing) => self.present(thing)?,
            Code::Compare(a, comparator, b) => self.compares(a, *comparator, b)?,
            Code::MovesTo(from, to, moves) => {
                let (from, to) = (self.text(from)?, self.text(to)?);
                moves.iter().any(|(origin, targets)| *origin == from && targets.contains(&to))
            }
            Code::BeginsWith(a, b) => self.text(a)?.starts_with(self.text(b)?.as_str()),
            Code::Between(a, low, high) => {
                self.compares(a, Comparator::GreaterOrEqual, low)?
                    && self.compares(a, Comparator::LessOrEqual, high)?
            }
            Code::In(a, values) => {
                for value in values {
                    if self.compares(a, Comparator::Equal, value)? {
                        return Ok(true);
                    }
                }
                false
            }
            Code::Contains(set, element) => self.contains(set, element)?,
            Code::Every(every) => self.every(every)?,
            Code::Stored(_)
            | Code::Through(_)
            | Code::Unchanged(..)
            | Code::Lacks(_)
            | Code::Assumed(..)
            | Code::Draw(..) => {
                return Err(Fault::bug("what the table is to be asked is asked here"));
            }
            value => match self.value(value)?.as_deref() {
                Some(Value::Bool(value)) => *value,
                _ => return Err(Fault::bug("a test is neither true nor false")),
            },
        })
    }

    fn item(&self, binding: BindingId) -> Option<&Item> {
        match &self.bound[binding] {
            Bound::Item(item) => Some(item),
            _ => None,
        }
    }

    fn stored(&self, binding: BindingId, name: &str) -> Option<&Value> {
        if self.assumed.iter().any(|(other, assumed)| *other == binding && assumed == name) {
            return None;
        }
        self.item(binding).and_then(|item| item.get(name))
    }

    fn incarnation(&self) -> Result<Value, Fault> {
        let own = self.incarnation.as_ref();
        let own = own.ok_or_else(|| Fault::bug("a call makes an item without an incarnation"))?;
        // A call that is run again after a commit can make an item anew.
        Ok(match self.commits {
            0 => Value::Text(own.clone()),
            commits => Value::from(format!("{own}.{commits}").as_str()),
        })
    }

    fn second(&self, end: &Value) -> Result<Value, Fault> {
        let second = end.as_text().and_then(|end| second_of(end));
        second.map(Value::from).ok_or_else(|| Fault::bug("an end is no instant"))
    }

    fn maybe(&self, code: &Code) -> Result<Maybe, Fault> {
        if let Code::Input(input) = code {
            return Ok(match self.given(*input) {
                None => Maybe::Left,
                Some(Value::Null) => Maybe::TakenOut,
                Some(value) => Maybe::Set(value.clone()),
            });
        }
        let value = self.value(code)?;
        Ok(value.map_or(Maybe::Left, |value| Maybe::Set(value.into_owned())))
    }

    fn leaves_alone(&self, code: &Code) -> Result<bool, Fault> {
        Ok(self.maybe(code)? == Maybe::Left)
    }

    fn found(&self, source: &Key, name: &str) -> Option<&Value> {
        self.found.get(source, name)
    }

    fn image(&self, actions: &[Action], base: &Item) -> Result<Item, Fault> {
        if actions.iter().all(|action| elements::has_place(action, base)) {
            return Ok(apply(actions, base)?);
        }
        // A record to change is not there, so the write is refused and leaves nothing.
        let placed = actions.iter().filter(|action| elements::has_place(action, base));
        Ok(apply(&placed.cloned().collect::<Vec<_>>(), base)?)
    }

    fn element(&self, value: Value) -> Result<Value, Fault> {
        match value {
            Value::Text(text) => Ok(Value::TextSet(BTreeSet::from([text]))),
            _ => Err(Fault::bug("an element of a set is no text")),
        }
    }

    fn sum(&self, a: &Value, sign: Sign, b: &Value) -> Option<Value> {
        sign.applied(a.as_number()?, b.as_number()?).map(Value::Number)
    }

    fn bound(&self, a: &Value, sign: Sign, b: &Value, limit: Limit) -> Option<Value> {
        let (a, b) = (a.as_number()?, b.as_number()?);
        let b = if sign == Sign::Plus { b } else { b.negated() };
        let bound = match limit {
            Limit::Greatest => a.sum_rounded_down(b),
            Limit::Least => a.negated().sum_rounded_down(b.negated()).map(Number::negated),
        };
        bound.map(Value::Number)
    }

    fn text(&self, code: &Code) -> Result<Text, Fault> {
        match self.value(code)? {
            Some(Cow::Owned(Value::Text(text))) => Ok(text),
            Some(Cow::Borrowed(Value::Text(text))) => Ok(text.clone()),
            Some(other) => {
                let mut text = Text::default();
                push(&mut text, &other, None)?;
                Ok(text)
            }
            None => Err(Fault::bug("a text is absent")),
        }
    }

    fn number_key(&self, code: &Code) -> Result<Text, Fault> {
        Ok(self.number(code.lone())?.to_key())
    }

    fn place(&self, parts: &[Part], item: &Item) -> Result<Option<Text>, Bug> {
        filled(parts, item)
    }
}

/// A key of an item, if it has all the parts of it.
pub(crate) fn filled(parts: &[Part], item: &Item) -> Result<Option<Text>, Bug> {
    let mut text = Text::default();
    for part in parts {
        match part {
            Part::Literal(literal) => text.push_str(literal),
            Part::Attribute(name, format) => match item.get(name) {
                Some(value) => push(&mut text, value, *format)?,
                None => return Ok(None),
            },
        }
    }
    Ok(Some(text))
}

/// The order of two values of one type.
pub(crate) fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        (Value::Number(a), Value::Number(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// Appends a value as keys and messages have it, in a form of its own if one is given.
pub(crate) fn push(text: &mut Text, value: &Value, format: Option<Format>) -> Result<(), Bug> {
    match (value, format) {
        // Only numbers are padded.
        (Value::Text(value), None | Some(Format::Padded(_))) => text.push_str(value),
        (Value::Number(number), None) => {
            // Writing to a text does not fail.
            let _ = write!(text, "{number}");
        }
        (Value::Bool(value), _) => text.push_str(if *value { "true" } else { "false" }),
        (value, Some(format)) => {
            let pushed = format.push(text, value);
            pushed.ok_or_else(|| Bug::new("a value has no such form in a text"))?;
        }
        _ => return Err(Bug::new("a value without a text form is put into a text")),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
