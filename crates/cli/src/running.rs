//! Systems that run: on their tables, with their queues, wherever both are.

use std::path::PathBuf;
use std::sync::Arc;

use latchkey_embedded::Store;
use latchkey_runtime::queue::{Clock, Error, Queue, SqsOptions, SqsService};
use latchkey_runtime::{Backend, Options, Outside, Runtime, Source, System};

use crate::Failure;
use crate::arguments::{Kept, Queues};
use crate::secret::Secret;
use crate::storage::{bare, is_address};

/// Who may use queues that are in the data directory, beside a table elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// This process, and nobody else meanwhile.
    Own,
    /// This process, which moves time by hand and sweeps nothing.
    OwnByHand,
    /// Whoever serves; what this process sends waits in the outbox.
    Others,
}

/// Systems that run.
pub(crate) struct Running {
    pub(crate) backend: Backend,
    pub(crate) runtimes: Vec<Runtime>,
    /// The store of the data directory, if it is open: of items, or of messages alone.
    pub(crate) local: Option<Arc<Store>>,
}

impl Running {
    /// Starts the systems of documents.
    pub(crate) async fn start(
        kept: &Kept,
        documents: &[PathBuf],
        systems: Vec<System>,
        source: &Arc<dyn Source>,
        reach: Reach,
    ) -> Result<Running, Failure> {
        let secret = Secret::find(&kept.data)?;
        kept.queues.refuse_alone()?;
        let backend = kept.storage.open(&kept.data).await?;
        let queued = systems.iter().any(|system| system.queues().next().is_some());
        let local = match &backend {
            Backend::Embedded(store) => Some(Arc::clone(store)),
            Backend::DynamoDb(_) if queued && !kept.queues.sqs && reach != Reach::Others => {
                let store = Store::open(&kept.data, &latchkey_embedded::Options::default());
                Some(Arc::new(store.map_err(|error| {
                    Failure::Unusable(format!(
                        "{error}; messages are kept there: give this process another --data, or keep them on SQS with --sqs"
                    ))
                })?))
            }
            Backend::DynamoDb(_) => None,
        };
        let names = kept.queues.names(&systems)?;
        let sqs = match kept.queues.sqs && queued {
            true => Some(kept.queues.connect().await?),
            false => None,
        };
        let mut runtimes = Vec::new();
        for system in systems {
            let outside = match (&sqs, &backend, &local) {
                (Some(sqs), ..) => kept.queues.find(sqs, &system, &names, source).await?,
                (None, Backend::DynamoDb(_), Some(store)) => {
                    let in_store = Outside::in_store(&system, store, source).await;
                    let mut queues = in_store.map_err(Failure::unusable)?;
                    if reach == Reach::OwnByHand {
                        queues.iter_mut().for_each(|queue| queue.ahead_ms = i64::MAX);
                    }
                    queues
                }
                (None, Backend::DynamoDb(_), None) => Outside::elsewhere(&system),
                (None, Backend::Embedded(_), _) => Vec::new(),
            };
            let options =
                Options { cursor_secret: secret.for_cursors(), source: Arc::clone(source) };
            let (name, table) = (system.name().to_owned(), system.table().name.clone());
            let started = Runtime::start_with(system, backend.clone(), options, outside).await;
            runtimes.push(
                started.map_err(|error| kept.storage.refused(&error, documents, &name, &table))?,
            );
        }
        Ok(Running { backend, runtimes, local })
    }
}

/// The SQS queue of each queue, by its name in a document.
type Names<'a> = Vec<(&'a str, &'a str)>;

impl Queues {
    /// Flags of SQS are for SQS.
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
            let mut taken: Vec<&str> = all.iter().map(|queue| on_sqs(&names, queue)).collect();
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

    /// Finds SQS, or what speaks its protocol.
    pub(crate) async fn connect(&self) -> Result<SqsService, Failure> {
        if let Some(endpoint) = self.sqs_endpoint.as_deref().filter(|url| !is_address(url)) {
            return Err(Failure::Unusable(format!(
                "the endpoint `{}` is no address such as http://127.0.0.1:5000",
                bare(endpoint)
            )));
        }
        Ok(SqsService::connect(self.sqs_endpoint.as_deref()).await)
    }

    /// The queues of a system on SQS.
    async fn find(
        &self,
        sqs: &SqsService,
        system: &System,
        names: &Names<'_>,
        source: &Arc<dyn Source>,
    ) -> Result<Vec<Outside>, Failure> {
        let mut found = Vec::new();
        for queue in system.queues() {
            let source = Arc::clone(source);
            let clock = Clock::new(move || source.now());
            let options = SqsOptions { lease_ms: queue.lease_ms, group: None };
            let name = on_sqs(names, queue.name);
            let opened = sqs.queue(name, options, clock).await;
            let opened = opened.map_err(|error| match error {
                Error::Refused { reason } => Failure::Unusable(format!(
                    "SQS has no queue `{name}` for us: {reason}; `latchkey queue create --sqs` makes it"
                )),
                error => Failure::Unusable(format!("SQS: {error}")),
            })?;
            found.push(Outside::new(queue.name, Queue::Sqs(Box::new(opened))));
        }
        Ok(found)
    }
}

/// The name of a queue on SQS.
pub(crate) fn on_sqs<'a>(names: &Names<'a>, queue: &'a str) -> &'a str {
    names.iter().find(|(own, _)| *own == queue).map_or(queue, |(_, name)| name)
}
