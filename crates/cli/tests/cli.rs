//! The command as a person or a program meets it.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use std::path::Path;
use std::process::{Command, Output};

const LATCHKEY: &str = env!("CARGO_BIN_EXE_latchkey");

const RIGHT: &str = "# Doors\n```contract\nsystem doors\ntable Doors { type kind }\n\
entity Door \"DOOR\" {\n  PK = \"DOOR#{doorId}\"\n  SK = \"META\"\n  doorId id\n}\n\
contract D-1 \"Get\" {\n  GET /doors/{doorId}\n  door = get Door else 404 not-found\n\
  allow caller owns door.doorId\n  return door\n  consistency eventual\n  expect 1 item\n  rate 1/s\n}\n```\n";

fn latchkey(arguments: &[&str], directory: &Path) -> Output {
    Command::new(LATCHKEY).args(arguments).current_dir(directory).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_right_document_is_told_so() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("doors.md"), RIGHT).unwrap();
    let output = latchkey(&["check", "doors.md"], directory.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "doors.md: 1 entity, 1 contract, no mistakes\n");
    assert!(output.stderr.is_empty());
}

#[test]
fn mistakes_are_shown_with_their_source_and_counted_in_the_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    let wrong = RIGHT.replace("allow caller owns door.doorId\n", "");
    std::fs::write(directory.path().join("doors.md"), &wrong).unwrap();
    let output = latchkey(&["check", "doors.md"], directory.path());
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output.stderr);
    assert!(shown.contains("error[no-allow]: this answers whoever asks"), "{shown}");
    assert!(shown.contains("--> doors.md:13:3"), "{shown}");
    assert!(shown.contains("1 mistake;"), "{shown}");
    // Not a terminal: no colour, unless it is asked for.
    assert!(!shown.contains('\u{1b}'));
    let output = latchkey(&["check", "--color", "always", "doors.md"], directory.path());
    assert!(text(&output.stderr).contains('\u{1b}'));
}

#[test]
fn programs_get_json() {
    let directory = tempfile::tempdir().unwrap();
    let wrong = RIGHT.replace("  rate 1/s\n", "");
    std::fs::write(directory.path().join("doors.md"), &wrong).unwrap();
    let output = latchkey(&["check", "--json", "doors.md"], directory.path());
    assert_eq!(output.status.code(), Some(1));
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(line.pointer("/rule").unwrap(), "undeclared");
    assert_eq!(line.pointer("/from/line").unwrap(), 10);

    std::fs::write(directory.path().join("doors.md"), RIGHT).unwrap();
    let output = latchkey(&["model", "--json", "doors.md"], directory.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let model: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(model.pointer("/contracts/0/route/path").unwrap(), "/doors/{doorId}");
    assert_eq!(model.pointer("/entities/0/key/sort").unwrap(), "META");
    assert!(model.pointer("/contracts/0/idempotentBy").unwrap().is_null());
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../systems/participation.md");
    let output = latchkey(&["model", "--json", shipped], directory.path());
    let model: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let contracts = model.pointer("/contracts").unwrap().as_array().unwrap();
    let by: Vec<_> = contracts
        .iter()
        .filter(|contract| !contract["idempotentBy"].is_null())
        .map(|contract| (&contract["id"], &contract["idempotentBy"]))
        .collect();
    assert_eq!(by, [(&"EP-01".into(), &"IdempotencyLock".into())]);
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_is_checked() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("doors.md"), RIGHT).unwrap();
    std::fs::write(directory.path().join("odd.md"), [0xff, 0xfe]).unwrap();
    let output = latchkey(&["check", "missing.md", "odd.md", "doors.md"], directory.path());
    assert_eq!(output.status.code(), Some(2));
    let shown = text(&output.stderr);
    assert!(shown.contains("cannot read `missing.md`"), "{shown}");
    assert!(shown.contains("`odd.md` is not UTF-8 text"), "{shown}");
    assert!(text(&output.stdout).contains("doors.md: 1 entity"));
}

#[test]
fn without_a_document_the_shipped_ones_are_meant() {
    let directory = tempfile::tempdir().unwrap();
    let shipped = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../systems")).unwrap();
    let shipped = shipped.filter(|entry| {
        entry.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "md")
    });
    let shipped = shipped.count();
    // `check` was the one command that asked for a document.
    let output = latchkey(&["check"], directory.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    assert_eq!(lines.lines().count(), shipped, "{lines}");
    assert!(lines.lines().all(|line| line.ends_with("no mistakes")), "{lines}");
    let output = latchkey(&["model", "--json"], directory.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let models = serde_json::Deserializer::from_slice(&output.stdout);
    let models: Vec<serde_json::Value> = models.into_iter().collect::<Result<_, _>>().unwrap();
    assert_eq!(models.len(), shipped);
}

#[test]
fn help_has_examples() {
    let output = latchkey(&["--help"], Path::new("."));
    let shown = text(&output.stdout);
    assert!(shown.contains("latchkey check doors.md"), "{shown}");
    assert!(shown.contains("Exit codes"), "{shown}");
}
