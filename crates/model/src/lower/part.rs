//! Changes of a part of an attribute: a member of a record, an element of a set.

use latchkey_language::ast::{self, ClauseKind};
use latchkey_language::{Diagnostic, Name, Rule, Span};

use super::scope::{Access, Scope};
use super::{Lowering, stored, suggestion};
use crate::model::{EntityId, Expr, ExprKind, Given, GivenPart, Kind, Leg, Verb};
use crate::types::{Member, Type};

impl Lowering {
    /// `a.b = x`: a value for a member.
    pub(super) fn given_within(
        &mut self,
        assign: &ast::Assign,
        within: &[Name],
        leg: &Leg,
        scope: &mut Scope,
    ) -> Given {
        let member = self.member_within(&assign.name, within, leg);
        let kind = member.as_ref().map(|member| &member.kind);
        let value = self.value(&assign.value, scope, kind);
        if let Some(kind) = kind {
            self.must_fit_member(&value, kind);
        }
        if stored::mentions(&value) {
            let message = "what is set within a record does not rest on what is stored";
            let help = "`get` the item first, use what was read, and write `if unchanged`";
            self.report(Diagnostic::new(Rule::Type, value.span, message).help(help));
        }
        self.keeps_secret(leg.entity, &assign.name.node, &value, scope);
        self.may_be_left(assign, &value);
        if member.is_some_and(|member| !member.optional) && !assign.maybe {
            self.must_have(&value, scope);
        }
        let (attribute, span) = (assign.name.node.clone(), assign.name.span);
        Given { attribute, part: path(within), value, maybe: assign.maybe, span }
    }

    /// Refuses `?=` with a record in braces: it is there whatever its members are, so nothing is ever left alone, and what
    /// is stored of the members that were not sent is erased.
    pub(super) fn may_be_left(&mut self, assign: &ast::Assign, value: &Expr) {
        if assign.maybe && matches!(value.kind, ExprKind::Object(_)) {
            let message = "a record in braces is never absent, so `?=` leaves nothing as it is";
            let name = &assign.name.node;
            let help = format!(
                "set each member, `{name}.a ?= a`; or write `{name} = {{ … }}`, which replaces all"
            );
            self.report(Diagnostic::new(Rule::Type, value.span, message).help(help));
        }
    }

    /// Whether a write sets a member of a record that may be absent.
    pub(super) fn needs_a_record(&self, leg: &Leg) -> bool {
        leg.values.iter().any(|given| {
            let GivenPart::Within(steps) = &given.part else { return false };
            let attribute = self.declared(leg.entity, &given.attribute);
            let Some(attribute) = attribute else { return false };
            let (mut absent, mut kind) = (attribute.optional, &attribute.kind);
            for step in steps.iter().take(steps.len().saturating_sub(1)) {
                let Type::Record(members) = kind else { break };
                let Some(member) = members.iter().find(|member| member.name == *step) else {
                    break;
                };
                absent |= member.optional;
                kind = &member.kind;
            }
            absent
        })
    }

    /// `remove a`, `remove a.b` or `remove a = x`
    pub(super) fn removal(&mut self, removal: &ast::Removal, leg: &mut Leg, scope: &mut Scope) {
        let ast::Removal { name, within, element } = removal;
        if let Some(element) = element {
            if let Some(span) = within.first().map(|member| member.span) {
                let message = "elements are taken out of a set that is an attribute";
                self.report(Diagnostic::new(Rule::Type, span, message));
                return;
            }
            let given = self.element(name, element, leg, scope);
            leg.values.extend(given.map(|given| Given { part: GivenPart::NoElement, ..given }));
            return;
        }
        if within.is_empty() {
            self.may_remove(name, leg.entity);
            leg.removes.push(name.node.clone());
            return;
        }
        let member = self.member_within(name, within, leg);
        if member.is_some_and(|member| !member.optional) {
            let last = within.last().unwrap_or(name);
            let message = format!("`{}` is never absent", last.node);
            let help = format!("leave it, or make it optional: `{} …?`", last.node);
            self.report(Diagnostic::new(Rule::Type, last.span, message).help(help));
        }
        let value = Expr { kind: ExprKind::Nothing, of: Kind::Unknown, span: name.span };
        let (attribute, span) = (name.node.clone(), name.span);
        leg.values.push(Given { attribute, part: path(within), value, maybe: false, span });
    }

    /// Forgets what is known to be there of an item whose attributes a write may take out, or sets anew.
    pub(super) fn forgets(&self, leg: &Leg, scope: &mut Scope) {
        let Some(target) = leg.target else { return };
        let whole = |name: &str| Access::Attribute(target, name.to_owned());
        let mut forgotten: Vec<(Access, bool)> =
            leg.removes.iter().map(|name| (whole(name), true)).collect();
        for given in &leg.values {
            let place = match &given.part {
                GivenPart::Within(steps) => {
                    steps.iter().fold(whole(&given.attribute), |at, step| {
                        Access::Member(Box::new(at), step.clone())
                    })
                }
                GivenPart::Whole | GivenPart::Element | GivenPart::NoElement => {
                    whole(&given.attribute)
                }
            };
            let gone = match given.part {
                GivenPart::Whole | GivenPart::Within(_) => {
                    given.maybe
                        || matches!(given.value.kind, ExprKind::Nothing)
                        || self.may_be_absent(&given.value, scope)
                }
                GivenPart::Element => false,
                // The last element takes the set with it.
                GivenPart::NoElement => true,
            };
            forgotten.push((place, gone));
        }
        scope.present.retain(|access| {
            !forgotten
                .iter()
                .any(|(place, gone)| access.is_within(place) || (*gone && access == place))
        });
    }

    /// The type of the elements of an attribute that is a set.
    pub(super) fn set_of(&self, entity: EntityId, name: &str) -> Option<Type> {
        match self.declared(entity, name).map(|attribute| &attribute.kind) {
            Some(Type::SetOf { of, .. }) => Some(of.as_ref().clone()),
            _ => None,
        }
    }

    /// One element for a set.
    pub(super) fn element(
        &mut self,
        name: &Name,
        element: &ast::Expr,
        leg: &Leg,
        scope: &mut Scope,
    ) -> Option<Given> {
        let kind = self.attribute_of(leg.entity, name)?;
        let Type::SetOf { of, .. } = kind else {
            let message = format!("`{}` is {kind}, and no set", name.node);
            let help = format!("write `remove {}` to take all of it out", name.node);
            self.report(Diagnostic::new(Rule::Type, name.span, message).help(help));
            return None;
        };
        let value = self.expr(element, scope, Some(&of));
        if matches!(value.of, Kind::Value(Type::SetOf { .. } | Type::ListOf(_))) {
            let message = "one element is added or taken out at a time";
            let help = "a set that was read can be set as a whole, with `if unchanged`";
            self.report(Diagnostic::new(Rule::Type, value.span, message).help(help));
            return None;
        }
        self.must_be_value(&value, Some(&of));
        self.must_have(&value, scope);
        self.must_fit(&value, Some(&of));
        if stored::mentions(&value) {
            let message = "no store takes an element from another attribute";
            let help = "`get` the item first, and use what was read";
            self.report(Diagnostic::new(Rule::Type, value.span, message).help(help));
        }
        self.keeps_secret(leg.entity, &name.node, &value, scope);
        Some(Given::whole(name.node.clone(), value, false, name.span))
    }

    /// The member that names lead to.
    fn member_within(&mut self, name: &Name, within: &[Name], leg: &Leg) -> Option<Member> {
        if leg.verb == Verb::Upsert {
            let message = format!("there may be no `{}` to change a member of", name.node);
            let help =
                "an `upsert` may make the item: `set` the record as a whole, or `update` the item";
            self.report(Diagnostic::new(Rule::Type, name.span, message).help(help));
        }
        let mut kind = self.attribute_of(leg.entity, name)?;
        let mut found = None;
        let mut around = name;
        for step in within {
            if !matches!(kind, Type::Record(_)) {
                let message = format!("`{}` is {kind}, which has no members", around.node);
                self.report(Diagnostic::new(Rule::Type, around.span, message));
                return None;
            }
            let Some(member) = kind.member(&step.node).cloned() else {
                let known = kind.members().iter().map(|member| member.name.as_str());
                let help = suggestion(&step.node, known);
                self.unknown(&format!("member of `{}` named", around.node), step, help);
                return None;
            };
            kind = member.kind.clone();
            (found, around) = (Some(member), step);
        }
        found
    }

    /// Refuses a place that one operation changes twice: DynamoDB refuses the whole.
    pub(super) fn one_change_each(&mut self, operation: &ast::Operation) {
        let mut places: Vec<(Vec<&str>, Span)> = Vec::new();
        for clause in &operation.clauses {
            let changed: Vec<(&Name, &[Name])> = match &clause.node {
                ClauseKind::Fields(given) | ClauseKind::Set(given) | ClauseKind::Add(given) => {
                    given.iter().map(|assign| (&assign.name, &assign.within[..])).collect()
                }
                ClauseKind::Remove(removed) => {
                    removed.iter().map(|removal| (&removal.name, &removal.within[..])).collect()
                }
                _ => Vec::new(),
            };
            for (name, within) in changed {
                let place: Vec<&str> =
                    std::iter::once(name).chain(within).map(|step| step.node.as_str()).collect();
                let first = places
                    .iter()
                    .find(|(other, _)| other.starts_with(&place) || place.starts_with(other));
                if let Some((_, first)) = first {
                    let message = format!("`{}` is given twice", place.join("."));
                    let twice = Diagnostic::new(Rule::Name, name.span, message)
                        .other(*first, "it is given here already");
                    self.report(twice);
                }
                places.push((place, name.span));
            }
        }
    }
}

fn path(within: &[Name]) -> GivenPart {
    GivenPart::Within(within.iter().map(|member| member.node.clone()).collect())
}
