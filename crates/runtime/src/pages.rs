//! Pages: the items of a query, and the cursor of the next page.

use latchkey_table::{Item, Text};

use crate::shape::Seen;

/// The items of a query, and where the next begin.
#[derive(Debug, Clone, Default)]
pub(crate) struct ItemPage {
    pub(crate) items: Vec<Item>,
    /// The attributes that are not stored and have their declared default, by the places of their items.
    pub(crate) assumed: Vec<(usize, Text)>,
    /// The cursor of the next page.
    pub(crate) next: Option<String>,
}

impl ItemPage {
    pub(crate) fn new(seen: impl IntoIterator<Item = Seen>, next: Option<String>) -> ItemPage {
        let mut page = ItemPage { next, ..ItemPage::default() };
        for (at, seen) in seen.into_iter().enumerate() {
            page.assumed.extend(seen.assumed.into_iter().map(|name| (at, name)));
            page.items.push(seen.item);
        }
        page
    }
}
