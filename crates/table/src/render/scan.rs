//! A scan of an index, rendered, and where a list goes on.

use super::expression::Expressions;
use super::{Placeholders, optional};
use crate::{Datum, IndexScan, Invalid, Item, KeyNames, Resume, Text, Value};

/// `Scan`, of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan<V = Value> {
    /// The table.
    pub table_name: Text,
    /// The index.
    pub index_name: Text,
    /// What must hold of an item that is answered.
    pub filter: Option<String>,
    /// What stands in the filter.
    pub placeholders: Placeholders<V>,
    /// The most items to read.
    pub limit: Option<u32>,
    /// The key attributes, of the table and of the index, of the item to go on behind.
    pub exclusive_start_key: Option<Item>,
}

impl<V: Datum> Scan<V> {
    /// Renders a scan of an index, which must be one of the table's.
    pub fn of(scan: &IndexScan<V>) -> Result<Scan<V>, Invalid> {
        let (table, names) = (&scan.table, scan.key_names()?);
        let start = scan.resume.as_ref().map(|resume| start_key(&table.key, Some(names), resume));
        let mut expressions = Expressions::default();
        let filter = optional(&mut expressions, scan.filter.as_ref())?;
        Ok(Scan {
            table_name: table.name.clone(),
            index_name: scan.index.clone(),
            filter,
            placeholders: expressions.into_placeholders(),
            limit: scan.limit,
            exclusive_start_key: start.transpose()?,
        })
    }
}

/// The key attributes of the item to go on behind. An attribute may be part of both keys; it has one
/// value all the same.
pub(super) fn start_key(
    table: &KeyNames,
    index: Option<&KeyNames>,
    resume: &Resume,
) -> Result<Item, Invalid> {
    let mut attributes: Item = table.item(&resume.key);
    let of_index = match (index, &resume.index_key) {
        (None, None) => return Ok(attributes),
        (Some(names), Some(key)) => names.item(key),
        _ => return Err(Invalid::Resume),
    };
    for (name, value) in of_index {
        let same = attributes.get(&name).is_none_or(|other| *other == value);
        if !same {
            return Err(Invalid::Resume);
        }
        attributes.insert(name, value);
    }
    Ok(attributes)
}
