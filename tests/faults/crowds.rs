//! Many clients that hold what they are given: file handles and memory.

use std::fs::{self, File};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::serve::backend::on_backend;
use crate::serve::{Client, until};
use crate::wire::{self, Wire};
use crate::world::{Own, limited, register};

#[test]
fn more_connections_than_file_handles_lock_nobody_out() {
    // The server had places for 4,096 connections and no handles for them: each newcomer waited until one was found.
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let mut command = on_backend("serve", &directory.path().join("data"), &[]);
    command.args(["--listen", "127.0.0.1:0"]).env("LATCHKEY_LOG", "warn");
    let mut command = limited("ulimit -n 200", &command);
    let mut server = Own::start(command.stderr(File::create(&log).unwrap()));
    let mut idle: Vec<Wire> = (0..400).map(|_| Wire::open(&server.address)).collect();
    for wire in idle.iter_mut().step_by(2) {
        // Some of them are closed by now.
        let _ = wire.send("GET /he");
    }
    for _ in 0..20 {
        assert_eq!(Client::new(&server.address).get("/health").status, 200);
    }
    drop(idle);
    assert_eq!(server.stop().code(), Some(0));
    let log = fs::read_to_string(&log).unwrap();
    assert!(log.contains("ulimit -n"), "whoever runs it is told: {log}");
    assert!(!log.contains("could not be taken"), "{log}");
}

#[test]
fn thousands_of_clients_that_never_read_idle_or_are_slow_keep_nobody_out() {
    // 4,096 connections that sent requests and read no answers kept `/health` from being answered for 330 seconds.
    const CLIENTS: usize = 4_300;
    let files =
        Rlimit { current: getrlimit(Resource::Nofile).maximum, ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, files).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut command = on_backend("serve", directory.path(), &[]);
    command.args(["--listen", "127.0.0.1:0"]).env("LATCHKEY_LOG", "warn");
    let mut server = Own::start(&mut command);
    let token = crate::serve::token(directory.path(), "dev", &["admin", "device"], &[]);
    let mut longest = Duration::ZERO;
    let mut ask = |path: &str| {
        let started = Instant::now();
        let status = Client::new(&server.address).with_token(&token).get(path).status;
        longest = longest.max(started.elapsed());
        status
    };
    let pipelined = "GET /metrics HTTP/1.1\r\nhost: t\r\n\r\n".repeat(100);
    let mut held = Vec::new();
    for n in 0..CLIENTS {
        let mut wire = Wire::open(&server.address);
        wire.0.get_ref().set_nonblocking(true).unwrap();
        // What does not fit is not sent: nobody reads the answers.
        let _ = wire.send(match n % 40 {
            0 => &pipelined,
            1..20 => "POST /lockers HTTP/1.1\r\nho",
            _ => "",
        });
        held.push(wire);
        if n % 100 == 99 {
            assert_eq!((ask("/health"), ask("/ready")), (200, 200), "beside {n}");
            assert_eq!(ask("/lockers/none"), 404, "beside {n}");
        }
    }
    println!("{CLIENTS} connections are held; the longest answer took {longest:?}");
    assert!(longest < Duration::from_secs(60), "{longest:?}");
    drop(held);
    assert_eq!(server.stop().code(), Some(0));
}

/// A figure of a process, in KiB.
pub(crate) fn memory(server: &Own, figure: &str) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(figure)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
}

/// What `/metrics` says of the memory that requests take.
fn taken(client: &mut Client) -> usize {
    let metrics = client.get("/metrics").text;
    let line =
        metrics.lines().find_map(|line| line.strip_prefix("latchkey_requests_memory_bytes "));
    line.unwrap().parse().unwrap()
}

#[test]
fn unfinished_requests_take_bounded_memory_and_keep_nobody_out() {
    // 4,000 unfinished bodies of 1 MiB took 4.1 GB.
    const MIB: usize = 1024 * 1024;
    let directory = tempfile::tempdir().unwrap();
    let mut command = on_backend("serve", directory.path(), &[]);
    command.args(["--listen", "127.0.0.1:0"]).env("LATCHKEY_LOG", "warn");
    let mut server = Own::start(&mut command);
    let token = crate::serve::token(directory.path(), "dev", &["admin", "device"], &[]);
    let mut client = Client::new(&server.address).with_token(&token);
    register(&mut client, "L0", "owner");
    let before = memory(&server, "VmHWM");
    let whole = wire::request("POST", "/lockers", &token, &" ".repeat(MIB));
    let parts = format!(
        "POST /lockers HTTP/1.1\r\nhost: t\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{}",
        "1\r\n \r\n".repeat(MIB / 4)
    );
    let head = format!("GET /health HTTP/1.1\r\nhost: t\r\n{}", "x: y\r\n".repeat(15_000));
    // Each sends all but the end: a body in one piece, a body in the smallest pieces, a head.
    let unfinished: Vec<Wire> = (0..400)
        .map(|n| {
            let mut wire = Wire::open(&server.address);
            // Some are closed meanwhile, to make room for others.
            let _ = wire.send(match n % 8 {
                0..6 => &whole.as_bytes()[..whole.len() - 1],
                6 => parts.as_bytes(),
                _ => head.as_bytes(),
            });
            wire
        })
        .collect();
    // Small and large requests of others are answered meanwhile.
    for n in 1..10 {
        register(&mut client, &format!("L{n}"), "owner");
        let body =
            format!("{{\"lockerId\":\"M{n}\",\"ownerId\":\"owner\"{}}}", " ".repeat(MIB / 2));
        let mut wire = Wire::open(&server.address);
        wire.send(wire::request("POST", "/lockers", &token, &body)).unwrap();
        assert_eq!(wire.answer().unwrap().status, 201, "{n}");
    }
    let most = memory(&server, "VmHWM");
    println!("{before} KiB before, {most} KiB at most, {} KiB now", memory(&server, "VmRSS"));
    assert!(taken(&mut client) <= 64 * MIB);
    assert!(most - before < 200 * 1024, "{before} KiB before, {most} KiB at most");
    drop(unfinished);
    until("all room is given back", || taken(&mut client) == 0);
    println!("{} KiB afterwards", memory(&server, "VmRSS"));
    assert_eq!(server.stop().code(), Some(0));
}
