//! Which items of a table have ended by an instant: to whoever looks then, they are absent.

use std::collections::BTreeMap;

use latchkey_model::model::Model;
use latchkey_table::{Item, Text, Value};
use latchkey_value::time;

use crate::act::Act;

/// The ends of a document's items.
#[derive(Debug)]
pub(crate) struct Ends {
    discriminator: String,
    /// The attribute that holds the end, by what items carry in the discriminator.
    attributes: BTreeMap<String, String>,
}

impl Ends {
    pub(crate) fn of(model: &Model) -> Ends {
        let ending = model.entities.iter().filter_map(|entity| {
            let end = entity.expires.clone()?;
            Some((entity.discriminator.clone(), end))
        });
        let discriminator = model.table.discriminator.clone();
        Ends { discriminator, attributes: ending.collect() }
    }

    /// Whether an item has ended by an instant.
    pub(crate) fn is_past(&self, item: &Item, now: &Now) -> bool {
        let text = |name: &str| item.get(name).and_then(Value::as_text);
        let end = text(&self.discriminator).and_then(|kind| self.attributes.get(kind.as_str()));
        let end = end.and_then(|end| text(end));
        end.zip(now.0.as_ref()).is_some_and(|(end, now)| end <= now)
    }
}

/// An instant, as items have it; nothing if it is none that can be written.
#[derive(Debug)]
pub(crate) struct Now(Option<Text>);

impl Now {
    pub(crate) fn new(now: i64) -> Now {
        Now(time::format(now))
    }

    /// The last instant at which one of some acts runs.
    pub(crate) fn last_of(acts: &[Act]) -> i64 {
        acts.iter().map(|act| act.now).max().unwrap_or(0)
    }
}
