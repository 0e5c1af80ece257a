//! The errors of a build without the feature `aws`.

use std::error::Error as StdError;
use std::sync::Arc;

use latchkey_runtime::{Outside, Source, System};

use crate::Failure;
use crate::arguments::{Queues, Remote};
use crate::running::Names;
use crate::storage::Opened;

/// This build has no DynamoDB.
pub(crate) const NO_DYNAMODB: &str = "this build of latchkey has no DynamoDB: it was made without the feature `aws`; \
     `cargo install --path crates/cli` makes one that has it";

/// This build has no SQS.
const NO_SQS: &str = "this build of latchkey has no SQS: it was made without the feature `aws`; \
     `cargo install --path crates/cli` makes one that has it";

pub(crate) async fn open(_: &Remote) -> Result<Opened, Failure> {
    Err(Failure::unusable(NO_DYNAMODB))
}

pub(crate) fn advice(_: &(dyn StdError + Send + Sync + 'static), _: &str) -> Option<String> {
    None
}

/// Never: this build has no SQS.
pub(crate) enum Sqs {}

impl Sqs {
    pub(crate) async fn connect(_: &Queues) -> Result<Sqs, Failure> {
        Err(Failure::unusable(NO_SQS))
    }

    pub(crate) async fn queues(
        &self,
        _: &System,
        _: &Names<'_>,
        _: &Arc<dyn Source>,
    ) -> Result<Vec<Outside>, Failure> {
        match *self {}
    }

    pub(crate) async fn create(&self, _: &str, _: u32, _: u32) -> Result<(), Failure> {
        match *self {}
    }
}
