//! `stale-answer`: an answer, a refusal, or the end of a message that rests on reads of two moments.
//!
//! Between two strong reads another call may change both of what they read. The call then goes by the first item as it
//! was before, and by the second as it is after, and no order of the two calls gives such an answer. One contract that
//! changes both does it, and so do two of which the second goes by what the first has written. A query, and a batch, can
//! be of two moments by itself: it may see a part of a transaction. What a commit pins is looked at when it is made; that
//! none is made, because of what was read, is looked at where the call or the message ends.

mod after;
mod again;
pub(super) mod order;
mod refused;
mod seen;
mod story;
mod who;
mod words;

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use latchkey_language::Span;
use latchkey_value::Number;

use self::order::Order;
use self::seen::{Seen, seen};
use self::who::{goes_by, is_seen_in_part, legs_on, makes_beside, makes_both, points};
use self::words::{Failures, Words, failures, refusal, words};
use super::lifted::Legs;
use super::shown::{asked_facts, shown_facts};
use super::{Changes, Fact, Report, Use, beside, collect, culprits, entity_of, tested, which_item};
use crate::check::flow::{End, Group, LeftOut, groups, moments};
use crate::check::truth::{Passed, plain};
use crate::model::{
    BindingId, Contract, EntityId, Expr, ExprKind, FailureKind, Kind, Leg, Model, Part, Read, Step,
    StepKind, Verb, What, each_step,
};

pub(super) fn check<'a>(model: &'a Model, changes: &Changes<'a>, report: &mut Report) {
    let search = Search::new(model, changes);
    for contract in model.bodies() {
        let mut told: HashSet<Span> = HashSet::new();
        let failures = failures(contract);
        for group in moments(model, contract) {
            let torn = search.torn(contract, &failures, &group);
            let after = search.after_a_write(contract, &failures, &group);
            for found in torn.into_iter().chain(after) {
                // The second read is told of once, wherever its result is used.
                if told.insert(found.second.read.span) {
                    let step = step_of(contract, found.second.read);
                    let waivers = step.map_or(&[][..], |step| &step.waivers);
                    report.raise(story::tell(contract, &group, &found), waivers);
                }
            }
            if let Some((at, diagnostic)) = search.by_refusal(contract, &failures, &group)
                && told.insert(at)
            {
                report.raise(diagnostic, &group.step.waivers);
            }
        }
    }
}

/// Two facts of two moments, and who can come in between.
struct Torn<'a> {
    first: Told<'a>,
    from: First<'a>,
    second: Told<'a>,
    culprit: Culprit<'a>,
}

struct Told<'a> {
    fact: Fact<'a>,
    read: &'a Read,
}

/// What the first fact is of.
enum First<'a> {
    Read(&'a Read),
    /// The item as a write of the call left it.
    Written(&'a Leg),
}

/// Who changes the first and the second.
enum Culprit<'a> {
    One(&'a Contract),
    Two(&'a Contract, &'a Contract),
    /// The first changes the first, the last the second, and each comes after the one before it.
    Chain(Vec<&'a Contract>),
}

struct Search<'a, 'c> {
    model: &'a Model,
    changes: &'c Changes<'a>,
    /// All writes of the document, once someone asks for them.
    transactions: OnceCell<Vec<(&'a Contract, Group<'a>)>>,
    /// Which calls come after which, once someone asks for it.
    order: OnceCell<Order<'a>>,
    /// All writes of each entity, once someone asks for them.
    legs: OnceCell<HashMap<EntityId, Vec<(&'a Contract, &'a Leg)>>>,
    /// Who can have writes refused, once someone asks for it.
    refusals: OnceCell<Legs<'a>>,
}

impl<'a, 'c> Search<'a, 'c> {
    fn new(model: &'a Model, changes: &'c Changes<'a>) -> Search<'a, 'c> {
        let (transactions, order, legs) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Search { model, changes, transactions, order, legs, refusals: OnceCell::new() }
    }

    /// The pairs of facts of two moments that what happens here rests on, one for each second read.
    fn torn(
        &self,
        contract: &'a Contract,
        failures: &Failures<'a>,
        group: &Group<'a>,
    ) -> Vec<Torn<'a>> {
        let uses = self.rests_on(contract, failures, group);
        let seen = seen(self.model, contract, group, &uses);
        let mut found: Vec<Torn<'a>> = Vec::new();
        // One contract that changes both is told before two that do.
        for alone in [true, false] {
            for second in &seen {
                if found.iter().any(|torn| std::ptr::eq(torn.second.read, second.read)) {
                    continue;
                }
                let culprit = seen.iter().find_map(|first| {
                    let culprit = self.culprit(contract, group, first, second);
                    let culprit = culprit.filter(|it| !alone || matches!(it, Culprit::One(_)));
                    culprit.map(|culprit| (first, culprit))
                });
                if let Some((first, culprit)) = culprit {
                    let told = |seen: &Seen<'a, '_>| Told {
                        fact: seen.used.fact.clone(),
                        read: seen.read,
                    };
                    let from = First::Read(first.read);
                    found.push(Torn { first: told(first), from, second: told(second), culprit });
                }
            }
        }
        found
    }

    /// Who can come between two reads, or into one.
    fn culprit(
        &self,
        contract: &'a Contract,
        group: &Group<'a>,
        first: &Seen<'a, '_>,
        second: &Seen<'a, '_>,
    ) -> Option<Culprit<'a>> {
        // Nobody goes through both blocks of a `when`.
        let is_other =
            |a: &Passed<'a>, b: &Passed<'a>| std::ptr::eq(a.test, b.test) && a.truth != b.truth;
        let (one, other) = (&first.used.when, &second.used.when);
        if one.iter().any(|a| other.iter().any(|b| is_other(a, b))) {
            return None;
        }
        match first.at.cmp(&second.at) {
            Ordering::Less
                if !first.read.is_with(second.read)
                    && !self.is_read_again(group, first, second)
                    && !self.is_kept(group, first, second) =>
            {
                self.between(contract, group, first, second)
            }
            Ordering::Equal => self.within(contract, first, second),
            _ => None,
        }
    }

    /// What an answer or a refusal rests on: the tests on the way, and what it shows.
    fn rests_on(
        &self,
        contract: &'a Contract,
        failures: &Failures<'a>,
        group: &Group<'a>,
    ) -> Vec<Use<'a>> {
        let mut found = Vec::new();
        let own = words(group);
        // What would end with the same words does not matter.
        let same = |other: Option<Words<'a>>| other.is_some() && other == own;
        let is_said = |passed: &Passed<'a>| {
            let failure = failures.get(&(std::ptr::from_ref(passed.test), passed.truth));
            same(failure.copied())
        };
        for passed in group.way.tests.iter().filter(|passed| !is_said(passed)) {
            tested(group, *passed, &mut found);
        }
        let is_answered = |binding: BindingId, there: bool| {
            let read = group.read_of(binding).map(|(_, read)| read);
            there && same(read.and_then(|read| read.failure.as_ref()).and_then(refusal))
        };
        for (binding, there, span) in &group.way.found {
            if !is_answered(*binding, *there) {
                found.push(Use::found(*binding, *there, *span));
            }
        }
        for branch in &group.way.branches {
            let (mut tests, mut finds) = (branch.tests().to_vec(), branch.found().to_vec());
            tests.retain(|passed| !is_said(passed));
            finds.retain(|(binding, there, _)| !is_answered(*binding, *there));
            beside(group, &branch.when, (&tests, &finds), &mut found);
        }
        let of_unit = |left: &&LeftOut<'a>| left.commits >= group.way.commits;
        for left in group.way.left_out.iter().filter(of_unit) {
            let from = found.len();
            tested(group, left.test, &mut found);
            found.iter_mut().skip(from).for_each(|used| used.when.clone_from(&left.when));
        }
        match group.end {
            Some(End::Said) => self.says(contract, group, &mut found),
            Some(End::Uncomputed(divisor)) => collect(group, divisor, None, &mut found),
            Some(End::Done | End::Off) | None => {}
        }
        which_item(contract, group, &mut found);
        found
    }

    /// What an answer shows, and what a refusal does.
    fn says(&self, contract: &'a Contract, group: &Group<'a>, found: &mut Vec<Use<'a>>) {
        if let StepKind::Return(answer) = &group.step.kind {
            found.extend(shown_facts(self.model, contract, group, answer));
            found.extend(asked_facts(contract, group, answer));
            let lists = answer.binding.into_iter().chain(answer.with.iter().filter_map(|given| {
                match &plain(&group.lets, &given.value).kind {
                    ExprKind::Binding(binding) => Some(*binding),
                    _ => None,
                }
            }));
            for binding in lists {
                let fact = match contract.bindings[binding].kind {
                    Kind::Page(_) | Kind::Collection(_) => Fact::Items(binding, None),
                    Kind::Item(_) => Fact::There(binding),
                    _ => continue,
                };
                found.push(Use::new(fact, group.step.span, None));
            }
        }
        for failure in group.step.failures() {
            if let FailureKind::Problem { with, .. } = &failure.kind {
                with.iter().for_each(|given| collect(group, &given.value, None, found));
            }
        }
    }

    /// Who can change the first fact, and then the second, between the two reads.
    fn between(
        &self,
        contract: &'a Contract,
        group: &Group<'a>,
        first: &Seen<'a, '_>,
        second: &Seen<'a, '_>,
    ) -> Option<Culprit<'a>> {
        let breaks = self.breaks(contract, first);
        let mut makes = self.makes(contract, second);
        for reading in group.way.readings.iter().take(second.at) {
            let Some(name) = points(reading.read, second.read) else { continue };
            // What an item pointed to may have been removed with that.
            if matches!(second.used.fact, Fact::NotThere(_)) {
                continue;
            }
            // What an item points to was made with the item, or with that value of it, before that was read.
            let from = (reading.read.entity, name);
            makes.retain(|other| !makes_both(other, from, second.read.entity));
        }
        self.drop_refuted(contract, group, second, &mut makes);
        let entity = entity_of(contract, first.used.fact.binding())?;
        let is_one = self.is_one_item(group, first.read, second.read);
        let kept = || self.changes.removal(entity).is_empty();
        if is_one && matches!(second.used.fact, Fact::There(_)) && kept() {
            return None;
        }
        // A call that writes one item of an entity does not change two of them.
        let by_key = |read: &Read| matches!(read.what, What::Get(_));
        let of_one = first.read.entity == second.read.entity;
        let two = of_one && by_key(first.read) && by_key(second.read) && !is_one;
        let removed = matches!(first.used.fact, Fact::There(_));
        self.one_after_the_other((&breaks, &makes), entity, two, removed)
    }

    /// Who changes the first of two things of an entity, and who the second, in this order. Of two items of one entity,
    /// a call has to do with both.
    fn one_after_the_other(
        &self,
        (breaks, makes): (&[&'a Contract], &[&'a Contract]),
        entity: EntityId,
        two: bool,
        removed: bool,
    ) -> Option<Culprit<'a>> {
        let both = breaks.iter().filter(|one| !two || legs_on(one, entity) > 1);
        if let Some(one) = both.into_iter().find(|one| contains(makes, one)) {
            return Some(Culprit::One(one));
        }
        let mut follows = makes.iter().filter(|other| {
            let touched = goes_by(other, entity, removed);
            let made = if two && touched > 0 { makes_beside(other, entity) } else { 0 };
            touched + made > usize::from(two)
        });
        if let Some(then) = follows.next() {
            return breaks.first().map(|one| Culprit::Two(one, then));
        }
        let order = self.order.get_or_init(|| Order::new(self.model));
        let two = two.then_some(entity);
        let mut chains = breaks.iter().filter_map(|one| order.chain(one, two, makes));
        chains.next().map(Culprit::Chain)
    }

    /// Who can make a fact untrue that a read has found.
    fn breaks(&self, contract: &'a Contract, seen: &Seen<'a, '_>) -> Vec<&'a Contract> {
        let mut all = culprits(self.model, contract, self.changes, &seen.used.fact);
        if matches!(seen.read.what, What::Query(_)) && !matches!(seen.used.fact, Fact::There(_)) {
            all.extend(self.others(contract, seen));
        }
        all
    }

    /// Who can make a fact true that a read finds.
    fn makes(&self, contract: &'a Contract, seen: &Seen<'a, '_>) -> Vec<&'a Contract> {
        let Some(id) = entity_of(contract, seen.used.fact.binding()) else { return Vec::new() };
        let by_key = matches!(seen.read.what, What::Get(_));
        // Nobody asks by a key that is not made yet.
        let made = || self.changes.made_under_known_keys(id);
        match &seen.used.fact {
            Fact::Attribute(_, name) if self.model.entities[id].key.tells(name) => Vec::new(),
            Fact::Attribute(_, name) if by_key => {
                let mut all = self.changes.attribute(id, name);
                all.extend(made());
                all
            }
            Fact::There(_) if by_key => made().to_vec(),
            Fact::NotThere(_) => self.changes.removal(id).to_vec(),
            Fact::There(_) => self.changes.making(id).to_vec(),
            Fact::Attribute(..) | Fact::Items(..) => {
                let mut all = culprits(self.model, contract, self.changes, &seen.used.fact);
                all.extend(self.others(contract, seen));
                all
            }
        }
    }

    /// Who can make a query find other items.
    fn others(&self, contract: &'a Contract, seen: &Seen<'a, '_>) -> Vec<&'a Contract> {
        let Some(id) = entity_of(contract, seen.used.fact.binding()) else { return Vec::new() };
        [self.changes.making(id), self.changes.removal(id)].concat()
    }

    /// Who can change two items of one query or batch in one transaction, of which the read may see one.
    fn within(
        &self,
        contract: &'a Contract,
        first: &Seen<'a, '_>,
        second: &Seen<'a, '_>,
    ) -> Option<Culprit<'a>> {
        // A query of one partition may see a part of a transaction. Several partitions, and the keys of a list, are read
        // one by one.
        let (torn, one_by_one) = match &first.read.what {
            What::Query(query) => (true, query.through.is_some()),
            What::Batch(batch) => (!batch.snapshot, !batch.snapshot),
            What::Get(_) | What::Part(_) => (false, false),
        };
        let of_several = |fact: &Fact<'_>| !matches!(fact, Fact::There(_));
        if !torn || !of_several(&first.used.fact) || !of_several(&second.used.fact) {
            return None;
        }
        let (one, other) = (first.used.fact.binding(), second.used.fact.binding());
        // One item is of one moment.
        let is_one = |binding| {
            let part = contract.read_of(binding).map(|read| &read.what);
            matches!(part, Some(What::Part(Part { one: true, .. })))
        };
        if one == other && is_one(one) {
            return None;
        }
        let entities = |binding| match entity_of(contract, binding) {
            Some(entity) => vec![entity],
            None => first.read.entities().collect(),
        };
        let of_read: HashSet<EntityId> = [one, other].into_iter().flat_map(entities).collect();
        let names = [&first.used.fact, &second.used.fact].map(|fact| match fact {
            Fact::Attribute(_, name) | Fact::Items(_, Some(name)) => Some(*name),
            _ => None,
        });
        let all = self.transactions.get_or_init(|| {
            let of = |other| groups(self.model, other).into_iter().map(move |group| (other, group));
            self.model.bodies().into_iter().flat_map(of).collect()
        });
        let mut all = all.iter();
        let of_read = (&of_read, !one_by_one);
        let empty = asks_whether_empty(first.used) && asks_whether_empty(second.used);
        let found = all.find(|(_, group)| {
            is_seen_in_part(self.model, group, of_read, names)
                && !(empty && is_one_way(group, of_read.0))
        });
        let found = found.map(|(other, _)| Culprit::One(other));
        found.or_else(|| self.one_by_one(contract, first, second).filter(|_| one_by_one))
    }

    /// Who can change one of the items that are read one by one, and then another.
    fn one_by_one(
        &self,
        contract: &'a Contract,
        first: &Seen<'a, '_>,
        second: &Seen<'a, '_>,
    ) -> Option<Culprit<'a>> {
        let entity = entity_of(contract, first.used.fact.binding())?;
        // Whether there is an item for each key: one that comes and one that goes, one by one, leave a moment at which
        // there is not.
        let is_of_keys = |seen: &Seen<'a, '_>| {
            let of_keys = matches!(&seen.read.what, What::Batch(batch) if batch.over().is_some());
            of_keys && seen.used.test.is_some() && matches!(seen.used.fact, Fact::Items(_, None))
        };
        if is_of_keys(first) && is_of_keys(second) {
            return None;
        }
        let breaks = self.breaks(contract, first);
        let makes = self.makes(contract, second);
        let found = self.one_after_the_other((&breaks, &makes), entity, true, false);
        // Two writes of one transaction were looked at before.
        found.filter(|culprit| !matches!(culprit, Culprit::One(_)))
    }
}

/// Whether a test asks whether there are any items at all.
fn asks_whether_empty(used: &Use<'_>) -> bool {
    let Some(test) = used.test else { return false };
    let zero =
        |one: &Expr| matches!(&one.kind, ExprKind::Number(number) if *number == Number::ZERO);
    match (&used.fact, &test.test.kind) {
        (Fact::Items(_, None), ExprKind::Binary(_, a, b)) => zero(a) || zero(b),
        _ => false,
    }
}

/// Whether a transaction only removes such items, or only makes them: whoever sees a part of it sees some, as before or
/// as after.
fn is_one_way(group: &Group<'_>, entities: &HashSet<EntityId>) -> bool {
    let legs = group.legs.iter().map(|placed| placed.leg);
    let legs = legs.filter(|leg| entities.contains(&leg.entity) && leg.verb != Verb::Check);
    let verbs: Vec<Verb> = legs.map(|leg| leg.verb).collect();
    [Verb::Delete, Verb::Put].iter().any(|one| verbs.iter().all(|verb| verb == one))
}

/// The first step of a contract that something is picked from.
fn first_of<'a, T>(
    contract: &'a Contract,
    mut pick: impl FnMut(&'a Step) -> Option<T>,
) -> Option<T> {
    let mut found = None;
    each_step(&contract.steps, &mut |step| found = found.take().or_else(|| pick(step)));
    found
}

fn contains(all: &[&Contract], one: &Contract) -> bool {
    all.iter().any(|other| std::ptr::eq(*other, one))
}

/// The step of a read.
pub(super) fn step_of<'a>(contract: &'a Contract, read: &Read) -> Option<&'a Step> {
    first_of(contract, |step| match &step.kind {
        StepKind::Read(other) if std::ptr::eq(&**other, read) => Some(step),
        _ => None,
    })
}
