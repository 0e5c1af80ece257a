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
