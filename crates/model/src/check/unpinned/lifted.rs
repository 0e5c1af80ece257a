//! Who can make a write pass that was refused, and who can have it refused.

use std::collections::HashMap;

use super::pin::{facing_up, needs};
use crate::check::changes::is_new;
use crate::check::each_leg;
use crate::check::flow::{Group, Refusal};
use crate::check::leaves::{can_turn, holds_after, refutes};
use crate::check::truth::Passed;
use crate::model::{Contract, EntityId, Expr, ExprKind, Leg, Model, Op, PutMode, Verb};

/// All writes of a document, by entity.
pub(super) struct Legs<'a> {
    model: &'a Model,
    by_entity: HashMap<EntityId, Vec<(&'a Contract, &'a Leg)>>,
}

/// What a write asks of the stored item.
pub(super) struct Asked<'a> {
    pub(super) leg: &'a Leg,
    /// The tests of its condition; all of them must hold.
    atoms: Vec<Passed<'a>>,
    /// Whether the item must be there, or must not be.
    there: Option<bool>,
}

impl<'a> Asked<'a> {
    /// What a leg asks for to be done.
    pub(super) fn of(group: &Group<'a>, leg: &'a Leg) -> Asked<'a> {
        let atoms =
            leg.condition.iter().flat_map(|test| Passed::new(test, true).atoms(&group.lets));
        let mut atoms: Vec<_> = atoms.collect();
        // Once an item was changed, it stays so; and what was read is looked at as such.
        atoms.retain(|atom| !matches!(atom.test.kind, ExprKind::Unchanged));
        let there = match (leg.put, leg.verb) {
            (Some(PutMode::IfAbsent), _) => Some(false),
            (_, Verb::Update) => Some(true),
            _ if leg.absent.is_some() => Some(true),
            _ => None,
        };
        Asked { leg, atoms, there }
    }
}

impl<'a> Legs<'a> {
    pub(super) fn new(model: &'a Model) -> Legs<'a> {
        let mut by_entity: HashMap<EntityId, Vec<(&'a Contract, &'a Leg)>> = HashMap::new();
        for contract in model.bodies() {
            each_leg(contract, |leg, _| {
                if leg.verb != Verb::Check {
                    by_entity.entry(leg.entity).or_default().push((contract, leg));
                }
            });
        }
        Legs { model, by_entity }
    }

    fn on(&self, entity: EntityId) -> &[(&'a Contract, &'a Leg)] {
        self.by_entity.get(&entity).map_or(&[], Vec::as_slice)
    }

    fn by(&self, entity: EntityId, does: impl Fn(&'a Leg) -> bool) -> Vec<&'a Contract> {
        let all = self.on(entity).iter().filter(|(_, leg)| does(leg));
        all.map(|(contract, _)| *contract).collect()
    }

    /// Who can make what a refused write asked for come out otherwise: so that the write is done, or is refused for
    /// another reason.
    pub(super) fn lifts(&self, group: &Group<'a>, refusal: &Refusal<'a>) -> Vec<&'a Contract> {
        let asked = Asked::of(group, refusal.leg);
        let ends = self.model.entities[refusal.leg.entity].is_expiring();
        let makes = |leg: &Leg| matches!(leg.verb, Verb::Put | Verb::Upsert) && !is_new(leg);
        let removes = |leg: &Leg| leg.verb == Verb::Delete || ends;
        let turns = |leg: &'a Leg| {
            let all = &asked.atoms;
            all.iter().any(|atom| can_turn(self.model, &group.lets, leg, atom))
                && !all
                    .iter()
                    .any(|atom| holds_after(self.model, &group.lets, leg, atom) == Some(false))
        };
        let changes = |leg: &'a Leg| match leg.verb {
            Verb::Update | Verb::Upsert => turns(leg),
            Verb::Put => {
                leg.put != Some(PutMode::IfAbsent) && !is_new(leg) && !asked.atoms.is_empty()
            }
            Verb::Delete | Verb::Check => false,
        };
        let is_known = refusal.leg.absent.is_some() && !refusal.absent;
        self.by(refusal.leg.entity, |leg| match asked.there {
            // It was there.
            Some(false) => removes(leg),
            _ if refusal.absent => makes(leg),
            _ if is_known => changes(leg) || removes(leg),
            // It was not there, or was otherwise.
            Some(true) => changes(leg) || makes(leg),
            None => changes(leg) || (makes(leg) && !asked.atoms.is_empty()),
        })
    }

    /// Who can have a write refused in this way.
    pub(super) fn imposes(&self, group: &Group<'a>, refusal: &Refusal<'a>) -> Vec<&'a Contract> {
        if refusal.absent {
            let ends = self.model.entities[refusal.leg.entity].is_expiring();
            return self.by(refusal.leg.entity, |leg| leg.verb == Verb::Delete || ends);
        }
        self.breaks(&Asked::of(group, refusal.leg), group, refusal.leg.absent.is_none())
    }

    /// Who can make what a write asks for untrue; by removing its item, where that counts.
    pub(super) fn breaks(
        &self,
        asked: &Asked<'a>,
        group: &Group<'a>,
        removing: bool,
    ) -> Vec<&'a Contract> {
        let ends = self.model.entities[asked.leg.entity].is_expiring();
        let turns = |leg: &'a Leg| {
            let mut all = asked.atoms.iter().map(|atom| Passed { truth: !atom.truth, ..*atom });
            all.any(|atom| can_turn(self.model, &group.lets, leg, &atom))
        };
        self.by(asked.leg.entity, |leg| match leg.verb {
            Verb::Put | Verb::Upsert if asked.there == Some(false) => !is_new(leg),
            _ if asked.there == Some(false) => false,
            Verb::Update | Verb::Upsert => turns(leg),
            Verb::Put => {
                let replaces = leg.put != Some(PutMode::IfAbsent) || ends;
                replaces && !is_new(leg) && !asked.atoms.is_empty()
            }
            Verb::Delete => removing && (asked.there == Some(true) || !asked.atoms.is_empty()),
            Verb::Check => false,
        })
    }

    /// Whether a contract is sure to leave the item so that the write would be refused again.
    pub(super) fn restores(
        &self,
        group: &Group<'a>,
        refusal: &Refusal<'a>,
        contract: &Contract,
    ) -> bool {
        let asked = Asked::of(group, refusal.leg);
        let mut own = self.on(refusal.leg.entity).iter();
        own.any(|(by, leg)| {
            std::ptr::eq(*by, contract)
                && match (asked.there, refusal.absent) {
                    (_, true) => leg.verb == Verb::Delete,
                    (Some(false), _) => matches!(leg.verb, Verb::Put | Verb::Upsert),
                    _ => asked.atoms.iter().any(|atom| {
                        leg.verb == Verb::Update
                            && holds_after(self.model, &group.lets, leg, atom) == Some(false)
                    }),
                }
        })
    }

    /// Whether a contract that writes the item of a leg cannot come before the leg, in the same call as what leads to it:
    /// the leg would be refused, or the item was there already.
    pub(super) fn spoils(&self, group: &Group<'a>, leg: &'a Leg, contract: &Contract) -> bool {
        let asked = Asked::of(group, leg);
        let mut own = self.on(leg.entity).iter().filter(|(by, _)| std::ptr::eq(*by, contract));
        let refuses = |other: &'a Leg| match asked.there {
            Some(false) => matches!(other.verb, Verb::Put | Verb::Upsert),
            // What was read before is not made after that.
            _ if leg.target.is_some() && other.put == Some(PutMode::IfAbsent) => true,
            _ => asked
                .atoms
                .iter()
                .any(|atom| holds_after(self.model, &group.lets, other, atom) == Some(false)),
        };
        own.clone().next().is_some() && own.all(|(_, other)| refuses(other))
    }

    /// Whether a leg insists that a write would still be refused.
    pub(super) fn insists_on(
        &self,
        group: &Group<'a>,
        (leg, insists): (&'a Leg, &[Passed<'a>]),
        refusal: &Refusal<'a>,
    ) -> bool {
        let asked = Asked::of(group, refusal.leg);
        let needs = leg.verb == Verb::Update
            || leg.absent.is_some()
            || insists.iter().any(super::needs_item);
        let refuses = |own: &Passed<'a>| {
            asked.atoms.iter().any(|atom| {
                let opposite = Passed { truth: !atom.truth, ..*atom };
                implies(group, own, &opposite) || refutes(self.model, &group.lets, (leg, own), atom)
            })
        };
        match (asked.there, refusal.absent) {
            (Some(false), _) => needs,
            (_, true) => leg.put == Some(PutMode::IfAbsent),
            _ => {
                let ends = self.model.entities[leg.entity].is_expiring();
                let stays = !ends && self.by(leg.entity, |it| it.verb == Verb::Delete).is_empty();
                insists.iter().any(refuses) && (refusal.leg.absent.is_none() || needs || stays)
            }
        }
    }

    /// Whether a leg insists on all that another asked for.
    pub(super) fn repeats(
        &self,
        group: &Group<'a>,
        (leg, insists): (&'a Leg, &[Passed<'a>]),
        asked: &Asked<'a>,
    ) -> bool {
        let there = match asked.there {
            Some(false) => leg.put == Some(PutMode::IfAbsent),
            Some(true) => {
                leg.verb == Verb::Update
                    || leg.absent.is_some()
                    || insists.iter().any(super::needs_item)
            }
            None => true,
        };
        there && asked.atoms.iter().all(|atom| insists.iter().any(|own| implies(group, own, atom)))
    }
}

/// Whether what a condition of the stored item says is enough for a test of it to come out so.
fn implies<'a>(group: &Group<'a>, own: &Passed<'a>, wanted: &Passed<'a>) -> bool {
    use ExprKind as E;
    let alike = |a: &'a Expr, b: &'a Expr| group.alike(a, b, None);
    let same_way = own.truth == wanted.truth;
    let there = match (&wanted.test.kind, wanted.truth) {
        (E::Present(thing), true) | (E::Absent(thing), false) => Some(&**thing),
        _ => None,
    };
    if there.is_some_and(|thing| needs(own).into_iter().any(|needed| alike(needed, thing))) {
        return true;
    }
    match (&own.test.kind, &wanted.test.kind) {
        _ if same_way && alike(own.test, wanted.test) => true,
        (E::Present(a), E::Absent(b)) | (E::Absent(a), E::Present(b)) => !same_way && alike(a, b),
        (E::Binary(one, a, b), E::Binary(other, c, d)) => {
            let other = if same_way { *other } else { opposite(*other) };
            // A comparison with something absent is false, and so its opposite is not known of that.
            let is_sure = own.truth || matches!(one, Op::Equal | Op::NotEqual);
            let (one, a, b) = facing_up(*one, a, b);
            let (other, c, d) = facing_up(other, c, d);
            let even = matches!(one, Op::Equal | Op::NotEqual);
            let sides = (alike(a, c) && alike(b, d)) || (even && alike(a, d) && alike(b, c));
            is_sure && one == other && sides
        }
        _ => false,
    }
}

fn opposite(op: Op) -> Op {
    match op {
        Op::Equal => Op::NotEqual,
        Op::NotEqual => Op::Equal,
        Op::Less => Op::GreaterOrEqual,
        Op::LessOrEqual => Op::Greater,
        Op::Greater => Op::LessOrEqual,
        Op::GreaterOrEqual => Op::Less,
        op => op,
    }
}
