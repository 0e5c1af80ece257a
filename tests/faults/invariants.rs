//! What the shipped documents say must always hold, looked for in a store that nobody has open.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use latchkey_embedded::{Options, Store};
use latchkey_runtime::System;
use latchkey_table::{Delete, Item, Key, Put, Returning, Scan, Schema, Value};
use serde_json::json;

use crate::serve::Server;
use crate::world::{minute, operator, register};

/// The shipped documents, planned once.
pub(crate) struct Systems(Vec<System>);

/// Items by their keys.
type Items = BTreeMap<(String, String), Item>;

fn text(item: &Item, name: &str) -> String {
    item.get(name).and_then(Value::as_text).map(ToString::to_string).unwrap_or_default()
}

fn number(item: Option<&Item>, name: &str) -> i64 {
    let number = item.and_then(|item| item.get(name)).and_then(Value::as_number);
    number.map_or(0, |number| number.to_i64().unwrap())
}

fn scanned(store: &Store, table: &Arc<Schema>) -> Items {
    let (mut found, mut after) = (Items::new(), None);
    loop {
        let table = Arc::clone(table);
        let scan = Scan { table, partition_prefix: "".into(), after, items_max: 1000 };
        let page = store.scan(&scan).unwrap();
        let key = |item: &Item| (text(item, "PK"), text(item, "SK"));
        found.extend(page.items.into_iter().map(|item| (key(&item), item)));
        after = page.resume;
        if after.is_none() {
            return found;
        }
    }
}

impl Systems {
    pub(crate) fn shipped() -> Systems {
        let read = |name: &str| {
            let path = format!("{}/../systems/{name}.md", env!("CARGO_MANIFEST_DIR"));
            System::read(&std::fs::read_to_string(path).unwrap()).unwrap()
        };
        Systems(["smartlocker", "participation", "locations"].map(read).into())
    }

    /// Every item is as its document says, every index has what it should, and every invariant holds. Gives how many
    /// items there are.
    pub(crate) fn hold(&self, data: &Path) -> usize {
        let store = Store::open(data, &Options::default()).unwrap();
        let mut count = 0;
        for system in &self.0 {
            let items = scanned(&store, system.table());
            let own = |key: &(String, String)| key.0.starts_with("LATCHKEY#");
            for (key, item) in items.iter().filter(|(key, _)| !own(key)) {
                let wrong = system.examine(item);
                assert!(wrong.is_empty(), "{key:?}: {wrong:?}");
            }
            let verified = store.verify(system.table()).unwrap();
            assert_eq!(usize::try_from(verified.items).unwrap(), items.len());
            match system.name() {
                "smartlocker" => no_slots_overlap(&items),
                "participation" => seats_add_up(&items),
                _ => codes_lead_back(&items),
            }
            count += items.len();
        }
        count
    }
}

/// `live reservations never overlap`
fn no_slots_overlap(items: &Items) {
    let mut last: Option<(&str, String)> = None;
    for ((partition, _), slot) in items.iter().filter(|((_, sort), _)| sort.starts_with("SLOT#")) {
        if let Some((before, end)) = &last {
            assert!(*before != partition || *end <= text(slot, "startAt"), "{partition}: {slot:?}");
        }
        last = Some((partition, text(slot, "endAt")));
    }
}

/// `as many winners as seats are gone`, and the tally counts every request.
fn seats_add_up(items: &Items) {
    let mut statuses: BTreeMap<(String, String), i64> = BTreeMap::new();
    for (_, one) in items.iter().filter(|((partition, _), _)| partition.starts_with("REQ#")) {
        if text(one, "itemType") == "REQUEST" {
            *statuses.entry((text(one, "eventId"), text(one, "status"))).or_default() += 1;
        }
    }
    for (key, event) in items.iter().filter(|(_, item)| text(item, "itemType") == "EVENT") {
        let id = text(event, "eventId");
        let tallied = |status: &str| -> i64 {
            let tally = |shard| items.get(&(format!("{}#TALLY#{shard:02}", key.0), "TALLY".into()));
            (0..16).map(|shard| number(tally(shard), status)).sum()
        };
        for status in ["RECEIVED", "QUEUED", "PROCESSING", "SUCCEEDED", "REJECTED", "FAILED_FINAL"]
        {
            let there = statuses.get(&(id.clone(), status.to_owned())).copied().unwrap_or(0);
            assert_eq!(tallied(status), there, "{id}: {status}");
        }
        let seats = items.get(&(key.0.clone(), "CAPACITY".to_owned()));
        let (left, all) = (number(seats, "capacityRemaining"), number(Some(event), "capacity"));
        assert_eq!(tallied("SUCCEEDED") + left, all, "{id}");
    }
}

/// `its code leads to it`, and to nothing else.
fn codes_lead_back(items: &Items) {
    let mut locations = 0;
    for location in items.values().filter(|item| text(item, "itemType") == "Location") {
        let code = format!("LOCATION_CODE#{}", text(location, "locationCode"));
        let lookup = items.get(&(code, "META".to_owned())).unwrap();
        assert_eq!(text(lookup, "locationId"), text(location, "locationId"));
        locations += 1;
    }
    let codes = items.keys().filter(|(partition, _)| partition.starts_with("LOCATION_CODE#"));
    assert_eq!(codes.count(), locations, "a code without a location");
}

/// Writes an item behind the back of everyone.
fn put(data: &Path, table: &Arc<Schema>, item: Item) {
    let store = Store::open(data, &Options::default()).unwrap();
    let put = Put { table: Arc::clone(table), item, condition: None };
    store.put(put, Returning::Nothing).wait().unwrap();
}

/// Removes one so.
fn delete(data: &Path, table: &Arc<Schema>, item: &Item) {
    let store = Store::open(data, &Options::default()).unwrap();
    let key = Key::new(text(item, "PK"), text(item, "SK"));
    let delete = Delete { table: Arc::clone(table), key, condition: None };
    store.delete(delete, Returning::Nothing).wait().unwrap();
}

/// Puts another item in the place of one, or none, and sees that it is noticed. Then all is as before.
fn is_noticed(
    systems: &Systems,
    data: &Path,
    (system, partition, sort): (usize, &str, &str),
    breaks: impl Fn(Item) -> Option<Item>,
) {
    let table = systems.0[system].table();
    let items = scanned(&Store::open(data, &Options::default()).unwrap(), table);
    let found = |(key, _): &(&(String, String), &Item)| {
        key.0.starts_with(partition) && key.1.starts_with(sort)
    };
    let old = items.iter().find(found).unwrap().1.clone();
    let new = breaks(old.clone());
    match &new {
        Some(item) => put(data, table, item.clone()),
        None => delete(data, table, &old),
    }
    let noticed = catch_unwind(AssertUnwindSafe(|| systems.hold(data))).is_err();
    assert!(noticed, "{partition} {sort}: {new:?}");
    if let Some(item) = new {
        delete(data, table, &item);
    }
    put(data, table, old);
    systems.hold(data);
}

/// The check notices what it is for.
#[test]
fn a_broken_invariant_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let server = Server::start(data);
    let mut client = server.client().with_token(&operator(&server));
    register(&mut client, "l", "dev");
    let reserve = json!({"ownerId": "dev", "startAt": minute(10), "endAt": minute(20)});
    let event = json!({"eventId": "e", "title": "E", "mode": "FIRST_COME", "capacity": 1});
    let location = json!({
        "locationCode": "code", "name": "N", "placeId": "P", "formattedAddress": "F", "lat": 1, "lng": 2,
    });
    for (path, body) in
        [("/lockers/l/reservations", reserve), ("/admin/events", event), ("/locations", location)]
    {
        let reply = client.post(path, &body);
        assert_eq!(reply.status, 201, "{reply:?}");
    }
    server.kill();
    let systems = Systems::shipped();
    systems.hold(data);
    // A slot that begins within the other.
    is_noticed(&systems, data, (0, "LOCKER#l", "SLOT#"), |mut item| {
        item.insert("SK", format!("SLOT#{}", minute(15)).as_str());
        item.insert("startAt", minute(15).as_str());
        Some(item)
    });
    is_noticed(&systems, data, (1, "EVENT#e", "CAPACITY"), |mut item| {
        item.insert("capacityRemaining", 0);
        Some(item)
    });
    is_noticed(&systems, data, (2, "LOCATION_CODE#", "META"), |_| None);
    // An item that its document does not know.
    is_noticed(&systems, data, (1, "EVENT#e", "META"), |mut item| {
        item.insert("mode", "UNKNOWN");
        Some(item)
    });
}
