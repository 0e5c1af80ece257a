//! Pages: what a query found, and how to go on.

use latchkey_table::Item;

/// The items of a query, and where the next begin.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    pub(crate) items: Vec<Item>,
    /// The cursor of the next page.
    pub(crate) next: Option<String>,
}
