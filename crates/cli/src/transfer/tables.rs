//! The tables of a system that are moved together: that of its items, and the one of Latchkey's own, if that is apart.

use std::sync::Arc;

use latchkey_runtime::System;
use latchkey_table::{Item, Schema};

/// What the keys of Latchkey's own items begin with.
const OWN: &str = "LATCHKEY#";

/// Which of the two tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum Which {
    /// That of the items of the document.
    #[default]
    Main,
    /// The one beside it.
    Own,
}

/// The tables of a system.
#[derive(Debug, Clone)]
pub(crate) struct Schemas {
    main: Arc<Schema>,
    /// The table of Latchkey's own items, where they are not in the same.
    own: Option<Arc<Schema>>,
}

impl Schemas {
    pub(crate) fn new(system: &System) -> Schemas {
        Schemas { main: Arc::clone(system.table()), own: system.tables().nth(1).cloned() }
    }

    /// A table, if there is one.
    pub(crate) fn get(&self, which: Which) -> Option<&Arc<Schema>> {
        match which {
            Which::Main => Some(&self.main),
            Which::Own => self.own.as_ref(),
        }
    }

    /// The table of the items of the document.
    pub(crate) fn main(&self) -> &Arc<Schema> {
        &self.main
    }

    /// The table of Latchkey's own items, where they are not in the same.
    pub(crate) fn own(&self) -> Option<&Arc<Schema>> {
        self.own.as_ref()
    }

    /// All that there are.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Which, &Arc<Schema>)> {
        let both = [Which::Main, Which::Own].into_iter();
        both.filter_map(|which| Some((which, self.get(which)?)))
    }

    /// The table that an item belongs to. No key of a document begins as those of Latchkey's own items do.
    pub(crate) fn of(&self, item: &Item) -> (Which, &Arc<Schema>) {
        let main = (Which::Main, &self.main);
        let Some(own) = &self.own else { return main };
        let is_own = own.key.of(item).is_some_and(|key| key.partition.starts_with(OWN));
        // Under other names, a key of the document decides.
        let both = own.key == self.main.key || self.main.key.of(item).is_none();
        if is_own && both { (Which::Own, own) } else { main }
    }
}

#[cfg(test)]
impl From<Schema> for Schemas {
    fn from(main: Schema) -> Schemas {
        Schemas { main: Arc::new(main), own: None }
    }
}

#[cfg(test)]
mod tests {
    use latchkey_table::KeyNames;

    use super::*;

    #[test]
    fn an_item_belongs_to_one_of_two_tables() {
        let same = Schema::new("Shop");
        let other = Schema { key: KeyNames::new("id", "at"), ..Schema::new("Shop") };
        let ours = Item::from([("PK", "LATCHKEY#CALL#1"), ("SK", "META")]);
        let theirs = Item::from([("PK", "ORDER#1"), ("SK", "META")]);
        let named = Item::from([("PK", "LATCHKEY#1"), ("SK", "x"), ("id", "1"), ("at", "2")]);
        for (main, item, which) in [
            (&same, &ours, Which::Own),
            (&same, &theirs, Which::Main),
            (&other, &ours, Which::Own),
            (&other, &named, Which::Main),
            // It has no key of either, and is refused as one of the first.
            (&other, &theirs, Which::Main),
        ] {
            let own = Some(Arc::new(Schema::new("Shop-latchkey")));
            let schemas = Schemas { main: Arc::new(main.clone()), own };
            assert_eq!(schemas.of(item).0, which, "{item:?}");
            assert_eq!(Schemas::from(main.clone()).of(item).0, Which::Main);
        }
    }
}
