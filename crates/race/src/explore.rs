//! Every schedule of some acts, each once: schedules that differ only in the order of requests that have nothing to
//! do with each other are one (sleep sets). And the reference: the same acts, unit by unit.

use std::ops::ControlFlow;

use latchkey_table::Request;

use crate::act::Act;
use crate::conflict::{dependent, met};
use crate::lab::Lab;
use crate::machine::{Machine, Step, Stuck};
use crate::table::Table;

/// The most runs of one group. What is cut off is told.
pub(crate) const RUNS_MAX: usize = 20_000;

/// Of how many items a read may see any part; of more, those before or behind one of them.
const TORN_ITEMS_MAX: usize = 3;

/// Which orders are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grain {
    /// Request by request.
    Requests,
    /// Unit by unit: the reads up to a commit, and that commit.
    Units,
}

/// How many runs a search of a group took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    /// Schedules that came to their end.
    pub(crate) schedules: usize,
    /// Whether there were more than may be.
    pub(crate) cut: bool,
}

/// What some acts begin from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) table: &'a Table,
    pub(crate) acts: &'a [Act],
    pub(crate) seed: u64,
    /// The most runs, those that end early because another covers them too.
    pub(crate) runs_max: usize,
}

/// A place where the schedule could have gone on otherwise.
struct Node {
    steps: Vec<Step>,
    at: usize,
    /// Acts whose next request need not happen here: it was tried before, and nothing since has to do with it.
    sleep: Vec<usize>,
}

/// Runs every schedule, and shows each to a function: at its end, and in units also after each of them.
pub(crate) fn explore<'l>(
    lab: &'l Lab,
    scene: Scene<'_>,
    grain: Grain,
    mut see: impl FnMut(&Machine<'l>) -> ControlFlow<()>,
) -> Result<Runs, Stuck> {
    let mut runs = Runs::default();
    let mut stack: Vec<Node> = Vec::new();
    for run in 0.. {
        if run == scene.runs_max {
            runs.cut = true;
            return Ok(runs);
        }
        let mut machine = Machine::start(lab, scene.table, scene.acts, scene.seed)?;
        let mut sleep = Vec::new();
        for node in &stack {
            let Some(step) = node.steps.get(node.at) else { break };
            sleep = still_asleep(&machine, grain, node, *step);
            machine.step(*step)?;
        }
        let whole = loop {
            let boundary = grain == Grain::Units
                && machine.acting.iter().all(|acting| acting.told.is_some() || !acting.within_unit);
            if (machine.is_over() || boundary) && see(&machine).is_break() {
                return Ok(runs);
            }
            if machine.is_over() {
                break true;
            }
            let steps = steps(lab, &machine, grain, &sleep);
            let Some(first) = steps.first().copied() else { break false };
            let node = Node { steps, at: 0, sleep };
            sleep = still_asleep(&machine, grain, &node, first);
            stack.push(node);
            machine.step(first)?;
        };
        runs.schedules += usize::from(whole);
        while let Some(mut node) = stack.pop() {
            node.at += 1;
            if node.at < node.steps.len() {
                stack.push(node);
                break;
            }
        }
        if stack.is_empty() {
            break;
        }
    }
    Ok(runs)
}

/// Who moves in a step.
fn movers(step: Step) -> (usize, Option<usize>) {
    match step {
        Step::Run(who) | Step::Stale { reader: who, .. } | Step::Mix { reader: who, .. } => {
            (who, None)
        }
        Step::Tear { reader, writer, .. } => (reader, Some(writer)),
    }
}

/// The acts that need not go on after a step: those that slept before it or were tried at its node already, and that
/// the step has nothing to do with.
fn still_asleep(machine: &Machine<'_>, grain: Grain, node: &Node, step: Step) -> Vec<usize> {
    if grain == Grain::Units {
        // A unit has to do with more than its first request.
        return Vec::new();
    }
    let tried = node.steps.iter().take(node.at).filter_map(|step| match step {
        Step::Run(who) => Some(*who),
        Step::Tear { .. } | Step::Stale { .. } | Step::Mix { .. } => None,
    });
    let (first, second) = movers(step);
    let moving: Vec<&Request> = [Some(first), second]
        .into_iter()
        .flatten()
        .filter_map(|who| machine.pending(who))
        .collect();
    let mut asleep: Vec<usize> = node.sleep.iter().copied().chain(tried).collect();
    asleep.sort_unstable();
    asleep.dedup();
    asleep.retain(|who| {
        let free = *who != first && Some(*who) != second;
        let apart =
            |own: &Request| moving.iter().all(|request| !dependent(own, request, &machine.table));
        // What an eventual read may see grows with every commit.
        free && machine.pending(*who).is_some_and(|own| apart(own) && !own.is_eventual())
    });
    asleep
}

/// The steps that can be next.
fn steps(lab: &Lab, machine: &Machine<'_>, grain: Grain, sleep: &[usize]) -> Vec<Step> {
    let waiting = |who: &usize| machine.pending(*who).is_some();
    let all: Vec<usize> = (0..machine.acting.len()).filter(waiting).collect();
    let mut steps = Vec::new();
    let within = all.iter().find(|who| {
        grain == Grain::Units && machine.acting.get(**who).is_some_and(|acting| acting.within_unit)
    });
    let able: Vec<usize> = match within {
        Some(who) => vec![*who],
        None => all.iter().copied().filter(|who| !sleep.contains(who)).collect(),
    };
    for who in &able {
        steps.push(Step::Run(*who));
    }
    if lab.embedded {
        return steps;
    }
    for who in able {
        let strong = machine.pending(who).is_some_and(|request| !request.is_eventual());
        if grain == Grain::Requests && strong {
            let mixes = 0..machine.mixes(who).len();
            steps.extend(mixes.map(|pick| Step::Mix { reader: who, pick }));
        }
        if let Some(request) = machine.pending(who).filter(|request| request.is_eventual()) {
            stale(machine, who, request, &mut steps);
        }
    }
    // One that sleeps was tried before the write waited.
    for who in all.iter().filter(|_| grain == Grain::Requests) {
        let request = machine.pending(*who).filter(|request| !request.is_eventual());
        for writer in all.iter().filter(|writer| *writer != who) {
            request.iter().for_each(|request| torn(machine, *who, *writer, request, &mut steps));
        }
    }
    steps
}

/// The older versions that an eventual read may see, where it would see something else.
fn stale(machine: &Machine<'_>, reader: usize, request: &Request, steps: &mut Vec<Step>) {
    let mut seen = vec![machine.table.read(request)];
    let older = machine.versions.len().saturating_sub(1);
    for (version, table) in machine.versions.iter().enumerate().take(older) {
        let answer = table.read(request);
        if !seen.contains(&answer) {
            seen.push(answer);
            steps.push(Step::Stale { reader, version });
        }
    }
}

/// The parts of a write that a read of several items may see.
fn torn(
    machine: &Machine<'_>,
    reader: usize,
    writer: usize,
    request: &Request,
    steps: &mut Vec<Step>,
) {
    let Some(write) = machine.pending(writer).filter(|write| write.writes()) else { return };
    if !matches!(request, Request::Query(_) | Request::IndexScan(_)) {
        return;
    }
    let items = met(write, request, &machine.table).len();
    let all = (1u32 << items.min(31)) - 1;
    let masks: Vec<u32> = if items <= TORN_ITEMS_MAX {
        (1..all).collect()
    } else {
        let before = (1..items.min(31)).map(|count| (1u32 << count) - 1);
        before.flat_map(|mask| [mask, all & !mask]).collect()
    };
    steps.extend(masks.into_iter().map(|mask| Step::Tear { reader, writer, mask }));
}
