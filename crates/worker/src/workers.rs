//! Receiving messages and handling them, so many at once.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use latchkey_queue::{Error, Queue, Received, Sqs, runs};
use latchkey_runtime::Handled;
use latchkey_table::Error as TableError;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::sleep;

use crate::meter::{Held, Meter};
use crate::{Meters, relay};

/// How long one look for messages waits. SQS could wait for 20 seconds; but whoever stops waits for the answer.
const RECEIVE_WAIT: Duration = Duration::from_secs(5);

/// The waits after a queue could not be asked; they double from the first to the last.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// The most messages of one look.
const RECEIVE_MAX: usize = 32;

/// How long the answer of SQS is waited for, once told to stop: as long as one request may take. Messages it has handed
/// out to someone who does not listen any more are held for a whole lease.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// How long it may take to finish, once told to stop.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(15);

/// How to work.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// How many messages of a queue are worked on at once.
    pub at_once: usize,
    /// How often each message is handled that is received: more than once is for tests, which see that
    /// nothing else comes of it.
    pub deliveries: usize,
}

/// Workers on every queue of some runtimes.
#[derive(Debug)]
pub struct Workers {
    meters: Arc<Meters>,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Workers {
    /// Begins to work. What a dead process of this store held is free again: at once, or else as soon as the store takes
    /// writes.
    pub async fn start(meters: &Arc<Meters>, settings: Settings) -> Result<Workers, Error> {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        for meter in meters.queues() {
            let queue = meter.queue().queue();
            let line = Line { meter: Arc::clone(meter), settings };
            let recovered = line.recover(queue).await?;
            if !meter.queue().has_worker() {
                if !recovered {
                    tasks.spawn(line.only_recover(queue.clone(), stopped.clone()));
                }
                continue;
            }
            if let Queue::Sqs(sqs) = queue
                && sqs.has_dead_queue()
            {
                tasks.spawn(line.clone().bury(sqs.clone(), stopped.clone()));
            }
            tasks.spawn(line.begin(queue.clone(), recovered, stopped.clone()));
        }
        for meter in meters.queues() {
            tasks.spawn(relay::sweep(Arc::clone(meter), stopped.clone()));
        }
        Ok(Workers { meters: Arc::clone(meters), stop, tasks })
    }

    /// Takes no more messages, and waits until those at hand are finished, but not forever. What is not
    /// finished comes again when its lease is over.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN_TIME_MAX, all).await.is_err() {
            let count: u64 = self.meters.queues().iter().map(|meter| meter.held()).sum();
            tracing::warn!(
                count,
                "messages are left half-way; they come again when their leases are over"
            );
        }
    }
}

/// One queue and who works through it.
#[derive(Debug, Clone)]
struct Line {
    meter: Arc<Meter>,
    settings: Settings,
}

impl Line {
    /// Ends the leases of a dead process. False if the store takes no writes now.
    async fn recover(&self, queue: &Queue) -> Result<bool, Error> {
        let Queue::Embedded(embedded) = queue else { return Ok(true) };
        match embedded.recover().await {
            Ok(_) => Ok(true),
            Err(Error::Store(
                error @ (TableError::ReadOnly { .. }
                | TableError::Unavailable { .. }
                | TableError::OutcomeUnknown { .. }),
            )) => {
                let queue = self.name();
                tracing::warn!(
                    %queue,
                    %error,
                    "messages that a dead process held are not free yet, and none is received; tried again until the \
                     store takes writes"
                );
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// The same, again and again until it is done. False if it is told to stop before.
    async fn recover_later(self, queue: Queue, mut stop: watch::Receiver<bool>) -> bool {
        let Queue::Embedded(embedded) = &queue else { return true };
        let mut pause = PAUSE_MIN;
        while !*stop.borrow() {
            tokio::select! {
                () = sleep(pause) => {}
                _ = stop.changed() => return false,
            }
            // Why not was said when it was tried first.
            if embedded.recover().await.is_ok() {
                let queue = self.name();
                tracing::info!(%queue, "messages that a dead process held are free");
                return true;
            }
            pause = pause.saturating_mul(2).min(PAUSE_MAX);
        }
        false
    }

    /// Ends the leases of a dead process on a queue that nobody works through here.
    async fn only_recover(self, queue: Queue, stop: watch::Receiver<bool>) {
        self.recover_later(queue, stop).await;
    }

    /// Works through the queue once no lease of a dead process is left, which is never ended afterwards: it would look
    /// like one of this process.
    async fn begin(self, queue: Queue, recovered: bool, stop: watch::Receiver<bool>) {
        if recovered || self.clone().recover_later(queue.clone(), stop.clone()).await {
            self.work(queue, stop).await;
        }
    }

    /// Works through the queue until it is told to stop.
    async fn work(self, queue: Queue, mut stop: watch::Receiver<bool>) {
        let free = Arc::new(Semaphore::new(self.settings.at_once.max(1)));
        let mut handling = JoinSet::new();
        let mut pause = PAUSE_MIN;
        while !*stop.borrow() {
            while let Some(ended) = handling.try_join_next() {
                self.ended(ended);
            }
            let permits = unless_stopped(permits(&free), &mut stop, Duration::ZERO).await;
            let mut permits = match permits {
                Some(Ok(permits)) => permits,
                None => break,
                Some(Err(closed)) => {
                    self.meter
                        .runtime
                        .faults()
                        .report(&format!("no messages are received: {closed}"));
                    break;
                }
            };
            let asked = queue.receive(permits.num_permits(), RECEIVE_WAIT);
            // What the embedded queue leases as nobody listens is settled below.
            let received = match queue {
                Queue::Sqs(_) => self.answer(asked, &mut stop).await,
                Queue::Embedded(_) | Queue::Elsewhere => {
                    unless_stopped(asked, &mut stop, Duration::ZERO).await
                }
            };
            let Some(received) = received else { break };
            match received {
                Ok(messages) if *stop.borrow() => {
                    let _held = Held::new(&self.meter, messages.len());
                    queue.release(messages).await;
                }
                Ok(messages) => {
                    pause = PAUSE_MIN;
                    for run in runs(messages) {
                        let held = Held::new(&self.meter, run.len());
                        let permit = permits.split(1);
                        let line = self.clone();
                        handling.spawn(line.handle_run(run, held, stop.clone(), permit));
                    }
                }
                Err(error) => {
                    let queue = self.name();
                    tracing::warn!(%queue, %error, "no messages could be received");
                    tokio::select! {
                        () = sleep(pause) => {}
                        _ = stop.changed() => break,
                    }
                    pause = pause.saturating_mul(2).min(PAUSE_MAX);
                }
            }
        }
        while let Some(ended) = handling.join_next().await {
            self.ended(ended);
        }
        // What was leased as this left is not held for a whole lease.
        if let Queue::Embedded(queue) = &queue {
            queue.settled().await;
        }
    }

    /// Gives up what SQS has given up by itself, until it is told to stop.
    async fn bury(self, queue: Box<Sqs>, mut stop: watch::Receiver<bool>) {
        let (meter, settled) = (&self.meter, self.meter.queue());
        while !*stop.borrow() {
            let asked = queue.receive_dead(RECEIVE_MAX, RECEIVE_WAIT);
            let Some(received) = self.answer(asked, &mut stop).await else { return };
            let received = match received {
                Ok(received) => received,
                Err(error) => {
                    let queue = self.name();
                    tracing::warn!(%queue, %error, "no dead letters could be received");
                    tokio::select! {
                        () = sleep(PAUSE_MAX) => continue,
                        _ = stop.changed() => return,
                    }
                }
            };
            let held = Held::new(meter, received.len());
            let mut received = received.into_iter();
            while let Some(message) = received.next() {
                if *stop.borrow() {
                    return queue.release([message].into_iter().chain(received).collect()).await;
                }
                let (started, _in_flight) = (Instant::now(), meter.start());
                meter.received(message.tries);
                match settled.give_up(&message).await {
                    Ok(handled) => meter.record(&handled, started.elapsed()),
                    Err(error) => {
                        let queue = self.name();
                        tracing::warn!(%queue, %error, "a message could not be given up yet");
                    }
                }
                held.one_ended();
            }
        }
    }

    /// The answer of SQS, which is waited for also when it is told to stop: messages that SQS hands out to nobody are
    /// held for a whole lease. Nothing if none comes in time.
    async fn answer<T>(
        &self,
        asked: impl Future<Output = T>,
        stop: &mut watch::Receiver<bool>,
    ) -> Option<T> {
        let answer = unless_stopped(asked, stop, ANSWER_TIME_MAX).await;
        if answer.is_none() {
            self.meter.unanswered();
            let queue = self.name();
            tracing::warn!(
                %queue,
                "SQS has not answered a request for messages; those it hands out for it come again when their leases \
                 are over"
            );
        }
        answer
    }

    /// Works on the messages of a group one after the other. Where one is not over, those behind it are given
    /// back; so they are when it is told to stop.
    async fn handle_run(
        self,
        run: Vec<Received>,
        held: Held,
        stop: watch::Receiver<bool>,
        _permit: Option<OwnedSemaphorePermit>,
    ) {
        let (meter, queue) = (&self.meter, self.meter.queue());
        if self.settings.deliveries > 1 {
            return self.handle_copies(queue.queue(), run, &stop).await;
        }
        let _in_flight = meter.start();
        let report = |received: &Received, handled, took| {
            record(meter, received, handled, took);
            held.one_ended();
            !*stop.borrow()
        };
        queue.handle_run(run, report).await;
    }

    /// The same, with several copies of each message at once.
    async fn handle_copies(&self, queue: &Queue, run: Vec<Received>, stop: &watch::Receiver<bool>) {
        let mut run = run.into_iter();
        while let Some(received) = run.next() {
            let mut copies = JoinSet::new();
            for _ in 0..self.settings.deliveries {
                let (line, received) = (self.clone(), received.clone());
                copies.spawn(async move { line.handle_once(&received).await });
            }
            let mut over = false;
            while let Some(copy) = copies.join_next().await {
                over |= self.ended(copy) == Some(true);
            }
            if (!over || *stop.borrow()) && run.len() > 0 {
                return queue.release(run.collect()).await;
            }
        }
    }

    async fn handle_once(&self, received: &Received) -> bool {
        let (started, _in_flight) = (Instant::now(), self.meter.start());
        let handled = self.meter.queue().handle(received).await;
        record(&self.meter, received, handled, started.elapsed())
    }

    /// The result of a task. A task that panicked is a bug; its message comes again when the lease is over.
    fn ended<T>(&self, task: Result<T, JoinError>) -> Option<T> {
        let bug = |error: &JoinError| self.meter.runtime.faults().report(&error.to_string());
        task.inspect_err(bug).ok()
    }

    fn name(&self) -> &str {
        &self.meter.name
    }
}

/// Counts what became of a message, and says whether it is over.
fn record(
    meter: &Meter,
    received: &Received,
    handled: Result<Handled, Error>,
    took: Duration,
) -> bool {
    meter.received(received.tries);
    let (queue, id) = (&meter.name, received.message.id());
    match handled {
        Ok(handled) => {
            if handled.dead && !handled.stale {
                tracing::warn!(%queue, %id, "a message was given up");
            }
            meter.record(&handled, took);
            handled.over
        }
        Err(error) => {
            tracing::warn!(%queue, %id, %error, "the queue was not told what became of a message");
            false
        }
    }
}

/// Waits until something can be worked on, and says how much.
async fn permits(free: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, AcquireError> {
    let mut permits = Arc::clone(free).acquire_owned().await?;
    let more = free.available_permits().min(RECEIVE_MAX - 1);
    if let Ok(more) = Arc::clone(free).try_acquire_many_owned(u32::try_from(more).unwrap_or(0)) {
        permits.merge(more);
    }
    Ok(permits)
}

/// The answer, or nothing if it is told to stop and none has come soon after.
async fn unless_stopped<T>(
    asked: impl Future<Output = T>,
    stop: &mut watch::Receiver<bool>,
    grace: Duration,
) -> Option<T> {
    let mut asked = pin!(asked);
    tokio::select! {
        answer = &mut asked => return Some(answer),
        // The stop signal came, or its sender was dropped.
        _ = stop.changed() => {}
    }
    tokio::time::timeout(grace, asked).await.ok()
}
