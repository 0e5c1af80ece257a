//! Steps: what is written once and done in several places, each time as if it stood there.

use std::collections::HashMap;
use std::rc::Rc;

use latchkey_language::ast;
use latchkey_language::{Diagnostic, Name, Rule};

use super::contract::STATEMENTS_MAX;
use super::scope::{Access, Scope};
use super::statement::count;
use super::{Lowering, suggestion};
use crate::model::{BindingId, EntityId, Expr, ExprKind, Facts, Kind, Step, Trigger};

impl Lowering {
    pub(super) fn declare_steps(&mut self, steps: &ast::Steps) {
        let name = &steps.name;
        if let Some(first) = self.declared_steps.get(&name.node).map(|first| first.name.span) {
            self.twice("steps", name, first);
            return;
        }
        for (at, field) in steps.parameters.iter().enumerate() {
            self.no_word(&field.name, Trigger::Request);
            let before = steps.parameters.iter().take(at);
            if let Some(first) = before.map(|f| &f.name).find(|f| f.node == field.name.node) {
                self.twice("parameter", &field.name, first.span);
            }
            if let Some(default) = &field.default {
                let message = "a parameter has no default";
                self.report(Diagnostic::new(Rule::Type, default.span, message));
            }
        }
        self.declared_steps.insert(name.node.clone(), Rc::new(steps.clone()));
    }

    /// Steps that no contract does, so that their statements were not checked yet.
    pub(super) fn unused_steps(&mut self) {
        for (name, steps) in &self.declared_steps {
            if !self.done_steps.contains(name) {
                let message = format!("nothing does the steps `{name}`");
                let help = "delete them, or `do` them somewhere";
                let unused = Diagnostic::new(Rule::Unused, steps.name.span, message).help(help);
                self.diagnostics.push(unused);
            }
        }
    }

    /// Does steps here, with these arguments, and names what they give.
    pub(super) fn inline(
        &mut self,
        (result, name, arguments): (Option<&Name>, &Name, &[ast::Expr]),
        scope: &mut Scope,
        steps: &mut Vec<Step>,
        facts: &mut Facts,
    ) {
        let Some(declared) = self.declared_steps.get(&name.node).map(Rc::clone) else {
            let help = suggestion(&name.node, self.declared_steps.keys().map(String::as_str));
            self.unknown("steps named", name, help);
            return;
        };
        self.done_steps.insert(name.node.clone());
        if self.doing.contains(&name.node) {
            let message = format!("`{}` would do itself, without end", name.node);
            let again = Diagnostic::new(Rule::Name, name.span, message)
                .other(declared.name.span, "declared here")
                .help("steps may do others, but not those they are done by");
            self.report(again);
            return;
        }
        let before = self.statements;
        self.statements = before.saturating_add(count(&declared.body));
        if self.statements > STATEMENTS_MAX {
            if before <= STATEMENTS_MAX {
                self.too_long(name.span);
            }
            return;
        }
        let Some(parameters) = self.arguments_of(name, &declared, arguments, scope) else { return };
        self.doing.push(name.node.clone());
        let outer = scope.parameters.replace(parameters);
        let visible = std::mem::take(&mut scope.visible);
        // Steps cannot name the bindings around a send, only their parameters.
        let around = scope.outer.take();
        self.open_block(&declared.body, scope, steps, facts, false);
        let given = declared.gives.as_ref().and_then(|gives| self.given_by_steps(gives, scope));
        scope.outer = around;
        scope.visible = visible;
        scope.parameters = outer;
        self.doing.pop();
        match (result, given) {
            (Some(result), Some(given)) => self.rename(given, result, scope),
            (Some(result), None) if declared.gives.is_none() => {
                let message = format!("`{}` gives nothing to name", name.node);
                let nothing = Diagnostic::new(Rule::Name, result.span, message)
                    .other(declared.name.span, "declared here")
                    .help("leave the name out, or declare `steps … gives NAME`");
                self.report(nothing);
            }
            _ => {}
        }
    }

    /// The binding that steps give to whoever does them: one of their own, which every way through them makes.
    fn given_by_steps(&mut self, gives: &Name, scope: &Scope) -> Option<BindingId> {
        let mut own = scope.visible.iter().rev();
        let found = own.find(|id| scope.bindings[**id].name == gives.node).copied();
        if found.is_none() {
            let message = format!("these steps give `{}`, and do not make it", gives.node);
            let help = "name what a statement of theirs reads or computes, outside of any block";
            self.report(Diagnostic::new(Rule::Name, gives.span, message).help(help));
        }
        found
    }

    /// Has what steps have made be known by another name, where they are done.
    fn rename(&mut self, given: BindingId, result: &Name, scope: &mut Scope) {
        self.no_word(result, scope.trigger);
        self.must_be_free(result, scope);
        let binding = &mut scope.bindings[given];
        (binding.name, binding.span) = (result.node.clone(), result.span);
        scope.visible.push(given);
    }

    fn arguments_of(
        &mut self,
        name: &Name,
        declared: &ast::Steps,
        arguments: &[ast::Expr],
        scope: &mut Scope,
    ) -> Option<HashMap<String, Expr>> {
        let (wanted, found) = (declared.parameters.len(), arguments.len());
        if wanted != found {
            let message = format!("`{}` takes {wanted} values, and here are {found}", name.node);
            let wrong = Diagnostic::new(Rule::Type, name.span, message)
                .other(declared.name.span, "declared here");
            self.report(wrong);
            return None;
        }
        let mut values = HashMap::new();
        for (parameter, argument) in declared.parameters.iter().zip(arguments) {
            let value = match self.entity_parameter(parameter) {
                Some(entity) => self.item_argument(argument, entity, scope)?,
                None => {
                    let kind = self.field_type(parameter);
                    let value = self.value(argument, scope, kind.as_ref());
                    if parameter.optional.is_none() {
                        self.must_have(&value, scope);
                    }
                    self.must_fit(&value, kind.as_ref());
                    self.made_before(&value);
                    value
                }
            };
            values.insert(parameter.name.node.clone(), value);
        }
        Some(values)
    }

    /// The entity of the item that a parameter names, if it names one.
    fn entity_parameter(&self, parameter: &ast::Field) -> Option<EntityId> {
        match &parameter.kind.node {
            ast::Type::Named { name, .. } => self.entity_ids.get(&name.node).copied(),
            _ => None,
        }
    }

    /// An item that is given to steps: one that was read, by its name.
    fn item_argument(
        &mut self,
        argument: &ast::Expr,
        entity: EntityId,
        scope: &mut Scope,
    ) -> Option<Expr> {
        let value = self.expr(argument, scope, None);
        let shown = self.model.entities[entity].name.clone();
        match (&value.kind, &value.of) {
            (ExprKind::Binding(id), Kind::Item(found)) if *found == entity => {
                let written = self.written_name(argument);
                self.must_be_present(Access::Binding(*id), &written, scope);
                Some(value)
            }
            (_, Kind::Unknown) => None,
            _ => {
                let message = format!("the name of an item of `{shown}` is expected here");
                self.report(Diagnostic::new(Rule::Type, argument.span, message));
                None
            }
        }
    }

    fn written_name(&self, argument: &ast::Expr) -> Name {
        let text = match &argument.node {
            ast::ExprKind::Name(name) => name.clone(),
            _ => String::new(),
        };
        Name::new(text, argument.span)
    }

    /// What is made new is another thing wherever it is written.
    pub(super) fn made_before(&mut self, value: &Expr) {
        let mut made = None;
        value.walk(&mut |part| {
            if matches!(part.kind, ExprKind::New(_)) {
                made = Some(part.span);
            }
        });
        if let Some(span) = made {
            let message = "what is new is given a name first";
            let help = "write `x = new …` above, and give `x`";
            self.report(Diagnostic::new(Rule::Type, span, message).help(help));
        }
    }
}
