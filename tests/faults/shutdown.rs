//! SIGTERM: what was sent is answered, what was answered is kept, and nobody holds the server up.

use std::collections::BTreeSet;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::serve::backend::on_backend;
use crate::serve::{Server, until};
use crate::wire::{self, Wire};
use crate::world::{Own, lockers_of, operator, signal, view_is_the_locker};

/// A stop that has nothing to wait for ends long before the server gives up on slow clients, after 30 seconds.
const PROMPT: Duration = Duration::from_secs(25);

/// The lockers that a server on this directory has.
fn kept(data: &Path) -> BTreeSet<String> {
    let server = Server::start(data);
    let mut client = server.client().with_token(&operator(&server));
    let lockers = lockers_of(&mut client, "owner");
    if let Some(first) = lockers.first() {
        view_is_the_locker(&mut client, first["lockerId"].as_str().unwrap(), &["owner"]);
    }
    lockers.iter().map(|one| one["lockerId"].as_str().unwrap().to_owned()).collect()
}

/// What one request came to.
struct Sent {
    locker: String,
    /// When it had been sent to its last byte.
    at: Instant,
    status: Option<u16>,
}

/// Registers lockers until the connection ends.
fn write(address: &str, token: &str, client: usize, sent: &Mutex<Vec<Sent>>) {
    let mut wire = Wire::open(address);
    for count in 0.. {
        let locker = format!("L{client}-{count}");
        if wire.send(wire::register(token, &locker)).is_err() {
            return;
        }
        let at = Instant::now();
        let answer = wire.answer();
        let status = answer.as_ref().map(|answer| answer.status);
        sent.lock().unwrap().push(Sent { locker, at, status });
        match answer {
            Some(answer) if !answer.head.contains("connection: close") => {}
            _ => return,
        }
    }
}

#[test]
fn what_was_sent_before_the_signal_is_answered_and_what_was_answered_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let (mut told, mut unanswered, mut longest) = (BTreeSet::new(), 0, Duration::ZERO);
    for round in 0..5usize {
        let mut server = Server::start(directory.path());
        let token = operator(&server);
        let address = server.address.clone();
        let sent = Mutex::new(Vec::new());
        let signalled = thread::scope(|scope| {
            for client in 0..16 {
                let (address, token, sent) = (&address, &token, &sent);
                scope.spawn(move || write(address, token, round * 16 + client, sent));
            }
            until("they write", || sent.lock().unwrap().len() > 64);
            let signalled = Instant::now();
            let status = server.stop();
            assert_eq!(status.code(), Some(0));
            longest = longest.max(signalled.elapsed());
            signalled
        });
        assert!(TcpStream::connect(&address).is_err(), "the listener is closed");
        let sent = sent.into_inner().unwrap();
        for one in &sent {
            match one.status {
                Some(201) => drop(told.insert(one.locker.clone())),
                Some(other) => panic!("{} was answered {other}", one.locker),
                None => {
                    unanswered += 1;
                    assert!(one.at >= signalled, "{} was sent before and not answered", one.locker);
                }
            }
        }
    }
    let kept = kept(directory.path());
    let lost: Vec<_> = told.difference(&kept).collect();
    assert!(lost.is_empty(), "acknowledged, and lost: {lost:?}");
    println!("{} acknowledged, {unanswered} sent after the signal; stops {longest:?}", told.len());
    assert!(longest < PROMPT, "{longest:?}");
}

/// Sends requests while the server stands still, then tells it to stop and lets it go on: all of them were
/// sent before the signal. Gives how many were answered.
fn answered(warm: bool) -> (usize, usize) {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start(directory.path());
    let token = operator(&server);
    let mut wires: Vec<Wire> = (0..32).map(|_| Wire::open(&server.address)).collect();
    if warm {
        for wire in &mut wires {
            wire.send(wire::request("GET", "/lockers/none", &token, "")).unwrap();
            assert_eq!(wire.answer().unwrap().status, 404);
        }
    }
    signal(server.id(), "-STOP");
    if !warm {
        wires = (0..32).map(|_| Wire::open(&server.address)).collect();
    }
    for (at, wire) in wires.iter_mut().enumerate() {
        wire.send(wire::register(&token, &format!("L{at}"))).unwrap();
    }
    // The signal waits until the process goes on.
    signal(server.id(), "-TERM");
    signal(server.id(), "-CONT");
    assert_eq!(server.wait().code(), Some(0));
    let mut told = BTreeSet::new();
    for (at, wire) in wires.iter_mut().enumerate() {
        if let Some(answer) = wire.answer() {
            assert_eq!(answer.status, 201);
            told.insert(format!("L{at}"));
        }
    }
    let kept = kept(directory.path());
    assert!(told.is_subset(&kept), "acknowledged, and lost");
    let silent = kept.difference(&told).count();
    assert_eq!(silent, 0, "done, and never answered");
    (told.len(), wires.len())
}

#[test]
fn a_request_that_lies_unread_on_an_open_connection_is_answered() {
    let (answered, sent) = answered(true);
    assert_eq!(answered, sent, "sent before the signal, and not answered");
}

#[test]
fn a_request_on_a_connection_that_is_not_taken_yet_is_answered() {
    let (answered, sent) = answered(false);
    assert_eq!(answered, sent, "sent before the signal, and not answered");
}

#[test]
fn connections_that_idle_do_not_hold_the_server_up() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start(directory.path());
    let token = operator(&server);
    let fresh: Vec<Wire> = (0..20).map(|_| Wire::open(&server.address)).collect();
    let mut used: Vec<Wire> = (0..20).map(|_| Wire::open(&server.address)).collect();
    for wire in &mut used {
        wire.send(wire::request("GET", "/lockers/none", &token, "")).unwrap();
        assert_eq!(wire.answer().unwrap().status, 404);
    }
    let signalled = Instant::now();
    assert_eq!(server.stop().code(), Some(0));
    let took = signalled.elapsed();
    println!("stopped with idle connections within {took:?}");
    assert!(took < PROMPT, "{took:?}");
    drop(fresh);
}

#[test]
fn slow_clients_hold_the_server_up_for_a_bounded_time() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start(directory.path());
    let token = operator(&server);
    let address = server.address.clone();
    let whole = wire::register(&token, "slow");
    let head = whole.find("\r\n\r\n").unwrap() + 4;
    // Half a head on a connection that is new, half a head on one that is not, half a body.
    let mut wires: Vec<Wire> = (0..3).map(|_| Wire::open(&address)).collect();
    wires[1].send(wire::request("GET", "/lockers/none", &token, "")).unwrap();
    assert_eq!(wires[1].answer().unwrap().status, 404);
    for (wire, part) in wires.iter_mut().zip([head / 2, head / 2, head + 10]) {
        wire.send(&whole[..part]).unwrap();
    }
    thread::scope(|scope| {
        let stopping = scope.spawn(|| server.stop());
        until("no new connection is taken, though some are open", || {
            TcpStream::connect(&address).is_err()
        });
        // Whoever was slow, and goes on in time, is served.
        if wires[2].send(&whole[head + 10..]).is_ok()
            && let Some(answer) = wires[2].answer()
        {
            assert_eq!(answer.status, 201, "{answer:?}");
            assert!(answer.head.contains("connection: close"), "{answer:?}");
        } else {
            panic!("half a body was there before the signal, and its request was dropped");
        }
        // The other two never send the rest.
        assert_eq!(stopping.join().unwrap().code(), Some(0));
    });
    assert!(kept(directory.path()).contains("slow"));
}

#[test]
fn ready_says_no_while_the_server_finishes() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start(directory.path());
    let token = operator(&server);
    let address = server.address.clone();
    let mut probe = Wire::open(&address);
    let ready = "GET /ready HTTP/1.1\r\nhost: test\r\n\r\n";
    probe.send(ready).unwrap();
    assert_eq!(probe.answer().unwrap().status, 200);
    // A body under way keeps the server from stopping.
    let whole = wire::register(&token, "held");
    let mut held = Wire::open(&address);
    held.send(&whole[..whole.len() - 5]).unwrap();
    thread::scope(|scope| {
        let stopping = scope.spawn(|| server.stop());
        until("neither refused nor unready", || {
            let mut probe = match TcpStream::connect(&address) {
                Ok(_) => Wire::open(&address),
                Err(_) => return true,
            };
            probe.send(ready).is_err() || probe.answer().is_none_or(|answer| answer.status == 503)
        });
        held.send(&whole[whole.len() - 5..]).unwrap();
        assert_eq!(held.answer().unwrap().status, 201, "what was begun is finished");
        assert_eq!(stopping.join().unwrap().code(), Some(0));
    });
    assert!(kept(directory.path()).contains("held"));
}

#[test]
fn a_server_that_has_said_it_listens_can_be_told_to_stop() {
    // Told to stop as soon as it had said where it listens, it was killed by the signal: it listened for
    // signals later.
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..10 {
        let mut command = on_backend("serve", directory.path(), &[]);
        command.args(["--listen", "127.0.0.1:0"]);
        let mut server = Own::start(command.env("LATCHKEY_LOG", "warn"));
        let status = server.stop();
        assert_eq!(status.code(), Some(0), "{status}");
    }
}

#[test]
fn a_second_signal_stops_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start(directory.path());
    let whole = wire::register(&operator(&server), "held");
    let mut held = Wire::open(&server.address);
    held.send(&whole[..whole.len() - 5]).unwrap();
    signal(server.id(), "-TERM");
    until("the first signal is heard", || TcpStream::connect(&server.address).is_err());
    assert_eq!(server.stop().code(), Some(1), "it does not wait for the body");
    drop(held);
    assert!(kept(directory.path()).is_empty());
}
