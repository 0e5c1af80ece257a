//! One key is one register: what many callers saw of an item, with the server killed in between and callers that go
//! away before they are answered, is explained by one order.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::json;

use crate::linear::{Asked, Operation, Told, is_linear};
use crate::seeded::{MISTAKES, Mistake, seed};
use crate::serve::chance::Chance;
use crate::serve::promise::{self, Progress};
use crate::serve::{Client, Server, until};

/// The registers of a round: each makes one history.
const REGISTERS: usize = 8;

const CLIENTS: usize = 6;

/// What each client asks for in a round, of whatever register.
const OPERATIONS: usize = 40;

/// In every so many rounds the server is killed.
const KILL_EVERY: usize = 4;

/// One in so many callers goes away.
const GONE: usize = 25;

fn document() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/promises/registers.md").into()
}

/// What a round's clients share.
struct Round<'a> {
    number: usize,
    /// Where the server is, and how many were killed before it.
    address: Mutex<(String, usize)>,
    asked: AtomicUsize,
    values: &'a AtomicU64,
    clock: Instant,
    token: &'a str,
}

/// An operation on a register, and which server it was asked of.
struct Noted {
    register: usize,
    server: usize,
    operation: Operation,
}

impl Round<'_> {
    fn now(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_nanos()).unwrap()
    }

    fn client(&self) -> (Client, usize) {
        let (address, server) = self.address.lock().unwrap().clone();
        (Client::new(&address).with_token(self.token), server)
    }

    /// What one client asks, one after the other.
    fn play(&self, seed: u64) -> Vec<Noted> {
        let mut chance = Chance::new(seed);
        let mut noted = Vec::new();
        let mut seen = [0; REGISTERS];
        let (mut client, mut server) = self.client();
        for _ in 0..OPERATIONS {
            let register = chance.below(REGISTERS);
            let new = self.values.fetch_add(1, Ordering::SeqCst);
            let asked = match chance.below(8) {
                0..=2 => Asked::Read,
                3 => Asked::Write(new),
                _ => Asked::Swap(seen[register], new),
            };
            let gone = (chance.below(GONE) == 0).then(|| self.address.lock().unwrap().clone());
            let start = self.now();
            let told = self.ask(&mut client, register, asked, gone.as_ref());
            let end = self.now();
            match told {
                Some(Told::Value(value) | Told::Refused(value)) => seen[register] = value,
                Some(Told::Done) => seen[register] = new,
                _ => {}
            }
            let told_or_not = told.unwrap_or(Told::Unknown);
            let operation = Operation { asked, told: told_or_not, start, end };
            let server_asked = gone.map_or(server, |(_, server)| server);
            noted.push(Noted { register, server: server_asked, operation });
            self.asked.fetch_add(1, Ordering::SeqCst);
            if told.is_none() {
                // The server is dead: no other reason ends a connection.
                until("another server is there", || self.address.lock().unwrap().1 > server);
                (client, server) = self.client();
            }
        }
        noted
    }

    /// Asks for something, or goes away from this server before it answers; none if the server is gone.
    fn ask(
        &self,
        client: &mut Client,
        register: usize,
        asked: Asked,
        gone: Option<&(String, usize)>,
    ) -> Option<Told> {
        let path = format!("/registers/r{}-{register}", self.number);
        let (method, path, body) = match asked {
            Asked::Read => ("GET", path, None),
            Asked::Write(value) => ("PUT", path, Some(json!({ "value": value }))),
            Asked::Swap(from, to) => {
                ("POST", format!("{path}/swap"), Some(json!({ "from": from, "to": to })))
            }
        };
        let body = body.map(|body| body.to_string());
        if let Some((address, _)) = gone {
            go_away(client, address, method, &path, body.as_deref().unwrap_or_default());
            return Some(Told::Unknown);
        }
        let reply = client.try_send(method, &path, &[], body.as_deref()).ok()?;
        let value = || reply.json()["value"].as_u64().unwrap_or_else(|| panic!("{reply:?}"));
        Some(match (reply.status, asked) {
            (200, Asked::Read) => Told::Value(value()),
            (200, _) => Told::Done,
            (409, Asked::Swap(..)) => Told::Refused(value()),
            (503, _) if reply.code() == "outcome-unknown" => Told::Unknown,
            _ => panic!("{reply:?}"),
        })
    }
}

/// Sends a request and is gone before the answer comes, whether or not there is a server.
fn go_away(client: &Client, address: &str, method: &str, path: &str, body: &str) {
    let head = client.head(method, path, &[("content-type", "application/json")]);
    let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    if let Ok(mut stream) = TcpStream::connect(address) {
        let _ = stream.write_all(request.as_bytes());
    }
}

/// What was seen of the registers in one round. The server is killed once so many operations are made, if any.
fn round(
    server: &mut Option<Server>,
    data: &Path,
    shared: &Round<'_>,
    kill: Option<usize>,
) -> Vec<Vec<Operation>> {
    let mut setup = shared.client().0;
    for register in 0..REGISTERS {
        let path = format!("/registers/r{}-{register}", shared.number);
        assert_eq!(setup.put(&path, &json!({ "value": 0 })).status, 200);
    }
    let mut death = None;
    let noted: Vec<Noted> = thread::scope(|scope| {
        let seeds = (0..CLIENTS).map(|client| shared.number * CLIENTS + client + 1);
        let play = |seed| scope.spawn(move || shared.play(u64::try_from(seed).unwrap()));
        let clients: Vec<_> = seeds.map(play).collect();
        if let Some(after) = kill {
            until("some is asked", || shared.asked.load(Ordering::SeqCst) >= after);
            server.take().unwrap().kill();
            death = Some(shared.now());
            let next = Server::start_on(data, &[document()]);
            *shared.address.lock().unwrap() = (next.address.clone(), 1);
            *server = Some(next);
        }
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let mut histories = vec![Vec::new(); REGISTERS];
    for Noted { register, server, mut operation } in noted {
        if operation.told == Told::Unknown {
            // Of a server that is dead, nothing comes any more.
            operation.end = death.filter(|_| server == 0).unwrap_or(u64::MAX);
        }
        if operation.start > operation.end {
            continue;
        }
        histories[register].push(operation);
    }
    histories
}

#[test]
fn what_callers_see_of_a_key_is_one_register() {
    let wanted = promise::rounds(160);
    let directory = tempfile::tempdir().unwrap();
    let mut server = Some(Server::start_on(directory.path(), &[document()]));
    let token = server.as_ref().unwrap().token("alice", &[], &[]);
    let mut progress = Progress::new("histories", wanted);
    let (values, clock, mut chance) = (AtomicU64::new(1), Instant::now(), Chance::new(17));
    let (mut operations, mut unknown, mut kills) = (0, 0, 0);
    let mut seeded: BTreeMap<Mistake, usize> = BTreeMap::new();
    for number in 0..wanted.div_ceil(REGISTERS) {
        let address = server.as_ref().unwrap().address.clone();
        let shared = Round {
            number,
            address: Mutex::new((address, 0)),
            asked: AtomicUsize::new(0),
            values: &values,
            clock,
            token: &token,
        };
        let all = CLIENTS * OPERATIONS;
        let kill = (number % KILL_EVERY == 1).then(|| all / 10 + chance.below(all / 2));
        kills += usize::from(kill.is_some());
        for history in round(&mut server, directory.path(), &shared, kill) {
            assert!(is_linear(&history, 0), "no order explains {history:#?}");
            operations += history.len();
            unknown += history.iter().filter(|one| one.told == Told::Unknown).count();
            for mistake in MISTAKES {
                let Some(wrong) = seed(&history, mistake, &mut chance) else { continue };
                assert!(!is_linear(&wrong, 0), "{mistake:?} is not seen in {wrong:#?}");
                *seeded.entry(mistake).or_default() += 1;
            }
        }
        progress.add(REGISTERS);
    }
    for mistake in MISTAKES {
        assert!(seeded.get(&mistake).is_some_and(|count| *count > 10), "{mistake:?}: {seeded:?}");
    }
    println!(
        "{} histories of {operations} operations, {unknown} of them without an answer, {kills} kills: each has an \
         order, in {:?}. Mistakes that were put in and caught: {seeded:?}",
        wanted.div_ceil(REGISTERS) * REGISTERS,
        progress.spent()
    );
}
