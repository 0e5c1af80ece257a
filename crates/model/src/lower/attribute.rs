//! Attributes of what was read under a name, and of the item an invariant is about.

use latchkey_language::{Diagnostic, Name, Rule, Span};

use super::Lowering;
use super::scope::{Access, Scope, unknown};
use crate::model::{BindingId, EntityId, Expr, ExprKind, Kind};

impl Lowering {
    /// An attribute of the item of a name.
    pub(super) fn attribute(
        &mut self,
        owner: &Name,
        name: &Name,
        span: Span,
        scope: &Scope,
    ) -> Expr {
        let Some(id) = self.binding(owner, scope) else { return unknown(span) };
        let entity = match &scope.bindings[id].kind {
            Kind::Item(entity) => *entity,
            Kind::Unknown => return unknown(span),
            other => {
                let message = format!(
                    "`{}` is {}, which has no attributes",
                    owner.node,
                    self.describe(other)
                );
                self.report(Diagnostic::new(Rule::Type, owner.span, message));
                return unknown(span);
            }
        };
        self.must_be_present(Access::Binding(id), owner, scope);
        self.attribute_known(id, entity, name, span)
    }

    /// An attribute of the item that an invariant is about.
    pub(super) fn attribute_of_subject(
        &mut self,
        id: BindingId,
        name: &Name,
        span: Span,
        scope: &Scope,
    ) -> Expr {
        match scope.bindings[id].kind {
            Kind::Item(entity) => self.attribute_known(id, entity, name, span),
            _ => unknown(span),
        }
    }

    fn attribute_known(
        &mut self,
        id: BindingId,
        entity: EntityId,
        name: &Name,
        span: Span,
    ) -> Expr {
        match self.attribute_of(entity, name) {
            Some(kind) => Expr {
                kind: ExprKind::Attribute(id, name.node.clone()),
                of: Kind::Value(kind),
                span,
            },
            None => unknown(span),
        }
    }

    /// An attribute of the item of a name from around the send that comes before.
    pub(super) fn kept_attribute(
        &mut self,
        owner: &Name,
        name: &Name,
        span: Span,
        scope: &mut Scope,
    ) -> Option<Expr> {
        let outer = scope.outer.take()?;
        let known = outer.binding_named(&owner.node).is_some();
        let value = known.then(|| self.attribute(owner, name, span, &outer));
        scope.outer = Some(outer);
        let value = value?;
        if matches!(value.kind, ExprKind::Unknown) {
            return Some(value);
        }
        Some(self.keep(format!("{}.{}", owner.node, name.node), value, scope))
    }
}
