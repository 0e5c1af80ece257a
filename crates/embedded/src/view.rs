//! All that a store holds at one instant, for whoever reads much of it: a check, a backup, an export.
//!
//! A view holds nobody up. As long as it is there, the map cannot use the room again of what is changed meanwhile, so
//! the file grows by as much.

use std::ops::Range;
use std::sync::Arc;

use latchkey_table::{Error, Scan, Scanned, Schema};

use crate::engine::{EngineError, Snapshot};
use crate::group::{meta_key, meta_name};
use crate::key_codec::Space;
use crate::overlay::{Hashed, Layer, Merged};
use crate::watch::Watch;
use crate::writer::Seen;

/// A store at one instant. Later writes do not change it.
///
/// ```
/// use latchkey_embedded::{Options, Store};
/// use std::ops::ControlFlow;
///
/// let store = Store::in_memory(&Options::default())?;
/// let mut damages = Vec::new();
/// let checked = store.view().check(&mut |_| ControlFlow::Continue(()), &mut |found| damages.push(found));
/// assert_eq!((checked.items, damages.len()), (0, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct View {
    pub(crate) seen: Arc<Seen>,
    /// Knows whether a file of the store is gone, if the store is open and has files.
    pub(crate) watch: Option<Arc<Watch>>,
}

/// How far someone who reads a whole store has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadSoFar {
    /// Items and index entries that were read.
    pub keys: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many items and index entries there are.
    pub keys_total: u64,
}

impl View {
    /// The tables, by name.
    pub fn tables(&self) -> Vec<Arc<Schema>> {
        let mut tables: Vec<_> = self.seen.catalog.entries().collect();
        tables.sort_by(|a, b| a.schema.name.cmp(&b.schema.name));
        tables.into_iter().map(|entry| Arc::clone(&entry.schema)).collect()
    }

    /// Reads a table in the order of its keys.
    pub fn scan(&self, request: &Scan) -> Result<Scanned, Error> {
        self.seen.scan(request)
    }
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").finish_non_exhaustive()
    }
}

/// Every key there can be.
pub(crate) fn everything() -> Range<Vec<u8>> {
    Vec::new()..Space(u16::MAX).0.to_be_bytes().to_vec()
}

impl Snapshot {
    /// The layers over the map, the older one first.
    fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.frozen.as_deref().map(|frozen| &frozen.layer).into_iter().chain([&self.active])
    }

    /// Whether a key was changed since the map's last commit.
    pub(crate) fn is_changed(&self, key: &[u8]) -> bool {
        self.layers().any(|layer| layer.get(Hashed::new(key)).is_some())
    }

    /// What was changed since the map's last commit, but for the catalog.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let frozen = self.frozen.as_deref().map(|frozen| &frozen.layer);
        let merged = Merged::new(&self.active, frozen, &everything(), false);
        merged.filter(|(key, _)| meta_name(key).is_none())
    }

    /// How many keys there are, by what the map says of itself.
    pub(crate) fn len(&self) -> Result<u64, EngineError> {
        let mut len = self.base.len()?;
        for (key, change) in self.changes() {
            match (self.base.get(key, |_| ())?, change) {
                (None, Some(_)) => len = len.saturating_add(1),
                (Some(()), None) => len = len.saturating_sub(1),
                (Some(()), Some(_)) | (None, None) => {}
            }
        }
        Ok(len)
    }

    /// Everything under a name in the catalog that begins with a prefix.
    pub(crate) fn meta(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, EngineError> {
        let mut entries = self.base.meta(prefix)?;
        let start = meta_key(prefix);
        let changes = self.layers().flat_map(Layer::iter);
        for (key, bytes) in changes.filter(|(key, _)| key.starts_with(&start)) {
            let Some(name) = meta_name(key) else { continue };
            entries.retain(|(other, _)| other != name);
            entries.extend(bytes.map(|bytes| (name.to_owned(), bytes.to_vec())));
        }
        Ok(entries)
    }
}
