//! Peers that hold connections open lock nobody out.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that goes wrong should fail, where it went wrong"
)]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use latchkey_http::{Limits, MoreMetrics, Server, Service, Settings, Tokens};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long a test waits before it takes something for hanging.
const HANG: Duration = Duration::from_secs(300);

/// Longer than any test: what is cut is not cut for this.
const LONG: Duration = Duration::from_secs(3_600);

struct Served {
    address: SocketAddr,
    runtime: Runtime,
}

/// A server without contracts.
fn served(limits: Limits, settings: Settings) -> Served {
    served_until(limits, settings, std::future::pending()).0
}

/// The same, until something happens; and the server's end.
fn served_until(
    limits: Limits,
    settings: Settings,
    stop: impl Future<Output = ()> + Send + 'static,
) -> (Served, JoinHandle<()>) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    let server = runtime.block_on(Server::listen(([127, 0, 0, 1], 0).into(), limits)).unwrap();
    let address = server.address();
    let tokens = Tokens::new(&[7; 32], "latchkey", "latchkey").unwrap();
    let service = Arc::new(Service::new(Vec::new(), tokens, settings).unwrap());
    let end = runtime.spawn(server.run(service, stop));
    (Served { address, runtime }, end)
}

impl Served {
    fn open(&self) -> Peer {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        Peer(BufReader::new(stream))
    }
}

struct Peer(BufReader<TcpStream>);

impl Peer {
    fn send(&mut self, path: &str) -> io::Result<()> {
        let request = format!("GET {path} HTTP/1.1\r\nhost: t\r\n\r\n");
        self.0.get_mut().write_all(request.as_bytes())
    }

    /// The next answer; nothing if the connection has ended.
    fn answer(&mut self) -> Option<(u16, String)> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            match self.0.read_line(&mut head) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => panic!("it hangs"),
                Err(_) => return None,
            }
        }
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.unwrap().parse().unwrap()];
        self.0.read_exact(&mut body).ok()?;
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Some((status, head + &String::from_utf8(body).unwrap()))
    }

    fn ask(&mut self, path: &str) -> Option<u16> {
        self.send(path).ok()?;
        self.answer().map(|(status, _)| status)
    }
}

#[test]
fn whoever_does_not_read_is_not_waited_for() {
    // A peer that sent requests and read no answers held its connection for ever.
    let write_time = Duration::from_millis(100);
    let served = served(Limits { write_time, ..Limits::default() }, Settings::default());
    let mut peer = served.open();
    peer.0.get_ref().set_write_timeout(Some(HANG)).unwrap();
    let error = loop {
        if let Err(error) = peer.send("/metrics") {
            break error;
        }
    };
    let ended = [io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe];
    assert!(ended.contains(&error.kind()), "{error}");
}

#[test]
fn whoever_does_not_read_keeps_nobody_out() {
    let connections = 2;
    let limits = Limits { connections, write_time: LONG, head_time: LONG, ..Limits::default() };
    let served = served(limits, Settings::default());
    let peers: Vec<Peer> = (0..2 * connections)
        .map(|_| {
            let mut peer = served.open();
            peer.0.get_ref().set_write_timeout(Some(Duration::from_millis(200))).unwrap();
            while peer.send("/metrics").is_ok() {}
            peer
        })
        .collect();
    for _ in 0..2 * connections {
        assert_eq!(served.open().ask("/health"), Some(200));
    }
    drop(peers);
}

#[test]
fn a_newcomer_takes_the_place_of_one_that_idles() {
    let connections = 3;
    let limits = Limits { connections, head_time: LONG, ..Limits::default() };
    let served = served(limits, Settings::default());
    let mut peers: Vec<Peer> = (0..connections).map(|_| served.open()).collect();
    for peer in &mut peers {
        assert_eq!(peer.ask("/health"), Some(200));
    }
    let mut newcomer = served.open();
    assert_eq!(newcomer.ask("/health"), Some(200));
    let left = peers.iter_mut().filter_map(|peer| peer.ask("/health")).count();
    assert_eq!(left, connections - 1, "one has gone, and only one");
    assert_eq!(newcomer.ask("/health"), Some(200));
}

#[test]
fn health_is_answered_though_all_connections_are_at_work() {
    let begun = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&begun);
    let more_metrics = MoreMetrics::new(move || {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::pending()
    });
    let settings = Settings { more_metrics: Some(more_metrics), ..Settings::default() };
    let connections = 2;
    let served = served(Limits { connections, ..Limits::default() }, settings);
    let mut working: Vec<Peer> = (0..connections).map(|_| served.open()).collect();
    working.iter_mut().for_each(|peer| peer.send("/metrics").unwrap());
    let started = Instant::now();
    while begun.load(Ordering::SeqCst) < connections {
        assert!(started.elapsed() < HANG);
        thread::sleep(Duration::from_millis(5));
    }
    for _ in 0..3 {
        assert_eq!(served.open().ask("/health"), Some(200));
        let mut peer = served.open();
        peer.send("/anything").unwrap();
        let (status, told) = peer.answer().unwrap();
        assert_eq!(status, 503, "{told}");
        for part in ["connection: close", "retry-after: 1", "\"code\":\"busy\""] {
            assert!(told.contains(part), "{told}");
        }
    }
    assert_eq!(begun.load(Ordering::SeqCst), connections, "and nobody's work was cut");
}

/// Opens a connection from an address of this machine.
fn open_from(served: &Served, from: [u8; 4]) -> Peer {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind((from, 0).into()).unwrap();
        socket.connect(served.address).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(HANG)).unwrap();
    Peer(BufReader::new(stream))
}

#[test]
fn one_address_does_not_take_the_connections_of_others() {
    // Whoever opened connections all the time closed those of everyone else.
    let (connections, connections_per_address) = (6, 3);
    let limits =
        Limits { connections, connections_per_address, head_time: LONG, ..Limits::default() };
    let served = served(limits, Settings::default());
    let mut others: Vec<Peer> = (0..3).map(|_| open_from(&served, [127, 0, 0, 2])).collect();
    for peer in &mut others {
        assert_eq!(peer.ask("/health"), Some(200));
    }
    let mut many = Vec::new();
    for n in 0..50 {
        let mut peer = open_from(&served, [127, 0, 0, 1]);
        // Some of them ask, some begin a head, and some do nothing.
        match n % 3 {
            0 => assert_eq!(peer.ask("/health"), Some(200)),
            1 => peer.0.get_mut().write_all(b"GET /he").unwrap(),
            _ => {}
        }
        many.push(peer);
    }
    // The last of them is served, so all before it have their places, or have lost them.
    let mut last = open_from(&served, [127, 0, 0, 1]);
    assert_eq!(last.ask("/health"), Some(200));
    for peer in &mut others {
        assert_eq!(peer.ask("/health"), Some(200), "an older one of another address stays");
    }
}

#[test]
fn whoever_idles_between_requests_is_cut() {
    let head_time = Duration::from_millis(100);
    let served = served(Limits { head_time, ..Limits::default() }, Settings::default());
    let started = Instant::now();
    loop {
        assert!(started.elapsed() < HANG);
        let mut peer = served.open();
        // On a busy machine it may be cut before it has asked.
        if peer.ask("/health") == Some(200) {
            assert_eq!(peer.answer(), None, "it is cut, not kept");
            return;
        }
    }
}

#[test]
fn answers_that_nobody_reads_take_bounded_memory_and_give_it_to_others() {
    // More than what a socket takes at once.
    const ANSWER: usize = 24 * 1024 * 1024;
    let limits = Limits { write_time: LONG, head_time: LONG, ..Limits::default() };
    let answer = || async { format!("# {}\n", "x".repeat(ANSWER)) };
    let settings = Settings {
        answers_bytes_max: 2 * ANSWER + ANSWER / 2,
        more_metrics: Some(MoreMetrics::new(answer)),
        ..Settings::default()
    };
    let served = served(limits, settings);
    let unread: Vec<Peer> = (0..2)
        .map(|_| {
            let mut peer = served.open();
            peer.send("/metrics").unwrap();
            // It has begun to arrive.
            peer.0.get_ref().peek(&mut [0]).unwrap();
            peer
        })
        .collect();
    // There is no memory for a third, until one of the two has not been read for a while.
    let mut told = Vec::new();
    let third = loop {
        let mut peer = served.open();
        peer.send("/metrics").unwrap();
        let (status, answer) = peer.answer().unwrap();
        assert_eq!(served.open().ask("/health"), Some(200));
        if status == 200 {
            break answer;
        }
        assert!(status == 503 && answer.contains("\"busy\""), "{status} {answer}");
        assert!(answer.contains("retry-after"), "{answer}");
        told.push(status);
    };
    let refused = format!("\nlatchkey_answers_refused_total {}\n", told.len());
    assert!(third.contains(&refused), "{} were refused", told.len());
    let whole = unread.into_iter().filter_map(|mut peer| peer.answer()).count();
    assert_eq!(whole, 1, "one was closed, and the other is read to its end");
}

// A client without a token held up each stop for the 30 seconds that requests have to finish.
#[test]
fn whoever_sends_half_a_head_or_does_not_read_holds_up_no_stop() {
    let limits =
        Limits { head_time: LONG, write_time: LONG, drain_time: LONG, ..Limits::default() };
    let (stop, stopped) = oneshot::channel();
    let (served, end) = served_until(limits, Settings::default(), async { drop(stopped.await) });
    let mut half = served.open();
    half.0.get_mut().write_all(b"GET /health HTTP/1.1\r\nhost: t\r\n").unwrap();
    let deaf: Vec<Peer> = (0..3)
        .map(|_| {
            let mut peer = served.open();
            peer.0.get_ref().set_write_timeout(Some(Duration::from_millis(100))).unwrap();
            // Until the answers that are not read leave no room for further requests.
            while peer.send("/metrics").is_ok() {}
            peer
        })
        .collect();
    stop.send(()).unwrap();
    let ended = async { tokio::time::timeout(HANG, end).await };
    served.runtime.block_on(ended).expect("it ends").unwrap();
    drop((half, deaf));
}
