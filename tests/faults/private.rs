//! What the server and its commands write is its owner's alone, and they use nothing that another user has made.

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

/// Another user than the one of this process, and not root.
const ANOTHER: u32 = 4321;

/// Runs a script of the shell as root, with the command as `$1` and a document as `$2`, in a file system of its own.
fn as_root(script: &str) -> String {
    let mut command = Command::new("unshare");
    command.arg("--mount");
    // Whoever is not root has no other users to make files for.
    if !rustix::process::geteuid().is_root() {
        command.args(["--map-root-user", "--map-auto"]);
    }
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../systems/smartlocker.md");
    command.args(["sh", "-euc", script, "sh"]).arg(latchkey().get_program()).arg(document);
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

#[test]
fn what_another_user_has_made_in_a_shared_place_is_refused() {
    // Whoever made a directory, or a file that an export was to go on with, could read and change all that was put there.
    let told = as_root(&format!(
        r#"
        mount -t tmpfs -o mode=1777 tmpfs /mnt
        cd /mnt
        run() {{ "$latchkey" "$@" 2>&1 || echo "code $?"; }}
        latchkey=$1 document=$2
        mkdir data
        chown {ANOTHER} data
        run import "$document" --data /mnt/data --from /dev/null
        chown 0 data
        "$latchkey" import "$document" --data /mnt/data --from /dev/null
        chown {ANOTHER} data
        run export "$document" --data /mnt/data --out -
        run store verify --data /mnt/data
        chown 0 data
        for name in lock store.redb; do
            chown {ANOTHER} data/$name
            run export "$document" --data /mnt/data --out -
            chown 0 data/$name
        done
        (umask 77; : > out.json.part; : > a.backup.part; : > out.json.progress.new)
        chown {ANOTHER} *.part *.new
        run export "$document" --data /mnt/data --out out.json
        chown 0 out.json.part
        run export "$document" --data /mnt/data --out out.json
        run backup --data /mnt/data --out a.backup
        test ! -e out.json -a ! -e a.backup
        chown -R 0 .
        "$latchkey" export "$document" --data /mnt/data --out out.json
        "$latchkey" backup --data /mnt/data --out a.backup
        "#
    ));
    let refused = |name: &str, whole: &str| {
        let (belongs, run) = (
            format!("`{name}` belongs to user {ANOTHER}, and"),
            format!("run `chown -R 0 {whole}`"),
        );
        told.lines().filter(|line| line.contains(&belongs) && line.contains(&run)).count()
    };
    assert_eq!(refused("/mnt/data", "/mnt/data"), 3, "{told}");
    for name in ["/mnt/data/lock", "/mnt/data/store.redb"] {
        assert_eq!(refused(name, "/mnt/data"), 1, "{name}: {told}");
    }
    for name in ["out.json.part", "out.json.progress.new", "a.backup.part"] {
        assert_eq!(refused(name, name), 1, "{name}: {told}");
    }
    assert_eq!(told.matches("code 2").count(), 8, "{told}");
}

#[test]
fn root_uses_what_another_user_has_made_where_only_that_user_can() {
    let told = as_root(&format!(
        r#"
        mount -t tmpfs -o mode=755 tmpfs /mnt
        mkdir /mnt/data
        chown {ANOTHER} /mnt/data
        "$1" import "$2" --data /mnt/data --from /dev/null
        chown -R {ANOTHER} /mnt/data
        "$1" store verify --data /mnt/data
        "#
    ));
    assert!(told.contains("is sound"), "{told}");
}
