//! `each x in list { … }`, and what is asked of all elements of a list: tests, counts, sums.

use latchkey_language::ast::{self, ExprKind as Written};
use latchkey_language::{Diagnostic, Name, Rule, Span};

use super::Lowering;
use super::scope::{Scope, unknown};
use crate::model::{BindingId, Each, Expr, ExprKind, Facts, Kind, StepKind};
use crate::types::{ListOf, Type};

impl Lowering {
    /// `each x in list { … }`, within a transaction.
    pub(super) fn each(
        &mut self,
        element: &Name,
        over: &ast::Expr,
        body: &[ast::Statement],
        span: Span,
        scope: &mut Scope,
        facts: &mut Facts,
    ) -> Option<StepKind> {
        let misplaced = match (scope.in_transaction, scope.in_each) {
            (true, false) => None,
            (false, _) => {
                Some("an `each` makes legs of a transaction: write `transact { … }` around it")
            }
            (true, true) => Some("an `each` within an `each`"),
        };
        if let Some(message) = misplaced {
            self.report(Diagnostic::new(Rule::Name, span, message));
            return None;
        }
        let list = self.expr(over, scope, None);
        let (kind, most) = self.elements(&list, scope)?;
        self.must_have(&list, scope);
        let (visible, before) = (scope.visible.len(), scope.present.clone());
        let element = self.bind_element(element, kind, &list, scope);
        scope.in_each = true;
        let mut steps = Vec::new();
        self.steps(body, scope, &mut steps, facts, false);
        scope.in_each = false;
        scope.visible.truncate(visible);
        scope.present = before;
        Some(StepKind::Each(Box::new(Each { over: list, element, most, body: steps })))
    }

    pub(super) fn bind_element(
        &mut self,
        name: &Name,
        kind: Kind,
        list: &Expr,
        scope: &mut Scope,
    ) -> BindingId {
        let secret = self.is_secret(list, scope);
        let element = self.bind(name, kind, true, scope);
        scope.bindings[element].secret = secret;
        element
    }

    /// The elements of a list, or the items of a result, and how many there are at most.
    fn elements(&mut self, list: &Expr, scope: &Scope) -> Option<(Kind, u64)> {
        match (&list.of, &list.kind) {
            (Kind::Value(Type::ListOf(found)), _) => {
                return Some((Kind::Value(found.of.clone()), found.high));
            }
            (Kind::Page(entity), ExprKind::Binding(id)) => {
                if let Some(most) = scope.items_max.get(id) {
                    return Some((Kind::Item(*entity), *most));
                }
                let message = "how many items a page has is the caller's choice";
                let help = "read the items with `first N`";
                self.report(Diagnostic::new(Rule::Type, list.span, message).help(help));
            }
            (Kind::Unknown, _) => {}
            (other, _) => {
                let message = format!("this is {}, and no list", self.describe(other));
                let help = "name a `list(1..20) of …`, or what `first N` or `get … for` has read";
                self.report(Diagnostic::new(Rule::Type, list.span, message).help(help));
            }
        }
        None
    }

    /// What says which items are read: a list, or the items of any result, what each of them is, and how many there are
    /// at most.
    pub(super) fn source(
        &mut self,
        over: &ast::Expr,
        scope: &mut Scope,
    ) -> Option<(Expr, Kind, u64)> {
        let list = self.expr(over, scope, None);
        let paged = list.result().and_then(|id| scope.page_items_max.get(&id).copied());
        let found = match (paged, list.of.entity()) {
            (Some(most), Some(entity)) => Some((Kind::Item(entity), most)),
            _ => self.elements(&list, scope),
        };
        let (kind, most) = found?;
        self.must_have(&list, scope);
        Some((list, kind, most))
    }

    /// `all x in list (test)` and `any x in list (test)`
    pub(super) fn every(
        &mut self,
        all: bool,
        element: &Name,
        over: &ast::Expr,
        test: &ast::Expr,
        span: Span,
        scope: &mut Scope,
    ) -> Expr {
        let told = self.diagnostics.len();
        let list = self.sure(over, scope, None);
        let kind = match &list.of {
            Kind::Value(Type::ListOf(list)) => Kind::Value(list.of.clone()),
            Kind::Unknown => return unknown(span),
            Kind::Page(entity) => {
                // Told once: that no value is named here is the same mistake.
                self.diagnostics.truncate(told);
                let name = &self.model.entities[*entity].name;
                let message = format!("these are items of `{name}`, and no list");
                let help = "`any` and `all` go through a `list(1..20) of …`; of items that were read, \
                            `count(… by …)` and `sum(…)` say what there is";
                self.report(Diagnostic::new(Rule::Type, over.span, message).help(help));
                return unknown(span);
            }
            other => {
                let message = format!("this is {}, and no list", self.describe(other));
                let help = "name a `list(1..20) of …`";
                self.report(Diagnostic::new(Rule::Type, over.span, message).help(help));
                return unknown(span);
            }
        };
        let (visible, before) = (scope.visible.len(), scope.present.clone());
        let element = self.bind_element(element, kind, &list, scope);
        let test = Box::new(self.test(test, scope));
        scope.visible.truncate(visible);
        scope.present = before;
        let kind = ExprKind::Every { all, over: Box::new(list), element, test };
        Expr { kind, of: Kind::Test, span }
    }

    /// `count(list)`, if this is a list or a set.
    pub(super) fn size_of(&mut self, list: &Expr, span: Span, scope: &Scope) -> Option<Expr> {
        let (low, high) = match &list.of {
            Kind::Value(Type::ListOf(list)) => (list.low, list.high),
            Kind::Value(Type::SetOf { most, .. }) => (1, *most),
            _ => return None,
        };
        self.must_have(list, scope);
        let whole = |count: u64| i64::try_from(count).ok();
        let of = Kind::Value(Type::Int { low: whole(low), high: whole(high) });
        Some(Expr { kind: ExprKind::Size(Box::new(list.clone())), of, span })
    }

    /// `sum(list)` or `sum(list.member)`, if this is of a list.
    pub(super) fn total(&mut self, of: &ast::Expr, span: Span, scope: &mut Scope) -> Option<Expr> {
        if let Written::Member(base, member) = &of.node
            && let Some(found) = self.list_named(base, scope)
        {
            let Kind::Value(Type::ListOf(list)) = &found.of else { return None };
            self.must_have(&found, scope);
            let Some(kind) = list.of.member(&member.node).map(|found| found.kind.clone()) else {
                self.unknown("member of the elements named", member, None);
                return Some(unknown(span));
            };
            let of = self.added_up(list, &kind, member.span);
            let kind = ExprKind::Total(Box::new(found.clone()), Some(member.node.clone()));
            return Some(Expr { kind, of, span });
        }
        let found = self.list_named(of, scope)?;
        let Kind::Value(Type::ListOf(list)) = &found.of else { return None };
        self.must_have(&found, scope);
        let of = self.added_up(list, &list.of, found.span);
        Some(Expr { kind: ExprKind::Total(Box::new(found.clone()), None), of, span })
    }

    /// The list that an expression is, if it is one. What is no list is not looked at any further.
    fn list_named(&mut self, written: &ast::Expr, scope: &mut Scope) -> Option<Expr> {
        let told = self.diagnostics.len();
        let found = self.expr(written, scope, None);
        let is_list = matches!(&found.of, Kind::Value(Type::ListOf(_)));
        if !is_list {
            self.diagnostics.truncate(told);
        }
        is_list.then_some(found)
    }

    /// The type of the sum of all elements.
    fn added_up(&mut self, list: &ListOf, kind: &Type, span: Span) -> Kind {
        match kind {
            Type::Int { low, high } => {
                let count = |count: u64| i64::try_from(count).ok();
                let times = |bound: Option<i64>, few: u64, many: u64, least: bool| {
                    let bound = bound?;
                    // The sum is farthest from 0 with the most elements, and nearest with the fewest.
                    let times = if (bound < 0) == least { many } else { few };
                    bound.checked_mul(count(times)?)
                };
                let low = times(*low, list.low, list.high, true);
                let high = times(*high, list.low, list.high, false);
                Kind::Value(Type::Int { low, high })
            }
            Type::Number { .. } => Kind::Value(Type::Number { low: None, high: None }),
            other => {
                let message = format!("this is {other}, which does not add up");
                self.report(Diagnostic::new(Rule::Type, span, message));
                Kind::Unknown
            }
        }
    }
}
