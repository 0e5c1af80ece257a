//! `unreleased`: an item that keeps a value unique, and that stays when its owner gives the value up; or that is not
//! there where an owner has the value.

mod taken;

use std::collections::BTreeMap;

use latchkey_language::{Diagnostic, Rule, Span};

use super::Report;
use super::flow::{Group, Placed};
use super::truth::{Passed, each, plain};
use super::writes::Writes;
use crate::model::{
    EntityId, Expr, ExprKind, Given, Kind, Leg, Model, PutMode, Trigger, Verb, Waiver,
};
use crate::types::Type;

pub(super) fn check(model: &Model, report: &mut Report) {
    let writes = Writes::new(model);
    let mut untaken = BTreeMap::new();
    for (contract, group) in writes.all() {
        // An item that a worker puts marks a message as done.
        if contract.trigger != Trigger::Request {
            continue;
        }
        for placed in &group.legs {
            let claim = placed.leg;
            if claim.verb != Verb::Put || claim.put != Some(PutMode::IfAbsent) {
                continue;
            }
            let owners = group.legs.iter().map(|other| other.leg);
            let owners =
                owners.filter(|owner| owner.verb == Verb::Put && owner.entity != claim.entity);
            let claimed: Vec<(&Leg, Claimed<'_>)> =
                owners.filter_map(|owner| Some((owner, claimed(group, claim, owner)?))).collect();
            if model.entities[claim.entity].is_expiring() {
                if let Some(diagnostic) = taken::ends_early(model, &writes, claim, &claimed) {
                    report.raise(diagnostic, &placed.step.waivers);
                }
                continue;
            }
            let mut lost = claimed.iter();
            let lost = lost.find_map(|(owner, claimed)| {
                given_up(model, &writes, claim.entity, owner, claimed)
            });
            for (owner, claimed) in &claimed {
                untaken.extend(taken::not_taken(model, &writes, claim.entity, owner, claimed));
            }
            if let Some(lost) = lost {
                // A write that neither frees the old value nor takes the new one is one mistake.
                let forgotten = untaken.remove(&lost.span).is_some();
                let waivers = [&placed.step.waivers, lost.waivers].concat();
                let released = writes.on(claim.entity).any(|it| it.2.leg.verb == Verb::Delete);
                report.raise(breach(model, claim, &lost, (released, forgotten)), &waivers);
            }
        }
    }
    for (diagnostic, waivers) in untaken.into_values() {
        report.raise(diagnostic, &waivers);
    }
}

/// The attributes of an owner that a claim keeps unique, each with the part of the claim's key that it is.
type Claimed<'a> = Vec<(&'a str, &'a str)>;

/// Where and how an owner gives up the value of a claim that stays.
struct Lost<'a> {
    span: Span,
    how: String,
    waivers: &'a [Waiver],
}

fn breach(
    model: &Model,
    claim: &Leg,
    lost: &Lost<'_>,
    (released, forgotten): (bool, bool),
) -> Diagnostic {
    let name = &model.entities[claim.entity].name;
    let message = match released {
        false => format!("nothing ever deletes this `{name}`"),
        true => format!("this `{name}` is not deleted wherever its value is given up"),
    };
    let (why, help) = match forgotten {
        false => (
            "the value stays taken for ever: not even its former owner can have it again",
            format!("add `delete {name}(…)` to the transaction that gives the value up"),
        ),
        true => (
            "the old value stays taken for ever, and another can take the new one as well",
            format!(
                "add `delete {name}(…)` of the old value and `put {name} {{ … }} if absent` of the new one to the \
                 transaction"
            ),
        ),
    };
    Diagnostic::new(Rule::Unreleased, claim.span, message)
        .other(lost.span, lost.how.clone())
        .why(why)
        .help(help)
}

/// Where and how the owner of a claim gives it up, and leaves the claim.
fn given_up<'a>(
    model: &'a Model,
    writes: &Writes<'a>,
    claim: EntityId,
    owner: &Leg,
    claimed: &Claimed<'a>,
) -> Option<Lost<'a>> {
    let entity = &model.entities[owner.entity];
    if entity.is_expiring() {
        let how = format!("a `{}` ends, and has the value no longer", entity.name);
        return Some(Lost { span: entity.span, how, waivers: &[] });
    }
    let mut writes_of_owner = writes.on(owner.entity);
    writes_of_owner.find_map(|(_, group, placed)| {
        let how = if placed.leg.verb == Verb::Delete {
            format!("deletes the `{}` that has the value", entity.name)
        } else {
            let (name, _) = claimed.iter().find(|(name, _)| changes(group, placed, name))?;
            format!("changes `{name}` of the `{}` that has the value", entity.name)
        };
        let stays = !writes.sweeps(group, claim) || deletes_other(group, placed, claim, claimed);
        stays.then(|| Lost { span: placed.leg.span, how, waivers: &placed.step.waivers })
    })
}

/// Whether a leg gives an attribute of its item another value, where it can have had one before.
fn changes<'a>(group: &Group<'a>, placed: &Placed<'a>, name: &str) -> bool {
    let leg = placed.leg;
    let sets = matches!(leg.verb, Verb::Update | Verb::Upsert)
        && (leg.values.iter().any(|given| given.attribute == name)
            || leg.removes.iter().any(|removed| removed == name));
    let is_it = |expr: &'a Expr| match &plain(&group.lets, expr).kind {
        ExprKind::Stored(stored) => stored == name,
        ExprKind::Attribute(item, read) => read == name && group.is_on(leg, *item),
        _ => false,
    };
    let mut tests = group.insists(leg);
    tests.extend(group.known(&placed.guards));
    let was_absent = tests.iter().any(|test: &Passed<'a>| match (&test.test.kind, test.truth) {
        (ExprKind::Absent(thing), true) | (ExprKind::Present(thing), false) => is_it(thing),
        _ => false,
    });
    sets && !was_absent
}

/// Whether all that a transaction deletes are claims of other values than the old one: of a value that it sets, or of one
/// that the caller gives, and that is compared with nothing.
fn deletes_other<'a>(
    group: &Group<'a>,
    placed: &Placed<'a>,
    claim: EntityId,
    claimed: &Claimed<'a>,
) -> bool {
    let deleted = group.legs.iter().map(|placed| placed.leg);
    let mut deleted = deleted
        .filter(|leg| leg.verb == Verb::Delete && leg.entity == claim && leg.target.is_none())
        .peekable();
    let is_new =
        |value: &'a Expr| placed.leg.values.iter().any(|set| group.alike(&set.value, value, None));
    let is_any = |value: &'a Expr| {
        matches!(group.origin(value).kind, ExprKind::Input(_))
            && !is_key(group, placed, value)
            && !is_old(group, placed, claimed, value)
    };
    deleted.peek().is_some()
        && deleted.all(|leg| leg.key.iter().any(|part| is_new(&part.value) || is_any(&part.value)))
}

/// Whether a value is a part of the key of an owner.
fn is_key<'a>(group: &Group<'a>, placed: &Placed<'a>, value: &'a Expr) -> bool {
    let names = group.model.entities[placed.leg.entity].key.attributes();
    let given = placed.leg.key.iter().map(|part| &part.value);
    let read = names.into_iter().filter_map(|name| group.given_part(placed.leg.target?, name));
    given.chain(read).any(|part| group.alike(part, value, None))
}

/// Whether a value was found to be the old one of an owner, or the write of the owner insists on that.
fn is_old<'a>(
    group: &Group<'a>,
    placed: &Placed<'a>,
    claimed: &Claimed<'a>,
    value: &'a Expr,
) -> bool {
    let is_claimed = |name: &str| claimed.iter().any(|(other, _)| *other == name);
    let mut tests = group.insists(placed.leg);
    tests.extend(group.known(&placed.guards));
    tests.iter().filter_map(Passed::equality).any(|(a, b)| {
        [(a, b), (b, a)].into_iter().any(|(one, other)| {
            let of_owner = match &plain(&group.lets, one).kind {
                ExprKind::Stored(name) => is_claimed(name),
                ExprKind::Attribute(item, name) => {
                    is_claimed(name) && group.is_on(placed.leg, *item)
                }
                _ => false,
            };
            of_owner && group.alike(other, value, None)
        })
    })
}

/// The attributes of an owner that a claim keeps unique: its key is made of them, and none is in a key of the owner's.
fn claimed<'a>(group: &Group<'a>, claim: &'a Leg, owner: &'a Leg) -> Option<Claimed<'a>> {
    let has = |all: &'a [Given], value: &'a Expr| {
        all.iter().find(|given| group.alike(&given.value, value, None))
    };
    let in_a_key = |value: &'a Expr| {
        let puts = group.legs.iter().map(|placed| placed.leg).filter(|leg| leg.verb == Verb::Put);
        puts.filter(|leg| leg.entity != claim.entity).any(|leg| has(&leg.key, value).is_some())
    };
    let mut claimed = Vec::new();
    for part in &claim.key {
        let value = group.origin(&part.value);
        match has(&owner.values, value) {
            // No other item competes for an id that is made here, or that names another item.
            Some(given) if !in_a_key(value) && !matches!(value.kind, ExprKind::New(_)) => {
                claimed.push((given.attribute.as_str(), part.attribute.as_str()));
            }
            _ if has(&owner.key, value).is_some() => {}
            _ => return None,
        }
    }
    // An item under the whole key of the other is a part of it.
    let part_of_it = owner.key.iter().all(|part| has(&claim.key, &part.value).is_some());
    // A claim knows nothing that its owner does not know, but for times that are made of `now`.
    let is_time = |given: &&'a Given| {
        let mut now = false;
        each(&group.lets, &given.value, &mut |part| now |= matches!(part.kind, ExprKind::Now));
        now && given.value.of == Kind::Value(Type::Time)
    };
    let knows_less = claim.values.iter().filter(|given| !is_time(given)).all(|given| {
        let value = group.origin(&given.value);
        has(&owner.key, value).or_else(|| has(&owner.values, value)).is_some()
    });
    let makes_owner = owner.key.iter().any(|part| {
        matches!(group.origin(&part.value).kind, ExprKind::New(_) | ExprKind::CallerId)
    });
    let size = |leg: &'a Leg| leg.values.iter().filter(|given| !is_time(given)).count();
    let smaller = size(claim) < size(owner) || makes_owner;
    (!claimed.is_empty() && !part_of_it && knows_less && smaller).then_some(claimed)
}
