//! Looks into a store that no process has open, and that may be damaged. Nothing is written.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::catalog::Catalog;
use crate::directory::Directory;
use crate::engine::{OpenFailure, Snapshot};
use crate::error::OpenError;
use crate::map::{Head, Map};
use crate::overlay::Layer;
use crate::record::{Header, Record, StoreId, read_all, read_header};
use crate::recover::recover;
use crate::shadow;
use crate::storage::{Part, Source};
use crate::store::Options;
use crate::verify::{Checked, Damage, Watching};
use crate::view::View;
use crate::watch::LOST;
use crate::writer::Seen;

/// Reads a whole store that no process has open, with both its journals, and tells of each damage. Its files stay as
/// they are.
///
/// The error is why nothing could be said; a store that is damaged so far that it does not open is damage.
pub fn check_directory(
    path: &Path,
    options: &Options,
    watch: Watching<'_>,
    found: &mut dyn FnMut(Damage),
) -> Result<Checked, OpenError> {
    let _directory = Directory::lock_to_look(path)?;
    let mut told = 0;
    let mut found = |damage| {
        told += 1;
        found(damage);
    };
    if let Some(damage) = marked_lost(path) {
        found(damage);
    }
    if let Some(damage) = no_map(path)? {
        found(damage);
        return Ok(Checked { damages: told, ..Checked::default() });
    }
    check_pages(path, options, &mut found)?;
    let Some(inspected) = Inspected::open(path, options, &mut found)? else {
        return Ok(Checked { damages: told, ..Checked::default() });
    };
    let checked = inspected.view.check(watch, &mut found);
    inspected.close();
    Ok(Checked { damages: told, ..checked })
}

/// What `lost.txt` says, if it is there: no other file can tell that writes are missing.
pub(crate) fn marked_lost(path: &Path) -> Option<Damage> {
    path.join(LOST).exists().then(|| {
        Damage::of_store(format!(
            "`{LOST}` says that a file was lost while the store was open, so writes may be missing"
        ))
    })
}

fn source(path: &Path) -> Result<Source, OpenError> {
    let failed = |error: io::Error| OpenError::Directory { path: path.to_owned(), error };
    shadow::source(path).map_err(failed)
}

/// Has redb compare the checksums of all pages of the map.
pub(crate) fn check_pages(
    path: &Path,
    options: &Options,
    found: &mut dyn FnMut(Damage),
) -> Result<(), OpenError> {
    // What is wrong with a map that does not open is told by who opens it next.
    let Ok(mut map) = Map::open(&source(path)?, options.cache_bytes) else { return Ok(()) };
    match map.check() {
        Ok(true) => {}
        Ok(false) => found(Damage::of_store("pages of `store.redb` have wrong checksums")),
        Err(error) => found(Damage::of_store(format!("pages of `store.redb`: {error}"))),
    }
    Ok(())
}

/// A store, as far as it can be read.
pub(crate) struct Inspected {
    pub(crate) view: View,
    map: Map,
}

impl Inspected {
    /// Opens a store, as far as that can be done; nothing if its map cannot be.
    pub(crate) fn open(
        path: &Path,
        options: &Options,
        found: &mut dyn FnMut(Damage),
    ) -> Result<Option<Inspected>, OpenError> {
        let source = source(path)?;
        let opened = Map::open(&source, options.cache_bytes).and_then(|map| {
            let base = map.base()?;
            Ok((map, base))
        });
        let (map, base) = match opened {
            Ok(opened) => opened,
            Err(OpenFailure::Newer { found }) => return Err(OpenError::newer(path, found)),
            Err(OpenFailure::Unusable(error)) => {
                found(Damage::of_store(format!("`store.redb` cannot be opened: {error}")));
                return Ok(None);
            }
        };
        let head = base.head().unwrap_or_else(|error| {
            found(Damage::of_store(error.to_string()));
            Head::NONE
        });
        let active = match recover(&source, &head, &options.progress) {
            Ok(recovered) => {
                let mut layer = recovered.frozen.map_or_else(Layer::default, |(layer, _)| layer);
                lay(&mut layer, &recovered.active);
                layer
            }
            Err(error) => {
                found(Damage::of_store(error.to_string()));
                read_journals(path, &head, found)
            }
        };
        let snapshot = Snapshot { active, frozen: None, base: Arc::new(base) };
        let mut damaged = |name: &str| {
            let name = name.escape_debug();
            found(Damage::of_store(format!("the catalog's `{name}` is damaged")));
        };
        let catalog = Catalog::read(&snapshot, &mut damaged).unwrap_or_else(|error| {
            found(Damage::of_store(format!("the catalog cannot be read: {error}")));
            Catalog::default()
        });
        let seen = Arc::new(Seen { snapshot, catalog: Arc::new(catalog) });
        let view = View { seen, watch: None };
        Ok(Some(Inspected { view, map }))
    }

    /// Lets go of the files.
    pub(crate) fn close(self) {
        drop(self.view);
        drop(self.map);
    }
}

fn lay(layer: &mut Layer, over: &Layer) {
    for (key, change) in over.iter() {
        layer.insert(key.into(), change.map(Into::into));
    }
}

/// What is wrong with a map that has nothing, if its file is missing or empty.
pub(crate) fn no_map(path: &Path) -> Result<Option<Damage>, OpenError> {
    let map = Part::Map;
    match std::fs::metadata(path.join(map.file_name())) {
        Ok(found) if found.len() > 0 => Ok(None),
        Ok(_) => Ok(Some(Damage::of_store(format!("{map} is empty: it has 0 bytes")))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(Some(Damage::of_store(format!("{map} is missing"))))
        }
        Err(error) => Err(OpenError::Directory { path: path.to_owned(), error }),
    }
}

/// The journals that are there, each with the id of its store.
fn journals(
    path: &Path,
    id: Option<StoreId>,
    found: &mut dyn FnMut(Damage),
) -> Vec<(StoreId, Vec<u8>)> {
    let mut read: Vec<(Part, Option<StoreId>, Vec<u8>)> = Vec::new();
    for part in Part::JOURNALS {
        match std::fs::read(path.join(part.file_name())) {
            Ok(bytes) => match read_header(&bytes) {
                Header::Of(own) => read.push((part, Some(own), bytes)),
                Header::Damaged | Header::Newer(_) => read.push((part, None, bytes)),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => found(Damage::of_store(format!("{part} cannot be read: {error}"))),
        }
    }
    // A journal without a header is of the same store as the other one. The records tell by themselves whether they are.
    let other = read.iter().find_map(|(_, own, _)| *own);
    let mut journals = Vec::new();
    for (part, own, bytes) in read {
        match id.or(own).or(other) {
            Some(id) => journals.push((id, bytes)),
            None => found(Damage::of_store(format!(
                "the beginning of {part} is damaged, or a newer release wrote it, so its records cannot be read"
            ))),
        }
    }
    journals
}

/// All changes of whole records in the journals that the map does not hold, whatever is missing between them.
pub(crate) fn read_journals(path: &Path, head: &Head, found: &mut dyn FnMut(Damage)) -> Layer {
    let journals = journals(path, head.id, found);
    let ids: BTreeSet<StoreId> = journals.iter().map(|(id, _)| *id).collect();
    if ids.len() > 1 {
        found(Damage::of_store("the journals are of different stores; both are read"));
    }
    let mut layer = Layer::default();
    for of in ids {
        let own = journals.iter().filter(|(id, _)| *id == of);
        let mut records: Vec<Record<'_>> =
            own.flat_map(|(id, bytes)| read_all(id, bytes)).collect();
        records.retain(|record| record.number > head.folded);
        records.sort_by_key(|record| record.number);
        // Without a map nobody knows which record should be the first.
        let first = records.first().filter(|_| head.id.is_none()).map(|record| record.number);
        let mut next = first.unwrap_or_else(|| head.folded.saturating_add(1));
        for record in records {
            if record.number > next {
                let last = record.number.saturating_sub(1);
                found(Damage::of_store(format!(
                    "the journals lack the records from {next} to {last}; it cannot be told what they changed"
                )));
            }
            next = record.number.saturating_add(1);
            record.changes().flatten().for_each(|(key, change)| layer.insert(key, change));
        }
    }
    layer
}
