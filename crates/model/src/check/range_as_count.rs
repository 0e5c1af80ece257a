//! `range-as-count`: a decision by the number or the sum of items of which only a part was read.
//!
//! How many items a page has is the caller's choice. `first N` reads no more than N: a comparison with a number that
//! N items cannot reach comes out the same however many there are. That the range holds still is what `unpinned` asks.

use std::collections::HashMap;

use latchkey_language::{Diagnostic, Rule, Span};

use super::flow::lets;
use super::truth::{Lets, each, plain, turned};
use super::{Report, each_read, each_step};
use crate::model::{
    BindingId, By, Contract, Expr, ExprKind, Kind, Limit, Model, Op, Query, Range, Step, StepKind,
    What,
};
use crate::types::Type;

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in model.bodies() {
        let parts = parts(contract);
        if !parts.is_empty() {
            let decisions = Decisions { model, contract, lets: lets(contract), parts };
            each_step(&contract.steps, &mut |step| decisions.step(step, report));
        }
    }
}

/// What was read of a range that may hold more.
#[derive(Clone, Copy)]
enum Part {
    Page,
    First(u32),
    /// A part of what a query of several entities has found.
    Shared,
}

/// The bindings of a contract that hold a part of a range, and where they are read.
fn parts(contract: &Contract) -> HashMap<BindingId, (Part, Span)> {
    let mut parts: HashMap<BindingId, (Part, Span)> = HashMap::new();
    each_read(contract, |read, _| {
        // As many as the part that points to them.
        if let (Some(binding), What::Batch(batch)) = (read.binding, &read.what) {
            let source = batch.result().and_then(|(result, _)| parts.get(&result).copied());
            parts.extend(source.map(|part| (binding, part)));
            return;
        }
        let Some((binding, (whole, query))) = read.binding.zip(contract.query_of(read)) else {
            return;
        };
        let part = match &query.limit {
            Some(Limit::Page { .. }) => Part::Page,
            Some(Limit::First(_)) if !whole.also.is_empty() => match &read.what {
                What::Part(crate::model::Part { sure: Some(count), .. }) => Part::First(*count),
                _ => Part::Shared,
            },
            Some(Limit::First(count)) if !is_one_item(query) => Part::First(*count),
            Some(Limit::First(_)) | None => return,
        };
        parts.insert(binding, (part, read.span));
    });
    parts
}

fn is_one_item(query: &Query) -> bool {
    query.by == By::Table && query.through.is_none() && matches!(query.range, Range::Equal(_))
}

struct Decisions<'a> {
    model: &'a Model,
    contract: &'a Contract,
    lets: Lets<'a>,
    parts: HashMap<BindingId, (Part, Span)>,
}

impl<'a> Decisions<'a> {
    fn step(&self, step: &'a Step, report: &mut Report) {
        let found = match &step.kind {
            StepKind::Allow(test)
            | StepKind::Require(test, _)
            | StepKind::Match(test, _)
            | StepKind::When(test, ..) => self.test(test),
            // What is written decides for those who read it.
            StepKind::Write(leg) => {
                let given = leg.key.iter().chain(&leg.values).chain(&leg.adds);
                let values = given.map(|given| &given.value).chain(&leg.condition);
                values.filter_map(|value| self.of_page(value)).next()
            }
            StepKind::Send(send) => {
                let values = send.values.iter().map(|given| &given.value).chain(&send.at);
                values.filter_map(|value| self.of_page(value)).next()
            }
            StepKind::Let(..)
            | StepKind::Read(_)
            | StepKind::Transact(_)
            | StepKind::Each(_)
            | StepKind::Return(_)
            | StepKind::End(_) => None,
        };
        if let Some(diagnostic) = found {
            report.raise(diagnostic, &step.waivers);
        }
    }

    /// A test that takes a part for all.
    fn test(&self, test: &'a Expr) -> Option<Diagnostic> {
        if let Some(page) = self.of_page(test) {
            return Some(page);
        }
        let mut found = None;
        each(&self.lets, test, &mut |part| {
            found = found.take().or_else(|| match &part.kind {
                ExprKind::Binary(op, a, b) => self.comparison(*op, a, b),
                ExprKind::Between(thing, low, high) => self
                    .comparison(Op::GreaterOrEqual, thing, low)
                    .or_else(|| self.comparison(Op::LessOrEqual, thing, high)),
                ExprKind::In(thing, values) => {
                    values.iter().find_map(|value| self.comparison(Op::Equal, thing, value))
                }
                _ => None,
            });
        });
        found
    }

    /// A comparison that ignores the items beyond the first N, though they should count.
    fn comparison(&self, op: Op, a: &'a Expr, b: &'a Expr) -> Option<Diagnostic> {
        let (Op::Equal
        | Op::NotEqual
        | Op::Less
        | Op::LessOrEqual
        | Op::Greater
        | Op::GreaterOrEqual) = op
        else {
            return None;
        };
        let ((binding, count), op, all, limit) = match (self.first_of(a), self.first_of(b)) {
            (Some(found), _) => (found, op, a, b),
            (None, Some(found)) => (found, turned(op), b, a),
            (None, None) => return None,
        };
        let reached = self.least(all, Some(binding));
        let most = self.greatest(limit);
        let exact = matches!(op, Op::Less | Op::GreaterOrEqual);
        let enough = match (reached, most) {
            (Some(reached), Some(most)) => reached > most || (exact && reached == most),
            _ => false,
        };
        if enough {
            return None;
        }
        let name = &self.contract.bindings[binding].name;
        let message = format!("this decides by `{name}`, which has at most {count} of the items");
        let help = match (most, &plain(&self.lets, all).kind) {
            (Some(most), ExprKind::Count(_)) => {
                let needed = if exact { most } else { most.saturating_add(1) };
                format!("write `first {needed}` or more in the query")
            }
            _ => "read more than the limit can be; or keep the number in an item, and count it up and down with each \
                  write"
                .to_owned(),
        };
        let why = "items beyond those are not seen, so the limit may be passed and nothing notices";
        Some(self.tell(binding, all.span, message, why, help))
    }

    /// A number or a sum of a page, in an expression.
    fn of_page(&self, expr: &'a Expr) -> Option<Diagnostic> {
        let mut found = None;
        each(&self.lets, expr, &mut |part| {
            let binding = match &part.kind {
                ExprKind::Count(binding)
                | ExprKind::CountBy(binding, ..)
                | ExprKind::Sum(binding, _) => *binding,
                _ => return,
            };
            if matches!(self.parts.get(&binding), Some((Part::Page | Part::Shared, _))) {
                found = found.or(Some((binding, part.span)));
            }
        });
        let (binding, span) = found?;
        let name = &self.contract.bindings[binding].name;
        let shared = matches!(self.parts.get(&binding), Some((Part::Shared, _)));
        let (message, why, help) = match shared {
            false => (
                format!("this decides by `{name}`, which is a page"),
                "the caller chooses how many items a page has, and at which one it begins",
                "read the items with `first N`, or keep their number in an item of its own",
            ),
            true => (
                format!("this decides by `{name}`, which shares its places with other entities"),
                "items of the others may come in their place, and what is left out is not counted",
                "query this entity alone, or keep the number of its items in an item of its own",
            ),
        };
        Some(self.tell(binding, span, message, why, help.to_owned()))
    }

    fn tell(
        &self,
        binding: BindingId,
        span: Span,
        message: String,
        why: &str,
        help: String,
    ) -> Diagnostic {
        let read = self.parts.get(&binding).map(|(_, span)| *span);
        let diagnostic = Diagnostic::new(Rule::RangeAsCount, span, message).why(why).help(help);
        match read {
            Some(read) => diagnostic.other(read, "read here"),
            None => diagnostic,
        }
    }

    /// The first of the counts and sums in an expression that are of `first N`.
    fn first_of(&self, expr: &'a Expr) -> Option<(BindingId, u32)> {
        let mut found = None;
        each(&self.lets, expr, &mut |part| {
            if let ExprKind::Count(binding) | ExprKind::Sum(binding, _) = &part.kind
                && let Some((Part::First(count), _)) = self.parts.get(binding)
            {
                found = found.or(Some((*binding, *count)));
            }
        });
        found
    }

    /// The least a number can be; if a binding is given, where that has as many items as it reads at most.
    fn least(&self, expr: &'a Expr, full: Option<BindingId>) -> Option<i64> {
        let expr = plain(&self.lets, expr);
        match &expr.kind {
            ExprKind::Number(number) => number.to_i64(),
            ExprKind::Count(binding) | ExprKind::Sum(binding, _) if full == Some(*binding) => {
                let Some((Part::First(count), _)) = self.parts.get(binding) else { return None };
                let each = match &expr.kind {
                    ExprKind::Sum(_, name) => self.least_of(*binding, name)?,
                    _ => 1,
                };
                i64::from(*count).checked_mul(each)
            }
            ExprKind::Count(_) => Some(0),
            ExprKind::Binary(Op::Plus, a, b) => {
                self.least(a, full)?.checked_add(self.least(b, full)?)
            }
            ExprKind::Binary(Op::Minus, a, b) => {
                self.least(a, full)?.checked_sub(self.greatest(b)?)
            }
            _ => match &expr.of {
                Kind::Value(Type::Int { low, .. }) => *low,
                Kind::Value(Type::Counter) => Some(1),
                _ => None,
            },
        }
    }

    /// The least an attribute of an item can be, if the item has it for sure.
    fn least_of(&self, binding: BindingId, name: &str) -> Option<i64> {
        let entity = self.contract.bindings[binding].kind.entity()?;
        let attribute = self.model.entities[entity].attribute(name)?;
        match attribute.kind {
            Type::Int { low: Some(low), .. } if !attribute.optional && low > 0 => Some(low),
            _ => None,
        }
    }

    fn greatest(&self, expr: &'a Expr) -> Option<i64> {
        let expr = plain(&self.lets, expr);
        match &expr.kind {
            ExprKind::Number(number) => number.to_i64(),
            ExprKind::Binary(Op::Plus, a, b) => self.greatest(a)?.checked_add(self.greatest(b)?),
            ExprKind::Binary(Op::Minus, a, b) => {
                self.greatest(a)?.checked_sub(self.least(b, None)?)
            }
            _ => match &expr.of {
                Kind::Value(Type::Int { high, .. }) => *high,
                _ => None,
            },
        }
    }
}
