//! kill -9 of a server under load: what it acknowledged is there, and what it did not happened once or not
//! at all.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::books::{Book, SHARED};
use crate::serve::{Client, Server, backend, until};
use crate::world::{ALWAYS, Chance, list, no_two_overlap, operator, register};

const CLIENTS: usize = 16;
const KILLS: usize = 20;

/// Each book with a client of its own, at the same time.
pub(crate) fn each<T: Send>(
    address: &str,
    token: &str,
    books: &mut [Book],
    act: impl Fn(usize, &mut Book, &mut Client) -> T + Sync,
) -> Vec<T> {
    thread::scope(|scope| {
        let act = &act;
        let start = |(at, book)| {
            let mut client = Client::new(address).with_token(token);
            scope.spawn(move || act(at, book, &mut client))
        };
        let threads: Vec<_> = books.iter_mut().enumerate().map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Compares every book, and gives which writes in doubt were made.
pub(crate) fn compare(address: &str, token: &str, books: &mut [Book]) -> Vec<bool> {
    let landed = each(address, token, books, |_, book, client| book.compare(client));
    let mut client = Client::new(address).with_token(token);
    let kept = list(&mut client, &format!("/lockers/{SHARED}/reservations?{ALWAYS}"));
    no_two_overlap(&kept);
    let shared = Book::compare_shared(books, &kept);
    landed.iter().zip(shared).map(|(own, shared)| *own || shared).collect()
}

#[test]
fn what_was_acknowledged_survives_kill_9_and_what_was_not_happens_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start(directory.path());
    let token = operator(&server);
    register(&mut server.client().with_token(&token), SHARED, "everyone");
    let mut books: Vec<Book> = (0..CLIENTS).map(Book::new).collect();
    let mut chance = Chance::new(7);
    let started = Instant::now();
    let rounds = backend::rounds(KILLS);
    let (mut doubts, mut made, mut compared) = (0, 0, Duration::ZERO);
    for round in 0..rounds {
        let address = server.address.clone();
        let (written, enough) = (AtomicUsize::new(0), 2 * CLIENTS + chance.below(20 * CLIENTS));
        thread::scope(|scope| {
            for book in &mut books {
                let mut client = Client::new(&address).with_token(&token);
                let written = &written;
                scope.spawn(move || book.write(&mut client, 2 + round / 3, written));
            }
            until("they have written", || written.load(Ordering::Relaxed) > enough);
            server.kill();
        });
        if backend::service().is_some() {
            // What was sent on before the kill is done by then, or never.
            thread::sleep(Duration::from_millis(500));
        }
        doubts += books.iter().filter(|book| book.in_doubt()).count();
        server = Server::start(directory.path());
        if round % 5 == 4 {
            // Once more, when it has hardly stood up.
            server.kill();
            server = Server::start(directory.path());
        }
        let compares = Instant::now();
        let landed = compare(&server.address, &token, &mut books);
        made += landed.iter().filter(|landed| **landed).count();
        each(&server.address, &token, &mut books, |at, book, client| {
            book.settle(client, landed[at])
        });
        let none = compare(&server.address, &token, &mut books);
        assert!(none.iter().all(|landed| !landed), "nothing is in doubt any more");
        compared += compares.elapsed();
    }
    let acknowledged: usize = books.iter().map(|book| book.acknowledged).sum();
    println!(
        "{rounds} kills: {acknowledged} writes acknowledged, {doubts} in doubt of which {made} were \
         made, in {:?} ({compared:?} of it comparing)",
        started.elapsed()
    );
}
