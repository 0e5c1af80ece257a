//! The client, and how long it retries.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, ConfigLoader};
use aws_sdk_dynamodb::Client;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use latchkey_table::Error;
use tokio::time::{Instant, sleep, timeout_at};

use crate::error::Effect;

/// How long one request may take.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(5);

/// How long connecting may take.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(2);

/// The longest first wait after a request was throttled. It doubles each time.
const WAIT: Duration = Duration::from_millis(25);

/// The longest wait.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// How to reach the service, apart from what the AWS SDK finds itself.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Another endpoint than AWS's: a compatible service.
    pub endpoint: Option<String>,
}

/// DynamoDB, or a service with its protocol.
///
/// ```no_run
/// use std::sync::Arc;
/// use latchkey_dynamodb::{DynamoDb, Settings};
/// use latchkey_table::{Consistency, Get, Key, Schema};
/// use tokio::time::{Duration, Instant};
///
/// async fn door() -> Result<(), latchkey_table::Error> {
///     let service = DynamoDb::connect(&Settings::default()).await;
///     let (table, key) = (Arc::new(Schema::new("Doors")), Key::new("DOOR#1", "META"));
///     let get = Get { table, key, consistency: Consistency::Strong };
///     let got = service.get(&get, Instant::now() + Duration::from_secs(10)).await?;
///     println!("{:?}, at {}", got.item, got.capacity);
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct DynamoDb {
    pub(crate) client: Client,
}

impl DynamoDb {
    /// Connects, with the credentials, region and endpoint that the AWS SDK finds.
    pub async fn connect(settings: &Settings) -> DynamoDb {
        DynamoDb::connect_from(aws_config::defaults(BehaviorVersion::latest()), settings).await
    }

    /// Like [`DynamoDb::connect`], with a configuration of the caller, such as credentials and a region.
    pub async fn connect_from(config: ConfigLoader, settings: &Settings) -> DynamoDb {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT_TIME_MAX)
            .operation_attempt_timeout(REQUEST_TIME_MAX)
            .build();
        let http = aws_smithy_http_client::Builder::new()
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .build_https();
        let config = config
            .http_client(http)
            // A conditional write that is sent again meets its own effect, so this crate decides what is sent again.
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts)
            .load()
            .await;
        let mut own = aws_sdk_dynamodb::config::Builder::from(&config);
        // Only for requests to this service: credentials may come from another host.
        if let Some(endpoint) = &settings.endpoint {
            own = own.endpoint_url(endpoint);
        }
        DynamoDb { client: Client::from_conf(own.build()) }
    }
}

/// Waits a random time that grows with each attempt, until the deadline.
pub(crate) struct Patience {
    deadline: Instant,
    attempt: u32,
}

impl Patience {
    pub(crate) fn until(deadline: Instant) -> Patience {
        Patience { deadline, attempt: 0 }
    }

    /// Waits; false if no time is left for another attempt. The last answer is then the result.
    pub(crate) async fn wait(&mut self) -> bool {
        let most = WAIT.saturating_mul(1 << self.attempt.min(10)).min(WAIT_MAX);
        self.attempt = self.attempt.saturating_add(1);
        let mut random = [0; 2];
        // Without random bytes every caller waits as long as it may.
        let random = match getrandom::fill(&mut random) {
            Ok(()) => u16::from_le_bytes(random),
            Err(_) => u16::MAX,
        };
        let part = most.mul_f64(f64::from(random) / f64::from(u16::MAX));
        if Instant::now() + part >= self.deadline {
            return false;
        }
        sleep(part).await;
        // A busy machine may resume this task late.
        Instant::now() < self.deadline
    }

    /// Sends one request, until the deadline at most.
    pub(crate) async fn ask<T>(
        &self,
        effect: Effect,
        asked: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        if Instant::now() >= self.deadline {
            return Err(Error::Unavailable { reason: "there was no time left to ask".to_owned() });
        }
        match timeout_at(self.deadline, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(effect.lost("the service did not answer in time".to_owned())),
        }
    }
}

/// How often a request that had no effect is sent again: its connection may have been closed.
pub(crate) const RESENDS_MAX: u32 = 2;

/// Sends a request until it is answered, or until the deadline. Only a request that has no effect, or had none, is sent
/// again.
pub(crate) async fn patiently<T, F, A>(
    deadline: Instant,
    effect: Effect,
    mut ask: A,
) -> Result<T, Error>
where
    A: FnMut() -> F,
    F: Future<Output = Result<T, Error>>,
{
    let mut patience = Patience::until(deadline);
    let mut resends = 0;
    loop {
        match patience.ask(effect, ask()).await {
            Err(Error::Throttled | Error::Conflict) if patience.wait().await => {}
            Err(Error::Unavailable { .. }) if resends < RESENDS_MAX && patience.wait().await => {
                resends += 1;
            }
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const TIME_MAX: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn throttling_is_waited_out_until_the_deadline() {
        let deadline = Instant::now() + TIME_MAX;
        for error in [Error::Throttled, Error::Conflict] {
            let (asked, last) = (Cell::new(0), Cell::new(Instant::now()));
            let answer = patiently(deadline, Effect::Once, || {
                asked.set(asked.get() + 1);
                last.set(Instant::now());
                std::future::ready(Err::<(), _>(error.clone()))
            });
            assert_eq!(answer.await, Err(error));
            assert!(asked.get() > 2, "asked {} times", asked.get());
            assert!(last.get() < deadline, "and never after the deadline");
            assert!(Instant::now() < deadline, "the answer does not wait for the deadline");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_answered_ends_at_the_deadline() {
        let deadline = Instant::now() + TIME_MAX;
        let silent = || std::future::pending::<Result<(), Error>>();
        let answer = patiently(deadline, Effect::None, silent).await;
        assert!(matches!(answer, Err(Error::Unavailable { .. })), "{answer:?}");
        let answer = patiently(deadline, Effect::Once, silent).await;
        assert!(matches!(answer, Err(Error::Unavailable { .. })), "it was not sent: {answer:?}");
        let deadline = Instant::now() + TIME_MAX;
        let answer = patiently(deadline, Effect::Once, silent).await;
        assert!(matches!(answer, Err(Error::OutcomeUnknown { .. })), "{answer:?}");
        assert!(Instant::now() < deadline + Duration::from_millis(10), "a timer's tick");
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_ends_too_late_leaves_the_last_answer() {
        // On a busy machine a throttled request was answered "there was no time left to ask".
        let asked = Cell::new(0);
        let throttled = patiently(Instant::now() + TIME_MAX, Effect::Once, || {
            asked.set(asked.get() + 1);
            std::future::ready(Err::<(), _>(Error::Throttled))
        });
        let late = async {
            tokio::task::yield_now().await;
            tokio::time::advance(2 * TIME_MAX).await;
        };
        let (answer, ()) = tokio::join!(throttled, late);
        assert_eq!(answer, Err(Error::Throttled));
        assert_eq!(asked.get(), 1);
    }
}
