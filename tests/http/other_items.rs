//! Items that contracts do not find, because they lack keys of indexes or are of other programs: they are told of,
//! mended, and never erased.

use std::path::Path;

use serde_json::{Value, json};

use crate::older_tables::{DAY, document, export, items, location};
use crate::scene::{Scene, booking, clock};
use crate::serve::backend;

/// Runs a command on the table of a data directory that nobody serves. Returns its exit code and all that it says.
fn run(command: &str, data: &Path, system: &str, arguments: &[&str]) -> (i32, String) {
    let mut started = backend::on_backend(command, data, &[document(system)]);
    let output = started.args(arguments).output().unwrap();
    let told = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(told).unwrap())
}

/// The lines of the table, in the order of their texts.
fn lines(data: &Path, system: &str) -> Vec<String> {
    let file = data.join("all.json");
    let (code, told) = run("export", data, system, &["--restart", "--out", file.to_str().unwrap()]);
    assert_eq!(code, 0, "{told}");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// Items of other programs, in every partition and range that contracts read, and under keys that they write.
fn foreign() -> Vec<Value> {
    let item = |partition: &str, sort: &str, more: Value| {
        let mut item = json!({"PK": partition, "SK": sort, "note": "of another program"});
        let all = item.as_object_mut().unwrap();
        more.as_object().unwrap().iter().for_each(|(name, value)| {
            all.insert(name.clone(), value.clone());
        });
        item
    };
    let other = || json!({"entityType": "AUDIT"});
    let indexed = json!({"GSI1PK": "OWNER#alice", "GSI1SK": "ALIAS#AAA", "expires": 946_684_800});
    let reserver = json!({"entityType": "AUDIT", "GSI1PK": "OWNER#rita", "GSI1SK": "RES#2026"});
    vec![
        item("LOCKER#L1", "STATE", other()),
        item("LOCKER#L1", "RES#2026-02-25T07:30:00.000Z#X", other()),
        item("LOCKER#L1", "RES#2026-02-25T07:45:00.000Z#Y", json!({})),
        item("LOCKER#L1", "SLOT#2026-02-25T10:30:00.000Z", other()),
        item("LOCKER#L1", "EVT#2026-02-25T23:00:00.000Z#X", other()),
        item("OWNER#alice", "LOCKER#A0", other()),
        item("OWNER#alice", "LOCKER#Z9", indexed),
        item("OWNER#alice", "SETTINGS", reserver),
        item("CONFIG", "CONFIG", json!({"entityType": "CONFIG", "expires": 946_684_800})),
    ]
}

fn lockers(extra: &[Value]) -> Vec<Value> {
    let at = |time: &str| json!(clock(time));
    [items(&at, &clock), extra.to_vec()].concat()
}

#[test]
fn items_of_other_programs_are_in_no_answer_and_never_erased() {
    let scene = Scene::on_items(&document("smartlocker"), &export(&lockers(&foreign())), "--as-is");
    let mut alice = scene.person("alice");
    let listed = alice.get("/owners/alice/lockers?pageSize=2").is(200);
    assert_eq!(listed.listed("lockerId"), ["L1", "L2"]);
    alice.get("/owners/alice/lockers?sort=alias").lists("lockerId", &[], false);
    scene.person("rita").get("/owners/rita/reservations").lists("reservationId", &[], false);
    let path = "/lockers/L1/reservations";
    let past = ["R-over", "R-off", "R-live"];
    alice.get(&format!("{path}?{DAY}")).lists("reservationId", &past, false);
    alice.get(&format!("/lockers/L1/events?{DAY}")).lists("eventId", &["E1"], false);
    alice.get("/lockers/L1/events/latest").is(200).shows(&json!({"eventId": "E1"}));
    for id in ["X", "Y"] {
        alice.get(&format!("{path}/{id}")).refuses(404, "not-found");
    }
    // Every change, up to the removal of the locker.
    let body = json!({"newStatus": "OCCUPIED", "expectedVersion": 4});
    alice.put("/lockers/L1/status", &body).is(200);
    let mut rita = scene.person("rita");
    rita.post(&format!("{path}/R-live/cancel"), &json!({})).is(200);
    rita.post(path, &booking("R1", "rita", "11:00-12:00")).is(201);
    rita.post(&format!("{path}/R1/cancel"), &json!({})).is(200);
    alice.post("/lockers/L1/transfer", &json!({"newOwnerId": "bob"})).is(200);
    scene.pass("13:00");
    let mut bob = scene.person("bob").at(&clock("13:00"));
    bob.send("DELETE", "/lockers/L1", &[], None).is(204);
    // A key that a contract writes, and that an item of another program has: nothing is written.
    let body = json!({"lockerId": "A0", "ownerId": "alice"});
    alice.post("/lockers", &body).refuses(500, "damaged-item");
    let expected: Vec<String> = export(&foreign()).lines().map(str::to_owned).collect();
    scene.restart(|data| {
        let all = lines(data, "smartlocker");
        for line in &expected {
            let canonical: Value = serde_json::from_str(line).unwrap();
            let same = |other: &&String| serde_json::from_str::<Value>(other).unwrap() == canonical;
            assert!(all.iter().any(|other| same(&other)), "{line} is gone");
        }
    });
}

// Nobody was told: the items were missing from QC-14, `?sort=alias` and LOC-04.
#[test]
fn items_without_keys_of_indexes_are_told_of_and_mended() {
    let scene = Scene::on_items(&document("smartlocker"), &export(&lockers(&foreign())), "--as-is");
    scene.person("rita").get("/owners/rita/reservations").lists("reservationId", &[], false);
    let scene = scene.restart(|data| {
        let before = lines(data, "smartlocker").len();
        let (code, told) = run("examine", data, "smartlocker", &[]);
        assert_eq!(code, 1, "{told}");
        for part in [
            "6 items of `Reservation` without the keys of index `GSI1`: QC-14 does not find it there",
            "4 items of `OwnerLocker` without a place in index `GSI1`: QC-02 does not find it there",
            "9 items of no entity: no contract shows or changes it",
            // Of one locker or another: a table has partitions in an order of its own.
            " RES#2026-02-25T07:00:00.000Z#R-over: `GSI1PK` must be `OWNER#rita`",
            "to write 10 over as the document stores them:",
            "--from items.json --convert --merge --foreign",
        ] {
            assert!(told.contains(part), "{part}\n{told}");
        }
        // What it says to do.
        let file = data.join("all.json");
        let from = ["--from", file.to_str().unwrap()];
        let merge = [&from[..], &["--convert", "--merge"]].concat();
        let (code, told) = run("import", data, "smartlocker", &merge);
        assert!(code == 2 && told.contains("--foreign loads items of other programs"), "{told}");
        let merge = [&merge[..], &["--foreign", "--restart"]].concat();
        let (code, told) = run("import", data, "smartlocker", &merge);
        assert_eq!(code, 0, "{told}");
        let (code, told) = run("examine", data, "smartlocker", &[]);
        assert!(code == 0 && told.contains("examined"), "{told}");
        assert_eq!(lines(data, "smartlocker").len(), before);
    });
    let own = scene.person("rita").get("/owners/rita/reservations").is(200);
    assert_eq!(own.items().len(), 6, "{own}");
    let listed = scene.person("alice").get("/owners/alice/lockers?sort=alias").is(200);
    assert_eq!(listed.listed("lockerAlias"), ["Gate L1", "Gate L2", "Gate L3", "Gate L4"]);
}

#[test]
fn an_import_as_it_is_tells_what_contracts_miss() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("locations.json");
    std::fs::write(&file, export(&location())).unwrap();
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let from = ["--as-is", "--from", file.to_str().unwrap()];
    let (code, told) = run("import", &data, "locations", &from);
    assert_eq!(code, 0, "{told}");
    for part in [
        "1 item of `Location` without the keys of index `GSI1`: LOC-04 does not find it there",
        "1 item of `Location` without the keys of index `GSI2`: LOC-04 does not find it there",
        "--convert instead of --as-is",
        "latchkey examine",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    let (code, told) = run("examine", &data, "locations", &["--items", "1"]);
    assert!(code < 2 && told.contains("examined 1 item of"), "{told}");
    assert!(told.contains("there are more"), "{told}");
}
