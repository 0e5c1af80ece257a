//! Pages: what a query found, and how to go on.

use latchkey_table::{Item, KeyNames, Query, Resume, Schema};

/// The items of a query, and where the next begin.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    pub(crate) items: Vec<Item>,
    /// The cursor of the next page.
    pub(crate) next: Option<String>,
}

/// Where to go on behind an item that a query found.
pub(crate) fn behind(query: &Query, item: &Item) -> Option<Resume> {
    let key = query.table.key.of(item)?;
    let index = match &query.index {
        Some(name) => Some(index_names(&query.table, name)?.of(item)?),
        None => None,
    };
    Some(Resume { key, index_key: index })
}

fn index_names<'a>(table: &'a Schema, name: &str) -> Option<&'a KeyNames> {
    table.index(name).map(|index| &index.key)
}

#[cfg(test)]
mod tests;
