//! `latchkey test --dynamodb`: on a table of its own, which does not outlive it.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::serve::services::{Kind, Service};
use crate::world::{World, on_each};

/// The tables that examples have made. Others may run theirs at the same time, on a service that is shared.
fn tables(service: &Service) -> Vec<String> {
    let listed = service.ask("ListTables", &json!({}));
    let names = listed["TableNames"].as_array().unwrap().iter();
    let names = names.map(|name| name.as_str().unwrap().to_owned());
    names.filter(|name| name.starts_with("latchkey-test-")).collect()
}

#[test]
fn examples_run_on_a_table_that_is_removed_whatever_comes_of_them() {
    on_each(|service| {
        let world = World::new();
        let text = std::fs::read_to_string(world.path().join("doors.md")).unwrap();
        world.write(
            "wrong.md",
            &text.replace("200 {\"doorId\": \"D1\"}", "200 {\"doorId\": \"D2\"}"),
        );
        let before = tables(service);
        let run = |document: &str| {
            world.run(&["test", document, "--dynamodb", "--endpoint", service.endpoint()])
        };
        run("doors.md").is(0, &["doors.md: 1 example, 4 requests, all as they say"]);
        // Twice: the second finds nothing of the first.
        run("doors.md").is(0, &["all as they say"]);
        run("wrong.md").is(1, &["1 is not as it says"]);
        let left: Vec<_> =
            tables(service).into_iter().filter(|name| !before.contains(name)).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    });
}

const BOUNDS: &str = r##"# Bounds
```contract
system bounds
table Bounds { type T }
entity Seat "S" {
  PK = "S#{id}"
  SK = "S"
  id id, left int 0.. = 1, weight number = 99999999999999999999999999999999999999, tags set(1) of id?
}
contract C-0 "make" {
  POST /seats
  input id id
  allow true
  r = put Seat { id } if absent else 409 there
  return 201 r
  consistency strong
  expect 1 item
  rate 1/s
}
contract C-1 "take" {
  POST /seats/{id}/take
  allow true
  waive drift "x"
  r = update Seat set left = .left - 1 else 404 not-found
  return r
  consistency strong
  expect 1 item
  rate 1/s
}
contract C-2 "tag" {
  POST /seats/{id}/tag
  input tag id
  allow true
  r = update Seat add tags = tag else 404 not-found
  return r
  consistency strong
  expect 1 item
  rate 1/s
}
contract C-3 "weigh" {
  POST /seats/{id}/weigh
  input by number
  allow true
  waive drift "x"
  r = update Seat set weight = .weight + by else 404 not-found
  return r
  consistency strong
  expect 1 item
  rate 1/s
}
```
```example
as u
POST /seats {"id":"1"}
201
POST /seats/1/take
200 {"left":0}
POST /seats/1/take
400 {"code":"invalid-input"}
POST /seats/1/tag {"tag":"a"}
200
POST /seats/1/tag {"tag":"b"}
400 {"code":"invalid-input"}
POST /seats/2/tag {"tag":"b"}
404
POST /seats/1/weigh {"by":0.1}
400 {"code":"not-computable"}
```
"##;

// A full set was a 404 on a service that does not tell what a write was refused for, and a sum of too many digits was
// `invalid-input`.
#[test]
fn what_leaves_its_bounds_is_a_400_on_every_service() {
    on_each(|service| {
        let world = World::new();
        world.write("bounds.md", BOUNDS);
        let test = ["test", "bounds.md", "--dynamodb", "--endpoint", service.endpoint()];
        world.run(&test).is(0, &["all as they say"]);
    });
}

#[test]
fn a_run_that_is_stopped_removes_its_table_too() {
    let (world, service) = (World::new(), Service::start(Kind::Dynoxide, 0, None));
    let text = std::fs::read_to_string(world.path().join("doors.md")).unwrap();
    let long = "GET /doors/D1\n200 {\"doorId\": \"D1\"}\n\n".repeat(20_000);
    let first = "GET /doors/D1\n200 {\"doorId\": \"D1\"}\n\n";
    world.write("long.md", &text.replacen(first, &long, 1));
    for signal in ["-INT", "-TERM"] {
        let mut command =
            world.command(&["test", "long.md", "--dynamodb", "--endpoint", service.endpoint()]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while tables(&service).is_empty() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("stopped"), "{told}");
        assert_eq!(tables(&service), [""; 0], "left behind after {signal}");
    }
}

#[test]
fn a_service_that_is_away_is_told_and_nothing_is_left_behind() {
    let world = World::new();
    let done = world.run(&["test", "doors.md", "--dynamodb", "--endpoint", "http://127.0.0.1:1"]);
    done.is(2, &["DynamoDB at http://127.0.0.1:1", "cannot be reached"]);
    assert!(!done.errors.contains("left behind"), "{}", done.errors);
}
