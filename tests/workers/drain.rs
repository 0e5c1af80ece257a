//! Told to stop under load, what works through a queue stops soon, and holds nothing any more.

use std::thread;
use std::time::Duration;

use crate::event::{Event, QUEUE};
use crate::race::crowd;
use crate::serve::until;
use crate::world::{Address, Patient, World};

const EVENT: Event<'static> = Event { id: "drained", seats: 7 };

#[test]
fn a_server_finishes_what_it_holds() {
    let world = World::embedded("participation", &[]);
    let mut server = world.serve(&["--no-workers"]);
    let address = Address::of(&server);
    EVENT.open(&address);
    let users = 2_000;
    let told = crowd(&EVENT, &address, users, 32);
    assert_eq!(world.depth(), [2_000, 0, 0, 0]);
    assert_eq!(server.stop().code(), Some(0));
    let mut stops = 0;
    loop {
        let [before, ..] = world.depth();
        let mut server = world.serve(&["--test-deliveries", "3"]);
        until("it has begun to work", || world.depth()[0] < before);
        assert_eq!(server.stop().code(), Some(0));
        let [visible, held, later, dead] = world.depth();
        assert_eq!((held, dead), (0, 0), "nothing is held, {visible} wait, {later} come later");
        stops += 1;
        if visible == 0 || stops == 6 {
            break;
        }
    }
    println!("stopped {stops} times until all was done");
    let server = world.serve(&[]);
    address.is_now(&server);
    EVENT.wait(&address, users);
    EVENT.is_settled(&world, &address, &told);
}

#[test]
fn a_worker_finishes_what_it_holds() {
    let world = World::on_sqs("participation", &[], QUEUE, "drained");
    let server = world.serve(&["--no-workers"]);
    let address = Address::of(&server);
    EVENT.open(&address);
    let users = 60;
    let told = crowd(&EVENT, &address, users, 8);
    let mut client = Patient::new(&address);
    let mut left = Vec::new();
    for _ in 0..4 {
        let decided = EVENT.decided(&mut client);
        let mut worker = world.work(&["--workers", "8"]);
        while EVENT.decided(&mut client) == decided && decided < users {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(worker.stop().code(), Some(0));
        let [_, held, _] = world.sqs.as_ref().unwrap().depth("drained");
        left.push(held);
    }
    // On a machine that is busy, a message can come too late to be handed back.
    assert!(left.contains(&0), "each time something is held: {left:?}");
    let _worker = world.work(&[]);
    EVENT.wait(&address, users);
    EVENT.is_settled(&world, &address, &told);
}
