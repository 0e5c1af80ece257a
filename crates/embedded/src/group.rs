//! A group of writes in the making: what it changes, over what is stored.

use std::sync::Arc;

use crate::engine::{EngineError, Snapshot};
use crate::map::{Base, Direct};
use crate::overlay::Bytes;
use crate::record::Changes;

/// How many bytes of changes a group has at most when its last write is added.
const GROUP_BYTES: usize = 4 << 20;

/// The names of the catalog among the keys: no table has this space.
const META_SPACE: [u8; 2] = [0, 0];

/// Changes that become durable together. Reads see the changes made before them.
pub(crate) enum Group<'a, 'b> {
    /// Those of a commit of the map.
    Direct(&'a mut Direct<'b>),
    /// Those of a record.
    Logged(&'a mut Logged),
}

/// The changes of a record in the making, over what is stored.
pub(crate) struct Logged {
    snapshot: Snapshot,
    changes: Changes,
    bytes: usize,
}

impl Logged {
    /// No changes yet.
    pub(crate) fn over(snapshot: Snapshot) -> Logged {
        Logged { snapshot, changes: Changes::new(), bytes: 0 }
    }

    /// All changes, and the commit of the map that they were made over.
    pub(crate) fn into_changes(self) -> (Changes, Arc<Base>) {
        (self.changes, self.snapshot.base)
    }

    fn change(&mut self, key: &[u8], change: Option<&[u8]>) {
        self.bytes += key.len() + change.map_or(0, <[u8]>::len);
        self.changes.insert(Bytes::from(key), change.map(Bytes::from));
    }
}

impl Group<'_, '_> {
    /// Hands the bytes under a key to a function, if there are any.
    pub(crate) fn get<T>(
        &self,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, EngineError> {
        match self {
            Group::Direct(direct) => direct.get(key, read),
            Group::Logged(logged) => match logged.changes.get(key) {
                Some(change) => Ok(change.as_deref().map(read)),
                None => logged.snapshot.get(key, read),
            },
        }
    }

    pub(crate) fn insert(&mut self, key: &[u8], bytes: &[u8]) -> Result<(), EngineError> {
        match self {
            Group::Direct(direct) => direct.insert(key, bytes),
            Group::Logged(logged) => {
                logged.change(key, Some(bytes));
                Ok(())
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &[u8]) -> Result<(), EngineError> {
        match self {
            Group::Direct(direct) => direct.remove(key),
            Group::Logged(logged) => {
                logged.change(key, None);
                Ok(())
            }
        }
    }

    pub(crate) fn insert_meta(&mut self, name: &str, bytes: &[u8]) -> Result<(), EngineError> {
        match self {
            Group::Direct(direct) => direct.insert_meta(name, bytes),
            Group::Logged(logged) => {
                logged.change(&meta_key(name), Some(bytes));
                Ok(())
            }
        }
    }

    /// Whether it should become durable before more is added.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, Group::Logged(logged) if logged.bytes >= GROUP_BYTES)
    }
}

/// The key that stands for a name in the catalog.
pub(crate) fn meta_key(name: &str) -> Vec<u8> {
    [META_SPACE.as_slice(), name.as_bytes()].concat()
}

/// The name in the catalog that a key stands for, if it does.
pub(crate) fn meta_name(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key.strip_prefix(&META_SPACE)?).ok()
}
