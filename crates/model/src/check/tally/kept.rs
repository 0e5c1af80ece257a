//! Which entities keep a tally of which status, and which writes are about it.

use std::collections::HashSet;

use crate::check::flow::Group;
use crate::check::truth::plain;
use crate::model::{Attribute, Entity, EntityId, Expr, ExprKind, Leg, Model, Op, PutMode, Verb};
use crate::types::Type;

/// How many numbers must be named as words of an enum before they are taken for counts of it.
const NAMED_MIN: usize = 2;

/// A tally of the items of an entity by their status.
pub(super) struct Kept<'a> {
    pub(super) tally: &'a Entity,
    tally_id: EntityId,
    pub(super) item: &'a Entity,
    item_id: EntityId,
    /// The status.
    pub(super) attribute: &'a Attribute,
    /// Its words.
    pub(super) all: &'a [String],
    /// Those that the tally has a number for.
    pub(super) words: Vec<&'a str>,
}

impl<'a> Kept<'a> {
    /// Whether it is the tally of an entity, of the items of another.
    pub(super) fn is_of(&self, tally: EntityId, item: EntityId) -> bool {
        (self.tally_id, self.item_id) == (tally, item)
    }

    /// Whether a write makes, moves or removes an item that is counted.
    pub(super) fn touches(&self, leg: &Leg) -> bool {
        let sets = leg.values.iter().any(|given| given.attribute == self.attribute.name);
        leg.entity == self.item_id && (sets || matches!(leg.verb, Verb::Put | Verb::Delete))
    }

    /// Whether a write is of the tally's numbers.
    pub(super) fn counts(&self, leg: &Leg) -> bool {
        let mut given = leg.adds.iter().chain(&leg.values);
        leg.entity == self.tally_id
            && given.any(|given| self.words.contains(&given.attribute.as_str()))
    }
}

/// The word that a write gives an item, `None` within where it removes the item, `None` where nobody knows.
pub(super) fn change<'a>(
    group: &Group<'a>,
    kept: &Kept<'a>,
    leg: &'a Leg,
) -> Option<Option<&'a str>> {
    if !kept.touches(leg) {
        return None;
    }
    let given = leg.values.iter().find(|given| given.attribute == kept.attribute.name);
    let given = given.map(|given| &plain(&group.lets, &given.value).kind);
    match (leg.verb, given) {
        (Verb::Put | Verb::Update, Some(ExprKind::Word(word))) => Some(Some(word)),
        (Verb::Put, None) if leg.of.is_none() && leg.put == Some(PutMode::IfAbsent) => {
            let text = kept.attribute.default.as_ref().and_then(|default| default.as_text());
            text.map(|word| Some(word.as_str()))
        }
        (Verb::Delete, _) => Some(None),
        _ => None,
    }
}

/// The tallies of a document.
pub(super) fn kept<'a>(model: &'a Model, all: &[&Group<'a>]) -> Vec<Kept<'a>> {
    let legs = || all.iter().flat_map(|group| &group.legs).map(|placed| placed.leg);
    let updates = legs().filter(|leg| matches!(leg.verb, Verb::Update));
    let moved: HashSet<(EntityId, &str)> = updates
        .flat_map(|leg| leg.values.iter().map(|given| (leg.entity, given.attribute.as_str())))
        .collect();
    let mut found = Vec::new();
    for (id, tally) in model.entities.enumerate() {
        let mut of: Vec<Kept<'a>> = candidates(model, (id, tally));
        of.retain(|kept| moved.contains(&(kept.item_id, kept.attribute.name.as_str())));
        // Numbers that could be those of two entities may be those of either.
        let [kept] = of.as_slice() else { continue };
        let falls = legs().filter(|leg| leg.entity == id).any(|leg| {
            let given = leg.adds.iter().filter_map(|given| Some((given, constant(&given.value)?)));
            let set = leg
                .values
                .iter()
                .filter_map(|given| Some((given, difference(&given.value, &given.attribute)?)));
            let mut by = given.chain(set);
            by.any(|(given, by)| by < 0 && kept.words.contains(&given.attribute.as_str()))
        });
        let beside = all.iter().any(|group| {
            let mut legs = group.legs.iter();
            legs.any(|placed| kept.counts(placed.leg))
                && group.legs.iter().any(|placed| kept.touches(placed.leg))
        });
        if falls && beside {
            found.extend(of);
        }
    }
    found
}

/// The statuses whose words an entity has numbers for.
fn candidates<'a>(model: &'a Model, (id, tally): (EntityId, &'a Entity)) -> Vec<Kept<'a>> {
    let is_number =
        |attribute: &&Attribute| matches!(attribute.kind, Type::Int { .. } | Type::Number { .. });
    let numbers: HashSet<&str> =
        tally.attributes.iter().filter(is_number).map(|number| number.name.as_str()).collect();
    let mut found = Vec::new();
    let items = model.entities.enumerate().filter(|(item, entity)| {
        *item != id && entity.view_of.is_none() && numbers.len() >= NAMED_MIN
    });
    for (item_id, item) in items {
        for attribute in &item.attributes {
            let Type::Enum(all) = &attribute.kind else { continue };
            let words = all.iter().map(String::as_str).filter(|word| numbers.contains(word));
            let words: Vec<&str> = words.collect();
            if words.len() >= NAMED_MIN {
                found.push(Kept { tally, tally_id: id, item, item_id, attribute, all, words });
            }
        }
    }
    found
}

/// A whole number that stands in the text.
pub(super) fn constant(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Number(number) => number.to_i64(),
        _ => None,
    }
}

/// By how much a value differs from what is stored: `.x + 1`.
pub(super) fn difference(expr: &Expr, name: &str) -> Option<i64> {
    let ExprKind::Binary(op, a, b) = &expr.kind else { return None };
    let is_stored = |side: &Expr| matches!(&side.kind, ExprKind::Stored(other) if other == name);
    match op {
        Op::Plus if is_stored(a) => constant(b),
        Op::Plus if is_stored(b) => constant(a),
        Op::Minus if is_stored(a) => constant(b).and_then(i64::checked_neg),
        _ => None,
    }
}
