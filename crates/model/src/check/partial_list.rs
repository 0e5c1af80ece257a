//! `partial-list`: a total over a part of the items, or a write of each of them, taken for all.

mod taken_for_all;

use latchkey_language::{Diagnostic, Rule, Span};

use super::flow::lets;
use super::truth::{Lets, each, plain};
use super::{Report, each_leg, each_read, each_send, each_step};
use crate::model::{
    Batch, BatchBy, BindingId, Contract, Expr, ExprKind, Kind, Limit, Model, Op, Part, Read,
    Return, StepKind, Through, Waiver, What,
};
use crate::types::Type;

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in model.bodies() {
        taken_for_all::check(model, contract, report);
        let lets = lets(contract);
        each_read(contract, |read, step| {
            let Some(binding) = read.binding else { return };
            match &read.what {
                What::Batch(batch) if batch.result().is_some() => {
                    for (span, waivers) in totals(contract, &lets, binding, false) {
                        report.raise(some(read, span, "those that a part points to"), waivers);
                    }
                }
                What::Batch(batch) => {
                    let uses = totals(contract, &lets, binding, true);
                    if let (Some(left_out), Some(_)) = (left_out(model, read, batch), uses.first())
                    {
                        report.raise(shards(batch, read, &left_out), &step.waivers);
                    }
                }
                What::Query(_) | What::Part(Part { one: false, .. }) => {
                    let query = contract.query_of(read).map(|(_, query)| query);
                    if let What::Query(query) = &read.what
                        && let Some(through) = &query.through
                        && let Some(declared) = left_over(model, read, through)
                    {
                        report.raise(some_shards(through, &declared), &step.waivers);
                    }
                    let many = match query.and_then(|query| query.limit.as_ref()) {
                        Some(Limit::First(many)) => format!("the first {many}"),
                        Some(Limit::Page { .. }) => "one page".to_owned(),
                        None => return,
                    };
                    for (span, waivers) in totals(contract, &lets, binding, false) {
                        report.raise(some(read, span, &many), waivers);
                    }
                    let most = query.and_then(|query| query.limit.as_ref()).map(most);
                    for (span, waivers) in judged(contract, &lets, binding, most) {
                        report.raise(some(read, span, &many), waivers);
                    }
                }
                What::Get(_) | What::Part(_) => {}
            }
        });
    }
}

/// The declared range of a batch's number, if the batch leaves out some of the range.
fn left_out(model: &Model, read: &Read, batch: &Batch) -> Option<(String, String)> {
    let BatchBy::Numbers { attribute: name, low: from, high: to } = &batch.by else {
        return None;
    };
    let attribute = model.entities[read.entity].attribute(name)?;
    let Type::Int { low: Some(low), high: Some(high) } = attribute.kind else { return None };
    (*from > low || *to < high).then(|| (format!("{low}..{high}"), format!("{from}..{to}")))
}

/// The declared range of the number that a query goes through, if the query leaves out some of the range.
fn left_over(model: &Model, read: &Read, through: &Through) -> Option<String> {
    read.entities().find_map(|entity| {
        let attribute = model.entities[entity].attribute(&through.attribute)?;
        match attribute.kind {
            Type::Int { low: Some(low), high: Some(high) } => {
                (through.low > low || through.high < high).then(|| format!("{low}..{high}"))
            }
            _ => Some("without bounds".to_owned()),
        }
    })
}

fn some_shards(through: &Through, declared: &str) -> Diagnostic {
    let Through { attribute, low, high, span } = through;
    let message = format!(
        "this list leaves out items: `{attribute}` is {declared}, and {low}..{high} is read"
    );
    Diagnostic::new(Rule::PartialList, *span, message)
        .why("a write may go to any of them: what the others hold is not listed")
        .help(format!("read all of them: `{attribute} in` the range that is declared"))
}

fn shards(batch: &Batch, read: &Read, (declared, read_range): &(String, String)) -> Diagnostic {
    let name = match &batch.by {
        BatchBy::Numbers { attribute, .. } => attribute.as_str(),
        BatchBy::Elements { .. } => "",
    };
    let message =
        format!("this total leaves out items: `{name}` is {declared}, and {read_range} is read");
    Diagnostic::new(Rule::PartialList, read.span, message)
        .why("a write may go to any of them: what the others hold is not counted")
        .help(format!("read `{name} in {declared}`"))
}

fn some(read: &Read, span: Span, many: &str) -> Diagnostic {
    let message = format!("this total is taken over {many} of the items, not over all");
    Diagnostic::new(Rule::PartialList, span, message)
        .other(read.span, "where there are more, the rest is not read")
        .why("the number is right while there are few items, and silently wrong after that")
        .help("keep the total in an item of its own, with `add` in the transaction that makes or removes one")
}

/// Where a total over a binding is shown, written or sent, and the waivers of that step. A total that is shown beside
/// the very items it counts is one of those items. What is decided by a total is not among them, unless asked for.
fn totals<'a>(
    contract: &'a Contract,
    lets: &Lets<'a>,
    binding: BindingId,
    everywhere: bool,
) -> Vec<(Span, &'a [Waiver])> {
    let mut found: Vec<(Span, &'a [Waiver])> = Vec::new();
    let mut look = |expr: &'a Expr, waivers: &'a [Waiver]| {
        each(lets, expr, &mut |part| {
            if let ExprKind::Count(id) | ExprKind::CountBy(id, ..) | ExprKind::Sum(id, _) =
                &part.kind
                && *id == binding
                && !found.iter().any(|(span, _)| *span == part.span)
            {
                found.push((part.span, waivers));
            }
        });
    };
    each_step(&contract.steps, &mut |step| match &step.kind {
        StepKind::Return(returned) if everywhere || !shows(contract, returned, binding) => {
            returned.with.iter().for_each(|given| look(&given.value, &step.waivers));
        }
        StepKind::Require(test, _) | StepKind::Match(test, _) | StepKind::When(test, ..)
            if everywhere =>
        {
            look(test, &step.waivers);
        }
        _ => {}
    });
    each_leg(contract, |leg, step| {
        let values = leg.key.iter().chain(&leg.values).chain(&leg.adds);
        values.for_each(|given| look(&given.value, &step.waivers));
    });
    each_send(contract, |send, step| {
        send.values.iter().for_each(|given| look(&given.value, &step.waivers));
    });
    found
}

/// The most items that a query answers.
fn most(limit: &Limit) -> u32 {
    match limit {
        Limit::First(count) | Limit::Page { max: count, .. } => *count,
    }
}

/// Where an answer that shows the items of a binding also says how a total of them compares. That there are as many as
/// were read, or fewer, is seen right.
fn judged<'a>(
    contract: &'a Contract,
    lets: &Lets<'a>,
    binding: BindingId,
    most: Option<u32>,
) -> Vec<(Span, &'a [Waiver])> {
    let is_seen = |side: &'a Expr| match (&plain(lets, side).kind, most) {
        (ExprKind::Number(number), Some(most)) => {
            number.to_i64().is_some_and(|number| number <= i64::from(most))
        }
        _ => false,
    };
    let is_total = |side: &'a Expr, counts: bool| {
        let mut found = false;
        each(lets, side, &mut |part| {
            found |= match &part.kind {
                ExprKind::Count(id) => counts && *id == binding,
                ExprKind::CountBy(id, ..) | ExprKind::Sum(id, _) => *id == binding,
                _ => false,
            };
        });
        found
    };
    let mut found = Vec::new();
    each_step(&contract.steps, &mut |step| {
        let StepKind::Return(returned) = &step.kind else { return };
        let shown = returned.with.iter().filter(|_| shows(contract, returned, binding));
        for given in shown {
            each(lets, &given.value, &mut |part| {
                let ExprKind::Binary(op, a, b) = &part.kind else { return };
                let compares = !matches!(op, Op::And | Op::Or);
                let judges = |one, other| is_total(one, !is_seen(other));
                if compares && part.of == Kind::Test && (judges(a, b) || judges(b, a)) {
                    found.push((part.span, &step.waivers[..]));
                }
            });
        }
    });
    found
}

/// Whether an answer has the items of a binding.
fn shows(contract: &Contract, returned: &Return, binding: BindingId) -> bool {
    let whole = contract.read_of(binding).and_then(|read| match &read.what {
        What::Part(part) => Some(part.of),
        What::Get(_) | What::Batch(_) | What::Query(_) => None,
    });
    let itself = |id: BindingId| id == binding || whole == Some(id);
    returned.binding.is_some_and(itself)
        || returned
            .with
            .iter()
            .any(|given| matches!(given.value.kind, ExprKind::Binding(id) if itself(id)))
}
