//! Plays the demo of a document: fills its store, then makes requests for as long as the server runs.
//!
//! The filling has a clock that moves from one `at` to the next, so that what happened days ago has its own time, and
//! messages are worked on when they are due. What goes on has the time of the system, and goes through the service
//! that all others call: it is counted, logged and limited as their calls are.

use std::sync::Arc;
use std::time::Duration;

use latchkey_http::{Service, TestClock, Tokens};
use latchkey_language::ast::{Demo, ExampleStep};
use latchkey_language::{Bindings, Diagnostic, Rule, Span};
use latchkey_model::demo::{Act, Draw, Live, Mistake, filling, live};
use latchkey_runtime::{Runtime, Source, SystemSource};
use latchkey_value::time;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::run::{Move, Run, Unsaid, step_of};
use crate::target::{Target, TargetError, unusable};

/// What chance is drawn from: the same demo fills the same store each time.
const SEED: u64 = 0x1A7C_4B3E;

/// Why a store could not be filled.
#[derive(Debug)]
pub enum NotFilled {
    /// A request was refused, or answered otherwise than it says.
    Refused(Mistake),
    /// The store cannot be used.
    Unusable(String),
}

impl From<Mistake> for NotFilled {
    fn from(refused: Mistake) -> NotFilled {
        NotFilled::Refused(refused)
    }
}

impl From<TargetError> for NotFilled {
    fn from(error: TargetError) -> NotFilled {
        match error {
            TargetError::Unusable(reason) | TargetError::Request(reason) => {
                NotFilled::Unusable(reason)
            }
        }
    }
}

/// A store that was filled, and what goes on there.
#[derive(Debug)]
pub struct Play {
    /// How many requests have filled it.
    pub requests: usize,
    live: Vec<Live>,
    /// The names that answers have told.
    known: Bindings,
}

/// Fills the store of a system that runs by a clock. The clock shows the time of the system afterwards.
pub async fn fill(
    demos: &[Demo],
    runtime: &Runtime,
    clock: &Arc<TestClock>,
) -> Result<Play, NotFilled> {
    let now = SystemSource.now();
    let filling = filling(demos, now, Draw::Chance(SEED))?;
    let live = live(demos, &filling)?;
    let target = Target::on_clock(runtime.clone(), Arc::clone(clock))?;
    let start = instant(now)?;
    let moves = filling.acts.into_iter().flat_map(moves);
    let begun = (start.clone(), Bindings::new());
    let mut run = Run::of(moves, &target, begun, Unsaid::Success);
    while run.next().await?.is_some() {
        if let Some(refused) = run.report.failures.pop() {
            return Err(NotFilled::Refused(Box::new(refused)));
        }
    }
    if let Some(refused) = run.report.failures.pop() {
        return Err(NotFilled::Refused(Box::new(refused)));
    }
    target.pass(&start).await?;
    let requests = run.report.requests;
    let known = run.into_bindings();
    clock.release();
    Ok(Play { requests, live, known })
}

/// What a run makes of an act.
fn moves(act: Act) -> Vec<Move> {
    match act {
        Act::Block => vec![Move::Block(0)],
        Act::Round => vec![Move::Round],
        Act::Over => vec![Move::Over],
        Act::Step(step) if matches!(*step, ExampleStep::As { .. }) => vec![Move::Step(step)],
        Act::Step(step) => vec![Move::Step(step), Move::Settle],
    }
}

fn instant(milliseconds: i64) -> Result<String, TargetError> {
    let instant = time::format(milliseconds).map(|instant| instant.to_string());
    instant.ok_or_else(|| unusable("the clock of this machine shows a time that cannot be written"))
}

impl Play {
    /// How many kinds of requests go on.
    pub fn count(&self) -> usize {
        self.live.len()
    }

    /// Goes on until it is told to stop, or nobody is left to tell it. Each answer that must not be is told.
    pub fn start(
        self,
        service: &Arc<Service>,
        tokens: &Tokens,
        stop: &watch::Receiver<bool>,
        told: impl Fn(&Diagnostic) + Clone + Send + Sync + 'static,
    ) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for (seed, live) in (SEED..).zip(self.live) {
            let target = Target::serving(Arc::clone(service), tokens.clone());
            let (known, told) = (self.known.clone(), told.clone());
            let line = Line { live, target, known, draw: Draw::Chance(seed) };
            tasks.spawn(line.play(stop.clone(), told));
        }
        tasks
    }
}

/// One kind of requests that goes on.
struct Line {
    live: Live,
    target: Target,
    known: Bindings,
    draw: Draw,
}

impl Line {
    async fn play(mut self, mut stop: watch::Receiver<bool>, told: impl Fn(&Diagnostic)) {
        let pause = self.live.pause;
        for n in 1.. {
            if rested(pause, &mut stop).await {
                return;
            }
            for wrong in self.round(n).await {
                told(&wrong);
            }
        }
    }

    /// Makes the requests of a round, and says which answers must not be.
    async fn round(&mut self, n: i64) -> Vec<Diagnostic> {
        let now = SystemSource.now();
        let steps = match self.live.round(n, now, &mut self.draw) {
            Ok(steps) => steps,
            Err(mistake) => return vec![*mistake],
        };
        // Without a test clock, nobody reads the instant.
        let begun = (String::new(), self.known.clone());
        let moves = steps.into_iter().map(step_of);
        let mut run = Run::of(moves, &self.target, begun, Unsaid::NoFailure);
        loop {
            match run.next().await {
                Ok(Some(_)) => {}
                Ok(None) => return run.report.failures,
                Err(TargetError::Unusable(reason) | TargetError::Request(reason)) => {
                    return vec![Diagnostic::new(Rule::Example, Span::default(), reason)];
                }
            }
        }
    }
}

/// Waits, and says whether it was told to stop.
async fn rested(pause: Duration, stop: &mut watch::Receiver<bool>) -> bool {
    if *stop.borrow() {
        return true;
    }
    // A sender that is gone tells nothing more.
    tokio::time::timeout(pause, stop.changed()).await.is_ok()
}
