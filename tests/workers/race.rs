//! Thousands race for few seats, each message is handled three times at once, and the server is killed and
//! started again: there are as many winners as there are seats.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::event::{Event, Told};
use crate::world::{Address, Chance, Patient, Process, World};

/// How many take part, unless `LATCHKEY_RACE_USERS` says otherwise; a hundredth of them win.
const USERS: usize = 10_000;

const CLIENTS: usize = 48;

/// Fewer than a message has tries: one that every kill meets is decided all the same.
const KILLS: usize = 4;

/// Has users take part, on so many connections, until each is answered.
pub(crate) fn crowd(event: &Event<'_>, address: &Address, users: usize, clients: usize) -> Told {
    let (next, told) = (AtomicUsize::new(0), Mutex::new(Told::new()));
    thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let mut client = Patient::new(address);
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= users {
                        return;
                    }
                    let user = format!("user-{number:05}");
                    let request = event.click(&mut client, &user);
                    if number.is_multiple_of(7) {
                        assert_eq!(event.click(&mut client, &user), request, "clicked twice");
                    }
                    told.lock().unwrap().insert(user, request);
                }
            });
        }
    });
    told.into_inner().unwrap()
}

/// Kills a process so often at random moments, and starts it again.
pub(crate) fn harass(
    mut process: Process,
    kills: usize,
    mut pause: impl FnMut() -> Duration,
    mut start: impl FnMut() -> Process,
) -> Process {
    for _ in 0..kills {
        thread::sleep(pause());
        process.kill();
        process = start();
    }
    process
}

#[test]
fn as_many_win_as_there_are_seats() {
    let users = std::env::var("LATCHKEY_RACE_USERS").map_or(USERS, |n| n.parse().unwrap());
    let event = Event { id: "race", seats: users / 100 };
    let world = World::embedded("participation", &[]);
    let flags = ["--test-deliveries", "3"];
    let server = world.serve(&flags);
    let address = Address::of(&server);
    event.open(&address);
    let (mut chance, started) = (Chance(6), Instant::now());
    let (told, server) = thread::scope(|scope| {
        let killing = scope.spawn(|| {
            harass(
                server,
                KILLS,
                || chance.pause(100, 4_000),
                || {
                    let server = world.serve(&flags);
                    address.is_now(&server);
                    server
                },
            )
        });
        let told = crowd(&event, &address, users, CLIENTS);
        println!("{users} are answered after {:?}", started.elapsed());
        let server = killing.join().unwrap();
        println!("killed {KILLS} times within {:?}", started.elapsed());
        event.wait(&address, users);
        println!("all are decided after {:?}", started.elapsed());
        (told, server)
    });
    // Whoever asks again is told the same.
    assert_eq!(crowd(&event, &address, users, CLIENTS), told);
    event.is_settled(&world, &address, &told);
    println!("all is checked after {:?}", started.elapsed());
    drop(server);
}
