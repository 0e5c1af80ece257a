//! Whether a guard is a good one: made for each message, and not opened again by the run that has closed it.

use latchkey_language::{Diagnostic, Rule, Span};

use super::once_key::{Sends, missing};
use super::{Around, breach};
use crate::check::flow::{Group, Placed, within};
use crate::check::truth::Passed;
use crate::check::writes::Writes;
use crate::model::{Expr, ExprKind, Leg, PutMode, Trigger, Verb};

/// Judges what stops a second run.
pub(super) struct Judge<'a, 'g> {
    pub(super) around: &'g Around<'a, 'g>,
    pub(super) sends: &'g Sends<'a>,
    pub(super) writes: &'g Writes<'a>,
    /// All groups of the contract.
    pub(super) all: &'g [Group<'a>],
}

impl<'a> Judge<'a, '_> {
    /// The mistake of something that does more the second time, if nothing good stops it.
    pub(super) fn breach(
        &self,
        span: Span,
        what: &str,
        guards: &[Passed<'a>],
    ) -> Option<Diagnostic> {
        let mut first = None;
        for closer in self.around.closers(guards) {
            let wrong = self.narrow(span, closer).or_else(|| self.undone(span, closer));
            let wrong = wrong.or_else(|| self.deleted(span, closer))?;
            first = first.or(Some(wrong));
        }
        let wrong = first.or_else(|| self.reopened(span, guards));
        wrong.or_else(|| Some(breach(self.around.contract, span, what)))
    }

    /// An item that is made once and ends: after its end it is made again.
    fn reopened(&self, span: Span, guards: &[Passed<'a>]) -> Option<Diagnostic> {
        let around = self.around;
        let mut sure = around.group.legs.iter().filter(|other| within(guards, &other.guards));
        let mark = sure.find(|other| {
            let ends = around.model.entities[other.leg.entity].is_expiring();
            ends && other.leg.put == Some(PutMode::IfAbsent) && around.is_stable(other.leg)
        })?;
        let entity = &around.model.entities[mark.leg.entity];
        let message =
            format!("run twice, this happens again: the `{}` that stops it ends", entity.name);
        Some(
            Diagnostic::new(Rule::NotIdempotent, span, message)
                .other(mark.leg.span, "this stops a second run until it has ended")
                .other(entity.span, "an item of this ends")
                .why("a message may come again at any time: later, and when dead messages are sent again")
                .help(
                    "mark the run by an item that stays; or waive this if no message can come again after the end",
                ),
        )
    }

    /// An item that is made once, and not once for each message.
    fn narrow(&self, span: Span, closer: &Placed<'a>) -> Option<Diagnostic> {
        let leg = closer.leg;
        let field = match leg.put {
            Some(PutMode::IfAbsent) => missing(self.around, self.sends, leg)?,
            _ => return None,
        };
        let name = &self.around.model.entities[leg.entity].name;
        let message =
            format!("the key of the `{name}` that stops this lacks `{field}` of the message");
        let why = format!("a message with another `{field}` is taken for one that came twice");
        Some(
            Diagnostic::new(Rule::NotIdempotent, span, message)
                .other(leg.span, "made once for all of them")
                .why(why)
                .help(format!("write `{field}` into the key of `{name}`")),
        )
    }

    /// A guard that a later write of the same run opens again.
    fn undone(&self, span: Span, closer: &Placed<'a>) -> Option<Diagnostic> {
        let is_it = |written: &&Leg| std::ptr::eq(*written, closer.leg);
        let later = self.all.iter().filter(|group| group.way.written.iter().any(is_it));
        let opens = later.into_iter().find_map(|group| {
            group.legs.iter().find(|other| self.opens(closer, group, other.leg))
        })?;
        let message = "run twice, this happens again: a later write opens its guard";
        Some(
            Diagnostic::new(Rule::NotIdempotent, span, message)
                .other(closer.leg.span, "this stops a second run")
                .other(opens.leg.span, "and this lets it pass again")
                .why("a message that comes again after the last write meets what the first run met")
                .help("leave the guard closed: set another word, or keep the item"),
        )
    }

    /// An item that is made once, and that another transaction deletes: after that it is made again. One that sends the
    /// message anew means it to be worked on again.
    fn deleted(&self, span: Span, closer: &Placed<'a>) -> Option<Diagnostic> {
        let (leg, contract) = (closer.leg, self.around.contract);
        if leg.put != Some(PutMode::IfAbsent) {
            return None;
        }
        let sends_anew = |group: &Group<'a>| match contract.trigger {
            Trigger::Message(queue) | Trigger::Dead(queue) => {
                group.sends.iter().any(|sent| sent.send.queue == queue)
            }
            _ => false,
        };
        let (_, _, deletes) = self
            .writes
            .on(leg.entity)
            .find(|(_, group, other)| other.leg.verb == Verb::Delete && !sends_anew(group))?;
        let name = &self.around.model.entities[leg.entity].name;
        let message =
            format!("run twice, this happens again: the `{name}` that stops it can be deleted");
        Some(
            Diagnostic::new(Rule::NotIdempotent, span, message)
                .other(leg.span, "this stops a second run")
                .other(deletes.leg.span, "until this has deleted it")
                .why("a message may come again at any time: later, and when dead messages are sent again")
                .help(
                    "mark the run by an item that stays; or move a status on, which is asked for here and never set back",
                ),
        )
    }

    /// Whether a leg of a later group makes possible again what a leg has closed.
    pub(super) fn opens(&self, closer: &Placed<'a>, later: &Group<'a>, leg: &'a Leg) -> bool {
        let (closed, group) = (closer.leg, self.around.group);
        let items = [closed.result, closed.target].into_iter().flatten();
        let mut items = items.filter(|_| leg.entity == closed.entity);
        if !items.any(|item| later.is_on(leg, item)) && !is_same_key(later, leg, closed) {
            return false;
        }
        if closed.put == Some(PutMode::IfAbsent) {
            return leg.verb == Verb::Delete;
        }
        let stored = |expr: &'a Expr| match &expr.kind {
            ExprKind::Stored(name) => Some(name.as_str()),
            _ => None,
        };
        let read = |expr: &'a Expr| match &expr.kind {
            ExprKind::Attribute(item, name) if group.is_on(closed, *item) => Some(name.as_str()),
            _ => None,
        };
        let around = Around { group: later, ..*self.around };
        let again = |test: &Passed<'a>, name: &dyn Fn(&'a Expr) -> Option<&'a str>| {
            self.around.turns(test, closed, name, &|_| false)
                && around.left(test, leg, name, &|_| false) == Some(test.truth)
        };
        group.insists(closed).iter().any(|test| again(test, &stored))
            || group.known(&closer.guards).iter().any(|test| again(test, &read))
    }
}

/// Whether two legs are on the item of one key.
fn is_same_key<'a>(group: &Group<'a>, a: &'a Leg, b: &'a Leg) -> bool {
    let is_given = |name: &str| b.key.iter().find(|given| given.attribute == name);
    a.entity == b.entity
        && !a.key.is_empty()
        && a.key.iter().all(|given| {
            is_given(&given.attribute)
                .is_some_and(|other| group.alike(&given.value, &other.value, None))
        })
}
