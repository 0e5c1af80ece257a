//! Filters: `keep CONDITION reading N`. The store tests each item that a query reads, and drops the others.

use latchkey_language::ast::{self, ClauseKind};
use latchkey_language::{Diagnostic, Rule, Span};

use super::collection::Specialised;
use super::scope::{Scope, unknown};
use super::{Lowering, stored};
use crate::model::{EntityId, Expr, ExprKind, Keep, Limit, Query, Trigger};

impl Lowering {
    /// The condition by which a query keeps items, and how many it may read to find them.
    pub(super) fn kept(
        &mut self,
        operation: &ast::Operation,
        entities: &[EntityId],
        query: &mut Query,
        scope: &mut Scope,
    ) {
        let mut bound = None;
        for clause in &operation.clauses {
            match &clause.node {
                ClauseKind::Keep(test) => {
                    self.keeps_for_a_call(clause.span, scope);
                    let tests = self.kept_of_each(test, entities, query, scope);
                    query.keep = Some(Keep { tests, span: test.span });
                }
                ClauseKind::Reading(count) => {
                    bound = Some(clause.span);
                    query.reading = self.items(count);
                }
                _ => {}
            }
        }
        if query.scans() {
            self.scans_pages(operation, entities, query, scope);
        } else if let Some(span) =
            bound.filter(|_| query.keep.is_none() && !self.any_ends(entities))
        {
            let message = "this query reads what it answers, and nothing else";
            let help = "leave `reading` out; it bounds a filter, `keep .x == …`, a scan of an index, and a query of \
                        items that end";
            self.report(Diagnostic::new(Rule::Name, span, message).help(help));
        }
    }

    /// Whether items of one of some entities end: a query passes over those that have.
    fn any_ends(&self, entities: &[EntityId]) -> bool {
        entities.iter().any(|id| self.model.entities[*id].expires.is_some())
    }

    /// Refuses what a scan of an index cannot do. It has no order that all backends share, so it has no first items.
    fn scans_pages(
        &mut self,
        operation: &ast::Operation,
        entities: &[EntityId],
        query: &Query,
        scope: &Scope,
    ) {
        let ordered = operation
            .clauses
            .iter()
            .find(|clause| matches!(clause.node, ClauseKind::Order { .. } | ClauseKind::Strong(_)));
        let (span, message, help) = if scope.trigger == Trigger::Invariant {
            let message = "an invariant does not scan";
            (operation.target.span, message, "begin the query with `where PK = \"…\"`")
        } else if let Some(clause) = ordered {
            let message = "a scan of an index has no order, and is never strong";
            (clause.span, message, "leave this out, or begin the query with `where PK = \"…\"`")
        } else if matches!(query.limit, Some(Limit::First(_))) {
            let message = "a scan of an index has no first items";
            (operation.target.span, message, "read it page by page: `page 25`")
        } else if entities.len() > 1 {
            let message = "a scan of an index is of one entity";
            (operation.target.span, message, "query one entity")
        } else {
            return;
        };
        self.report(Diagnostic::new(Rule::Name, span, message).help(help));
    }

    /// Refuses a filter where a part would be taken for all.
    fn keeps_for_a_call(&mut self, span: Span, scope: &Scope) {
        if scope.trigger == Trigger::Invariant {
            let message = "an invariant looks at all that a query finds";
            let help = "test the items in the condition";
            self.report(Diagnostic::new(Rule::Name, span, message).help(help));
        }
    }

    /// What a filter asks of the items of each entity. Each has its own types, and lacks what it does not declare.
    fn kept_of_each(
        &mut self,
        written: &ast::Expr,
        entities: &[EntityId],
        query: &Query,
        scope: &mut Scope,
    ) -> Vec<(EntityId, Option<Expr>)> {
        let mut tests = Vec::new();
        let before = self.diagnostics.len();
        for entity in entities {
            let told = self.diagnostics.len();
            let test = match self.specialised(written, *entity, entities) {
                Specialised::Kept => None,
                Specialised::Unknown => Some(unknown(written.span)),
                Specialised::Asked(written) => {
                    let outer = scope.stored.replace(*entity);
                    let test = self.test(&written, scope);
                    scope.stored = outer;
                    self.diagnostics.extend(stored::condition(&test));
                    self.asks_no_key(&test, query);
                    self.guesses_no_secret(&test, *entity);
                    Some(test)
                }
            };
            // What is wrong for one entity is mostly wrong for all, and said once: a name that none has, too.
            for found in self.diagnostics.split_off(told) {
                let is_said = |known: &Diagnostic| {
                    let unknown = found.rule == Rule::Name && known.rule == Rule::Name;
                    *known == found || (unknown && known.span == found.span)
                };
                if !self.diagnostics.iter().skip(before).any(is_said) {
                    self.diagnostics.push(found);
                }
            }
            tests.push((*entity, test));
        }
        self.asks_the_store(written.span, tests.iter().filter_map(|(_, test)| test.as_ref()));
        tests
    }

    /// Refuses a filter that asks nothing of the items, or asks what was read of them before.
    fn asks_the_store<'e>(&mut self, span: Span, tests: impl Iterator<Item = &'e Expr>) {
        let (mut unchanged, mut known, mut asks) = (None, true, false);
        for test in tests {
            test.walk(&mut |part| match part.kind {
                ExprKind::Unchanged => unchanged = Some(part.span),
                ExprKind::Unknown => known = false,
                _ => {}
            });
            asks |= stored::mentions(test);
        }
        if let Some(span) = unchanged {
            let message = "nothing was read that could be unchanged";
            let help = "name what is stored: `keep .state == OPEN`";
            self.report(Diagnostic::new(Rule::Type, span, message).help(help));
        } else if !asks && known {
            let message = "this filter asks nothing of the items";
            let help = "name what is stored: `keep .state == OPEN`; or write `when`";
            self.report(Diagnostic::new(Rule::Type, span, message).help(help));
        }
    }

    /// Refuses a filter on a key by which the query reads: DynamoDB does.
    fn asks_no_key(&mut self, test: &Expr, query: &Query) {
        let Some(names) = self.model.key_names(query.by) else { return };
        let mut asked = None;
        test.walk(&mut |part| {
            if let ExprKind::Stored(name) = &part.kind
                && names.iter().any(|key| key.name == *name)
            {
                asked = Some((name.clone(), part.span));
            }
        });
        if let Some((name, span)) = asked {
            let message = format!("`{name}` is a key of this query, and no filter can test it");
            let help = "put the condition into the `where`";
            self.report(Diagnostic::new(Rule::Type, span, message).help(help));
        }
    }
}
