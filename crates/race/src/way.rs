//! The way an act takes: what it asks, what it finds, and how it ends, without the values.

use std::hash::{DefaultHasher, Hash, Hasher};

use latchkey_table::{Answer, Key, Request, Text};

use crate::act::{Act, Reply};
use crate::conflict::{keys, met};
use crate::lab::Lab;
use crate::machine::{Effect, Event, Machine, Step, Stuck};
use crate::table::Table;

/// Two requests that meet, each by its place, and the kinds of the items.
pub(crate) type Meeting = (usize, usize, Vec<(String, String)>);

/// An act that ran alone.
#[derive(Debug)]
pub(crate) struct Alone {
    pub(crate) act: Act,
    pub(crate) events: Vec<Event>,
    pub(crate) told: Option<Reply>,
    /// The table it left.
    pub(crate) table: Table,
    /// The table before it, and after each of its commits.
    pub(crate) versions: Vec<Table>,
    /// The way it took.
    pub(crate) way: u64,
    /// The items it named.
    pub(crate) keys: Vec<Key>,
    pub(crate) commits: usize,
    /// The partitions it named, in their order.
    partitions: Vec<Text>,
    /// Whether it asked for a write, be it refused.
    writes: bool,
    /// Whether it asked an index, whose partitions are others.
    by_index: bool,
}

impl Alone {
    /// Runs an act alone.
    pub(crate) fn run(lab: &Lab, table: &Table, act: &Act, seed: u64) -> Result<Alone, Stuck> {
        let mut machine = Machine::start(lab, table, std::slice::from_ref(act), seed)?;
        while !machine.is_over() {
            machine.step(Step::Run(0))?;
        }
        let Machine { table, versions, mut acting, events, .. } = machine;
        let acting = acting.pop().ok_or_else(|| Stuck("nothing ran".to_owned()))?;
        let told = acting.told.flatten();
        if told.as_ref().and_then(|told| told.code.as_deref()) == Some("internal-error") {
            return Err(Stuck(format!(
                "a bug of Latchkey: {} ends with `internal-error`",
                act.body
            )));
        }
        let way = way(act, &events, told.as_ref());
        let mut keys: Vec<Key> = events.iter().flat_map(|event| keys(&event.request)).collect();
        keys.sort_unstable();
        keys.dedup();
        let commits = acting.commits;
        let mut partitions: Vec<Text> = keys.iter().map(|key| key.partition.clone()).collect();
        partitions.dedup();
        let writes = events.iter().any(|event| event.request.writes());
        let by_index = events.iter().any(|event| match &event.request {
            Request::Query(query) => query.index.is_some(),
            request => matches!(request, Request::IndexScan(_)),
        });
        let act = act.clone();
        Ok(Alone {
            act,
            events,
            told,
            table,
            versions,
            way,
            keys,
            commits,
            partitions,
            writes,
            by_index,
        })
    }

    /// Which of its reads find what those of the same act elsewhere do, and whether the answers are the same.
    pub(crate) fn same_as(&self, other: &Alone) -> (Vec<bool>, bool) {
        let both = self.events.iter().zip(&other.events);
        let same = both.map(|(one, other)| match (&one.effect, &other.effect) {
            (Effect::Read(one), Effect::Read(other)) => one == other,
            (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
        });
        (same.collect(), self.told == other.told)
    }

    /// Which of its reads would find something else if another act had run before.
    pub(crate) fn changed_by(&self, other: &Alone, table: &Table) -> Vec<bool> {
        let reads = self.events.iter().filter(|event| !event.request.writes());
        let is_changed =
            |event: &Event| table.read(&event.request) != other.table.read(&event.request);
        reads.map(is_changed).collect()
    }

    /// Whether it did what it is for.
    pub(crate) fn succeeded(&self) -> bool {
        self.told.as_ref().is_some_and(|told| told.code.is_none())
    }

    /// Whether a request of this may meet one of the other: most do not, and this is cheap to see.
    fn may_meet(&self, other: &Alone) -> bool {
        let shared =
            || self.partitions.iter().any(|own| other.partitions.binary_search(own).is_ok());
        (self.writes || other.writes) && (self.by_index || other.by_index || shared())
    }

    /// Which request of this meets which of the other, where the order can matter, and on how many items of which
    /// kinds.
    pub(crate) fn meets(&self, other: &Alone, table: &Table) -> Vec<Meeting> {
        let mut all = Vec::new();
        if !self.may_meet(other) {
            return all;
        }
        for (at, mine) in self.events.iter().enumerate() {
            for (there, its) in other.events.iter().enumerate() {
                let mut kinds = Vec::new();
                for (write, request) in [(mine, its), (its, mine)] {
                    if write.request.writes() {
                        let met = met(&write.request, &request.request, table);
                        kinds.extend(met.iter().map(|key| {
                            (shape(&key.partition).to_owned(), shape(&key.sort).to_owned())
                        }));
                    }
                }
                if !kinds.is_empty() {
                    all.push((at, there, kinds));
                }
            }
        }
        all
    }
}

/// The way an act took, as a number.
fn way(act: &Act, events: &[Event], told: Option<&Reply>) -> u64 {
    let mut hasher = DefaultHasher::new();
    act.body.hash(&mut hasher);
    for event in events {
        std::mem::discriminant(&event.request).hash(&mut hasher);
        for key in keys(&event.request) {
            shape(&key.partition).hash(&mut hasher);
            shape(&key.sort).hash(&mut hasher);
        }
        match &event.effect {
            Effect::Read(answer) => found(&event.request, answer).hash(&mut hasher),
            Effect::Committed(changed) => (10, changed.len()).hash(&mut hasher),
            Effect::Refused(leg) => (11, leg).hash(&mut hasher),
            Effect::Failed(_) => 12.hash(&mut hasher),
        }
    }
    told.map(|told| (told.status, &told.code)).hash(&mut hasher);
    hasher.finish()
}

/// How many items a read found: none, one, or several.
fn found(request: &Request, answer: &Answer) -> usize {
    let count = match answer {
        Answer::Got(got) => usize::from(got.item.is_some()),
        Answer::GotMany(got) => got.items.iter().flatten().count(),
        Answer::Page(page) => page.items.len(),
        Answer::Wrote(_) | Answer::Transacted(_) => 0,
    };
    debug_assert!(!request.writes());
    count.min(2)
}

/// A key without its values: what stands before the first `#`.
fn shape(text: &str) -> &str {
    text.split('#').next().unwrap_or_default()
}
