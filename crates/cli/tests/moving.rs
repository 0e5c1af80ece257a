//! What `import` and `examine` tell of items that are not as the document says.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use std::path::Path;
use std::process::Command;

const DOCUMENT: &str = r#"
```contract
system visits
table Visits { type kind
  index ByState { holds keys }
}
entity Visit "VISIT" {
  PK = "DOOR#{door}"
  SK = "AT#{at}"
  door id, at time, n int, state OPEN | SHUT
  index ByState moves { PK = "STATE#{state}" SK = "{at}#{door}" }
}
contract V-01 "Visits of a state" {
  GET /states/{state}
  allow true
  visits = query Visit by ByState where PK = "STATE#{state}" page 10
  return visits { door, at }
  consistency eventual
  expect 0.. items
  rate 1/s
}
contract V-02 "Visit" {
  POST /doors/{door}
  input n int
  allow true
  visit = put Visit { door, at = now, n, state = OPEN } if absent else 409 taken
  return 201 visit
  consistency strong
  expect 1 item
  rate 1/s
}
```
"#;

/// Runs a command in a directory. Returns its exit code, and what it says.
fn run(directory: &Path, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latchkey"));
    let output = command.args(arguments).current_dir(directory).output().unwrap();
    let told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.code().unwrap(), told)
}

/// A directory with the document and files of lines.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("visits.md"), DOCUMENT).unwrap();
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    directory
}

/// A visit whose line has this time, without its keys in the index.
fn visit(at: &str, n: u32) -> String {
    format!(
        r#"{{"Item":{{"PK":{{"S":"DOOR#d"}},"SK":{{"S":"AT#{at}"}},"kind":{{"S":"VISIT"}},"door":{{"S":"d"}},"at":{{"S":"{at}"}},"n":{{"N":"{n}"}},"state":{{"S":"OPEN"}}}}}}"#
    )
}

// The second file replaced the item of the first, and nobody was told.
#[test]
fn an_item_that_gets_the_key_of_another_is_refused() {
    let (one, other) =
        (visit("2026-03-01T10:00:00.000Z", 1), visit("2026-03-01T11:00:00+01:00", 5));
    let directory = directory(&[("one.json", &one), ("other.json", &other)]);
    let import = |from: &str| {
        let fixed = ["import", "visits.md", "--data", "data", "--convert", "--merge", "--from"];
        run(directory.path(), &[&fixed, [from].as_slice()].concat())
    };
    let (code, told) = import("one.json");
    assert_eq!(code, 0, "{told}");
    let (code, told) = import("other.json");
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("line 1: its key becomes that of another item"), "{told}");
    let (_, told) =
        run(directory.path(), &["export", "visits.md", "--data", "data", "--out", "all.json"]);
    let all = std::fs::read_to_string(directory.path().join("all.json"));
    assert!(all.unwrap().contains(r#""n":{"N":"1"}"#), "{told}");
    // The same item again, as an import does that goes on.
    let again = visit("2026-03-01T11:00:00+01:00", 1);
    std::fs::write(directory.path().join("other.json"), again).unwrap();
    let (code, told) = import("other.json");
    assert_eq!(code, 0, "{told}");
}

// Both commands called the table clean, and V-01 answered the item as a visit.
#[test]
fn an_item_that_an_index_holds_by_mistake_is_told() {
    let stray = r#"{"Item":{"PK":{"S":"LOG#1"},"SK":{"S":"LOG"},"kind":{"S":"LOG"},"ByStatePK":{"S":"STATE#OPEN"},"ByStateSK":{"S":"x"}}}"#;
    let taken = stray
        .replace("LOG#1", "DOOR#d")
        .replace(r#"{"S":"LOG"},"kind""#, r#"{"S":"AT#2026-03-01T10:00:00.000Z"},"kind""#);
    let directory = directory(&[("stray.json", stray), ("taken.json", &taken)]);
    let import = |from: &str, how: &str| {
        let fixed = ["import", "visits.md", "--data", "data", "--merge", "--from"];
        run(directory.path(), &[&fixed, [from, how].as_slice()].concat())
    };
    let told_of =
        "1 item of no entity in index `ByState`: contracts that ask it read it and pass it over";
    let (code, told) = import("stray.json", "--foreign");
    assert!(code == 0 && told.contains(told_of), "{told}");
    let (code, told) = run(directory.path(), &["examine", "visits.md", "--data", "data"]);
    assert!(code == 0 && told.contains(told_of), "{told}");
    let (code, told) = import("taken.json", "--foreign");
    assert!(code == 2 && told.contains("and it has the key of a `Visit`"), "{told}");
    let (code, told) = import("taken.json", "--as-is");
    assert_eq!(code, 0, "{told}");
    let (code, told) = run(directory.path(), &["examine", "visits.md", "--data", "data"]);
    assert!(code == 1 && told.contains("contracts that ask it take it for another"), "{told}");
}
