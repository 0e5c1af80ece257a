//! What becomes of a mutant: the check tells it, an example fails, the race search loses, or nothing notices.

use std::collections::BTreeSet;

use latchkey_language::ast::Item;
use latchkey_language::{Level, Rule, parse};
use latchkey_race::{Against, Base, Limits, Options, SearchError};
use latchkey_runtime::System;

use crate::documents::Document;
use crate::examples;
use crate::mutant::Mutant;

/// The rules whose alarms are compared with the race search.
pub const ALARMS: [Rule; 3] = [Rule::NotIdempotent, Rule::StaleCopy, Rule::Unpinned];

/// How much of each mutant is compared with its original.
const LIMITS: Limits = Limits { calls: 300, groups: 24, schedules: 200 };

/// What was found out about a mutant.
#[derive(Debug)]
pub struct Found {
    /// The rules that the check tells it by, in order.
    pub rules: Vec<Rule>,
    /// Whether the check refuses it.
    pub refused: bool,
    /// The first example that fails; examples are run if the check does not refuse the document.
    pub example: Option<String>,
    /// What the race search says; it runs if the check has nothing to say, or says nothing but alarms.
    pub raced: Option<Raced>,
}

/// What the race search says of a mutant.
#[derive(Debug)]
pub enum Raced {
    /// The search came to its end.
    Ended(Box<Against>),
    /// The search cannot run the document, and why.
    Stuck(String),
}

/// What becomes of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// The operator made no document: a syntax error.
    Stillborn,
    /// The check tells it, by names and types alone.
    Named,
    /// The check refuses it by a rule.
    Refused,
    /// The check warns of it.
    Warned,
    /// An example fails.
    Example,
    /// The race search loses something.
    Lost,
    /// Nothing that was compared differs.
    Harmless,
    /// It does something else, and nothing tells.
    Survivor,
}

impl Found {
    /// What becomes of the mutant.
    pub fn fate(&self) -> Fate {
        let spelling = [Rule::Name, Rule::Type, Rule::Absent];
        let against = match &self.raced {
            Some(Raced::Ended(against)) => Some(against),
            _ => None,
        };
        if self.rules.contains(&Rule::Syntax) {
            Fate::Stillborn
        } else if self.refused && self.rules.iter().all(|rule| spelling.contains(rule)) {
            Fate::Named
        } else if self.refused {
            Fate::Refused
        } else if !self.rules.is_empty() {
            Fate::Warned
        } else if self.example.is_some() {
            Fate::Example
        } else if self.loss().or(self.broken()).is_some() {
            Fate::Lost
        } else if against.is_some_and(|against| against.difference.is_none()) {
            Fate::Harmless
        } else {
            Fate::Survivor
        }
    }

    /// The loss that the race search found: what is not serialisable, or breaks what Latchkey promises.
    pub fn loss(&self) -> Option<&str> {
        match &self.raced {
            Some(Raced::Ended(against)) => against.loss.as_ref().map(|loss| loss.headline.as_str()),
            _ => None,
        }
    }

    /// The invariant of the document that calls break one after the other.
    pub fn broken(&self) -> Option<&str> {
        match &self.raced {
            Some(Raced::Ended(against)) => {
                against.broken.as_ref().map(|loss| loss.headline.as_str())
            }
            _ => None,
        }
    }

    /// Whether the check refuses it by these alarms alone.
    pub fn is_alarm(&self) -> bool {
        self.refused && self.raced.is_some()
    }
}

/// Finds out what becomes of a mutant.
pub fn find(document: &Document, base: &Base, mutant: &Mutant) -> Result<Found, String> {
    let text = mutant.text(document.text);
    let mut diagnostics = latchkey_model::check(&text).diagnostics;
    if diagnostics.iter().all(|found| found.level == Level::Warning)
        && let Err(mistakes) = System::read(&text)
    {
        // `latchkey check` plans the document, too.
        diagnostics.extend(mistakes.0);
    }
    let mut rules: Vec<Rule> = diagnostics.iter().map(|found| found.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    let errors: Vec<Rule> =
        rules.iter().copied().filter(|rule| rule.level() == Level::Error).collect();
    let refused = diagnostics.iter().any(|found| found.level == Level::Error);
    let example = match refused {
        true => None,
        false => examples::run(&text)?.failures.first().map(ToString::to_string),
    };
    let raced = if rules.is_empty() {
        Some(race(document, base, mutant, &text, &[])?)
    } else if refused && errors.iter().all(|rule| ALARMS.contains(rule)) {
        Some(race(document, base, mutant, &text, &errors)?)
    } else {
        None
    };
    Ok(Found { rules, refused, example, raced })
}

/// Whether the check says something of a mutant.
pub fn is_told_by_check(document: &Document, mutant: &Mutant) -> bool {
    let text = mutant.text(document.text);
    !latchkey_model::check(&text).diagnostics.is_empty() || System::read(&text).is_err()
}

/// The example that fails, if the check says nothing of a mutant; `None` where the check tells it.
pub fn untold_by_check(
    document: &Document,
    mutant: &Mutant,
) -> Result<Option<Option<String>>, String> {
    if is_told_by_check(document, mutant) {
        return Ok(None);
    }
    Ok(Some(examples::run(&mutant.text(document.text))?.failures.first().map(ToString::to_string)))
}

fn race(
    document: &Document,
    base: &Base,
    mutant: &Mutant,
    text: &str,
    without: &[Rule],
) -> Result<Raced, String> {
    let contracts = changed(document.text, &mutant.within);
    let options = Options { contracts, without: without.to_vec(), ..Options::default() };
    match base.against(text, &options, LIMITS) {
        Ok(against) => Ok(Raced::Ended(Box::new(against))),
        Err(SearchError::Stuck(stuck)) => Ok(Raced::Stuck(stuck.to_string())),
        Err(SearchError::Mistakes(mistakes)) => Ok(Raced::Stuck(
            mistakes.first().map_or_else(String::new, |first| first.message.clone()),
        )),
        Err(error @ SearchError::NoContract(_)) => Err(error.to_string()),
    }
}

/// The contracts and workers that a declaration is part of: itself, or those that name it, also through steps.
fn changed(text: &str, within: &str) -> Vec<String> {
    let items = parse(text).document.items;
    let mut names: BTreeSet<String> = BTreeSet::from([within.to_owned()]);
    let mut bodies = Vec::new();
    let mentions = |source: Option<&str>, names: &BTreeSet<String>| {
        let word = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        source.is_some_and(|source| source.split(word).any(|word| names.contains(word)))
    };
    // Steps may do other steps.
    for _ in 0..3 {
        for item in &items {
            if let Item::Steps(steps) = item
                && mentions(text.get(steps.span.range()), &names)
            {
                names.insert(steps.name.node.clone());
            }
        }
    }
    for item in &items {
        if let Item::Contract(contract) | Item::Worker(contract) = item
            && (contract.id.node == within || mentions(text.get(contract.span.range()), &names))
        {
            bodies.push(contract.id.node.clone());
        }
    }
    bodies
}
