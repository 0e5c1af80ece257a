//! Inputs: every type, from text and from JSON; all that is wrong at once; defaults.

use latchkey_runtime::{Call, Caller, RawInput};
use latchkey_table::{Text, Value};

use crate::support::{NOW, Still, World, after, call, written};

/// A world whose one contract stores what it is given as `x`, of a type, and shows it.
async fn echo(kind: &str) -> World {
    World::start(&format!(
        r#"
entity Echo "ECHO" {{
  PK = "ECHO#{{echoId}}"
  SK = "META"
  echoId id, x {kind} ?
}}
contract ECHO "Echo" {{
  PUT /echoes/{{echoId}}
  input x {kind}
  allow true
  echo = put Echo {{ echoId, x }} replace
  return echo {{ x }}
  facts
}}
contract PERHAPS "Echo what may be absent" {{
  POST /echoes/{{echoId}}
  input x {kind} ?
  allow true
  echo = put Echo {{ echoId, x }} replace
  return echo {{ x }}
  facts
}}
"#
    ))
    .await
}

/// What a type makes of a value: the member as it is answered, or nothing where it is refused.
async fn made(world: &World, given: RawInput) -> Option<String> {
    let mut call = Call::new("ECHO", Caller::new("alice")).input("echoId", "e");
    call.inputs.push((Text::from("x"), given.clone()));
    let told = world.made(call).await;
    if told.status() == 200 {
        let body = told.body();
        return Some(body.strip_prefix("{\"x\":").unwrap().strip_suffix('}').unwrap().to_owned());
    }
    assert_eq!(told.told(), (400, "invalid-input".to_owned()), "{given:?}");
    let errors = &told.problem().errors;
    let pointers: Vec<&str> = errors.iter().map(|error| error.pointer.as_str()).collect();
    assert_eq!(pointers, ["/x"], "{given:?}");
    None
}

fn json(text: &str) -> RawInput {
    let read = latchkey_value::json::read(text.as_bytes(), Default::default());
    RawInput::Json(read.unwrap_or_else(|error| panic!("{text}: {error:?}")))
}

fn text(text: &str) -> RawInput {
    RawInput::Text(text.into())
}

/// RawInput values of a type, as JSON, and what becomes of them.
async fn holds(kind: &str, cases: &[(&str, Option<&str>)]) {
    let world = echo(kind).await;
    for (given, expected) in cases {
        assert_eq!(made(&world, json(given)).await.as_deref(), *expected, "{kind}: {given}");
    }
}

/// The same, as text.
async fn reads(kind: &str, cases: &[(&str, Option<&str>)]) {
    let world = echo(kind).await;
    for (given, expected) in cases {
        assert_eq!(made(&world, text(given)).await.as_deref(), *expected, "{kind}: text {given}");
    }
}

/// An input that is answered as it was given.
fn same(given: &str) -> (&str, Option<&str>) {
    (given, Some(given))
}

// `id`: 1 to 128 of `A-Z a-z 0-9 . _ : @ | -`; never `#`.
#[tokio::test]
async fn an_id_is_of_its_letters() {
    let long = format!("\"{}\"", "i".repeat(128));
    let longer = format!("\"{}\"", "i".repeat(129));
    let cases = [
        same("\"a\""),
        same("\"A-Z.a_z:0@9|-\""),
        same(&long),
        (&longer, None),
        ("\"\"", None),
        ("\"a#b\"", None),
        ("\"a b\"", None),
        ("\"a/b\"", None),
        ("\"\u{e4}\"", None),
        ("5", None),
        ("true", None),
        ("null", None),
        ("[\"a\"]", None),
    ];
    holds("id", &cases).await;
    reads("id", &[("7", Some("\"7\"")), ("a#b", None), ("", None)]).await;
}

// `ulid`: 26 letters and digits that sort by the time they were made.
#[tokio::test]
async fn a_ulid_has_26_letters() {
    let cases = [
        same("\"01ARZ3NDEKTSV4RRFFQ69G5FAV\""),
        same("\"7ZZZZZZZZZZZZZZZZZZZZZZZZZ\""),
        // It would be of 130 bits.
        ("\"8ZZZZZZZZZZZZZZZZZZZZZZZZZ\"", None),
        ("\"01ARZ3NDEKTSV4RRFFQ69G5FA\"", None),
        ("\"01ARZ3NDEKTSV4RRFFQ69G5FAVX\"", None),
        ("\"01ARZ3NDEKTSV4RRFFQ69G5FAI\"", None),
        ("\"01ARZ3NDEKTSV4RRFFQ69G5FA#\"", None),
        ("26", None),
        ("null", None),
    ];
    holds("ulid", &cases).await;
}

// `text(80)`: text of at most so many bytes; `like "…"` is a regular expression for the whole of it.
#[tokio::test]
async fn a_text_has_a_most_of_bytes_and_a_pattern_for_the_whole() {
    let cases = [
        same("\"\""),
        same("\"abcde\""),
        same("\"h\u{e9}\u{e9}\""),
        ("\"abcdef\"", None),
        ("\"h\u{e9}\u{e9}\u{e9}\"", None),
        ("5", None),
        ("null", None),
        ("{}", None),
    ];
    holds("text(5)", &cases).await;
    let either = [
        same("\"a\""),
        same("\"b\""),
        ("\"ab\"", None),
        ("\"xa\"", None),
        ("\"a\\n\"", None),
        ("\"\"", None),
    ];
    holds("text(9) like \"a|b\"", &either).await;
    let counted = [same("\"abc-9\""), ("\"ab\"", None), ("\"abcdefg\"", None), ("\"ABC\"", None)];
    holds("text(99) like \"[a-z0-9-]{3,6}\"", &counted).await;
}

// `int`: a whole number; bounds `0..`, `..10`, `1..10`, both ends included.
#[tokio::test]
async fn an_int_is_whole_and_within_its_bounds() {
    let cases = [
        same("0"),
        same("-1"),
        same("9223372036854775807"),
        same("-9223372036854775808"),
        ("1.0", Some("1")),
        ("1e2", Some("100")),
        ("1.5", None),
        ("\"1\"", None),
        ("true", None),
        ("null", None),
    ];
    holds("int", &cases).await;
    holds("int 1..10", &[same("1"), same("10"), ("0", None), ("11", None)]).await;
    holds("int 0..", &[same("0"), same("9223372036854775807"), ("-1", None)]).await;
    holds("int ..10", &[same("10"), same("-99"), ("11", None)]).await;
    reads("int", &[same("12"), same("-3"), ("1.5", None), ("", None), ("x", None), ("1x", None)])
        .await;
}

// `number`: an exact decimal of up to 38 digits, never rounded; bounds as above.
#[tokio::test]
async fn a_number_is_exact() {
    let cases = [
        same("0.1"),
        same("-12.5"),
        same("12345678901234567890123456789012345678"),
        same("0.12345678901234567890123456789012345678"),
        ("\"1\"", None),
        ("false", None),
        ("null", None),
    ];
    holds("number", &cases).await;
    reads("number", &[("2.50", Some("2.5")), ("NaN", None), ("0x1", None)]).await;
    // One digit more than a number has.
    reads("number", &[("123456789012345678901234567890123456789", None)]).await;
    reads("number", &[("1e126", None), ("1e-131", None)]).await;
    let edges = [same("-90"), same("90"), ("90.00000000000000000001", None), ("-90.1", None)];
    holds("number -90..90", &edges).await;
    holds("number 0.5..", &[same("0.5"), ("0.4999999999999999999999", None)]).await;
}

// `bool`: `true` or `false`. `A | B`: one of these words.
#[tokio::test]
async fn a_bool_and_an_enum_are_of_their_words() {
    let none = ["1", "0", "\"true\"", "null", "\"yes\""].map(|given| (given, None));
    holds("bool", &[same("true"), same("false")]).await;
    holds("bool", &none).await;
    reads("bool", &[same("true"), same("false"), ("True", None), ("1", None), ("", None)]).await;
    let cases = [same("\"RED\""), same("\"BLUE\""), ("\"red\"", None), ("\"GREEN\"", None)];
    holds("RED | BLUE", &cases).await;
    holds("RED | BLUE", &[("\"RED | BLUE\"", None), ("1", None), ("null", None)]).await;
    reads("RED | BLUE", &[("RED", Some("\"RED\"")), ("", None)]).await;
}

// `time`: an instant in UTC, to the millisecond, of fixed width; finer input is cut.
#[tokio::test]
async fn a_time_is_brought_to_its_one_form() {
    let cases = [
        same("\"2026-02-25T10:00:00.000Z\""),
        ("\"2026-02-25T10:00:00Z\"", Some("\"2026-02-25T10:00:00.000Z\"")),
        ("\"2026-02-25T10:00:00.1Z\"", Some("\"2026-02-25T10:00:00.100Z\"")),
        ("\"2026-02-25T10:00:00.1239999Z\"", Some("\"2026-02-25T10:00:00.123Z\"")),
        ("\"2026-02-25T10:00:00+01:30\"", Some("\"2026-02-25T08:30:00.000Z\"")),
        ("\"2024-02-29T23:30:00-01:00\"", Some("\"2024-03-01T00:30:00.000Z\"")),
        ("\"2026-02-29T10:00:00Z\"", None),
        ("\"2026-02-25\"", None),
        ("\"2026-02-25T10:00:00\"", None),
        ("\"2026-02-25 10:00:00Z\"", None),
        ("\"9999-12-31T23:59:59-01:00\"", None),
        ("1772013600000", None),
        ("null", None),
    ];
    holds("time", &cases).await;
    reads("time", &[("2026-02-25T10:00:00Z", Some("\"2026-02-25T10:00:00.000Z\""))]).await;
}

// `list`: a JSON array. `map(2048, 5)`: a JSON object of at most so many bytes and levels.
#[tokio::test]
async fn lists_and_maps_are_json_within_their_size() {
    let list = [same("[]"), same("[1,\"a\",{\"b\":null},[true]]"), ("{}", None), ("\"[]\"", None)];
    holds("list", &list).await;
    reads("list", &[same("[1,2]"), ("{}", None), ("[1", None), ("", None)]).await;
    // 20 bytes of JSON, and two levels: itself, and what is in it.
    let map = [
        same("{}"),
        same("{\"a\":{\"b\":1}}"),
        same("{\"a\":[1,2]}"),
        same("{\"a\":\"123456789012\"}"),
        ("{\"a\":\"1234567890123\"}", None),
        ("{\"a\":{\"b\":{}}}", None),
        ("{\"a\":[[1]]}", None),
        ("[]", None),
        ("null", None),
        ("5", None),
    ];
    holds("map(20, 2)", &map).await;
    reads("map(20, 2)", &[same("{\"a\":1}"), ("{a:1}", None), ("[]", None)]).await;
}

// What no table can hold is refused as the caller's mistake, however it is nested.
#[tokio::test]
async fn what_is_too_deep_or_too_large_to_store_is_a_400() {
    let world = echo("list").await;
    let mut deep = Value::List(Vec::new());
    for _ in 0..40 {
        deep = Value::List(vec![deep]);
    }
    let large = Value::List(vec![Value::from("x".repeat(500 * 1024).as_str())]);
    for value in [deep, large] {
        let call = Call::new("ECHO", Caller::new("alice")).input("echoId", "e").json("x", value);
        assert_eq!(world.made(call).await.told(), (400, "invalid-input".to_owned()));
    }
}

// What could not be decoded is told of its field; and a key is never given.
#[tokio::test]
async fn what_came_broken_is_told_of_its_field() {
    let world = echo("text(9)").await;
    assert_eq!(made(&world, RawInput::Undecodable).await, None);
    let mut call = Call::new("ECHO", Caller::new("alice")).input("echoId", "e").input("x", "a");
    call.inputs.push(("y".into(), RawInput::Misplaced("belongs in the body")));
    let told = world.made(call).await;
    assert_eq!(told.problem().errors[0].pointer, "/y");
    assert_eq!(told.problem().errors[0].detail, "belongs in the body");
}

// A `?` makes one optional: it may be left out, or be `null`.
#[tokio::test]
async fn what_is_optional_may_be_left_out_or_null() {
    for kind in ["id", "int 1..", "text(5)", "bool", "time", "list", "map(20, 2)", "A | B"] {
        let world = echo(kind).await;
        for inputs in [r#"{"echoId": "e"}"#, r#"{"echoId": "e", "x": null}"#] {
            let told = world.call("PERHAPS", inputs).await;
            assert_eq!((told.status(), told.body()), (200, "{}".to_owned()), "{kind} {inputs}");
        }
        assert_eq!(world.stored("ECHO#e", "META").unwrap().get("x"), None, "{kind}");
        let told = world.call("ECHO", r#"{"echoId": "e"}"#).await;
        assert_eq!(told.problem().errors[0].pointer, "/x", "{kind} is not optional");
    }
}

const MANY: &str = r#"
entity Form "FORM" {
  PK = "FORM#{formId}"
  SK = "META"
  formId id, age int 0..150, mail text(40)?, born time?
}
contract SEND "Send a form" {
  POST /forms/{formId}
  input age Form.age, mail text(40)?, born time?
  allow true
  form = put Form { formId, age, mail, born } replace
  return form
  facts
}
contract ASK "Ask for a form" {
  GET /forms/{formId}
  form = get Form else 404 not-found
  allow true
  return form
  facts
}
"#;

// 400 `invalid-input` lists each bad field; unknown fields are refused by name.
#[tokio::test]
async fn all_that_is_wrong_is_told_at_once() {
    let world = World::start(MANY).await;
    let inputs = r#"{"formId": "a#b", "mail": 5, "born": "soon", "a/b~c": 1, "height": 2}"#;
    let told = world.call("SEND", inputs).await;
    assert_eq!(told.told(), (400, "invalid-input".to_owned()));
    let mut wrong: Vec<&str> = told.problem().errors.iter().map(|e| e.pointer.as_str()).collect();
    wrong.sort_unstable();
    assert_eq!(wrong, ["/age", "/a~1b~0c", "/born", "/formId", "/height", "/mail"]);
    assert_eq!(world.all("").len(), 0, "nothing was written");
    assert_eq!(told.capacity(), "rcu=0, wcu=0", "and nothing asked");
}

#[tokio::test]
async fn a_field_given_twice_is_refused() {
    let world = World::start(MANY).await;
    let call = Call::new("ASK", Caller::new("alice")).input("formId", "a").input("formId", "a");
    let told = world.made(call).await;
    assert_eq!((told.status(), told.problem().errors.len()), (400, 1));
    // A list takes a page size and a cursor; what is none takes neither.
    for name in ["pageSize", "nextCursor"] {
        let call = Call::new("ASK", Caller::new("alice")).input("formId", "a").input(name, "5");
        let told = world.made(call).await;
        assert_eq!(told.problem().errors[0].pointer, format!("/{name}"));
    }
}

#[tokio::test]
async fn ever_so_many_wrong_fields_are_told_as_some() {
    let world = World::start(MANY).await;
    let mut call = call("SEND", r#"{"formId": "a", "age": 1}"#);
    for n in 0..10_000 {
        call.inputs.push((format!("x{n}").into(), RawInput::Json(Value::Null)));
    }
    let told = world.made(call).await;
    assert_eq!(told.status(), 400);
    assert!((1..=1_000).contains(&told.problem().errors.len()), "a bounded number of them");
}

// Their defaults may be any expression, `new ulid` and `now` among them.
#[tokio::test]
async fn a_default_is_any_expression() {
    let text = r#"
entity Visit "VISIT" {
  PK = "VISIT#{visitId}"
  SK = "META"
  visitId id, at time, till time, who id, count int, twice int, mood GOOD | BAD
}
contract COME "Come" {
  POST /visits
  input visitId id = new ulid, at time = now, till time = at + 1h, who id = caller.id
  input count int = 3, twice int = count + count, mood GOOD | BAD = BAD
  allow true
  visit = put Visit { visitId, at, till, who, count, twice, mood } if absent else 409 there
  return 201 visit
  facts
}
"#;
    let world = World::with(text, std::sync::Arc::new(Still(7))).await;
    let told = world.ok("COME", "{}").await;
    let ulid: ulid::Ulid = told["visitId"].as_str().unwrap().parse().unwrap();
    assert_eq!(i64::try_from(ulid.timestamp_ms()).unwrap(), NOW, "a ULID tells when it was made");
    assert_eq!(told["at"], after(0));
    assert_eq!(told["till"], after(3_600_000));
    assert_eq!(told["who"], "alice");
    assert_eq!((&told["count"], &told["twice"]), (&3.into(), &6.into()));
    assert_eq!(told["mood"], "BAD");
    let given = r#"{"visitId": "v", "at": "2030-01-01T00:00:00Z", "count": 5, "mood": "GOOD"}"#;
    let told = world.ok("COME", given).await;
    assert_eq!(told["visitId"], "v");
    assert_eq!(told["till"], "2030-01-01T01:00:00.000Z", "by what was given");
    assert_eq!((&told["count"], &told["twice"]), (&5.into(), &10.into()));
    assert_eq!(told["mood"], "GOOD");
    let told = world.call("COME", r#"{"count": null}"#).await;
    assert_eq!(told.status(), 400, "what has a default is never absent");
    // There is no such instant.
    let told = world.call("COME", r#"{"at": "9999-12-31T23:30:00Z"}"#).await;
    assert_eq!(told.told(), (400, "not-computable".to_owned()));
}

// The types of attributes can be named: `Parcel.state` is whatever type that attribute has.
#[tokio::test]
async fn a_type_can_be_that_of_an_attribute() {
    let world = World::start(MANY).await;
    assert_eq!(world.call("SEND", r#"{"formId": "a", "age": 151}"#).await.status(), 400);
    assert_eq!(world.call("SEND", r#"{"formId": "a", "age": 150}"#).await.status(), 200);
    let item = world.stored("FORM#a", "META").unwrap();
    assert_eq!(item.get("age").map(written).as_deref(), Some("150"));
}
