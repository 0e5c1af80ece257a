//! Mistakes in requests to the table.

use latchkey_language::Span;
use latchkey_language::ast::{
    Assign, BinaryOp, Clause, ClauseKind, Expr, ExprKind, Operation, Verb,
};

use super::Sites;
use crate::mutant::Operator;

impl Sites<'_> {
    pub(super) fn operation(&mut self, operation: &Operation) {
        self.assigns(&operation.key);
        if let Some(of) = &operation.of {
            for other in self.local.other_items(&of.node) {
                self.replace(Operator::OtherName, of.span, other);
            }
        }
        let reads = matches!(operation.verb.node, Verb::Get | Verb::Query);
        let has = |kind: fn(&ClauseKind) -> bool| operation.clauses.iter().any(|c| kind(&c.node));
        if reads
            && !has(|kind| matches!(kind, ClauseKind::Strong(_) | ClauseKind::Snapshot))
            && !has(|kind| matches!(kind, ClauseKind::By(_)))
        {
            let end = operation.of.as_ref().map_or(operation.target.span.end, |of| of.span.end);
            let end = operation.key.last().map_or(end, |key| key.value.span.end + 1);
            self.insert(Operator::Strong, end, " strong");
        }
        for clause in &operation.clauses {
            self.clause(operation, clause);
        }
    }

    fn clause(&mut self, operation: &Operation, clause: &Clause) {
        let span = clause.span;
        match &clause.node {
            ClauseKind::For(..) | ClauseKind::By(_) => {}
            ClauseKind::Strong(None) => self.drop(Operator::Eventual, span),
            ClauseKind::Strong(Some(test)) => {
                self.drop(Operator::Eventual, span);
                self.replace(Operator::Strong, span, "strong");
                self.test(test);
            }
            ClauseKind::Snapshot => {
                self.drop(Operator::Eventual, span);
                self.replace(Operator::Eventual, span, "strong");
            }
            ClauseKind::Through(_, bounds) => {
                for bound in [&bounds.low, &bounds.high].into_iter().flatten() {
                    self.number(&bound.node, bound.span);
                }
            }
            ClauseKind::Where(test) => self.range(test),
            ClauseKind::Order { descending, when } => {
                let (old, new) = match descending {
                    true => ("descending", "ascending"),
                    false => ("ascending", "descending"),
                };
                let other = self.source(span).replacen(old, new, 1);
                self.replace(Operator::OtherOrder, span, other);
                self.drop(Operator::OtherOrder, span);
                when.iter().for_each(|when| self.test(when));
            }
            ClauseKind::Page { size, max, .. } => {
                self.number(&size.node, size.span);
                max.iter().for_each(|max| self.number(&max.node, max.span));
            }
            ClauseKind::First(count) | ClauseKind::Reading(count) => {
                self.number(&count.node, count.span);
            }
            ClauseKind::Keep(test) => {
                self.drop(Operator::DropCondition, span);
                self.test(test);
            }
            ClauseKind::Fields(fields) => {
                self.parts(Operator::DropValue, fields, None);
                self.assigns(fields);
            }
            ClauseKind::Set(fields) | ClauseKind::Add(fields) => {
                self.parts(Operator::DropSet, fields, Some(span));
                self.assigns(fields);
                if matches!(clause.node, ClauseKind::Add(_)) {
                    self.signs(fields);
                }
            }
            ClauseKind::Remove(names) => {
                let spans: Vec<Span> = names.iter().map(|removed| removed.name.span).collect();
                for at in 0..spans.len() {
                    self.drop_one(Operator::DropSet, &spans, at, Some(span));
                }
            }
            ClauseKind::Replace => {
                let failing = if operation.otherwise.is_none() { " else retry" } else { "" };
                self.replace(Operator::IfAbsent, span, format!("if absent{failing}"));
            }
            ClauseKind::IfAbsent => self.if_absent(operation, span),
            ClauseKind::If(test) => {
                let unchanged = matches!(&test.node, ExprKind::Name(name) if name == "unchanged");
                let operator =
                    if unchanged { Operator::DropUnchanged } else { Operator::DropCondition };
                self.drop(operator, span);
                self.test(test);
            }
        }
    }

    /// `replace`, which cannot fail: the `else` goes too.
    fn if_absent(&mut self, operation: &Operation, span: Span) {
        let mut edits = vec![(span, "replace".to_owned())];
        edits.extend(operation.otherwise.as_ref().map(|other| (other.span, String::new())));
        if matches!(operation.verb.node, Verb::Put) {
            self.add(Operator::Replace, edits);
        }
    }

    /// Drops each of some attributes.
    fn parts(&mut self, operator: Operator, assigns: &[Assign], whole: Option<Span>) {
        let spans: Vec<Span> =
            assigns.iter().map(|assign| assign.name.span.to(assign.value.span)).collect();
        for (at, assign) in assigns.iter().enumerate() {
            let bump = matches!(&assign.value.node,
                ExprKind::Binary(left, op, _) if op.node == BinaryOp::Plus
                    && matches!(&left.node, ExprKind::Stored(name) if name.node == assign.name.node));
            let operator = if bump { Operator::DropBump } else { operator };
            self.drop_one(operator, &spans, at, whole);
        }
    }

    fn signs(&mut self, assigns: &[Assign]) {
        for assign in assigns {
            let source = self.source(assign.value.span);
            let other = match source.strip_prefix('-') {
                Some(positive) => positive.trim_start().to_owned(),
                None => format!("-{source}"),
            };
            if matches!(assign.value.node, ExprKind::Number(_)) || source.starts_with('-') {
                self.replace(Operator::OtherSign, assign.value.span, other);
            }
        }
    }

    /// A wider range: without the condition of the sort key, or with a shorter bound.
    fn range(&mut self, test: &Expr) {
        self.sides(Operator::WidenRange, test);
        self.bounds(test);
        self.inner(test);
    }

    fn bounds(&mut self, test: &Expr) {
        match &test.node {
            ExprKind::Binary(left, _, right) => {
                self.bounds(left);
                self.bounds(right);
            }
            ExprKind::BeginsWith(_, bound) => self.shorter(bound),
            ExprKind::Between(key, low, high) => {
                self.shorter(low);
                let (key, low, high) =
                    (self.source(key.span), self.source(low.span), self.source(high.span));
                self.replace(Operator::WidenRange, test.span, format!("{key} >= {low}"));
                self.replace(Operator::WidenRange, test.span, format!("{key} <= {high}"));
            }
            _ => {}
        }
    }

    /// A text without its last hole, or without its last letters.
    fn shorter(&mut self, bound: &Expr) {
        let source = self.source(bound.span);
        let Some(inner) = source.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
            return;
        };
        let cut = match inner.rfind('{') {
            Some(hole) => hole,
            None => inner.len() / 2,
        };
        if let Some(kept) = inner.get(..cut).filter(|kept| !kept.is_empty()) {
            self.replace(Operator::WidenRange, bound.span, format!("\"{kept}\""));
        }
    }
}
