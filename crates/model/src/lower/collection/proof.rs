//! Whether a query of several entities finds the one item of an entity whenever that item is there.
//!
//! Four things must hold for every input: no second item of the entity lies in the range; the item lies in it; nothing
//! that is read before the item can use up what the query reads; and no filter drops the item.

use std::collections::HashMap;

use latchkey_value::Format;

use crate::model::{
    By, EntityId, Expr, ExprKind, Hole, KeyShape, Limit, Model, Order, Piece, Query, Range,
    Template, TextPiece,
};

/// Why it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::lower) enum Unproved {
    /// There may be several.
    Several,
    /// The range may leave it out.
    Outside,
    /// Others may come before it.
    Behind,
    /// A filter may drop it.
    Dropped,
}

/// The parts of a key that a query fixes, each by the place of its value in the query. Where a query fixes the day of a
/// time, it fixes that form of the attribute, and not the attribute.
type Fixed<'a> = HashMap<(&'a str, Option<Format>), usize>;

/// A part of a key: an attribute, or a form of it that many values have.
fn part(hole: &Hole) -> (&str, Option<Format>) {
    (&hole.attribute, hole.format.filter(|format| format.is_lossy()))
}

/// The place of a part in a query, if the query fixes the part.
fn place<'f>(fixed: &Fixed<'f>, hole: &'f Hole) -> Option<usize> {
    fixed.get(&part(hole)).or_else(|| fixed.get(&(hole.attribute.as_str(), None))).copied()
}

/// Looks whether a query finds the item of an entity; the others are those it finds beside.
pub(in crate::lower) fn prove(
    model: &Model,
    entity: EntityId,
    others: &[EntityId],
    query: &Query,
) -> Result<(), Unproved> {
    // What is missing here was reported.
    let (Some(shape), Some(partition)) = (model.entities[entity].place(query.by), &query.partition)
    else {
        return Ok(());
    };
    let mut fixed = fixed(&shape.partition, partition, 0).ok_or(Unproved::Several)?;
    if let Range::Equal(text) = &query.range {
        let behind = fixed.len();
        fixed.extend(self::fixed(&shape.sort, text, behind).unwrap_or_default());
    }
    // An index may hold any number of items under one key.
    let key = match query.by {
        By::Table | By::Unknown => shape,
        By::Index(_) => &model.entities[entity].key,
    };
    if !key.holes().all(|hole| place(&fixed, hole).is_some()) {
        return Err(Unproved::Several);
    }
    let bound = |bound: &Expr| is_sort_key(shape, &fixed, partition, bound);
    if !is_within(shape, &query.range, &bound) {
        return Err(Unproved::Outside);
    }
    let other = |id: &EntityId| {
        let other = model.entities[*id].place(query.by);
        other.is_none_or(|other| {
            let known = self::fixed(&other.partition, partition, 0).unwrap_or_default();
            let unique = matches!(query.by, By::Table);
            is_first((shape, &fixed), (other, &known), &query.order, unique)
        })
    };
    let few = query.limit.as_ref().is_some_and(|limit| match limit {
        Limit::Page { .. } | Limit::First(_) => true,
    });
    if few && !others.iter().all(other) {
        return Err(Unproved::Behind);
    }
    match query.test_of(entity).map(|test| &test.kind) {
        None | Some(ExprKind::Unknown) => Ok(()),
        Some(_) => Err(Unproved::Dropped),
    }
}

/// A piece of what a query gives for a key.
enum Given<'e> {
    Literal(&'e str),
    Value(&'e Expr, Option<Format>),
}

/// The pieces of what a query gives for a key. A value without quotes is one piece: `PK = s` is `PK = "{s}"`.
fn pieces(given: &Expr) -> Vec<Given<'_>> {
    match &given.kind {
        ExprKind::Text(pieces) => pieces
            .iter()
            .map(|piece| match piece {
                TextPiece::Literal(text) => Given::Literal(text),
                TextPiece::Value(value, format) => Given::Value(value, *format),
            })
            .collect(),
        _ => vec![Given::Value(given, None)],
    }
}

/// The attributes of a template that a text fixes, if both have the same pieces; the places are counted from a number.
fn fixed<'a>(template: &'a Template, text: &Expr, from: usize) -> Option<Fixed<'a>> {
    let pieces = pieces(text);
    if template.pieces.len() != pieces.len() {
        return None;
    }
    let mut fixed = HashMap::new();
    for (at, pair) in template.pieces.iter().zip(pieces).enumerate() {
        match pair {
            (Piece::Literal(a), Given::Literal(b)) if a == b => {}
            (Piece::Hole(hole), Given::Value(value, format))
                if hole.format == format && !matches!(value.kind, ExprKind::Through(_)) =>
            {
                fixed.insert(part(hole), from + at);
            }
            _ => return None,
        }
    }
    Some(fixed)
}

/// Whether a bound is the sort key of the one item: the same pieces, and in each hole the value that the partition key
/// has for it.
fn is_sort_key(shape: &KeyShape, fixed: &Fixed<'_>, partition: &Expr, bound: &Expr) -> bool {
    let (partition, bound) = (pieces(partition), pieces(bound));
    let same = |(piece, bound): (&Piece, &Given<'_>)| match (piece, bound) {
        (Piece::Literal(a), Given::Literal(b)) => a == b,
        (Piece::Hole(hole), Given::Value(value, format)) => {
            let at = place(fixed, hole).and_then(|at| partition.get(at));
            let one = matches!(at, Some(Given::Value(other, _)) if is_one_value(other, value));
            one && hole.format == *format
        }
        _ => false,
    };
    let sort = &shape.sort.pieces;
    sort.len() == bound.len() && sort.iter().zip(&bound).all(same)
}

/// Whether two expressions name one value of a call.
fn is_one_value(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Input(a), ExprKind::Input(b)) => a == b,
        (ExprKind::Attribute(a, name), ExprKind::Attribute(b, other)) => a == b && name == other,
        (ExprKind::CallerId, ExprKind::CallerId) | (ExprKind::Now, ExprKind::Now) => true,
        _ => false,
    }
}

/// Whether every sort key that an item can have lies in a range. A bound may be the sort key itself.
fn is_within(shape: &KeyShape, range: &Range, is_key: &dyn Fn(&Expr) -> bool) -> bool {
    let sort = shape.sort.language();
    let below = |bound: &Expr, inclusive: bool| {
        let (most, least) = (sort.supremum(), bound.language().infimum());
        most < least || (inclusive && (most == least || is_key(bound)))
    };
    let above = |bound: &Expr, inclusive: bool| {
        let (least, most) = (sort.infimum(), bound.language().supremum());
        most < least || (inclusive && (most == least || is_key(bound)))
    };
    match range {
        Range::All | Range::Equal(_) => true,
        Range::BeginsWith(prefix) => match &prefix.kind {
            ExprKind::Text(pieces) => match pieces.as_slice() {
                [] => true,
                [TextPiece::Literal(text)] => sort.beginning().starts_with(text.as_bytes()),
                _ => false,
            },
            _ => false,
        },
        Range::Between(low, high) => above(low, true) && below(high, true),
        Range::Side { below: true, inclusive, bound } => below(bound, *inclusive),
        Range::Side { below: false, inclusive, bound } => above(bound, *inclusive),
    }
}

/// Whether one item is read before all items of another entity. What both keys begin with does not count: equal texts,
/// and values that the query fixes at the same place. Where a key has one item at most, an item of the other entity with
/// this very key is there instead, and not before.
fn is_first(
    (one, fixed): (&KeyShape, &Fixed<'_>),
    (other, known): (&KeyShape, &Fixed<'_>),
    order: &Order,
    unique: bool,
) -> bool {
    let same = |pair: &(&Piece, &Piece)| match pair {
        (Piece::Literal(a), Piece::Literal(b)) => a == b,
        (Piece::Hole(a), Piece::Hole(b)) => {
            let at = place(fixed, a);
            at.is_some() && at == place(known, b) && a.format == b.format
        }
        _ => false,
    };
    let (one, other) = (&one.sort.pieces, &other.sort.pieces);
    let common = one.iter().zip(other).take_while(same).count();
    if unique && common == one.len() && common == other.len() {
        return true;
    }
    let rest = |pieces: &[Piece]| Template::language_of(pieces.get(common..).unwrap_or_default());
    let (one, other) = (rest(one), rest(other));
    match order {
        Order::Ascending => one.supremum() < other.infimum(),
        Order::Descending => one.infimum() > other.supremum(),
        Order::DescendingWhen(_) => false,
    }
}
