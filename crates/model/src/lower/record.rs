//! Records that are made of values: `{ city, zip = code }` where a record is expected.

use latchkey_language::ast;
use latchkey_language::{Diagnostic, Name, Rule, Span};

use super::scope::Scope;
use super::{Lowering, stored, suggestion};
use crate::model::{Expr, ExprKind, Kind};
use crate::types::{Member, Type};

impl Lowering {
    /// A record of the expected type. An optional member that is not given, or whose value is absent, is left out.
    pub(super) fn record(
        &mut self,
        given: &[ast::Assign],
        expected: &Type,
        span: Span,
        scope: &mut Scope,
    ) -> Expr {
        self.given_once(given);
        self.never_maybe(given);
        let mut members = Vec::with_capacity(given.len());
        for assign in given {
            match expected.member(&assign.name.node) {
                Some(member) => {
                    let value = self.member_value(assign, member, scope);
                    members.push((assign.name.node.clone(), value));
                }
                None => self.no_member(&assign.name, expected.members()),
            }
        }
        let is_given = |member: &Member| given.iter().any(|one| one.name.node == member.name);
        let required = expected.members().iter().filter(|member| !member.optional);
        let missing: Vec<String> = required
            .filter(|member| !is_given(member))
            .map(|member| format!("`{}`", member.name))
            .collect();
        if !missing.is_empty() {
            let message = format!("this leaves the record without {}", missing.join(", "));
            let help = "give it in the braces, or make the member optional";
            self.report(Diagnostic::new(Rule::Type, span, message).help(help));
        }
        Expr { kind: ExprKind::Object(members), of: Kind::Value(expected.clone()), span }
    }

    /// The value of a member, within the bounds of the member for certain: no store holds it to them.
    fn member_value(&mut self, assign: &ast::Assign, member: &Member, scope: &mut Scope) -> Expr {
        let kind = Some(&member.kind);
        let value = match member.optional {
            true => self.value(&assign.value, scope, kind),
            false => self.sure(&assign.value, scope, kind),
        };
        self.must_fit_member(&value, &member.kind);
        if stored::mentions(&value) {
            let message = "what is set within a record does not rest on what is stored";
            let help = "`get` the item first, use what was read, and write `if unchanged`";
            self.report(Diagnostic::new(Rule::Type, value.span, message).help(help));
        }
        value
    }

    fn no_member(&mut self, name: &Name, members: &[Member]) {
        let names = members.iter().map(|member| member.name.as_str());
        let help = suggestion(&name.node, names);
        self.unknown("member of this record named", name, help);
    }
}
