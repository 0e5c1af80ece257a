//! What a write leaves: whole items, actions, and places in indexes.

use latchkey_model::model::Verb;
use latchkey_table::{Action, Expression, KeyAttribute, KeyType, Map, Number, Path, Text, Value};
use latchkey_value::name::INCARNATION_ATTRIBUTE;

use super::condition::is_stored;
use super::{Filler, KeyOf};
use crate::bug::Bug;
use crate::evaluate::{Fault, Maybe, Values};
use crate::plan::{self, Assign, AttributePart, Code, Entity, Part, Sign};

/// The actions of an update, and the item they leave where that can be told.
pub(super) type Changes<V> = (Vec<Action<V>>, Option<Map<V>>);

/// An attribute that is stored for an index alone, and what it holds if the item is in the index.
type IndexKey<'e, V> = (&'e Text, Option<V>);

impl<S: Values> Filler<'_, S> {
    /// The item a put leaves.
    pub(super) fn item(
        &self,
        leg: &plan::Leg,
        entity: &Entity,
        key: &KeyOf<S>,
    ) -> Result<Map<S::Value>, Fault> {
        let names = &self.system.table.key;
        let mut pairs: Vec<(Text, S::Value)> = names
            .iter()
            .zip([&key.partition, &key.sort])
            .map(|(attribute, text)| (attribute.name.clone(), attribute.datum::<S::Value>(text)))
            .collect();
        pairs.push((self.system.discriminator.clone(), entity.kind.clone().into()));
        if leg.incarnates {
            pairs.push((Text::const_new(INCARNATION_ATTRIBUTE), self.scope.incarnation()?));
        }
        pairs.extend(leg.defaults.iter().map(|(name, value)| (name.clone(), value.clone().into())));
        if let Some((source, attributes)) = &leg.of {
            let source = self.scope.item(*source);
            let source = source.ok_or_else(|| Fault::bug("the item to copy from is absent"))?;
            let taken = attributes.iter().filter_map(|name| Some((name, source.get(name)?)));
            pairs.extend(taken.map(|(name, value)| (name.clone(), value.clone())));
        }
        for assign in leg.key_values.iter().chain(&leg.values) {
            if let Some(value) = self.scope.value(&assign.value)? {
                pairs.push((assign.attribute.clone(), value.into_owned()));
            }
        }
        // Of two values for one name the last is kept: a given value replaces a copied or a default one.
        let mut item: Map<S::Value> = pairs.into_iter().collect();
        if let Some(end) = &entity.end
            && let Some(end) = item.get(&end.attribute)
        {
            let second = self.scope.second(end)?;
            item.insert(self.system.ttl.clone(), second);
        }
        for (name, text) in self.index_keys(leg, &item)? {
            if let Some(text) = text {
                item.insert(name.clone(), text);
            }
        }
        Ok(item)
    }

    /// The actions of an update, and the item they leave where that can be told.
    pub(super) fn changes(
        &self,
        leg: &plan::Leg,
        entity: &Entity,
        key: &KeyOf<S>,
    ) -> Result<Changes<S::Value>, Fault> {
        let mut actions = Vec::new();
        if leg.verb == Verb::Upsert {
            actions.push(set(&self.system.discriminator, entity.kind.clone()));
            let names = &self.system.table.key;
            for assign in leg.key_values.iter().filter(|assign| !names.has(&assign.attribute)) {
                actions.push(set(&assign.attribute, self.known(&assign.value)?));
            }
            for (name, value) in &leg.defaults {
                actions.push(set_if_absent(name.clone(), value.clone().into()));
            }
            if leg.incarnates {
                let name = Text::const_new(INCARNATION_ATTRIBUTE);
                actions.push(set_if_absent(name, self.scope.incarnation()?));
            }
        }
        for assign in &leg.values {
            actions.extend(self.assignment(leg, entity, assign)?);
        }
        actions
            .extend(leg.removes.iter().map(|name| Action::Remove(Path::attribute(name.clone()))));
        for assign in &leg.adds {
            actions.push(self.addition(leg, entity, assign)?);
        }
        self.bring(leg, key, &mut actions);
        self.changed_end(entity, &mut actions)?;
        if leg.target.is_none() && leg.indexes.is_empty() {
            return Ok((actions, None));
        }
        let read = leg.target.and_then(|target| self.scope.item(target));
        let Some(read) = read else {
            // Only its index keys are wanted, and what they are made of is known; the rest may be computed with what is
            // stored, which is not.
            let is_part = |action: &&Action<S::Value>| {
                leg.indexes.iter().any(|index| leg.needs(index, action.target()))
            };
            let parts: Vec<Action<S::Value>> = actions.iter().filter(is_part).cloned().collect();
            let image = self.scope.image(&parts, &self.key_alone(leg, key)?)?;
            self.unread_index_keys(leg, &image, &mut actions)?;
            return Ok((actions, None));
        };
        let mut image = self.scope.image(&actions, read)?;
        for (name, text) in self.index_keys(leg, &image)? {
            match text {
                Some(text) => {
                    actions.push(set(name, text.clone()));
                    image.insert(name.clone(), text);
                }
                None => {
                    actions.push(Action::Remove(Path::attribute(name.clone())));
                    image.remove(name);
                }
            }
        }
        Ok((actions, Some(image)))
    }

    /// Changes the second in which the item may be removed with its end.
    fn changed_end(
        &self,
        entity: &Entity,
        actions: &mut Vec<Action<S::Value>>,
    ) -> Result<(), Fault> {
        let Some(end) = &entity.end else { return Ok(()) };
        let expires = self.system.ttl.clone();
        match actions.iter().find(|action| *action.target() == end.attribute) {
            None => {}
            Some(Action::Set(_, Expression::Value(end))) => {
                let second = self.scope.second(end)?;
                actions.push(set(&expires, second));
            }
            Some(Action::Remove(_)) => actions.push(Action::Remove(Path::attribute(expires))),
            Some(_) => return Err(Fault::bug("an end is computed by the store")),
        }
        Ok(())
    }

    /// What is stored for indexes alone: the item's place in each of them, if it has one.
    fn index_keys<'e>(
        &self,
        leg: &'e plan::Leg,
        item: &Map<S::Value>,
    ) -> Result<Vec<IndexKey<'e, S::Value>>, Bug> {
        let mut keys = Vec::new();
        for index in &leg.indexes {
            let whole = self.is_in(index, item)?;
            for (attribute, parts) in index.own() {
                let half = if whole { self.half(attribute, parts, item)? } else { None };
                keys.push((&attribute.name, half));
            }
        }
        Ok(keys)
    }

    /// Whether an item has all the parts of its key in an index.
    fn is_in(&self, index: &plan::IndexShape, item: &Map<S::Value>) -> Result<bool, Bug> {
        let partition = self.scope.place(&index.key.partition, item)?;
        Ok(partition.is_some() && self.scope.place(&index.key.sort, item)?.is_some())
    }

    /// One half of the key of an item in an index, if the item has all the parts of it.
    fn half(
        &self,
        attribute: &KeyAttribute,
        parts: &[Part],
        item: &Map<S::Value>,
    ) -> Result<Option<S::Value>, Bug> {
        Ok(match (attribute.value_type, parts) {
            (KeyType::Number, [Part::Attribute(name, None)]) => item.get(name).cloned(),
            (KeyType::Number, _) => return Err(Bug::new("a number in a key is made of texts")),
            (KeyType::Text, _) => self.scope.place(parts, item)?.map(S::Value::from),
        })
    }

    /// The index attributes of an item that was not read; the model has seen to it that what they are
    /// made of is known.
    fn unread_index_keys(
        &self,
        leg: &plan::Leg,
        image: &Map<S::Value>,
        actions: &mut Vec<Action<S::Value>>,
    ) -> Result<(), Bug> {
        let changed: Vec<Text> = actions.iter().map(|action| action.target().clone()).collect();
        let touched = |parts: &[Part]| {
            parts.iter().any(|part| match part {
                Part::Attribute(attribute, _) => changed.contains(attribute),
                Part::Literal(_) => false,
            })
        };
        for index in &leg.indexes {
            // `?=` has left its part alone.
            if leg.verb == Verb::Update
                && !index.key.attributes().any(|name| changed.contains(name))
            {
                continue;
            }
            if index.always && leg.verb == Verb::Update {
                // The item stays in the index; only the half of its key that changes is written.
                for (attribute, parts) in index.own().filter(|(_, parts)| touched(parts)) {
                    let half = self.half(attribute, parts, image)?;
                    let half =
                        half.ok_or_else(|| Bug::new("a part of an index key is not known"))?;
                    actions.push(set(&attribute.name, half));
                }
                continue;
            }
            let whole = self.is_in(index, image)?;
            for (attribute, parts) in index.own() {
                actions.push(match self.half(attribute, parts, image)?.filter(|_| whole) {
                    Some(half) => set(&attribute.name, half),
                    None => Action::Remove(Path::attribute(attribute.name.clone())),
                });
            }
        }
        Ok(())
    }

    /// What is known of an item that was not read.
    fn key_alone(&self, leg: &plan::Leg, key: &KeyOf<S>) -> Result<Map<S::Value>, Fault> {
        let mut item: Map<S::Value> = self.system.table.key.item(key);
        for assign in &leg.key_values {
            if let Some(value) = self.scope.value(&assign.value)? {
                item.insert(assign.attribute.clone(), value.into_owned());
            }
        }
        Ok(item)
    }

    fn assignment(
        &self,
        leg: &plan::Leg,
        entity: &Entity,
        assign: &Assign,
    ) -> Result<Option<Action<S::Value>>, Fault> {
        let path = match &assign.part {
            AttributePart::Whole => Path::attribute(assign.attribute.clone()),
            AttributePart::Within { member, .. } => member.clone(),
            part @ (AttributePart::Element | AttributePart::NoElement) => {
                let element = self.scope.element(self.known(&assign.value)?)?;
                let name = assign.attribute.clone();
                return Ok(Some(match part {
                    AttributePart::Element => Action::Add(name, element),
                    _ => Action::Delete(name, element),
                }));
            }
        };
        if assign.maybe {
            return Ok(match self.scope.maybe(&assign.value)? {
                Maybe::Left => None,
                Maybe::TakenOut => Some(Action::Remove(path)),
                Maybe::Set(value) => Some(Action::Set(path, Expression::Value(value))),
            });
        }
        let expression = match &assign.value {
            Code::Add(a, sign, b) if is_stored(a) || is_stored(b) => {
                let term = |code: &Code| self.term(leg, entity, code).map(Box::new);
                Some(match sign {
                    Sign::Plus => Expression::Sum(term(a)?, term(b)?),
                    Sign::Minus => Expression::Difference(term(a)?, term(b)?),
                })
            }
            Code::Stored(_) => Some(self.term(leg, entity, &assign.value)?),
            value => self.scope.value(value)?.map(|value| Expression::Value(value.into_owned())),
        };
        // A value that is absent leaves no attribute.
        Ok(Some(match expression {
            Some(expression) => Action::Set(path, expression),
            None => Action::Remove(path),
        }))
    }

    /// `add`: to what is stored, or to the default that an item counts as having.
    fn addition(
        &self,
        leg: &plan::Leg,
        entity: &Entity,
        assign: &Assign,
    ) -> Result<Action<S::Value>, Fault> {
        let (name, more) = (assign.attribute.clone(), self.known(&assign.value)?);
        let default = entity.defaults.iter().find(|(other, _)| *other == name);
        let default = default.filter(|(_, start)| *start != Value::Number(Number::ZERO));
        Ok(match default.filter(|_| leg.verb == Verb::Update) {
            // An absent number counts as 0 to a store.
            None => Action::Add(name, more),
            Some((_, start)) => {
                let path = Path::attribute(name);
                let start = Box::new(Expression::Value(start.clone().into()));
                let stored = Expression::OrElse(path.clone(), start);
                Action::Set(
                    path,
                    Expression::Sum(Box::new(stored), Box::new(Expression::Value(more))),
                )
            }
        })
    }

    fn term(
        &self,
        leg: &plan::Leg,
        entity: &Entity,
        code: &Code,
    ) -> Result<Expression<S::Value>, Fault> {
        match code {
            Code::Stored(path) if leg.verb == Verb::Upsert => {
                // Where the item is not there yet, a counter counts from 0 and others from their default.
                let name = path.root();
                let is_counter = entity.counter.as_ref() == Some(name);
                let default = entity.defaults.iter().find(|(other, _)| other == name);
                let start = match default {
                    _ if is_counter => Some(Value::from(0)),
                    default => default.map(|(_, value)| value.clone()),
                };
                Ok(match start {
                    Some(value) => {
                        Expression::OrElse(path.clone(), Box::new(Expression::Value(value.into())))
                    }
                    None => Expression::Path(path.clone()),
                })
            }
            Code::Stored(path) => Ok(match self.assumed(leg, entity, path.root()) {
                Some(default) => {
                    let default = Box::new(Expression::Value(default.clone().into()));
                    Expression::OrElse(path.clone(), default)
                }
                None => Expression::Path(path.clone()),
            }),
            other => Ok(Expression::Value(self.known(other)?)),
        }
    }

    /// What an attribute counts as that the item may lack: its default, where the item is from before the
    /// attribute was declared. Of an item that was read it is known whether it is.
    fn assumed<'e>(&self, leg: &plan::Leg, entity: &'e Entity, name: &str) -> Option<&'e Value> {
        let lacks = match leg.target {
            Some(target) => self.scope.stored(target, name).is_none(),
            None => true,
        };
        let default = entity.defaults.iter().find(|(other, _)| other == name);
        default.filter(|_| lacks).map(|(_, value)| value)
    }

    /// A value that is there.
    fn known(&self, code: &Code) -> Result<S::Value, Fault> {
        let value = self.scope.value(code)?.map(|value| value.into_owned());
        value.ok_or_else(|| Fault::bug("a value to write is absent"))
    }
}

fn set_if_absent<V>(name: Text, value: V) -> Action<V> {
    let path = Path::attribute(name);
    let value = Box::new(Expression::Value(value));
    Action::Set(path.clone(), Expression::OrElse(path, value))
}

fn set<V>(name: &Text, value: impl Into<V>) -> Action<V> {
    Action::Set(Path::attribute(name.clone()), Expression::Value(value.into()))
}
