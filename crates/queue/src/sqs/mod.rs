//! Queues on SQS, standard and FIFO.
//!
//! A standard queue delivers in no order and now and then twice. A FIFO queue keeps the order within a
//! group and takes a message once that is sent twice within five minutes. Neither fences as the embedded
//! queue does: whoever lost a message may still remove it. A worker must fence what it writes.

mod envelope;
mod error;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, ConfigLoader};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{MessageSystemAttributeName, QueueAttributeName as Attribute};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use latchkey_table::Text;

use crate::received::{Ended, Handle};
use crate::{Clock, Count, Depth, Error, Message, Received, TryFailure};
use envelope::Envelope;
use error::{meaning, stale_or};

/// How long one request may take, beside what it waits for messages.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(5);

/// How long a connection may take to be made.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(2);

/// The most messages of one request.
const RECEIVE_MAX: usize = 10;

/// The longest SQS waits for messages.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// The longest SQS holds a new message back, in seconds.
const DELAY_SECONDS_MAX: i64 = 900;

/// The longest SQS hides a message that was received, in seconds.
const HIDE_SECONDS_MAX: i64 = 43_200;

/// How the name of a FIFO queue ends.
const FIFO: &str = ".fifo";

/// How long SQS keeps a message nobody takes: as long as it can.
const RETENTION_SECONDS: u32 = 14 * 24 * 60 * 60;

/// How often SQS hands a message out for each try it has: to put one off is no try, but SQS counts it.
const RECEIVES_PER_TRY: u32 = 20;

/// The most often SQS hands a message out.
const RECEIVES_MAX: u32 = 1_000;

/// Of how many messages it is known what became of them so far.
const PAST_MAX: usize = 10_000;

/// The group of messages that name none.
const GROUP: &str = "latchkey";

/// How to use a queue.
#[derive(Debug, Clone)]
pub struct SqsOptions {
    /// For how long whoever receives a message has it to itself.
    pub lease_ms: u32,
    /// The field of a message that names its group, on a FIFO queue; without it, all are of one.
    pub group: Option<Text>,
}

/// SQS, or what speaks its protocol.
#[derive(Debug, Clone)]
pub struct SqsService {
    client: Client,
}

/// A queue on SQS.
#[derive(Debug, Clone)]
pub struct Sqs {
    client: Client,
    url: Arc<str>,
    fifo: bool,
    /// The queue SQS moves messages to that were received too often.
    dead: Option<Arc<str>>,
    options: SqsOptions,
    clock: Clock,
    /// What is known in this process of messages that are not over. On a FIFO queue nothing else tells: SQS
    /// counts what was put off as well.
    past: Arc<Mutex<HashMap<Text, Past>>>,
    /// How many messages could not be given back.
    kept: Arc<AtomicU64>,
}

/// What became of a message so far.
#[derive(Debug, Clone, Default)]
struct Past {
    /// How often it failed.
    failed: u32,
    /// How the last time.
    failure: Option<TryFailure>,
    /// When it was first put off.
    put_off_since: Option<i64>,
}

impl SqsService {
    /// Finds credentials, region and endpoint as every program of the AWS SDK does, but for an endpoint
    /// that is given.
    pub async fn connect(endpoint: Option<&str>) -> SqsService {
        SqsService::connect_from(aws_config::defaults(BehaviorVersion::latest()), endpoint).await
    }

    /// As [`SqsService::connect`], but for what the caller has settled: whom to sign as, in which region.
    pub async fn connect_from(config: ConfigLoader, endpoint: Option<&str>) -> SqsService {
        let http = aws_smithy_http_client::Builder::new()
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .build_https();
        let config = config.http_client(http).timeout_config(timeouts(Duration::ZERO)).load().await;
        let mut own = aws_sdk_sqs::config::Builder::from(&config);
        // Its own alone: credentials may have to be asked for elsewhere.
        if let Some(endpoint) = endpoint {
            own = own.endpoint_url(endpoint);
        }
        SqsService { client: Client::from_conf(own.build()) }
    }

    /// A queue by its name, which ends with `.fifo` if it is one. It is there already.
    pub async fn queue(&self, name: &str, options: SqsOptions, clock: Clock) -> Result<Sqs, Error> {
        let url = self.url(name, None).await?;
        let asked = self.client.get_queue_attributes().queue_url(&*url);
        let asked = asked.attribute_names(Attribute::RedrivePolicy).send().await;
        let answer = asked.map_err(|error| meaning(&error))?;
        let policy = answer.attributes().and_then(|all| all.get(&Attribute::RedrivePolicy));
        let dead = match policy.and_then(|policy| dead_target(policy)) {
            Some((account, name)) => Some(self.url(&name, Some(account)).await?),
            None => None,
        };
        let (client, fifo) = (self.client.clone(), name.ends_with(FIFO));
        let (past, kept) = (Arc::default(), Arc::default());
        Ok(Sqs { client, url, fifo, dead, options, clock, past, kept })
    }

    /// Makes a queue, and one for what SQS gives up by itself. Those that are there stay as they are.
    ///
    /// A worker counts tries itself. SQS is to step in only where no worker gets to count: where each that
    /// receives a message dies of it.
    pub async fn create(&self, name: &str, lease_ms: u32, tries: u32) -> Result<(), Error> {
        let dead = self.make(&dead_name(name), Vec::new()).await?;
        let asked = self.client.get_queue_attributes().queue_url(&*dead);
        let asked = asked.attribute_names(Attribute::QueueArn).send().await;
        let answer = asked.map_err(|error| meaning(&error))?;
        let Some(arn) = answer.attributes().and_then(|all| all.get(&Attribute::QueueArn)) else {
            return Err(Error::Refused { reason: format!("`{}` has no ARN", dead_name(name)) });
        };
        let most = match name.ends_with(FIFO) {
            // What is put off there counts.
            true => RECEIVES_MAX,
            false => tries.saturating_mul(RECEIVES_PER_TRY).clamp(1, RECEIVES_MAX),
        };
        let policy = serde_json::json!({ "deadLetterTargetArn": arn, "maxReceiveCount": most });
        let lease = seconds(i64::from(lease_ms)).clamp(1, HIDE_SECONDS_MAX);
        let attributes = vec![
            (Attribute::RedrivePolicy, policy.to_string()),
            (Attribute::VisibilityTimeout, lease.to_string()),
        ];
        self.make(name, attributes).await.map(drop)
    }

    async fn make(&self, name: &str, own: Vec<(Attribute, String)>) -> Result<Arc<str>, Error> {
        if let Ok(url) = self.url(name, None).await {
            return Ok(url);
        }
        let mut make = self.client.create_queue().queue_name(name);
        make = make.attributes(Attribute::MessageRetentionPeriod, RETENTION_SECONDS.to_string());
        if name.ends_with(FIFO) {
            // Groups do not share the rate of the queue.
            for (attribute, value) in [
                (Attribute::FifoQueue, "true"),
                (Attribute::DeduplicationScope, "messageGroup"),
                (Attribute::FifoThroughputLimit, "perMessageGroupId"),
            ] {
                make = make.attributes(attribute, value);
            }
        }
        for (attribute, value) in own {
            make = make.attributes(attribute, value);
        }
        let answer = make.send().await.map_err(|error| meaning(&error))?;
        let missing = || Error::Refused { reason: format!("`{name}` has no address") };
        answer.queue_url().map(Arc::from).ok_or_else(missing)
    }

    async fn url(&self, name: &str, account: Option<String>) -> Result<Arc<str>, Error> {
        let asked = self.client.get_queue_url().queue_name(name);
        let answer = asked.set_queue_owner_aws_account_id(account).send().await;
        let answer = answer.map_err(|error| meaning(&error))?;
        let missing = || Error::Refused { reason: format!("`{name}` has no address") };
        answer.queue_url().map(Arc::from).ok_or_else(missing)
    }
}

/// The queue of what SQS gives up by itself.
fn dead_name(name: &str) -> String {
    match name.strip_suffix(FIFO) {
        Some(name) => format!("{name}-dead{FIFO}"),
        None => format!("{name}-dead"),
    }
}

/// Of those who have a copy of a delivery, the first says what becomes of it.
fn end(received: &Received) -> Result<(), Error> {
    let handle = received.handle().ok_or(Error::Stale)?;
    if handle.ended.say() { Ok(()) } else { Err(Error::Stale) }
}

/// Whole seconds, rather too many than too few.
fn seconds(ms: i64) -> i64 {
    ms.saturating_add(999).div_euclid(1_000)
}

fn timeouts(wait: Duration) -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIME_MAX)
        .operation_attempt_timeout(REQUEST_TIME_MAX.saturating_add(wait))
        .build()
}

/// The account and name of the queue a redrive policy names.
fn dead_target(policy: &str) -> Option<(String, String)> {
    let policy: serde_json::Value = serde_json::from_str(policy).ok()?;
    let arn = policy.get("deadLetterTargetArn")?.as_str()?;
    let mut parts = arn.rsplit(':');
    let (name, account) = (parts.next()?, parts.next()?);
    Some((account.to_owned(), name.to_owned()))
}

impl Sqs {
    /// How far ahead of its time it can be sent a message, in milliseconds. A FIFO queue holds nothing
    /// back by itself.
    pub fn ahead_ms(&self) -> i64 {
        if self.fifo { 0 } else { DELAY_SECONDS_MAX * 1_000 }
    }

    /// Sends a message, and says when it was sent by its own account: SQS does not say. One that is due later than SQS can wait comes back in between, and is put off.
    pub async fn send(&self, message: &Message, due: i64) -> Result<i64, Error> {
        self.post(&Envelope { message: message.clone(), due, tries: 0, group: None }).await?;
        Ok(message.sent_at())
    }

    async fn post(&self, envelope: &Envelope) -> Result<(), Error> {
        let refused =
            |error: aws_sdk_sqs::error::BuildError| Error::Refused { reason: error.to_string() };
        let text = envelope.text()?;
        let mut send = self.client.send_message().queue_url(&*self.url).message_body(text);
        for (name, value) in envelope.attributes().map_err(refused)? {
            send = send.message_attributes(name, value);
        }
        if self.fifo {
            let field = self.options.group.as_ref().and_then(|f| envelope.message.body().get(f));
            let group = field.and_then(|value| value.as_text()).map_or(GROUP, Text::as_str);
            // With its time: sent again on purpose, it is another.
            let once = format!("{}-{}", envelope.message.id(), envelope.due);
            send = send.message_group_id(group).message_deduplication_id(once);
        } else {
            send = send.delay_seconds(self.seconds_until(envelope.due, DELAY_SECONDS_MAX));
        }
        send.send().await.map(drop).map_err(|error| meaning(&error))
    }

    /// Messages that are due; at most `max` and no more than 10, and none if none comes in time.
    pub async fn receive(&self, max: usize, wait: Duration) -> Result<Vec<Received>, Error> {
        let fetched = self.fetch(&self.url, max, wait).await?;
        let now = self.clock.now();
        let mut due = Vec::new();
        for (envelope, handle) in fetched {
            let past = self.past().get(envelope.message.id()).cloned().unwrap_or_default();
            let tries =
                if self.fifo { past.failed.saturating_add(1) } else { envelope.tries.max(1) };
            let mut received = Received::handed_out(envelope.message, tries, handle);
            received.failure = past.failure;
            received.put_off_since = past.put_off_since;
            // What a FIFO queue has was due when it was sent, by the sender's clock; to put it off would let
            // those behind it pass.
            if envelope.due > now && !self.fifo {
                // Where that fails it comes again when its lease is over, as those do that came with it.
                if let Err(error) = self.later(&received, envelope.due).await {
                    let id = received.message.id();
                    tracing::warn!(%id, %error, "a message that is not due could not be put off");
                }
            } else {
                due.push(received);
            }
        }
        Ok(due)
    }

    /// Messages that SQS has given up by itself: they were received too often, and nobody was told.
    pub async fn receive_dead(&self, max: usize, wait: Duration) -> Result<Vec<Received>, Error> {
        let Some(url) = &self.dead else {
            tokio::time::sleep(wait.min(WAIT_MAX)).await;
            return Ok(Vec::new());
        };
        let fetched = self.fetch(url, max, wait).await?.into_iter();
        let received =
            |(e, handle): (Envelope, Handle)| Received::handed_out(e.message, e.tries, handle);
        Ok(fetched.map(received).collect())
    }

    async fn fetch(
        &self,
        url: &Arc<str>,
        max: usize,
        wait: Duration,
    ) -> Result<Vec<(Envelope, Handle)>, Error> {
        let wait = wait.min(WAIT_MAX);
        let own = aws_sdk_sqs::config::Config::builder().timeout_config(timeouts(wait));
        let asked = self
            .client
            .receive_message()
            .queue_url(&**url)
            .max_number_of_messages(i32::try_from(max.clamp(1, RECEIVE_MAX)).unwrap_or(1))
            .wait_time_seconds(i32::try_from(wait.as_millis().div_ceil(1_000)).unwrap_or(0))
            .visibility_timeout(self.lease_seconds())
            .message_attribute_names("All")
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .customize()
            .config_override(own);
        let answer = asked.send().await.map_err(|error| meaning(&error))?;
        let mut fetched = Vec::new();
        for carried in answer.messages() {
            let (id, queue) = (carried.message_id(), &**url);
            match (Envelope::read(carried), carried.receipt_handle()) {
                (Ok(envelope), Some(receipt)) => {
                    let (url, group) = (Arc::clone(url), envelope.group.clone());
                    let (receipt, ended) = (receipt.to_owned(), Ended::default());
                    fetched.push((envelope, Handle { url, group, receipt, ended }));
                }
                // It comes back until SQS gives it up.
                (Err(error), _) => tracing::error!(%queue, ?id, %error, "this cannot be a message"),
                (Ok(_), None) => tracing::error!(%queue, ?id, "SQS gave no receipt for a message"),
            }
        }
        Ok(fetched)
    }

    /// The work is done, or the letter is written; the message goes.
    pub async fn done(&self, received: &Received) -> Result<(), Error> {
        let handle = received.handle().ok_or(Error::Stale)?;
        handle.ended.say();
        let delete = self.client.delete_message().queue_url(&*handle.url);
        let answer = delete.receipt_handle(&handle.receipt).send().await;
        answer.map_err(|error| stale_or(&error))?;
        self.past().remove(received.message.id());
        Ok(())
    }

    /// Not yet: the message comes again, and this was no try.
    ///
    /// A standard queue gets it anew. A FIFO queue keeps it in its place, with its group waiting behind it.
    pub async fn later(&self, received: &Received, until: i64) -> Result<(), Error> {
        end(received)?;
        let tries = received.tries.saturating_sub(1);
        if !self.fifo {
            let message = Message::clone(&received.message);
            self.post(&Envelope { message, due: until, tries, group: None }).await?;
            return self.done(received).await;
        }
        let since = received.put_off_since;
        self.remember(received.message.id(), |past| past.put_off_since = since);
        self.hide(received, self.seconds_until(until, HIDE_SECONDS_MAX)).await
    }

    /// The try failed: the message comes again.
    pub async fn failed(
        &self,
        received: &Received,
        until: i64,
        failure: TryFailure,
    ) -> Result<(), Error> {
        end(received)?;
        self.remember(received.message.id(), |past| {
            past.failed = past.failed.saturating_add(1);
            past.failure = Some(failure);
        });
        self.hide(received, self.seconds_until(until, HIDE_SECONDS_MAX)).await
    }

    /// Gives back messages that were received and not worked on: they can be received at once.
    pub async fn release(&self, received: Vec<Received>) {
        for received in received {
            let released = match end(&received) {
                Ok(()) => self.hide(&received, 0).await,
                // Its end was told before.
                Err(_) => continue,
            };
            match released {
                Ok(()) | Err(Error::Stale) => {}
                Err(error) => {
                    self.kept.fetch_add(1, Ordering::Relaxed);
                    let (url, id) = (&self.url, received.message.id());
                    tracing::warn!(%url, %id, %error, "a message was not given back; it comes when its lease is over");
                }
            }
        }
    }

    /// How many messages could not be given back. Each is in the log, and comes again when its lease is over.
    pub fn not_given_back(&self) -> u64 {
        self.kept.load(Ordering::Relaxed)
    }

    /// Whether there is a queue of messages that SQS has given up by itself.
    pub fn has_dead_queue(&self) -> bool {
        self.dead.is_some()
    }

    async fn hide(&self, received: &Received, seconds: i32) -> Result<(), Error> {
        let handle = received.handle().ok_or(Error::Stale)?;
        let hide = self.client.change_message_visibility().queue_url(&*handle.url);
        let hide = hide.receipt_handle(&handle.receipt).visibility_timeout(seconds);
        hide.send().await.map(drop).map_err(|error| stale_or(&error))
    }

    /// How full the queue is, as SQS has it about.
    pub async fn depth(&self) -> Result<Depth, Error> {
        let names = [
            Attribute::ApproximateNumberOfMessages,
            Attribute::ApproximateNumberOfMessagesDelayed,
            Attribute::ApproximateNumberOfMessagesNotVisible,
        ];
        let asked = self.client.get_queue_attributes().queue_url(&*self.url);
        let asked = asked.set_attribute_names(Some(names.to_vec())).send().await;
        let answer = asked.map_err(|error| meaning(&error))?;
        let count = |name: &Attribute| {
            let text = answer.attributes().and_then(|all| all.get(name));
            let reason = || format!("SQS does not say its {name}: {text:?}");
            let counted = text.and_then(|text| text.parse().ok());
            counted.map(Count::exactly).ok_or_else(|| Error::Unavailable { reason: reason() })
        };
        let [visible, delayed, in_flight] = names.each_ref().map(count);
        let (visible, delayed, in_flight) = (visible?, delayed?, in_flight?);
        Ok(Depth { visible, delayed, in_flight, oldest_ms: None, blocked: None })
    }

    /// Removes all messages of the queue; SQS takes up to a minute for it.
    pub async fn purge(&self) -> Result<(), Error> {
        let purge = self.client.purge_queue().queue_url(&*self.url);
        purge.send().await.map(drop).map_err(|error| meaning(&error))
    }

    /// Keeps what became of a message. Those that others have ended since are forgotten with the rest: a try too
    /// many is better than one too few.
    fn remember(&self, id: &Text, change: impl FnOnce(&mut Past)) {
        let mut all = self.past();
        if all.len() >= PAST_MAX && !all.contains_key(id) {
            all.clear();
        }
        change(all.entry(id.clone()).or_default());
    }

    fn past(&self) -> MutexGuard<'_, HashMap<Text, Past>> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lease_seconds(&self) -> i32 {
        let seconds = seconds(i64::from(self.options.lease_ms));
        i32::try_from(seconds.clamp(1, HIDE_SECONDS_MAX)).unwrap_or(1)
    }

    /// Whole seconds until a time, rather too many than too few.
    fn seconds_until(&self, until: i64, most: i64) -> i32 {
        let ms = until.saturating_sub(self.clock.now());
        i32::try_from(seconds(ms).clamp(0, most)).unwrap_or(0)
    }
}
