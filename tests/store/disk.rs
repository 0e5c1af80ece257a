//! Storage in memory that keeps a history, fails on request, and holds a sync back.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use latchkey_embedded::{Part, StorageBackend};

/// A disk that outlives the stores opened on it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct State {
    parts: Parts,
    history: Vec<(Part, Event)>,
    syncs: usize,
    hold_syncs: bool,
    held: bool,
    /// How many more changes of which part, or of any, go well; then each fails.
    changes_left: Option<(Option<Part>, usize)>,
    fault: Option<Fault>,
}

/// A kind of change that fails at its Nth time, and maybe each time from then on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) of: Change,
    /// How many more go well.
    pub(crate) left: usize,
    pub(crate) lasts: bool,
    pub(crate) error: io::ErrorKind,
}

/// The kinds of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Write,
    Resize,
    Sync,
}

/// The bytes of each part of a store.
pub(crate) type Parts = BTreeMap<Part, Vec<u8>>;

/// What was done to a part.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Write {
        offset: usize,
        data: Vec<u8>,
    },
    SetLen(usize),
    Sync,
    /// What was written since the last sync can be read, and is not on the disk, whatever later syncs say.
    FailedSync,
}

impl Disk {
    /// A disk with these bytes on it.
    pub(crate) fn with_parts(parts: Parts) -> Disk {
        let disk = Disk::default();
        disk.state().parts = parts;
        disk
    }

    /// The bytes on it.
    pub(crate) fn parts(&self) -> Parts {
        self.state().parts.clone()
    }

    /// What a store is opened with.
    pub(crate) fn opener(
        &self,
    ) -> impl Fn(Part) -> Box<dyn StorageBackend> + Send + Sync + 'static {
        let disk = self.clone();
        move |part| Box::new(Storage { disk: disk.clone(), part })
    }

    /// How many syncs there were.
    pub(crate) fn syncs(&self) -> usize {
        self.state().syncs
    }

    /// How many events there were.
    pub(crate) fn events(&self) -> usize {
        self.state().history.len()
    }

    /// All that was done.
    pub(crate) fn history(&self) -> Vec<(Part, Event)> {
        self.state().history.clone()
    }

    /// Lets so many changes through and fails every later one, or none.
    pub(crate) fn fail_after(&self, changes: Option<usize>) {
        self.state().changes_left = changes.map(|changes| (None, changes));
    }

    /// Lets so many changes of a part through and fails every later one of it.
    pub(crate) fn fail_part_after(&self, part: Part, changes: usize) {
        self.state().changes_left = Some((Some(part), changes));
    }

    /// Has a kind of change fail, or none.
    pub(crate) fn fail(&self, fault: Option<Fault>) {
        self.state().fault = fault;
    }

    /// Makes the next syncs wait.
    pub(crate) fn hold_syncs(&self) {
        self.state().hold_syncs = true;
    }

    /// Waits until a sync is being held.
    pub(crate) fn wait_for_held_sync(&self) {
        let held = self.0.released.wait_while(self.state(), |state| !state.held);
        drop(held.unwrap());
    }

    /// Lets syncs go on.
    pub(crate) fn release_syncs(&self) {
        self.state().hold_syncs = false;
        self.0.released.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    fn change(&self, part: Part, change: Change) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        match &mut state.fault {
            Some(fault) if fault.of == change && fault.left > 0 => fault.left -= 1,
            Some(fault) if fault.of == change => {
                let error = io::Error::new(fault.error, "the disk fails");
                if !fault.lasts {
                    state.fault = None;
                }
                if change == Change::Sync {
                    state.history.push((part, Event::FailedSync));
                }
                return Err(error);
            }
            _ => {}
        }
        match &mut state.changes_left {
            Some((failing, left)) if failing.is_none_or(|failing| failing == part) => {
                let full = || io::Error::new(io::ErrorKind::StorageFull, "disk full");
                *left = left.checked_sub(1).ok_or_else(full)?;
            }
            _ => {}
        }
        Ok(state)
    }
}

/// A part of a disk.
#[derive(Debug)]
struct Storage {
    disk: Disk,
    part: Part,
}

impl Storage {
    fn happen(&self, event: Event) -> io::Result<()> {
        let change = match event {
            Event::Write { .. } => Change::Write,
            Event::SetLen(_) => Change::Resize,
            Event::Sync | Event::FailedSync => Change::Sync,
        };
        let mut state = self.disk.change(self.part, change)?;
        apply(state.parts.entry(self.part).or_default(), &event);
        state.history.push((self.part, event));
        Ok(())
    }
}

impl StorageBackend for Storage {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.state().parts.get(&self.part).map_or(0, Vec::len) as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).unwrap();
        let state = self.disk.state();
        let bytes =
            state.parts.get(&self.part).and_then(|part| part.get(offset..offset + out.len()));
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.happen(Event::SetLen(usize::try_from(len).unwrap()))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.disk.change(self.part, Change::Sync)?;
        if state.hold_syncs {
            state.held = true;
            let released = &self.disk.0.released;
            released.notify_all();
            state = released.wait_while(state, |state| state.hold_syncs).unwrap();
            state.held = false;
        }
        state.syncs += 1;
        state.history.push((self.part, Event::Sync));
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.happen(Event::Write { offset: usize::try_from(offset).unwrap(), data: data.to_vec() })
    }
}

/// Does an event to the bytes of a disk.
pub(crate) fn apply(bytes: &mut Vec<u8>, event: &Event) {
    match event {
        Event::Write { offset, data } => {
            let end = offset + data.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*offset..end].copy_from_slice(data);
        }
        Event::SetLen(len) => bytes.resize(*len, 0),
        Event::Sync | Event::FailedSync => {}
    }
}
