//! `tally`: numbers that count the items of another entity by their status, and a change of status that they miss.
//!
//! An entity keeps a *tally* of an enum if it has numbers named as words of the enum, counts one of them down somewhere,
//! and is written beside the items somewhere. Where the word that an item leaves or gets is not known, nothing is told
//! of it. The statements of `steps` are told only if they are wrong wherever they are done. A number that holds a limit
//! is looked at by `limit`, whatever its name.

mod kept;
mod limit;

use std::collections::BTreeMap;

use latchkey_language::{Diagnostic, Rule, Span};

use super::Report;
use super::flow::{Group, Placed};
use super::illegal_move::is_possible;
use super::truth::{Passed, each, plain};
use super::writes::Writes;
use crate::model::{ExprKind, Leg, Model, PutMode, Verb, Waiver};
use kept::{Kept, change, kept};

/// What comes of a place in the text, wherever it is done: the write of an item, and that of the tally if there is one.
type Outcomes<'a> = BTreeMap<(Span, Option<Span>), (&'a [Waiver], Vec<Option<Diagnostic>>)>;

pub(super) fn check(model: &Model, report: &mut Report) {
    let writes = Writes::new(model);
    let mut outcomes = Outcomes::new();
    let all: Vec<&Group<'_>> = writes.all().iter().map(|(_, group)| group).collect();
    let kept = kept(model, &all);
    for kept in &kept {
        for group in &all {
            for at in 0..group.legs.len() {
                look(group, kept, at, &mut outcomes);
            }
        }
    }
    for (diagnostic, waivers) in limit::tell(model, &writes, &kept) {
        report.raise(diagnostic, waivers);
    }
    for (waivers, found) in outcomes.into_values() {
        let all: Option<Vec<Diagnostic>> = found.into_iter().collect();
        if let Some(first) = all.and_then(|all| all.into_iter().next()) {
            report.raise(first, waivers);
        }
    }
}

/// What a write does to the status of an item.
struct Moved<'a, 'g> {
    group: &'g Group<'a>,
    kept: &'g Kept<'a>,
    placed: &'g Placed<'a>,
    /// Its place among the legs.
    at: usize,
    /// The word that the item gets; `None` where the item goes.
    to: Option<&'a str>,
}

/// Looks at one leg of a transaction, and at what the tally makes of it.
fn look<'a>(group: &Group<'a>, kept: &Kept<'a>, at: usize, outcomes: &mut Outcomes<'a>) {
    let Some(placed) = group.legs.get(at) else { return };
    let Some(to) = change(group, kept, placed.leg) else { return };
    let alone = group.legs.iter().enumerate().all(|(other, others)| {
        other == at || !kept.touches(others.leg) || exclude(&placed.guards, &others.guards)
    });
    // Of several items at once nobody knows which number is for which.
    if !alone || placed.leg.put == Some(PutMode::Replace) {
        return;
    }
    let moved = Moved { group, kept, placed, at, to };
    let counts: Vec<(usize, &Placed<'a>)> = group
        .legs
        .iter()
        .enumerate()
        .filter(|(_, other)| kept.counts(other.leg) && !exclude(&placed.guards, &other.guards))
        .collect();
    let is_undecided = counts.iter().any(|(place, count)| {
        let rivals = counts.iter().filter(|(_, other)| !exclude(&count.guards, &other.guards));
        moved.is_open(*place, count) || rivals.count() > 1
    });
    let (is_new, before) = (placed.leg.verb == Verb::Put, moved.before(&[]));
    // A write that no way leads to moves nothing.
    if is_undecided || before.is_empty() && !is_new {
        return;
    }
    let mut missed = before.clone();
    for (_, count) in &counts {
        let within = moved.before(&count.guards);
        if within.is_empty() && !is_new {
            continue;
        }
        missed.retain(|word| !within.contains(word));
        let wrong = moved.wrong(&within, count.leg);
        let key = (placed.leg.span, Some(count.leg.span));
        let outcome = outcomes.entry(key).or_insert((&count.step.waivers, Vec::new()));
        outcome.1.push(wrong.map(|span| moved.tell(span, &within, true)));
    }
    let is_missed = if is_new { counts.is_empty() } else { !missed.is_empty() };
    let matters = moved.expected(&missed).iter().any(|(_, by)| by.is_some_and(|by| by != 0));
    let outcome = (is_missed && matters).then(|| moved.tell(placed.leg.span, &missed, false));
    let key = (placed.leg.span, None);
    outcomes.entry(key).or_insert((&placed.step.waivers, Vec::new())).1.push(outcome);
}

/// Whether two writes never happen together.
fn exclude(some: &[Passed<'_>], others: &[Passed<'_>]) -> bool {
    some.iter().any(|one| {
        let mut same = others.iter().filter(|other| std::ptr::eq(one.test, other.test));
        same.any(|other| one.truth != other.truth)
    })
}

impl<'a> Moved<'a, '_> {
    /// The words that the item can have before, where something stands within further tests. None where it is new.
    fn before(&self, guards: &[Passed<'a>]) -> Vec<&'a str> {
        if self.placed.leg.verb == Verb::Put {
            return Vec::new();
        }
        let guards = self.placed.guards.iter().chain(guards).copied().collect();
        let (leg, step) = (self.placed.leg, self.placed.step);
        let placed = Placed { leg, step, guards, each: self.placed.each };
        let given = leg.values.iter().find(|given| given.attribute == self.kept.attribute.name);
        let value = given.map(|given| &given.value);
        let moves = self.kept.attribute.moves.as_deref().unwrap_or_default();
        let to = self.to.unwrap_or_default();
        let words = self.kept.all.iter().map(String::as_str);
        let attribute = (self.kept.attribute, moves);
        words
            .filter(|from| is_possible(self.group, &placed, attribute, (from, to), value))
            .collect()
    }

    /// Whether a write of the tally stands within a test of what the item has become.
    fn is_open(&self, place: usize, count: &Placed<'a>) -> bool {
        let item = [self.placed.leg.target, self.placed.leg.result];
        let mut found = false;
        for guard in count.guards.iter().filter(|_| place > self.at) {
            each(&self.group.lets, guard.test, &mut |part| {
                if let ExprKind::Attribute(binding, _) | ExprKind::Binding(binding) = &part.kind {
                    found |= item.contains(&Some(*binding));
                }
            });
        }
        found
    }

    /// By how much each number of the tally must change; `None` where that depends.
    fn expected(&self, before: &[&'a str]) -> Vec<(&'a str, Option<i64>)> {
        let by = |word: &str| match (before.contains(&word), self.to == Some(word)) {
            (false, false) => Some(0),
            (false, true) => Some(1),
            (true, false) if before.len() == 1 => Some(-1),
            (true, _) => None,
        };
        self.kept.words.iter().map(|word| (*word, by(word))).collect()
    }

    /// Where a write changes a number by another amount than it must.
    fn wrong(&self, before: &[&'a str], leg: &'a Leg) -> Option<Span> {
        let expected = self.expected(before);
        let wrong = expected.into_iter().find(|(word, by)| {
            let found = self.changes_by(leg, word);
            by.zip(found).is_some_and(|(by, found)| by != found)
        });
        wrong.map(|(word, _)| {
            let mut given = leg.adds.iter().chain(&leg.values);
            given.find(|given| given.attribute == word).map_or(leg.span, |given| given.span)
        })
    }

    /// By how much a write changes a number, if that is a constant.
    fn changes_by(&self, leg: &'a Leg, word: &str) -> Option<i64> {
        if let Some(given) = leg.adds.iter().find(|given| given.attribute == word) {
            return kept::constant(plain(&self.group.lets, &given.value));
        }
        match leg.values.iter().find(|given| given.attribute == word) {
            Some(given) => kept::difference(plain(&self.group.lets, &given.value), word),
            None => Some(0),
        }
    }

    fn tell(&self, span: Span, before: &[&'a str], is_counted: bool) -> Diagnostic {
        let (tally, item) = (&self.kept.tally.name, &self.kept.item.name);
        let name = &self.kept.attribute.name;
        let what = match (self.placed.leg.verb, self.to, before) {
            (Verb::Put, Some(to), _) => format!("a new `{item}` that is {to}"),
            (Verb::Delete, _, [from]) => format!("a `{item}` that goes and was {from}"),
            (_, Some(to), [from]) => format!("a move of `{name}` from {from} to {to}"),
            (_, Some(to), _) => format!("a move of `{name}` to {to}"),
            (_, None, _) => format!("a `{item}` that goes"),
        };
        let message = match is_counted {
            true => format!("`{tally}` does not count {what} as one"),
            false => format!("`{tally}` does not count {what}"),
        };
        let mut adds = self.expected(before);
        adds.sort_by_key(|(_, by)| std::cmp::Reverse(*by));
        let adds = adds
            .into_iter()
            .filter_map(|(word, by)| by.filter(|by| *by != 0).map(|by| format!("{word} = {by}")));
        let adds = adds.collect::<Vec<_>>().join(", ");
        let help = match is_counted {
            true => format!("write `add {adds}`"),
            false => format!("`upsert {tally}` in the same transaction, with `add {adds}`"),
        };
        let why = format!(
            "each number is how many items of `{item}` have that `{name}`, and from then on it is not"
        );
        let mut diagnostic = Diagnostic::new(Rule::Tally, span, message).why(why).help(help);
        if is_counted {
            diagnostic = diagnostic.other(self.placed.leg.span, "this is counted");
        }
        diagnostic
    }
}
