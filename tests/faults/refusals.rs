//! Starts that are refused, each with a message that says what to do.

use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::serve::backend::on_backend;
use crate::serve::{Client, Server, latchkey};
use crate::world::Own;

/// Stops a server that has answered, and sees that it stops well.
fn stops(mut server: Own) {
    let address = server.address.replace("0.0.0.0", "127.0.0.1");
    assert_eq!(Client::new(&address).get("/ready").status, 200);
    assert_eq!(server.stop().code(), Some(0));
}

/// Half a secret and half a secret.
const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn serve(data: &Path, listen: &str) -> Command {
    let mut command = on_backend("serve", data, &[]);
    command.args(["--listen", listen]).env("LATCHKEY_LOG", "warn");
    command
}

/// Runs a start that must fail, and gives what it says.
fn refused(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}{said}");
    assert_eq!(said, "", "nothing is announced that does not come");
    assert!(message.starts_with("error: "), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(!message.contains("panicked"), "{message}");
    message
}

#[test]
fn a_second_server_on_one_directory_is_refused_until_the_first_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let mut first = Server::start(directory.path());
    for _ in 0..2 {
        let message = refused(&mut serve(directory.path(), "127.0.0.1:0"));
        assert!(message.contains(&format!("in use by process {}", first.id())), "{message}");
        assert!(message.contains(&directory.path().display().to_string()), "{message}");
    }
    assert_eq!(first.client().get("/ready").status, 200, "the first does not mind");
    let mut call = latchkey();
    call.args(["call", "QC-01", "lockerId=L1", "--as", "dev", "--data"]).arg(directory.path());
    assert!(refused(&mut call).contains("in use by process"), "nor may a call open it");
    assert_eq!(first.stop().code(), Some(0));
    let second = Server::start(directory.path());
    assert_eq!(second.client().get("/ready").status, 200);
}

#[test]
fn a_port_in_use_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let message = refused(&mut serve(directory.path(), &address));
    assert!(message.contains(&format!("cannot listen on {address}")), "{message}");
    assert!(message.to_lowercase().contains("in use"), "{message}");
    drop(taken);
    let server = Own::start(&mut serve(directory.path(), &address));
    assert_eq!(server.address, address);
    stops(server);
}

#[test]
fn the_development_secret_is_for_loopback_alone() {
    let directory = tempfile::tempdir().unwrap();
    for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let message = refused(&mut serve(directory.path(), listen));
        assert!(message.contains("LATCHKEY_SECRET"), "{message}");
    }
    for listen in ["127.0.0.1:0", "127.0.0.2:0"] {
        stops(Own::start(&mut serve(directory.path(), listen)));
    }
}

#[test]
fn with_a_secret_of_its_own_it_listens_everywhere() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = serve(directory.path(), "0.0.0.0:0");
    let server = Own::start(command.env("LATCHKEY_SECRET", SECRET));
    assert!(!server.greeting.contains("token"), "no token is given away: {}", server.greeting);
    let files = std::fs::read_dir(directory.path()).unwrap();
    let names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name == "development-secret"), "{names:?}");
    let token = |secret: &str| {
        let mut command = latchkey();
        command.args(["token", "--sub", "alice", "--data"]).arg(directory.path());
        let output = command.env("LATCHKEY_SECRET", secret).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let address = server.address.replace("0.0.0.0", "127.0.0.1");
    let status = |token: &str| Client::new(&address).with_token(token).get("/lockers/L1").status;
    assert_eq!(status(&token(SECRET)), 404, "known, and nothing there");
    let other: String = SECRET.chars().rev().collect();
    assert_eq!(status(&token(&other)), 401, "signed by someone else");
    stops(server);
}

#[test]
fn a_clock_that_callers_set_is_for_loopback_alone() {
    let directory = tempfile::tempdir().unwrap();
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let mut command = serve(directory.path(), listen);
        let message = refused(command.arg("--test-clock").env("LATCHKEY_SECRET", SECRET));
        assert!(message.contains("--test-clock"), "{message}");
    }
}

#[test]
fn a_short_secret_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for secret in ["short", &SECRET[..31]] {
        for listen in ["127.0.0.1:0", "0.0.0.0:0"] {
            let mut command = serve(directory.path(), listen);
            let message = refused(command.env("LATCHKEY_SECRET", secret));
            assert!(message.contains("32 bytes"), "{message}");
            assert!(!message.contains(secret), "a secret is not shown: {message}");
        }
    }
    let mut command = serve(directory.path(), "127.0.0.1:0");
    stops(Own::start(command.env("LATCHKEY_SECRET", SECRET)));
}

#[test]
fn what_is_no_data_directory_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "no directory").unwrap();
    let message = refused(&mut serve(&file, "127.0.0.1:0"));
    assert!(message.contains(&file.display().to_string()), "{message}");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    std::fs::write(file.join("store.redb"), "no store").unwrap();
    let message = refused(&mut serve(&file, "127.0.0.1:0"));
    assert!(message.contains("chmod -R go-rwx"), "others may read it: {message}");
    for (path, mode) in [(&file, 0o700), (&file.join("store.redb"), 0o600)] {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    let message = refused(&mut serve(&file, "127.0.0.1:0"));
    assert!(message.contains("store.redb"), "{message}");
    assert_eq!(std::fs::read(file.join("store.redb")).unwrap(), b"no store", "it is left alone");
}
