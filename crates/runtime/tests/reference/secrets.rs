//! `secret` is never shown: not in an answer, a problem or a trace, whatever way it takes.

use crate::support::{World, call, refused};

const VAULT: &str = r#"
entity Vault "VAULT" {
  PK = "VAULT#{vaultId}"
  SK = "META"
  vaultId id, label text(20), code text(20)? secret, seal key, tries int = 0, open bool = false, note text(20)?
}
contract MAKE "Make" {
  POST /vaults
  input vaultId id, code text(20)?
  allow true
  vault = put Vault { vaultId, label = "l", code, seal = new key } if absent else 409 there
  return 201 vault
  facts
}
"#;

const HUSH: &str = "HUSH-HUSH";

fn vault(steps: &str) -> String {
    format!(
        "{VAULT}contract TRY \"Try\" {{\n  POST /vaults/{{vaultId}}/try\n  {steps}\n  facts\n}}\n"
    )
}

/// All that a call tells to the outside.
async fn told(text: &str, inputs: &str) -> String {
    let world = World::start(text).await;
    let made = call("MAKE", &format!(r#"{{"vaultId": "v", "code": "{HUSH}"}}"#));
    let mut shown = String::new();
    for mut call in [made, call("TRY", inputs)] {
        call.trace = true;
        let told = world.made(call).await;
        shown += &format!("{}\n{:?}\n{:?}\n", told.body(), told.0.result, told.0.trace);
    }
    // The key that was made, as it might be written.
    let item = world.stored("VAULT#v", "META").unwrap();
    let seal = item.get("seal").unwrap().clone();
    for written in [crate::support::written(&seal).replace('"', ""), format!("{seal:?}")] {
        assert!(!shown.contains(&written), "the key is shown: {shown}");
    }
    shown
}

// Without braces all are shown that are not secret; what writes, compares or guards with a secret is traced
// without it.
#[tokio::test]
async fn what_is_secret_is_neither_answered_nor_traced() {
    let open = "input code text(20)\n  vault = get Vault strong else 404 gone\n  allow true\n  \
        require vault.code is present and vault.code == code else 403 wrong \"wrong code\" with { tries = vault.tries }\n  \
        update vault set open = true, code = code, note = \"x\" if .code == code else 409 changed\n  return vault";
    let forms = [
        open,
        "input code text(20)\n  allow true\n  vault = update Vault set code = code if .code in (code, \"x\") else 409 no\n  return vault",
        "input code text(20)\n  allow true\n  vault = update Vault set tries = .tries + 1 if not (.code != code or .open) else 409 no\n  return vault",
        "input code text(20)\n  vault = get Vault strong else 404 gone\n  allow true\n  transact {\n    update vault set code = code if .code == code else 409 no\n    \
         put Vault { vaultId = \"other\", label = \"m\", code, seal = new key } replace\n  }\n  return vault",
    ];
    for steps in forms {
        // In the last, two legs may be on one item.
        let steps = steps.replace(
            "allow true\n  transact",
            "allow true\n  require vault.vaultId != \"other\" else 409 same\n  transact",
        );
        let inputs = format!(r#"{{"vaultId": "v", "code": "{HUSH}"}}"#);
        let shown = told(&vault(&steps), &inputs).await;
        assert!(!shown.contains(HUSH), "{steps}\n{shown}");
        assert!(shown.contains("(secret)") || !shown.contains("code"), "{shown}");
        let shown = told(&vault(&steps), r#"{"vaultId": "v", "code": "guess"}"#).await;
        assert!(!shown.contains(HUSH), "a wrong guess: {steps}\n{shown}");
    }
}

// However it is named, the check refuses to show it, or the runtime does not.
#[tokio::test]
async fn no_other_name_shows_what_is_secret() {
    let read = "vault = get Vault strong else 404 gone\n  allow true\n  require vault.code is present else 409 none";
    let ways = [
        ("itself", "return vault { code }"),
        ("beside", "return vault { label } with { c = vault.code }"),
        ("in a text", "return vault { label } with { c = \"x{vault.code}\" }"),
        ("by a name", "c = vault.code\n  return vault { label } with { c }"),
        ("by two names", "c = vault.code\n  d = c\n  return vault { label } with { d }"),
        ("by the name of a text", "c = \"x{vault.code}\"\n  return vault { label } with { c }"),
        (
            "in a message",
            "require vault.tries > 9 else 409 no \"it is {vault.code}\"\n  return vault",
        ),
        (
            "by a name in a message",
            "c = vault.code\n  require vault.tries > 9 else 409 no \"it is {c}\"\n  return vault",
        ),
        (
            "beside a problem",
            "c = vault.code\n  require vault.tries > 9 else 409 no with { c }\n  return vault",
        ),
        ("in a place", "return vault { label } at /vaults/{code}"),
        ("a new key", "return vault { label } with { k = new key }"),
        ("a new key by a name", "k = new key\n  return vault { label } with { k }"),
        ("a key", "k = vault.seal\n  return vault { label } with { k }"),
        (
            "as another attribute",
            "update vault set note = .code if .label == vault.label else retry\n  return vault",
        ),
    ];
    let mut leaks = Vec::new();
    for (what, steps) in ways {
        let text = vault(&format!("{read}\n  {steps}"));
        let Some(world) = World::perhaps(&text).await else { continue };
        world.ok("MAKE", &format!(r#"{{"vaultId": "v", "code": "{HUSH}"}}"#)).await;
        let told = world.call("TRY", r#"{"vaultId": "v"}"#).await;
        let shown = format!("{:?}", told.0.result);
        if shown.contains(HUSH) || (what.contains("key") && shown.contains("k\\\":")) {
            leaks.push(what);
        }
    }
    assert_eq!(leaks, [""; 0], "these show what is secret");
}

// A copy of a secret is one.
#[tokio::test]
async fn a_view_keeps_the_secrets_of_its_source() {
    let text = r#"
entity Door "DOOR" {
  PK = "DOOR#{doorId}"
  SK = "META"
  doorId id, houseId id, code text(20) secret, version counter
}
entity HouseDoor "HOUSE_DOOR" view of Door {
  PK = "HOUSE#{houseId}"
  SK = "DOOR#{doorId}"
  copies houseId, doorId, code
}
contract MAKE "Make" {
  POST /doors
  input doorId id, houseId id, code text(20)
  allow true
  transact {
    door = put Door { doorId, houseId, code } if absent else 409 there
    put HouseDoor of door replace
  }
  return 201 door
  facts
}
contract LIST "List" {
  GET /houses/{houseId}/doors
  allow true
  doors = query HouseDoor where PK = "HOUSE#{houseId}" and SK begins_with "DOOR#" page 10
  return doors
  facts
}
"#;
    let world = World::start(text).await;
    let mut made = call("MAKE", &format!(r#"{{"doorId": "d", "houseId": "h", "code": "{HUSH}"}}"#));
    made.trace = true;
    let told = world.made(made).await;
    assert_eq!(told.body(), r#"{"doorId":"d","houseId":"h","version":1}"#);
    assert!(!format!("{:?}", told.0.trace).contains(HUSH));
    assert_eq!(
        world.attribute("HOUSE#h", "DOOR#d", "code"),
        Some(format!("\"{HUSH}\"")),
        "it is copied all the same"
    );
    let told = world.call("LIST", r#"{"houseId": "h"}"#).await;
    assert_eq!(told.body(), r#"{"items":[{"houseId":"h","doorId":"d"}],"nextCursor":null}"#);
}

// An input that is declared secret is not told back.
#[tokio::test]
async fn a_secret_input_is_not_told_back() {
    let steps = "input code text(20) secret\n  allow true\n  vault = update Vault set code = code else 404 gone\n  return vault with { c = code }";
    let text = vault(steps);
    if !refused(&text) {
        let shown = told(&text, r#"{"vaultId": "v", "code": "SECRET-TOO"}"#).await;
        assert!(!shown.contains("SECRET-TOO"), "{shown}");
    }
}

// What is wrong with an input is told without what it was.
#[tokio::test]
async fn a_refused_input_is_not_repeated() {
    let steps = "input code text(20)\n  allow true\n  vault = update Vault set code = code else 404 gone\n  return vault";
    let world = World::start(&vault(steps)).await;
    let long = "S3CRET".repeat(9);
    let told = world.call("TRY", &format!(r#"{{"vaultId": "v", "code": "{long}"}}"#)).await;
    assert_eq!(told.status(), 400);
    assert!(!told.body().contains("S3CRET"), "{}", told.body());
}
