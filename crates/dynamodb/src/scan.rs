//! Reads a whole table, for export. No contract scans.

use latchkey_table::{About, Error, Item, Scan, Scanned, Schema};
use tokio::time::Instant;

use crate::batch::Persistence;
use crate::client::DynamoDb;
use crate::convert::{Foreign, from_item, to_item, to_value};
use crate::error::{Effect, meaning};
use crate::read::foreign;

impl DynamoDb {
    /// Reads the next part of a table with strong consistency.
    pub async fn scan(&self, scan: &Scan, deadline: Instant) -> Result<Scanned, Error> {
        scan.validate()?;
        let mut persistence = Persistence::until(deadline);
        loop {
            match self.scan_once(scan).await {
                Err(error) => persistence.wait(error).await?,
                scanned => return scanned,
            }
        }
    }

    async fn scan_once(&self, scan: &Scan) -> Result<Scanned, Error> {
        let table = &scan.table;
        let start = scan.after.as_ref().map(|key| to_item(table.key.item(key)));
        let mut asked = self
            .client
            .scan()
            .table_name(table.name.as_str())
            .set_exclusive_start_key(start)
            .set_limit(Some(i32::try_from(scan.items_max).unwrap_or(i32::MAX)))
            .consistent_read(true);
        if !scan.partition_prefix.is_empty() {
            asked = asked
                .filter_expression("begins_with(#pk, :prefix)")
                .expression_attribute_names("#pk", table.key.partition.name.as_str())
                .expression_attribute_values(
                    ":prefix",
                    to_value(scan.partition_prefix.clone().into()),
                );
        }
        let answer =
            asked.send().await.map_err(|error| meaning(&error, &table.name, Effect::None))?;
        let items = answer.items.ok_or_else(|| foreign(Foreign))?.into_iter().map(from_item);
        let items: Vec<Item> = items.collect::<Result<_, _>>().map_err(foreign)?;
        let last = answer.last_evaluated_key.filter(|key| !key.is_empty());
        let last = last.map(from_item).transpose().map_err(foreign)?;
        let resume = last.map(|last| table.key_of(&last)).transpose()?;
        Ok(Scanned { items, resume })
    }

    /// What the service says about a table; nothing if it cannot be asked.
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
