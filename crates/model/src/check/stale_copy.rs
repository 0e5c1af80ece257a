//! `stale-copy`: a change of a copied attribute that leaves a view behind, or a copy written alone.

use std::collections::HashMap;

use latchkey_language::Diagnostic;

use super::Report;
use super::flow::{Group, Passed, Placed, groups};
use crate::model::{Entity, Leg, Model, Verb};

pub(super) fn check(model: &Model, report: &mut Report) {
    let mut views: HashMap<usize, Vec<(usize, &Entity)>> = HashMap::new();
    for (id, view) in model.entities.iter().enumerate() {
        if let Some(source) = view.view_of {
            views.entry(source).or_default().push((id, view));
        }
    }
    for contract in &model.contracts {
        for group in groups(contract) {
            for (at, placed) in group.legs.iter().enumerate() {
                for view in views.get(&placed.leg.entity).into_iter().flatten() {
                    source_changed(model, &group, at, *view, report);
                }
                copy_written(model, &group, placed, report);
            }
        }
    }
}

/// The attributes a leg changes; all of them where it makes or removes the item.
fn changed<'a>(leg: &'a Leg, entity: &'a Entity) -> Vec<&'a str> {
    match leg.verb {
        Verb::Put | Verb::Delete => {
            entity.attributes.iter().map(|attribute| attribute.name.as_str()).collect()
        }
        Verb::Update | Verb::Upsert => {
            let set = leg.values.iter().chain(&leg.adds).map(|given| given.attribute.as_str());
            set.chain(leg.removes.iter().map(String::as_str)).collect()
        }
        Verb::Check => Vec::new(),
    }
}

/// A source changes: its view must be written where it now belongs, and go from where it was.
fn source_changed(
    model: &Model,
    group: &Group<'_>,
    at: usize,
    (id, view): (usize, &Entity),
    report: &mut Report,
) {
    let Some(placed) = group.legs.get(at) else { return };
    let Some(source) = model.entities.get(placed.leg.entity) else { return };
    let changed = changed(placed.leg, source);
    let copied: Vec<&str> = view
        .attributes
        .iter()
        .filter(|attribute| attribute.copied && changed.contains(&attribute.name.as_str()))
        .map(|attribute| attribute.name.as_str())
        .collect();
    if copied.is_empty() {
        return;
    }
    let item = placed.leg.result;
    let around = |other: &Placed<'_>| within(&placed.guards, &other.guards);
    let written = group.legs.iter().skip(at + 1).any(|other| {
        other.leg.entity == id && writes_copies(other.leg, item, &copied) && around(other)
    });
    let removed_from = |legs: &[Placed<'_>]| {
        legs.iter().any(|other| {
            other.leg.entity == id
                && other.leg.verb == Verb::Delete
                && other.leg.of == item
                && around(other)
        })
    };
    let before = group.legs.get(..at).unwrap_or_default();
    let key = view.key.attributes();
    let moved = copied.iter().find(|attribute| key.contains(*attribute)).copied();
    let list = copied.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let binding = "the item";
    let (message, help) = match placed.leg.verb {
        Verb::Delete if !removed_from(&group.legs) => (
            format!("this removes a `{}` and leaves its `{}` behind", source.name, view.name),
            format!("add `delete {} of …` to the transaction", view.name),
        ),
        Verb::Delete => return,
        _ if !written => (
            format!("this changes {list} of `{}` and not the copy in `{}`", source.name, view.name),
            format!(
                "add `put {} of … replace` behind it in the same transaction, with {binding} it leaves",
                view.name
            ),
        ),
        Verb::Update | Verb::Upsert if moved.is_some() && !removed_from(before) => (
            format!(
                "this moves the `{}`: `{}` is part of its key, and the old one stays",
                view.name,
                moved.unwrap_or_default()
            ),
            format!("add `delete {} of …` before it in the same transaction", view.name),
        ),
        _ => return,
    };
    let diagnostic = Diagnostic::new("stale-copy", placed.leg.span, message)
        .other(view.span, format!("a view of `{}`, copied on every change", source.name))
        .why("whoever reads the view would see what is no longer so, until something else rewrites it")
        .help(help);
    report.raise(diagnostic, &placed.step.waivers);
}

/// Whether a leg writes the view of an item with all that changed.
fn writes_copies(leg: &Leg, item: Option<usize>, copied: &[&str]) -> bool {
    match leg.verb {
        Verb::Put => item.is_some() && leg.of == item,
        Verb::Update | Verb::Upsert => {
            let sets = |name: &&str| leg.values.iter().any(|given| given.attribute == **name);
            copied.iter().all(sets)
        }
        Verb::Delete | Verb::Check => false,
    }
}

/// Whether what stands within some tests happens whenever what stands within others does.
fn within(outer: &[Passed<'_>], inner: &[Passed<'_>]) -> bool {
    inner.iter().all(|test| {
        outer.iter().any(|other| std::ptr::eq(test.test, other.test) && test.truth == other.truth)
    })
}

/// A view is written: its source must be written or held with it.
fn copy_written(model: &Model, group: &Group<'_>, placed: &Placed<'_>, report: &mut Report) {
    let Some(view) = model.entities.get(placed.leg.entity) else { return };
    let Some(source) = view.view_of else { return };
    let held = group.legs.iter().any(|other| other.leg.entity == source);
    if held || placed.leg.verb == Verb::Check {
        return;
    }
    let source = model.entities.get(source).map_or("", |source| &source.name);
    let message = format!("this writes a `{}` without its `{source}`", view.name);
    let diagnostic = Diagnostic::new("stale-copy", placed.leg.span, message)
        .other(view.span, format!("a view of `{source}`"))
        .why(format!("the `{source}` may change between its reading and this, and the copy would be old at birth"))
        .help(format!(
            "write it in one transaction with its `{source}`, or add `check … if unchanged else retry` on that"
        ));
    report.raise(diagnostic, &placed.step.waivers);
}
