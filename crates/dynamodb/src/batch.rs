//! Many puts at once, for import. They have no conditions, so they can be sent again.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use latchkey_table::{Error, Invalid, Item, Schema};
use latchkey_value::limits::BATCH_ITEMS_MAX;
use tokio::time::Instant;

use crate::client::{DynamoDb, Patience};
use crate::convert::to_item;
use crate::error::{Effect, meaning, told};

/// How often a request without an answer is sent again in a row: a service may be down for some seconds.
const RESENDS_MAX: u32 = 30;

/// Retries for longer than a call does, because no caller waits for an answer.
pub(crate) struct Persistence {
    deadline: Instant,
    patience: Patience,
    resends: u32,
}

impl Persistence {
    pub(crate) fn until(deadline: Instant) -> Persistence {
        Persistence { deadline, patience: Patience::until(deadline), resends: 0 }
    }

    /// Waits after a temporary error. Fails with any other error, or at the deadline.
    pub(crate) async fn wait(&mut self, error: Error) -> Result<(), Error> {
        let may_pass = match &error {
            Error::Throttled | Error::Conflict => true,
            Error::Unavailable { .. } => {
                self.resends = self.resends.saturating_add(1);
                self.resends <= RESENDS_MAX
            }
            _ => false,
        };
        if may_pass && self.patience.wait().await { Ok(()) } else { Err(error) }
    }

    /// Starts again with short waits, after some progress.
    fn refresh(&mut self) {
        *self = Persistence::until(self.deadline);
    }
}

impl DynamoDb {
    /// Writes at most [`BATCH_ITEMS_MAX`] items with different keys, and replaces existing ones.
    ///
    /// Items that the service leaves unprocessed are sent again, after longer and longer waits, until the deadline.
    /// After an error, any of the items may be written.
    pub async fn put_all(
        &self,
        table: &Schema,
        items: Vec<Item>,
        deadline: Instant,
    ) -> Result<(), Error> {
        if items.len() > BATCH_ITEMS_MAX {
            return Err(Invalid::BatchItems { count: items.len() }.into());
        }
        for (at, item) in items.iter().enumerate() {
            table.validate_item(item).map_err(|reason| Error::from(reason).of_leg(at))?;
        }
        let mut left: Vec<WriteRequest> = items.into_iter().map(put).collect::<Result<_, _>>()?;
        let mut persistence = Persistence::until(deadline);
        while !left.is_empty() {
            match self.put_all_once(table, left.clone()).await {
                Ok(undone) if undone.is_empty() => break,
                Ok(undone) => {
                    if undone.len() < left.len() {
                        persistence.refresh();
                    }
                    left = undone;
                    persistence.wait(Error::Throttled).await?;
                }
                Err(error) => persistence.wait(error).await?,
            }
        }
        Ok(())
    }

    /// Sends the puts and returns the unprocessed ones.
    async fn put_all_once(
        &self,
        table: &Schema,
        puts: Vec<WriteRequest>,
    ) -> Result<Vec<WriteRequest>, Error> {
        let requests = HashMap::from([(table.name.to_string(), puts)]);
        let sent = self.client.batch_write_item().set_request_items(Some(requests)).send();
        let answer = sent.await.map_err(|error| meaning(&error, &table.name, Effect::None))?;
        Ok(answer.unprocessed_items.unwrap_or_default().into_values().flatten().collect())
    }
}

fn put(item: Item) -> Result<WriteRequest, Error> {
    let put = PutRequest::builder().set_item(Some(to_item(item))).build();
    let put = put.map_err(|error| Error::Unavailable { reason: told(&error) })?;
    Ok(WriteRequest::builder().put_request(put).build())
}
