//! Tables that hold exactly what the source documents describe, written by another program: everything works on them,
//! and nothing is erased.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::scene::{Scene, at_once, booking, clock};
use crate::serve::latchkey;

pub(crate) fn document(system: &str) -> PathBuf {
    PathBuf::from(format!("{}/../systems/{system}.md", env!("CARGO_MANIFEST_DIR")))
}

/// A value as an export has it.
fn typed(value: &Value) -> Value {
    match value {
        Value::String(text) => json!({"S": text}),
        Value::Number(number) => json!({"N": number.to_string()}),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), typed(value)));
            json!({"M": members.collect::<serde_json::Map<_, _>>()})
        }
        other => panic!("no test has {other}"),
    }
}

/// The file of an export with these items.
pub(crate) fn export(items: &[Value]) -> String {
    items.iter().map(|item| format!("{}\n", json!({"Item": typed(item)["M"]}))).collect()
}

/// A locker and its owner's copy, which alone has the alias.
fn locker(id: &str, owner: &str, at: &dyn Fn(&str) -> Value) -> Vec<Value> {
    vec![
        json!({
            "PK": format!("LOCKER#{id}"), "SK": "META", "entityType": "LOCKER", "lockerId": id, "ownerId": owner,
            "status": "AVAILABLE", "locationId": "central", "createdAt": at("06:00"), "updatedAt": at("06:30"),
            "version": 4,
        }),
        json!({
            "PK": format!("OWNER#{owner}"), "SK": format!("LOCKER#{id}"), "entityType": "OWNER_LOCKER",
            "ownerId": owner, "lockerId": id, "lockerAlias": format!("Gate {id}"), "updatedAt": at("06:30"),
        }),
    ]
}

/// A reservation by rita; `key` writes the instant in its key.
fn reservation(
    locker: &str,
    id: &str,
    window: [&str; 2],
    status: &str,
    at: &dyn Fn(&str) -> Value,
    key: &dyn Fn(&str) -> String,
) -> Value {
    let [start, end] = window;
    json!({
        "PK": format!("LOCKER#{locker}"), "SK": format!("RES#{}#{id}", key(start)), "entityType": "RESERVATION",
        "reservationId": id, "ownerId": "rita", "startAt": at(start), "endAt": at(end), "status": status,
        "createdAt": at("06:30"), "updatedAt": at("06:30"),
    })
}

fn pointer(locker: &str, id: &str, window: [&str; 2], at: &dyn Fn(&str) -> Value) -> Value {
    json!({
        "PK": format!("LOCKER#{locker}"), "SK": "RES#ACTIVE", "entityType": "RESERVATION_ACTIVE",
        "reservationId": id, "ownerId": "rita", "startAt": at(window[0]), "endAt": at(window[1]),
        "createdAt": at("06:30"), "updatedAt": at("06:30"),
    })
}

fn event(locker: &str, id: &str, at: Value, key: &str) -> Value {
    json!({
        "PK": format!("LOCKER#{locker}"), "SK": format!("EVT#{key}#{id}"), "entityType": "ACCESS_EVENT",
        "eventId": id, "timestamp": at, "action": "OPEN", "actorId": "rita", "result": "SUCCESS",
        "metadata": {"firmware": "2.4"},
    })
}

/// Lockers of alice with a past, and a live reservation of the first two; the first has a pointer.
pub(crate) fn items(at: &dyn Fn(&str) -> Value, key: &dyn Fn(&str) -> String) -> Vec<Value> {
    let mut items: Vec<Value> =
        ["L1", "L2", "L3", "L4"].iter().flat_map(|id| locker(id, "alice", at)).collect();
    for id in ["L1", "L2"] {
        items.push(reservation(id, "R-over", ["07:00", "08:00"], "EXPIRED", at, key));
        items.push(reservation(id, "R-off", ["08:00", "08:30"], "CANCELLED", at, key));
        items.push(reservation(id, "R-live", ["09:30", "10:30"], "ACTIVE", at, key));
        items.push(event(id, "E1", at("09:45"), &key("09:45")));
    }
    items.push(pointer("L1", "R-live", ["09:30", "10:30"], at));
    items
}

fn lockers() -> Scene {
    let items = export(&items(&|time| json!(clock(time)), &clock));
    Scene::on_items(&document("smartlocker"), &items, "--as-is")
}

pub(crate) const DAY: &str = "startISO=2026-02-25T00:00:00Z&endISO=2026-02-26T00:00:00Z";

#[test]
fn all_that_another_program_wrote_is_found() {
    let scene = lockers();
    let mut alice = scene.person("alice");
    let shown = json!({
        "lockerId": "L1", "ownerId": "alice", "status": "AVAILABLE", "locationId": "central",
        "createdAt": clock("06:00"), "updatedAt": clock("06:30"), "version": 4,
    });
    alice.get("/lockers/L1").is(200).shows_just(&shown);
    let listed = alice.get("/owners/alice/lockers").is(200);
    assert_eq!(listed.listed("lockerAlias"), ["Gate L1", "Gate L2", "Gate L3", "Gate L4"]);
    for locker in ["L1", "L2"] {
        let path = format!("/lockers/{locker}/reservations");
        let page = alice.get(&format!("{path}?{DAY}")).is(200);
        page.lists("reservationId", &["R-over", "R-off", "R-live"], false);
        // By its pointer, or by itself.
        let active = alice.get(&format!("{path}/active")).is(200);
        active.shows(&json!({"reservationId": "R-live", "lockerId": locker, "status": "ACTIVE"}));
        for (id, status) in [("R-over", "EXPIRED"), ("R-off", "CANCELLED"), ("R-live", "ACTIVE")] {
            for mut client in [scene.person("alice"), scene.person("rita"), scene.operator()] {
                let found = client.get(&format!("{path}/{id}")).is(200);
                found.shows(&json!({"reservationId": id, "lockerId": locker, "status": status}));
            }
            scene.person("rolf").get(&format!("{path}/{id}")).refuses(403, "forbidden");
        }
        alice.get(&format!("{path}/R-none")).refuses(404, "not-found");
        let events = alice.get(&format!("/lockers/{locker}/events?{DAY}")).is(200);
        events.lists("eventId", &["E1"], false);
        let latest = alice.get(&format!("/lockers/{locker}/events/latest")).is(200);
        latest.shows(&json!({"metadata": {"firmware": "2.4"}}));
    }
    alice.get("/lockers/L3/reservations/active").refuses(404, "no-active-reservation");
}

// A change of the locker wrote its view over, and the alias that only the view had was gone.
#[test]
fn an_alias_that_only_the_owners_copy_has_survives_every_change() {
    let scene = lockers();
    let mut alice = scene.person("alice");
    let body = json!({"newStatus": "OCCUPIED", "expectedVersion": 4});
    let changed = alice.put("/lockers/L1/status", &body).is(200);
    changed.shows(&json!({"status": "OCCUPIED", "lockerAlias": "Gate L1", "version": 5}));
    let changed = alice.put("/lockers/L2/device", &json!({"deviceId": "door-2"})).is(200);
    changed.shows(&json!({"deviceId": "door-2", "lockerAlias": "Gate L2", "version": 5}));
    let body = json!({"locationId": "north", "expectedVersion": 4}).to_string();
    let changed = alice.send("PATCH", "/lockers/L3", &[], Some(&body)).is(200);
    changed.shows(&json!({"locationId": "north", "lockerAlias": "Gate L3", "version": 5}));
    let changed = alice.post("/lockers/L4/transfer", &json!({"newOwnerId": "bob"})).is(200);
    changed.shows(&json!({"ownerId": "bob", "lockerAlias": "Gate L4", "version": 5}));
    for sort in ["lockerId", "alias"] {
        let listed = alice.get(&format!("/owners/alice/lockers?sort={sort}")).is(200);
        assert_eq!(listed.listed("lockerAlias"), ["Gate L1", "Gate L2", "Gate L3"]);
    }
    let listed = scene.person("bob").get("/owners/bob/lockers?sort=alias").is(200);
    assert_eq!(listed.listed("lockerAlias"), ["Gate L4"]);
    // From here on the locker is as any other: the alias can be taken away.
    let body = json!({"lockerAlias": null, "expectedVersion": 5}).to_string();
    let changed = alice.send("PATCH", "/lockers/L1", &[], Some(&body)).is(200);
    assert!(changed.json().get("lockerAlias").is_none(), "{changed}");
    let body = json!({"newStatus": "AVAILABLE", "expectedVersion": 6});
    alice.put("/lockers/L1/status", &body).is(200);
    alice.put("/lockers/L2/device", &json!({})).is(200).shows(&json!({"lockerAlias": "Gate L2"}));
    let listed = alice.get("/owners/alice/lockers").is(200);
    assert_eq!(listed.listed("lockerId"), ["L1", "L2", "L3"]);
    assert!(listed.items()[0].get("lockerAlias").is_none(), "{listed}");
}

#[test]
fn a_new_alias_takes_the_place_of_one_that_only_the_owners_copy_has() {
    let scene = lockers();
    let mut alice = scene.person("alice");
    let body = json!({"lockerAlias": "New", "expectedVersion": 4}).to_string();
    alice.send("PATCH", "/lockers/L1", &[], Some(&body)).is(200).shows(&json!({"version": 5}));
    let listed = alice.get("/owners/alice/lockers").is(200);
    assert_eq!(listed.listed("lockerAlias"), ["New", "Gate L2", "Gate L3", "Gate L4"]);
}

// A locker without a calendar was not found: 404.
#[test]
fn a_locker_without_a_calendar_is_reserved_once_older_reservations_are_over() {
    for locker in ["L1", "L2"] {
        let scene = lockers();
        let path = format!("/lockers/{locker}/reservations");
        let (mut rita, mut rolf) = (scene.person("rita"), scene.person("rolf"));
        let wanted = booking("R1", "rolf", "10:00-11:00");
        let mut refused = rolf.post(&path, &wanted).refuses(409, "reservation-overlap");
        refused = refused.shows(&json!({"contract": "QC-04"}));
        assert!(refused.text.contains("another program"), "{refused}");
        let removed =
            scene.person("alice").send("DELETE", &format!("/lockers/{locker}"), &[], None);
        removed.refuses(409, "has-reservations");
        let mut cancel = |id: &str| rita.post(&format!("{path}/{id}/cancel"), &json!({}));
        cancel("R-over").refuses(409, "reservation-ended");
        cancel("R-off").is(200).shows(&json!({"updatedAt": clock("06:30")}));
        cancel("R-none").refuses(404, "not-found");
        scene
            .person("rolf")
            .post(&format!("{path}/R-live/cancel"), &json!({}))
            .refuses(403, "forbidden");
        cancel("R-live")
            .is(200)
            .shows(&json!({"status": "CANCELLED", "updatedAt": clock("10:00")}));
        cancel("R-live").is(200);
        rita.get(&format!("{path}/R-live")).shows(&json!({"status": "CANCELLED"}));
        scene.operator().get(&format!("{path}/active")).refuses(404, "no-active-reservation");
        rolf.post(&path, &wanted).is(201).shows(&json!({"status": "ACTIVE"}));
        rolf.post(&path, &wanted).refuses(409, "duplicate-reservation");
        let other = booking("R2", "rolf", "10:59-12:00");
        rolf.post(&path, &other).refuses(409, "reservation-overlap");
        rolf.post(&path, &booking("R2", "rolf", "11:00-12:00")).is(201);
        let active = scene.operator().get(&format!("{path}/active")).is(200);
        active.shows(&json!({"reservationId": "R1"}));
        // What is older is still found, and still not cancelled twice.
        for id in ["R-over", "R-off", "R-live"] {
            rita.get(&format!("{path}/{id}")).is(200);
        }
        rita.post(&format!("{path}/R-over/cancel"), &json!({})).refuses(409, "reservation-ended");
        scene.pass("12:00");
        let page = scene.operator().get(&format!("{path}?{DAY}")).is(200);
        let all = ["R-over", "R-off", "R-live", "R1", "R2"];
        page.lists("reservationId", &all, false);
        let mut alice = scene.person("alice").at(&clock("12:00"));
        alice.send("DELETE", &format!("/lockers/{locker}"), &[], None).is(204);
    }
}

#[test]
fn a_window_that_is_over_is_recorded_on_a_locker_without_a_calendar() {
    let scene = lockers();
    let mut rita = scene.person("rita");
    let path = "/lockers/L3/reservations";
    let body = booking("R1", "rita", "08:00-09:00");
    rita.post(path, &body).is(201).shows(&json!({"status": "EXPIRED"}));
    rita.post(path, &booking("R2", "rita", "11:00-12:00")).is(201);
    scene.operator().get(&format!("{path}?{DAY}")).lists("reservationId", &["R1", "R2"], false);
    rita.post("/lockers/L9/reservations", &body).refuses(404, "not-found");
}

#[test]
fn of_calls_at_once_on_a_locker_without_a_calendar_one_reserves_it() {
    let scene = lockers();
    let replies = at_once(8, |n| {
        let body = booking(&format!("R{n}"), "rita", "11:00-12:00");
        scene.person("rita").post("/lockers/L3/reservations", &body)
    });
    let made = replies.iter().filter(|reply| reply.status == 201).count();
    assert_eq!(made, 1, "{replies:?}");
    for reply in replies.into_iter().filter(|reply| reply.status != 201) {
        reply.refuses(409, "reservation-overlap");
    }
}

#[test]
fn a_locker_without_a_calendar_is_removed_and_its_id_registered_again() {
    let scene = lockers();
    let mut alice = scene.person("alice");
    let body = json!({"lockerId": "L3", "ownerId": "alice"});
    alice.post("/lockers", &body).refuses(409, "locker-exists");
    alice.send("DELETE", "/lockers/L3", &[], None).is(204);
    alice.get("/lockers/L3?consistent=true").refuses(404, "not-found");
    alice.get("/owners/alice/lockers").lists("lockerId", &["L1", "L2", "L4"], false);
    scene
        .person("bob")
        .post("/lockers", &json!({"lockerId": "L3", "ownerId": "bob"}))
        .refuses(403, "forbidden");
    alice.post("/lockers", &body).is(201);
    alice.post("/lockers/L3/reservations", &booking("R1", "alice", "11:00-12:00")).is(201);
}

#[test]
fn events_are_logged_beside_those_of_another_program() {
    let scene = lockers();
    let log = |id: &str, time: &str| {
        let body = json!({
            "eventId": id, "timestamp": clock(time), "action": "CLOSE", "actorId": "rita", "result": "SUCCESS",
        });
        scene.person("alice").post("/lockers/L1/events", &body)
    };
    log("E1", "09:45").refuses(409, "duplicate-event");
    log("E2", "09:50").is(201);
    let events = scene.person("alice").get(&format!("/lockers/L1/events?{DAY}")).is(200);
    events.lists("eventId", &["E2", "E1"], false);
}

/// Milliseconds since 1970.
fn milliseconds(time: &str) -> Value {
    let (hours, minutes) = time.split_once(':').unwrap();
    let minutes = hours.parse::<i64>().unwrap() * 60 + minutes.parse::<i64>().unwrap();
    json!(1_771_977_600_000_i64 + minutes * 60_000)
}

/// A time in whole seconds.
fn seconds(time: &str) -> String {
    clock(time).replace(".000Z", "Z")
}

#[test]
fn times_in_whole_seconds_or_milliseconds_are_converted_by_the_import() {
    let ways: [&dyn Fn(&str) -> Value; 2] = [&|time| json!(seconds(time)), &milliseconds];
    for at in ways {
        let items = items(at, &seconds);
        let directory = tempfile::tempdir().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, export(&items)).unwrap();
        let mut import = latchkey();
        import.arg("import").arg(document("smartlocker")).arg("--data").arg(directory.path());
        let output = import.arg("--from").arg(file.path()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains("--convert"), "{told}");
        let scene = Scene::on_items(&document("smartlocker"), &export(&items), "--convert");
        let mut alice = scene.person("alice");
        alice.get("/lockers/L1").is(200).shows(&json!({"createdAt": clock("06:00"), "version": 4}));
        let page = alice.get(&format!("/lockers/L1/reservations?{DAY}")).is(200);
        assert_eq!(page.listed("startAt"), [clock("07:00"), clock("08:00"), clock("09:30")]);
        alice
            .get("/lockers/L1/reservations/active")
            .is(200)
            .shows(&json!({"endAt": clock("10:30")}));
        alice.get("/lockers/L1/reservations/R-over").is(200);
        alice.get("/lockers/L1/events/latest").is(200).shows(&json!({"timestamp": clock("09:45")}));
        // The import has made the keys of the index.
        let own = scene.person("rita").get("/owners/rita/reservations").is(200);
        assert_eq!(own.items().len(), 6, "{own}");
        let body = json!({"newStatus": "OCCUPIED", "expectedVersion": 4});
        alice.put("/lockers/L1/status", &body).is(200).shows(&json!({"lockerAlias": "Gate L1"}));
    }
}

#[test]
fn a_time_that_is_stored_in_another_notation_is_never_shown_as_something_else() {
    let items = export(&items(&milliseconds, &clock));
    let scene = Scene::on_items(&document("smartlocker"), &items, "--as-is");
    scene.person("alice").get("/lockers/L1").refuses(500, "damaged-item");
}

/// The example items of the source document.
pub(crate) fn location() -> Vec<Value> {
    let (id, code) = ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "austin-main-01");
    let at = "2024-01-15T10:30:00.000Z";
    vec![
        json!({
            "PK": format!("LOCATION#{id}"), "SK": "META", "itemType": "Location", "locationId": id,
            "locationCode": code, "name": "Austin Main Center", "placeId": "ChIJN1t_tDeuEmsRUsoyG83frY4",
            "formattedAddress": "123 Main St, Austin, TX 78701", "lat": 30.2672, "lng": -97.7431,
            "status": "active", "createdAt": at, "updatedAt": at,
        }),
        json!({
            "PK": format!("LOCATION_CODE#{code}"), "SK": "META", "itemType": "LocationCodeLookup",
            "locationId": id, "locationCode": code, "createdAt": at,
        }),
    ]
}

#[test]
fn locations_of_another_program_are_read_and_changed() {
    for how in ["--as-is", "--convert"] {
        let scene = Scene::on_items(&document("locations"), &export(&location()), how);
        let mut olga = scene.operator();
        let path = "/locations/01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let shown =
            json!({"name": "Austin Main Center", "lat": 30.2672, "version": 1, "status": "active"});
        olga.get(path).is(200).shows(&shown);
        olga.get("/locations/by-code/austin-main-01").is(200).shows(&shown);
        let body = json!({"name": "Austin", "expectedVersion": 1}).to_string();
        olga.send("PATCH", path, &[], Some(&body))
            .is(200)
            .shows(&json!({"name": "Austin", "version": 2}));
        olga.send("DELETE", path, &[], None).is(200).shows(&json!({"status": "inactive"}));
        olga.post(&format!("{path}/restore"), &json!({}))
            .is(200)
            .shows(&json!({"status": "active"}));
        if how == "--convert" {
            let listed = olga.get("/locations").is(200);
            listed.lists("locationCode", &["austin-main-01"], false);
        }
    }
}
