//! Many clients that hold what they are given: file handles and memory.

use std::fs::{self, File};
use std::process::Command;

use crate::serve::backend::on_backend;
use crate::serve::Client;
use crate::wire::Wire;
use crate::world::Own;

/// The command, under limits of the shell that starts it.
fn limited(limits: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{limits}; exec \"$0\" \"$@\"")]).arg(command.get_program());
    shell.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

#[test]
fn more_connections_than_file_handles_lock_nobody_out() {
    // The server had places for 4,096 connections and no handles for them: each newcomer waited until one was found.
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let mut command = on_backend("serve", &directory.path().join("data"), &[]);
    command.args(["--listen", "127.0.0.1:0"]).env("LATCHKEY_LOG", "warn");
    let mut command = limited("ulimit -n 200", &command);
    let mut server = Own::start(command.stderr(File::create(&log).unwrap()));
    let mut idle: Vec<Wire> = (0..400).map(|_| Wire::open(&server.address)).collect();
    for wire in idle.iter_mut().step_by(2) {
        // Some of them are closed by now.
        let _ = wire.send("GET /he");
    }
    for _ in 0..20 {
        assert_eq!(Client::new(&server.address).get("/health").status, 200);
    }
    drop(idle);
    assert_eq!(server.stop().code(), Some(0));
    let log = fs::read_to_string(&log).unwrap();
    assert!(log.contains("ulimit -n"), "whoever runs it is told: {log}");
    assert!(!log.contains("could not be taken"), "{log}");
}
