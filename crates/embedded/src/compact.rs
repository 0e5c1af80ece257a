//! Makes the files of a store small that no process has open.

use std::path::Path;
use std::sync::Arc;

use crate::directory::{Directory, remove_if_there, sync_directory};
use crate::engine::{Engine, Limits};
use crate::error::OpenError;
use crate::map::Map;
use crate::storage::{Part, Source};
use crate::store::Options;
use crate::watch::{Watch, room};

/// How often redb is asked to go on at most. Each time it moves what it can.
const ROUNDS_MAX: usize = 16;

/// How many bytes the files of a store have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// Before.
    pub before: u64,
    /// Afterwards.
    pub after: u64,
}

/// Moves what the journals hold into the map, removes the journals, and has the map give back the room that it does not
/// use. A kill, or a full disk, at any point loses nothing. After a kill the next start reads the whole file once.
pub fn compact(path: &Path, options: &Options) -> Result<Compacted, OpenError> {
    let directory = Directory::lock_existing(path)?;
    directory.refuse_lost()?;
    let store = path.join(Part::Map.file_name());
    let unusable = |error| OpenError::unusable(&store, error);
    let refused = |failure| OpenError::of(&store, failure);
    let failed = |error| OpenError::Directory { path: path.to_owned(), error };
    let before = size(path);
    let limits = Limits { journal_bytes: options.journal_bytes, fold_after: options.fold_after };
    // Also on a disk that is nearly full: it makes room.
    let source = || Source::Files(Arc::new(Watch::new(path.to_owned(), Some(0))));
    let mut engine =
        Engine::open(source(), options.cache_bytes, limits, &options.progress).map_err(refused)?;
    engine.start(Box::new(|_| {})).map_err(OpenError::Thread)?;
    engine.close(&|_| {});
    let mut map = Map::open(&source(), options.cache_bytes).map_err(refused)?;
    if map.base().and_then(|base| base.head()).map_err(unusable)?.journals {
        return Err(OpenError::NotFolded { path: store, free: room(path).map(|(free, _)| free) });
    }
    for journal in Part::JOURNALS {
        remove_if_there(&path.join(journal.file_name())).map_err(failed)?;
    }
    sync_directory(path).map_err(failed)?;
    for _ in 0..ROUNDS_MAX {
        if !map.compact().map_err(unusable)? {
            break;
        }
    }
    drop(map);
    drop(directory);
    Ok(Compacted { before, after: size(path) })
}

/// How many bytes the files have that are there.
fn size(path: &Path) -> u64 {
    let [first, second] = Part::JOURNALS;
    let sizes = [Part::Map, first, second].map(|part| {
        // A journal that is not there has none.
        path.join(part.file_name()).metadata().map_or(0, |metadata| metadata.len())
    });
    sizes.iter().sum()
}
