//! The same race where the table is on DynamoDB Local and the queue on SQS, with workers in processes of their own
//! that are killed.

use std::thread;

use crate::event::{Event, QUEUE, Told};
use crate::race::{crowd, harass};
use crate::world::{Address, Chance, Patient, SHORT, World, tries};

/// What the workers are told.
const FLAGS: [&str; 4] = ["--test-deliveries", "3", "--workers", "4"];

/// Runs the race with two workers that are killed so often each.
fn race(world: &World, kills: usize, take_part: impl FnOnce(&Address) -> Told) -> (Address, Told) {
    let server = world.serve(&["--no-workers"]);
    let address = Address::of(&server);
    let told = thread::scope(|scope| {
        let killing: Vec<_> = (0..2)
            .map(|seed| {
                let mut chance = Chance(seed);
                scope.spawn(move || {
                    let start = || world.work(&FLAGS);
                    harass(start(), kills, || chance.pause(50, 1_500), start)
                })
            })
            .collect();
        let told = take_part(&address);
        let workers: Vec<_> = killing.into_iter().map(|one| one.join().unwrap()).collect();
        let event = Event { id: "race", seats: 0 };
        event.wait(&address, told.len());
        drop(workers);
        told
    });
    // Others finish what the last ones held when they were killed.
    let rest = world.work(&FLAGS);
    let event = Event { id: "race", seats: 10 };
    event.is_settled(world, &address, &told);
    drop((server, rest));
    (address, told)
}

#[test]
fn as_many_win_as_there_are_seats_on_a_standard_queue() {
    let world = World::on_sqs("participation", &SHORT, QUEUE, "race");
    let event = Event { id: "race", seats: 10 };
    race(&world, 3, |address| {
        event.open(address);
        crowd(&event, address, 200, 16)
    });
}

#[test]
fn a_standard_queue_is_refused_for_an_ordered_one() {
    let world = World::on_sqs("participation", &SHORT, QUEUE, "race.fifo");
    let sqs = world.sqs.as_ref().unwrap();
    for (attribute, value) in
        [("DeduplicationScope", "messageGroup"), ("FifoThroughputLimit", "perMessageGroupId")]
    {
        assert_eq!(sqs.attribute("race.fifo", attribute), value);
    }
    let standard = format!("{QUEUE}=race");
    for command in [["serve", "--no-workers"], ["work", "--workers=1"]] {
        let mut refused = world.on(command[0], &command[1..]);
        let arguments: Vec<_> = refused.get_args().map(std::ffi::OsStr::to_owned).collect();
        let arguments = arguments.iter().map(|one| match one.to_str() {
            Some("participations=race.fifo") => standard.clone().into(),
            _ => one.clone(),
        });
        let arguments: Vec<std::ffi::OsString> = arguments.collect();
        refused = world.command();
        let output = refused.args(arguments).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{told}");
        assert!(told.contains("is ordered by `eventId`, and `race` is a standard queue"), "{told}");
        assert!(told.contains("latchkey queue create --sqs"), "{told}");
    }
}

#[test]
fn the_first_win_on_a_fifo_queue() {
    // Killed so often with the same message in hand, it would be given up: an order has no way around it.
    let edits = tries("\n  tries 20\n");
    let world = World::on_sqs("participation", &edits, QUEUE, "race.fifo");
    let event = Event { id: "race", seats: 10 };
    let mut winners = Vec::new();
    race(&world, 2, |address| {
        event.open(address);
        let mut client = Patient::new(address);
        let mut told = Told::new();
        for number in 0..30 {
            let user = format!("user-{number:02}");
            let request = event.click(&mut client, &user);
            if number < event.seats {
                winners.push(request.clone());
            }
            told.insert(user, request);
        }
        told
    });
    let server = world.serve(&["--no-workers"]);
    let address = Address::of(&server);
    let requests = event.walk(&mut Patient::new(&address), "asc", 100);
    let won: Vec<_> = requests.iter().map(|one| one["status"] == "SUCCEEDED").collect();
    assert_eq!(won, (0..30).map(|at| at < event.seats).collect::<Vec<_>>(), "the first win");
    let first: Vec<_> = requests.iter().take(event.seats).map(|one| &one["requestId"]).collect();
    assert_eq!(first, winners.iter().collect::<Vec<_>>(), "in the order they asked");
}
