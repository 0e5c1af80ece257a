//! Two ways of one body of which each leads to the other: a second run undoes what the first has done.
//!
//! `when tool.alarm == ON { … set alarm = OFF … } else { … set alarm = ON … }`: each write makes its own test come out
//! otherwise, so neither happens twice. But the second run takes the other way.

use latchkey_language::{Diagnostic, Rule};

use super::Around;
use super::guard::Judge;
use crate::check::flow::{Group, Placed};
use crate::check::truth::Passed;
use crate::model::{Leg, Verb};

impl<'a> Judge<'a, '_> {
    /// A write that a second run undoes on another way, which is written below it.
    pub(super) fn toggled(&self, placed: &Placed<'a>) -> Option<Diagnostic> {
        let back = self.all.iter().find_map(|group| {
            let mut below =
                group.legs.iter().filter(|other| other.leg.span.start > placed.leg.span.start);
            below.find(|other| self.leads_back(placed, group, other))
        })?;
        let message = "run twice, this is undone: the second run takes the other way";
        Some(
            Diagnostic::new(Rule::NotIdempotent, placed.leg.span, message)
                .other(back.leg.span, "this sets it back")
                .why("a message may come twice, and each run finds what the one before it has left")
                .help(
                    "send what is wanted in the message, and set that; or mark the run by a `put … if absent` under a \
                     key of the message",
                ),
        )
    }

    /// Whether a leg opens the way to a leg on another way, and that one the way to this.
    fn leads_back(&self, one: &Placed<'a>, group: &Group<'a>, other: &Placed<'a>) -> bool {
        if matches!(one.leg.verb, Verb::Check) || matches!(other.leg.verb, Verb::Check) {
            return false;
        }
        let has = |group: &Group<'a>, leg: &Leg| {
            group.way.written.iter().any(|written| std::ptr::eq(*written, leg))
        };
        // What one run does after the other it may well undo.
        if has(group, one.leg) || has(self.around.group, other.leg) {
            return false;
        }
        let around = Around { group, ..*self.around };
        let there = Judge { around: &around, ..*self };
        let reopens = |judge: &Judge<'a, '_>, by: &Group<'a>, closed: &Placed<'a>| {
            let mut closers = judge.around.closers(&closed.guards).peekable();
            closers.peek().is_some()
                && closers.all(|closer| by.legs.iter().any(|leg| judge.opens(closer, by, leg.leg)))
        };
        self.opens(one, group, other.leg)
            && there.opens(other, self.around.group, one.leg)
            && !self.is_parted(one, group, other)
            && reopens(self, group, one)
            && reopens(&there, self.around.group, other)
    }

    /// Whether a test keeps two legs apart that neither of them turns: one message leads to one of them.
    fn is_parted(&self, one: &Placed<'a>, group: &Group<'a>, other: &Placed<'a>) -> bool {
        let around = Around { group, ..*self.around };
        let here = self.around.group.known(&one.guards);
        let there = group.known(&other.guards);
        let is_other =
            |a: &Passed<'a>, b: &Passed<'a>| std::ptr::eq(a.test, b.test) && a.truth != b.truth;
        here.iter().any(|test| {
            there.iter().any(|against| is_other(test, against))
                && !self.around.shuts_the_way(one, &[*test])
                && !around.shuts_the_way(other, &[Passed { truth: !test.truth, ..*test }])
        })
    }
}
