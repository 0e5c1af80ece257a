//! Table requests, filled with the values of a call.
//!
//! What an expression says of stored attributes becomes a condition or an action; the rest is evaluated
//! here. The same code fills them for [`explain`](crate::explain()), so that what is shown is what is done:
//! a call's requests hold values, those of an explanation names.

mod bounds;
mod change;
mod condition;

pub(crate) use bounds::Breach;
pub(crate) use condition::as_stored;

use latchkey_model::model::Verb;
use latchkey_table::{
    BatchGet, Check, Condition, Consistency, Datum, Delete, Direction, Get, Item, Key, Leg, Map,
    Path, Put, Query, Request, SnapshotGet, SortRange, Update, Value,
};

use condition::equals;

use crate::evaluate::{Fault, KeyText, Values};
use crate::plan::{self, Assign, Bounds, Code, Entity, Place, Strength, System};

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
    pub(crate) asked: Option<Condition<V>>,
}

/// The key of an item.
type KeyOf<S> = Key<KeyText<S>>;

impl<S: Values> Filler<'_, S> {
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
                let condition = self.condition(leg, self.expected(leg, entity))?;
                let breach = !bounds::broken(self.scope, entity, &item).is_empty();
                let (condition, asked) = bounds::ask(condition, breach.then(|| self.never()));
                let image = leg.result.map(|_| item.clone());
                let put = Put { table, item, condition: Some(condition) };
                Ok(Filled { leg: Leg::Put(put), image, asked })
            }
            Verb::Update | Verb::Upsert => {
                let (actions, image) = self.changes(leg, entity, &key)?;
                let condition = self.condition(leg, self.expected(leg, entity))?;
                let kept =
                    bounds::kept(self.scope, entity, &actions, image.as_ref(), || self.never())?;
                let (condition, asked) = bounds::ask(condition, kept);
                let update = Update { table, key, actions, condition: Some(condition) };
                Ok(Filled { leg: Leg::Update(update), image, asked })
            }
            Verb::Delete => {
                let condition = Some(self.condition(leg, self.expected(leg, entity))?);
                let leg = Leg::Delete(Delete { table, key, condition });
                Ok(Filled { leg, image: None, asked: None })
            }
            Verb::Check => {
                let condition = self.condition(leg, self.expected(leg, entity))?;
                let leg = Leg::Check(Check { table, key, condition });
                Ok(Filled { leg, image: None, asked: None })
            }
        }
    }

    /// The condition that every write has, beside that of the document: no item is there, or an item of the entity, or
    /// either of both.
    fn expected(&self, leg: &plan::Leg, entity: &Entity) -> Condition<S::Value> {
        let own = || {
            let path = Path::attribute(self.system.discriminator.clone());
            equals(path, entity.kind.clone().into())
        };
        let nothing = || Condition::Absent(self.exists());
        match leg.place {
            Place::Empty => nothing(),
            Place::Own => own(),
            Place::OwnOrEmpty => Condition::Or(vec![nothing(), own()]),
        }
    }

    /// A condition that holds for no item.
    fn never(&self) -> Condition<S::Value> {
        let path = self.exists();
        Condition::And(vec![Condition::Exists(path.clone()), Condition::Absent(path)])
    }

    fn exists(&self) -> Path {
        Path::attribute(self.system.table.key.partition.clone())
    }
}

impl<S: Values<Value = Value>> Filler<'_, S> {
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
                bounds::left(self.scope, entity, &actions, stored, || self.never())?
            }
            Verb::Delete | Verb::Check => Vec::new(),
        })
    }
}
