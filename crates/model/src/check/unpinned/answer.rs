//! `stale-answer`: an answer that no order of the calls would give, although every write is in order.
//!
//! Four mistakes lead there. An answer shows something that was read before a write, and the write does not pin it. A
//! `delete` removes an item that was found before, and does not insist that the item is still there. A leg answers
//! before the leg that notices that the decision is out of date. A leg answers a lost race with a reason of its own.
//! `moments` has the answers that rest on reads of two moments.

use std::cell::OnceCell;

use latchkey_language::{Diagnostic, Rule, Span};

use super::moments::order::{Order, acts_of};
use super::pin::{Pin, held, leg_pins, needs_item, pin};
use super::shown::{Shown, asked_facts, decided_facts, left, named_facts, shown_facts};
use super::story::named;
use super::{
    Act, Changes, Fact, Report, Use, acts, bounds, culprits, lost, moments, uses, waivers,
};
use crate::check::each_leg;
use crate::check::flow::{Group, Placed, groups, places};
use crate::model::{
    BindingId, Contract, Ending, EntityId, Expr, ExprKind, FailureKind, Kind, Leg, Model, PutMode,
    Return, StepKind, Strong, Trigger, Verb, What,
};

pub(in crate::check) fn check(model: &Model, report: &mut Report) {
    let changes = Changes::new(model);
    lost::check(model, &changes, report);
    moments::check(model, &changes, report);
    let around = Around { model, changes: &changes, order: OnceCell::new() };
    let is_answered = |contract: &&Contract| contract.trigger == Trigger::Request;
    for contract in model.bodies().into_iter().filter(|contract| !is_answered(contract)) {
        for group in groups(model, contract) {
            if let Some(told) = around.hasty(contract, &group) {
                report.raise(told, &group.step.waivers);
            }
        }
    }
    for contract in &model.contracts {
        let writes = groups(model, contract);
        let mut removed = Vec::new();
        for group in &writes {
            let deleted = removed_twice(model, contract, group);
            removed.extend(deleted.iter().map(|(binding, _)| *binding));
            let hasty = around.hasty(contract, group);
            for told in deleted.map(|(_, told)| told).into_iter().chain(hasty) {
                report.raise(told, &group.step.waivers);
            }
        }
        for group in places(model, contract) {
            if let StepKind::Return(answer) = &group.step.kind
                && let Some(told) = around.shown(contract, (&writes, &removed), &group, answer)
            {
                report.raise(told, &group.step.waivers);
            }
        }
    }
}

/// What is around all contracts.
struct Around<'a, 'c> {
    model: &'a Model,
    changes: &'c Changes<'a>,
    /// Which calls come after which, once someone asks for it.
    order: OnceCell<Order<'a>>,
}

impl<'a> Around<'a, '_> {
    /// An answer with something that was read before a write which does not pin it.
    fn shown(
        &self,
        contract: &'a Contract,
        (writes, removed): (&[Group<'a>], &[BindingId]),
        group: &Group<'a>,
        answer: &'a Return,
    ) -> Option<Diagnostic> {
        if let Some(told) = collection(contract, group, answer) {
            return Some(told);
        }
        let facts = shown_facts(self.model, contract, group, answer).into_iter();
        let facts = facts.chain(asked_facts(contract, group, answer));
        let last = group.way.written.len();
        let facts = facts.map(|used| Shown { used, tested: None, by: last });
        let named = answer.with.iter().flat_map(|given| named_facts(group, &given.value, None));
        for Shown { used, tested, by } in facts.chain(named).chain(decided_facts(group)) {
            let binding = used.fact.binding();
            // That mistake has been told.
            if removed.contains(&binding) {
                continue;
            }
            let place = group.way.reads.iter().find(|(read, _)| read.binding == Some(binding));
            let Some((read, before)) = place else { continue };
            // What was tested before the write is what the write rests on.
            if tested.is_some_and(|after| after <= *before) {
                continue;
            }
            // Which items an eventual read finds may be of any moment.
            let eventual = matches!(read.strong, Strong::No);
            let is_attribute = matches!(used.fact, Fact::Attribute(..));
            let of_batch = matches!(read.what, What::Batch(_));
            if (eventual && !is_attribute) || (is_attribute && of_batch) {
                continue;
            }
            if group.way.written.iter().take(by).skip(*before).any(|leg| left(writes, leg, &used)) {
                continue;
            }
            let follows = |write: &&Group<'a>| {
                let happened =
                    |leg: &Leg| group.way.written.iter().any(|it| std::ptr::eq(*it, leg));
                write.way.written.len() == *before
                    && write.read_of(binding).is_some_and(|(_, other)| std::ptr::eq(other, *read))
                    && write.legs.iter().any(|placed| happened(placed.leg))
            };
            for write in writes.iter().filter(follows) {
                if let Some(chain) = self.overtakes(contract, write, &used.fact)
                    && held(self.model, contract, write, &[], &used) == Pin::Nothing
                    && !self.is_unpinned(contract, write, binding)
                {
                    return Some(old(
                        contract,
                        (&used, tested.is_some()),
                        read.span,
                        write,
                        &chain,
                    ));
                }
            }
        }
        None
    }

    /// Whether `unpinned` tells of a write for what it takes from an item: the mistake is told once, and the condition
    /// that mends it looks at the item again.
    fn is_unpinned(&self, contract: &'a Contract, write: &Group<'a>, binding: BindingId) -> bool {
        let waived = waivers(contract, write, binding).iter().any(|one| one.rule == Rule::Unpinned);
        !waived
            && acts(write).into_iter().any(|site| {
                let facts = uses(self.model, contract, write, site).into_iter();
                let mut own = facts.filter(|used| used.fact.binding() == binding);
                own.any(|used| {
                    pin(self.model, contract, write, site, &used) == Pin::Nothing
                        && !culprits(self.model, contract, self.changes, &used.fact).is_empty()
                })
            })
    }

    /// Who can make a fact untrue and still come before some writes: one that has to do with the entities that are
    /// written, or several, each of which comes after the one before it, and the last has.
    fn overtakes(
        &self,
        contract: &'a Contract,
        write: &Group<'a>,
        fact: &Fact<'a>,
    ) -> Option<Vec<&'a Contract>> {
        let legs = write.legs.iter().map(|placed| placed.leg);
        let made: Vec<&Leg> = legs.filter(|leg| leg.verb != Verb::Check).collect();
        let wrote: Vec<EntityId> = made.iter().map(|leg| leg.entity).collect();
        let culprits = culprits(self.model, contract, self.changes, fact);
        if let Some(one) = culprits.iter().find(|other| touches(other, &wrote)) {
            return Some(vec![one]);
        }
        let order = self.order.get_or_init(|| Order::new(self.model));
        let acts = acts_of(self.model, made.into_iter());
        let is_last = |then: &'a Contract, _| {
            !std::ptr::eq(then, contract)
                && acts.iter().any(|(entity, acts)| order.precedes(then, (*entity, *acts)))
        };
        let mut chains = culprits.iter().filter_map(|one| order.leads(one, &is_last));
        chains.find(|chain| !chain.iter().any(|one| std::ptr::eq(*one, contract)))
    }

    /// A leg that answers before the leg that notices that the decision is out of date.
    fn hasty(&self, contract: &'a Contract, group: &Group<'a>) -> Option<Diagnostic> {
        for (at, early) in group.legs.iter().enumerate() {
            let answers = early.step.failures().any(|failure| match &failure.kind {
                FailureKind::Problem { .. } => true,
                // A message that is done is not looked at again.
                FailureKind::End(ending) => matches!(ending, Ending::Done),
                FailureKind::Retry | FailureKind::Steps(_) => false,
            });
            let made_new =
                early.leg.key.iter().any(|given| matches!(given.value.kind, ExprKind::New(_)));
            let answers = answers || bounds::may_leave(self.model, group, early.leg);
            if !answers || made_new {
                continue;
            }
            let facts = uses(self.model, contract, group, (Act::Write(early.leg), &early.guards));
            let pins = |placed: &Placed<'a>, used: &Use<'a>| {
                group.is_on(placed.leg, used.fact.binding())
                    && leg_pins(self.model, group, &placed.guards, placed.leg, used)
            };
            for used in &facts {
                let (before, after) = group.legs.split_at(at);
                let Some((_, after)) = after.split_first() else { continue };
                if before.iter().chain([early]).any(|placed| pins(placed, used)) {
                    continue;
                }
                let Some(late) = after.iter().find(|placed| pins(placed, used)) else { continue };
                if let Some(chain) = self.outdates(contract, early.leg, &used.fact) {
                    return Some(out_of_order(contract, early.leg, late.leg, used.span, &chain));
                }
            }
        }
        None
    }

    /// Who can change a decision and write what is written first: one, or several, each of which comes after the one
    /// before it. Another call of the contract itself is bound to the same decision.
    fn outdates(
        &self,
        contract: &'a Contract,
        early: &'a Leg,
        fact: &Fact<'a>,
    ) -> Option<Vec<&'a Contract>> {
        let others = culprits(self.model, contract, self.changes, fact);
        if let Some(one) = others.iter().find(|other| writes(other, early.entity)) {
            return Some(vec![one]);
        }
        let order = self.order.get_or_init(|| Order::new(self.model));
        // What makes items only is refused where one is made, and not where one is removed.
        let makes = early.put == Some(PutMode::IfAbsent);
        let is_last = |then: &'a Contract, _| {
            let mut found = false;
            each_leg(then, |leg, _| {
                let refuses = leg.verb != Verb::Check && !(makes && leg.verb == Verb::Delete);
                found |= leg.entity == early.entity && refuses;
            });
            found && !std::ptr::eq(then, contract)
        };
        let mut chains = others.iter().filter_map(|one| order.leads(one, &is_last));
        chains.find(|chain| !chain.iter().any(|one| std::ptr::eq(*one, contract)))
    }
}

/// What is told of an answer that shows something as it was before other calls.
fn old(
    contract: &Contract,
    (used, decides): (&Use<'_>, bool),
    read: Span,
    write: &Group<'_>,
    chain: &[&Contract],
) -> Diagnostic {
    let shown = named(&contract.bindings[used.fact.binding()].name, &used.fact);
    let what = match &used.fact {
        Fact::Attribute(_, name) => format!("`{name}`"),
        Fact::There(_) | Fact::NotThere(_) | Fact::Items(..) => "that".to_owned(),
    };
    let names: Vec<String> = chain.iter().map(|one| by(contract, one)).collect();
    let who = names.first().map_or("", String::as_str);
    let then = match names.get(1..) {
        Some(rest) if !rest.is_empty() => {
            format!(", and behind it may come {}, which goes by that", rest.join(", then "))
        }
        _ => String::new(),
    };
    let message = match decides {
        true => format!("which answer is given may rest on {shown} as it was before another call"),
        false => format!("this answer may show {shown} as it was before another call"),
    };
    let out = if decides {
        "read it behind the write".to_owned()
    } else {
        format!("leave {what} out of the answer")
    };
    let shows = if decides { "answer goes by" } else { "answer shows" };
    Diagnostic::new(Rule::StaleAnswer, used.span, message)
        .other(read, "read here")
        .other(begin(write), "and not looked at again when this is written")
        .why(format!(
            "between the read and the write, {who} may change {what}{then}: the {shows} the old value, though the write \
             came later"
        ))
        .help(match &used.fact {
            Fact::Attribute(..) => format!(
                "write `if unchanged else retry` where the item is written, add a `check` of it to the transaction, or \
                 {out}"
            ),
            Fact::There(_) | Fact::NotThere(_) => "add a `check` of it to the transaction, with `else retry`, or leave it \
                                                   out of the answer"
                .to_owned(),
            Fact::Items(..) => "read it behind the write, pin it by a guard that is `unchanged` in the transaction, or leave \
                                it out of the answer"
                .to_owned(),
        })
}

/// An answer with all that a query of several entities found before a write.
fn collection(contract: &Contract, group: &Group<'_>, answer: &Return) -> Option<Diagnostic> {
    let binding = answer.binding?;
    let of_several = matches!(contract.bindings[binding].kind, Kind::Collection(_));
    let mut reads = group.way.reads.iter().filter(|_| of_several);
    let (read, before) = reads.find(|(read, _)| read.binding == Some(binding))?;
    let written = group.way.written.iter().skip(*before).find(|leg| leg.verb != Verb::Check)?;
    let message = "this answer shows items as they were before a write";
    let diagnostic = Diagnostic::new(Rule::StaleAnswer, group.step.span, message)
        .other(read.span, "read here")
        .other(written.span, "and written since")
        .why("the answer has neither what this call wrote nor what others wrote in between");
    Some(diagnostic.help("return what was written, and let the caller read the list again"))
}

/// Whether a contract reads or writes items of one of some entities.
pub(super) fn touches(contract: &Contract, entities: &[EntityId]) -> bool {
    let mut found = false;
    super::each_step(&contract.steps, &mut |step| {
        found |= match &step.kind {
            StepKind::Read(read) => read.entities().any(|entity| entities.contains(&entity)),
            StepKind::Write(leg) => entities.contains(&leg.entity),
            _ => false,
        };
    });
    found
}

/// A `delete` after which two calls are both told that they removed the item.
fn removed_twice<'a>(
    model: &'a Model,
    contract: &'a Contract,
    group: &Group<'a>,
) -> Option<(BindingId, Diagnostic)> {
    // A condition that holds of a missing item does not tell the two calls apart.
    let insists = |placed: &Placed<'a>| {
        let Leg { absent, put, .. } = placed.leg;
        let needs = || group.insists(placed.leg).iter().any(needs_item);
        absent.is_some() || *put == Some(PutMode::IfAbsent) || needs()
    };
    if group.legs.iter().any(insists) {
        return None;
    }
    let mut found = group.way.found.iter().filter(|(_, there, _)| *there);
    found.find_map(|(binding, _, span)| {
        let on_it = |placed: &&Placed<'a>| {
            placed.leg.verb == Verb::Delete && group.is_on(placed.leg, *binding)
        };
        let leg = group.legs.iter().find(on_it)?.leg;
        let used = Use::new(Fact::There(*binding), *span, None);
        if held(model, contract, group, &[], &used) != Pin::Nothing {
            return None;
        }
        let entity = &model.entities[leg.entity];
        let (name, attribute) = (&entity.name, entity.key.attributes().into_iter().next()?);
        let message = format!("two calls may both be told that they removed one `{name}`");
        let told =
            Diagnostic::new(Rule::StaleAnswer, leg.span, message)
                .other(*span, "the item is found here")
                .why("the `delete` succeeds even if the item is gone by then, so only the read tells the two apart")
                .help(format!("write `if .{attribute} is present else …`, or `if unchanged else retry` for an entity with a counter"));
        Some((*binding, told))
    })
}

fn out_of_order(
    contract: &Contract,
    early: &Leg,
    late: &Leg,
    decided: Span,
    chain: &[&Contract],
) -> Diagnostic {
    let names: Vec<String> = chain.iter().map(|one| by(contract, one)).collect();
    let message = "this write answers before the write that notices an outdated decision";
    Diagnostic::new(Rule::StaleAnswer, early.span, message)
        .other(decided, "decided here")
        .other(late.span, "whether that still holds is looked at here")
        .why(format!(
            "if {} comes in between and both writes are refused, the first decides the answer, and the call does not \
             decide again",
            names.join(", and then ")
        ))
        .help(match renamed(early, late) {
            None => "move the second write before this one: the first that is refused decides the answer".to_owned(),
            Some(name) => format!(
                "write `else retry` here, so that the call decides again; or move the second write before this one, and \
                 name `{name}` above the transaction: behind the second write it is the new value"
            ),
        })
}

/// An attribute that one leg uses, and that another writes: where they change places, it is another value.
fn renamed(early: &Leg, late: &Leg) -> Option<String> {
    let (item, mut found) = (late.target?, None);
    let mut look = |expr: &Expr| {
        expr.walk(&mut |part| {
            if let ExprKind::Attribute(of, name) = &part.kind
                && *of == item
                && writes_to(late, name)
            {
                found = found.take().or(Some(name.clone()));
            }
        });
    };
    let given = early.key.iter().chain(&early.values).chain(&early.adds);
    given.map(|given| &given.value).chain(&early.condition).for_each(&mut look);
    found
}

fn writes_to(leg: &Leg, name: &str) -> bool {
    let given = leg.values.iter().chain(&leg.adds).map(|given| given.attribute.as_str());
    given.chain(leg.removes.iter().map(String::as_str)).any(|other| other == name)
}

/// Whether a contract writes items of an entity.
fn writes(contract: &Contract, entity: EntityId) -> bool {
    let mut found = false;
    each_leg(contract, |leg, _| found |= leg.entity == entity && leg.verb != Verb::Check);
    found
}

/// A contract in words.
pub(super) fn by(contract: &Contract, other: &Contract) -> String {
    match other.id == contract.id {
        true => "another call of this contract".to_owned(),
        false => format!("`{}`", other.id),
    }
}

/// The word with which writes begin.
fn begin(group: &Group<'_>) -> Span {
    match &group.step.kind {
        StepKind::Write(leg) => leg.span,
        _ => Span::new(group.step.span.start, group.step.span.start + "transact".len()),
    }
}
