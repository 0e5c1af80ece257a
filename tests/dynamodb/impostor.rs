//! A service that answers what it is told to: for what no local service does.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use serde_json::{Value, json};

/// What it answers to an operation: a status and a body.
type Answer = dyn Fn(&str) -> (u16, Value) + Send + Sync;

/// Listens until the test ends, and answers every operation so.
pub(crate) fn impostor(answer: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let answer: Arc<Answer> = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || converse(stream.unwrap(), &*answer));
        }
    });
    endpoint
}

/// Takes connections and says nothing.
pub(crate) fn silence() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let taken: Vec<_> = listener.incoming().collect();
        drop(taken);
    });
    endpoint
}

/// An error as DynamoDB tells it.
pub(crate) fn refusal(code: &str, message: &str) -> (u16, Value) {
    let code = format!("com.amazon.coral.service#{code}");
    (400, json!({"__type": code, "message": message}))
}

/// The table of the document, as it should be.
pub(crate) fn doors() -> Value {
    let key = |partition: &str, sort: &str| json!([{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]);
    let attributes = ["PK", "SK", "ByOwnerPK", "ByOwnerSK"];
    json!({
        "TableName": "Doors",
        "TableStatus": "ACTIVE",
        "KeySchema": key("PK", "SK"),
        "AttributeDefinitions":
            attributes.map(|name| json!({"AttributeName": name, "AttributeType": "S"})),
        "GlobalSecondaryIndexes": [{
            "IndexName": "ByOwner",
            "IndexStatus": "ACTIVE",
            "KeySchema": key("ByOwnerPK", "ByOwnerSK"),
            "Projection": {"ProjectionType": "ALL"},
        }],
    })
}

fn converse(stream: TcpStream, answer: &Answer) {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut operation, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            match reader.read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                if line.trim().is_empty() {
                    break;
                }
                continue;
            };
            match name.to_lowercase().as_str() {
                "x-amz-target" => operation = value.rsplit('.').next().unwrap().to_owned(),
                "content-length" => length = value.parse().unwrap(),
                _ => {}
            }
        }
        reader.read_exact(&mut vec![0; length]).unwrap();
        let (status, body) = answer(&operation);
        let body = body.to_string();
        let head = format!(
            "HTTP/1.1 {status} So\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if reader.get_mut().write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}
