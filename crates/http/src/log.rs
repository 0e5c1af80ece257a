//! Lines for standard error or standard output, written by a thread.
//!
//! A request adds its line to a buffer and goes on; the thread writes the buffer. A write by the request itself would
//! take as long as the rest of a small read, and would wait for ever on a pipe that nobody reads. If the buffer is
//! full, further lines are dropped and counted, and so are lines that cannot be written, as on a full disk. A line says
//! how many are missing once lines can be written again. A process that is killed loses the lines of its last
//! milliseconds. A process that stops waits a bounded time for its lines to be written.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use latchkey_runtime::{Source, SystemSource};
use latchkey_table::Capacity;
use latchkey_value::time;

/// How long lines gather.
const GATHER: Duration = Duration::from_millis(20);

/// How many bytes the buffer holds. Lines beyond that are counted and dropped.
const WAITING_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How long the thread waits before it writes again to a stream that takes nothing now and does not block.
const STREAM_PAUSE: Duration = Duration::from_millis(10);

/// What the log says of a request. No field can have a quote, a backslash or a control character.
pub(crate) struct Entry<'a> {
    pub(crate) id: &'a str,
    pub(crate) contract: &'a str,
    pub(crate) caller: &'a str,
    pub(crate) status: u16,
    pub(crate) micros: u64,
    pub(crate) capacity: Capacity,
}

/// A log. Adding a line never waits for a reader.
#[derive(Debug, Clone)]
pub struct Log(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// There are lines to be written.
    wake: Condvar,
    /// The lines that were taken are written.
    written: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    lines: String,
    /// How many lines were dropped since the log last said so.
    lost: u64,
    lost_in_all: u64,
    /// Some lines were taken and are being written.
    writing: bool,
}

impl Log {
    /// Starts the thread that writes to a stream, for as long as the process runs.
    pub fn start(output: impl AsFd) -> io::Result<Log> {
        // Not through the handle of the standard library: a thread that writes holds its lock until the write is done.
        let output = File::from(output.as_fd().try_clone_to_owned()?);
        let shared = Arc::new(Shared::default());
        let writer = Arc::clone(&shared);
        thread::Builder::new().name("log".to_owned()).spawn(move || writer.run(output))?;
        Ok(Log(shared))
    }

    /// Adds lines as they are. Each line has its line end.
    pub fn add(&self, lines: &str) {
        self.leave(|waiting| waiting.push_str(lines));
    }

    /// Adds the line of a request.
    pub(crate) fn add_request(&self, entry: &Entry<'_>) {
        // A clock before the year 0 or after the year 9999 leaves the timestamp empty; the line is written all the same.
        let now = time::format(SystemSource.now()).unwrap_or_default();
        self.leave(|waiting| {
            // A `String` takes whatever is written.
            let _ = entry.write(&now, waiting);
        });
    }

    fn leave(&self, write: impl FnOnce(&mut String)) {
        let mut waiting = self.0.lock();
        let idle = waiting.lines.is_empty();
        if waiting.lines.len() >= WAITING_BYTES_MAX {
            waiting.lose(1);
        } else {
            write(&mut waiting.lines);
        }
        drop(waiting);
        if idle {
            self.0.wake.notify_one();
        }
    }

    /// How many lines were dropped because nobody read the lines before them, or because they could not be written.
    pub fn lines_lost(&self) -> u64 {
        self.0.lock().lost_in_all
    }

    /// Waits until all lines are written, but no longer than this: the reader may be gone.
    pub fn finish(&self, time_max: Duration) {
        let waiting = self.0.lock();
        let unwritten = |waiting: &mut Waiting| !waiting.lines.is_empty() || waiting.writing;
        let waited = self.0.written.wait_timeout_while(waiting, time_max, unwritten);
        drop(waited);
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
    /// A thread that panicked while it held the lock has left whole lines, or one line that is cut short.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes whole lines in one write, so that lines of other processes do not cut them.
    fn run(&self, mut output: impl io::Write) {
        // Whether the last line that was written is cut short.
        let mut cut = false;
        loop {
            let waiting = self.lock();
            let empty = |waiting: &mut Waiting| waiting.lines.is_empty();
            drop(self.wake.wait_while(waiting, empty));
            thread::sleep(GATHER);
            let mut waiting = self.lock();
            let taken = waiting.take(cut);
            waiting.writing = true;
            drop(waiting);
            let written = write_some(&mut output, taken.text.as_bytes());
            if written > 0 {
                cut = taken.text.as_bytes().get(written - 1) != Some(&b'\n');
            }
            let mut waiting = self.lock();
            if written < taken.text.len() {
                waiting.lose_unwritten(&taken, written);
            }
            waiting.writing = false;
            drop(waiting);
            self.written.notify_all();
        }
    }
}

/// Writes as much as can be written, and says how much that was. If a write fails, there is no other place to report
/// why.
fn write_some(output: &mut impl io::Write, bytes: &[u8]) -> usize {
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        match output.write(rest) {
            Ok(0) => break,
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(STREAM_PAUSE),
            Err(_) => break,
        }
    }
    written
}

/// Lines that were taken to be written.
struct Taken {
    text: String,
    /// How many bytes of the text are lines of the log; what follows says how many are missing.
    lines_bytes: usize,
    /// Whether the text begins with the end of a line that was cut short.
    ends_cut: bool,
    lost: u64,
}

impl Waiting {
    fn lose(&mut self, lines: u64) {
        self.lost += lines;
        self.lost_in_all += lines;
    }

    /// Takes the lines, with a last line that says how many are missing.
    fn take(&mut self, cut: bool) -> Taken {
        let room = String::with_capacity(self.lines.len());
        let mut text = std::mem::replace(&mut self.lines, room);
        if cut {
            text.insert(0, '\n');
        }
        let (lines_bytes, lost) = (text.len(), std::mem::take(&mut self.lost));
        if lost > 0 {
            let now = time::format(SystemSource.now()).unwrap_or_default();
            // A `String` takes whatever is written.
            let _ = writeln!(
                text,
                "{{\"timestamp\":\"{now}\",\"level\":\"WARN\",\"target\":\"latchkey::request\",\"lost\":{lost}}}"
            );
        }
        Taken { text, lines_bytes, ends_cut: cut, lost }
    }

    /// Counts the lines that could not be written, and keeps what was not told.
    fn lose_unwritten(&mut self, taken: &Taken, written: usize) {
        let unwritten = taken.text.as_bytes().get(written..taken.lines_bytes).unwrap_or_default();
        let ends = unwritten.iter().filter(|byte| **byte == b'\n').count();
        // The line that was cut short is counted already.
        let lines = ends.saturating_sub(usize::from(taken.ends_cut && written == 0));
        self.lose(u64::try_from(lines).unwrap_or(u64::MAX));
        self.lost += taken.lost;
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
            log.add_request(&entry(200));
        }
        log.add("one of another kind\n");
        let mut waiting = log.0.lock();
        assert!(waiting.lines.len() < WAITING_BYTES_MAX + length, "it is bounded");
        assert!(waiting.lost > 0, "what is missing is counted");
        let lost = waiting.lost;
        let lines = waiting.take(false).text;
        assert!(lines.ends_with(&format!("\"lost\":{lost}}}\n")), "and told");
        assert!(waiting.take(false).text.is_empty(), "once");
        drop(waiting);
        assert_eq!(log.lines_lost(), lost);
    }

    #[test]
    fn a_pipe_that_nobody_reads_holds_nobody_up() {
        let (mut reader, writer) = io::pipe().unwrap();
        let log = Log::start(&writer).unwrap();
        drop(writer);
        let line = "x".repeat(1023) + "\n";
        // More than the pipe takes, and more than may wait.
        let lines = WAITING_BYTES_MAX / line.len() * 2;
        (0..lines).for_each(|_| log.add(&line));
        assert!(log.lines_lost() > 0);
        log.finish(Duration::from_millis(1));
        // Once somebody reads, all that was kept comes, and how many are missing.
        let (kept, reading) = (
            log.clone(),
            thread::spawn(move || {
                let mut found = Vec::new();
                while !found.ends_with(b"end\n") {
                    let mut some = [0; 64 * 1024];
                    let count = io::Read::read(&mut reader, &mut some).unwrap();
                    found.extend(some.into_iter().take(count));
                }
                String::from_utf8(found).unwrap()
            }),
        );
        kept.finish(Duration::from_secs(300));
        kept.add("end\n");
        let found = reading.join().unwrap();
        let whole = found.lines().filter(|found| found.len() == line.len() - 1).count();
        let lost = u64::try_from(lines - whole).unwrap();
        assert_eq!(log.lines_lost(), lost, "each is written or counted");
        assert!(found.contains("\"lost\":"), "{}", found.len());
    }

    /// A disk that is full until it is told otherwise, and takes a few bytes before it says so.
    struct Disk {
        room: Arc<Mutex<usize>>,
        found: Arc<Mutex<Vec<u8>>>,
    }

    impl io::Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut room = self.room.lock().unwrap();
            let taken = bytes.get(..bytes.len().min(*room)).unwrap();
            if taken.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            *room -= taken.len();
            self.found.lock().unwrap().extend(taken);
            Ok(taken.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_cannot_be_written_is_counted_and_told_once_there_is_room() {
        // Lines that a full disk refused were gone, and nothing counted them.
        let (room, found) = (Arc::new(Mutex::new(7)), Arc::default());
        let disk = Disk { room: Arc::clone(&room), found: Arc::clone(&found) };
        let log = Log(Arc::default());
        let writer = Arc::clone(&log.0);
        thread::spawn(move || writer.run(disk));
        let long = Duration::from_secs(300);
        log.add("one\ntwo\nthree\n");
        log.finish(long);
        assert_eq!(log.lines_lost(), 2, "`two` is cut, and `three` is not written");
        log.add("four\n");
        log.finish(long);
        assert_eq!(log.lines_lost(), 3, "the line that tells of lost lines is none of them");
        *room.lock().unwrap() = usize::MAX;
        log.add("five\n");
        log.finish(long);
        let found = String::from_utf8(found.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = found.lines().collect();
        assert_eq!(lines.get(..3).unwrap(), ["one", "two", "five"], "{found}");
        assert!(lines.get(3).unwrap().ends_with("\"lost\":3}"), "{found}");
        assert_eq!((lines.len(), log.lines_lost()), (4, 3));
    }
}
