//! Seats go to those who were accepted first, whatever happens in between.

use std::thread;

use serde_json::Value;

use crate::event::{Event, Told, seats_went_to_the_first};
use crate::race::crowd;
use crate::serve::until;
use crate::world::{Address, Patient, World, tries};

/// How many events are decided side by side: as many as a server works on at once.
const EVENTS: usize = 32;

const USERS: usize = 20;

fn ids() -> Vec<String> {
    (0..EVENTS).map(|number| format!("event-{number:02}")).collect()
}

/// Requests pile up for many events, and the server is killed while one of each is being decided.
#[test]
fn a_backlog_is_decided_in_its_order_through_kills() {
    let world = World::embedded("participation", &[]);
    let mut server = world.serve(&["--no-workers"]);
    let address = Address::of(&server);
    let names = ids();
    let events: Vec<Event<'_>> = names.iter().map(|id| Event { id, seats: 7 }).collect();
    let told: Vec<Told> = thread::scope(|scope| {
        let crowds = events.iter().map(|event| {
            event.open(&address);
            let address = &address;
            scope.spawn(move || crowd(event, address, USERS, 1))
        });
        let crowds: Vec<_> = crowds.collect();
        crowds.into_iter().map(|crowd| crowd.join().unwrap()).collect()
    });
    assert_eq!(server.stop().code(), Some(0));
    let decided = |address: &Address| -> usize {
        let mut client = Patient::new(address);
        events.iter().map(|event| event.decided(&mut client)).sum()
    };
    let mut before = 0;
    for _ in 0..3 {
        let mut server = world.serve(&[]);
        address.is_now(&server);
        // However fast it is, it is killed with work behind it and, but for the last, before it.
        until("some are decided", || {
            let now = decided(&address);
            now > before || now == EVENTS * USERS
        });
        server.kill();
        let server = world.serve(&["--no-workers"]);
        address.is_now(&server);
        before = decided(&address);
    }
    let server = world.serve(&[]);
    address.is_now(&server);
    for (event, told) in events.iter().zip(&told) {
        event.wait(&address, USERS);
        event.is_settled(&world, &address, told);
    }
    drop(server);
}

/// A request that cannot be decided holds up its own event, is named, is given up, and the next one is decided.
#[test]
fn a_failing_request_holds_its_event_and_no_other() {
    const BEFORE: &str = "  when event.mode == FIRST_COME {\n    seats =";
    const FAILS: &str = "  require request.userId != \"mallory\" else fail POISONED \"it cannot be digested\"\n  \
                         when event.mode == FIRST_COME {\n    seats =";
    let [lease, tries] = tries("\n  tries 1000\n");
    let world = World::embedded("participation", &[lease, tries, (BEFORE, FAILS)]);
    let mut server = world.serve(&[]);
    let address = Address::of(&server);
    let (held, free) = (Event { id: "held", seats: 1 }, Event { id: "free", seats: 1 });
    held.open(&address);
    free.open(&address);
    let mut client = Patient::new(&address);
    held.click(&mut client, "mallory");
    held.click(&mut client, "ann");
    held.click(&mut client, "ben");
    free.click(&mut client, "ann");
    free.wait(&address, 1);
    // While it is tried, its event is listed as blocked, and nobody behind it is decided.
    let blocked = || -> Vec<Value> {
        let listed: Value = serde_json::from_str(&world.queue_told(&["ls", "--json"])).unwrap();
        listed[0]["blocked"].as_array().unwrap().clone()
    };
    until("it is tried again and again", || {
        blocked().iter().any(|one| one["tries"].as_u64() > Some(1))
    });
    let groups: Vec<Value> = blocked().iter().map(|one| one["group"].clone()).collect();
    assert_eq!(groups, ["held"]);
    let told = world.queue_told(&["ls"]);
    assert!(told.contains("eventId held is blocked by") && told.contains("POISONED"), "{told}");
    assert_eq!(held.decided(&mut client), 0);

    // Given up, it holds nobody any more.
    assert_eq!(server.stop().code(), Some(0));
    world.edit("\n  tries 1000\n", "\n  tries 1\n");
    let server = world.serve(&[]);
    address.is_now(&server);
    held.wait(&address, 3);
    let requests = held.walk(&mut client, "asc", 10);
    let statuses: Vec<&str> = requests.iter().map(|one| one["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["FAILED_FINAL", "SUCCEEDED", "REJECTED"]);
    seats_went_to_the_first(&requests[1..]);
    until("it is kept", || world.depth() == [0, 0, 0, 1]);
    assert!(blocked().is_empty());
    drop(server);
}
