//! What the server and its commands write is its owner's alone.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::serve::{Server, backend, latchkey};
use crate::world::{operator, register};

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn all_that_is_made_is_its_owners_alone() {
    // The store was 0644 in a directory of 0755, with the draw key of an open lottery in it.
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("above/data");
    let mut server = Server::start(&data);
    register(&mut server.client().with_token(&operator(&server)), "L1", "owner");
    assert_eq!((mode(data.parent().unwrap()), mode(&data)), (0o700, 0o700));
    let found: Vec<_> = fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path()).collect();
    let journals = ["journal-0", "journal-1"];
    for name in ["lock", "store.redb", "development-secret", "control.sock"].iter().chain(&journals)
    {
        assert!(found.contains(&data.join(name)), "{name} is not among {found:?}");
    }
    for path in found {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    assert_eq!(server.stop().code(), Some(0));
    let out = directory.path().join("export.json");
    let mut export = backend::on_backend("export", &data, &[]);
    export.args(["--system", "smartlocker", "--out"]).arg(&out);
    let output = export.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(mode(&out), 0o600);
}

#[test]
fn what_is_open_to_others_is_refused_with_the_command_that_mends_it() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let server = Server::start(&data);
    register(&mut server.client().with_token(&operator(&server)), "L1", "owner");
    drop(server);
    for name in ["", "lock", "store.redb", "journal-0", "development-secret"] {
        let path = data.join(name);
        // A server whose items are in a service writes no journal here; the test above wants one of a store.
        if name == "journal-0" && !path.exists() {
            continue;
        }
        let loose = if name.is_empty() { 0o750 } else { 0o640 };
        fs::set_permissions(&path, Permissions::from_mode(loose)).unwrap();
        let mut serve = latchkey();
        serve.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&data);
        let output = serve.output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        let command = told.split('`').find(|part| part.starts_with("chmod "));
        let command = command.unwrap_or_else(|| panic!("no command to mend `{name}`: {told}"));
        assert!(Command::new("sh").args(["-c", command]).status().unwrap().success());
        assert_eq!(mode(&path) & 0o077, 0, "{command}");
    }
    drop(Server::start(&data));
}
