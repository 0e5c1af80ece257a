//! A walk through a whole table, for export. No contract scans.

use latchkey_table::{Error, Item, Key, Schema};
use tokio::time::Instant;

use crate::batch::Persistence;
use crate::client::DynamoDb;
use crate::convert::{from_item, to_item};
use crate::error::{Effect, meaning};
use crate::read::foreign;

/// A part of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanned {
    /// The items, in the service's own order.
    pub items: Vec<Item>,
    /// The last key read, unless the table ended. There need not be more.
    pub resume: Option<Key>,
}

/// What the service tells of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// What no other table is called, and not this one either once it was made anew; empty where the service
    /// does not say.
    pub identity: String,
    /// How many items it has, or had some hours ago.
    pub items: Option<u64>,
}

impl DynamoDb {
    /// Reads the next part of a table, strongly: every write acknowledged before it is seen.
    ///
    /// An item that stays is met once in a walk; one created or removed meanwhile may be met or not.
    /// Without `items_max` a part is as much as one scan reads.
    pub async fn scan(
        &self,
        table: &Schema,
        after: Option<&Key>,
        items_max: Option<u16>,
        deadline: Instant,
    ) -> Result<Scanned, Error> {
        let mut persistence = Persistence::until(deadline);
        loop {
            match self.scan_once(table, after, items_max).await {
                Err(error) => persistence.wait(error).await?,
                scanned => return scanned,
            }
        }
    }

    async fn scan_once(
        &self,
        table: &Schema,
        after: Option<&Key>,
        items_max: Option<u16>,
    ) -> Result<Scanned, Error> {
        let start = after.map(|key| to_item(table.key.item(key)));
        let sent = self
            .client
            .scan()
            .table_name(table.name.as_str())
            .set_exclusive_start_key(start)
            .set_limit(items_max.map(i32::from))
            .consistent_read(true)
            .send();
        let answer = sent.await.map_err(|error| meaning(&error, &table.name, Effect::None))?;
        let items = answer.items.unwrap_or_default().into_iter().map(from_item);
        let items: Vec<Item> = items.collect::<Result<_, _>>().map_err(foreign)?;
        let last = answer.last_evaluated_key.filter(|key| !key.is_empty());
        let last = last.map(from_item).transpose().map_err(foreign)?;
        let resume = last.map(|last| table.key_of(&last)).transpose()?;
        Ok(Scanned { items, resume })
    }

    /// What the service tells of a table; nothing where it cannot be asked.
    pub async fn about(&self, table: &Schema) -> About {
        let sent = self.client.describe_table().table_name(table.name.as_str()).send();
        let Some(table) = sent.await.ok().and_then(|answer| answer.table) else {
            return About::default();
        };
        let made = table.creation_date_time().map(|made| made.as_nanos().to_string());
        let parts = [table.table_arn(), table.table_id(), made.as_deref()];
        let identity = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        About { identity, items: table.item_count().and_then(|count| count.try_into().ok()) }
    }
}
