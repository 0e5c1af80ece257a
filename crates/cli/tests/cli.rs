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
    assert!(shown.contains("error[no-allow]: this answers any caller"), "{shown}");
    assert!(shown.contains("--> doors.md:13:3"), "{shown}");
    assert!(shown.contains("1 mistake;"), "{shown}");
    // Not a terminal: no colour, unless it is asked for.
    assert!(!shown.contains('\u{1b}'));
    let output = latchkey(&["check", "--color", "always", "doors.md"], directory.path());
    assert!(text(&output.stderr).contains('\u{1b}'));
}

/// An input that nothing uses, which is a warning.
fn doubtful() -> String {
    RIGHT.replace("  door = get", "  input hue text(9)?\n  door = get")
}

#[test]
fn a_document_with_warnings_passes_unless_they_are_denied() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("doors.md"), doubtful()).unwrap();
    let output = latchkey(&["check", "doors.md"], directory.path());
    let shown = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(shown.contains("warning[unused]: nothing uses the input `hue`"), "{shown}");
    assert!(shown.contains("1 warning;"), "{shown}");
    assert_eq!(text(&output.stdout), "doors.md: 1 entity, 1 contract, no mistakes, 1 warning\n");
    let output = latchkey(&["check", "--deny", "warnings", "doors.md"], directory.path());
    assert_eq!(output.status.code(), Some(1));
    let output = latchkey(&["check", "--json", "doors.md"], directory.path());
    assert_eq!(output.status.code(), Some(0));
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(line.pointer("/level").unwrap(), "warning");
    // A document with warnings is run.
    let output = latchkey(&["test", "doors.md"], directory.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = latchkey(&["model", "--json", "doors.md"], directory.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_document_with_warnings_is_served_and_the_log_has_them() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("doors.md"), doubtful()).unwrap();
    // The document is read; then the server stops, for it would serve others with the development secret.
    let arguments = ["serve", "doors.md", "--data", "data", "--listen", "0.0.0.0:0"];
    let output = latchkey(&arguments, directory.path());
    assert_eq!(output.status.code(), Some(2));
    let shown = text(&output.stderr);
    let line = shown.lines().find(|line| line.contains("nothing uses the input")).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(line.pointer("/rule").unwrap(), "unused", "{shown}");
    assert_eq!(line.pointer("/place").unwrap(), "doors.md:12:9", "{shown}");
}

#[test]
fn what_nothing_uses_is_not_told_beside_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let wrong = doubtful().replace("allow caller owns door.doorId\n", "");
    std::fs::write(directory.path().join("doors.md"), &wrong).unwrap();
    let output = latchkey(&["check", "doors.md"], directory.path());
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output.stderr);
    assert!(shown.contains("error[no-allow]"), "{shown}");
    assert!(!shown.contains("unused"), "{shown}");
    assert!(shown.contains("1 mistake;"), "{shown}");
}

#[test]
fn an_unused_input_is_waived_above_it() {
    let directory = tempfile::tempdir().unwrap();
    let waived =
        doubtful().replace("  input hue", "  waive unused \"old apps send it\"\n  input hue");
    std::fs::write(directory.path().join("doors.md"), waived).unwrap();
    let output = latchkey(&["check", "--deny", "warnings", "doors.md"], directory.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
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
    let output = latchkey(&["serve", "--help"], Path::new("."));
    let shown = text(&output.stdout);
    for example in
        ["--oidc https://", "--jwks keys.json", "--cors https://", "--limit-per-caller '"]
    {
        let example = format!("latchkey serve doors.md {example}");
        assert!(shown.contains(&example), "{example}: {shown}");
    }
}

/// The command without the secret of a deployment.
fn without_secret(arguments: &[&str], directory: &Path) -> Output {
    let mut command = Command::new(LATCHKEY);
    command.args(arguments).current_dir(directory).env_remove("LATCHKEY_SECRET").output().unwrap()
}

#[test]
fn a_token_needs_the_secret_of_a_server() {
    // A directory that was spelled wrong was made, with a secret that no server has.
    let directory = tempfile::tempdir().unwrap();
    let output = without_secret(&["token", "--sub", "alice", "--data", "dors"], directory.path());
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(told.contains("there is no secret in `dors`"), "{told}");
    assert!(!directory.path().join("dors").exists());
    let mut command = Command::new(LATCHKEY);
    command.args(["token", "--sub", "alice", "--data", "dors"]).current_dir(directory.path());
    let output = command.env("LATCHKEY_SECRET", "0123456789abcdef0123456789abcdef").output();
    assert!(output.unwrap().status.success(), "the secret of a deployment needs no directory");
    assert!(!directory.path().join("dors").exists());
}

#[test]
fn a_role_that_no_document_has_is_refused() {
    // A role that was spelled wrong made a token that opened nothing.
    let directory = tempfile::tempdir().unwrap();
    let roles = RIGHT.replace("entity Door", "role operator\nentity Door");
    let roles = roles.replace("owns door.doorId", "owns door.doorId or caller is operator");
    std::fs::write(directory.path().join("doors.md"), roles).unwrap();
    std::fs::create_dir(directory.path().join("data")).unwrap();
    let secret = directory.path().join("data/development-secret");
    std::fs::write(&secret, "0123456789abcdef0123456789abcdef").unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&secret, private).unwrap();
    let with = |role: &str, rest: &[&str]| {
        let start = ["token", "--sub", "dana", "--data", "data", "--role", role];
        let output = without_secret(&[&start, rest].concat(), directory.path());
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, token, told) = with("operater", &["--doc", "doors.md"]);
    assert_eq!((code, token.as_str()), (Some(2), ""));
    assert_eq!(told, "error: there is no role `operater`; the documents have operator\n");
    let (code, token, told) = with("operator", &["--doc", "doors.md"]);
    assert_eq!((code, told.as_str()), (Some(0), ""));
    assert_eq!(token.matches('.').count(), 2, "{token}");
    // Without a document nobody knows, and that is said beside the token.
    let (code, token, told) = with("operater", &[]);
    assert_eq!((code, token.matches('.').count()), (Some(0), 2));
    assert!(told.starts_with("note: no document was given"), "{told}");
    let start = ["call", "D-1", "doorId=D1", "--as", "dana", "--doc", "doors.md"];
    let rest = ["--data", "data", "--role", "operater"];
    let output = without_secret(&[start.as_slice(), &rest].concat(), directory.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("there is no role `operater`"));
}

#[test]
fn a_level_of_the_log_that_is_none_is_refused() {
    // It was taken for `info`.
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(LATCHKEY);
    command.args(["serve", "--listen", "127.0.0.1:0"]).current_dir(directory.path());
    let output = command.env("LATCHKEY_LOG", "latchkey=loud").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(told.contains("LATCHKEY_LOG is `latchkey=loud`"), "{told}");
    // A word that is no level was taken for a target, and silenced all others.
    let allowed = "is no level; give off, error, warn, info, debug or trace, or TARGET=LEVEL";
    for (level, hint) in [("wran", "; did you mean `warn`?"), ("bogus", ""), ("info,99", "")] {
        let output = command.env("LATCHKEY_LOG", level).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{level}");
        let told = text(&output.stderr);
        assert!(told.ends_with(&format!("{allowed}{hint}\n")), "{told}");
    }
}

#[test]
fn an_export_to_a_directory_is_refused_at_the_beginning() {
    // It wrote everything beside the directory, and failed at the end.
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("doors.md"), RIGHT).unwrap();
    std::fs::create_dir(directory.path().join("out")).unwrap();
    let arguments = ["export", "doors.md", "--data", "data", "--restart", "--out", "out"];
    let output = latchkey(&arguments, directory.path());
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stderr), "error: `out` is a directory; name a file\n");
    assert!(!directory.path().join("out.part").exists());
}

#[test]
fn a_worker_says_when_it_makes_a_new_store() {
    // A data directory that was spelled wrong was made without a word.
    let directory = tempfile::tempdir().unwrap();
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../systems/participation.md");
    let mut command = Command::new(LATCHKEY);
    command.args(["work", document, "--data", "typo"]).current_dir(directory.path());
    let mut worker = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut log = String::new();
    let stderr = worker.stderr.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stderr), &mut log).unwrap();
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert!(log.contains("has no store yet, so a new one is made in it"), "{log}");
}

const TILLS: &str = include_str!("../../race/tests/tills.md");

#[test]
fn a_race_is_told_with_its_schedule_and_the_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("tills.md"), TILLS).unwrap();
    let output = latchkey(&["race", "tills.md"], directory.path());
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{told}{}", text(&output.stderr));
    assert!(
        told.starts_with("tills.md: 2 of 2 contracts and workers, ")
            && told.contains("nothing is lost"),
        "{told}"
    );
    assert!(output.stderr.is_empty(), "progress is for terminals: {}", text(&output.stderr));

    // The payment rests on what it has read, and nothing pins that.
    let wrong = TILLS.replace("left = .left - amount", "left = till.left - amount");
    let wrong = wrong.replace("if unchanged else retry", "else 404 gone");
    std::fs::write(directory.path().join("tills.md"), wrong).unwrap();
    let output = latchkey(&["race", "tills.md"], directory.path());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("error[unpinned]"), "{}", text(&output.stderr));
    let output = latchkey(&["race", "tills.md", "PAY", "--without", "unpinned"], directory.path());
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}");
    for part in
        ["loss: PAY beside itself", "A: PAY as ", "get TILL#t/META", "wrong: ", "B reads this here"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    let output = latchkey(&["race", "tills.md", "NONE"], directory.path());
    assert_eq!(output.status.code(), Some(2));
    let output = latchkey(&["race", "tills.md", "--without", "type"], directory.path());
    assert_eq!(output.status.code(), Some(2), "a rule without which nothing runs stays on");
}

#[test]
fn a_race_search_of_nothing_is_no_success() {
    let directory = tempfile::tempdir().unwrap();
    let document = r#"# Cars
```contract
system cars
table Cars { type kind }
entity Car "CAR" {
  PK = "CAR#{plate}"
  SK = "META"
  plate id
}
contract PARK "Park a car" {
  PUT /cars/{plate}
  input word text(20)
  allow true
  require word == "sesame" else 409 wrong-word
  car = put Car { plate } if absent else 409 there
  return 201 car
  consistency strong
  expect 1 item
  rate 1/s
}
```
"#;
    std::fs::write(directory.path().join("cars.md"), document).unwrap();
    let output = latchkey(&["race", "cars.md"], directory.path());
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}{}", text(&output.stderr));
    assert!(told.starts_with("cars.md: 0 of 1 contracts and workers, "), "{told}");
    assert!(told.contains("nothing was searched\nPARK was not searched: no call of it"), "{told}");
}
