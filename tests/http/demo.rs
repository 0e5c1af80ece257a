//! `serve --demo`: the shipped systems filled, at work, and stopped; and what is refused.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::serve::{Client, greeting, latchkey, until};

/// Answers that the demos are written to get, of each system the rarest among them.
const ANSWERED: [(&str, &str); 10] = [
    ("LOC-01", "409"),
    ("LOC-05", "403"),
    ("LOC-07", "200"),
    ("EP-01", "200"),
    ("EP-01", "202"),
    ("EP-01", "409"),
    ("AD-07", "403"),
    ("QC-01", "403"),
    ("QC-04", "201"),
    ("QC-16", "409"),
];

/// How many answers of a contract the metrics count.
fn answers(metrics: &str, contract: &str, status: &str) -> u64 {
    let label = format!("contract=\"{contract}\",status=\"{status}\"");
    let line = metrics.lines().find(|line| line.contains(&label));
    line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
}

fn items(client: &mut Client, path: &str) -> Vec<Value> {
    let reply = client.get(path);
    assert_eq!(reply.status, 200, "{reply}");
    reply.json()["items"].as_array().unwrap().clone()
}

#[test]
fn the_shipped_systems_are_filled_and_at_work_until_they_are_stopped() {
    let empty = tempfile::tempdir().unwrap();
    let log = fs::File::create(empty.path().join("log")).unwrap();
    let mut command = latchkey();
    command.args(["serve", "--demo", "--listen", "127.0.0.1:0"]).current_dir(empty.path());
    command.env_remove("LATCHKEY_LOG").stdout(Stdio::piped()).stderr(log);
    let mut child = command.spawn().unwrap();
    let (told, address) = greeting(&mut child, "sub dev");
    for words in ["in memory", "demo ", "console ", "token "] {
        assert!(told.contains(words), "{told}");
    }
    let token = told.lines().find_map(|line| line.trim().strip_prefix("token")).unwrap().trim();
    let mut client = Client::new(&address).with_token(token);

    assert_eq!(items(&mut client, "/locations?pageSize=100").len(), 24);
    assert_eq!(items(&mut client, "/locations?status=inactive").len(), 1);
    assert_eq!(items(&mut client, "/owners/acme/lockers").len(), 8);
    let active = client.get("/lockers/A-8/reservations/active").json();
    assert!(active["startAt"].as_str() < active["endAt"].as_str(), "{active}");
    let raffle = client.get("/admin/events/raffle/summary").json();
    let decided = |word: &str| raffle["byStatus"][word].as_u64().unwrap();
    assert_eq!(decided("SUCCEEDED") + decided("REJECTED"), 40, "{raffle}");
    assert!(decided("SUCCEEDED") > 0 && decided("REJECTED") > 0, "{raffle}");
    // What happened days ago has its own time.
    let requests = items(&mut client, "/admin/events/raffle/requests?limit=100");
    let days: std::collections::BTreeSet<String> = requests
        .iter()
        .map(|request| request["finishedAt"].as_str().unwrap().chars().take(10).collect())
        .collect();
    assert!(days.len() > 5, "{days:?}");

    for (contract, status) in ANSWERED {
        until(&format!("{contract} answers {status}"), || {
            answers(&client.get("/metrics").text, contract, status) > 0
        });
    }
    let before = answers(&client.get("/metrics").text, "QC-08", "201");
    until("doors go on opening", || answers(&client.get("/metrics").text, "QC-08", "201") > before);
    // Of its 60 seats, 36 were taken when the server began, and the queue is worked on.
    until("seats of the concert go on being taken", || {
        let summary = client.get("/admin/events/concert/summary").json();
        summary["byStatus"]["SUCCEEDED"].as_u64() > Some(36)
    });

    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert!(child.wait().unwrap().success());
    let log = fs::read_to_string(empty.path().join("log")).unwrap();
    for word in ["\"ERROR\"", "\"WARN\"", "latchkey::request"] {
        assert!(!log.contains(word), "{log}");
    }
    let left: Vec<_> =
        fs::read_dir(empty.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["log"], "nothing is kept");
}

/// What becomes of `serve` with arguments that it refuses.
fn refused(arguments: &[&str], at: &Path) -> (i32, String) {
    let mut command = latchkey();
    command.arg("serve").args(arguments).current_dir(at);
    if !arguments.contains(&"--listen") {
        command.args(["--listen", "127.0.0.1:0"]);
    }
    let Output { status, stderr, .. } = command.output().unwrap();
    (status.code().unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn a_demo_goes_with_nothing_that_keeps_or_knows_others() {
    let here = tempfile::tempdir().unwrap();
    let cases = [
        (vec!["--demo", "--data", "x"], "--data"),
        (
            vec!["--demo", "--dynamodb"],
            "--demo does not go with --dynamodb: a demo keeps all in memory",
        ),
        (vec!["--demo", "--sqs"], "--demo does not go with --sqs: a demo keeps all in memory"),
        (vec!["--demo", "--test-clock"], "--demo does not go with --test-clock"),
        (
            vec!["--demo", "--oidc", "https://id.example/", "--audience", "doors"],
            "--demo does not go with --oidc",
        ),
        (vec!["--demo", "--listen", "0.0.0.0:0"], "0.0.0.0:0 is not loopback"),
    ];
    for (arguments, words) in cases {
        let (code, told) = refused(&arguments, here.path());
        assert!(code == 2 && told.contains(words), "{arguments:?}: {code}: {told}");
    }
    assert_eq!(fs::read_dir(here.path()).unwrap().count(), 0, "nothing is made");
}

#[test]
fn a_demo_that_is_missing_or_rotten_is_told_with_its_line() {
    let here = tempfile::tempdir().unwrap();
    let plain = include_str!("documents/shop.md");
    fs::write(here.path().join("shop.md"), plain).unwrap();
    let (code, told) = refused(&["shop.md", "--demo"], here.path());
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("`shop.md` has no demo") && told.contains("```demo"), "{told}");

    let shipped = include_str!("../../systems/locations.md");
    let taken = "as olga role operator\nGET /locations/by-code/nowhere\n";
    let rotten = format!("{shipped}\n```demo\n{taken}```\n");
    fs::write(here.path().join("rotten.md"), &rotten).unwrap();
    let (code, told) = refused(&["rotten.md", "--demo"], here.path());
    let line = rotten.lines().position(|line| line.ends_with("/nowhere")).unwrap() + 1;
    assert_eq!(code, 1, "{told}");
    for words in [format!("rotten.md:{line}:1"), "answered 404".to_owned(), "not-found".to_owned()]
    {
        assert!(told.contains(&words), "{words}: {told}");
    }

    let wrong = rotten.replace("/by-code/nowhere", "/by-code/a/b");
    fs::write(here.path().join("wrong.md"), wrong).unwrap();
    let (code, told) = refused(&["wrong.md", "--demo"], here.path());
    assert!(code == 1 && told.contains("no contract answers this request"), "{code}: {told}");
}
