//! Export and import, as people run them: from one store to another and back, killed half-way, and on input
//! that is not what it should be.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a test that goes wrong should fail, where it went wrong"
)]

mod awkward;
mod kill;
mod memory;
mod moving;
mod part;
mod refusals;
mod service;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use latchkey_testing::services::{ENVIRONMENT, Kind, Service};

/// A document with one index: the language's own reference.
fn document() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/language.md")
}

/// A table on this machine, or of a service.
#[derive(Clone)]
struct Place {
    flags: Vec<String>,
}

impl Place {
    fn here(directory: &Path) -> Place {
        Place { flags: vec!["--data".to_owned(), directory.display().to_string()] }
    }

    /// A new table of a service.
    fn there(service: &Service) -> Place {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let nanos = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos();
        let table = format!("depot=Transfer-{}-{nanos}-{count}", std::process::id());
        let remote =
            ["--endpoint".to_owned(), service.endpoint().to_owned(), "--table".to_owned(), table];
        let mut create = latchkey();
        let made = create.args(["table", "create", document()]).args(&remote).output().unwrap();
        assert!(made.status.success(), "{}", told(&made));
        let flags = [vec!["--dynamodb".to_owned()], remote.to_vec()].concat();
        Place { flags }
    }

    /// Loads lines of whatever items a table can hold.
    fn import(&self, from: &Path) -> Command {
        let mut command = self.import_checked(from);
        command.arg("--as-is");
        command
    }

    /// Loads lines that are held to the document.
    fn import_checked(&self, from: &Path) -> Command {
        let mut command = latchkey();
        command.args(["import", document(), "--from"]).arg(from).args(&self.flags);
        command
    }

    fn export(&self, out: &Path) -> Command {
        let mut command = latchkey();
        command.args(["export", document(), "--out"]).arg(out).args(&self.flags);
        command
    }

    /// Every line of the table, as a new export has them.
    fn lines(&self) -> String {
        let output = self.export(Path::new("-")).output().unwrap();
        assert!(output.status.success(), "{}", told(&output));
        String::from_utf8(output.stdout).unwrap()
    }
}

fn latchkey() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latchkey-under-test"));
    for variable in ["LATCHKEY_SECRET", "DYNAMODB_TABLE_NAME", "AWS_ENDPOINT_URL_DYNAMODB"] {
        command.env_remove(variable);
    }
    command.envs(ENVIRONMENT);
    command
}

/// What it said to people.
fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a command that must succeed.
fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", told(&output));
    told(&output)
}

/// Runs a command that must be refused, and says how.
fn refused(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{command:?}: {}", told(&output));
    told(&output)
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// Where files of a name are in a directory.
fn file(directory: &tempfile::TempDir, name: &str) -> PathBuf {
    directory.path().join(name)
}

/// Plain items, in the order of their keys: so many, each with so many bytes beside its key.
fn plain(count: usize, bytes: usize) -> String {
    let note = "x".repeat(bytes);
    let line = |at: usize| {
        format!(
            "{{\"Item\":{{\"PK\":{{\"S\":\"P#{:03}\"}},\"SK\":{{\"S\":\"{at:08}\"}},\"note\":{{\"S\":\"{note}\"}}}}}}\n",
            at / 10_000
        )
    };
    (0..count).map(line).collect()
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}

const SERVICES: [Kind; 2] = [Kind::DynamoDbLocal, Kind::Dynoxide];
