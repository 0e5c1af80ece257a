//! The document that is served, and the lockers that are asked for.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use latchkey_embedded::Store;
use latchkey_runtime::{Call, Caller, Options, Runtime, System};
use latchkey_table::Text;
use tokio::task::JoinSet;

use crate::Result;

pub(crate) const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../systems/smartlocker.md");

/// The contract that registers a locker.
const REGISTER: &str = "QC-11";

/// How many lockers belong to one owner.
const LOCKERS_OF_AN_OWNER: u64 = 100;

/// How many lockers are registered at once; fewer than may wait for the writer.
const REGISTER_STEP: u64 = 500;

/// A locker is created in the first of its two states with this version, and every change adds one.
const FIRST_VERSION: u64 = 1;

/// How many lockers there are: some to be read and as many to be changed, so that those that are read
/// stay as they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lockers {
    pub(crate) read: u64,
}

impl Lockers {
    pub(crate) fn total(self) -> u64 {
        self.read * 2
    }

    /// A locker to be read.
    pub(crate) fn any(self, pick: u64) -> Text {
        locker(pick % self.read)
    }

    /// A locker of one of so many clients, to be changed: its place among those to be changed.
    pub(crate) fn own(self, pick: u64, client: u64, clients: u64) -> u64 {
        let own = (self.read / clients).max(1);
        pick % own * clients + client
    }
}

/// The lockers of one store that are changed, each with the version it has now.
#[derive(Debug)]
pub(crate) struct Versions {
    first: u64,
    versions: Vec<AtomicU64>,
}

/// A change that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) locker: Text,
    pub(crate) version: u64,
    pub(crate) status: &'static str,
}

impl Versions {
    pub(crate) fn new(lockers: Lockers) -> Versions {
        let versions = (0..lockers.read).map(|_| AtomicU64::new(FIRST_VERSION)).collect();
        Versions { first: lockers.read, versions }
    }

    /// The next change of a locker: from the one state to the other and back.
    pub(crate) fn change(&self, at: u64) -> Result<Change> {
        let version = self.version(at)?.load(Ordering::Relaxed);
        let occupied = version % 2 == FIRST_VERSION % 2;
        let status = if occupied { "OCCUPIED" } else { "AVAILABLE" };
        Ok(Change { locker: locker(self.first + at), version, status })
    }

    pub(crate) fn changed(&self, at: u64) -> Result<()> {
        self.version(at)?.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn version(&self, at: u64) -> Result<&AtomicU64> {
        Ok(self.versions.get(usize::try_from(at)?).ok_or("no such locker")?)
    }
}

/// As long as the ids a server makes.
fn locker(number: u64) -> Text {
    let mut text = Text::from("01J3ZQ8Y7W5V4T3S");
    // Writing to memory does not fail.
    let _ = write!(text, "{number:010}");
    text
}

/// The same number for the same three.
pub(crate) fn pick(seed: u32, client: u64, count: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, client, count).hash(&mut hasher);
    hasher.finish()
}

pub(crate) fn system() -> Result<System> {
    let text = std::fs::read_to_string(DOCUMENT).map_err(|error| format!("{DOCUMENT}: {error}"))?;
    System::read(&text).map_err(|mistakes| format!("{DOCUMENT}: {mistakes:?}").into())
}

/// Registers the lockers, by the document's own contract, in a new store.
pub(crate) async fn load(directory: &Path, lockers: Lockers) -> Result<()> {
    let store = Arc::new(Store::open(directory, &latchkey_embedded::Options::default())?);
    let backend = store;
    let runtime = Arc::new(Runtime::start(system()?, backend, Options::default()).await?);
    let mut at = 0;
    while at < lockers.total() {
        let end = (at + REGISTER_STEP).min(lockers.total());
        let mut tasks = JoinSet::new();
        (at..end).for_each(|number| drop(tasks.spawn(register(Arc::clone(&runtime), number))));
        while let Some(registered) = tasks.join_next().await {
            registered??;
        }
        at = end;
    }
    Ok(())
}

async fn register(runtime: Arc<Runtime>, number: u64) -> Result<()> {
    let call = Call::new(REGISTER, Caller::new("bench").role("operator"))
        .input("lockerId", locker(number))
        .input("ownerId", format!("owner-{:06}", number / LOCKERS_OF_AN_OWNER))
        .input("lockerAlias", "Second floor, by the window")
        .input("locationId", "01J3ZQ8Y7W5V4T3S2R1Q0P9N8M");
    let outcome = runtime.call(call).await;
    match outcome.status() {
        201 => Ok(()),
        _ => Err(format!("a locker is not registered: {}", outcome.body()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_change_lockers_of_their_own() {
        let lockers = Lockers { read: 1000 };
        for (clients, client) in [(64, 0), (64, 63), (256, 7), (256, 255)] {
            for count in 0..2000 {
                let at = lockers.own(pick(1, client, count), client, clients);
                assert!(at < lockers.read, "{at} of {clients}");
                assert_eq!(at % clients, client, "{at} is another's");
            }
        }
    }

    #[test]
    fn states_alternate() {
        let versions = Versions::new(Lockers { read: 2 });
        let mut seen = Vec::new();
        for _ in 0..3 {
            let change = versions.change(1).unwrap();
            assert_eq!(change.locker, "01J3ZQ8Y7W5V4T3S0000000003");
            seen.push((change.version, change.status));
            versions.changed(1).unwrap();
        }
        assert_eq!(seen, [(1, "OCCUPIED"), (2, "AVAILABLE"), (3, "OCCUPIED")]);
        assert_eq!(versions.change(0).unwrap().version, 1);
        assert!(versions.change(2).is_err());
    }
}
