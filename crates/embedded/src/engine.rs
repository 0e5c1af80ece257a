//! The store's bytes: a map, and in front of it journals.
//!
//! The writer runs a group of changes against the present state, writes them to a journal as one record and syncs it
//! once. Only then are they laid over the map, in memory, where readers find them. A [folder](crate::fold) writes them
//! into the map later, in the background. Changes of whole tables go to the map itself, after all that is in front of
//! it.
//!
//! A store in memory has no journals: its groups are commits of the map.

use std::ops::Range;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use latchkey_table::ReadOnly;

use crate::fold::{Core, Frozen, Shown, State, in_doubt};
use crate::group::{Group, Logged};
use crate::journal::Journals;
use crate::map::{Base, Direct, Head, Map};
pub(crate) use crate::map::{EngineError, FORMAT_VERSION, OpenFailure, Pair, Walk, WriteFailure};
use crate::overlay::{Hashed, Layer, Merged};
use crate::progress::{Progress, Step};
use crate::record::{self, Changes, StoreId};
use crate::recover::recover;
use crate::storage::Source;

/// How long after a failed sync an idle writer tries again.
const DOUBT_PAUSE: Duration = Duration::from_millis(500);

/// The longest pause of a group while the folder is behind.
const PAUSE_MAX: Duration = Duration::from_millis(25);

/// When a journal is folded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// From so many bytes on, the other journal is written, if it is free.
    pub(crate) journal_bytes: u64,
    /// So long after its first record.
    pub(crate) fold_after: Duration,
}

impl Limits {
    /// From so many bytes on, writes wait until the other journal is free.
    fn bytes_max(self) -> u64 {
        self.journal_bytes.saturating_mul(2)
    }
}

/// The open store.
pub(crate) struct Engine {
    core: Arc<Core>,
    /// `None` in memory.
    log: Option<Log>,
    folder: Option<JoinHandle<()>>,
}

/// What only the writer knows of the journals.
struct Log {
    id: StoreId,
    limits: Limits,
    /// `None` before the first write to the store.
    journals: Option<Journals>,
    /// Whether the map says that there is something in the journals.
    begun: bool,
    /// The number of the last record.
    last: u64,
    /// The records of the active journal.
    active: Layer,
    /// When the first of them was written.
    since: Option<Instant>,
    /// Whether the active journal cannot grow, for want of room on the disk.
    cramped: bool,
    /// A record that may or may not be durable. No other is written before it is.
    doubt: Option<(Vec<u8>, Changes)>,
    /// Whether the journals could not be made.
    unmade: bool,
    /// Room for the next record.
    buffer: Vec<u8>,
}

impl Engine {
    /// Opens the map and reads the journals.
    pub(crate) fn open(
        source: Source,
        cache_bytes: usize,
        limits: Limits,
        progress: &Progress,
    ) -> Result<Engine, OpenFailure> {
        progress.tell(Step::Map);
        let map = Map::open(&source, cache_bytes)?;
        let base = map.base()?;
        if matches!(source, Source::Memory) {
            let core = Core::new(source, cache_bytes, map, base, Layer::default(), None);
            return Ok(Engine { core: Arc::new(core), log: None, folder: None });
        }
        let head = base.head()?;
        let recovered = recover(&source, &head, progress)?;
        let id = head.id.map_or_else(new_id, Ok)?;
        let since = (!recovered.active.is_empty()).then(Instant::now);
        let log = Log {
            id,
            limits,
            journals: recovered.journals,
            begun: head.journals,
            last: recovered.last,
            active: recovered.active.clone(),
            since,
            cramped: false,
            doubt: None,
            unmade: false,
            buffer: Vec::new(),
        };
        let frozen = recovered.frozen.map(|(layer, last)| Frozen { layer, head: log.head(last) });
        let core = Core::new(source, cache_bytes, map, base, recovered.active, frozen);
        Ok(Engine { core: Arc::new(core), log: Some(log), folder: None })
    }

    /// Starts to fold in the background. The function shows readers a snapshot.
    pub(crate) fn start(&mut self, show: Shown) -> std::io::Result<()> {
        if self.log.is_none() {
            return Ok(());
        }
        let core = Arc::clone(&self.core);
        let run = move || core.run(&show);
        self.folder = Some(thread::Builder::new().name("latchkey-folder".to_owned()).spawn(run)?);
        Ok(())
    }

    /// What readers ask to have the map opened again.
    pub(crate) fn core(&self) -> Arc<Core> {
        Arc::clone(&self.core)
    }

    /// All that is durable.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.core.lock().snapshot()
    }

    /// Everything under a name in the catalog that begins with a prefix.
    pub(crate) fn meta(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, EngineError> {
        self.snapshot().meta(prefix)
    }

    /// Runs a group of changes and makes them durable with one sync, or none if there were none. Then shows them.
    pub(crate) fn write<T>(
        &mut self,
        change: impl FnOnce(&mut Group<'_, '_>) -> Result<T, EngineError>,
        show: &dyn Fn(Snapshot),
    ) -> Result<T, WriteFailure> {
        let Some(log) = &mut self.log else {
            let result = self.core.write(None, |direct| change(&mut Group::Direct(direct)))?;
            show(self.snapshot());
            return Ok(result);
        };
        self.core.source.takes_writes().map_err(WriteFailure::Refused)?;
        log.settle(&self.core, show)?;
        log.make_room(&self.core)?;
        let state = self.core.lock();
        let (frozen, base) = (state.frozen.clone(), Arc::clone(&state.base));
        drop(state);
        let mut logged = Logged::over(Snapshot { active: log.active.clone(), frozen, base });
        let result = change(&mut Group::Logged(&mut logged));
        let (changes, base) = logged.into_changes();
        if result.is_err() && base.has_failed() {
            self.core.reopen_after(&base, show)?;
        }
        let result = result?;
        if !changes.is_empty() {
            log.write(&self.core, changes, show)?;
        }
        Ok(result)
    }

    /// Runs changes of the map itself, after everything in front of it is in it.
    pub(crate) fn restructure<T>(
        &mut self,
        change: impl FnOnce(&mut Direct<'_>) -> Result<T, EngineError>,
        show: &dyn Fn(Snapshot),
    ) -> Result<T, WriteFailure> {
        let head = match &mut self.log {
            None => None,
            Some(log) => {
                self.core.source.takes_writes().map_err(WriteFailure::Refused)?;
                log.settle(&self.core, show)?;
                log.fold_all(&self.core)?;
                Some(Head { journals: log.begun, ..log.head(log.last) })
            }
        };
        let changed = self.core.write(head.as_ref(), change)?;
        // It is not durable if the file is gone.
        self.core.source.look().map_err(in_doubt)?;
        Ok(changed)
    }

    /// When the writer, with nothing else to do, should call [`Engine::tick`].
    pub(crate) fn next_tick(&self) -> Option<Duration> {
        let log = self.log.as_ref()?;
        if log.doubt.is_some() || log.unmade {
            return Some(DOUBT_PAUSE);
        }
        log.since.map(|since| log.limits.fold_after.saturating_sub(since.elapsed()))
    }

    /// Does what is due: tries again to make the journals or to sync a record, or has a journal folded that is old
    /// enough.
    pub(crate) fn tick(&mut self, show: &dyn Fn(Snapshot)) {
        let Some(log) = &mut self.log else { return };
        let writable = self.core.source.takes_writes().is_ok();
        if writable && log.unmade {
            // It was told when it began.
            let _ = log.make_journals(&self.core);
        }
        let settled = writable && log.settle(&self.core, show).is_ok();
        if log.is_old() {
            // If the folder is busy, the journal's next turn comes later.
            log.since = Some(Instant::now());
            if settled && self.core.lock().frozen.is_none() {
                log.turn(&self.core);
            }
        }
    }

    /// Folds all that is in front of the map, and says in the map that there is nothing more. What cannot be folded
    /// stays in the journals.
    pub(crate) fn close(mut self, show: &dyn Fn(Snapshot)) {
        let Some(log) = &mut self.log else { return };
        if self.core.source.look().is_err() {
            // Said when it was noticed. Nothing is written to what is left of it.
            return;
        }
        if self.core.source.is_low() && log.doubt.is_none() {
            tracing::info!(
                "the store closes without room on its disk; the last writes stay in its journals"
            );
            return;
        }
        let settled = log.settle(&self.core, show);
        let folded = settled.and_then(|()| log.fold_all(&self.core)).and_then(|()| {
            if !log.begun {
                return Ok(());
            }
            let head = Head { journals: false, ..log.head(log.last) };
            self.core.write(None, |direct| direct.keep(&head))
        });
        let told =
            "the store closes with writes in its journals; they are there when it opens again";
        match folded {
            Ok(()) => {}
            Err(WriteFailure::Aborted(error) | WriteFailure::InDoubt(error)) => {
                tracing::warn!(%error, "{told}");
            }
            Err(WriteFailure::Refused(error)) => tracing::warn!(%error, "{told}"),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.core.stop();
        if let Some(folder) = self.folder.take() {
            // If it panicked, what it did not fold is in the journals.
            let _ = folder.join();
        }
        self.core.close();
    }
}

impl Log {
    /// What the map says when it holds all records up to one, and others may follow.
    fn head(&self, folded: u64) -> Head {
        Head { id: Some(self.id), folded, journals: true }
    }

    /// Makes changes durable and shows them.
    fn write(
        &mut self,
        core: &Core,
        changes: Changes,
        show: &dyn Fn(Snapshot),
    ) -> Result<(), WriteFailure> {
        self.begin(core)?;
        let too_large = |record::TooLarge| EngineError::new("a group is too large".to_owned());
        record::encode(&self.id, self.last + 1, &changes, &mut self.buffer).map_err(too_large)?;
        let Some(journals) = &mut self.journals else {
            return Err(EngineError::new("its journals are missing".to_owned()).into());
        };
        if let Err(error) = journals.reserve(&self.buffer) {
            self.cramped = true;
            return Err(core.refused_by_storage(error));
        }
        if let Err(error) = journals.append(&self.buffer) {
            if !core.source.is_gone() {
                tracing::error!(%error, "a journal cannot be written; writes are refused until it can");
            }
            core.lock().journal_fails = true;
            self.doubt = Some((std::mem::take(&mut self.buffer), changes));
            return Err(WriteFailure::InDoubt(EngineError::io(error)));
        }
        // A record in a file that is gone is not durable.
        core.source.look().map_err(in_doubt)?;
        self.publish(core, changes, show);
        Ok(())
    }

    /// Says in the map that there may be something in the journals, which are made first.
    fn begin(&mut self, core: &Core) -> Result<(), WriteFailure> {
        if self.begun {
            return Ok(());
        }
        self.make_journals(core)?;
        let head = self.head(self.last);
        // If this fails nothing of the group was kept, whatever the map says.
        core.write(None, |direct| direct.keep(&head)).map_err(|failure| match failure {
            WriteFailure::InDoubt(error) => WriteFailure::Aborted(error),
            failure => failure,
        })?;
        self.begun = true;
        Ok(())
    }

    /// Makes the journals, unless they are there. That they cannot be made is told once.
    fn make_journals(&mut self, core: &Core) -> Result<(), WriteFailure> {
        if self.journals.is_some() {
            return Ok(());
        }
        match Journals::make(&core.source, &self.id) {
            Ok(journals) => {
                self.journals = Some(journals);
                if std::mem::take(&mut self.unmade) {
                    tracing::info!("the journals can be made again");
                    core.lock().journal_fails = false;
                }
                Ok(())
            }
            Err(_) if core.source.is_gone() => Err(WriteFailure::Refused(ReadOnly::FileGone)),
            Err((part, error)) => {
                if !std::mem::replace(&mut self.unmade, true) {
                    let file = core.source.path_of(part);
                    tracing::error!(file = %file.display(), %error, "a journal cannot be made; writes are refused until it can");
                    core.lock().journal_fails = true;
                }
                Err(WriteFailure::Refused(ReadOnly::JournalFails))
            }
        }
    }

    /// Makes the record durable that is in doubt, if there is one.
    fn settle(&mut self, core: &Core, show: &dyn Fn(Snapshot)) -> Result<(), WriteFailure> {
        let (Some((record, _)), Some(journals)) = (&self.doubt, &mut self.journals) else {
            return Ok(());
        };
        journals.append(record).map_err(EngineError::io)?;
        core.source.look().map_err(in_doubt)?;
        if let Some((_, changes)) = self.doubt.take() {
            tracing::info!("the journal can be written again");
            core.lock().journal_fails = false;
            self.publish(core, changes, show);
        }
        Ok(())
    }

    /// Lays changes that are durable over the map, and shows them.
    fn publish(&mut self, core: &Core, changes: Changes, show: &dyn Fn(Snapshot)) {
        self.last += 1;
        self.since.get_or_insert_with(Instant::now);
        for (key, change) in changes {
            self.active.insert(key, change);
        }
        let mut state = core.lock();
        let old = std::mem::replace(&mut state.active, self.active.clone());
        show(state.snapshot());
        drop(state);
        drop(old);
    }

    /// Turns to the other journal if this one is full or old, or slows down while the other is still being folded.
    fn make_room(&mut self, core: &Core) -> Result<(), WriteFailure> {
        let Limits { journal_bytes, .. } = self.limits;
        let used = self.journals.as_ref().map_or(0, Journals::used);
        let full = used >= journal_bytes;
        if !full && !self.cramped && !self.is_old() {
            return Ok(());
        }
        let max = self.limits.bytes_max();
        let busy = |state: &mut State| state.frozen.is_some() && state.failed.is_none();
        let mut state = core.lock();
        if full && used < max {
            let pause = pause(used - journal_bytes, max - journal_bytes);
            let waited = core.changed.wait_timeout_while(state, pause, busy);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        } else if full {
            let waited = core.changed.wait_while(state, busy);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        match (&state.frozen, &state.failed) {
            (Some(_), Some(error)) if used >= max => {
                let error = error.clone();
                drop(state);
                return Err(match error.is_limit {
                    true => WriteFailure::Refused(core.refuse_for_limit()),
                    false => error.into(),
                });
            }
            (Some(_), _) => return Ok(()),
            (None, _) => drop(state),
        }
        self.turn(core);
        Ok(())
    }

    fn is_old(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= self.limits.fold_after)
    }

    /// Has the active journal folded, and goes on with the other one, which is free.
    fn turn(&mut self, core: &Core) {
        self.since = None;
        self.cramped = false;
        if self.active.is_empty() {
            return;
        }
        if let Some(journals) = &mut self.journals {
            journals.turn();
        }
        let layer = std::mem::take(&mut self.active);
        core.freeze(Frozen { layer, head: self.head(self.last) });
    }

    /// Waits until the map holds everything.
    fn fold_all(&mut self, core: &Core) -> Result<(), WriteFailure> {
        core.wait_until_folded()?;
        if !self.active.is_empty() {
            self.turn(core);
            core.wait_until_folded()?;
        }
        Ok(())
    }
}

/// How long a group waits while the folder is behind: the longer the fuller the journal is, so that writes slow down
/// to the folder's rate and none of them waits for a whole fold.
fn pause(over: u64, room: u64) -> Duration {
    let [over, room] =
        [over, room.max(1)].map(|bytes| u32::try_from(bytes >> 10).unwrap_or(u32::MAX));
    let share = f64::from(over) / f64::from(room.max(1));
    PAUSE_MAX.mul_f64((share * share).clamp(0.0, 1.0))
}

fn new_id() -> Result<StoreId, OpenFailure> {
    let mut id = StoreId::default();
    getrandom::fill(&mut id)
        .map_err(|error| EngineError::new(format!("no random bytes are available: {error}")))?;
    Ok(id)
}

/// The store's bytes at one instant.
pub(crate) struct Snapshot {
    pub(crate) active: Layer,
    pub(crate) frozen: Option<Arc<Frozen>>,
    pub(crate) base: Arc<Base>,
}

impl Snapshot {
    /// Hands the bytes under a key to a function, if there are any.
    pub(crate) fn get<T>(
        &self,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, EngineError> {
        let hashed = Hashed::new(key);
        let frozen = || self.frozen.as_ref().and_then(|frozen| frozen.layer.get(hashed));
        match self.active.get(hashed).or_else(frozen) {
            Some(change) => Ok(change.as_deref().map(read)),
            None => self.base.get(key, read),
        }
    }

    /// Hands keys and bytes of a range to a function, from either end, until it says to stop.
    pub(crate) fn walk(
        &self,
        range: &Range<Vec<u8>>,
        backwards: bool,
        visit: impl FnMut(&[u8], &[u8]) -> Result<Walk, EngineError>,
    ) -> Result<(), EngineError> {
        if range.is_empty() {
            return Ok(());
        }
        let frozen = self.frozen.as_ref().map(|frozen| &frozen.layer);
        let over = (!self.active.is_empty() || frozen.is_some())
            .then(|| Merged::new(&self.active, frozen, range, backwards));
        self.base.walk(range, backwards, over, visit)
    }
}

#[cfg(test)]
mod tests;
