//! Which contracts can change two things that a call reads one after the other.

use std::collections::HashSet;

use crate::check::flow::Group;
use crate::model::{
    Contract, EntityId, ExprKind, FailureKind, Given, Leg, Model, OnFailure, PutMode, Read,
    StepKind, Verb, What, each_step,
};

/// How many items of an entity a contract goes by that can come after another which has written one. A contract that
/// needs the item does not follow its removal, and one that makes it anew leaves it as it was.
pub(super) fn goes_by(contract: &Contract, entity: EntityId, removed: bool) -> usize {
    let mut found = 0;
    each_step(&contract.steps, &mut |step| match &step.kind {
        StepKind::Read(read) => {
            let many = !matches!(read.what, What::Get(_));
            if read.entities().any(|other| other == entity) && !(removed && needs(read)) {
                found += 1 + usize::from(many);
            }
        }
        // A `put … if absent` does not happen while the item is there.
        StepKind::Write(leg)
            if leg.entity == entity
                && leg.target.is_none()
                && leg.put != Some(PutMode::IfAbsent)
                && !removed =>
        {
            found += 1;
        }
        _ => {}
    });
    found
}

/// How many items of an entity a contract makes beside those that it goes by.
pub(super) fn makes_beside(contract: &Contract, entity: EntityId) -> usize {
    let (mut known, mut made): (Vec<&[Given]>, Vec<&Leg>) = (Vec::new(), Vec::new());
    each_step(&contract.steps, &mut |step| match &step.kind {
        StepKind::Read(read) if read.entity == entity => {
            if let What::Get(key) = &read.what {
                known.push(key);
            }
        }
        StepKind::Write(leg) if leg.entity == entity => match leg.put == Some(PutMode::IfAbsent) {
            true => made.push(leg),
            false => known.push(&leg.key),
        },
        _ => {}
    });
    let is_known = |leg: &&Leg| known.iter().any(|key| is_one_key(&leg.key, key));
    made.into_iter().filter(|leg| !is_known(leg)).count()
}

/// Whether two keys are given by the same names.
fn is_one_key(a: &[Given], b: &[Given]) -> bool {
    let is_same = |a: &Given, b: &Given| match (&a.value.kind, &b.value.kind) {
        (ExprKind::Input(a), ExprKind::Input(b)) => a == b,
        (ExprKind::Binding(a), ExprKind::Binding(b)) => a == b,
        (ExprKind::Attribute(a, x), ExprKind::Attribute(b, y)) => a == b && x == y,
        (ExprKind::CallerId, ExprKind::CallerId) => true,
        (ExprKind::Word(a), ExprKind::Word(b)) => a == b,
        (ExprKind::Number(a), ExprKind::Number(b)) => a == b,
        _ => false,
    };
    !a.is_empty() && a.iter().all(|a| b.iter().any(|b| a.attribute == b.attribute && is_same(a, b)))
}

/// Whether a call does not go on where a read finds nothing.
pub(super) fn needs(read: &Read) -> bool {
    let goes_on = |failure: &OnFailure| matches!(failure.kind, FailureKind::Steps(_));
    matches!(read.what, What::Get(_)) && read.failure.as_ref().is_some_and(|it| !goes_on(it))
}

/// How many items of an entity a contract writes.
pub(super) fn legs_on(contract: &Contract, entity: EntityId) -> usize {
    let mut found = 0;
    each_step(&contract.steps, &mut |step| match &step.kind {
        StepKind::Write(leg) if leg.entity == entity && leg.verb != Verb::Check => found += 1,
        // An `each` writes several.
        StepKind::Each(_) => found += 1,
        _ => {}
    });
    found
}

/// The attribute of the first item that says which item the second read is of.
pub(super) fn points<'a>(first: &Read, second: &'a Read) -> Option<&'a str> {
    let What::Get(key) = &second.what else { return None };
    let mut found = None;
    for given in key {
        given.value.walk(&mut |part| {
            if let ExprKind::Attribute(binding, name) = &part.kind
                && Some(*binding) == first.binding
            {
                found = Some(name.as_str());
            }
        });
    }
    found
}

/// Whether a contract that makes items of an entity also writes the attribute by which they are found.
pub(super) fn makes_both(
    contract: &Contract,
    (from, name): (EntityId, &str),
    entity: EntityId,
) -> bool {
    let (mut points, mut makes) = (false, false);
    each_step(&contract.steps, &mut |step| {
        if let StepKind::Write(leg) = &step.kind {
            let mut given = leg.values.iter().chain(&leg.key);
            points |= leg.entity == from
                && matches!(leg.verb, Verb::Put | Verb::Update | Verb::Upsert)
                && given.any(|given| given.attribute == name);
            makes |= leg.entity == entity && leg.verb == Verb::Put;
        }
    });
    points && makes
}

/// Whether two writes of one transaction are of items that one read finds, so that it may see one of them: one changes the
/// first of two attributes, the other the second. A query of one partition finds items of that one.
pub(super) fn is_seen_in_part(
    model: &Model,
    group: &Group<'_>,
    (entities, of_one_partition): (&HashSet<EntityId>, bool),
    [first, second]: [Option<&str>; 2],
) -> bool {
    let changes = |leg: &Leg, name: Option<&str>| match leg.verb {
        Verb::Put | Verb::Upsert | Verb::Delete => true,
        Verb::Update => name.is_some_and(|name| {
            let mut set = leg.values.iter().chain(&leg.adds);
            set.any(|given| given.attribute == name) || leg.removes.iter().any(|it| it == name)
        }),
        Verb::Check => false,
    };
    let both = |one: &Leg, other: &Leg| {
        (changes(one, first) && changes(other, second))
            || (changes(one, second) && changes(other, first))
    };
    let mut legs = Vec::new();
    for placed in &group.legs {
        let is_one = changes(placed.leg, first) || changes(placed.leg, second);
        if entities.contains(&placed.leg.entity) && is_one {
            // An `each` makes several of one leg.
            legs.extend(std::iter::repeat_n(placed, if placed.each.is_some() { 2 } else { 1 }));
        }
    }
    legs.iter().enumerate().any(|(at, one)| {
        let mut others = legs.iter().skip(at + 1);
        others.any(|other| {
            let share = || may_share_partition(model, group, one.leg, other.leg);
            both(one.leg, other.leg) && !one.excludes(other) && (!of_one_partition || share())
        })
    })
}

/// Whether two writes can be of one partition: not if a part of it is given as two different values.
fn may_share_partition<'a>(model: &'a Model, group: &Group<'a>, a: &'a Leg, b: &'a Leg) -> bool {
    let part = |leg: &'a Leg, name: &str| {
        let given = leg.key.iter().find(|given| given.attribute == name).map(|given| &given.value);
        given.or_else(|| leg.target.and_then(|target| group.given_part(target, name)))
    };
    let template = |leg: &Leg| &model.entities[leg.entity].key.partition;
    let (one, other) = (template(a).holes(), template(b).holes());
    let names =
        one.map(|hole| hole.attribute.as_str()).zip(other.map(|hole| hole.attribute.as_str()));
    names.into_iter().all(|(x, y)| match (part(a, x), part(b, y)) {
        (Some(x), Some(y)) => group.equal(&[], x, y),
        _ => true,
    })
}
