//! An answer that rests on a refused write, and on a read of another moment.
//!
//! A refused write has seen its item, as a read does. What was read before it and is shown with the refusal, or in the
//! block of its `else`, is of an earlier moment; what the block reads is of a later one. Another call may change both in
//! between.

use latchkey_language::{Diagnostic, Rule, Span};

use super::seen::{Seen, seen};
use super::words::Failures;
use super::{Culprit, Search};
use crate::check::flow::{Group, Refusal};
use crate::check::unpinned::answer::by;
use crate::check::unpinned::lifted::Legs;
use crate::check::unpinned::shown::{asked_facts, shown_facts};
use crate::check::unpinned::story::named;
use crate::check::unpinned::{Use, collect, entity_of, tested, which_item};
use crate::model::{Contract, EntityId, FailureKind, StepKind, What};

impl<'a> Search<'a, '_> {
    /// A refusal and a read of two moments that an answer rests on, with the place of the mistake.
    pub(super) fn by_refusal(
        &self,
        contract: &'a Contract,
        failures: &Failures<'a>,
        group: &Group<'a>,
    ) -> Option<(Span, Diagnostic)> {
        group.way.refused.iter().filter(|it| it.commits == group.way.commits).find_map(|refusal| {
            let before = self.read_before(contract, group, refusal);
            before.or_else(|| self.read_behind(contract, failures, group, refusal))
        })
    }

    fn refusals(&self) -> &Legs<'a> {
        self.refusals.get_or_init(|| Legs::new(self.model))
    }

    /// Something that is shown or tested behind the refusal, and was read before it.
    fn read_before(
        &self,
        contract: &'a Contract,
        group: &Group<'a>,
        refusal: &Refusal<'a>,
    ) -> Option<(Span, Diagnostic)> {
        let uses = self.behind(contract, group, refusal);
        let seen = seen(self.model, contract, group, &uses);
        let mut early = seen.iter().filter(|first| first.at < refusal.reads).peekable();
        early.peek()?;
        let imposes = self.refusals().imposes(group, refusal);
        early.find_map(|first| {
            let entity = entity_of(contract, first.used.fact.binding())?;
            let breaks = self.breaks(contract, first);
            let two = is_another(group, first, refusal, entity);
            let culprit = self.one_after_the_other((&breaks, &imposes), entity, two, false)?;
            Some((first.used.span, tell(contract, first, refusal, &culprit, true)))
        })
    }

    /// What an answer behind a refusal shows, and what was tested there.
    fn behind(
        &self,
        contract: &'a Contract,
        group: &Group<'a>,
        refusal: &Refusal<'a>,
    ) -> Vec<Use<'a>> {
        let mut found = Vec::new();
        for passed in group.way.tests.iter().skip(refusal.tests) {
            tested(group, *passed, &mut found);
        }
        if let StepKind::Return(answer) = &group.step.kind {
            found.extend(shown_facts(self.model, contract, group, answer));
            found.extend(asked_facts(contract, group, answer));
        }
        for failure in group.step.failures() {
            if let FailureKind::Problem { with, message, .. } = &failure.kind {
                let shown = with.iter().map(|given| &given.value).chain(message);
                shown.for_each(|value| collect(group, value, None, &mut found));
            }
        }
        which_item(contract, group, &mut found);
        found
    }

    /// Something that was read behind the refusal.
    fn read_behind(
        &self,
        contract: &'a Contract,
        failures: &Failures<'a>,
        group: &Group<'a>,
        refusal: &Refusal<'a>,
    ) -> Option<(Span, Diagnostic)> {
        if group.way.readings.len() <= refusal.reads {
            return None;
        }
        let uses = self.rests_on(contract, failures, group);
        let seen = seen(self.model, contract, group, &uses);
        let mut late = seen.iter().filter(|second| second.at >= refusal.reads).peekable();
        late.peek()?;
        let lifts = self.refusals().lifts(group, refusal);
        let entity = refusal.leg.entity;
        late.find_map(|second| {
            let two = is_another(group, second, refusal, entity);
            let mut makes = self.makes(contract, second);
            // One that leaves the item so that the write is refused again is followed by the call.
            makes.retain(|other| !self.refusals().restores(group, refusal, other));
            let culprit = self.one_after_the_other((&lifts, &makes), entity, two, false)?;
            Some((second.read.span, tell(contract, second, refusal, &culprit, false)))
        })
    }
}

/// Whether a read by its key is of another item of the entity than a refused write.
fn is_another<'a>(
    group: &Group<'a>,
    seen: &Seen<'a, '_>,
    refusal: &Refusal<'a>,
    entity: EntityId,
) -> bool {
    let leg = refusal.leg;
    let by_key = matches!(seen.read.what, What::Get(_));
    let is_on = seen.read.binding.is_some_and(|binding| group.is_on(leg, binding));
    by_key && seen.read.entity == entity && leg.entity == entity && !is_on
}

fn tell(
    contract: &Contract,
    seen: &Seen<'_, '_>,
    refusal: &Refusal<'_>,
    culprit: &Culprit<'_>,
    before: bool,
) -> Diagnostic {
    let fact = &seen.used.fact;
    let shown = named(&contract.bindings[fact.binding()].name, fact);
    let (one, other) = (seen.read.span, refusal.leg.span);
    let (at, message, help) = if before {
        (
            seen.used.span,
            format!("this answers a refusal with {shown}, which was read before it"),
            "read it in the block of the `else`, behind the refusal; or leave it out of the answer",
        )
    } else {
        (
            one,
            format!("this answers a refusal with {shown}, which is read behind it"),
            "write again with the same condition and `else retry`, or leave it out of the answer",
        )
    };
    let who = match culprit {
        Culprit::One(one) => by(contract, one),
        Culprit::Two(one, then) => format!("{} and {}", by(contract, one), by(contract, then)),
        Culprit::Chain(all) => {
            all.iter().map(|one| by(contract, one)).collect::<Vec<_>>().join(", then ")
        }
    };
    let diagnostic = Diagnostic::new(Rule::StaleAnswer, at, message)
        .other(other, "refused here")
        .why(format!(
            "a refused write has seen its item, as a read does: between the two, {who} may change both, and no order of \
             the calls gives this answer"
        ))
        .help(help);
    if before { diagnostic.other(one, "read here") } else { diagnostic }
}
