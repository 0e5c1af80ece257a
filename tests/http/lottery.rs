//! LOTTERY and AD-05: the commitment, the reveal, and that anyone can recompute every outcome.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::participants::{counts, join};
use crate::scene::{Scene, clock};
use crate::serve::{Client, Reply, backend};

const REVEAL: &str = "/admin/events/E1/reveal";

/// A lottery that closes at noon, whose rate is told digit for digit.
#[track_caller]
fn lottery(scene: &Scene, id: &str, rate: &str) -> Reply {
    let body = format!(
        r#"{{"eventId":"{id}","title":"x","mode":"LOTTERY","winRate":{rate},"closesAt":"{}"}}"#,
        clock("12:00")
    );
    scene.admin().at(&clock("09:00")).send("POST", "/admin/events", &[], Some(&body)).is(201)
}

fn reveal(scene: &Scene, event: &str, time: &str) -> Reply {
    let path = format!("/admin/events/{event}/reveal");
    scene.admin().at(&clock(time)).send("POST", &path, &[], None)
}

/// The bytes of text in hexadecimal digits.
fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().map(|c| c.to_digit(16).unwrap()).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The digits behind the point of the draw of a user: 64, and it has no more.
fn draw(key: &[u8], event: &str, user: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(format!("{event}#{user}").as_bytes());
    let first: [u8; 8] = mac.finalize().into_bytes()[..8].try_into().unwrap();
    let mut rest = u128::from(u64::from_be_bytes(first));
    let mut digit = || {
        rest *= 10;
        let digit = rest >> 64;
        rest &= u128::from(u64::MAX);
        digit.to_string()
    };
    (0..64).map(|_| digit()).collect()
}

/// Whether a draw wins at a rate: both as digits, of which a rate of 1 has one before the point.
fn wins(draw: &str, rate: &str) -> bool {
    match rate.split_once('.') {
        None => rate == "1",
        Some((_, digits)) => *draw < *format!("{digits:0<64}"),
    }
}

#[test]
fn a_draw_is_compared_digit_by_digit() {
    // The known answers of the comparison itself: half of all draws begin with a bit of 0.
    let half = format!("5{}", "0".repeat(63));
    assert!(!wins(&half, "0.5") && wins(&half, "0.50000000000000000000000000000000000001"));
    assert!(wins(&format!("4{}", "9".repeat(63)), "0.5") && !wins(&half, "0") && wins(&half, "1"));
    assert_eq!(draw(&[0; 32], "E1", "alice").len(), 64);
}

#[test]
fn every_outcome_follows_from_the_revealed_key() {
    let scene = Scene::start();
    // Many decimals, and rates so close to a half that no coarser comparison would do.
    for (event, rate) in [
        ("none", "0"),
        ("all", "1"),
        ("half", "0.5"),
        ("third", "0.33333333333333333333333333333333333333"),
        ("digits", "0.61803398874989484820458683436563811772"),
        ("few", "0.0000000000000000000000000000000000001"),
        ("nearly-all", "0.99999999999999999999999999999999999999"),
    ] {
        let commitment = lottery(&scene, event, rate).json()["commitment"].clone();
        let users: Vec<String> =
            (0..backend::rounds(50).max(20)).map(|n| format!("user-{n}")).collect();
        let ids: Vec<String> = users.iter().map(|user| scene.joins(user, event, "10:00")).collect();
        scene.pass("11:00");
        let revealed = reveal(&scene, event, "12:30").is(200);
        let key = revealed.json()["revealedKey"].as_str().unwrap_or_default().to_owned();
        assert_eq!(key.len(), 64, "32 bytes; {revealed}");
        assert_eq!(commitment, hex(&Sha256::digest(bytes(&key))), "the commitment; {revealed}");
        let mut won = 0;
        for (user, id) in users.iter().zip(&ids) {
            let wins = wins(&draw(&bytes(&key), event, user), rate);
            won += u32::from(wins);
            let (status, result) =
                if wins { ("SUCCEEDED", "LOTTERY_WIN") } else { ("REJECTED", "LOTTERY_LOSE") };
            let request = scene.request(id);
            let shown = (request["status"].as_str(), request["uiResult"].as_str());
            assert_eq!(shown, (Some(status), Some(result)), "{user} in {event}: {request}");
        }
        let all = u32::try_from(users.len()).unwrap();
        let by_status = counts(&format!("SUCCEEDED {won}, REJECTED {}", all - won));
        assert_eq!(scene.summary(event), by_status);
        match event {
            "none" | "few" => assert_eq!(won, 0),
            "all" | "nearly-all" => assert_eq!(won, all),
            // Not even one of a million such lotteries is so one-sided.
            _ => assert!(won > 0 && won < all, "{won} of {all} won"),
        }
    }
}

#[test]
fn the_key_is_revealed_once_the_event_has_closed() {
    let scene = Scene::start();
    let made = lottery(&scene, "E1", "0.5").json();
    for time in ["09:00", "10:00", "11:59:59.999"] {
        let refused = reveal(&scene, "E1", time).refuses(409, "not-closed");
        let refused = refused.has("latchkey-contract", "AD-05");
        assert!(refused.header("latchkey-capacity").ends_with("wcu=0"), "{refused}");
        scene.person("alice").get("/events/E1").is(200).shows_just(&made);
    }
    let first = reveal(&scene, "E1", "12:00:00.001").is(200).has("latchkey-contract", "AD-05");
    let mut expected = made;
    expected["revealedKey"] = first.json()["revealedKey"].clone();
    let first = first.shows_just(&expected).json();
    // Again, at any time, by anyone who may, with a body or none: the same.
    for time in ["12:00:00.001", "12:30", "23:00"] {
        reveal(&scene, "E1", time).is(200).shows_just(&first);
    }
    let mut eve = scene.someone("eve", &["admin"], &[]).at(&clock("13:00"));
    eve.post(REVEAL, &json!({})).is(200).shows_just(&first);
    eve.post(REVEAL, &json!({"key": "0"})).blames(&["/key"]);
    // From then on everyone sees it.
    for time in ["13:00", "23:00"] {
        scene.person("bob").at(&clock(time)).get("/events/E1").is(200).shows_just(&first);
    }
    reveal(&scene, "E9", "13:00").refuses(404, "not-found");
}

#[test]
fn at_no_instant_can_one_both_take_part_and_know_the_key() {
    let scene = Scene::start();
    let times = ["11:59:59.998", "11:59:59.999", "12:00", "12:00:00.001", "12:00:00.002"];
    for (n, time) in times.into_iter().enumerate() {
        let event = format!("E{n}");
        lottery(&scene, &event, "0.5");
        let revealed = reveal(&scene, &event, time);
        let joined = join(&mut scene.person("alice").at(&clock(time)), &event);
        assert!([200, 409].contains(&revealed.status), "{revealed}");
        assert!([202, 409].contains(&joined.status), "{joined}");
        assert!(revealed.status == 409 || joined.status == 409, "{time}: {revealed}{joined}");
    }
}

#[test]
fn an_event_that_never_closes_reveals_nothing() {
    let scene = Scene::start();
    scene.event_of("E1", &json!({"mode": "LOTTERY", "winRate": 0.5}));
    scene.event_of("E2", &json!({"mode": "LOTTERY", "winRate": 0.5, "opensAt": clock("10:00")}));
    scene.first_come("E3", 3);
    for event in ["E1", "E2", "E3"] {
        for time in ["09:00", "23:59:59.999"] {
            reveal(&scene, event, time).refuses(409, "not-closed");
        }
    }
}

#[test]
fn an_event_without_a_lottery_has_no_key_to_reveal() {
    let scene = Scene::start();
    let open = json!({"mode": "FIRST_COME", "capacity": 3, "closesAt": clock("12:00")});
    let made = scene.event_of("E1", &open);
    reveal(&scene, "E1", "11:59:59.999").refuses(409, "not-closed");
    for time in ["12:00:00.001", "13:00"] {
        let told = reveal(&scene, "E1", time);
        assert!([200, 409].contains(&told.status), "{told}");
        assert!(!told.text.contains("revealedKey"), "{told}");
    }
    assert_eq!(made.get("commitment"), None);
    scene.person("alice").get("/events/E1").is(200).shows_just(&made);
}

/// A key as anyone might write it.
fn spellings(key: &str) -> Vec<String> {
    let bytes = bytes(key);
    vec![
        key.to_lowercase(),
        key.to_uppercase(),
        STANDARD.encode(&bytes),
        STANDARD_NO_PAD.encode(&bytes),
        URL_SAFE_NO_PAD.encode(&bytes),
    ]
}

/// All answers that were given, heads and bodies.
#[derive(Default)]
struct Heard(Vec<String>);

impl Heard {
    fn get(&mut self, client: &mut Client, path: &str) -> Reply {
        let reply = client.get(path);
        self.hear(reply)
    }

    fn hear(&mut self, reply: Reply) -> Reply {
        self.0.push(reply.to_string());
        reply
    }
}

#[test]
fn nothing_that_is_answered_before_the_reveal_has_the_key() {
    let scene = Scene::start();
    let mut heard = Heard::default();
    heard.hear(lottery(&scene, "E1", "0.5"));
    heard.hear(lottery(&scene, "E2", "0.5"));
    let mut alice = scene.person("alice");
    let id = heard.hear(join(&mut alice, "E1")).is(202).request_id();
    let everything = |heard: &mut Heard, time: &str| {
        for mut client in [scene.person("alice"), scene.admin(), scene.operator(), scene.nobody()] {
            client.now = Some(clock(time));
            for path in [
                "/events/E1".to_owned(),
                format!("/requests/{id}"),
                "/me/participations?limit=1".to_owned(),
                "/admin/events/E1/requests".to_owned(),
                "/admin/events/E1/summary".to_owned(),
                format!("/admin/requests/{id}"),
                format!("/admin/requests/{id}/logs"),
                "/events/E1?fields=drawKey".to_owned(),
                "/events/E1?consistent=true".to_owned(),
                "/metrics".to_owned(),
                "/openapi.json".to_owned(),
                "/health".to_owned(),
                "/ready".to_owned(),
            ] {
                heard.get(&mut client, &path);
            }
            heard.hear(join(&mut client, "E1"));
            heard.hear(client.post(
                "/admin/events",
                &json!({
                    "eventId": "E1", "title": "x", "mode": "LOTTERY", "winRate": 0.5,
                }),
            ));
        }
    };
    everything(&mut heard, "10:00");
    heard.hear(reveal(&scene, "E1", "11:00")).refuses(409, "not-closed");
    scene.pass("11:30");
    everything(&mut heard, "11:30");
    // Closed, it is still a secret until someone reveals it.
    everything(&mut heard, "13:00");
    let other = reveal(&scene, "E2", "13:00").is(200).json()["revealedKey"].clone();
    everything(&mut heard, "13:00");
    let revealed = reveal(&scene, "E1", "13:00").is(200).json();
    let key = revealed["revealedKey"].as_str().unwrap();
    assert_ne!(other, key, "each event has a key of its own");
    assert!(heard.0.len() > 150, "{} answers", heard.0.len());
    for spelling in spellings(key) {
        for answer in &heard.0 {
            assert!(!answer.contains(&spelling), "the key, {spelling}, in {answer}");
        }
    }
    let shown = alice.get("/events/E1").is(200);
    assert!(shown.text.contains(key), "what is searched for is what is shown; {shown}");
}

#[test]
fn who_takes_part_again_draws_no_second_time() {
    let scene = Scene::start();
    lottery(&scene, "E1", "0.5");
    let mut alice = scene.person("alice");
    let id = join(&mut alice, "E1").is(202).request_id();
    scene.pass("10:30");
    let decided = scene.request(&id);
    for time in ["10:31", "11:59", "12:00", "13:00"] {
        alice.now = Some(clock(time));
        let again = join(&mut alice, "E1").is(200);
        again.shows_just(&json!({"requestId": id, "status": decided["status"]}));
    }
    scene.pass("14:00");
    assert_eq!(scene.request(&id), decided);
    // A lottery has no seats that could run out.
    for member in ["capacity", "capacityRemaining"] {
        assert_eq!(alice.get("/events/E1").json().get(member), None);
    }
}
