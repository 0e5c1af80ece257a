//! What `unpinned` says: who may do what between the read and the write, and what to write against it.

use latchkey_language::{Diagnostic, Rule, Span};

use super::{Fact, Loose, entity_of};
use crate::check::flow::{Group, Placed};
use crate::model::{BindingId, Contract, Entity, Model, Part, StepKind, Verb, What};

/// How many attributes a message names.
const NAMED_MAX: usize = 3;

/// One diagnostic for each item and kind of fact, with the binding of the item.
pub(super) fn tell(
    model: &Model,
    contract: &Contract,
    group: &Group<'_>,
    loose: &[Loose<'_>],
) -> Vec<(BindingId, Diagnostic)> {
    let is_attribute = |other: &Loose<'_>| matches!(other.fact, Fact::Attribute(..));
    let mut told = Vec::new();
    for (at, first) in loose.iter().enumerate() {
        let binding = first.fact.binding();
        let of_item = |other: &&Loose<'_>| other.fact.binding() == binding && is_attribute(other);
        let all: Vec<&Loose<'_>> = match &first.fact {
            // A pin on an attribute of an item also keeps the item from being deleted.
            Fact::There(_) if loose.iter().any(|other| of_item(&other)) => continue,
            // What guards the items a query finds guards those it does not.
            Fact::NotThere(_) if loose.iter().any(|other| other.another && of_item(&other)) => {
                continue;
            }
            Fact::Attribute(..) if loose.iter().take(at).any(|other| of_item(&other)) => continue,
            Fact::Attribute(..) => loose.iter().filter(of_item).collect(),
            Fact::There(_) | Fact::NotThere(_) | Fact::Items(..) => vec![first],
        };
        told.push((binding, story(model, contract, group, first, &all)));
    }
    told
}

fn story(
    model: &Model,
    contract: &Contract,
    group: &Group<'_>,
    first: &Loose<'_>,
    all: &[&Loose<'_>],
) -> Diagnostic {
    let binding = first.fact.binding();
    let name = &contract.bindings[binding].name;
    let span = match &group.step.kind {
        StepKind::Write(leg) => leg.span,
        _ => Span::new(group.step.span.start, group.step.span.start + "transact".len()),
    };
    let read = group.read_of(binding).map(|(_, read)| read.span);
    let written = || group.way.written.iter().find(|leg| leg.result == Some(binding));
    let known = read.or_else(|| written().map(|leg| leg.span)).unwrap_or(span);
    let message = format!("this write rests on {}, which may no longer hold", what(name, all));
    let mut diagnostic =
        Diagnostic::new(Rule::Unpinned, span, message).label("written here").other(
            known,
            format!("`{name}` is {} here", if read.is_some() { "read" } else { "written" }),
        );
    let mut shown = vec![known, span];
    for used in all.iter().map(|used| used.span) {
        if !shown.contains(&used) && shown.len() < NAMED_MAX + 2 {
            shown.push(used);
            diagnostic = diagnostic.other(used, "and relied on here");
        }
    }
    let since = if read.is_some() { "the read" } else { "that" };
    diagnostic
        .why(format!(
            "between {since} and this write, {}; the write would then act on something that is no longer so",
            happening(model, contract, first, name)
        ))
        .help(remedy(model, contract, group, first, name))
}

fn what(name: &str, all: &[&Loose<'_>]) -> String {
    let named: Vec<String> = all.iter().map(|loose| self::named(name, &loose.fact)).collect();
    let more = named.len().saturating_sub(NAMED_MAX);
    let mut parts: Vec<String> = named.into_iter().take(NAMED_MAX).collect();
    if more > 0 {
        parts.push(format!("{more} more"));
    }
    match parts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => parts.concat(),
    }
}

/// A fact in words.
pub(super) fn named(name: &str, fact: &Fact<'_>) -> String {
    match fact {
        Fact::Attribute(_, attribute) => format!("`{name}.{attribute}`"),
        Fact::There(_) => format!("`{name}` being there"),
        Fact::NotThere(_) => format!("`{name}` being absent"),
        Fact::Items(_, None) => format!("how many there are in `{name}`"),
        Fact::Items(_, Some(attribute)) => format!("every `{attribute}` in `{name}`"),
    }
}

/// Who may do what.
fn happening(model: &Model, contract: &Contract, loose: &Loose<'_>, name: &str) -> String {
    let other = loose.culprits.iter().find(|culprit| culprit.id != contract.id);
    let culprit = other
        .map_or("another call of this contract".to_owned(), |culprit| format!("`{}`", culprit.id));
    let entity = entity(model, contract, &loose.fact);
    let shown = entity.map_or("", |entity| &entity.name);
    match &loose.fact {
        Fact::Attribute(..) if loose.another => {
            format!("{culprit} may make or remove a `{shown}`, and the query would find another")
        }
        Fact::Attribute(_, attribute) => format!("{culprit} may change `{attribute}`"),
        Fact::There(_) => format!("{culprit} may remove `{name}`"),
        Fact::NotThere(_) => format!("{culprit} may make such a `{shown}`"),
        Fact::Items(_, None) => format!("{culprit} may make or remove a `{shown}`"),
        Fact::Items(_, Some(attribute)) => {
            format!("{culprit} may make, change or remove a `{shown}` with its `{attribute}`")
        }
    }
}

fn entity<'a>(model: &'a Model, contract: &Contract, fact: &Fact<'_>) -> Option<&'a Entity> {
    entity_of(contract, fact.binding()).map(|entity| &model.entities[entity])
}

fn remedy(
    model: &Model,
    contract: &Contract,
    group: &Group<'_>,
    loose: &Loose<'_>,
    name: &str,
) -> String {
    let fact = &loose.fact;
    let entity = entity(model, contract, fact);
    let counted = entity.is_some_and(|entity| entity.counter().is_some());
    let guard = entity.and_then(|entity| entity.guarded_by).map(|id| &model.entities[id]);
    match (fact, guard) {
        (_, Some(guard)) if spans_guards(group, fact, guard) => format!(
            "the range has items of many `{0}`, and each `{0}` guards its own alone: let these items be guarded by an \
             entity with a counter that the range names whole, and `update` its item in the transaction `if unchanged \
             else retry`",
            guard.name
        ),
        (_, Some(guard)) => format!(
            "read its `{}` before it, and `update` that in the transaction `if unchanged else retry`",
            guard.name
        ),
        (Fact::Items(..), None) if is_of_keys(group, fact) && is_gone_through(group, fact) => {
            let shown = entity.map_or("", |entity| &entity.name);
            format!(
                "the legs of the `each` hold the items that were found, and not that these are all: go through the keys \
                 instead, `each key in … {{ update {shown}(…) … }}`. What the items add up to holds if every leg says \
                 `unchanged`; the check does not follow that, so waive this with that reason, or guard the items"
            )
        }
        (Fact::Items(..), None) if is_of_keys(group, fact) => {
            let shown = entity.map_or("", |entity| &entity.name);
            format!(
                "the keys are known: go through them in the transaction, `each key in … {{ check {shown}(…) if … else … \
                 }}`, with a condition that says of each item what was found of all"
            )
        }
        (_, None) if loose.another || is_of_range(group, fact) => {
            let shown = entity.map_or("", |entity| &entity.name);
            format!(
                "no condition on one item holds what a range holds: write `entity {shown} … guarded by` an entity with a \
                 counter, `get` its item before this read, and `update` it in the transaction `if unchanged else retry`"
            )
        }
        (Fact::NotThere(_), None) => {
            "`put` it `if absent else …` in the same transaction".to_owned()
        }
        (_, None) if counted => format!(
            "write `if unchanged else retry` on the write of `{name}`; or, where it is not written, add \
             `check {name} if unchanged else retry`, in one transaction with this"
        ),
        (Fact::Attribute(_, attribute), None) => format!(
            "write `if .{attribute} == {name}.{attribute} else retry` on the write of `{name}`, or on a `check` of \
             it in one transaction with this; or give its entity a counter, and write `if unchanged`"
        ),
        (_, None) => {
            let part = entity.and_then(|entity| entity.attributes.first());
            let part = part.map_or("", |attribute| &attribute.name);
            let mut legs = group.legs.iter().map(|placed| placed.leg);
            // No transaction names an item twice.
            if legs.any(|leg| group.is_on(leg, fact.binding())) {
                return format!(
                    "add `and .{part} is present` to the condition of the leg on `{name}`: a test that something is \
                     another value holds of an item that is gone"
                );
            }
            format!("add `check {name} if .{part} is present else …`, in one transaction with this")
        }
    }
}

/// Whether a range does not say of which guard its items are.
fn spans_guards(group: &Group<'_>, fact: &Fact<'_>, guard: &Entity) -> bool {
    let is_query = matches!(group.read_of(fact.binding()), Some((_, read)) if matches!(read.what, What::Query(_)));
    let mut parts = guard.key.attributes().into_iter();
    is_query && parts.any(|name| group.given_part(fact.binding(), name).is_none())
}

/// Whether legs of the transaction go through the items that a fact is about.
fn is_gone_through(group: &Group<'_>, fact: &Fact<'_>) -> bool {
    let each = group.legs.iter().filter_map(|placed| placed.each);
    each.filter_map(|each| each.result()).any(|result| result == fact.binding())
}

/// Whether a fact is about the items of a list of keys.
fn is_of_keys(group: &Group<'_>, fact: &Fact<'_>) -> bool {
    let read = group.read_of(fact.binding()).map(|(_, read)| &read.what);
    matches!(read, Some(What::Batch(batch)) if batch.over().is_some())
}

/// Whether a fact is about a range of items, none of which is written here.
fn is_of_range(group: &Group<'_>, fact: &Fact<'_>) -> bool {
    let binding = fact.binding();
    let written =
        |placed: &Placed<'_>| placed.leg.verb != Verb::Check && group.is_on(placed.leg, binding);
    let read = group.read_of(binding).map(|(_, read)| &read.what);
    matches!(read, Some(What::Query(_) | What::Batch(_) | What::Part(Part { one: false, .. })))
        && !matches!(fact, Fact::There(_))
        && !group.legs.iter().any(written)
}
