//! An SQS endpoint, asked behind the back of whoever works with it.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::moto::Moto;

/// A service of the test's own, ended when it is dropped.
pub struct Sqs(Moto);

impl Sqs {
    pub fn start() -> Sqs {
        Sqs(Moto::start())
    }

    pub fn endpoint(&self) -> &str {
        &self.0.endpoint
    }

    /// Asks it directly, behind the back of whoever works with it.
    pub fn ask(&self, operation: &str, request: &Value) -> Value {
        let (host, body) = (self.0.endpoint.strip_prefix("http://").unwrap(), request.to_string());
        let head = format!(
            "POST / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {}\r\n\
             content-type: application/x-amz-json-1.0\r\nx-amz-target: AmazonSQS.{operation}\r\n\
             x-amz-date: 20260101T000000Z\r\nauthorization: AWS4-HMAC-SHA256 \
             Credential=test/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host;x-amz-date, \
             Signature=none\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(host).unwrap();
        stream.write_all((head + &body).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{operation} {request}: {answer}");
        serde_json::from_str(body).unwrap_or(Value::Null)
    }

    fn url(&self, queue: &str) -> Value {
        self.ask("GetQueueUrl", &json!({"QueueName": queue}))["QueueUrl"].clone()
    }

    pub fn delete(&self, queue: &str) {
        self.ask("DeleteQueue", &json!({"QueueUrl": self.url(queue)}));
    }

    /// An attribute of a queue.
    pub fn attribute(&self, queue: &str, name: &str) -> String {
        let request = json!({"QueueUrl": self.url(queue), "AttributeNames": [name]});
        let answer = self.ask("GetQueueAttributes", &request);
        answer["Attributes"][name].as_str().unwrap().to_owned()
    }

    pub fn set_attribute(&self, queue: &str, name: &str, value: &str) {
        let request = json!({"QueueUrl": self.url(queue), "Attributes": {name: value}});
        self.ask("SetQueueAttributes", &request);
    }

    /// How many messages are due, held and due later.
    pub fn depth(&self, queue: &str) -> [u64; 3] {
        let names = ["", "NotVisible", "Delayed"];
        names.map(|name| {
            let name = format!("ApproximateNumberOfMessages{name}");
            self.attribute(queue, &name).parse().unwrap()
        })
    }
}
