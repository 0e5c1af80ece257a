//! A message in someone's hands.

use std::sync::Arc;

use crate::embedded::Stored;
use crate::{Failure, Message};

/// A message that was received, and the right to say what became of it, for as long as nobody else
/// receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The message.
    pub message: Arc<Message>,
    /// Which try this is, from 1.
    pub tries: u32,
    /// How the last try failed, where the queue remembers it and it did not end by itself.
    pub failure: Option<Failure>,
    hold: Hold,
}

/// What a queue knows it by.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Hold {
    /// As the embedded queue stored it.
    Embedded(Box<Stored>),
}

impl Received {
    /// A message the embedded queue has leased.
    pub(crate) fn leased(stored: Stored) -> Received {
        Received {
            message: Arc::clone(&stored.message),
            tries: u32::try_from(stored.tries).unwrap_or(u32::MAX),
            failure: stored.failure.clone(),
            hold: Hold::Embedded(Box::new(stored)),
        }
    }

    /// How the embedded queue stored it.
    pub(crate) fn stored(&self) -> Option<&Stored> {
        let Hold::Embedded(stored) = &self.hold;
        Some(stored)
    }
}
