//! The one thread that writes.
//!
//! The thread takes every write that waits, tests and makes each on top of those before it, makes them durable with one
//! sync, shows the result to readers, and then answers all callers. A refusal waits for the sync too: it may rest on a
//! write of its own group that is not durable yet. A change of a whole table is a group by itself.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

use latchkey_table::{Capacity, Error, Schema, Tables, Wrote};
use tokio::sync::oneshot;

use crate::catalog::Catalog;
use crate::engine::{Engine, EngineError, Limits, OpenFailure, Snapshot, WriteFailure};
use crate::fold::Core;
use crate::map::Direct;
use crate::progress::Progress;
use crate::queue::{Taken, WriteQueue};
use crate::read::unavailable;
use crate::stamp::{Stamp, Stamps};
use crate::storage::Source;
use crate::write::{Write, carry_out};

/// Something for the writer to do, and whom to tell.
pub(crate) struct Job {
    pub(crate) task: Task,
    pub(crate) reply: Reply,
}

pub(crate) type Answer = Result<Wrote, Error>;
pub(crate) type Reply = oneshot::Sender<Answer>;

pub(crate) enum Task {
    Write(Write),
    Tables(TableChange),
}

/// A change of whole tables.
pub(crate) enum TableChange {
    Ensure(Arc<Schema>),
    Gather(Box<Tables>),
}

impl TableChange {
    /// The answer, if nothing has to be written for it.
    fn without_writing(
        &self,
        catalog: &Catalog,
        snapshot: &Snapshot,
    ) -> Result<Option<Result<Catalog, Error>>, EngineError> {
        match self {
            TableChange::Ensure(schema) => Ok(catalog.known(schema)),
            TableChange::Gather(tables) => {
                let gathered = !catalog.has_to_gather(snapshot, tables)?;
                Ok(gathered.then(|| Ok(catalog.clone())))
            }
        }
    }

    fn make(
        &self,
        catalog: &Catalog,
        direct: &mut Direct<'_>,
        progress: &Progress,
    ) -> Result<Result<Catalog, Error>, EngineError> {
        match self {
            TableChange::Ensure(schema) => catalog.ensure(direct, schema, progress),
            TableChange::Gather(tables) => catalog.gather(direct, tables, progress),
        }
    }
}

/// The items and tables of one commit.
pub(crate) struct Seen {
    pub(crate) snapshot: Snapshot,
    pub(crate) catalog: Arc<Catalog>,
}

/// What the writer shares with everyone else.
pub(crate) struct Shared {
    /// What readers see: all that is durable.
    view: RwLock<Arc<Seen>>,
    pub(crate) queue: WriteQueue<Job>,
    pub(crate) stamps: Stamps,
    pub(crate) core: Arc<Core>,
}

impl Shared {
    pub(crate) fn new(open: &Open, queue: WriteQueue<Job>) -> Shared {
        let (snapshot, catalog) = (open.engine.snapshot(), Arc::clone(&open.catalog));
        let view = RwLock::new(Arc::new(Seen { snapshot, catalog }));
        Shared { view, queue, stamps: Stamps::above(open.kept), core: open.engine.core() }
    }

    /// All that is durable.
    pub(crate) fn seen(&self) -> Arc<Seen> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Shows a snapshot, with new tables if they have changed.
    pub(crate) fn show(&self, snapshot: Snapshot, catalog: Option<Arc<Catalog>>) {
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        let catalog = catalog.unwrap_or_else(|| Arc::clone(&view.catalog));
        let old = std::mem::replace(&mut *view, Arc::new(Seen { snapshot, catalog }));
        drop(view);
        // Dropped outside the lock: it may be the last hold on much memory.
        drop(old);
    }
}

/// The writer's own state.
pub(crate) struct Writer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) open: Open,
    pub(crate) progress: Progress,
}

/// An open store and its tables.
pub(crate) struct Open {
    pub(crate) engine: Engine,
    catalog: Arc<Catalog>,
    /// The stamp that was kept last.
    kept: Stamp,
    /// Whether the tables must be read again, because it is not known which were made.
    stale: bool,
}

impl Open {
    /// Opens the store and reads its catalog.
    pub(crate) fn new(
        source: Source,
        cache_bytes: usize,
        limits: Limits,
        progress: &Progress,
    ) -> Result<Open, OpenFailure> {
        let engine = Engine::open(source, cache_bytes, limits, progress)?;
        let catalog = Arc::new(Catalog::load(&engine)?);
        let kept = Stamp::load(&engine)?;
        Ok(Open { engine, catalog, kept, stale: false })
    }
}

impl Writer {
    /// Writes until the queue is closed and empty.
    pub(crate) fn run(mut self) {
        // If the thread panics, every caller that waits gets an error.
        let _guard = CloseOnDrop(Arc::clone(&self.shared));
        let shared = Arc::clone(&self.shared);
        let show = |snapshot| shared.show(snapshot, None);
        let mut jobs = Vec::new();
        let mut buffer = Vec::new();
        loop {
            match self.shared.queue.take(&mut jobs, self.open.engine.next_tick()) {
                Taken::Jobs => self.work(&mut jobs, &mut buffer, &show),
                Taken::None => self.open.engine.tick(&show),
                Taken::Closed => return self.open.engine.close(&show),
            }
        }
    }

    fn work(&mut self, jobs: &mut Vec<Job>, buffer: &mut Vec<u8>, show: &dyn Fn(Snapshot)) {
        let mut writes = VecDeque::new();
        for Job { task, reply } in jobs.drain(..) {
            let change = match task {
                Task::Write(write) => {
                    writes.push_back((write, reply));
                    continue;
                }
                Task::Tables(change) => change,
            };
            self.write_all(&mut writes, buffer, show);
            let answer = self.change_tables(&change);
            // The caller may have gone.
            drop(reply.send(answer));
        }
        self.write_all(&mut writes, buffer, show);
    }

    /// Makes writes durable, as many at a time as a group takes.
    fn write_all(
        &mut self,
        writes: &mut VecDeque<(Write, Reply)>,
        buffer: &mut Vec<u8>,
        show: &dyn Fn(Snapshot),
    ) {
        while !writes.is_empty() {
            self.group(writes, buffer, show);
        }
    }

    fn group(
        &mut self,
        writes: &mut VecDeque<(Write, Reply)>,
        buffer: &mut Vec<u8>,
        show: &dyn Fn(Snapshot),
    ) {
        let Open { engine, catalog, kept, .. } = &mut self.open;
        let (mut replies, mut answers) = (Vec::with_capacity(writes.len()), Vec::new());
        let mut last = *kept;
        let written = engine.write(
            |group| {
                while !group.is_full()
                    && let Some((write, reply)) = writes.pop_front()
                {
                    replies.push(reply);
                    answers.push(carry_out(write, catalog, group, buffer)?);
                }
                // Not below that of any write of the group: each was given before its write was handed in.
                last = self.shared.stamps.last();
                if last != *kept && answers.iter().any(Result::is_ok) {
                    last.keep(group)?;
                }
                Ok(())
            },
            show,
        );
        match written {
            Ok(()) => {
                if answers.iter().any(Result::is_ok) {
                    *kept = last;
                }
                // The caller may have gone.
                replies
                    .into_iter()
                    .zip(answers)
                    .for_each(|(reply, answer)| drop(reply.send(answer)));
            }
            Err(failure) => {
                // Nothing was taken from those behind it, but what failed once would fail for each of them.
                replies.extend(writes.drain(..).map(|(_, reply)| reply));
                fail(&failure, replies, &answers);
            }
        }
    }

    /// Makes a table, gives it other indexes, or moves items from one to another.
    fn change_tables(&mut self, change: &TableChange) -> Answer {
        let Open { engine, catalog, stale, .. } = &mut self.open;
        if *stale {
            *catalog = Arc::new(Catalog::load(engine).map_err(unavailable)?);
            self.shared.show(engine.snapshot(), Some(Arc::clone(catalog)));
            *stale = false;
        }
        let unchanged = change.without_writing(catalog, &engine.snapshot()).map_err(unavailable)?;
        let changed = match unchanged {
            Some(answer) => answer?,
            None => {
                let show = |snapshot| self.shared.show(snapshot, None);
                let progress = &self.progress;
                let make = |direct: &mut Direct<'_>| change.make(catalog, direct, progress);
                let made = engine.restructure(make, &show);
                progress.end();
                made.map_err(|failure| match failure {
                    WriteFailure::Aborted(error) => unavailable(error),
                    WriteFailure::Refused(why) => Error::ReadOnly { why },
                    WriteFailure::InDoubt(error) => {
                        *stale = true;
                        Error::OutcomeUnknown { reason: error.text }
                    }
                })??
            }
        };
        *catalog = Arc::new(changed);
        self.shared.show(engine.snapshot(), Some(Arc::clone(catalog)));
        Ok(Wrote { item: None, capacity: Capacity::ZERO })
    }
}

/// Answers every caller whose group failed.
fn fail(failure: &WriteFailure, replies: Vec<Reply>, answers: &[Answer]) {
    for (at, reply) in replies.into_iter().enumerate() {
        // A refusal changed nothing, whatever became of the group.
        let made = matches!(answers.get(at), Some(Ok(_)));
        let answer = match failure {
            WriteFailure::InDoubt(error) if made => {
                Error::OutcomeUnknown { reason: error.text.clone() }
            }
            WriteFailure::InDoubt(error) | WriteFailure::Aborted(error) => {
                unavailable(error.clone())
            }
            WriteFailure::Refused(why) => Error::ReadOnly { why: *why },
        };
        drop(reply.send(Err(answer)));
    }
}

struct CloseOnDrop(Arc<Shared>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.queue.close();
        self.0.queue.clear();
    }
}
