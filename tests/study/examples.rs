//! Runs the examples of a document, mistake and all, on a store of their own.

use std::fmt;
use std::time::Duration;

use latchkey_example::{self as example, Report, Target, TargetError};
use latchkey_runtime::System;

/// What came of the examples of a document.
pub struct Run {
    /// What was not as an example says, in the order of the text.
    pub failures: Vec<Failure>,
    /// What a contract can answer and no example shows.
    pub gaps: Vec<String>,
}

/// An example that is not answered as it says.
pub struct Failure {
    /// The section it stands in.
    section: String,
    /// Its line in the document.
    pub line: usize,
    /// What is not as it should be.
    message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}: {}", self.section, self.line, self.message)
    }
}

/// How long the examples of a document may take: some mistakes make a worker run for ever.
const TIME_MAX: Duration = Duration::from_secs(30);

/// What an error says.
fn said(error: TargetError) -> String {
    match error {
        TargetError::Unusable(message) | TargetError::Request(message) => message,
    }
}

/// Runs the examples of a document that passes the check.
pub fn run(document: &str) -> Result<Run, String> {
    let system = System::read(document).map_err(|mistakes| mistakes.to_string())?;
    let answers = answers(&system);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let report = runtime.map_err(|error| error.to_string())?.block_on(async {
        let target = Target::in_memory(system).await.map_err(said)?;
        Ok::<_, String>(tokio::time::timeout(TIME_MAX, example::run(document, &target)).await)
    })?;
    let ended =
        |message| Ok(Run { failures: vec![Failure::at(document, 0, message)], gaps: Vec::new() });
    let Report { requests, failures, seen, .. } = match report {
        Err(_) => {
            return ended(format!("the examples do not end within {} s", TIME_MAX.as_secs()));
        }
        // Some mistakes make messages that send each other for ever, which ends the run.
        Ok(Err(TargetError::Unusable(message))) => return ended(message),
        Ok(Err(error)) => return Err(said(error)),
        Ok(Ok(report)) => report,
    };
    if requests == 0 {
        return Err("there are no examples".to_owned());
    }
    let failures = failures.into_iter();
    let unseen = answers.into_iter().filter(|answer| !seen.contains(answer));
    Ok(Run {
        failures: failures.map(|d| Failure::at(document, d.span.start, d.message)).collect(),
        gaps: unseen.map(|(id, code)| format!("{id} {}", code.unwrap_or_default())).collect(),
    })
}

/// Each contract, with each problem it can answer and with none.
fn answers(system: &System) -> Vec<(String, Option<String>)> {
    let mut answers = Vec::new();
    for contract in system.contracts() {
        let codes = system.problems(&contract.id).into_iter().map(|code| Some(code.to_owned()));
        let all = codes.chain([None]);
        answers.extend(all.map(|code| (contract.id.to_string(), code)));
    }
    answers
}

impl Failure {
    fn at(document: &str, at: usize, message: String) -> Failure {
        let before = document.get(..at).unwrap_or_default();
        let heading = before.rsplit("\n##").next().and_then(|rest| rest.lines().next());
        let section = heading.unwrap_or_default().trim_start_matches('#').trim().to_owned();
        Failure { section, line: before.matches('\n').count() + 1, message }
    }
}
