//! A test that a write of the same contract has used up: the write changed what the test asked, and another write
//! that changes it again rests on the test all the same.

use latchkey_language::{Diagnostic, Rule};

use super::pin::asks_again;
use super::{Fact, Use, collect, entity_of, story};
use crate::check::flow::{Group, Placed, within};
use crate::model::{Contract, Leg, Model, Verb};

/// One diagnostic for each fact that is used up by then.
pub(super) fn tell<'a>(
    model: &Model,
    contract: &Contract,
    group: &Group<'a>,
) -> Vec<(Fact<'a>, Diagnostic)> {
    let mut told: Vec<(Fact<'_>, Diagnostic)> = Vec::new();
    if group.way.written.is_empty() {
        return Vec::new();
    }
    for used in tested(group) {
        if told.iter().any(|(fact, _)| *fact == used.fact) {
            continue;
        }
        let Some((at, first)) = spender(model, contract, group, &used) else { continue };
        let mut again = group.legs.iter();
        let Some(again) = again.find(|placed| spends(contract, group, placed.leg, &used.fact))
        else {
            continue;
        };
        if is_tested_again(contract, group, &used.fact, at) || repeated(model, group, again, &used)
        {
            continue;
        }
        let name = &contract.bindings[used.fact.binding()].name;
        let what = story::named(name, &used.fact);
        let message = format!("this write rests on {what}, which an earlier write has changed");
        let diagnostic = Diagnostic::new(Rule::Unpinned, again.leg.span, message)
            .label("written here")
            .other(used.span, "tested here")
            .other(first.span, "changed here, after the test")
            .why("the test was made once, for the first write; the second is made without it")
            .help("make both writes in one transaction; or read again and test again between them");
        told.push((used.fact, diagnostic));
    }
    told
}

/// What the tests on the way ask for.
fn tested<'a>(group: &Group<'a>) -> Vec<Use<'a>> {
    let mut found = Vec::new();
    for atom in group.way.tests.iter().flat_map(|passed| passed.atoms(&group.lets)) {
        let before = found.len();
        collect(group, atom.test, Some(atom), &mut found);
        // A count has no test of its own there.
        found.iter_mut().skip(before).for_each(|used| used.test = Some(atom));
    }
    found
}

/// The first write of the contract that changed a fact after it was tested, and its place among the writes.
fn spender<'a>(
    model: &Model,
    contract: &Contract,
    group: &Group<'a>,
    used: &Use<'a>,
) -> Option<(usize, &'a Leg)> {
    let binding = used.fact.binding();
    let entity = entity_of(contract, binding)?;
    let entity = &model.entities[entity];
    // A key never changes, and `illegal-move` looks at an attribute that has its moves.
    let apart = |name: &str| {
        let moves = entity.attribute(name).is_some_and(|attribute| attribute.moves.is_some());
        moves || entity.key.tells(name)
    };
    if matches!(&used.fact, Fact::Attribute(_, name) if apart(name)) {
        return None;
    }
    let after = used.test.map_or(0, |test| test.after);
    let read = read_after(group, &used.fact).unwrap_or(after);
    let mut written = group.way.written.iter().copied().enumerate();
    written.find(|(at, leg)| {
        // After a write of its item, a name means the item that the write left.
        let own = leg.target == Some(binding) || leg.result == Some(binding);
        *at >= (if own { after } else { read }) && spends(contract, group, leg, &used.fact)
    })
}

/// How many writes came before the read of a fact.
fn read_after(group: &Group<'_>, fact: &Fact<'_>) -> Option<usize> {
    let mut reads = group.way.reads.iter();
    reads.find(|(read, _)| read.binding == Some(fact.binding())).map(|(_, after)| *after)
}

/// Whether a write changes a fact.
fn spends<'a>(contract: &Contract, group: &Group<'a>, leg: &'a Leg, fact: &Fact<'_>) -> bool {
    let sets = |name: &str| {
        let mut set = leg.values.iter().chain(&leg.adds);
        set.any(|given| given.attribute == name) || leg.removes.iter().any(|other| other == name)
    };
    let of_entity = entity_of(contract, fact.binding()) == Some(leg.entity);
    match fact {
        Fact::Attribute(binding, name) => {
            of_entity
                && matches!(leg.verb, Verb::Update | Verb::Upsert)
                && sets(name)
                && (leg.result == Some(*binding) || group.is_on(leg, *binding))
        }
        Fact::Items(_, name) => {
            let counted = matches!(leg.verb, Verb::Put | Verb::Upsert | Verb::Delete);
            of_entity && leg.verb != Verb::Check && (counted || name.is_some_and(sets))
        }
        Fact::There(_) | Fact::NotThere(_) => false,
    }
}

/// Whether the fact, or the same of a later read, was tested again after the write that changed it.
fn is_tested_again(contract: &Contract, group: &Group<'_>, fact: &Fact<'_>, write: usize) -> bool {
    let entity = |fact: &Fact<'_>| entity_of(contract, fact.binding());
    tested(group).iter().any(|other| {
        let same = match (&other.fact, fact) {
            (Fact::Attribute(_, a), Fact::Attribute(_, b)) => a == b,
            (Fact::Items(_, a), Fact::Items(_, b)) => {
                a == b && read_after(group, &other.fact).is_some_and(|after| after > write)
            }
            _ => false,
        };
        let later = other.test.is_some_and(|test| test.after > write);
        same && later && entity(&other.fact) == entity(fact)
    })
}

/// Whether a leg of the second write's transaction has the same condition on the stored item.
fn repeated<'a>(model: &'a Model, group: &Group<'a>, again: &Placed<'a>, used: &Use<'a>) -> bool {
    let binding = used.fact.binding();
    let mut sure = group.legs.iter().filter(|other| within(&again.guards, &other.guards));
    sure.any(|other| {
        group.is_on(other.leg, binding)
            && group
                .insists(other.leg)
                .iter()
                .any(|test| asks_again(model, group, other.leg, test, used))
    })
}
