//! What a call costs on its most expensive way through a contract, in one attempt. The record behind an
//! `Idempotency-Key` comes on top.

use latchkey_value::limits::{ENDED_ITEMS_MAX, INDEXES_MAX, QUERY_BYTES_MAX};
use latchkey_value::{Capacity, Consistency};

use super::size::{item_bytes_max, read_bytes_max, record_bytes_max};
use crate::model::{
    By, Entity, EntityId, FailureKind, IdVec, IndexShape, Leg, Limit, Model, PutMode, Queue, Read,
    Send, Step, StepKind, Strong, Template, Through, Verb, What,
};

/// How many items a query without a bound is taken to read; another rule tells of it.
const UNBOUNDED_ITEMS: u64 = 100;

/// How many items a query reads at least, once it goes on because some were dropped.
const READ_AGAIN_ITEMS: u64 = 100;

/// In how many more requests a query passes over items that have ended.
const ENDED_REQUESTS: u64 = 4;

/// What a step takes from one partition.
pub(super) struct Charge<'a> {
    /// The index, or else the table.
    pub(super) index: Option<&'a str>,
    /// The partition's template.
    pub(super) partition: &'a Template,
    /// With items as large as they are declared, and as many as a query may read.
    pub(super) largest: Capacity,
    /// With items within one unit, each of them and what a query reads.
    pub(super) smallest: Capacity,
    /// Over how many partitions of the template this is spread evenly, if it is over several.
    pub(super) over: Option<u64>,
    /// What a query reads beyond that, at most, to pass over items that have ended.
    pub(super) ended: Capacity,
}

/// What each item of a model can cost.
pub(super) struct Prices<'a> {
    model: &'a Model,
    /// The bytes of the largest item of each entity.
    bytes: IdVec<EntityId, usize>,
}

impl<'a> Prices<'a> {
    pub(super) fn new(model: &'a Model) -> Prices<'a> {
        let bytes = model.entities.map(|_, entity| item_bytes_max(model, entity));
        Prices { model, bytes }
    }

    /// What a step takes from each partition it comes to, in a transaction or not. Steps within it are not counted.
    pub(super) fn charges(&self, step: &Step, in_transaction: bool) -> Vec<Charge<'a>> {
        match &step.kind {
            StepKind::Read(read) => {
                let (entity, _) = self.entity(read.entity);
                let by = match &read.what {
                    What::Query(query) => query.by,
                    What::Get(_) | What::Batch(_) | What::Part(_) => By::Table,
                };
                let bytes = read.entities().map(|entity| self.read_bytes(entity, by));
                let bytes = bytes.max().unwrap_or(0);
                let ends = read.entities().any(|id| self.model.entities[id].is_expiring());
                read_charge(entity, read, bytes, ends).into_iter().collect()
            }
            StepKind::Write(leg) => {
                let (entity, bytes) = self.entity(leg.entity);
                write_charges(self.model, entity, leg, bytes, in_transaction)
            }
            StepKind::Send(send) => vec![send_charge(&self.model.queues[send.queue], send)],
            _ => Vec::new(),
        }
    }

    /// The bytes of the largest item that a read finds.
    fn read_bytes(&self, id: EntityId, by: By) -> usize {
        match self.model.partial(by) {
            Some(_) => read_bytes_max(self.model, &self.model.entities[id], by),
            None => self.bytes[id],
        }
    }

    fn entity(&self, id: EntityId) -> (&'a Entity, usize) {
        (&self.model.entities[id], self.bytes[id])
    }
}

/// The record of a send is written in its transaction and removed once the queue has taken it.
fn send_charge<'a>(queue: &'a Queue, send: &Send) -> Charge<'a> {
    let times = |bytes: usize| Capacity::write(0, bytes).times(3);
    Charge {
        index: None,
        partition: &queue.outbox,
        largest: times(record_bytes_max(queue, send)),
        smallest: times(0),
        over: None,
        ended: Capacity::ZERO,
    }
}

/// What a read takes; a part of what was read takes nothing.
fn read_charge<'a>(
    entity: &'a Entity,
    read: &Read,
    bytes: usize,
    ends: bool,
) -> Option<Charge<'a>> {
    let one = |bytes: usize| match (&read.what, &read.strong) {
        (What::Batch(batch), _) if batch.snapshot => Capacity::snapshot_read(bytes),
        (What::Get(_), _) if read.snapshot.is_some() => Capacity::snapshot_read(bytes),
        (_, Strong::No) => Capacity::read(bytes, Consistency::Eventual),
        _ => Capacity::read(bytes, Consistency::Strong),
    };
    let (by, largest, smallest) = match &read.what {
        What::Get(_) => (By::Table, one(bytes), one(0)),
        What::Batch(batch) => {
            (By::Table, one(bytes).times(batch.count()), one(0).times(batch.count()))
        }
        What::Query(query) => {
            let items = match (&query.limit, query.reading) {
                // What a filter drops is paid for, too.
                (_, Some(reading)) => u64::from(reading),
                // One more, to tell whether the page is the last.
                (Some(Limit::Page { max, .. }), None) => u64::from(*max).saturating_add(1),
                (Some(Limit::First(most)), None) => u64::from(*most),
                (None, None) => UNBOUNDED_ITEMS,
            };
            let bytes = bytes.saturating_mul(usize::try_from(items).unwrap_or(usize::MAX));
            // Each of several requests is rounded up by itself.
            let cuts = u64::try_from(bytes / QUERY_BYTES_MAX).unwrap_or(u64::MAX);
            let partitions = query.through.as_ref().map_or(1, Through::count);
            // A filter may drop all of the first request, and then reads at least so many at once.
            let more = query.reading.map_or(0, |most| u64::from(most).div_ceil(READ_AGAIN_ITEMS));
            let each = one(bytes) + one(0).times(cuts.saturating_add(more));
            let least = one(0).times(more.saturating_add(1));
            (query.by, each.times(partitions), least.times(partitions))
        }
        What::Part(_) => return None,
    };
    let shape = entity.indexes.iter().find(|shape| by == By::Index(shape.index));
    let through = match &read.what {
        What::Query(query) => query.through.as_ref(),
        What::Get(_) | What::Batch(_) | What::Part(_) => None,
    };
    // They come in requests of at least 100 items, each rounded up by itself. Those of a filter are in its bound.
    let ended = match &read.what {
        What::Query(query) if ends && query.reading.is_none() => {
            let one = one(bytes.saturating_mul(ENDED_ITEMS_MAX)) + one(0).times(ENDED_REQUESTS);
            one.times(through.map_or(1, Through::count))
        }
        _ => Capacity::ZERO,
    };
    Some(Charge {
        over: through.map(Through::count),
        index: shape.map(|shape| shape.name.as_str()),
        partition: &shape.map_or(&entity.key, |shape| &shape.key).partition,
        largest,
        smallest,
        ended,
    })
}

fn write_charges<'a>(
    model: &Model,
    entity: &'a Entity,
    leg: &Leg,
    bytes: usize,
    in_transaction: bool,
) -> Vec<Charge<'a>> {
    let charge = |index, partition, bytes: usize, times: u64| Charge {
        index,
        partition,
        largest: Capacity::write(0, bytes).times(times),
        smallest: Capacity::write(0, 0).times(times),
        over: None,
        ended: Capacity::ZERO,
    };
    let table = charge(None, &entity.key.partition, bytes, if in_transaction { 2 } else { 1 });
    // Not doubled in a transaction. More indexes than these no table has.
    let indexes = entity.indexes.iter().take(INDEXES_MAX).map(|index| {
        let by = By::Index(index.index);
        let held = model.partial(by).map_or(bytes, |_| read_bytes_max(model, entity, by));
        let times = index_writes(model, entity, index, leg);
        charge(Some(index.name.as_str()), &index.key.partition, held, times)
    });
    let written = |charge: &Charge<'_>| charge.smallest.write > 0;
    // A store that does not tell what it refused a write for is asked whether the item is there. Of a transaction every
    // store tells, and a `check` is always one.
    let asks = leg.absent.is_some() && leg.verb != Verb::Check && !in_transaction;
    let read = |bytes: usize| Capacity::read(bytes, Consistency::Strong);
    let asked = asks.then(|| Charge {
        index: None,
        partition: &entity.key.partition,
        largest: read(bytes),
        smallest: read(0),
        over: None,
        ended: Capacity::ZERO,
    });
    std::iter::once(table).chain(indexes).filter(written).chain(asked).collect()
}

/// How often a write of an item writes to an index: twice where the item may move, and not at all where it changes
/// nothing that the index holds.
fn index_writes(model: &Model, entity: &Entity, index: &IndexShape, leg: &Leg) -> u64 {
    let parts = index.key.attributes();
    let touches = || {
        let given = leg.values.iter().chain(&leg.adds).map(|given| given.attribute.as_str());
        let mut changed = given.chain(leg.removes.iter().map(String::as_str));
        let by = By::Index(index.index);
        changed.any(|name| {
            let expiry = entity.is_end(name) && model.has(by, &model.table.ttl);
            parts.contains(&name) || model.has(by, name) || expiry
        })
    };
    match leg.verb {
        Verb::Check => 0,
        Verb::Update if !touches() => 0,
        Verb::Update | Verb::Upsert
            if index.moves && leg.moves_in(entity, index).next().is_some() =>
        {
            2
        }
        Verb::Put if index.moves && leg.put != Some(PutMode::IfAbsent) => 2,
        Verb::Put | Verb::Update | Verb::Upsert | Verb::Delete => 1,
    }
}

/// The most that the steps of one way through can weigh together. A step is weighed by itself, without those within
/// it, and with whether it is in a transaction.
pub(super) fn worst<'a>(steps: &'a [Step], weigh: &impl Fn(&'a Step, bool) -> u64) -> u64 {
    let ways = walk(steps, false, weigh);
    ways.ended.max(ways.through.unwrap_or(0))
}

/// The heaviest of the ways that end within some steps, and of those that go on behind them.
struct Ways {
    ended: u64,
    through: Option<u64>,
}

fn walk<'a>(
    steps: &'a [Step],
    in_transaction: bool,
    weigh: &impl Fn(&'a Step, bool) -> u64,
) -> Ways {
    let (mut ended, mut so_far) = (0, 0u64);
    for (at, step) in steps.iter().enumerate() {
        let paid = asked_with(steps, at).map(|step| weigh(step, in_transaction));
        so_far = paid.fold(so_far, u64::saturating_add);
        let within = match &step.kind {
            StepKind::When(_, yes, no) => {
                let (yes, no) = (walk(yes, in_transaction, weigh), walk(no, in_transaction, weigh));
                let through = yes.through.max(no.through);
                Ways { ended: yes.ended.max(no.ended), through }
            }
            StepKind::Transact(legs) => {
                // What a refused leg does comes when all of them are paid for.
                let ways = walk(legs, true, weigh);
                let paid = ways.through.unwrap_or(0);
                Ways { ended: paid.saturating_add(refused(legs, weigh)), through: Some(paid) }
            }
            StepKind::Each(each) => {
                let ways = walk(&each.body, in_transaction, weigh);
                let once = ways.through.unwrap_or(0);
                Ways { ended: 0, through: Some(once.saturating_mul(each.most)) }
            }
            StepKind::Return(_) | StepKind::End(_) => Ways { ended: 0, through: None },
            StepKind::Send(send) => {
                // The statements after a send are part of the cost of the call.
                let blocks = [&send.accepted, &send.refused].into_iter().flatten();
                let after = blocks.map(|block| worst(&block.steps, weigh)).max();
                Ways { ended: 0, through: Some(after.unwrap_or(0)) }
            }
            // In a transaction, what is done about a leg is for the transaction.
            StepKind::Write(_) if in_transaction => Ways { ended: 0, through: Some(0) },
            StepKind::Allow(_)
            | StepKind::Require(..)
            | StepKind::Match(..)
            | StepKind::Let(..)
            | StepKind::Read(_)
            | StepKind::Write(_) => otherwise(step, weigh),
        };
        ended = ended.max(so_far.saturating_add(within.ended));
        match within.through {
            Some(through) => so_far = so_far.saturating_add(through),
            None => return Ways { ended, through: None },
        }
    }
    Ways { ended, through: Some(so_far) }
}

/// The steps that are paid for where a step begins: itself, and of the gets of a `snapshot` all at the first.
fn asked_with(steps: &[Step], at: usize) -> impl Iterator<Item = &Step> {
    let with = |a: usize, b: usize| match (
        steps.get(a).map(|it| &it.kind),
        steps.get(b).map(|it| &it.kind),
    ) {
        (Some(StepKind::Read(a)), Some(StepKind::Read(b))) => a.is_with(b),
        _ => false,
    };
    let paid = at.checked_sub(1).is_some_and(|before| with(before, at));
    let end = (at + 1..steps.len()).find(|other| !with(at, *other)).unwrap_or(steps.len());
    let end = if paid { at } else { end };
    steps.get(at..end).unwrap_or_default().iter()
}

/// The ways from a failure: those that go on are those without it.
fn otherwise<'a>(step: &'a Step, weigh: &impl Fn(&'a Step, bool) -> u64) -> Ways {
    let ended = step.failures().map(|failure| match &failure.kind {
        FailureKind::Steps(steps) => worst(steps, weigh),
        _ => 0,
    });
    Ways { ended: ended.max().unwrap_or(0), through: Some(0) }
}

/// The most that is done about a leg that is refused.
fn refused<'a>(legs: &'a [Step], weigh: &impl Fn(&'a Step, bool) -> u64) -> u64 {
    let one = |step: &'a Step| match &step.kind {
        StepKind::When(_, yes, no) => refused(yes, weigh).max(refused(no, weigh)),
        StepKind::Each(each) => refused(&each.body, weigh),
        StepKind::Write(_) => otherwise(step, weigh).ended,
        _ => 0,
    };
    legs.iter().map(one).max().unwrap_or(0)
}
