//! Whoever pages through the requests of an event sees each once, as they were accepted, while their statuses
//! change underneath.

use std::collections::BTreeSet;
use std::thread;

use crate::event::{Event, is_in_order, text};
use crate::race::crowd;
use crate::world::{Address, Patient, World};

#[test]
fn pages_keep_the_order_of_acceptance() {
    let world = World::embedded("participation", &[]);
    let mut server = world.serve(&["--no-workers"]);
    let address = Address::of(&server);
    let (event, users) = (Event { id: "paged", seats: 100 }, 700);
    event.open(&address);
    let told = crowd(&event, &address, users, 16);
    let ids = |requests: &[serde_json::Value]| -> Vec<String> {
        requests.iter().map(|one| text(one, "requestId")).collect()
    };
    let first = event.walk(&mut Patient::new(&address), "asc", 100);
    is_in_order(&first);
    assert!(first.iter().all(|one| one["status"] == "QUEUED"), "nobody works yet");
    assert_eq!(first.len(), users);
    server.stop();

    // Few at once, so that it takes a while.
    let server = world.serve(&["--workers", "2"]);
    address.is_now(&server);
    let wanted = ids(&first);
    let changing = thread::scope(|scope| {
        let walkers =
            [("asc", 20), ("desc", 20), ("asc", 7), ("desc", 100)].map(|(order, limit)| {
                let (event, address, wanted) = (&event, &address, &wanted);
                scope.spawn(move || {
                    let (mut client, mut changing) = (Patient::new(address), 0);
                    loop {
                        let before = event.decided(&mut client);
                        let mut seen = event.walk(&mut client, order, limit);
                        let after = event.decided(&mut client);
                        if order == "desc" {
                            seen.reverse();
                        }
                        is_in_order(&seen);
                        assert_eq!(&ids(&seen), wanted, "each once, as before");
                        changing += usize::from(before < after);
                        if before == users {
                            let statuses: BTreeSet<_> =
                                seen.iter().map(|one| text(one, "status")).collect();
                            let ends = ["REJECTED", "SUCCEEDED"].map(str::to_owned);
                            assert_eq!(statuses, BTreeSet::from(ends));
                            return changing;
                        }
                    }
                })
            });
        walkers.map(|walker| walker.join().unwrap())
    });
    println!("walks while statuses changed: {changing:?}");
    event.wait(&address, users);
    event.is_settled(&world, &address, &told);
}
