//! Which calls come after which, whatever the order of all: one that goes by what another has written comes after it,
//! and so does one that writes what another has gone by.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use super::super::super::changes::is_new;
use super::who::{goes_by, needs};
use crate::check::truth::{Lets, Passed};
use crate::check::unpinned::pin::needs_item;
use crate::model::{
    Contract, EntityId, Leg, Model, PutMode, Read, StepKind, Verb, What, each_step,
};

/// Who goes by what and writes what, in all of a document.
pub(in crate::check::unpinned) struct Order<'a> {
    bodies: Vec<Body<'a>>,
    places: HashMap<*const Contract, usize>,
    /// The places of those that have to do with items of an entity.
    around: HashMap<EntityId, Vec<usize>>,
    known: RefCell<HashMap<Start, Rc<Reached>>>,
    followers: RefCell<HashMap<usize, Rc<Vec<Follower>>>>,
}

/// One that comes after another, perhaps by others between them.
#[derive(Clone, Copy)]
struct Follower {
    place: usize,
    /// The entity by whose item it comes after the one before it.
    via: EntityId,
    /// The place, among the followers, of the one before it; none, if that is the first of all.
    before: Option<usize>,
}

struct Body<'a> {
    contract: &'a Contract,
    acts: HashMap<EntityId, Acts>,
}

/// What a contract may do with items of an entity.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(in crate::check::unpinned) struct Acts {
    /// Goes by an item that is there.
    sees: bool,
    /// Goes by one that is not there.
    misses: bool,
    /// Goes by a range, which one that begins may join. Nobody asks for that one by its key before it is there.
    lists: bool,
    /// Makes one where none is, and perhaps was.
    makes: bool,
    /// Makes one where none ever was.
    begins: bool,
    /// Writes one that may be there, and leaves one.
    changes: bool,
    removes: bool,
}

/// Where a chain begins: at a contract; and the entity of which the call that looks reads two items, if it does.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Start {
    place: usize,
    two: Option<EntityId>,
}

/// For each that is reached, the one before it.
type Reached = HashMap<usize, usize>;

impl Body<'_> {
    fn writes(&self) -> bool {
        self.acts.values().any(|acts| acts.makes || acts.begins || acts.changes || acts.removes)
    }
}

impl Acts {
    fn read(&mut self, read: &Read) {
        self.sees = true;
        self.misses |= !needs(read);
        self.lists |= matches!(read.what, What::Query(_));
    }

    fn write(&mut self, leg: &Leg, first: bool) {
        if first {
            self.begins = true;
            return;
        }
        let makes = leg.put == Some(PutMode::IfAbsent);
        self.sees |= !makes;
        self.misses |= matches!(leg.verb, Verb::Put | Verb::Upsert | Verb::Delete);
        self.misses |= leg.verb == Verb::Check && !needs_its_item(leg);
        self.makes |= makes;
        self.removes |= leg.verb == Verb::Delete;
        self.changes |= !makes && matches!(leg.verb, Verb::Put | Verb::Upsert | Verb::Update);
    }

    /// Whether all it does is to make items where there are none.
    fn only_makes(self) -> bool {
        !(self.sees || self.lists || self.changes || self.removes)
    }

    /// Whether another comes after it, by one item.
    fn comes_before(self, other: Acts) -> bool {
        let leaves = self.makes || self.begins || self.changes;
        (leaves && other.sees)
            || (self.removes && (other.misses || other.makes))
            || (self.sees && (other.changes || other.removes))
            || (self.misses && (other.makes || other.changes))
            || (self.lists && other.begins)
    }
}

/// Whether a leg fails where its item is not there.
fn needs_its_item(leg: &Leg) -> bool {
    let atoms = |test| Passed::new(test, true).atoms(&Lets::new());
    leg.absent.is_some() || leg.condition.iter().flat_map(atoms).any(|test| needs_item(&test))
}

/// What some legs do with items of each entity.
pub(in crate::check::unpinned) fn acts_of<'a>(
    model: &Model,
    legs: impl Iterator<Item = &'a Leg>,
) -> HashMap<EntityId, Acts> {
    let mut acts: HashMap<EntityId, Acts> = HashMap::new();
    for leg in legs {
        let first = is_new(leg) || model.first_puts.contains_key(&leg.span);
        acts.entry(leg.entity).or_default().write(leg, first);
    }
    acts
}

impl<'a> Order<'a> {
    pub(in crate::check::unpinned) fn new(model: &'a Model) -> Order<'a> {
        let mut order = Order {
            bodies: Vec::new(),
            places: HashMap::new(),
            around: HashMap::new(),
            known: RefCell::default(),
            followers: RefCell::default(),
        };
        for (place, contract) in model.bodies().into_iter().enumerate() {
            let mut acts: HashMap<EntityId, Acts> = HashMap::new();
            each_step(&contract.steps, &mut |step| match &step.kind {
                StepKind::Read(read) => {
                    read.entities().for_each(|entity| acts.entry(entity).or_default().read(read));
                }
                StepKind::Write(leg) => {
                    let first = is_new(leg) || model.first_puts.contains_key(&leg.span);
                    acts.entry(leg.entity).or_default().write(leg, first);
                }
                _ => {}
            });
            for entity in acts.keys() {
                order.around.entry(*entity).or_default().push(place);
            }
            order.places.insert(contract, place);
            order.bodies.push(Body { contract, acts });
        }
        order
    }

    /// The shortest chain from a contract to one of some others, each of which comes after the one before it. Where the
    /// call that looks reads two items of an entity, the second in the chain has to do with two.
    pub(super) fn chain(
        &self,
        first: &'a Contract,
        two: Option<EntityId>,
        last: &[&'a Contract],
    ) -> Option<Vec<&'a Contract>> {
        let start = Start { place: self.place(first)?, two };
        let kept = self.known.borrow().get(&start).map(Rc::clone);
        let reached = kept.unwrap_or_else(|| {
            let reached = Rc::new(self.reached(start));
            self.known.borrow_mut().insert(start, Rc::clone(&reached));
            reached
        });
        let ends = last.iter().filter_map(|contract| self.place(contract));
        let chains = ends.filter_map(|end| {
            let mut chain = vec![end];
            while let Some(before) = chain.last().and_then(|place| reached.get(place)) {
                chain.push(*before);
            }
            (chain.len() > 1).then_some(chain)
        });
        let shortest = chains.min_by_key(Vec::len)?;
        let contract = |place: &usize| self.bodies.get(*place).map(|body| body.contract);
        shortest.iter().rev().map(contract).collect()
    }

    /// The shortest chain from a contract to one that is asked for, each of which writes, and comes after the one before
    /// it. The question is told by the items of which entity it comes after.
    pub(in crate::check::unpinned) fn leads(
        &self,
        first: &'a Contract,
        is_last: &dyn Fn(&'a Contract, EntityId) -> bool,
    ) -> Option<Vec<&'a Contract>> {
        let all = self.followers(self.place(first)?);
        let contract = |follower: &Follower| Some(self.bodies.get(follower.place)?.contract);
        let is_it = |follower: &&Follower| {
            contract(follower).is_some_and(|contract| is_last(contract, follower.via))
        };
        let mut at = all.iter().find(is_it);
        at?;
        let mut chain = Vec::new();
        while let Some(follower) = at {
            chain.push(contract(follower)?);
            at = follower.before.and_then(|before| all.get(before));
        }
        chain.push(first);
        chain.reverse();
        Some(chain)
    }

    /// Whether a contract can come before some acts on items of an entity, which they happen on all the same.
    pub(in crate::check::unpinned) fn precedes(
        &self,
        contract: &Contract,
        (entity, acts): (EntityId, Acts),
    ) -> bool {
        let body = self.place(contract).and_then(|place| self.bodies.get(place));
        let own = body.and_then(|body| body.acts.get(&entity));
        // Of two that make an item where there is none, one is refused.
        own.is_some_and(|own| own.comes_before(acts) && !(own.only_makes() && acts.only_makes()))
    }

    /// Those that write and come after a contract, by whichever entity, the nearest first.
    fn followers(&self, start: usize) -> Rc<Vec<Follower>> {
        if let Some(known) = self.followers.borrow().get(&start) {
            return Rc::clone(known);
        }
        let mut all: Vec<Follower> = Vec::new();
        let mut seen: HashSet<(usize, EntityId)> = HashSet::new();
        let mut asked: HashSet<(EntityId, Acts)> = HashSet::new();
        let mut open = VecDeque::from([(start, None)]);
        while let Some((place, at)) = open.pop_front() {
            let Some(body) = self.bodies.get(place) else { continue };
            let mut entities: Vec<EntityId> = body.acts.keys().copied().collect();
            entities.sort_unstable();
            for entity in entities {
                let Some(acts) = body.acts.get(&entity).copied() else { continue };
                if !asked.insert((entity, acts)) {
                    continue;
                }
                for other in self.around.get(&entity).into_iter().flatten().copied() {
                    let after = self.bodies.get(other).is_some_and(|body| {
                        let its = body.acts.get(&entity);
                        body.writes() && its.is_some_and(|its| acts.comes_before(*its))
                    });
                    if after && seen.insert((other, entity)) {
                        open.push_back((other, Some(all.len())));
                        all.push(Follower { place: other, via: entity, before: at });
                    }
                }
            }
        }
        let all = Rc::new(all);
        self.followers.borrow_mut().insert(start, Rc::clone(&all));
        all
    }

    fn place(&self, contract: &Contract) -> Option<usize> {
        self.places.get(&std::ptr::from_ref(contract)).copied()
    }

    /// Who comes after a contract, by one or several others that write.
    fn reached(&self, start: Start) -> Reached {
        let mut reached = Reached::new();
        let mut open = VecDeque::from([start.place]);
        // What was asked once is not asked again: of one entity, the same acts have the same that come after.
        let mut asked: HashSet<(EntityId, Acts)> = HashSet::new();
        while let Some((place, body)) =
            open.pop_front().and_then(|place| Some((place, self.bodies.get(place)?)))
        {
            let is_start = place == start.place;
            let mut next = Vec::new();
            for (entity, acts) in &body.acts {
                if !is_start && !asked.insert((*entity, *acts)) {
                    continue;
                }
                let all = self.around.get(entity).into_iter().flatten().copied();
                next.extend(all.filter(|other| {
                    self.bodies.get(*other).is_some_and(|body| {
                        let after = body.acts.get(entity).is_some_and(|it| acts.comes_before(*it));
                        let one = is_start && start.two == Some(*entity);
                        after && (!one || goes_by(body.contract, *entity, false) > 1)
                    })
                }));
            }
            next.sort_unstable();
            for other in next {
                let writes = self.bodies.get(other).is_some_and(Body::writes);
                if writes && other != start.place && !reached.contains_key(&other) {
                    reached.insert(other, place);
                    open.push_back(other);
                }
            }
        }
        reached
    }
}
