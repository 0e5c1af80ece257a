//! Cursors: good for one contract, one caller and one question, and for nothing else.

use serde_json::json;

use crate::scene::{Scene, clock};
use crate::serve::{Client, Reply};

const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn range(locker: &str, list: &str, start: &str, end: &str) -> String {
    format!("/lockers/{locker}/{list}?startISO={}&endISO={}", clock(start), clock(end))
}

/// Six lockers each for two owners; ten reservations and ten events for one of them.
fn furnished() -> Scene {
    let scene = Scene::start();
    for n in 0..6 {
        scene.locker(&format!("A{n}"), "alice");
        scene.locker(&format!("B{n}"), "bob");
    }
    for n in 0..10 {
        for locker in ["A0", "A1"] {
            let window = format!("11:{n:02}-11:{:02}", n + 1);
            scene.reservation(locker, &format!("R{n}"), "rita", &window);
            scene.event(locker, &format!("E{n}"), &format!("11:{n:02}"));
        }
    }
    scene
}

/// The cursor of the first page of three.
#[track_caller]
fn cursor(client: &mut Client, path: &str) -> String {
    let sign = if path.contains('?') { '&' } else { '?' };
    let page = client.get(&format!("{path}{sign}pageSize=3")).is(200);
    assert!(page.next().is_some(), "there is more to come; {page}");
    page.next().unwrap_or_default()
}

fn resume(client: &mut Client, path: &str, cursor: &str) -> Reply {
    let sign = if path.contains('?') { '&' } else { '?' };
    client.get(&format!("{path}{sign}nextCursor={cursor}"))
}

#[track_caller]
fn refused(client: &mut Client, path: &str, cursor: &str) {
    let reply = resume(client, path, cursor).refuses(400, "invalid-cursor");
    assert!(reply.header("latchkey-capacity").ends_with("wcu=0"), "{reply}");
}

#[test]
fn a_cursor_with_any_letter_changed_is_invalid() {
    let scene = furnished();
    let mut alice = scene.person("alice");
    for path in ["/owners/alice/lockers".to_owned(), range("A0", "events", "00:00", "23:00")] {
        let good = cursor(&mut alice, &path);
        resume(&mut alice, &path, &good).is(200);
        for at in 0..good.len() {
            let was = good.chars().nth(at).unwrap();
            let place = ALPHABET.find(was).unwrap_or_default();
            // The next letter, one that differs in its lowest bit alone, and one that is none of them.
            for step in [1, 32, 63] {
                let other = ALPHABET.chars().nth((place + step) % 64).unwrap();
                let changed: String = good
                    .chars()
                    .enumerate()
                    .map(|(n, c)| if n == at { other } else { c })
                    .collect();
                refused(&mut alice, &path, &changed);
            }
            let odd: String =
                good.chars().enumerate().map(|(n, c)| if n == at { '.' } else { c }).collect();
            refused(&mut alice, &path, &odd);
        }
    }
}

#[test]
fn a_cursor_cut_short_or_drawn_out_is_invalid() {
    let scene = furnished();
    let mut alice = scene.person("alice");
    let path = "/owners/alice/lockers";
    let good = cursor(&mut alice, path);
    for length in 0..good.len() {
        let (head, tail) = good.split_at(length);
        refused(&mut alice, path, head);
        if length > 0 {
            refused(&mut alice, path, tail);
        }
    }
    for more in ["A", "AA", "AAAA", "=", "==", "%3D", ".", "%00", "%20", "+", "%0A"] {
        refused(&mut alice, path, &format!("{good}{more}"));
        refused(&mut alice, path, &format!("{more}{good}"));
    }
    refused(&mut alice, path, &format!("{good}{good}"));
    refused(&mut alice, path, &good.to_lowercase());
    refused(&mut alice, path, &good.chars().rev().collect::<String>());
}

#[test]
fn garbage_is_no_cursor() {
    let scene = furnished();
    let mut alice = scene.person("alice");
    for path in [
        "/owners/alice/lockers".to_owned(),
        range("A0", "reservations", "00:00", "23:00"),
        range("A0", "events", "00:00", "23:00"),
    ] {
        for garbage in [
            "x",
            "null",
            "0",
            "-1",
            "AAAA",
            "e30",
            "eyJQSyI6Ik9XTkVSI2FsaWNlIn0",
            "%7B%7D",
            "%F0%9F%94%91",
            "..",
            "../../etc/passwd",
            "%27%20OR%201=1",
            "LOCKER%23A2",
            "%25",
        ] {
            refused(&mut alice, &path, garbage);
        }
        for size in [1_000, 10 * 1024, 50 * 1024] {
            refused(&mut alice, &path, &"A".repeat(size));
        }
        // What is too long for a head is refused before anyone looks for a cursor in it.
        for size in [100 * 1024, 200 * 1024] {
            let reply = resume(&mut scene.person("alice"), &path, &"A".repeat(size));
            assert!([400, 413, 414, 431].contains(&reply.status), "{reply}");
        }
    }
}

#[test]
fn a_cursor_is_for_one_caller() {
    let scene = furnished();
    let path = "/owners/alice/lockers";
    let (mut alice, mut operator) = (scene.person("alice"), scene.operator());
    let (hers, theirs) = (cursor(&mut alice, path), cursor(&mut operator, path));
    refused(&mut operator, path, &hers);
    refused(&mut alice, path, &theirs);
    refused(&mut scene.someone("ada", &["admin"], &[]), path, &hers);
    // Whoever may not list is told so, or that the cursor is none; never what is listed.
    let reply = resume(&mut scene.person("bob"), path, &hers);
    assert!([400, 403].contains(&reply.status), "{reply}");
    resume(&mut scene.nobody(), path, &hers).refuses(401, "unauthenticated");
    // The caller is who it is, by whatever token.
    let mut again = scene.someone("alice", &["device"], &["acme"]);
    resume(&mut again, path, &hers).lists("lockerId", &["A3", "A4", "A5"], false);
    resume(&mut operator, path, &theirs).lists("lockerId", &["A3", "A4", "A5"], false);
}

#[test]
fn a_cursor_is_for_one_contract() {
    let scene = furnished();
    let mut alice = scene.person("alice");
    let paths = [
        "/owners/alice/lockers".to_owned(),
        range("A0", "reservations", "00:00", "23:00"),
        range("A0", "events", "00:00", "23:00"),
    ];
    let cursors = paths.each_ref().map(|path| cursor(&mut alice, path));
    for (at, path) in paths.iter().enumerate() {
        for (made_at, cursor) in cursors.iter().enumerate() {
            if at == made_at {
                resume(&mut alice, path, cursor).is(200);
            } else {
                refused(&mut alice, path, cursor);
            }
        }
    }
    // A contract that is no list has no cursor at all.
    resume(&mut alice, "/lockers/A0", &cursors[0]).blames(&["/nextCursor"]);
}

#[test]
fn a_cursor_is_for_one_question() {
    let scene = furnished();
    let mut operator = scene.operator();
    let of_alice = cursor(&mut operator, "/owners/alice/lockers");
    refused(&mut operator, "/owners/bob/lockers", &of_alice);
    for list in ["reservations", "events"] {
        let path = range("A0", list, "11:00", "11:08");
        for order in ["asc", "desc"] {
            let ordered = format!("{path}&order={order}");
            let good = cursor(&mut operator, &ordered);
            let other = if order == "asc" { "desc" } else { "asc" };
            refused(&mut operator, &format!("{path}&order={other}"), &good);
            let ordered_as = |path: String| format!("{path}&order={order}");
            refused(&mut operator, &ordered_as(range("A1", list, "11:00", "11:08")), &good);
            refused(&mut operator, &ordered_as(range("A0", list, "11:00", "11:09")), &good);
            refused(&mut operator, &ordered_as(range("A0", list, "11:00", "11:02")), &good);
            refused(&mut operator, &ordered_as(range("A0", list, "10:59", "11:08")), &good);
            refused(&mut operator, &ordered_as(range("A0", list, "11:06", "11:08")), &good);
            resume(&mut operator, &ordered, &good).is(200);
        }
    }
}

#[test]
fn the_same_question_in_other_words_is_the_same() {
    let scene = furnished();
    let mut alice = scene.person("alice");
    let good = cursor(&mut alice, &range("A0", "reservations", "11:00", "11:08"));
    for words in [
        "startISO=2026-02-25T11:00:00Z&endISO=2026-02-25T11:08:00Z",
        "endISO=2026-02-25T11:08:00.0001Z&startISO=2026-02-25T12:00:00%2B01:00",
        "startISO=2026-02-25t11:00:00z&endISO=2026-02-25T11:08:00Z&order=asc",
    ] {
        let page = resume(&mut alice, &format!("/lockers/A0/reservations?{words}"), &good);
        page.lists("reservationId", &["R3", "R4", "R5", "R6", "R7", "R8"], false);
    }
}

#[test]
fn a_cursor_goes_on_with_any_page_size_and_as_often_as_one_likes() {
    let scene = furnished();
    let mut alice = scene.person("alice");
    let path = "/owners/alice/lockers";
    let good = cursor(&mut alice, path);
    for (size, expected, more) in [
        ("", &["A3", "A4", "A5"][..], false),
        ("&pageSize=1", &["A3"], true),
        ("&pageSize=2", &["A3", "A4"], true),
        ("&pageSize=3", &["A3", "A4", "A5"], false),
        ("&pageSize=100", &["A3", "A4", "A5"], false),
        ("&pageSize=1", &["A3"], true),
    ] {
        let page = alice.get(&format!("{path}?nextCursor={good}{size}"));
        page.lists("lockerId", expected, more);
    }
    alice.get(&format!("{path}?nextCursor={good}&pageSize=101")).blames(&["/pageSize"]);
    alice.get(&format!("{path}?nextCursor={good}&nextCursor={good}")).blames(&["/nextCursor"]);
}

#[test]
fn what_changes_between_two_pages_does_no_harm() {
    let scene = furnished();
    let mut operator = scene.operator();
    let path = "/owners/alice/lockers";
    let good = cursor(&mut operator, path);
    // The last one shown goes, one before it goes, one to come goes.
    for id in ["A2", "A0", "A4"] {
        let path = format!("/lockers/{id}/transfer");
        operator.post(&path, &json!({"newOwnerId": "bob"})).is(200);
    }
    resume(&mut operator, path, &good).lists("lockerId", &["A3", "A5"], false);
    // One comes behind the place, one before it, and one to come changes.
    scene.locker("A25", "alice");
    scene.locker("A1x", "alice");
    let body = json!({"newStatus": "OCCUPIED", "expectedVersion": 1});
    operator.put("/lockers/A3/status", &body).is(200);
    let page = resume(&mut operator, path, &good).lists("lockerId", &["A25", "A3", "A5"], false);
    page.lists("status", &["AVAILABLE", "OCCUPIED", "AVAILABLE"], false);
    for id in ["A25", "A3", "A5", "A1", "A1x"] {
        let path = format!("/lockers/{id}/transfer");
        operator.post(&path, &json!({"newOwnerId": "bob"})).is(200);
    }
    resume(&mut operator, path, &good).lists("lockerId", &[], false);
}

#[test]
fn a_cursor_outlives_the_process() {
    let scene = furnished();
    let path = "/owners/alice/lockers";
    let good = cursor(&mut scene.person("alice"), path);
    let scene = scene.restart(|_| {});
    resume(&mut scene.person("alice"), path, &good).lists("lockerId", &["A3", "A4", "A5"], false);
}

#[test]
fn a_cursor_shows_nothing_that_is_not_in_the_page() {
    let scene = furnished();
    let mut alice = scene.person("alice");
    // Two servers with the same things seal with secrets of their own.
    let other = furnished();
    let path = "/owners/alice/lockers";
    let good = cursor(&mut alice, path);
    let foreign = cursor(&mut other.person("alice"), path);
    assert_ne!(good, foreign, "the seal depends on the secret");
    refused(&mut alice, path, &foreign);
    let fits = good.chars().all(|c| ALPHABET.contains(c));
    assert!(fits, "it goes into a query as it is: {good}");
}
