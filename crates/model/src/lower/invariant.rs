//! Invariants, which become bodies of their own: read the item by its key, read what else is named, test.

use latchkey_language::ast::{self, Document, Item, Statement, StatementKind};
use latchkey_language::{Diagnostic, Name, Rule, Span};

use super::Lowering;
use super::scope::{Access, Scope};
use crate::model::{
    By, Contract, EntityId, Expr, ExprKind, Facts, FailureKind, Given, Input, Invariant, Kind,
    Limit, OnFailure, Place, Query, Read, Return, Step, StepKind, Strong, Trigger, What,
};
use crate::types::Type;

/// How many items a query of an invariant reads: more than a test ever stores.
const ITEMS_MAX: u32 = 100_000;

impl Lowering {
    pub(super) fn invariants(&mut self, document: &Document) {
        for item in &document.items {
            let Item::Invariant(written) = item else { continue };
            if let Some(lowered) = self.invariant(written) {
                self.model.invariants.push(lowered);
            }
        }
    }

    fn invariant(&mut self, written: &ast::Invariant) -> Option<Invariant> {
        let entity = self.entity_id(&written.entity)?;
        let id = format!("invariant {} \"{}\"", written.entity.node, written.promise.node);
        if let Some(first) = self.model.invariants.iter().find(|known| known.body.id == id) {
            let span = first.span;
            let message = format!(
                "`{}` is promised twice of `{}`",
                written.promise.node, written.entity.node
            );
            let diagnostic = Diagnostic::new(Rule::Name, written.promise.span, message);
            self.report(diagnostic.other(span, "the first is here"));
            return None;
        }
        let mut scope = Scope { id: id.clone(), trigger: Trigger::Invariant, ..Scope::default() };
        let span = written.entity.span;
        let mut steps = vec![self.subject_of_invariant(entity, span, &mut scope)];
        for read in &written.reads {
            steps.extend(self.read_of_invariant(read, &mut scope));
        }
        let test = self.test(&written.condition, &mut scope);
        let failure = problem(409, Invariant::BROKEN, span);
        let span = written.condition.span;
        let require = StepKind::Require(test, Some(failure));
        steps.push(Step { kind: require, waivers: Vec::new(), span });
        let (binding, fields, with) = (scope.subject, Vec::new(), Vec::new());
        let returned = Return { status: 200, binding, fields, with, next: None, at: None };
        let returned = StepKind::Return(returned);
        steps.push(Step { kind: returned, waivers: Vec::new(), span });
        let body = Contract {
            id,
            title: written.promise.node.clone(),
            trigger: Trigger::Invariant,
            open: None,
            route: None,
            inputs: scope.inputs,
            bindings: scope.bindings,
            steps,
            facts: Facts::default(),
            span: written.promise.span,
        };
        Some(Invariant { entity, body, span: written.promise.span })
    }

    /// The read of the item that an invariant is about. The parts of its key are given, by their own names.
    fn subject_of_invariant(&mut self, entity: EntityId, span: Span, scope: &mut Scope) -> Step {
        let shape = &self.model.entities[entity];
        let mut key = Vec::new();
        for name in shape.key.attributes() {
            // A mistake in the key was reported.
            let Some(attribute) = shape.attribute(name) else { continue };
            let kind = match &attribute.kind {
                Type::Counter => Type::Int { low: Some(1), high: None },
                kind => kind.clone(),
            };
            let input = scope.inputs.push(Input {
                name: name.to_owned(),
                kind: kind.clone(),
                optional: false,
                default: None,
                secret: attribute.secret,
                place: Place::Body,
                used: true,
                span,
            });
            let value = Expr { kind: ExprKind::Input(input), of: Kind::Value(kind), span };
            key.push(Given::whole(name.to_owned(), value, false, span));
        }
        let item = Name::new(String::new(), span);
        let binding = self.bind(&item, Kind::Item(entity), true, scope);
        scope.subject = Some(binding);
        scope.present.insert(Access::Binding(binding));
        let failure = Some(problem(404, "gone", span));
        let (binding, strong) = (Some(binding), Strong::Yes);
        let (also, what, snapshot) = (Vec::new(), What::Get(key), None);
        let read = Read { binding, entity, also, strong, what, snapshot, failure, span };
        Step { kind: StepKind::Read(Box::new(read)), waivers: Vec::new(), span }
    }

    fn read_of_invariant(&mut self, written: &Statement, scope: &mut Scope) -> Option<Step> {
        let reads = |operation: &ast::Operation| {
            matches!(operation.verb.node, ast::Verb::Get | ast::Verb::Query)
        };
        let (name, operation) = match &written.node {
            StatementKind::Operate(name, operation) if reads(operation) => (name, operation),
            _ => {
                let message = "an invariant reads, and does nothing else";
                let help = "name what `get` or `query` reads, and test it in the condition";
                self.report(Diagnostic::new(Rule::Name, written.span, message).help(help));
                return None;
            }
        };
        if let Some(otherwise) = &operation.otherwise {
            let message = "an invariant answers nobody";
            let help =
                "leave the `else` out, and test the item in the condition: `x is absent or …`";
            self.report(Diagnostic::new(Rule::Name, otherwise.span, message).help(help));
            if let Some(name) = name {
                self.bind(name, Kind::Unknown, true, scope);
            }
            return None;
        }
        let kind = self.operation(name.as_ref(), operation, scope, &mut Facts::default())?;
        let kind = match kind {
            StepKind::Read(mut read) => {
                read.strong = match &read.what {
                    // No index is ever strong, and nothing is under way.
                    What::Query(query) if query.by != By::Table => Strong::No,
                    What::Query(_) | What::Get(_) | What::Batch(_) | What::Part(_) => Strong::Yes,
                };
                if let What::Query(query) = &mut read.what {
                    self.whole_range(query, read.span);
                }
                StepKind::Read(read)
            }
            other => other,
        };
        Some(Step { kind, waivers: Vec::new(), span: written.span })
    }

    /// An invariant looks at all that a query finds, unless it asks for the first few.
    fn whole_range(&mut self, query: &mut Query, span: Span) {
        match &query.limit {
            None => query.limit = Some(Limit::First(ITEMS_MAX)),
            Some(Limit::First(_)) => {}
            Some(Limit::Page { .. }) => {
                let message = "an invariant has no caller who could ask for the next page";
                let help = "leave `page` out: the whole range is read";
                self.report(Diagnostic::new(Rule::Name, span, message).help(help));
            }
        }
    }
}

fn problem(status: u16, code: &str, span: Span) -> OnFailure {
    let (code, message, with) = (code.to_owned(), None, Vec::new());
    OnFailure { kind: FailureKind::Problem { status, code, message, with }, span }
}
