//! `foreign-allow`: an item is returned or written that has nothing to do with what `allow` tested.
//!
//! Follows what is *tied* to the caller: the caller's id, what the caller owns, an item with a tied value in its key or
//! equal to one, the attributes of a tied item, and an item whose attribute is the key of a tied one. Looks at
//! contracts, and through what they send at workers: a worker has no caller of its own.

mod beside;
mod beyond;
mod copied;
mod counted;
mod grant;
mod loose;
mod outlived;
mod tie;
mod ways;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::rc::Rc;

use latchkey_language::{Diagnostic, Level, Rule, Span};

use super::flow::{Group, Placed, fixes, groups, places};
use super::truth::Passed;
use super::{Report, each_step};
use crate::model::{
    Contract, EntityId, Expr, ExprKind, FailureKind, Kind, Leg, Model, OnFailure, Read, StepKind,
    Verb, Waiver, What,
};
use beyond::{Sending, moved};
use copied::{copied, may_copy};
use counted::{is_given_back, keeps_view, touches};
use grant::is_callers;
use loose::Loose;
use outlived::{Outlived, outlived};
use tie::{Tied, is_found, tied};
pub(super) use ways::ways;

pub(super) fn check(model: &Model, report: &mut Report) {
    let loose = Loose::of(model);
    let none = Rc::new(loose.bare());
    let shown = shown_to_all(model, &none);
    let outlived = outlived(model, &loose);
    let more = outlived.iter().map(|it| (it.spot, it.stored));
    let later = Rc::new(loose.with(more));
    let holders: HashSet<EntityId> = outlived.iter().filter_map(|it| it.spot.entity()).collect();
    let all = OnceCell::new();
    for contract in &model.contracts {
        let kinds = contract.bindings.iter().map(|binding| &binding.kind);
        let may_be_late = kinds.flat_map(Kind::entities).any(|entity| holders.contains(entity));
        let places = places(model, contract);
        if let Some(group) = places.iter().find(|group| ways(group).is_none()) {
            undecided(contract, group, report);
        }
        for group in places {
            // That there are too many has been told.
            let ways = ways(&group).unwrap_or_default();
            let look = Look { model, contract, group: &group, ways, all: &all };
            let found = look.breaches(&loose);
            if may_be_late {
                look.later(&found, (&loose, &later), (&outlived, &shown), report);
            }
            let plain = if found.is_empty() { Vec::new() } else { look.breaches(&none) };
            for breach in found {
                // What everyone may see is no secret, however it is reached.
                if breach.shows.is_some_and(|entity| shown.contains(&entity)) {
                    continue;
                }
                if plain.iter().any(|other| other.span == breach.span) {
                    report.raise(breach.told, &breach.waivers);
                } else {
                    let told = look.by_reference(breach.told, breach.span, &loose);
                    report.raise(told, &breach.waivers);
                }
            }
        }
    }
}

/// A place of a contract, and the ways to it.
struct Look<'a, 'g> {
    model: &'a Model,
    contract: &'a Contract,
    group: &'g Group<'a>,
    ways: Vec<Vec<Passed<'a>>>,
    /// Every group of writes of the document, once somebody asks.
    all: &'g OnceCell<Vec<Group<'a>>>,
}

/// Something that is reached and not tied.
struct Breach {
    span: Span,
    /// The entity of what is read alone.
    shows: Option<EntityId>,
    told: Diagnostic,
    waivers: Vec<Waiver>,
}

impl<'a> Look<'a, '_> {
    /// What is reached here and not tied, where some attributes are loose.
    fn breaches(&self, loose: &Rc<Loose<'a>>) -> Vec<Breach> {
        let (group, ways) = (self.group, &self.ways);
        let legs = group.legs.iter();
        let mut found: Vec<Breach> = legs.flat_map(|leg| self.written(loose, leg)).collect();
        for sent in &group.sends {
            let breach = ways.iter().find_map(|allowed| {
                let tied = tied(loose, group, &sent.guards, allowed);
                Sending { model: self.model, group, sent, tied }.breach()
            });
            found.extend(breach.map(|told| Breach {
                span: sent.send.span,
                shows: None,
                told,
                waivers: [&sent.step.waivers[..], &group.step.waivers[..]].concat(),
            }));
        }
        self.answered(loose, &mut found);
        found
    }

    /// What a write reaches that is not tied, and what it copies of it.
    fn written(&self, loose: &Rc<Loose<'a>>, placed: &Placed<'a>) -> Option<Breach> {
        let (group, leg) = (self.group, placed.leg);
        let moved = moved(group, placed);
        if !touches(leg) && moved.is_empty() && !may_copy(group, leg) {
            return None;
        }
        let name = |entity: EntityId| &self.model.entities[entity].name;
        let ways = self.ways.iter();
        let ties: Vec<Tied<'a>> =
            ways.map(|allowed| tied(loose, group, &placed.guards, allowed)).collect();
        let waivers = [&placed.step.waivers[..], &group.step.waivers[..]].concat();
        if touches(leg) && ties.iter().any(|tied| !self.may_write(leg, tied)) {
            let told = tell(group, leg.span, &format!("this writes a `{}`", name(leg.entity)));
            return Some(Breach { span: leg.span, shows: None, told, waivers });
        }
        let beyond =
            moved.into_iter().find(|given| ties.iter().any(|tied| !tied.has(group, &given.value)));
        if let Some(given) = beyond {
            let what = match leg.verb {
                Verb::Put => format!("this puts a `{}`", name(leg.entity)),
                _ => format!("this moves a `{}`", name(leg.entity)),
            };
            let told = tell(group, leg.span, &format!("{what} under a `{}`", given.attribute))
                .other(given.span, "any that the caller names");
            return Some(Breach { span: leg.span, shows: None, told, waivers });
        }
        let copied = ties.iter().find_map(|tied| copied(tied, group, self.contract, leg));
        copied.map(|(span, entity, attribute)| {
            let what = format!("this copies `{attribute}` of a `{}`", name(entity));
            let told = tell_of(group, span, &what)
                .why("the caller reads in the copy what the caller may not read in the item")
                .help(
                    "test the item before its value is copied: `require item.ownerId == caller.id else 404 not-found`; or \
                     leave the value out",
                );
            Breach { span, shows: Some(entity), told, waivers }
        })
    }

    /// Whether what is tied gives a right to a write, or the write needs none.
    fn may_write(&self, leg: &'a Leg, tied: &Tied<'a>) -> bool {
        let (model, group) = (self.model, self.group);
        let all = || {
            self.all.get_or_init(|| {
                model.bodies().into_iter().flat_map(|body| groups(model, body)).collect()
            })
        };
        tied.has_leg(group, leg)
            || keeps_view(group, leg)
            || leg.verb == Verb::Update && is_given_back(model, (group, all()), leg, tied)
    }

    /// What an answer shows that is not tied.
    fn answered(&self, loose: &Rc<Loose<'a>>, found: &mut Vec<Breach>) {
        let group = self.group;
        let name = |entity: EntityId| &self.model.entities[entity].name;
        let ways = self.ways.iter();
        let tied: Vec<_> = ways.map(|allowed| tied(loose, group, &[], allowed)).collect();
        let waivers = &group.step.waivers;
        if let StepKind::Return(returned) = &group.step.kind
            && let Some(binding) = returned.binding
            && let Some(entity) = self.contract.bindings[binding].kind.entities().first()
            && tied.iter().any(|tied| !tied.has_item(binding))
        {
            let what = format!("this returns a `{}`", name(*entity));
            let span = group.step.span;
            let told = tell(group, span, &what);
            found.push(Breach { span, shows: Some(*entity), told, waivers: waivers.clone() });
        }
        for value in shown(group) {
            let foreign = tied.iter().find_map(|tied| tied.foreign(group, self.contract, value));
            if let Some(entity) = foreign {
                let told = tell(group, value.span, &format!("this shows a `{}`", name(entity)));
                let (span, waivers) = (value.span, waivers.clone());
                found.push(Breach { span, shows: Some(entity), told, waivers });
            }
        }
    }

    /// Tells of what is reached by a reference that may have outlived its test.
    fn later(
        &self,
        now: &[Breach],
        (loose, later): (&Rc<Loose<'a>>, &Rc<Loose<'a>>),
        (outlived, shown): (&[Outlived<'a>], &HashSet<EntityId>),
        report: &mut Report,
    ) {
        let kinds = self.contract.bindings.iter().map(|binding| &binding.kind);
        let entities: HashSet<EntityId> = kinds.flat_map(Kind::entities).copied().collect();
        let held = |one: &&Outlived<'a>| one.spot.entity().is_some_and(|it| entities.contains(&it));
        for breach in self.breaches(later) {
            let known = now.iter().any(|other| other.span == breach.span);
            if known || breach.shows.is_some_and(|entity| shown.contains(&entity)) {
                continue;
            }
            let cause = outlived.iter().filter(held).find(|it| {
                let one = Rc::new(loose.with([(it.spot, it.stored)].into_iter()));
                self.breaches(&one).iter().any(|other| other.span == breach.span)
            });
            if let Some(cause) = cause {
                report.raise(self.too_late(breach.span, cause), &breach.waivers);
            }
        }
    }

    fn too_late(&self, span: Span, cause: &Outlived<'a>) -> Diagnostic {
        let message = "this goes by a reference that may have outlived its test";
        let mut diagnostic = Diagnostic::new(Rule::ForeignAllow, span, message)
            .other(cause.stored, "tested when it is stored here")
            .other(cause.end, "what was tested then ends here, and the reference stays")
            .why("the caller may have had the right when the reference was stored, and have lost it since")
            .help(
                "test the right again where the reference is used, as `get Member(spaceId = item.spaceId, userId = caller.id) \
                 strong else 403 not-a-member` does; or take the reference away with the right",
            );
        diagnostic.level = Level::Warning;
        match self.group.way.allows.first() {
            Some(allow) => diagnostic.other(allow.span, "all that is asked now"),
            None => diagnostic,
        }
    }

    /// Tells of something that a stored reference leads to, which a caller can point anywhere.
    fn by_reference(&self, told: Diagnostic, span: Span, loose: &Loose<'a>) -> Diagnostic {
        let kinds = self.contract.bindings.iter().map(|binding| &binding.kind);
        let entities: Vec<EntityId> = kinds.flat_map(Kind::entities).copied().collect();
        let at = loose
            .without_each(&entities)
            .into_iter()
            .find(|(_, _, rest)| self.breaches(rest).iter().all(|breach| breach.span != span));
        let told = match at {
            Some((name, at, _)) => told.other(at, format!("a caller can store any `{name}` here")),
            None => told,
        };
        told.why("the reference to it is stored by callers, and nothing tested whose it was: it gives no right").help(
            "test it before it is stored: read the item it names, and ask for its owner; or test the item here: \
             `require item.ownerId == caller.id else 404 not-found`",
        )
    }
}

/// The entities whose items some contract returns whole to everyone, whosever they are.
fn shown_to_all<'a>(model: &'a Model, none: &Rc<Loose<'a>>) -> HashSet<EntityId> {
    let mut shown = HashSet::new();
    for contract in &model.contracts {
        for group in places(model, contract) {
            if let StepKind::Return(returned) = &group.step.kind
                && let Some(binding) = returned.binding.filter(|_| returned.fields.is_empty())
                && let Kind::Item(entity) | Kind::Page(entity) = contract.bindings[binding].kind
                && is_for_all(&group)
                && !tied(none, &group, &[], &[]).has_item(binding)
            {
                shown.insert(entity);
            }
        }
    }
    shown
}

/// Whether everyone gets here: nothing was asked of the caller, and nobody was refused before.
fn is_for_all(group: &Group<'_>) -> bool {
    is_open(group) && !is_refused_before(group)
}

/// What an answer shows beside the item it returns, and what a problem shows.
fn shown<'a>(group: &Group<'a>) -> Vec<&'a Expr> {
    if let StepKind::Return(returned) = &group.step.kind {
        return returned.with.iter().map(|given| &given.value).collect();
    }
    if !group.legs.is_empty() {
        return Vec::new();
    }
    let mut shown = Vec::new();
    for failure in group.step.failures() {
        if let FailureKind::Problem { message, with, .. } = &failure.kind {
            shown.extend(message.iter().chain(with.iter().map(|given| &given.value)));
        }
    }
    shown
}

fn tell(group: &Group<'_>, span: Span, what: &str) -> Diagnostic {
    let is_enrolled = is_open(group) && refusal(group).is_some_and(|(_, alone)| alone);
    tell_of(group, span, what)
        .why("a caller who passes the `allow` for one thing reaches another that is not theirs")
        .help(match is_enrolled {
            false => {
                "read it by a key with a part of what was tested; or compare: `require item.x == tested.x else 404 \
                 not-found`"
            }
            true => {
                "read it by a key with a part of what was tested; or compare: `require item.x == tested.x else 404 \
                 not-found`; or, if whoever has such an item may reach all of these, refuse the others with another \
                 status than 403"
            }
        })
}

/// Whether no `allow` asks anything.
fn is_open(group: &Group<'_>) -> bool {
    group.way.allows.iter().all(|test| matches!(test.kind, ExprKind::Bool(true)))
}

/// The mistake, and what is taken for the test.
fn tell_of(group: &Group<'_>, span: Span, what: &str) -> Diagnostic {
    let refusal = refusal(group).filter(|_| is_open(group));
    let message = match refusal {
        Some(_) => format!("{what} that is not tied to what was tested"),
        None => format!("{what} that is not tied to what `allow` tested"),
    };
    let diagnostic = Diagnostic::new(Rule::ForeignAllow, span, message);
    match (refusal, group.way.allows.first()) {
        (Some((test, _)), _) => diagnostic
            .other(test, "taken for a test of rights: it refuses callers without such an item"),
        (None, Some(allow)) => diagnostic.other(allow.span, "tested here"),
        (None, None) => diagnostic,
    }
}

/// Tells of `allow`s that can be passed in too many ways.
fn undecided(contract: &Contract, group: &Group<'_>, report: &mut Report) {
    let Some(last) = group.way.allows.last() else { return };
    let mut waivers = Vec::new();
    each_step(&contract.steps, &mut |step| {
        if let StepKind::Allow(test) = &step.kind
            && group.way.allows.iter().any(|allow| std::ptr::eq(*allow, test))
        {
            waivers.extend(step.waivers.iter().cloned());
        }
    });
    let message = format!("callers can pass this in more than {} ways", ways::WAYS_MAX);
    let diagnostic = Diagnostic::new(Rule::ForeignAllow, last.span, message)
        .why("each side of each `or` is a way of its own: with so many, nobody sees what each caller reaches, nor does this rule or `escalation`")
        .help("ask less at once: split the contract; or store in one attribute what several tests ask");
    report.raise(diagnostic, &waivers);
}

/// Whether callers without an item of their own were refused. `get Member(spaceId, userId = caller.id) else 403 …` is a
/// test of rights, whatever the `allow` says. So is a read of an item with the caller's id and something else in its key
/// that must be found, whatever its status, and a write of the same transaction that insists on such an item.
fn is_refused_before(group: &Group<'_>) -> bool {
    refusal(group).is_some()
}

/// The read or the write that refuses callers without an item of their own, and whether the caller's id is all of that
/// item's key.
fn refusal(group: &Group<'_>) -> Option<(Span, bool)> {
    let read = group.way.reads.iter().find(|(read, _)| {
        let forbids = read.failure.as_ref().is_some_and(OnFailure::forbids);
        let What::Get(key) = &read.what else { return false };
        let found = || read.binding.is_some_and(|item| is_found(group, &[], item));
        key.iter().any(|given| is_callers(group, &given.value))
            && (forbids || key.len() > 1 && found())
    });
    let insisted = || {
        let mut legs = group.legs.iter();
        legs.find(|placed| is_insisted(group, placed.leg)).map(|placed| (placed.leg.span, false))
    };
    let alone = |read: &Read| matches!(&read.what, What::Get(key) if key.len() == 1);
    read.map(|(read, _)| (read.span, alone(read))).or_else(insisted)
}

/// Whether a leg insists on an item with the caller's id and something else in its key, and on what is in it.
fn is_insisted<'a>(group: &Group<'a>, leg: &'a Leg) -> bool {
    matches!(leg.verb, Verb::Check | Verb::Update)
        && leg.key.len() > 1
        && leg.key.iter().any(|given| is_callers(group, &given.value))
        && group.insists(leg).iter().any(|test| fixes(test).is_some())
}
