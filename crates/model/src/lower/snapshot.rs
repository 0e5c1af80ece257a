//! `snapshot { … }`: gets that are read at one instant.

use latchkey_language::ast::{self, ClauseKind, Statement, StatementKind};
use latchkey_language::{Diagnostic, Rule, Span};

use super::Lowering;
use super::scope::Scope;
use crate::model::{BindingId, Expr, ExprKind, Facts, Read, Step, StepKind, What};

impl Lowering {
    /// The gets of a `snapshot`, as reads that follow each other and have one number.
    pub(super) fn snapshot(
        &mut self,
        gets: &[Statement],
        span: Span,
        scope: &mut Scope,
        facts: &mut Facts,
    ) -> Vec<Step> {
        let others = gets.iter().filter(|statement| !is_get(&statement.node));
        let misplaced: Vec<Span> = others.map(|statement| statement.span).collect();
        for span in &misplaced {
            let message = "a snapshot is made of gets of one item each";
            let help = "move it before the snapshot, or behind it";
            self.report(Diagnostic::new(Rule::Name, *span, message).help(help));
        }
        if !misplaced.is_empty() {
            return Vec::new();
        }
        scope.snapshots += 1;
        scope.snapshot = Some(scope.snapshots);
        let mut steps = Vec::new();
        self.open_block(gets, scope, &mut steps, facts, false);
        scope.snapshot = None;
        let several = gets.iter().filter(|get| matches!(get.node, StatementKind::Operate(..)));
        if several.count() < 2 {
            let message = "a snapshot of less than two items";
            let help = "one item is read at one instant as it is: write `x = get … strong`";
            self.report(Diagnostic::new(Rule::Name, span, message).help(help));
        }
        self.known_before(&steps, scope);
        steps
    }

    /// Refuses what a `get` of a snapshot may not say: how it is read is said by the snapshot.
    pub(super) fn no_clauses(&mut self, get: &ast::Operation) {
        for clause in &get.clauses {
            let message = match &clause.node {
                ClauseKind::Strong(_) | ClauseKind::Snapshot => {
                    "a get of a snapshot sees every write before it as it is"
                }
                ClauseKind::Through(..) | ClauseKind::For(..) => {
                    "a snapshot is made of gets of one item each"
                }
                // Any other was reported.
                _ => continue,
            };
            let help = "leave it out, or read this before the snapshot";
            self.report(Diagnostic::new(Rule::Name, clause.span, message).help(help));
        }
    }

    /// Refuses a key that is made of what the same snapshot reads.
    fn known_before(&mut self, steps: &[Step], scope: &Scope) {
        let reads = || steps.iter().filter_map(read_of);
        let own: Vec<(BindingId, Span)> =
            reads().filter_map(|read| Some((read.binding?, read.span))).collect();
        for read in reads() {
            let What::Get(key) = &read.what else { continue };
            for part in key {
                let mut found = None;
                part.value.walk(&mut |part: &Expr| {
                    if let ExprKind::Binding(id) | ExprKind::Attribute(id, _) = &part.kind {
                        found = found.or(own.iter().find(|(own, _)| own == id));
                    }
                });
                if let Some((binding, first)) = found {
                    let name = &scope.bindings[*binding].name;
                    let message = format!("this key needs `{name}`, which the same snapshot reads");
                    let diagnostic = Diagnostic::new(Rule::Name, part.span, message)
                        .other(*first, "read here")
                        .why("all keys of a snapshot are sent in one request, before anything is read")
                        .help("read the first item before the snapshot, and again in it if it can change");
                    self.report(diagnostic);
                }
            }
        }
    }
}

/// Whether a statement can stand in a snapshot.
fn is_get(statement: &StatementKind) -> bool {
    match statement {
        StatementKind::Operate(_, operation) => operation.verb.node == ast::Verb::Get,
        StatementKind::Waive(_) => true,
        _ => false,
    }
}

fn read_of(step: &Step) -> Option<&Read> {
    match &step.kind {
        StepKind::Read(read) => Some(read),
        _ => None,
    }
}
