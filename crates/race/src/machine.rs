//! Several acts on one table, each stopped at every request. The schedule says which goes on.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use latchkey_table::{Answer, Error, Item, Request};

use crate::act::{Act, Reply};
use crate::conflict::{keys, met};
use crate::lab::{Lab, is_ours};
use crate::port::{Fixed, Port};
use crate::table::{Table, Undone};

/// The most answers of one read of several keys that are tried.
const MIXES_MAX: usize = 64;

/// One step of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The request of an act that waits happens.
    Run(usize),
    /// The write of one act happens while another reads several items: it sees those of the mask, by their order
    /// among the items that it looks at and the write changes, as they are afterwards.
    Tear {
        /// Who reads.
        reader: usize,
        /// Who writes.
        writer: usize,
        /// Which items are seen as they are afterwards.
        mask: u32,
    },
    /// A read of several keys, one by one, sees some of them as they were at one moment since it began, and others as
    /// they were at another.
    Mix {
        /// Who reads.
        reader: usize,
        /// Which of the answers that it may have.
        pick: usize,
    },
    /// An eventual read sees the table as it was after so many commits.
    Stale {
        /// Who reads.
        reader: usize,
        /// After how many commits.
        version: usize,
    },
}

/// A request that happened.
#[derive(Debug)]
pub(crate) struct Event {
    /// Whose it is.
    pub(crate) who: usize,
    pub(crate) request: Request,
    pub(crate) effect: Effect,
    /// Whether it saw something else than the table at that time.
    pub(crate) apart: bool,
}

/// What a request came to.
#[derive(Debug)]
pub(crate) enum Effect {
    Read(Answer),
    /// A write happened; with what it changed, as it was before.
    Committed(Undone),
    /// A condition did not hold; which leg's.
    Refused(usize),
    Failed(Error),
}

type Running = Pin<Box<dyn Future<Output = Option<Reply>> + Send>>;

/// One act that has begun.
pub(crate) struct Acting {
    port: Arc<Port>,
    /// None once it has ended.
    running: Option<Running>,
    /// The request that waits.
    pub(crate) pending: Option<Request>,
    /// What it told, once it has ended. None within: it stopped before its end.
    pub(crate) told: Option<Option<Reply>>,
    /// How many of its writes have happened.
    pub(crate) commits: usize,
    /// Whether it has asked something since its last commit.
    pub(crate) within_unit: bool,
    /// How many versions there were when the request that waits was made.
    since: usize,
    attempt: Attempt,
}

/// The attempt of an act that runs now.
#[derive(Debug, Default)]
struct Attempt {
    /// What every attempt asks first, but for the record of an `Idempotency-Key`.
    first: Option<Request>,
    /// How many versions there were when this attempt asked it; none before.
    began: Option<usize>,
    /// Whether it saw something else than the table at that time.
    apart: bool,
    /// Whether its last write was refused.
    refused: bool,
}

impl Attempt {
    /// Notes a request that happened, with the number of versions behind it.
    fn note(&mut self, request: &Request, effect: &Effect, apart: bool, versions: usize) {
        let keys = keys(request);
        if !keys.is_empty() && keys.iter().all(|key| is_ours(&key.partition)) {
            return;
        }
        self.first.get_or_insert_with(|| request.clone());
        let before = versions.saturating_sub(usize::from(matches!(effect, Effect::Committed(_))));
        self.began.get_or_insert(before);
        self.apart |= apart;
        self.refused = matches!(effect, Effect::Refused(_));
    }

    /// Whether an act begins again although nothing has changed since it began: every further attempt would come to
    /// the same until another act changes something, and from then on it is as if the act had not begun before.
    fn is_vain(&mut self, pending: Option<&Request>, versions: usize) -> bool {
        if !self.refused || pending.is_none() || pending != self.first.as_ref() {
            return false;
        }
        let vain = !self.apart && self.began == Some(versions);
        *self = Attempt { first: self.first.take(), ..Attempt::default() };
        vain
    }
}

/// Why a search cannot go on.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Stuck(pub(crate) String);

/// Several acts on one table.
pub(crate) struct Machine<'l> {
    lab: &'l Lab,
    pub(crate) table: Table,
    /// The table at the beginning, and after each commit.
    pub(crate) versions: Vec<Table>,
    pub(crate) acting: Vec<Acting>,
    pub(crate) events: Vec<Event>,
    /// The steps that were taken.
    pub(crate) steps: Vec<Step>,
}

impl fmt::Debug for Machine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("events", &self.events).finish_non_exhaustive()
    }
}

impl<'l> Machine<'l> {
    /// Begins acts on a table. Each makes its own `new`, by its place among them and a seed.
    pub(crate) fn start(
        lab: &'l Lab,
        table: &Table,
        acts: &[Act],
        seed: u64,
    ) -> Result<Machine<'l>, Stuck> {
        let mut machine = Machine {
            lab,
            table: table.clone(),
            versions: vec![table.clone()],
            acting: Vec::with_capacity(acts.len()),
            events: Vec::new(),
            steps: Vec::new(),
        };
        for (act, seed) in acts.iter().zip(seed..) {
            let port = Arc::new(Port::default());
            let runtime = lab.runtime.beside(port.clone(), Arc::new(Fixed::new(act.now, seed)));
            let running: Running = Box::pin(act.clone().run(runtime));
            machine.acting.push(Acting {
                port,
                running: Some(running),
                pending: None,
                told: None,
                commits: 0,
                within_unit: false,
                since: 1,
                attempt: Attempt::default(),
            });
            machine.go_on(machine.acting.len().saturating_sub(1))?;
        }
        Ok(machine)
    }

    /// Whether all acts have ended.
    pub(crate) fn is_over(&self) -> bool {
        self.acting.iter().all(|acting| acting.told.is_some())
    }

    /// The request of an act that waits.
    pub(crate) fn pending(&self, who: usize) -> Option<&Request> {
        self.acting.get(who).and_then(|acting| acting.pending.as_ref())
    }

    /// Takes a step.
    pub(crate) fn step(&mut self, step: Step) -> Result<(), Stuck> {
        self.steps.push(step);
        match step {
            Step::Run(who) => {
                let request = self.take(who)?;
                let (answer, effect) = match self.table.read(&request) {
                    Some(answer) => (answer.clone(), read_effect(answer)),
                    None => self.write(who, &request),
                };
                self.settle(who, request, answer, effect, false)
            }
            Step::Stale { reader, version } => {
                let request = self.take(reader)?;
                let table = self.versions.get(version);
                let answer = table.and_then(|table| table.read(&request));
                let answer =
                    answer.ok_or_else(|| Stuck("a stale read reads nothing".to_owned()))?;
                let effect = read_effect(answer.clone());
                self.settle(reader, request, answer, effect, true)
            }
            Step::Tear { reader, writer, mask } => self.tear(reader, writer, mask),
            Step::Mix { reader, pick } => {
                let mixed = self.mixes(reader).into_iter().nth(pick);
                let request = self.take(reader)?;
                let answer = mixed.and_then(|table| table.read(&request));
                let answer =
                    answer.ok_or_else(|| Stuck("a mixed read reads nothing".to_owned()))?;
                let effect = read_effect(answer.clone());
                self.settle(reader, request, answer, effect, true)
            }
        }
    }

    /// The tables that a read of several keys may see beside those that there were: each item of any moment since the
    /// read began.
    pub(crate) fn mixes(&self, who: usize) -> Vec<Table> {
        let Some(acting) = self.acting.get(who) else { return Vec::new() };
        let Some(Request::BatchGet(batch)) = &acting.pending else { return Vec::new() };
        let versions: Vec<&Table> =
            self.versions.iter().skip(acting.since.saturating_sub(1)).collect();
        let mut all = vec![self.table.clone()];
        for key in &batch.keys {
            let mut items = vec![self.table.get(key)];
            for version in &versions {
                let item = version.get(key);
                if !items.contains(&item) {
                    items.push(item);
                }
            }
            let others = items.into_iter().skip(1);
            let with = |item: Option<&Arc<Item>>| {
                let item = item.cloned();
                all.iter().map(move |table| {
                    let mut table = table.clone();
                    table.set(key.clone(), item.clone());
                    table
                })
            };
            let more: Vec<Table> = others.flat_map(with).collect();
            all.extend(more);
            all.truncate(MIXES_MAX);
        }
        // What was so at one moment is seen by a read at that moment.
        let is_mixed = |table: &Table| {
            let is_of =
                |version: &&Table| batch.keys.iter().all(|key| version.get(key) == table.get(key));
            !versions.iter().any(is_of)
        };
        all.retain(is_mixed);
        all
    }

    fn tear(&mut self, reader: usize, writer: usize, mask: u32) -> Result<(), Stuck> {
        let (read, write) = (self.take(reader)?, self.take(writer)?);
        let mut mixed = self.table.clone();
        let met = met(&write, &read, &self.table);
        let (answer, effect) = self.write(writer, &write);
        for (at, key) in met.into_iter().enumerate() {
            if mask & (1 << at.min(31)) != 0 {
                let item = self.table.get(&key).cloned();
                mixed.set(key, item);
            }
        }
        self.settle(writer, write, answer, effect, false)?;
        let answer = mixed.read(&read);
        let answer = answer.ok_or_else(|| Stuck("a torn read reads nothing".to_owned()))?;
        let effect = read_effect(answer.clone());
        self.settle(reader, read, answer, effect, true)
    }

    fn take(&mut self, who: usize) -> Result<Request, Stuck> {
        let pending = self.acting.get_mut(who).and_then(|acting| acting.pending.take());
        pending.ok_or_else(|| Stuck("an act has no request to go on with".to_owned()))
    }

    /// Carries a write out.
    fn write(&mut self, who: usize, request: &Request) -> (Result<Answer, Error>, Effect) {
        let (answer, undone) = self.table.write(request);
        let effect = match &answer {
            Ok(_) => {
                self.versions.push(self.table.clone());
                if let Some(acting) = self.acting.get_mut(who) {
                    acting.commits += 1;
                }
                Effect::Committed(undone)
            }
            Err(Error::ConditionFailed(failed)) => Effect::Refused(failed.leg),
            Err(error) => Effect::Failed(error.clone()),
        };
        (answer, effect)
    }

    /// Answers a request, notes it, and lets its act go on to the next.
    fn settle(
        &mut self,
        who: usize,
        request: Request,
        answer: Result<Answer, Error>,
        effect: Effect,
        apart: bool,
    ) -> Result<(), Stuck> {
        if let Some(acting) = self.acting.get_mut(who) {
            acting.within_unit = !matches!(effect, Effect::Committed(_));
            acting.port.answer(answer);
            acting.attempt.note(&request, &effect, apart, self.versions.len());
        }
        self.events.push(Event { who, request, effect, apart });
        self.go_on(who)?;
        if let Some(acting) = self.acting.get_mut(who)
            && acting.attempt.is_vain(acting.pending.as_ref(), self.versions.len())
        {
            (acting.running, acting.pending, acting.told) = (None, None, Some(None));
        }
        Ok(())
    }

    /// Lets an act run until it asks something or ends.
    fn go_on(&mut self, who: usize) -> Result<(), Stuck> {
        let Some(acting) = self.acting.get_mut(who) else {
            return Err(Stuck("an act goes on that is not there".to_owned()));
        };
        let Some(running) = &mut acting.running else {
            return Err(Stuck("an act goes on that has ended".to_owned()));
        };
        let polled = {
            let _timers = self.lab.clock.enter();
            running.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        };
        if let Poll::Ready(told) = polled {
            (acting.told, acting.running) = (Some(told), None);
            return Ok(());
        }
        acting.pending = acting.port.take();
        acting.since = self.versions.len();
        match acting.pending {
            Some(_) => Ok(()),
            None => Err(Stuck("an act waits for something that is not a request".to_owned())),
        }
    }
}

fn read_effect(answer: Result<Answer, Error>) -> Effect {
    match answer {
        Ok(answer) => Effect::Read(answer),
        Err(error) => Effect::Failed(error),
    }
}
