//! `eventual-decision`: a decision on a read that may be out of date.

use latchkey_language::{Diagnostic, Rule, Span};

use super::flow::lets;
use super::truth::{Lets, each};
use super::{Report, each_leg, each_send, each_step};
use crate::model::{
    BindingId, By, Contract, Expr, ExprKind, Kind, Model, Read, Step, StepKind, Strong, Waiver,
    What,
};

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in model.bodies() {
        let mut reads: Vec<&Read> = Vec::new();
        each_step(&contract.steps, &mut |step| {
            if let StepKind::Read(read) = &step.kind
                && !matches!(read.strong, Strong::Yes)
            {
                reads.push(read);
            }
        });
        for read in reads {
            if let Some(binding) = read.binding {
                decisions(contract, &lets(contract), read, binding, report);
            }
        }
    }
}

fn decisions<'a>(
    contract: &'a Contract,
    lets: &Lets<'a>,
    read: &'a Read,
    binding: BindingId,
    report: &mut Report,
) {
    let excused = only_shown(contract, lets, binding);
    let doubtful = doubtful(contract, lets, binding);
    let uses = |expr: &'a Expr| uses(lets, expr, &doubtful);
    each_step(&contract.steps, &mut |step| {
        let test = match &step.kind {
            StepKind::Allow(_) if excused => return,
            StepKind::When(test, ..) if only_counted(contract, lets, binding, test) => return,
            StepKind::Allow(test)
            | StepKind::Require(test, _)
            | StepKind::Match(test, _)
            | StepKind::When(test, _, _) => test,
            StepKind::Each(each) => &each.over,
            _ => return,
        };
        if let Some(span) = uses(test) {
            let message = "a decision rests on a read that may be out of date";
            raise(contract, read, span, message, &step.waivers, report);
        }
    });
    each_leg(contract, |leg, step: &Step| {
        let values = leg.key.iter().chain(&leg.values).chain(&leg.adds).map(|given| &given.value);
        let used = values.chain(&leg.condition).find_map(uses);
        let named = [leg.of, leg.target].iter().flatten().any(|id| doubtful.contains(id));
        let used = used.or_else(|| named.then_some(leg.span));
        if let Some(span) = used {
            let message = "a write rests on a read that may be out of date";
            raise(contract, read, span, message, &step.waivers, report);
        }
    });
    each_send(contract, |send, step| {
        let values = send.values.iter().chain(&send.record).map(|given| &given.value);
        if let Some(span) = values.chain(&send.at).find_map(uses) {
            let message = "a message rests on a read that may be out of date";
            raise(contract, read, span, message, &step.waivers, report);
        }
    });
}

/// Whether the contract writes nothing.
fn only_reads(contract: &Contract) -> bool {
    let mut reads = true;
    each_step(&contract.steps, &mut |step| {
        reads &= !matches!(step.kind, StepKind::Write(_) | StepKind::Transact(_));
    });
    reads
}

/// Whether the contract writes nothing and returns just that item.
fn only_shown<'a>(contract: &'a Contract, lets: &Lets<'a>, binding: BindingId) -> bool {
    let mut shown = only_reads(contract);
    each_step(&contract.steps, &mut |step| {
        if let StepKind::Return(returned) = &step.kind {
            shown &= returned.binding == Some(binding);
            for given in &returned.with {
                each(lets, &given.value, &mut |part| {
                    shown &= !matches!(&part.kind, ExprKind::Attribute(id, _) if *id != binding)
                        && !matches!(part.of, Kind::Page(_));
                });
            }
        }
    });
    shown
}

/// Whether a test asks for no more of a list than how many items it has, in a contract that writes nothing and shows
/// the list in every answer behind the read. So the answer tells the same list that the test saw.
fn only_counted<'a>(
    contract: &'a Contract,
    lets: &Lets<'a>,
    binding: BindingId,
    test: &'a Expr,
) -> bool {
    let mut counted = only_reads(contract);
    each(lets, test, &mut |part| {
        counted &= !matches!(&part.kind,
            ExprKind::Attribute(id, _)
            | ExprKind::Binding(id)
            | ExprKind::CountBy(id, ..)
            | ExprKind::Sum(id, _)
                if *id == binding);
    });
    let mut read = false;
    each_step(&contract.steps, &mut |step| match &step.kind {
        StepKind::Read(other) => read |= other.binding == Some(binding),
        StepKind::Return(returned) if read => {
            let is_list = |expr: &Expr| matches!(expr.kind, ExprKind::Binding(id) if id == binding);
            counted &= returned.binding == Some(binding)
                || returned.with.iter().any(|given| is_list(&given.value));
        }
        _ => {}
    });
    counted
}

/// The bindings that are in doubt with a read: its own, and those of the items it said to read. (What such a read
/// shows is the stored one; but the decision to write that item may rest on an old read.)
fn doubtful<'a>(contract: &'a Contract, lets: &Lets<'a>, binding: BindingId) -> Vec<BindingId> {
    let mut all = vec![binding];
    if only_reads(contract) {
        return all;
    }
    each_step(&contract.steps, &mut |step| {
        if let StepKind::Each(each) = &step.kind {
            all.extend(uses(lets, &each.over, &all).map(|_| each.element));
            return;
        }
        let StepKind::Read(read) = &step.kind else { return };
        let rests = match &read.what {
            What::Get(key) => key.iter().any(|given| uses(lets, &given.value, &all).is_some()),
            What::Batch(batch) => batch.values().any(|value| uses(lets, value, &all).is_some()),
            What::Query(query) => query.deciding().any(|value| uses(lets, value, &all).is_some()),
            // As strong as what it is a part of, so that it is looked at itself.
            What::Part(_) => false,
        };
        all.extend(read.binding.filter(|_| rests));
    });
    all
}

fn uses<'a>(lets: &Lets<'a>, expr: &'a Expr, bindings: &[BindingId]) -> Option<Span> {
    let mut found = None;
    each(lets, expr, &mut |part| {
        let names = matches!(&part.kind,
            ExprKind::Attribute(id, _)
            | ExprKind::Binding(id)
            | ExprKind::Count(id)
            | ExprKind::CountBy(id, ..)
            | ExprKind::Sum(id, _)
                if bindings.contains(id));
        if names && found.is_none() {
            found = Some(part.span);
        }
    });
    found
}

fn raise(
    contract: &Contract,
    read: &Read,
    span: Span,
    message: &str,
    waivers: &[Waiver],
    report: &mut Report,
) {
    let by_index = contract.query_of(read).is_some_and(|(_, query)| query.by != By::Table);
    let help = match (by_index, only_reads(contract)) {
        (false, _) if matches!(read.what, What::Part(_)) => {
            "write `strong` in the query that it is a part of"
        }
        (false, _) => "write `strong` behind the read",
        (true, true) => {
            "a query by an index is never strong: `get` the item it found, `strong`, and decide on that"
        }
        (true, false) => {
            "a query by an index is never strong: find the item by its key with `get … strong`, such as a key that \
             the caller names"
        }
    };
    let diagnostic = Diagnostic::new(Rule::EventualDecision, span, message)
        .other(read.span, "read here, and perhaps a moment behind")
        .why("a right that was taken away, or a state that has passed, would still count")
        .help(help);
    report.raise(diagnostic, waivers);
}
