//! What a contract finds to be the caller's own: the ids that the caller is, or owns.

use std::collections::HashSet;

use crate::check::each_step;
use crate::check::truth::{Lets, each, plain};
use crate::model::{BindingId, Contract, Expr, ExprKind, Given, InputId, Op, StepKind};

/// The ids that the tests of a contract find to be the caller's.
#[derive(Default)]
pub(super) struct Own<'a> {
    inputs: HashSet<InputId>,
    attributes: HashSet<(BindingId, &'a str)>,
}

impl<'a> Own<'a> {
    pub(super) fn of(contract: &'a Contract, lets: &Lets<'a>) -> Own<'a> {
        let mut own = Own::default();
        each_step(&contract.steps, &mut |step| {
            let (StepKind::Allow(test) | StepKind::Require(test, _) | StepKind::Match(test, _)) =
                &step.kind
            else {
                return;
            };
            each(lets, test, &mut |part| match &part.kind {
                ExprKind::Owns(thing) => own.take(plain(lets, thing)),
                ExprKind::Binary(Op::Equal, a, b) => {
                    for (one, other) in [(a, b), (b, a)] {
                        if matches!(plain(lets, one).kind, ExprKind::CallerId) {
                            own.take(plain(lets, other));
                        }
                    }
                }
                _ => {}
            });
        });
        own
    }

    fn take(&mut self, value: &'a Expr) {
        match &value.kind {
            ExprKind::Input(input) => drop(self.inputs.insert(*input)),
            ExprKind::Attribute(item, name) => drop(self.attributes.insert((*item, name))),
            _ => {}
        }
    }

    /// Whether a value is the caller's id, or one that the caller owns.
    pub(super) fn has(&self, lets: &Lets<'a>, value: &'a Expr) -> bool {
        match &plain(lets, value).kind {
            ExprKind::CallerId => true,
            ExprKind::Input(input) => self.inputs.contains(input),
            ExprKind::Attribute(item, name) => self.attributes.contains(&(*item, name)),
            _ => false,
        }
    }

    /// Whether a part of the key that an item is read by is the caller's.
    pub(super) fn has_part(&self, lets: &Lets<'a>, item: BindingId, part: &'a Given) -> bool {
        self.has(lets, &part.value) || self.attributes.contains(&(item, part.attribute.as_str()))
    }
}
