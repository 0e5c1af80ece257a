//! Table requests, filled with the values of a call.
//!
//! What an expression says of stored attributes becomes a condition or an action; the rest is evaluated
//! here. The same code fills them for [`explain`](crate::explain()), so that what is shown is what is done:
//! a call's requests hold values, those of an explanation names.

mod bounds;

pub(crate) use bounds::Breach;

use latchkey_model::model::Verb;
use latchkey_table::{
    Action, BatchGet, Check, Comparator, Condition, Consistency, Datum, Delete, Direction,
    Expression, Get, Item, Key, Leg, Map, Operand, Path, Put, Query, Request, SnapshotGet,
    SortRange, Text, Update, Value,
};

use crate::evaluate::{Fault, KeyText, Maybe, Scope};
use crate::plan::{self, Assign, Bounds, Code, Entity, Part, Sign, Strength, System};

/// Fills requests of one system.
pub(crate) struct Filler<'a, S> {
    pub(crate) system: &'a System,
    pub(crate) scope: &'a S,
}

/// A leg and what it leaves.
pub(crate) struct Filled<V: Datum = Value> {
    pub(crate) leg: Leg<V>,
    /// The item after it, if that can be told and is needed.
    pub(crate) image: Option<Map<V>>,
    /// Where more is asked of the stored item than the document does, so that no attribute leaves its
    /// bounds: what the document asks.
    pub(crate) asked: Option<Option<Condition<V>>>,
}

/// The key of an item.
type KeyOf<S> = Key<KeyText<S>>;

/// The actions of an update, and the item they leave where that can be told.
type Changes<V> = (Vec<Action<V>>, Option<Map<V>>);

/// What is left of a test once all that is not stored is known.
enum Residue<V> {
    Decided(bool),
    Asked(Condition<V>),
}

impl<S: Scope> Filler<'_, S> {
    pub(crate) fn key(&self, key: &plan::Key) -> Result<KeyOf<S>, Fault> {
        let (partition, sort) = (self.scope.text(&key.partition)?, self.scope.text(&key.sort)?);
        let key = Key { partition, sort };
        key.validate()?;
        Ok(key)
    }

    pub(crate) fn get(&self, op: &plan::GetOp) -> Result<Get<S::Value>, Fault> {
        let consistency = self.consistency(&op.strong)?;
        Ok(Get { table: self.system.table.clone(), key: self.key(&op.key)?, consistency })
    }

    /// A read of several items: their keys, and how they are read.
    pub(crate) fn batch(&self, op: &plan::BatchOp) -> Result<Request<S::Value>, Fault> {
        let keys: Result<Vec<_>, Fault> = op.keys.iter().map(|key| self.key(key)).collect();
        let (table, keys) = (self.system.table.clone(), keys?);
        if op.snapshot {
            return Ok(Request::SnapshotGet(SnapshotGet { table, keys }));
        }
        let consistency = self.consistency(&op.strong)?;
        Ok(Request::BatchGet(BatchGet { table, keys, consistency }))
    }

    /// Values by their names; those that are absent are left out.
    pub(crate) fn map(&self, assigns: &[Assign]) -> Result<Map<S::Value>, Fault> {
        let mut pairs = Vec::with_capacity(assigns.len());
        for assign in assigns {
            if let Some(value) = self.scope.value(&assign.value)? {
                pairs.push((assign.attribute.clone(), value.into_owned()));
            }
        }
        Ok(pairs.into_iter().collect())
    }

    fn consistency(&self, strong: &Strength) -> Result<Consistency, Fault> {
        let strong = match strong {
            Strength::Never => false,
            Strength::Always => true,
            Strength::When(test) => self.scope.test(test)?,
        };
        Ok(if strong { Consistency::Strong } else { Consistency::Eventual })
    }

    /// A query without a limit, or nothing if its range is empty.
    pub(crate) fn query(&self, op: &plan::QueryOp) -> Result<Option<Query<S::Value>>, Fault> {
        let Some(range) = self.range(&op.range)? else { return Ok(None) };
        let turned = match &op.turned {
            Some(test) => self.scope.test(test)?,
            None => false,
        };
        let query = Query {
            table: self.system.table.clone(),
            index: op.index.clone(),
            partition: self.scope.text(&op.partition)?,
            range,
            direction: if turned { Direction::Descending } else { op.direction },
            limit: None,
            resume: None,
            consistency: self.consistency(&op.strong)?,
        };
        query.validate_range()?;
        Ok(Some(query))
    }

    fn range(&self, bounds: &Bounds) -> Result<Option<SortRange<KeyText<S>>>, Fault> {
        let text = |code: &Code| self.scope.text(code);
        Ok(Some(match bounds {
            Bounds::All => SortRange::All,
            Bounds::Equal(code) => SortRange::Equal(text(code)?),
            Bounds::BeginsWith(code) => SortRange::BeginsWith(text(code)?),
            Bounds::Between(low, high) => {
                let (low, high) = (text(low)?, text(high)?);
                // DynamoDB refuses such a range; it means that there is nothing in it.
                if low > high {
                    return Ok(None);
                }
                SortRange::Between(low, high)
            }
            Bounds::Side { below: true, inclusive: false, bound } => SortRange::Less(text(bound)?),
            Bounds::Side { below: true, inclusive: true, bound } => {
                SortRange::LessOrEqual(text(bound)?)
            }
            Bounds::Side { below: false, inclusive: false, bound } => {
                SortRange::Greater(text(bound)?)
            }
            Bounds::Side { below: false, inclusive: true, bound } => {
                SortRange::GreaterOrEqual(text(bound)?)
            }
        }))
    }

    pub(crate) fn leg(&self, leg: &plan::Leg) -> Result<Filled<S::Value>, Fault> {
        let entity = &self.system.entities[leg.entity];
        let table = self.system.table.clone();
        let key = self.key(&leg.key)?;
        match leg.verb {
            Verb::Put => {
                let item = self.item(leg, entity, &key)?;
                let absent = leg.if_absent.then(|| Condition::Absent(self.exists()));
                let condition = self.condition(leg, absent)?;
                let breach = !bounds::broken(self.scope, entity, &item).is_empty();
                let (condition, asked) = bounds::ask(condition, breach.then(|| self.never()));
                let image = leg.result.map(|_| item.clone());
                Ok(Filled { leg: Leg::Put(Put { table, item, condition }), image, asked })
            }
            Verb::Update | Verb::Upsert => {
                let (actions, image) = self.changes(leg, entity, &key)?;
                // An update creates what is missing, unless it insists.
                let exists = (leg.verb == Verb::Update).then(|| Condition::Exists(self.exists()));
                let condition = self.condition(leg, exists)?;
                let kept = bounds::kept(self.scope, entity, &actions, || self.never());
                let (condition, asked) = bounds::ask(condition, kept);
                let update = Update { table, key, actions, condition };
                Ok(Filled { leg: Leg::Update(update), image, asked })
            }
            Verb::Delete => {
                let condition = self.condition(leg, None)?;
                let leg = Leg::Delete(Delete { table, key, condition });
                Ok(Filled { leg, image: None, asked: None })
            }
            Verb::Check => {
                // A check of nothing is of no item; a transaction wants a condition all the same.
                let any = || {
                    let path = self.exists();
                    Condition::Or(vec![Condition::Exists(path.clone()), Condition::Absent(path)])
                };
                let condition = self.condition(leg, None)?.unwrap_or_else(any);
                let leg = Leg::Check(Check { table, key, condition });
                Ok(Filled { leg, image: None, asked: None })
            }
        }
    }

    /// What holds of no item.
    fn never(&self) -> Condition<S::Value> {
        let path = self.exists();
        Condition::And(vec![Condition::Exists(path.clone()), Condition::Absent(path)])
    }

    fn exists(&self) -> Path {
        Path::attribute(self.system.table.key.partition.clone())
    }

    /// The item a put leaves.
    fn item(
        &self,
        leg: &plan::Leg,
        entity: &Entity,
        key: &KeyOf<S>,
    ) -> Result<Map<S::Value>, Fault> {
        let names = &self.system.table.key;
        let mut pairs: Vec<(Text, S::Value)> = vec![
            (names.partition.clone(), key.partition.clone().into()),
            (names.sort.clone(), key.sort.clone().into()),
            (self.system.discriminator.clone(), entity.kind.clone().into()),
        ];
        pairs.extend(leg.defaults.iter().map(|(name, value)| (name.clone(), value.clone().into())));
        if let Some((source, attributes)) = &leg.of {
            let source = self.scope.item(*source).ok_or(Fault::Absent)?;
            let taken = attributes.iter().filter_map(|name| Some((name, source.get(name)?)));
            pairs.extend(taken.map(|(name, value)| (name.clone(), value.clone())));
        }
        for assign in leg.key_values.iter().chain(&leg.values) {
            if let Some(value) = self.scope.value(&assign.value)? {
                pairs.push((assign.attribute.clone(), value.into_owned()));
            }
        }
        // Of two of one name the last stays: what is given replaces what is taken or assumed.
        let mut item: Map<S::Value> = pairs.into_iter().collect();
        for (partition, sort, key) in self.index_keys(leg, entity, &item) {
            if let Some(key) = key {
                item.insert(partition.clone(), key.partition);
                item.insert(sort.clone(), key.sort);
            }
        }
        Ok(item)
    }

    /// The names of each index's attributes, and the item's place there if it has one.
    fn index_keys<'e>(
        &self,
        leg: &plan::Leg,
        entity: &'e Entity,
        item: &Map<S::Value>,
    ) -> Vec<(&'e Text, &'e Text, Option<KeyOf<S>>)> {
        let shapes = leg.indexes.iter().filter_map(|at| entity.indexes.get(*at));
        let keys = shapes.map(|index| {
            let partition = self.scope.place(&index.key.partition, item);
            let key = partition.zip(self.scope.place(&index.key.sort, item));
            let key = key.map(|(partition, sort)| Key { partition, sort });
            (&index.partition, &index.sort, key)
        });
        keys.collect()
    }

    /// The actions of an update, and the item they leave where that can be told.
    fn changes(
        &self,
        leg: &plan::Leg,
        entity: &Entity,
        key: &KeyOf<S>,
    ) -> Result<Changes<S::Value>, Fault> {
        let mut actions = Vec::new();
        if leg.verb == Verb::Upsert {
            actions.push(set(&self.system.discriminator, entity.kind.clone()));
            for assign in &leg.key_values {
                let value = self.scope.value(&assign.value)?.ok_or(Fault::Absent)?;
                actions.push(set(&assign.attribute, value.into_owned()));
            }
            for (name, value) in &leg.defaults {
                let path = Path::attribute(name.clone());
                let default = Box::new(Expression::Value(value.clone().into()));
                actions.push(Action::Set(path.clone(), Expression::OrElse(path, default)));
            }
        }
        for assign in &leg.values {
            actions.extend(self.assignment(leg, entity, assign)?);
        }
        actions
            .extend(leg.removes.iter().map(|name| Action::Remove(Path::attribute(name.clone()))));
        for assign in &leg.adds {
            let value = self.scope.value(&assign.value)?.ok_or(Fault::Absent)?;
            actions.push(Action::Add(assign.attribute.clone(), value.into_owned()));
        }
        if leg.target.is_none() && leg.indexes.is_empty() {
            return Ok((actions, None));
        }
        let read = leg.target.and_then(|target| self.scope.item(target));
        let Some(read) = read else {
            // Only its index keys are wanted, and what they are made of is known; the rest may be computed with what is
            // stored, which is not.
            let shapes = || leg.indexes.iter().filter_map(|at| entity.indexes.get(*at));
            let is_part = |action: &&Action<S::Value>| {
                shapes().any(|index| index.key.attributes().any(|name| name == action.target()))
            };
            let parts: Vec<Action<S::Value>> = actions.iter().filter(is_part).cloned().collect();
            let image = self.scope.image(&parts, &self.key_alone(leg, key)?)?;
            self.unread_index_keys(leg, entity, &image, &mut actions);
            return Ok((actions, None));
        };
        let mut image = self.scope.image(&actions, read)?;
        for (partition, sort, key) in self.index_keys(leg, entity, &image) {
            match key {
                Some(key) => {
                    actions.push(set(partition, key.partition.clone()));
                    actions.push(set(sort, key.sort.clone()));
                    image.insert(partition.clone(), key.partition);
                    image.insert(sort.clone(), key.sort);
                }
                None => {
                    for name in [partition, sort] {
                        actions.push(Action::Remove(Path::attribute(name.clone())));
                        image.remove(name);
                    }
                }
            }
        }
        Ok((actions, Some(image)))
    }

    /// The index attributes of an item that was not read; the model has seen to it that what they are
    /// made of is known.
    fn unread_index_keys(
        &self,
        leg: &plan::Leg,
        entity: &Entity,
        image: &Map<S::Value>,
        actions: &mut Vec<Action<S::Value>>,
    ) {
        let changed: Vec<Text> = actions.iter().map(|action| action.target().clone()).collect();
        let touched = |parts: &[Part]| {
            parts.iter().any(|part| match part {
                Part::Attribute(attribute, _) => changed.contains(attribute),
                Part::Literal(_) => false,
            })
        };
        for index in leg.indexes.iter().filter_map(|at| entity.indexes.get(*at)) {
            // `?=` has left its part alone.
            if leg.verb == Verb::Update
                && !index.key.attributes().any(|name| changed.contains(name))
            {
                continue;
            }
            let halves = [(&index.partition, &index.key.partition), (&index.sort, &index.key.sort)];
            let made = halves.map(|(name, parts)| (name, parts, self.scope.place(parts, image)));
            if index.always && leg.verb == Verb::Update {
                // It is there whatever happens; the half that changes is made anew.
                let made = made.into_iter().filter(|(_, parts, _)| touched(parts));
                let set = made.filter_map(|(name, _, text)| Some(set(name, text?)));
                actions.extend(set);
                continue;
            }
            let whole = made.iter().all(|(_, _, text)| text.is_some());
            actions.extend(made.into_iter().map(|(name, _, text)| match text.filter(|_| whole) {
                Some(text) => set(name, text),
                None => Action::Remove(Path::attribute(name.clone())),
            }));
        }
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
        let path = Path::attribute(assign.attribute.clone());
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
            Code::Stored(path) => Ok(Expression::Path(path.clone())),
            other => {
                let value = self.scope.value(other)?.ok_or(Fault::Absent)?;
                Ok(Expression::Value(value.into_owned()))
            }
        }
    }

    /// What must hold of the stored item: what the verb asks for, and what the leg does.
    fn condition(
        &self,
        leg: &plan::Leg,
        implied: Option<Condition<S::Value>>,
    ) -> Result<Option<Condition<S::Value>>, Fault> {
        let residue = match &leg.condition {
            None => Residue::Decided(true),
            Some(code) => self.residue(code)?,
        };
        Ok(match (implied, residue) {
            (implied, Residue::Decided(true)) => implied,
            (_, Residue::Decided(false)) => {
                // Asked all the same, for an earlier leg may fail first.
                Some(self.never())
            }
            (None, Residue::Asked(condition)) => Some(condition),
            (Some(implied), Residue::Asked(Condition::And(mut all))) => {
                all.insert(0, implied);
                Some(Condition::And(all))
            }
            (Some(implied), Residue::Asked(condition)) => {
                Some(Condition::And(vec![implied, condition]))
            }
        })
    }

    fn residue(&self, code: &Code) -> Result<Residue<S::Value>, Fault> {
        use Residue::{Asked, Decided};
        Ok(match code {
            // The right side is asked only if the left did not decide.
            Code::And(a, b) => match self.residue(a)? {
                Decided(false) => Decided(false),
                Decided(true) => self.residue(b)?,
                Asked(a) => match self.residue(b)? {
                    Decided(true) => Asked(a),
                    Decided(false) => Decided(false),
                    Asked(b) => Asked(both(a, b)),
                },
            },
            Code::Or(a, b) => match self.residue(a)? {
                Decided(true) => Decided(true),
                Decided(false) => self.residue(b)?,
                Asked(a) => match self.residue(b)? {
                    Decided(true) => Decided(true),
                    Decided(false) => Asked(a),
                    Asked(b) => Asked(Condition::Or(vec![a, b])),
                },
            },
            Code::Not(inner) => match (self.residue(inner)?, inner.as_ref()) {
                (Decided(decided), _) => Decided(!decided),
                (Asked(Condition::Exists(path)), _) => Asked(Condition::Absent(path)),
                (Asked(condition), _) => Asked(Condition::Not(Box::new(condition))),
            },
            Code::Stored(path) => Asked(equals(path.clone(), Value::Bool(true).into())),
            Code::Present(thing) if let Code::Stored(path) = thing.as_ref() => {
                Asked(Condition::Exists(path.clone()))
            }
            Code::Unchanged(target, counter) => {
                let read = self.scope.item(*target).and_then(|item| item.get(counter));
                let path = Path::attribute(counter.clone());
                Asked(match read {
                    Some(value) => equals(path, value.clone()),
                    None => Condition::Absent(path),
                })
            }
            Code::Compare(a, comparator, b) if is_stored(a) || is_stored(b) => {
                match (self.operand(a)?, self.operand(b)?) {
                    (Some(a), Some(b)) => Asked(compare(a, *comparator, b)),
                    _ => Decided(false),
                }
            }
            Code::BeginsWith(a, b) if let Code::Stored(path) = a.as_ref() => {
                match self.operand(b)? {
                    Some(prefix) => Asked(Condition::BeginsWith(path.clone(), prefix)),
                    None => Decided(false),
                }
            }
            Code::Between(a, low, high) if [a, low, high].into_iter().any(|c| is_stored(c)) => {
                let (a, low, high) = (self.operand(a)?, self.operand(low)?, self.operand(high)?);
                match (a, low, high) {
                    (Some(a), Some(low), Some(high)) => {
                        let low = compare(a.clone(), Comparator::GreaterOrEqual, low);
                        Asked(both(low, compare(a, Comparator::LessOrEqual, high)))
                    }
                    _ => Decided(false),
                }
            }
            Code::In(a, values) if is_stored(a) || values.iter().any(is_stored) => {
                let operands: Result<Vec<_>, _> = values.iter().map(|v| self.operand(v)).collect();
                let operands: Vec<_> = operands?.into_iter().flatten().collect();
                match self.operand(a)? {
                    Some(a) if !operands.is_empty() => Asked(Condition::In(a, operands)),
                    _ => Decided(false),
                }
            }
            other => Decided(self.scope.test(other)?),
        })
    }

    fn operand(&self, code: &Code) -> Result<Option<Operand<S::Value>>, Fault> {
        Ok(match code {
            Code::Stored(path) => Some(Operand::Path(path.clone())),
            other => self.scope.value(other)?.map(|value| Operand::Value(value.into_owned())),
        })
    }
}

impl<S: Scope<Value = Value>> Filler<'_, S> {
    /// The attributes that a leg would take beyond their bounds, on the item that is stored.
    pub(crate) fn breaches(
        &self,
        leg: &plan::Leg,
        stored: Option<&Item>,
    ) -> Result<Vec<Breach>, Fault> {
        let entity = &self.system.entities[leg.entity];
        let key = self.key(&leg.key)?;
        Ok(match leg.verb {
            Verb::Put => bounds::broken(self.scope, entity, &self.item(leg, entity, &key)?),
            Verb::Update | Verb::Upsert => {
                let (actions, _) = self.changes(leg, entity, &key)?;
                bounds::left(self.scope, entity, &actions, stored, || self.never())
            }
            Verb::Delete | Verb::Check => Vec::new(),
        })
    }
}

fn is_stored(code: &Code) -> bool {
    matches!(code, Code::Stored(_))
}

fn compare<V>(a: Operand<V>, comparator: Comparator, b: Operand<V>) -> Condition<V> {
    Condition::Compare(a, comparator, b)
}

fn equals<V>(path: Path, value: V) -> Condition<V> {
    compare(Operand::Path(path), Comparator::Equal, Operand::Value(value))
}

fn set<V>(name: &Text, value: impl Into<V>) -> Action<V> {
    Action::Set(Path::attribute(name.clone()), Expression::Value(value.into()))
}

fn both<V>(a: Condition<V>, b: Condition<V>) -> Condition<V> {
    match (a, b) {
        (Condition::And(mut all), b) => {
            all.push(b);
            Condition::And(all)
        }
        (a, b) => Condition::And(vec![a, b]),
    }
}
