//! From one store to another, and back.

use std::io::Write as _;
use std::process::Stdio;

use crate::{Place, SERVICES, awkward, done, file, plain, sorted, write};
use latchkey_testing::services::{Kind, Service};

/// Empty texts are refused by the DynamoDB Local we have, which is older than they are.
fn items(kind: Kind) -> Vec<String> {
    match kind {
        Kind::DynamoDbLocal => awkward::items(),
        Kind::Dynoxide => [awkward::items(), awkward::empty()].concat(),
    }
}

#[test]
fn a_table_comes_back_to_this_machine_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second) = (file(&directory, "first.json"), file(&directory, "second.json"));
    let items = [awkward::items(), awkward::empty()].concat();
    write(&first, &(items.join("\n") + "\n"));
    let here = Place::here(&file(&directory, "a"));
    done(&mut here.import(&first));
    done(&mut here.export(&second));
    let exported = std::fs::read_to_string(&second).unwrap();
    let mut expected: Vec<&str> = items.iter().map(String::as_str).collect();
    expected.sort_unstable();
    for (found, expected) in sorted(&exported).iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(exported.lines().count(), items.len());
    let again = Place::here(&file(&directory, "b"));
    done(&mut again.import(&second));
    assert_eq!(again.lines(), exported, "on this machine the order is that of the keys");
}

#[test]
fn a_table_moves_to_dynamodb_and_back_byte_for_byte() {
    for kind in SERVICES {
        let service = Service::of(kind);
        let directory = tempfile::tempdir().unwrap();
        let names = ["here.json", "there.json", "back.json"].map(|name| file(&directory, name));
        let [here_json, there_json, back_json] = &names;
        let here = Place::here(&file(&directory, "here"));
        let source = file(&directory, "source.json");
        write(&source, &(items(kind).join("\n") + "\n" + &plain(3000, 200)));
        done(&mut here.import(&source));
        done(&mut here.export(here_json));
        let there = Place::there(&service);
        done(&mut there.import(here_json));
        done(&mut there.export(there_json));
        let back = Place::here(&file(&directory, "back"));
        done(&mut back.import(there_json));
        done(&mut back.export(back_json));
        let [here, there, back] = names.map(|name| std::fs::read_to_string(name).unwrap());
        assert_eq!(here.lines().count(), items(kind).len() + 3000);
        assert!(sorted(&here) == sorted(&there), "{}: sorted, they differ", kind.name());
        assert!(here == back, "{}: back on this machine, they differ", kind.name());
    }
}

#[test]
fn what_a_service_does_not_take_is_told_with_its_line() {
    let service = Service::dynamodb_local();
    let directory = tempfile::tempdir().unwrap();
    let source = file(&directory, "source.json");
    let empty = awkward::empty();
    write(&source, &format!("{}{}\n{}", plain(40, 10), empty[0], plain(40, 11)));
    let there = Place::there(&service);
    let told = crate::refused(&mut there.import(&source));
    assert!(told.contains("line 41") && told.contains("empty string"), "{told}");
    // Mended, it goes on, and nothing is missing.
    let mended = format!("{}{}", plain(40, 10), plain(80, 12));
    write(&source, &mended);
    done(&mut there.import(&source));
    assert_eq!(sorted(&there.lines()), sorted(&plain(80, 12)));
}

#[test]
fn standard_input_and_output_do_as_well() {
    let directory = tempfile::tempdir().unwrap();
    let here = Place::here(&file(&directory, "here"));
    let text = plain(100, 10);
    let mut import = here.import("-".as_ref());
    let mut child = import.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(here.lines(), text);
    let names: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "nothing but the store is left: {names:?}");
}

#[test]
fn an_empty_table_is_an_empty_file() {
    let directory = tempfile::tempdir().unwrap();
    let (empty, out) = (file(&directory, "empty.json"), file(&directory, "out.json"));
    write(&empty, "");
    let here = Place::here(&file(&directory, "here"));
    done(&mut here.import(&empty));
    done(&mut here.export(&out));
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "");
}

/// A system whose own items are in a second table: the key of its own is a number alone.
const COUNTERS: &str = r#"```contract
system counters
table Counters { type kind  PK number number }
entity Counter "COUNTER" {
  PK = "{number}"
  number int 1..9, count int 0.. = 0
}
queue bells {
  number int 1..9
}
contract MAKE "Make" {
  POST /counters
  input number int 1..9
  allow true
  transact {
    made = put Counter { number } if absent else 409 taken
    send bells { number } at now + 60d
  }
  return 201 made
  consistency strong
  expect 1 item
  rate 1/s
}
worker RING "Ring" {
  on bells { number }
  counter = get Counter strong else done
  update counter set count = 1 if .count == 0 else done
  done
  consistency strong
  expect 1 item
  rate 1/s
}
```
"#;

/// The arguments of a command on the counters.
fn counters(verb: &[&str], place: &[String]) -> std::process::Command {
    let mut command = crate::latchkey();
    command.args(verb).args(place);
    command
}

#[test]
fn the_second_table_goes_along() {
    let directory = tempfile::tempdir().unwrap();
    let document = file(&directory, "counters.md");
    write(&document, COUNTERS);
    let document = document.to_str().unwrap();
    let here =
        |name: &str| vec!["--data".to_owned(), file(&directory, name).to_str().unwrap().to_owned()];
    for number in ["number=1", "number=2"] {
        let mut make = counters(&["call", "MAKE", number, "--as", "ann"], &here("a"));
        done(make.args(["--doc", document]));
    }
    let export = |place: &[String], name: &str| {
        let out = file(&directory, name);
        let verb = ["export", document, "--out", out.to_str().unwrap()];
        let told = done(&mut counters(&verb, place));
        (told, std::fs::read_to_string(out).unwrap())
    };
    let (told, first) = export(&here("a"), "first.json");
    assert!(told.contains("`Counters` and `Counters-latchkey`"), "{told}");
    let is_ours = |line: &&str| line.contains("LATCHKEY#");
    assert_eq!(first.lines().filter(|line| !is_ours(line)).count(), 2, "{first}");
    // Both messages wait in the second table.
    assert!(first.lines().filter(is_ours).count() >= 2, "{first}");
    let from = file(&directory, "first.json");
    let import = |place: &[String]| {
        let verb = ["import", document, "--from", from.to_str().unwrap()];
        counters(&verb, place)
    };
    done(&mut import(&here("b")));
    assert_eq!(export(&here("b"), "second.json").1, first);
    // A table is full if one of the two is.
    let told = crate::refused(&mut import(&here("b")));
    assert!(told.contains("has items"), "{told}");
    for kind in SERVICES {
        let service = Service::of(kind);
        let table = format!("counters=Counters-{}-{}", std::process::id(), kind.name());
        let remote = ["--endpoint", service.endpoint(), "--table", &table].map(str::to_owned);
        done(&mut counters(&["table", "create", document], &remote));
        let there = [vec!["--dynamodb".to_owned()], remote.to_vec()].concat();
        done(&mut import(&there));
        let (_, back) = export(&there, &format!("{}.json", kind.name()));
        assert_eq!(sorted(&back), sorted(&first), "{}", kind.name());
    }
}
