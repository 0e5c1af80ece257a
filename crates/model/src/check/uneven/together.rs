//! What goes with the change of a status: items of other entities that every such transaction writes, and counts that
//! every such transaction moves from one attribute to another.

use std::collections::{BTreeMap, BTreeSet};

use latchkey_language::{Diagnostic, Rule};
use latchkey_value::Number;

use super::{Group, Leg, Model, Odd, Report, SEVERAL, Site, Verb, odd_one, updates, waivers};
use crate::model::{EntityId, ExprKind};
use crate::types::Type;

pub(super) fn check(model: &Model, groups: &[Group<'_>], report: &mut Report) {
    let mut by_status: BTreeMap<(EntityId, &str), Vec<Site<'_, '_>>> = BTreeMap::new();
    for site in updates(groups) {
        let entity = &model.entities[site.leg.entity];
        for given in &site.leg.values {
            let attribute = entity.attribute(&given.attribute);
            if attribute.is_some_and(|attribute| attribute.moves.is_some()) {
                let key = (site.leg.entity, given.attribute.as_str());
                by_status.entry(key).or_default().push(site);
            }
        }
    }
    for ((entity, status), all) in by_status {
        let written: BTreeSet<EntityId> = all
            .iter()
            .flat_map(|site| &site.group.legs)
            .filter(|placed| placed.leg.verb != Verb::Check && placed.leg.entity != entity)
            .map(|placed| placed.leg.entity)
            .filter(|with| !is_tally(model, (entity, status), *with) && is_kept(&all, *with))
            .collect();
        for with in written {
            if let Some(odd) = without(&all, with) {
                alone(model, status, with, &odd, report);
            } else {
                unbalanced(model, status, with, &all, report);
            }
        }
    }
}

/// Whether an entity has numbers for the words of a status: which of them change is known, and needs no comparison.
fn is_tally(model: &Model, (entity, status): (EntityId, &str), with: EntityId) -> bool {
    let Some(Type::Enum(words)) = model.entities[entity].attribute(status).map(|it| &it.kind)
    else {
        return false;
    };
    words.iter().any(|word| model.entities[with].attribute(word).is_some())
}

/// Whether all of these make items of an entity, or all count in it: what else a transaction changes, it changes for a
/// purpose of its own.
fn is_kept(all: &[Site<'_, '_>], with: EntityId) -> bool {
    let legs = all.iter().flat_map(|site| &site.group.legs).map(|placed| placed.leg);
    let verbs: Vec<Verb> = legs.filter(|leg| leg.entity == with).map(|leg| leg.verb).collect();
    [Verb::Put, Verb::Upsert].iter().any(|verb| verbs.iter().all(|other| other == verb))
}

/// The one transaction that does not write an entity that all others write.
fn without<'a, 'g>(all: &[Site<'a, 'g>], with: EntityId) -> Option<Odd<Site<'a, 'g>>> {
    let writes = |group: &Group<'_>| {
        let mut legs = group.legs.iter();
        legs.any(|placed| placed.leg.entity == with && placed.leg.verb != Verb::Check)
    };
    odd_one(all.iter().map(|site| (site.leg.span, writes(site.group), *site)), SEVERAL)
}

fn alone(
    model: &Model,
    status: &str,
    with: EntityId,
    odd: &Odd<Site<'_, '_>>,
    report: &mut Report,
) {
    let Some(first) = odd.odd.first() else { return };
    let (entity, with) = (&model.entities[first.leg.entity].name, &model.entities[with].name);
    let message = format!("this changes `{status}` and writes no `{with}`");
    let diagnostic = Diagnostic::new(Rule::Uneven, first.leg.span, message)
        .other(odd.other, format!("a `{with}` is written with this"))
        .why(format!(
            "all {} other updates that change `{status}` of a `{entity}` write a `{with}` in the same transaction",
            odd.count
        ))
        .help(format!("write the `{with}` here, too, in one transaction"));
    report.raise(diagnostic, waivers(&first.placed.step.waivers, first.group.step));
}

/// The one leg whose numbers do not add up to nothing, as those of all others do.
fn unbalanced(
    model: &Model,
    status: &str,
    with: EntityId,
    all: &[Site<'_, '_>],
    report: &mut Report,
) {
    let mut places = Vec::new();
    for placed in all.iter().flat_map(|site| &site.group.legs) {
        if placed.leg.entity != with || placed.leg.verb == Verb::Check {
            continue;
        }
        // A number that is not in the text may be anything.
        let Some(sum) = sum(placed.leg) else { return };
        places.push((placed.leg.span, sum == Number::from(0_i64), placed));
    }
    let Some(odd) = odd_one(places.into_iter(), SEVERAL) else { return };
    let Some(first) = odd.odd.first() else { return };
    let name = &model.entities[with].name;
    let message = format!("these numbers of `{name}` do not add up to 0");
    let span = first.leg.adds.first().map_or(first.leg.span, |given| given.span);
    let diagnostic = Diagnostic::new(Rule::Uneven, span, message)
        .other(odd.other, "here they do")
        .why(format!(
            "with `{status}` an item goes from one number of `{name}` to another: what all {} others add to one, \
             they take from the other",
            odd.count
        ))
        .help("take from the one number what is added to the other");
    report.raise(diagnostic, &first.step.waivers);
}

/// What a leg adds in all, where the text says so.
fn sum(leg: &Leg) -> Option<Number> {
    if leg.adds.is_empty() || !leg.values.is_empty() {
        return None;
    }
    let mut sum = Number::from(0_i64);
    for given in &leg.adds {
        let ExprKind::Number(number) = &given.value.kind else { return None };
        sum = sum.checked_add(*number).ok()?;
    }
    Some(sum)
}
