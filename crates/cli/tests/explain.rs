//! What `latchkey explain` shows is what is done.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use latchkey_embedded::Store;
use latchkey_runtime::{Asked, Call, Caller, Options, Runtime, System, explain};
use latchkey_table::render::Rendered;
use latchkey_value::time;
use serde_json::{Map, Value};

const LATCHKEY: &str = env!("CARGO_BIN_EXE_latchkey");
const SMARTLOCKER: &str = include_str!("../../../systems/smartlocker.md");
const LANGUAGE: &str = include_str!("../../../docs/language.md");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn latchkey(arguments: &[&str]) -> Output {
    Command::new(LATCHKEY).args(arguments).current_dir(root()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn explanations_are_as_they_were() {
    for id in ["QC-01", "QC-03", "QC-04", "QC-06", "QC-07"] {
        let output = latchkey(&["explain", id, "systems/smartlocker.md"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let shown = text(&output.stdout);
        let path = root().join(format!("crates/cli/tests/explain/{id}.txt"));
        if std::env::var_os("LATCHKEY_BLESS").is_some() {
            std::fs::write(&path, &shown).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap();
        assert_eq!(shown, golden, "{id}: LATCHKEY_BLESS=1 writes what is shown now");
        let shipped = latchkey(&["explain", id]);
        assert_eq!(text(&shipped.stdout), golden, "{id} is shipped");
    }
}

#[test]
fn a_contract_that_is_not_there_is_told_with_those_that_are() {
    let output = latchkey(&["explain", "QC-99", "systems/smartlocker.md"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let told = text(&output.stderr);
    assert!(told.contains("there is no contract `QC-99`; there are QC-01, QC-02, QC-03"), "{told}");
    assert!(told.contains("QC-12"), "{told}");
}

#[test]
fn a_document_with_mistakes_is_not_explained() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("wrong.md");
    std::fs::write(
        &path,
        SMARTLOCKER.replace("  allow caller owns ownerId or caller is operator\n", ""),
    )
    .unwrap();
    let output = latchkey(&["explain", "QC-01", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
}

/// What may stand in an expression beside placeholders.
const WORDS: [&str; 12] = [
    "SET",
    "REMOVE",
    "ADD",
    "AND",
    "OR",
    "NOT",
    "BETWEEN",
    "IN",
    "attribute_exists",
    "attribute_not_exists",
    "begins_with",
    "if_not_exists",
];

/// The body of a request, or of the leg that it is.
fn body(asked: &Asked) -> Value {
    let json: Value = serde_json::from_str(&asked.json).unwrap();
    if asked.is_leg() { json.get(asked.operation).unwrap().clone() } else { json }
}

fn names(body: &Value, member: &str) -> Vec<String> {
    let map = body.get(member).and_then(Value::as_object);
    map.map(|map| map.keys().cloned().collect()).unwrap_or_default()
}

#[test]
fn expressions_are_made_of_placeholders_alone() {
    let mut expressions = 0;
    for document in [SMARTLOCKER, LANGUAGE] {
        let system = System::read(document).unwrap();
        for contract in system.contracts() {
            let id = &contract.id;
            let explanation = explain(&system, id).unwrap();
            assert!(!explanation.requests().is_empty(), "{id} asks for nothing");
            for asked in explanation.requests() {
                let body = body(asked);
                let mut used = Vec::new();
                for member in [
                    "KeyConditionExpression",
                    "FilterExpression",
                    "ConditionExpression",
                    "UpdateExpression",
                ] {
                    let Some(expression) = body.get(member).and_then(Value::as_str) else {
                        continue;
                    };
                    expressions += 1;
                    let parts = expression.split([' ', ',', '(', ')', '.']);
                    for part in parts.filter(|part| part.contains(char::is_alphanumeric)) {
                        if part.starts_with(['#', ':']) {
                            used.push(part.to_owned());
                        } else {
                            assert!(WORDS.contains(&part), "{id}: `{part}` in {expression}");
                        }
                    }
                }
                used.sort();
                used.dedup();
                let mut known = names(&body, "ExpressionAttributeNames");
                known.extend(names(&body, "ExpressionAttributeValues"));
                known.sort();
                assert_eq!(used, known, "{id}: what is used is what is explained");
            }
        }
    }
    assert!(expressions > 60, "there were only {expressions}");
}

/// What placeholders stand for in one call.
type Values = BTreeMap<String, Value>;

/// A piece of a text that is shown.
enum Piece {
    Literal(String),
    Name(String),
}

/// The pieces of a text that is shown: a name stands in braces, a brace of the text itself is doubled.
fn pieces(shown: &str) -> Vec<Piece> {
    let (mut pieces, mut literal) = (Vec::new(), String::new());
    let mut rest = shown.chars().peekable();
    while let Some(c) = rest.next() {
        if matches!(c, '{' | '}') && rest.next_if_eq(&c).is_none() {
            pieces.push(Piece::Literal(std::mem::take(&mut literal)));
            pieces.push(Piece::Name(rest.by_ref().take_while(|c| *c != '}').collect()));
        } else {
            literal.push(c);
        }
    }
    pieces.push(Piece::Literal(literal));
    pieces
}

/// Whether a text is one with values in its placeholders, each the same wherever it stands.
fn text_is(shown: &str, real: &str, values: &mut Values) -> bool {
    let pieces = pieces(shown);
    let mut real = real;
    for (at, piece) in pieces.iter().enumerate() {
        let (name, next) = match (piece, pieces.get(at + 1)) {
            (Piece::Literal(literal), _) => match real.strip_prefix(literal.as_str()) {
                Some(behind) => {
                    real = behind;
                    continue;
                }
                None => return false,
            },
            (Piece::Name(name), Some(Piece::Literal(next))) => (name, next.as_str()),
            (Piece::Name(name), _) => (name, ""),
        };
        let end = if next.is_empty() { Some(real.len()) } else { real.find(next) };
        let Some((value, behind)) = end.map(|end| real.split_at(end)) else { return false };
        real = behind;
        // Padded or not, a number is the same.
        let (name, value) = match name.split_once(':') {
            Some((name, _)) => (name, value.trim_start_matches('0')),
            None => (name.as_str(), value),
        };
        if !stands_for(name, &Value::from(value), values) {
            return false;
        }
    }
    real.is_empty()
}

fn stands_for(name: &str, value: &Value, values: &mut Values) -> bool {
    values.entry(name.to_owned()).or_insert_with(|| value.clone()) == value
}

/// Whether a request is one that was shown.
fn is(shown: &Value, real: &Value, values: &mut Values) -> bool {
    match (shown, real) {
        (Value::String(shown), Value::String(real)) => text_is(shown, real, values),
        (Value::Object(shown), Value::Object(real)) => object_is(shown, real, values),
        (Value::Array(shown), Value::Array(real)) => {
            let mut pairs = shown.iter().zip(real);
            shown.len() == real.len() && pairs.all(|(shown, real)| is(shown, real, values))
        }
        // A truth, a list or a map has its placeholder in a text.
        (Value::String(shown), real) => {
            let name = shown.strip_prefix('{').and_then(|shown| shown.strip_suffix('}'));
            name.is_some_and(|name| stands_for(name, real, values))
        }
        (shown, real) => shown == real,
    }
}

fn object_is(shown: &Map<String, Value>, real: &Map<String, Value>, values: &mut Values) -> bool {
    let all = real
        .iter()
        .all(|(name, real)| shown.get(name).is_some_and(|shown| is(shown, real, values)));
    // Only an attribute whose value is not known can be left out.
    let mut missing = shown.iter().filter(|(name, _)| !real.contains_key(*name));
    all && missing.all(|(_, value)| {
        let value = value.as_object().and_then(|typed| typed.values().next());
        value.and_then(Value::as_str).is_some_and(|value| value.starts_with('{'))
    })
}

/// Makes calls, and holds each to what was explained of it.
struct Witness {
    runtime: Runtime,
    seen: Vec<String>,
}

impl Witness {
    async fn new(document: &str) -> Witness {
        let store = Store::in_memory(&latchkey_embedded::Options::default()).unwrap();
        let backend = store;
        let system = System::read(document).unwrap();
        let runtime = Runtime::start(system, backend, Options::default()).await.unwrap();
        Witness { runtime, seen: Vec::new() }
    }

    /// Makes a call at an hour of a day; what its placeholders stood for.
    async fn call(&mut self, status: u16, hour: u32, mut call: Call) -> Values {
        let now = format!("2026-02-25T{hour:02}:00:00.000Z");
        call.at = time::parse(&now);
        call.trace = true;
        let (id, given) = (call.contract.clone(), call.inputs.clone());
        let outcome = self.runtime.call(call).await;
        assert_eq!(outcome.status(), status, "{id}: {}", outcome.body());
        let explanation = explain(self.runtime.system(), &id).unwrap();
        let mut left = explanation.requests().iter();
        let mut values = Values::from([("now".to_owned(), Value::from(now))]);
        for (name, given) in given {
            if let latchkey_runtime::RawInput::Text(text) = given {
                values.insert(name.to_string(), Value::from(text.as_str()));
            }
        }
        for step in &outcome.trace {
            let rendered = Rendered::of(&step.request).unwrap();
            let whole: Value = serde_json::from_str(&rendered.to_json()).unwrap();
            // The legs of a transaction are shown one by one, the gets of a snapshot as one request.
            let legs = whole.get("TransactItems").and_then(Value::as_array);
            let legs = legs.filter(|_| rendered.operation() != "TransactGetItems");
            let asked: Vec<(String, Value)> = match legs {
                None => vec![(rendered.operation().to_owned(), whole)],
                Some(legs) => legs
                    .iter()
                    .map(|leg| leg.as_object().unwrap().iter().next().unwrap())
                    .map(|(operation, body)| (operation.clone(), body.clone()))
                    .collect(),
            };
            for (operation, real) in asked {
                let found = left.any(|shown| {
                    let mut tried = values.clone();
                    let is = shown.operation == operation && is(&body(shown), &real, &mut tried);
                    if is {
                        values = tried;
                    }
                    is
                });
                assert!(
                    found,
                    "{id} made this, and nobody said so: {operation} {real:#}\n{values:#?}"
                );
            }
        }
        self.seen.push(id.to_string());
        values
    }
}

fn call(contract: &str, inputs: &[(&str, &str)]) -> Call {
    let caller =
        Caller::new("alice").role("operator").role("clerk").role("courier").role("manager");
    inputs.iter().fold(Call::new(contract, caller), |call, (name, value)| call.input(*name, *value))
}

fn keyed(mut call: Call, key: &str) -> Call {
    call.idempotency_key = Some(key.into());
    call
}

#[tokio::test]
async fn what_is_explained_is_what_is_asked_of_lockers() {
    let mut lockers = Witness::new(SMARTLOCKER).await;
    let locker = ("lockerId", "L1");
    let new = [locker, ("ownerId", "alice"), ("lockerAlias", "left")];
    lockers.call(201, 9, keyed(call("QC-11", &new), "k1")).await;
    lockers.call(201, 9, call("QC-11", &[("ownerId", "alice")])).await;
    lockers.call(200, 9, call("QC-01", &[locker])).await;
    lockers.call(200, 9, call("QC-01", &[locker, ("consistent", "true")])).await;
    lockers.call(200, 9, call("QC-02", &[("ownerId", "alice")])).await;
    let changed = [locker, ("newStatus", "OCCUPIED"), ("expectedVersion", "1")];
    let values = lockers.call(200, 10, call("QC-03", &changed)).await;
    assert_eq!(values.get("locker.version"), Some(&Value::from("1")));
    assert_eq!(values.get("locker.version + 1"), Some(&Value::from("2")));
    lockers.call(409, 10, call("QC-03", &changed)).await;
    let moved = [("lockerAlias", "right"), ("locationId", "hall"), ("expectedVersion", "2")];
    lockers.call(200, 10, call("QC-16", &[locker, moved[0], moved[1], moved[2]])).await;
    lockers.call(200, 10, call("QC-18", &[locker, ("deviceId", "door-1")])).await;
    lockers.call(200, 10, call("QC-18", &[locker, ("deviceId", "door-1")])).await;
    lockers.call(200, 10, call("QC-18", &[locker])).await;
    lockers.call(200, 10, call("QC-02", &[("ownerId", "alice"), ("sort", "alias")])).await;

    let window = |id, start, end| {
        [locker, ("ownerId", "alice"), ("reservationId", id), ("startAt", start), ("endAt", end)]
    };
    let later = window("R1", "2026-02-26T10:00:00.000Z", "2026-02-26T11:00:00.000Z");
    lockers.call(201, 10, keyed(call("QC-04", &later), "k2")).await;
    let today = window("R2", "2026-02-25T10:00:00.000Z", "2026-02-25T20:00:00.000Z");
    let values = lockers.call(201, 11, call("QC-04", &today)).await;
    assert_eq!(values.get("endAt - 1ms"), Some(&Value::from("2026-02-25T19:59:59.999Z")));
    let days = [("startISO", "2026-02-25T00:00:00.000Z"), ("endISO", "2026-02-27T00:00:00.000Z")];
    lockers.call(200, 11, call("QC-05", &[locker, days[0], days[1]])).await;
    lockers.call(200, 11, call("QC-05", &[locker, days[0], days[1], ("order", "desc")])).await;
    lockers.call(200, 11, call("QC-07", &[locker])).await;
    lockers.call(404, 21, call("QC-07", &[locker])).await;

    let event = [locker, ("action", "OPEN"), ("actorId", "alice"), ("result", "SUCCESS")];
    let data = latchkey_table::Item::from([("by", "hand")]);
    let logged = call("QC-08", &event).json("metadata", latchkey_table::Value::Map(data));
    let values = lockers.call(201, 12, keyed(logged, "k3")).await;
    assert_eq!(values["metadata"]["by"]["S"], "hand");
    lockers.call(201, 12, call("QC-08", &event)).await;
    lockers.call(200, 12, call("QC-09", &[locker, days[0], days[1]])).await;
    lockers.call(200, 12, call("QC-10", &[locker])).await;
    let cancelled = [locker, ("reservationId", "R2")];
    lockers.call(200, 12, call("QC-14", &[("ownerId", "alice")])).await;
    lockers.call(200, 12, call("QC-15", &cancelled)).await;
    lockers.call(200, 13, keyed(call("QC-12", &cancelled), "k4")).await;
    lockers.call(200, 13, call("QC-12", &cancelled)).await;
    lockers.call(200, 14, keyed(call("QC-06", &[locker, ("newOwnerId", "alice")]), "k5")).await;
    lockers.call(200, 14, keyed(call("QC-06", &[locker, ("newOwnerId", "bob")]), "k6")).await;
    lockers.call(200, 14, keyed(call("QC-06", &[locker, ("newOwnerId", "bob")]), "k6")).await;

    // The second locker of an id is found unchanged in another way than the first.
    let gone = ("lockerId", "L2");
    for id in ["R3", "R4"] {
        // What the `else` of a leg asks is shown with the leg, and comes after those behind it: no witness here.
        let mut new = call("QC-11", &[gone, ("ownerId", "alice")]);
        new.at = time::parse("2026-02-25T14:00:00.000Z");
        assert_eq!(lockers.runtime.call(new).await.status(), 201, "{id}");
        let changed = [gone, ("newStatus", "OCCUPIED"), ("expectedVersion", "1")];
        lockers.call(200, 14, call("QC-03", &changed)).await;
        let mut over = window(id, "2026-02-25T10:00:00.000Z", "2026-02-25T11:00:00.000Z");
        over[0] = gone;
        lockers.call(201, 14, call("QC-04", &over)).await;
        lockers.call(204, 14, call("QC-17", &[gone])).await;
    }

    lockers.seen.sort();
    lockers.seen.dedup();
    let all: Vec<String> = lockers.runtime.system().contracts().map(|c| c.id.to_string()).collect();
    assert!(all.iter().all(|id| lockers.seen.contains(id)), "of {all:?} only {:?}", lockers.seen);
}

#[tokio::test]
async fn what_is_explained_is_what_is_asked_of_a_depot() {
    let mut depot = Witness::new(LANGUAGE).await;
    for parcel in ["P1", "P2"] {
        let new = [
            ("parcelId", parcel),
            ("ownerId", "olga"),
            ("label", "BOOKS-1"),
            ("grams", "1200"),
            ("shelf", "7"),
        ];
        depot.call(201, 9, keyed(call("P-04", &new), parcel)).await;
    }
    let parcel = ("parcelId", "P1");
    let change = [parcel, ("shelf", "8"), ("note", "fragile"), ("expectedVersion", "1")];
    let values = depot.call(200, 10, call("P-05", &change)).await;
    assert_eq!(values.get("shelf or parcel.shelf"), Some(&Value::from("8")), "it is padded to 08");
    depot.call(200, 10, call("P-03", &[("shelf", "8")])).await;
    depot.call(200, 10, call("P-02", &[("ownerId", "olga"), ("order", "desc")])).await;
    let round = ("roundId", "M1");
    depot.call(201, 10, call("R-01", &[round])).await;
    depot.call(200, 11, keyed(call("P-06", &[parcel, round]), "s1")).await;
    let values = depot.call(200, 11, call("P-06", &[("parcelId", "P2"), round])).await;
    assert_eq!(values.get("place"), Some(&Value::from("2")), "it is padded to 002");
    depot.call(200, 12, call("R-03", &[parcel])).await;
    depot.call(200, 12, call("R-02", &[round, ("place", "2")])).await;
}

/// A document whose texts look like placeholders.
const SIGNS: &str = r#"```contract
system signs
table Signs { type kind }
role manager

entity Sign "SIGN" {
  PK = "SIGN#{{signId}}#{signId}"
  SK = "META"
  signId id, words text(80), height int 0..100 = 0
}
contract S-1 "Put a sign up" {
  POST /signs/{signId}
  allow caller is manager
  sign = put Sign { signId, words = "{{signId}}" } if absent else 409 there
  return 201 sign
  consistency strong
  expect 1 item
  rate 1/s
}
contract S-2 "Raise a sign" {
  POST /signs/{signId}/height
  input by int 0..9
  allow caller is manager
  sign = update Sign set height = .height + by else 404 not-found
  return sign
  consistency strong
  expect 1 item
  rate 1/s
}
```"#;

#[tokio::test]
async fn what_is_explained_is_what_is_asked_of_signs() {
    let mut signs = Witness::new(SIGNS).await;
    let sign = ("signId", "N1");
    let values = signs.call(201, 9, call("S-1", &[sign])).await;
    assert!(values.values().all(|value| value != "{signId}"), "{values:#?}");
    signs.call(200, 9, call("S-2", &[sign, ("by", "3")])).await;
}
