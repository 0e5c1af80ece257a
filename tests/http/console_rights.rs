//! What a call through the console shows of what is stored: no more than the contract, to whom may not see the table; and
//! of secrets in keys nothing, to nobody.

use serde_json::{Value, json};

use crate::browsers::Flagged;
use crate::console::Browser;
use crate::jwt;

const THINGS: &str = r#"# Things
```contract
system things
table Things { type kind }
role admin
entity Thing "THING" {
  PK = "THING#{thingId}"
  SK = "META"
  thingId id, ownerId id, worth int 0.., code id secret, version counter
}
entity Box "BOX" {
  PK = "BOX#{code}"
  SK = "META"
  code id secret, opens int 0.. = 0
}
contract T-1 "Add" {
  POST /things
  input thingId id, worth int 0.., code id secret
  allow caller is admin
  transact {
    put Thing { thingId, ownerId = caller.id, worth, code } if absent else 409 there
    put Box { code } if absent else 409 box-there
  }
  return 204
  consistency strong
  expect 0 items
  rate 1/s
}
contract T-2 "Look" {
  GET /things/{thingId}
  thing = get Thing strong else 404 not-found
  box = get Box(code = thing.code) strong else 404 no-box
  allow caller owns thing.ownerId
  return thing { thingId }
  consistency strong
  expect 1 item
  rate 1/s
}
```
"#;

#[test]
fn a_call_shows_what_is_stored_to_those_alone_who_may_see_the_table() {
    let directory = tempfile::tempdir().unwrap();
    let document = directory.path().join("things.md");
    std::fs::write(&document, THINGS).unwrap();
    let flagged = Flagged::start(&[], &[document]);
    let mut admin = Browser::of(&flagged, "boss", &["admin"]);
    let thing = json!({"thingId": "saw", "worth": 4711, "code": "topsecret1"});
    assert_eq!(admin.call("POST", "/things", Some(&thing))["status"], 204);

    // Refused by the contract, and shown nothing by the console.
    // Under a name that is not this machine's, nobody can be someone else at a click.
    let token = jwt::token(&flagged.secret, &jwt::claims("mia", &[], &[]));
    let asked = r#"{"method": "GET", "path": "/things/saw"}"#;
    let request = format!(
        "POST /console/call HTTP/1.1\r\nhost: things.example\r\nsec-fetch-site: same-origin\r\n\
         cookie: latchkey-console={token}\r\ncontent-length: {}\r\n\r\n{asked}",
        asked.len()
    );
    let told = flagged.server.client().raw(request.as_bytes(), false).unwrap().json();
    assert_eq!(told["status"], 403, "{told}");
    // Nor how far the contract came, or what was found.
    assert_eq!((&told["requests"], &told["statement"]), (&Value::Null, &Value::Null), "{told}");
    for word in ["boss", "topsecret1", "4711"] {
        assert!(!told.to_string().contains(word), "{word} in {told}");
    }
    // Whoever may see the table sees the requests, and no secret in a key.
    let told = admin.call("GET", "/things/saw", None);
    assert_eq!(told["status"], 200, "{told}");
    let json = told["requests"][1]["json"].as_str().unwrap();
    assert!(json.contains("BOX#(secret)"), "{json}");
    for _ in 0..64 {
        admin.call("GET", "/things/saw", None);
    }
    for path in [
        "/console/figures.json",
        "/console/systems/things/table?partition=THING%23saw",
        "/console/systems/things/table?partition=LATCHKEY",
    ] {
        let page = admin.get(path);
        assert_eq!(page.status, 200, "{path} {page}");
        assert!(!page.text.contains("topsecret1"), "{path} {page}");
    }
    assert!(admin.get("/console/figures.json").text.contains("BOX#(secret)"));
}
