//! Types that are made of others: lists, sets and records.

use latchkey_language::ast::{self, Bounds};
use latchkey_language::{Diagnostic, Name, Rule, Span, Spanned};

use super::Lowering;
use super::entity::Declared;
use crate::types::{ListOf, Member, Type};

/// How deep lists and records lie in each other.
const LEVELS_MAX: usize = 4;

/// The most elements of a list or a set.
const ELEMENTS_MAX: u64 = 1000;

impl Lowering {
    /// A list, a set or a record that lies so many levels deep in others.
    pub(super) fn structure(
        &mut self,
        written: &Spanned<ast::Type>,
        all: Option<&Declared<'_>>,
        level: usize,
    ) -> Option<Type> {
        if level >= LEVELS_MAX {
            let message = format!("lists and records lie at most {LEVELS_MAX} deep in each other");
            let help = "store what lies deeper in items of their own";
            self.report(Diagnostic::new(Rule::Type, written.span, message).help(help));
            return None;
        }
        match &written.node {
            ast::Type::ListOf { size, of, unique } => {
                let element = self.inner_type(of, all, level)?;
                let (low, high) = self.list_size(size)?;
                let unique = unique.as_ref().and_then(|unique| self.unique(unique, &element));
                Some(Type::ListOf(Box::new(ListOf { of: element, low, high, unique })))
            }
            ast::Type::SetOf { most, of } => {
                let element = self.inner_type(of, all, level)?;
                let most = self.set_size(most)?;
                let texts =
                    matches!(element, Type::Id | Type::Ulid | Type::Text { .. } | Type::Enum(_));
                if !texts {
                    let message = format!("a set has texts, and this is {element}");
                    let help = "write `set(20) of text(30)`, of an id or of an enum; or a list";
                    self.report(Diagnostic::new(Rule::Type, of.span, message).help(help));
                    return None;
                }
                Some(Type::SetOf { of: Box::new(element), most })
            }
            ast::Type::Record(fields) => Some(Type::Record(self.members(fields, all, level))),
            ast::Type::Named { .. } | ast::Type::OneOf(_) | ast::Type::Of(..) => None,
        }
    }

    /// A type within another.
    fn inner_type(
        &mut self,
        written: &Spanned<ast::Type>,
        all: Option<&Declared<'_>>,
        level: usize,
    ) -> Option<Type> {
        let kind = self.type_of(written, all, level + 1)?;
        if matches!(kind, Type::Counter | Type::Key) {
            let message = format!("a {kind} is an attribute of its own");
            let help = "declare it beside this, as an attribute of the entity";
            self.report(Diagnostic::new(Rule::Type, written.span, message).help(help));
            return None;
        }
        Some(kind)
    }

    fn members(
        &mut self,
        fields: &[ast::Field],
        all: Option<&Declared<'_>>,
        level: usize,
    ) -> Vec<Member> {
        let mut members: Vec<Member> = Vec::new();
        for (at, field) in fields.iter().enumerate() {
            let name = &field.name;
            let first = fields.iter().take(at).find(|other| other.name.node == name.node);
            if let Some(first) = first {
                self.twice("member", name, first.name.span);
                continue;
            }
            let extra = field.secret.map(|span| (span, "a member is secret with its record"));
            let default = field.default.as_ref().map(|default| default.span);
            let extra = extra.or(default.map(|span| (span, "a member has no default")));
            if let Some((span, message)) = extra {
                self.report(Diagnostic::new(Rule::Type, span, message).help("leave it out"));
            }
            let kind = self.inner_type(&field.kind, all, level).unwrap_or(Type::Id);
            let (name, optional) = (name.node.clone(), field.optional.is_some());
            members.push(Member { name, kind, optional });
        }
        members
    }

    /// How many elements a list has, at least and at most.
    fn list_size(&mut self, size: &Spanned<Option<Bounds>>) -> Option<(u64, u64)> {
        let end = |end: Option<&Name>| end.and_then(|end| end.node.parse::<u64>().ok());
        let bounds = size.node.as_ref();
        let low = end(bounds.and_then(|bounds| bounds.low.as_ref()));
        let high = end(bounds.and_then(|bounds| bounds.high.as_ref()));
        let found = low.zip(high);
        let found = found.filter(|(low, high)| low <= high && (1..=ELEMENTS_MAX).contains(high));
        if found.is_none() {
            self.no_size(size.span, "list(1..20)");
        }
        found
    }

    fn set_size(&mut self, most: &Name) -> Option<u64> {
        let found = most.node.parse::<u64>().ok().filter(|most| (1..=ELEMENTS_MAX).contains(most));
        if found.is_none() {
            self.no_size(most.span, "set(20)");
        }
        found
    }

    fn no_size(&mut self, span: Span, example: &str) {
        let message = "this is not how many elements there are";
        let help = format!("write `{example}`, of at most {ELEMENTS_MAX}");
        self.report(Diagnostic::new(Rule::Type, span, message).help(help));
    }

    /// `unique by a and b`: members of every element. `unique`: the elements themselves.
    fn unique(&mut self, unique: &ast::Unique, element: &Type) -> Option<Vec<String>> {
        let (message, help) = match (unique.by.as_slice(), element) {
            ([], Type::Record(_)) => ("unique by what?", "name members: `unique by sku`"),
            ([], kind) if kind.has_text() => return Some(Vec::new()),
            ([_, ..], Type::Record(_)) => {
                for (at, name) in unique.by.iter().enumerate() {
                    let first = unique.by.iter().take(at).find(|other| other.node == name.node);
                    if let Some(first) = first {
                        self.twice("member", name, first.span);
                    }
                    let member = element.member(&name.node);
                    if !member.is_some_and(|member| !member.optional && member.kind.has_text()) {
                        let message =
                            format!("`{}` does not tell every two elements apart", name.node);
                        let help = "name members that are never absent and no lists or records";
                        self.report(Diagnostic::new(Rule::Type, name.span, message).help(help));
                        return None;
                    }
                }
                return Some(unique.by.iter().map(|name| name.node.clone()).collect());
            }
            ([], _) => ("lists and objects are not told apart", "leave `unique` out"),
            ([_, ..], _) => ("these elements have no members", "write `unique` alone"),
        };
        self.report(Diagnostic::new(Rule::Type, unique.span, message).help(help));
        None
    }

    /// An empty set is not stored, so an attribute that is a set may be absent.
    pub(super) fn set_may_be_absent(&mut self, field: &ast::Field, kind: &Type) {
        if matches!(kind, Type::SetOf { .. }) && field.optional.is_none() {
            let message = format!("`{}` is not stored while it is empty", field.name.node);
            let help = format!("write `{} {kind}?`", field.name.node);
            self.report(Diagnostic::new(Rule::Type, field.name.span, message).help(help));
        }
    }

    /// `set` without its size and its elements.
    pub(super) fn bare_set(&mut self, name: &Name) {
        let message = "a set says how many elements it has at most, and of which type";
        let help = "write `set(20) of text(30)`";
        self.report(Diagnostic::new(Rule::Type, name.span, message).help(help));
    }
}

/// Whether a set is anywhere in values of a type.
pub(super) fn has_set(kind: &Type) -> bool {
    match kind {
        Type::SetOf { .. } => true,
        Type::ListOf(list) => has_set(&list.of),
        Type::Record(members) => members.iter().any(|member| has_set(&member.kind)),
        _ => false,
    }
}
