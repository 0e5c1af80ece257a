//! How a server is started, and how it is told to stop.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

const LATCHKEY: &str = env!("CARGO_BIN_EXE_latchkey");

/// A server, or a worker, that has said that it is there.
struct Started {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Started {
    fn by(mut command: Command) -> Started {
        command.env_remove("LATCHKEY_SECRET").env("LATCHKEY_LOG", "warn");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("/metrics") {
            line.clear();
            assert_ne!(output.read_line(&mut line).unwrap(), 0, "it has ended");
        }
        Started { child, output }
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// Waits until it has ended, and gives its exit code and what it said last.
    fn ended(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

#[test]
fn a_hang_up_stops_as_other_signals_do() {
    // A terminal that was closed ended the process at once: no request was finished.
    for kind in ["serve", "work"] {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(LATCHKEY);
        command.args([kind, "--listen", "127.0.0.1:0", "--data"]).arg(directory.path());
        let started = Started::by(command);
        started.signal("-HUP");
        let (code, said) = started.ended();
        assert_eq!(code, Some(0), "{kind}: {said}");
        assert!(said.contains("stopped"), "{kind}: {said}");
    }
}

#[test]
fn a_hang_up_that_is_ignored_stops_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    // As `nohup` does.
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", LATCHKEY]);
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(directory.path());
    let mut started = Started::by(command);
    started.signal("-HUP");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(started.child.try_wait().unwrap().is_none(), "it goes on");
    started.signal("-TERM");
    assert_eq!(started.ended().0, Some(0));
}

/// What a start says that is refused.
fn refused(arguments: &[&str], secret: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(LATCHKEY);
    command.args(["serve", "--data"]).arg(directory.path()).args(arguments);
    let output = command.env("LATCHKEY_SECRET", secret).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn an_address_that_is_none_is_refused_with_an_example() {
    // The message was `invalid socket address syntax`, and no more.
    for flag in ["--listen", "--admin-listen"] {
        for address in ["localhost:8080", "8080", ":8080"] {
            let told = refused(&[flag, address], "0123456789abcdef0123456789abcdef");
            assert!(told.contains(address) && told.contains("such as 127.0.0.1:8080"), "{told}");
        }
    }
}

#[test]
fn nobody_has_so_many_proxies() {
    for proxies in ["17", "99999999999"] {
        let told = refused(&["--proxies", proxies], "0123456789abcdef0123456789abcdef");
        assert!(told.contains("--proxies") && told.contains("0..=16"), "{told}");
    }
}

#[test]
fn a_secret_of_few_characters_is_refused() {
    // 32 times the same character was long enough.
    for secret in ["a".repeat(40), "secret-".repeat(8)] {
        let told = refused(&["--listen", "127.0.0.1:0"], &secret);
        assert!(told.contains("8 different characters"), "{told}");
        assert!(!told.contains(&secret), "a secret is not shown: {told}");
    }
}
