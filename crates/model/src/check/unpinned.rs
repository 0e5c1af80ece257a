//! `unpinned`: a write that rests on a fact which may have changed since it was read.
//!
//! A fact is an attribute of an item that was read, or that the item was there, or was not. A write rests on
//! it if a test on the way to the write asked for it, if the write's own key or values hold it, or if it said
//! which item to read. It is *pinned* if no contract can change it; if a leg that happens whenever the write
//! does insists on it; or if its entity is guarded, and the guard was read first and is unchanged in the
//! transaction. What a query found, and how many items there are, is a fact about a range: a leg that only checks
//! one of its items does not pin it. A test that an earlier write of the contract has made untrue counts for nothing.
//! A value that an earlier commit of the call has stored in an item is a fact about that item.

use latchkey_language::{Rule, Span};

use super::changes::Changes;
use super::flow::{Group, groups};
use super::truth::{Passed, each};
use super::{Report, each_send, each_step};
use crate::model::{
    BindingId, By, Contract, EntityId, Expr, ExprKind, Kind, Leg, Model, Send, Verb, Waiver, What,
};

mod all_there;
mod answer;
mod asked_before;
mod bounds;
mod carried;
mod checked;
mod lifted;
mod lost;
mod moments;
mod outdated;
mod overtaken;
mod pin;
mod refused;
mod shown;
mod spent;
mod story;

pub(super) use answer::check as check_answers;
use overtaken::Overtaken;
pub(super) use pin::needs_item;
use pin::{Pin, pin};

/// Something that was read and relied on.
#[derive(Clone, PartialEq, Eq)]
enum Fact<'a> {
    /// The value of an attribute.
    Attribute(BindingId, &'a str),
    /// That the item is there.
    There(BindingId),
    /// That the item is not there.
    NotThere(BindingId),
    /// How many items there are, or what an attribute of them adds up to.
    Items(BindingId, Option<&'a str>),
}

impl Fact<'_> {
    fn binding(&self) -> BindingId {
        match self {
            Fact::Attribute(binding, _)
            | Fact::There(binding)
            | Fact::NotThere(binding)
            | Fact::Items(binding, _) => *binding,
        }
    }
}

/// A fact, and where it is relied on.
struct Use<'a> {
    fact: Fact<'a>,
    span: Span,
    /// The test that asks for it, where one does.
    test: Option<Passed<'a>>,
    /// The tests of the `when` that it is relied on within, where the call goes on behind.
    when: Vec<Passed<'a>>,
}

impl<'a> Use<'a> {
    fn new(fact: Fact<'a>, span: Span, test: Option<Passed<'a>>) -> Use<'a> {
        Use { fact, span, test, when: Vec::new() }
    }

    /// That a read found something, or nothing.
    fn found(binding: BindingId, there: bool, span: Span) -> Use<'a> {
        let fact = if there { Fact::There(binding) } else { Fact::NotThere(binding) };
        Use::new(fact, span, None)
    }
}

/// A fact that may no longer hold, and who can see to that.
struct Loose<'a> {
    fact: Fact<'a>,
    span: Span,
    culprits: Vec<&'a Contract>,
    /// Whether the item itself stays as it is, and a query would find another.
    another: bool,
}

pub(super) fn check(model: &Model, report: &mut Report) {
    let changes = Changes::new(model);
    let overtaken = Overtaken::new(model);
    let around = refused::Around::new(model);
    for contract in model.bodies() {
        for group in groups(model, contract) {
            let mut loose: Vec<Loose<'_>> = Vec::new();
            let acts = acts(&group);
            let of_acts = acts.iter().flat_map(|site| {
                let all = uses(model, contract, &group, *site).into_iter();
                all.map(|used| (*site, used))
            });
            let beside = checked::uses(contract, &group, &acts);
            for (site, used) in of_acts.chain(beside) {
                let told = loose.iter().any(|other| other.fact == used.fact);
                let pin = pin(model, contract, &group, site, &used);
                if told || pin == Pin::Whole {
                    continue;
                }
                let mut culprits = match pin {
                    Pin::Item | Pin::Claimed => Vec::new(),
                    Pin::Whole | Pin::Nothing => culprits(model, contract, &changes, &used.fact),
                };
                let another = culprits.is_empty();
                if another {
                    culprits = finders(model, contract, &group, &changes, &used.fact);
                    if pin == Pin::Claimed {
                        culprits
                            .retain(|other| overtaken.matters(contract, &group, &used.fact, other));
                    }
                }
                if !culprits.is_empty() {
                    loose.push(Loose { fact: used.fact, span: used.span, culprits, another });
                }
            }
            // A fact that the contract itself has changed is not told again as one that others may change.
            let spent = spent::tell(model, contract, &group);
            loose.retain(|loose| !spent.iter().any(|(fact, _)| *fact == loose.fact));
            for (binding, diagnostic) in story::tell(model, contract, &group, &loose) {
                report.raise(diagnostic, waivers(contract, &group, binding));
            }
            let carried = carried::tell(model, &changes, &group);
            let refused = refused::tell(&around, contract, &group);
            for diagnostic in spent.into_iter().map(|(_, it)| it).chain(carried).chain(refused) {
                report.raise(diagnostic, &group.step.waivers);
            }
        }
        each_send(contract, |send, step| {
            for diagnostic in outdated::tell(model, contract, &changes, send) {
                report.raise(diagnostic, &step.waivers);
            }
        });
    }
}

/// The waivers for what a write takes from an item: those above the read of the item, which are for that read alone, or
/// those above the write, which are for all.
fn waivers<'a>(contract: &'a Contract, group: &Group<'a>, binding: BindingId) -> &'a [Waiver] {
    let read = group.read_of(binding).and_then(|(_, read)| moments::step_of(contract, read));
    let own = read.map(|step| &step.waivers[..]);
    let covers = |waivers: &&[Waiver]| waivers.iter().any(|one| one.rule == Rule::Unpinned);
    own.filter(covers).unwrap_or(&group.step.waivers)
}

/// What rests on facts.
#[derive(Clone, Copy)]
enum Act<'a> {
    Write(&'a Leg),
    Send(&'a Send),
}

/// Something that rests on facts, and the tests around it within its transaction.
type Site<'a, 'g> = (Act<'a>, &'g [Passed<'a>]);

/// What a group does that rests on facts: its writes and its sends.
fn acts<'a, 'g>(group: &'g Group<'a>) -> Vec<Site<'a, 'g>> {
    let legs = group.legs.iter().filter(|placed| placed.leg.verb != Verb::Check);
    let legs = legs.map(|placed| (Act::Write(placed.leg), &placed.guards[..]));
    let sends = group.sends.iter().map(|sent| (Act::Send(sent.send), &sent.guards[..]));
    legs.chain(sends).collect()
}

/// Every fact a leg rests on.
fn uses<'a>(
    model: &'a Model,
    contract: &'a Contract,
    group: &Group<'a>,
    (act, guards): Site<'a, '_>,
) -> Vec<Use<'a>> {
    let mut found = Vec::new();
    for passed in group.way.tests.iter().chain(guards) {
        tested(group, *passed, &mut found);
    }
    for (binding, there, span) in &group.way.found {
        found.push(Use::found(*binding, *there, *span));
    }
    for branch in &group.way.branches {
        beside(group, &branch.when, (branch.tests(), branch.found()), &mut found);
    }
    gone_through(guards, &mut found);
    match act {
        Act::Write(leg) => {
            for given in leg.key.iter().chain(&leg.values).chain(&leg.adds) {
                collect(group, &given.value, None, &mut found);
            }
            if let Some(condition) = &leg.condition {
                collect(group, condition, None, &mut found);
            }
            taken_over(model, contract, leg, &mut found);
            in_index_keys(model, leg, &mut found);
        }
        Act::Send(send) => {
            let values = send.values.iter().map(|given| &given.value);
            values.chain(&send.at).for_each(|value| collect(group, value, None, &mut found));
        }
    }
    which_item(contract, group, &mut found);
    retain_known(group, &mut found);
    found
}

/// Only what was read, or written before, can have changed since.
fn retain_known(group: &Group<'_>, found: &mut Vec<Use<'_>>) {
    let before = |binding: BindingId| {
        let written = group.way.written.iter().any(|leg| leg.result == Some(binding));
        written || group.read_of(binding).is_some()
    };
    found.retain(|used| before(used.fact.binding()));
}

/// Which items were found says what an `each` writes, or asks of them.
fn gone_through<'a>(guards: &[Passed<'a>], found: &mut Vec<Use<'a>>) {
    for passed in guards {
        if let (ExprKind::Binding(result), Kind::Page(_)) = (&passed.test.kind, &passed.test.of) {
            let fact = Fact::Items(*result, None);
            found.push(Use::new(fact, passed.test.span, None));
        }
    }
}

/// The facts that a test asks for.
fn tested<'a>(group: &Group<'a>, passed: Passed<'a>, found: &mut Vec<Use<'a>>) {
    for atom in passed.atoms(&group.lets) {
        collect(group, atom.test, Some(atom), found);
    }
}

/// The facts that were tested within a `when` that does not end the call. Whether its block was entered is one, too:
/// what did not have to pass the tests there might have to, by now.
fn beside<'a>(
    group: &Group<'a>,
    when: &[Passed<'a>],
    (tests, finds): (&[Passed<'a>], &[(BindingId, bool, Span)]),
    found: &mut Vec<Use<'a>>,
) {
    if tests.is_empty() && finds.is_empty() {
        return;
    }
    for (at, test) in when.iter().enumerate() {
        let from = found.len();
        tested(group, *test, found);
        tested(group, Passed { truth: !test.truth, ..*test }, found);
        let around = when.get(..at).unwrap_or_default();
        found.iter_mut().skip(from).for_each(|used| used.when = around.to_vec());
    }
    let from = found.len();
    for passed in tests {
        tested(group, *passed, found);
    }
    found.extend(finds.iter().map(|(binding, there, at)| Use::found(*binding, *there, *at)));
    found.iter_mut().skip(from).for_each(|used| used.when = when.to_vec());
}

/// The facts an expression asks for.
fn collect<'a>(
    group: &Group<'a>,
    expr: &'a Expr,
    test: Option<Passed<'a>>,
    found: &mut Vec<Use<'a>>,
) {
    each(&group.lets, expr, &mut |part| match &part.kind {
        ExprKind::Attribute(binding, name) => {
            found.push(Use::new(Fact::Attribute(*binding, name), part.span, test));
            found.push(Use::new(Fact::There(*binding), part.span, test));
        }
        ExprKind::Present(thing) | ExprKind::Absent(thing) => {
            if let ExprKind::Binding(binding) = &thing.kind {
                // Either side of an `or` may have decided: the rule takes each as if it had.
                let truth = test.is_none_or(|passed| passed.truth);
                let there = matches!(&part.kind, ExprKind::Present(_)) == truth;
                let fact = if there { Fact::There(*binding) } else { Fact::NotThere(*binding) };
                found.push(Use::new(fact, part.span, None));
            }
        }
        ExprKind::Count(binding) => {
            found.push(Use::new(Fact::Items(*binding, None), part.span, test));
        }
        ExprKind::CountBy(binding, name, _) | ExprKind::Sum(binding, name) => {
            let fact = Fact::Items(*binding, Some(name));
            found.push(Use::new(fact, part.span, None));
        }
        _ => {}
    });
}

/// A put `of` an item holds every attribute it takes from there.
fn taken_over<'a>(
    model: &'a Model,
    contract: &'a Contract,
    leg: &'a Leg,
    found: &mut Vec<Use<'a>>,
) {
    let (Verb::Put, Some(of)) = (leg.verb, leg.of) else { return };
    let entity = &model.entities[leg.entity];
    let source = entity_of(contract, of).map(|source| &model.entities[source]);
    for attribute in &entity.attributes {
        let given = leg.values.iter().any(|given| given.attribute == attribute.name);
        if !given && source.is_some_and(|source| source.attribute(&attribute.name).is_some()) {
            let fact = Fact::Attribute(of, &attribute.name);
            found.push(Use::new(fact, leg.span, None));
        }
    }
    found.push(Use::new(Fact::There(of), leg.span, None));
}

/// A write that moves its item in an index makes the whole key there anew. The parts that it does not set are as they
/// were read.
fn in_index_keys<'a>(model: &'a Model, leg: &'a Leg, found: &mut Vec<Use<'a>>) {
    let (Verb::Update | Verb::Upsert, Some(target)) = (leg.verb, leg.target) else { return };
    let sets = |name: &str| {
        leg.values.iter().any(|given| given.attribute == name && !given.maybe)
            || leg.removes.iter().any(|other| other == name)
    };
    let touches = |name: &str| {
        let mut set = leg.values.iter().chain(&leg.adds);
        sets(name) || set.any(|given| given.attribute == name)
    };
    for index in &model.entities[leg.entity].indexes {
        let parts = index.key.attributes();
        // Where both halves are attributes, or other keys, nothing is made.
        if !index.own_partition && !index.own_sort {
            continue;
        }
        if leg.verb == Verb::Update && !parts.iter().any(|part| touches(part)) {
            continue;
        }
        for part in parts.into_iter().filter(|part| !sets(part)) {
            let fact = Fact::Attribute(target, part);
            found.push(Use::new(fact, index.span, None));
        }
    }
}

/// What said which item to read is relied on with it.
fn which_item<'a>(contract: &'a Contract, group: &Group<'a>, found: &mut Vec<Use<'a>>) {
    let mut at = 0;
    let mut seen = Vec::new();
    while let Some(used) = found.get(at) {
        at += 1;
        let binding = used.fact.binding();
        let Some((_, read)) = group.read_of(binding).filter(|_| !seen.contains(&binding)) else {
            continue;
        };
        seen.push(binding);
        match &read.what {
            What::Get(key) => {
                key.iter().for_each(|given| collect(group, &given.value, None, found));
            }
            What::Batch(batch) => {
                batch.values().for_each(|value| collect(group, value, None, found));
                if let (Some((result, _)), Some(over)) = (batch.result(), batch.over()) {
                    let fact = Fact::Items(result, None);
                    found.push(Use::new(fact, over.span, None));
                }
            }
            What::Query(query) => {
                query.deciding().for_each(|value| collect(group, value, None, found));
                // Of a list, what is kept is which items there are.
                if !matches!(contract.bindings[binding].kind, Kind::Page(_)) {
                    kept_as(group, query.test_of(read.entity), binding, found);
                }
            }
            What::Part(part) => {
                let whole = group.read_of(part.of).map(|(_, whole)| &whole.what);
                if let Some(What::Query(query)) = whole {
                    query.deciding().for_each(|value| collect(group, value, None, found));
                }
            }
        }
    }
}

/// An item that a filter has kept was as the filter asks: who uses the item relies on that.
fn kept_as<'a>(
    group: &Group<'a>,
    keep: Option<&'a Expr>,
    binding: BindingId,
    found: &mut Vec<Use<'a>>,
) {
    let tests = keep.into_iter().flat_map(|test| Passed::new(test, true).atoms(&group.lets));
    for atom in tests {
        each(&group.lets, atom.test, &mut |part| {
            if let ExprKind::Stored(name) = &part.kind {
                let fact = Fact::Attribute(binding, name);
                found.push(Use::new(fact, part.span, Some(atom)));
            }
        });
    }
}

fn entity_of(contract: &Contract, binding: BindingId) -> Option<EntityId> {
    contract.bindings[binding].kind.entity()
}

/// The entities of the items that were found in one read with those of a binding.
fn found_with(contract: &Contract, binding: BindingId, own: EntityId) -> Vec<EntityId> {
    let read = contract.read_of(binding).and_then(|read| contract.query_of(read));
    read.map_or_else(|| vec![own], |(whole, _)| whole.entities().collect())
}

/// The contracts that can make a fact untrue.
fn culprits<'a>(
    model: &'a Model,
    contract: &'a Contract,
    changes: &Changes<'a>,
    fact: &Fact<'a>,
) -> Vec<&'a Contract> {
    let Some(id) = entity_of(contract, fact.binding()) else { return Vec::new() };
    match fact {
        // What an item's key tells never changes while it is the same item.
        Fact::Attribute(_, name) if model.entities[id].key.tells(name) => Vec::new(),
        Fact::Attribute(_, name) => changes.attribute(id, name),
        Fact::There(_) => changes.removal(id).to_vec(),
        Fact::NotThere(_) => changes.making(id).to_vec(),
        Fact::Items(binding, name) => {
            let mut all = name.map(|name| changes.attribute(id, name)).unwrap_or_default();
            // Of several entities, each takes the place of another among those that are read.
            for entity in found_with(contract, *binding, id) {
                all.extend(changes.making(entity).iter().chain(changes.removal(entity)));
            }
            // What a filter dropped may be kept by now.
            let read = contract.read_of(*binding).and_then(|read| contract.query_of(read));
            if let Some((whole, query)) = read {
                for entity in whole.entities() {
                    let names = query.kept_by(entity).into_iter();
                    all.extend(names.flat_map(|name| changes.attribute(entity, name)));
                }
            }
            all
        }
    }
}

/// The contracts that can make a query find another item than it did.
fn finders<'a>(
    model: &'a Model,
    contract: &'a Contract,
    group: &Group<'a>,
    changes: &Changes<'a>,
    fact: &Fact<'a>,
) -> Vec<&'a Contract> {
    let read = group.read_of(fact.binding()).and_then(|(_, read)| contract.query_of(read));
    let query = read.map(|(_, query)| query);
    let (Some(query), Some(id)) = (query, entity_of(contract, fact.binding())) else {
        return Vec::new();
    };
    let key = model.entities[id].key.attributes();
    let one_item = query.by == By::Table
        && key.into_iter().all(|part| group.given_part(fact.binding(), part).is_some());
    if one_item || matches!(fact, Fact::There(_)) {
        return Vec::new();
    }
    let mut all = [changes.making(id), changes.removal(id)].concat();
    let indexes = &model.entities[id].indexes;
    let index = indexes.iter().filter(|shape| query.by == By::Index(shape.index));
    for part in index.flat_map(|index| index.key.attributes()) {
        all.extend(changes.attribute(id, part));
    }
    for name in query.kept_by(id) {
        all.extend(changes.attribute(id, name));
    }
    all
}
