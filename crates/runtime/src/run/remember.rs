//! Calls that are answered from what an earlier call has read.

use std::sync::Arc;

use latchkey_table::{Answer as TableAnswer, Error, Item, Request, Resume};

use super::{CallContext, Session};
use crate::answer::Freshness;
use crate::cache::{BYTES_MAX, Before, Cache, Entry, Key, read_bytes};
use crate::call::Caller;
use crate::evaluate::{Bound, Inputs};
use crate::plan::{ByCaller, Cached};
use crate::runtime::Runtime;
use crate::{json, time};

/// What a call has to do with the cache of its contract.
pub(super) struct Memory<'a> {
    cache: &'a Cache,
    contract: &'a Cached,
    state: State,
}

enum State {
    /// Nothing was read yet. A call that begins again reads the table itself.
    Unread { looks: bool },
    /// All reads so far were answered by this entry.
    Answered { entry: Arc<Entry>, reads: usize, age_ms: u64 },
    /// The table is read, and what it answers will be kept.
    Recorded(Recorded),
    /// The table is read, and nothing is kept.
    Unkept,
    /// A read was strong: the call has nothing to do with the cache.
    Strong,
}

/// What a call has read.
struct Recorded {
    key: Key,
    before: Before,
    reads: Vec<(Request, TableAnswer)>,
    bytes: usize,
}

impl<'a> Memory<'a> {
    /// The memory of a call, if its contract has a cache.
    pub(super) fn of(runtime: &'a Runtime, contract: Option<&'a Cached>) -> Option<Memory<'a>> {
        let (cache, contract) = (runtime.cache.as_deref()?, contract?);
        Some(Memory { cache, contract, state: State::Unread { looks: true } })
    }

    /// The call begins again, and reads what it rests on again.
    pub(super) fn begins_again(&mut self) {
        if !matches!(self.state, State::Strong) {
            self.state = State::Unread { looks: false };
        }
    }

    /// Whether an answer of the table is to be kept.
    pub(super) fn records(&self) -> bool {
        matches!(self.state, State::Recorded(_))
    }

    /// Keeps an answer of the table, until the call has ended.
    pub(super) fn record(&mut self, request: &Request, answer: &TableAnswer) {
        let State::Recorded(recorded) = &mut self.state else { return };
        recorded.bytes += read_bytes(request, answer);
        if recorded.bytes > BYTES_MAX {
            self.state = State::Unkept;
            return;
        }
        recorded.reads.push((request.clone(), answer.clone()));
    }

    /// The call has ended. What it has read is kept if it came to an answer, or to a refusal by what it has read. An
    /// answer may be used no longer than the items last that it was made of.
    pub(super) fn ends(
        self,
        status: u16,
        at: i64,
        lasts_ms: Option<i64>,
        open: bool,
    ) -> Option<Freshness> {
        let Memory { cache, contract, state } = self;
        let mut age_s = None;
        match state {
            State::Strong => return None,
            State::Unread { .. } => {}
            State::Answered { age_ms, .. } => {
                age_s = Some(age_ms / 1000);
                cache.count(contract, true);
            }
            State::Unkept => cache.count(contract, false),
            State::Recorded(Recorded { key, before, reads, .. }) => {
                cache.count(contract, false);
                if status < 500 {
                    cache.keep(contract, key, Entry { reads, at, before });
                }
            }
        }
        let lasts_s = match lasts_ms {
            None => contract.seconds,
            Some(ms) => {
                // Who uses the answer counts its age, too.
                let left = u64::try_from(ms / 1000).unwrap_or(0).saturating_add(age_s.unwrap_or(0));
                u32::try_from(left).map_or(contract.seconds, |left| left.min(contract.seconds))
            }
        };
        Some(Freshness { lasts_s, age_s, open })
    }
}

impl Session<'_> {
    /// The instant at which the first of the items ends that the call has found, if one does.
    pub(super) fn first_end(&self) -> Option<i64> {
        let system = self.call.system;
        let ends = |item: &Item| {
            let typed = item.get(&system.discriminator).is_some();
            let own = system.entities.iter().filter(|entity| {
                // An index may leave the type out.
                !typed || entity.is_type_of(&system.discriminator, item)
            });
            let ends = own.filter_map(|entity| item.get(&entity.end.as_ref()?.attribute));
            ends.filter_map(|end| time::parse(end.as_text()?)).min()
        };
        let bound = self.frame.bound.iter().filter_map(|bound| match bound {
            Bound::Item(item) => ends(item),
            Bound::Page(page) => page.items.iter().filter_map(ends).min(),
            Bound::Value(_) | Bound::Nothing => None,
        });
        bound.min()
    }

    /// The answer to a read from memory; nothing if the table must be asked. A call whose reads turn out to be others
    /// than those of the entry begins again, so that no answer is made of reads of two calls.
    pub(super) fn remembered(&mut self, request: &Request) -> Option<Result<TableAnswer, Error>> {
        let memory = self.memory.as_mut()?;
        let eventual = request.is_eventual();
        match &mut memory.state {
            State::Answered { entry, reads, .. } => {
                if eventual && let Some(answer) = entry.answer(*reads, request) {
                    *reads += 1;
                    return Some(Ok(answer.clone()));
                }
                let looks = false;
                memory.state = if eventual { State::Unread { looks } } else { State::Strong };
                Some(Err(Error::Conflict))
            }
            _ if !eventual => {
                memory.state = State::Strong;
                None
            }
            State::Unread { looks } => {
                let (looks, now) = (*looks, self.call.now);
                let (cache, contract) = (memory.cache, memory.contract);
                let key = key(contract, &self.call, self.frame.caller, &self.frame.inputs, request);
                let found = if looks { cache.find(contract, &key, now) } else { None };
                if let Some(found) = found
                    && let Some(answer) = found.entry.answer(0, request).cloned()
                {
                    let (entry, age_ms) = (found.entry, found.age_ms);
                    memory.state = State::Answered { entry, reads: 1, age_ms };
                    return Some(Ok(answer));
                }
                memory.state = match cache.before(contract, now) {
                    Some(before) => {
                        let (reads, bytes) = (Vec::new(), key.len());
                        State::Recorded(Recorded { key, before, reads, bytes })
                    }
                    None => State::Unkept,
                };
                None
            }
            State::Recorded(_) | State::Unkept | State::Strong => None,
        }
    }
}

/// What calls have in common that read the same: the contract, the inputs, the page, and the caller where the reads
/// depend on it. Each request is compared with that of the entry as well, so that a key that says too little costs a
/// read and never gives a wrong answer.
fn key(
    contract: &Cached,
    call: &CallContext<'_>,
    caller: &Caller,
    inputs: &Inputs,
    first: &Request,
) -> Key {
    let mut bytes = Vec::with_capacity(64);
    bytes.extend(contract.number.to_le_bytes());
    // The length of each part is before it, so that no two calls have the same bytes.
    let mut part = |part: &[u8]| {
        bytes.extend(part.len().to_le_bytes());
        bytes.extend(part);
    };
    let mut text = String::new();
    for input in inputs {
        text.clear();
        if let Some(value) = input {
            json::write(value, &mut text);
        }
        part(text.as_bytes());
    }
    part(&call.page_size.map_or_else(Vec::new, |size| size.to_le_bytes().to_vec()));
    match (place(first), &call.cursor) {
        // The place itself: each caller has another cursor for it.
        (Some(place), _) => {
            let keys = place.index_key.iter().chain([&place.key]);
            let texts = keys.flat_map(|key| [&key.partition, &key.sort]);
            texts.for_each(|text| part(text.as_bytes()));
        }
        (None, Some(cursor)) => part(cursor.as_bytes()),
        (None, None) => {}
    }
    match contract.by {
        ByCaller::No => {}
        ByCaller::Roles => caller.roles.iter().for_each(|role| part(role.as_bytes())),
        ByCaller::All => {
            part(caller.id.as_bytes());
            part(&caller.roles.len().to_le_bytes());
            caller.roles.iter().chain(&caller.orgs).for_each(|text| part(text.as_bytes()));
        }
    }
    bytes.into()
}

/// Where a list goes on.
fn place(request: &Request) -> Option<&Resume> {
    match request {
        Request::Query(query) => query.resume.as_ref(),
        Request::IndexScan(scan) => scan.resume.as_ref(),
        _ => None,
    }
}
