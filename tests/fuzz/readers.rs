//! No bytes make a reader panic or hang, and what a reader takes is written and read again as the same.

use std::sync::Arc;

use latchkey_embedded::{Options, Store};
use latchkey_http::Tokens;
use latchkey_language::parse;
use latchkey_runtime::{Call, Caller, Runtime, System};
use latchkey_table::{Number, Schema, line};
use latchkey_testing::jwt;
use latchkey_value::{id, json, time};

use crate::mutate::{fuzz, kind};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn json_is_read_or_refused() {
    fuzz("json", include_str!("corpus/json.txt"), 20_000, |bytes| {
        match json::read(bytes, json::Limits::default()) {
            Ok(value) => {
                let mut written = String::new();
                json::write(&value, &mut written);
                let again = json::read(written.as_bytes(), json::Limits::default());
                assert_eq!(again.as_ref(), Ok(&value), "{written}");
                format!("{:?}", std::mem::discriminant(&value))
            }
            Err(error) => kind(&error),
        }
    });
}

#[test]
fn lines_of_an_export_are_read_or_refused() {
    let schema = Schema::new("T").with_index("GSI1");
    fuzz("line", include_str!("corpus/line.txt"), 20_000, |bytes| {
        let Ok(value) = json::read(bytes, json::Limits { levels_max: 70 }) else {
            return "no JSON".to_owned();
        };
        match line::read(value) {
            Ok(item) => {
                let mut written = String::new();
                line::write(&item, &mut written);
                let read = json::read(written.as_bytes(), json::Limits { levels_max: 70 }).unwrap();
                assert_eq!(line::read(read).unwrap(), item, "{written}");
                match schema.validate_item(&item) {
                    Ok(_) => format!("{} attributes", item.len().min(20)),
                    Err(error) => kind(&error),
                }
            }
            Err(error) => kind(&error),
        }
    });
}

#[test]
fn numbers_are_read_or_refused() {
    fuzz("number", include_str!("corpus/number.txt"), 40_000, |bytes| {
        match text(bytes).parse::<Number>() {
            Ok(number) => {
                let again: Number = number.to_string().parse().unwrap();
                assert_eq!(again, number);
                let sum = number.checked_add(number).map(|sum| sum.checked_sub(number));
                let sum = sum.map_or_else(|error| kind(&error), |_| "sum".to_owned());
                format!("{} {} {sum}", number.to_i64().is_some(), number.size())
            }
            Err(error) => kind(&error),
        }
    });
}

#[test]
fn times_and_ids_are_read_or_refused() {
    fuzz("time", include_str!("corpus/time.txt"), 40_000, |bytes| {
        let text = text(bytes);
        let parsed = time::parse(&text);
        if let Some(canonical) = time::canonical(&text) {
            assert_eq!(time::parse(&canonical), parsed);
            assert_eq!(time::canonical(&canonical).as_ref(), Some(&canonical));
            for by in [0, 1, -1, i64::MAX, i64::MIN, 86_400_000] {
                let moved = time::add(&canonical, by);
                assert!(moved.is_none_or(|moved| time::parse(&moved).is_some()));
                drop(time::add_months(&canonical, by));
            }
            assert_eq!(time::between(&canonical, &canonical), Some(0));
        }
        let date = time::parse_date(&text).is_some();
        format!("{} {date} {} {}", parsed.is_some(), id::is_id(&text), id::is_ulid(&text))
    });
}

#[test]
fn tokens_are_believed_only_as_they_were_signed() {
    const SECRET: &str = "the secret of tests that all of them know";
    let tokens = Tokens::new(SECRET.as_bytes(), "latchkey", "latchkey").unwrap();
    let now = i64::try_from(jwt::now()).unwrap() * 1000;
    let good = jwt::token(SECRET, &jwt::claims("ann", &["admin"], &["org"]));
    let corpus = format!("{good}\n{}", include_str!("corpus/token.txt"));
    fuzz("token", &corpus, 20_000, |bytes| match tokens.verify(&text(bytes), now) {
        Ok(claims) => {
            assert_eq!(text(bytes), good, "a token that nobody signed: {claims:?}");
            "believed".to_owned()
        }
        Err(error) => kind(&error),
    });
}

#[test]
fn what_a_signed_token_says_is_read_or_refused() {
    const SECRET: &str = "the secret of tests that all of them know";
    let tokens = Tokens::new(SECRET.as_bytes(), "latchkey", "latchkey").unwrap();
    let now = i64::try_from(jwt::now()).unwrap() * 1000;
    let header = r#"{"alg":"HS256","typ":"JWT"}"#;
    fuzz("claims", include_str!("corpus/claims.txt"), 10_000, |bytes| {
        let payload = text(bytes);
        let of_payload = tokens.verify(&jwt::signed(SECRET, header, &payload), now);
        let good = jwt::claims("ann", &[], &[]).to_string();
        let of_header = tokens.verify(&jwt::signed(SECRET, &payload, &good), now);
        let kind = |one: Result<_, latchkey_http::TokenError>| {
            one.map_or_else(|e| kind(&e), |_| "ok".into())
        };
        format!("{}, {}", kind(of_payload), kind(of_header))
    });
}

/// A list over HTTP has a cursor; here it is asked for without HTTP.
#[test]
fn cursors_are_read_or_refused() {
    let text_of = concat!(env!("CARGO_MANIFEST_DIR"), "/../systems/participation.md");
    let system = System::read(&std::fs::read_to_string(text_of).unwrap()).unwrap();
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store = Arc::new(Store::in_memory(&Options::default()).unwrap());
    let runtime = executor
        .block_on(Runtime::start(system, store, latchkey_runtime::Options::default()))
        .unwrap();
    let admin = || Caller::new("ada").role("admin");
    let ask = |call: Call| executor.block_on(runtime.call(call));
    for n in 0..3 {
        let made = Call::new("AD-04", admin()).input("eventId", format!("e{n}").as_str());
        let made = made
            .input("title", "E")
            .input("mode", "LOTTERY")
            .json("winRate", latchkey_table::Value::from(0));
        assert_eq!(ask(made).status(), 201);
    }
    let list = |cursor: Option<&str>| {
        let call = Call::new("AD-07", admin()).input("limit", "1");
        ask(cursor.iter().fold(call, |call, cursor| call.input("nextCursor", *cursor)))
    };
    let first = list(None).body().to_string();
    let good =
        first.split("nextCursor\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let corpus = format!("{good}\n{}", include_str!("corpus/cursor.txt"));
    fuzz("cursor", &corpus, 4_000, |bytes| {
        let outcome = list(Some(&text(bytes)));
        assert!([200, 400].contains(&outcome.status()), "{}", outcome.body());
        assert!(outcome.status() != 200 || text(bytes) == *good, "a cursor that nobody gave");
        outcome.status().to_string()
    });
}

#[test]
fn documents_are_parsed_or_refused() {
    let document = include_str!("corpus/document.txt");
    fuzz("document", document, 10_000, |bytes| {
        let text = format!("# D\n\n```contract\n{}\n```\n", text(bytes).replace(';', "\n"));
        let parsed = parse(&text);
        for one in &parsed.diagnostics {
            assert!(text.get(one.span.range()).is_some(), "{one:?}");
        }
        parsed.diagnostics.first().map_or_else(|| "parsed".to_owned(), |one| kind(&one.message))
    });
}
