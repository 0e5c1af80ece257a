//! `not-idempotent`: a write of something that may run twice, and that does more the second time.
//!
//! A message can come twice, at the same time or after its worker has died. A write *repeats* if it adds, computes with
//! what is stored or with what the run changes, makes something new or sends. It is *closed* if, once it has happened,
//! the way to it is: by a leg that happens whenever it does, and whose own condition is false from then on; or that makes
//! a test on the way come out the other way. A test that leads to two writes, each of which turns it, closes nothing.

mod carried;
mod computed;
mod cut_short;
mod guard;
mod once_key;
mod toggle;
mod turned;

use latchkey_language::{Diagnostic, Rule, Span};

use super::Report;
use super::changes::Changes;
use super::flow::{Group, Placed, groups, within};
use super::leaves::number_left;
use super::truth::{Passed, Supposed, each, plain, truth_word};
use super::unpinned::needs_item;
use super::writes::Writes;
use crate::model::{
    BindingId, Contract, Expr, ExprKind, Given, GivenPart, Leg, Model, PutMode, Trigger, Verb,
};
use guard::Judge;
use once_key::Sends;

pub(super) fn check(model: &Model, report: &mut Report) {
    let changes = Changes::new(model);
    let sends = Sends::new(model);
    let writes = Writes::new(model);
    for contract in model.bodies() {
        if contract.trigger == Trigger::Request {
            continue;
        }
        let all = groups(model, contract);
        for group in &all {
            let around = Around { model, contract, changes: &changes, group };
            let judge = Judge { around: &around, sends: &sends, writes: &writes, all: &all };
            let legs = group.legs.iter().filter_map(|placed| {
                let repeats = around.repeats(placed.leg).or_else(|| judge.carried(placed));
                let twice =
                    repeats.and_then(|(span, what)| judge.breach(span, &what, &placed.guards));
                Some((twice.or_else(|| judge.toggled(placed))?, &placed.step.waivers))
            });
            let sends = group.sends.iter().filter_map(|sent| {
                let what = "sends another message";
                Some((judge.breach(sent.send.span, what, &sent.guards)?, &sent.step.waivers))
            });
            // A transaction that happens twice is one mistake, however much it does. What is waived is one by itself.
            let mut told = false;
            for (diagnostic, waivers) in legs.chain(sends) {
                let waived = waivers.iter().any(|waiver| waiver.rule == Rule::NotIdempotent);
                if waived || !std::mem::replace(&mut told, true) {
                    report.raise(diagnostic, waivers);
                }
            }
            if let Some((diagnostic, waivers)) = cut_short::tell(&around, &all).filter(|_| !told) {
                report.raise(diagnostic, waivers);
            }
            if matches!(contract.trigger, Trigger::Accepted(_) | Trigger::Refused(_))
                && let Some(first) = group.legs.first()
                && group.legs.iter().all(|placed| is_unconditional(placed.leg))
            {
                report.raise(unconditional(first.leg.span), &first.step.waivers);
            }
        }
    }
}

/// Whether a write happens for every stored item.
fn is_unconditional(leg: &Leg) -> bool {
    leg.condition.is_none() && leg.put != Some(PutMode::IfAbsent)
}

fn unconditional(span: Span) -> Diagnostic {
    let message = "what follows a send must be conditional";
    Diagnostic::new(Rule::NotIdempotent, span, message)
        .why("it may run twice, and long after the call: by then a worker may have gone on")
        .help("write `if .status == …` on it, or `if unchanged` of an item that is read in this block")
}

fn breach(contract: &Contract, span: Span, what: &str) -> Diagnostic {
    let why = match contract.trigger {
        Trigger::Accepted(_) | Trigger::Refused(_) => {
            "what follows a send may run twice: it is run again where nobody knows that it was"
        }
        _ => "a message may come twice, at once or after its worker has died",
    };
    let message = format!("run twice, this {what}, and nothing stops it");
    Diagnostic::new(Rule::NotIdempotent, span, message).why(why).help(
        "write it in one transaction with a leg that can happen once: `put … if absent` under a key of the \
         message, or an `update` with `if .status == …` that moves the status on",
    )
}

/// A group of writes, and all that is around it.
pub(super) struct Around<'a, 'g> {
    pub(super) model: &'a Model,
    pub(super) contract: &'a Contract,
    pub(super) changes: &'g Changes<'a>,
    pub(super) group: &'g Group<'a>,
}

impl<'a> Around<'a, '_> {
    /// What a leg does more of, the second time.
    fn repeats(&self, leg: &'a Leg) -> Option<(Span, String)> {
        if matches!(leg.verb, Verb::Delete | Verb::Check) {
            return None;
        }
        if let Some(given) = leg.adds.first() {
            return Some((given.span, format!("adds to `{}` again", given.attribute)));
        }
        if let Some(given) = leg.values.iter().find(|given| self.computes(leg, given)) {
            let what = format!("computes `{}` from what it left the first time", given.attribute);
            return Some((given.span, what));
        }
        if !matches!(leg.verb, Verb::Put | Verb::Upsert) || self.is_stable(leg) {
            let new = leg.values.iter().find(|given| self.is_new(&given.value));
            let new = new.filter(|_| !self.is_once(leg));
            return new.map(|given| (given.span, format!("makes another `{}`", given.attribute)));
        }
        let name = &self.model.entities[leg.entity].name;
        // A replaced item under a key that changes with another is that one's view, not one item more.
        let fresh = leg.key.iter().any(|given| self.is_new(&given.value) || self.has_now(given));
        let one_more = fresh || leg.put == Some(PutMode::IfAbsent);
        one_more.then(|| (leg.span, format!("makes another `{name}`")))
    }

    /// Where a leg counts in an attribute: adds to it, or computes it from what is stored.
    pub(super) fn counts(&self, leg: &'a Leg) -> Option<(Span, &'a str)> {
        let computed = leg.values.iter().filter(|given| self.sums(leg, given));
        let first = leg.adds.iter().chain(computed).next();
        first.map(|given| (given.span, given.attribute.as_str()))
    }

    /// Whether a leg is on another item whenever it runs.
    pub(super) fn makes_new(&self, leg: &'a Leg) -> bool {
        leg.key.iter().any(|given| self.is_new(&given.value))
    }

    fn is_new(&self, value: &'a Expr) -> bool {
        let mut found = false;
        each(&self.group.lets, value, &mut |part| {
            found |= matches!(part.kind, ExprKind::New(_));
        });
        found
    }

    fn has_now(&self, given: &'a Given) -> bool {
        let mut found = false;
        each(&self.group.lets, &given.value, &mut |part| {
            found |= matches!(part.kind, ExprKind::Now | ExprKind::Told(_));
        });
        found
    }

    /// Whether a leg is on the same item whenever it runs: what its key is made of never changes.
    fn is_stable(&self, leg: &'a Leg) -> bool {
        let mut stable = true;
        for given in &leg.key {
            stable &= !self.is_new(&given.value);
            each(&self.group.lets, &given.value, &mut |part| match &part.kind {
                // What was sent twice was sent at two times.
                ExprKind::Now | ExprKind::Told(_) => stable = false,
                ExprKind::Attribute(binding, name) => stable &= !self.may_change(*binding, name),
                _ => {}
            });
        }
        stable
    }

    fn may_change(&self, binding: BindingId, name: &'a str) -> bool {
        // A second run may find other items.
        if self.group.result_of(binding).is_some() {
            return true;
        }
        let Some(id) = self.contract.bindings[binding].kind.item() else { return true };
        let in_key = self.model.entities[id].key.tells(name);
        !in_key && !self.changes.attribute(id, name).is_empty()
    }

    /// Whether the way to what stands within some tests is closed, once it has happened.
    pub(super) fn is_closed(&self, guards: &[Passed<'a>]) -> bool {
        self.closers(guards).next().is_some()
    }

    /// The legs that close the way to what stands within some tests, once it has happened.
    fn closers(&self, guards: &[Passed<'a>]) -> impl Iterator<Item = &Placed<'a>> {
        let known = self.group.known(guards);
        let sure = self.group.legs.iter().filter(|other| within(guards, &other.guards));
        sure.filter(move |other| {
            let leg = other.leg;
            let made_once = self.is_once(leg) && self.is_stable(leg);
            made_once || self.shuts_itself(leg) || self.shuts_the_way(other, &known)
        })
    }

    /// Whether a leg's own condition is false once it has happened.
    fn shuts_itself(&self, leg: &'a Leg) -> bool {
        let insists = self.group.insists(leg);
        if leg.verb == Verb::Delete {
            return leg.absent.is_some() || insists.iter().any(needs_item);
        }
        let name = |expr: &'a Expr| match &expr.kind {
            ExprKind::Stored(name) => Some(name.as_str()),
            _ => None,
        };
        insists.iter().any(|test| self.turns(test, leg, &name, &|_| false))
    }

    /// Whether a leg makes one test on the way come out otherwise.
    fn turns_way(&self, placed: &Placed<'a>, test: &Passed<'a>) -> bool {
        let on = |binding: BindingId| self.group.is_on(placed.leg, binding);
        let name = |expr: &'a Expr| match &expr.kind {
            ExprKind::Attribute(binding, name) if on(*binding) => Some(name.as_str()),
            _ => None,
        };
        let item = |expr: &'a Expr| matches!(&expr.kind, ExprKind::Binding(id) if on(*id));
        self.turns(test, placed.leg, &name, &item)
    }

    /// Whether a leg makes a test on the way come out otherwise.
    fn shuts_the_way(&self, placed: &Placed<'a>, known: &[Passed<'a>]) -> bool {
        let leg = placed.leg;
        let on = |binding: BindingId| self.group.is_on(leg, binding);
        let there = self.leaves_item(leg);
        let found =
            self.group.way.found.iter().any(|(binding, found, _)| {
                on(*binding) && there.is_some_and(|there| there != *found)
            });
        found || known.iter().any(|test| self.turns_way(placed, test))
    }

    /// How a test comes out once a leg has happened.
    fn left(
        &self,
        test: &Passed<'a>,
        leg: &'a Leg,
        name: &dyn Fn(&'a Expr) -> Option<&'a str>,
        item: &dyn Fn(&'a Expr) -> bool,
    ) -> Option<bool> {
        let word = |expr: &'a Expr| name(expr).and_then(|name| self.word_left(leg, name));
        let there = |expr: &'a Expr| match name(expr) {
            Some(name) => self.attribute_left(leg, name),
            None if item(expr) => self.leaves_item(leg),
            None => None,
        };
        let supposed = Supposed { lets: &self.group.lets, moves: &[], word: &word, there: &there };
        let number = || number_left(self.model, (leg, &self.group.lets), test, name);
        supposed.outcome(test.test).or_else(number)
    }

    fn leaves_item(&self, leg: &Leg) -> Option<bool> {
        match leg.verb {
            // Once it has ended, it is absent again.
            Verb::Put | Verb::Upsert if self.model.entities[leg.entity].is_expiring() => None,
            Verb::Put | Verb::Upsert => Some(true),
            Verb::Delete => Some(false),
            Verb::Update | Verb::Check => None,
        }
    }

    /// Whether a leg makes an item that stays, and never makes it again. An item that ends can be made again.
    fn is_once(&self, leg: &Leg) -> bool {
        let ends = self.model.entities[leg.entity].is_expiring();
        leg.put == Some(PutMode::IfAbsent) && !ends
    }

    fn set(&self, leg: &'a Leg, name: &str) -> Option<&'a Given> {
        let whole = |given: &&Given| given.is_whole() && !given.maybe;
        leg.values.iter().find(|given| given.attribute == name && whole(given))
    }

    /// The word a leg leaves in an attribute, if it is always the same.
    fn word_left(&self, leg: &'a Leg, name: &str) -> Option<&'a str> {
        let value = plain(&self.group.lets, &self.set(leg, name)?.value);
        match &value.kind {
            ExprKind::Word(word) => Some(word),
            ExprKind::Bool(truth) => Some(truth_word(*truth)),
            _ => None,
        }
    }

    /// Whether a leg leaves an attribute there, if that is sure.
    fn attribute_left(&self, leg: &'a Leg, name: &str) -> Option<bool> {
        if leg.verb == Verb::Delete || leg.removes.iter().any(|removed| removed == name) {
            return Some(false);
        }
        // A set with an element is there.
        let is_filled = |given: &Given| given.attribute == name && given.part == GivenPart::Element;
        if leg.values.iter().any(|given| is_filled(given) && !given.maybe) {
            return Some(true);
        }
        let value = plain(&self.group.lets, &self.set(leg, name)?.value);
        let optional = match &value.kind {
            ExprKind::Input(input) => self.contract.inputs[*input].optional,
            ExprKind::Attribute(binding, name) => {
                let entity = &self.model.entities[self.contract.bindings[*binding].kind.item()?];
                entity.attribute(name).is_none_or(|attribute| attribute.optional)
            }
            ExprKind::Stored(_) => return None,
            _ => false,
        };
        (!optional).then_some(true)
    }
}
