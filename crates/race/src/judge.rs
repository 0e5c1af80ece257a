//! Whether what acts did together could have come of doing their units one after the other.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::counting::Counting;
use crate::ends::Now;
use crate::explore::{Grain, Runs, Scene, explore};
use crate::group::{self, Aim, Group};
use crate::invariant;
use crate::lab::Lab;
use crate::machine::{Machine, Step, Stuck};
use crate::outcome::{End, Left, Loose, Outcome};
use crate::promise::{Breach, Promises};
use crate::table::{Changes, Table};
use crate::way::Alone;

/// What is wrong with a run.
#[derive(Debug, Clone)]
pub(crate) enum Wrong {
    /// No order of units comes to this. With the outcome of the order that is nearest.
    NoOrder(Box<Outcome>),
    /// Something that holds after every commit does not.
    Broken(Breach),
    /// It left something else than one clean run leaves, which is this.
    Twice(Box<Left>),
}

/// How well a person sees from a loss what is wrong, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Clarity {
    /// Something that the document promises does not hold.
    Promise,
    /// Something happened twice.
    Twice,
    /// Answers and items that no order leads to.
    Order,
}

impl Wrong {
    /// Whether an invariant of the document is broken.
    pub(crate) fn is_of_invariant(&self) -> bool {
        matches!(self, Wrong::Broken(Breach::Invariant(_)))
    }

    pub(crate) fn clarity(&self) -> Clarity {
        match self {
            Wrong::Broken(_) => Clarity::Promise,
            Wrong::Twice(_) => Clarity::Twice,
            Wrong::NoOrder(_) => Clarity::Order,
        }
    }
}

/// A schedule that lost.
#[derive(Debug, Clone)]
pub(crate) struct Lost {
    pub(crate) steps: Vec<Step>,
    pub(crate) outcome: Outcome,
    pub(crate) wrong: Wrong,
}

/// All that units come to in any order, each outcome once, also those cut off between two units.
fn reference(lab: &Lab, scene: Scene<'_>) -> Result<(Vec<Outcome>, bool), Stuck> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    let runs = explore(lab, scene, Grain::Units, |machine| {
        let outcome = Outcome::of(lab, machine);
        if !outcomes.contains(&outcome) {
            outcomes.push(outcome);
        }
        ControlFlow::Continue(())
    })?;
    Ok((outcomes, runs.cut))
}

/// What a document holds a run to.
#[derive(Debug)]
pub(crate) struct Court {
    promises: Promises,
    counting: Counting,
    loose: Loose,
    /// Whether the invariants of the document count.
    invariants: bool,
    /// The most runs of one group.
    runs_max: usize,
}

impl Court {
    pub(crate) fn of(lab: &Lab, runs_max: usize) -> Court {
        Court {
            promises: Promises::of(&lab.model),
            counting: Counting::of(&lab.model),
            loose: Loose::of(lab),
            invariants: true,
            runs_max,
        }
    }

    /// The same, but the invariants of the document do not count.
    pub(crate) fn without_invariants(lab: &Lab, runs_max: usize) -> Court {
        Court { invariants: false, ..Court::of(lab, runs_max) }
    }

    /// Whether an invariant of the document is broken by some order of the units of a group, so that it takes no race.
    pub(crate) fn breaks_in_order(
        &self,
        lab: &Lab,
        table: &Table,
        group: &Group,
    ) -> Result<bool, Stuck> {
        let runs_max = self.runs_max;
        let scene = Scene { table, acts: &group.acts, seed: group::SEED, runs_max };
        let mut watch = Watch::new(lab, self, Now::last_of(scene.acts));
        let mut found = Ok(false);
        explore(lab, scene, Grain::Units, |machine| {
            found = watch.broken(machine).map(|wrong| wrong.is_some_and(|it| it.is_of_invariant()));
            match found {
                Ok(false) => ControlFlow::Continue(()),
                Ok(true) | Err(_) => ControlFlow::Break(()),
            }
        })?;
        found
    }

    /// Looks for a schedule of a group that loses.
    pub(crate) fn judge(
        &self,
        lab: &Lab,
        table: &Table,
        group: &Group,
    ) -> Result<(Runs, Option<Lost>), Stuck> {
        let runs_max = self.runs_max;
        let scene = Scene { table, acts: &group.acts, seed: group::SEED, runs_max };
        if group.aim == Aim::Together {
            return judge(lab, self, scene, &[]);
        }
        let mut clean = Vec::new();
        for (act, seed) in group.acts.iter().zip(group::SEED..) {
            let alone = Alone::run(lab, table, act, seed)?;
            clean.push(Left::of(lab, &alone.table));
        }
        let (runs, lost) = judge(lab, self, scene, &clean)?;
        if lost.is_some() {
            return Ok((runs, lost));
        }
        let (more, lost) = killed(lab, self, scene, &clean)?;
        let schedules = runs.schedules + more.schedules;
        Ok((Runs { schedules, cut: runs.cut }, lost))
    }
}

/// Looks for a schedule that loses. With `clean`, every schedule must leave what one of these leaves.
fn judge(
    lab: &Lab,
    court: &Court,
    scene: Scene<'_>,
    clean: &[Left],
) -> Result<(Runs, Option<Lost>), Stuck> {
    let (allowed, cut) = reference(lab, scene)?;
    if cut {
        // Without the whole reference nothing can be called a loss.
        return Ok((Runs { schedules: 0, cut }, None));
    }
    let mut lost = Ok(None);
    let mut watch = Watch::new(lab, court, Now::last_of(scene.acts));
    let runs = explore(lab, scene, Grain::Requests, |machine| {
        let outcome = Outcome::of(lab, machine);
        let broken = match watch.broken(machine) {
            Ok(broken) => broken,
            Err(stuck) => {
                lost = Err(stuck);
                return ControlFlow::Break(());
            }
        };
        let wrong = broken
            .or_else(|| twice(&court.loose, clean, &outcome))
            .or_else(|| no_order(&allowed, &outcome));
        match wrong {
            None => ControlFlow::Continue(()),
            Some(wrong) => {
                lost = Ok(Some(Lost { steps: machine.steps.clone(), outcome, wrong }));
                ControlFlow::Break(())
            }
        }
    })?;
    Ok((runs, lost?))
}

/// Has the first of two acts die after each of its requests, and the second run alone behind it.
fn killed(
    lab: &Lab,
    court: &Court,
    scene: Scene<'_>,
    clean: &[Left],
) -> Result<(Runs, Option<Lost>), Stuck> {
    let mut runs = Runs::default();
    let mut watch = Watch::new(lab, court, Now::last_of(scene.acts));
    for requests in 1.. {
        let mut machine = Machine::start(lab, scene.table, scene.acts, scene.seed)?;
        for _ in 0..requests {
            if machine.pending(0).is_some() {
                machine.step(Step::Run(0))?;
            }
        }
        let over = machine.pending(0).is_none();
        while machine.pending(1).is_some() {
            machine.step(Step::Run(1))?;
        }
        runs.schedules += 1;
        let outcome = Outcome::of(lab, &machine);
        let ended = matches!(outcome.ends.get(1), Some(End::Told(_)));
        let done = Outcome { ends: Vec::new(), left: outcome.left.clone() };
        let wrong =
            watch.broken(&machine)?.or_else(|| twice(&court.loose, clean, &done).filter(|_| ended));
        if let Some(wrong) = wrong {
            return Ok((runs, Some(Lost { steps: machine.steps, outcome, wrong })));
        }
        if over {
            break;
        }
    }
    Ok((runs, None))
}

/// Looks at the tables that schedules of one scene lead to, each once.
struct Watch<'a> {
    lab: &'a Lab,
    court: &'a Court,
    /// The instant at which they are looked at: that of the last act.
    now: i64,
    seen: Vec<(Changes, Option<Breach>)>,
}

impl<'a> Watch<'a> {
    fn new(lab: &'a Lab, court: &'a Court, now: i64) -> Watch<'a> {
        Watch { lab, court, now, seen: Vec::new() }
    }

    /// What is broken after a commit of a run, and was not before the run.
    fn broken(&mut self, machine: &Machine<'_>) -> Result<Option<Wrong>, Stuck> {
        for (before, table) in machine.versions.iter().zip(machine.versions.iter().skip(1)) {
            let breach = match self.court.counting.broken(before, table) {
                Some(breach) => Some(breach),
                None => self.looked_at(table)?,
            };
            if let Some(breach) = breach {
                return Ok(Some(Wrong::Broken(breach)));
            }
        }
        Ok(None)
    }

    fn looked_at(&mut self, table: &Table) -> Result<Option<Breach>, Stuck> {
        if let Some((_, breach)) = self.seen.iter().find(|(seen, _)| table.is_changed_to(seen)) {
            return Ok(breach.clone());
        }
        let mut breach = self.court.promises.broken(table, &Now::new(self.now));
        if breach.is_none() && self.court.invariants {
            let now = invariant::broken(self.lab, table, self.now)?;
            if !now.is_empty() {
                let before = invariant::broken(self.lab, &table.base(), self.now)?;
                let new = now.into_iter().find(|broken| !before.contains(broken));
                breach = new.map(Breach::Invariant);
            }
        }
        self.seen.push((table.all_changes().clone(), breach.clone()));
        Ok(breach)
    }
}

/// Whether something was left that no clean run leaves. A run in which an act stopped early comes again.
fn twice(loose: &Loose, clean: &[Left], outcome: &Outcome) -> Option<Wrong> {
    let stopped = outcome.ends.iter().any(|end| matches!(end, End::Stopped(_)));
    if stopped || clean.iter().any(|clean| loose.alike(clean, &outcome.left)) {
        return None;
    }
    clean.first().map(|clean| Wrong::Twice(Box::new(clean.clone())))
}

fn no_order(allowed: &[Outcome], outcome: &Outcome) -> Option<Wrong> {
    if allowed.contains(outcome) {
        return None;
    }
    let nearest = allowed.iter().min_by_key(|allowed| distance(allowed, outcome));
    nearest.map(|nearest| Wrong::NoOrder(Box::new(nearest.clone())))
}

/// The most calls of a group.
const CALLS_MAX: usize = 3;

/// In how many things two outcomes differ. What is stored counts more than what is told to all the calls of a group: where
/// some order leaves what is stored, the loss is one of answers.
fn distance(a: &Outcome, b: &Outcome) -> usize {
    let ends = a.ends.iter().zip(&b.ends);
    // Acts that did not end are no help to a reader.
    let weight = |(a, b): (&End, &End)| match (a, b) {
        (a, b) if a == b => 0,
        (End::Told(_), End::Told(_)) => 1,
        _ => 10,
    };
    let (left, other) = (&a.left, &b.left);
    let keys: BTreeSet<_> = left.items.keys().chain(other.items.keys()).collect();
    let items = keys.into_iter().filter(|key| left.items.get(key) != other.items.get(key)).count();
    let stored = items + usize::from(left.messages != other.messages);
    ends.map(weight).sum::<usize>() + stored * (CALLS_MAX + 1)
}
