//! An answer that shows an item as a write of the call left it, beside what was read after that commit.
//!
//! The two are of two moments: the commit, and the read behind it. Another call may change both in between.

use super::seen::seen;
use super::words::Failures;
use super::{First, Search, Told, Torn};
use crate::check::flow::Group;
use crate::check::unpinned::{Fact, culprits, entity_of};
use crate::model::{BindingId, Contract, Leg, StepKind, Verb, What};

impl<'a> Search<'a, '_> {
    /// The pairs of what a write left and what was read behind it that an answer shows, one for each read.
    pub(super) fn after_a_write(
        &self,
        contract: &'a Contract,
        failures: &Failures<'a>,
        group: &Group<'a>,
    ) -> Vec<Torn<'a>> {
        let mut found: Vec<Torn<'a>> = Vec::new();
        if group.way.written.is_empty() || !matches!(group.step.kind, StepKind::Return(_)) {
            return found;
        }
        let uses = self.rests_on(contract, failures, group);
        for second in seen(self.model, contract, group, &uses) {
            if found.iter().any(|torn| std::ptr::eq(torn.second.read, second.read)) {
                continue;
            }
            let mut reads = group.way.reads.iter();
            let Some(after) = reads.find(|(read, _)| std::ptr::eq(*read, second.read)) else {
                continue;
            };
            for first in &uses {
                let Fact::Attribute(binding, _) = first.fact else { continue };
                let Some(leg) = left_by(group, binding, after.1) else { continue };
                let Some(entity) = entity_of(contract, binding) else { continue };
                let breaks = culprits(self.model, contract, self.changes, &first.fact);
                let makes = self.makes(contract, &second);
                let by_key = matches!(second.read.what, What::Get(_));
                let two = by_key && second.read.entity == entity;
                let culprit = self.one_after_the_other((&breaks, &makes), entity, two, false);
                if let Some(culprit) = culprit {
                    let told = |fact: &Fact<'a>| Told { fact: fact.clone(), read: second.read };
                    let (first, second) = (told(&first.fact), told(&second.used.fact));
                    found.push(Torn { first, from: First::Written(leg), second, culprit });
                    break;
                }
            }
        }
        found
    }
}

/// The write that left the item of a binding, if it came before a read.
fn left_by<'a>(group: &Group<'a>, binding: BindingId, before: usize) -> Option<&'a Leg> {
    let written = group.way.written.iter().take(before).rev();
    let mut of_item =
        written.filter(|leg| [leg.target, leg.result].contains(&Some(binding))).copied();
    of_item.next().filter(|leg| matches!(leg.verb, Verb::Put | Verb::Update | Verb::Upsert))
}
