//! A limit that counts by an id of the path: a quota of the owner of a partition.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
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
  limit 2/d per shelfId burst 3
}
```
"#;

struct Shelves {
    address: SocketAddr,
    tokens: Tokens,
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
    Shelves { address, tokens: tokens(), _runtime: runtime }
}

impl Shelves {
    /// A connection on which a call was begun whose body has so many bytes, of which none was sent.
    fn begin(&self, caller: &str, shelf: &str, book: &str, length: usize) -> TcpStream {
        let claims = Claims { sub: caller.into(), roles: Vec::new(), orgs: Vec::new() };
        let hour = Duration::from_secs(3_600);
        let token = self.tokens.sign(&claims, SystemSource.now(), hour).unwrap();
        let mut stream = TcpStream::connect(self.address).unwrap();
        let head = format!(
            "POST /shelves/{shelf}/books/{book} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\
             authorization: Bearer {token}\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    /// The status of a call and what it is told of the limit.
    fn put(&self, caller: &str, shelf: &str, book: &str) -> (u16, String, String) {
        let mut stream = self.begin(caller, shelf, book, 0);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let left = answer.lines().find_map(|line| line.strip_prefix("ratelimit: "));
        (status, left.unwrap_or_default().to_owned(), answer)
    }
}

#[test]
fn the_calls_for_one_owner_are_counted_whoever_makes_them() {
    let shelves = open();
    // Those who may not write to a shelf take nothing from those who may, and are told so.
    for _ in 0..10 {
        let (status, left, _) = shelves.put("eve", "ann", "b0");
        assert_eq!((status, left.as_str()), (403, "\"B-01\";r=3;t=0"));
    }
    let (status, left, _) = shelves.put("ann", "ann", "b1");
    assert_eq!((status, left.as_str()), (201, "\"B-01\";r=2;t=43200"));
    let (status, left, _) = shelves.put("ann", "ann", "b1");
    assert_eq!(status, 409);
    assert!(left.starts_with("\"B-01\";r=2;"), "{left}");
    for book in ["b2", "b3"] {
        assert_eq!(shelves.put("ann", "ann", book).0, 201);
    }
    let (status, _, answer) = shelves.put("ann", "ann", "b4");
    assert_eq!(status, 429, "{answer}");
    let told =
        "as many calls of B-01 were made for this `shelfId` as may be (2/d per shelfId burst 3)";
    assert!(answer.contains(told) && answer.to_lowercase().contains("retry-after: "), "{answer}");
    // Whoever asks for it, also in other letters of the URL.
    assert_eq!(shelves.put("eve", "ann", "b4").0, 429);
    assert_eq!(shelves.put("ann", "%61nn", "b4").0, 429);
    // Another shelf has a quota of its own.
    assert_eq!(shelves.put("ben", "ben", "b1").0, 201);
}

#[test]
fn calls_whose_body_is_not_there_take_nothing_from_an_owner() {
    // Whoever had a token could keep an owner's quota empty.
    let shelves = open();
    let held: Vec<TcpStream> =
        (0..8).map(|n| shelves.begin("eve", "ann", &format!("e{n}"), 2)).collect();
    // They are read when another, which came later, is answered.
    assert_eq!(shelves.put("eve", "eve", "x").0, 201);
    for n in 0..3 {
        assert_eq!(shelves.put("ann", "ann", &format!("a{n}")).0, 201);
    }
    assert_eq!(shelves.put("ann", "ann", "a3").0, 429);
    drop(held);
}
