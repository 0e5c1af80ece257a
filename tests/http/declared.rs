//! The patterns of headers in the OpenAPI document are what the server takes: no value more, none less.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;

use crate::scene::Scene;
use crate::serve::chance::Chance;

/// What values are made of: what a pattern may stumble over, and what fits.
const PIECES: [&str; 22] = [
    "\"", "\"", "\"\"", " ", "\t", ",", ", ", "a", "1", "~", "!", "#", "\\", "W/", "*", "é",
    "\"1\"", "W/\"x\"", "\"1-a\"", "\"2\",", "\"a b\"", "8e03978e",
];

/// Values from a few pieces, some of a length about the longest, and lists about the longest.
fn drawn(chance: &mut Chance) -> String {
    let mut value: String = (0..chance.below(5)).map(|_| chance.of(&PIECES)).collect();
    match chance.below(8) {
        0 => {
            let length = 250 + chance.below(9);
            let (filled, at) =
                ("k".repeat(length.saturating_sub(value.chars().count())), chance.below(2));
            value.insert_str(at * value.len(), &filled);
            if chance.below(2) == 0 {
                value = format!("\"{value}\"");
            }
        }
        1 => {
            let tag = chance.of(&["\"1\"", "W/\"x\"", "\"\""]);
            value = vec![tag; 97 + chance.below(7)].join(chance.of(&[",", ", ", "\t,"]));
        }
        _ => {}
    }
    value
}

fn pattern(openapi: &Value, parameter: &str) -> (Regex, usize) {
    let schema = &openapi["components"]["parameters"][parameter]["schema"];
    let longest =
        schema["maxLength"].as_u64().map_or(usize::MAX, |most| usize::try_from(most).unwrap());
    (Regex::new(schema["pattern"].as_str().unwrap()).unwrap(), longest)
}

/// Sends drawn values of a header, and counts those that are taken.
fn agree(
    scene: &Scene,
    header: &str,
    parameter: &str,
    send: (&str, &str, &str),
    seed: u64,
) -> usize {
    let mut operator = scene.operator();
    let openapi = operator.get("/openapi.json").json();
    let (pattern, longest) = pattern(&openapi, parameter);
    let (mut chance, mut seen, mut taken) = (Chance::new(seed), BTreeSet::new(), 0);
    let (method, path, body) = send;
    for _ in 0..3000 {
        let value = drawn(&mut chance);
        // White space around a value is no part of it, as RFC 9110 says.
        let value = value.trim_matches([' ', '\t']);
        if !seen.insert(value.to_owned()) {
            continue;
        }
        let declared = pattern.is_match(value) && value.chars().count() <= longest;
        let reply = operator.send(method, path, &[(header, value)], Some(body));
        let refused =
            reply.status == 400 && reply.json()["detail"].as_str().unwrap().contains(header);
        assert_eq!(refused, !declared, "{header}: {value:?}: {reply}");
        taken += usize::from(declared);
    }
    assert!(seen.len() > 1000, "{} values", seen.len());
    taken
}

#[test]
fn an_idempotency_key_is_taken_where_its_pattern_fits() {
    // A quote at one end alone was taken and not declared: Schemathesis sent it.
    let scene = Scene::start();
    let body = r#"{"ownerId":"alice"}"#;
    let taken = agree(&scene, "Idempotency-Key", "IdempotencyKey", ("POST", "/lockers", body), 3);
    assert!(taken > 200, "{taken}");
}

#[test]
fn an_if_match_is_taken_where_its_pattern_fits() {
    // A tab within a tag was taken and not declared, and 101 tags were declared and refused.
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let body = r#"{"newStatus":"OCCUPIED"}"#;
    let taken = agree(&scene, "If-Match", "IfMatch", ("PUT", "/lockers/L1/status", body), 5);
    assert!(taken > 80, "{taken}");
}
