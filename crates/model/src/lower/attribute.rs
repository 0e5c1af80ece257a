//! Attributes of what was read under a name and of the item an invariant is about, and members of records.

use latchkey_language::ast::{self, ExprKind as Written};
use latchkey_language::{Diagnostic, Name, Rule, Span};

use super::scope::{Access, Scope, unknown};
use super::{Lowering, suggestion};
use crate::model::{BindingId, EntityId, Expr, ExprKind, Kind};
use crate::types::Type;

impl Lowering {
    /// `a.b`: an attribute of an item, a member of a record, or a fact about the caller, a message or a send.
    pub(super) fn member(
        &mut self,
        base: &ast::Expr,
        name: &Name,
        span: Span,
        scope: &mut Scope,
    ) -> Expr {
        let Written::Name(word) = &base.node else {
            let record = self.expr(base, scope, None);
            return self.member_of(record, name, span, scope);
        };
        if word == "caller" {
            return self.caller(name, span, scope);
        }
        if !scope.knows(word)
            && let Some(told) = self.told(word, name, span, scope)
        {
            return told;
        }
        let owner = Name::new(word.clone(), base.span);
        let item = |scope: &Scope| {
            let id = scope.binding_named(word);
            id.is_some_and(|id| !matches!(scope.bindings[id].kind, Kind::Value(_)))
        };
        let known = |scope: &Scope| scope.knows(word) && !item(scope);
        let around = scope.outer.as_ref().is_some_and(|outer| item(outer));
        if known(scope)
            && !around
            && let Some(record) = self.named(word, base.span, scope)
        {
            return self.member_of(record, name, span, scope);
        }
        if scope.binding_named(word).is_none()
            && let Some(kept) = self.kept_attribute(&owner, name, span, scope)
        {
            return kept;
        }
        self.attribute(&owner, name, span, scope)
    }

    /// A member of a record.
    fn member_of(&mut self, record: Expr, name: &Name, span: Span, scope: &Scope) -> Expr {
        let kind = match &record.of {
            Kind::Value(kind @ Type::Record(_)) => kind.clone(),
            Kind::Unknown => return unknown(span),
            other => {
                let message = format!("this is {}, which has no members", self.describe(other));
                self.report(Diagnostic::new(Rule::Type, record.span, message));
                return unknown(span);
            }
        };
        self.must_have(&record, scope);
        let Some(member) = kind.member(&name.node) else {
            let known = kind.members().iter().map(|member| member.name.as_str());
            let help = suggestion(&name.node, known);
            self.unknown("member named", name, help);
            return unknown(span);
        };
        let of = Kind::Value(member.kind.clone());
        Expr { kind: ExprKind::Member(Box::new(record), name.node.clone()), of, span }
    }

    /// `x in set`: whether a set or a list has an element.
    pub(super) fn element_of(
        &mut self,
        element: &ast::Expr,
        of: &ast::Expr,
        scope: &mut Scope,
    ) -> (ExprKind, Kind) {
        let set = self.sure(of, scope, None);
        let kind = match &set.of {
            Kind::Value(Type::SetOf { of, .. }) => of.as_ref().clone(),
            Kind::Value(Type::ListOf(list)) if list.of.has_text() => list.of.clone(),
            Kind::Unknown => return (ExprKind::Unknown, Kind::Unknown),
            other => {
                let message =
                    format!("this is {}, and has no elements to be one of", self.describe(other));
                let help =
                    "name a set or a list; or write the values in parentheses: `x in (A, B)`";
                self.report(Diagnostic::new(Rule::Type, of.span, message).help(help));
                return (ExprKind::Unknown, Kind::Unknown);
            }
        };
        let element = self.sure(element, scope, Some(&kind));
        (ExprKind::Contains(Box::new(set), Box::new(element)), Kind::Test)
    }

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
