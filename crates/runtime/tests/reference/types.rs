//! An attribute has a type: no call stores a value it does not allow, and no value forges a key.

use crate::support::{World, refused};

const PLANTS: &str = r#"
entity Plant "PLANT" {
  PK = "PLANT#{code}"
  SK = "META"
  code text(10) like "[a-z]{1,10}", height int 0..50 = 1, name text(5) like "[A-Z]+" = "X", sun number 0..1 = 0.5,
  wide number 0..10 = 5
}
entity Leaf "LEAF" {
  PK = "PLANT#{code}"
  SK = "LEAF#{no:02}"
  code text(10) like "[a-z]{1,10}", no int 0..99
}
contract LEAVES "The leaves of a plant" {
  GET /plants/{code}/leaves
  allow true
  leaves = query Leaf where PK = "PLANT#{code}" and SK begins_with "LEAF#" page 9
  return leaves
  facts
}
contract GROW "Grow a leaf" {
  POST /plants/{code}/leaves
  input no Leaf.no
  allow true
  leaf = put Leaf { code, no } replace
  return leaf
  facts
}
contract PLANT "Plant" {
  PUT /plants/{code}
  allow true
  plant = put Plant { code } replace
  return plant
  facts
}
"#;

/// A contract of some steps; nothing where the check refuses it, which is as good.
async fn plants(steps: &str) -> Option<World> {
    let text = format!("{PLANTS}contract TRY \"Try\" {{\n  {steps}\n  facts\n}}\n");
    let world = World::perhaps(&text).await?;
    world.ok("PLANT", r#"{"code": "a"}"#).await;
    Some(world)
}

/// Whether every stored plant is as declared.
fn sound(world: &World) -> Result<(), String> {
    for item in world.all("PLANT#") {
        let text = |name: &str| item.get(name).and_then(|value| value.as_text()).cloned();
        let number = |name: &str| item.get(name).and_then(|value| value.as_number());
        let code = text("code").unwrap_or_default();
        if !(1..=10).contains(&code.len()) || !code.bytes().all(|b| b.is_ascii_lowercase()) {
            return Err(format!("a code `{code}`"));
        }
        if let Some(name) = text("name")
            && (name.len() > 5 || !name.bytes().all(|b| b.is_ascii_uppercase()))
        {
            return Err(format!("a name `{name}`"));
        }
        if let Some(height) = number("height")
            && !height.to_i64().is_some_and(|height| (0..=50).contains(&height))
        {
            return Err(format!("a height of {height}"));
        }
        if let Some(sun) = number("sun")
            && (sun < 0_i64.into() || sun > 1_i64.into())
        {
            return Err(format!("a sun of {sun}"));
        }
    }
    Ok(())
}

// `text(80)`: text of at most so many bytes, like its pattern; `int 0..50` and `number 0..1` within their bounds;
// whatever verb writes it, and whether or not the item was read.
#[tokio::test]
async fn no_call_stores_what_a_type_does_not_allow() {
    let verbs = [
        ("put", "allow true\n  plant = put Plant { code, SET } replace\n  return plant"),
        ("update", "allow true\n  plant = update Plant set SET else 404 gone\n  return plant"),
        ("maybe", "allow true\n  plant = update Plant set MAYBE else 404 gone\n  return plant"),
        ("upsert", "allow true\n  plant = upsert Plant set SET\n  return plant"),
        (
            "read",
            "plant = get Plant strong else 404 gone\n  allow true\n  update plant set SET if .code == code else 404 gone\n  return plant",
        ),
        (
            "transact",
            "plant = get Plant strong else 404 gone\n  allow true\n  transact {\n    update plant set SET if .code == code else 404 gone\n  }\n  return plant",
        ),
    ];
    let values = [
        ("name", "text(99)", "\"abcdefgh\""),
        ("name", "text(5)", "\"abc\""),
        ("name", "text(4) like \"[a-z]+\"", "\"abc\""),
        ("name", "id", "\"abc\""),
        ("height", "int", "51"),
        ("height", "int", "-1"),
        ("height", "int 0..999", "999"),
        ("sun", "number", "1.01"),
        ("sun", "int", "-1"),
    ];
    let mut found = Vec::new();
    for (verb, steps) in verbs {
        for (attribute, kind, value) in values {
            let steps = steps
                .replace("SET", &format!("{attribute} = x"))
                .replace("MAYBE", &format!("{attribute} ?= x"));
            let steps = format!("POST /try/{{code}}\n  input x {kind}\n  {steps}");
            let Some(world) = plants(&steps).await else { continue };
            let told = world.call("TRY", &format!(r#"{{"code": "a", "x": {value}}}"#)).await;
            if let Err(what) = sound(&world) {
                found.push(format!("{verb} from {kind}: {what}"));
            } else {
                assert_eq!(told.status(), 400, "{verb} {attribute} = {value}: {}", told.body());
            }
        }
    }
    assert_eq!(found, [""; 0], "what a type does not allow was stored");
}

// The same for what is computed by the table itself.
#[tokio::test]
async fn no_sum_leaves_the_bounds() {
    let ways = [
        "allow true\n  plant = update Plant add height = x else 404 gone\n  return plant",
        "allow true\n  plant = update Plant set height = .height + x else 404 gone\n  return plant",
        "allow true\n  plant = upsert Plant add height = x\n  return plant",
        "plant = get Plant strong else 404 gone\n  allow true\n  update plant set height = .height + x else 404 gone\n  return plant",
        "plant = get Plant strong else 404 gone\n  allow true\n  update plant add height = x else 404 gone\n  return plant",
    ];
    let mut found = Vec::new();
    for steps in ways {
        for x in ["100", "-100"] {
            let text = format!("POST /try/{{code}}\n  input x int\n  {steps}");
            let Some(world) = plants(&text).await else { continue };
            world.call("TRY", &format!(r#"{{"code": "a", "x": {x}}}"#)).await;
            if let Err(what) = sound(&world) {
                found.push(format!("{what} by {steps}"));
            }
        }
    }
    assert_eq!(found, [""; 0], "a sum left the bounds");
}

// A bound was dropped where the bound less the number had more than 38 digits, and for an attribute with a default, in
// `a - .b` and in `= .b`.
#[tokio::test]
async fn no_sum_of_many_digits_or_defaults_leaves_the_bounds() {
    let sets = [
        "sun = .sun + x",
        "sun = .sun - x",
        "sun = x - .sun",
        "sun = .wide + x",
        "sun = x - .wide",
        "sun = .wide",
    ];
    let verbs = ["update Plant set SET else 404 gone", "upsert Plant set SET"];
    let mut found = Vec::new();
    for (verb, set) in verbs.iter().flat_map(|verb| sets.map(|set| (verb, set))) {
        for x in ["1e40", "-1e40", "1e-40", "2", "-2", "0"] {
            let write = verb.replace("SET", set);
            let steps = format!("allow true\n  plant = {write}\n  return plant");
            let text = format!("POST /try/{{code}}\n  input x number = 0\n  {steps}");
            let world = plants(&text).await.expect("the document is right");
            for code in ["a", "b"] {
                world.call("TRY", &format!(r#"{{"code": "{code}", "x": {x}}}"#)).await;
            }
            if let Err(what) = sound(&world) {
                found.push(format!("{what} by {write}, x = {x}"));
            }
        }
    }
    assert_eq!(found, [""; 0], "a sum left the bounds");
}

// A bound that is rounded lets through what lies within.
#[tokio::test]
async fn a_number_of_many_digits_is_added_within_the_bounds() {
    let steps = "POST /try/{code}\n  input x number\n  allow true\n  plant = update Plant set wide = .wide + x else 404 gone\n  return plant";
    let world = plants(steps).await.expect("the document is right");
    world.ok("TRY", r#"{"code": "a", "x": -5}"#).await;
    let told = world.call("TRY", r#"{"code": "a", "x": 1e-40}"#).await;
    assert!(told.body().contains("0.0000000000000000000000000000000000000001"), "{}", told.body());
}

// Its default is a value of the type, be it a constant or computed.
#[tokio::test]
async fn a_default_is_of_its_type() {
    let ways = [
        "input x int 0..50 = 51",
        "input y int = 60, x int 0..50 = y + 1",
        "input x int 0..50 = 0 - 1",
    ];
    let mut found = Vec::new();
    for inputs in ways {
        let steps = format!(
            "POST /try/{{code}}\n  {inputs}\n  allow true\n  plant = update Plant set height = x else 404 gone\n  return plant"
        );
        let Some(world) = plants(&steps).await else { continue };
        world.call("TRY", r#"{"code": "a"}"#).await;
        if let Err(what) = sound(&world) {
            found.push(format!("{inputs}: {what}"));
        }
    }
    let constants = [
        ("text(5) like \"[a-z]+\" = \"ABC\"", "a constant that is not like its pattern"),
        ("number 0..1 = 5", "a constant out of its bounds"),
    ];
    for (kind, what) in constants {
        let text = format!(
            "entity Pot \"POT\" {{\n  PK = \"POT#{{potId}}\"\n  SK = \"META\"\n  potId id, x {kind}\n}}\n\
             contract MAKE \"Make\" {{\n  POST /pots\n  input potId id\n  allow true\n  \
             pot = put Pot {{ potId }} replace\n  return pot\n  facts\n}}\n"
        );
        if !refused(&text) {
            found.push(what.to_owned());
        }
    }
    assert_eq!(found, [""; 0], "defaults that are not of their type");
}

// A key part that admits `#` is an error, so that no value can forge a key: also where a wider value is given.
#[tokio::test]
async fn no_value_forges_a_key() {
    let ways = [
        "POST /try\n  input raw text(10)\n  allow true\n  plant = put Plant { code = raw } replace\n  return plant",
        "POST /try\n  input raw text(10)\n  allow true\n  plant = upsert Plant(code = raw) set height = 3\n  return plant",
        "POST /try\n  input raw text(10)\n  allow true\n  plant = get Plant(code = raw) else 404 gone\n  return plant",
    ];
    let mut found = Vec::new();
    for steps in ways {
        let Some(world) = plants(steps).await else { continue };
        for raw in ["a#b", "A", "", "abcdefghijk"] {
            let mut call = crate::support::call("TRY", &format!(r#"{{"raw": "{raw}"}}"#));
            call.trace = true;
            let told = world.made(call).await;
            if told.status() != 400 {
                found.push(format!(
                    "`{raw}` by {}: {}",
                    steps.lines().nth(3).unwrap(),
                    told.body()
                ));
            }
        }
    }
    assert_eq!(found, [""; 0], "keys of values that are no codes");
    // A number has the width its template says.
    let steps = "POST /try/{code}\n  input x int\n  allow true\n  leaf = put Leaf { code, no = x } replace\n  return leaf";
    if let Some(world) = plants(steps).await {
        for (x, status) in [("99", 200), ("100", 400), ("-1", 400)] {
            let told = world.call("TRY", &format!(r#"{{"code": "a", "x": {x}}}"#)).await;
            assert_eq!(told.status(), status, "{x}");
        }
    }
}
