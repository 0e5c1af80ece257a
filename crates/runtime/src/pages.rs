//! Pages: the items of a query, and the cursor of the next page.

use latchkey_table::Item;

/// The items of a query, and where the next begin.
#[derive(Debug, Clone, Default)]
pub(crate) struct ItemPage {
    pub(crate) items: Vec<Item>,
    /// The cursor of the next page.
    pub(crate) next: Option<String>,
}
