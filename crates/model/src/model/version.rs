//! The version of an item, as callers see it: where `If-Match` stands for it, and which answers have an `ETag`.

use super::{
    Attribute, BindingId, Contract, Expr, ExprKind, InputId, Kind, Model, Op, Return, StepKind,
    each_step,
};

/// A comparison of the version of an item with an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versioned<'a> {
    /// The input.
    pub input: InputId,
    /// The item.
    pub binding: BindingId,
    /// The attribute that counts its changes.
    pub counter: &'a str,
}

impl Model {
    /// Looks for `item.version == input` in a test of a contract, where `item` counts its changes by `version`.
    pub fn versioned(&self, contract: &Contract, test: &Expr) -> Option<Versioned<'_>> {
        let mut found = None;
        test.walk(&mut |part| {
            let ExprKind::Binary(Op::Equal, a, b) = &part.kind else { return };
            for (a, b) in [(a, b), (b, a)] {
                if let (Some((binding, counter)), ExprKind::Input(input)) =
                    (self.counted(contract, a), &b.kind)
                {
                    found = Some(Versioned { input: *input, binding, counter });
                }
            }
        });
        found
    }

    /// The input whose value an `If-Match` can stand for: that of the first `match` that compares a version.
    pub fn version_input(&self, contract: &Contract) -> Option<InputId> {
        let mut found = None;
        each_step(&contract.steps, &mut |step| {
            if let StepKind::Match(test, _) = &step.kind {
                let input = self.versioned(contract, test).map(|versioned| versioned.input);
                found = found.or(input);
            }
        });
        found
    }

    /// The binding and its counter, if an expression is the counter of an item.
    fn counted(&self, contract: &Contract, expr: &Expr) -> Option<(BindingId, &str)> {
        let ExprKind::Attribute(binding, name) = &expr.kind else { return None };
        let entity = contract.bindings[*binding].kind.item()?;
        let counter = self.entities[entity].counter().filter(|counter| counter.name == *name)?;
        Some((*binding, counter.name.as_str()))
    }

    /// The counter that the `ETag` of an answer is made of; an answer that is no item, or one that is on the first of
    /// several pages alone, has none.
    pub fn tag_counter(&self, contract: &Contract, returned: &Return) -> Option<&Attribute> {
        let binding = returned.binding.filter(|_| returned.next.is_none())?;
        let Kind::Item(entity) = contract.bindings[binding].kind else { return None };
        let counter = self.entities[entity].counter()?;
        (!self.is_left_out(contract, binding, &counter.name)).then_some(counter)
    }

    /// Whether the index by which an item was found leaves out an attribute.
    pub fn is_left_out(&self, contract: &Contract, binding: BindingId, attribute: &str) -> bool {
        let query = contract.read_of(binding).and_then(|read| contract.query_of(read));
        let entity = contract.bindings[binding].kind.entity();
        query.zip(entity).is_some_and(|((_, query), id)| !self.tells(query.by, id, attribute))
    }
}
