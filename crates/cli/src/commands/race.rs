//! `latchkey race`

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use latchkey_race::{Doing, Loss, Options, Progress, Report, SearchError, Unsearched};

use crate::arguments::Race;
use crate::document::{self, Document};
use crate::{Failure, line_and_column, render};

/// How often progress is shown.
const SHOWN_EVERY: Duration = Duration::from_millis(100);

pub(crate) fn run(arguments: &Race, colour: bool) -> Result<(), Failure> {
    let (documents, contracts) = arguments.split();
    let documents = document::all(&documents)?;
    let mut lost = false;
    let mut missing = contracts.clone();
    for document in &documents {
        let known = latchkey_model::check(&document.text).model;
        let own = |id: &&String| known.bodies().iter().any(|body| body.id == **id);
        let wanted: Vec<String> = contracts.iter().filter(own).cloned().collect();
        missing.retain(|id| !wanted.contains(id));
        if wanted.is_empty() && !contracts.is_empty() {
            continue;
        }
        let options = Options {
            contracts: wanted,
            without: arguments.without.clone(),
            embedded: arguments.embedded,
            deep: arguments.deep,
        };
        let started = Instant::now();
        let shown = Shown::default();
        let report = latchkey_race::search(&document.text, &options, &|at| shown.show(at));
        shown.clear();
        match report {
            Ok(report) => lost |= tell(document, &report, started.elapsed()),
            Err(SearchError::Mistakes(mistakes)) => {
                for mistake in &mistakes {
                    eprintln!("{}\n", render(&document.path, &document.text, mistake, colour));
                }
                eprintln!("a document with mistakes is searched only with `--without` their rules");
                lost = true;
            }
            Err(error) => return Err(Failure::unusable(error)),
        }
    }
    match missing.first() {
        Some(id) => Err(Failure::Unusable(format!("there is no contract or worker `{id}`"))),
        None if lost => Err(Failure::Printed),
        None => Ok(()),
    }
}

/// Progress, on one line of a terminal.
#[derive(Default)]
struct Shown(Mutex<Option<Instant>>);

impl Shown {
    fn show(&self, Progress { doing, done, of }: Progress) {
        let mut last = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !std::io::stderr().is_terminal() || last.is_some_and(|at| at.elapsed() < SHOWN_EVERY) {
            return;
        }
        *last = Some(Instant::now());
        let what = match doing {
            Doing::States => "states",
            Doing::Choosing => "groups looked at",
            Doing::Groups => "groups",
        };
        // Whoever looks may have gone.
        let _ = write!(std::io::stderr(), "\r\u{1b}[K{done} of {of} {what}");
    }

    fn clear(&self) {
        let last = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if last.is_some() {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}

fn many(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn tell(document: &Document, report: &Report, took: Duration) -> bool {
    for loss in &report.losses {
        print_loss(document, loss);
    }
    // Where something writes, a search without a group shows nothing.
    let vain = report.groups == 0 && report.writes;
    let verdict = match report.losses.len() {
        0 if vain => "nothing was searched".to_owned(),
        0 if report.groups == 0 => "nothing to search: no contract writes".to_owned(),
        0 => "nothing is lost".to_owned(),
        1 => "1 loss".to_owned(),
        count => format!("{count} losses"),
    };
    let Report { contracts, contracts_of, states, groups, schedules, cut, .. } = report;
    println!(
        "{}: {contracts} of {contracts_of} contracts and workers, {}, {}, {}, {:.1} s, {verdict}",
        document.path,
        many(*states, "state", "states"),
        many(*groups, "group", "groups"),
        many(*schedules, "schedule", "schedules"),
        took.as_secs_f64()
    );
    if *cut > 0 {
        let (groups, have) =
            (many(*cut, "group", "groups"), if *cut == 1 { "has" } else { "have" });
        println!("{groups} {have} more schedules than were run");
    }
    for Unsearched { id, why } in report.unsearched.iter().filter(|_| report.writes) {
        println!("{id} was not searched: {why}");
    }
    vain || !report.losses.is_empty()
}

fn print_loss(document: &Document, loss: &Loss) {
    println!("loss: {}", loss.headline);
    println!("  state: {}", loss.state);
    for line in loss.table().lines() {
        println!("  {line}");
    }
    for (span, text) in &loss.statements {
        let (line, column) = line_and_column(&document.text, span.start);
        let source = document.text.get(span.range()).unwrap_or_default();
        let source = source.lines().next().unwrap_or_default().trim();
        println!("  {}:{line}:{column}: {text}: {source}", document.path);
    }
    for remedy in &loss.remedies {
        println!("  note: {remedy}");
    }
    println!("  to keep in the document:");
    println!("  ```example");
    for line in loss.example.lines() {
        println!("  {line}");
    }
    println!("  ```\n");
}
