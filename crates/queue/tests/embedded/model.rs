//! The queue against a plain map: whatever is done in whatever order, both agree on who holds what.

use std::collections::BTreeMap;

use latchkey_queue::{Error, Received, Which};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::world::{LEASE_MS, World, failure};

#[derive(Debug, Clone)]
enum Step {
    Send {
        delay: i64,
    },
    Receive {
        max: usize,
    },
    Done(prop::sample::Index),
    Later(prop::sample::Index, i64),
    Failed(prop::sample::Index, i64),
    Dead(prop::sample::Index),
    /// Backwards too.
    Pass(i64),
    RedriveAll,
    Recover,
}

fn step() -> impl Strategy<Value = Step> {
    let at = any::<prop::sample::Index>;
    let delay = || prop_oneof![Just(0_i64), -500..3_000_i64];
    prop_oneof![
        4 => delay().prop_map(|delay| Step::Send { delay }),
        6 => (1..5_usize).prop_map(|max| Step::Receive { max }),
        2 => at().prop_map(Step::Done),
        2 => (at(), delay()).prop_map(|(at, delay)| Step::Later(at, delay)),
        2 => (at(), delay()).prop_map(|(at, delay)| Step::Failed(at, delay)),
        1 => at().prop_map(Step::Dead),
        5 => prop_oneof![-200..0_i64, 0..1_500_i64].prop_map(Step::Pass),
        1 => Just(Step::RedriveAll),
        1 => Just(Step::Recover),
    ]
}

/// Where a message is. It is in one place, or the map would hold two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Waiting,
    Held,
    Dead,
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    place: Place,
    /// When it is due or its lease ends.
    at: i64,
    due: i64,
    tries: u32,
    /// Counts its receipts.
    receives: u32,
    delivered: bool,
}

/// A receipt: of which message, which one, until when.
type Receipt = (String, u32, i64);

#[derive(Default)]
struct Model {
    known: BTreeMap<String, Known>,
    receipts: Vec<(Received, Receipt)>,
}

impl Model {
    /// What must be received now.
    fn receive(&mut self, now: i64, max: usize) -> Vec<(String, u32)> {
        let open = |known: &Known| matches!(known.place, Place::Waiting | Place::Held);
        let mut due: Vec<_> = self.known.iter().filter(|(_, k)| open(k) && k.at <= now).collect();
        due.sort_by_key(|(id, known)| (known.at, (*id).clone()));
        let ids: Vec<String> = due.into_iter().take(max).map(|(id, _)| id.clone()).collect();
        let lease = |id: String| {
            let known = self.known.get_mut(&id).unwrap();
            let (place, at) = (Place::Held, now + i64::from(LEASE_MS));
            let (tries, receives) = (known.tries + 1, known.receives + 1);
            *known = Known { place, at, tries, receives, delivered: true, ..*known };
            (id, tries)
        };
        ids.into_iter().map(lease).collect()
    }

    /// The message, if the receipt is current.
    fn held(&mut self, (id, receives, until): &Receipt) -> Option<&mut Known> {
        let known = self.known.get_mut(id)?;
        let current =
            known.place == Place::Held && known.receives == *receives && known.at == *until;
        current.then_some(known)
    }
}

/// Ends or moves what a receipt stands for, on both sides.
async fn with_receipt(world: &World, model: &mut Model, step: &Step, now: i64) {
    let (Step::Done(at) | Step::Later(at, _) | Step::Failed(at, _) | Step::Dead(at)) = step else {
        return;
    };
    if model.receipts.is_empty() {
        return;
    }
    let (received, receipt) = at.get(&model.receipts).clone();
    let queue = &world.queue;
    let answer = match step {
        Step::Later(_, delay) => queue.later(&received, now + delay).await,
        Step::Failed(_, delay) => queue.failed(&received, now + delay, failure()).await,
        Step::Dead(_) => queue.dead(&received, &failure()).await,
        _ => queue.done(&received).await,
    };
    let Some(known) = model.held(&receipt) else {
        assert_eq!(answer, Err(Error::Stale), "{step:?} {receipt:?}");
        return;
    };
    assert_eq!(answer, Ok(()), "{step:?} {receipt:?}");
    *known = match step {
        Step::Later(_, delay) => {
            let at = (now + delay).max(0);
            Known { place: Place::Waiting, at, tries: known.tries - 1, ..*known }
        }
        Step::Failed(_, delay) => {
            Known { place: Place::Waiting, at: (now + delay).max(0), ..*known }
        }
        Step::Dead(_) => Known { place: Place::Dead, at: now, ..*known },
        _ => Known { place: Place::Done, ..*known },
    };
}

async fn receive(world: &World, model: &mut Model, max: usize) {
    let now = world.now();
    let received = world.receive(max).await;
    let found: Vec<_> = received.iter().map(|r| (r.message.id().to_string(), r.tries)).collect();
    assert_eq!(found, model.receive(now, max));
    for received in received {
        let id = received.message.id().to_string();
        let receipt = (id.clone(), model.known[&id].receives, model.known[&id].at);
        model.receipts.push((received, receipt));
    }
}

async fn run(world: &World, model: &mut Model, step: &Step) {
    let now = world.now();
    match step {
        Step::Send { delay } => {
            let (id, due) = (format!("M{:04}", model.known.len()), (now + delay).max(0));
            world.send(&id, due).await;
            let (place, delivered) = (Place::Waiting, false);
            let known = Known { place, at: due, due, tries: 0, receives: 0, delivered };
            model.known.insert(id, known);
        }
        Step::Receive { max } => receive(world, model, *max).await,
        Step::Pass(ms) => world.set((now + ms).max(0)),
        Step::RedriveAll => {
            let dead = model.known.values_mut().filter(|known| known.place == Place::Dead);
            let count = dead
                .map(|known| {
                    *known = Known { place: Place::Waiting, at: now, due: now, tries: 0, ..*known };
                })
                .count();
            assert_eq!(world.queue.redrive_all().await, Ok(count as u64));
        }
        Step::Recover => {
            let held = |known: &&mut Known| known.place == Place::Held && known.at > now;
            let count = model.known.values_mut().filter(held).map(|known| {
                *known = Known { place: Place::Waiting, at: known.due.min(now), ..*known };
            });
            let count = count.count();
            assert_eq!(world.queue.recover().await, Ok(count as u64));
        }
        _ => with_receipt(world, model, step, now).await,
    }
}

/// Every message is where the model says, and nowhere else.
async fn compare(world: &World, model: &Model) {
    for (which, place) in
        [(Which::Waiting, Place::Waiting), (Which::Held, Place::Held), (Which::Dead, Place::Dead)]
    {
        let (found, _) = world.queue.peek(which, 100, None).unwrap();
        let mut found: Vec<_> =
            found.iter().map(|p| (p.message.id().to_string(), p.at, p.tries)).collect();
        found.sort();
        let known = model.known.iter().filter(|(_, known)| known.place == place);
        let known: Vec<_> = known.map(|(id, k)| (id.clone(), k.at, k.tries)).collect();
        assert_eq!(found, known, "{which:?}");
    }
    let now = world.now();
    let count = |test: &dyn Fn(&&Known) -> bool| model.known.values().filter(test).count() as u64;
    let open = |k: &Known| matches!(k.place, Place::Waiting | Place::Held);
    let depth = world.queue.depth().await.unwrap();
    assert_eq!(depth.visible.counted, count(&|k| open(k) && k.at <= now));
    assert_eq!(depth.delayed.counted, count(&|k| k.place == Place::Waiting && k.at > now));
    assert_eq!(depth.in_flight.counted, count(&|k| k.place == Place::Held && k.at > now));
}

async fn play(steps: Vec<Step>) {
    let world = World::new();
    let mut model = Model::default();
    world.set(1_000);
    for step in &steps {
        run(&world, &mut model, step).await;
        compare(&world, &model).await;
    }
    // In the end everything that is not done or dead comes to whoever waits for it.
    world.set(1_000_000_000);
    loop {
        let before = model.receipts.len();
        receive(&world, &mut model, 50).await;
        if model.receipts.len() == before {
            break;
        }
        for (received, _) in &model.receipts[before..] {
            world.queue.done(received).await.unwrap();
            let id = received.message.id().as_str();
            model.known.get_mut(id).unwrap().place = Place::Done;
        }
    }
    assert!(model.known.values().all(|k| matches!(k.place, Place::Done | Place::Dead)));
    assert!(model.known.values().all(|known| known.delivered));
    compare(&world, &model).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn the_queue_is_a_plain_map_with_leases(steps in vec(step(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(play(steps));
    }
}
