//! Reads, planned: one item, several of one entity, a range.

use latchkey_model::model::{
    self, BatchBy, By, EntityId, Expr, ExprKind, Limit, Order, Range, Strong, Through, What,
};
use latchkey_table::{Direction, Text, Value};

use super::detail::Cause;
use super::leg::{Elements, Key, assigns};
use super::op::{
    BatchKeys, BatchOp, Bounds, ElementKeys, GetOp, Keep, OnFailure, Op, Paging, PartOp, QueryOp,
    Shards, SnapshotOp, Strength,
};
use super::program::Planner;
use super::refusal::{Planned, Unplanned};
use super::{Assign, AttributePart, Code, Sight};

impl Planner<'_> {
    /// The gets of a snapshot, as one operation.
    pub(super) fn snapshot(&mut self, reads: &[&model::Read]) -> Planned<Op> {
        let mut gets = Vec::with_capacity(reads.len());
        for read in reads {
            match self.read(read)? {
                Op::Get(get) => gets.push(*get),
                _ => return Err(Unplanned::new("a snapshot reads more than items by their keys")),
            }
        }
        Ok(Op::Snapshot(Box::new(SnapshotOp { gets })))
    }

    pub(super) fn read(&mut self, read: &model::Read) -> Planned<Op> {
        let failure = self.failure(read.failure.as_ref(), &Cause::Read(read.entity))?;
        let strong = match &read.strong {
            Strong::No => Strength::Never,
            Strong::Yes => Strength::Always,
            Strong::When(test) => Strength::When(self.expressions.code(test)?),
        };
        match &read.what {
            What::Get(given) => {
                let given = assigns(&mut self.expressions, given)?;
                let key = Key::plan(&self.entities[read.entity].key, &given)?;
                let (entity, binding) = (read.entity, read.binding);
                Ok(Op::Get(Box::new(GetOp { entity, binding, key, strong, failure })))
            }
            What::Batch(batch) => {
                let op = self.batch(batch, read, strong, failure)?;
                Ok(Op::Batch(Box::new(op)))
            }
            What::Query(query) => {
                let op = self.query(query, read, strong, failure)?;
                Ok(Op::Query(Box::new(op)))
            }
            What::Part(part) => {
                let binding = read.binding;
                let binding = binding.ok_or_else(|| Unplanned::new("a part has no name"))?;
                let (entity, of, one, paged) = (read.entity, part.of, part.one, part.paged);
                Ok(Op::Part(Box::new(PartOp { entity, binding, of, one, paged, failure })))
            }
        }
    }

    fn batch(
        &mut self,
        batch: &model::Batch,
        read: &model::Read,
        strong: Strength,
        failure: OnFailure,
    ) -> Planned<BatchOp> {
        let mut given = assigns(&mut self.expressions, &batch.key)?;
        let shape = &self.entities[read.entity].key;
        let keys = match &batch.by {
            BatchBy::Elements { over, element, most } => {
                let source = Elements::plan(&mut self.expressions, over, *element, *most)?;
                let key = Key::plan(shape, &given)?;
                BatchKeys::Elements(Box::new(ElementKeys { source, key }))
            }
            BatchBy::Numbers { attribute, low, high } => {
                let attribute = Text::from(attribute.as_str());
                let place = given.len();
                let number = |number: i64| Code::Constant(Value::from(number));
                let (part, value, maybe) = (AttributePart::Whole, number(0), false);
                given.push(Assign { attribute: attribute.clone(), part, value, maybe });
                let mut keys = Vec::new();
                for one in *low..=*high {
                    if let Some(assign) = given.get_mut(place) {
                        assign.value = number(one);
                    }
                    keys.push(Key::plan(shape, &given)?);
                }
                BatchKeys::Numbers(keys, (attribute, *low, *high))
            }
        };
        Ok(BatchOp {
            entity: read.entity,
            binding: read.binding,
            keys,
            strong,
            snapshot: batch.snapshot,
            failure,
        })
    }

    fn query(
        &mut self,
        query: &model::Query,
        read: &model::Read,
        strong: Strength,
        failure: OnFailure,
    ) -> Planned<QueryOp> {
        if !query.filters.is_empty() {
            return Err(Unplanned::new("a query cannot keep items by a filter"));
        }
        let model = self.expressions.model;
        let index = match query.by {
            By::Table => None,
            By::Index(id) => Some(Text::from(model.indexes[id].name.as_str())),
            By::Unknown => return Err(Unplanned::new("the entity lacks this index")),
        };
        let sights = read.entities().map(|id| {
            let whole = &self.entities[id].backs;
            Sight::plan(model, query.by, id, whole)
        });
        let sights = sights.filter_map(Result::transpose).collect::<Planned<Vec<_>>>()?;
        let partition = query.partition.as_ref();
        if partition.is_none() && !query.scans() {
            return Err(Unplanned::new("a query needs `PK = …`"));
        }
        let shards = match (&query.through, partition) {
            (Some(through), Some(partition)) => Some(self.shards(through, partition)?),
            _ => None,
        };
        let range = self.bounds(&query.range)?;
        let tests = query.keep.iter().flat_map(|keep| &keep.tests);
        let keep = tests.zip(0..).map(|((entity, test), at)| {
            let told = self.told_in(test.as_ref(), *entity, sights.get(at));
            let test = test.as_ref().map(|test| self.expressions.code(test)).transpose()?;
            Ok(Keep { entity: *entity, test, told })
        });
        let keep = keep.collect::<Planned<Vec<_>>>()?;
        let mut code = |expr: &Expr| self.expressions.code(expr);
        let reading = query.reading.map(usize::try_from).transpose();
        let reading = reading.map_err(|_| Unplanned::new("a filter reads more than memory has"))?;
        let partition = partition.map(&mut code).transpose()?;
        let (direction, turned) = match &query.order {
            Order::Ascending => (Direction::Ascending, None),
            Order::Descending => (Direction::Descending, None),
            Order::DescendingWhen(test) => (Direction::Ascending, Some(code(test)?)),
        };
        let (paging, items_max) = match &query.limit {
            Some(Limit::Page { size, max, sized_by }) => {
                let paging = Paging { size: *size, size_max: *max };
                self.paging.get_or_insert(paging);
                if let Some(name) = sized_by {
                    self.page_size = name.as_str().into();
                }
                (Some(paging), paging.size_max)
            }
            Some(Limit::First(items)) => (None, *items),
            None => return Err(Unplanned::new("a query needs `page` or `first`")),
        };
        Ok(QueryOp {
            entities: read.entities().collect(),
            binding: read.binding,
            index,
            sights,
            partition,
            shards,
            range,
            keep,
            reading,
            direction,
            turned,
            strong,
            paging,
            items_max,
            failure,
        })
    }

    /// The range of the sort key.
    fn bounds(&mut self, range: &Range) -> Planned<Bounds> {
        let mut code = |expr: &Expr| self.expressions.code(expr);
        Ok(match range {
            Range::All => Bounds::All,
            Range::Equal(text) => Bounds::Equal(code(text)?),
            Range::BeginsWith(text) => Bounds::BeginsWith(code(text)?),
            Range::Between(low, high) => Bounds::Between(code(low)?, code(high)?),
            Range::Side { below, inclusive, bound } => {
                Bounds::Side { below: *below, inclusive: *inclusive, bound: code(bound)? }
            }
        })
    }

    /// The attributes that a filter asks for and that an item may have in a key alone.
    fn told_in(&self, test: Option<&Expr>, entity: EntityId, sight: Option<&Sight>) -> Vec<Text> {
        let mut told: Vec<Text> = Vec::new();
        let Some(test) = test else { return told };
        test.walk(&mut |part| {
            let ExprKind::Stored(name) = &part.kind else { return };
            let mut attributes = self.entities[entity].attributes.iter();
            let in_key = match sight {
                Some(sight) => sight.tells(name),
                None => attributes.any(|one| one.in_key && one.name == *name),
            };
            if in_key && !told.iter().any(|known| known == name) {
                told.push(name.as_str().into());
            }
        });
        told
    }

    /// The partitions of a query of several, each with its number.
    fn shards(&mut self, through: &Through, partition: &Expr) -> Planned<Shards> {
        let mut partitions = Vec::new();
        for number in through.low..=through.high {
            self.expressions.through = Some(number);
            partitions.push(self.expressions.code(partition)?);
        }
        self.expressions.through = None;
        let through = (Text::from(through.attribute.as_str()), through.low, through.high);
        Ok(Shards { through, partitions })
    }
}
