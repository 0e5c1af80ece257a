//! `moto`, which speaks SQS's protocol, from PyPI. Its queues are gone when it ends.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::{Value, json};

/// The same as in the tests of the queues, which install it at the same place.
const MOTO: &str = "moto[server]==5.2.5";

/// It ends when its standard input is closed, so that it never outlives the test.
const PROGRAM: &str = "
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
";

/// A service of the test's own, ended when it is dropped.
pub(crate) struct Sqs {
    child: Child,
    input: Option<ChildStdin>,
    /// `http://127.0.0.1:PORT`
    endpoint: String,
}

/// Where moto is installed, once for all tests.
fn python() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (ready, python) = (folder.join("moto.ready"), folder.join("moto/bin/python"));
    let lock = File::create(folder.join("moto.lock")).unwrap();
    lock.lock().unwrap();
    if fs::read_to_string(&ready).ok().as_deref() != Some(MOTO) {
        let run = |command: &mut Command| assert!(command.status().unwrap().success());
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder.join("moto")));
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", MOTO]));
        fs::write(ready, MOTO).unwrap();
    }
    python
}

impl Sqs {
    pub(crate) fn start() -> Sqs {
        let mut child = Command::new(python())
            .args(["-c", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let port: u16 = lines.filter_map(|line| line.parse().ok()).next().unwrap();
        Sqs { child, input, endpoint: format!("http://127.0.0.1:{port}") }
    }

    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Asks it directly, behind the back of whoever works with it.
    pub(crate) fn ask(&self, operation: &str, request: &Value) -> Value {
        let (host, body) = (self.endpoint.strip_prefix("http://").unwrap(), request.to_string());
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

    pub(crate) fn delete(&self, queue: &str) {
        self.ask("DeleteQueue", &json!({"QueueUrl": self.url(queue)}));
    }

    /// An attribute of a queue.
    pub(crate) fn attribute(&self, queue: &str, name: &str) -> String {
        let request = json!({"QueueUrl": self.url(queue), "AttributeNames": [name]});
        let answer = self.ask("GetQueueAttributes", &request);
        answer["Attributes"][name].as_str().unwrap().to_owned()
    }

    pub(crate) fn set_attribute(&self, queue: &str, name: &str, value: &str) {
        let request = json!({"QueueUrl": self.url(queue), "Attributes": {name: value}});
        self.ask("SetQueueAttributes", &request);
    }

    /// How many messages are due, held and due later.
    pub(crate) fn depth(&self, queue: &str) -> [u64; 3] {
        let names = ["", "NotVisible", "Delayed"];
        names.map(|name| {
            let name = format!("ApproximateNumberOfMessages{name}");
            self.attribute(queue, &name).parse().unwrap()
        })
    }
}

impl Drop for Sqs {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
