//! Which tables the store holds, and where in the ordered map they lie.

use std::collections::HashMap;
use std::sync::Arc;

use latchkey_table::{
    Error, Index, Invalid, Item, Key, KeyAttribute, KeyNames, KeyType, Number, Projection, Schema,
    Text, Value,
};

use crate::engine::{Engine, EngineError, Snapshot};
use crate::item_codec::{self, Damaged};
use crate::key_codec::{Space, read_item_key};
use crate::map::Direct;
use crate::progress::{Progress, Step};

/// The prefix of the names of tables in the catalog.
const PREFIX: &str = "table/";

/// How many items are read between writes when an index is filled.
const FILL_STEP: usize = 1000;

/// The tables by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Catalog {
    tables: HashMap<Text, Arc<Entry>>,
}

/// One table and its spaces.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) schema: Arc<Schema>,
    /// Of the items.
    pub(crate) space: Space,
    /// Of the indexes, in the order of the schema's.
    pub(crate) index_spaces: Vec<Space>,
}

impl Entry {
    /// The indexes with their spaces.
    pub(crate) fn indexes(&self) -> impl Iterator<Item = (&Index, Space)> {
        self.schema.indexes.iter().zip(self.index_spaces.iter().copied())
    }

    /// An index and its space.
    pub(crate) fn index(&self, name: &str) -> Option<(&Index, Space)> {
        self.indexes().find(|(index, _)| index.name == name)
    }
}

impl Catalog {
    /// Reads the catalog of an open map.
    pub(crate) fn load(engine: &Engine) -> Result<Catalog, EngineError> {
        let mut damaged = None;
        let catalog = Catalog::read(&engine.snapshot(), &mut |name| {
            damaged.get_or_insert_with(|| format!("the catalog's `{name}` is damaged"));
        })?;
        damaged.map_or(Ok(catalog), |text| Err(EngineError::new(text)))
    }

    /// Reads the catalog without the tables that are damaged, of whose names the function is told.
    pub(crate) fn read(
        snapshot: &Snapshot,
        damaged: &mut dyn FnMut(&str),
    ) -> Result<Catalog, EngineError> {
        let names = snapshot.meta(PREFIX)?;
        let names = names.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
        Ok(Catalog::of(names, damaged))
    }

    /// The catalog of names and their bytes.
    pub(crate) fn of<'a>(
        names: impl Iterator<Item = (&'a str, &'a [u8])>,
        damaged: &mut dyn FnMut(&str),
    ) -> Catalog {
        let mut catalog = Catalog::default();
        for (name, bytes) in names {
            match decode(name, bytes) {
                Ok(entry) => {
                    catalog.tables.insert(entry.schema.name.clone(), Arc::new(entry));
                }
                Err(Damaged) => damaged(name),
            }
        }
        catalog
    }

    /// All tables, in no order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.tables.values().map(|entry| &**entry)
    }

    /// The table of a name.
    pub(crate) fn named(&self, name: &str) -> Option<&Arc<Entry>> {
        self.tables.get(name)
    }

    /// The table of a request, if it still has the schema of the request.
    pub(crate) fn find(&self, schema: &Arc<Schema>) -> Result<&Arc<Entry>, Error> {
        let name = &schema.name;
        match self.tables.get(name) {
            None => Err(Error::NoTable { name: name.clone() }),
            Some(entry) if Arc::ptr_eq(&entry.schema, schema) || entry.schema == *schema => {
                Ok(entry)
            }
            Some(_) => Err(Invalid::OtherSchema { name: name.clone() }.into()),
        }
    }

    /// The answer to [`Catalog::ensure`], if nothing has to be written for it.
    pub(crate) fn known(&self, schema: &Arc<Schema>) -> Option<Result<Catalog, Error>> {
        let old = self.tables.get(&schema.name)?;
        if old.schema.key != schema.key {
            let (name, key) = (schema.name.clone(), old.schema.key.clone());
            return Some(Err(Invalid::OtherKey { name, key }.into()));
        }
        (old.schema == *schema).then(|| {
            let (schema, index_spaces) = (Arc::clone(schema), old.index_spaces.clone());
            Ok(self.with(Entry { schema, space: old.space, index_spaces }))
        })
    }

    /// Makes a table, or gives an existing one the indexes of the schema. New indexes are filled from the items, and
    /// indexes that the schema no longer has are dropped. Returns the new catalog.
    pub(crate) fn ensure(
        &self,
        direct: &mut Direct<'_>,
        schema: &Arc<Schema>,
        progress: &Progress,
    ) -> Result<Result<Catalog, Error>, EngineError> {
        if let Some(known) = self.known(schema) {
            return Ok(known);
        }
        let old = self.tables.get(&schema.name);
        let mut free = self.free_spaces();
        let mut next = || {
            free.next()
                .ok_or_else(|| EngineError::new("no room for another table or index".to_owned()))
        };
        let space = match old {
            Some(old) => old.space,
            None => next()?,
        };
        let mut index_spaces = Vec::with_capacity(schema.indexes.len());
        let mut lacking = Vec::new();
        for index in &schema.indexes {
            let kept = old.and_then(|old| {
                // Entries are keys alone, whatever the index holds of an item.
                let same = |other: &Index| other.name == index.name && other.key == index.key;
                old.indexes().find(|(other, _)| same(other)).map(|(_, space)| space)
            });
            let index_space = match kept {
                Some(space) => space,
                None => next()?,
            };
            if kept.is_none() {
                match fill(direct, schema, space, (index, index_space), progress)? {
                    Ok(filled) if filled.entries < filled.items => lacking.push((index, filled)),
                    Ok(_) => {}
                    Err(error) => return Ok(Err(error)),
                }
            }
            index_spaces.push(index_space);
        }
        for (_, dropped) in old.iter().flat_map(|old| old.indexes()) {
            if !index_spaces.contains(&dropped) {
                direct.clear(&dropped.whole())?;
            }
        }
        let entry = Entry { schema: Arc::clone(schema), space, index_spaces };
        let name = format!("{PREFIX}{}", schema.name);
        direct.insert_meta(&name, &encode(&name, &entry))?;
        tell_lacking(&schema.name, &lacking);
        Ok(Ok(self.with(entry)))
    }

    fn with(&self, entry: Entry) -> Catalog {
        let mut catalog = self.clone();
        catalog.tables.insert(entry.schema.name.clone(), Arc::new(entry));
        catalog
    }

    /// The spaces that no table uses, from 1 on. The last space is never used, because nothing sorts after it.
    fn free_spaces(&self) -> impl Iterator<Item = Space> {
        let used: Vec<Space> = self
            .tables
            .values()
            .flat_map(|entry| entry.index_spaces.iter().chain([&entry.space]).copied())
            .collect();
        (1..u16::MAX).map(Space).filter(move |space| !used.contains(space))
    }
}

/// Whether a name in the catalog is that of a table.
pub(crate) fn is_table(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// What a new index was filled with.
struct Filled {
    items: u64,
    /// How many of the items have the index's key.
    entries: u64,
}

/// Tells that new indexes do not hold all items of their table. It may be right so, and nobody would notice if not: the
/// writes of contracts make the keys of an index, so items that were written before have none.
fn tell_lacking(table: &Text, lacking: &[(&Index, Filled)]) {
    let Some((_, Filled { items, .. })) = lacking.first() else { return };
    let indexes = lacking.iter().map(|(index, Filled { entries, .. })| {
        let name = &index.name;
        format!("`{name}` holds {entries}")
    });
    let indexes = indexes.collect::<Vec<_>>().join(", ");
    tracing::warn!(
        table = table.as_str(),
        items,
        indexes,
        "a table with items has a new index that does not hold all of them: items that were written before have no key \
         of the index; `latchkey examine` tells which items contracts do not find, and how to write them over"
    );
}

/// Adds an entry to a new index for every item that belongs in it.
fn fill(
    direct: &mut Direct<'_>,
    schema: &Schema,
    space: Space,
    (index, index_space): (&Index, Space),
    progress: &Progress,
) -> Result<Result<Filled, Error>, EngineError> {
    let mut range = space.whole();
    let mut filled = Filled { items: 0, entries: 0 };
    loop {
        let (table, name) = (schema.name.clone(), index.name.clone());
        progress.tell(Step::Fill { table, index: name, items: filled.items });
        let items = direct.first(&range, FILL_STEP)?;
        let Some((last, _)) = items.last() else { return Ok(Ok(filled)) };
        range.start.clone_from(last);
        range.start.push(0);
        for (key_bytes, bytes) in &items {
            filled.items += 1;
            let key = read_item_key(key_bytes).ok_or_else(|| damaged(key_bytes))?;
            let item = item_codec::decode(key_bytes, bytes, &schema.key, key.clone(), None)
                .map_err(|Damaged| damaged(key_bytes))?;
            if let Err(reason) = schema.validate_item(&item) {
                // The space will be given to another index, so it must be empty.
                direct.clear(&index_space.whole())?;
                let item = schema.key.shown(&key);
                return Ok(Err(Invalid::Stored { item, reason: Box::new(reason) }.into()));
            }
            if let Some((partition, sort)) = index.key.parts(&item) {
                let entry = index_space.entry_key((&partition, &sort), &key);
                direct.insert(&entry, &item_codec::encode_entry(&entry))?;
                filled.entries += 1;
            }
        }
    }
}

/// The message for bytes that are not what was stored.
pub(crate) fn damaged(key: &[u8]) -> EngineError {
    EngineError::damage(format!("the bytes under key {} are damaged", key.escape_ascii()))
}

fn encode(name: &str, entry: &Entry) -> Vec<u8> {
    let indexes = entry.indexes().map(|(index, space)| {
        let mut shape = shape(&index.name, &index.key, space);
        if let Projection::Keys(attributes) = &index.holds {
            let attributes = attributes.iter().cloned().map(Value::Text).collect();
            shape.insert(HOLDS, Value::List(attributes));
        }
        shape
    });
    let mut table = shape(&entry.schema.name, &entry.schema.key, entry.space);
    table.insert("indexes", Value::List(indexes.map(Value::Map).collect()));
    let mut bytes = Vec::new();
    // These names are no attributes, so no attribute is left out as a key.
    item_codec::encode(name.as_bytes(), &table, &KeyNames::new("PK", "SK"), &mut bytes);
    bytes
}

fn shape(name: &Text, key: &KeyNames, space: Space) -> Item {
    let mut shape = Item::from([
        ("name", Value::Text(name.clone())),
        ("space", Value::Number(Number::from(u64::from(space.0)))),
    ]);
    let parts = [(PARTITION, Some(&key.partition)), (SORT, key.sort.as_ref())];
    for (part, attribute) in parts {
        if let Some(attribute) = attribute {
            shape.insert(entry_name(part, attribute.value_type), attribute.name.clone());
        }
    }
    shape
}

/// What an index holds beside its keys, unless it holds whole items.
const HOLDS: &str = "holds";

const PARTITION: &str = "partition";

const SORT: &str = "sort";

/// The name of a key attribute in the catalog. That of a number has one of its own, so that a release that knows only
/// texts refuses the table.
fn entry_name(part: &str, value_type: KeyType) -> Text {
    match value_type {
        KeyType::Text => part.into(),
        KeyType::Number => format!("{part}-number").into(),
    }
}

fn decode(name: &str, bytes: &[u8]) -> Result<Entry, Damaged> {
    let key = Key::new("-", "-");
    let names = KeyNames::new("PK", "SK");
    let table = item_codec::decode(name.as_bytes(), bytes, &names, key, None)?;
    let (name, key, space) = read_shape(&table)?;
    let Some(Value::List(list)) = table.get("indexes") else { return Err(Damaged) };
    let (mut indexes, mut index_spaces) = (Vec::new(), Vec::new());
    for index in list {
        let Value::Map(index) = index else { return Err(Damaged) };
        let (name, key, space) = read_shape(index)?;
        indexes.push(Index { name, key, holds: read_holds(index)? });
        index_spaces.push(space);
    }
    Ok(Entry { schema: Arc::new(Schema { name, key, indexes }), space, index_spaces })
}

fn read_holds(index: &Item) -> Result<Projection, Damaged> {
    let Some(holds) = index.get(HOLDS) else { return Ok(Projection::All) };
    let Value::List(attributes) = holds else { return Err(Damaged) };
    let attributes = attributes.iter().map(|name| name.as_text().cloned().ok_or(Damaged));
    Ok(Projection::keys(attributes.collect::<Result<Vec<_>, _>>()?))
}

fn read_shape(shape: &Item) -> Result<(Text, KeyNames, Space), Damaged> {
    let text = |name: &str| shape.get(name).and_then(Value::as_text).cloned().ok_or(Damaged);
    let space = shape.get("space").and_then(Value::as_number).and_then(|number| number.to_i64());
    let space = space.and_then(|space| u16::try_from(space).ok()).ok_or(Damaged)?;
    let attribute = |part: &str| {
        let types = [KeyType::Text, KeyType::Number];
        let mut found = types.into_iter().filter_map(|value_type| {
            let name = shape.get(&entry_name(part, value_type))?.as_text()?.clone();
            Some(KeyAttribute { name, value_type })
        });
        found.next()
    };
    let key = KeyNames { partition: attribute(PARTITION).ok_or(Damaged)?, sort: attribute(SORT) };
    Ok((text("name")?, key, Space(space)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAME: &str = "table/T";

    fn field() -> impl Strategy<Value = (Text, Value)> {
        let names =
            vec!["name", "space", "partition", "partition-number", "sort", "sort-number", HOLDS];
        let value = prop_oneof![
            4 => "[A-C]{0,2}".prop_map(|text| Value::Text(text.into())),
            3 => (-2i64..70_000).prop_map(Value::from),
            1 => Just(Value::Null),
            1 => prop::collection::vec("[A-C]{0,2}", 0..3)
                .prop_map(|names| Value::List(names.into_iter().map(|name| Value::Text(name.into())).collect())),
        ];
        (prop::sample::select(names).prop_map(Text::from), value)
    }

    /// Mostly the shape of a table or of an index, with some fields that are drawn.
    fn drawn_shape() -> impl Strategy<Value = Item> {
        (any::<bool>(), prop::collection::vec(field(), 0..3)).prop_map(|(whole, drawn)| {
            let mut shape = match whole {
                true => shape(&"T".into(), &KeyNames::new("A", "B"), Space(7)),
                false => Item::new(),
            };
            for (name, value) in drawn {
                shape.insert(name, value);
            }
            shape
        })
    }

    proptest! {
        #[test]
        fn any_shapes_are_read_or_refused(
            table in drawn_shape(), indexes in prop::collection::vec(drawn_shape(), 0..3),
        ) {
            let mut table = table;
            table.insert("indexes", Value::List(indexes.into_iter().map(Value::Map).collect()));
            let mut bytes = Vec::new();
            item_codec::encode(NAME.as_bytes(), &table, &KeyNames::new("PK", "SK"), &mut bytes);
            if let Ok(entry) = decode(NAME, &bytes) {
                let again = decode(NAME, &encode(NAME, &entry)).unwrap();
                prop_assert_eq!(&again.schema, &entry.schema);
                prop_assert_eq!((again.space, again.index_spaces), (entry.space, entry.index_spaces));
            }
        }
    }
}
