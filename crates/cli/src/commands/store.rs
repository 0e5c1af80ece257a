//! `latchkey store`

mod salvage;

use std::ops::ControlFlow;
use std::path::Path;

use latchkey_embedded::{Options, View, check_directory, compact};
use serde_json::{Value, json};

use crate::arguments::{StoreCommand, StoreVerify};
use crate::stream::{self, Kind, Piece, Task};
use crate::transfer::meter::{Meter, Total, items, size};
use crate::{Failure, control, counted, output};

/// How many damages are printed for people; the others are counted.
const SHOWN_MAX: u64 = 1000;

pub(crate) fn run(arguments: &StoreCommand) -> Result<(), Failure> {
    match arguments {
        StoreCommand::Verify(arguments) => verify(arguments),
        StoreCommand::Salvage(arguments) => salvage::run(arguments),
        StoreCommand::Compact { data } => {
            refuse_missing(data)?;
            let done = compact(data, &Options::default()).map_err(Failure::unusable)?;
            let (before, after) = (size(done.before), size(done.after));
            println!("`{}` had {before} and has {after}", data.display());
            Ok(())
        }
    }
}

/// Refuses a directory that has no store, unless a process is there that can be asked: if a file was removed while a
/// server has the store open, that server still has the file.
pub(super) fn refuse_unserved(data: &Path) -> Result<(), Failure> {
    if control::is_there(data) { Ok(()) } else { refuse_missing(data) }
}

/// Refuses a directory that has no store, nor anything that is left of one.
fn refuse_nothing(data: &Path) -> Result<(), Failure> {
    match ["journal-0", "journal-1"].into_iter().any(|name| data.join(name).exists()) {
        true => Ok(()),
        false => refuse_unserved(data),
    }
}

/// Refuses a directory that has no store.
pub(super) fn refuse_missing(data: &Path) -> Result<(), Failure> {
    match data.join("store.redb").exists() {
        true => Ok(()),
        false => Err(Failure::Unusable(format!(
            "there is no store in `{}`; name the directory that is served, by `--data DIR`",
            data.display()
        ))),
    }
}

/// Reads a store in this process, and returns the last answer.
pub(super) fn here(
    task: &Task,
    view: &View,
    take: impl FnMut(&Piece) -> Result<(), Failure>,
) -> Result<Value, Failure> {
    gather(take, |sink| task.run(view, sink))
}

/// Has pieces made and hands them over, up to the last one, whose answer this returns.
fn gather(
    mut take: impl FnMut(&Piece) -> Result<(), Failure>,
    make: impl FnOnce(stream::Sink<'_>),
) -> Result<Value, Failure> {
    let mut done = Err(Failure::unusable("the store was not read to its end"));
    let mut over = false;
    make(&mut |piece: Piece| {
        if over {
            return ControlFlow::Break(());
        }
        over = true;
        let taken = match piece.kind {
            Kind::End => {
                done = piece.value();
                return ControlFlow::Break(());
            }
            Kind::Error => {
                Err(Failure::Unusable(String::from_utf8_lossy(&piece.payload).into_owned()))
            }
            Kind::Data | Kind::Progress => take(&piece),
        };
        match taken {
            Ok(()) => {
                over = false;
                ControlFlow::Continue(())
            }
            Err(failure) => {
                done = Err(failure);
                ControlFlow::Break(())
            }
        }
    });
    done
}

/// A number of an answer.
fn number(of: &Value, name: &str) -> Result<u64, Failure> {
    of.get(name).and_then(Value::as_u64).ok_or_else(|| Failure::unusable(control::STRANGE))
}

/// Shows progress.
pub(super) fn tell(meter: &mut Meter, piece: &Piece) -> Result<(), Failure> {
    let at = piece.value()?;
    meter.expect(Total::Items(number(&at, "of")?));
    meter.tell(number(&at, "keys")?, number(&at, "bytes")?);
    Ok(())
}

/// What a check has printed so far.
struct Report {
    json: bool,
    damages: u64,
    meter: Meter,
}

impl Report {
    fn take(&mut self, piece: &Piece) -> Result<(), Failure> {
        if piece.kind == Kind::Progress {
            return tell(&mut self.meter, piece);
        }
        self.meter.clear();
        self.damages += 1;
        let damage = piece.value()?;
        if self.json {
            output::print(&format!("{damage}\n"));
        } else if self.damages <= SHOWN_MAX {
            let shown = damage.get("shown").and_then(Value::as_str);
            let shown = shown.ok_or_else(|| Failure::unusable(control::STRANGE))?;
            output::print(&format!("damaged: {shown}\n"));
        }
        Ok(())
    }
}

fn verify(arguments: &StoreVerify) -> Result<(), Failure> {
    let StoreVerify { data, rate, json } = arguments;
    refuse_nothing(data)?;
    let meter = Meter::new(Total::Unknown, 0);
    let mut report = Report { json: *json, damages: 0, meter };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let task = Task::Verify { rate: *rate };
    let asked = runtime
        .map_err(Failure::unusable)?
        .block_on(control::read(data, &task, |piece| report.take(&piece)));
    let online = asked.is_some();
    let done = match asked {
        Some(done) => done,
        None => gather(
            |piece| report.take(piece),
            |sink| {
                let checked = stream::verify(sink, |watch, found| {
                    let checked = check_directory(data, &Options::default(), watch, found);
                    checked.map_err(|error| error.to_string())
                });
                // If nobody takes it, the reason is known already.
                let _ = sink(Piece::last(checked));
            },
        ),
    };
    report.meter.clear();
    let done = done?;
    let damages = number(&done, "damages")?;
    output::print(&match json {
        true => format!("{}\n", json!({"checked": done, "online": online})),
        false => summary(data, &done, online)?,
    });
    if damages == 0 { Ok(()) } else { Err(Failure::Printed) }
}

fn summary(data: &Path, done: &Value, online: bool) -> Result<String, Failure> {
    let get = |name| number(done, name);
    let data = data.display();
    let tables = counted(get("tables")?, "table", "tables");
    let entries = counted(get("entries")?, "index entry", "index entries");
    let (items_read, bytes) = (items(get("items")?), size(get("bytes")?));
    let mut text = match get("damages")? {
        0 => format!("`{data}` is sound"),
        damages => {
            let hidden = damages.saturating_sub(SHOWN_MAX);
            let more =
                if hidden > 0 { format!(", {hidden} of them not shown") } else { String::new() };
            format!("`{data}` has {}{more}", counted(damages, "damage", "damages"))
        }
    };
    text.push_str(&format!(": {tables}, {items_read}, {entries}, {bytes}\n"));
    if get("unsealed")? > 0 {
        let unsealed = items(get("unsealed")?);
        text.push_str(&format!(
            "{unsealed} of an earlier release have no checksum; they get one when they are written again\n"
        ));
    }
    if online {
        text.push_str("the journals, and the checksums of pages, are checked while no server has the store open\n");
    }
    if get("damages")? > 0 {
        text.push_str(&format!(
            "restore a backup, or save what can be read: latchkey store salvage --data {data} --out DIR\n"
        ));
    }
    Ok(text)
}
