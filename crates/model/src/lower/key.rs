//! The keys of items: what each of their attributes is given as.

use latchkey_language::ast::{self, ClauseKind};
use latchkey_language::{Diagnostic, Name, Rule, Span};

use super::Lowering;
use super::scope::{Access, Scope, unknown};
use crate::model::{BindingId, EntityId, Expr, ExprKind, Given, Kind};

impl Lowering {
    /// The attributes of a key: as given, from `of`, from the item itself, or from the inputs; one of them may be left out.
    pub(super) fn key(
        &mut self,
        operation: &ast::Operation,
        entity: EntityId,
        target: Option<BindingId>,
        without: Option<&str>,
        scope: &mut Scope,
    ) -> Vec<Given> {
        let shape = &self.model.entities[entity];
        let names = shape.key.attributes().into_iter().filter(|name| Some(*name) != without);
        let names: Vec<String> = names.map(str::to_owned).collect();
        let of = operation.of.as_ref().and_then(|of| self.binding(of, scope));
        if let (Some(id), Some(name)) = (of, &operation.of) {
            self.must_be_present(Access::Binding(id), name, scope);
        }
        if let Some(id) = target {
            self.must_be_present(Access::Binding(id), &operation.target, scope);
        }
        self.given_once(&operation.key);
        self.never_maybe(&operation.key);
        for given in &operation.key {
            if !names.contains(&given.name.node) {
                let message = format!("`{}` is not a part of the key", given.name.node);
                self.report(Diagnostic::new(Rule::Name, given.name.span, message));
            }
        }
        let mut key = Vec::new();
        for attribute in names {
            let written = operation
                .key
                .iter()
                .chain(fields(operation))
                .find(|given| given.name.node == attribute);
            let span = written.map_or(operation.target.span, |written| written.name.span);
            let kind = self.attribute_of(entity, &Name::new(attribute.clone(), span));
            let value = match (written, of.or(target)) {
                (Some(written), _) => self.expr(&written.value, scope, kind.as_ref()),
                (None, from) => {
                    let taken =
                        from.and_then(|id| self.attribute_of_item(id, &attribute, span, scope));
                    let puts = operation.verb.node == ast::Verb::Put;
                    let computed = match &taken {
                        None if puts && !self.is_input(&attribute, scope) => {
                            self.computed(operation, entity, of, &attribute, scope)
                        }
                        _ => None,
                    };
                    taken.or(computed).unwrap_or_else(|| {
                        self.input_of_key(&attribute, operation.target.span, scope)
                    })
                }
            };
            self.must_be_value(&value, kind.as_ref());
            self.must_have(&value, scope);
            self.must_fit(&value, kind.as_ref());
            self.keeps_secret(entity, &attribute, &value, scope);
            key.push(Given::whole(attribute, value, false, span));
        }
        key
    }

    /// The attribute of an item, if its entity has one of that name.
    pub(super) fn attribute_of_item(
        &self,
        id: BindingId,
        attribute: &str,
        span: Span,
        scope: &Scope,
    ) -> Option<Expr> {
        let entity = scope.bindings[id].kind.item()?;
        let found = self.model.entities[entity].attribute(attribute)?;
        let of = Kind::Value(found.kind.clone());
        Some(Expr { kind: ExprKind::Attribute(id, attribute.to_owned()), of, span })
    }

    /// Whether an input, or a parameter of steps, has the name of an attribute.
    pub(super) fn is_input(&self, attribute: &str, scope: &Scope) -> bool {
        let given = |scope: &Scope| {
            let parameter =
                scope.parameters.as_ref().is_some_and(|all| all.contains_key(attribute));
            parameter || scope.input_named(attribute).is_some()
        };
        given(scope) || scope.outer.as_ref().is_some_and(|outer| given(outer))
    }

    pub(super) fn input_of_key(&mut self, attribute: &str, span: Span, scope: &mut Scope) -> Expr {
        if self.is_input(attribute, scope)
            && let Some(found) = self.named(attribute, span, scope)
        {
            return found;
        }
        let message = format!("nothing says which `{attribute}` is meant");
        let help =
            format!("write `({attribute} = …)` behind the entity, or `of` an item that has it");
        self.report(Diagnostic::new(Rule::Name, span, message).help(help));
        unknown(span)
    }
}

/// The fields a put gives, which may be part of its key.
pub(super) fn fields(operation: &ast::Operation) -> impl Iterator<Item = &ast::Assign> {
    operation
        .clauses
        .iter()
        .filter_map(|clause| match &clause.node {
            ClauseKind::Fields(given) => Some(given),
            _ => None,
        })
        .flatten()
}
