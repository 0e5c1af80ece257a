//! Someone clicks fifty times at once, and the server is killed in the midst of it: there is one request, and
//! every click is told of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::event::{Event, Told, text};
use crate::world::{Address, Chance, Patient, SHORT, World, token};

const CLICKS: usize = 50;

/// Clicks at once. Gives the requests told of, how many had to ask again, and how long all took.
fn burst(
    address: &Address,
    user: &str,
    meanwhile: impl FnOnce(),
) -> (BTreeSet<String>, usize, Duration) {
    let event = Event { id: "party", seats: 0 };
    let (ready, told) = (Barrier::new(CLICKS + 1), Mutex::new(BTreeSet::new()));
    let again = AtomicUsize::new(0);
    let started = thread::scope(|scope| {
        for _ in 0..CLICKS {
            scope.spawn(|| {
                let mut client = Patient::new(address);
                // Connected by then.
                client.get(&token(user, &[]), "/events/party");
                ready.wait();
                let request = event.click(&mut client, user);
                told.lock().unwrap().insert(request);
                again.fetch_add(usize::from(client.again > 0), Ordering::Relaxed);
            });
        }
        ready.wait();
        let started = Instant::now();
        meanwhile();
        started
    });
    (told.into_inner().unwrap(), again.into_inner(), started.elapsed())
}

/// Gives how many rounds there were, by how many clicks the kill met.
fn one_request_for_all_clicks(world: &World, rounds: u32) -> BTreeMap<usize, usize> {
    let mut server = world.serve(&[]);
    let address = Address::of(&server);
    let event = Event { id: "party", seats: 1_000 };
    event.open(&address);
    // The first is not interrupted, and says how long there is to interrupt the others.
    let (requests, _, whole) = burst(&address, "user-0", || {});
    let mut told: Told = requests.into_iter().map(|one| ("user-0".to_owned(), one)).collect();
    let (mut chance, mut interrupted) = (Chance(50), BTreeMap::new());
    for round in 1..rounds {
        let user = format!("user-{round}");
        let delay = whole * round / rounds + chance.pause(0, 3);
        let (requests, again, _) = burst(&address, &user, || {
            thread::sleep(delay);
            server.kill();
            server = world.serve(&[]);
            address.is_now(&server);
        });
        assert_eq!(requests.len(), 1, "{user} was told of {requests:?}, killed after {delay:?}");
        *interrupted.entry(again).or_insert(0) += 1;
        told.extend(requests.into_iter().map(|request| (user.clone(), request)));
    }
    assert!(interrupted.keys().any(|met| *met > 0), "killed in the midst of it");
    let mut client = Patient::new(&address);
    for (user, request) in &told {
        assert_eq!(&event.click(&mut client, user), request);
        let own = client.get(&token(user, &[]), "/me/participations");
        let own: Vec<_> = own["items"].as_array().unwrap().iter().collect();
        assert_eq!(own.len(), 1, "{own:?}");
        assert_eq!(&text(own[0], "requestId"), request);
    }
    event.wait(&address, told.len());
    event.is_settled(world, &address, &told);
    interrupted
}

#[test]
fn one_request_for_all_clicks_across_a_kill() {
    let met = one_request_for_all_clicks(&World::embedded("participation", &SHORT), 40);
    println!("rounds by how many of {CLICKS} clicks the kill met: {met:?}");
}

#[test]
fn one_request_for_all_clicks_across_a_kill_on_dynamodb() {
    let met = one_request_for_all_clicks(&World::on_dynamodb("participation", &SHORT), 10);
    println!("rounds by how many of {CLICKS} clicks the kill met: {met:?}");
}
