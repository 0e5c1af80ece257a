//! The order of a list in time: by the keys that a query reads, and by what the document requires of two times.

use latchkey_model::Type;
use latchkey_model::model::{
    BindingId, Contract, EntityId, Expr, ExprKind, Kind, Model, Op, Piece, Range, StepKind,
    Template, TextPiece, each_step,
};

/// The time by which the items of a list are ordered: the first part of their sort keys that the query leaves open, if
/// it is a time. Items of several entities have one order if their sort keys begin alike.
pub(super) fn time_of(
    model: &Model,
    contract: &Contract,
    binding: BindingId,
    entities: &[EntityId],
) -> Option<String> {
    let (_, query) = contract.query_of(contract.read_of(binding)?)?;
    let mut found: Option<(String, &[Piece])> = None;
    for entity in entities {
        let sort = &model.entities[*entity].place(query.by)?.sort;
        let (before, name) = open(sort, &query.range)?;
        match &found {
            Some((known, like)) if *known != name || !alike(like, before) => return None,
            Some(_) => {}
            None => found = Some((name, before)),
        }
    }
    found.map(|(name, _)| name)
}

/// The time by which the items of a whole partition with these sort keys are ordered.
pub(crate) fn time_in(sort: &Template) -> Option<String> {
    open(sort, &Range::All).map(|(_, name)| name)
}

/// Whether the pieces before a time are the same texts.
fn alike(one: &[Piece], other: &[Piece]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|pair| match pair {
            (Piece::Literal(one), Piece::Literal(other)) => one == other,
            (Piece::Hole(one), Piece::Hole(other)) => one.attribute == other.attribute,
            (Piece::Literal(_), Piece::Hole(_)) | (Piece::Hole(_), Piece::Literal(_)) => false,
        })
}

/// The time that is the first part of a sort key which a range leaves open, and what stands before it.
fn open<'a>(sort: &'a Template, range: &Range) -> Option<(&'a [Piece], String)> {
    let at = match range {
        Range::Equal(_) => return None,
        Range::All | Range::Side { .. } => fixed(sort, &[]),
        Range::BeginsWith(text) => fixed(sort, &texts(text)),
        Range::Between(low, high) => {
            let (low, high) = (texts(low), texts(high));
            let same = low.iter().zip(&high).take_while(|(low, high)| equal(low, high)).count();
            // Where the two differ, neither is fixed any more.
            fixed(sort, low.get(..same)?)
        }
    };
    let (before, rest) = sort.pieces.split_at_checked(at)?;
    match rest.first()? {
        Piece::Hole(hole) if hole.kind == Type::Time => Some((before, hole.attribute.clone())),
        Piece::Hole(_) | Piece::Literal(_) => None,
    }
}

/// How many pieces of a sort key stand before the first part that the beginning of a range leaves open. A value at the
/// end of the beginning may be a part of the value in the key, so it fixes nothing unless it is one of a few words.
fn fixed(sort: &Template, start: &[&TextPiece]) -> usize {
    let mut at = 0;
    for (place, piece) in sort.pieces.iter().enumerate() {
        let last = place + 1 >= start.len();
        match (piece, start.get(place)) {
            (Piece::Literal(_), _) => {}
            (Piece::Hole(hole), Some(TextPiece::Value(..)))
                if !last || matches!(hole.kind, Type::Enum(_)) => {}
            (Piece::Hole(_), _) => break,
        }
        at = place + 1;
    }
    at
}

fn texts(text: &Expr) -> Vec<&TextPiece> {
    match &text.kind {
        ExprKind::Text(pieces) => pieces.iter().collect(),
        _ => Vec::new(),
    }
}

fn equal(one: &TextPiece, other: &TextPiece) -> bool {
    match (one, other) {
        (TextPiece::Literal(one), TextPiece::Literal(other)) => one == other,
        (TextPiece::Value(one, _), TextPiece::Value(other, _)) => match (&one.kind, &other.kind) {
            (ExprKind::Input(one), ExprKind::Input(other)) => one == other,
            (ExprKind::Attribute(of, one), ExprKind::Attribute(others, other)) => {
                of == others && one == other
            }
            (ExprKind::CallerId, ExprKind::CallerId) => true,
            _ => false,
        },
        (TextPiece::Literal(_), TextPiece::Value(..))
        | (TextPiece::Value(..), TextPiece::Literal(_)) => false,
    }
}

/// The times at which an item of an entity begins and ends: two that the document requires to follow each other where
/// it writes both of them.
pub(super) fn ends(model: &Model, entity: EntityId) -> Vec<(String, String)> {
    let is_time = |name: &str| {
        let attribute = model.entities[entity].attribute(name);
        attribute.is_some_and(|attribute| attribute.kind == Type::Time)
    };
    let mut pairs: Vec<(String, String)> = Vec::new();
    for body in model.bodies() {
        for (begin, end) in ordered(body) {
            if is_time(&begin) && is_time(&end) && writes(body, entity, [&begin, &end]) {
                pairs.push((begin, end));
            }
        }
    }
    // Times that follow each other either way are no beginning and end.
    let all = pairs.clone();
    pairs.retain(|(begin, end)| !all.iter().any(|(other, last)| other == end && last == begin));
    pairs
}

/// Whether a body writes both attributes of an item of an entity at once.
fn writes(body: &Contract, entity: EntityId, names: [&str; 2]) -> bool {
    let mut found = false;
    each_step(&body.steps, &mut |step| {
        if let StepKind::Write(leg) = &step.kind
            && leg.entity == entity
        {
            found |= names.iter().all(|name| {
                leg.values.iter().chain(&leg.key).any(|given| given.attribute == **name)
            });
        }
    });
    found
}

/// The pairs of times of which a body requires that the first comes first: of its inputs, or of one item.
fn ordered(body: &Contract) -> Vec<(String, String)> {
    let mut found = Vec::new();
    each_step(&body.steps, &mut |step| {
        if let StepKind::Require(test, _) = &step.kind {
            comparisons(body, test, &mut found);
        }
    });
    found
}

fn comparisons(body: &Contract, test: &Expr, found: &mut Vec<(String, String)>) {
    let ExprKind::Binary(op, one, other) = &test.kind else { return };
    let (first, second) = match op {
        Op::And | Op::Or => {
            comparisons(body, one, found);
            comparisons(body, other, found);
            return;
        }
        Op::Less | Op::LessOrEqual => (one, other),
        Op::Greater | Op::GreaterOrEqual => (other, one),
        _ => return,
    };
    let is_time = |side: &Expr| side.of == Kind::Value(Type::Time);
    if !is_time(first) || !is_time(second) {
        return;
    }
    let names = match (&first.kind, &second.kind) {
        (ExprKind::Input(first), ExprKind::Input(second)) => {
            Some((&body.inputs[*first].name, &body.inputs[*second].name))
        }
        (ExprKind::Attribute(of, first), ExprKind::Attribute(other, second)) if of == other => {
            Some((first, second))
        }
        (ExprKind::Stored(first), ExprKind::Stored(second)) => Some((first, second)),
        _ => None,
    };
    found.extend(names.map(|(first, second)| (first.clone(), second.clone())));
}
