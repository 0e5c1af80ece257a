//! `moto`, which speaks SQS's protocol, from PyPI.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use aws_config::{BehaviorVersion, ConfigLoader, Region};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::Credentials;
use aws_sdk_sqs::types::QueueAttributeName as Attribute;
use latchkey_queue::{Clock, Codec, Sqs, SqsOptions, SqsService};
use latchkey_table::{Map, Value};

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
pub(crate) struct Service {
    child: Child,
    input: Option<ChildStdin>,
    pub(crate) endpoint: String,
    pub(crate) client: Client,
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

fn config() -> ConfigLoader {
    aws_config::defaults(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
}

/// Bodies of texts, which is enough here.
pub(crate) const CODEC: Codec = Codec {
    write: |map| {
        let pairs = map.iter().map(|(name, value)| {
            (name.to_string(), serde_json::Value::from(value.as_text().unwrap().as_str()))
        });
        serde_json::Value::Object(pairs.collect()).to_string()
    },
    read: |text| {
        let serde_json::Value::Object(object) = serde_json::from_str(text).ok()? else {
            return None;
        };
        let pairs = object.into_iter();
        pairs
            .map(|(name, value)| Some((name, Value::from(value.as_str()?))))
            .collect::<Option<Vec<_>>>()
            .map(Map::from_iter)
    },
};

impl Service {
    pub(crate) async fn start() -> Service {
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
        let endpoint = format!("http://127.0.0.1:{port}");
        let http = aws_smithy_http_client::Builder::new().build_http();
        let config = config().http_client(http).endpoint_url(&endpoint).load().await;
        Service { child, input, endpoint, client: Client::new(&config) }
    }

    /// Makes a queue and opens it, with a lease of a second.
    pub(crate) async fn queue(
        &self,
        name: &str,
        attributes: &[(Attribute, &str)],
        clock: Clock,
    ) -> Sqs {
        let mut create = self.client.create_queue().queue_name(name);
        for (name, value) in attributes {
            create = create.attributes(name.clone(), *value);
        }
        create.send().await.unwrap();
        self.open(name, clock).await.unwrap()
    }

    pub(crate) async fn open(
        &self,
        name: &str,
        clock: Clock,
    ) -> Result<Sqs, latchkey_queue::Error> {
        let service = SqsService::connect_from(config(), Some(&self.endpoint)).await;
        let group = Some("group".into());
        let options = SqsOptions { lease_ms: 1_000, group, codec: CODEC };
        service.queue(name, options, clock).await
    }

    pub(crate) async fn url(&self, name: &str) -> String {
        let answer = self.client.get_queue_url().queue_name(name).send().await.unwrap();
        answer.queue_url().unwrap().to_owned()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
