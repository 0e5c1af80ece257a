//! A build without the feature `sqs`: there is no queue on SQS, so nothing is ever asked of one.

use std::time::Duration;

use crate::{Depth, Error, Message, Received, TryFailure};

/// A queue on SQS, of which this build has none.
#[derive(Debug, Clone)]
pub enum Sqs {}

#[expect(missing_docs, reason = "the real ones are those of a build with the feature `sqs`")]
impl Sqs {
    pub fn ahead_ms(&self) -> i64 {
        match *self {}
    }

    pub async fn send(&self, _: &Message, _: i64) -> Result<i64, Error> {
        match *self {}
    }

    pub async fn receive(&self, _: usize, _: Duration) -> Result<Vec<Received>, Error> {
        match *self {}
    }

    pub async fn receive_dead(&self, _: usize, _: Duration) -> Result<Vec<Received>, Error> {
        match *self {}
    }

    pub async fn done(&self, _: &Received) -> Result<(), Error> {
        match *self {}
    }

    pub async fn later(&self, _: &Received, _: i64) -> Result<(), Error> {
        match *self {}
    }

    pub async fn failed(&self, _: &Received, _: i64, _: TryFailure) -> Result<(), Error> {
        match *self {}
    }

    pub async fn release(&self, _: Vec<Received>) {
        match *self {}
    }

    pub fn not_given_back(&self) -> u64 {
        match *self {}
    }

    pub fn has_dead_queue(&self) -> bool {
        match *self {}
    }

    pub async fn depth(&self) -> Result<Depth, Error> {
        match *self {}
    }

    pub async fn purge(&self) -> Result<(), Error> {
        match *self {}
    }
}
