//! `latchkey import`

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use latchkey_runtime::System;
use tokio::sync::mpsc;

use crate::Failure;
use crate::arguments::Import;
use crate::transfer::lines::{Entry, Lines, Loads, Others, Part, Position, Stop};
use crate::transfer::mark::{Mark, MarkFile};
use crate::transfer::meter::{Meter, Total, items, size};
use crate::transfer::tables::{Schemas, Which};
use crate::transfer::tally::{Tally, arguments as named};
use crate::transfer::{Table, beside};
use crate::wide;

/// How much of a file is read at once.
const BUFFER_BYTES: usize = 256 * 1024;

pub(crate) fn run(arguments: &Import, colour: bool) -> Result<(), Failure> {
    let system = Arc::new(arguments.table.system(colour)?);
    let stream = arguments.from.as_os_str() == "-";
    let file = if stream { None } else { Some(open(&arguments.from)?) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::unusable)?;
    let done = runtime.block_on(async {
        let table = Table::to_fill(&arguments.table, &system).await?;
        match file {
            None => {
                if arguments.restart {
                    let message =
                        "standard input is always read from its beginning; leave --restart out";
                    return Err(Failure::unusable(message));
                }
                refuse_full(&table, arguments.merge, None).await?;
                let lines = Lines::new(BufReader::with_capacity(BUFFER_BYTES, io::stdin()));
                let lines = lines.of(Arc::clone(&system), loads(arguments));
                let mut load = Load::new(&table, "standard input", None, Total::Unknown);
                load.all(lines.converted(arguments.convert)).await
            }
            Some(file) => import(arguments, &table, file, Arc::clone(&system)).await,
        }
    });
    // Standard input may never end.
    runtime.shutdown_background();
    warn(&done?, &system, arguments);
    Ok(())
}

/// Which lines are loaded.
fn loads(arguments: &Import) -> Loads {
    match (arguments.as_is, arguments.foreign) {
        (true, _) => Loads::All,
        (false, true) => Loads::Foreign,
        (false, false) => Loads::Fitting,
    }
}

/// Tells of items that were loaded, and that contracts do not find or cannot read.
fn warn(found: &Tally, system: &System, arguments: &Import) {
    if found.is_empty() {
        return;
    }
    let lead = match (found.is_bad(), found.has_foreign()) {
        (true, _) => "warning: not all of these items are as the document says",
        (false, true) => "items of other programs are among these",
        (false, false) => "indexes hold more of these items than the document says",
    };
    eprint!("{lead}\n{}", found.told(system));
    if found.is_bad() && !arguments.convert {
        eprintln!("--convert instead of --as-is writes items as the document stores them");
    }
    eprintln!("`latchkey examine{}` tells this again, of the whole table", named(&arguments.table));
}

fn open(path: &Path) -> Result<File, Failure> {
    File::open(path).map_err(|error| {
        let hint = if beside(path, ".part").exists() {
            "; its export is not finished: run that again"
        } else {
            ""
        };
        Failure::Unusable(format!("cannot read `{}`: {error}{hint}", path.display()))
    })
}

async fn import(
    arguments: &Import,
    table: &Table,
    file: File,
    system: Arc<System>,
) -> Result<Tally, Failure> {
    let shown = format!("`{}`", arguments.from.display());
    let unreadable = |error: io::Error| Failure::Unusable(format!("cannot read {shown}: {error}"));
    let length = file.metadata().map_err(unreadable)?.len();
    let mut lines = Lines::new(BufReader::with_capacity(BUFFER_BYTES, file))
        .of(system, loads(arguments))
        .converted(arguments.convert);
    let marks = MarkFile::of(&arguments.from);
    let mark = begun(&marks, table, arguments.restart)?;
    refuse_full(table, arguments.merge, mark.as_ref()).await?;
    let mark = mark.filter(|_| !arguments.restart);
    if let Some(mark) = &mark {
        let same = lines.skip(mark.at, table.schemas()).map_err(|stop| match stop {
            Stop::Unreadable(error) => unreadable(error),
            Stop::Bad { line, message } => Failure::Unusable(format!(
                "{shown}, line {line}, which was loaded before: {message}; start again with --restart"
            )),
        });
        if !same? {
            return Err(Failure::Unusable(format!(
                "{shown} has changed before line {}, where the last import stopped; start again with --restart",
                mark.at.lines
            )));
        }
        let there = match &mark.last {
            Some(last) => table.has(mark.which, last).await.map_err(Failure::unusable)?,
            None => true,
        };
        if !there {
            return Err(Failure::Unusable(format!(
                "{} does not have what was loaded up to line {}; start again with --restart",
                table.shown, mark.at.lines
            )));
        }
    }
    let mut load = Load::new(table, &shown, Some(marks), Total::Bytes(length));
    if let Some(mark) = mark {
        load.mark = mark;
        load.meter = Meter::new(Total::Bytes(length), load.mark.at.bytes);
    }
    // The mark shows that the items in the table come from this import.
    load.keep(true)?;
    load.all(lines).await
}

/// How far an import of this file into this table has come.
fn begun(marks: &MarkFile, table: &Table, restart: bool) -> Result<Option<Mark>, Failure> {
    let mark = match marks.read() {
        Err(_) if restart => None,
        mark => mark?,
    };
    let ours = |mark: &Mark| mark.command == "import" && mark.table == table.identity;
    match mark {
        Some(mark) if !ours(&mark) && !restart => Err(Failure::Unusable(format!(
            "`{}` belongs to an {} with another table, or with a table that was made again since; finish that one, or start again with --restart",
            marks.path().display(),
            mark.command
        ))),
        mark => Ok(mark.filter(ours)),
    }
}

/// Refuses a table that has items, unless they come from this import or may be replaced.
async fn refuse_full(table: &Table, merge: bool, begun: Option<&Mark>) -> Result<(), Failure> {
    if merge || begun.is_some() || table.is_empty().await.map_err(Failure::unusable)? {
        return Ok(());
    }
    Err(Failure::Unusable(format!(
        "{} has items; with --merge, those of the same key are replaced and others stay",
        table.shown
    )))
}

/// Loads lines into a table.
struct Load<'t> {
    table: &'t Table,
    /// The input, for people.
    shown: &'t str,
    marks: Option<MarkFile>,
    mark: Mark,
    meter: Meter,
}

impl<'t> Load<'t> {
    fn new(table: &'t Table, shown: &'t str, marks: Option<MarkFile>, total: Total) -> Load<'t> {
        let mark = Mark {
            command: "import".to_owned(),
            table: table.identity.clone(),
            at: Position::default(),
            last: None,
            which: Which::Main,
        };
        Load { table, shown, marks, mark, meter: Meter::new(total, 0) }
    }

    /// Loads all lines, and returns what their items lack.
    async fn all<R: BufRead + Send + 'static>(
        &mut self,
        lines: Lines<R>,
    ) -> Result<Tally, Failure> {
        let mut parts = read_ahead(lines, self.table.schemas().clone());
        let mut found = Tally::default();
        while let Some((mut part, stop)) = parts.recv().await {
            found.add(std::mem::take(&mut part.found));
            self.part(part).await?;
            if let Some((stop, others)) = stop {
                return Err(self.give_up(&stop, &others));
            }
        }
        if let Some(marks) = &self.marks {
            marks.remove()?;
        }
        let (items, bytes) = (items(self.mark.at.items), size(self.mark.at.bytes));
        let message =
            format!("imported {items} ({bytes}) from {} into {}", self.shown, self.table.shown);
        self.meter.end(&message);
        Ok(found)
    }

    async fn part(&mut self, part: Part) -> Result<(), Failure> {
        let Part { entries, at, last, .. } = part;
        if let Some(message) = self.taken(&entries).await? {
            self.meter.clear();
            let kept = self.keep(true).is_ok();
            return Err(Failure::Unusable(format!(
                "{}{message}; {}",
                self.shown,
                self.rest(kept, true)
            )));
        }
        if let Err(refused) = self.table.write(entries).await {
            self.meter.clear();
            // Some items of the part may be written. They are written again, with the same result.
            let kept = self.keep(true).is_ok();
            let mend = refused.line.is_some();
            let line = refused.line.map_or_else(String::new, |line| format!(", line {line}"));
            return Err(Failure::Unusable(format!(
                "{}{line}: {}; {}",
                self.shown,
                refused.error,
                self.rest(kept, mend)
            )));
        }
        self.mark.at = at;
        if let Some((which, key)) = last {
            (self.mark.which, self.mark.last) = (which, Some(key));
        }
        self.meter.tell(at.items, at.bytes);
        self.keep(false)
    }

    /// That an item which was converted to another key would replace one that has the key already. Its line did not name
    /// that key, so `--merge` is no word for it.
    async fn taken(&self, entries: &[Entry]) -> Result<Option<String>, Failure> {
        for entry in entries.iter().filter(|entry| entry.moved) {
            let schema = self.table.schemas().get(entry.which);
            let key = schema.and_then(|schema| schema.key_of(&entry.item).ok());
            let Some(key) = key else { continue };
            let there = self.table.get(entry.which, &key).await.map_err(Failure::unusable)?;
            // An import that goes on meets what it has loaded.
            if there.is_some_and(|there| there != entry.item) {
                return Ok(Some(format!(
                    ", line {}: its key becomes that of another item, which the table has: leave one of the two items out",
                    entry.line
                )));
            }
        }
        Ok(None)
    }

    /// Writes a mark, if one is due or `now` is set.
    fn keep(&mut self, now: bool) -> Result<(), Failure> {
        match &mut self.marks {
            Some(marks) if now || marks.is_due() => marks.write(&self.mark),
            _ => Ok(()),
        }
    }

    fn give_up(&mut self, stop: &Stop, others: &Others) -> Failure {
        self.meter.clear();
        let kept = self.keep(true).is_ok();
        let rest = self.rest(kept, matches!(stop, Stop::Bad { .. }));
        Failure::Unusable(match stop {
            Stop::Unreadable(error) => format!("cannot read {}: {error}; {rest}", self.shown),
            Stop::Bad { line, message } => {
                format!("{}, line {line}: {message}{}; {rest}", self.shown, told(others))
            }
        })
    }

    /// What was done, and what to do.
    fn rest(&self, kept: bool, mend: bool) -> String {
        let done = format!("the lines before line {} are loaded", self.mark.at.lines + 1);
        match &self.marks {
            Some(_) if kept && mend => {
                format!("{done}; correct it, and the same command continues there")
            }
            Some(_) if kept => format!("{done}; the same command continues there"),
            _ => format!("{done}; loading it again does no harm, with --merge"),
        }
    }
}

/// The other bad lines, for people.
fn told(others: &Others) -> String {
    let mut told = String::new();
    for (line, message) in &others.shown {
        told.push_str(&format!("\n  line {line}: {message}"));
    }
    let shown = wide(others.shown.len());
    match others.count.saturating_sub(shown) {
        0 if shown == 0 => {}
        0 => told.push('\n'),
        more => told.push_str(&format!("\n  and {more} more lines\n")),
    }
    told
}

/// Why reading stopped, and the other bad lines.
type Stopped = Option<(Stop, Others)>;

/// Reads the next part while one is written; at most one part waits.
fn read_ahead<R: BufRead + Send + 'static>(
    mut lines: Lines<R>,
    schemas: Schemas,
) -> mpsc::Receiver<(Part, Stopped)> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::task::spawn_blocking(move || {
        loop {
            let (part, stop) = lines.part(&schemas);
            let stop = stop.map(|stop| {
                let bad = matches!(stop, Stop::Bad { .. });
                let others = if bad { lines.others(&schemas) } else { Others::default() };
                (stop, others)
            });
            let last = stop.is_some();
            if part.lines == 0 && !last {
                return;
            }
            // The receiver stops only after it has reported an error.
            if sender.blocking_send((part, stop)).is_err() || last {
                return;
            }
        }
    });
    receiver
}
