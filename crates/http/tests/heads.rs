//! Requests that are refused for how they are written: heads that cannot be read, two lengths, broken chunks.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use latchkey_embedded::Store;
use latchkey_http::{Claims, Limits, Server, Service, Settings, Tokens};
use latchkey_runtime::{Options, Runtime, Source, System, SystemSource};

const DOCUMENT: &str = r#"
# Shelves

```contract
system shelves
table Shelves { type kind }

entity Book "BOOK" {
  PK = "SHELF#{shelfId}"
  SK = "BOOK#{bookId}"
  shelfId id
  bookId  id
}

contract B-01 "Put a book on a shelf" {
  POST /shelves/{shelfId}/books/{bookId}
  allow caller owns shelfId
  book = put Book { shelfId, bookId } if absent else 409 there
  return 201 book
  consistency strong
  expect 1 item
  rate 10/s
}
```
"#;

const PATH: &str = "/shelves/ann/books/B1";

struct Shelves {
    address: SocketAddr,
    token: String,
    _runtime: tokio::runtime::Runtime,
}

fn open() -> Shelves {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    let tokens = || Tokens::new(&[7; 32], "latchkey", "latchkey").unwrap();
    let address = runtime.block_on(async {
        let store = Store::in_memory(&latchkey_embedded::Options::default()).unwrap();
        let system = System::read(DOCUMENT).unwrap();
        let started = Runtime::start(system, store, Options::default()).await.unwrap();
        let service = Service::new(vec![started], tokens(), Settings::default()).unwrap();
        let at = ([127, 0, 0, 1], 0).into();
        let server = Server::listen(at, Limits::default()).await.unwrap();
        let address = server.address();
        tokio::spawn(server.run(Arc::new(service), std::future::pending()));
        address
    });
    let claims = Claims { sub: "ann".into(), roles: Vec::new(), orgs: Vec::new() };
    let hour = Duration::from_secs(3_600);
    let token = tokens().sign(&claims, SystemSource.now(), hour).unwrap();
    Shelves { address, token, _runtime: runtime }
}

impl Shelves {
    /// Everything that is answered to some bytes until the connection ends.
    fn raw(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(bytes.as_ref()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }

    /// The head of a call that puts a book, without its end.
    fn put(&self, framing: &str) -> String {
        let token = &self.token;
        format!(
            "POST {PATH} HTTP/1.1\r\nhost: t\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n{framing}\r\n"
        )
    }

    /// Whether a call that puts the book is the first that does.
    fn was_empty(&self) -> bool {
        let answer = self.raw(self.put("content-length: 0\r\n"));
        answer.starts_with("HTTP/1.1 201 ")
    }
}

/// One refusal, behind which the connection ends.
fn refuses(answer: &str, status: u16, code: &str, detail: &str) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    assert!(answer.contains("connection: close\r\n"), "{answer}");
    assert!(answer.contains(&format!("\"code\":\"{code}\"")), "{answer}");
    assert!(answer.contains(detail), "{detail}: {answer}");
    assert_eq!(answer.matches("HTTP/1.1 4").count(), 1, "the connection ends: {answer}");
}

// The `Content-Length` was dropped, and the call was carried out.
#[test]
fn chunks_beside_a_length_are_refused() {
    let shelves = open();
    let [chunked, length] = ["transfer-encoding: chunked\r\n", "content-length: 7\r\n"];
    for framing in [format!("{chunked}{length}"), format!("{length}{chunked}")] {
        let request = format!("{}2\r\n{{}}\r\n0\r\n\r\n{}", shelves.put(&framing), shelves.put(""));
        let answer = shelves.raw(request);
        refuses(&answer, 400, "malformed-request", "`Content-Length` beside it");
        // On a connection that was used before, too, where the head comes in parts.
        let mut stream = TcpStream::connect(shelves.address).unwrap();
        let first = b"GET /health HTTP/1.1\r\nhost: t\r\n\r\n";
        stream.write_all(first).unwrap();
        assert_ne!(stream.read(&mut [0; 4096]).unwrap(), 0);
        let request = format!("{}2\r\n{{}}\r\n0\r\n\r\n", shelves.put(&framing));
        for part in request.as_bytes().chunks(25) {
            // The answer may come before the rest is sent.
            if stream.write_all(part).is_err() {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        refuses(&answer, 400, "malformed-request", "`Content-Length` beside it");
    }
    assert!(shelves.was_empty(), "nothing was carried out");
    let answer = shelves.raw(format!("{}2\r\n{{}}\r\n0\r\n\r\n", shelves.put(chunked)));
    assert!(answer.starts_with("HTTP/1.1 409 "), "one of them is fine: {answer}");
}

// The fragment was cut off, and the rest was answered.
#[test]
fn a_path_with_a_fragment_is_refused() {
    let shelves = open();
    for path in ["/health#x", "/health?a=1#x", "/nothing#", &format!("{PATH}#x")] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n");
        refuses(&shelves.raw(request), 400, "malformed-request", "write `%23`");
    }
    // What is behind it on the connection is answered for itself.
    let two = "GET /health#x HTTP/1.1\r\nhost: t\r\n\r\n";
    let mut stream = TcpStream::connect(shelves.address).unwrap();
    let mut answers = String::new();
    for request in [two, "GET /health HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n"] {
        stream.write_all(request.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(100));
    }
    stream.read_to_string(&mut answers).unwrap();
    assert!(answers.starts_with("HTTP/1.1 400 ") && answers.contains("HTTP/1.1 200 "), "{answers}");
}

// The two largest lengths were answered with 431: there are more than 100 headers.
#[test]
fn a_length_is_too_large_however_large_it_is() {
    let shelves = open();
    for length in ["2000000", "9223372036854775808", "18446744073709551614", "18446744073709551615"]
    {
        let answer = shelves.raw(shelves.put(&format!("content-length: {length}\r\n")));
        refuses(&answer, 413, "body-too-large", "1048576 bytes");
        assert!(answer.starts_with("HTTP/1.1 413 Payload Too Large\r\n"), "{answer}");
    }
    let many = "a: b\r\n".repeat(101);
    refuses(&shelves.raw(shelves.put(&many)), 431, "head-too-large", "more than 100 headers");
}

// All of them had a reason that was not theirs, and the preface of HTTP/2 had no answer.
#[test]
fn why_a_head_cannot_be_read_is_told() {
    let shelves = open();
    let version = "this server speaks HTTP/1.1";
    for (bytes, detail) in [
        (&b"GET /health HTTP/1.2\r\nhost: t\r\n\r\n"[..], version),
        (b"GET /health HTTP/2.0\r\nhost: t\r\n\r\n", version),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x12\x04\0\0\0\0\0", version),
        (b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", "this is TLS"),
        (b"GET /health\r\n", "a first line without `HTTP/1.1`"),
        (b"GET /health HTTP/1.1\r\nhost\r\n\r\n", "a header without a colon"),
        (b"GET /health HTTP/1.1\r\nhost: t\r\na: b\r\n c\r\n\r\n", "folded over two lines"),
        (b"GET / HTTP/1.1\r\nhost: t\r\ntransfer-encoding: x\r\n\r\n", "`Transfer-Encoding` that"),
    ] {
        refuses(&shelves.raw(bytes), 400, "malformed-request", detail);
    }
    // It is not told of the request before, nor of what came together with another.
    let behind = "GET /health HTTP/1.1\r\nhost: t\r\n\r\nGET / HTTP/1.2\r\nhost: t\r\n\r\n";
    refuses(
        shelves.raw(behind).split_once("ok\n").unwrap().1,
        400,
        "malformed-request",
        "HTTP/1.1",
    );
}

// They were told as a body that broke off.
#[test]
fn chunks_that_cannot_be_read_are_told_from_a_body_that_broke_off() {
    let shelves = open();
    let head = shelves.put("transfer-encoding: chunked\r\n");
    let (long, many) = (format!("2;{}", "a".repeat(20_000)), "x: y\r\n".repeat(3_000));
    for body in [
        "zz\r\n{}\r\n0\r\n\r\n",
        "-1\r\n{}\r\n0\r\n\r\n",
        "0x02\r\n{}\r\n0\r\n\r\n",
        "2\n{}\n0\n\n",
        "2\r\n{} \r\n0\r\n\r\n",
        "2\r\n{}XX0\r\n\r\n",
        "fffffffffffffffff\r\n{}\r\n0\r\n\r\n",
        &format!("{long}\r\n{{}}\r\n0\r\n\r\n"),
        &format!("2\r\n{{}}\r\n0\r\n{many}\r\n"),
    ] {
        let answer = shelves.raw(format!("{head}{body}"));
        refuses(&answer, 400, "malformed-request", "the chunks of the body cannot be read");
    }
    for body in ["2\r\n{}\r\n", "2\r\n{", "2\r\n{}\r\n0\r\n", "ffffffffffffffff\r\n{}\r\n0\r\n\r\n"]
    {
        let answer = shelves.raw(format!("{head}{body}"));
        refuses(&answer, 400, "invalid-input", "the body broke off before its end");
    }
    assert!(shelves.was_empty(), "nothing was carried out");
}

// 128 connections waited to be accepted; the others asked again after a second, and after three.
#[test]
fn a_crowd_of_newcomers_is_let_in_at_once() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let at = ([127, 0, 0, 1], 0).into();
    let server = runtime.block_on(Server::listen(at, Limits::default())).unwrap();
    // What the machine allows is not for a server to change.
    let most = fs::read_to_string("/proc/sys/net/core/somaxconn");
    let most = most.map_or(128, |most| most.trim().parse().unwrap());
    let newcomers: Vec<TcpStream> = (0..most.min(300))
        .map(|_| TcpStream::connect_timeout(&server.address(), Duration::from_millis(500)).unwrap())
        .collect();
    drop(newcomers);
}
