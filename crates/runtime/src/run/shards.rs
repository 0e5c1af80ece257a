//! Queries of several partitions, merged in the order of their sort keys.

use std::collections::VecDeque;

use latchkey_table::{Direction, Query, Resume, Text};
use tokio::time::Instant;

use super::read::bad_cursor;
use super::{Ended, Session, too_late};
use crate::bug::Bug;
use crate::cursor::{List, ShardPlaces};
use crate::plan::{QueryOp, Shards};
use crate::shape::Seen;

/// What is read of one partition.
struct Shard {
    /// Where the list went on here.
    from: Option<Resume>,
    /// The last item that was taken.
    taken: Option<Resume>,
    /// The items that were read and not taken, in order, each with its place.
    rest: VecDeque<(Resume, Seen)>,
    /// Where reading stopped, if the list was cut short here.
    cut: Option<Resume>,
}

impl Shard {
    /// Where the list goes on here.
    fn place(&self) -> Option<&Resume> {
        let cut = self.cut.as_ref().filter(|_| self.rest.is_empty());
        cut.or(self.taken.as_ref()).or(self.from.as_ref())
    }

    /// Whether the list does not simply go on behind a sort key here: the next item has that key, or the place is there
    /// or further on.
    fn is_beside(&self, sort: &Text, direction: Direction) -> bool {
        let next = self.rest.front().is_some_and(|(resume, _)| sort_of(resume) == sort);
        let further = |place: &Resume| match direction {
            Direction::Ascending => sort_of(place) >= sort,
            Direction::Descending => sort_of(place) <= sort,
        };
        next || self.place().is_some_and(further)
    }
}

impl Session<'_> {
    /// Reads as much of each partition as the page could need, and takes the first of all.
    pub(super) async fn merged(
        &mut self,
        op: &QueryOp,
        shards: &Shards,
        size: u32,
    ) -> Result<(Vec<Seen>, Option<String>), Ended> {
        let mut queries = Vec::with_capacity(shards.partitions.len());
        for partition in &shards.partitions {
            match self.filler().query_in(op, partition)? {
                Some(query) => queries.push(query),
                None => return self.nothing_lies_there(op),
            }
        }
        let first = queries.first().ok_or_else(|| Bug::new("a query reads no partition"))?;
        let direction = first.direction;
        let mut places: Vec<Option<Resume>> = queries.iter().map(|_| None).collect();
        if let Some(cursor) = self.call.cursor.clone().filter(|_| op.paging.is_some()) {
            let sealer = &self.call.runtime.sealer;
            let opened =
                sealer.open_shards(&self.cursor_use(List::Query(first)), &queries, &cursor)?;
            places = opened.ok_or_else(bad_cursor)?;
        }
        let wanted = usize::try_from(size).map_err(|_| Bug::new("a page is larger than memory"))?;
        // One more, to tell whether there are more.
        let most = wanted + usize::from(op.paging.is_some());
        let mut all = Vec::with_capacity(queries.len());
        for (query, from) in queries.iter().zip(places) {
            if Instant::now() > self.call.deadline {
                return Err(Ended::Refused(too_late()));
            }
            let mut query = Query { resume: from.clone(), ..query.clone() };
            let mut rest = VecDeque::new();
            let (items, cut) = self.range(op, &mut query, most, op.paging.is_some()).await?;
            for seen in items {
                let place = query.behind(&seen.item);
                rest.push_back((place.map_err(|reason| self.refused(&reason.into()))?, seen));
            }
            all.push(Shard { from, taken: None, rest, cut });
        }
        let (items, last) = take(&mut all, wanted, direction);
        let more = |shard: &Shard| !shard.rest.is_empty() || shard.cut.is_some();
        let more = op.paging.is_some() && all.iter().any(more);
        let next = match last.filter(|_| more) {
            Some(last) => Some(self.goes_on(&queries, &all, last)?),
            None => None,
        };
        Ok((items, next))
    }

    /// The cursor that goes on behind the last item that was taken.
    fn goes_on(
        &self,
        queries: &[Query],
        all: &[Shard],
        last: (usize, Resume),
    ) -> Result<String, Ended> {
        let first = queries.first().ok_or_else(|| Bug::new("a query reads no partition"))?;
        let sort = sort_of(&last.1);
        let own = all
            .iter()
            .enumerate()
            .filter(|(at, shard)| *at != last.0 && shard.is_beside(sort, first.direction));
        let own = own.map(|(at, shard)| (at, shard.place().cloned())).collect();
        let places = ShardPlaces { last, own };
        let sealer = &self.call.runtime.sealer;
        Ok(sealer.seal_shards(&self.cursor_use(List::Query(first)), queries, &places)?)
    }
}

/// Takes the first items of all partitions; of two with one sort key, that of the partition with the lesser number. No
/// item is taken behind the place where the list was cut short in a partition: others may lie between. The place behind
/// the last item is told, or the place of the first cut, if that ends the page.
fn take(
    all: &mut [Shard],
    wanted: usize,
    direction: Direction,
) -> (Vec<Seen>, Option<(usize, Resume)>) {
    let order = |(a, one): &(&Text, usize), (b, other): &(&Text, usize)| {
        let order = match direction {
            Direction::Ascending => a.cmp(b),
            Direction::Descending => b.cmp(a),
        };
        order.then_with(|| one.cmp(other))
    };
    let cuts = all.iter().enumerate().filter_map(|(at, shard)| Some((at, shard.cut.clone()?)));
    let cut = cuts.min_by(|(at, a), (other, b)| order(&(sort_of(a), *at), &(sort_of(b), *other)));
    let (mut items, mut last) = (Vec::new(), None);
    while items.len() < wanted {
        let heads = all
            .iter()
            .enumerate()
            .filter_map(|(at, shard)| shard.rest.front().map(|(resume, _)| (sort_of(resume), at)));
        let first = heads.min_by(order);
        let first = first.filter(|first| match &cut {
            Some((at, cut)) => order(first, &(sort_of(cut), *at)).is_le(),
            None => true,
        });
        let Some((_, at)) = first else { return (items, cut.or(last)) };
        let Some(shard) = all.get_mut(at) else { break };
        let Some((resume, seen)) = shard.rest.pop_front() else { break };
        items.push(seen);
        shard.taken = Some(resume.clone());
        last = Some((at, resume));
    }
    (items, last)
}

/// The key by which items of several partitions are merged.
fn sort_of(resume: &Resume) -> &Text {
    &resume.index_key.as_ref().unwrap_or(&resume.key).sort
}
