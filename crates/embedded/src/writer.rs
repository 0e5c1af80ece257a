//! The one thread that writes.
//!
//! The thread takes every write that waits, tests and makes each on top of those before it, commits them with one sync,
//! shows the result to readers, and then answers all callers. A refusal waits for the commit too: it may rest on a
//! write of its own group that is not durable yet.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use latchkey_table::{Capacity, Error, Schema, Tables, Wrote};
use tokio::sync::oneshot;

use crate::catalog::Catalog;
use crate::engine::{Engine, EngineError, Group, OpenFailure, Snapshot, Source, WriteFailure};
use crate::queue::{Taken, WriteQueue};
use crate::read::unavailable;
use crate::stamp::{Stamp, Stamps};
use crate::write::{Write, carry_out};

/// How long a store that failed waits before it tries to open again.
const REOPEN_PAUSE: Duration = Duration::from_millis(500);

/// Something for the writer to do, and whom to tell.
pub(crate) struct Job {
    pub(crate) task: Task,
    pub(crate) reply: Reply,
}

pub(crate) type Answer = Result<Wrote, Error>;
pub(crate) type Reply = oneshot::Sender<Answer>;

pub(crate) enum Task {
    Write(Write),
    Ensure(Arc<Schema>),
    Gather(Box<Tables>),
}

/// What readers see: the last commit, or why there is none to see.
pub(crate) type View = Result<Arc<Seen>, Error>;

/// The items and tables of one commit.
pub(crate) struct Seen {
    pub(crate) snapshot: Snapshot,
    pub(crate) catalog: Arc<Catalog>,
}

/// What the writer shares with everyone else.
pub(crate) struct Shared {
    pub(crate) view: RwLock<View>,
    pub(crate) queue: WriteQueue<Job>,
    pub(crate) stamps: Stamps,
}

/// The writer's own state.
pub(crate) struct Writer {
    pub(crate) source: Source,
    pub(crate) cache_bytes: usize,
    pub(crate) shared: Arc<Shared>,
    /// `None` after a failure, until the store opens again.
    pub(crate) open: Option<Open>,
}

/// An open map and its tables.
pub(crate) struct Open {
    engine: Engine,
    catalog: Arc<Catalog>,
    /// The stamp that was kept last.
    kept: Stamp,
}

impl Open {
    /// Opens the map and reads its catalog.
    pub(crate) fn new(source: &Source, cache_bytes: usize) -> Result<Open, OpenFailure> {
        let engine = Engine::open(source, cache_bytes)?;
        let catalog = Arc::new(Catalog::load(&engine)?);
        let kept = Stamp::load(&engine)?;
        Ok(Open { engine, catalog, kept })
    }

    /// The stamps of the store, which go on where they were.
    pub(crate) fn stamps(&self) -> Stamps {
        Stamps::above(self.kept)
    }

    /// The last commit, for readers.
    pub(crate) fn seen(&self) -> Result<Arc<Seen>, EngineError> {
        let snapshot = self.engine.snapshot()?;
        Ok(Arc::new(Seen { snapshot, catalog: Arc::clone(&self.catalog) }))
    }
}

impl Writer {
    /// Writes until the queue is closed and empty.
    pub(crate) fn run(mut self) {
        // If the thread panics, every caller that waits gets an error.
        let _guard = CloseOnDrop(Arc::clone(&self.shared));
        let mut jobs = Vec::new();
        let mut buffer = Vec::new();
        loop {
            let timeout = if self.open.is_some() { None } else { Some(REOPEN_PAUSE) };
            match self.shared.queue.take(&mut jobs, timeout) {
                Taken::Jobs => self.group(&mut jobs, &mut buffer),
                Taken::None => self.reopen(),
                Taken::Closed => return,
            }
        }
    }

    fn group(&mut self, jobs: &mut Vec<Job>, buffer: &mut Vec<u8>) {
        let Some(open) = &mut self.open else {
            let error = EngineError("it failed and has not opened again".to_owned());
            for job in jobs.drain(..) {
                drop(job.reply.send(Err(unavailable(error.clone()))));
            }
            return;
        };
        let mut catalog = Arc::clone(&open.catalog);
        let (tasks, replies): (Vec<_>, Vec<_>) =
            jobs.drain(..).map(|job| (job.task, job.reply)).unzip();
        let mut answers = Vec::with_capacity(replies.len());
        let written = open.engine.write(|group| {
            for task in tasks {
                answers.push(work(task, &mut catalog, group, buffer)?);
            }
            // Not below that of any write of the group: each was given before its write was handed in.
            let last = self.shared.stamps.last();
            if last != open.kept && answers.iter().any(Result::is_ok) {
                last.keep(group)?;
                open.kept = last;
            }
            Ok(())
        });
        let seen = written.and_then(|()| {
            open.catalog = catalog;
            open.seen().map_err(WriteFailure::InDoubt)
        });
        match seen {
            Ok(seen) => {
                self.publish(Ok(seen));
                // The caller may have gone.
                replies
                    .into_iter()
                    .zip(answers)
                    .for_each(|(reply, answer)| drop(reply.send(answer)));
            }
            Err(failure) => self.fail(failure, replies, &answers),
        }
    }

    /// Opens the store again, and answers every caller that the group failed. After an error of its storage, redb
    /// refuses all further requests.
    fn fail(&mut self, failure: WriteFailure, replies: Vec<Reply>, answers: &[Answer]) {
        let (error, in_doubt) = match failure {
            WriteFailure::Aborted(error) => (error, false),
            WriteFailure::InDoubt(error) => (error, true),
        };
        self.publish(Err(unavailable(error.clone())));
        self.open = None;
        self.reopen();
        for (at, reply) in replies.into_iter().enumerate() {
            // A refusal changed nothing, whatever became of the commit.
            let answer = match answers.get(at) {
                Some(Ok(_)) if in_doubt => Error::OutcomeUnknown { reason: error.0.clone() },
                _ => unavailable(error.clone()),
            };
            drop(reply.send(Err(answer)));
        }
    }

    fn reopen(&mut self) {
        let opened = Open::new(&self.source, self.cache_bytes);
        let view = match opened {
            Ok(open) => {
                let seen = open.seen();
                self.open = seen.is_ok().then_some(open);
                seen.map_err(unavailable)
            }
            Err(OpenFailure::Unusable(error)) => Err(unavailable(error)),
            Err(OpenFailure::Newer { found }) => {
                Err(unavailable(EngineError(format!("its format is now {found}"))))
            }
        };
        self.publish(view);
    }

    fn publish(&self, view: View) {
        let mut shown = self.shared.view.write().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *shown, view);
        drop(shown);
        // Dropped outside the lock: it may be the last hold on many pages.
        drop(old);
    }
}

fn work(
    task: Task,
    catalog: &mut Arc<Catalog>,
    group: &mut Group<'_>,
    buffer: &mut Vec<u8>,
) -> Result<Answer, EngineError> {
    let ensured = match task {
        Task::Write(write) => return carry_out(write, catalog, group, buffer),
        Task::Ensure(schema) => catalog.ensure(group, &schema)?,
        Task::Gather(tables) => catalog.gather(group, &tables)?,
    };
    Ok(ensured.map(|ensured| {
        *catalog = Arc::new(ensured);
        Wrote { item: None, capacity: Capacity::ZERO }
    }))
}

struct CloseOnDrop(Arc<Shared>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.queue.close();
        self.0.queue.clear();
    }
}
