//! Marks: how far a transfer has come, in a file beside the transferred one. The same command resumes there.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use latchkey_embedded::private;
use latchkey_table::Key;
use serde_json::{Value, json};

use super::beside;
use super::lines::{Digest, Position};
use super::tables::Which;
use crate::Failure;

/// The time between two marks. A killed transfer repeats at most this much.
const MARK_EVERY: Duration = Duration::from_millis(250);

/// The largest mark that is read; real marks are smaller.
const MARK_BYTES_MAX: u64 = 64 * 1024;

/// How far a transfer has come.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mark {
    /// `export` or `import`.
    pub(crate) command: String,
    /// The table, as [`Table::identity`](super::Table) has it.
    pub(crate) table: String,
    /// How far the file is written or read.
    pub(crate) at: Position,
    /// The last item's key.
    pub(crate) last: Option<Key>,
    /// The table that it is in.
    pub(crate) which: Which,
}

impl Mark {
    fn to_json(&self) -> Value {
        json!({
            "command": self.command,
            "table": self.table,
            "bytes": self.at.bytes,
            "lines": self.at.lines,
            "items": self.at.items,
            // As text, because not every JSON reader can represent a number of 64 bits.
            "digest": format!("{:016x}", self.at.digest.0),
            "last": self.last.as_ref().map(|key| [key.partition.as_str(), key.sort.as_str()]),
            "own": self.which == Which::Own,
        })
    }

    fn from_json(json: &Value) -> Option<Mark> {
        let text = |name: &str| json.get(name)?.as_str().map(str::to_owned);
        let number = |name: &str| json.get(name)?.as_u64();
        let digest = u64::from_str_radix(&text("digest")?, 16).ok()?;
        let last = match json.get("last")? {
            Value::Null => None,
            last => {
                let part = |at: usize| last.get(at)?.as_str();
                Some(Key::new(part(0)?, part(1)?))
            }
        };
        let at = Position {
            bytes: number("bytes")?,
            lines: number("lines")?,
            items: number("items")?,
            digest: Digest(digest),
        };
        // A mark of an older release has nothing of a second table.
        let which = match json.get("own") {
            Some(Value::Bool(true)) => Which::Own,
            Some(Value::Bool(false)) | None => Which::Main,
            Some(_) => return None,
        };
        Some(Mark { command: text("command")?, table: text("table")?, at, last, which })
    }
}

/// The file of a mark.
#[derive(Debug)]
pub(crate) struct MarkFile {
    path: PathBuf,
    made: Option<Instant>,
}

impl MarkFile {
    /// The mark file beside a file.
    pub(crate) fn of(path: &Path) -> MarkFile {
        MarkFile { path: beside(path, ".progress"), made: None }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The mark, if there is one.
    pub(crate) fn read(&self) -> Result<Option<Mark>, Failure> {
        let mut text = String::new();
        let read = File::open(&self.path)
            .and_then(|file| file.take(MARK_BYTES_MAX).read_to_string(&mut text));
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.unusable(&error)),
            Ok(_) => {}
        }
        let json: Option<Value> = serde_json::from_str(&text).ok();
        match json.as_ref().and_then(Mark::from_json) {
            Some(mark) => Ok(Some(mark)),
            None => Err(Failure::Unusable(format!(
                "`{}` is not a progress file; start again with --restart",
                self.path.display()
            ))),
        }
    }

    /// Whether it is time for another mark.
    pub(crate) fn is_due(&self) -> bool {
        self.made.is_none_or(|made| made.elapsed() >= MARK_EVERY)
    }

    /// Writes the mark that a transfer begins with. The next one is due at once.
    pub(crate) fn begin(&mut self, mark: &Mark) -> Result<(), Failure> {
        self.write(mark)?;
        self.made = None;
        Ok(())
    }

    /// Replaces the mark. It is written under another name first, so that there is always a complete mark.
    pub(crate) fn write(&mut self, mark: &Mark) -> Result<(), Failure> {
        let draft = beside(&self.path, ".new");
        // A mark has the key of an item.
        let opened = private::refuse_foreign(&draft, &draft)
            .and_then(|()| private::options().write(true).create(true).truncate(true).open(&draft));
        let written = opened.and_then(|mut file| {
            file.write_all(mark.to_json().to_string().as_bytes())?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            fs::rename(&draft, &self.path)
        });
        self.made = Some(Instant::now());
        written.map_err(|error| self.unusable(&error))
    }

    /// Removes the mark: the transfer is complete.
    pub(crate) fn remove(&self) -> Result<(), Failure> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.unusable(&error)),
            _ => Ok(()),
        }
    }

    fn unusable(&self, error: &io::Error) -> Failure {
        Failure::Unusable(format!(
            "the progress file `{}` cannot be used: {error}; standard input and output (`-`) need none",
            self.path.display()
        ))
    }
}
