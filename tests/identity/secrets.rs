//! The secret of a deployment: replaced without a break, and never blank.

use serde_json::json;

use crate::jwt;
use crate::serve::latchkey;
use crate::world::{SECRET, World, refused, serving};

const NEXT: &str = "the secret behind it and as long as it must be";

fn start(directory: tempfile::TempDir, secret: &str, old: Option<&str>) -> World {
    World::start_by(directory, |command| {
        command.env("LATCHKEY_SECRET", secret).envs(old.map(|old| ("LATCHKEY_SECRETS_OLD", old)))
    })
}

fn alice(secret: &str) -> String {
    jwt::token(secret, &jwt::claims("alice", &[], &[]))
}

#[test]
fn a_secret_is_replaced_and_nobody_notices() {
    let world = start(tempfile::tempdir().unwrap(), SECRET, None);
    let mut client = world.client().with_token(&alice(SECRET));
    for name in ["L1", "L2", "L3"] {
        client.post("/lockers", &json!({"lockerId": name, "ownerId": "alice"})).is(201);
    }
    let page = client.get("/owners/alice/lockers?pageSize=1").is(200);
    let cursor = page.json()["nextCursor"].as_str().unwrap().to_owned();
    let next_page = format!("/owners/alice/lockers?pageSize=1&nextCursor={cursor}");
    let expected = client.get(&next_page).is(200).json()["items"].clone();

    let old = format!("a secret before all of them and never used,{SECRET}");
    let world = start(world.stop(), NEXT, Some(&old));
    for secret in [SECRET, NEXT] {
        let mut client = world.client().with_token(&alice(secret));
        assert_eq!(client.get(&next_page).is(200).json()["items"], expected, "by {secret}");
    }
    world.doubts(&alice("a secret that was never in use here"));
    // The first signs.
    let mut command = latchkey();
    command.args(["token", "--sub", "alice"]).env("LATCHKEY_SECRET", NEXT);
    let output = command.env("LATCHKEY_SECRETS_OLD", SECRET).output().unwrap();
    let made = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    let page = world.client().with_token(&made).get("/owners/alice/lockers?pageSize=1").is(200);
    let cursor = page.json()["nextCursor"].as_str().unwrap().to_owned();

    let world = start(world.stop(), NEXT, None);
    world.believes(&made);
    world.doubts(&alice(SECRET));
    let mut client = world.client().with_token(&made);
    client.get(&next_page).refuses(400, "invalid-cursor");
    client.get(&format!("/owners/alice/lockers?pageSize=1&nextCursor={cursor}")).is(200);
}

#[test]
fn a_blank_secret_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let token = || {
        let mut command = latchkey();
        command.args(["token", "--sub", "alice", "--data"]).arg(directory.path());
        command
    };
    let blank = ["", " ", "\t\n", &" ".repeat(32), &"\n".repeat(64)];
    for secret in blank {
        for mut command in [serving(directory.path()), token()] {
            let message = refused(command.env("LATCHKEY_SECRET", secret));
            assert!(
                message.contains("LATCHKEY_SECRET has a secret that is empty or blank"),
                "{message}"
            );
        }
    }
    let padded = format!("{}{}", "s".repeat(31), " ".repeat(10));
    for mut command in [serving(directory.path()), token()] {
        let message = refused(command.env("LATCHKEY_SECRET", &padded));
        assert!(message.contains("must have 32 bytes"), "white space does not count: {message}");
    }
    // Once replaced, such a secret would be two in the list of old ones, or none of them.
    for (secret, reason) in [
        (format!("{NEXT},{NEXT}"), "has a comma"),
        (format!("{NEXT}\n"), "has white space around it"),
        (format!(" {NEXT}"), "has white space around it"),
        (format!("{NEXT}\u{7}{NEXT}"), "has a control character"),
    ] {
        for mut command in [serving(directory.path()), token()] {
            let message = refused(command.env("LATCHKEY_SECRET", &secret));
            assert!(message.contains(reason) && !message.contains(NEXT), "{secret:?}: {message}");
        }
    }
    let nine = [NEXT; 9].join(",");
    for (old, reason) in [
        ("", "empty or blank"),
        (&format!("{NEXT},"), "empty or blank"),
        (&format!("{NEXT},{}", " ".repeat(40)), "empty or blank"),
        (&format!("{NEXT},short"), "32 bytes"),
        (&format!("{NEXT}, {NEXT}"), "white space"),
        (&nine, "at most 8"),
    ] {
        let mut command = serving(directory.path());
        let message =
            refused(command.env("LATCHKEY_SECRET", SECRET).env("LATCHKEY_SECRETS_OLD", old));
        assert!(
            message.contains(reason) && message.contains("LATCHKEY_SECRETS_OLD"),
            "{old}: {message}"
        );
        assert!(!message.contains(NEXT), "a secret is not shown: {message}");
    }
    let message = refused(serving(directory.path()).env("LATCHKEY_SECRETS_OLD", NEXT));
    assert!(message.contains("LATCHKEY_SECRET is not"), "{message}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing was made");
}
