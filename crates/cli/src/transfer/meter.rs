//! The progress of a transfer, for people: a bar on a terminal, a line now and then elsewhere.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often a terminal is updated.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// How often a line is printed elsewhere.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// How wide the bar is.
const BAR_COLUMNS: u64 = 24;

/// The size of the whole transfer, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Total {
    Items(u64),
    Bytes(u64),
    Unknown,
}

/// Prints the progress of a transfer to standard error.
pub(crate) struct Meter {
    total: Total,
    started: Instant,
    told: Instant,
    /// Bytes of earlier runs, which do not count for the speed.
    bytes_before: u64,
    terminal: bool,
    /// How many columns of the terminal's line are in use.
    drawn: usize,
}

impl Meter {
    pub(crate) fn new(total: Total, bytes_before: u64) -> Meter {
        let (started, terminal) = (Instant::now(), io::stderr().is_terminal());
        Meter { total, started, told: started, bytes_before, terminal, drawn: 0 }
    }

    /// Says how much there is, once that is known.
    pub(crate) fn expect(&mut self, total: Total) {
        self.total = total;
    }

    /// Whether a person watches.
    pub(crate) fn is_watched() -> bool {
        io::stderr().is_terminal()
    }

    /// Prints the progress, if an update is due.
    pub(crate) fn tell(&mut self, items: u64, bytes: u64) {
        let every = if self.terminal { DRAW_EVERY } else { TELL_EVERY };
        if self.told.elapsed() < every {
            return;
        }
        self.told = Instant::now();
        let done = Done {
            items,
            bytes,
            bytes_now: bytes.saturating_sub(self.bytes_before),
            time: self.started.elapsed(),
            total: self.total,
        };
        let line = if self.terminal { done.bar() } else { done.words() };
        self.put(&line);
    }

    /// Prints what was done, and ends the line.
    pub(crate) fn end(&mut self, message: &str) {
        self.put(message);
        if self.terminal {
            let _ = io::stderr().write_all(b"\n");
        }
    }

    /// Clears the bar.
    pub(crate) fn clear(&mut self) {
        if self.drawn > 0 {
            self.put("");
            let _ = io::stderr().write_all(b"\r");
        }
    }

    fn put(&mut self, line: &str) {
        let columns = line.chars().count();
        let text = if self.terminal {
            // Spaces clear the rest of a longer line.
            let blank = self.drawn.saturating_sub(columns);
            format!("\r{line}{}", " ".repeat(blank))
        } else {
            format!("{line}\n")
        };
        self.drawn = columns;
        // If standard error cannot be written, there is no other place to say so.
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// The progress at an instant.
struct Done {
    items: u64,
    bytes: u64,
    bytes_now: u64,
    time: Duration,
    total: Total,
}

impl Done {
    /// The part of the whole that is done, in units of `1/whole`; never all before the end.
    fn parts(&self, whole: u64) -> Option<u64> {
        let (done, total) = match self.total {
            Total::Items(total) => (self.items, total),
            Total::Bytes(total) => (self.bytes, total),
            Total::Unknown => return None,
        };
        let parts = u128::from(done) * u128::from(whole) / u128::from(total.max(1));
        Some(u64::try_from(parts).unwrap_or(whole).min(whole.saturating_sub(1)))
    }

    fn rate(&self) -> u64 {
        let milliseconds = self.time.as_millis().max(1);
        u64::try_from(u128::from(self.bytes_now) * 1000 / milliseconds).unwrap_or(u64::MAX)
    }

    fn bar(&self) -> String {
        let mut line = String::new();
        if let (Some(full), Some(percent)) = (self.parts(BAR_COLUMNS), self.parts(100)) {
            line.push('[');
            for column in 0..BAR_COLUMNS {
                line.push(if column < full { '#' } else { '-' });
            }
            let _ = write!(line, "] {percent:>2}%  ");
        }
        let (items, bytes, rate) = (items(self.items), size(self.bytes), size(self.rate()));
        let _ = write!(line, "{items}  {bytes}  {rate}/s");
        line
    }

    fn words(&self) -> String {
        let percent = self.parts(100).map_or_else(String::new, |percent| format!(", {percent}%"));
        let (items, bytes, rate) = (items(self.items), size(self.bytes), size(self.rate()));
        format!("{items}, {bytes}{percent}, {rate}/s")
    }
}

/// How many items, for people.
pub(crate) fn items(count: u64) -> String {
    crate::counted(count, "item", "items")
}

/// A number with a comma between thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes, in about three digits.
pub(crate) fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut unit = 1u64;
    let mut text = format!("{bytes} B");
    for name in units {
        unit = unit.saturating_mul(1024);
        if bytes < unit {
            break;
        }
        let tenths = u128::from(bytes) * 10 / u128::from(unit);
        text = format!("{}.{} {name}", tenths / 10, tenths % 10);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(items: u64, bytes: u64, total: Total) -> Done {
        Done { items, bytes, bytes_now: bytes, time: Duration::from_secs(2), total }
    }

    #[test]
    fn numbers_are_told_as_people_read_them() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
        let sizes = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1_887_436, "1.7 MiB"),
            (5 << 40, "5.0 TiB"),
            (u64::MAX, "16777215.9 TiB"),
        ];
        for (bytes, text) in sizes {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn the_bar_grows_and_is_never_full_before_the_end() {
        let half = done(1000, 512, Total::Items(2000)).bar();
        assert_eq!(half, "[############------------] 50%  1,000 items  512 B  256 B/s");
        for total in [Total::Items(5), Total::Bytes(0), Total::Bytes(7)] {
            let over = done(10, 7, total);
            assert_eq!((over.parts(100), over.parts(BAR_COLUMNS)), (Some(99), Some(23)));
        }
        let unknown = done(10, 2048, Total::Unknown);
        assert_eq!(unknown.bar(), "10 items  2.0 KiB  1.0 KiB/s");
        assert_eq!(unknown.words(), "10 items, 2.0 KiB, 1.0 KiB/s");
    }
}
