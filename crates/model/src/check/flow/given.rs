//! What the keys of items were given as, and what they tell of the items.

use latchkey_value::Format;

use super::Group;
use crate::check::truth::{Passed, plain};
use crate::model::{
    BindingId, EntityId, Expr, ExprKind, Given, Hole, Leg, Piece, PutMode, Query, Range, Template,
    TextPiece, Verb, What,
};

impl<'a> Group<'a> {
    /// The value of an attribute that is a part of the key of a binding's item, as it was given. A key with the day of a
    /// time or a text in lower case does not tell the attribute.
    pub(in crate::check) fn key_part(
        &self,
        binding: BindingId,
        attribute: &str,
    ) -> Option<&'a Expr> {
        self.part_where(binding, attribute, &|hole| !hole.is_lossy())
    }

    /// What a part of the key of a binding's item was given as, for a part of another key that has the same attribute:
    /// both have one text there, also where the key does not tell the attribute.
    pub(in crate::check) fn part_as(&self, binding: BindingId, part: &Hole) -> Option<&'a Expr> {
        self.part_where(binding, &part.attribute, &|hole| hole.fixes(part.format))
    }

    /// What a part of the key of a binding's item was given as, if the attribute has a fitting form in the key.
    fn part_where(
        &self,
        binding: BindingId,
        attribute: &str,
        fits: &dyn Fn(&Hole) -> bool,
    ) -> Option<&'a Expr> {
        let has = |entity: EntityId| {
            let mut holes = self.model.entities[entity].key.holes();
            holes.any(|hole| hole.attribute == attribute && fits(hole))
        };
        // What a put or an upsert is given, it writes.
        let written = |leg: &&Leg| {
            leg.result == Some(binding) && matches!(leg.verb, Verb::Put | Verb::Upsert)
        };
        let given = || self.given_part(binding, attribute);
        let Some((_, read)) = self.read_of(binding) else {
            let mut legs = self.legs_with_result(binding);
            return given().filter(|_| legs.all(|leg| written(&leg) || has(leg.entity)));
        };
        let query = match &read.what {
            What::Get(_) | What::Batch(_) => return given().filter(|_| has(read.entity)),
            What::Query(query) => query,
            What::Part(part) => match &self.read_of(part.of)?.1.what {
                What::Query(query) => query,
                _ => return None,
            },
        };
        self.queried_where(read.entity, query, attribute, fits)
    }

    fn legs_with_result(&self, binding: BindingId) -> impl Iterator<Item = &'a Leg> {
        let legs = self.legs.iter().map(|placed| placed.leg);
        let all = legs.chain(self.way.written.iter().copied());
        all.filter(move |leg| leg.result == Some(binding) && leg.target.is_none())
    }

    /// What a part of the key of a binding's item was given as. Two items that were given the same are one item.
    pub(in crate::check) fn given_part(
        &self,
        binding: BindingId,
        attribute: &str,
    ) -> Option<&'a Expr> {
        let of_key = |key: &'a [Given]| {
            key.iter().find(|given| given.attribute == attribute).map(|given| &given.value)
        };
        if let Some((_, read)) = self.read_of(binding) {
            return match &read.what {
                What::Get(key) => of_key(key),
                // What an element says is another thing for each item.
                What::Batch(batch) => of_key(&batch.key).filter(|value| !batch.varies(value)),
                What::Query(query) => self.queried_part(read.entity, query, attribute),
                What::Part(part) => match self.read_of(part.of).map(|(_, whole)| &whole.what) {
                    Some(What::Query(query)) => self.queried_part(read.entity, query, attribute),
                    _ => None,
                },
            };
        }
        self.legs_with_result(binding).next().and_then(|leg| of_key(&leg.key))
    }

    /// What a query gives as a part of the keys of an entity.
    pub(in crate::check) fn queried_part(
        &self,
        entity: EntityId,
        query: &'a Query,
        name: &str,
    ) -> Option<&'a Expr> {
        self.queried_where(entity, query, name, &|hole| !hole.is_lossy())
    }

    /// The same for a part of another key that has the same attribute: both have one text there.
    pub(in crate::check) fn queried_as(
        &self,
        entity: EntityId,
        query: &'a Query,
        part: &Hole,
    ) -> Option<&'a Expr> {
        self.queried_where(entity, query, &part.attribute, &|hole| hole.fixes(part.format))
    }

    fn queried_where(
        &self,
        entity: EntityId,
        query: &'a Query,
        name: &str,
        fits: &dyn Fn(&Hole) -> bool,
    ) -> Option<&'a Expr> {
        let shape = self.model.entities[entity].place(query.by)?;
        let wanted = |hole: &Hole| hole.attribute == name && fits(hole);
        let partition = query.partition.as_ref();
        let partition = partition.and_then(|text| self.hole(&shape.partition, text, &wanted));
        partition.or_else(|| match &query.range {
            Range::Equal(text) => self.hole(&shape.sort, text, &wanted),
            _ => None,
        })
    }

    /// The value that a text has where a template has a wanted part, if both have the same literal parts.
    fn hole(
        &self,
        template: &Template,
        text: &'a Expr,
        wanted: &dyn Fn(&Hole) -> bool,
    ) -> Option<&'a Expr> {
        let text = plain(&self.lets, text);
        // Of several partitions, nobody knows in which an item was found.
        let known = |value: &&Expr| !matches!(value.kind, ExprKind::Through(_));
        let ExprKind::Text(pieces) = &text.kind else {
            // A key that is one value, and is given as one.
            let alone = template.alone().filter(|hole| wanted(hole));
            return alone.map(|_| text).filter(known);
        };
        let mut found = None;
        for (piece, text) in template.pieces.iter().zip(pieces) {
            match (piece, text) {
                (Piece::Literal(a), TextPiece::Literal(b)) if a == b => {}
                (Piece::Hole(hole), TextPiece::Value(value, format)) => {
                    // A text in one form tells nothing of a value in another; zeros before a number are no other form.
                    let plain = |format: Option<Format>| {
                        format.filter(|format| !matches!(format, Format::Padded(_)))
                    };
                    if wanted(hole) && plain(hole.format) == plain(*format) {
                        found = Some(value);
                    }
                }
                _ => return None,
            }
        }
        found.filter(known).filter(|_| template.pieces.len() == pieces.len())
    }

    /// Whether two values have one text in a part of a key: they are equal, or the items that they are of were asked
    /// for by equal ones.
    pub(in crate::check) fn equal_as(
        &self,
        guards: &[Passed<'a>],
        part: &Hole,
        a: &'a Expr,
        b: &'a Expr,
    ) -> bool {
        let as_given = |expr: &'a Expr| {
            let mut expr = self.origin(expr);
            // A read names only what is above it, so this ends.
            while let ExprKind::Attribute(binding, name) = &expr.kind
                && let Some(given) =
                    self.part_where(*binding, name, &|hole| hole.fixes(part.format))
            {
                expr = self.origin(given);
            }
            expr
        };
        self.equal(guards, a, b) || self.equal(guards, as_given(a), as_given(b))
    }

    /// An expression as it was first given: a part of an item's key is what the item was asked for by.
    pub(in crate::check) fn origin(&self, expr: &'a Expr) -> &'a Expr {
        let mut expr = plain(&self.lets, expr);
        // A read names only what is above it, so this ends.
        while let ExprKind::Attribute(binding, name) = &expr.kind
            && let Some(given) = self.key_part(*binding, name)
        {
            expr = plain(&self.lets, given);
        }
        expr
    }

    /// Whether a value is the whole key of an item that is put `if absent`, here or before: it named nothing.
    pub(in crate::check) fn is_made(&self, value: &'a Expr) -> bool {
        let legs = self.legs.iter().map(|placed| placed.leg);
        let mut all = legs.chain(self.way.written.iter().copied());
        all.any(|leg| match &leg.key[..] {
            [alone] => leg.put == Some(PutMode::IfAbsent) && self.alike(&alone.value, value, None),
            _ => false,
        })
    }

    /// Whether a leg is on the very item of a binding.
    pub(in crate::check) fn is_on(&self, leg: &'a Leg, binding: BindingId) -> bool {
        let asked = self.read_of(binding).is_some_and(|(_, read)| read.entity == leg.entity);
        leg.target == Some(binding)
            || asked
                && leg.key.iter().all(|given| {
                    let value = plain(&self.lets, &given.value);
                    matches!(&value.kind, ExprKind::Attribute(other, name)
                        if *other == binding && *name == given.attribute)
                        || self
                            .given_part(binding, &given.attribute)
                            .is_some_and(|part| self.alike(part, value, None))
                })
    }
}
