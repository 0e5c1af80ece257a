//! Table requests, filled with the values of a call.
//!
//! What an expression says of stored attributes becomes a condition or an action; the rest is evaluated
//! here. The same code fills them for [`explain`](crate::explain()), so that what is shown is what is done:
//! a call's requests hold values, those of an explanation names.

mod bounds;
mod change;
mod condition;
mod kept;

pub(crate) use bounds::Breach;
pub(crate) use condition::as_stored;

use latchkey_model::model::Verb;
use latchkey_table::{
    BatchGet, Check, Comparator, Condition, Consistency, Datum, Delete, Direction, Get, IndexScan,
    Item, Key, KeyAttribute, KeyType, Leg, Map, Operand, Path, Put, Query, Request, SnapshotGet,
    SortRange, Update, Value,
};

use condition::{both, equals};

use crate::evaluate::{Fault, KeyText, Values};
use crate::plan::{self, Assign, AttributePart, Bounds, Code, Entity, Place, Strength, System};

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
    /// What it asks so that nothing is erased that a view alone has.
    pub(crate) spares: Option<Condition<V>>,
}

/// What a store asks of the items of an entity that a filter keeps. What is not stored is not the store's to test.
fn or_untold<V>(keep: &plan::Keep, asked: Condition<V>) -> Condition<V> {
    if keep.told.is_empty() {
        return asked;
    }
    let untold = keep.told.iter().map(|name| Condition::Absent(Path::attribute(name.clone())));
    Condition::Or(std::iter::once(asked).chain(untold).collect())
}

/// The key of an item.
pub(crate) type KeyOf<S> = Key<KeyText<S>>;

impl<S: Values> Filler<'_, S> {
    pub(crate) fn key(&self, key: &plan::Key) -> Result<KeyOf<S>, Fault> {
        let names = &self.system.table.key;
        let partition = self.key_text(Some(&names.partition), &key.partition)?;
        let sort = self.key_text(names.sort.as_ref(), &key.sort)?;
        let key = Key { partition, sort };
        names.validate_key(&key)?;
        Ok(key)
    }

    /// A part of a key. One that is not there has no attribute, and an empty text.
    fn key_text(&self, attribute: Option<&KeyAttribute>, code: &Code) -> Result<KeyText<S>, Fault> {
        match attribute.map(|attribute| attribute.value_type) {
            Some(KeyType::Number) => self.scope.number_key(code),
            Some(KeyType::Text) | None => self.scope.text(code),
        }
    }

    pub(crate) fn get(&self, op: &plan::GetOp) -> Result<Get<S::Value>, Fault> {
        let consistency = self.consistency(&op.strong)?;
        Ok(Get { table: self.system.table.clone(), key: self.key(&op.key)?, consistency })
    }

    /// A read of several items at one instant, and the place of each among its keys: two may be one item.
    pub(crate) fn snapshot(
        &self,
        op: &plan::SnapshotOp,
    ) -> Result<(SnapshotGet<S::Value>, Vec<usize>), Fault> {
        let mut keys: Vec<KeyOf<S>> = Vec::with_capacity(op.gets.len());
        let mut places = Vec::with_capacity(op.gets.len());
        for get in &op.gets {
            let key = self.key(&get.key)?;
            let place = keys.iter().position(|other| *other == key).unwrap_or(keys.len());
            if place == keys.len() {
                keys.push(key);
            }
            places.push(place);
        }
        Ok((SnapshotGet { table: self.system.table.clone(), keys }, places))
    }

    /// A read of several items.
    pub(crate) fn batch(
        &self,
        op: &plan::BatchOp,
        keys: Vec<KeyOf<S>>,
    ) -> Result<Request<S::Value>, Fault> {
        let table = self.system.table.clone();
        if op.snapshot {
            return Ok(Request::SnapshotGet(SnapshotGet { table, keys }));
        }
        let consistency = self.consistency(&op.strong)?;
        Ok(Request::BatchGet(BatchGet { table, keys, consistency }))
    }

    /// The keys of several items.
    pub(crate) fn keys(&self, keys: &[plan::Key]) -> Result<Vec<KeyOf<S>>, Fault> {
        keys.iter().map(|key| self.key(key)).collect()
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

    /// A query without a limit, or nothing if its range is empty, or if none of its items can be kept.
    pub(crate) fn query(&self, op: &plan::QueryOp) -> Result<Option<Query<S::Value>>, Fault> {
        let partition = op.partition.as_ref();
        self.query_in(op, partition.ok_or_else(|| Fault::bug("a scan is taken for a query"))?)
    }

    /// A scan of an index without a limit, or nothing if none of its items can be kept.
    pub(crate) fn index_scan(
        &self,
        op: &plan::QueryOp,
    ) -> Result<Option<IndexScan<S::Value>>, Fault> {
        let index = op.index.clone().ok_or_else(|| Fault::bug("a scan is of no index"))?;
        let Some(filter) = self.kept(op)? else { return Ok(None) };
        let table = self.system.table.clone();
        Ok(Some(IndexScan { table, index, filter, limit: None, resume: None }))
    }

    /// What a query asks of the items it keeps; nothing where no item can be kept.
    fn kept(&self, op: &plan::QueryOp) -> Result<Option<Option<Condition<S::Value>>>, Fault> {
        let mut filters = Vec::new();
        for keep in &op.keep {
            let filter = match &keep.test {
                Some(test) => self.filter(test)?,
                None => Some(None),
            };
            filters.push((keep, filter.map(|asked| asked.map(|asked| or_untold(keep, asked)))));
        }
        let Some((_, first)) = filters.first() else { return Ok(Some(None)) };
        if filters.iter().all(|(_, filter)| filter == first) {
            return Ok(first.clone());
        }
        let of = |keep: &plan::Keep| {
            let kind = self.system.entities[keep.entity].kind.clone();
            equals(Path::attribute(self.system.discriminator.clone()), kind.into())
        };
        let ways = filters.into_iter().filter_map(|(keep, filter)| {
            Some(match filter? {
                Some(asked) => both(of(keep), asked),
                None => of(keep),
            })
        });
        let mut ways: Vec<_> = ways.collect();
        Ok(Some(Some(if ways.len() == 1 { ways.swap_remove(0) } else { Condition::Or(ways) })))
    }

    /// A query in one of its partitions.
    pub(crate) fn query_in(
        &self,
        op: &plan::QueryOp,
        partition: &Code,
    ) -> Result<Option<Query<S::Value>>, Fault> {
        let table = &self.system.table;
        let index = op.index.as_ref().and_then(|name| table.index(name));
        let names = index.map_or(&table.key, |index| &index.key);
        let Some(range) = self.range(&op.range, names.sort.as_ref())? else { return Ok(None) };
        let Some(filter) = self.kept(op)? else { return Ok(None) };
        let turned = match &op.turned {
            Some(test) => self.scope.test(test)?,
            None => false,
        };
        let query = Query {
            table: self.system.table.clone(),
            index: op.index.clone(),
            partition: self.key_text(Some(&names.partition), partition)?,
            range,
            filter,
            direction: if turned { Direction::Descending } else { op.direction },
            limit: None,
            resume: None,
            consistency: self.consistency(&op.strong)?,
        };
        query.validate_range()?;
        Ok(Some(query))
    }

    fn range(
        &self,
        bounds: &Bounds,
        sort: Option<&KeyAttribute>,
    ) -> Result<Option<SortRange<KeyText<S>>>, Fault> {
        let text = |code: &Code| self.key_text(sort, code);
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
                let condition = self.condition(leg, self.expected(leg, entity)?)?;
                let (condition, spares) = condition::joined(condition, self.spares(leg, entity)?);
                let breach = !bounds::broken(self.scope, entity, &item).is_empty();
                let (condition, asked) = bounds::ask(condition, breach.then(|| self.never()));
                let image = leg.result.map(|_| item.clone());
                let put = Put { table, item, condition: Some(condition) };
                Ok(Filled { leg: Leg::Put(put), image, asked, spares })
            }
            Verb::Update | Verb::Upsert => {
                let (actions, image) = self.changes(leg, entity, &key)?;
                let condition = self.condition(leg, self.expected(leg, entity)?)?;
                let (condition, spares) = condition::joined(condition, self.lacks(leg, &key));
                let kept =
                    bounds::kept(self.scope, entity, &actions, image.as_ref(), || self.never())?;
                let kept = bounds::joined(kept, self.room(leg, entity)?);
                let (condition, asked) = bounds::ask(condition, kept);
                let update = Update { table, key, actions, condition: Some(condition) };
                Ok(Filled { leg: Leg::Update(update), image, asked, spares })
            }
            Verb::Delete => {
                let condition = self.condition(leg, self.expected(leg, entity)?)?;
                let (condition, spares) = condition::joined(condition, self.spares(leg, entity)?);
                let leg = Leg::Delete(Delete { table, key, condition: Some(condition) });
                Ok(Filled { leg, image: None, asked: None, spares })
            }
            Verb::Check => {
                let condition = self.condition(leg, self.expected(leg, entity)?)?;
                let leg = Leg::Check(Check { table, key, condition });
                Ok(Filled { leg, image: None, asked: None, spares: None })
            }
        }
    }

    /// The condition that every write has, beside that of the document: no item is there, or an item of the entity, or
    /// either of both. An item that has ended is none.
    fn expected(&self, leg: &plan::Leg, entity: &Entity) -> Result<Condition<S::Value>, Fault> {
        let own = || {
            let path = Path::attribute(self.system.discriminator.clone());
            equals(path, entity.kind.clone().into())
        };
        let nothing = || Condition::Absent(self.exists());
        let expected = match (leg.place, &entity.end) {
            (Place::Empty, _) => nothing(),
            (Place::Own, None) => own(),
            (Place::Own, Some(end)) => Condition::And(vec![own(), end.is_ahead(self.now()?)]),
            (Place::OwnOrEmpty, _) => Condition::Or(vec![nothing(), own()]),
            (Place::Ended, Some(end)) => {
                let ended = Condition::And(vec![own(), end.is_over(self.now()?)]);
                Condition::Or(vec![nothing(), ended])
            }
            (Place::Ended, None) => return Err(Fault::bug("an item ends that has no end")),
        };
        let mut records: Vec<&Path> = Vec::new();
        for assign in &leg.values {
            if let AttributePart::Within { record, .. } = &assign.part
                && !records.contains(&record)
            {
                records.push(record);
            }
        }
        // A member has a place only where its record is.
        Ok(records
            .into_iter()
            .fold(expected, |all, record| condition::both(all, Condition::Exists(record.clone()))))
    }

    /// What must hold of the stored item for every set to have room for a new element.
    fn room(&self, leg: &plan::Leg, entity: &Entity) -> Result<Vec<Condition<S::Value>>, Fault> {
        let mut all = Vec::new();
        for assign in leg.values.iter().filter(|one| one.part == AttributePart::Element) {
            all.push(self.room_for(assign, entity)?);
        }
        Ok(all)
    }

    /// That a set is not full, or has the element already.
    fn room_for(&self, assign: &Assign, entity: &Entity) -> Result<Condition<S::Value>, Fault> {
        let declared = entity.sets.iter().find(|(name, _)| *name == assign.attribute);
        let (_, most) = declared.ok_or_else(|| Fault::bug("an element is for no set"))?;
        let path = Path::attribute(assign.attribute.clone());
        let element = self.scope.value(&assign.value)?.map(|value| value.into_owned());
        let element = element.ok_or_else(|| Fault::bug("an element of a set is absent"))?;
        let most = Value::Number((*most).into()).into();
        let size = Operand::Size(path.clone());
        Ok(Condition::Or(vec![
            Condition::Absent(path.clone()),
            Condition::Compare(size, Comparator::Less, Operand::Value(most)),
            Condition::Contains(path, Operand::Value(element)),
        ]))
    }

    fn now(&self) -> Result<S::Value, Fault> {
        let now = self.scope.value(&Code::Now)?.map(|now| now.into_owned());
        now.ok_or_else(|| Fault::bug("there is no `now`"))
    }

    /// A condition that holds for no item.
    fn never(&self) -> Condition<S::Value> {
        let path = self.exists();
        Condition::And(vec![Condition::Exists(path.clone()), Condition::Absent(path)])
    }

    fn exists(&self) -> Path {
        Path::attribute(self.system.table.key.partition.name.clone())
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
                let mut left = bounds::left(self.scope, entity, &actions, stored, || self.never())?;
                for assign in leg.values.iter().filter(|a| a.part == AttributePart::Element) {
                    if !latchkey_table::holds(&self.room_for(assign, entity)?, stored) {
                        left.extend(Breach::of_set(entity, &assign.attribute));
                    }
                }
                left
            }
            Verb::Delete | Verb::Check => Vec::new(),
        })
    }
}
