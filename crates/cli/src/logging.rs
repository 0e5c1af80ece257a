//! The output of `serve` and `work`: JSON lines on standard error, and a few lines for people on standard output.
//!
//! Neither waits for a reader: see [`Log`].

use std::env::VarError;
use std::io;
use std::time::Duration;

use latchkey_embedded::{PanicFate, panic_fate};
use latchkey_http::Log;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::Failure;
use crate::surroundings::DAMAGED;

/// How long a process that stops waits for a reader of its last lines.
const LAST_LINES_TIME_MAX: Duration = Duration::from_secs(1);

/// The variable that says how much is logged.
const VARIABLE: &str = "LATCHKEY_LOG";

/// The two outputs of a process.
#[derive(Clone)]
pub(crate) struct Logging {
    /// Standard error, for programs.
    pub(crate) log: Log,
    /// Standard output, for people.
    pub(crate) told: Log,
}

impl Logging {
    /// Starts the log. Panics are logged too.
    ///
    /// The level is for Latchkey's own lines. Libraries log warnings only: at lower levels the AWS SDK logs the content
    /// of requests and answers.
    pub(crate) fn start() -> Result<Logging, Failure> {
        let log = Log::start(io::stderr()).map_err(Failure::unusable)?;
        let told = Log::start(io::stdout()).map_err(Failure::unusable)?;
        let level = match std::env::var(VARIABLE) {
            Ok(level) if !level.trim().is_empty() => level,
            Ok(_) | Err(VarError::NotPresent) => "info".to_owned(),
            Err(error) => return Err(Failure::Unusable(format!("{VARIABLE}: {error}"))),
        };
        let directives = match level.trim().to_ascii_lowercase().as_str() {
            own @ ("info" | "debug" | "trace") => format!("warn,latchkey={own}"),
            _ => level,
        };
        refuse_no_level(&directives)?;
        let filter = EnvFilter::try_new(&directives).map_err(|error| {
            Failure::Unusable(format!(
                "{VARIABLE} is `{directives}`: {error}; give error, warn, info, debug or trace"
            ))
        })?;
        tracing_subscriber::fmt()
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .with_env_filter(filter)
            .with_writer(Lines(log.clone()))
            .init();
        // The default hook writes to standard error directly, and would wait for a reader.
        let logging = Logging { log, told };
        let last = logging.clone();
        std::panic::set_hook(Box::new(move |panic| match panic_fate() {
            PanicFate::Foreign => tracing::error!(%panic, "a task panicked"),
            // A damaged store is told as an error.
            PanicFate::Caught => {}
            PanicFate::Fatal => {
                tracing::error!(%panic, "{DAMAGED}");
                last.finish();
                std::process::exit(1);
            }
        }));
        Ok(logging)
    }

    /// Whether someone has said how much is logged.
    pub(crate) fn is_asked_for() -> bool {
        std::env::var_os(VARIABLE).is_some_and(|level| !level.is_empty())
    }

    /// Waits until the last lines are written, for a bounded time.
    pub(crate) fn finish(&self) {
        self.told.finish(LAST_LINES_TIME_MAX);
        self.log.finish(LAST_LINES_TIME_MAX);
    }
}

/// The levels of a log, from nothing to everything.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Refuses a word that is no level. It would be read as the name of a target, and silence all others.
fn refuse_no_level(directives: &str) -> Result<(), Failure> {
    for word in directives.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let lower = word.to_ascii_lowercase();
        if word.contains('=') || LEVELS.contains(&lower.as_str()) {
            continue;
        }
        let near = LEVELS.iter().map(|level| (distance(level, &lower), level)).min();
        let hint = match near {
            Some((edits, level)) if edits <= 2 => format!("; did you mean `{level}`?"),
            _ => String::new(),
        };
        return Err(Failure::Unusable(format!(
            "{VARIABLE} is `{directives}`: `{word}` is no level; give off, error, warn, info, debug or trace, or \
             TARGET=LEVEL{hint}"
        )));
    }
    Ok(())
}

/// How many letters must be added, removed or changed to make one word another.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (above, a) in one.chars().enumerate() {
        let mut next = vec![above + 1];
        let mut left = above + 1;
        for (pair, b) in row.iter().zip(row.iter().skip(1)).zip(other.chars()) {
            let (diagonal, up) = pair;
            left = (diagonal + usize::from(a != b)).min(up + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

/// Writes the last message of a process to standard error, and waits a bounded time for it. `eprintln!` would wait for
/// ever if nobody reads, and a server has replaced the default action of SIGTERM by then.
pub(crate) fn tell_last(text: &str) {
    // Without a thread the message is lost, but the exit code still shows the failure.
    if let Ok(log) = Log::start(io::stderr()) {
        log.add(text);
        log.finish(LAST_LINES_TIME_MAX);
    }
}

/// Adds each event to the log as a line.
struct Lines(Log);

/// The writer of one event.
struct Line<'a>(&'a Log);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(&self.0)
    }
}

impl io::Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.add(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
