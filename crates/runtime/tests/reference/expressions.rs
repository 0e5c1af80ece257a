//! Expressions: every operator, how tightly each binds, and arithmetic that never goes wrong unnoticed.

use latchkey_runtime::{Call, Caller};

use crate::support::{NOW, World, after, call, call_by};

/// An item with something of every type, and contracts that test it.
fn tests(tests: &[&str]) -> String {
    let mut text = String::from(
        r#"
entity Sample "SAMPLE" {
  PK = "SAMPLE#{sampleId}"
  SK = "META"
  sampleId id, one int = 1, two int = 2, half number = 0.5, name text(20) = "abcabc"
  flag bool = true, off bool = false, at time, state NEW | OPEN | DONE = OPEN
  tags list?, more map(99, 3)?, none int?, some int?

  state moves {
    NEW  -> OPEN
    OPEN -> DONE, NEW
  }
}
contract MAKE "Make" {
  POST /samples
  input sampleId id, some int?, tags list?, more map(99, 3)?
  allow true
  sample = put Sample { sampleId, at = now, some, tags, more } if absent else 409 there
  return 201 sample
  facts
}
"#,
    );
    // `or sample.off`, which is false: the check refuses a test that can never hold.
    for (at, test) in tests.iter().enumerate() {
        text.push_str(&format!(
            "contract T-{at} \"Test\" {{\n  GET /t-{at}/{{sampleId}}\n  \
             sample = get Sample strong else 404 not-found\n  allow true\n  \
             require ({test}) or sample.off else 409 does-not-hold\n  return sample {{ sampleId }}\n  facts\n}}\n"
        ));
    }
    text
}

/// Every test with how it should come out.
async fn come_out(cases: &[(&str, bool)]) {
    let world = World::start(&tests(&cases.iter().map(|case| case.0).collect::<Vec<_>>())).await;
    let made = r#"{"sampleId": "s", "some": 5, "tags": [1, "a"], "more": {"a": {"b": 1}}}"#;
    world.ok("MAKE", made).await;
    for (at, (test, expected)) in cases.iter().enumerate() {
        let told = world.call(&format!("T-{at}"), r#"{"sampleId": "s"}"#).await;
        let status = if *expected { 200 } else { 409 };
        assert_eq!(told.status(), status, "{test}: {}", told.body());
    }
}

// From the loosest to the tightest: `or`, `and`, `not`, tests, `+` and `-`; `( … )` groups.
#[tokio::test]
async fn operators_bind_as_the_table_says() {
    let cases = [
        ("true or true and false", true),
        ("(true or true) and false", false),
        ("false and true or true", true),
        ("not false and false", false),
        ("not (false and false)", true),
        ("not true or true", true),
        ("not not true", true),
        ("not sample.one == sample.two", true),
        ("not sample.flag and sample.flag", false),
        ("5 - 2 - 1 == 2", true),
        ("5 - (2 - 1) == 4", true),
        ("1 + 2 == 4 - 1", true),
        ("sample.one + 1 == sample.two and sample.two - 1 == sample.one", true),
        ("sample.two between 1 and 2 and true", true),
        ("sample.two between 1 and 1 + 1", true),
        ("sample.one in (2, 1) or false", true),
        ("not sample.one in (2, 3)", true),
        ("sample.name begins_with \"abc\" and sample.flag", true),
        ("sample.flag", true),
        ("sample.off", false),
        ("not sample.off", true),
        ("(1 < 2) and (2 < 3)", true),
    ];
    come_out(&cases).await;
}

#[tokio::test]
async fn comparisons_compare() {
    let mut cases: Vec<(String, bool)> = Vec::new();
    let later = "sample.at + 1ms";
    let pairs = [
        ("sample.one", "sample.two"),
        ("sample.half", "sample.one"),
        ("-1", "0"),
        ("9", "10"),
        ("0.09", "0.1"),
        ("sample.at", later),
        ("sample.name", "\"abcabd\""),
        ("\"Z\"", "\"a\""),
        ("\"a\"", "\"ab\""),
        ("59s", "1m"),
    ];
    for (low, high) in pairs {
        for (a, b, order) in [(low, high, -1), (low, low, 0), (high, low, 1)] {
            let outcomes = [
                ("==", order == 0),
                ("!=", order != 0),
                ("<", order < 0),
                ("<=", order <= 0),
                (">", order > 0),
                (">=", order >= 0),
            ];
            cases.extend(outcomes.map(|(sign, holds)| (format!("{a} {sign} {b}"), holds)));
        }
    }
    let cases: Vec<(&str, bool)> = cases.iter().map(|(test, out)| (test.as_str(), *out)).collect();
    come_out(&cases).await;
}

// Both ends of `between` are included; `in (a, b)`; `begins_with`; a word takes its enum from the other side.
#[tokio::test]
async fn the_other_tests_test() {
    let cases = [
        ("sample.two between 2 and 3", true),
        ("sample.two between 1 and 2", true),
        ("sample.two between 3 and 9", false),
        ("sample.two between 3 and 1", false),
        ("sample.half between 0.49 and 0.51", true),
        ("sample.name between \"abc\" and \"abd\"", true),
        ("sample.at between now - 1s and now + 1s", true),
        ("sample.at between now and now", true),
        ("sample.at between now + 1ms and now + 2ms", false),
        ("sample.two in (2)", true),
        ("sample.two in (1, 3)", false),
        ("sample.name in (\"x\", \"abcabc\")", true),
        ("sample.state in (NEW, OPEN)", true),
        ("sample.state in (NEW, DONE)", false),
        ("sample.state == OPEN", true),
        ("OPEN == sample.state", true),
        ("sample.state != OPEN", false),
        ("sample.name begins_with \"\"", true),
        ("sample.name begins_with \"abcabc\"", true),
        ("sample.name begins_with \"abcabca\"", false),
        ("sample.name begins_with \"ABC\"", false),
        ("sample.name == \"abc\"", false),
        ("sample.one == 1.0", true),
        ("sample.half == 0.50", true),
        ("sample.name == \"{sample.name}\"", true),
    ];
    come_out(&cases).await;
}

// A text of the document can be what lies between.
#[tokio::test]
async fn a_text_of_the_document_lies_between_others() {
    let cases = [
        ("\"abd\" between sample.name and \"b\"", true),
        ("\"b\" between \"c\" and sample.name", false),
        ("\"abcabc\" in (\"x\", sample.name)", true),
    ];
    come_out(&cases).await;
}

// `x moves to y`: the move is declared.
#[tokio::test]
async fn moves_to_is_what_is_declared() {
    let cases = [
        ("sample.state moves to DONE", true),
        ("sample.state moves to NEW", true),
        ("sample.state moves to OPEN", false),
        ("not sample.state moves to OPEN", true),
    ];
    come_out(&cases).await;
    let text = r#"
entity Lamp "LAMP" {
  PK = "LAMP#{lampId}"
  SK = "META"
  lampId id, state OFF | DIM | ON | DEAD

  state moves {
    OFF -> DIM, ON
    DIM -> OFF, ON
    ON  -> OFF, DEAD
  }
}
contract MAKE "Make" {
  POST /lamps/{lampId}
  input state Lamp.state
  allow true
  lamp = put Lamp { lampId, state } if absent else 409 there
  return lamp
  facts
}
contract MAY "May it" {
  GET /lamps/{lampId}
  input next Lamp.state
  allow true
  lamp = get Lamp strong else 404 not-found
  require lamp.state moves to next else 409 illegal
  return lamp
  facts
}
"#;
    let world = World::start(text).await;
    let declared = [
        ("OFF", "DIM"),
        ("OFF", "ON"),
        ("DIM", "OFF"),
        ("DIM", "ON"),
        ("ON", "OFF"),
        ("ON", "DEAD"),
    ];
    for from in ["OFF", "DIM", "ON", "DEAD"] {
        world.ok("MAKE", &format!(r#"{{"lampId": "{from}", "state": "{from}"}}"#)).await;
        for to in ["OFF", "DIM", "ON", "DEAD"] {
            let told =
                world.call("MAY", &format!(r#"{{"lampId": "{from}", "next": "{to}"}}"#)).await;
            let status = if declared.contains(&(from, to)) { 200 } else { 409 };
            assert_eq!(told.status(), status, "{from} to {to}");
        }
    }
}

// Numbers are exact; a time and a duration make a time, two times a duration.
#[tokio::test]
async fn sums_are_exact() {
    let cases = [
        ("0.1 + 0.2 == 0.3", true),
        ("sample.half + sample.half == sample.one", true),
        ("1 - 3 == -2", true),
        ("sample.at == now", true),
        ("sample.at + 1s == now + 1000ms", true),
        ("now + 1m == now + 60s", true),
        ("now + 1h == now + 60m", true),
        ("now + 1d == now + 24h", true),
        ("now - 1d + 1d == now", true),
        ("now - (now - 30s) == 30s", true),
        ("(now - 5m) - now < 1ms", true),
        ("now - sample.at < 1ms", true),
        ("now + 1ms - sample.at > 0ms", true),
    ];
    come_out(&cases).await;
}

const SUMS: &str = r#"
entity Page "PAGE" {
  PK = "PAGE#{pageId}"
  SK = "META"
  pageId id
}
contract ADD "Add" {
  POST /add/{pageId}
  input a number, b number
  allow true
  page = put Page { pageId } replace
  return page with { sum = a + b, rest = a - b }
  facts
}
contract WHOLE "Add whole numbers" {
  POST /whole/{pageId}
  input a int, b int
  allow true
  page = put Page { pageId } replace
  return page with { sum = a + b, rest = a - b }
  facts
}
entity Score "SCORE" {
  PK = "SCORE#{scoreId}"
  SK = "META"
  scoreId id, top number, version counter
}
contract SCORE "Begin" {
  PUT /scores/{scoreId}
  input top number
  allow true
  waive missing-bump "it begins anew"
  score = put Score { scoreId, top } replace
  return score
  facts
}
contract RAISE "Add to what is stored" {
  POST /scores/{scoreId}/raise
  input by number
  allow true
  score = update Score set top = .top + by, version = .version + 1 else 404 not-found
  return score
  facts
}
contract RAISE-READ "Add to what was read" {
  POST /scores/{scoreId}/raise-read
  input by number
  allow true
  score = get Score strong else 404 not-found
  raised = update score set top = .top + by, version = .version + 1 if unchanged else retry
  return raised
  facts
}
contract LATER "Some time later" {
  POST /later/{pageId}
  input at time
  allow true
  page = put Page { pageId } replace
  return page with { next = at + 1d, before = at - 1d }
  facts
}
contract NEVER "Longer than there is time" {
  POST /never/{pageId}
  input at time
  allow true
  page = put Page { pageId } replace
  return page with { never = at + 213503982334d, before = at - 213503982334d }
  facts
}
contract APART "How far apart" {
  POST /apart/{pageId}
  input at time, other time
  allow true
  page = put Page { pageId } replace
  return page with { far = at - other > 1d, exactly = at - other == 30s }
  facts
}
"#;

// An exact decimal of up to 38 digits, never rounded; what does not fit is a 400, never a panic.
#[tokio::test]
async fn a_sum_that_does_not_fit_is_not_computable() {
    let world = World::start(SUMS).await;
    let most = "9".repeat(38);
    let exact = [
        (most.clone(), "1".to_owned(), "1".to_owned() + &"0".repeat(38)),
        ("0.1".to_owned(), "0.2".to_owned(), "0.3".to_owned()),
        (format!("{}7", "1".repeat(37)), "2".to_owned(), format!("{}9", "1".repeat(37))),
        ("-5".to_owned(), "5".to_owned(), "0".to_owned()),
    ];
    for (a, b, sum) in exact {
        let told = world.call("ADD", &format!(r#"{{"pageId": "p", "a": {a}, "b": {b}}}"#)).await;
        let body = told.body();
        assert!(body.contains(&format!(r#""sum":{sum},"#)), "{a} + {b} is {sum}: {body}");
    }
    let beyond = [
        (most.clone(), "0.1"),
        (format!("1{}", "0".repeat(37)), "1e-10"),
        ("9.9e125".to_owned(), "9.9e125"),
        ("1e125".to_owned(), "1"),
        ("-9.9e125".to_owned(), "-9.9e125"),
    ];
    for (a, b) in beyond {
        let told = world.call("ADD", &format!(r#"{{"pageId": "p", "a": {a}, "b": {b}}}"#)).await;
        assert_eq!(told.told(), (400, "not-computable".to_owned()), "{a} + {b}");
    }
    // The store computes it, alone or in a transaction: it was `invalid-input` with no `errors`.
    for (a, b) in [(most.as_str(), "0.1"), ("9.9e125", "9.9e125"), ("1e-130", "-1.0000001e-130")] {
        world.ok("SCORE", &format!(r#"{{"scoreId": "s", "top": {a}}}"#)).await;
        for contract in ["RAISE", "RAISE-READ"] {
            let inputs = format!(r#"{{"scoreId": "s", "by": {b}}}"#);
            let mut named = call(contract, &inputs);
            named.idempotency_key = Some("k".into());
            for one in [call(contract, &inputs), named] {
                let told = world.made(one).await;
                assert_eq!(told.told(), (400, "not-computable".to_owned()), "{contract} {a} {b}");
            }
        }
    }
    let (least, greatest) = (i64::MIN, i64::MAX);
    let inputs = format!(r#"{{"pageId": "p", "a": {greatest}, "b": {least}}}"#);
    let told = world.call("WHOLE", &inputs).await;
    assert!(told.body().contains(r#""sum":-1,"rest":18446744073709551615"#), "{}", told.body());
}

#[tokio::test]
async fn there_is_no_time_before_the_first_or_after_the_last() {
    let world = World::start(SUMS).await;
    let told = world.ok("LATER", r#"{"pageId": "p", "at": "2024-02-28T12:00:00Z"}"#).await;
    assert_eq!(told["next"], "2024-02-29T12:00:00.000Z");
    assert_eq!(told["before"], "2024-02-27T12:00:00.000Z");
    for at in ["9999-12-31T00:00:00.000Z", "0000-01-01T23:59:59.999Z"] {
        let told = world.call("LATER", &format!(r#"{{"pageId": "p", "at": "{at}"}}"#)).await;
        assert_eq!(told.told(), (400, "not-computable".to_owned()), "{at}");
        let told = world.call("NEVER", &format!(r#"{{"pageId": "p", "at": "{at}"}}"#)).await;
        assert_eq!(told.told(), (400, "not-computable".to_owned()), "{at}");
    }
    let inputs =
        format!(r#"{{"pageId": "p", "at": "{}", "other": "{}"}}"#, after(30_000), after(0));
    let told = world.ok("APART", &inputs).await;
    assert_eq!((&told["far"], &told["exactly"]), (&false.into(), &true.into()));
    let ends =
        r#"{"pageId": "p", "at": "9999-12-31T23:59:59.999Z", "other": "0000-01-01T00:00:00Z"}"#;
    assert_eq!(world.ok("APART", ends).await["far"], true);
}

const DOORS: &str = r#"
entity Safe "SAFE" {
  PK = "SAFE#{safeId}"
  SK = "META"
  safeId id, ownerId id
}
contract MAKE "Make" {
  POST /safes/{safeId}
  input ownerId id
  allow true
  safe = put Safe { safeId, ownerId } replace
  return safe
  facts
}
contract OWN "Own" {
  GET /own/{safeId}
  safe = get Safe strong else 404 not-found
  allow caller owns safe.ownerId
  return safe
  facts
}
contract READ "Read" {
  GET /read/{safeId}
  safe = get Safe strong else 404 not-found
  allow caller is reader
  return safe
  facts
}
contract CLERK "Clerk" {
  GET /clerk/{safeId}
  safe = get Safe strong else 404 not-found
  allow caller is clerk
  return safe
  facts
}
contract CHIEF "Chief" {
  GET /chief/{safeId}
  safe = get Safe strong else 404 not-found
  allow caller is chief and not caller owns safe.ownerId
  return safe
  facts
}
contract WHO "Who asks" {
  GET /who/{safeId}
  safe = get Safe strong else 404 not-found
  allow true
  return safe { safeId } with { who = caller.id }
  facts
}
"#;

// `caller owns x`: the caller's id, or one of its organisations, is `x`. A role has the rights of what it implies.
#[tokio::test]
async fn owners_and_roles_are_let_in() {
    let world = World::start(DOORS).await;
    world.ok("MAKE", r#"{"safeId": "s", "ownerId": "acme"}"#).await;
    let allowed = async |contract: &str, caller: Caller| {
        let told = world.made(call_by(caller.clone(), contract, r#"{"safeId": "s"}"#)).await;
        assert!([200, 403].contains(&told.status()), "{contract}: {}", told.body());
        assert!(told.status() == 200 || told.problem().code == "forbidden");
        told.status() == 200
    };
    let someone = || Caller::new("bob");
    assert!(allowed("OWN", Caller::new("acme")).await);
    assert!(allowed("OWN", someone().org("other").org("acme")).await);
    assert!(!allowed("OWN", someone()).await);
    assert!(!allowed("OWN", someone().role("acme")).await, "a role is no organisation");
    assert!(!allowed("OWN", Caller::new("ACME").org("acm")).await);
    for (role, rights) in [
        ("reader", [true, false, false]),
        ("clerk", [true, true, false]),
        ("chief", [true, true, true]),
        ("cook", [false, false, false]),
    ] {
        for (contract, right) in ["READ", "CLERK", "CHIEF"].into_iter().zip(rights) {
            let may = allowed(contract, someone().role("nobody").role(role)).await;
            assert_eq!(may, right, "{role} at {contract}");
        }
    }
    assert!(!allowed("CHIEF", someone().role("chief").org("acme")).await);
    let told = world.made(call_by(someone(), "WHO", r#"{"safeId": "s"}"#)).await;
    assert_eq!(told.member("who"), "bob");
}

// A contract that is not there is a 404; nothing is asked of the table.
#[tokio::test]
async fn there_is_no_such_contract() {
    let world = World::start(DOORS).await;
    let told = world.made(Call::new("NOPE", Caller::new("bob"))).await;
    assert_eq!(told.told(), (404, "not-found".to_owned()));
    assert_eq!(told.0.contract, None);
}

// `now`: one instant a call, `Call.at` or the clock's.
#[tokio::test]
async fn now_is_one_instant() {
    let world = World::start(SUMS).await;
    let mut early =
        crate::support::call("LATER", r#"{"pageId": "p", "at": "2026-01-01T00:00:00Z"}"#);
    early.at = Some(NOW + 1);
    assert_eq!(world.made(early).await.status(), 200);
    let cases = ["now == now", "sample.at == now"];
    let world = World::start(&tests(&cases)).await;
    world.ok("MAKE", r#"{"sampleId": "s"}"#).await;
    for (contract, at, status) in [("T-0", NOW + 1, 200), ("T-1", NOW, 200), ("T-1", NOW + 1, 409)]
    {
        let mut call = crate::support::call(contract, r#"{"sampleId": "s"}"#);
        call.at = Some(at);
        assert_eq!(world.made(call).await.status(), status, "{contract} at {at}");
    }
}
