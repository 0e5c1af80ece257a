//! Answers: the returned item or value, and the problem of a failure.

use latchkey_language::ast::{self, ElseKind};
use latchkey_language::{Diagnostic, Name, Rule};

use super::Lowering;
use super::scope::{Access, Scope};
use super::statement::ends;
use crate::model::{
    BindingId, EntityId, Expr, ExprKind, Facts, FailureKind, Given, Kind, New, OnFailure, PathPart,
    Return, StepKind, TextPiece, Trigger,
};
use crate::types::Type;

/// What every problem says.
const PROBLEM_MEMBERS: &[&str] =
    &["type", "title", "status", "detail", "instance", "code", "contract", "errors"];

/// What every page says.
const PAGE_MEMBERS: &[&str] = &["items", "nextCursor"];

impl Lowering {
    pub(super) fn failure(
        &mut self,
        failure: &ast::Else,
        scope: &mut Scope,
        facts: &mut Facts,
    ) -> OnFailure {
        let kind = match &failure.kind {
            ElseKind::Retry => FailureKind::Retry,
            ElseKind::Block(statements) => {
                let mut steps = Vec::new();
                // Nothing was written: what follows a refused leg is no leg.
                let within = std::mem::replace(&mut scope.in_transaction, false);
                self.steps(statements, scope, &mut steps, facts, false);
                scope.in_transaction = within;
                if !ends(&steps) {
                    let message = "this `else` continues although its statement failed";
                    let help = match scope.trigger {
                        Trigger::Request => "end it with a `return`",
                        _ => "end it with `done` or `later`",
                    };
                    self.report(Diagnostic::new(Rule::Name, failure.span, message).help(help));
                }
                FailureKind::Steps(steps)
            }
            ElseKind::Fail { status, code, message, with } => {
                self.must_be_called("answer", failure.span, scope);
                self.not_taken(with, PROBLEM_MEMBERS, "a problem");
                FailureKind::Problem {
                    status: status.node,
                    code: code.node.clone(),
                    message: message.as_ref().map(|message| self.message(message, scope)),
                    with: self.shown(with, scope),
                }
            }
            ElseKind::End(ending) => FailureKind::End(self.ending(ending, failure.span, scope)),
        };
        OnFailure { kind, span: failure.span }
    }

    /// Refuses a name that every answer of this kind has already.
    pub(super) fn not_taken(&mut self, with: &[ast::Assign], taken: &[&str], what: &str) {
        for assign in with.iter().filter(|assign| taken.contains(&assign.name.node.as_str())) {
            let message = format!("{what} has its own `{}`", assign.name.node);
            let diagnostic = Diagnostic::new(Rule::Name, assign.name.span, message);
            self.report(diagnostic.help("choose another name"));
        }
    }

    pub(super) fn message(&mut self, message: &ast::Template, scope: &mut Scope) -> Expr {
        let text = Expr {
            kind: ExprKind::Text(self.text(message, scope)),
            of: Kind::Value(Type::Text { max: None, like: None }),
            span: message.span,
        };
        self.keeps_secrets(&text, scope);
        text
    }

    /// `with { a = x }`
    pub(super) fn shown(&mut self, with: &[ast::Assign], scope: &mut Scope) -> Vec<Given> {
        self.given_once(with);
        self.never_maybe(with);
        let mut shown = Vec::new();
        for assign in with {
            let value = self.expr(&assign.value, scope, None);
            self.can_be_shown(&value, &assign.name);
            self.keeps_secrets(&value, scope);
            let (attribute, span) = (assign.name.node.clone(), assign.name.span);
            shown.push(Given::whole(attribute, value, assign.maybe, span));
        }
        shown
    }

    /// Refuses items and pages in a `with`, which shows values: items are returned by themselves.
    fn can_be_shown(&mut self, value: &Expr, name: &Name) {
        let (message, help) = match &value.of {
            Kind::Value(Type::Months) => {
                self.must_be_value(value, None);
                return;
            }
            Kind::Draw => {
                let message =
                    "what is drawn compares with a number, and does nothing else".to_owned();
                (message, "write `draw(key, subject) < rate`".to_owned())
            }
            Kind::Item(_) => {
                let message =
                    format!("a `with` shows values, and this is {}", self.describe(&value.of));
                (message, format!("name what to show of it: `{} = {{ a = item.a }}`", name.node))
            }
            Kind::Page(_) | Kind::Collection(_) => {
                let message =
                    format!("a `with` shows values, and this is {}", self.describe(&value.of));
                (message, "`return` it, or show `count(…)` or `sum(…)` of it".to_owned())
            }
            Kind::Value(_) | Kind::Test | Kind::Object | Kind::Unknown => return,
        };
        self.report(Diagnostic::new(Rule::Type, value.span, message).help(help));
    }

    /// Refuses to show what is secret.
    fn keeps_secrets(&mut self, value: &Expr, scope: &Scope) {
        if self.is_secret(value, scope) {
            let message = match &value.kind {
                ExprKind::Attribute(_, name) => format!("`{name}` is secret and never shown"),
                _ => "this is secret and never shown".to_owned(),
            };
            self.report(Diagnostic::new(Rule::Type, value.span, message).help("leave it out"));
        }
    }

    /// Whether a value is computed from a secret. A test of a secret is: who may ask often enough learns the secret.
    /// Whether there is a secret tells nothing of it; neither does what is drawn with a key, nor its commitment.
    pub(super) fn is_secret(&self, value: &Expr, scope: &Scope) -> bool {
        match &value.kind {
            ExprKind::Attribute(id, name)
            | ExprKind::CountBy(id, name, _)
            | ExprKind::Sum(id, name) => {
                self.attribute_read(*id, name, scope).is_some_and(|found| found.secret)
            }
            ExprKind::Stored(name) => scope.stored.is_some_and(|entity| {
                self.model.entities[entity].attribute(name).is_some_and(|found| found.secret)
            }),
            ExprKind::Input(input) => scope.inputs[*input].secret,
            ExprKind::Binding(id) => scope.bindings[*id].secret,
            ExprKind::New(what) => *what == New::Key,
            ExprKind::Text(pieces) => pieces.iter().any(|piece| match piece {
                TextPiece::Value(value, _) => self.is_secret(value, scope),
                TextPiece::Literal(_) => false,
            }),
            ExprKind::Member(of, _) | ExprKind::Size(of) | ExprKind::Total(of, _) => {
                self.is_secret(of, scope)
            }
            ExprKind::Binary(_, a, b)
            | ExprKind::MovesTo(a, b)
            | ExprKind::BeginsWith(a, b)
            | ExprKind::Contains(a, b)
            | ExprKind::Every { over: a, test: b, .. } => {
                self.is_secret(a, scope) || self.is_secret(b, scope)
            }
            ExprKind::Between(a, b, c) => [a, b, c].iter().any(|one| self.is_secret(one, scope)),
            ExprKind::In(a, values) => {
                self.is_secret(a, scope) || values.iter().any(|one| self.is_secret(one, scope))
            }
            ExprKind::Not(of) | ExprKind::Owns(of) | ExprKind::Shard(of, _) | ExprKind::Day(of) => {
                self.is_secret(of, scope)
            }
            ExprKind::Rounded(_, a, by, _) => {
                self.is_secret(a, scope) || by.iter().any(|by| self.is_secret(by, scope))
            }
            ExprKind::Greatest(all) | ExprKind::Least(all) | ExprKind::Coalesce(all) => {
                all.iter().any(|one| self.is_secret(one, scope))
            }
            ExprKind::Object(members) => {
                members.iter().any(|(_, value)| self.is_secret(value, scope))
            }
            ExprKind::Present(_)
            | ExprKind::Absent(_)
            | ExprKind::Draw(..)
            | ExprKind::Commitment(_)
            | ExprKind::Reveal(_)
            | ExprKind::Count(_)
            | ExprKind::Now
            | ExprKind::CallerId
            | ExprKind::HasRole(_)
            | ExprKind::Word(_)
            | ExprKind::Number(_)
            | ExprKind::Months(_)
            | ExprKind::Duration(_)
            | ExprKind::Bool(_)
            | ExprKind::Unchanged
            | ExprKind::Told(_)
            | ExprKind::Through(_)
            | ExprKind::Nothing
            | ExprKind::Unknown => false,
        }
    }

    fn never_shown(&mut self, entity: EntityId, name: &Name) {
        let entity = &self.model.entities[entity];
        let Some(attribute) = entity.attribute(&name.node) else { return };
        if attribute.secret {
            let message = format!("`{}` is secret and never shown", name.node);
            let diagnostic = Diagnostic::new(Rule::Type, name.span, message)
                .other(attribute.span, "it is declared so here");
            self.report(diagnostic);
        }
    }

    pub(super) fn returned(&mut self, returned: &ast::Return, scope: &mut Scope) -> StepKind {
        let binding = returned.value.as_ref().and_then(|name| self.returned_name(name, scope));
        let kind = binding.map(|id| scope.bindings[id].kind.clone());
        if let Some(Kind::Collection(_)) = kind {
            self.returns_whole(returned);
            self.not_taken(&returned.with, PAGE_MEMBERS, "a page");
        }
        let entity = kind.as_ref().and_then(Kind::entity);
        if let Some(entity) = entity {
            for field in &returned.fields {
                self.attribute_of(entity, field);
                self.never_shown(entity, field);
            }
            if matches!(kind, Some(Kind::Item(_))) {
                self.shown_once(returned, entity);
            } else {
                self.not_taken(&returned.with, PAGE_MEMBERS, "a page");
            }
        }
        let named = returned.value.is_some();
        let at = returned.at.as_ref().map(|path| self.path(path, named, entity, scope));
        let with = self.shown_beside(&returned.with, scope);
        let next = self.next_shown(returned, (binding, entity), &with, scope);
        StepKind::Return(Return {
            status: returned.status.as_ref().map_or(200, |status| status.node),
            binding,
            fields: returned.fields.iter().map(|field| field.node.clone()).collect(),
            with,
            next,
            at,
        })
    }

    /// The binding of the item or the page that is returned.
    fn returned_name(&mut self, name: &Name, scope: &Scope) -> Option<BindingId> {
        let id = self.returned_binding(name, scope)?;
        self.must_be_present(Access::Binding(id), name, scope);
        if let Kind::Value(_) | Kind::Test | Kind::Object | Kind::Draw = scope.bindings[id].kind {
            let message = format!("`{}` is neither an item nor a page", name.node);
            let help = format!("show it as a value: `return with {{ {} }}`", name.node);
            self.report(Diagnostic::new(Rule::Type, name.span, message).help(help));
        }
        Some(id)
    }

    /// Refuses to show beside an item what has the name of one of its attributes.
    fn shown_once(&mut self, returned: &ast::Return, entity: EntityId) {
        for assign in &returned.with {
            let name = &assign.name;
            let shape = &self.model.entities[entity];
            let fields = &returned.fields;
            let listed = fields.is_empty() || fields.iter().any(|field| field.node == name.node);
            if listed && shape.attribute(&name.node).is_some_and(|attribute| !attribute.secret) {
                let message = format!("`{}` of `{}` is shown already", name.node, shape.name);
                let help = "choose another name, or list the attributes to show in braces";
                self.report(Diagnostic::new(Rule::Name, name.span, message).help(help));
            }
        }
    }

    /// A path whose holes are inputs, or attributes of the returned item.
    fn path(
        &mut self,
        path: &Name,
        named: bool,
        entity: Option<EntityId>,
        scope: &mut Scope,
    ) -> Vec<PathPart> {
        let parts = path.node.split('/').skip(1);
        let parts = parts.map(|part| {
            let hole = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
            let Some(name) = hole else { return PathPart::Literal(part.to_owned()) };
            if let Some(input) = scope.inputs.position(|input| input.name == name) {
                scope.used_inputs.insert(input);
                if scope.inputs[input].secret {
                    let message = format!("`{name}` is secret and never shown");
                    self.report(Diagnostic::new(Rule::Type, path.span, message));
                }
                return PathPart::Input(input);
            }
            if let Some(entity) = entity {
                let name = Name::new(name.to_owned(), path.span);
                self.attribute_of(entity, &name);
                self.never_shown(entity, &name);
            }
            if !named {
                let message = format!("`{name}` is no input, and no item is returned that has it");
                self.report(Diagnostic::new(Rule::Name, path.span, message));
            }
            PathPart::Attribute(name.to_owned())
        });
        parts.collect()
    }
}
