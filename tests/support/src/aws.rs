//! Asks a local service that has a protocol of AWS, without the SDK.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

/// The body of an answer to `TARGET.OPERATION`, signed for a service in a way that no local service verifies.
pub(crate) fn ask(endpoint: &str, service: &str, target: &str, request: &Value) -> String {
    let (host, body) = (endpoint.strip_prefix("http://").unwrap(), request.to_string());
    let head = format!(
        "POST / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {}\r\n\
         content-type: application/x-amz-json-1.0\r\nx-amz-target: {target}\r\n\
         x-amz-date: 20260101T000000Z\r\nauthorization: AWS4-HMAC-SHA256 \
         Credential=test/20260101/us-east-1/{service}/aws4_request, SignedHeaders=host;x-amz-date, \
         Signature=none\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(host).unwrap();
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{target} {request}: {answer}");
    body.to_owned()
}
