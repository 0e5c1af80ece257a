//! `latchkey export`

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use latchkey_embedded::private;

use crate::Failure;
use crate::arguments::Export;
use crate::transfer::beside;
use crate::transfer::lines::Position;
use crate::transfer::mark::{Mark, MarkFile};
use crate::transfer::meter::{Meter, Total, items, size};
use crate::transfer::pages::Pages;
use crate::transfer::tables::Which;
use crate::wide;

pub(crate) fn run(arguments: &Export, colour: bool) -> Result<(), Failure> {
    let system = arguments.table.system(colour)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(Failure::unusable)?.block_on(async {
        let mut source = Pages::open(&arguments.table, &system).await?;
        if arguments.out.as_os_str() == "-" {
            return export(&mut source, Sink::Stream(io::stdout())).await;
        }
        match Draft::open(&arguments.out, source.identity(), arguments.restart)? {
            Some(draft) => export(&mut source, Sink::File(Box::new(draft))).await,
            None => Ok(()),
        }
    })
}

async fn export(source: &mut Pages, mut sink: Sink) -> Result<(), Failure> {
    let mut mark = sink.begin(source.identity());
    let total = source.count().await?;
    let mut meter = Meter::new(total.map_or(Total::Unknown, Total::Items), mark.at.bytes);
    loop {
        let page = match source.next(mark.which, mark.last.as_ref()).await {
            Ok(page) => page,
            Err(error) => {
                meter.clear();
                return Err(sink.give_up(&mark, &error.into_reason()));
            }
        };
        if let Err(error) = sink.write(&page.text) {
            meter.clear();
            return Err(sink.unwritable(&error));
        }
        mark.at.items += page.items;
        mark.at.lines += page.items;
        mark.at.bytes += wide(page.text.len());
        meter.tell(mark.at.items, mark.at.bytes);
        match page.resume {
            Some(last) => mark.last = Some(last),
            // What Latchkey keeps for itself goes along.
            None if mark.which == Which::Main && source.schemas().own().is_some() => {
                (mark.which, mark.last) = (Which::Own, None);
            }
            None => break,
        }
        sink.keep(&mark)?;
    }
    let place = sink.end()?;
    let (items, bytes) = (items(mark.at.items), size(mark.at.bytes));
    meter.end(&format!("exported {items} ({bytes}) from {} to {place}", source.shown()));
    Ok(())
}

/// Where lines go.
enum Sink {
    Stream(io::Stdout),
    File(Box<Draft>),
}

impl Sink {
    /// The mark to start from.
    fn begin(&self, identity: &str) -> Mark {
        let anew = || Mark {
            command: "export".to_owned(),
            table: identity.to_owned(),
            at: Position::default(),
            last: None,
            which: Which::Main,
        };
        match self {
            Sink::Stream(_) => anew(),
            Sink::File(draft) => draft.begun.clone().unwrap_or_else(anew),
        }
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        match self {
            Sink::Stream(stdout) => stdout.write_all(text.as_bytes()),
            Sink::File(draft) => draft.file.write_all(text.as_bytes()),
        }
    }

    /// Writes a mark, if one is due.
    fn keep(&mut self, mark: &Mark) -> Result<(), Failure> {
        match self {
            Sink::File(draft) if draft.marks.is_due() => draft.keep(mark),
            _ => Ok(()),
        }
    }

    fn give_up(&mut self, mark: &Mark, why: &str) -> Failure {
        match self {
            Sink::Stream(_) => Failure::unusable(why),
            Sink::File(draft) => {
                let kept = draft.keep(mark).is_ok() && mark.last.is_some();
                let rest =
                    if kept { "; the same command continues where this stopped" } else { "" };
                Failure::Unusable(format!("{why}{rest}"))
            }
        }
    }

    fn unwritable(&self, error: &io::Error) -> Failure {
        match self {
            Sink::Stream(_) => Failure::Unusable(format!("cannot write: {error}")),
            Sink::File(draft) => unwritable(&draft.path, error),
        }
    }

    /// Finishes, and returns the place of the lines, for people.
    fn end(self) -> Result<String, Failure> {
        match self {
            Sink::Stream(mut stdout) => {
                stdout.flush().map_err(|e| Failure::Unusable(format!("cannot write: {e}")))?;
                Ok("standard output".to_owned())
            }
            Sink::File(draft) => draft.end(),
        }
    }
}

/// A file that gets its final name when it is complete.
struct Draft {
    /// The final name.
    out: PathBuf,
    path: PathBuf,
    file: File,
    marks: MarkFile,
    /// The mark of an earlier run.
    begun: Option<Mark>,
}

impl Draft {
    /// Starts or resumes a file; nothing if the file is complete.
    fn open(out: &Path, identity: &str, restart: bool) -> Result<Option<Draft>, Failure> {
        let (path, marks) = (beside(out, ".part"), MarkFile::of(out));
        let shown = out.display();
        let begun = if restart { None } else { marks.read()? };
        match &begun {
            Some(mark) if mark.command != "export" || mark.table != identity => {
                return Err(Failure::Unusable(format!(
                    "`{}` belongs to an {} of another table, or of a table that was made again since; name another file, or start again with --restart",
                    marks.path().display(),
                    mark.command
                )));
            }
            // The file has its final name: only the mark is left to remove.
            Some(_) if !path.exists() && out.exists() => {
                marks.remove()?;
                Meter::new(Total::Unknown, 0).end(&format!("`{shown}` was whole already"));
                return Ok(None);
            }
            None if !restart && out.exists() => {
                return Err(Failure::Unusable(format!(
                    "`{shown}` is there already; name another file, or replace it with --restart"
                )));
            }
            _ => {}
        }
        // The file has everything the store has, including secrets.
        let opened = private::refuse_loose(&path, &path)
            .and_then(|()| private::options().write(true).create(true).truncate(false).open(&path));
        let mut file = opened.map_err(|error| unwritable(&path, &error))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::Unusable(format!(
                    "another export writes `{}`; let it finish, or name another file",
                    path.display()
                )));
            }
            // A file system without locks does not protect against a second export.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let length = begun.as_ref().map_or(0, |mark| mark.at.bytes);
        let metadata = file.metadata().map_err(|error| unwritable(&path, &error))?;
        if metadata.len() < length {
            return Err(Failure::Unusable(format!(
                "`{}` is shorter than it was; start again with --restart",
                path.display()
            )));
        }
        // What was written after the last mark is written again.
        let cut = file.set_len(length).and_then(|()| file.seek(SeekFrom::Start(length)));
        cut.map_err(|error| unwritable(&path, &error))?;
        if begun.is_none() {
            marks.remove()?;
        }
        Ok(Some(Draft { out: out.to_owned(), path, file, marks, begun }))
    }

    /// Syncs the file, then writes a mark.
    fn keep(&mut self, mark: &Mark) -> Result<(), Failure> {
        self.file.sync_data().map_err(|error| unwritable(&self.path, &error))?;
        self.marks.write(mark)
    }

    fn end(self) -> Result<String, Failure> {
        let named = self.file.sync_all().and_then(|()| fs::rename(&self.path, &self.out));
        named.map_err(|error| unwritable(&self.path, &error))?;
        self.marks.remove()?;
        Ok(format!("`{}`", self.out.display()))
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::Unusable(format!("cannot write `{}`: {error}", path.display()))
}
