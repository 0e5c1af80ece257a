//! What reads bytes of others. No bytes make a reader panic or hang, and what a reader takes is written and read again
//! as the same. The tests of this suite hand it changed inputs, and `guided` those that lead to other code.

use std::fmt::Display;
use std::sync::Arc;

use latchkey_embedded::{Options, Store};
use latchkey_http::Tokens;
use latchkey_language::parse;
use latchkey_runtime::{Call, Caller, Runtime, System};
use latchkey_table::{Number, Schema, line};
use latchkey_testing::jwt;
use latchkey_value::{id, json, time};

/// Reads bytes, checks what came of them, and says in a few words how they were answered.
type Read = Box<dyn Fn(&[u8]) -> String + Send + Sync>;

/// A reader, and what is kept for it.
pub(crate) struct Reader {
    pub(crate) name: &'static str,
    /// Inputs, one a line; `\xNN` is a byte and `\\` a backslash.
    pub(crate) corpus: String,
    pub(crate) read: Read,
}

/// A reader by its name, and how it is made.
type Named = (&'static str, fn() -> Reader);

pub(crate) const READERS: &[Named] = &[
    ("json", of_json),
    ("line", of_lines),
    ("number", of_numbers),
    ("time", of_times),
    ("token", of_tokens),
    ("claims", of_claims),
    ("cursor", of_cursors),
    ("document", of_documents),
    ("check", of_checks),
];

impl Reader {
    /// What is kept for it.
    pub(crate) fn kept(&self) -> Vec<Vec<u8>> {
        let kept: Vec<Vec<u8>> = self.corpus.lines().map(unescape).collect();
        assert!(!kept.is_empty(), "nothing is kept");
        kept
    }
}

/// The bytes of a line of a corpus.
pub(crate) fn unescape(line: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), line);
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        bytes.extend(before.bytes());
        let hex = escape.strip_prefix("\\x").and_then(|hex| hex.get(..2));
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(byte.unwrap_or(b'\\'));
        let used = if byte.is_some() { 4 } else { 2 };
        rest = escape.get(used.min(escape.len())..).unwrap_or_default();
    }
    bytes.extend(rest.bytes());
    bytes
}

fn reader(
    name: &'static str,
    corpus: &str,
    read: impl Fn(&[u8]) -> String + Send + Sync + 'static,
) -> Reader {
    Reader { name, corpus: corpus.to_owned(), read: Box::new(read) }
}

/// An error without what differs from input to input.
fn kind(error: &impl Display) -> String {
    let text = error.to_string();
    let end = text.find(['`', '"', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    text.get(..end.unwrap_or(text.len())).unwrap_or_default().to_owned()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn of_json() -> Reader {
    reader("json", include_str!("corpus/json.txt"), |bytes| {
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
    })
}

fn of_lines() -> Reader {
    let schema = Schema::new("T").with_index("GSI1");
    reader("line", include_str!("corpus/line.txt"), move |bytes| {
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
    })
}

fn of_numbers() -> Reader {
    reader("number", include_str!("corpus/number.txt"), |bytes| {
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
    })
}

fn of_times() -> Reader {
    reader("time", include_str!("corpus/time.txt"), |bytes| {
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
    })
}

fn of_tokens() -> Reader {
    const SECRET: &str = "the secret of tests that all of them know";
    let tokens = Tokens::new(SECRET.as_bytes(), "latchkey", "latchkey").unwrap();
    let now = i64::try_from(jwt::now()).unwrap() * 1000;
    let good = jwt::token(SECRET, &jwt::claims("ann", &["admin"], &["org"]));
    let corpus = format!("{good}\n{}", include_str!("corpus/token.txt"));
    reader("token", &corpus, move |bytes| match tokens.verify(&text(bytes), now) {
        Ok(claims) => {
            assert_eq!(text(bytes), good, "a token that nobody signed: {claims:?}");
            "believed".to_owned()
        }
        Err(error) => kind(&error),
    })
}

fn of_claims() -> Reader {
    const SECRET: &str = "the secret of tests that all of them know";
    let tokens = Tokens::new(SECRET.as_bytes(), "latchkey", "latchkey").unwrap();
    let now = i64::try_from(jwt::now()).unwrap() * 1000;
    let header = r#"{"alg":"HS256","typ":"JWT"}"#;
    reader("claims", include_str!("corpus/claims.txt"), move |bytes| {
        let payload = text(bytes);
        let of_payload = tokens.verify(&jwt::signed(SECRET, header, &payload), now);
        let good = jwt::claims("ann", &[], &[]).to_string();
        let of_header = tokens.verify(&jwt::signed(SECRET, &payload, &good), now);
        let kind = |one: Result<_, latchkey_http::TokenError>| {
            one.map_or_else(|e| kind(&e), |_| "ok".into())
        };
        format!("{}, {}", kind(of_payload), kind(of_header))
    })
}

fn admin() -> Caller {
    Caller::new("ada").role("admin")
}

/// A list over HTTP has a cursor; here it is asked for without HTTP.
fn of_cursors() -> Reader {
    let system = System::read(include_str!("../../systems/participation.md")).unwrap();
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store = Arc::new(Store::in_memory(&Options::default()).unwrap());
    let runtime = executor
        .block_on(Runtime::start(system, store, latchkey_runtime::Options::default()))
        .unwrap();
    let ask = move |call: Call| executor.block_on(runtime.call(call));
    for n in 0..3 {
        let made = Call::new("AD-04", admin()).input("eventId", format!("e{n}").as_str());
        let made = made
            .input("title", "E")
            .input("mode", "LOTTERY")
            .json("winRate", latchkey_table::Value::from(0));
        assert_eq!(ask(made).status(), 201);
    }
    let list = move |cursor: Option<&str>| {
        let call = Call::new("AD-07", admin()).input("limit", "1");
        ask(cursor.iter().fold(call, |call, cursor| call.input("nextCursor", *cursor)))
    };
    let first = list(None).body().to_string();
    let good =
        first.split("nextCursor\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let good = good.to_owned();
    let corpus = format!("{good}\n{}", include_str!("corpus/cursor.txt"));
    reader("cursor", &corpus, move |bytes| {
        let outcome = list(Some(&text(bytes)));
        assert!([200, 400].contains(&outcome.status()), "{}", outcome.body());
        assert!(outcome.status() != 200 || text(bytes) == *good, "a cursor that nobody gave");
        outcome.status().to_string()
    })
}

/// The text of a document whose contract block has one line in the place of several.
fn document(line: &[u8]) -> String {
    format!("# D\n\n```contract\n{}\n```\n", text(line).replace(';', "\n"))
}

fn of_documents() -> Reader {
    reader("document", include_str!("corpus/document.txt"), |bytes| {
        let text = document(bytes);
        let parsed = parse(&text);
        for one in &parsed.diagnostics {
            assert!(text.get(one.span.range()).is_some(), "{one:?}");
        }
        parsed.diagnostics.first().map_or_else(|| "parsed".to_owned(), |one| kind(&one.message))
    })
}

fn of_checks() -> Reader {
    reader("check", include_str!("corpus/document.txt"), |bytes| {
        let text = document(bytes);
        let checked = latchkey_model::check(&text);
        for one in &checked.diagnostics {
            assert!(text.get(one.span.range()).is_some(), "{one:?}");
        }
        checked.diagnostics.first().map_or_else(|| "clean".to_owned(), |one| kind(&one.message))
    })
}
