//! One document against another: where the second does something else, and where it loses. For the study of mutants.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use latchkey_table::Text;

use crate::act::Act;
use crate::explore::{Grain, Scene, explore};
use crate::group::{self, Group};
use crate::judge::Court;
use crate::lab::Lab;
use crate::machine::Stuck;
use crate::outcome::{Left, Outcome};
use crate::report::{self, Loss};
use crate::search::{Depth, Options, SearchError, lab, world};
use crate::table::Table;
use crate::variant;
use crate::way::Alone;
use crate::world::{State, World};

/// A document that others are compared with: its states, its calls, and what each call does alone.
pub struct Base {
    lab: Lab,
    world: World,
    kept: Vec<Vec<Alone>>,
}

/// How much is compared.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most calls that are run alone.
    pub calls: usize,
    /// The most groups of calls.
    pub groups: usize,
    /// After how many schedules no further group is begun.
    pub schedules: usize,
}

/// What came of a comparison.
#[derive(Debug, Default)]
pub struct Against {
    /// How many calls were run alone in both documents.
    pub calls: usize,
    /// How many groups of calls were run together.
    pub groups: usize,
    /// How many groups were left out, because they have too many schedules.
    pub skipped: usize,
    /// How many schedules of the second document were run.
    pub schedules: usize,
    /// The first schedule of the second document that loses: no order of the calls comes to the same, or something that
    /// Latchkey promises does not hold.
    pub loss: Option<Loss>,
    /// The first schedule of the second document that breaks an invariant of the document, where an order of the same
    /// calls, one after the other, breaks one as well: it takes no race.
    pub broken: Option<Loss>,
    /// The first difference: a call alone that comes to something else, or a schedule that comes to what no schedule
    /// of the first document comes to.
    pub difference: Option<String>,
}

impl Base {
    /// Makes a document ready to be compared with.
    pub fn new(text: &str) -> Result<Base, SearchError> {
        let lab = lab(text, &Options::default())?;
        let world = world(&lab, text)?;
        let mut kept = Vec::new();
        for state in &world.states {
            kept.push(group::kept(&lab, state, variant::acts(&lab, &world, state))?.alone);
        }
        Ok(Base { lab, world, kept })
    }

    /// Compares another document with this one, and searches it for losses: all that has to do with the contracts
    /// and rules of the options.
    pub fn against(
        &self,
        text: &str,
        options: &Options,
        limits: Limits,
    ) -> Result<Against, SearchError> {
        let lab = lab(text, options)?;
        let wanted = |act: &Act| act.is_of(&options.contracts);
        let mut all = Vec::new();
        for (at, state) in self.world.states.iter().enumerate() {
            let acts = variant::acts(&lab, &self.world, state).into_iter().filter(&wanted);
            all.extend(acts.map(|act| (at, act)));
        }
        let mut acts: BTreeMap<usize, Vec<Act>> = BTreeMap::new();
        for (at, act) in spread(all, limits.calls) {
            acts.entry(at).or_default().push(act);
        }
        let mut against = Against::default();
        let (mut groups, mut undone) = (Vec::new(), BTreeSet::new());
        for (at, acts) in acts {
            let Some((state, kept)) = self.world.states.get(at).zip(self.kept.get(at)) else {
                return Err(Stuck("an act begins in no state".to_owned()).into());
            };
            for act in &acts {
                against.calls += 1;
                if against.difference.is_none()
                    && alone(&self.lab, state, act)? != alone(&lab, state, act)?
                {
                    against.difference = Some(format!("{} alone, {}", act.body, state.label));
                }
            }
            let own = group::kept(&lab, state, acts)?.alone;
            let own: Vec<&Alone> = few(own.iter());
            let near: BTreeSet<&Text> =
                own.iter().flat_map(|alone| &alone.keys).map(|key| &key.partition).collect();
            let others = kept.iter().filter(|alone| {
                !wanted(&alone.act) && alone.keys.iter().any(|key| near.contains(&key.partition))
            });
            let kept: Vec<&Alone> = own.iter().copied().chain(few(others)).collect();
            let seen = Some(&mut undone);
            groups.extend(group::groups(&lab, at, state, &kept, &wanted, Depth::Usual, seen)?);
        }
        self.run(&lab, &first_of_each(groups, limits.groups), limits, &mut against)?;
        Ok(against)
    }

    fn run(
        &self,
        lab: &Lab,
        groups: &[Group],
        limits: Limits,
        against: &mut Against,
    ) -> Result<(), Stuck> {
        let court = Court::of(lab, RUNS_MAX);
        let orders = Court::without_invariants(lab, RUNS_MAX);
        for group in groups {
            if against.schedules >= limits.schedules {
                break;
            }
            let Some(state) = self.world.states.get(group.state) else { continue };
            let Some(after) = outcomes(lab, &state.table, group)? else {
                against.skipped += 1;
                continue;
            };
            let (mut runs, mut lost) = court.judge(lab, &state.table, group)?;
            if let Some(broken) = lost.take_if(|lost| lost.wrong.is_of_invariant()) {
                if court.breaks_in_order(lab, &state.table, group)? {
                    if against.broken.is_none() {
                        against.broken = Some(report::loss(lab, state, group, &broken)?);
                    }
                    (runs, lost) = orders.judge(lab, &state.table, group)?;
                } else {
                    lost = Some(broken);
                }
            }
            against.groups += 1;
            against.schedules += runs.schedules;
            if let Some(lost) = lost {
                against.loss = Some(report::loss(lab, state, group, &lost)?);
                break;
            }
            if against.difference.is_none()
                && let Some(before) = outcomes(&self.lab, &state.table, group)?
                && after.iter().any(|outcome| !before.contains(outcome))
            {
                let bodies: Vec<&str> = group.acts.iter().map(|act| &*act.body).collect();
                let label = &state.label;
                against.difference = Some(format!("{} together, {label}", bodies.join(", ")));
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Base {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Base").field("states", &self.world.states.len()).finish_non_exhaustive()
    }
}

/// What an act comes to alone: its answer, and what it leaves.
fn alone(lab: &Lab, state: &State, act: &Act) -> Result<(Option<crate::act::Reply>, Left), Stuck> {
    let alone = Alone::run(lab, &state.table, act, group::SEED)?;
    let left = Left::of(lab, &alone.table);
    Ok((alone.told, left))
}

/// The most runs of one group.
const RUNS_MAX: usize = 200;

/// All that the schedules of a group come to, each once. Nothing, if the group has too many.
fn outcomes(lab: &Lab, table: &Table, group: &Group) -> Result<Option<Vec<Outcome>>, Stuck> {
    let scene = Scene { table, acts: &group.acts, seed: group::SEED, runs_max: RUNS_MAX };
    let mut outcomes: Vec<Outcome> = Vec::new();
    let runs = explore(lab, scene, Grain::Requests, |machine| {
        let outcome = Outcome::of(lab, machine);
        if !outcomes.contains(&outcome) {
            outcomes.push(outcome);
        }
        ControlFlow::Continue(())
    })?;
    Ok((!runs.cut).then_some(outcomes))
}

/// The first few of each way.
fn few<'a>(all: impl Iterator<Item = &'a Alone>) -> Vec<&'a Alone> {
    const EACH_MAX: usize = 2;
    let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
    all.filter(|alone| {
        let count = seen.entry(alone.way).or_default();
        *count += 1;
        *count <= EACH_MAX
    })
    .collect()
}

/// At most so many of several things, evenly.
fn spread<T>(things: Vec<T>, most: usize) -> Vec<T> {
    let step = things.len().div_ceil(most.max(1)).max(1);
    things.into_iter().step_by(step).collect()
}

/// At most so many groups: the first of each kind before the second of any.
fn first_of_each(groups: Vec<Group>, most: usize) -> Vec<Group> {
    let mut seen = BTreeMap::<u64, usize>::new();
    let mut numbered: Vec<(usize, Group)> = Vec::new();
    for group in groups {
        let count = seen.entry(group.key).or_default();
        *count += 1;
        if *count <= Depth::Usual.tries_max() {
            numbered.push((*count, group));
        }
    }
    numbered.sort_by_key(|(count, _)| *count);
    let kinds = seen.len();
    let mut groups: Vec<Group> = numbered.into_iter().map(|(_, group)| group).collect();
    if kinds > most {
        groups.truncate(kinds);
        return spread(groups, most);
    }
    groups.truncate(most);
    groups
}
