//! `foreign-allow`: an item is returned or written that has nothing to do with what `allow` tested.
//!
//! Follows what is *tied* to the caller: the caller's id, what the caller owns, an item with a tied value in its key or
//! equal to one, the attributes of a tied item, and an item whose attribute is the key of a tied one. Looks at
//! contracts, and through what they send at workers: a worker has no caller of its own.

mod beside;
mod beyond;
mod grant;
mod loose;
mod outlived;
mod tie;

use std::collections::HashSet;
use std::rc::Rc;

use latchkey_language::{Diagnostic, Level, Rule, Span};

use super::Report;
use super::flow::{Group, fixes, is_stored, places};
use super::truth::{Passed, plain};
use crate::model::{
    Contract, EntityId, Expr, ExprKind, FailureKind, Given, Kind, Leg, Model, OnFailure, Op,
    PutMode, StepKind, Verb, Waiver, What,
};
use crate::types::Type;
use beyond::{Sending, is_put_beyond};
use grant::is_callers;
use loose::Loose;
use outlived::{Outlived, outlived};
use tie::{is_found, tied};

/// How many ways an `allow` may name before it is not looked at.
const WAYS_MAX: usize = 16;

pub(super) fn check(model: &Model, report: &mut Report) {
    let loose = Loose::of(model);
    let none = Rc::new(loose.bare());
    let shown = shown_to_all(model, &none);
    let outlived = outlived(model, &loose);
    let more = outlived.iter().map(|it| (it.spot, it.stored));
    let later = Rc::new(loose.with(more));
    let holders: HashSet<EntityId> = outlived.iter().filter_map(|it| it.spot.entity()).collect();
    for contract in &model.contracts {
        let kinds = contract.bindings.iter().map(|binding| &binding.kind);
        let may_be_late = kinds.flat_map(Kind::entities).any(|entity| holders.contains(entity));
        for group in places(model, contract) {
            let ways = ways(&group).into_iter().flatten().collect();
            let look = Look { model, contract, group: &group, ways };
            let found = look.breaches(&loose);
            if may_be_late {
                look.later(&found, (&loose, &later), (&outlived, &shown), report);
            }
            let plain = if found.is_empty() { Vec::new() } else { look.breaches(&none) };
            for breach in found {
                if plain.iter().any(|other| other.span == breach.span) {
                    report.raise(breach.told, &breach.waivers);
                } else if !breach.shows.is_some_and(|entity| shown.contains(&entity)) {
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
        let mut found = Vec::new();
        let name = |entity: EntityId| &self.model.entities[entity].name;
        for placed in &group.legs {
            let foreign = ways.iter().any(|allowed| match touches(placed.leg) {
                true => !tied(loose, group, &placed.guards, allowed).has_leg(group, placed.leg),
                false => is_put_beyond(loose, group, placed, allowed),
            });
            if foreign {
                let what = format!("this writes a `{}`", name(placed.leg.entity));
                let span = placed.leg.span;
                found.push(Breach {
                    span,
                    shows: None,
                    told: tell(group, span, &what),
                    waivers: [&placed.step.waivers[..], &group.step.waivers[..]].concat(),
                });
            }
        }
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
        let tied: Vec<_> = ways.iter().map(|allowed| tied(loose, group, &[], allowed)).collect();
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
        found
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
    let everyone = |test: &&Expr| matches!(test.kind, ExprKind::Bool(true));
    group.way.allows.iter().all(everyone) && !is_refused_before(group)
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
    let message = format!("{what} that is not tied to what `allow` tested");
    let diagnostic = Diagnostic::new(Rule::ForeignAllow, span, message)
        .why("a caller who passes the `allow` for one thing reaches another that is not theirs")
        .help(
            "read it by a key with a part of what was tested; or compare: `require item.x == tested.x else 404 \
             not-found`",
        );
    match group.way.allows.first() {
        Some(allow) => diagnostic.other(allow.span, "tested here"),
        None => diagnostic,
    }
}

/// The ways in which every `allow` before a statement can have been passed: one side of each `or`, taken apart. `None`
/// for a way that a role opens, or everyone.
pub(super) fn ways<'a>(group: &Group<'a>) -> Vec<Option<Vec<Passed<'a>>>> {
    let mut ways: Vec<Option<Vec<Passed<'a>>>> = vec![Some(Vec::new())];
    let everyone = |test: &&&Expr| matches!(test.kind, ExprKind::Bool(true));
    let some = group.way.allows.iter().any(|test| !everyone(&test));
    // Beside another `allow`, one of everyone says nothing.
    for allow in group.way.allows.iter().filter(|test| !(some && everyone(test))) {
        let sides = sides(group, allow);
        if ways.len() * sides.len() > WAYS_MAX {
            return Vec::new();
        }
        let mut next = Vec::new();
        for way in &ways {
            next.extend(sides.iter().map(|side| {
                let (way, side) = (way.as_ref()?, side.as_ref()?);
                Some(way.iter().chain(side).copied().collect())
            }));
        }
        ways = next;
    }
    // The rule `no-allow` reports a contract without any `allow`.
    if group.way.allows.is_empty() { Vec::new() } else { ways }
}

/// The sides of a test of `or`, taken apart; `None` for one that asks for a role, and alone where one asks for nothing.
fn sides<'a>(group: &Group<'a>, test: &'a Expr) -> Vec<Option<Vec<Passed<'a>>>> {
    let mut open = vec![test];
    let mut sides = Vec::new();
    while let Some(test) = open.pop() {
        let test = plain(&group.lets, test);
        match &test.kind {
            // Everyone who got as far as here.
            ExprKind::Bool(true) => return vec![is_refused_before(group).then(Vec::new)],
            ExprKind::Binary(Op::Or, a, b) if sides.len() + open.len() < WAYS_MAX => {
                open.extend([&**b, &**a]);
            }
            _ => {
                let atoms = Passed::new(test, true).atoms(&group.lets);
                let is_role = |atom: &Passed<'_>| {
                    matches!(atom.test.kind, ExprKind::HasRole(_)) && atom.truth
                };
                sides.push((!atoms.iter().any(is_role)).then_some(atoms));
            }
        }
    }
    sides
}

/// Whether callers without an item of their own were refused. `get Member(spaceId, userId = caller.id) else 403 …` is a
/// test of rights, whatever the `allow` says. So is a read of an item with the caller's id and something else in its key
/// that must be found, whatever its status, and a write of the same transaction that insists on such an item.
fn is_refused_before(group: &Group<'_>) -> bool {
    let read = group.way.reads.iter().any(|(read, _)| {
        let forbids = read.failure.as_ref().is_some_and(OnFailure::forbids);
        let What::Get(key) = &read.what else { return false };
        let found = || read.binding.is_some_and(|item| is_found(group, &[], item));
        key.iter().any(|given| is_callers(group, &given.value))
            && (forbids || key.len() > 1 && found())
    });
    read || group.legs.iter().any(|placed| is_insisted(group, placed.leg))
}

/// Whether a leg insists on an item with the caller's id and something else in its key, and on what is in it.
fn is_insisted<'a>(group: &Group<'a>, leg: &'a Leg) -> bool {
    matches!(leg.verb, Verb::Check | Verb::Update)
        && leg.key.len() > 1
        && leg.key.iter().any(|given| is_callers(group, &given.value))
        && group.insists(leg).iter().any(|test| fixes(test).is_some())
}

/// Whether a write does more than make, count or check.
fn touches(leg: &Leg) -> bool {
    let counts = |given: &Given| match &given.value.kind {
        ExprKind::Binary(op @ (Op::Plus | Op::Minus), a, by) => {
            is_stored(a, &given.attribute)
                && (matches!(by.kind, ExprKind::Number(_)) || (*op == Op::Plus && is_gain(by)))
        }
        _ => false,
    };
    match leg.verb {
        Verb::Check => false,
        // The rule `blind-put` reports a put that does not say.
        Verb::Put => leg.put == Some(PutMode::Replace),
        Verb::Delete => true,
        Verb::Update | Verb::Upsert => {
            !leg.removes.is_empty()
                || !leg.values.iter().all(counts)
                || !leg.adds.iter().all(|given| is_gain(&given.value))
        }
    }
}

/// Whether what is added is a constant, or cannot be less than 0: to take from an item is more than to count.
fn is_gain(value: &Expr) -> bool {
    match (&value.kind, &value.of) {
        (ExprKind::Number(_), _) | (_, Kind::Unknown | Kind::Value(Type::Counter)) => true,
        (_, Kind::Value(Type::Int { low, .. })) => low.is_some_and(|low| low >= 0),
        (_, Kind::Value(Type::Number { low, .. })) => {
            low.as_ref().is_some_and(|low| !low.is_negative())
        }
        _ => false,
    }
}
