//! `latchkey backup`

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use latchkey_embedded::{Options, Store, private};
use serde_json::Value;

use crate::arguments::Backup;
use crate::stream::{Kind, Piece, Task};
use crate::transfer::beside;
use crate::transfer::meter::{Meter, Total, size};
use crate::{Failure, control, counted, output, wide};

pub(crate) fn run(arguments: &Backup) -> Result<(), Failure> {
    let Backup { data, out, rate } = arguments;
    super::store::refuse_unserved(data)?;
    let task = Task::Backup { rate: *rate };
    if out.as_os_str() == "-" {
        return to_stdout(data, &task);
    }
    if out.exists() {
        return Err(Failure::Unusable(format!(
            "`{}` is there already; name another file",
            out.display()
        )));
    }
    let mut draft = Draft::new(out)?;
    let made = make(data, &task, |piece| draft.take(piece));
    let made = made.and_then(|done| {
        draft.end()?;
        Ok(done)
    });
    draft.meter.clear();
    if made.is_err() {
        // It would never be whole, and has secrets.
        let _ = fs::remove_file(&draft.path);
    }
    let keys = keys(&made?)?;
    let (data, out, bytes) = (data.display(), out.display(), size(draft.bytes));
    draft.meter.end(&format!("backed up `{data}` to `{out}`: {keys}, {bytes}"));
    Ok(())
}

/// Writes a backup for another program. Only its end says that it is whole: `latchkey restore` looks for that.
fn to_stdout(data: &Path, task: &Task) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        let message = "a backup is not for a screen; send standard output to a program or a file";
        return Err(Failure::unusable(message));
    }
    let (mut meter, mut bytes) = (Meter::new(Total::Unknown, 0), 0);
    let made = make(data, task, |piece| match piece.kind {
        Kind::Progress => super::store::tell(&mut meter, piece),
        Kind::Data => {
            bytes += wide(piece.payload.len());
            let written = io::stdout().write_all(&piece.payload);
            written.unwrap_or_else(|error| output::end_unwritten(&error));
            Ok(())
        }
        Kind::Error | Kind::End => Ok(()),
    });
    meter.clear();
    let keys = keys(&made?)?;
    io::stdout().flush().unwrap_or_else(|error| output::end_unwritten(&error));
    let (data, bytes) = (data.display(), size(bytes));
    meter.end(&format!("backed up `{data}` to standard output: {keys}, {bytes}"));
    Ok(())
}

/// How many keys a backup has, for people.
fn keys(done: &Value) -> Result<String, Failure> {
    let keys = done.get("keys").and_then(Value::as_u64);
    let keys = keys.ok_or_else(|| Failure::unusable(control::STRANGE))?;
    Ok(counted(keys, "key", "keys"))
}

/// Has a backup made by the process that has the store open, or else makes it.
fn make(
    data: &Path,
    task: &Task,
    mut take: impl FnMut(&Piece) -> Result<(), Failure>,
) -> Result<Value, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let asked = runtime
        .map_err(Failure::unusable)?
        .block_on(control::read(data, task, |piece| take(&piece)));
    if let Some(done) = asked {
        return done;
    }
    let store = Store::open(data, &Options::default()).map_err(Failure::unusable)?;
    super::store::here(task, &store.view(), take)
}

/// A file that gets its final name when it is complete.
struct Draft {
    /// The final name.
    out: PathBuf,
    path: PathBuf,
    file: File,
    bytes: u64,
    meter: Meter,
}

impl Draft {
    fn new(out: &Path) -> Result<Draft, Failure> {
        let path = beside(out, ".part");
        let file = begin(&path).map_err(|error| unwritable(&path, &error))?;
        let meter = Meter::new(Total::Unknown, 0);
        Ok(Draft { out: out.to_owned(), path, file, bytes: 0, meter })
    }

    fn take(&mut self, piece: &Piece) -> Result<(), Failure> {
        match piece.kind {
            Kind::Progress => super::store::tell(&mut self.meter, piece),
            Kind::Data => {
                let written = self.file.write_all(&piece.payload);
                self.bytes += wide(piece.payload.len());
                written.map_err(|error| unwritable(&self.path, &error))
            }
            Kind::Error | Kind::End => Ok(()),
        }
    }

    fn end(&self) -> Result<(), Failure> {
        let named = self.file.sync_all().and_then(|()| fs::rename(&self.path, &self.out));
        let named = named.and_then(|()| match self.out.parent() {
            Some(parent) if parent.as_os_str().is_empty() => File::open(".")?.sync_all(),
            Some(parent) => File::open(parent)?.sync_all(),
            None => Ok(()),
        });
        named.map_err(|error| unwritable(&self.path, &error))
    }
}

/// Makes the file anew, so that it is ours. One that another backup writes is left alone; one that a killed one has left
/// is removed; one of another user is refused.
fn begin(path: &Path) -> io::Result<File> {
    private::refuse_foreign(path, path)?;
    private::refuse_no_file(path)?;
    let busy = || io::Error::new(io::ErrorKind::ResourceBusy, "another backup writes it");
    match File::open(path) {
        Ok(left) => {
            left.try_lock().map_err(|_| busy())?;
            fs::remove_file(path)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let file = private::options().write(true).create_new(true).open(path)?;
    file.try_lock().map_err(|_| busy())?;
    Ok(file)
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::Unusable(format!("cannot write `{}`: {error}", path.display()))
}
