//! What `unchanged` insists on.
//!
//! A counter tells whether an item has changed, as long as it only ever grows. The item that is made again after a
//! delete, or put in its place, starts at 1: whoever read the old one could find its count in the new one. So where some
//! statement of the document lets a counter start again, `unchanged` insists on all that the contract makes use of,
//! too. It asks for more than is needed, never for less: nothing else can differ unless the count does.

use latchkey_model::model::{
    BindingId, Contract, EntityId, Expr, ExprKind, Given, Model, Order, PutMode, Read, StepKind,
    Strong, Verb, What, each_step,
};
use latchkey_table::Text;

use super::refusal::{Planned, Unplanned};

/// The most attributes one `unchanged` insists on: a condition has at most 4 KB.
const ATTRIBUTES_MAX: usize = 100;

/// The entities whose counters some statement lets start again.
pub(super) fn restarting(model: &Model) -> Vec<EntityId> {
    let mut found = Vec::new();
    for body in model.bodies() {
        each_step(&body.steps, &mut |step| {
            if let StepKind::Write(leg) = &step.kind
                && (leg.verb == Verb::Delete || leg.put == Some(PutMode::Replace))
                && !found.contains(&leg.entity)
            {
                found.push(leg.entity);
            }
        });
    }
    found
}

/// The attributes of an item that `unchanged` insists on, beside its counter: those a contract mentions of any item of
/// that entity, those it copies, and those its indexes are made of.
pub(super) fn rested_on(
    model: &Model,
    contract: &Contract,
    entity: EntityId,
) -> Planned<Vec<Text>> {
    let shape = &model.entities[entity];
    let mut names: Vec<&str> =
        shape.indexes.iter().flat_map(|index| index.key.attributes()).collect();
    let is_one = |binding: BindingId| contract.bindings[binding].kind.item() == Some(entity);
    let mut mention = |expr: &Expr| {
        expr.walk(&mut |part| {
            if let ExprKind::Attribute(binding, name) = &part.kind
                && is_one(*binding)
                && let Some(attribute) = shape.attribute(name)
            {
                names.push(&attribute.name);
            }
        });
    };
    each_step(&contract.steps, &mut |step| each_expr(&step.kind, &mut mention));
    each_step(&contract.steps, &mut |step| {
        if let StepKind::Write(leg) = &step.kind
            && leg.of.is_some_and(is_one)
        {
            let copied = model.entities[leg.entity].attributes.iter();
            let copied = copied.filter_map(|attribute| shape.attribute(&attribute.name));
            names.extend(copied.map(|attribute| attribute.name.as_str()));
        }
    });
    names.sort_unstable();
    names.dedup();
    if names.len() > ATTRIBUTES_MAX {
        return Err(Unplanned::new(format!(
            "`unchanged` would insist on {} attributes of `{}`, and {ATTRIBUTES_MAX} are the most",
            names.len(),
            shape.name
        )));
    }
    Ok(names.into_iter().map(Text::from).collect())
}

/// Hands the expressions of a step to a function, but for those it only answers with.
fn each_expr<'a>(step: &'a StepKind, visit: &mut impl FnMut(&'a Expr)) {
    let given = |given: &'a [Given], visit: &mut dyn FnMut(&'a Expr)| {
        given.iter().for_each(|given| visit(&given.value));
    };
    match step {
        StepKind::Allow(test)
        | StepKind::Require(test, _)
        | StepKind::Match(test, _)
        | StepKind::When(test, ..)
        | StepKind::Let(_, test) => visit(test),
        StepKind::Read(read) => read_exprs(read, visit),
        StepKind::Write(leg) => {
            [&leg.key, &leg.values, &leg.adds].into_iter().for_each(|all| given(all, visit));
            leg.condition.iter().for_each(visit);
        }
        StepKind::Send(send) => {
            [&send.values, &send.record].into_iter().for_each(|all| given(all, visit));
            send.at.iter().for_each(visit);
        }
        StepKind::Transact(_) | StepKind::Return(_) | StepKind::End(_) => {}
    }
}

fn read_exprs<'a>(read: &'a Read, visit: &mut impl FnMut(&'a Expr)) {
    if let Strong::When(test) = &read.strong {
        visit(test);
    }
    match &read.what {
        What::Get(given) => given.iter().for_each(|given| visit(&given.value)),
        What::Batch(batch) => batch.key.iter().for_each(|given| visit(&given.value)),
        What::Query(query) => {
            query.texts().for_each(&mut *visit);
            if let Order::DescendingWhen(test) = &query.order {
                visit(test);
            }
        }
    }
}
