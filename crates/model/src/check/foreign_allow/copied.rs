//! Values of an item that is not tied, which a write puts into an item of the caller: whoever reads the copy reads what
//! they may not.

use latchkey_language::Span;

use super::counted::is_drawn;
use super::tie::Tied;
use crate::check::flow::Group;
use crate::check::truth::each;
use crate::model::{BindingId, Contract, EntityId, Expr, ExprKind, Given, Kind, Leg, Verb};
use crate::types::Type;

/// Where a value is copied, of which entity, and the name of the attribute.
pub(super) type Copied<'a> = (Span, EntityId, &'a str);

/// Whether a write could copy something of another item.
pub(super) fn may_copy<'a>(group: &Group<'a>, leg: &'a Leg) -> bool {
    let writes = matches!(leg.verb, Verb::Put | Verb::Update | Verb::Upsert);
    writes && (leg.of.is_some() || given(leg).any(|it| !sources(group, &it.value).is_empty()))
}

/// What a write gives, beside the key of its item.
fn given(leg: &Leg) -> impl Iterator<Item = &Given> {
    leg.values.iter().chain(&leg.adds)
}

/// What a write copies of an item that is not tied into one that is.
pub(super) fn copied<'a>(
    tied: &Tied<'a>,
    group: &Group<'a>,
    contract: &Contract,
    leg: &'a Leg,
) -> Option<Copied<'a>> {
    let foreign = |(item, name): (BindingId, &'a str)| {
        let entity = contract.bindings[item].kind.entity();
        let own = tied.has_item(item)
            || group.is_on(leg, item)
            || is_drawn(group, item, name)
            || is_under(tied, group, leg, item);
        entity.filter(|_| !own).map(|entity| (entity, name))
    };
    let named = given(leg).find_map(|given| {
        let (entity, name) = sources(group, &given.value).into_iter().find_map(foreign)?;
        Some((given.span, entity, name))
    });
    let found = named.or_else(|| {
        let (entity, name) = taken(group, leg).into_iter().find_map(foreign)?;
        Some((leg.span, entity, name))
    });
    found.filter(|_| tied.has_leg(group, leg))
}

/// The attributes that a `put … of` takes from another item under their own names.
fn taken<'a>(group: &Group<'a>, leg: &'a Leg) -> Vec<(BindingId, &'a str)> {
    let Some((of, from)) = leg.of.and_then(|of| Some((of, group.entity_of(of)?))) else {
        return Vec::new();
    };
    let is_given = |name: &str| leg.key.iter().chain(given(leg)).any(|it| it.attribute == name);
    let shape = &group.model.entities[from];
    let attributes = group.model.entities[leg.entity].attributes.iter();
    let same = attributes
        .filter(|it| !is_given(&it.name) && says(&it.kind) && shape.attribute(&it.name).is_some());
    // What its key was given as says nothing of the item.
    let told = same.filter(|it| group.given_part(of, &it.name).is_none());
    told.map(|it| (of, it.name.as_str())).collect()
}

/// Whether what is written lies under the key of the item that a value is of, or of its owner, and not under one of the
/// caller: an entry in the ledger of the account that was paid to.
fn is_under<'a>(tied: &Tied<'a>, group: &Group<'a>, leg: &'a Leg, item: BindingId) -> bool {
    let names = key_of(group, item);
    let is_its = |given: &'a Given| {
        matches!(&group.origin(&given.value).kind, ExprKind::Attribute(of, _) if *of == item)
            || names.iter().any(|name| {
                let part = group.given_part(item, name);
                part.is_some_and(|part| group.alike(part, &given.value, None))
            })
    };
    leg.key.iter().any(is_its) && !leg.key.iter().any(|given| tied.has(group, &given.value))
}

/// The attributes of the key of an item.
fn key_of<'a>(group: &Group<'a>, item: BindingId) -> Vec<&'a str> {
    let entity = group.entity_of(item);
    entity.map_or_else(Vec::new, |entity| group.model.entities[entity].key.attributes())
}

/// Whether values of a type say something of their item. An id names a thing and says nothing of it; a counter says
/// nothing either.
fn says(kind: &Type) -> bool {
    !matches!(kind, Type::Id | Type::Ulid | Type::Counter)
}

/// The attributes of items that a value is computed from, if they say something.
fn sources<'a>(group: &Group<'a>, value: &'a Expr) -> Vec<(BindingId, &'a str)> {
    let mut found = Vec::new();
    each(&group.lets, value, &mut |part| {
        let part = group.origin(part);
        if let ExprKind::Attribute(item, name) | ExprKind::Sum(item, name) = &part.kind
            && !matches!(&part.of, Kind::Value(kind) if !says(kind))
        {
            found.push((*item, name.as_str()));
        }
    });
    found
}
