//! Expressions: names, types and whether what they use is there.

use latchkey_language::ast::{self, ExprKind as Written};
use latchkey_language::{Diagnostic, Name, Rule, Span};
use latchkey_value::id;

use super::literal::longest;
use super::scope::{Scope, unknown};
use super::{Lowering, suggestion};
use crate::model::{EntityId, Expr, ExprKind, Kind, New, Trigger};
use crate::regular::Bytes;
use crate::types::Type;

impl Lowering {
    /// An expression that is true or false.
    pub(super) fn test(&mut self, written: &ast::Expr, scope: &mut Scope) -> Expr {
        let test = self.expr(written, scope, None);
        match &test.of {
            Kind::Value(Type::Bool) => {
                self.must_have(&test, scope);
                test
            }
            Kind::Test | Kind::Unknown => test,
            other => {
                let message =
                    format!("a test is expected here, and this is {}", self.describe(other));
                self.report(Diagnostic::new(Rule::Type, written.span, message));
                test
            }
        }
    }

    /// An expression that is a value, of the expected type if there is one.
    pub(super) fn value(
        &mut self,
        written: &ast::Expr,
        scope: &mut Scope,
        expected: Option<&Type>,
    ) -> Expr {
        let value = self.expr(written, scope, expected);
        self.must_be_value(&value, expected);
        value
    }

    /// Refuses what is no value, or one of another type than expected.
    pub(super) fn must_be_value(&mut self, value: &Expr, expected: Option<&Type>) {
        let span = value.span;
        match (&value.of, expected) {
            (Kind::Value(Type::Months), _) => {
                let message = "a month has no one length: it moves a time or a date";
                let help = "write `now + 1mo`, or a duration such as `30d`";
                self.report(Diagnostic::new(Rule::Type, span, message).help(help));
            }
            (Kind::Value(found), Some(expected)) if !found.fits(expected) => {
                let message = format!("this is {found}, and {expected} is expected");
                self.report(Diagnostic::new(Rule::Type, span, message));
            }
            (Kind::Item(_) | Kind::Page(_) | Kind::Collection(_), _) => {
                let wanted = expected.map_or_else(|| "a value".to_owned(), Type::to_string);
                let message =
                    format!("this is {}, and {wanted} is expected", self.describe(&value.of));
                self.report(Diagnostic::new(Rule::Type, span, message));
            }
            (Kind::Draw, _) => {
                let message = "what is drawn compares with a number, and does nothing else";
                let help = "write `draw(key, subject) < rate`";
                self.report(Diagnostic::new(Rule::Type, span, message).help(help));
            }
            (Kind::Object, _) => {
                let message = "this can be shown, and nothing else";
                let help = "write it in the `with { … }` of a `return`";
                self.report(Diagnostic::new(Rule::Type, span, message).help(help));
            }
            _ => {}
        }
    }

    pub(super) fn describe(&self, kind: &Kind) -> String {
        let name = |id: &EntityId| &self.model.entities[*id].name;
        match kind {
            Kind::Value(kind) => format!("of type {kind}"),
            Kind::Item(entity) => format!("an item of `{}`", name(entity)),
            Kind::Page(entity) => format!("a page of `{}`", name(entity)),
            Kind::Collection(_) => "what a query of several entities has found".to_owned(),
            Kind::Test => "a test".to_owned(),
            Kind::Object => "to be shown".to_owned(),
            Kind::Draw => "drawn".to_owned(),
            Kind::Unknown => "unknown".to_owned(),
        }
    }

    pub(super) fn expr(
        &mut self,
        written: &ast::Expr,
        scope: &mut Scope,
        expected: Option<&Type>,
    ) -> Expr {
        let span = written.span;
        let (kind, of) = match &written.node {
            Written::Name(name) => return self.name(name, span, scope, expected),
            Written::Stored(name) => match scope.subject {
                Some(item) => return self.attribute_of_subject(item, name, span, scope),
                None => self.stored(name, scope),
            },
            Written::Member(base, name) => return self.member(base, name, span, scope),
            Written::Text(template) => {
                let pieces = self.text(template, scope);
                let max = longest(&pieces);
                let of = Kind::Value(Type::Text { max, like: None });
                let text = Expr { kind: ExprKind::Text(pieces), of, span };
                // A text that is an id, whatever its parts are, can stand where one is expected.
                if matches!(expected, Some(Type::Id)) && is_id(&text, max) {
                    return Expr { of: Kind::Value(Type::Id), ..text };
                }
                return text;
            }
            Written::Number(number) => self.number(number, span),
            Written::Duration(text) => self.duration(text, span),
            Written::New(what) => self.made(what, span, scope),
            Written::Call(name, arguments) => {
                return self.call(name, arguments, span, scope, expected);
            }
            Written::Object(members) => {
                return match expected {
                    Some(kind @ Type::Record(_)) => self.record(members, kind, span, scope),
                    _ => self.object(members, span, scope),
                };
            }
            Written::By(_, by) => {
                let message = "`by` is for `count(page by attribute)`";
                self.report(Diagnostic::new(Rule::Type, by.span, message));
                (ExprKind::Unknown, Kind::Unknown)
            }
            Written::Not(inner) => (ExprKind::Not(Box::new(self.test(inner, scope))), Kind::Test),
            Written::Is(thing, word) => self.is(thing, word, scope),
            Written::Owns(who, what) => self.owns(who, what, scope),
            Written::MovesTo(from, to) => self.moves_to(from, to, scope),
            Written::Binary(left, op, right) => self.binary(left, op.node, right, scope, span),
            Written::BeginsWith(a, b) => {
                let (a, b) = (self.sure(a, scope, None), self.sure(b, scope, None));
                (ExprKind::BeginsWith(Box::new(a), Box::new(b)), Kind::Test)
            }
            Written::Between(a, b, c) => {
                let a = self.sure(a, scope, None);
                let kind = value_type(&a);
                let (b, c) = (self.sure(b, scope, kind), self.sure(c, scope, kind));
                (ExprKind::Between(Box::new(a), Box::new(b), Box::new(c)), Kind::Test)
            }
            Written::Within(one, of) if scope.knows(&one.node) => {
                let named =
                    |name: &Name| ast::Expr::new(Written::Name(name.node.clone()), name.span);
                self.element_of(&named(one), &named(of), scope)
            }
            Written::Within(entity, of) => return self.misplaced_part(entity, of),
            Written::In(a, values) => {
                let a = self.sure(a, scope, None);
                let kind = value_type(&a).cloned();
                let values =
                    values.iter().map(|value| self.sure(value, scope, kind.as_ref())).collect();
                (ExprKind::In(Box::new(a), values), Kind::Test)
            }
            Written::ElementOf(element, of) => self.element_of(element, of, scope),
            Written::Every { all, element, over, test } => {
                return self.every(*all, element, over, test, span, scope);
            }
        };
        Expr { kind, of, span }
    }

    fn name(&mut self, name: &str, span: Span, scope: &mut Scope, expected: Option<&Type>) -> Expr {
        let expr = |kind, of| Expr { kind, of, span };
        if let Some(found) = self.named(name, span, scope) {
            if self.means_two(name, span, scope, expected) {
                return unknown(span);
            }
            return found;
        }
        match name {
            "now" => {
                if scope.trigger == Trigger::Invariant {
                    let message = "there is no `now` in an invariant, which holds at every time";
                    let help = "compare attributes with each other";
                    self.report(Diagnostic::new(Rule::Name, span, message).help(help));
                }
                return expr(ExprKind::Now, Kind::Value(Type::Time));
            }
            "true" | "false" => {
                return expr(ExprKind::Bool(name == "true"), Kind::Value(Type::Bool));
            }
            "unchanged" if scope.stored.is_some() => {
                self.must_count(span, scope);
                return expr(ExprKind::Unchanged, Kind::Test);
            }
            _ => {}
        }
        if let Some(Type::Enum(values)) = expected {
            if values.iter().any(|value| value == name) {
                let of = Kind::Value(Type::Enum(vec![name.to_owned()]));
                return expr(ExprKind::Word(name.to_owned()), of);
            }
            let help = suggestion(name, values.iter().map(String::as_str))
                .or_else(|| Some(format!("the values are {}", values.join(", "))));
            self.unknown("value or name", &Name::new(name.to_owned(), span), help);
            return expr(ExprKind::Unknown, Kind::Unknown);
        }
        let help = match name.contains('-') {
            // Only a word of an enum has dashes.
            true => Some(format!("write `{}` to subtract", name.replace('-', " - "))),
            false => suggestion(name, scope.names().into_iter()),
        };
        self.unknown("name", &Name::new(name.to_owned(), span), help);
        expr(ExprKind::Unknown, Kind::Unknown)
    }

    /// Refuses a name that is also a word of the enum that is expected: it would hide the word.
    pub(super) fn means_two(
        &mut self,
        name: &str,
        span: Span,
        scope: &Scope,
        expected: Option<&Type>,
    ) -> bool {
        let word = matches!(expected, Some(Type::Enum(words)) if words.iter().any(|w| w == name));
        if word {
            let message = format!("`{name}` is a name here, and a word of the enum");
            let mut two = Diagnostic::new(Rule::Name, span, message)
                .help("give the input, the parameter or the item another name");
            if let Some(given) = scope.given_at(name) {
                two = two.other(given, "the name is given here");
            }
            self.report(two);
        }
        word
    }

    /// Only a counter tells whether an item has changed.
    fn must_count(&mut self, span: Span, scope: &Scope) {
        let Some(entity) = scope.stored.map(|id| &self.model.entities[id]) else { return };
        if entity.counter().is_none() {
            let message = format!("`{}` has no counter that tells of changes", entity.name);
            let help = "add an attribute such as `version counter`, or write `if .x == item.x`";
            self.report(Diagnostic::new(Rule::Type, span, message).help(help));
        }
    }

    fn stored(&mut self, name: &Name, scope: &Scope) -> (ExprKind, Kind) {
        let Some(entity) = scope.stored else {
            let message =
                format!("`.{}` means a stored attribute, and nothing is stored here", name.node);
            let help = "use it in the `set` or `if` of a write; elsewhere, name what was read";
            self.report(Diagnostic::new(Rule::Name, name.span, message).help(help));
            return (ExprKind::Unknown, Kind::Unknown);
        };
        match self.attribute_of(entity, name) {
            Some(kind) => (ExprKind::Stored(name.node.clone()), Kind::Value(kind)),
            None => (ExprKind::Unknown, Kind::Unknown),
        }
    }

    /// `caller.id`, where there is a caller.
    pub(super) fn caller(&mut self, name: &Name, span: Span, scope: &mut Scope) -> Expr {
        if name.node != "id" {
            let help = Some("write `caller.id`".to_owned());
            self.unknown_operand("property of the caller named", name, help);
            return unknown(span);
        }
        let id = Expr { kind: ExprKind::CallerId, of: Kind::Value(Type::Id), span };
        let called = |scope: &Scope| scope.trigger == Trigger::Request;
        self.asked.callers.push(span);
        if scope.outer.as_ref().is_some_and(|outer| called(outer)) {
            return self.keep("caller.id".to_owned(), id, scope);
        }
        self.must_have_caller(span, scope);
        id
    }

    pub(super) fn must_have_caller(&mut self, span: Span, scope: &Scope) {
        if scope.trigger != Trigger::Request {
            let message = "there is no caller here";
            let help = match scope.trigger {
                Trigger::Invariant => "an invariant holds whoever asks: leave the caller out",
                _ => "a message has no caller; send what is needed of the caller in a field",
            };
            self.report(Diagnostic::new(Rule::Name, span, message).help(help));
        }
    }

    /// Refuses to use a value that may be absent.
    pub(super) fn must_have(&mut self, value: &Expr, scope: &Scope) {
        if !scope.assumes_presence && self.may_be_absent(value, scope) {
            let message = "this may be absent here";
            let help = "test it first with `… is present`";
            self.report(Diagnostic::new(Rule::Absent, value.span, message).help(help));
        }
    }

    /// A value that must be there.
    pub(super) fn sure(
        &mut self,
        written: &ast::Expr,
        scope: &mut Scope,
        expected: Option<&Type>,
    ) -> Expr {
        let value = self.value(written, scope, expected);
        self.must_have(&value, scope);
        value
    }

    /// `new ulid` and `new key`
    fn made(&mut self, what: &Name, span: Span, scope: &Scope) -> (ExprKind, Kind) {
        if scope.in_each {
            let message = "what is new is one value in a call, and every element would have it";
            let help = "let the caller give it as a member of each element";
            self.report(Diagnostic::new(Rule::Type, span, message).help(help));
            return (ExprKind::Unknown, Kind::Unknown);
        }
        match what.node.as_str() {
            "ulid" => (ExprKind::New(New::Ulid), Kind::Value(Type::Ulid)),
            "key" => (ExprKind::New(New::Key), Kind::Value(Type::Key)),
            _ => {
                let help = Some("write `new ulid` or `new key`".to_owned());
                self.unknown("such thing to make:", what, help);
                (ExprKind::Unknown, Kind::Unknown)
            }
        }
    }
}

/// Whether a text of so many bytes at most is an id, whatever its parts are.
fn is_id(text: &Expr, bytes_max: Option<u64>) -> bool {
    let language = text.language();
    let short = bytes_max.and_then(|bytes| usize::try_from(bytes).ok());
    short.is_some_and(|bytes| bytes <= id::ID_BYTES_MAX)
        && !language.has_empty()
        && language.alphabet().is_within(Bytes::that(id::is_id_byte))
}

pub(super) fn value_type(expr: &Expr) -> Option<&Type> {
    if let Kind::Value(kind) = &expr.of { Some(kind) } else { None }
}
