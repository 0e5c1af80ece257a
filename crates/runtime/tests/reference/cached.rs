//! `cache`: what a call has read answers other calls, and is never older than a write of the same process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use latchkey_embedded::Store;
use latchkey_runtime::{Call, Caller, Options, Runtime, Storage, System};
use latchkey_table::{Answer, Answering, Backend, Error, Need, PrepareError, Request, Tables};
use tokio::sync::watch;

use crate::support::{NOW, Told, World, call, call_by, dies_after, document};

const NOTES: &str = r#"
entity Note "NOTE" {
  PK = "NOTE#{noteId}"
  SK = "META"
  noteId id, boxId id, text text(400), left int 0.. = 9, version counter
  index ByBox {
    PK = "BOX#{boxId}"
    SK = "NOTE#{noteId}"
  }
}
entity Other "OTHER" {
  PK = "NOTE#{noteId}"
  SK = "OTHER"
  noteId id
}
entity Brief "BRIEF" {
  PK = "NOTE#{noteId}"
  SK = "BRIEF"
  noteId id, endsAt time
  expires endsAt
}
contract MAKE "Make" {
  POST /notes
  input noteId id, boxId id, text text(400)
  allow true
  note = put Note { noteId, boxId, text } if absent else 409 there
  return 201 note
  facts
}
contract TAKE "Take" {
  PUT /notes/{noteId}/take
  allow true
  note = update Note set left = .left - 1, version = .version + 1 if .left > 0 else 409 gone
  return note
  facts
}
contract DROP "Drop" {
  DELETE /notes/{noteId}
  allow true
  transact { delete Note }
  return 204
  facts
}
contract ELSE "Write another" {
  PUT /notes/{noteId}/other
  allow true
  other = put Other { noteId } replace
  return other
  facts
}
contract GET "Get" {
  GET /notes/{noteId}
  allow true
  note = get Note else 404 gone
  return note
  facts
  cache 10s
}
contract LIST "List" {
  GET /boxes/{boxId}
  allow caller is clerk
  notes = query Note by ByBox where PK = "BOX#{boxId}" and SK begins_with "NOTE#" page 2
  return notes { noteId }
  facts
  cache 10s
}
contract WAYS "Two ways" {
  GET /notes/{noteId}/ways
  allow true
  note = get Note else 404 gone
  when caller is chief {
    other = get Other
    return note with { other = other is present }
  }
  return note
  facts
  cache 10s
}
contract DEEP "Read, allow, read" {
  GET /notes/{noteId}/deep
  note = get Note else 404 gone
  allow caller is chief
  other = get Other
  return note with { other = other is present }
  facts
  cache 10s
}
contract HOLD "Hold" {
  PUT /notes/{noteId}/brief
  allow true
  held = put Brief { noteId, endsAt = now + 3s } replace
  return held
  facts
}
contract HELD "Held" {
  GET /notes/{noteId}/brief
  allow true
  held = get Brief else 404 gone
  return held
  facts
  cache 10s
}
contract AGAIN "Read again" {
  GET /notes/{noteId}/again
  allow true
  held = get Brief else retry
  return held
  facts
  cache 10s
}
"#;

const NOTE: &str = r#"{"noteId": "n"}"#;
const MADE: &str = r#"{"noteId": "n", "boxId": "b", "text": "one"}"#;
const FREE: &str = "rcu=0, wcu=0";

/// The same call so many milliseconds later.
fn later(call: Call, milliseconds: i64) -> Call {
    Call { at: Some(NOW + milliseconds), ..call }
}

/// How old what a call was answered from is, in seconds; nothing if the table was asked.
fn age(told: &Told) -> Option<u64> {
    told.0.fresh.as_ref().and_then(|fresh| fresh.age_s)
}

fn counts(runtime: &Runtime, contract: &str) -> (u64, u64) {
    let mut all = runtime.cache_counts();
    let found = all.find(|count| count.contract == contract).unwrap();
    (found.hits, found.misses)
}

#[tokio::test]
async fn an_entry_lasts_as_long_as_it_says() {
    let world = World::start(NOTES).await;
    world.ok("MAKE", MADE).await;
    for (at, told_age, hits, misses) in [
        (0, None, 0, 1),
        (0, Some(0), 1, 1),
        (9_999, Some(9), 2, 1),
        (10_000, None, 2, 2),
        (15_000, Some(5), 3, 2),
        // The clock was set back: what was read is not of the future.
        (4_000, None, 3, 3),
        (5_000, Some(1), 4, 3),
    ] {
        let told = world.made(later(call("GET", NOTE), at)).await;
        assert_eq!((told.status(), age(&told)), (200, told_age), "at {at}");
        assert_eq!(told.capacity() == FREE, told_age.is_some(), "at {at}");
        assert_eq!(counts(&world.runtime, "GET"), (hits, misses), "at {at}");
    }
    let fresh = world.call("GET", NOTE).await.0.fresh.unwrap();
    assert_eq!((fresh.lasts_s, fresh.open), (10, false));
    assert_eq!(world.call("TAKE", NOTE).await.0.fresh, None);
}

#[tokio::test]
async fn a_write_of_what_was_read_ends_it_and_no_other_does() {
    let world = World::start(NOTES).await;
    world.ok("MAKE", MADE).await;
    let hit = async || age(&world.call("GET", NOTE).await).is_some();
    assert!(!hit().await && hit().await);
    world.ok("ELSE", NOTE).await;
    assert!(hit().await, "another entity was written");
    for (write, left) in [("TAKE", 8), ("TAKE", 7)] {
        world.ok(write, NOTE).await;
        let told = world.call("GET", NOTE).await;
        assert_eq!((told.member("left"), age(&told)), (left.into(), None));
        assert!(hit().await);
    }
    world.call("DROP", NOTE).await;
    assert_eq!(world.call("GET", NOTE).await.told(), (404, "gone".into()));
    let gone = world.call("GET", NOTE).await;
    assert_eq!((gone.told(), age(&gone)), ((404, "gone".into()), Some(0)));
    world.ok("MAKE", MADE).await;
    assert_eq!(world.call("GET", NOTE).await.status(), 200);
}

// Nobody is shown what another may see: each call is allowed or not for itself, and has a cursor of its own.
#[tokio::test]
async fn callers_share_what_was_read_and_nothing_else() {
    let world = World::start(NOTES).await;
    for note in ["1", "2", "3"] {
        let made = format!(r#"{{"noteId": "{note}", "boxId": "b", "text": "x"}}"#);
        world.ok("MAKE", &made).await;
    }
    let list = |who: Caller, cursor: Option<&str>| {
        let made = call_by(who, "LIST", r#"{"boxId": "b"}"#);
        match cursor {
            Some(cursor) => made.input("nextCursor", cursor),
            None => made,
        }
    };
    let (ann, bob) = (Caller::new("ann").role("clerk"), Caller::new("bob").role("chief"));
    let first = world.made(list(ann.clone(), None)).await;
    let second = world.made(list(bob.clone(), None)).await;
    assert_eq!((age(&first), age(&second)), (None, Some(0)));
    assert_eq!(first.member("items"), second.member("items"));
    let (anns, bobs) = (first.member("nextCursor"), second.member("nextCursor"));
    assert_ne!(anns, bobs);
    let (anns, bobs) = (anns.as_str().unwrap(), bobs.as_str().unwrap());

    let stranger = world.made(list(Caller::new("eve"), None)).await;
    assert_eq!((stranger.told(), age(&stranger)), ((403, "forbidden".into()), None));
    let stolen = world.made(list(bob.clone(), Some(anns))).await;
    assert_eq!(stolen.told(), (400, "invalid-cursor".into()));

    let rest = world.made(list(ann.clone(), Some(anns))).await;
    let same = world.made(list(bob, Some(bobs))).await;
    assert_eq!((age(&rest), age(&same)), (None, Some(0)));
    assert_eq!(rest.json(), same.json());
    let larger = world.made(list(ann, None).input("pageSize", "1")).await;
    assert_eq!((larger.status(), age(&larger)), (200, None));
}

// The way of a call that reads more than the one before it is not put together from what was read at two instants.
#[tokio::test]
async fn a_call_that_reads_more_reads_all_of_it_again() {
    let world = World::start(NOTES).await;
    world.ok("MAKE", MADE).await;
    let ways = |role: &str, at| later(call_by(Caller::new("x").role(role), "WAYS", NOTE), at);
    for (role, at, told_age, capacity) in [
        ("clerk", 0, None, "rcu=0.5, wcu=0"),
        // By the roles of the caller: the reads depend on them.
        ("chief", 1_000, None, "rcu=1, wcu=0"),
        ("clerk", 2_000, Some(2), FREE),
        ("chief", 3_000, Some(2), FREE),
    ] {
        let told = world.made(ways(role, at)).await;
        assert_eq!((age(&told), told.capacity().as_str()), (told_age, capacity), "{role} at {at}");
    }
    // Whoever is refused has read less than whoever is not.
    let deep = |role: &str, at| later(call_by(Caller::new("x").role(role), "DEEP", NOTE), at);
    for (role, at, status, told_age, capacity) in [
        ("clerk", 0, 403, None, "rcu=0.5, wcu=0"),
        ("clerk", 1_000, 403, Some(1), FREE),
        ("chief", 2_000, 200, None, "rcu=1, wcu=0"),
        ("chief", 3_000, 200, Some(1), FREE),
        ("clerk", 4_000, 403, Some(2), FREE),
    ] {
        let told = world.made(deep(role, at)).await;
        let seen = (told.status(), age(&told), told.capacity());
        assert_eq!(seen, (status, told_age, capacity.to_owned()), "{role} at {at}");
    }
}

#[tokio::test]
async fn items_end_in_memory_too() {
    let world = World::start(NOTES).await;
    world.ok("HOLD", NOTE).await;
    let held = |at| later(call("HELD", NOTE), at);
    assert_eq!(world.made(held(0)).await.status(), 200);
    let before = world.made(held(2_999)).await;
    assert_eq!((before.status(), age(&before)), (200, Some(2)));
    let over = world.made(held(3_000)).await;
    assert_eq!((over.told(), age(&over)), ((404, "gone".into()), Some(3)));
}

// A browser could show an item for seconds after its end: the answer may be used until the item ends.
#[tokio::test]
async fn an_answer_lasts_no_longer_than_its_items() {
    let world = World::start(NOTES).await;
    world.ok("HOLD", NOTE).await;
    for (at, lasts, old) in
        [(0, 3, None), (1_000, 3, Some(1)), (1_500, 2, Some(1)), (2_999, 2, Some(2))]
    {
        let told = world.made(later(call("HELD", NOTE), at)).await;
        let lasts_s = told.0.fresh.as_ref().map(|fresh| fresh.lasts_s);
        assert_eq!((lasts_s, age(&told)), (Some(lasts), old), "at {at}");
    }
}

// What is read again because it is not as it must be is read from the table.
#[tokio::test]
async fn a_retry_reads_the_table() {
    let world = World::start(NOTES).await;
    world.ok("HOLD", NOTE).await;
    let again = |at| later(call("AGAIN", NOTE), at);
    assert_eq!(age(&world.made(again(0)).await), None);
    assert_eq!(age(&world.made(again(2_000)).await), Some(2));
    // By now it has ended, in memory too.
    let busy = world.made(again(3_000)).await;
    assert_eq!((busy.told(), age(&busy)), ((503, "busy".into()), None));
    assert_eq!(busy.capacity(), "rcu=2.5, wcu=0", "the first attempt of six asked nothing");
}

#[tokio::test]
async fn what_is_too_large_is_not_kept() {
    let world = World::start(NOTES).await;
    let large = NOTES.replace("text(400)", "text(300000)");
    let large = world.again(&large).await;
    let made = format!(r#"{{"noteId": "n", "boxId": "b", "text": "{}"}}"#, "x".repeat(300_000));
    large.ok("MAKE", &made).await;
    for _ in 0..2 {
        let told = large.call("GET", NOTE).await;
        assert_eq!((told.status(), age(&told)), (200, None));
    }
    assert_eq!(counts(&large.runtime, "GET"), (0, 2));
}

/// A store whose reads may be behind, whose answers can be held back, and whose writes may have an unknown outcome.
#[derive(Debug)]
struct Slow {
    store: Arc<Store>,
    lag: Duration,
    /// Whether a write is answered as one of which nobody knows.
    forgets: AtomicBool,
    /// How many requests were carried out.
    asked: AtomicUsize,
    /// Whether answers are held back.
    holds: watch::Sender<bool>,
}

impl Backend for Slow {
    fn execute(&self, request: Request, until: Instant) -> Answering<'_, Result<Answer, Error>> {
        Answering::waiting(async move {
            let writes = request.writes();
            let answer = self.store.execute(request, until).await;
            self.asked.fetch_add(1, Ordering::SeqCst);
            self.holds.subscribe().wait_for(|held| !held).await.unwrap();
            match writes && self.forgets.load(Ordering::SeqCst) {
                true => Err(Error::OutcomeUnknown { reason: "the line was cut".into() }),
                false => answer,
            }
        })
    }

    fn prepare<'a>(
        &'a self,
        tables: &'a Tables,
        need: Need,
    ) -> Answering<'a, Result<(), PrepareError>> {
        self.store.prepare(tables, need)
    }

    fn lag(&self) -> Duration {
        self.lag
    }
}

async fn slow(lag: Duration) -> (Runtime, Arc<Slow>) {
    let store = Arc::new(Store::in_memory(&latchkey_embedded::Options::default()).unwrap());
    let slow = Arc::new(Slow {
        store,
        lag,
        forgets: AtomicBool::new(false),
        asked: AtomicUsize::new(0),
        holds: watch::Sender::new(false),
    });
    let system = System::read(&document(NOTES)).unwrap();
    let backend: Arc<dyn Backend> = slow.clone();
    let runtime = Runtime::start(system, Storage::on(backend), Options::default()).await.unwrap();
    (runtime, slow)
}

// A read that began before a write and ended after it was kept, and answered as if the write had not happened.
#[tokio::test]
async fn what_was_read_during_a_write_is_not_kept() {
    for write in ["TAKE", "DROP"] {
        let (runtime, slow) = slow(Duration::ZERO).await;
        runtime.call(call("MAKE", MADE)).await;
        // The read has its answer, and then the write its own. Both are held back, and then told in any order.
        slow.holds.send_replace(true);
        let ask = |contract: &'static str| {
            let runtime = runtime.clone();
            tokio::spawn(async move { Told(runtime.call(call(contract, NOTE)).await) })
        };
        let (reading, done) = (ask("GET"), slow.asked.load(Ordering::SeqCst));
        while slow.asked.load(Ordering::SeqCst) == done {
            tokio::task::yield_now().await;
        }
        let writing = ask(write);
        while slow.asked.load(Ordering::SeqCst) == done + 1 {
            tokio::task::yield_now().await;
        }
        slow.holds.send_replace(false);
        assert!(writing.await.unwrap().status() < 300);
        assert_eq!(reading.await.unwrap().member("left"), 9);
        let after = Told(runtime.call(call("GET", NOTE)).await);
        match write {
            "TAKE" => assert_eq!(after.member("left"), 8),
            _ => assert_eq!(after.status(), 404),
        }
    }
}

// Reads of a store that lags may miss a write that was answered: they are not kept until it has settled.
#[tokio::test]
async fn nothing_is_kept_until_a_write_has_settled() {
    let (runtime, _) = slow(Duration::from_secs(5)).await;
    runtime.call(call("MAKE", MADE)).await;
    for (at, told_age) in [(0, None), (4_999, None), (5_000, None), (5_001, Some(0))] {
        let told = Told(runtime.call(later(call("GET", NOTE), at)).await);
        assert_eq!(age(&told), told_age, "at {at}");
    }
}

// A write of which nobody knows may still happen: for a while nothing is answered from memory.
#[tokio::test]
async fn nothing_is_kept_after_a_write_of_which_nobody_knows() {
    let (runtime, slow) = slow(Duration::ZERO).await;
    runtime.call(call("MAKE", MADE)).await;
    let told = async |at| age(&Told(runtime.call(later(call("GET", NOTE), at)).await));
    assert_eq!((told(0).await, told(0).await), (None, Some(0)));
    slow.forgets.store(true, Ordering::SeqCst);
    assert_eq!(Told(runtime.call(call("TAKE", NOTE)).await).told().1, "outcome-unknown");
    slow.forgets.store(false, Ordering::SeqCst);
    for (at, expected) in [(0, None), (29_999, None), (30_000, None), (30_000, Some(0))] {
        assert_eq!(told(at).await, expected, "at {at}");
    }
    // Nor after a call that was given up while its write was on its way.
    slow.holds.send_replace(true);
    assert!(!dies_after(1, runtime.call(later(call("TAKE", NOTE), 31_000))).await);
    slow.holds.send_replace(false);
    for (at, expected) in [(31_000, None), (60_999, None), (61_000, None), (61_000, Some(0))] {
        assert_eq!(told(at).await, expected, "at {at}");
    }
}

// An answer from memory is never older than a write that was answered before the call began, however many write and read.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_answer_is_older_than_a_write_that_was_answered() {
    const ROUNDS: u64 = 300;
    let world = World::start(&NOTES.replace("int 0.. = 9", "int 0.. = 100000")).await;
    world.ok("MAKE", MADE).await;
    let answered = Arc::new(AtomicU64::new(1));
    let mut tasks = Vec::new();
    for _ in 0..3 {
        let (runtime, answered) = (world.runtime.clone(), Arc::clone(&answered));
        tasks.push(tokio::spawn(async move {
            for _ in 0..ROUNDS {
                let told = Told(runtime.call(call("TAKE", NOTE)).await);
                let version = told.member("version").as_u64().unwrap();
                answered.fetch_max(version, Ordering::SeqCst);
                // Others read meanwhile, so that there is something to be kept.
                for _ in 0..version % 7 {
                    tokio::task::yield_now().await;
                }
            }
        }));
    }
    for reader in ["GET", "GET", "WAYS", "WAYS"] {
        let (runtime, answered) = (world.runtime.clone(), Arc::clone(&answered));
        tasks.push(tokio::spawn(async move {
            for _ in 0..4 * ROUNDS {
                let least = answered.load(Ordering::SeqCst);
                let told = Told(runtime.call(call(reader, NOTE)).await);
                let version = told.member("version").as_u64().unwrap();
                assert!(version >= least, "{version} was read after {least} was answered");
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    // Once nothing is written any more, what was read is kept.
    world.call("GET", NOTE).await;
    let last = world.call("GET", NOTE).await;
    assert_eq!((age(&last), last.member("version")), (Some(0), (3 * ROUNDS + 1).into()));
    let (hits, misses) = counts(&world.runtime, "GET");
    assert_eq!(hits + misses, 8 * ROUNDS + 2);
}
