//! The result, for people and for programs.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use latchkey_runtime::draw::{self, Draw};
use latchkey_table::Text;
use serde_json::{Value as Json, json};

use super::records::Place;
use super::rule::{Decided, Judged, Rule};
use crate::transfer::meter::grouped;
use crate::wide;

/// How many wrong outcomes are shown; all are counted.
const SHOWN_MAX: usize = 20;

/// How many different values of undecided records are listed; all records are counted.
const VALUES_MAX: usize = 20;

/// How much of a subject or a value is shown, in characters.
const CHARACTERS_MAX: usize = 120;

/// How many decimals of a draw people see. No two draws share twenty.
const PLACES: usize = 20;

/// The result so far. It grows by about forty bytes for each outcome.
#[derive(Debug, Default)]
pub(super) struct Report {
    won: u64,
    lost: u64,
    /// Undecided records, by their value.
    undecided: BTreeMap<Option<Text>, u64>,
    /// Undecided records with a value that is not listed.
    undecided_otherwise: u64,
    passed_over: u64,
    /// The first outcome of each subject, by its draw. Two subjects share a draw with a probability of 1 in 2^64.
    seen: HashMap<Draw, bool>,
    /// Repeated outcomes: the subject had the same one before.
    repeated: u64,
    /// Contradictions: the subject had another outcome before. One of the two is wrong.
    contradicting: u64,
    wrong: u64,
    /// The first wrong outcomes.
    shown: Vec<(Place, Decided)>,
    /// The last page says that there are more.
    pub(super) more: bool,
}

impl Report {
    pub(super) fn add(&mut self, place: Place, judged: Judged) {
        match judged {
            Judged::Other => self.passed_over += 1,
            Judged::Undecided(value) => {
                let known = self.undecided.contains_key(&value);
                if known || self.undecided.len() < VALUES_MAX {
                    *self.undecided.entry(value).or_default() += 1;
                } else {
                    self.undecided_otherwise += 1;
                }
            }
            Judged::Decided(decided) => self.decided(place, decided),
        }
    }

    fn decided(&mut self, place: Place, decided: Decided) {
        match self.seen.insert(decided.draw, decided.won) {
            None => {}
            Some(before) if before == decided.won => self.repeated += 1,
            Some(_) => self.contradicting += 1,
        }
        match (decided.won == decided.wins, decided.won) {
            (true, true) => self.won += 1,
            (true, false) => self.lost += 1,
            (false, _) => {
                self.wrong += 1;
                if self.shown.len() < SHOWN_MAX {
                    self.shown.push((place, decided));
                }
            }
        }
    }

    /// Whether there was any outcome.
    pub(super) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Whether every outcome follows.
    pub(super) fn follows(&self) -> bool {
        self.wrong == 0
    }

    fn undecided(&self) -> u64 {
        self.undecided.values().sum::<u64>().saturating_add(self.undecided_otherwise)
    }

    /// Why there is no verdict.
    pub(super) fn nothing(&self, shown: &str, rule: &Rule) -> String {
        format!(
            "there is no outcome in {shown}: {} records are others, {} are undecided{}; look at the names in --subject, --where, --won and --lost",
            grouped(self.passed_over),
            grouped(self.undecided()),
            self.values(rule)
        )
    }

    /// The values of undecided records, in words.
    fn values(&self, rule: &Rule) -> String {
        let outcome = visible(&rule.outcome);
        let mut words: Vec<String> = self
            .undecided
            .iter()
            .map(|(value, count)| match value {
                None => format!("{} without `{outcome}`", grouped(*count)),
                Some(value) => format!("{} `{}`", grouped(*count), visible(value)),
            })
            .collect();
        if self.undecided_otherwise > 0 {
            words.push(format!("{} with others", grouped(self.undecided_otherwise)));
        }
        if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
    }

    /// For people.
    pub(super) fn words(&self, rule: &Rule) -> String {
        let mut out = String::new();
        let mut say = |line: String| {
            // Writing to a string does not fail.
            let _ = writeln!(out, "{line}");
        };
        say(match rule.key_matches() {
            Some(_) => "the key is the one that was committed to".to_owned(),
            None => "no commitment was given: the key may be newer than the outcomes".to_owned(),
        });
        let (won, lost) = (grouped(self.won), grouped(self.lost));
        let follow = grouped(self.won.saturating_add(self.lost));
        let every = if self.follows() { ", all there are" } else { "" };
        say(format!("outcomes that follow: {follow}{every}: {won} won, {lost} lost"));
        if self.wrong > 0 {
            say(format!("outcomes that do not follow: {}", grouped(self.wrong)));
        }
        for (place, decided) in &self.shown {
            say(wrong(*place, decided, rule));
        }
        if self.wrong > wide(self.shown.len()) {
            say(format!("  …, the first {SHOWN_MAX} are shown"));
        }
        if self.contradicting > 0 {
            let count = grouped(self.contradicting);
            say(format!("outcomes of a subject that had the other before: {count}"));
        }
        if self.repeated > 0 {
            let count = grouped(self.repeated);
            say(format!("outcomes of a subject that had the same before: {count}"));
        }
        if self.undecided() > 0 {
            say(format!("undecided: {}{}", grouped(self.undecided()), self.values(rule)));
        }
        if self.passed_over > 0 {
            say(format!("other records, passed over: {}", grouped(self.passed_over)));
        }
        if self.more {
            say("the last page has a `nextCursor`: there are more than these".to_owned());
        }
        out
    }

    /// For programs.
    pub(super) fn json(&self, rule: &Rule) -> Json {
        let shown = self.shown.iter().map(|(place, decided)| {
            json!({
                "line": place.line,
                "item": place.item,
                "subject": decided.subject.as_str(),
                "draw": decided.draw.to_string(),
                "is": rule.word(decided.won).as_str(),
                "shouldBe": rule.word(decided.wins).as_str(),
            })
        });
        let values = self.undecided.iter().map(
            |(value, count)| json!({ "value": value.as_ref().map(Text::as_str), "count": count }),
        );
        json!({
            "follows": self.follows(),
            "keyMatchesCommitment": rule.key_matches(),
            "rate": rule.rate.to_string(),
            "won": self.won,
            "lost": self.lost,
            "wrong": { "count": self.wrong, "first": shown.collect::<Vec<_>>() },
            "contradicting": self.contradicting,
            "repeated": self.repeated,
            "undecided": { "count": self.undecided(), "values": values.collect::<Vec<_>>() },
            "passedOver": self.passed_over,
            "more": self.more,
        })
    }
}

fn wrong(place: Place, decided: &Decided, rule: &Rule) -> String {
    let Decided { subject, draw, won, wins } = decided;
    let below = if *wins { "below" } else { "not below" };
    format!(
        "  {place}: `{}` draws {draw:.PLACES$}, {below} {}: it should be `{}`, and is `{}`",
        visible(subject),
        rule.rate,
        visible(rule.word(*wins)),
        visible(rule.word(*won))
    )
}

/// Says that the key does not match the commitment, for people or for programs.
pub(super) fn other_key(rule: &Rule, as_json: bool) -> String {
    let (own, given) = (draw::commitment(&rule.key), rule.commitment.as_deref().unwrap_or(""));
    if as_json {
        let found = json!({
            "follows": false,
            "keyMatchesCommitment": false,
            "commitmentOfKey": own.as_str(),
        });
        return format!("{found:#}\n");
    }
    format!(
        "the key is not the one that was committed to, and no outcome was looked at\n  its SHA-256 is {own}\n  the commitment is {given}\n"
    )
}

/// A text from the file, safe to print: without line ends and control characters, and cut if it is long.
fn visible(text: &str) -> String {
    let mut characters = text.chars();
    let mut shown: String =
        characters.by_ref().take(CHARACTERS_MAX).flat_map(char::escape_debug).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}
