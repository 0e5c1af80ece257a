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
