//! A store of every format that was ever released opens, has all that was in it, and is written on. `formats/` has one
//! of each, with what the release that wrote it exported; `formats/make.sh` made them.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use latchkey_embedded::{Options, Store};
use latchkey_runtime::System;
use latchkey_testing::{Client, Server, jwt, latchkey, until};
use serde_json::{Value, json};
use tempfile::TempDir;

const FORMATS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/store/formats");
const SYSTEMS: [&str; 3] = ["locations", "participation", "smartlocker"];
const SECRET: &str = "the secret of tests that all of them know";

/// The formats that are kept, by their numbers.
fn formats() -> Vec<PathBuf> {
    let entries = fs::read_dir(FORMATS).unwrap().map(|entry| entry.unwrap().path());
    let mut formats: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    formats.sort();
    formats
}

/// The store of a format, as its release left it when it was killed.
fn unpacked(format: &Path) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(format).unwrap() {
        let packed = entry.unwrap().path();
        if packed.extension().is_some_and(|extension| extension == "deflate") {
            let bytes = miniz_oxide::inflate::decompress_to_vec(&fs::read(&packed).unwrap());
            let file = directory.path().join(packed.file_stem().unwrap());
            fs::write(&file, bytes.unwrap()).unwrap();
            fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        }
    }
    directory
}

fn document(system: &str) -> PathBuf {
    format!("{}/../systems/{system}.md", env!("CARGO_MANIFEST_DIR")).into()
}

/// The items of a system, as JSON.
fn exported(data: &Path, system: &str) -> BTreeSet<String> {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("export.jsonl");
    let mut export = latchkey();
    export.arg("export").arg(document(system)).arg("--data").arg(data).arg("--out").arg(&out);
    let output = export.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    lines(&fs::read_to_string(out).unwrap())
}

/// Lines without their order, and each without that of its attributes.
fn lines(text: &str) -> BTreeSet<String> {
    text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap().to_string()).collect()
}

fn verify(data: &Path) {
    let store = Store::open(data, &Options::default()).unwrap();
    for system in SYSTEMS {
        let text = fs::read_to_string(document(system)).unwrap();
        store.verify(System::read(&text).unwrap().table()).unwrap();
    }
}

fn serve(data: &Path) -> Server {
    let mut command: Command = latchkey();
    command.arg("serve").args(SYSTEMS.map(document)).arg("--data").arg(data);
    command.env("LATCHKEY_SECRET", SECRET).env("LATCHKEY_LOG", "warn");
    Server::start_with_secret(command, data)
}

/// What an old store has is read and written, and what waited in its queue is worked on.
fn use_it(client: &mut Client) {
    let ok = |reply: latchkey_testing::Reply, status| {
        assert_eq!(reply.status, status, "{reply:?}");
        reply.json()
    };
    let old = ok(client.get("/lockers/L3?consistent=true"), 200);
    assert_eq!((&old["lockerAlias"], &old["version"]), (&json!("ünï 🔑 3"), &json!(1)));
    let body = json!({"newStatus": "OCCUPIED", "expectedVersion": 1});
    ok(client.put("/lockers/L3/status", &body), 200);
    ok(client.post("/lockers", &json!({"lockerId": "new", "ownerId": "owner"})), 201);
    let listed = ok(client.get("/owners/owner/lockers?pageSize=100"), 200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 9);
    let taken = json!({
        "ownerId": "owner", "startAt": "2126-01-03T10:30:00Z", "endAt": "2126-01-03T10:45:00Z",
    });
    assert_eq!(client.post("/lockers/L3/reservations", &taken).code(), "reservation-overlap");
    ok(client.get("/locations/by-code/code-7"), 200);
    until("all are decided", || {
        let counts = ok(client.get("/admin/events/e/summary"), 200)["byStatus"].clone();
        let lottery = ok(client.get("/admin/events/l/summary"), 200)["byStatus"].clone();
        let drawn = lottery["SUCCEEDED"].as_i64().unwrap() + lottery["REJECTED"].as_i64().unwrap();
        (&counts["SUCCEEDED"], &counts["REJECTED"], drawn) == (&json!(2), &json!(1), 3)
    });
}

#[test]
fn a_store_of_every_format_opens_and_is_written_on() {
    let formats = formats();
    assert!(formats.len() > 1, "{formats:?}");
    for format in &formats {
        let data = unpacked(format);
        let kept = |system| {
            lines(&fs::read_to_string(format.join(system).with_extension("jsonl")).unwrap())
        };
        for system in SYSTEMS {
            assert_eq!(exported(data.path(), system), kept(system), "{}", format.display());
        }
        verify(data.path());
        let mut server = serve(data.path());
        let token = jwt::token(SECRET, &jwt::claims("admin", &["admin", "device"], &[]));
        use_it(&mut server.client().with_token(&token));
        assert!(server.stop().success());
        verify(data.path());
        let now = exported(data.path(), "smartlocker");
        // The locker that was changed, and its view.
        assert_eq!(kept("smartlocker").difference(&now).count(), 2, "{}", format.display());
        assert_eq!(exported(data.path(), "locations"), kept("locations"), "{}", format.display());
    }
    println!("stores of {} formats open, are right, and are written on", formats.len());
}
