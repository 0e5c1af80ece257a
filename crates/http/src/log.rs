//! The log of requests: a JSON line each, on standard error.
//!
//! A request leaves its line and goes on; a thread writes what has gathered. Written at once, a line would
//! cost as much as the rest of a small read. A process that is killed takes the lines of its last moment
//! along; one that stops writes them.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use latchkey_runtime::{Source, SystemSource, time};
use latchkey_table::Capacity;

/// How long lines gather.
const GATHER: Duration = Duration::from_millis(20);

/// How many bytes may wait when nobody reads the log. What comes then is counted, and let go of.
const WAITING_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What is told of a request. None of it can hold a quote, a backslash or a control character.
pub(crate) struct Entry<'a> {
    pub(crate) id: &'a str,
    pub(crate) contract: &'a str,
    pub(crate) caller: &'a str,
    pub(crate) status: u16,
    pub(crate) micros: u64,
    pub(crate) capacity: Capacity,
}

/// Where requests leave their lines.
#[derive(Debug)]
pub(crate) struct Log(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    wake: Condvar,
    /// Held by whoever writes.
    output: Mutex<()>,
}

#[derive(Debug, Default)]
struct Waiting {
    lines: String,
    /// How many were let go of.
    lost: u64,
    ended: bool,
}

impl Log {
    /// Starts the thread that writes.
    pub(crate) fn start() -> Log {
        let shared = Arc::new(Shared::default());
        let writer = Arc::clone(&shared);
        let started = thread::Builder::new().name("log".to_owned()).spawn(move || writer.run());
        if let Err(error) = started {
            tracing::error!(%error, "requests are not logged");
            shared.lock().ended = true;
        }
        Log(shared)
    }

    pub(crate) fn add(&self, entry: &Entry<'_>) {
        let now = time::format(SystemSource.now()).unwrap_or_default();
        let mut waiting = self.0.lock();
        let idle = waiting.lines.is_empty() && waiting.lost == 0;
        if waiting.lines.len() >= WAITING_BYTES_MAX || waiting.ended {
            waiting.lost += 1;
        } else {
            // A `String` takes whatever is written.
            let _ = entry.write(&now, &mut waiting.lines);
        }
        drop(waiting);
        if idle {
            self.0.wake.notify_one();
        }
    }

    /// Writes what has gathered.
    pub(crate) fn flush(&self) {
        self.0.write();
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.wake.notify_one();
    }
}

impl Entry<'_> {
    fn write(&self, now: &str, out: &mut String) -> fmt::Result {
        let Entry { id, contract, caller, status, micros, capacity } = self;
        out.push_str("{\"timestamp\":\"");
        out.push_str(now);
        out.push_str("\",\"level\":\"INFO\",\"target\":\"latchkey::request\",\"id\":\"");
        out.push_str(id);
        out.push_str("\",\"contract\":\"");
        out.push_str(contract);
        out.push_str("\",\"caller\":\"");
        out.push_str(caller);
        writeln!(out, "\",\"status\":{status},\"micros\":{micros},\"capacity\":\"{capacity}\"}}")
    }
}

impl Shared {
    /// A thread that broke off while it held the lock left whole lines, or one that is cut short.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        loop {
            let mut waiting = self.lock();
            while waiting.lines.is_empty() && waiting.lost == 0 && !waiting.ended {
                waiting = self.wake.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            }
            let ended = waiting.ended;
            drop(waiting);
            if !ended {
                thread::sleep(GATHER);
            }
            self.write();
            if ended {
                return;
            }
        }
    }

    /// Whole lines at once, so that they stay whole among others. Where they cannot be written, there is
    /// nobody to tell.
    fn write(&self) {
        let _output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = self.lock().take();
        let _ = std::io::stderr().lock().write_all(lines.as_bytes());
    }
}

impl Waiting {
    /// Takes the lines, and a last one on those that are missing.
    fn take(&mut self) -> String {
        let room = String::with_capacity(self.lines.len());
        let mut lines = std::mem::replace(&mut self.lines, room);
        let lost = std::mem::take(&mut self.lost);
        if lost > 0 {
            let _ = writeln!(
                lines,
                "{{\"level\":\"WARN\",\"target\":\"latchkey::request\",\"lost\":{lost}}}"
            );
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(status: u16) -> Entry<'static> {
        let capacity = Capacity { read_halves: 1, write: 0 };
        Entry { id: "r1", contract: "D-01", caller: "alice", status, micros: 12, capacity }
    }

    #[test]
    fn a_line_is_json_with_all_that_is_told() {
        let mut line = String::new();
        entry(200).write("2026-02-25T10:00:00.000Z", &mut line).unwrap();
        let expected = concat!(
            r#"{"timestamp":"2026-02-25T10:00:00.000Z","level":"INFO","target":"latchkey::request","#,
            r#""id":"r1","contract":"D-01","caller":"alice","status":200,"micros":12,"#,
            r#""capacity":"rcu=0.5, wcu=0"}"#,
            "\n"
        );
        assert_eq!(line, expected);
    }

    #[test]
    fn what_nobody_reads_is_counted_and_let_go_of() {
        // No thread takes anything from it.
        let log = Log(Arc::default());
        let length = 200;
        for _ in 0..WAITING_BYTES_MAX / length * 2 {
            log.add(&entry(200));
        }
        let mut waiting = log.0.lock();
        assert!(waiting.lines.len() < WAITING_BYTES_MAX + length, "it is bounded");
        assert!(waiting.lost > 0, "what is missing is counted");
        let lost = waiting.lost;
        let lines = waiting.take();
        assert!(lines.ends_with(&format!("\"lost\":{lost}}}\n")), "and told");
        assert!(waiting.take().is_empty(), "once");
    }
}
