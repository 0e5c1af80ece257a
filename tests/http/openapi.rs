//! The OpenAPI document of a running server.

use crate::scene::Scene;
use crate::serve::latchkey;

const PATH: &str = "/openapi.json";

#[test]
fn the_document_is_the_one_that_the_command_prints() {
    let scene = Scene::start();
    let reply = scene.nobody().get(PATH);
    assert_eq!((reply.status, reply.header("content-type")), (200, "application/json"), "{reply}");
    let printed = latchkey().arg("openapi").output().unwrap();
    let printed: serde_json::Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(reply.json(), printed);
    assert!(scene.server.greeting.contains("/openapi.json"), "{}", scene.server.greeting);
}

#[test]
fn a_caller_who_has_the_document_is_told_so() {
    let scene = Scene::start();
    let mut client = scene.nobody();
    let tag = client.get(PATH).header("etag").to_owned();
    assert!(tag.len() > 20, "{tag}");
    let reply = client.send("GET", PATH, &[("if-none-match", tag.as_str())], None);
    assert_eq!((reply.status, reply.text.as_str()), (304, ""), "{reply}");
    assert_eq!(reply.header("etag"), tag, "{reply}");
    let reply = client.send("GET", PATH, &[("if-none-match", "\"other\"")], None);
    assert_eq!(reply.status, 200, "{reply}");
    let head = client.send("HEAD", PATH, &[], None);
    assert_eq!((head.status, head.text.as_str()), (200, ""), "{head}");
    assert_eq!(head.header("etag"), tag, "{head}");
}

#[test]
fn the_document_is_only_read() {
    let scene = Scene::start();
    let reply = scene.nobody().send("POST", PATH, &[], None);
    assert_eq!((reply.status, reply.header("allow")), (405, "GET, HEAD"), "{reply}");
}

/// A document with one contract, at a path.
fn document(path: &str, statement: &str) -> String {
    format!(
        r#"# Doors

```contract
system doors
table Doors {{ type kind }}

entity Door "DOOR" {{
  PK = "DOOR#{{doorId}}"
  SK = "META"

  doorId id
}}

contract D-01 "Get a door" {{
  GET {path}
  input doorId id
  allow true

  door = get Door else 404 not-found
  {statement}

  consistency eventual
  expect 1 item
  rate 1/s
}}
```
"#
    )
}

#[test]
fn no_contract_has_the_path_of_the_document() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("doors.md");
    std::fs::write(&file, document(PATH, "return door")).unwrap();
    let mut command = latchkey();
    command.arg("serve").arg(&file).args(["--listen", "127.0.0.1:0", "--data"]);
    let told = command.arg(directory.path().join("data")).output().unwrap();
    let said = String::from_utf8_lossy(&told.stderr);
    assert_eq!(told.status.code(), Some(1), "{said}");
    assert!(said.contains("`/openapi.json` is a path of the server itself"), "{said}");
}

#[test]
fn a_document_with_a_mistake_is_not_described() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("doors.md");
    std::fs::write(&file, document("/doors", "return window")).unwrap();
    let told = latchkey().arg("openapi").arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&told.stderr);
    assert_eq!((told.status.code(), told.stdout.len()), (Some(1), 0), "{said}");
    assert!(said.contains("window"), "{said}");
}
