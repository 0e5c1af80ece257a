//! Which calls come after which, whatever the order of all: one that goes by what another has written comes after it,
//! and so does one that writes what another has gone by.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use super::super::super::changes::is_new;
use super::who::{goes_by, needs};
use crate::model::{
    Contract, EntityId, Leg, Model, PutMode, Read, StepKind, Verb, What, each_step,
};

/// Who goes by what and writes what, in all of a document.
pub(super) struct Order<'a> {
    bodies: Vec<Body<'a>>,
    places: HashMap<*const Contract, usize>,
    /// The places of those that have to do with items of an entity.
    around: HashMap<EntityId, Vec<usize>>,
    known: RefCell<HashMap<Start, Rc<Reached>>>,
}

struct Body<'a> {
    contract: &'a Contract,
    acts: HashMap<EntityId, Acts>,
}

/// What a contract may do with items of an entity.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Acts {
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
        self.makes |= makes;
        self.removes |= leg.verb == Verb::Delete;
        self.changes |= !makes && matches!(leg.verb, Verb::Put | Verb::Upsert | Verb::Update);
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

impl<'a> Order<'a> {
    pub(super) fn new(model: &'a Model) -> Order<'a> {
        let mut order = Order {
            bodies: Vec::new(),
            places: HashMap::new(),
            around: HashMap::new(),
            known: RefCell::default(),
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
