//! A recording: what the examples of a document did, step by step, as changes that can be applied forward and backward.

use std::collections::BTreeMap;
use std::sync::Arc;

use latchkey_http::Claims;
use latchkey_language::ast::QueueMode;
use latchkey_table::{Capacity, Item, Key, Schema, Text, Value};

/// What the examples of a document did.
#[derive(Debug)]
pub struct Recording {
    /// The system.
    pub system: String,
    /// The table.
    pub table: Arc<Schema>,
    /// The attribute that tells entities apart.
    pub discriminator: String,
    /// The entities, in the order of the document: their names, what their items carry in the discriminator, and their
    /// attributes.
    pub entities: Vec<(String, String, Vec<String>)>,
    /// The titles of contracts, by their ids.
    pub titles: BTreeMap<String, String>,
    /// The example blocks.
    pub blocks: Vec<Block>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Why it ends before the examples do, if it does.
    pub cut: Option<String>,
}

/// A block of examples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The heading above it; empty if there is none.
    pub title: String,
    /// Its line in the document, from 1.
    pub line: usize,
}

/// A step: a request, a message that was worked on, or a queue that was told what to do.
#[derive(Debug)]
pub struct Step {
    /// The block, by its place.
    pub block: usize,
    /// The line of the request, or of the worker.
    pub line: Option<usize>,
    /// When it happened.
    pub at: String,
    /// What was done.
    pub did: Did,
    /// The contract or worker that did it.
    pub contract: Option<String>,
    /// What was asked of the table.
    pub requests: Vec<Asked>,
    /// What all of that consumed.
    pub capacity: Capacity,
    /// The statement of the document that refused it, if one did.
    pub statement: Option<Statement>,
    /// What changed in the table.
    pub changes: Vec<Change>,
    /// The queues that have more or fewer messages than before.
    pub queues: Vec<QueueChange>,
}

/// What a step is.
#[derive(Debug)]
pub enum Did {
    /// A request was answered.
    Call(Box<Answered>),
    /// A worker worked on a message.
    Work {
        /// The queue.
        queue: String,
        /// Which try it was, from 1.
        tries: u32,
        /// How it ended, for people.
        ended: String,
        /// Whether it failed.
        failed: bool,
    },
    /// A queue was told what to do from here on.
    Queue {
        /// The queue.
        queue: String,
        /// What it does.
        mode: QueueMode,
    },
}

/// A request of an example, and its answer.
#[derive(Debug)]
pub struct Answered {
    /// The caller; nobody, if there is none.
    pub caller: Option<Claims>,
    /// The method.
    pub method: String,
    /// The path and query.
    pub path: String,
    /// The headers that the example gives.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<String>,
    /// The status of the answer.
    pub status: u16,
    /// The code of the problem, if it is one.
    pub code: Option<String>,
    /// The headers of the answer that an example can name.
    pub answer_headers: Vec<(String, String)>,
    /// The body of the answer.
    pub answer: String,
    /// How the answer differs from the example, if it does.
    pub wrong: Option<String>,
}

/// A request that was made to the table.
#[derive(Debug)]
pub struct Asked {
    /// DynamoDB's name of the operation.
    pub operation: &'static str,
    /// The body of the request, as DynamoDB takes it, its secrets blackened, as JSON without blanks. Of a request that
    /// has no rendering, a text that says why.
    pub json: String,
    /// What became of it.
    pub outcome: String,
    /// What it consumed.
    pub capacity: Capacity,
    /// What was read of the document's own items.
    pub reads: Vec<Read>,
}

/// What a request read: a partition of the table or of an index, or an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The index; the table itself, if there is none.
    pub index: Option<Text>,
    /// The value of the partition key.
    pub partition: Value,
    /// The value of the sort key, where one item was asked for.
    pub sort: Option<Value>,
}

/// A statement of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Its line, from 1.
    pub line: usize,
    /// Its whole lines.
    pub text: String,
}

/// An item that is another after a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The key of the item.
    pub key: Key,
    /// What changed.
    pub what: Changed,
}

/// How an item changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// It was not there before.
    Put(Item),
    /// Attributes have other values: a name, the old value and the new one. What is absent has none.
    Set(Vec<(Text, Option<Value>, Option<Value>)>),
    /// It is there no more.
    Gone(Item),
}

/// A queue before and after a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueChange {
    /// The queue.
    pub queue: String,
    /// Before.
    pub was: Waiting,
    /// After.
    pub is: Waiting,
}

/// How many messages a queue has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waiting {
    /// Messages that wait or are worked on.
    pub waiting: u64,
    /// Dead letters.
    pub dead: u64,
}

/// The items of a table by their keys.
pub(crate) type Items = BTreeMap<Key, Item>;

/// What is different between two states of a table, in the order of keys.
pub(crate) fn differences(was: &Items, is: &Items) -> Vec<Change> {
    let gone = was
        .iter()
        .filter(|(key, _)| !is.contains_key(key))
        .map(|(key, item)| Change { key: key.clone(), what: Changed::Gone(item.clone()) });
    let others = is.iter().filter_map(|(key, item)| {
        let what = match was.get(key) {
            None => Changed::Put(item.clone()),
            Some(old) if old == item => return None,
            Some(old) => Changed::Set(attributes(old, item)),
        };
        Some(Change { key: key.clone(), what })
    });
    let mut changes: Vec<Change> = gone.chain(others).collect();
    changes.sort_by(|a, b| a.key.cmp(&b.key));
    changes
}

/// The attributes that differ between two images of an item.
fn attributes(was: &Item, is: &Item) -> Vec<(Text, Option<Value>, Option<Value>)> {
    let mut names: Vec<&Text> = was.iter().chain(is.iter()).map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    let differ = names.into_iter().filter(|name| was.get(name) != is.get(name));
    differ.map(|name| (name.clone(), was.get(name).cloned(), is.get(name).cloned())).collect()
}
