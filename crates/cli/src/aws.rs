//! Reaching AWS: DynamoDB and SQS. A build without the feature `aws` has `no_aws.rs` in this place.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use hyper::Uri;
use latchkey_dynamodb::{DynamoDb, Settings, TableError};
use latchkey_queue::{Clock, Error, Queue, SqsOptions, SqsService};
use latchkey_runtime::{Outside, Source, System};

use crate::Failure;
use crate::arguments::{Queues, Remote};
use crate::running::{Names, on_sqs, refuse_standard};
use crate::storage::{Opened, bare};

/// How long it may take to find region and credentials.
const FIND_TIME_MAX: Duration = Duration::from_secs(10);

/// Opens DynamoDB, or a service with its protocol.
pub(crate) async fn open(remote: &Remote) -> Result<Opened, Failure> {
    let service = remote.connect().await?;
    let shown = match service.region() {
        Some(region) if remote.endpoint().is_none() => format!("{} in {region}", remote.told()),
        _ => remote.told(),
    };
    Ok(Opened { backend: Arc::new(service), local: None, shown })
}

/// What to do about an error of a table. `arguments` are those of `latchkey table` for this table.
pub(crate) fn advice(
    error: &(dyn StdError + Send + Sync + 'static),
    arguments: &str,
) -> Option<String> {
    error.downcast_ref::<TableError>().and_then(|error| error.advice(arguments))
}

impl Remote {
    /// Connects to DynamoDB, or to a service with its protocol.
    pub(crate) async fn connect(&self) -> Result<DynamoDb, Failure> {
        if let Some(endpoint) = self.endpoint().filter(|endpoint| !is_address(endpoint)) {
            return Err(Failure::Unusable(format!(
                "the endpoint `{}` is not an address such as http://127.0.0.1:8000",
                bare(&endpoint)
            )));
        }
        let settings = Settings { endpoint: self.endpoint.clone() };
        let found = tokio::time::timeout(FIND_TIME_MAX, DynamoDb::connect(&settings)).await;
        found.map_err(|_| {
            Failure::unusable(
                "no region was found in time; set AWS_REGION, or choose an AWS_PROFILE",
            )
        })
    }
}

/// SQS, or a service with its protocol.
pub(crate) struct Sqs(SqsService);

impl Sqs {
    /// Connects to SQS.
    pub(crate) async fn connect(queues: &Queues) -> Result<Sqs, Failure> {
        if let Some(endpoint) = queues.sqs_endpoint.as_deref().filter(|url| !is_address(url)) {
            return Err(Failure::Unusable(format!(
                "the endpoint `{}` is not an address such as http://127.0.0.1:5000",
                bare(endpoint)
            )));
        }
        Ok(Sqs(SqsService::connect(queues.sqs_endpoint.as_deref()).await))
    }

    /// The queues of a system.
    pub(crate) async fn queues(
        &self,
        system: &System,
        names: &Names<'_>,
        source: &Arc<dyn Source>,
    ) -> Result<Vec<Outside>, Failure> {
        let mut found = Vec::new();
        for queue in system.queues() {
            let source = Arc::clone(source);
            let clock = Clock::new(move || source.now());
            let group = queue.ordered_by.map(Into::into);
            let options = SqsOptions { lease_ms: queue.lease_ms, group };
            let name = &on_sqs(names, &queue);
            refuse_standard(&queue, name)?;
            let opened = self.0.queue(name, options, clock).await;
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

    /// Makes a queue. An existing queue is not changed.
    pub(crate) async fn create(
        &self,
        name: &str,
        lease_ms: u32,
        tries: u32,
    ) -> Result<(), Failure> {
        let made = self.0.create(name, lease_ms, tries).await;
        made.map_err(|error| Failure::Unusable(format!("SQS: `{name}`: {error}")))
    }
}

fn is_address(endpoint: &str) -> bool {
    endpoint.parse::<Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| !host.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::is_address;

    #[test]
    fn endpoints_are_addresses() {
        assert!(is_address("http://127.0.0.1:8000") && is_address("https://here/there"));
        for none in ["", "127.0.0.1:8000", "ftp://here", "http://", "http://a b", "/here"] {
            assert!(!is_address(none), "{none}");
        }
    }
}
