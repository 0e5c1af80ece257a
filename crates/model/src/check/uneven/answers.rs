//! Answers that show one attribute fewer than others of the same thing, or that do not say that something was made.

use std::collections::BTreeSet;

use latchkey_language::{Diagnostic, Rule, Span};

use super::{FEW, SEVERAL, odd_one};
use crate::check::{Report, each_leg, each_step};
use crate::model::{
    Contract, EntityId, Expr, ExprKind, Kind, Model, Op, PutMode, Return, Step, StepKind,
};

pub(super) fn check(model: &Model, report: &mut Report) {
    let all = answers(model);
    for one in &all {
        if let Some(diagnostic) = one.lacks(&all) {
            report.raise(diagnostic, &one.step.waivers);
        }
    }
    let made = all.iter().filter(|one| one.makes());
    let made = made.map(|one| (one.step.span, one.answer.status == CREATED, one));
    let Some(odd) = odd_one(made, SEVERAL) else { return };
    let Some(one) = odd.odd.first().filter(|one| one.answer.status == OK) else { return };
    let message = format!("this answers {OK}, and an item was made");
    let diagnostic = Diagnostic::new(Rule::Uneven, one.step.span, message)
        .other(odd.other, format!("{CREATED} here, as in all others"))
        .why(format!(
            "all {} other answers with an item that the call has made say {CREATED}, so a client looks for it",
            odd.count
        ))
        .help(format!("write `return {CREATED} …`"));
    report.raise(diagnostic, &one.step.waivers);
}

const OK: u16 = 200;
const CREATED: u16 = 201;

/// An answer with an item, or a page of them.
struct Answer<'a> {
    contract: &'a Contract,
    step: &'a Step,
    answer: &'a Return,
    entity: EntityId,
    is_page: bool,
    fields: BTreeSet<&'a str>,
}

fn answers(model: &Model) -> Vec<Answer<'_>> {
    let mut all = Vec::new();
    for contract in &model.contracts {
        each_step(&contract.steps, &mut |step| {
            let StepKind::Return(answer) = &step.kind else { return };
            let Some(binding) = answer.binding else { return };
            let kind = &contract.bindings[binding].kind;
            let Some(entity) = kind.entity() else { return };
            let is_page = matches!(kind, Kind::Page(_));
            let fields = answer.fields.iter().map(String::as_str).collect();
            all.push(Answer { contract, step, answer, entity, is_page, fields });
        });
    }
    all
}

impl<'a> Answer<'a> {
    /// Whether the item is one that the call has made.
    fn makes(&self) -> bool {
        let mut makes = false;
        each_leg(self.contract, |leg, _| {
            let once = leg.put == Some(PutMode::IfAbsent);
            makes |= once && leg.result.is_some() && leg.result == self.answer.binding;
        });
        makes
    }

    /// The one attribute that others show and this one does not.
    fn lacks(&self, all: &[Answer<'a>]) -> Option<Diagnostic> {
        let others = || all.iter().filter(|other| other.entity == self.entity && !other.is(self));
        // Two that show the same are meant to.
        if self.fields.is_empty() || others().any(|other| other.fields == self.fields) {
            return None;
        }
        let fuller = others().find(|other| {
            other.fields.len() == self.fields.len() + 1 && self.fields.is_subset(&other.fields)
        })?;
        let lacking = *fuller.fields.difference(&self.fields).next()?;
        let alike: Vec<_> = others().filter(|other| other.fields == fuller.fields).collect();
        let places: BTreeSet<Span> = alike.iter().map(|other| other.step.span).collect();
        let is_given = self.answer.with.iter().any(|given| given.attribute == lacking);
        // A list may leave out what is long, and a stranger is not shown everything.
        let is_short = self.is_page && !alike.iter().any(|other| other.is_page);
        let is_shown = alike.iter().any(|other| other.is_shown_to(self));
        let few = places.len() < FEW || fuller.fields.len() < SEVERAL;
        if few || is_given || is_short || !is_shown {
            return None;
        }
        let message = format!("this answer leaves out `{lacking}`");
        Some(
            Diagnostic::new(Rule::Uneven, self.step.span, message)
                .other(fuller.step.span, "shown here")
                .why(format!(
                    "{} other answers show the same attributes and `{lacking}`, also to callers of this contract",
                    places.len()
                ))
                .help(format!("add `{lacking}` to the list")),
        )
    }

    fn is(&self, other: &Answer<'_>) -> bool {
        self.step.span == other.step.span
    }

    /// Whether those who get another answer may get this one, too.
    fn is_shown_to(&self, other: &Answer<'_>) -> bool {
        let (here, there) = (allows(self.contract), allows(other.contract));
        std::ptr::eq(self.contract, other.contract)
            || here.iter().all(|test| there.iter().any(|theirs| admits(test, theirs)))
    }
}

/// What the `allow`s of a contract ask.
pub(super) fn allows(contract: &Contract) -> Vec<&Expr> {
    let mut allows = Vec::new();
    each_step(&contract.steps, &mut |step| {
        if let StepKind::Allow(test) = &step.kind {
            allows.push(test);
        }
    });
    allows
}

/// Whether a test of the caller holds wherever another does.
fn admits(test: &Expr, other: &Expr) -> bool {
    match (&test.kind, &other.kind) {
        (ExprKind::Bool(true), _) => true,
        (ExprKind::HasRole(a), ExprKind::HasRole(b)) => a == b,
        (ExprKind::Binary(Op::Or, a, b), _) => admits(a, other) || admits(b, other),
        _ => false,
    }
}
