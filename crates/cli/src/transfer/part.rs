//! A file of an export that was interrupted: nothing is added to it unless it is what that export has written.

use std::fs::File;
use std::io::{self, BufReader, Seek as _};
use std::path::Path;

use super::lines::{Lines, Position, Stop};
use super::tables::Schemas;
use crate::Failure;

/// Refuses a file that is not what an export had written when it was at a position. Behind that position it may have
/// more lines, and one that is cut: they are written again.
pub(crate) fn refuse_changed(
    file: &File,
    path: &Path,
    at: Position,
    schemas: &Schemas,
) -> Result<(), Failure> {
    let (shown, lines) = (path.display(), at.lines);
    let unreadable =
        |error: io::Error| Failure::Unusable(format!("cannot read `{shown}`: {error}"));
    let length = file.metadata().map_err(unreadable)?.len();
    if length < at.bytes {
        return Err(Failure::Unusable(format!(
            "`{shown}` is shorter than it was: it has {length} bytes of {}; start again with --restart",
            at.bytes
        )));
    }
    let mut written = from_start(file).map_err(unreadable)?;
    let same = written.skip(at, schemas).map_err(|stop| stopped(path, stop))?;
    if !same {
        // If a line is no item, that is the one. Nothing else tells one line from another.
        refuse_bad(&mut from_start(file).map_err(unreadable)?, path, Some(at), schemas)?;
        return Err(Failure::Unusable(format!(
            "`{shown}` has changed within its first {lines} lines, which an export had written; \
             start again with --restart, or name another file"
        )));
    }
    refuse_bad(&mut written, path, None, schemas)
}

fn from_start(mut file: &File) -> io::Result<Lines<BufReader<&File>>> {
    file.rewind()?;
    Ok(Lines::new(BufReader::new(file)))
}

/// Refuses a line that is not an item of the table, but for one that is cut at the end of the file.
fn refuse_bad(
    lines: &mut Lines<BufReader<&File>>,
    path: &Path,
    up_to: Option<Position>,
    schemas: &Schemas,
) -> Result<(), Failure> {
    loop {
        let (part, stop) = lines.part(schemas);
        match stop {
            Some(Stop::Bad { .. }) if lines.is_cut() => return Ok(()),
            Some(stop) => return Err(stopped(path, stop)),
            None if part.lines == 0 => return Ok(()),
            None if up_to.is_some_and(|to| part.at.bytes >= to.bytes) => return Ok(()),
            None => {}
        }
    }
}

fn stopped(path: &Path, stop: Stop) -> Failure {
    let shown = path.display();
    Failure::Unusable(match stop {
        Stop::Unreadable(error) => format!("cannot read `{shown}`: {error}"),
        Stop::Bad { line, message } => format!(
            "`{shown}`, line {line}, is not of this export: {message}; remove what was changed, start again with \
             --restart, or name another file"
        ),
    })
}
