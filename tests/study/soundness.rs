//! Whether what the check calls clean is serialisable: the race search tries to prove it wrong on drawn documents.

use latchkey_language::{Level, Rule};
use latchkey_race::{Loss, Options, SearchError, search};

use crate::generate::document;

/// What came of a drawn document.
#[derive(Debug)]
pub struct Drawn {
    /// Its seed.
    pub seed: u64,
    /// The rules that the check tells it by; it is served if all of them are warnings.
    pub rules: Vec<Rule>,
    /// How many groups of calls met in the search.
    pub groups: usize,
    /// How many schedules were run.
    pub schedules: usize,
    /// What was lost.
    pub losses: Vec<Loss>,
}

impl Drawn {
    /// Whether the check lets it be served.
    pub fn is_served(&self) -> bool {
        self.rules.iter().all(|rule| rule.level() == Level::Warning)
    }

    /// Whether the check lets it be served, and does not warn that an answer may be out of order.
    pub fn is_clean(&self) -> bool {
        self.is_served() && !self.rules.contains(&Rule::StaleAnswer)
    }

    /// Whether what is stored is wrong.
    pub fn loses_items(&self) -> bool {
        self.losses.iter().any(|loss| !in_answers(loss))
    }

    /// Whether nothing but an answer is wrong.
    pub fn loses_answers(&self) -> bool {
        !self.losses.is_empty() && !self.loses_items()
    }
}

/// Draws the document of a seed, checks it, and searches it if it can be served.
pub fn draw(seed: u64) -> Result<Drawn, String> {
    let text = document(seed);
    let found = latchkey_model::check(&text).diagnostics;
    let mut rules: Vec<Rule> = found.iter().map(|found| found.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    if rules.contains(&Rule::Syntax) {
        let told = found.iter().map(|found| found.message.as_str()).collect::<Vec<_>>().join("\n");
        return Err(format!("the document of seed {seed} is none: {told}\n{text}"));
    }
    let mut drawn = Drawn { seed, rules, groups: 0, schedules: 0, losses: Vec::new() };
    if !drawn.is_served() {
        return Ok(drawn);
    }
    match search(&text, &Options::default(), &|_| {}) {
        Ok(report) => {
            drawn.groups = report.groups;
            drawn.schedules = report.schedules;
            drawn.losses = report.losses;
            Ok(drawn)
        }
        Err(SearchError::Mistakes(_) | SearchError::NoContract(_)) => {
            Err(format!("the document of seed {seed} is clean and cannot be searched\n{text}"))
        }
        Err(SearchError::Stuck(stuck)) => Err(format!("seed {seed}: {stuck}\n{text}")),
    }
}

/// Whether a loss is one of answers alone: all that is stored comes of some order.
fn in_answers(loss: &Loss) -> bool {
    let answer = |difference: &String| difference.contains(" is told ");
    !loss.differences.is_empty() && loss.differences.iter().all(answer)
}
