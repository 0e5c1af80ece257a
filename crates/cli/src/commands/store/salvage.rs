//! `latchkey store salvage`

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use latchkey_embedded::{Options, ReadSoFar, Rescued, private, salvage};
use latchkey_table::{Item, line};
use serde_json::json;

use crate::arguments::StoreSalvage;
use crate::transfer::meter::{Meter, Total, items};
use crate::{Failure, counted};

/// The list of what is lost.
const LOST: &str = "lost.json";

pub(crate) fn run(arguments: &StoreSalvage) -> Result<(), Failure> {
    let StoreSalvage { data, out } = arguments;
    super::refuse_nothing(data)?;
    let unusable = |error: io::Error| {
        Failure::Unusable(format!("`{}` cannot be written: {error}", out.display()))
    };
    private::make_directory(out).map_err(unusable)?;
    if std::fs::read_dir(out).map_err(unusable)?.next().is_some() {
        return Err(Failure::Unusable(format!(
            "`{}` is not empty; name a new directory",
            out.display()
        )));
    }
    let files = Files { directory: out.clone(), open: BTreeMap::new(), failed: None };
    let files = std::cell::RefCell::new(files);
    let mut meter: Option<Meter> = None;
    let mut watch = |at: ReadSoFar| {
        let meter = meter.get_or_insert_with(|| Meter::new(Total::Items(at.keys_total), 0));
        meter.tell(at.keys, at.bytes);
        match files.borrow().failed {
            None => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(()),
        }
    };
    let mut take = |rescued: Rescued<'_>| files.borrow_mut().take(rescued);
    let done = salvage(data, &Options::default(), &mut watch, &mut take);
    let mut meter = meter.unwrap_or_else(|| Meter::new(Total::Unknown, 0));
    meter.clear();
    let done = done.map_err(Failure::unusable)?;
    files.into_inner().end().map_err(unusable)?;
    let (saved, tables) = (items(done.items), counted(done.tables, "table", "tables"));
    meter.end(&format!("saved {saved} of {tables} to `{}`", out.display()));
    if done.damages == 0 {
        return Ok(());
    }
    let lines = counted(done.damages, "line", "lines");
    let list = out.join(LOST);
    meter.end(&format!("what is lost, or not certain, is in `{}`: {lines}", list.display()));
    Err(Failure::Printed)
}

/// The files that are written.
struct Files {
    directory: PathBuf,
    open: BTreeMap<String, BufWriter<File>>,
    failed: Option<io::Error>,
}

impl Files {
    fn take(&mut self, rescued: Rescued<'_>) {
        let (name, text) = match rescued {
            Rescued::Item(table, item) => (format!("{}.json", plain(&table.name)), written(&item)),
            Rescued::Uncertain(table, item) => {
                (format!("{}.uncertain.json", plain(&table.name)), written(&item))
            }
            Rescued::Lost(lost) => {
                let (table, index) = (lost.table.as_deref(), lost.index.as_deref());
                let lost =
                    json!({"table": table, "index": index, "key": lost.key, "why": lost.what});
                (LOST.to_owned(), lost.to_string())
            }
        };
        if self.failed.is_none() {
            self.failed = self.add(&name, &text).err();
        }
    }

    fn add(&mut self, name: &str, text: &str) -> io::Result<()> {
        let path = self.directory.join(name);
        let file = match self.open.entry(name.to_owned()) {
            std::collections::btree_map::Entry::Occupied(open) => open.into_mut(),
            std::collections::btree_map::Entry::Vacant(free) => {
                let file = private::options().write(true).create_new(true).open(path)?;
                free.insert(BufWriter::new(file))
            }
        };
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")
    }

    /// Makes all files durable.
    fn end(self) -> io::Result<()> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        for (_, mut file) in self.open {
            file.flush()?;
            file.get_ref().sync_all()?;
        }
        sync(&self.directory)
    }
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

fn written(item: &Item) -> String {
    let mut text = String::new();
    line::write(item, &mut text);
    text
}

/// A name as one of a file.
fn plain(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    name.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}
