//! Looking into a queue and cleaning it up, in bounded steps.

use std::sync::Arc;

use latchkey_embedded::{Pending, Stamp};
use latchkey_table::{
    Delete, Error as TableError, Item, Leg, Resume, Returning, SortRange, Text, Transact,
    Transacted, Value,
};

use super::mend::is_pause;
use super::stored::{LEASE, Part, Place, Stored, grouped};
use super::{Blocked, Embedded, again};
use crate::limits::{COUNT_MAX, COUNT_QUERIES_MAX, PAGE_MAX};
use crate::{Count, Depth, Error, Message, TryFailure, dead};

/// Which messages of a queue are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Those that wait, whether or not they are due.
    Waiting,
    /// Those that someone holds, and those whose lease is over and that nobody has received since.
    Held,
    /// Those that were given up.
    Dead,
}

/// A message that was looked at and left where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peeked {
    /// The message.
    pub message: Arc<Message>,
    /// How often it was tried.
    pub tries: u32,
    /// How the last try failed.
    pub failure: Option<TryFailure>,
    /// When it is due, when its lease is over, or when it was given up.
    pub at: i64,
}

impl Embedded {
    /// How full the queue is. Each number is counted to 10,000, or as far as 16 queries lead.
    pub async fn depth(&self) -> Result<Depth, Error> {
        let now = self.shared.now();
        let messages = self.shared.home.messages();
        let count = async |range| self.count(messages.clone(), range).await;
        if self.shared.home.is_ordered() {
            let in_hand = u64::try_from(self.shared.in_hand()).unwrap_or(u64::MAX);
            let placed = count(grouped()).await? + count(Part::Waiting.until(now)).await?;
            let heads = self.shared.heads().await?;
            let oldest = heads.iter().map(|head| head.place.at()).min();
            let put_off =
                heads.iter().filter(|head| head.again_at.is_some_and(|at| is_pause(at, now)));
            let put_off = u64::try_from(put_off.count()).unwrap_or(u64::MAX);
            let not_waiting = in_hand.saturating_add(put_off);
            return Ok(Depth {
                visible: Count { counted: placed.counted.saturating_sub(not_waiting), ..placed },
                delayed: count(Part::Waiting.after(now)).await? + Count::exactly(put_off),
                in_flight: Count::exactly(in_hand),
                oldest_ms: oldest.map(|at| u64::try_from(now.saturating_sub(at)).unwrap_or(0)),
                blocked: Some(heads.into_iter().filter_map(Blocked::by).count()),
            });
        }
        self.shared.load_holds(now)?;
        let (held, lapsed, oldest) = self.shared.count_holds();
        let exactly = |count| Count::exactly(u64::try_from(count).unwrap_or(u64::MAX));
        let first = self.messages(Part::Waiting.until(now), 1, None)?.0.pop();
        let oldest = oldest.into_iter().chain(first.map(|stored| stored.due_at)).min();
        Ok(Depth {
            visible: count(Part::Waiting.until(now)).await? + exactly(lapsed),
            delayed: count(Part::Waiting.after(now)).await?,
            in_flight: exactly(held),
            oldest_ms: oldest.map(|due| u64::try_from(now.saturating_sub(due)).unwrap_or(0)),
            blocked: None,
        })
    }

    /// The groups of an ordered queue that their first message holds up, of the first 10,000 groups.
    pub async fn blocked(&self) -> Result<Vec<Blocked>, Error> {
        Ok(self.shared.heads().await?.into_iter().filter_map(Blocked::by).collect())
    }

    /// When the first of the messages that wait could be received, or could have been; nothing if none waits.
    pub async fn first_due(&self) -> Result<Option<i64>, Error> {
        let now = self.shared.now();
        while self.shared.mend(now).await? {}
        let (first, _) = self.messages(Part::Waiting.all(), 1, None)?;
        let heads = self.shared.heads().await?;
        let pause = |head: &Stored| head.again_at.filter(|at| is_pause(*at, now));
        let heads = heads.iter().map(|head| pause(head).unwrap_or(head.due_at));
        Ok(first.iter().map(|first| first.place.at()).chain(heads).min())
    }

    /// How many dead letters there are, counted as far as [`Embedded::depth`] does.
    pub async fn letters(&self) -> Result<Count, Error> {
        self.count(self.shared.home.letters(), SortRange::All).await
    }

    async fn count(&self, partition: Text, range: SortRange) -> Result<Count, Error> {
        let (mut counted, mut resume) = (0, None);
        for _ in 0..COUNT_QUERIES_MAX {
            let limit = usize::try_from(COUNT_MAX.saturating_sub(counted)).unwrap_or(usize::MAX);
            if limit == 0 {
                break;
            }
            let query = self.shared.home.query(partition.clone(), range.clone(), limit, resume);
            let page = self.shared.store.query(&query)?;
            counted += u64::try_from(page.items.len()).unwrap_or(u64::MAX);
            resume = page.resume;
            if resume.is_none() {
                return Ok(Count::exactly(counted));
            }
            // A count takes a while; others have their turn.
            tokio::task::yield_now().await;
        }
        // A page that ends exactly at the limit need not have another behind it.
        let behind = self.shared.home.query(partition, range, 1, resume);
        let more = !self.shared.store.query(&behind)?.items.is_empty();
        Ok(Count { counted, more })
    }

    /// Looks at some messages, and says where to go on.
    pub fn peek(
        &self,
        which: Which,
        limit: usize,
        resume: Option<Resume>,
    ) -> Result<(Vec<Peeked>, Option<Resume>), Error> {
        let limit = limit.clamp(1, PAGE_MAX);
        let range = match which {
            Which::Waiting if self.shared.home.is_ordered() => SortRange::All,
            Which::Held if self.shared.home.is_ordered() => grouped(),
            Which::Waiting => Part::Waiting.all(),
            Which::Held => Part::Held.all(),
            Which::Dead => {
                let page = self.shared.store.query(&dead::query(self.home(), limit, resume))?;
                let letters =
                    page.items.into_iter().filter_map(|item| dead::read(self.home(), item));
                return Ok((letters.map(Peeked::from).collect(), page.resume));
            }
        };
        let (found, resume) = self.messages(range, limit, resume)?;
        let found = found.into_iter().filter(|stored| self.is_meant(which, stored));
        Ok((found.map(Peeked::from).collect(), resume))
    }

    /// Whether a message is of those that are meant. On an ordered queue all lie in one place.
    fn is_meant(&self, which: Which, stored: &Stored) -> bool {
        let in_hand = self.shared.is_in_hand(stored);
        match (which, &stored.place) {
            (Which::Waiting, Place::Group(..)) => !in_hand,
            (Which::Held, Place::Group(..)) => in_hand,
            (Which::Waiting, Place::At(part, _)) => *part == Part::Waiting,
            (Which::Held, Place::At(part, _)) => *part == Part::Held,
            (Which::Dead, _) => false,
        }
    }

    /// Sends a dead letter again, due now and with all its tries before it. False if there is none of
    /// this id.
    pub async fn redrive(&self, id: &str) -> Result<bool, Error> {
        let item = self.shared.store.get(&dead::get(self.home(), id))?.item;
        let letter = item.and_then(|item| dead::read(self.home(), item));
        let Some(letter) = letter else { return Ok(false) };
        Ok(self.redrive_each(vec![letter]).await? == 1)
    }

    /// Sends all dead letters again, and says how many there were. One that dies again meanwhile stays.
    pub async fn redrive_all(&self) -> Result<u64, Error> {
        let (mut count, mut resume) = (0, None);
        loop {
            let query = dead::query(self.home(), PAGE_MAX, resume);
            let page = self.shared.store.query(&query)?;
            let letters =
                page.items.into_iter().filter_map(|item| dead::read(self.home(), item)).collect();
            count += self.redrive_each(letters).await?;
            resume = page.resume;
            if resume.is_none() {
                return Ok(count);
            }
        }
    }

    async fn redrive_each(&self, letters: Vec<dead::Letter>) -> Result<u64, Error> {
        let home = self.home();
        let sent = letters.into_iter().map(|letter| {
            // Its place is that of the stamp: it goes last.
            let now = self.shared.now();
            let redrive = |stamp: Stamp| {
                let message = letter.message.clone();
                dead::redrive(home, &letter, again(home, message, now, stamp))
            };
            self.stamped(now, redrive).1
        });
        let count = each(sent.collect()).await?;
        self.look_again();
        Ok(count)
    }

    /// Removes messages, and says how many. What comes or moves meanwhile may stay.
    pub async fn purge(&self, which: Which) -> Result<u64, Error> {
        let (partition, range) = match which {
            Which::Waiting | Which::Held if self.shared.home.is_ordered() => {
                return self.purge_groups(which).await;
            }
            Which::Waiting => (self.shared.home.messages(), Part::Waiting.all()),
            Which::Held => (self.shared.home.messages(), Part::Held.all()),
            Which::Dead => (self.shared.home.letters(), SortRange::All),
        };
        let (mut count, mut resume) = (0, None);
        loop {
            let query = self.home().query(partition.clone(), range.clone(), PAGE_MAX, resume);
            let page = self.shared.store.query(&query)?;
            count += self.delete_each(&page.items).await?;
            resume = page.resume;
            if resume.is_none() {
                return Ok(count);
            }
        }
    }

    async fn purge_groups(&self, which: Which) -> Result<u64, Error> {
        let (mut count, mut resume) = (0, None);
        loop {
            let (mut found, after) = self.messages(SortRange::All, PAGE_MAX, resume)?;
            found.retain(|stored| self.is_meant(which, stored));
            let legs = |stored: &Stored| vec![Leg::Delete(stored.delete(self.home()))];
            count += self.transact_each(found.iter().map(|s| Transact { legs: legs(s) })).await?;
            resume = after;
            if resume.is_none() {
                self.look_again();
                return Ok(count);
            }
        }
    }

    async fn delete_each(&self, items: &[Item]) -> Result<u64, Error> {
        let table = self.home().table();
        let keys = items.iter().filter_map(|item| table.key.of(item));
        // All are handed in before the first is awaited: the store commits them together.
        let pending: Vec<_> = keys
            .map(|key| {
                let delete = Delete { table: Arc::clone(table), key, condition: None };
                self.shared.store.delete(delete, Returning::Old)
            })
            .collect();
        let mut count = 0;
        for pending in pending {
            count += u64::from(pending.await?.item.is_some());
        }
        for item in items {
            self.shared.let_go(item.get(LEASE).and_then(Value::as_number));
        }
        Ok(count)
    }

    /// Ends every lease. For the start of a process: a store has one, so whoever held them is gone. Messages of
    /// a queue that has an order since, or has none any more, go where they belong by now.
    pub async fn recover(&self) -> Result<u64, Error> {
        let mut count = 0;
        let ordered = self.shared.home.is_ordered();
        // What has its place in a group of an ordered queue keeps it; nobody in this process holds it yet.
        let left = if ordered { None } else { Some(grouped()) };
        for range in [Part::Held.all()].into_iter().chain(left) {
            let mut resume = None;
            loop {
                let (found, after) = self.messages(range.clone(), PAGE_MAX, resume)?;
                let now = self.shared.now();
                let moves = found.iter().filter_map(|held| {
                    // The lease may have begun by a clock that was ahead.
                    let waiting = held.ungrouped(held.due_at.min(now));
                    let legs = held.moved_to(&waiting, self.home());
                    (ordered || !is_over(held, now)).then_some(Transact { legs })
                });
                count += self.transact_each(moves).await?;
                found.iter().filter(|held| !is_over(held, now)).for_each(|held| {
                    // Whoever has it by now has another lease.
                    self.shared.let_go(held.lease);
                });
                resume = after;
                if resume.is_none() {
                    break;
                }
            }
        }
        self.look_again();
        Ok(count)
    }

    /// Makes each move whose message is still there, and says how many were.
    async fn transact_each(&self, moves: impl Iterator<Item = Transact>) -> Result<u64, Error> {
        each(moves.map(|transact| self.shared.store.transact(transact)).collect()).await
    }

    fn messages(
        &self,
        range: SortRange,
        limit: usize,
        resume: Option<Resume>,
    ) -> Result<(Vec<Stored>, Option<Resume>), Error> {
        let home = self.home();
        let page = self.shared.store.query(&home.query(home.messages(), range, limit, resume))?;
        let read = |item| Stored::read(home, item);
        Ok((page.items.into_iter().filter_map(read).collect(), page.resume))
    }
}

/// Whether a lease of another process is over.
fn is_over(held: &Stored, now: i64) -> bool {
    matches!(held.place, Place::At(_, until) if until <= now)
}

/// How many writes were made; those whose message is gone were not.
async fn each(pending: Vec<Pending<Transacted>>) -> Result<u64, Error> {
    let mut count = 0;
    for pending in pending {
        match pending.await {
            Ok(_) => count += 1,
            Err(TableError::ConditionFailed(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(count)
}

impl From<Stored> for Peeked {
    fn from(stored: Stored) -> Peeked {
        Peeked {
            message: stored.message,
            tries: u32::try_from(stored.tries).unwrap_or(u32::MAX),
            failure: stored.failure,
            at: stored.again_at.unwrap_or_else(|| stored.place.at()),
        }
    }
}

impl From<dead::Letter> for Peeked {
    fn from(letter: dead::Letter) -> Peeked {
        Peeked {
            message: Arc::new(letter.message),
            tries: letter.tries,
            failure: Some(letter.failure),
            at: letter.died_at,
        }
    }
}
