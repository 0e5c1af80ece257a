//! Messages that cannot be worked on: they are tried, given up, kept, and their requests say why.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::event::{Event, QUEUE, admin, log, text};
use crate::race::crowd;
use crate::serve::proxy::Proxy;
use crate::serve::until;
use crate::world::{Address, Chance, Patient, World, tries};

/// Before this, the worker of these documents fails for a certain event.
const BEFORE: &str = "  when event.mode == FIRST_COME {\n    seats =";
const FAILS: &str = "  require event.eventId != \"poison\" else fail POISONED \"it cannot be digested\"\n  \
                     when event.mode == FIRST_COME {\n    seats =";

const POISON: Event<'static> = Event { id: "poison", seats: 5 };
const SOUND: Event<'static> = Event { id: "sound", seats: 5 };

fn edits() -> Vec<(&'static str, &'static str)> {
    [tries("\n  tries 2\n").as_slice(), &[(BEFORE, FAILS)]].concat()
}

/// A request that was given up, as it tells of itself.
fn given_up(client: &mut Patient<'_>, request: &str) -> Option<[String; 3]> {
    let kept = client.get(&admin(), &format!("/admin/requests/{request}"));
    (kept["status"] == "FAILED_FINAL").then(|| {
        assert!(kept.get("uiResult").is_none(), "{kept}");
        assert!(text(&kept, "finishedAt") >= text(&kept, "queuedAt"), "{kept}");
        ["failureClass", "errorCode", "errorMessage"].map(|name| text(&kept, name))
    })
}

fn peeked(world: &World) -> Vec<Value> {
    let told = world.queue_told(&["peek", QUEUE, "--dead", "--json"]);
    serde_json::from_str(&told).unwrap()
}

/// One message is poisoned, another is not. Then whoever looks after the queue looks after it.
fn poisoned(world: &World) {
    let server = world.serve(&[]);
    let address = Address::of(&server);
    POISON.open_as(&address, "Poison");
    SOUND.open(&address);
    let mut client = Patient::new(&address);
    let request = POISON.click(&mut client, "eve");
    SOUND.click(&mut client, "eve");
    SOUND.wait(&address, 1);
    assert_eq!(SOUND.summary(&mut client)["SUCCEEDED"], 1, "one does not hold up the other");

    until("it is given up", || given_up(&mut client, &request).is_some());
    let why = given_up(&mut client, &request).unwrap();
    assert_eq!(why, ["FAILED", "POISONED", "it cannot be digested"]);
    let logged: Vec<_> = log(&mut client, &request).into_iter().map(|line| line.0).collect();
    assert_eq!(logged, ["RECEIVED", "QUEUED", "PROCESSING", "FAILED_FINAL"]);
    let summary = POISON.summary(&mut client);
    assert_eq!((summary["PROCESSING"], summary["FAILED_FINAL"]), (0, 1), "{summary:?}");

    // Looked at, sent again, and looked at again.
    until("it is kept", || world.depth() == [0, 0, 0, 1]);
    let letter = peeked(world).pop().unwrap();
    assert_eq!(letter["body"]["requestId"], json!(request), "{letter}");
    assert!(letter["tries"].as_u64().unwrap() >= 2, "{letter}");
    let failure =
        json!({"class": "FAILED", "code": "POISONED", "message": "it cannot be digested"});
    assert_eq!(letter["failure"], failure);
    let told = world.queue_told(&["ls"]);
    assert!(told.contains("participation/participations") && told.contains("EP-04"), "{told}");
    assert_eq!(world.queue_told(&["redrive", QUEUE]), "1 message sent again\n");
    // It is decided, so nothing more becomes of it.
    until("it is gone", || world.depth() == [0; 4]);
    assert_eq!(given_up(&mut client, &request).unwrap(), why);
    let unknown = world.queue(&["redrive", QUEUE, "--id", "nothing"]);
    assert!(!unknown.status.success());
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("was given up"), "{unknown:?}");

    // Removed for good, if that is meant.
    POISON.click(&mut client, "mallory");
    until("another is kept", || world.depth() == [0, 0, 0, 1]);
    let unsure = world.queue(&["purge", QUEUE, "--dead"]);
    assert!(!unsure.status.success() && world.depth()[3] == 1, "{unsure:?}");
    assert_eq!(world.queue_told(&["purge", QUEUE, "--dead", "--yes"]), "1 message removed\n");
    assert_eq!(world.depth(), [0; 4]);
    assert!(peeked(world).is_empty());
}

#[test]
fn a_poisoned_message_is_given_up() {
    poisoned(&World::embedded("participation", &edits()));
}

#[test]
fn a_poisoned_message_is_given_up_on_sqs() {
    poisoned(&World::on_sqs("participation", &edits(), QUEUE, "poison"));
}

#[test]
fn a_message_that_kills_its_worker_is_given_up_by_sqs_and_then_by_us() {
    // The second worker must be there before the lease of the first is over. A busy machine gets a longer lease.
    assert!([4, 20, 100].into_iter().any(killed_twice), "no worker started within 100 seconds");
}

/// Kills two workers that have the same message. Tells nothing, if the second came after the lease of the first.
fn killed_twice(seconds: u64) -> bool {
    let lease = Duration::from_secs(seconds);
    let [(shipped, short), tries] = tries("\n  tries 5\n");
    let edit = short.replace("4s", &format!("{seconds}s"));
    // SQS counts to two, which is fewer than the worker would.
    let world = World::on_sqs("participation", &[(shipped, edit.as_str()), tries], QUEUE, "deadly");
    let sqs = world.sqs.as_ref().unwrap();
    let policy = sqs.attribute("deadly", "RedrivePolicy");
    let mut policy: Value = serde_json::from_str(&policy).unwrap();
    assert_eq!(policy["maxReceiveCount"].to_string().trim_matches('"'), "100", "{policy}");
    policy["maxReceiveCount"] = json!(2);
    sqs.set_attribute("deadly", "RedrivePolicy", &policy.to_string());

    let server = world.serve(&["--no-workers"]);
    let address = Address::of(&server);
    SOUND.open(&address);
    let mut client = Patient::new(&address);
    // Twice a worker gets the message, cannot so much as read the table, and is killed.
    let held = || sqs.depth("deadly") == [0, 1, 0];
    let worker = || {
        let mut way = Proxy::to(world.service.as_ref().unwrap().endpoint());
        let worker = world.work_through(&way.endpoint());
        way.hang();
        (worker, way)
    };
    let (mut first, _way) = worker();
    let sent = Instant::now();
    let request = SOUND.click(&mut client, "eve");
    until("it has the message", held);
    first.kill();
    let killed = Instant::now();
    let (mut second, _way) = worker();
    // The first has leased nothing before it was sent, so its lease is not over yet.
    if sent.elapsed() >= lease {
        return false;
    }
    thread::sleep((lease + Duration::from_secs(1)).saturating_sub(killed.elapsed()));
    until("it has the message", held);
    second.kill();

    let _worker = world.work(&[]);
    until("it is given up", || given_up(&mut client, &request).is_some());
    let [class, code, message] = given_up(&mut client, &request).unwrap();
    assert_eq!((class.as_str(), code.as_str()), ("CRASHED", "crashed"));
    assert!(message.contains("died"), "{message}");
    until("it is kept", || world.depth() == [0, 0, 0, 1]);
    assert_eq!(sqs.depth("deadly-dead"), [0; 3], "and no longer at SQS");
    assert_eq!(peeked(&world)[0]["failure"]["class"], "CRASHED");
    true
}

#[test]
fn a_message_with_one_try_that_was_held_by_whoever_is_killed_is_given_up() {
    let world = World::embedded("participation", &tries("\n  tries 1\n"));
    let mut server = world.serve(&[]);
    let address = Address::of(&server);
    let (event, users) = (Event { id: "once", seats: 100_000 }, 600);
    event.open(&address);
    let mut chance = Chance(1);
    let told = thread::scope(|scope| {
        let crowd = scope.spawn(|| crowd(&event, &address, users, 32));
        for _ in 0..4 {
            thread::sleep(chance.pause(100, 400));
            server.kill();
            server = world.serve(&[]);
            address.is_now(&server);
        }
        crowd.join().unwrap()
    });
    event.wait(&address, users);
    let mut client = Patient::new(&address);
    let requests = event.walk(&mut client, "asc", 100);
    let listed: BTreeSet<_> = requests.iter().map(|one| text(one, "requestId")).collect();
    // Also those of which nobody could say that the queue has them: their messages say so.
    for request in told.values() {
        assert!(listed.contains(request), "{request} is not listed");
    }
    let lost = requests.iter().filter(|one| one["status"] != "SUCCEEDED");
    let lost: Vec<_> = lost.collect();
    println!("{} of {users} were in hand when the server was killed", lost.len());
    for one in &lost {
        assert_eq!(
            (&one["status"], &one["errorCode"]),
            (&json!("FAILED_FINAL"), &json!("crashed"))
        );
    }
    let summary = event.summary(&mut client);
    assert_eq!((summary["SUCCEEDED"], summary["FAILED_FINAL"]), (users - lost.len(), lost.len()));
    let [.., dead] = world.depth();
    let lost = u64::try_from(lost.len()).unwrap();
    assert!(lost <= dead && dead > 0, "{lost} lost, {dead} kept, of which some were decided");
}
