//! What a command reads of a whole store, piece by piece: from the process that has the store open, or from this one.
//!
//! ```text
//! piece   kind 1   length of the payload 4   payload
//! ```
//!
//! The kinds are data, progress, an error, and the end, which every complete answer has. The process that has the store
//! makes few pieces in advance, sends them at a bounded rate, and stops when nobody reads them or when it is told to
//! stop itself.

use std::cell::RefCell;
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use latchkey_embedded::{Checked, Damage, ReadSoFar, View};
use latchkey_table::{Key, Scan, Text, line};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use crate::control::STRANGE;
use crate::{Failure, wide};

/// How many pieces wait to be sent at most.
const PIECES_MAX: usize = 4;

/// The longest piece that is read.
const PIECE_BYTES_MAX: u32 = 256 << 20;

/// How long a reader may take for one piece.
const SEND_TIME_MAX: Duration = Duration::from_secs(60);

/// How many megabytes a second are read by default while a server has the store open.
pub(crate) const RATE: u64 = 64;

/// What to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    /// Everything, and tell of damage.
    Verify { rate: u64 },
    /// Everything, as the file of a backup.
    Backup { rate: u64 },
    /// The items of tables in their order, as lines, from behind a key of the first of them.
    Export { tables: Vec<String>, after: Option<(String, String)>, rate: u64 },
}

impl Task {
    /// The task as JSON, for another process.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Task::Verify { rate } => json!({"do": "verify", "rate": rate}),
            Task::Backup { rate } => json!({"do": "backup", "rate": rate}),
            Task::Export { tables, after, rate } => {
                json!({"do": "export", "tables": tables, "after": after, "rate": rate})
            }
        }
    }

    /// Reads the task of another process, if it is one.
    pub(crate) fn from_json(value: &Value) -> Option<Task> {
        let rate = || value.get("rate")?.as_u64();
        match value.get("do")?.as_str()? {
            "verify" => Some(Task::Verify { rate: rate()? }),
            "backup" => Some(Task::Backup { rate: rate()? }),
            "export" => {
                let text = |value: &Value| value.as_str().map(str::to_owned);
                let tables = value.get("tables")?.as_array()?.iter().map(text);
                let after = match value.get("after")? {
                    Value::Null => None,
                    after => Some((text(after.get(0)?)?, text(after.get(1)?)?)),
                };
                Some(Task::Export { tables: tables.collect::<Option<_>>()?, after, rate: rate()? })
            }
            _ => None,
        }
    }

    /// How many megabytes it may read in a second.
    fn rate(&self) -> u64 {
        match self {
            Task::Verify { rate } | Task::Backup { rate } | Task::Export { rate, .. } => *rate,
        }
    }

    /// Reads a store, and hands over one piece after the other.
    pub(crate) fn run(&self, view: &View, sink: Sink<'_>) {
        let done = match self {
            Task::Verify { .. } => verify(sink, |watch, found| Ok(view.check(watch, found))),
            Task::Backup { .. } => back_up(view, sink),
            Task::Export { tables, after, .. } => export(view, tables, after.as_ref(), sink),
        };
        // If nobody takes it, nobody has to know.
        let _ = sink(Piece::last(done));
    }
}

/// Takes pieces until it says to stop.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(Piece) -> ControlFlow<()>;

/// What a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Data,
    Progress,
    Error,
    End,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Data, Kind::Progress, Kind::Error, Kind::End];

    fn byte(self) -> u8 {
        match self {
            Kind::Data => b'd',
            Kind::Progress => b'p',
            Kind::Error => b'e',
            Kind::End => b'f',
        }
    }
}

/// A part of an answer.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) kind: Kind,
    pub(crate) payload: Vec<u8>,
    /// How many bytes of the store were read for it.
    cost: u64,
}

impl Piece {
    fn new(kind: Kind, payload: Vec<u8>) -> Piece {
        Piece { kind, payload, cost: 0 }
    }

    fn json(kind: Kind, value: &Value) -> Piece {
        Piece::new(kind, value.to_string().into_bytes())
    }

    /// The last piece of an answer.
    pub(crate) fn last(done: Result<Value, String>) -> Piece {
        match done {
            Ok(done) => Piece::json(Kind::End, &done),
            Err(error) => Piece::new(Kind::Error, error.into_bytes()),
        }
    }

    /// What it says as JSON.
    pub(crate) fn value(&self) -> Result<Value, Failure> {
        serde_json::from_slice(&self.payload).map_err(|_| Failure::unusable(STRANGE))
    }
}

/// Checks a store, by one of the ways to do that.
pub(crate) fn verify(
    sink: Sink<'_>,
    check: impl FnOnce(
        &mut dyn FnMut(ReadSoFar) -> ControlFlow<()>,
        &mut dyn FnMut(Damage),
    ) -> Result<Checked, String>,
) -> Result<Value, String> {
    let (sink, mut before) = (RefCell::new(sink), 0);
    let mut watch = |at: ReadSoFar| {
        let mut piece = progress(at);
        piece.cost = at.bytes.saturating_sub(before);
        before = at.bytes;
        (sink.borrow_mut())(piece)
    };
    let mut found = |damage: Damage| {
        let Damage { table, index, key, what } = &damage;
        let (table, index) = (table.as_deref(), index.as_deref());
        let shown = damage.to_string();
        let told =
            json!({"table": table, "index": index, "key": key, "what": what, "shown": shown});
        // Whoever takes nothing more says so again when it is told of progress.
        let _ = (sink.borrow_mut())(Piece::json(Kind::Data, &told));
    };
    let Checked { tables, items, entries, bytes, unsealed, damages, .. } =
        check(&mut watch, &mut found)?;
    Ok(json!({
        "tables": tables, "items": items, "entries": entries, "bytes": bytes, "unsealed": unsealed,
        "damages": damages,
    }))
}

fn progress(at: ReadSoFar) -> Piece {
    let ReadSoFar { keys, bytes, keys_total } = at;
    Piece::json(Kind::Progress, &json!({"keys": keys, "bytes": bytes, "of": keys_total}))
}

/// Writes to a sink.
struct Out<'a, 'b>(&'b RefCell<Sink<'a>>);

impl io::Write for Out<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = Piece { kind: Kind::Data, payload: bytes.to_vec(), cost: wide(bytes.len()) };
        match (self.0.borrow_mut())(piece) {
            ControlFlow::Continue(()) => Ok(bytes.len()),
            ControlFlow::Break(()) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn back_up(view: &View, sink: Sink<'_>) -> Result<Value, String> {
    let sink = RefCell::new(sink);
    let mut watch = |at| (sink.borrow_mut())(progress(at));
    let saved = view.back_up(&mut Out(&sink), &mut watch).map_err(|error| error.to_string())?;
    Ok(json!({"keys": saved.keys, "bytes": saved.bytes, "names": saved.names}))
}

fn export(
    view: &View,
    names: &[String],
    after: Option<&(String, String)>,
    sink: Sink<'_>,
) -> Result<Value, String> {
    let tables = view.tables();
    let mut after = after.map(|(partition, sort)| Key::new(partition.as_str(), sort.as_str()));
    let mut items = 0;
    for name in names {
        let table = tables.iter().find(|table| table.name == name.as_str());
        let table = table.ok_or_else(|| format!("the server has no table `{name}`"))?;
        loop {
            let scan = Scan {
                table: table.clone(),
                partition_prefix: Text::default(),
                after: after.take(),
                items_max: Scan::ITEMS_MAX,
            };
            let page = view.scan(&scan).map_err(|error| error.to_string())?;
            let mut text = String::new();
            for item in &page.items {
                line::write(item, &mut text);
                text.push('\n');
            }
            items += wide(page.items.len());
            let last = page.resume.as_ref().map(|key| [key.partition.as_str(), key.sort.as_str()]);
            let told = json!({"table": name, "items": page.items.len(), "last": last});
            let cost = wide(text.len());
            let lines = Piece { kind: Kind::Data, payload: text.into_bytes(), cost };
            if sink(lines).is_break() || sink(Piece::json(Kind::Progress, &told)).is_break() {
                return Err("nobody reads the export".to_owned());
            }
            match page.resume {
                Some(resume) => after = Some(resume),
                None => break,
            }
        }
    }
    Ok(json!({"items": items}))
}

/// Reads a store for another process, and sends it the pieces.
pub(crate) async fn send(
    task: Task,
    view: View,
    out: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let rate = task.rate().saturating_mul(1_000_000).max(1);
    let (sender, mut pieces) = mpsc::channel(PIECES_MAX);
    // It ends when this function does, since nobody takes its pieces then.
    tokio::task::spawn_blocking(move || {
        task.run(&view, &mut |piece| match sender.blocking_send(piece) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        });
    });
    let (started, mut cost) = (Instant::now(), 0u64);
    while let Some(piece) = pieces.recv().await {
        cost = cost.saturating_add(piece.cost);
        let micros = u128::from(cost) * 1_000_000 / u128::from(rate);
        let due = Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX));
        if let Some(early) = due.checked_sub(started.elapsed()) {
            tokio::time::sleep(early).await;
        }
        let too_long = |_| io::Error::other("a piece is too long");
        let length = u32::try_from(piece.payload.len()).map_err(too_long)?;
        let mut bytes = vec![piece.kind.byte()];
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&piece.payload);
        tokio::time::timeout(SEND_TIME_MAX, out.write_all(&bytes)).await??;
    }
    out.shutdown().await
}

/// Reads the next piece that another process sends.
pub(crate) async fn receive(from: &mut (impl AsyncRead + Unpin)) -> Result<Piece, Failure> {
    let stopped = |_| {
        Failure::unusable("the server stopped before it had sent everything; run the command again")
    };
    let byte = from.read_u8().await.map_err(stopped)?;
    let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.byte() == byte) else {
        return Err(Failure::unusable(STRANGE));
    };
    let length = from.read_u32().await.map_err(stopped)?;
    if length > PIECE_BYTES_MAX {
        return Err(Failure::unusable(STRANGE));
    }
    let mut payload = vec![0; usize::try_from(length).map_err(Failure::unusable)?];
    from.read_exact(&mut payload).await.map_err(stopped)?;
    match kind {
        Kind::Error => Err(Failure::Unusable(String::from_utf8_lossy(&payload).into_owned())),
        Kind::Data | Kind::Progress | Kind::End => Ok(Piece::new(kind, payload)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_come_through_as_they_were_given() {
        let tables = || vec!["Doors".to_owned(), "Doors-latchkey".to_owned()];
        for task in [
            Task::Verify { rate: 5 },
            Task::Backup { rate: 1 },
            Task::Export { tables: tables(), after: None, rate: 7 },
            Task::Export {
                tables: tables(),
                after: Some(("a".to_owned(), String::new())),
                rate: 64,
            },
        ] {
            assert_eq!(Task::from_json(&task.to_json()), Some(task));
        }
        for other in [json!({}), json!({"do": "list"}), json!({"do": "backup"})] {
            assert_eq!(Task::from_json(&other), None);
        }
    }
}
