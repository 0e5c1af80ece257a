//! A message in someone's hands.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use latchkey_table::Text;

use crate::embedded::Stored;
use crate::{Message, TryFailure};

/// A message that was received, and the right to say what became of it, for as long as nobody else
/// receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The message.
    pub message: Arc<Message>,
    /// Which try this is, from 1.
    pub tries: u32,
    /// How the last try failed, where the queue remembers it and it did not end by itself.
    pub failure: Option<TryFailure>,
    /// When it was first put off. An ordered queue keeps this with the message, SQS in this process.
    pub put_off_since: Option<i64>,
    hold: Hold,
}

/// What a queue knows it by.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Hold {
    /// As the embedded queue stored it.
    Embedded(Box<Stored>),
    /// As SQS handed it out.
    Sqs(Handle),
}

/// How SQS knows a message that it handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Handle {
    /// The queue it came from: the queue itself, or that of its dead letters.
    pub(crate) url: Arc<str>,
    /// Its group, on a FIFO queue.
    pub(crate) group: Option<Text>,
    /// This delivery of it.
    pub(crate) receipt: String,
    /// Whether it was said what became of this delivery.
    pub(crate) ended: Ended,
}

/// Said once of a delivery, whoever has a copy of it: two who put one message off would leave two messages.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ended(Arc<AtomicBool>);

impl Ended {
    /// Says so. False if it was said before.
    pub(crate) fn say(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }
}

impl PartialEq for Ended {
    fn eq(&self, other: &Ended) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Ended {}

impl Received {
    /// A message the embedded queue has leased.
    pub(crate) fn leased(stored: Stored) -> Received {
        Received {
            message: Arc::clone(&stored.message),
            tries: u32::try_from(stored.tries).unwrap_or(u32::MAX),
            failure: stored.failure.clone(),
            put_off_since: stored.put_off_since,
            hold: Hold::Embedded(Box::new(stored)),
        }
    }

    /// Its group, on an ordered queue: whoever received several messages of one works on them one after the
    /// other, and gives the rest back if one is not over.
    pub fn group(&self) -> Option<&Text> {
        match &self.hold {
            Hold::Embedded(stored) => stored.group(),
            Hold::Sqs(handle) => handle.group.as_ref(),
        }
    }

    /// How the embedded queue stored it.
    pub(crate) fn stored(&self) -> Option<&Stored> {
        if let Hold::Embedded(stored) = &self.hold { Some(stored) } else { None }
    }

    /// The same message, now that what follows its send is done. Whatever becomes of it, it is kept so.
    #[must_use]
    pub fn followed(&self) -> Received {
        let hold = match &self.hold {
            Hold::Embedded(stored) => {
                Hold::Embedded(Box::new(Stored { sequel: None, ..Stored::clone(stored) }))
            }
            hold @ Hold::Sqs(_) => hold.clone(),
        };
        Received { hold, ..self.clone() }
    }

    /// A message SQS has handed out.
    pub(crate) fn handed_out(message: Message, tries: u32, handle: Handle) -> Received {
        let (message, hold) = (Arc::new(message), Hold::Sqs(handle));
        Received { message, tries, failure: None, put_off_since: None, hold }
    }

    /// How SQS knows it.
    pub(crate) fn handle(&self) -> Option<&Handle> {
        if let Hold::Sqs(handle) = &self.hold { Some(handle) } else { None }
    }
}

/// Messages that were received, by group and each group's in their order; a message without a group is for itself.
pub fn runs(received: Vec<Received>) -> Vec<Vec<Received>> {
    let mut runs: Vec<Vec<Received>> = Vec::new();
    for one in received {
        let group = one.group();
        let same = |run: &&mut Vec<Received>| {
            group.is_some() && run.first().map(Received::group) == Some(group)
        };
        match runs.iter_mut().find(same) {
            Some(run) => run.push(one),
            None => runs.push(vec![one]),
        }
    }
    runs
}
