//! Groups of acts that are worth a search: one for each set of contracts, ways, and requests that meet.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use latchkey_runtime::Call;
use latchkey_runtime::model::Method;
use latchkey_table::{Key, Text};

use crate::act::{Act, Kind};
use crate::invariant::Watched;
use crate::lab::Lab;
use crate::machine::{Effect, Stuck};
use crate::search::Depth;
use crate::table::Table;
use crate::triples;
use crate::way::Alone;
use crate::world::State;

/// How many acts of one caller and one contract that take one way and name the same items are kept.
const TWINS_MAX: usize = 2;

/// The same, of all callers.
const TWINS_OF_ALL_MAX: usize = 6;

/// The seed of the first act of a group.
pub(crate) const SEED: u64 = 1;

/// What is searched in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Aim {
    /// Whether some order of units comes to the same.
    Together,
    /// The same, and that the second changes nothing: a message delivered twice, a call with an `Idempotency-Key`
    /// made twice.
    Once,
}

/// Acts that begin in one state.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// The state, by its place.
    pub(crate) state: usize,
    pub(crate) acts: Vec<Act>,
    pub(crate) aim: Aim,
    /// What tells it from others, as far as the acts show it alone.
    pub(crate) key: u64,
}

impl Group {
    /// One act, in a state.
    pub(crate) fn single(state: usize, act: Act) -> Group {
        Group { state, acts: vec![act], aim: Aim::Together, key: 0 }
    }
}

/// The groups of a state that have an act which is wanted, each key as often as it may be tried. With `undone`, the
/// ways of two acts of which one undoes the other are looked at once, in whatever state.
pub(crate) fn groups(
    lab: &Lab,
    at: usize,
    state: &State,
    kept: &[&Alone],
    wanted: &dyn Fn(&Act) -> bool,
    depth: Depth,
    undone: Option<&mut BTreeSet<(u64, u64)>>,
) -> Result<Vec<Group>, Stuck> {
    let mut groups = Vec::new();
    let mut count: BTreeMap<u64, usize> = BTreeMap::new();
    let mut add = |key: u64, acts: Vec<Act>, aim: Aim, groups: &mut Vec<Group>| {
        let count = count.entry(key).or_default();
        *count += 1;
        if *count <= depth.tries_max() {
            let acts = match aim {
                Aim::Together => acts.into_iter().zip(1..).map(own_key).collect(),
                Aim::Once => acts,
            };
            groups.push(Group { state: at, acts, aim, key });
        }
    };
    for (place, one) in kept.iter().enumerate() {
        for other in kept.iter().skip(place) {
            if !wanted(&one.act) && !wanted(&other.act) {
                continue;
            }
            let met = one.meets(other, &state.table);
            if !met.is_empty() {
                let key = hashed(&(Aim::Together, one.way, other.way, met));
                add(key, vec![one.act.clone(), other.act.clone()], Aim::Together, &mut groups);
            }
        }
        if let Some(twice) = once(lab, one).filter(&wanted) {
            add(hashed(&(Aim::Once, one.way)), vec![twice.clone(), twice], Aim::Once, &mut groups);
        }
    }
    for (key, acts) in triples::triples(lab, state, kept, depth, undone)? {
        if acts.iter().any(wanted) {
            add(key, acts, Aim::Together, &mut groups);
        }
    }
    Ok(groups)
}

/// An act of a group, with a key that no other of the group has.
pub(crate) fn own_key((act, place): (Act, usize)) -> Act {
    act.keyed(&format!("race-{place}"))
}

/// The acts of a state that ask something of the table, run alone.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// One of each kind.
    pub(crate) alone: Vec<Alone>,
    /// Those that break an invariant by themselves, whatever their kind: one of each contract and invariant, which is
    /// known by its place in the document.
    pub(crate) breaking: BTreeMap<(Text, usize), Act>,
}

/// Runs the acts of a state alone.
pub(crate) fn kept(lab: &Lab, state: &State, acts: Vec<Act>) -> Result<Kept, Stuck> {
    let mut kept: Vec<Alone> = Vec::new();
    let mut watched = Watched::new(lab, &state.table);
    let mut breaking: BTreeMap<(Text, usize), Act> = BTreeMap::new();
    let mut twins: BTreeMap<(u64, u64), usize> = BTreeMap::new();
    let mut of_all: BTreeMap<u64, usize> = BTreeMap::new();
    for act in acts {
        let alone = Alone::run(lab, &state.table, &act, SEED)?;
        if alone.events.is_empty() {
            continue;
        }
        for at in watched.broken(&alone)? {
            breaking.entry((act.body.clone(), at)).or_insert_with(|| act.clone());
        }
        let class = hashed(&(alone.way, &alone.keys));
        let caller = match &alone.act.kind {
            Kind::Call(call) => Some(&call.caller.id),
            Kind::Work { .. } | Kind::Dead { .. } | Kind::Follow { .. } => None,
        };
        let own = twins.entry((class, hashed(&caller))).or_default();
        let all = of_all.entry(class).or_default();
        if *own < TWINS_MAX && *all < TWINS_OF_ALL_MAX {
            *own += 1;
            *all += 1;
            kept.push(alone);
        }
    }
    Ok(Kept { alone: kept, breaking })
}

/// An act that has its effect once, however often it comes: a message, or a POST with an `Idempotency-Key`.
fn once(lab: &Lab, alone: &Alone) -> Option<Act> {
    match &alone.act.kind {
        Kind::Work { .. } | Kind::Dead { .. } => Some(alone.act.clone()),
        Kind::Follow { .. } => None,
        Kind::Call(call) => {
            let post = |info: &latchkey_runtime::ContractInfo| {
                info.id == call.contract && info.method == Some(Method::Post)
            };
            if alone.commits == 0 || !lab.system.contracts().any(post) {
                return None;
            }
            let call = Call { idempotency_key: Some("once".into()), ..Call::clone(call) };
            Some(Act { kind: Kind::Call(Arc::new(call)), ..alone.act.clone() })
        }
    }
}

/// Whether acts are one message, delivered again, or one call, made again with its `Idempotency-Key`.
pub(crate) fn is_once(acts: &[Act]) -> bool {
    let same = |pair: &[Act]| match pair {
        [one, other] => match (&one.kind, &other.kind) {
            (Kind::Work { message, .. }, Kind::Work { message: again, .. }) => {
                message.id() == again.id()
            }
            (Kind::Call(one), Kind::Call(other)) => {
                one.idempotency_key.is_some()
                    && one.idempotency_key == other.idempotency_key
                    && one.caller == other.caller
                    && one.contract == other.contract
                    && one.inputs == other.inputs
            }
            _ => false,
        },
        _ => false,
    };
    acts.len() == 2 && acts.windows(2).all(same)
}

/// The items whose presence an act changes, each with whether it is there afterwards.
pub(crate) fn toggles(alone: &Alone) -> Vec<(Key, bool)> {
    let committed = alone.events.iter().filter_map(|event| match &event.effect {
        Effect::Committed(undone) => Some(undone),
        Effect::Read(_) | Effect::Refused(_) | Effect::Failed(_) => None,
    });
    let there = |(key, before): &(Key, Option<_>)| {
        let after = alone.table.get(key).is_some();
        (after != before.is_some()).then(|| (key.clone(), after))
    };
    committed.flatten().filter_map(there).collect()
}

/// What tells a group from others once its acts have also run one after the other.
pub(crate) fn full_key(lab: &Lab, table: &Table, group: &Group) -> Result<u64, Stuck> {
    let mut ways = vec![group.key];
    let orders: &[&[usize]] = match group.acts.len() {
        2 => &[&[0, 1], &[1, 0]],
        3 => &[&[0, 1, 2], &[0, 2, 1], &[1, 0, 2], &[1, 2, 0], &[2, 0, 1], &[2, 1, 0]],
        acts => return Err(Stuck(format!("a group of {acts} acts"))),
    };
    let mut watched = Watched::new(lab, table);
    // Each act as it runs first, by its place.
    let mut first: BTreeMap<usize, Alone> = BTreeMap::new();
    let mut last: Option<Table> = None;
    for order in orders {
        let mut table = table.clone();
        for at in order.iter().copied() {
            let Some(act) = group.acts.get(at) else { continue };
            let seed = SEED + u64::try_from(at).unwrap_or(0);
            let alone = Alone::run(lab, &table, act, seed)?;
            ways.push(alone.way);
            // What breaks an invariant is like nothing that does not.
            ways.push(hashed(&watched.broken(&alone)?));
            // Nor is what finds or answers something else behind the others like what does not.
            ways.extend(first.get(&at).map(|before| hashed(&before.same_as(&alone))));
            table = alone.table.clone();
            if order.first() == Some(&at) {
                first.entry(at).or_insert(alone);
            }
        }
        ways.extend(last.as_ref().map(|other| u64::from(other.is_as(&table))));
        last = Some(table);
    }
    // What one reads is changed by another, or is only written again: the first state of a kind is not the second.
    for (at, one) in &first {
        for (_, other) in first.iter().filter(|(place, _)| *place != at) {
            ways.push(hashed(&one.changed_by(other, table)));
        }
    }
    Ok(hashed(&ways))
}

pub(crate) fn hashed(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
