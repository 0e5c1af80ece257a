//! What mentions a stored attribute becomes a DynamoDB expression: this says so where it cannot.
//!
//! The rest of an expression the runtime evaluates, and hands the store a constant.

use latchkey_language::{Diagnostic, Rule, Span};

use crate::model::{Expr, ExprKind, Kind, Op};
use crate::types::Type;

/// What a store cannot evaluate, and what to do about it.
type Breach = (Span, &'static str, &'static str);

/// Refuses a condition no store can test.
pub(super) fn condition(test: &Expr) -> Option<Diagnostic> {
    tested(test).map(refusal)
}

/// Refuses a value no store can compute.
pub(super) fn value(value: &Expr) -> Option<Diagnostic> {
    computed(value).map(refusal)
}

fn refusal((span, message, help): Breach) -> Diagnostic {
    Diagnostic::new(Rule::Type, span, message)
        .why("what mentions a stored attribute is evaluated by the store, in one expression")
        .help(help)
}

/// Whether an expression mentions what is stored.
pub(super) fn mentions(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |part| found |= matches!(part.kind, ExprKind::Stored(_) | ExprKind::Unchanged));
    found
}

fn tested(test: &Expr) -> Option<Breach> {
    if !mentions(test) {
        return None;
    }
    match &test.kind {
        ExprKind::Unchanged | ExprKind::Unknown => None,
        ExprKind::Not(inner) => tested(inner),
        ExprKind::Binary(Op::And | Op::Or, a, b) => tested(a).or_else(|| tested(b)),
        ExprKind::Binary(Op::Plus | Op::Minus | Op::Times, ..) => operand(test),
        ExprKind::BeginsWith(a, _) if a.stored_root().is_none() => Some((
            test.span,
            "a store tests how a stored attribute begins, and nothing else",
            "put the stored attribute first: `.name begins_with x`",
        )),
        ExprKind::Binary(_, a, b) | ExprKind::BeginsWith(a, b) => {
            operand(a).or_else(|| operand(b)).or_else(|| itself(test, a, &[b]))
        }
        ExprKind::Present(thing) | ExprKind::Absent(thing) => operand(thing),
        ExprKind::Between(a, b, c) => operand(a)
            .or_else(|| operand(b))
            .or_else(|| operand(c))
            .or_else(|| itself(test, a, &[b, c])),
        ExprKind::In(a, values) => operand(a)
            .or_else(|| values.iter().find_map(operand))
            .or_else(|| itself(test, a, &values.iter().collect::<Vec<_>>())),
        ExprKind::Contains(set, element) if set.stored_root().is_some() => {
            operand(element).or_else(|| itself(test, set, &[element]))
        }
        ExprKind::Stored(_) | ExprKind::Member(..) => None,
        _ => Some((
            test.span,
            "no store can test this",
            "read the item first, test what was read, and write `if unchanged`",
        )),
    }
}

/// A stored attribute that is compared with itself: DynamoDB refuses it.
fn itself(test: &Expr, one: &Expr, others: &[&Expr]) -> Option<Breach> {
    others.iter().any(|other| is_one_place(one, other)).then_some((
        test.span,
        "this compares a stored attribute with itself",
        "it holds always, or never: name another attribute or a value, or leave it out",
    ))
}

/// Whether two expressions name one place in a stored item.
fn is_one_place(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Stored(a), ExprKind::Stored(b)) => a == b,
        (ExprKind::Member(a, name), ExprKind::Member(b, other)) => {
            name == other && is_one_place(a, b)
        }
        _ => false,
    }
}

/// A side of a comparison: a stored attribute, or something that mentions none.
fn operand(expr: &Expr) -> Option<Breach> {
    if expr.stored_root().is_some() || !mentions(expr) {
        return None;
    }
    if matches!(expr.kind, ExprKind::Size(_) | ExprKind::Count(..)) {
        return Some((
            expr.span,
            "a condition does not count what is stored",
            "`get` the item first, test `count(x.list)` of what was read, and write `if unchanged`",
        ));
    }
    Some((
        expr.span,
        "no store computes within a condition",
        "bring the sum to the other side: `.a > limit - 1` rather than `.a + 1 > limit`",
    ))
}

fn computed(value: &Expr) -> Option<Breach> {
    if matches!(value.kind, ExprKind::Stored(_)) || !mentions(value) {
        return None;
    }
    match &value.kind {
        ExprKind::Binary(..) if value.of != Kind::Unknown && !is_number(value) => Some((
            value.span,
            "no store computes with times",
            "`get` the item first, compute with what was read, and write `if unchanged`",
        )),
        ExprKind::Binary(Op::Plus | Op::Minus, a, b) if is_term(a) && is_term(b) => None,
        _ => Some((
            value.span,
            "no store can compute this",
            "a stored attribute can be taken as it is, or with one `+` or `-`",
        )),
    }
}

fn is_number(expr: &Expr) -> bool {
    matches!(&expr.of, Kind::Value(Type::Int { .. } | Type::Number { .. } | Type::Counter))
}

fn is_term(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Stored(_)) || !mentions(expr)
}

#[cfg(test)]
mod tests {
    use latchkey_language::Level;

    /// The errors of a document whose one write has this `set` and `if`.
    fn told(set: &str, condition: &str) -> Vec<String> {
        let text = format!(
            "```contract\nsystem accounts\ntable Accounts {{ type kind }}\nrole teller\n\
             entity Account \"ACCOUNT\" {{\n  PK = \"ACCOUNT#{{accountId}}\"\n  SK = \"META\"\n  accountId id\n  \
             balance int\n  limit int\n  name text(80)\n  opened time\n  version counter\n}}\n\
             contract A-1 \"Change\" {{\n  PUT /accounts/{{accountId}}\n  input amount int\n  \
             account = get Account strong else 404 not-found\n  allow caller is teller\n  \
             update account\n    set version = .version + 1, {set}\n    if {condition} else retry\n  \
             return account\n  consistency strong\n  expect 1 item\n  rate 1/s\n}}\n```\n"
        );
        let found = crate::check(&text).diagnostics.into_iter();
        found.filter(|found| found.level == Level::Error).map(|found| found.message).collect()
    }

    #[test]
    fn what_a_store_evaluates_is_let_through() {
        let cases = [
            ("balance = .balance + amount", "unchanged"),
            ("balance = amount - .balance", ".limit >= amount and .name is present"),
            ("limit = .balance", "not (.balance in (1, amount) or .name begins_with \"A\")"),
            (
                "balance = account.balance + amount",
                "unchanged and .balance between 1 and amount + 1",
            ),
        ];
        for (set, condition) in cases {
            assert_eq!(told(set, condition), [""; 0], "{set} if {condition}");
        }
    }

    #[test]
    fn what_no_store_evaluates_is_refused() {
        let within = "no store computes within a condition";
        let cases = [
            ("balance = .balance + .limit + amount", "unchanged", "no store can compute this"),
            ("name = \"x{.name}\"", "unchanged", "no store can compute this"),
            ("balance = amount", ".balance + amount <= .limit", within),
            ("balance = amount", "caller owns .name", "no store can test this"),
            (
                "balance = amount",
                "not (.balance in (1, .balance))",
                "this compares a stored attribute with itself",
            ),
            (
                "balance = amount",
                ".limit > .balance or .name != .name",
                "this compares a stored attribute with itself",
            ),
            (
                "balance = amount",
                "\"ab\" begins_with .name",
                "a store tests how a stored attribute begins, and nothing else",
            ),
            ("opened = .opened + 1d", "unchanged", "no store computes with times"),
        ];
        for (set, condition, message) in cases {
            let told = told(set, condition);
            assert!(told.iter().any(|found| found == message), "{set} if {condition}: {told:?}");
        }
    }
}
