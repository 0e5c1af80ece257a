//! Everyone asks to take part at once: each connection posts for one user after the other.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::connection::{Connection, request};
use crate::Result;
use crate::http::client::token_of;

/// The requests of all connections, ready to be sent.
#[derive(Debug)]
pub(crate) struct Rush {
    connections: Vec<Vec<Vec<u8>>>,
}

/// What it came to.
#[derive(Debug, Default)]
pub(crate) struct Rushed {
    pub(crate) time: Duration,
    /// How long each request took.
    pub(crate) latencies: Vec<Duration>,
    pub(crate) read_units: f64,
    pub(crate) write_units: f64,
}

impl Rush {
    /// So many users, each with a token of its own.
    pub(crate) fn prepare(event: &str, connections: u64, users: u64) -> Result<Rush> {
        let mut all: Vec<Vec<Vec<u8>>> = (0..connections).map(|_| Vec::new()).collect();
        let line = format!("POST /events/{event}/participations");
        for (user, own) in (0..users).zip((0..all.len()).cycle()) {
            let token = token_of(&format!("user-{user:06}"), None)?;
            if let Some(requests) = all.get_mut(own) {
                requests.push(request(&line, &token, None));
            }
        }
        Ok(Rush { connections: all })
    }

    /// Sends them all.
    pub(crate) async fn run(self, address: SocketAddr) -> Result<Rushed> {
        let mut open = Vec::new();
        for requests in self.connections {
            open.push((Connection::open(address).await?, requests));
        }
        let start = Instant::now();
        let mut tasks = JoinSet::new();
        for (connection, requests) in open {
            tasks.spawn(post(connection, requests));
        }
        let mut rushed = Rushed::default();
        while let Some(done) = tasks.join_next().await {
            let done = done??;
            rushed.latencies.extend(done.latencies);
            rushed.read_units += done.read_units;
            rushed.write_units += done.write_units;
        }
        rushed.time = start.elapsed();
        Ok(rushed)
    }
}

async fn post(mut connection: Connection, requests: Vec<Vec<u8>>) -> Result<Rushed> {
    let mut rushed = Rushed::default();
    for request in requests {
        let start = Instant::now();
        let reply = connection.exchange(&request).await?;
        rushed.latencies.push(start.elapsed());
        if reply.status != 202 {
            let body = String::from_utf8_lossy(reply.body);
            return Err(format!("status {}: {body}", reply.status).into());
        }
        let capacity = reply.header("latchkey-capacity").ok_or("no capacity")?;
        let (read, write) = units(std::str::from_utf8(capacity)?).ok_or("no units")?;
        rushed.read_units += read;
        rushed.write_units += write;
    }
    Ok(rushed)
}

/// `rcu=0.5, wcu=0`
fn units(capacity: &str) -> Option<(f64, f64)> {
    let (read, write) = capacity.split_once(", ")?;
    let read = read.strip_prefix("rcu=")?.parse().ok()?;
    Some((read, write.strip_prefix("wcu=")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_is_read() {
        assert_eq!(units("rcu=3.5, wcu=18"), Some((3.5, 18.0)));
        assert_eq!(units("wcu=18"), None);
    }

    #[test]
    fn every_user_asks_once() {
        let rush = Rush::prepare("e", 3, 10).unwrap();
        let counts: Vec<_> = rush.connections.iter().map(Vec::len).collect();
        assert_eq!(counts, [4, 3, 3]);
        let mut all: Vec<_> = rush.connections.concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 10);
    }
}
