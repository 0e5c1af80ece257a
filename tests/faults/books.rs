//! What one client knows: every write that was acknowledged, and the one whose answer was lost.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::serve::{Client, Reply};
use crate::world::{ALWAYS, Chance, busy, list, locker, lockers_of, minute, outcome};

/// The locker that all clients reserve.
pub(crate) const SHARED: &str = "shared";

/// A write, as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Act {
    kind: Kind,
    method: &'static str,
    path: String,
    body: Value,
    /// Its name; an update of a status has none, only a version.
    key: Option<String>,
}

/// What a write is, and the locker it is about.
#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Register,
    Status(String),
    Transfer(String),
    Reserve(String),
    Log(String),
}

/// Things of lockers, by locker and id.
type Things = BTreeMap<String, BTreeMap<String, Value>>;

/// One client's books.
pub(crate) struct Book {
    number: usize,
    chance: Chance,
    count: usize,
    lockers: BTreeMap<String, Value>,
    reservations: Things,
    events: Things,
    /// Sent, and never answered.
    doubt: Option<Act>,
    /// The last named write that was acknowledged, and its answer.
    last: Option<(Act, Reply)>,
    pub(crate) acknowledged: usize,
}

impl Book {
    pub(crate) fn new(number: usize) -> Book {
        Book {
            number,
            chance: Chance::new(u64::try_from(number).unwrap() + 100),
            count: 0,
            lockers: BTreeMap::new(),
            reservations: Things::new(),
            events: Things::new(),
            doubt: None,
            last: None,
            acknowledged: 0,
        }
    }

    pub(crate) fn in_doubt(&self) -> bool {
        self.doubt.is_some()
    }

    fn owners(&self) -> [String; 2] {
        ["a", "b"].map(|side| format!("owner{}{side}", self.number))
    }

    /// Writes until the server is gone, and counts what is acknowledged.
    pub(crate) fn write(&mut self, client: &mut Client, lockers_max: usize, count: &AtomicUsize) {
        loop {
            let act = self.next(lockers_max);
            match send(client, &act) {
                Ok(reply) => {
                    self.acknowledge(&act, &reply);
                    count.fetch_add(1, Ordering::Relaxed);
                }
                Err(_) => {
                    self.doubt = Some(act);
                    return;
                }
            }
        }
    }

    /// Writes one thing, as often as it takes while the store comes and goes, and shows every answer.
    pub(crate) fn insist(
        &mut self,
        client: &mut Client,
        lockers_max: usize,
        mut show: impl FnMut(&Reply),
    ) {
        let act = self.next(lockers_max);
        let mut in_doubt = false;
        loop {
            let reply = send(client, &act).unwrap();
            show(&reply);
            if unavailable(&reply) {
                in_doubt |= reply.code() == "outcome-unknown";
                thread::sleep(Duration::from_millis(50));
                continue;
            }
            match &act.kind {
                // It has no name to be known by, but nobody else changes this locker: it was made.
                Kind::Status(id) if in_doubt && reply.status == 409 => {
                    let version = act.body["expectedVersion"].as_u64().unwrap() + 1;
                    assert_eq!(outcome(&reply), "409 version-conflict", "{act:?}: {reply:?}");
                    assert_eq!(reply.json()["currentVersion"], version, "{act:?}: {reply:?}");
                    let mut made = self.lockers[id].clone();
                    made["status"] = act.body["newStatus"].clone();
                    made["version"] = json!(version);
                    // The one thing nobody was told.
                    made["updatedAt"] = Value::Null;
                    self.lockers.insert(id.clone(), made);
                    self.acknowledged += 1;
                }
                _ => self.acknowledge(&act, &reply),
            }
            return;
        }
    }

    fn next(&mut self, lockers_max: usize) -> Act {
        self.count += 1;
        let name = format!("c{}-{}", self.number, self.count);
        let choice = self.chance.below(10);
        let owner = self.chance.pick(&self.owners()).clone();
        if self.lockers.is_empty() || (choice == 0 && self.lockers.len() < lockers_max) {
            let mut body = json!({ "ownerId": owner, "lockerAlias": name });
            // Without an id each that is made is another, and shows.
            if self.count.is_multiple_of(2) {
                body["lockerId"] = json!(format!("locker-{name}"));
            }
            return post(Kind::Register, "/lockers".to_owned(), body, name);
        }
        let ids: Vec<&String> = self.lockers.keys().collect();
        let id = (*self.chance.pick(&ids)).clone();
        let known = &self.lockers[&id];
        let path = format!("/lockers/{id}");
        match choice {
            0..=2 => {
                let moves: &[&str] = match known["status"].as_str().unwrap() {
                    "AVAILABLE" => &["OCCUPIED", "MAINTENANCE"],
                    "OCCUPIED" => &["AVAILABLE", "MAINTENANCE"],
                    _ => &["AVAILABLE"],
                };
                let body = json!({
                    "newStatus": self.chance.pick(moves), "expectedVersion": known["version"],
                });
                let path = format!("{path}/status");
                Act { kind: Kind::Status(id), method: "PUT", path, body, key: None }
            }
            3 => {
                let [a, b] = self.owners();
                let other = if known["ownerId"] == a { b } else { a };
                let body = json!({ "newOwnerId": other, "expectedVersion": known["version"] });
                post(Kind::Transfer(id), format!("{path}/transfer"), body, name)
            }
            4 | 5 => {
                // Every window of its own is apart from the others.
                let start = self.count * 2;
                self.reserve(id, &name, start, start + 1)
            }
            6 => {
                let start = self.chance.below(40_000);
                self.reserve(SHARED.to_owned(), &name, start, start + 5)
            }
            _ => {
                let mut body = json!({
                    "action": "OPEN", "actorId": "door", "result": "SUCCESS",
                    "metadata": { "name": name },
                });
                if self.count.is_multiple_of(2) {
                    body["eventId"] = json!(format!("event-{name}"));
                }
                post(Kind::Log(id), format!("{path}/events"), body, name)
            }
        }
    }

    fn reserve(&self, locker: String, name: &str, start: usize, end: usize) -> Act {
        let body = json!({
            "reservationId": format!("res-{name}"), "ownerId": self.owners()[0],
            "startAt": minute(start), "endAt": minute(end),
        });
        let path = format!("/lockers/{locker}/reservations");
        post(Kind::Reserve(locker), path, body, name.to_owned())
    }

    /// Enters an answer into the books.
    fn acknowledge(&mut self, act: &Act, reply: &Reply) {
        let shared = act.kind == Kind::Reserve(SHARED.to_owned());
        if shared && (busy(reply) || outcome(reply) == "409 reservation-overlap") {
            return;
        }
        let made = matches!(act.kind, Kind::Register | Kind::Reserve(_) | Kind::Log(_));
        assert_eq!(reply.status, if made { 201 } else { 200 }, "{act:?}: {reply:?}");
        let item = reply.json();
        let id = |name: &str| item[name].as_str().unwrap().to_owned();
        match &act.kind {
            Kind::Register | Kind::Status(_) | Kind::Transfer(_) => {
                self.lockers.insert(id("lockerId"), item);
            }
            Kind::Reserve(locker) => {
                let entries = self.reservations.entry(locker.clone()).or_default();
                entries.insert(id("reservationId"), item);
            }
            Kind::Log(locker) => {
                let entries = self.events.entry(locker.clone()).or_default();
                entries.insert(id("eventId"), item);
            }
        }
        self.acknowledged += 1;
        if act.key.is_some() {
            self.last = Some((act.clone(), reply.clone()));
        }
    }

    /// Compares the books with what the server says. True if the write in doubt was made.
    pub(crate) fn compare(&self, client: &mut Client) -> bool {
        let mut landed = self.compare_lockers(client);
        for id in self.lockers.keys() {
            for (kind, of, key, known) in [
                (Kind::Log(id.clone()), "events", "eventId", &self.events),
                (Kind::Reserve(id.clone()), "reservations", "reservationId", &self.reservations),
            ] {
                let kept = list(client, &format!("/lockers/{id}/{of}?{ALWAYS}"));
                let in_doubt = self.doubt.as_ref().filter(|act| act.kind == kind);
                landed |= self.compare_things(&kept, known.get(id), key, in_doubt);
            }
        }
        landed
    }

    /// All that was acknowledged is there, and nothing else but what is in doubt.
    fn compare_things(
        &self,
        kept: &[Value],
        known: Option<&BTreeMap<String, Value>>,
        key: &str,
        in_doubt: Option<&Act>,
    ) -> bool {
        let kept: BTreeMap<&str, &Value> =
            kept.iter().map(|one| (one[key].as_str().unwrap(), one)).collect();
        for (id, one) in known.into_iter().flatten() {
            assert_eq!(kept.get(id.as_str()), Some(&one), "acknowledged, and lost");
        }
        let mut others = kept.iter().filter(|(id, _)| known.is_none_or(|k| !k.contains_key(**id)));
        let other = others.next();
        assert!(others.next().is_none(), "client {}: made twice: {kept:?}", self.number);
        if let Some((id, one)) = other {
            let act = in_doubt.unwrap_or_else(|| panic!("nobody made {one}"));
            assert!(act.body[key].is_null() || act.body[key] == **id, "{act:?}: {one}");
        }
        other.is_some()
    }

    fn compare_lockers(&self, client: &mut Client) -> bool {
        let mut views = BTreeMap::new();
        for owner in self.owners() {
            for view in lockers_of(client, &owner) {
                assert_eq!(view["ownerId"], owner, "a view lies with another owner");
                let id = view["lockerId"].as_str().unwrap().to_owned();
                let before = views.insert(id, view);
                assert!(before.is_none(), "a locker has two views: {before:?}");
            }
        }
        let mut landed = false;
        for (id, view) in &views {
            let meta = locker(client, id);
            assert_eq!(&meta, view, "the view is the locker");
            let Some(known) = self.lockers.get(id) else {
                let act = self.doubt.as_ref().filter(|act| act.kind == Kind::Register);
                let act = act.unwrap_or_else(|| panic!("nobody made {meta}"));
                let name = &act.body["lockerAlias"];
                assert_eq!((&meta["lockerAlias"], &meta["version"]), (name, &json!(1)));
                assert!(!landed, "client {}: made twice: {views:?}", self.number);
                landed = true;
                continue;
            };
            let mut known = known.clone();
            if known["updatedAt"].is_null() {
                known["updatedAt"] = meta["updatedAt"].clone();
            }
            if known != meta {
                // One version ahead, by the very change whose answer was lost.
                let act = self.doubt.as_ref().unwrap_or_else(|| panic!("{known} became {meta}"));
                let (name, value) = match &act.kind {
                    Kind::Status(of) if of == id => ("status", &act.body["newStatus"]),
                    Kind::Transfer(of) if of == id => ("ownerId", &act.body["newOwnerId"]),
                    _ => panic!("{act:?}: {known} became {meta}"),
                };
                let mut expected = known.clone();
                expected[name] = value.clone();
                expected["version"] = json!(known["version"].as_u64().unwrap() + 1);
                expected["updatedAt"] = meta["updatedAt"].clone();
                assert_eq!(meta, expected, "half a change");
                landed = true;
            }
        }
        for (id, known) in &self.lockers {
            assert!(views.contains_key(id), "acknowledged, and lost: {known}");
        }
        landed
    }

    /// Compares what the shared locker has with the books of all.
    pub(crate) fn compare_shared(books: &[Book], kept: &[Value]) -> Vec<bool> {
        let mut kept: BTreeMap<&str, &Value> =
            kept.iter().map(|one| (one["reservationId"].as_str().unwrap(), one)).collect();
        for book in books {
            for (id, one) in book.reservations.get(SHARED).into_iter().flatten() {
                assert_eq!(kept.remove(id.as_str()), Some(one), "acknowledged, and lost");
            }
        }
        let landed = |book: &Book| {
            let act = book.doubt.as_ref().filter(|act| act.path.contains(SHARED));
            let id = act.and_then(|act| act.body["reservationId"].as_str());
            id.is_some_and(|id| kept.remove(id).is_some())
        };
        let landed = books.iter().map(landed).collect();
        assert!(kept.is_empty(), "nobody made {kept:?}");
        landed
    }

    /// Ends the doubt: what has a name is sent again, twice, and happens once in all.
    pub(crate) fn settle(&mut self, client: &mut Client, landed: bool) {
        if let Some((act, first)) = &self.last {
            let again = send(client, act).unwrap();
            assert_eq!(again.header("idempotency-replayed"), "true", "{act:?}: {again:?}");
            assert_eq!((again.status, &again.text), (first.status, &first.text), "{act:?}");
        }
        let Some(act) = self.doubt.take() else { return };
        if let Kind::Status(id) = &act.kind {
            if landed {
                self.lockers.insert(id.clone(), locker(client, id));
            }
            return;
        }
        let first = send(client, &act).unwrap();
        let replayed = first.header("idempotency-replayed") == "true";
        assert_eq!(replayed, landed, "{act:?}: {first:?}");
        if first.status < 300 {
            let again = send(client, &act).unwrap();
            assert_eq!(again.header("idempotency-replayed"), "true", "{act:?}: {again:?}");
            assert_eq!((again.status, again.text), (first.status, first.text.clone()));
        }
        self.acknowledge(&act, &first);
    }
}

/// A refusal because the store is away says when to come back, and no more than that; true if it is one.
pub(crate) fn unavailable(reply: &Reply) -> bool {
    if reply.status != 503 {
        return false;
    }
    let codes = ["busy", "store-unavailable", "outcome-unknown"];
    assert!(codes.contains(&reply.code().as_str()), "{reply:?}");
    let seconds: u32 = reply.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&seconds), "{reply:?}");
    for word in ["dispatch", "connect", "os error", "aws", "http:"] {
        assert!(!reply.text.contains(word), "what is behind it stays in the log: {reply:?}");
    }
    true
}

fn post(kind: Kind, path: String, body: Value, key: String) -> Act {
    Act { kind, method: "POST", path, body, key: Some(key) }
}

fn send(client: &mut Client, act: &Act) -> std::io::Result<Reply> {
    let key = act.key.as_deref().map(|key| ("idempotency-key", key));
    client.try_send(act.method, &act.path, key.as_slice(), Some(&act.body.to_string()))
}
