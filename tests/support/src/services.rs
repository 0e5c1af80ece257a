//! Services that speak DynamoDB's protocol, each in a process of its own.
//!
//! AWS's DynamoDB Local takes a second of two cores to start. Suites that need it share the one whose
//! endpoint `tests/on-backends.sh` tells them in the environment, and start their own where there is none.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::Value;

use crate::aws;

/// What credentials and region a local service is asked with: any will do.
pub const ENVIRONMENT: [(&str, &str); 3] =
    [("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test"), ("AWS_REGION", "us-east-1")];

/// Which service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// AWS's own, in Java.
    DynamoDbLocal,
    /// dynoxide-rs, on SQLite.
    Dynoxide,
}

impl Kind {
    /// As `LATCHKEY_TEST_BACKEND` names it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::DynamoDbLocal => "dynamodb-local",
            Kind::Dynoxide => "dynoxide",
        }
    }

    /// The variable that has the endpoint of one to share.
    fn shared(self) -> &'static str {
        match self {
            Kind::DynamoDbLocal => "LATCHKEY_DYNAMODB_LOCAL",
            Kind::Dynoxide => "LATCHKEY_DYNOXIDE",
        }
    }

    fn program(self) -> PathBuf {
        match self {
            Kind::DynamoDbLocal => {
                concat!(env!("CARGO_MANIFEST_DIR"), "/../services/dynamodb-local.sh").into()
            }
            Kind::Dynoxide => crate::program("dynoxide-service"),
        }
    }
}

/// A service that can be asked. One of our own is ended when it is dropped.
#[derive(Debug)]
pub struct Service {
    kind: Kind,
    endpoint: String,
    /// None if it is shared.
    own: Option<Own>,
}

/// A process that ends, as if killed, when its standard input is closed.
#[derive(Debug)]
struct Own {
    child: Child,
    /// Closed first when it is dropped, or when this process ends, however it ends.
    input: Option<ChildStdin>,
}

impl Service {
    /// AWS's DynamoDB Local: the one that is shared, or one of our own. Names of tables must be unique.
    pub fn dynamodb_local() -> Service {
        Service::of(Kind::DynamoDbLocal)
    }

    /// dynoxide-rs: the one that is shared, or one of our own. Names of tables must be unique.
    pub fn dynoxide() -> Service {
        Service::of(Kind::Dynoxide)
    }

    pub fn of(kind: Kind) -> Service {
        match std::env::var(kind.shared()) {
            Ok(endpoint) => Service { kind, endpoint, own: None },
            Err(_) => Service::start(kind, 0, None),
        }
    }

    /// One of our own. Port 0 takes a free one; without a directory its tables are in memory.
    pub fn start(kind: Kind, port: u16, data: Option<&Path>) -> Service {
        let mut child = Command::new(kind.program())
            .arg(port.to_string())
            .args(data)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let own = Own { child, input };
        let endpoint = line.trim().strip_prefix("listening ");
        let endpoint = endpoint.unwrap_or_else(|| panic!("{} does not start", kind.name()));
        Service { kind, endpoint: endpoint.to_owned(), own: Some(own) }
    }

    /// The same, for someone else: it ends with the first.
    pub fn for_another(&self) -> Service {
        Service { kind: self.kind, endpoint: self.endpoint.clone(), own: None }
    }

    /// `http://127.0.0.1:PORT`
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn port(&self) -> u16 {
        self.endpoint.rsplit(':').next().unwrap().parse().unwrap()
    }

    /// Asks it directly, behind the back of whoever serves from it.
    pub fn ask(&self, operation: &str, request: &Value) -> Value {
        let target = format!("DynamoDB_20120810.{operation}");
        let body = aws::ask(&self.endpoint, "dynamodb", &target, request);
        serde_json::from_str(&body).unwrap()
    }

    /// Ends one of our own as a power cut would, and waits until it is gone.
    pub fn kill(self) {
        assert!(self.own.is_some(), "a service that others use is not killed");
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
