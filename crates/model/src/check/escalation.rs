//! `escalation`: a caller can give a right that the caller does not have.
//!
//! An attribute is a *right* if an `allow` reads it from an item of the caller: one that is read by the caller's id, or
//! that the caller owns by the same `allow`. An attribute is an *owner* if an `allow` asks whether the caller owns it, or
//! is it. A right can also be the item itself: one that is made with the caller's id in its key. Looks at contracts
//! alone: nobody calls a worker.

mod asked;
mod own;
mod promoted;
mod self_made;
mod tested;

use std::collections::HashSet;

use latchkey_language::{Diagnostic, Rule};

use super::flow::{Group, Placed, groups, is_stored, lets};
use super::foreign_allow::ways;
use super::truth::{Lets, PARTS_MAX, Passed, Supposed, each, plain};
use super::{Report, each_read, each_step};
use crate::model::{
    BindingId, Contract, EntityId, Expr, ExprKind, Given, GivenPart, InputId, Kind, Model, Op,
    PutMode, StepKind, Verb, What,
};
use crate::types::Type;
use own::Own;

type Attributes<'a> = HashSet<(EntityId, &'a str)>;

/// An attribute of an item that was read by the caller's id, and the members that lead to what is read of it.
type Parts<'a> = HashSet<(EntityId, &'a str, Vec<&'a str>)>;

pub(super) fn check(model: &Model, report: &mut Report) {
    let (mut rights, mut owners) = (Attributes::new(), Attributes::new());
    let mut parts = Parts::new();
    let uses = self_made::uses(model);
    for contract in &model.contracts {
        let lets = lets(contract);
        let by = ByCaller { contract, own: Own::of(contract, &lets), lets };
        each_step(&contract.steps, &mut |step| {
            if let StepKind::Allow(test) = &step.kind {
                by.read(test, &mut rights, &mut owners);
                by.parts_read(test, &mut parts);
            }
        });
    }
    for contract in &model.contracts {
        let all = groups(model, contract);
        let own = Own::of(contract, &lets(contract));
        for (group, placed) in all.iter().flat_map(|it| it.legs.iter().map(move |leg| (it, leg))) {
            let entity = placed.leg.entity;
            let writer = Writer { model, contract, group, placed, attribute: (entity, "") };
            if writer.founds(&own) {
                continue;
            }
            let mut chosen = false;
            for given in &placed.leg.values {
                let attribute = (placed.leg.entity, given.attribute.as_str());
                let writer = Writer { model, contract, group, placed, attribute };
                if let Some(diagnostic) = writer.chosen(given, (&rights, &owners, &parts)) {
                    report.raise(diagnostic, &placed.step.waivers);
                    chosen = true;
                }
            }
            // Who chooses the right needs not be told that they make it.
            let made = uses.get(&entity).filter(|_| !chosen).and_then(|uses| {
                let raised = || promoted::told(&writer, &own, uses);
                self_made::told(&writer, &own, uses).or_else(raised)
            });
            if let Some(diagnostic) = made {
                report.raise(diagnostic, &placed.step.waivers);
            }
        }
    }
}

/// A contract, and what its tests find to be the caller's.
struct ByCaller<'a> {
    contract: &'a Contract,
    lets: Lets<'a>,
    own: Own<'a>,
}

impl<'a> ByCaller<'a> {
    /// Notes the attributes that an `allow` reads as rights and as owners.
    fn read(&self, test: &'a Expr, rights: &mut Attributes<'a>, owners: &mut Attributes<'a>) {
        let lets = &self.lets;
        let attribute = |expr: &'a Expr| match &plain(lets, expr).kind {
            ExprKind::Attribute(item, name) => {
                let entity = self.contract.bindings[*item].kind.item();
                entity.map(|entity| (*item, (entity, name.as_str())))
            }
            _ => None,
        };
        let (mut owned, mut read) = (HashSet::new(), Vec::new());
        each(lets, test, &mut |part| match &part.kind {
            ExprKind::Owns(thing) => owned.extend(attribute(thing)),
            ExprKind::Contains(set, element)
                if matches!(plain(lets, element).kind, ExprKind::CallerId) =>
            {
                owned.extend(attribute(set));
            }
            ExprKind::Binary(Op::Equal, a, b) => {
                for (one, other) in [(a, b), (b, a)] {
                    if matches!(plain(lets, one).kind, ExprKind::CallerId) {
                        owned.extend(attribute(other));
                    }
                }
            }
            _ => {}
        });
        each(lets, test, &mut |part| read.extend(attribute(part)));
        owners.extend(owned.iter().map(|(_, attribute)| *attribute));
        for (item, attribute) in read {
            if owned.iter().any(|(other, _)| *other == item) || self.has(item) {
                rights.insert(attribute);
            }
        }
    }

    /// Notes what an `allow` reads of items that were read by the caller's id: attributes, and members of them.
    fn parts_read(&self, test: &'a Expr, parts: &mut Parts<'a>) {
        each(&self.lets, test, &mut |part| {
            let (mut members, mut within) = (Vec::new(), part);
            while let ExprKind::Member(record, name) = &within.kind {
                members.push(name.as_str());
                within = plain(&self.lets, record);
            }
            members.reverse();
            // The record around a member is no more of a right than the member.
            let is_record = matches!(&within.of, Kind::Value(Type::Record(_)));
            if let ExprKind::Attribute(item, name) = &within.kind
                && is_record != members.is_empty()
                && let Some(entity) = self.contract.bindings[*item].kind.item()
                && self.has(*item)
            {
                parts.insert((entity, name, members));
            }
        });
    }

    /// Whether an item was read by the caller's id, or by one that the caller owns.
    fn has(&self, item: BindingId) -> bool {
        let mut found = false;
        let mut look = |value: &'a Expr| {
            each(&self.lets, value, &mut |part| found |= self.own.has(&self.lets, part));
        };
        each_read(self.contract, |read, _| {
            if read.binding == Some(item) {
                match &read.what {
                    What::Get(key) => key.iter().for_each(|given| look(&given.value)),
                    What::Batch(batch) => batch.values().for_each(&mut look),
                    What::Query(query) => query.values().for_each(&mut look),
                    What::Part(_) => {}
                }
            }
        });
        found
    }
}

/// A write of an attribute.
struct Writer<'a, 'g> {
    model: &'a Model,
    contract: &'a Contract,
    group: &'g Group<'a>,
    placed: &'g Placed<'a>,
    attribute: (EntityId, &'a str),
}

/// Why a write is wrong, and what to do.
type Story = (&'static str, &'static str);

impl<'a> Writer<'a, '_> {
    /// Tells of a value that decides who may do what, and that the caller chooses.
    fn chosen(
        &self,
        given: &'a Given,
        (rights, owners, parts): (&Attributes<'a>, &Attributes<'a>, &Parts<'a>),
    ) -> Option<Diagnostic> {
        let attribute = self.attribute;
        let (why, help) = self.choices(given).into_iter().find_map(|(part, value)| {
            let value = self.untested(value)?;
            match &value.of {
                Kind::Value(Type::Enum(words))
                    if part == GivenPart::Whole && rights.contains(&attribute) =>
                {
                    self.gives(words)
                }
                Kind::Value(Type::Enum(_) | Type::Bool | Type::SetOf { .. } | Type::Record(_)) => {
                    self.gives_part(&part, value, parts)
                }
                Kind::Value(Type::Id | Type::Ulid) if owners.contains(&attribute) => {
                    self.hands_over()
                }
                _ => None,
            }
        })?;
        let message =
            format!("`{}` decides who may do what, and the caller chooses it", attribute.1);
        let diagnostic = Diagnostic::new(Rule::Escalation, given.span, message).why(why).help(help);
        Some(match self.group.way.allows.last() {
            Some(allow) => diagnostic.other(allow.span, "all that is asked of the caller"),
            None => diagnostic,
        })
    }

    /// The values that an attribute, or a part of it, can be given: each of a `coalesce`, and the members of a record
    /// that is written out.
    fn choices(&self, given: &'a Given) -> Vec<(GivenPart, &'a Expr)> {
        let (mut open, mut found) = (vec![(given.part.clone(), &given.value)], Vec::new());
        while let Some((part, value)) = open.pop() {
            let within: &[String] = match &part {
                GivenPart::Within(within) => within,
                GivenPart::Whole | GivenPart::Element | GivenPart::NoElement => &[],
            };
            match &plain(&self.group.lets, value).kind {
                ExprKind::Coalesce(values) if found.len() + open.len() < PARTS_MAX => {
                    open.extend(values.iter().map(|value| (part.clone(), value)));
                }
                ExprKind::Object(members) if found.len() + open.len() < PARTS_MAX => {
                    open.extend(members.iter().map(|(name, value)| {
                        (GivenPart::Within([within, std::slice::from_ref(name)].concat()), value)
                    }));
                }
                _ => found.push((part, value)),
            }
        }
        found
    }

    /// Whether a right is put in a thing that the same contract makes: whoever founds a thing says who has rights in it,
    /// and nobody had one before.
    fn founds(&self, own: &Own<'a>) -> bool {
        let leg = self.placed.leg;
        let is_thing = |part: &'a Given| {
            !own.has(&self.group.lets, &part.value) && self.group.is_made(&part.value)
        };
        matches!(leg.verb, Verb::Put | Verb::Upsert)
            && leg.key.len() > 1
            && leg.key.iter().any(is_thing)
    }

    /// The input that a value is of: the input itself, a member of it, or an element of its list.
    fn input_of(&self, value: &'a Expr) -> Option<InputId> {
        let mut value = plain(&self.group.lets, value);
        loop {
            value = match (&value.kind, self.placed.each) {
                (ExprKind::Input(input), _) => return Some(*input),
                (ExprKind::Member(record, _), _) => plain(&self.group.lets, record),
                (ExprKind::Binding(id), Some(each)) if *id == each.element => &each.over,
                _ => return None,
            };
        }
    }

    /// A word that the caller chooses freely, where callers with several words may write.
    fn gives(&self, words: &'a [String]) -> Option<Story> {
        let (entity, name) = self.attribute;
        let Type::Enum(all) = &self.model.entities[entity].attribute(name)?.kind else {
            return None;
        };
        // An input with fewer words says which can be given.
        let all_given = all.iter().all(|word| words.contains(word));
        let ways = self.ways();
        // `me.right == WRITE or me.right == ADMIN` leaves two, one on each way.
        let may_have = |word: &&'a String| {
            ways.iter()
                .any(|way| self.reads(way).is_some_and(|item| self.may_have(way, item, word)))
        };
        let several = all.iter().filter(may_have).count() > 1;
        (all_given && (several || ways.iter().any(|way| self.is_open(way)))).then_some((
            "callers with different rights pass the `allow`, and each can give any right",
            "compare the input with the caller's own right, as in `require right != ADMIN or me.right == ADMIN else 403 \
             not-yours`; or let one word pass; or give the input fewer words",
        ))
    }

    /// A part of a right that everyone can give: an element of a set, a member of a record, true or false.
    fn gives_part(&self, part: &GivenPart, value: &Expr, parts: &Parts<'a>) -> Option<Story> {
        let (entity, name) = self.attribute;
        let within: &[String] = match part {
            GivenPart::Whole | GivenPart::Element => &[],
            GivenPart::Within(within) => within,
            GivenPart::NoElement => return None,
        };
        // One lies within the other, or is the other.
        let met = |read: &[&str]| within.iter().zip(read).all(|(a, b)| a == b);
        let is_right = parts.iter().any(|(of, at, read)| (*of, *at) == (entity, name) && met(read));
        // An input with fewer words says which can be given.
        let all = match (&self.model.entities[entity].attribute(name)?.kind, &value.of) {
            (Type::SetOf { of, .. }, Kind::Value(Type::Enum(words))) => match &**of {
                Type::Enum(all) => all.iter().all(|word| words.contains(word)),
                _ => true,
            },
            _ => true,
        };
        let open = |way: &Vec<Passed<'a>>| self.is_open(way);
        (is_right && all && self.ways().iter().any(open)).then_some((
            "everyone passes the `allow`, and each can give the right to themselves",
            "let those give the right who have it: `allow me.right …`; or those who own the thing; or a role",
        ))
    }

    /// An owner that is replaced by someone who need not be the owner.
    fn hands_over(&self) -> Option<Story> {
        let leg = self.placed.leg;
        let existing =
            matches!(leg.verb, Verb::Update | Verb::Upsert) || leg.put == Some(PutMode::Replace);
        let name = self.attribute.1;
        // That the owner is still the one who was read says nothing about the caller.
        let pins = |test: &Passed<'a>| {
            test.equality().is_some_and(|(a, b)| {
                [a, b].iter().any(|it| matches!(&it.kind, ExprKind::Attribute(_, n) if n == name))
            })
        };
        let mut asked = false;
        for test in self.group.insists(leg).into_iter().filter(|test| !pins(test)) {
            test.test.walk(&mut |part| asked |= is_stored(part, name));
        }
        let foreign = |way: &Vec<Passed<'a>>| self.reads(way).is_none();
        (existing && !asked && self.ways().iter().any(foreign)).then_some((
            "someone who is not the owner passes the `allow`, and can make anyone the owner",
            "ask for the owner: `allow caller owns item.ownerId`; or for a role",
        ))
    }

    /// The ways through the `allow`s that no role opens. `foreign-allow` tells if there are too many.
    fn ways(&self) -> Vec<Vec<Passed<'a>>> {
        let everyone = |test: &&Expr| matches!(test.kind, ExprKind::Bool(true));
        let allows = &self.group.way.allows;
        match !allows.is_empty() && allows.iter().all(everyone) {
            true => vec![Vec::new()],
            false => ways(self.group).unwrap_or_default(),
        }
    }

    /// Whether a way asks for nothing that is stored. That there is an item with the right says nothing of the right.
    fn is_open(&self, way: &[Passed<'a>]) -> bool {
        let mut open = true;
        for passed in way {
            each(&self.group.lets, passed.test, &mut |part| {
                open &= !matches!(part.of, Kind::Item(entity) if entity != self.attribute.0)
                    && !matches!(part.kind, ExprKind::Attribute(..) | ExprKind::Unknown);
            });
        }
        open
    }

    /// The item whose attribute of this name and entity a way reads.
    fn reads(&self, way: &[Passed<'a>]) -> Option<BindingId> {
        let mut found = None;
        for passed in way {
            each(&self.group.lets, passed.test, &mut |part| {
                if let ExprKind::Attribute(item, name) = &part.kind
                    && name == self.attribute.1
                    && self.contract.bindings[*item].kind.item() == Some(self.attribute.0)
                {
                    found = Some(*item);
                }
            });
        }
        found
    }

    /// Whether the attribute of an item can be a word on a way.
    fn may_have(&self, way: &[Passed<'a>], item: BindingId, word: &'a str) -> bool {
        let supposed_word = |expr: &'a Expr| match &expr.kind {
            ExprKind::Attribute(other, name) if *other == item && name == self.attribute.1 => {
                Some(word)
            }
            _ => None,
        };
        let lets = &self.group.lets;
        let supposed = Supposed { lets, moves: &[], word: &supposed_word, there: &|_| None };
        let known = self.group.known(&self.placed.guards);
        known.iter().chain(way).all(|one| supposed.outcome(one.test) != Some(!one.truth))
    }
}
