//! A write that would erase what only a view has: the contract runs again, and brings it home.

use latchkey_table::{Condition, Consistency, Error, Get, Got, Item, Key, Text, holds};

use super::{Ended, Session};
use crate::plan;

impl Session<'_> {
    /// Whether a write was refused because it would erase what only a view has. What the view has is noted by the key of
    /// its source, for the next attempt.
    pub(super) async fn would_erase(
        &mut self,
        leg: &plan::Leg,
        key: &Key,
        spares: &Condition,
        item: Option<Item>,
    ) -> Result<bool, Ended> {
        let item = match item {
            Some(item) => Some(item),
            // Not every store tells what it refused a write for.
            None => self.now_at(key).await?,
        };
        if holds(spares, item.as_ref()) {
            return Ok(false);
        }
        let Some(item) = item else { return Ok(false) };
        // Of another type, it is damage, and what the leg itself does about it.
        let Some(seen) = self.seen(leg.entity, item)? else { return Ok(false) };
        let mut found: Vec<(Key, &Text)> = Vec::with_capacity(leg.keeps.len());
        for kept in &leg.keeps {
            found.push((self.filler().key(&kept.source)?, &kept.attribute));
        }
        for (source, attribute) in found {
            let value = seen.item.get(attribute).cloned();
            self.frame.found.note(source, attribute, value);
        }
        Ok(true)
    }

    /// The item that is stored now.
    async fn now_at(&mut self, key: &Key) -> Result<Option<Item>, Ended> {
        let (table, key) = (self.call.system.table.clone(), key.clone());
        let get = Get { table, key, consistency: Consistency::Strong };
        let got: Result<Got, Error> = self.ask(get).await;
        Ok(got.map_err(|error| self.refused(&error))?.item)
    }
}
