//! Many callers who book windows of one locker that do not overlap: each call changes the locker's calendar, so each
//! must wait for those before it.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;

use crate::Result;
use crate::http::client::{Signing, token_of};
use crate::http::process::{Log, Server};
use crate::load::{percentile, runtime};
use crate::participation::connection::{Admin, Connection, request};
use crate::report::{Table, count, micros, progress, ratio, whole};

/// What callers of one number saw.
#[derive(Default)]
struct Seen {
    time: Duration,
    latencies: Vec<Duration>,
    busy: u32,
}

/// Measures each number of callers in turn, and prints a row for each.
pub(crate) fn measure(directory: &Path, callers: &[u64], lockers: u32) -> Result<()> {
    let mut table =
        Table::new(["callers", "bookings/s", "p50", "p99", "p99 to p50", "longest", "503 busy"]);
    for callers in callers.iter().copied() {
        let place = directory.join(callers.to_string());
        latchkey_embedded::private::make_directory(&place)?;
        let server = Server::latchkey(&place, Log::Requests, Signing::Hs256, &[])?;
        let mut seen = Seen::default();
        runtime()?.block_on(async {
            for locker in 0..lockers {
                progress(&format!("{callers} callers: locker {} of {lockers}", locker + 1));
                rush(&server, &format!("locker-{locker}"), callers, &mut seen).await?;
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        })?;
        seen.latencies.sort_unstable();
        let [p50, p99, longest] = [50, 99, 100].map(|percent| percentile(&seen.latencies, percent));
        let bookings = f64::from(u32::try_from(seen.latencies.len())?);
        table.row([
            count(callers),
            whole(bookings / seen.time.as_secs_f64()),
            micros(p50),
            micros(p99),
            ratio(p99.as_secs_f64() / p50.as_secs_f64()),
            micros(longest),
            count(u64::from(seen.busy)),
        ]);
    }
    progress("");
    println!("{lockers} lockers, {WINDOWS} windows for each caller of each\n\n{table}");
    Ok(())
}

/// How many windows each caller books, one after the other.
const WINDOWS: u64 = 8;

/// Has all callers book windows of one locker.
async fn rush(server: &Server, locker: &str, callers: u64, seen: &mut Seen) -> Result<()> {
    let mut admin = Admin::open(server.address).await?;
    let body = json!({ "lockerId": locker, "ownerId": "owner" });
    admin.ask("POST /lockers", Some(&body)).await?;
    let mut clients = Vec::new();
    for caller in 0..callers {
        clients.push((caller, Connection::open(server.address).await?));
    }
    let token = token_of("ada", Some("admin"))?;
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for (caller, connection) in clients {
        tasks.spawn(book(connection, token.clone(), locker.to_owned(), caller));
    }
    while let Some(done) = tasks.join_next().await {
        let (latencies, busy) = done??;
        seen.latencies.extend(latencies);
        seen.busy += busy;
    }
    seen.time += start.elapsed();
    Ok(())
}

/// Books the windows of one caller. Gives how long each call took, and how many were told to come back.
async fn book(
    mut connection: Connection,
    token: String,
    locker: String,
    caller: u64,
) -> Result<(Vec<Duration>, u32)> {
    let (mut latencies, mut busy) = (Vec::new(), 0);
    let line = format!("POST /lockers/{locker}/reservations");
    for window in 0..WINDOWS {
        let at = |minute: u64| {
            let (month, day) = (1 + caller / 28 % 12, 1 + caller % 28);
            format!("2126-{month:02}-{day:02}T{window:02}:{minute:02}:00.000Z")
        };
        let body = json!({
            "reservationId": format!("R-{caller}-{window}"), "ownerId": "renter",
            "startAt": at(0), "endAt": at(30),
        });
        let request = request(&line, &token, Some(&body));
        let sent = Instant::now();
        let reply = connection.exchange(&request).await?;
        latencies.push(sent.elapsed());
        match reply.status {
            201 => {}
            503 => busy += 1,
            status => {
                let body = String::from_utf8_lossy(reply.body);
                return Err(format!("{line}: status {status}: {body}").into());
            }
        }
    }
    Ok((latencies, busy))
}
