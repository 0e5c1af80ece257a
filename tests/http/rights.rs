//! Who may call what: every contract, every kind of caller.

use serde_json::json;

use crate::scene::Scene;
use crate::serve::{Client, Reply};

/// A call of a contract on locker `$L` of owner `$O`, and how it ends for those who may make it.
struct Row {
    contract: &'static str,
    method: &'static str,
    path: &'static str,
    body: Option<&'static str>,
    status: u16,
}

const RANGE: &str = "startISO=2026-02-25T00:00:00Z&endISO=2026-02-26T00:00:00Z";

const fn row(
    contract: &'static str,
    method: &'static str,
    path: &'static str,
    body: Option<&'static str>,
    status: u16,
) -> Row {
    Row { contract, method, path, body, status }
}

const ROWS: [Row; 17] = [
    row("QC-01", "GET", "/lockers/$L", None, 200),
    row("QC-02", "GET", "/owners/$O/lockers", None, 200),
    row(
        "QC-03",
        "PUT",
        "/lockers/$L/status",
        Some(r#"{"newStatus":"OCCUPIED","expectedVersion":2}"#),
        200,
    ),
    row(
        "QC-04",
        "POST",
        "/lockers/$L/reservations",
        Some(r#"{"ownerId":"$O","startAt":"2026-02-25T12:00:00Z","endAt":"2026-02-25T13:00:00Z"}"#),
        201,
    ),
    row("QC-05", "GET", "/lockers/$L/reservations?$R", None, 200),
    row("QC-06", "POST", "/lockers/$L/transfer", Some(r#"{"newOwnerId":"newcomer"}"#), 200),
    row("QC-07", "GET", "/lockers/$L/reservations/active", None, 200),
    row(
        "QC-08",
        "POST",
        "/lockers/$L/events",
        Some(r#"{"action":"OPEN","actorId":"a","result":"FAIL"}"#),
        201,
    ),
    row("QC-09", "GET", "/lockers/$L/events?$R", None, 200),
    row("QC-10", "GET", "/lockers/$L/events/latest", None, 200),
    row("QC-11", "POST", "/lockers", Some(r#"{"lockerId":"new-$L","ownerId":"$O"}"#), 201),
    row("QC-12", "POST", "/lockers/$L/reservations/R1/cancel", None, 200),
    row("QC-14", "GET", "/owners/$O/reservations", None, 200),
    row("QC-15", "GET", "/lockers/$L/reservations/R1", None, 200),
    row(
        "QC-16",
        "PATCH",
        "/lockers/$L",
        Some(r#"{"lockerAlias":"Side door","expectedVersion":2}"#),
        200,
    ),
    row("QC-17", "DELETE", "/lockers/$L-free", None, 204),
    row("QC-18", "PUT", "/lockers/$L/device", Some(r#"{"deviceId":"door-8"}"#), 200),
];

impl Row {
    fn ask(&self, client: &mut Client, locker: &str, owner: &str) -> Reply {
        let fill =
            |text: &str| text.replace("$L", locker).replace("$O", owner).replace("$R", RANGE);
        let body = self.body.map(fill);
        client.send(self.method, &fill(self.path), &[], body.as_deref())
    }
}

/// A locker with a device and an event, reserved by a third person from half past nine to half past ten; and one that
/// nobody has reserved.
fn furnished(scene: &Scene, locker: &str, owner: &str) {
    scene.locker(&format!("{locker}-free"), owner);
    scene.locker(locker, owner);
    scene.device(locker, "door-7");
    scene.reservation(locker, "R1", "rita", "09:30-10:30");
    scene.event(locker, "E1", "09:45");
}

/// All there is to see of a locker.
fn state(scene: &Scene, locker: &str, owner: &str) -> Vec<String> {
    let mut operator = scene.operator();
    [
        format!("/lockers/{locker}?consistent=true"),
        format!("/owners/{owner}/lockers"),
        format!("/lockers/{locker}/reservations?{RANGE}"),
        format!("/lockers/{locker}/events?{RANGE}"),
        format!("/lockers/{locker}/reservations/active"),
        "/owners/newcomer/lockers".to_owned(),
    ]
    .iter()
    .map(|path| operator.get(path).is(200).text)
    .collect()
}

#[test]
fn who_may_not_is_refused_and_changes_nothing() {
    let scene = Scene::start();
    furnished(&scene, "L1", "alice");
    let before = state(&scene, "L1", "alice");
    for row in ROWS {
        let refused = |mut client: Client, status: u16, code: &str| {
            let reply = row.ask(&mut client, "L1", "alice").refuses(status, code);
            let reply = reply.has("latchkey-contract", row.contract).names_its_contract();
            assert!(reply.header("latchkey-capacity").ends_with("wcu=0"), "{reply}");
        };
        refused(scene.nobody(), 401, "unauthenticated");
        refused(scene.person("bob"), 403, "forbidden");
        // A role that is none of ours, one in other letters, and another's organisation.
        refused(scene.someone("bob", &["auditor", "Operator", "root"], &[]), 403, "forbidden");
        refused(scene.someone("bob", &[], &["acme", "ALICE", "alice2"]), 403, "forbidden");
        // What an organisation is called makes no role, and the other way round.
        refused(scene.someone("operator", &["alice"], &["operator", "admin"]), 403, "forbidden");
        if row.contract != "QC-08" {
            refused(scene.someone("door-7", &["device"], &[]), 403, "forbidden");
        }
        // Whoever reserved it may read and cancel that; nothing else of the locker is theirs.
        if !["QC-12", "QC-15"].contains(&row.contract) {
            refused(scene.person("rita"), 403, "forbidden");
        }
    }
    assert_eq!(state(&scene, "L1", "alice"), before, "refusals change nothing");
}

#[test]
fn who_may_is_answered() {
    let scene = Scene::start();
    let mut count = 0;
    for row in ROWS {
        let mut callers = vec![
            ("alice", "alice", &[][..], &[][..]),
            ("acme", "mia", &[], &["acme"]),
            ("acme", "mia", &["device"], &["other", "acme"]),
            ("alice", "olga", &["operator"], &[]),
            ("alice", "ada", &["admin"], &[]),
        ];
        if row.contract == "QC-08" {
            callers.push(("alice", "door-7", &["device"], &[]));
        }
        for (owner, who, roles, orgs) in callers {
            count += 1;
            // A list says more when it is short: each owner is another.
            let (locker, owner) = (format!("L{count}"), format!("{owner}-{count}"));
            let who = if who == "alice" { owner.clone() } else { who.to_owned() };
            let orgs: Vec<String> = orgs.iter().map(|org| org.replace("acme", &owner)).collect();
            let orgs: Vec<&str> = orgs.iter().map(String::as_str).collect();
            furnished(&scene, &locker, &owner);
            let mut client = scene.someone(&who, roles, &orgs);
            let reply = row.ask(&mut client, &locker, &owner).is(row.status);
            reply.has("latchkey-contract", row.contract);
        }
    }
}

#[test]
fn what_is_not_there_is_not_found_by_anyone_who_is_signed_in() {
    let scene = Scene::start();
    let there = ["QC-02", "QC-11", "QC-14"];
    for row in ROWS.iter().filter(|row| !there.contains(&row.contract)) {
        for mut client in [scene.person("alice"), scene.operator()] {
            let reply = row.ask(&mut client, "L9", "alice").refuses(404, "not-found");
            reply.has("latchkey-contract", row.contract).shows(&json!({"contract": row.contract}));
        }
        row.ask(&mut scene.nobody(), "L9", "alice").refuses(401, "unauthenticated");
    }
}

#[test]
fn a_list_is_for_its_owner_even_when_it_is_empty() {
    let scene = Scene::start();
    let path = "/owners/alice/lockers";
    scene.person("bob").get(path).refuses(403, "forbidden");
    scene.person("alice").get(path).lists("lockerId", &[], false);
    scene.someone("mia", &[], &["alice"]).get(path).lists("lockerId", &[], false);
    scene.operator().get(path).lists("lockerId", &[], false);
    let body = json!({"lockerId": "L1", "ownerId": "alice"});
    scene.person("bob").post("/lockers", &body).refuses(403, "forbidden");
    scene.operator().get("/lockers/L1").refuses(404, "not-found");
}
