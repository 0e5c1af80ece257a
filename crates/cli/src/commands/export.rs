//! `latchkey export`

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use latchkey_embedded::private;

use crate::arguments::Export;
use crate::transfer::beside;
use crate::transfer::lines::Position;
use crate::transfer::mark::{Mark, MarkFile};
use crate::transfer::meter::{Meter, Total, items, size};
use crate::transfer::pages::Pages;
use crate::transfer::part::refuse_changed;
use crate::transfer::tables::{Schemas, Which};
use crate::{Failure, output, wide};

pub(crate) fn run(arguments: &Export, colour: bool) -> Result<(), Failure> {
    let (system, out) = (arguments.table.system(colour)?, &arguments.out);
    if out.is_dir() && out.as_os_str() != "-" {
        let shown = out.display();
        return Err(Failure::Unusable(format!("`{shown}` is a directory; name a file")));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(Failure::unusable)?.block_on(async {
        let mut source = Pages::open(&arguments.table, &system, arguments.rate).await?;
        let identity = source.identity(&arguments.table, &system)?;
        let anew = Mark {
            command: "export".to_owned(),
            table: identity,
            at: Position::default(),
            last: None,
            which: Which::Main,
        };
        if arguments.out.as_os_str() == "-" {
            return export(&mut source, anew, Sink::Stream(io::stdout())).await;
        }
        match Draft::open(&arguments.out, &anew, arguments.restart, source.schemas())? {
            Some((draft, mark)) => export(&mut source, mark, Sink::File(Box::new(draft))).await,
            None => Ok(()),
        }
    })
}

async fn export(source: &mut Pages, mut mark: Mark, mut sink: Sink) -> Result<(), Failure> {
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
        mark.at.digest.add(page.text.as_bytes());
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
            Sink::Stream(_) => output::end_unwritten(error),
            Sink::File(draft) => unwritable(&draft.path, error),
        }
    }

    /// Finishes, and returns the place of the lines, for people.
    fn end(self) -> Result<String, Failure> {
        match self {
            Sink::Stream(mut stdout) => {
                stdout.flush().unwrap_or_else(|error| output::end_unwritten(&error));
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
}

impl Draft {
    /// Starts or resumes a file, with the mark to go on from; nothing if the file is complete.
    fn open(
        out: &Path,
        anew: &Mark,
        restart: bool,
        schemas: &Schemas,
    ) -> Result<Option<(Draft, Mark)>, Failure> {
        let (path, marks) = (beside(out, ".part"), MarkFile::of(out));
        let shown = out.display();
        let begun = if restart { None } else { marks.read()? };
        match &begun {
            Some(mark) if mark.command != "export" || mark.table != anew.table => {
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
        let mut file = open(&path)?;
        match &begun {
            Some(mark) => refuse_changed(&file, &path, mark.at, schemas)?,
            None if restart => {}
            None => refuse_foreign(&file, &path)?,
        }
        let mark = begun.unwrap_or_else(|| anew.clone());
        // What was written after the last mark is written again.
        let length = mark.at.bytes;
        let cut = file.set_len(length).and_then(|()| file.seek(SeekFrom::Start(length)));
        cut.map_err(|error| unwritable(&path, &error))?;
        let mut draft = Draft { out: out.to_owned(), path, file, marks };
        // From now on the mark says whose the file is.
        draft.marks.begin(&mark)?;
        Ok(Some((draft, mark)))
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

/// Opens the file of an export that is not complete, for this process alone.
fn open(path: &Path) -> Result<File, Failure> {
    // The file has everything the store has, including secrets.
    let opened = private::refuse_strange(path, path).and_then(|()| {
        private::options().read(true).write(true).create(true).truncate(false).open(path)
    });
    let file = opened.map_err(|error| unwritable(path, &error))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Failure::Unusable(format!(
            "another export writes `{}`; let it finish, or name another file",
            path.display()
        ))),
        // A file system without locks does not protect against a second export.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// Refuses a file that has something, and no mark that says what.
fn refuse_foreign(file: &File, path: &Path) -> Result<(), Failure> {
    let length = file.metadata().map_err(|error| unwritable(path, &error))?.len();
    if length == 0 {
        return Ok(());
    }
    Err(Failure::Unusable(format!(
        "`{}` is there, and no progress file says that an export has written it; move it away, name another file, or \
         replace it with --restart",
        path.display()
    )))
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::Unusable(format!("cannot write `{}`: {error}", path.display()))
}
