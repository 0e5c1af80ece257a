//! The service over real HTTP: every row of its documents, every rule of its edge.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

#[path = "../serve/mod.rs"]
mod serve;

#[test]
fn it_serves() {
    let directory = tempfile::tempdir().unwrap();
    let server = serve::Server::start(directory.path());
    let token = server.token("alice", &[], &[]);
    let reply = server.client().with_token(&token).get("/lockers/L1");
    assert_eq!((reply.status, reply.code().as_str()), (404, "not-found"));
}
