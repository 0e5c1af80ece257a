//! Starts systems on their tables, with their queues.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use latchkey_embedded::{Progress, Store};
use latchkey_runtime::{Options, Outside, QueueInfo, Runtime, Source, System};

use crate::Failure;
use crate::arguments::{DataArguments, Queues};
use crate::aws::Sqs;
use crate::secret::Secret;
use crate::storage::Opened;

/// How the name of a FIFO queue of SQS ends.
const FIFO: &str = ".fifo";

/// Who works on queues in the data directory, for a table on DynamoDB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// This process only.
    Own,
    /// This process, with a test clock; it does not sweep the outbox.
    OwnByHand,
    /// The process that serves. What this process sends waits in the outbox.
    Others,
}

/// Systems that run.
pub(crate) struct Running {
    pub(crate) opened: Opened,
    pub(crate) runtimes: Vec<Runtime>,
    /// The store of the data directory, if it is open: for items and messages, or for messages only.
    pub(crate) local: Option<Arc<Store>>,
}

impl Running {
    /// Starts the systems of documents.
    pub(crate) async fn start(
        kept: &DataArguments,
        documents: &[PathBuf],
        systems: Vec<System>,
        source: &Arc<dyn Source>,
        reach: Reach,
    ) -> Result<Running, Failure> {
        let progress = Progress::default();
        Running::start_telling(kept, documents, systems, source, (reach, &progress)).await
    }

    /// The same, and shows meanwhile how far the store is.
    pub(crate) async fn start_telling(
        kept: &DataArguments,
        documents: &[PathBuf],
        systems: Vec<System>,
        source: &Arc<dyn Source>,
        (reach, progress): (Reach, &Progress),
    ) -> Result<Running, Failure> {
        let secret = Secret::find(&kept.data)?;
        kept.queues.refuse_alone()?;
        let on_disk =
            latchkey_embedded::Options { progress: progress.clone(), ..Default::default() };
        let opened = kept.storage.open_with(&kept.data, &on_disk).await?;
        let queued = systems.iter().any(|system| system.queues().next().is_some());
        let local = match &opened.local {
            Some(store) => Some(Arc::clone(store)),
            None if queued && !kept.queues.sqs && reach != Reach::Others => {
                let store = Store::open(&kept.data, &on_disk);
                Some(Arc::new(store.map_err(|error| {
                    Failure::Unusable(format!(
                        "{error}; messages are kept there: give this process another --data, or keep them on SQS with --sqs"
                    ))
                })?))
            }
            None => None,
        };
        let names = kept.queues.names(&systems)?;
        let sqs = match kept.queues.sqs && queued {
            true => Some(Sqs::connect(&kept.queues).await?),
            false => None,
        };
        let mut runtimes = Vec::new();
        for system in systems {
            let outside = match (&sqs, &opened.local, &local) {
                (Some(sqs), ..) => sqs.queues(&system, &names, source).await?,
                // The queues are in the same store as the items.
                (None, Some(_), _) => Vec::new(),
                (None, None, Some(store)) => {
                    let in_store = Outside::in_store(&system, store, source).await;
                    let mut queues = in_store.map_err(Failure::unusable)?;
                    if reach == Reach::OwnByHand {
                        queues.iter_mut().for_each(|queue| queue.ahead_ms = i64::MAX);
                    }
                    queues
                }
                (None, None, None) => Outside::elsewhere(&system),
            };
            let options =
                Options { cursor_secret: secret.for_cursors(), source: Arc::clone(source) };
            let (name, table) = (system.name().to_owned(), system.table().name.clone());
            let started = Runtime::start_with(system, opened.clone(), options, outside).await;
            let started =
                started.map_err(|error| kept.storage.refused(&error, documents, &name, &table))?;
            let rotated = secret.for_old_cursors();
            runtimes
                .push(rotated.fold(started, |runtime, old| runtime.with_old_cursor_secret(&old)));
        }
        Ok(Running { opened, runtimes, local })
    }
}

impl Running {
    /// Starts systems in memory. What they keep is gone when they stop.
    pub(crate) async fn in_memory(
        systems: Vec<System>,
        source: &Arc<dyn Source>,
        secret: &Secret,
    ) -> Result<Running, Failure> {
        let store = Store::in_memory(&latchkey_embedded::Options::default());
        let store = Arc::new(store.map_err(Failure::unusable)?);
        let mut runtimes = Vec::new();
        for system in systems {
            let options =
                Options { cursor_secret: secret.for_cursors(), source: Arc::clone(source) };
            let started =
                Runtime::start_with(system, Arc::clone(&store), options, Vec::new()).await;
            runtimes.push(started.map_err(Failure::unusable)?);
        }
        let shown = "in memory; all is gone when the server stops".to_owned();
        let opened = Opened { backend: store.clone(), local: Some(store), shown };
        // There is no data directory that another command could name.
        Ok(Running { opened, runtimes, local: None })
    }
}

/// The SQS queue of each queue, by its name in a document.
pub(crate) type Names<'a> = Vec<(&'a str, &'a str)>;

impl Queues {
    /// Refuses the flags of SQS without `--sqs`.
    fn refuse_alone(&self) -> Result<(), Failure> {
        let given = [
            ("--sqs-endpoint", self.sqs_endpoint.is_some()),
            ("--sqs-queue", !self.sqs_queues.is_empty()),
        ];
        match given.iter().find(|(_, given)| *given && !self.sqs) {
            None => Ok(()),
            Some((flag, _)) => {
                Err(Failure::Unusable(format!("`{flag}` is for SQS; add `--sqs`, or leave it out")))
            }
        }
    }

    /// The names that are given for queues on SQS.
    pub(crate) fn names(&self, systems: &[System]) -> Result<Names<'_>, Failure> {
        let all: Vec<&str> = systems.iter().flat_map(System::queues).map(|q| q.name).collect();
        let mut names: Names<'_> = Vec::new();
        for pair in &self.sqs_queues {
            let Some((queue, name)) = pair.split_once('=') else {
                return Err(Failure::Unusable(format!("`--sqs-queue {pair}` is not QUEUE=NAME")));
            };
            if !all.contains(&queue) {
                return Err(Failure::Unusable(format!(
                    "`--sqs-queue {pair}`: there is no queue `{queue}`; there are: {}",
                    all.join(", ")
                )));
            }
            if names.iter().any(|(other, _)| *other == queue) {
                return Err(Failure::Unusable(format!("`--sqs-queue` names `{queue}` twice")));
            }
            names.push((queue, name));
        }
        if self.sqs {
            let queues = systems.iter().flat_map(System::queues);
            let mut taken: Vec<Cow<'_, str>> = queues.map(|queue| on_sqs(&names, &queue)).collect();
            taken.sort_unstable();
            if let Some([twice, _]) = taken.windows(2).find(|pair| matches!(pair, [a, b] if a == b))
            {
                return Err(Failure::Unusable(format!(
                    "two queues would be `{twice}` on SQS; serve their systems apart, or name another with `--sqs-queue`"
                )));
            }
        }
        Ok(names)
    }
}

/// The name of a queue on SQS. By default an ordered queue is a FIFO queue.
pub(crate) fn on_sqs<'a>(names: &Names<'a>, queue: &QueueInfo<'a>) -> Cow<'a, str> {
    let named = names.iter().find(|(own, _)| *own == queue.name);
    match (named, queue.ordered_by) {
        (Some((_, name)), _) => Cow::Borrowed(name),
        (None, Some(_)) => Cow::Owned(format!("{}{FIFO}", queue.name)),
        (None, None) => Cow::Borrowed(queue.name),
    }
}

/// Refuses a standard queue of SQS for an ordered queue.
pub(crate) fn refuse_standard(queue: &QueueInfo<'_>, name: &str) -> Result<(), Failure> {
    match queue.ordered_by {
        Some(field) if !name.ends_with(FIFO) => Err(Failure::Unusable(format!(
            "the queue `{}` is ordered by `{field}`, and `{name}` is a standard queue of SQS, which keeps no order; \
             leave `--sqs-queue {}=…` out or name a queue that ends with `{FIFO}`, and run `latchkey queue create --sqs`",
            queue.name, queue.name
        ))),
        _ => Ok(()),
    }
}
