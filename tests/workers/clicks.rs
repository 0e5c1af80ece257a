//! Someone clicks fifty times at once, and the server is killed in the midst of it: there is one request, and
//! every click is told of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use crate::event::{Event, Told, text};
use crate::world::{Address, Chance, Patient, Process, SHORT, World, token};

const CLICKS: usize = 50;

/// Clicks at once, kills the server after a while and starts it again. Gives the requests told of, and how many
/// had to ask again.
fn burst(
    world: &World,
    server: &mut Process,
    address: &Address,
    user: &str,
    delay: Duration,
) -> (BTreeSet<String>, usize) {
    let event = Event { id: "party", seats: 0 };
    let (ready, told) = (Barrier::new(CLICKS + 1), Mutex::new(BTreeSet::new()));
    let again = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..CLICKS {
            scope.spawn(|| {
                let mut client = Patient::new(address);
                // Connected by then.
                client.get(&token(user, &[]), "/events/party");
                ready.wait();
                let request = event.click(&mut client, user);
                told.lock().unwrap().insert(request);
                *again.lock().unwrap() += usize::from(client.again > 0);
            });
        }
        ready.wait();
        thread::sleep(delay);
        server.kill();
        *server = world.serve(&[]);
        address.is_now(server);
    });
    (told.into_inner().unwrap(), again.into_inner().unwrap())
}

fn one_request_for_all_clicks(world: &World, rounds: usize, delays: u64) {
    let mut server = world.serve(&[]);
    let address = Address::of(&server);
    let event = Event { id: "party", seats: 1_000 };
    event.open(&address);
    let (mut chance, mut told, mut interrupted) = (Chance(50), Told::new(), BTreeMap::new());
    for round in 0..rounds {
        let user = format!("user-{round}");
        let delay = chance.pause(0, delays);
        let (requests, again) = burst(world, &mut server, &address, &user, delay);
        assert_eq!(requests.len(), 1, "{user} was told of {requests:?}, killed after {delay:?}");
        *interrupted.entry(again).or_insert(0) += 1;
        told.extend(requests.into_iter().map(|request| (user.clone(), request)));
    }
    println!("rounds by how many of {CLICKS} clicks the kill met: {interrupted:?}");
    assert!(interrupted.keys().any(|met| (1..CLICKS).contains(met)), "killed in the midst of it");
    let mut client = Patient::new(&address);
    for (user, request) in &told {
        assert_eq!(&event.click(&mut client, user), request);
        let own = client.get(&token(user, &[]), "/me/participations");
        let own: Vec<_> = own["items"].as_array().unwrap().iter().collect();
        assert_eq!(own.len(), 1, "{own:?}");
        assert_eq!(&text(own[0], "requestId"), request);
    }
    event.wait(&address, rounds, Duration::from_secs(60));
    event.is_settled(world, &address, &told);
}

#[test]
fn one_request_for_all_clicks_across_a_kill() {
    one_request_for_all_clicks(&World::embedded("participation", &SHORT), 25, 60);
}

#[test]
fn one_request_for_all_clicks_across_a_kill_on_dynamodb() {
    one_request_for_all_clicks(&World::on_dynamodb("participation", &SHORT), 6, 250);
}
