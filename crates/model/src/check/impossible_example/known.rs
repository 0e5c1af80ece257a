//! What is known of values in a single call, whatever is stored: from the request, the caller and the clock alone.

use std::collections::BTreeMap;

use latchkey_value::{Number, Value, time};

use crate::model::{BindingId, Entity, Expr, ExprKind, InputId, Model, Op, RoleId, TextPiece};

/// How deep an expression is looked into before it is taken as open.
const DEPTH_MAX: usize = 64;

/// What is known of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Known {
    /// The value.
    Is(Value),
    /// Values under names of their own.
    Members(Vec<(String, Known)>),
    /// A value is there, and it is not known which.
    There,
    /// No value is there.
    Absent,
    /// Nothing is known.
    Open,
}

impl Known {
    pub(super) fn text(text: &str) -> Known {
        Known::Is(Value::Text(text.into()))
    }

    fn truth(truth: Option<bool>) -> Known {
        truth.map_or(Known::Open, |truth| Known::Is(Value::Bool(truth)))
    }

    /// Whether it is there; `None` where that is open.
    pub(super) fn is_there(&self) -> Option<bool> {
        match self {
            Known::Is(_) | Known::Members(_) | Known::There => Some(true),
            Known::Absent => Some(false),
            Known::Open => None,
        }
    }

    /// What is known of a value that is one or the other.
    pub(super) fn or(self, other: &Known) -> Known {
        match (self.is_there(), other.is_there()) {
            _ if self == *other => self,
            (Some(true), Some(true)) => Known::There,
            _ => Known::Open,
        }
    }
}

/// What is known of an item.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Item {
    /// Whether it is there, where that is known.
    pub(super) there: Option<bool>,
    /// Its attributes that something is known of.
    pub(super) attributes: BTreeMap<String, Known>,
}

impl Item {
    /// What is known of an attribute.
    pub(super) fn get(&self, entity: &Entity, name: &str) -> Known {
        if let Some(known) = self.attributes.get(name) {
            return known.clone();
        }
        match entity.attribute(name) {
            Some(attribute) if !attribute.optional => Known::There,
            _ => Known::Open,
        }
    }

    /// What is known of an item that is one or the other.
    fn or(&self, other: &Item) -> Item {
        let both = self.attributes.iter().filter_map(|(name, known)| {
            let other = other.attributes.get(name)?;
            Some((name.clone(), known.clone().or(other)))
        });
        let there = self.there.filter(|_| self.there == other.there);
        Item { there, attributes: both.collect() }
    }
}

/// Who asks, by the example.
#[derive(Debug, Clone, Default)]
pub(super) struct Caller {
    pub(super) id: String,
    pub(super) roles: Vec<String>,
    pub(super) orgs: Vec<String>,
}

/// What is known at a place of a contract.
#[derive(Clone)]
pub(super) struct Facts<'a> {
    pub(super) model: &'a Model,
    pub(super) caller: &'a Caller,
    /// The instant of the call, if it is known.
    pub(super) now: Known,
    pub(super) inputs: BTreeMap<InputId, Known>,
    pub(super) items: BTreeMap<BindingId, (&'a Entity, Item)>,
    pub(super) lets: BTreeMap<BindingId, Known>,
    /// The item that a write is on, which `.x` is about.
    pub(super) stored: Option<(&'a Entity, Item)>,
}

impl<'a> Facts<'a> {
    /// What is known where two ways meet.
    pub(super) fn or(mut self, other: &Facts<'a>) -> Facts<'a> {
        self.items = self
            .items
            .into_iter()
            .filter_map(|(id, (entity, item))| {
                let (_, other) = other.items.get(&id)?;
                Some((id, (entity, item.or(other))))
            })
            .collect();
        self.lets = self
            .lets
            .into_iter()
            .filter_map(|(id, known)| Some((id, known.or(other.lets.get(&id)?))))
            .collect();
        self
    }

    /// Whether a test holds; `None` where that is open.
    pub(super) fn holds(&self, test: &Expr) -> Option<bool> {
        match self.value(test) {
            Known::Is(Value::Bool(truth)) => Some(truth),
            _ => None,
        }
    }

    /// What is known of an expression.
    pub(super) fn value(&self, expr: &Expr) -> Known {
        self.within(expr, DEPTH_MAX)
    }

    fn within(&self, expr: &Expr, depth: usize) -> Known {
        let Some(depth) = depth.checked_sub(1) else { return Known::Open };
        let of = |expr: &Expr| self.within(expr, depth);
        match &expr.kind {
            ExprKind::Input(id) => self.inputs.get(id).cloned().unwrap_or(Known::Open),
            ExprKind::Binding(id) => self.binding(*id),
            ExprKind::Attribute(id, name) => match self.items.get(id) {
                Some((entity, item)) => item.get(entity, name),
                None => Known::Open,
            },
            ExprKind::Stored(name) => match &self.stored {
                Some((entity, item)) => item.get(entity, name),
                None => Known::Open,
            },
            ExprKind::Now => self.now.clone(),
            ExprKind::CallerId => Known::text(&self.caller.id),
            ExprKind::Owns(thing) => Known::truth(self.owns(&of(thing))),
            ExprKind::HasRole(role) => Known::Is(Value::Bool(self.has(*role))),
            ExprKind::Word(word) => Known::text(word),
            ExprKind::Text(pieces) => self.text(pieces, depth),
            ExprKind::Number(number) => Known::Is(Value::Number(*number)),
            ExprKind::Bool(truth) => Known::Is(Value::Bool(*truth)),
            ExprKind::New(_) => Known::There,
            ExprKind::Present(thing) => Known::truth(of(thing).is_there()),
            ExprKind::Absent(thing) => Known::truth(of(thing).is_there().map(|there| !there)),
            ExprKind::Not(test) => match of(test) {
                Known::Is(Value::Bool(truth)) => Known::Is(Value::Bool(!truth)),
                _ => Known::Open,
            },
            ExprKind::Binary(op, a, b) => binary(*op, &of(a), || of(b), b),
            ExprKind::MovesTo(from, to) => match (&from.kind, of(from), of(to)) {
                (ExprKind::Attribute(id, name), Known::Is(from), Known::Is(to)) => {
                    Known::truth(self.moves(*id, name, &from, &to))
                }
                _ => Known::Open,
            },
            ExprKind::Between(thing, low, high) => {
                let thing = of(thing);
                let from = binary(Op::GreaterOrEqual, &thing, || of(low), low);
                binary(Op::And, &from, || binary(Op::LessOrEqual, &thing, || of(high), high), high)
            }
            ExprKind::In(thing, values) => {
                let thing = of(thing);
                values.iter().fold(Known::Is(Value::Bool(false)), |found, value| {
                    binary(Op::Or, &found, || binary(Op::Equal, &thing, || of(value), value), value)
                })
            }
            ExprKind::Object(members) => {
                let member = |(name, value): &(String, Expr)| (name.clone(), of(value));
                Known::Members(members.iter().map(member).collect())
            }
            // Nothing that the request decides, or nothing that is worth it.
            _ => Known::Open,
        }
    }

    fn binding(&self, id: BindingId) -> Known {
        if let Some(known) = self.lets.get(&id) {
            return known.clone();
        }
        match self.items.get(&id).and_then(|(_, item)| item.there) {
            Some(true) => Known::There,
            Some(false) => Known::Absent,
            None => Known::Open,
        }
    }

    fn owns(&self, owner: &Known) -> Option<bool> {
        let Known::Is(Value::Text(owner)) = owner else { return None };
        let mut own = self.caller.orgs.iter().chain([&self.caller.id]);
        Some(own.any(|id| id == owner.as_str()))
    }

    /// Whether the caller has a role, or one that implies it.
    fn has(&self, wanted: RoleId) -> bool {
        self.caller.roles.iter().any(|name| {
            let mut role = self.model.roles.position(|role| role.name == *name);
            while let Some(id) = role {
                if id == wanted {
                    return true;
                }
                // An implied role is declared first, so this ends.
                role = self.model.roles[id].implies.filter(|implied| *implied < id);
            }
            false
        })
    }

    fn moves(&self, id: BindingId, name: &str, from: &Value, to: &Value) -> Option<bool> {
        let (entity, _) = self.items.get(&id)?;
        let moves = entity.attribute(name)?.moves.as_ref()?;
        Some(super::super::truth::declared(moves, from.as_text()?, to.as_text()?))
    }

    fn text(&self, pieces: &[TextPiece], depth: usize) -> Known {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                TextPiece::Literal(literal) => text.push_str(literal),
                TextPiece::Value(value, None) => match self.within(value, depth) {
                    Known::Is(Value::Text(value)) => text.push_str(&value),
                    _ => return Known::There,
                },
                TextPiece::Value(..) => return Known::There,
            }
        }
        Known::text(&text)
    }
}

/// An operation on what is known. The second side is looked at only if the first does not decide.
fn binary(op: Op, a: &Known, b: impl FnOnce() -> Known, right: &Expr) -> Known {
    match (op, a) {
        (Op::And, Known::Is(Value::Bool(false))) => return Known::Is(Value::Bool(false)),
        (Op::Or, Known::Is(Value::Bool(true))) => return Known::Is(Value::Bool(true)),
        _ => {}
    }
    // A duration has no value of its own; it moves a time.
    if let (Op::Plus | Op::Minus, ExprKind::Duration(milliseconds)) = (op, &right.kind) {
        return moved(a, op, *milliseconds);
    }
    let b = b();
    let (a, b) = match (op, a, &b) {
        (Op::And, _, Known::Is(Value::Bool(false))) => return Known::Is(Value::Bool(false)),
        (Op::Or, _, Known::Is(Value::Bool(true))) => return Known::Is(Value::Bool(true)),
        (_, Known::Is(a), Known::Is(b)) => (a, b),
        _ => return Known::Open,
    };
    let ordered = |test: fn(std::cmp::Ordering) -> bool| Known::truth(order(a, b).map(test));
    match op {
        Op::And | Op::Or => match (a, b) {
            (Value::Bool(a), Value::Bool(b)) => {
                Known::Is(Value::Bool(if op == Op::And { *a && *b } else { *a || *b }))
            }
            _ => Known::Open,
        },
        Op::Equal => Known::Is(Value::Bool(a == b)),
        Op::NotEqual => Known::Is(Value::Bool(a != b)),
        Op::Less => ordered(std::cmp::Ordering::is_lt),
        Op::LessOrEqual => ordered(std::cmp::Ordering::is_le),
        Op::Greater => ordered(std::cmp::Ordering::is_gt),
        Op::GreaterOrEqual => ordered(std::cmp::Ordering::is_ge),
        Op::Plus => sum(a, b, Number::checked_add),
        Op::Minus => sum(a, b, Number::checked_sub),
        Op::Times => sum(a, b, Number::checked_mul),
        // What it is rounded to, stands around it.
        Op::Over => Known::Open,
    }
}

fn order(a: &Value, b: &Value) -> Option<std::cmp::Ordering> {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Value::Number(a), Value::Number(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn sum<E>(a: &Value, b: &Value, add: impl Fn(Number, Number) -> Result<Number, E>) -> Known {
    match (a.as_number(), b.as_number()) {
        (Some(a), Some(b)) => {
            add(a, b).map_or(Known::Open, |number| Known::Is(Value::Number(number)))
        }
        _ => Known::Open,
    }
}

fn moved(time: &Known, op: Op, milliseconds: u64) -> Known {
    let Known::Is(Value::Text(text)) = time else { return Known::Open };
    let by = i64::try_from(milliseconds).ok().and_then(|by| match op {
        Op::Minus => by.checked_neg(),
        _ => Some(by),
    });
    match by.and_then(|by| time::add(text, by)) {
        Some(moved) => Known::Is(Value::Text(moved)),
        None => Known::Open,
    }
}
