//! QC-14 and QC-15: the reservations of a user, and one of them.

use serde_json::json;

use crate::scene::{Scene, booking, clock};

#[test]
fn a_user_sees_the_reservations_of_all_lockers_newest_start_first() {
    let scene = Scene::start();
    let mut expected = Vec::new();
    for locker in ["L1", "L2", "L3"] {
        scene.locker(locker, "alice");
    }
    for n in 0..30 {
        let (locker, id) = (format!("L{}", n * 7 % 3 + 1), format!("R{:02}", n * 11 % 30));
        scene.reservation(&locker, &id, "rita", &format!("10:{n:02}-10:{:02}", n + 1));
        expected.insert(0, id);
    }
    scene.reservation("L1", "other", "rolf", "12:00-13:00");
    // A window that is over, and one that was cancelled, are listed too.
    let mut rita = scene.person("rita");
    let body = booking("over", "rita", "08:00-08:30");
    rita.post("/lockers/L1/reservations", &body).is(201);
    expected.push("over".to_owned());
    rita.post("/lockers/L1/reservations/R00/cancel", &json!({})).is(200);
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    let path = "/owners/rita/reservations";
    let page = rita.get(path).is(200).has("latchkey-contract", "QC-14");
    page.lists("reservationId", &expected[..25], true);
    for size in [1, 10, 30, 31, 100] {
        let mut cursor = String::new();
        for (at, page) in expected.chunks(size).enumerate() {
            let more = (at + 1) * size < expected.len();
            let reply = rita.get(&format!("{path}?pageSize={size}{cursor}")).is(200);
            let reply = reply.lists("reservationId", page, more);
            cursor = format!("&nextCursor={}", reply.next().unwrap_or_default());
        }
    }
    // All that a reservation has, as its locker tells it.
    for item in rita.get(&format!("{path}?pageSize=100")).items() {
        let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        let one = format!("/lockers/{}/reservations/{}", text("lockerId"), text("reservationId"));
        rita.get(&one).is(200).shows_just(&item);
    }
    scene.operator().get("/owners/rolf/reservations").lists("reservationId", &["other"], false);
    scene.operator().get("/owners/nobody/reservations").lists("reservationId", &[], false);
    for bad in ["0", "101", "x"] {
        rita.get(&format!("{path}?pageSize={bad}")).blames(&["/pageSize"]);
    }
    // Who owns the lockers does not see where else their users go.
    scene.person("alice").get(path).refuses(403, "forbidden");
    scene.someone("mia", &[], &["rita"]).get(path).is(200);
}

#[test]
fn one_reservation_is_for_its_reserver_the_lockers_owner_and_operators() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    scene.locker("L2", "alice");
    let made = scene.reservation("L1", "R1", "rita", "11:00-12:00");
    let path = "/lockers/L1/reservations/R1";
    for (who, roles) in [("rita", &[][..]), ("alice", &[]), ("olga", &["operator"])] {
        let found = scene.someone(who, roles, &[]).get(path).is(200);
        found.has("latchkey-contract", "QC-15").cost("rcu=5, wcu=0").shows_just(&made);
    }
    for (who, roles) in [("bob", &[][..]), ("R1", &[]), ("door-7", &["device"])] {
        scene.someone(who, roles, &[]).get(path).refuses(403, "forbidden");
    }
    let mut rita = scene.person("rita");
    for path in [
        "/lockers/L1/reservations/R2",
        "/lockers/L2/reservations/R1",
        "/lockers/L9/reservations/R1",
    ] {
        rita.get(path).refuses(404, "not-found");
    }
    rita.post(&format!("{path}/cancel"), &json!({})).is(200);
    rita.get(path).shows(&json!({"status": "CANCELLED", "updatedAt": clock("10:00")}));
}

#[test]
fn no_reservation_takes_the_path_of_the_active_one() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut rita = scene.person("rita");
    let body = booking("active", "rita", "11:00-12:00");
    rita.post("/lockers/L1/reservations", &body).refuses(400, "reserved-id").cost("rcu=0, wcu=0");
    let body = booking("Active", "rita", "11:00-12:00");
    rita.post("/lockers/L1/reservations", &body).is(201);
    rita.get("/lockers/L1/reservations/Active").is(200).has("latchkey-contract", "QC-15");
    let active = scene.person("alice").get("/lockers/L1/reservations/active");
    active.refuses(404, "no-active-reservation").has("latchkey-contract", "QC-07");
}
