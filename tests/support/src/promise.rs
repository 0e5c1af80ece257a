//! How long the test of a promise runs, and how far it has come.
//!
//! CI runs each such test for a moment. `./reliability.sh` sets `LATCHKEY_PROMISE_ROUNDS` and runs it for long, and the
//! test then shows on standard error how far it is.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// The variable that makes a test long.
const VARIABLE: &str = "LATCHKEY_PROMISE_ROUNDS";

/// The width of the bar, in characters.
const WIDTH: usize = 40;

/// How many lines are written where the bar cannot be drawn over itself.
const LINES: usize = 20;

/// How many rounds a test makes: as many as it says, or as many as it was told to.
pub fn rounds(short: usize) -> usize {
    match std::env::var(VARIABLE) {
        Ok(rounds) => rounds.parse().unwrap_or_else(|_| panic!("{VARIABLE}={rounds} is no number")),
        Err(_) => short,
    }
}

/// Whether the test was told how long to run.
pub fn is_long() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Tells what was measured.
pub fn tell(figures: &str) {
    // Whoever does not listen is no reason to fail.
    let _ = writeln!(std::io::stdout(), "{figures}");
}

/// How far a long test is. A short one says nothing.
pub struct Progress {
    name: &'static str,
    total: usize,
    done: usize,
    started: Instant,
    told: Option<Instant>,
}

impl Progress {
    pub fn new(name: &'static str, total: usize) -> Progress {
        let told = is_long().then(Instant::now);
        Progress { name, total, done: 0, started: Instant::now(), told }
    }

    /// So many rounds more are done.
    pub fn add(&mut self, rounds: usize) {
        let before = self.done;
        self.done += rounds;
        let Some(told) = self.told else { return };
        let bar = std::io::stderr().is_terminal();
        let step = (self.total / LINES).max(1);
        let due = if bar {
            told.elapsed() > Duration::from_millis(200)
        } else {
            before / step != self.done / step
        };
        if due || self.done >= self.total {
            self.told = Some(Instant::now());
            self.show(bar);
        }
    }

    fn show(&self, bar: bool) {
        let filled = (self.done * WIDTH / self.total.max(1)).min(WIDTH);
        let share = self.done * 100 / self.total.max(1);
        let spent = self.started.elapsed();
        let text = format!(
            "{} [{}{}] {share}% {} of {} in {} s",
            self.name,
            "#".repeat(filled),
            "-".repeat(WIDTH - filled),
            self.done,
            self.total,
            spent.as_secs()
        );
        let end = if bar && self.done < self.total { "" } else { "\n" };
        let start = if bar { "\r" } else { "" };
        // A bar that nobody sees is no reason to fail.
        let _ = write!(std::io::stderr(), "{start}{text}{end}");
    }

    /// How long it has run.
    pub fn spent(&self) -> Duration {
        self.started.elapsed()
    }
}
