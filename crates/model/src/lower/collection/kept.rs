//! What a filter asks of the items of one of several entities.
//!
//! An attribute that an entity does not declare is absent from its items, whatever another program may have stored under
//! the name. So `.x is absent` holds for all of them, and what is left of the condition is asked of the others alone. A
//! comparison with `.x` would have no meaning there: the filter says first what becomes of such items.

use latchkey_language::ast::{self, BinaryOp, ExprKind as Written};
use latchkey_language::{Diagnostic, Name, Rule};

use crate::lower::Lowering;
use crate::model::EntityId;

/// What a filter asks of the items of an entity.
pub(in crate::lower) enum Specialised {
    /// Nothing: all of them are kept.
    Kept,
    /// That this holds.
    Asked(ast::Expr),
    /// What was reported.
    Unknown,
}

/// What is left of a test where some attributes are known to be absent.
enum Left {
    Decided(bool),
    Open(ast::Expr),
}

impl Lowering {
    /// What a filter asks of the items of one of the entities of a query.
    pub(in crate::lower) fn specialised(
        &mut self,
        written: &ast::Expr,
        entity: EntityId,
        all: &[EntityId],
    ) -> Specialised {
        let shape = |id: EntityId| &self.model.entities[id];
        // What no entity has is a mistake of its own.
        let lacks = |name: &Name| {
            shape(entity).attribute(&name.node).is_none()
                && all.iter().any(|id| shape(*id).attribute(&name.node).is_some())
        };
        let left = left(written, &lacks);
        let name = &shape(entity).name;
        match left {
            Left::Decided(true) => Specialised::Kept,
            Left::Decided(false) => {
                let message = format!("this filter drops every `{name}`");
                let why = "what is always dropped is read and paid for, and never seen";
                let help = format!(
                    "keep them: `.x is absent or …`; or read none: leave `{name}` out of the range and of the query"
                );
                self.report(Diagnostic::new(Rule::Type, written.span, message).why(why).help(help));
                Specialised::Unknown
            }
            Left::Open(test) => match asked(&test, &lacks) {
                None => Specialised::Asked(test),
                Some(lacking) => {
                    let message = format!("`{name}` has no `{}`", lacking.node);
                    let why = "a store would drop, or keep, every item that lacks what is compared";
                    let help = format!(
                        "say what becomes of them: `.{} is absent or …` keeps every `{name}`",
                        lacking.node
                    );
                    self.report(
                        Diagnostic::new(Rule::Absent, lacking.span, message).why(why).help(help),
                    );
                    Specialised::Unknown
                }
            },
        }
    }
}

/// What is left of a test, where attributes that an entity lacks are absent.
fn left(test: &ast::Expr, lacks: &dyn Fn(&Name) -> bool) -> Left {
    match &test.node {
        Written::Is(thing, word) if root(thing).is_some_and(lacks) => match word.node.as_str() {
            "present" => Left::Decided(false),
            "absent" => Left::Decided(true),
            _ => Left::Open(test.clone()),
        },
        Written::Not(inner) => match left(inner, lacks) {
            Left::Decided(truth) => Left::Decided(!truth),
            Left::Open(inner) => {
                Left::Open(ast::Expr::new(Written::Not(Box::new(inner)), test.span))
            }
        },
        Written::Binary(a, op, b) if matches!(op.node, BinaryOp::And | BinaryOp::Or) => {
            // What decides the whole, whatever the other side is.
            let decides = op.node == BinaryOp::Or;
            match (left(a, lacks), left(b, lacks)) {
                (Left::Decided(truth), _) | (_, Left::Decided(truth)) if truth == decides => {
                    Left::Decided(truth)
                }
                (Left::Decided(_), other) | (other, Left::Decided(_)) => other,
                (Left::Open(a), Left::Open(b)) => {
                    let both = Written::Binary(Box::new(a), op.clone(), Box::new(b));
                    Left::Open(ast::Expr::new(both, test.span))
                }
            }
        }
        _ => Left::Open(test.clone()),
    }
}

/// The stored attribute that a thing is, or is a member of.
fn root(thing: &ast::Expr) -> Option<&Name> {
    match &thing.node {
        Written::Stored(name) => Some(name),
        Written::Member(record, _) => root(record),
        _ => None,
    }
}

/// The first attribute that a test asks for and that an entity lacks.
fn asked(test: &ast::Expr, lacks: &dyn Fn(&Name) -> bool) -> Option<Name> {
    if let Some(name) = root(test) {
        return Some(name.clone()).filter(lacks);
    }
    let any = |parts: &[&ast::Expr]| parts.iter().find_map(|part| asked(part, lacks));
    match &test.node {
        Written::Not(a) | Written::Is(a, _) => any(&[a]),
        Written::Binary(a, _, b)
        | Written::Owns(a, b)
        | Written::MovesTo(a, b)
        | Written::BeginsWith(a, b)
        | Written::ElementOf(a, b) => any(&[a, b]),
        Written::Between(a, b, c) => any(&[a, b, c]),
        Written::In(a, values) => any(&[a]).or_else(|| any(&values.iter().collect::<Vec<_>>())),
        // In these a stored attribute is refused by itself.
        Written::Name(_)
        | Written::Stored(_)
        | Written::Member(..)
        | Written::Text(_)
        | Written::Number(_)
        | Written::Duration(_)
        | Written::Call(..)
        | Written::By(..)
        | Written::Object(_)
        | Written::New(_)
        | Written::Within(..)
        | Written::Every { .. } => None,
    }
}
