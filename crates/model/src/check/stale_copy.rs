//! `stale-copy`: a change of a copied attribute that leaves a view behind, or a copy written alone.

use std::collections::HashMap;

use latchkey_language::{Diagnostic, Rule, Span};

use super::Report;
use super::changes::untold;
use super::flow::{Group, Placed, fixes, groups, within};
use super::truth::{Passed, plain};
use crate::model::{
    BindingId, Contract, Entity, EntityId, Expr, ExprKind, Given, Kind, Leg, Model, PutMode, Verb,
};

pub(super) fn check(model: &Model, report: &mut Report) {
    let mut views: HashMap<EntityId, Vec<(EntityId, &Entity)>> = HashMap::new();
    for (id, view) in model.entities.enumerate() {
        if let Some(source) = view.view_of {
            views.entry(source).or_default().push((id, view));
        }
    }
    for contract in model.bodies() {
        for group in groups(model, contract) {
            for (at, placed) in group.legs.iter().enumerate() {
                for view in views.get(&placed.leg.entity).into_iter().flatten() {
                    source_changed(model, &group, at, *view, report);
                }
                copy_written(model, contract, &group, placed, report);
            }
        }
    }
}

/// The attributes a leg changes; all of them where it makes or removes the item.
fn changed<'a>(model: &'a Model, leg: &'a Leg) -> Vec<&'a str> {
    let entity = &model.entities[leg.entity];
    match leg.verb {
        Verb::Put | Verb::Delete => {
            entity.attributes.iter().map(|attribute| attribute.name.as_str()).collect()
        }
        Verb::Update | Verb::Upsert => {
            let set = leg.values.iter().chain(&leg.adds).map(|given| given.attribute.as_str());
            set.chain(leg.removes.iter().map(String::as_str)).chain(untold(model, leg)).collect()
        }
        Verb::Check => Vec::new(),
    }
}

/// A source changes: its view must be written where it now belongs, and go from where it was.
fn source_changed(
    model: &Model,
    group: &Group<'_>,
    at: usize,
    (id, view): (EntityId, &Entity),
    report: &mut Report,
) {
    let Some(placed) = group.legs.get(at) else { return };
    let source = &model.entities[placed.leg.entity];
    let changed = changed(model, placed.leg);
    let copied: Vec<&str> = view
        .attributes
        .iter()
        .filter(|attribute| attribute.copied && changed.contains(&attribute.name.as_str()))
        .map(|attribute| attribute.name.as_str())
        .collect();
    if copied.is_empty() {
        return;
    }
    // Only what happens whenever the change does can make up for it.
    let of_view =
        |other: &&Placed<'_>| other.leg.entity == id && within(&placed.guards, &other.guards);
    let behind = group.legs.get(at + 1..).unwrap_or_default();
    let before = group.legs.get(..at).unwrap_or_default();
    let moved = moves(placed.leg, source, view, &copied);
    let written = behind
        .iter()
        .filter(of_view)
        .any(|other| writes_copies(group, placed, other.leg, &copied, moved.is_some()));
    let removed_from = |legs: &[Placed<'_>]| {
        legs.iter().filter(of_view).any(|other| removes_old(group, placed, other.leg))
    };
    let list = copied.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let (source, view_name) = (&source.name, &view.name);
    let (message, help) = match (placed.leg.verb, moved) {
        (Verb::Delete, _) if !removed_from(&group.legs) => (
            format!("this removes an item of `{source}` and leaves its `{view_name}` behind"),
            format!(
                "add `delete {view_name} of …` to the transaction, with the item that was read"
            ),
        ),
        (Verb::Delete, _) => return,
        (Verb::Put, _) if !written => (
            format!("this makes an item of `{source}` without its `{view_name}`"),
            format!(
                "name what it leaves, `x = put {source} …`, and add `put {view_name} of x replace` behind it in \
                 one transaction"
            ),
        ),
        (_, _) if !written => (
            format!("this changes {list} of `{source}` and not the copy in `{view_name}`"),
            format!(
                "add `put {view_name} of … replace` behind it in the same transaction, with the item it leaves"
            ),
        ),
        (_, Some(part)) if !removed_from(before) => (
            format!(
                "this moves the `{view_name}`: `{part}` is part of its key, and the old one stays"
            ),
            format!("add `delete {view_name} of …` before it in the same transaction"),
        ),
        _ => return,
    };
    let mut diagnostic = Diagnostic::new(Rule::StaleCopy, placed.leg.span, message)
        .other(view.span, format!("a view of `{source}`, copied on every change"));
    if let Some((span, label)) = near_miss(group, at, id).filter(|_| !written) {
        diagnostic = diagnostic.other(span, label);
    }
    let diagnostic = diagnostic
        .why("the view goes on showing the old values until another call writes it")
        .help(help);
    report.raise(diagnostic, &placed.step.waivers);
}

/// A leg that looks as if it wrote the view, and why it does not count.
fn near_miss(group: &Group<'_>, at: usize, view: EntityId) -> Option<(Span, &'static str)> {
    let placed = group.legs.get(at)?;
    let mut legs = group.legs.iter().enumerate();
    let (place, near) = legs.find(|(_, other)| {
        other.leg.entity == view && !matches!(other.leg.verb, Verb::Delete | Verb::Check)
    })?;
    let label = if !within(&placed.guards, &near.guards) {
        "this does not happen whenever the change does"
    } else if place < at {
        "this is written from the item as it was before"
    } else {
        "this does not write what the change leaves"
    };
    Some((near.leg.span, label))
}

/// The part of a view's key that a write of its source may change, if there is one.
fn moves<'a>(leg: &Leg, source: &Entity, view: &'a Entity, copied: &[&str]) -> Option<&'a str> {
    let may = match leg.verb {
        Verb::Update | Verb::Upsert => true,
        // It may take the place of an item whose view lies elsewhere.
        Verb::Put => leg.put == Some(PutMode::Replace),
        Verb::Delete | Verb::Check => false,
    };
    let mut parts = view.key.attributes().into_iter();
    parts.find(|part| may && copied.contains(part) && !source.key.tells(part))
}

/// Whether an expression is an attribute of the item of a binding.
fn is_of<'a>(group: &Group<'a>, expr: &'a Expr, binding: Option<BindingId>, name: &str) -> bool {
    matches!(&plain(&group.lets, expr).kind, ExprKind::Attribute(of, attribute)
        if Some(*of) == binding && attribute == name)
}

/// Whether a leg writes the view of the item that another leg leaves, with every changed attribute.
fn writes_copies<'a>(
    group: &Group<'a>,
    placed: &Placed<'a>,
    leg: &'a Leg,
    copied: &[&str],
    moved: bool,
) -> bool {
    let source = placed.leg;
    match leg.verb {
        Verb::Put => {
            let taken = |given: &'a Given| {
                let changed = copied.contains(&given.attribute.as_str());
                is_of(group, &given.value, leg.of, &given.attribute)
                    || (!changed && is_known(group, placed, given))
            };
            let by_hand = |given: &&Given| copied.contains(&given.attribute.as_str());
            // A copy that is where it was is there already.
            let arrives = source.verb == Verb::Put || moved;
            source.result.is_some()
                && leg.of == source.result
                && (arrives || leg.put != Some(PutMode::IfAbsent))
                && leg.key.iter().chain(leg.values.iter().filter(by_hand)).all(taken)
        }
        Verb::Update | Verb::Upsert if source.verb != Verb::Put && !moved => {
            let partly = |leg: &Leg, name: &str| {
                leg.values.iter().any(|given| given.attribute == name && !given.is_whole())
            };
            let alike = |name: &str| {
                let set = leg.values.iter().find(|given| given.attribute == name);
                let given = source.values.iter().find(|given| given.attribute == name);
                match (set, given) {
                    // The same parts, given the same values, leave the copy as the source.
                    _ if partly(leg, name) => same_parts(group, source, leg, name),
                    (Some(set), _) if partly(source, name) => {
                        is_of(group, &set.value, source.result, name)
                    }
                    (Some(set), Some(given)) => {
                        is_of(group, &set.value, source.result, name)
                            || (set.maybe == given.maybe
                                && group.alike(&set.value, &given.value, None))
                    }
                    (Some(set), None) => is_of(group, &set.value, source.result, name),
                    (None, _) => [&leg.removes, &source.removes]
                        .iter()
                        .all(|all| all.iter().any(|n| n == name)),
                }
            };
            is_about(group, source, leg) && copied.iter().all(|name| alike(name))
        }
        _ => false,
    }
}

/// Whether two legs give the same values to the same parts of an attribute, in the same order.
fn same_parts<'a>(group: &Group<'a>, a: &'a Leg, b: &'a Leg, name: &str) -> bool {
    let of = |leg: &'a Leg| {
        let given = leg.values.iter().filter(|given| given.attribute == name);
        given.collect::<Vec<&'a Given>>()
    };
    let (a, b) = (of(a), of(b));
    let same = |(a, b): (&&'a Given, &&'a Given)| {
        a.part == b.part && a.maybe == b.maybe && group.alike(&a.value, &b.value, None)
    };
    a.len() == b.len() && a.iter().zip(&b).all(same)
}

/// Whether a leg removes the view of the item that another leg finds.
fn removes_old<'a>(group: &Group<'a>, placed: &Placed<'a>, leg: &'a Leg) -> bool {
    let source = placed.leg;
    leg.verb == Verb::Delete
        && leg.key.iter().all(|given| {
            let read = matches!(&plain(&group.lets, &given.value).kind, ExprKind::Attribute(binding, name)
                if *name == given.attribute && group.is_on(source, *binding));
            read || is_known(group, placed, given) || is_part(group, source, given)
        })
}

/// Whether a value is that of the same attribute in the item of a leg: the leg insists on it, or a test found the
/// attribute equal to it.
fn is_known<'a>(group: &Group<'a>, placed: &Placed<'a>, given: &'a Given) -> bool {
    let of_item = |expr: &'a Expr| {
        matches!(&plain(&group.lets, expr).kind, ExprKind::Attribute(item, name)
            if *name == given.attribute && group.is_on(placed.leg, *item))
    };
    let is_it = |value: &'a Expr| group.alike(value, &given.value, None);
    let fixed = group
        .insists(placed.leg)
        .iter()
        .filter_map(fixes)
        .any(|(name, value)| name == given.attribute && is_it(value));
    let known = || group.known(&placed.guards);
    fixed
        || known()
            .iter()
            .filter_map(Passed::equality)
            .any(|(a, b)| (of_item(a) && is_it(b)) || (of_item(b) && is_it(a)))
}

/// Whether a part of a key is the same part of another leg's.
fn is_part<'a>(group: &Group<'a>, source: &'a Leg, given: &'a Given) -> bool {
    let mut parts = source.key.iter();
    parts.any(|part| {
        is_told(group, source, part)
            && part.attribute == given.attribute
            && group.alike(&part.value, &given.value, None)
    })
}

/// Whether the key of a leg's item tells a part of it.
fn is_told(group: &Group<'_>, leg: &Leg, part: &Given) -> bool {
    group.model.entities[leg.entity].key.tells(&part.attribute)
}

/// Whether a leg is on a view of the item of another leg.
fn is_about<'a>(group: &Group<'a>, source: &'a Leg, leg: &'a Leg) -> bool {
    let of = leg.of.is_some_and(|of| source.result == Some(of) || group.is_on(source, of));
    of || source.key.iter().all(|part| {
        let mut given = leg.key.iter().chain(&leg.values);
        is_told(group, source, part)
            && given.any(|given| {
                given.attribute == part.attribute && group.alike(&part.value, &given.value, None)
            })
    })
}

/// A view is written: its source must be written or held with it, and be what it is written from.
fn copy_written(
    model: &Model,
    contract: &Contract,
    group: &Group<'_>,
    placed: &Placed<'_>,
    report: &mut Report,
) {
    let leg = placed.leg;
    let view = &model.entities[leg.entity];
    let Some(id) = view.view_of else { return };
    let source = &model.entities[id];
    if leg.verb == Verb::Check {
        return;
    }
    let held: Vec<&Placed<'_>> = group
        .legs
        .iter()
        .filter(|other| other.leg.entity == id && within(&placed.guards, &other.guards))
        .filter(|other| is_about(group, other.leg, leg))
        .collect();
    let of_source = leg.of.is_some_and(|of| contract.bindings[of].kind == Kind::Item(id));
    // What changes in the source is looked at from there.
    let changed = |name: &str| held.iter().any(|other| changed(model, other.leg).contains(&name));
    let by_hand = view.attributes.iter().find(|attribute| {
        let of_leg = || leg.values.iter().chain(&leg.adds).map(|given| given.attribute.as_str());
        let mut set = of_leg().chain(leg.removes.iter().map(String::as_str));
        let key = view.key.attributes().contains(&attribute.name.as_str());
        attribute.copied
            && !key
            && !changed(&attribute.name)
            && set.any(|name| name == attribute.name)
    });
    let source = &source.name;
    let (message, why) = if held.is_empty() {
        (
            format!("this writes `{}` without its `{source}`", view.name),
            format!(
                "the `{source}` may change between its reading and this, and the copy would be old at birth"
            ),
        )
    } else if let Some(attribute) = by_hand {
        (
            format!("this sets `{}` in the copy, and not in the `{source}`", attribute.name),
            format!("the copy would say what no `{source}` ever said"),
        )
    } else if leg.verb == Verb::Put
        && !of_source
        && held.iter().all(|other| other.leg.verb == Verb::Check)
    {
        (
            format!("this writes `{}` from something other than its `{source}`", view.name),
            format!("the copy would say what no `{source}` ever said"),
        )
    } else if let Some(attribute) = erased(view, leg, &held) {
        (
            format!("this may erase `{attribute}`, which `{}` keeps", view.name),
            format!(
                "a stored view may have it where its `{source}` lacks it; an update of the `{source}` that was read \
                 sets it there, and there is none in this transaction"
            ),
        )
    } else {
        return;
    };
    let diagnostic = Diagnostic::new(Rule::StaleCopy, leg.span, message)
        .other(view.span, format!("a view of `{source}`"))
        .why(why)
        .help(format!(
            "write it `of` its `{source}`, in one transaction with a write of that, or with \
             `check … if unchanged else retry`"
        ));
    report.raise(diagnostic, &placed.step.waivers);
}

/// What a put of a view may erase that the view keeps: no write beside it says what the source has, and no update of an
/// item that was read can set it there.
fn erased<'a>(view: &'a Entity, leg: &Leg, held: &[&Placed<'_>]) -> Option<&'a str> {
    let by_hand = |name: &str| leg.values.iter().any(|given| given.attribute == name);
    let written = |other: &&Placed<'_>| match other.leg.verb {
        Verb::Put => true,
        Verb::Update => other.leg.target.is_some() && other.leg.result == leg.of,
        Verb::Upsert | Verb::Delete | Verb::Check => false,
    };
    if leg.verb != Verb::Put || leg.put == Some(PutMode::IfAbsent) || held.iter().any(written) {
        return None;
    }
    let kept = view.attributes.iter().filter(|attribute| attribute.kept);
    kept.map(|attribute| attribute.name.as_str()).find(|name| !by_hand(name))
}
