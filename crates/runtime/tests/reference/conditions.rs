//! Conditions: what mentions a stored attribute is asked of the table, the rest is decided before.

use latchkey_table::{Condition, Request};

use crate::support::{World, call};

/// A thing with something of each kind, and one update with a condition for each test.
fn things(tests: &[&str]) -> String {
    let mut text = String::from(
        r#"
entity Thing "THING" {
  PK = "THING#{thingId}"
  SK = "META"
  thingId id, n int = 5, m int = 7, rate number = 2.5, name text(20) = "abc", hint text(20)?
  flag bool = true, off bool = false, state NEW | OPEN = NEW, at time, touched int = 0, gone int?
}
contract MAKE "Make" {
  PUT /things/{thingId}
  input hint text(20)?
  allow true
  thing = put Thing { thingId, at = now, hint } replace
  return thing
  facts
}
"#,
    );
    for (at, test) in tests.iter().enumerate() {
        text.push_str(&format!(
            "contract T-{at} \"Test\" {{\n  POST /t-{at}/{{thingId}}\n  input x int = 5, yes bool = true\n  \
             allow yes or x == 0 or true\n  thing = update Thing set touched = x if {test} else 409 refused\n  \
             return thing\n  facts\n}}\n"
        ));
    }
    text
}

async fn come_out(cases: &[(&str, bool)]) {
    let world = World::start(&things(&cases.iter().map(|case| case.0).collect::<Vec<_>>())).await;
    for (at, (test, expected)) in cases.iter().enumerate() {
        world.ok("MAKE", r#"{"thingId": "t"}"#).await;
        let told = world.call(&format!("T-{at}"), r#"{"thingId": "t"}"#).await;
        let status = if *expected { 200 } else { 409 };
        assert_eq!(told.status(), status, "{test}: {}", told.body());
        let touched = world.attribute("THING#t", "META", "touched");
        assert_eq!(touched.as_deref(), Some(if *expected { "5" } else { "0" }), "{test}");
        // What is not there fulfils no condition of an update.
        let told = world.call(&format!("T-{at}"), r#"{"thingId": "none"}"#).await;
        assert_eq!(told.status(), 409, "{test} of nothing");
    }
}

#[tokio::test]
async fn every_comparison_is_asked() {
    let mut cases: Vec<(String, bool)> = Vec::new();
    for (a, b, order) in [
        (".n", "4", 1),
        (".n", "5", 0),
        (".n", "6", -1),
        (".n", ".m", -1),
        ("6", ".n", 1),
        ("x", ".n", 0),
        (".n", "x + 1", -1),
        (".rate", "2.50", 0),
        (".rate", "2.499", 1),
        (".name", "\"abd\"", -1),
        (".name", "\"abc\"", 0),
        (".at", "now", 0),
        (".at", "now + 1ms", -1),
        ("now", ".at", 0),
    ] {
        for (sign, holds) in [
            ("==", order == 0),
            ("!=", order != 0),
            ("<", order < 0),
            ("<=", order <= 0),
            (">", order > 0),
            (">=", order >= 0),
        ] {
            cases.push((format!("{a} {sign} {b}"), holds));
        }
    }
    let cases: Vec<(&str, bool)> = cases.iter().map(|(test, out)| (test.as_str(), *out)).collect();
    come_out(&cases).await;
}

#[tokio::test]
async fn every_other_test_is_asked() {
    let cases = [
        (".n in (1, 5)", true),
        (".n in (1, x)", true),
        (".n in (1, 2)", false),
        ("x in (.m, .n)", true),
        ("4 in (.m, .n)", false),
        (".state in (OPEN)", false),
        (".state in (OPEN, NEW)", true),
        (".state == NEW", true),
        ("OPEN == .state", false),
        (".name in (\"x\", \"abc\")", true),
        (".n between 5 and 6", true),
        (".n between 4 and 5", true),
        (".n between 6 and 9", false),
        (".n between 9 and 1", false),
        (".n between x and .m", true),
        ("6 between .n and .m", true),
        ("8 between .n and .m", false),
        (".at between now - 1s and now", true),
        (".name begins_with \"ab\"", true),
        (".name begins_with \"b\"", false),
        (".name begins_with \"\"", true),
        (".hint is present", false),
        (".hint is absent", true),
        (".n is present", true),
        (".n is absent", false),
        (".flag", true),
        (".off", false),
        ("not .flag", false),
        ("not .off", true),
        (".flag == true", true),
        (".off == false", true),
        (".flag == .off", false),
    ];
    come_out(&cases).await;
}

// A text can begin with what is stored, too.
#[tokio::test]
async fn what_is_stored_can_be_the_beginning() {
    let cases = [
        ("\"abcdef\" begins_with .name", true),
        ("\"ab\" begins_with .name", false),
        ("\"false\" begins_with .name", false),
    ];
    for case in cases {
        // Refused by the check or evaluated as it reads; nothing between.
        if !crate::support::refused(&things(&[case.0])) {
            come_out(&[case]).await;
        }
    }
}

// What was never there compares with nothing.
#[tokio::test]
async fn what_is_absent_compares_with_nothing() {
    let cases = [
        (".gone == 5", false),
        (".gone < 5", false),
        (".gone >= 5", false),
        (".gone in (5)", false),
        (".gone between 0 and 9", false),
        (".hint begins_with \"\"", false),
        (".gone is present and .gone < 5", false),
        (".gone is absent or .gone < 5", true),
    ];
    come_out(&cases).await;
}

// `and`, `or` and `not`, and what is not stored folds to true or false.
#[tokio::test]
async fn mixtures_fold() {
    let parts = [
        (".n == 5", true),
        (".n == 6", false),
        ("x == 5", true),
        ("x == 6", false),
        ("yes", true),
        ("caller is chief", false),
    ];
    let mut cases: Vec<(String, bool)> = Vec::new();
    for (a, left) in parts {
        cases.push((format!("not {a}"), !left));
        cases.push((format!("not not ({a})"), left));
        for (b, right) in parts {
            cases.push((format!("{a} and {b}"), left && right));
            cases.push((format!("{a} or {b}"), left || right));
            cases.push((format!("not ({a} and {b})"), !(left && right)));
            cases.push((format!("not ({a} or {b}) or .off"), !(left || right)));
            cases.push((format!("{a} and .m == 7 and {b}"), left && right));
            cases.push((format!("{a} or .m == 8 or {b}"), left || right));
            cases.push((format!("{a} and {b} or .m == 8"), left && right));
            cases.push((format!("({a} or {b}) and .m == 7"), left || right));
            cases.push((format!("not ({a}) and not ({b})"), !left && !right));
        }
    }
    let cases: Vec<(&str, bool)> = cases.iter().map(|(test, out)| (test.as_str(), *out)).collect();
    come_out(&cases).await;
}

// Every request is visible, and holds what is not decided yet alone.
#[tokio::test]
async fn what_is_decided_is_not_asked() {
    let tests = ["x == 5 and .n == 5", "x == 6 or .n == 5", "x == 5 or .n == 6"];
    let world = World::start(&things(&tests)).await;
    world.ok("MAKE", r#"{"thingId": "t"}"#).await;
    for (at, expected) in [(0, 2), (1, 2), (2, 1)] {
        let mut call = call(&format!("T-{at}"), r#"{"thingId": "t"}"#);
        call.trace = true;
        let told = world.made(call).await;
        let [step] = told.0.trace.as_slice() else { panic!("one request") };
        let Request::Update(update, _) = &step.request else { panic!("an update: {step:?}") };
        let count = match update.condition.as_ref().expect("it must be there") {
            Condition::And(all) => all.len(),
            // That the item is one of this entity.
            Condition::Compare(..) => 1,
            other => panic!("{other:?}"),
        };
        assert_eq!(count, expected, "{}: {:?}", tests[at], update.condition);
    }
}

// `put … replace if`, `delete … if` and `upsert … if` ask the same.
#[tokio::test]
async fn other_writes_have_conditions_too() {
    let text = r#"
entity Key "KEY" {
  PK = "KEY#{keyId}"
  SK = "META"
  keyId id, n int
}
contract MAKE "Make" {
  PUT /keys/{keyId}
  input n int
  allow true
  key = put Key { keyId, n } replace
  return key
  facts
}
contract RAISE "Replace with more" {
  POST /keys/{keyId}
  input n int
  allow true
  key = put Key { keyId, n } replace if .n < n else 409 less
  return key
  facts
}
contract DROP "Drop" {
  DELETE /keys/{keyId}
  input n int
  allow true
  key = get Key strong else 404 gone
  delete key if .n == n else 409 other
  return key
  facts
}
"#;
    let world = World::start(text).await;
    world.ok("MAKE", r#"{"keyId": "k", "n": 3}"#).await;
    assert_eq!(world.call("RAISE", r#"{"keyId": "k", "n": 3}"#).await.told().1, "less");
    assert_eq!(world.call("RAISE", r#"{"keyId": "k", "n": 4}"#).await.status(), 200);
    assert_eq!(world.call("RAISE", r#"{"keyId": "none", "n": 4}"#).await.told().1, "less");
    assert_eq!(world.call("DROP", r#"{"keyId": "k", "n": 3}"#).await.told().1, "other");
    assert_eq!(world.call("DROP", r#"{"keyId": "k", "n": 4}"#).await.status(), 200);
}
