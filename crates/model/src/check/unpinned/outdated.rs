//! What follows a send and rests on what was known when it was sent.

use latchkey_language::{Diagnostic, Rule, Span};

use super::{Changes, Fact, culprits};
use crate::check::each_step;
use crate::check::flow::lets;
use crate::check::truth::each;
use crate::model::{Contract, Expr, ExprKind, Model, Send, StepKind, What};

/// What follows a send and rests on what was known then: by the time it runs, that may have changed.
pub(super) fn tell(
    model: &Model,
    contract: &Contract,
    changes: &Changes<'_>,
    send: &Send,
) -> Vec<Diagnostic> {
    let mut told = Vec::new();
    let lets = lets(contract);
    for kept in &send.record {
        // A value with a name is made of what was read then, as one without is.
        let mut facts = Vec::new();
        each(&lets, &kept.value, &mut |part| {
            if let ExprKind::Attribute(binding, name) = &part.kind {
                facts.push((*binding, name.as_str()));
            }
        });
        let loose = facts.into_iter().find_map(|(binding, name)| {
            let culprits = culprits(model, contract, changes, &Fact::Attribute(binding, name));
            culprits.first().map(|culprit| (name, *culprit))
        });
        let blocks = [&send.accepted, &send.refused].into_iter().flatten();
        let mut uses = blocks.filter_map(|block| relies_on(block, &kept.attribute));
        if let (Some((name, culprit)), Some(span)) = (loose, uses.next()) {
            let shown = &kept.attribute;
            let message = format!(
                "what follows this send rests on `{shown}` as it was then, which may no longer hold"
            );
            let diagnostic = Diagnostic::new(Rule::Unpinned, send.span, message)
                .other(span, "relied on here")
                .why(format!(
                    "by the time the queue has answered, `{}` may have changed `{name}`",
                    culprit.id
                ))
                .help("`get` the item again there, and write `if unchanged`");
            told.push(diagnostic);
        }
    }
    told
}

/// Where a block relies on what was kept for it, other than by insisting on it.
fn relies_on(block: &Contract, kept: &str) -> Option<Span> {
    let input = block.inputs.position(|input| input.name == kept)?;
    let mut found = None;
    let mut look = |expr: &Expr| {
        expr.walk(&mut |part| {
            if matches!(part.kind, ExprKind::Input(other) if other == input) {
                found = found.or(Some(part.span));
            }
        });
    };
    each_step(&block.steps, &mut |step| match &step.kind {
        StepKind::Require(test, _) | StepKind::When(test, ..) | StepKind::Let(_, test) => {
            look(test)
        }
        StepKind::Read(read) => match &read.what {
            What::Get(key) => key.iter().for_each(|given| look(&given.value)),
            What::Batch(batch) => batch.values().for_each(&mut look),
            What::Query(query) => query.deciding().for_each(&mut look),
            What::Part(_) => {}
        },
        StepKind::Write(leg) => {
            let given = leg.key.iter().chain(&leg.values).chain(&leg.adds);
            given.for_each(|given| look(&given.value));
        }
        StepKind::Send(send) => {
            send.values.iter().map(|given| &given.value).chain(&send.at).for_each(&mut look);
        }
        _ => {}
    });
    found
}
