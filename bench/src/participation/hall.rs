//! The system as it is served: a real `latchkey serve`, events in it, and what it says of itself.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::connection::Admin;
use super::rate;
use crate::Result;
use crate::http::process::{Server, latchkey};

pub(crate) const DOCUMENT: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../systems/participation.md");

/// What credentials and region a local service is asked with: any will do.
const ENVIRONMENT: [(&str, &str); 3] = [
    ("AWS_ACCESS_KEY_ID", "bench"),
    ("AWS_SECRET_ACCESS_KEY", "bench"),
    ("AWS_REGION", "us-east-1"),
];

/// How often it is asked how far it is.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How long it may take until all is decided.
const DECIDE_TIME_MAX: Duration = Duration::from_secs(180);

/// How an event is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// First come, with a seat for everyone.
    Seats,
    /// First come, with no seat left.
    SoldOut,
    /// By lot.
    Lottery,
}

impl Mode {
    pub(crate) const ALL: [Mode; 3] = [Mode::Seats, Mode::SoldOut, Mode::Lottery];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::Seats => "first come, seats for all",
            Mode::SoldOut => "first come, sold out",
            Mode::Lottery => "lottery",
        }
    }

    /// What makes such an event.
    pub(crate) fn event(self, event: &str) -> Json {
        match self {
            Mode::Seats => json!({
                "eventId": event, "title": "Seats", "mode": "FIRST_COME", "capacity": 1_000_000_000
            }),
            Mode::SoldOut => json!({
                "eventId": event, "title": "Sold out", "mode": "FIRST_COME", "capacity": 0
            }),
            Mode::Lottery => json!({
                "eventId": event, "title": "By lot", "mode": "LOTTERY", "winRate": 0.5
            }),
        }
    }
}

/// Who works through the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Workers {
    None,
    /// So many messages at once.
    Some(usize),
}

/// Where the items are, if not in the data directory.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    pub(crate) endpoint: String,
    pub(crate) table: String,
}

impl Remote {
    fn arguments(&self) -> [String; 4] {
        let Remote { endpoint, table } = self;
        let table = format!("participation={table}");
        ["--endpoint".to_owned(), endpoint.clone(), "--table".to_owned(), table]
    }

    /// Makes the table.
    pub(crate) fn create(&self) -> Result<()> {
        let mut command = latchkey()?;
        command.args(["table", "create", DOCUMENT]).args(self.arguments()).envs(ENVIRONMENT);
        let output = command.output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("no table: {}", String::from_utf8_lossy(&output.stderr)).into())
    }
}

/// A server, and someone who may ask it anything.
#[derive(Debug)]
pub(crate) struct Hall {
    pub(crate) server: Server,
    admin: Admin,
}

/// How far the workers have come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    pub(crate) decided: u64,
    pub(crate) at: Instant,
}

/// What workers have used, as the service counts it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Used {
    pub(crate) done: f64,
    pub(crate) later: f64,
    pub(crate) seconds: f64,
    pub(crate) read_units: f64,
    pub(crate) write_units: f64,
}

impl Hall {
    pub(crate) async fn open(
        directory: &Path,
        workers: Workers,
        remote: Option<&Remote>,
    ) -> Result<Hall> {
        let mut command = latchkey()?;
        command.args(["serve", DOCUMENT]).env_remove("LATCHKEY_LOG");
        match workers {
            Workers::None => command.arg("--no-workers"),
            Workers::Some(count) => command.args(["--workers".to_owned(), count.to_string()]),
        };
        if let Some(remote) = remote {
            command.arg("--dynamodb").args(remote.arguments()).envs(ENVIRONMENT);
        }
        latchkey_embedded::private::make_directory(directory)?;
        let server = Server::serve(command, directory)?;
        let admin = Admin::open(server.address).await?;
        Ok(Hall { server, admin })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address
    }

    pub(crate) async fn make(&mut self, event: &str, mode: Mode) -> Result<()> {
        self.admin.ask("POST /admin/events", Some(&mode.event(event))).await.map(drop)
    }

    /// How many of an event are decided.
    pub(crate) async fn progress(&mut self, event: &str) -> Result<Progress> {
        let summary = self.admin.ask(&format!("GET /admin/events/{event}/summary"), None).await?;
        let at = Instant::now();
        let summary: Json = serde_json::from_slice(&summary)?;
        let count = |status: &str| summary.pointer(&format!("/byStatus/{status}"));
        let mut decided = 0;
        for status in ["SUCCEEDED", "REJECTED"] {
            decided += count(status).and_then(Json::as_u64).ok_or("no such count")?;
        }
        if count("FAILED_FINAL").and_then(Json::as_u64) != Some(0) {
            return Err(format!("some failed: {summary}").into());
        }
        Ok(Progress { decided, at })
    }

    /// Waits until so many are decided.
    pub(crate) async fn until_decided(&mut self, event: &str, all: u64) -> Result<Instant> {
        let start = Instant::now();
        loop {
            let progress = self.progress(event).await?;
            if progress.decided >= all {
                return Ok(progress.at);
            }
            if start.elapsed() > DECIDE_TIME_MAX {
                return Err(format!("only {} of {all} are decided", progress.decided).into());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Waits until all are decided, so many of each event, and says how many a second that was, from the first
    /// look on.
    pub(crate) async fn rate_of_deciding(&mut self, events: &[String], users: u64) -> Result<f64> {
        let (start, mut before, mut since) = (Instant::now(), 0, None);
        for event in events {
            let progress = self.progress(event).await?;
            before += progress.decided;
            since.get_or_insert(progress.at);
        }
        let mut end = start;
        for event in events {
            end = self.until_decided(event, users).await?;
        }
        let all = users * u64::try_from(events.len())?;
        // All may be over before the first look.
        Ok(match (all.saturating_sub(before), since) {
            (0, _) | (_, None) => rate(all, end - start),
            (left, Some(since)) => rate(left, end - since),
        })
    }

    /// What its workers have used so far.
    pub(crate) async fn used(&mut self) -> Result<Used> {
        let text = String::from_utf8(self.admin.ask("GET /metrics", None).await?)?;
        let ending = |ending: &str| sum(&text, "latchkey_worker_messages_total", ending);
        Ok(Used {
            done: ending("ending=\"done\""),
            later: ending("ending=\"later\""),
            seconds: sum(&text, "latchkey_worker_seconds_total", ""),
            read_units: sum(&text, "latchkey_worker_read_units_total", ""),
            write_units: sum(&text, "latchkey_worker_write_units_total", ""),
        })
    }
}

/// The sum of a metric over the lines that have a label.
fn sum(metrics: &str, name: &str, label: &str) -> f64 {
    let ours = |line: &&str| line.split('{').next() == Some(name) && line.contains(label);
    let value = |line: &str| line.rsplit(' ').next()?.parse::<f64>().ok();
    metrics.lines().filter(ours).filter_map(value).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_summed_by_their_labels() {
        let text = "# TYPE m counter\nm{q=\"a\",ending=\"done\"} 2\nm{q=\"b\",ending=\"done\"} 3.5\n\
                    m{q=\"a\",ending=\"later\"} 7\nmore{ending=\"done\"} 100\n";
        assert_eq!(sum(text, "m", "ending=\"done\""), 5.5);
        assert_eq!(sum(text, "m", ""), 12.5);
        assert_eq!(sum(text, "none", ""), 0.0);
    }
}
