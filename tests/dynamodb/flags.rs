//! Which flags go together, and which table each system gets.

use crate::world::World;

/// A second document, with the system and the table that are given.
fn windows(system: &str, table: &str) -> String {
    format!(
        "# {system}\n```contract\nsystem {system}\ntable {table} {{ type kind }}\nentity Window \"WINDOW\" {{\n  \
         PK = \"WINDOW#{{windowId}}\"\n  SK = \"META\"\n  windowId id\n}}\ncontract W-01 \"Get\" {{\n  \
         GET /{system}/{{windowId}}\n  window = get Window else 404 not-found\n  \
         allow caller owns window.windowId\n  return window\n  consistency eventual\n  expect 1 item\n  \
         rate 1/s\n}}\n```\n"
    )
}

#[test]
fn flags_that_do_not_go_together_are_refused_and_told_why() {
    let world = World::new();
    world.write("windows.md", &windows("windows", "Windows"));
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let call = ["call", "D-01", "doorId=D1", "--as", "alice"];
    let cases: &[(&[&str], &[&str], &str)] = &[
        (&serve, &["doors.md", "--endpoint", "http://127.0.0.1:1"], "add `--dynamodb`"),
        (
            &serve,
            &["doors.md", "--table", "doors=Doors2"],
            "`--table` is for DynamoDB; add `--dynamodb`",
        ),
        (&call, &["--doc", "doors.md", "--endpoint", "http://127.0.0.1:1"], "add `--dynamodb`"),
        (&["test"], &["doors.md", "--endpoint", "http://127.0.0.1:1"], "add `--dynamodb`"),
        (
            &["test"],
            &["doors.md", "--dynamodb", "--against", "http://127.0.0.1:1"],
            "cannot be used with",
        ),
        (
            &serve,
            &["doors.md", "--dynamodb", "--table", "Doors"],
            "`--table Doors` is not SYSTEM=NAME",
        ),
        (
            &serve,
            &["doors.md", "windows.md", "--dynamodb", "--table", "gates=Gates"],
            "there is no system `gates`; there are: doors, windows",
        ),
        (
            &serve,
            &["doors.md", "--dynamodb", "--table", "doors=One", "--table", "doors=Two"],
            "`--table` names the table of `doors` twice",
        ),
        (
            &serve,
            &["doors.md", "windows.md", "--dynamodb", "--table", "doors=Windows"],
            "`doors` and `windows` would share table `Windows`",
        ),
        (&serve, &["doors.md", "--dynamodb", "--table", "doors=no"], "`no`"),
        (&serve, &["doors.md", "--dynamodb", "--table", "doors="], "3 to 255"),
        (
            &serve,
            &["doors.md", "--dynamodb", "--endpoint", "127.0.0.1:8000"],
            "not an address such as http://",
        ),
        (
            &serve,
            &["doors.md", "--dynamodb", "--endpoint", "ftp://here"],
            "not an address such as http://",
        ),
        (&["table", "diff"], &["doors.md", "--table", "gates=G"], "there is no system `gates`"),
        (
            &["table", "cloudformation"],
            &["doors.md", "--table", "gates=G"],
            "there is no system `gates`",
        ),
    ];
    for (command, arguments, said) in cases {
        let done = world.run(&[*command, *arguments].concat());
        assert_eq!(done.code, Some(2), "{arguments:?}: {done:?}");
        assert!(done.errors.contains(said), "{arguments:?} is not told `{said}`: {}", done.errors);
    }
}

#[test]
fn a_table_named_by_the_environment_is_for_a_lone_system() {
    let world = World::new().with("DYNAMODB_TABLE_NAME", "given-here");
    world.write("windows.md", &windows("windows", "Windows"));
    let template =
        |arguments: &[&str]| world.run(&[&["table", "cloudformation"], arguments].concat());

    template(&["doors.md"]).is(0, &["TableName: 'given-here'"]);
    // A flag wins.
    let done = template(&["doors.md", "--table", "doors=by-flag"]);
    done.is(0, &["TableName: 'by-flag'"]);
    assert!(!done.output.contains("given-here"), "{}", done.output);
    // Two systems cannot both have it, even if one of them has a table of its own.
    for tables in [&[][..], &["--table", "doors=by-flag"]] {
        let done = template(&[&["doors.md", "windows.md"], tables].concat());
        done.is(2, &["DYNAMODB_TABLE_NAME is `given-here`", "=NAME"]);
    }
    let both = ["doors.md", "windows.md", "--table", "doors=one-1", "--table", "windows=two-2"];
    template(&both).is(0, &["TableName: 'one-1'", "TableName: 'two-2'"]);
    // Empty is as good as unset.
    let world = world.with("DYNAMODB_TABLE_NAME", "");
    world.run(&["table", "cloudformation", "doors.md"]).is(0, &["TableName: 'Doors'"]);
}

#[test]
fn every_command_says_how_it_is_used() {
    let world = World::new();
    let commands: &[&[&str]] = &[
        &["table"],
        &["table", "create"],
        &["table", "describe"],
        &["table", "diff"],
        &["table", "cloudformation"],
    ];
    for command in commands {
        let done = world.run(&[*command, &["--help"]].concat());
        done.is(0, &["Examples:", &format!("latchkey {}", command.join(" "))]);
    }
    for command in ["serve", "call", "test"] {
        world.run(&[command, "--help"]).is(0, &["--dynamodb", "--endpoint"]);
    }
}
