//! Storage in memory that keeps a history, fails on request, and holds a sync back.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use latchkey_embedded::StorageBackend;

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
    bytes: Vec<u8>,
    history: Vec<Event>,
    syncs: usize,
    hold_syncs: bool,
    held: bool,
    /// How many more changes go well; then each fails.
    changes_left: Option<usize>,
}

/// What was done to a disk.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Write { offset: usize, data: Vec<u8> },
    SetLen(usize),
    Sync,
}

impl Disk {
    /// A disk with these bytes on it.
    pub(crate) fn with_bytes(bytes: Vec<u8>) -> Disk {
        let disk = Disk::default();
        disk.state().bytes = bytes;
        disk
    }

    /// What a store is opened with.
    pub(crate) fn opener(&self) -> impl Fn() -> Box<dyn StorageBackend> + Send + 'static {
        let disk = self.clone();
        move || Box::new(disk.clone())
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
    pub(crate) fn history(&self) -> Vec<Event> {
        self.state().history.clone()
    }

    /// Lets so many changes through and fails every later one, or none.
    pub(crate) fn fail_after(&self, changes: Option<usize>) {
        self.state().changes_left = changes;
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

    fn change(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        match &mut state.changes_left {
            Some(0) => return Err(io::Error::new(io::ErrorKind::StorageFull, "disk full")),
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(state)
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).unwrap();
        let state = self.state();
        let Some(bytes) = state.bytes.get(offset..offset + out.len()) else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let len = usize::try_from(len).unwrap();
        let mut state = self.change()?;
        apply(&mut state.bytes, &Event::SetLen(len));
        state.history.push(Event::SetLen(len));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.change()?;
        if state.hold_syncs {
            state.held = true;
            self.0.released.notify_all();
            state = self.0.released.wait_while(state, |state| state.hold_syncs).unwrap();
            state.held = false;
        }
        state.syncs += 1;
        state.history.push(Event::Sync);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let event = Event::Write { offset: usize::try_from(offset).unwrap(), data: data.to_vec() };
        let mut state = self.change()?;
        apply(&mut state.bytes, &event);
        state.history.push(event);
        Ok(())
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
        Event::Sync => {}
    }
}
