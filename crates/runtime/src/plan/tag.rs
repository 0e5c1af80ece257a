//! The `ETag` of an answer. Two answers at one URL have one tag only if they have one body.
//!
//! The counter of an item is enough where it tells all that the answer shows: the whole item and nothing else, at a URL
//! that names the item, and a counter that every write moves and that never starts again. It starts again only in items
//! that can be deleted and made anew, and there the first item of a key is told by its lack of an incarnation, if the
//! document leaves something behind for each item that it deletes. Elsewhere a hash of the body follows the counter.
//! `If-Match` looks at the counter alone.

use std::collections::HashSet;

use latchkey_model::model::{
    self, BindingId, Contract, EntityId, Expr, ExprKind, Model, StepKind, TextPiece, Verb, What,
    each_step,
};
use latchkey_table::Text;

/// What the `ETag` of an answer is made of.
#[derive(Debug)]
pub(crate) enum Tag {
    /// There is none: the answer is a page, or nothing counts the changes of the item.
    None,
    /// This counter.
    Counter(Text),
    /// This counter, and a hash of the body.
    CounterAndBody(Text),
    /// This counter, and a hash of the body unless the item is the first of its key. Such an item has no incarnation.
    CounterOfFirst(Text),
}

/// The entities of which a write leaves the counter as it was.
pub(super) fn uncounted(model: &Model) -> HashSet<EntityId> {
    let mut found = HashSet::new();
    for body in model.bodies() {
        each_step(&body.steps, &mut |step| {
            if let StepKind::Write(leg) = &step.kind
                && matches!(leg.verb, Verb::Update | Verb::Upsert)
                && let Some(counter) = model.entities[leg.entity].counter()
                && !leg.values.iter().chain(&leg.adds).any(|set| set.attribute == counter.name)
            {
                found.insert(leg.entity);
            }
        });
    }
    found
}

/// Whether the URL of a GET decides which item a binding is, and the contract returns no other item.
pub(super) fn named_by_url(contract: &Contract, binding: BindingId) -> bool {
    let (mut reads, mut others) = (0usize, 0usize);
    each_step(&contract.steps, &mut |step| match &step.kind {
        StepKind::Read(read) if read.binding == Some(binding) => match &read.what {
            What::Get(key) if key.iter().all(|part| in_url(contract, &part.value)) => reads += 1,
            What::Get(_) | What::Batch(_) | What::Query(_) | What::Part(_) => others += 1,
        },
        StepKind::Write(leg) if leg.result == Some(binding) => others += 1,
        // On another way, another item of the same version.
        StepKind::Return(returned) if returned.binding != Some(binding) => others += 1,
        _ => {}
    });
    reads == 1 && others == 0
}

/// Whether the URL decides a value. An input that a caller left out can be anything, unless its default is constant.
fn in_url(contract: &Contract, value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Input(id) => contract.inputs[*id].default.as_ref().is_none_or(is_constant),
        _ => is_constant(value),
    }
}

fn is_constant(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Word(_) | ExprKind::Number(_) | ExprKind::Bool(_) => true,
        ExprKind::Text(pieces) => pieces.iter().all(|piece| matches!(piece, TextPiece::Literal(_))),
        _ => false,
    }
}

/// Whether an answer shows the item, the whole item, and nothing else.
pub(super) fn is_whole(returned: &model::Return) -> bool {
    returned.fields.is_empty() && returned.with.is_empty()
}
