//! Reads a whole store and tells of everything that is not as it was written.
//!
//! redb compares no checksum of its pages while it is read, so a page that is damaged can lead past items. That is
//! found all the same: the map says how many keys it has, a walk must meet as many, in order, and each must be found by
//! its key. Each has a checksum of its own, and items and index entries must agree, both ways.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use latchkey_table::{Error, Index, Item, Schema, Text};

use crate::catalog::Entry;
use crate::engine::{EngineError, Walk};
use crate::item_codec::{self, Damaged};
use crate::key_codec::{Space, read_item_key};
use crate::map::{FORMAT, HEAD};
use crate::read::unavailable;
use crate::stamp;
use crate::view::{ReadSoFar, View, everything};
use crate::writer::Seen;

/// After how many keys progress is told.
const STEP: u64 = 256;

/// What a whole table was found to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verified {
    /// Items.
    pub items: u64,
    /// Index entries, each of its item.
    pub entries: u64,
}

/// What a whole store was found to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checked {
    /// Tables.
    pub tables: u64,
    /// Items that could be read.
    pub items: u64,
    /// Index entries that could be read.
    pub entries: u64,
    /// The bytes of both.
    pub bytes: u64,
    /// Items without a checksum, which an earlier release has written.
    pub unsealed: u64,
    /// How many damages were found.
    pub damages: u64,
    /// Whether it was told to stop before the end.
    pub stopped: bool,
}

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Damage {
    /// The table, where one is concerned.
    pub table: Option<Text>,
    /// The index, where one is concerned.
    pub index: Option<Text>,
    /// The key of the item or of the index entry, for people, where it can be told.
    pub key: Option<String>,
    /// What is wrong.
    pub what: String,
}

impl Damage {
    /// Damage to the whole of something.
    pub(crate) fn of_store(what: impl Into<String>) -> Damage {
        Damage { what: what.into(), ..Damage::default() }
    }
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = self.key.as_ref().map(|key| key.escape_debug().to_string());
        let places = [
            self.table.as_ref().map(|table| format!("table `{table}`")),
            self.index.as_ref().map(|index| format!("index `{index}`")),
            key.map(|key| format!("key `{key}`")),
        ];
        let places: Vec<String> = places.into_iter().flatten().collect();
        let between = if places.is_empty() { "" } else { ": " };
        write!(f, "{}{between}{}", places.join(", "), self.what)
    }
}

/// Told how far a check has come; says whether it goes on.
pub type Watching<'a> = &'a mut dyn FnMut(ReadSoFar) -> ControlFlow<()>;

impl View {
    /// Reads everything, and tells of each damage. It goes on behind what cannot be read, as far as it can.
    pub fn check(&self, watch: Watching<'_>, found: &mut dyn FnMut(Damage)) -> Checked {
        let mut check = Check::new(&self.seen, watch, found);
        check.catalog();
        check.run(None);
        if let Some(what) = self.watch.as_ref().and_then(|watch| watch.told_gone()) {
            check.tell(Damage::of_store(what));
        }
        check.checked
    }
}

impl Seen {
    /// Reads every item and every index entry of a table.
    pub(crate) fn verify(&self, schema: &Arc<Schema>) -> Result<Verified, Error> {
        let entry = self.catalog.find(schema)?;
        let mut first = None;
        let mut go_on = |_| ControlFlow::Continue(());
        let mut found = |damage: Damage| {
            first.get_or_insert(damage);
        };
        let mut check = Check::new(self, &mut go_on, &mut found);
        check.run(Some(entry));
        let Checked { items, entries, .. } = check.checked;
        match first {
            None => Ok(Verified { items, entries }),
            Some(damage) => Err(unavailable(EngineError::new(damage.to_string()))),
        }
    }
}

/// What lies in a range of keys.
#[derive(Clone, Copy)]
enum Lies<'a> {
    Items(&'a Entry),
    Entries(&'a Entry, &'a Index),
    Nothing,
}

struct Check<'a> {
    seen: &'a Seen,
    watch: Watching<'a>,
    found: &'a mut dyn FnMut(Damage),
    checked: Checked,
    progress: ReadSoFar,
    /// How many keys of the map itself were met.
    met: u64,
    /// Whether all of the map could be walked.
    whole: bool,
}

impl<'a> Check<'a> {
    fn new(seen: &'a Seen, watch: Watching<'a>, found: &'a mut dyn FnMut(Damage)) -> Check<'a> {
        let (checked, progress) = (Checked::default(), ReadSoFar::default());
        Check { seen, watch, found, checked, progress, met: 0, whole: true }
    }

    fn tell(&mut self, damage: Damage) {
        self.checked.damages += 1;
        (self.found)(damage);
    }

    /// Tells of damage to what lies under a key.
    fn tell_of(&mut self, lies: Lies<'_>, key: &[u8], what: impl Into<String>) {
        let (table, index, names) = match lies {
            Lies::Items(entry) => (Some(&entry.schema), None, Some(&entry.schema.key)),
            Lies::Entries(entry, index) => (Some(&entry.schema), Some(&index.name), None),
            Lies::Nothing => (None, None, None),
        };
        let shown = names.and_then(|names| Some(names.shown(&read_item_key(key)?)));
        let shown = shown.unwrap_or_else(|| key.escape_ascii().to_string());
        self.tell(Damage {
            table: table.map(|schema| schema.name.clone()),
            index: index.cloned(),
            key: Some(shown),
            what: what.into(),
        });
    }

    /// Checks the names of the catalog. The tables themselves were read with their checksums when the store opened.
    fn catalog(&mut self) {
        self.checked.tables = self.seen.catalog.entries().map(|_| 1).sum();
        let base = &self.seen.snapshot.base;
        let read = base.meta("").and_then(|names| Ok((names, base.meta_len()?)));
        let (names, len) = match read {
            Ok(read) => read,
            Err(error) => {
                return self.tell(Damage::of_store(format!("the catalog cannot be read: {error}")));
            }
        };
        let mut tables = 0;
        for (name, _) in &names {
            match name.as_str() {
                FORMAT | HEAD | stamp::NAME => {}
                _ if crate::catalog::is_table(name) => tables += 1,
                _ => self.tell(Damage::of_store(format!(
                    "the catalog has a name that nobody writes: `{}`",
                    name.escape_debug()
                ))),
            }
        }
        if Ok(len) != u64::try_from(names.len()) || tables != self.checked.tables {
            let (met, known) = (names.len(), self.checked.tables);
            self.tell(Damage::of_store(format!(
                "the catalog has {met} of {len} names, and {tables} of {known} tables"
            )));
        }
    }

    /// Checks everything, or one table alone.
    fn run(&mut self, only: Option<&'a Entry>) {
        let base = &self.seen.snapshot.base;
        let len = base.len();
        self.progress.keys_total = len.as_ref().copied().unwrap_or_default();
        for (range, lies) in ranges(self.seen, only) {
            self.walk(&range, lies);
        }
        match len {
            Ok(len) if only.is_none() && self.whole && !self.checked.stopped && len != self.met => {
                let met = self.met;
                let what = format!("{met} keys are found, and there should be {len}");
                self.tell(Damage::of_store(what));
            }
            Ok(_) => {}
            Err(error) => {
                let what = format!("it cannot be told how many keys there are: {error}");
                self.tell(Damage::of_store(what));
            }
        }
        let spaces = spaces(self.seen, only);
        for (key, bytes) in self.seen.snapshot.changes() {
            let space = key.first_chunk().map(|space| u16::from_be_bytes(*space));
            let known = spaces.iter().find(|(known, _)| Some(known.0) == space);
            let lies = known.map(|(_, lies)| *lies);
            if let Some(bytes) = bytes
                && let Some(lies) = lies.or(only.is_none().then_some(Lies::Nothing))
            {
                self.one(lies, key, bytes);
            }
        }
    }

    /// Checks a range of the map. Where it cannot be read, it is read from its end, too.
    fn walk(&mut self, range: &Range<Vec<u8>>, lies: Lies<'a>) {
        let mut last = None;
        let Err(error) = self.walk_one_way(range, lies, false, &mut last) else { return };
        self.whole = false;
        let behind = last.clone().unwrap_or_else(|| range.start.clone());
        let what = format!("what is stored behind this key cannot be read: {error}");
        self.tell_of(lies, &behind, what);
        let mut first = None;
        let rest = behind..range.end.clone();
        if self.walk_one_way(&rest, lies, true, &mut first).is_err() {
            let before = first.unwrap_or(rest.end);
            self.tell_of(lies, &before, "nor can what is stored before this key");
        }
    }

    fn walk_one_way(
        &mut self,
        range: &Range<Vec<u8>>,
        lies: Lies<'a>,
        backwards: bool,
        last: &mut Option<Vec<u8>>,
    ) -> Result<(), EngineError> {
        let snapshot = &self.seen.snapshot;
        let total = self.progress.keys_total;
        snapshot.base.walk(range, backwards, None, |key, bytes| {
            let in_order = last.as_deref().is_none_or(|last| (key > last) != backwards);
            let in_range = range.start.as_slice() <= key && key < range.end.as_slice();
            if !in_order || !in_range || self.met > total {
                return Err(EngineError::new("its keys are not in their order".to_owned()));
            }
            let kept = last.get_or_insert_default();
            kept.clear();
            kept.extend_from_slice(key);
            self.met += 1;
            match snapshot.base.get(key, |found| found == bytes) {
                Ok(Some(true)) => {}
                Ok(Some(false)) => self.tell_of(lies, key, "its key leads to something else"),
                Ok(None) => self.tell_of(lies, key, "it is not found by its key"),
                Err(error) => self.tell_of(lies, key, format!("its key leads nowhere: {error}")),
            }
            if !snapshot.is_changed(key) {
                self.one(lies, key, bytes);
            }
            self.step(key.len() + bytes.len());
            Ok(if self.checked.stopped { Walk::Stop } else { Walk::On })
        })
    }

    fn step(&mut self, bytes: usize) {
        self.progress.keys += 1;
        self.progress.bytes += u64::try_from(bytes).unwrap_or(u64::MAX);
        if self.progress.keys.is_multiple_of(STEP) {
            self.checked.stopped = (self.watch)(self.progress).is_break();
        }
    }

    /// Checks what lies under one key.
    fn one(&mut self, lies: Lies<'a>, key: &[u8], bytes: &[u8]) {
        self.checked.bytes += u64::try_from(key.len() + bytes.len()).unwrap_or(u64::MAX);
        match lies {
            Lies::Nothing => self.tell_of(lies, key, "it belongs to no table"),
            Lies::Items(entry) => self.item(entry, key, bytes),
            Lies::Entries(entry, index) => self.entry(entry, index, key, bytes),
        }
    }

    fn item(&mut self, entry: &'a Entry, key: &[u8], bytes: &[u8]) {
        let lies = Lies::Items(entry);
        let Some(item) = read(entry, key, bytes) else {
            return self.tell_of(lies, key, "the item is damaged");
        };
        self.checked.items += 1;
        self.checked.unsealed += u64::from(!item_codec::is_sealed(bytes));
        let Some(item_key) = read_item_key(key) else { return };
        for (index, space) in entry.indexes() {
            let Some(index_key) = index.key.parts(&item) else { continue };
            let at = space.entry_key((&index_key.0, &index_key.1), &item_key);
            let name = &index.name;
            match self.seen.snapshot.get(&at, |_| ()) {
                Ok(Some(())) => {}
                Ok(None) => self.tell_of(lies, key, format!("index `{name}` lacks the item")),
                Err(error) => {
                    let what = format!("its entry in index `{name}` cannot be read: {error}");
                    self.tell_of(lies, key, what);
                }
            }
        }
    }

    fn entry(&mut self, entry: &'a Entry, index: &'a Index, key: &[u8], bytes: &[u8]) {
        let lies = Lies::Entries(entry, index);
        let item_key = entry.space.item_of_entry(key);
        let item_key = item_key.filter(|_| item_codec::check_entry(key, bytes).is_ok());
        let Some(item_key) = item_key else {
            return self.tell_of(lies, key, "the index entry is damaged");
        };
        self.checked.entries += 1;
        match self.seen.snapshot.get(&item_key, |bytes| read(entry, &item_key, bytes)) {
            // The item is told of by itself.
            Ok(Some(None)) => {}
            Ok(Some(Some(item))) => {
                let space = entry.index(&index.name).map(|(_, space)| space);
                let parts = index.key.parts(&item).zip(read_item_key(&item_key)).zip(space);
                let agrees = parts.is_some_and(|(((partition, sort), item_key), space)| {
                    space.entry_key((&partition, &sort), &item_key) == key
                });
                if !agrees {
                    self.tell_of(lies, key, "the entry's item has other values");
                }
            }
            Ok(None) => self.tell_of(lies, key, "the entry's item is missing"),
            Err(error) => {
                self.tell_of(lies, key, format!("the entry's item cannot be read: {error}"));
            }
        }
    }
}

/// The item under a key, if it is one.
fn read(entry: &Entry, key_bytes: &[u8], bytes: &[u8]) -> Option<Item> {
    let key = read_item_key(key_bytes)?;
    let item = item_codec::decode(key_bytes, bytes, &entry.schema.key, key, None);
    item.map_err(|Damaged| ()).ok()
}

/// The spaces of a table, or of all, in the order of their keys.
fn spaces<'a>(seen: &'a Seen, only: Option<&'a Entry>) -> Vec<(Space, Lies<'a>)> {
    let mut spaces = Vec::new();
    let all = seen
        .catalog
        .entries()
        .filter(|entry| only.is_none_or(|only| only.schema.name == entry.schema.name));
    for entry in all {
        spaces.push((entry.space, Lies::Items(entry)));
        let indexes = entry.indexes();
        spaces.extend(indexes.map(|(index, space)| (space, Lies::Entries(entry, index))));
    }
    spaces.sort_by_key(|(space, _)| space.0);
    spaces
}

/// The ranges of keys to check: of a table, or all there are.
fn ranges<'a>(seen: &'a Seen, only: Option<&'a Entry>) -> Vec<(Range<Vec<u8>>, Lies<'a>)> {
    let all = everything();
    let (mut ranges, mut at) = (Vec::new(), all.start);
    for (space, lies) in spaces(seen, only) {
        let whole = space.whole();
        if only.is_none() && at < whole.start {
            ranges.push((at..whole.start.clone(), Lies::Nothing));
        }
        at = whole.end.clone();
        ranges.push((whole, lies));
    }
    if only.is_none() {
        ranges.push((at..all.end, Lies::Nothing));
    }
    ranges
}
