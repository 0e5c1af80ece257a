//! The thread that writes into the map what the journals hold.
//!
//! It folds one frozen layer at a time, in one commit and in the order of its keys, together with the number of the
//! layer's last record. Then it shows readers the new map without the layer, and the layer's journal is free. A fold
//! that fails leaves the layer where it is and is tried again; readers and the writer go on meanwhile.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use latchkey_table::ReadOnly;

use crate::engine::Snapshot;
use crate::group::meta_name;
use crate::map::{Base, Direct, EngineError, Head, Map, OpenFailure, WriteFailure};
use crate::overlay::Layer;
use crate::storage::Source;

/// How long a fold that failed waits before it is tried again, at first.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// How long it waits at most. Each try opens the map again.
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(8);

/// How often a fold that waits for room looks for it.
const ROOM_PAUSE: Duration = Duration::from_millis(100);

/// Shows readers a snapshot.
pub(crate) type Shown = Box<dyn Fn(Snapshot) + Send>;

/// The changes of a journal that is full.
pub(crate) struct Frozen {
    pub(crate) layer: Layer,
    /// What the map says when it holds them.
    pub(crate) head: Head,
}

/// What the writer and the folder share.
pub(crate) struct Core {
    pub(crate) source: Source,
    cache_bytes: usize,
    /// `None` after a failure, until it opens again. redb refuses all requests after an error of its storage.
    map: Mutex<Option<Map>>,
    state: Mutex<State>,
    /// Told of each change of the state that someone may wait for.
    pub(crate) changed: Condvar,
}

/// What is stored, and in which of its parts.
pub(crate) struct State {
    pub(crate) active: Layer,
    pub(crate) frozen: Option<Arc<Frozen>>,
    pub(crate) base: Arc<Base>,
    /// Why the last fold failed, until one succeeds.
    pub(crate) failed: Option<EngineError>,
    /// Whether the journals cannot be made, or a record is in doubt since one could not be written.
    pub(crate) journal_fails: bool,
    /// Whether writes are refused because no file may grow. Never longer than a fold fails.
    limited: bool,
    /// Whether the map must be opened again.
    reopen: bool,
    stopped: bool,
}

impl State {
    /// All that is durable.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let (active, frozen) = (self.active.clone(), self.frozen.clone());
        Snapshot { active, frozen, base: Arc::clone(&self.base) }
    }
}

impl Core {
    pub(crate) fn new(
        source: Source,
        cache_bytes: usize,
        map: Map,
        base: Base,
        active: Layer,
        frozen: Option<Frozen>,
    ) -> Core {
        let state = State {
            active,
            frozen: frozen.map(Arc::new),
            base: Arc::new(base),
            failed: None,
            journal_fails: false,
            limited: false,
            reopen: false,
            stopped: false,
        };
        let (map, state) = (Mutex::new(Some(map)), Mutex::new(state));
        Core { source, cache_bytes, map, state, changed: Condvar::new() }
    }

    /// Whether writes are taken, as far as is known.
    pub(crate) fn takes_writes(&self) -> Result<(), ReadOnly> {
        self.source.takes_writes()?;
        let state = self.lock();
        if state.journal_fails {
            Err(ReadOnly::JournalFails)
        } else if state.limited {
            Err(ReadOnly::FileLimit)
        } else {
            Ok(())
        }
    }

    /// Refuses a write because a file may not grow. While the journals cannot be folded, that holds for each write.
    pub(crate) fn refuse_for_limit(&self) -> ReadOnly {
        let mut state = self.lock();
        if state.frozen.is_some() && state.failed.is_some() && !state.limited {
            state.limited = true;
            tracing::error!(
                "writes are refused, because a file of the store reached a limit on the size of files (`ulimit -f`): \
                 start this process without that limit; reads go on"
            );
        }
        ReadOnly::FileLimit
    }

    /// The failure of a group whose record finds no place.
    pub(crate) fn refused_by_storage(&self, error: io::Error) -> WriteFailure {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        if self.source.is_gone() {
            WriteFailure::Refused(ReadOnly::FileGone)
        } else if error.kind() == io::ErrorKind::FileTooLarge {
            WriteFailure::Refused(self.refuse_for_limit())
        } else if full.contains(&error.kind()) {
            WriteFailure::Refused(ReadOnly::NoRoom)
        } else {
            EngineError::io(error).into()
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_map(&self) -> MutexGuard<'_, Option<Map>> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a layer to the folder, which has none.
    pub(crate) fn freeze(&self, frozen: Frozen) {
        let mut state = self.lock();
        state.active = Layer::default();
        state.frozen = Some(Arc::new(frozen));
        drop(state);
        self.changed.notify_all();
    }

    /// Has the map opened again, because a read of one of its commits failed.
    pub(crate) fn ask_reopen(&self, failed: &Arc<Base>) {
        let mut state = self.lock();
        state.reopen |= Arc::ptr_eq(&state.base, failed);
        drop(state);
        self.changed.notify_all();
    }

    /// Opens the map again, unless that was done since a read of one of its commits failed.
    pub(crate) fn reopen_after(
        &self,
        failed: &Arc<Base>,
        show: &dyn Fn(Snapshot),
    ) -> Result<(), EngineError> {
        let mut map = self.lock_map();
        if Arc::ptr_eq(&self.lock().base, failed) {
            self.reopen(&mut map)?;
            self.rebase(&map, show)?;
        }
        Ok(())
    }

    /// Waits until there is no frozen layer, or until its fold fails.
    pub(crate) fn wait_until_folded(&self) -> Result<(), EngineError> {
        let busy =
            |state: &mut State| state.frozen.is_some() && state.failed.is_none() && !state.stopped;
        let waited = self.changed.wait_while(self.lock(), busy);
        let state = waited.unwrap_or_else(PoisonError::into_inner);
        match (&state.frozen, &state.failed) {
            (None, _) => Ok(()),
            (Some(_), Some(error)) => Err(error.clone()),
            (Some(_), None) => Err(EngineError::new("the store is closing".to_owned())),
        }
    }

    /// Ends the folder, after the fold that it is at.
    pub(crate) fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    /// Closes the map. What is left of one whose file is gone is not written: redb would.
    pub(crate) fn close(&self) {
        let map = self.lock_map().take();
        if self.source.is_gone() { std::mem::forget(map) } else { drop(map) }
    }

    /// Writes to the map itself. After a failure the map is opened again.
    pub(crate) fn write<T>(
        &self,
        head: Option<&Head>,
        change: impl FnOnce(&mut Direct<'_>) -> Result<T, EngineError>,
    ) -> Result<T, WriteFailure> {
        let mut map = self.lock_map();
        let written = match &*map {
            Some(map) => map.write(head, change),
            None => Err(EngineError::new("it failed and has not opened again".to_owned()).into()),
        };
        // A map in memory is gone when it is closed.
        if written.is_err() && !matches!(self.source, Source::Memory) {
            self.reopen(&mut map).map_err(|error| match &written {
                Err(WriteFailure::InDoubt(_)) => WriteFailure::InDoubt(error),
                _ => WriteFailure::Aborted(error),
            })?;
        }
        if let Some(map) = &*map {
            let base = map.base().map_err(WriteFailure::InDoubt)?;
            self.lock().base = Arc::new(base);
        }
        written
    }

    fn reopen(&self, map: &mut Option<Map>) -> Result<(), EngineError> {
        if self.source.is_gone() {
            return Err(EngineError::new(ReadOnly::FileGone.to_string()));
        }
        // It must let go of the file first.
        drop(map.take());
        let opened = Map::open(&self.source, self.cache_bytes);
        *map = Some(opened.map_err(|failure| match failure {
            OpenFailure::Unusable(error) => error,
            OpenFailure::Newer { found } => EngineError::new(format!("its format is now {found}")),
        })?);
        Ok(())
    }

    /// Folds until it is stopped.
    pub(crate) fn run(&self, show: &dyn Fn(Snapshot)) {
        let _guard = FailOnDrop(self);
        let mut pause = RETRY_PAUSE;
        loop {
            let idle =
                |state: &mut State| state.frozen.is_none() && !state.reopen && !state.stopped;
            let waited = self.changed.wait_while(self.lock(), idle);
            let mut state = waited.unwrap_or_else(PoisonError::into_inner);
            if state.stopped {
                return;
            }
            let (frozen, reopen) = (state.frozen.clone(), std::mem::take(&mut state.reopen));
            drop(state);
            // What is in a journal can wait for room. A commit that finds none would take the map from readers.
            let waits = self.source.takes_writes();
            let frozen = frozen.as_deref().filter(|_| waits.is_ok());
            let folded = self.fold(frozen, reopen, show);
            match (folded, waits) {
                (Ok(()), Ok(())) => pause = RETRY_PAUSE,
                (Ok(()), Err(why)) => self.wait_for_room(why),
                (Err(error), _) => {
                    self.pause(error, reopen, pause);
                    pause = pause.saturating_mul(2).min(RETRY_PAUSE_MAX);
                }
            }
        }
    }

    /// Waits a while because nothing can be written. The store's watch has told why.
    fn wait_for_room(&self, why: ReadOnly) {
        let mut state = self.lock();
        if state.frozen.is_some() {
            // Nobody is to wait for it.
            state.failed.get_or_insert_with(|| EngineError::new(why.to_string()));
            self.changed.notify_all();
        }
        let idle = |state: &mut State| !state.stopped && !state.reopen;
        let waited = self.changed.wait_timeout_while(state, ROOM_PAUSE, idle);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Keeps an error, and waits a while before the next fold.
    fn pause(&self, error: EngineError, reopen: bool, pause: Duration) {
        let mut state = self.lock();
        if state.failed.is_none() && !self.source.is_gone() {
            tracing::error!(%error, "writes cannot be moved from a journal to the store's file; they wait there");
        }
        state.failed = Some(error);
        state.reopen |= reopen;
        self.changed.notify_all();
        let waited = self.changed.wait_timeout_while(state, pause, |state| !state.stopped);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Folds a layer, if there is one, and shows the map as it is then.
    fn fold(
        &self,
        frozen: Option<&Frozen>,
        reopen: bool,
        show: &dyn Fn(Snapshot),
    ) -> Result<(), EngineError> {
        let mut map = self.lock_map();
        if reopen || map.is_none() {
            self.reopen(&mut map)?;
            self.rebase(&map, show)?;
        }
        let (Some(open), Some(frozen)) = (&*map, frozen) else { return Ok(()) };
        let written = open.write(None, |direct| apply(direct, frozen));
        let failure = match written {
            // A file that is gone does not hold the layer, whatever was written to it.
            Ok(()) => {
                self.source.look().map_err(|why| EngineError::new(why.to_string()))?;
                None
            }
            Err(WriteFailure::Aborted(error) | WriteFailure::InDoubt(error)) => {
                self.reopen(&mut map)?;
                Some(error)
            }
            Err(WriteFailure::Refused(why)) => Some(EngineError::new(why.to_string())),
        };
        self.rebase(&map, show)?;
        // If the commit failed it may have been kept all the same.
        match failure {
            Some(error) if self.lock().frozen.is_some() => Err(error),
            _ => Ok(()),
        }
    }

    /// Shows the map as of its last commit, without the frozen layer if the map holds it.
    fn rebase(&self, map: &Option<Map>, show: &dyn Fn(Snapshot)) -> Result<(), EngineError> {
        let Some(map) = map else { return Err(EngineError::new("its map is closed".to_owned())) };
        let base = Arc::new(map.base()?);
        let folded = base.head()?.folded;
        let mut state = self.lock();
        let old = std::mem::replace(&mut state.base, base);
        let layer = state.frozen.take_if(|frozen| frozen.head.folded <= folded);
        if state.frozen.is_none() && state.failed.take().is_some() {
            state.limited = false;
            tracing::info!("writes are moved to the store's file again");
        }
        show(state.snapshot());
        drop(state);
        self.changed.notify_all();
        // They may be the last holds on much memory.
        drop((old, layer));
        Ok(())
    }
}

/// The failure of a group whose record may be in a file that is gone.
pub(crate) fn in_doubt(why: ReadOnly) -> WriteFailure {
    WriteFailure::InDoubt(EngineError::new(why.to_string()))
}

/// Says that nothing is folded any more, should the folder panic: nobody is to wait for it.
struct FailOnDrop<'a>(&'a Core);

impl Drop for FailOnDrop<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.failed = Some(EngineError::new("the folder has stopped".to_owned()));
        drop(state);
        self.0.changed.notify_all();
    }
}

/// Makes the changes of a layer.
fn apply(direct: &mut Direct<'_>, frozen: &Frozen) -> Result<(), EngineError> {
    for (key, change) in frozen.layer.iter() {
        match (meta_name(key), change) {
            (Some(name), Some(bytes)) => direct.insert_meta(name, bytes)?,
            // No name is ever removed from the catalog.
            (Some(name), None) => {
                return Err(EngineError::new(format!(
                    "a journal removes `{name}` from the catalog"
                )));
            }
            (None, Some(bytes)) => direct.insert(key, bytes)?,
            (None, None) => direct.remove(key)?,
        }
    }
    direct.keep(&frozen.head)
}
