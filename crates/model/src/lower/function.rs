//! Built-in functions, and the facts about a message or a send.

use latchkey_language::ast::{self, ExprKind as Written};
use latchkey_language::{Diagnostic, Name, Rule, Span};
use latchkey_value::limits::{
    FAILURE_CLASS_BYTES_MAX, FAILURE_CODE_BYTES_MAX, FAILURE_MESSAGE_BYTES_MAX,
};
use latchkey_value::{Rounding, id};

use super::scope::{Access, Scope, unknown};
use super::{Lowering, suggestion};
use crate::model::{BindingId, EntityId, Expr, ExprKind, Kind, Op, Told, Trigger};
use crate::types::Type;

/// The functions, and how each is written.
const FUNCTIONS: &[(&str, &str)] = &[
    ("ceil", "ceil(a / b) or ceil(a, 2)"),
    ("coalesce", "coalesce(a, b)"),
    ("commitment", "commitment(key)"),
    ("count", "count(page), count(list) or count(page by attribute)"),
    ("day", "day(time)"),
    ("draw", "draw(key, subject)"),
    ("floor", "floor(a / b) or floor(a, 2)"),
    ("max", "max(a, b)"),
    ("min", "min(a, b)"),
    ("reveal", "reveal(key)"),
    ("round", "round(a / b, 2) or round(a)"),
    ("shard", "shard(x, 16)"),
    ("sum", "sum(items.attribute)"),
];

/// Digits of a key or of its hash.
const HEX_BYTES: u64 = 64;

/// The most shards of anything.
const SHARDS_MAX: u64 = 100;

impl Lowering {
    /// `f(a, b)`
    pub(super) fn call(
        &mut self,
        name: &Name,
        arguments: &[ast::Expr],
        span: Span,
        scope: &mut Scope,
        expected: Option<&Type>,
    ) -> Expr {
        let value = |kind, of| Expr { kind, of: Kind::Value(of), span };
        let hex = Type::Text { max: Some(HEX_BYTES), like: None };
        match (name.node.as_str(), arguments) {
            ("shard", [of, count]) => self.shard(of, count, span, scope),
            ("draw", [key, subject]) => {
                let key = Box::new(self.sure(key, scope, Some(&Type::Key)));
                let subject = Box::new(self.subject(subject, scope));
                Expr { kind: ExprKind::Draw(key, subject), of: Kind::Draw, span }
            }
            ("commitment", [key]) => {
                let key = self.sure(key, scope, Some(&Type::Key));
                value(ExprKind::Commitment(Box::new(key)), hex)
            }
            ("reveal", [key]) => {
                let key = self.sure(key, scope, Some(&Type::Key));
                value(ExprKind::Reveal(Box::new(key)), hex)
            }
            ("coalesce", [first @ .., last]) if !first.is_empty() => {
                self.coalesce(first, last, span, scope, expected)
            }
            ("max" | "min", [_, _, ..]) => {
                self.extreme(name.node == "max", arguments, span, scope, expected)
            }
            ("day", [of]) => {
                let of = self.sure(of, scope, Some(&Type::Time));
                value(ExprKind::Day(Box::new(of)), Type::Date)
            }
            ("round", [of, places @ ..]) => {
                self.rounded(Rounding::Nearest, of, places, span, scope)
            }
            ("floor", [of, places @ ..]) => self.rounded(Rounding::Down, of, places, span, scope),
            ("ceil", [of, places @ ..]) => self.rounded(Rounding::Up, of, places, span, scope),
            ("count", [of]) => self.count(of, span, scope),
            ("sum", [of]) => self.sum(of, span, scope),
            _ => {
                let known = FUNCTIONS.iter().find(|(known, _)| *known == name.node);
                match known {
                    Some((_, form)) => {
                        let message = format!("`{}` does not take these", name.node);
                        let help = format!("write `{form}`");
                        self.report(Diagnostic::new(Rule::Type, span, message).help(help));
                    }
                    None => {
                        let help = suggestion(&name.node, FUNCTIONS.iter().map(|(name, _)| *name));
                        self.unknown_operand("function", name, help);
                    }
                }
                unknown(span)
            }
        }
    }

    /// What a key draws for: a text, or something that is one.
    fn subject(&mut self, written: &ast::Expr, scope: &mut Scope) -> Expr {
        let subject = self.sure(written, scope, None);
        let text = matches!(
            &subject.of,
            Kind::Unknown | Kind::Value(Type::Id | Type::Ulid | Type::Text { .. })
        );
        if !text {
            let message = "a key draws for a text";
            let help = "write `draw(key, \"{a}#{b}\")`";
            self.report(Diagnostic::new(Rule::Type, written.span, message).help(help));
        }
        subject
    }

    fn shard(&mut self, of: &ast::Expr, count: &ast::Expr, span: Span, scope: &mut Scope) -> Expr {
        let of = self.sure(of, scope, None);
        let plain = matches!(
            &of.of,
            Kind::Unknown
                | Kind::Value(
                    Type::Id
                        | Type::Ulid
                        | Type::Text { .. }
                        | Type::Int { .. }
                        | Type::Time
                        | Type::Date
                )
        );
        let shards = match &count.node {
            Written::Number(number) => number.parse::<u64>().ok(),
            _ => None,
        };
        match shards.filter(|shards| plain && (1..=SHARDS_MAX).contains(shards)) {
            Some(shards) => {
                let high = i64::try_from(shards).ok().map(|shards| shards - 1);
                let kind = Type::Int { low: Some(0), high };
                Expr { kind: ExprKind::Shard(Box::new(of), shards), of: Kind::Value(kind), span }
            }
            None => {
                let message = "a shard is of a text, an id, a whole number, a time or a date, and one of a few";
                let help = format!("write `shard(x, 16)`, with a number from 1 to {SHARDS_MAX}");
                self.report(Diagnostic::new(Rule::Type, span, message).help(help));
                unknown(span)
            }
        }
    }

    fn extreme(
        &mut self,
        greatest: bool,
        arguments: &[ast::Expr],
        span: Span,
        scope: &mut Scope,
        expected: Option<&Type>,
    ) -> Expr {
        let mut all: Vec<Expr> = Vec::new();
        let mut joined: Option<Type> = None;
        for argument in arguments {
            let value = self.sure(argument, scope, expected);
            let Kind::Value(kind) = &value.of else { return unknown(span) };
            let fits = joined.as_ref().is_none_or(|joined| kind.compares_with(joined));
            if !kind.is_ordered() || !fits {
                let shown = joined.as_ref().unwrap_or(kind);
                let message = format!("{shown} and {kind} have no order");
                self.report(Diagnostic::new(Rule::Type, value.span, message));
                return unknown(span);
            }
            joined = Some(match joined {
                None => kind.clone(),
                Some(before) => wider(before, kind),
            });
            all.push(value);
        }
        let kind = if greatest { ExprKind::Greatest(all) } else { ExprKind::Least(all) };
        Expr { kind, of: joined.map_or(Kind::Unknown, Kind::Value), span }
    }

    /// `coalesce(a, b)`: what may be absent in `a` is taken to be there, for otherwise the value is `b`.
    fn coalesce(
        &mut self,
        first: &[ast::Expr],
        last: &ast::Expr,
        span: Span,
        scope: &mut Scope,
        expected: Option<&Type>,
    ) -> Expr {
        let mut all = Vec::new();
        for argument in first {
            let outer = std::mem::replace(&mut scope.assumes_presence, true);
            let value = self.value(argument, scope, expected);
            scope.assumes_presence = outer;
            self.can_be_passed_over(&value, scope);
            all.push(value);
        }
        // A word is one of the enum that it stands beside.
        let beside = all.iter().find_map(|value| match &value.of {
            Kind::Value(kind @ Type::Enum(_)) => Some(kind.clone()),
            _ => None,
        });
        all.push(self.sure(last, scope, expected.or(beside.as_ref())));
        let mut joined: Option<Type> = None;
        for value in &all {
            let Kind::Value(kind) = &value.of else { return unknown(span) };
            joined = Some(match joined {
                None => kind.clone(),
                Some(before) if before == *kind => before,
                Some(Type::Enum(before)) if kind.fits(&Type::Enum(before.clone())) => {
                    Type::Enum(before)
                }
                Some(before @ Type::Enum(_)) if before.fits(kind) => kind.clone(),
                Some(before) if kind.is_ordered() && kind.compares_with(&before) => {
                    match (text_bytes(&before), text_bytes(kind)) {
                        (Some(_), Some(_)) => wider(before, kind),
                        _ => Type::Text { max: None, like: None },
                    }
                }
                Some(before) => {
                    let message = format!("one of these is {before}, the other {kind}");
                    self.report(Diagnostic::new(Rule::Type, value.span, message));
                    return unknown(span);
                }
            });
        }
        Expr { kind: ExprKind::Coalesce(all), of: joined.map_or(Kind::Unknown, Kind::Value), span }
    }

    /// Refuses a value in a `coalesce` that is always there: what follows it would never be taken.
    fn can_be_passed_over(&mut self, value: &Expr, scope: &Scope) {
        let mut open = value.of == Kind::Unknown;
        value.walk(&mut |part| {
            // Whether an attribute of the same item is optional is looked at where a default is declared.
            open |= matches!(part.kind, ExprKind::Stored(_) | ExprKind::Unknown)
                || self.may_be_absent(part, scope)
                // That the item may be absent has been told.
                || matches!(&part.kind, ExprKind::Attribute(id, _)
                    if !scope.present.contains(&Access::Binding(*id)));
        });
        if !open {
            let message = "this is always there, so nothing behind it is ever taken";
            let help = "write it without `coalesce`";
            self.report(Diagnostic::new(Rule::Type, value.span, message).help(help));
        }
    }

    /// The page of a name, and the entity of its items.
    fn page(&mut self, written: &ast::Expr, scope: &mut Scope) -> Option<(BindingId, EntityId)> {
        let page = self.expr(written, scope, None);
        self.page_of(page)
    }

    fn page_of(&mut self, page: Expr) -> Option<(BindingId, EntityId)> {
        match (&page.kind, &page.of) {
            (ExprKind::Binding(id), Kind::Page(entity)) => Some((*id, *entity)),
            (_, Kind::Unknown) => None,
            _ => {
                let message = "this is neither a list nor a page nor a batch of items";
                let help = "name what `query … page`, `first N` or `get … in 0..15` has read";
                self.report(Diagnostic::new(Rule::Type, page.span, message).help(help));
                None
            }
        }
    }

    fn count(&mut self, of: &ast::Expr, span: Span, scope: &mut Scope) -> Expr {
        let whole = Type::Int { low: Some(0), high: None };
        let Written::By(page, attribute) = &of.node else {
            let list = self.expr(of, scope, None);
            if let Some(size) = self.size_of(&list, span, scope) {
                return size;
            }
            return match self.page_of(list) {
                Some((id, _)) => Expr { kind: ExprKind::Count(id), of: Kind::Value(whole), span },
                None => unknown(span),
            };
        };
        let Some((id, entity)) = self.page(page, scope) else { return unknown(span) };
        match self.attribute_of(entity, attribute) {
            Some(Type::Enum(words)) => {
                let kind = ExprKind::CountBy(id, attribute.node.clone(), words);
                Expr { kind, of: Kind::Object, span }
            }
            Some(other) => {
                let message = format!(
                    "`{}` is {other}, which has too many values to count by",
                    attribute.node
                );
                let help = "count by an attribute that is one of a few words";
                self.report(Diagnostic::new(Rule::Type, attribute.span, message).help(help));
                unknown(span)
            }
            None => unknown(span),
        }
    }

    fn sum(&mut self, of: &ast::Expr, span: Span, scope: &mut Scope) -> Expr {
        if let Some(total) = self.total(of, span, scope) {
            return total;
        }
        let Written::Member(page, attribute) = &of.node else {
            let message = "a sum is of an attribute";
            let help = "write `sum(items.attribute)`";
            self.report(Diagnostic::new(Rule::Type, of.span, message).help(help));
            return unknown(span);
        };
        let Some((id, entity)) = self.page(page, scope) else { return unknown(span) };
        let kind = match self.attribute_of(entity, attribute) {
            Some(Type::Int { .. } | Type::Counter) => Type::Int { low: None, high: None },
            Some(Type::Number { .. }) => Type::Number { low: None, high: None },
            Some(other) => {
                let message = format!("`{}` is {other}, which does not add up", attribute.node);
                self.report(Diagnostic::new(Rule::Type, attribute.span, message));
                return unknown(span);
            }
            None => return unknown(span),
        };
        let attribute = attribute.node.clone();
        Expr { kind: ExprKind::Sum(id, attribute), of: Kind::Value(kind), span }
    }

    /// `{ a = x, b = y }`, to be shown.
    pub(super) fn object(
        &mut self,
        members: &[ast::Assign],
        span: Span,
        scope: &mut Scope,
    ) -> Expr {
        let shown = self.shown(members, scope);
        let members = shown.into_iter().map(|given| (given.attribute, given.value)).collect();
        Expr { kind: ExprKind::Object(members), of: Kind::Object, span }
    }

    /// `message.sentAt`, `sent.at` and `failure.code`, where there is one; `None` where the name is no such thing.
    pub(super) fn told(
        &mut self,
        word: &str,
        name: &Name,
        span: Span,
        scope: &Scope,
    ) -> Option<Expr> {
        let text = |max| Type::Text { max: Some(bytes(max)), like: None };
        let all: Vec<(&str, Told, Type)> = match (word, scope.trigger) {
            ("message", Trigger::Message(_) | Trigger::Dead(_)) => vec![
                ("sentAt", Told::MessageSentAt, Type::Time),
                ("tries", Told::MessageTries, Type::Int { low: Some(1), high: None }),
            ],
            ("sent", Trigger::Accepted(_)) => vec![("at", Told::SentAt, Type::Time)],
            ("failure", Trigger::Dead(_)) => vec![
                ("class", Told::FailureClass, text(FAILURE_CLASS_BYTES_MAX)),
                ("code", Told::FailureCode, text(FAILURE_CODE_BYTES_MAX)),
                ("message", Told::FailureMessage, text(FAILURE_MESSAGE_BYTES_MAX)),
            ],
            _ => return None,
        };
        match all.iter().find(|(part, ..)| *part == name.node) {
            Some((_, told, kind)) => {
                Some(Expr { kind: ExprKind::Told(*told), of: Kind::Value(kind.clone()), span })
            }
            None => {
                let parts: Vec<String> =
                    all.iter().map(|(part, ..)| format!("`{word}.{part}`")).collect();
                let help = Some(format!("there is {}", parts.join(", ")));
                self.unknown_operand(&format!("part of `{word}` named"), name, help);
                Some(unknown(span))
            }
        }
    }

    /// A comparison with what was drawn.
    pub(super) fn drawn(
        &mut self,
        (left, right): (&ast::Expr, &ast::Expr),
        op: Op,
        span: Span,
        scope: &mut Scope,
    ) -> (ExprKind, Kind) {
        let (a, b) = (self.expr(left, scope, None), self.expr(right, scope, None));
        self.must_have(&a, scope);
        self.must_have(&b, scope);
        let number = |side: &Expr| {
            matches!(&side.of, Kind::Unknown | Kind::Value(Type::Int { .. } | Type::Number { .. }))
        };
        let fits = match (&a.of, &b.of) {
            (Kind::Draw, _) => number(&b),
            (_, Kind::Draw) => number(&a),
            _ => true,
        };
        let compares = matches!(op, Op::Less | Op::LessOrEqual | Op::Greater | Op::GreaterOrEqual);
        if !fits || !compares {
            let message = "what is drawn compares with a number, and does nothing else";
            let help = "write `draw(key, subject) < rate`";
            self.report(Diagnostic::new(Rule::Type, span, message).help(help));
        }
        (ExprKind::Binary(op, Box::new(a), Box::new(b)), Kind::Test)
    }
}

/// A type that holds the values of two that compare.
fn wider(before: Type, kind: &Type) -> Type {
    match (&before, kind) {
        (Type::Int { low, high }, Type::Int { low: other_low, high: other_high }) => Type::Int {
            low: low.zip(*other_low).map(|(a, b)| a.min(b)),
            high: high.zip(*other_high).map(|(a, b)| a.max(b)),
        },
        (Type::Number { .. } | Type::Int { .. } | Type::Counter, Type::Number { .. })
        | (Type::Number { .. }, _) => Type::Number { low: None, high: None },
        (Type::Counter, Type::Int { .. }) | (Type::Int { .. }, Type::Counter) => {
            Type::Int { low: None, high: None }
        }
        (before_kind, kind) if before_kind == kind => before,
        (Type::Id | Type::Ulid | Type::Text { .. }, Type::Id | Type::Ulid | Type::Text { .. }) => {
            Type::Text { max: text_bytes(&before).max(text_bytes(kind)), like: None }
        }
        _ => before,
    }
}

/// The most bytes of a text.
fn text_bytes(kind: &Type) -> Option<u64> {
    match kind {
        Type::Text { max, .. } => *max,
        Type::Ulid => Some(bytes(id::ULID_BYTES)),
        _ => Some(bytes(id::ID_BYTES_MAX)),
    }
}

/// A limit as documents declare sizes.
fn bytes(limit: usize) -> u64 {
    u64::try_from(limit).unwrap_or(u64::MAX)
}

/// Whether an expression is what a key draws.
pub(super) fn is_draw(written: &ast::Expr) -> bool {
    matches!(&written.node, Written::Call(name, _) if name.node == "draw")
}

#[cfg(test)]
mod tests {
    use latchkey_language::Level;

    /// The errors of a document with an attribute of this default and type, and a contract that answers this value.
    fn told(default: &str, value: &str) -> Vec<String> {
        let text = format!(
            "```contract\nsystem doors\ntable Doors {{ type kind }}\nentity Door \"DOOR\" {{\n  \
             PK = \"DOOR#{{door}}\"\n  SK = \"META\"\n  door id, name text(20)?, keys int 0..9 ?\n  \
             order text(129) = {default}\n}}\n\
             contract D-1 \"Make\" {{\n  POST /doors\n  input door id, name text(20)?, keys int 0..9 ?\n  \
             allow true\n  made = put Door {{ door, name, keys }} if absent else 409 there\n  \
             return made with {{ shown = {value} }}\n  consistency strong\n  expect 1 item\n  rate 1/s\n}}\n```\n"
        );
        let found = crate::check(&text).diagnostics.into_iter();
        let errors = found.filter(|found| found.level == Level::Error);
        errors.map(|found| format!("{}: {}", found.rule, found.message)).collect()
    }

    const ORDER: &str = "coalesce(\"A{name}\", \"B{door}\")";

    #[test]
    fn a_stand_in_is_taken_for_what_may_be_absent() {
        for value in [
            ORDER,
            "coalesce(name, \"none\")",
            "coalesce(keys, 0)",
            "coalesce(name, \"{keys}\", door)",
        ] {
            assert_eq!(told(ORDER, value), [""; 0], "{value}");
        }
    }

    #[test]
    fn a_stand_in_is_there_and_of_the_same_kind() {
        let never = "type: this is always there, so nothing behind it is ever taken";
        for (value, expected) in [
            ("coalesce(name, name)", "absent: this may be absent here"),
            ("coalesce(door, \"x\")", never),
            ("coalesce(keys, \"none\")", "type: one of these is int, the other text(4)"),
            ("coalesce(keys)", "type: `coalesce` does not take these"),
        ] {
            assert_eq!(told(ORDER, value), [expected], "{value}");
        }
        let absent = "absent: `name` may be absent";
        assert_eq!(told("\"A{name}\"", "1"), [absent]);
        assert_eq!(told("coalesce(\"A{keys}\", \"B{name}\")", "1"), [absent]);
    }
}
