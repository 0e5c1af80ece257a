//! The endpoint that holds the tables goes away under load and comes back: whoever asks meanwhile is told to
//! come back too, nothing acknowledged is lost, and nothing happens twice.
//!
//! dynoxide-rs is killed and started again on what it left. AWS's DynamoDB Local answers before it has committed
//! a transaction and loses some when it is killed; the way to it is cut instead.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::books::{Book, SHARED, unavailable};
use crate::serve::backend::on;
use crate::serve::proxy::Proxy;
use crate::serve::services::{Kind, Service};
use crate::serve::{Client, Reply, Server, until};
use crate::world::{ALWAYS, list, no_two_overlap, operator, outcome, register};

const CLIENTS: usize = 8;
const ROUNDS: usize = 3;

/// How often each outcome came.
type Tally = BTreeMap<String, usize>;

/// What the clients and the one who stops them tell each other.
#[derive(Default)]
struct Signs {
    stop: AtomicBool,
    /// How many writes have been acknowledged in all.
    acknowledged: AtomicUsize,
    /// How often each client was told to come back.
    refused: [AtomicUsize; CLIENTS],
}

/// Writes, and reads what it wrote, until told to stop.
fn work(number: usize, book: &mut Book, client: &mut Client, signs: &Signs) -> Tally {
    let mut tally = Tally::new();
    let mut note = |reply: &Reply| {
        *tally.entry(outcome(reply)).or_default() += 1;
        let refused = unavailable(reply);
        if refused {
            signs.refused[number].fetch_add(1, Ordering::Relaxed);
        }
        refused
    };
    while !signs.stop.load(Ordering::Relaxed) {
        book.insist(client, 4, |reply| {
            note(reply);
        });
        signs.acknowledged.fetch_add(1, Ordering::Relaxed);
        let read = client.get(&format!("/lockers/{SHARED}?consistent=true"));
        assert!(note(&read) || read.status == 200, "{read:?}");
    }
    tally
}

/// Waits until someone has written again.
fn until_written(signs: &Signs) {
    let before = signs.acknowledged.load(Ordering::Relaxed);
    until("writes go on", || signs.acknowledged.load(Ordering::Relaxed) > before + 6 * CLIENTS);
}

/// Waits until someone was told to come back, or everyone: what was under way when the endpoint went is then
/// answered.
fn until_refused(signs: &Signs, everyone: bool) {
    let count = || signs.refused.each_ref().map(|count| count.load(Ordering::Relaxed));
    let before = count();
    until("clients are told to come back", || {
        let now = count();
        let mut told = now.iter().zip(&before).map(|(now, before)| now > before);
        if everyone { told.all(|told| told) } else { told.any(|told| told) }
    });
}

/// What can go away and come back at the same place.
trait Endpoint: Send {
    fn endpoint(&self) -> String;
    /// Whether it forgets which transactions it has done. One that is sent again is then taken for another,
    /// so it stays away until nothing is sent again.
    fn forgets(&self) -> bool;
    fn go(&mut self);
    fn come_back(&mut self);
}

/// A service that is killed, and started again on what it left.
struct Killed {
    service: Option<Service>,
    kind: Kind,
    port: u16,
    tables: PathBuf,
}

impl Killed {
    fn start(kind: Kind, tables: PathBuf) -> Killed {
        let service = Service::start(kind, 0, Some(&tables));
        Killed { kind, port: service.port(), service: Some(service), tables }
    }
}

impl Endpoint for Killed {
    fn endpoint(&self) -> String {
        self.service.as_ref().unwrap().endpoint().to_owned()
    }

    fn forgets(&self) -> bool {
        true
    }

    fn go(&mut self) {
        self.service.take().unwrap().kill();
    }

    fn come_back(&mut self) {
        self.service = Some(Service::start(self.kind, self.port, Some(&self.tables)));
    }
}

impl Endpoint for Proxy {
    fn endpoint(&self) -> String {
        Proxy::endpoint(self)
    }

    fn forgets(&self) -> bool {
        false
    }

    fn go(&mut self) {
        self.cut();
    }

    fn come_back(&mut self) {
        self.mend();
    }
}

/// Lets it go and come back, under load.
fn outages(endpoint: &mut dyn Endpoint, signs: &Signs) {
    for round in 0..ROUNDS {
        until_written(signs);
        endpoint.go();
        until_refused(signs, endpoint.forgets());
        thread::sleep(Duration::from_millis(500 + 400 * u64::try_from(round).unwrap()));
        endpoint.come_back();
    }
    until_written(signs);
}

/// Gives how often each outcome came.
fn comes_and_goes(endpoint: &mut dyn Endpoint) -> Tally {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let server = Server::start_by(on(&endpoint.endpoint(), "serve", &data, &[]), &data);
    let token = operator(&server);
    register(&mut server.client().with_token(&token), SHARED, "everyone");
    let mut books: Vec<Book> = (0..CLIENTS).map(Book::new).collect();
    let signs = Signs::default();
    let tallies: Vec<Tally> = thread::scope(|scope| {
        let start = |(number, book)| {
            let mut client = server.client().with_token(&token);
            let signs = &signs;
            scope.spawn(move || work(number, book, &mut client, signs))
        };
        let threads: Vec<_> = books.iter_mut().enumerate().map(start).collect();
        let done = Stop(&signs);
        outages(endpoint, &signs);
        drop(done);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut total = Tally::new();
    for (outcome, count) in tallies.into_iter().flatten() {
        *total.entry(outcome).or_default() += count;
    }
    let away = total.get("503 store-unavailable").copied().unwrap_or_default();
    assert!(away >= ROUNDS, "they asked while it was away: {total:?}");
    // Everything that was acknowledged is there, once, and nothing else.
    let mut client = server.client().with_token(&token);
    assert_eq!(client.get("/ready").status, 200);
    for book in &books {
        assert!(!book.compare(&mut client), "nothing is in doubt");
    }
    let kept = list(&mut client, &format!("/lockers/{SHARED}/reservations?{ALWAYS}"));
    no_two_overlap(&kept);
    assert!(Book::compare_shared(&books, &kept).iter().all(|landed| !landed));
    total
}

/// Tells the clients to stop, by a failure too.
struct Stop<'a>(&'a Signs);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}

#[test]
fn the_way_to_dynamodb_local_is_cut_and_mended() {
    let service = Service::dynamodb_local();
    let outcomes = comes_and_goes(&mut Proxy::to(service.endpoint()));
    println!("{ROUNDS} outages: {outcomes:?}");
}

#[test]
fn dynoxide_is_killed_and_started_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut service = Killed::start(Kind::Dynoxide, directory.path().to_owned());
    let outcomes = comes_and_goes(&mut service);
    println!("{ROUNDS} outages: {outcomes:?}");
}
