//! kill -9 under a load of everything: lockers, reservations, requests that workers decide, timers that fire, and
//! locations. After each kill every invariant of every shipped document holds, and all that was acknowledged is there.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use latchkey_value::time;
use serde_json::{Value, json};

use crate::books::{Book, SHARED, unavailable};
use crate::invariants::Systems;
use crate::kill::{compare, each};
use crate::serve::promise::{self, Progress};
use crate::serve::{Client, backend, jwt, until};
use crate::world::{Chance, Own, register};

const SECRET: &str = "the secret of tests that all of them know";

/// Who writes lockers, whom nobody else writes.
const BOOKS: usize = 8;

/// Who takes part in events, makes locations, and reserves for a moment.
const OTHERS: usize = 6;

/// How many kills a store lives through, before the next begins with nothing.
const KILLS_OF_A_STORE: usize = 20;

/// How long a reservation lasts. Each writer makes one behind the other, and all are waited for.
const MOMENT_MS: i64 = 20;

/// The seats of each event.
const SEATS: usize = 3;

/// What was acknowledged.
#[derive(Debug, Clone)]
enum Made {
    /// A request, by its person.
    Request(String, String),
    /// A location, by its code.
    Location(String, String),
    /// A reservation of a locker.
    Reservation(String, String),
}

fn token(sub: &str) -> String {
    jwt::token(SECRET, &jwt::claims(sub, &["admin", "device"], &[]))
}

fn start(data: &Path) -> Own {
    let mut command = backend::on_backend("serve", data, &[]);
    command.args(["--listen", "127.0.0.1:0"]);
    Own::start(command.env("LATCHKEY_SECRET", SECRET).env("LATCHKEY_LOG", "warn"))
}

/// One of those who write whatever there is to write.
struct Other {
    number: usize,
    count: usize,
    chance: Chance,
    /// When the last reservation ends.
    busy_until: i64,
    /// What was acknowledged since the last look.
    made: Vec<Made>,
}

fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

impl Other {
    /// Writes until the server is gone.
    fn write(&mut self, client: &mut Client, written: &AtomicUsize) {
        loop {
            self.count += 1;
            let made = match self.chance.below(3) {
                0 => self.take_part(client),
                1 => self.locate(client),
                _ => self.reserve(client),
            };
            let Ok(made) = made else { return };
            self.made.extend(made);
            written.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn take_part(&self, client: &mut Client) -> std::io::Result<Option<Made>> {
        // Each event has people of every writer.
        let (event, person) = (self.count / 4, format!("p{}-{}", self.number, self.count));
        let body = json!({
            "eventId": format!("e{event}"), "title": "E", "mode": "FIRST_COME", "capacity": SEATS,
        });
        client.token = Some(token("dev"));
        let made = client.try_send("POST", "/admin/events", &[], Some(&body.to_string()))?;
        if unavailable(&made) {
            return Ok(None);
        }
        assert!([201, 409].contains(&made.status), "{made:?}");
        client.token = Some(token(&person));
        let path = format!("/events/e{event}/participations");
        let reply = client.try_send("POST", &path, &[], None)?;
        if unavailable(&reply) {
            return Ok(None);
        }
        assert_eq!(reply.status, 202, "{reply:?}");
        let request = reply.json()["requestId"].as_str().unwrap().to_owned();
        Ok(Some(Made::Request(person, request)))
    }

    fn locate(&self, client: &mut Client) -> std::io::Result<Option<Made>> {
        // Others want the same code.
        let code = format!("code-{}", self.count);
        let body = json!({
            "locationCode": code, "name": "N", "placeId": "P", "formattedAddress": "F",
            "lat": 1, "lng": 2,
        });
        client.token = Some(token("dev"));
        let reply = client.try_send("POST", "/locations", &[], Some(&body.to_string()))?;
        match (reply.status, reply.code().as_str()) {
            (201, _) => {
                let id = reply.json()["locationId"].as_str().unwrap().to_owned();
                Ok(Some(Made::Location(code, id)))
            }
            (409, "code-taken") => Ok(None),
            _ if unavailable(&reply) => Ok(None),
            _ => panic!("{reply:?}"),
        }
    }

    fn reserve(&mut self, client: &mut Client) -> std::io::Result<Option<Made>> {
        let start = self.busy_until.max(now() + 50);
        self.busy_until = start + MOMENT_MS;
        let at = |ms: i64| time::format(ms).unwrap().to_string();
        let (locker, id) =
            (format!("t{}", self.number), format!("r{}-{}", self.number, self.count));
        let body = json!({
            "reservationId": id, "ownerId": "dev", "startAt": at(start), "endAt": at(start + MOMENT_MS),
        });
        client.token = Some(token("dev"));
        let path = format!("/lockers/{locker}/reservations");
        let reply = client.try_send("POST", &path, &[], Some(&body.to_string()))?;
        if unavailable(&reply) {
            return Ok(None);
        }
        assert_eq!(reply.status, 201, "{reply:?}");
        Ok(Some(Made::Reservation(locker, id)))
    }
}

/// All that was acknowledged is there. What is decided and over in the end is, if it is the end.
fn look(client: &mut Client, made: &[Made], end: bool) {
    for one in made {
        match one {
            Made::Request(person, request) => {
                client.token = Some(token(person));
                let path = format!("/requests/{request}");
                let get = |client: &mut Client| -> Value {
                    let reply = client.get(&path);
                    assert_eq!(reply.status, 200, "acknowledged, and lost: {one:?}: {reply:?}");
                    reply.json()
                };
                assert_eq!(get(client)["userId"], person.as_str());
                let open = ["RECEIVED", "QUEUED", "PROCESSING"].map(|status| json!(status));
                until("it is decided", || !end || !open.contains(&get(client)["status"]));
                assert_ne!(get(client)["status"], "FAILED_FINAL", "{one:?}");
            }
            Made::Location(code, id) => {
                client.token = Some(token("dev"));
                let reply = client.get(&format!("/locations/by-code/{code}"));
                assert_eq!(reply.status, 200, "acknowledged, and lost: {one:?}: {reply:?}");
                assert_eq!(reply.json()["locationId"], id.as_str());
            }
            Made::Reservation(locker, id) => {
                client.token = Some(token("dev"));
                let path = format!("/lockers/{locker}/reservations/{id}");
                let status = |client: &mut Client| -> Value {
                    let reply = client.get(&path);
                    assert_eq!(reply.status, 200, "acknowledged, and lost: {one:?}: {reply:?}");
                    reply.json()["status"].clone()
                };
                status(client);
                until("its timer fires", || !end || status(client) == "EXPIRED");
            }
        }
    }
}

/// One store, through so many kills. Gives how much was acknowledged, and how many items there are.
fn live(systems: &Systems, kills: usize, seed: u64, progress: &mut Progress) -> (usize, usize) {
    let directory = tempfile::tempdir().unwrap();
    let mut server = start(directory.path());
    let dev = token("dev");
    register(&mut Client::new(&server.address).with_token(&dev), SHARED, "everyone");
    let other = |number| {
        let name = format!("t{number}");
        register(&mut Client::new(&server.address).with_token(&dev), &name, "dev");
        let chance = Chance::new(seed + u64::try_from(number).unwrap());
        Other { number, count: 0, chance, busy_until: 0, made: Vec::new() }
    };
    let mut others: Vec<Other> = (0..OTHERS).map(other).collect();
    let mut books: Vec<Book> = (0..BOOKS).map(Book::new).collect();
    let (mut chance, mut made, mut items) = (Chance::new(seed), Vec::new(), 0);
    for _ in 0..kills {
        let (address, written) = (server.address.clone(), AtomicUsize::new(0));
        let enough = 20 + chance.below(300);
        thread::scope(|scope| {
            for book in &mut books {
                let mut client = Client::new(&address).with_token(&dev);
                let written = &written;
                scope.spawn(move || book.write(&mut client, 4, written));
            }
            for other in &mut others {
                let (mut client, written) = (Client::new(&address), &written);
                scope.spawn(move || other.write(&mut client, written));
            }
            until("they have written", || written.load(Ordering::Relaxed) > enough);
            server.child.kill().unwrap();
            server.child.wait().unwrap();
        });
        items = systems.hold(directory.path());
        server = start(directory.path());
        let address = &server.address;
        let landed = compare(address, &dev, &mut books);
        each(address, &dev, &mut books, |at, book, client| book.settle(client, landed[at]));
        let new: Vec<Made> = others.iter_mut().flat_map(|other| other.made.drain(..)).collect();
        look(&mut Client::new(address), &new, false);
        made.extend(new);
        progress.add(1);
    }
    look(&mut Client::new(&server.address), &made, true);
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    items = items.max(systems.hold(directory.path()));
    (made.len() + books.iter().map(|book| book.acknowledged).sum::<usize>(), items)
}

#[test]
fn every_invariant_of_every_document_holds_after_every_kill() {
    let kills = promise::rounds(6);
    let systems = Systems::shipped();
    let mut progress = Progress::new("kills", kills);
    let (mut acknowledged, mut left, mut items) = (0, kills, 0);
    for seed in 1.. {
        let now = left.min(KILLS_OF_A_STORE);
        let (more, most) = live(&systems, now, seed, &mut progress);
        (acknowledged, left, items) = (acknowledged + more, left - now, items.max(most));
        if left == 0 {
            break;
        }
    }
    println!(
        "{kills} kills: {acknowledged} writes acknowledged, 0 lost, every invariant held; up to {items} items in a \
         store; in {:?}",
        progress.spent()
    );
}
