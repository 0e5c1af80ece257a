//! A write in the `else { … }` of another: it rests on the refusal, which is known as of then.
//!
//! A refused write is a read. It has found its condition false, or the item absent, and the conditions of the legs before
//! it true. Until the write in the `else` is made, another call may change that. It does harm if that call is bound to
//! come before the write as well: it has to do with what is written, or another that comes after it has. A leg of the
//! second transaction on the same item pins the refusal, if its condition says what the refusal has found; and so does
//! the guard of its entity.

use std::cell::OnceCell;

use latchkey_language::{Diagnostic, Rule};

use super::answer::touches;
use super::lifted::{Asked, Legs};
use super::moments::order::{Order, acts_of};
use crate::check::flow::{Group, Refusal};
use crate::model::{Contract, Expr, ExprKind, Leg, Model, PutMode, Verb};

/// All that is around the writes of a document.
pub(super) struct Around<'a> {
    model: &'a Model,
    legs: Legs<'a>,
    /// Which calls come after which, once someone asks for it.
    order: OnceCell<Order<'a>>,
}

impl<'a> Around<'a> {
    pub(super) fn new(model: &'a Model) -> Around<'a> {
        Around { model, legs: Legs::new(model), order: OnceCell::new() }
    }

    /// The first of some contracts that can come before the writes of a group, by itself or by another that comes after
    /// it, although the group is done all the same.
    fn culprit(
        &self,
        contract: &'a Contract,
        group: &Group<'a>,
        (asked, all): (&'a Leg, &[&'a Contract]),
    ) -> Option<&'a Contract> {
        let order = self.order.get_or_init(|| Order::new(self.model));
        let legs = group.legs.iter().map(|placed| placed.leg);
        let legs: Vec<&'a Leg> = legs.filter(|leg| leg.verb != Verb::Check).collect();
        let acts = acts_of(self.model, legs.iter().copied());
        let comes_before = |other: &'a Contract| {
            acts.iter().any(|(entity, acts)| {
                let spoils = legs
                    .iter()
                    .any(|leg| leg.entity == *entity && self.legs.spoils(group, leg, other));
                !spoils && order.precedes(other, (*entity, *acts))
            })
        };
        let is_last = |then: &'a Contract, _| !std::ptr::eq(then, contract) && comes_before(then);
        let alone = all.iter().find(|one| comes_before(one));
        // One that only reads both is bound between the two as well.
        let sees = |it: &'a Contract| touches(it, &[asked.entity]) && is_last(it, asked.entity);
        let reader = || self.model.bodies().into_iter().any(sees);
        let by_another = || {
            let led = all.iter().find(|one| order.leads(one, &is_last).is_some());
            led.or_else(|| all.first().filter(|_| reader()))
        };
        alone.or_else(by_another).copied()
    }
}

/// One diagnostic for each refusal that the writes of a group rest on, and that may no longer be so.
pub(super) fn tell<'a>(
    around: &Around<'a>,
    contract: &'a Contract,
    group: &Group<'a>,
) -> Vec<Diagnostic> {
    let model = around.model;
    let acts = super::acts(group);
    let Some((first, _)) = acts.first() else { return Vec::new() };
    let span = match first {
        super::Act::Write(leg) => leg.span,
        super::Act::Send(send) => send.span,
    };
    let mut told = Vec::new();
    for refusal in &group.way.refused {
        let found = lifted(around, contract, group, refusal);
        let found = found.or_else(|| broken(around, contract, group, refusal));
        let Some((culprit, leg, help)) = found else { continue };
        let entity = &model.entities[leg.entity].name;
        let who = super::answer::by(contract, culprit);
        let is_refused = std::ptr::eq(leg, refusal.leg);
        let what = if is_refused { "the refusal of" } else { "what was asked by" };
        let message = format!("this write rests on {what} another, which may no longer hold");
        let mut diagnostic = Diagnostic::new(Rule::Unpinned, span, message)
            .label("written here")
            .other(refusal.leg.span, "refused here");
        if !is_refused {
            diagnostic = diagnostic.other(leg.span, "and asked here");
        }
        told.push(
            diagnostic
                .why(format!(
                    "between the refusal and this write, {who} may write the `{entity}`, so that the first would come out \
                     otherwise"
                ))
                .help(help),
        );
    }
    told
}

/// Who may make a refused write pass, if no leg insists that it would still be refused.
fn lifted<'a>(
    around: &Around<'a>,
    contract: &'a Contract,
    group: &Group<'a>,
    refusal: &Refusal<'a>,
) -> Option<(&'a Contract, &'a Leg, String)> {
    let (leg, legs, model) = (refusal.leg, &around.legs, around.model);
    let insists = |other: &'a Leg| legs.insists_on(group, (other, &group.insists(other)), refusal);
    if is_held(group, leg, &insists) || is_guarded(model, group, refusal, leg) {
        return None;
    }
    let all = legs.lifts(group, refusal);
    let culprit = around.culprit(contract, group, (leg, &all))?;
    let entity = &model.entities[leg.entity];
    let name = &entity.name;
    let first = entity.attributes.first().map_or("", |attribute| &attribute.name);
    let help = if leg.put == Some(PutMode::IfAbsent) {
        format!("add `check {name} if .{first} is present else retry` to one transaction with this")
    } else if refusal.absent {
        format!(
            "no `check` holds that there is no `{name}`: `get` it first, and answer with `else 404 …`; or let one item \
                 that is always there say so, and `check` that"
        )
    } else {
        format!(
            "add a `check` of the `{name}` to one transaction with this, with the opposite condition, `else retry`: the \
             call then runs again, and the first write may be done"
        )
    };
    Some((culprit, leg, help))
}

/// Who may make untrue what a leg before the refused one has asked for, if nothing insists on that any more.
fn broken<'a>(
    around: &Around<'a>,
    contract: &'a Contract,
    group: &Group<'a>,
    refusal: &Refusal<'a>,
) -> Option<(&'a Contract, &'a Leg, String)> {
    let (legs, model) = (&around.legs, around.model);
    refusal.passed.iter().copied().find_map(|leg| {
        let asked = Asked::of(group, leg);
        let repeats = |other: &'a Leg| legs.repeats(group, (other, &group.insists(other)), &asked);
        if is_held(group, leg, &repeats) || is_guarded(model, group, refusal, leg) {
            return None;
        }
        let all = legs.breaks(&asked, group, true);
        let help = "repeat its condition on a leg of one transaction with this, such as a `check`";
        Some((around.culprit(contract, group, (leg, &all))?, leg, help.to_owned()))
    })
}

/// Whether a leg that happens whatever the tests around it on the same item insists on something.
fn is_held<'a>(group: &Group<'a>, first: &'a Leg, insists: &dyn Fn(&'a Leg) -> bool) -> bool {
    let mut sure = group.legs.iter().filter(|placed| placed.guards.is_empty());
    sure.any(|placed| is_same_item(group, first, placed.leg) && insists(placed.leg))
}

/// Whether two legs are on one item.
fn is_same_item<'a>(group: &Group<'a>, a: &'a Leg, b: &'a Leg) -> bool {
    if a.entity != b.entity {
        return false;
    }
    if a.target.is_some() && a.target == b.target {
        return true;
    }
    let part = |leg: &'a Leg, name: &str| -> Option<&'a Expr> {
        let given = leg.key.iter().find(|given| given.attribute == name).map(|given| &given.value);
        given.or_else(|| leg.target.and_then(|target| group.given_part(target, name)))
    };
    let names = group.model.entities[a.entity].key.attributes();
    names
        .into_iter()
        .all(|name| part(a, name).zip(part(b, name)).is_some_and(|(a, b)| group.equal(&[], a, b)))
}

/// Whether the guard of the item's entity was read before the refusal, and is unchanged in the transaction.
fn is_guarded<'a>(
    model: &'a Model,
    group: &Group<'a>,
    refusal: &Refusal<'a>,
    leg: &'a Leg,
) -> bool {
    let Some(id) = model.entities[leg.entity].guarded_by else { return false };
    let guard = &model.entities[id];
    let part = |name: &str| {
        let given = leg.key.iter().find(|given| given.attribute == name).map(|given| &given.value);
        given.or_else(|| leg.target.and_then(|target| group.given_part(target, name)))
    };
    let before = group.way.readings.iter().take(refusal.reads).map(|reading| reading.read);
    let mut bindings = before.filter(|read| read.entity == id).filter_map(|read| read.binding);
    guard.counter().is_some()
        && bindings.any(|read| {
            let own = guard.key.holes().all(|hole| {
                let (of_guard, of_item) = (group.part_as(read, hole), part(&hole.attribute));
                of_guard.zip(of_item).is_some_and(|(a, b)| group.equal_as(&[], hole, a, b))
            });
            own && group.legs.iter().any(|placed| {
                let insists = group.insists(placed.leg);
                let unchanged = |test: &crate::check::truth::Passed<'_>| {
                    matches!(test.test.kind, ExprKind::Unchanged) && test.truth
                };
                placed.guards.is_empty()
                    && placed.leg.target == Some(read)
                    && insists.iter().any(unchanged)
            })
        })
}
