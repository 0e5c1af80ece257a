//! As many win as there are seats, in many small events at once: everybody asks several times, in any order, every
//! message is delivered three times, and the server is killed.

use std::sync::Mutex;
use std::thread;

use crate::event::{Event, Told};
use crate::race::harass;
use crate::serve::promise::{self, Progress};
use crate::world::{Address, Chance, Patient, World};

/// How many events are raced for side by side. Each is a round.
const TOGETHER: usize = 20;

const CLIENTS: usize = 12;

/// How often each asks.
const CLICKS: usize = 3;

const KILLS: usize = 2;

/// Who asks, and for which event: everybody several times, in an order of chance.
fn clicks(people: &[usize], chance: &mut Chance) -> Vec<(usize, usize)> {
    let all = people.iter().enumerate();
    let mut clicks: Vec<(usize, usize)> = all
        .flat_map(|(event, people)| (0..*people).map(move |person| (event, person)))
        .flat_map(|click| [click; CLICKS])
        .collect();
    for at in (1..clicks.len()).rev() {
        let other = chance.below(u64::try_from(at).unwrap() + 1);
        clicks.swap(at, usize::try_from(other).unwrap());
    }
    clicks
}

/// Makes all clicks, by several clients, and gives which request each was told of.
fn click_all(events: &[Event<'_>], address: &Address, clicks: &[(usize, usize)]) -> Vec<Told> {
    let told = Mutex::new(vec![Told::new(); events.len()]);
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let told = &told;
            scope.spawn(move || {
                let mut asking = Patient::new(address);
                for (event, person) in clicks.iter().skip(client).step_by(CLIENTS) {
                    let user = format!("user-{person}");
                    let request = events[*event].click(&mut asking, &user);
                    let before = told.lock().unwrap()[*event].insert(user, request.clone());
                    assert!(before.is_none_or(|before| before == request), "told of two requests");
                }
            });
        }
    });
    told.into_inner().unwrap()
}

#[test]
fn as_many_win_as_there_are_seats_in_every_round() {
    let wanted = promise::rounds(TOGETHER);
    let batches = wanted.div_ceil(TOGETHER);
    let world = World::embedded("participation", &[]);
    let flags = ["--test-deliveries", "3"];
    let mut server = Some(world.serve(&flags));
    let address = Address::of(server.as_ref().unwrap());
    let mut chance = Chance(11);
    let mut progress = Progress::new("winners", batches * TOGETHER);
    let (mut asked, mut won) = (0, 0);
    for batch in 0..batches {
        let ids: Vec<String> = (0..TOGETHER).map(|n| format!("round-{batch}-{n}")).collect();
        let draw = |chance: &mut Chance, end| usize::try_from(1 + chance.below(end)).unwrap();
        let seats: Vec<usize> = ids.iter().map(|_| draw(&mut chance, 4)).collect();
        // Some have seats left.
        let people: Vec<usize> = ids.iter().map(|_| draw(&mut chance, 12)).collect();
        let events = ids.iter().zip(&seats).map(|(id, seats)| Event { id, seats: *seats });
        let events: Vec<Event<'_>> = events.collect();
        events.iter().for_each(|event| event.open(&address));
        let clicks = clicks(&people, &mut chance);
        let start = || {
            let server = world.serve(&flags);
            address.is_now(&server);
            server
        };
        let killed = server.take().unwrap();
        let told = thread::scope(|scope| {
            let killing = scope.spawn(|| harass(killed, KILLS, || chance.pause(20, 700), start));
            let told = click_all(&events, &address, &clicks);
            server = Some(killing.join().unwrap());
            told
        });
        asked += clicks.len();
        for ((event, told), people) in events.iter().zip(&told).zip(&people) {
            assert_eq!(told.len(), *people);
            event.wait(&address, *people);
            event.is_settled(&world, &address, told);
            won += event.seats.min(*people);
        }
        progress.add(TOGETHER);
    }
    println!(
        "{} rounds, asked {asked} times, {} kills: {won} seats had {won} winners, in {:?}",
        batches * TOGETHER,
        batches * KILLS,
        progress.spent()
    );
    drop(server);
}
