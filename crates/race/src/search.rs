//! The whole search: states, groups, schedules, losses.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use latchkey_language::ast::ExampleStep;
use latchkey_language::{Diagnostic, Level, Rule};
use latchkey_model::Model;
use latchkey_runtime::System;
use latchkey_table::Text;

use crate::act::{Act, Kind};
use crate::explore::RUNS_MAX;
use crate::group::{self, Group, full_key};
use crate::judge::{Clarity, Court, Lost, Wrong};
use crate::lab::Lab;
use crate::machine::Stuck;
use crate::promise::Breach;
use crate::reach::{self, Unsearched};
use crate::report::Loss;
use crate::way::Alone;
use crate::world::{State, World, examined, of_examples};
use crate::{grow, report, variant};

/// What to search, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only groups with one of these contracts or workers; all, if there are none.
    pub contracts: Vec<String>,
    /// Rules of the check that are switched off.
    pub without: Vec<Rule>,
    /// Whether reads are those of the embedded store.
    pub embedded: bool,
    /// Whether to try more of each kind.
    pub deep: bool,
}

/// How far a search is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub doing: Doing,
    /// How many of them are done.
    pub done: usize,
    /// How many there are.
    pub of: usize,
}

/// What a search is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// Looks which calls of a state meet.
    States,
    /// Runs groups of calls one after the other, to leave out those that are alike.
    Choosing,
    /// Runs the schedules of groups.
    Groups,
}

/// What a search came to.
#[derive(Debug, Default)]
pub struct Report {
    /// How many contracts and workers took part.
    pub contracts: usize,
    /// How many contracts and workers the document has.
    pub contracts_of: usize,
    /// Those to be searched that took no part.
    pub unsearched: Vec<Unsearched>,
    /// Whether anything in the document writes. Where nothing does, nothing can be lost.
    pub writes: bool,
    /// From how many states it started.
    pub states: usize,
    /// How many groups of calls it ran together.
    pub groups: usize,
    /// How many schedules it ran.
    pub schedules: usize,
    /// How many groups have more schedules than were run.
    pub cut: usize,
    /// What was lost, one for each set of contracts.
    pub losses: Vec<Loss>,
}

/// Why there was no search.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The check refuses the document.
    #[error("the document has mistakes")]
    Mistakes(Vec<Diagnostic>),
    /// The search itself cannot go on.
    #[error(transparent)]
    Stuck(#[from] Stuck),
    /// A contract to search for is not there.
    #[error("there is no contract or worker `{0}`")]
    NoContract(String),
}

/// How far a search goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// As far as takes a minute or so.
    Usual,
    /// Further.
    Deep,
}

impl Depth {
    /// How often groups that are alike, as far as their calls show alone, are looked at more closely.
    pub(crate) fn tries_max(self) -> usize {
        match self {
            Depth::Usual => 6,
            Depth::Deep => 60,
        }
    }

    /// In how many states such groups are looked at more closely, however often they were.
    fn states_max(self) -> usize {
        match self {
            Depth::Usual => 6,
            Depth::Deep => 120,
        }
    }

    /// From how many states groups run that are alike, also one after the other.
    fn alike_max(self) -> usize {
        match self {
            Depth::Usual => 1,
            Depth::Deep => 4,
        }
    }
}

/// Searches what the contracts of a document do to each other.
///
/// ```
/// let text = include_str!("../tests/tills.md");
/// let report = latchkey_race::search(text, &latchkey_race::Options::default(), &|_| {})?;
/// assert!(report.losses.is_empty());
/// # Ok::<(), latchkey_race::SearchError>(())
/// ```
pub fn search(
    text: &str,
    options: &Options,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Report, SearchError> {
    let lab = lab(text, options)?;
    let world = world(&lab, text)?;
    let depth = if options.deep { Depth::Deep } else { Depth::Usual };
    let search = Search { lab: &lab, world: &world, options, depth, progress };
    let groups = search.choose()?;
    let all = reach::all(&lab.model);
    let acts: BTreeSet<&str> =
        groups.iter().flat_map(|group| &group.acts).map(|act| act.body.as_str()).collect();
    let ids = &options.contracts;
    let wanted = |id: &str| ids.is_empty() || ids.iter().any(|own| own == id);
    let missing = all.iter().filter(|id| wanted(id) && !acts.contains(**id));
    let unsearched = missing.map(|id| reach::unsearched(&lab, &world, id));
    let mut report = Report {
        contracts: all.iter().filter(|id| acts.contains(**id)).count(),
        contracts_of: all.len(),
        unsearched: unsearched.collect::<Result<_, _>>()?,
        writes: reach::writes(&lab.model),
        states: world.states.len(),
        groups: groups.len(),
        ..Report::default()
    };
    search.run(&groups, &mut report)?;
    Ok(report)
}

/// A document, ready to run.
pub(crate) fn lab(text: &str, options: &Options) -> Result<Lab, SearchError> {
    let model = checked(text, options)?;
    let system = System::plan(&model).map_err(|mistakes| SearchError::Mistakes(mistakes.0))?;
    for id in &options.contracts {
        if !model.bodies().iter().any(|body| body.id == *id) {
            return Err(SearchError::NoContract(id.clone()));
        }
    }
    Ok(Lab::new(model, system, options.embedded)?)
}

/// The states and calls that a search of a document starts from.
pub(crate) fn world(lab: &Lab, text: &str) -> Result<World, Stuck> {
    let examples = latchkey_language::parse(text).document.examples;
    let mut world = of_examples(lab, &examples)?;
    world.written.clone_from(&world.callers);
    variant::add_from_types(&lab.model, &mut world);
    world.add_keys(&lab.model);
    if examples.is_empty() {
        grow::walk(lab, &mut world)?;
    }
    grow::grow(lab, &mut world)?;
    Ok(world)
}

/// Runs the examples of a document in memory, and tells what is wrong with what they leave: an invariant that does not
/// hold after a request or a message, and a block of requests made at once that loses something.
pub fn examine(text: &str, options: &Options) -> Result<Vec<Diagnostic>, SearchError> {
    let model = checked(text, options)?;
    let examples = latchkey_language::parse(text).document.examples;
    let together = |step: &ExampleStep| matches!(step, ExampleStep::Together(..));
    if model.invariants.is_empty() && !examples.iter().flat_map(|all| &all.steps).any(together) {
        return Ok(Vec::new());
    }
    let system = System::plan(&model).map_err(|mistakes| SearchError::Mistakes(mistakes.0))?;
    let lab = Lab::new(model, system, options.embedded)?;
    Ok(examined(&lab, &examples)?)
}

/// What a document means, unless a rule that is not switched off refuses it.
fn checked(text: &str, options: &Options) -> Result<Model, SearchError> {
    let mut checked = latchkey_model::check(text);
    checked
        .diagnostics
        .retain(|found| found.level == Level::Error && !options.without.contains(&found.rule));
    match checked.diagnostics.is_empty() {
        true => Ok(checked.model),
        false => Err(SearchError::Mistakes(checked.diagnostics)),
    }
}

struct Search<'a> {
    lab: &'a Lab,
    world: &'a World,
    options: &'a Options,
    depth: Depth,
    progress: &'a (dyn Fn(Progress) + Sync),
}

impl Search<'_> {
    /// The groups to search, one of each kind.
    fn choose(&self) -> Result<Vec<Group>, Stuck> {
        let states: Vec<(usize, &State)> = self.world.states.iter().enumerate().collect();
        let contracts = &self.options.contracts;
        let wanted = |act: &Act| contracts.is_empty() || act.is_of(contracts);
        let found = self.each(Doing::States, &states, |(at, state)| {
            let kept = group::kept(self.lab, state, variant::acts(self.lab, self.world, state))?;
            let alone: Vec<&Alone> = kept.alone.iter().collect();
            let depth = self.depth;
            let groups = group::groups(self.lab, *at, state, &alone, &wanted, depth, None)?;
            let breaking = kept.breaking.into_iter().filter(|(_, act)| wanted(act));
            let single = |(known, act)| (known, Group::single(*at, act));
            Ok((groups, breaking.map(single).collect::<Vec<_>>()))
        })?;
        let (found, breaking): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let mut tries: BTreeMap<u64, (usize, BTreeSet<usize>)> = BTreeMap::new();
        let mut candidates = Vec::new();
        for group in found.into_iter().flatten() {
            let (tried, states) = tries.entry(group.key).or_default();
            *tried += 1;
            // What is alike in one state may not be in another.
            let elsewhere = states.len() < self.depth.states_max() && states.insert(group.state);
            if elsewhere || *tried <= self.depth.tries_max() {
                candidates.push(group);
            }
        }
        let keys = self.each(Doing::Choosing, &candidates, |group| {
            full_key(self.lab, &self.state(group)?.table, group)
        })?;
        let mut seen: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
        let chosen = candidates.into_iter().zip(keys).filter(|(group, key)| {
            let states = seen.entry(*key).or_default();
            states.len() < self.depth.alike_max() && states.insert(group.state)
        });
        // A call that breaks an invariant by itself is looked at whatever else it is like.
        let mut known = BTreeSet::new();
        let single = breaking.into_iter().flatten().filter(|(key, _)| known.insert(key.clone()));
        let single = single.map(|(_, group)| group);
        // And so is what the document says to do together.
        let own = self.world.together.iter().filter(|group| group.acts.iter().any(&wanted));
        Ok(own.cloned().chain(single).chain(chosen.map(|(group, _)| group)).collect())
    }

    fn state(&self, group: &Group) -> Result<&State, Stuck> {
        let state = self.world.states.get(group.state);
        state.ok_or_else(|| Stuck("a group begins in no state".to_owned()))
    }

    fn run(&self, groups: &[Group], report: &mut Report) -> Result<(), Stuck> {
        let court = Court::of(self.lab, RUNS_MAX);
        let found = self.each(Doing::Groups, groups, |group| {
            let (runs, lost) = court.judge(self.lab, &self.state(group)?.table, group)?;
            let Some(lost) = lost else { return Ok((runs, None)) };
            Ok((runs, Some(self.alone(&court, group, &lost)?.unwrap_or((group.clone(), lost)))))
        })?;
        // Of each set of contracts the clearest loss, and of several the first.
        let mut clearest: BTreeMap<Vec<Text>, (Clarity, usize, Group, Lost)> = BTreeMap::new();
        for (at, (runs, lost)) in found.into_iter().enumerate() {
            report.schedules += runs.schedules;
            report.cut += usize::from(runs.cut);
            let Some((group, lost)) = lost else { continue };
            let mut bodies: Vec<_> = group.acts.iter().map(|act| act.body.clone()).collect();
            bodies.sort_unstable();
            bodies.dedup();
            let clarity = lost.wrong.clarity();
            let known = clearest.get(&bodies);
            if known.is_none_or(|(other, ..)| clarity < *other) {
                clearest.insert(bodies, (clarity, at, group, lost));
            }
        }
        // A promise that a call breaks alone is not told again beside others.
        let alone: Vec<(Text, Breach)> = clearest
            .iter()
            .filter_map(|(_, (.., group, lost))| match (group.acts.as_slice(), &lost.wrong) {
                ([act], Wrong::Broken(breach)) => Some((act.body.clone(), breach.clone())),
                _ => None,
            })
            .collect();
        clearest.retain(|bodies, (.., group, lost)| {
            let Wrong::Broken(breach) = &lost.wrong else { return true };
            let known = |(body, own): &(Text, Breach)| bodies.contains(body) && own.is_like(breach);
            group.acts.len() == 1 || !alone.iter().any(known)
        });
        let mut told: Vec<_> = clearest.into_values().collect();
        told.sort_by_key(|(_, at, ..)| *at);
        for (_, _, group, lost) in told {
            let mut loss = report::loss(self.lab, self.state(&group)?, &group, &lost)?;
            for ((_, asked), act) in loss.calls.iter_mut().zip(&group.acts) {
                asked.push_str(self.made_up(act));
            }
            report.losses.push(loss);
        }
        Ok(())
    }

    /// The act of a group that breaks a promise alone, if the group breaks one.
    fn alone(
        &self,
        court: &Court,
        group: &Group,
        lost: &Lost,
    ) -> Result<Option<(Group, Lost)>, Stuck> {
        let is_promise = |lost: &Lost| lost.wrong.clarity() == Clarity::Promise;
        if !is_promise(lost) {
            return Ok(None);
        }
        for act in &group.acts {
            let one = Group::single(group.state, act.clone());
            let (_, lost) = court.judge(self.lab, &self.state(&one)?.table, &one)?;
            if let Some(lost) = lost.filter(is_promise) {
                return Ok(Some((one, lost)));
            }
        }
        Ok(None)
    }

    /// What a person is told of a caller that no example has.
    fn made_up(&self, act: &Act) -> &'static str {
        let Kind::Call(call) = &act.kind else { return "" };
        let roles = &self.lab.model.roles;
        let has = |name: &str| call.caller.roles.iter().any(|own| *own == name);
        match call.caller.id.is_empty() || self.world.written.contains(&call.caller) {
            true => "",
            false if !roles.is_empty() && roles.iter().all(|role| has(&role.name)) => {
                " (made up: a caller with every role)"
            }
            false => " (made up: a caller that no example has)",
        }
    }

    /// Does something with each of several things, on all cores, and has the results in their order.
    fn each<T: Sync, R: Send>(
        &self,
        doing: Doing,
        things: &[T],
        work: impl Fn(&T) -> Result<R, Stuck> + Sync,
    ) -> Result<Vec<R>, Stuck> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let results: Mutex<BTreeMap<usize, Result<R, Stuck>>> = Mutex::default();
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(thing) = things.get(at) else { break };
                        let result = work(thing);
                        let mut all = results.lock().unwrap_or_else(PoisonError::into_inner);
                        all.insert(at, result);
                        drop(all);
                        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                        (self.progress)(Progress { doing, done, of: things.len() });
                    }
                });
            }
        });
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.into_values().collect()
    }
}
