//! `uneven`: one write or send that does not do what all others like it do.
//!
//! A time that every change sets, an attribute that goes with a word, a transaction that goes with a status, a send that
//! waits for its time, what answers show and say, whom contracts admit, and the order of lists. The rule takes the others
//! for what is meant, so it tells only of a single place, and only where all others agree. Steps that are done in
//! several places are one place of the text.

mod answers;
mod reach;
mod together;

use std::collections::{BTreeMap, BTreeSet};

use latchkey_language::{Diagnostic, Rule, Span};

use super::flow::{Group, Placed, groups};
use super::truth::{Passed, each};
use super::{Report, each_send};
use crate::model::{
    Attribute, Ending, Entity, EntityId, ExprKind, FailureKind, Leg, Model, Op, QueueId, Send,
    Step, StepKind, Verb, Waiver, each_step,
};
use crate::types::Type;

pub(super) fn check(model: &Model, report: &mut Report) {
    let groups: Vec<Group<'_>> =
        model.bodies().into_iter().flat_map(|contract| groups(model, contract)).collect();
    let mut told = stamps(model, &groups, report);
    words(model, &groups, &mut told, report);
    together::check(model, &groups, report);
    sends(model, report);
    answers::check(model, report);
    reach::check(model, report);
}

/// The fewest other places that say what is meant, where one could be chance.
const FEW: usize = 2;
/// The fewest where places of different purpose are compared.
const SEVERAL: usize = 3;

/// An update, in a group.
#[derive(Clone, Copy)]
struct Site<'a, 'g> {
    leg: &'a Leg,
    group: &'g Group<'a>,
    placed: &'g Placed<'a>,
}

fn updates<'a, 'g>(groups: &'g [Group<'a>]) -> impl Iterator<Item = Site<'a, 'g>> {
    groups.iter().flat_map(|group| {
        let updates = group.legs.iter().filter(|placed| placed.leg.verb == Verb::Update);
        updates.map(move |placed| Site { leg: placed.leg, group, placed })
    })
}

/// What all but one do.
struct Odd<T> {
    /// The place that does not, as often as it is done.
    odd: Vec<T>,
    /// One that does.
    other: Span,
    /// How many do.
    count: usize,
}

/// The one place of the text that does not do what at least so many others do.
fn odd_one<T>(places: impl Iterator<Item = (Span, bool, T)>, least: usize) -> Option<Odd<T>> {
    let (mut does, mut spans, mut odd) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for (span, doing, place) in places {
        match doing {
            true => {
                does.insert(span);
            }
            false => {
                spans.insert(span);
                odd.push(place);
            }
        }
    }
    let other = does.first().copied()?;
    let alone = spans.len() == 1 && does.is_disjoint(&spans);
    (alone && does.len() >= least).then_some(Odd { odd, other, count: does.len() })
}

/// The attributes that a leg changes, the counter aside.
pub(super) fn changed<'a>(model: &'a Model, leg: &'a Leg) -> BTreeSet<&'a str> {
    let given = leg.values.iter().chain(&leg.adds).map(|given| given.attribute.as_str());
    let mut names: BTreeSet<&str> = given.chain(leg.removes.iter().map(String::as_str)).collect();
    if let Some(counter) = model.entities[leg.entity].counter() {
        names.remove(counter.name.as_str());
    }
    names
}

/// Whether all that a leg changes is counted.
fn only_counts(leg: &Leg) -> bool {
    let counted = |op: &ExprKind| matches!(op, ExprKind::Binary(Op::Plus | Op::Minus, ..));
    leg.removes.is_empty() && leg.values.iter().all(|given| counted(&given.value.kind))
}

/// Whether a leg sets an attribute to the instant of the call.
fn stamps_with<'a>(group: &Group<'a>, leg: &'a Leg, name: &str) -> Option<bool> {
    let given = leg.values.iter().find(|given| given.attribute == name)?;
    let mut now = false;
    each(&group.lets, &given.value, &mut |part| now |= matches!(part.kind, ExprKind::Now));
    Some(now && !given.maybe)
}

/// The times of a document that an item always has: by name, since one name means one thing.
fn times(model: &Model) -> BTreeSet<&str> {
    let attributes = model.entities.iter().flat_map(|entity| &entity.attributes);
    attributes.filter(|it| is_time(it)).map(|it| it.name.as_str()).collect()
}

fn is_time(attribute: &Attribute) -> bool {
    attribute.kind == Type::Time && !attribute.optional && !attribute.copied
}

/// What was told: of which leg, and of which attribute.
type Told<'a> = BTreeSet<(Span, &'a str)>;

/// A time that all other updates set to `now`.
fn stamps<'a>(model: &'a Model, groups: &[Group<'a>], report: &mut Report) -> Told<'a> {
    let mut told = Told::new();
    for name in times(model) {
        let has = |entity: &Entity| entity.attribute(name).is_some_and(is_time);
        let all: Vec<_> = updates(groups)
            .filter(|site| has(&model.entities[site.leg.entity]) && !only_counts(site.leg))
            .map(|site| (site, stamps_with(site.group, site.leg, name)))
            .collect();
        // A time that is set to anything else is no time of the last change.
        if all.iter().any(|(_, stamps)| *stamps == Some(false)) {
            continue;
        }
        let places = all.iter().map(|(site, stamps)| (site.leg.span, stamps.is_some(), *site));
        let Some(odd) = odd_one(places, FEW) else { continue };
        let Some(first) = odd.odd.first() else { continue };
        let here = changed(model, first.leg);
        let stampers = all.iter().filter(|(_, stamps)| stamps.is_some());
        let common = stampers.map(|(site, _)| changed(model, site.leg)).reduce(|a, b| &a & &b);
        let mut common = common.into_iter().flatten().filter(|other| !here.contains(other));
        if common.any(|other| other != name && speaks_of(name, other)) {
            continue;
        }
        told.insert((first.leg.span, name));
        let message = format!("this update leaves `{name}` as it was");
        let diagnostic = Diagnostic::new(Rule::Uneven, first.leg.span, message)
            .other(odd.other, "set here, as in all others")
            .why(format!(
                "all {} other updates of items with a `{name}` set it to `now`, so readers take it for the time of \
                 the last change",
                odd.count
            ))
            .help(format!("add `{name} = now` to its `set`"));
        report.raise(diagnostic, waivers(&first.placed.step.waivers, first.group.step));
    }
    told
}

/// Whether the name of a time is about an attribute, as `statusSince` is about `status`.
fn speaks_of(time: &str, attribute: &str) -> bool {
    let same = time.chars().zip(attribute.chars());
    let same = same.take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
    same >= 4 || time.to_ascii_lowercase().contains(&attribute.to_ascii_lowercase())
}

/// A time or a word that all other updates to one word set as well.
fn words<'a>(model: &'a Model, groups: &[Group<'a>], told: &mut Told<'a>, report: &mut Report) {
    let mut by_word: BTreeMap<(EntityId, &str, &str), Vec<Site<'_, '_>>> = BTreeMap::new();
    let mut last: BTreeMap<(EntityId, &str), Vec<Site<'_, '_>>> = BTreeMap::new();
    for site in updates(groups) {
        let entity = &model.entities[site.leg.entity];
        for given in &site.leg.values {
            let ExprKind::Word(word) = &given.value.kind else { continue };
            let name = given.attribute.as_str();
            by_word.entry((site.leg.entity, name, word)).or_default().push(site);
            let moves = entity.attribute(name).and_then(|attribute| attribute.moves.as_ref());
            if moves.is_some_and(|moves| moves.iter().all(|(from, _)| from != word)) {
                last.entry((site.leg.entity, name)).or_default().push(site);
            }
        }
    }
    let words = by_word
        .into_iter()
        .map(|((id, name, word), all)| (id, name, format!("that set `{name}` to {word}"), all, 1));
    let ends = last.into_iter().map(|((id, name), all)| {
        (id, name, format!("after which `{name}` never moves again"), all, SEVERAL)
    });
    for (id, name, which, all, least) in words.chain(ends) {
        let others = model.entities[id].attributes.iter().filter(|other| other.name != name);
        // Texts and numbers are details that one call has and another has not.
        let others = others.filter(|other| match other.kind {
            Type::Time => true,
            Type::Enum(_) => least == 1,
            _ => false,
        });
        for other in others {
            let places =
                all.iter().map(|site| (site.leg.span, touches(site.leg, &other.name), *site));
            let Some(odd) = odd_one(places, least) else { continue };
            let Some(first) = odd.odd.first() else { continue };
            let asked = odd.odd.iter().any(|site| asks(site, &other.name));
            if asked || !told.insert((first.leg.span, &other.name)) {
                continue;
            }
            let set = &other.name;
            let message = format!("this update leaves `{set}` as it was");
            let diagnostic = Diagnostic::new(Rule::Uneven, first.leg.span, message)
                .other(odd.other, format!("`{set}` is written here"))
                .why(format!("all other updates {which} write `{set}` too"))
                .help(format!("write `{set}` here, too; or test above what it is"));
            report.raise(diagnostic, waivers(&first.placed.step.waivers, first.group.step));
        }
    }
}

/// Whether a leg writes an attribute.
fn touches(leg: &Leg, name: &str) -> bool {
    let mut given = leg.values.iter().chain(&leg.adds);
    given.any(|given| given.attribute == name) || leg.removes.iter().any(|other| other == name)
}

/// Whether a test on the way to an update, or its own condition, asks for an attribute of the item.
fn asks<'a>(site: &Site<'a, '_>, name: &str) -> bool {
    let mut asks = false;
    let mut look = |passed: &Passed<'a>| {
        each(&site.group.lets, passed.test, &mut |part| {
            asks |= match &part.kind {
                ExprKind::Attribute(binding, read) => {
                    read == name && site.group.is_on(site.leg, *binding)
                }
                ExprKind::Stored(read) => read == name,
                _ => false,
            };
        });
    };
    site.group.known(&site.placed.guards).iter().for_each(&mut look);
    site.group.insists(site.leg).iter().for_each(&mut look);
    asks
}

/// A send that does not say when, to a queue whose worker waits for a time.
fn sends(model: &Model, report: &mut Report) {
    let mut by_queue: BTreeMap<QueueId, Vec<(&Send, &Step)>> = BTreeMap::new();
    for contract in model.bodies() {
        each_send(contract, |send, step| {
            by_queue.entry(send.queue).or_default().push((send, step));
        });
    }
    for worker in &model.workers {
        let Some(waits) = waits(&worker.body.steps) else { continue };
        let all = by_queue.get(&worker.queue).into_iter().flatten();
        let places = all.map(|it| (it.0.span, it.0.at.is_some(), *it));
        let Some(odd) = odd_one(places, 1) else { continue };
        let Some((send, step)) = odd.odd.first() else { continue };
        let message = "this message is due at once";
        let diagnostic = Diagnostic::new(Rule::Uneven, send.span, message)
            .other(odd.other, "due at a time, as all others of the queue")
            .other(waits, "its worker waits here until it is time")
            .why("it comes again and again until its time has come, and is read each time")
            .help("write `at` and the time behind it");
        report.raise(diagnostic, &step.waivers);
    }
}

/// Where a worker puts a message off by the clock.
fn waits(steps: &[Step]) -> Option<Span> {
    let mut found = None;
    each_step(steps, &mut |step| {
        let (test, later) = match &step.kind {
            StepKind::When(test, yes, _) => {
                let is_later = |step: &Step| matches!(step.kind, StepKind::End(Ending::Later));
                (test, yes.iter().any(is_later))
            }
            StepKind::Require(test, Some(failure)) => {
                (test, matches!(failure.kind, FailureKind::End(Ending::Later)))
            }
            _ => return,
        };
        let mut now = false;
        test.walk(&mut |part| now |= matches!(part.kind, ExprKind::Now));
        if later && now {
            found = found.or(Some(test.span));
        }
    });
    found
}

/// The waivers of a leg, or of the transaction around it.
fn waivers<'a>(leg: &'a [Waiver], around: &'a Step) -> &'a [Waiver] {
    let waived = leg.iter().any(|waiver| waiver.rule == Rule::Uneven);
    if waived { leg } else { &around.waivers }
}
