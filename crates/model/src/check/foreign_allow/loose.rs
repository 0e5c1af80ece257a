//! The attributes that callers can point anywhere: something stores in them what a caller names, and tests it nowhere.
//!
//! Such an attribute of the caller's own item says nothing about the caller's rights. What is tied where it is written
//! depends on which others are loose; so this goes on until no more are found.

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use latchkey_language::Span;

use super::tie::{Tied, tied_beside};
use super::ways;
use crate::check::flow::{Group, Placed, groups};
use crate::check::truth::Passed;
use crate::model::{
    Contract, EntityId, Expr, ExprKind, Given, KeyShape, Kind, Model, QueueId, Send, TextPiece,
    Verb,
};
use crate::types::Type;

/// Where a value is kept: in an attribute, in a field of a message, or for what follows a send.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Spot<'a> {
    Attribute(EntityId, &'a str),
    Field(QueueId, &'a str),
    Record(&'a str, &'a str),
}

impl Spot<'_> {
    /// The entity of an attribute.
    pub(super) fn entity(self) -> Option<EntityId> {
        match self {
            Spot::Attribute(entity, _) => Some(entity),
            Spot::Field(..) | Spot::Record(..) => None,
        }
    }
}

/// What is loose, and where it was written so.
#[derive(Clone, Default)]
pub(super) struct Loose<'a> {
    spots: Rc<HashMap<Spot<'a>, Span>>,
    /// An entity whose keys say nothing, whatever is asked of its items.
    mute: Option<(EntityId, &'a KeyShape)>,
    /// The attributes that many items have the same constant in.
    common: Rc<HashSet<(EntityId, &'a str)>>,
}

impl<'a> Loose<'a> {
    /// Finds what is loose in a document.
    pub(super) fn of(model: &'a Model) -> Rc<Loose<'a>> {
        let bodies = bodies(model);
        let common = Rc::new(common(model, &bodies));
        let mut loose = Rc::new(Loose { common, ..Loose::default() });
        let mut open: VecDeque<&Body<'a>> = bodies.iter().collect();
        while let Some(body) = open.pop_front() {
            for (spot, span) in body.loosens(&loose) {
                if Rc::make_mut(&mut Rc::make_mut(&mut loose).spots).insert(spot, span).is_some() {
                    continue;
                }
                for other in bodies.iter().filter(|other| other.asks(spot)) {
                    if !open.iter().any(|one| std::ptr::eq(*one, other)) {
                        open.push_back(other);
                    }
                }
            }
        }
        loose
    }

    /// The same, where nothing is loose.
    pub(super) fn bare(&self) -> Loose<'a> {
        Loose { common: Rc::clone(&self.common), ..Loose::default() }
    }

    /// Whether many items have the same constant in an attribute: two that have it have nothing else in common.
    pub(super) fn is_common(&self, entity: EntityId, name: &'a str) -> bool {
        self.common.contains(&(entity, name))
    }

    /// Whether an attribute is loose.
    pub(super) fn has(&self, entity: EntityId, name: &'a str) -> bool {
        let is_mute =
            |(of, key): (EntityId, &KeyShape)| of == entity && key.attributes().contains(&name);
        self.mute.is_some_and(is_mute) || self.spots.contains_key(&Spot::Attribute(entity, name))
    }

    /// Whether the keys of an entity say nothing, whatever is asked of its items.
    pub(super) fn is_mute(&self, entity: EntityId) -> bool {
        self.mute.is_some_and(|(of, _)| of == entity)
    }

    /// The same, where the keys of an entity say nothing.
    pub(super) fn without_keys(&self, model: &'a Model, entity: EntityId) -> Loose<'a> {
        let mute = Some((entity, &model.entities[entity].key));
        Loose { mute, ..self.clone() }
    }

    /// The same, with some more that is loose.
    pub(super) fn with(&self, more: impl Iterator<Item = (Spot<'a>, Span)>) -> Loose<'a> {
        let mut with = self.clone();
        Rc::make_mut(&mut with.spots).extend(more);
        with
    }

    /// Each loose attribute of some entities, the place where it is written so, and what is loose without it.
    pub(super) fn without_each(&self, of: &[EntityId]) -> Vec<(&'a str, Span, Rc<Loose<'a>>)> {
        let found = self.spots.iter().filter_map(|(spot, span)| match spot {
            Spot::Attribute(entity, name) if of.contains(entity) => {
                let mut others = self.clone();
                Rc::make_mut(&mut others.spots).remove(spot);
                Some((*name, *span, Rc::new(others)))
            }
            _ => None,
        });
        let mut found: Vec<_> = found.collect();
        found.sort_by_key(|(_, span, _)| (span.start, span.end));
        found
    }
}

/// The attributes that are a constant by default, or that something gives a constant.
fn common<'a>(model: &'a Model, bodies: &[Body<'a>]) -> HashSet<(EntityId, &'a str)> {
    let mut found = HashSet::new();
    for (id, entity) in model.entities.enumerate() {
        let defaults = entity.attributes.iter().filter(|attribute| attribute.default.is_some());
        found.extend(defaults.map(|attribute| (id, attribute.name.as_str())));
    }
    for (group, _) in bodies.iter().flat_map(|body| &body.places) {
        for leg in group.legs.iter().map(|placed| placed.leg) {
            let constant = |given: &&Given| match &group.origin(&given.value).kind {
                ExprKind::Text(pieces) => {
                    pieces.iter().all(|piece| matches!(piece, TextPiece::Literal(_)))
                }
                _ => false,
            };
            let given = leg.values.iter().filter(constant);
            found.extend(given.map(|given| (leg.entity, given.attribute.as_str())));
        }
    }
    found
}

/// What something runs for.
#[derive(Clone, Copy)]
pub(super) enum Start<'a> {
    Caller,
    Queue(QueueId),
    Send(&'a str),
}

/// Something that writes, and the ways to its writes.
pub(super) struct Body<'a> {
    contract: &'a Contract,
    pub(super) start: Start<'a>,
    pub(super) places: Vec<(Group<'a>, Vec<Vec<Passed<'a>>>)>,
    /// The entities whose items it has.
    pub(super) entities: HashSet<EntityId>,
}

pub(super) fn bodies(model: &Model) -> Vec<Body<'_>> {
    let workers = model.workers.iter().flat_map(|worker| {
        let both = [Some(&worker.body), worker.dead.as_ref()];
        both.into_iter().flatten().map(|body| (body, Start::Queue(worker.queue)))
    });
    let contracts = model.contracts.iter().map(|contract| (contract, Start::Caller));
    let mut all: Vec<(&Contract, Start<'_>)> = contracts.chain(workers).collect();
    let mut at = 0;
    while let Some((contract, _)) = all.get(at) {
        let sends = contract.sends();
        let blocks = sends.into_iter().flat_map(|send| {
            let both = [&send.accepted, &send.refused];
            both.into_iter().flatten().map(|body| (&**body, Start::Send(&send.id)))
        });
        all.extend(blocks);
        at += 1;
    }
    all.into_iter().map(|(contract, start)| Body::new(model, contract, start)).collect()
}

impl<'a> Body<'a> {
    fn new(model: &'a Model, contract: &'a Contract, start: Start<'a>) -> Body<'a> {
        let kinds = contract.bindings.iter().map(|binding| &binding.kind);
        let entities = kinds.flat_map(Kind::entities).copied().collect();
        let places = groups(model, contract).into_iter().map(|group| {
            let ways = match start {
                Start::Caller => everyones(&group),
                Start::Queue(_) | Start::Send(_) => vec![Vec::new()],
            };
            (group, ways)
        });
        Body { contract, start, places: places.collect(), entities }
    }

    /// Whether what it writes may depend on what is kept there.
    fn asks(&self, spot: Spot<'a>) -> bool {
        match (spot, self.start) {
            (Spot::Attribute(entity, _), _) => self.entities.contains(&entity),
            (Spot::Field(queue, _), Start::Queue(own)) => queue == own,
            (Spot::Record(send, _), Start::Send(own)) => send == own,
            _ => false,
        }
    }

    /// What it stores without a test.
    fn loosens(&self, loose: &Rc<Loose<'a>>) -> Vec<(Spot<'a>, Span)> {
        let start = self.tied(loose);
        let mut found = Vec::new();
        for (group, ways) in &self.places {
            for way in ways {
                for placed in &group.legs {
                    let tied = tied_beside(start.clone(), group, &placed.guards, way);
                    Stored { group, tied }.leg(placed, &mut found);
                }
                for sent in &group.sends {
                    let tied = tied_beside(start.clone(), group, &sent.guards, way);
                    Stored { group, tied }.send(sent.send, &mut found);
                }
            }
        }
        found.retain(|(spot, _)| !loose.spots.contains_key(spot));
        found
    }

    /// What is tied when it begins.
    pub(super) fn tied(&self, loose: &Rc<Loose<'a>>) -> Tied<'a> {
        let mut tied = Tied::beside(loose);
        for (id, input) in self.contract.inputs.enumerate() {
            let spot = match self.start {
                Start::Caller => continue,
                Start::Queue(queue) => Spot::Field(queue, &input.name),
                Start::Send(send) => Spot::Record(send, &input.name),
            };
            if !loose.spots.contains_key(&spot) {
                tied.inputs.push(id);
            }
        }
        tied
    }
}

/// The ways through the `allow`s that no role opens: also the one of everybody.
fn everyones<'a>(group: &Group<'a>) -> Vec<Vec<Passed<'a>>> {
    let everyone = |test: &&Expr| matches!(test.kind, ExprKind::Bool(true));
    match group.way.allows.iter().all(everyone) {
        true => vec![Vec::new()],
        // That there are too many is told elsewhere.
        false => ways(group).unwrap_or_default(),
    }
}

/// What a write or a send stores, where some things are tied.
pub(super) struct Stored<'a, 'g> {
    pub(super) group: &'g Group<'a>,
    pub(super) tied: Tied<'a>,
}

impl<'a> Stored<'a, '_> {
    pub(super) fn leg(&self, placed: &Placed<'a>, found: &mut Vec<(Spot<'a>, Span)>) {
        let leg = placed.leg;
        let makes = matches!(leg.verb, Verb::Put | Verb::Upsert);
        let entity = &self.group.model.entities[leg.entity];
        let is_key = |given: &&Given| leg.key.iter().any(|part| part.attribute == given.attribute);
        let values = leg.values.iter().filter(|given| given.is_whole() && !is_key(given));
        let key = leg.key.iter().filter(|given| makes && !self.is_granted(placed, given));
        for given in key.chain(values).filter(|given| !self.is_safe(&given.value)) {
            if entity.attribute(&given.attribute).is_some_and(|it| can_name(&it.kind)) {
                found.push((Spot::Attribute(leg.entity, &given.attribute), given.span));
            }
        }
        let Some((of, from)) = leg.of.and_then(|of| Some((of, self.group.entity_of(of)?))) else {
            return;
        };
        let is_given =
            |name: &str| leg.key.iter().chain(&leg.values).any(|it| it.attribute == name);
        for attribute in entity.attributes.iter().filter(|it| can_name(&it.kind)) {
            let taken = self.group.model.entities[from].attribute(&attribute.name);
            if taken.is_some() && !is_given(&attribute.name) {
                let safe = self.tied.has_item(of) && !self.tied.loose.has(from, &attribute.name);
                if !safe {
                    found.push((Spot::Attribute(leg.entity, &attribute.name), leg.span));
                }
            }
        }
    }

    fn send(&self, send: &'a Send, found: &mut Vec<(Spot<'a>, Span)>) {
        let open = |given: &&'a Given| !self.is_safe(&given.value);
        let fields = send.values.iter().filter(open);
        found.extend(fields.map(|it| (Spot::Field(send.queue, &it.attribute), it.span)));
        let record = send.record.iter().filter(open);
        found.extend(record.map(|it| (Spot::Record(&send.id, &it.attribute), it.span)));
    }

    /// Whether a value is tied, or says nothing that a caller could choose.
    fn is_safe(&self, value: &'a Expr) -> bool {
        let value = self.group.origin(value);
        let fixed = match &value.kind {
            ExprKind::New(_) | ExprKind::Told(_) | ExprKind::Nothing => true,
            ExprKind::Text(pieces) => {
                pieces.iter().all(|piece| matches!(piece, TextPiece::Literal(_)))
            }
            ExprKind::Coalesce(all) => all.iter().all(|one| self.is_safe(one)),
            _ => matches!(&value.of, Kind::Value(kind) if !can_name(kind)),
        };
        fixed || self.tied.has(self.group, value) || self.group.is_made(value)
    }
}

/// Whether values of a type can name a thing.
fn can_name(kind: &Type) -> bool {
    matches!(
        kind,
        Type::Id | Type::Ulid | Type::Text { .. } | Type::Int { .. } | Type::Number { .. }
    )
}
