//! The server takes as many calls of one caller as a contract, or a flag, says, and refuses the rest with 429.
//!
//! The limits here are by the hour and the day: however slow the machine is, no bucket is filled meanwhile.

use std::path::PathBuf;
use std::thread;

use serde_json::json;
use tempfile::TempDir;

use crate::serve::{Client, Reply, Server, backend};

struct Gate {
    server: Server,
    _data: TempDir,
}

impl Gate {
    fn start(flags: &[&str]) -> Gate {
        let data = tempfile::tempdir().unwrap();
        let document = concat!(env!("CARGO_MANIFEST_DIR"), "/http/documents/limited.md");
        let mut command = backend::on_backend("serve", data.path(), &[PathBuf::from(document)]);
        command.args(flags);
        Gate { server: Server::start_in_time(command, data.path()), _data: data }
    }

    fn person(&self, name: &str) -> Client {
        self.server.client().with_token(&self.server.token(name, &[], &[]))
    }

    fn nobody(&self) -> Client {
        self.server.client()
    }
}

fn make(client: &mut Client, pass: &str) -> Reply {
    client.post("/passes", &json!({"passId": pass}))
}

fn is_limited(reply: Reply, contract: &str, seconds: std::ops::RangeInclusive<u32>) {
    let reply = reply.refuses(429, "too-many-requests").has("latchkey-contract", contract);
    let wait: u32 = reply.header("retry-after").parse().unwrap();
    assert!(seconds.contains(&wait), "{wait} seconds");
    assert!(reply.header("ratelimit").contains(";r=0;"), "{}", reply.text);
}

#[test]
fn a_caller_may_call_as_often_as_the_contract_says() {
    let gate = Gate::start(&[]);
    let (mut ann, mut ben) = (gate.person("ann"), gate.person("ben"));
    make(&mut ann, "P1").is(201).lacks("ratelimit").lacks("ratelimit-policy");
    for left in ["r=2;t=43200", "r=1;t=86400", "r=0;t=129600"] {
        let reply = ann.get("/passes/P1").is(200);
        reply
            .has("ratelimit", &format!("\"G-01\";{left}"))
            .has("ratelimit-policy", "\"G-01\";q=3;w=129600");
    }
    is_limited(ann.get("/passes/P1"), "G-01", 43_000..=43_200);
    is_limited(ann.get("/passes/P1"), "G-01", 43_000..=43_200);
    // Each caller has a bucket, and refusals of the contract count too.
    ben.get("/passes/P1").refuses(403, "forbidden").has("ratelimit", "\"G-01\";r=2;t=43200");
    ben.get("/passes/P2").refuses(404, "not-found").has("ratelimit", "\"G-01\";r=1;t=86400");
    // A token that is no good counts for nobody.
    let mut forged = gate.nobody().with_token("a.b.c");
    forged.get("/passes/P1").refuses(401, "unauthenticated").lacks("ratelimit");
    // Other contracts go on.
    make(&mut ann, "P3").is(201);

    let metrics = gate.nobody().get("/metrics").text;
    for (contract, count) in [("G-01", 2), ("G-02", 0), ("G-03", 0)] {
        let line = format!(
            "\nlatchkey_limited_total{{system=\"gate\",contract=\"{contract}\"}} {count}\n"
        );
        assert!(metrics.contains(&line), "{line}: {metrics}");
    }
}

#[test]
fn without_a_token_the_address_counts() {
    let gate = Gate::start(&[]);
    make(&mut gate.person("ann"), "P1").is(201);
    gate.nobody().get("/known/P1").is(200).has("ratelimit", "\"G-03\";r=1;t=1800");
    // A caller's own word does not give a new bucket.
    let forwarded = [("x-forwarded-for", "198.51.100.7")];
    gate.nobody().send("GET", "/known/P1", &forwarded, None).is(200);
    is_limited(gate.nobody().get("/known/P1"), "G-03", 1_700..=1_800);
    is_limited(gate.person("ann").get("/known/P1"), "G-03", 1_700..=1_800);
}

#[test]
fn behind_a_proxy_the_address_is_the_one_it_was_asked_from() {
    let gate = Gate::start(&["--proxies", "1"]);
    make(&mut gate.person("ann"), "P1").is(201);
    let ask =
        |from: &str| gate.nobody().send("GET", "/known/P1", &[("x-forwarded-for", from)], None);
    ask("198.51.100.7").is(200);
    ask("203.0.113.1, 198.51.100.7").is(200);
    is_limited(ask("203.0.113.2, 198.51.100.7"), "G-03", 1_700..=1_800);
    ask("198.51.100.8").is(200);
}

#[test]
fn a_limit_for_all_contracts_is_counted_beside_theirs() {
    let gate = Gate::start(&["--limit-per-caller", "2/d burst 4"]);
    let mut ann = gate.person("ann");
    make(&mut ann, "P1").is(201).has("ratelimit", "\"all contracts\";r=3;t=43200");
    ann.get("/passes/P1").is(200);
    ann.get("/known/P1").is(200);
    make(&mut ann, "P2").is(201);
    is_limited(make(&mut ann, "P3"), "G-02", 43_000..=43_200);
    make(&mut gate.person("ben"), "P3").is(201);
    // The server's own paths are not limited, and its description says that all contracts are.
    let openapi = gate.nobody().get("/openapi.json").json();
    assert!(openapi["paths"]["/passes"]["post"]["responses"]["429"].is_object());
}

// Of calls that come at once, exactly as many are taken as the bucket holds.
#[test]
fn a_bucket_is_not_emptied_twice() {
    let gate = Gate::start(&["--limit-per-caller", "1/d burst 50"]);
    let taken: usize = thread::scope(|scope| {
        let callers: Vec<_> = (0..8)
            .map(|number| {
                let gate = &gate;
                scope.spawn(move || {
                    let mut ann = gate.person("ann");
                    let made = |at: i32| make(&mut ann, &format!("P-{number}-{at}")).status == 201;
                    (0..20).map(made).filter(|made| *made).count()
                })
            })
            .collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).sum()
    });
    assert_eq!(taken, 50);
}

#[test]
fn a_server_with_a_test_clock_counts_nothing() {
    let data = tempfile::tempdir().unwrap();
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/http/documents/limited.md");
    let server = Server::start_on(data.path(), &[PathBuf::from(document)]);
    for _ in 0..5 {
        server.client().get("/known/P1").refuses(404, "not-found").lacks("ratelimit");
    }
}
