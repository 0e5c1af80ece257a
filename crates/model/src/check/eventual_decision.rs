//! `eventual-decision`: a decision on a read that may be out of date.

use latchkey_language::{Diagnostic, Span};

use super::{Report, each_leg, each_step};
use crate::model::{Contract, Expr, ExprKind, Model, Read, Step, StepKind, Strong, Waiver};

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in &model.contracts {
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
                decisions(contract, read, binding, report);
            }
        }
    }
}

fn decisions(contract: &Contract, read: &Read, binding: usize, report: &mut Report) {
    let excused = only_shown(contract, binding);
    each_step(&contract.steps, &mut |step| {
        let test = match &step.kind {
            StepKind::Allow(_) if excused => return,
            StepKind::Allow(test)
            | StepKind::Require(test, _)
            | StepKind::Match(test, _)
            | StepKind::When(test, _, _) => test,
            _ => return,
        };
        if let Some(span) = uses(test, binding) {
            raise(
                read,
                span,
                "a decision rests on a read that may be out of date",
                &step.waivers,
                report,
            );
        }
    });
    each_leg(contract, |leg, step: &Step| {
        let values = leg.key.iter().chain(&leg.values).map(|given| &given.value);
        let used = values.chain(&leg.condition).find_map(|value| uses(value, binding));
        let used = used.or_else(|| (leg.of == Some(binding)).then_some(leg.span));
        if let Some(span) = used {
            raise(
                read,
                span,
                "a write rests on a read that may be out of date",
                &step.waivers,
                report,
            );
        }
    });
}

/// Whether the contract writes nothing and returns just that item.
fn only_shown(contract: &Contract, binding: usize) -> bool {
    let mut shown = true;
    each_step(&contract.steps, &mut |step| match &step.kind {
        StepKind::Write(_) | StepKind::Transact(_) => shown = false,
        StepKind::Return(returned) => shown &= returned.binding == Some(binding),
        _ => {}
    });
    shown
}

fn uses(expr: &Expr, binding: usize) -> Option<Span> {
    let mut found = None;
    expr.walk(&mut |part| {
        let names = matches!(&part.kind,
            ExprKind::Attribute(id, _) | ExprKind::Binding(id) if *id == binding);
        if names && found.is_none() {
            found = Some(part.span);
        }
    });
    found
}

fn raise(read: &Read, span: Span, message: &str, waivers: &[Waiver], report: &mut Report) {
    let diagnostic = Diagnostic::new("eventual-decision", span, message)
        .other(read.span, "read here, and perhaps a moment behind")
        .why("a right that was taken away, or a state that has passed, would still count")
        .help("write `strong` behind the read");
    report.raise(diagnostic, waivers);
}
