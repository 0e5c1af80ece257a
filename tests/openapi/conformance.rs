//! Every answer that the examples get from a real server is one that the OpenAPI document declares: its status, its
//! headers, every member of its body. And every request that a contract takes is one that the document allows.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use latchkey_openapi::Version;
use latchkey_testing::{Client, Reply, Server, latchkey};
use serde_json::Value;

use crate::validity::{Schemas, Strict};
use crate::{Document, described, root};

/// A request, and its answer.
struct Exchange {
    target: String,
    body: String,
    reply: Reply,
}

/// Hands requests on to a server, and keeps each with its answer.
struct Recorder {
    address: String,
    exchanges: Arc<Mutex<Vec<Exchange>>>,
}

impl Recorder {
    fn start(server: &str) -> Recorder {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let exchanges = Arc::new(Mutex::new(Vec::new()));
        let (kept, server) = (Arc::clone(&exchanges), server.to_owned());
        // The thread ends with the test's process.
        thread::spawn(move || {
            for stream in listener.incoming() {
                // One connection at a time, as the examples make them.
                hand_on(stream.unwrap(), &server, &kept);
            }
        });
        Recorder { address, exchanges }
    }
}

/// Hands the requests of a connection on until its peer closes it.
fn hand_on(mut stream: TcpStream, server: &str, kept: &Mutex<Vec<Exchange>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let start = head.len();
            if reader.read_line(&mut head).unwrap() == 0 {
                return;
            }
            let line = head[start..].trim_end().to_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let bytes = [head.as_bytes(), &body].concat();
        let reply = Client::new(server).raw(&bytes, head.starts_with("HEAD ")).unwrap();
        let mut answer = format!("HTTP/1.1 {} told\r\n", reply.status);
        for (name, value) in reply.headers.iter().filter(|(name, _)| *name != "connection") {
            answer.push_str(&format!("{name}: {value}\r\n"));
        }
        answer.push_str("\r\n");
        answer.push_str(&reply.text);
        stream.write_all(answer.as_bytes()).unwrap();
        let target = head.split(' ').nth(1).unwrap().to_owned();
        let body = String::from_utf8_lossy(&body).into_owned();
        kept.lock().unwrap().push(Exchange { target, body, reply });
    }
}

/// Headers that say how an answer is sent, and not what it is.
const OF_THE_MESSAGE: [&str; 4] = ["connection", "content-length", "content-type", "date"];

/// Headers that every answer has and no document declares: they only say to browsers what it must not be taken for.
const FOR_BROWSERS: [&str; 4] = [
    "content-security-policy",
    "cross-origin-resource-policy",
    "referrer-policy",
    "x-content-type-options",
];

/// Runs the examples of a document on a server, and holds all that is said to the OpenAPI document.
fn conform(path: &str) {
    let path: PathBuf = root().join(path);
    let openapi = described(&[&Document::read(&path).model()], Version::V3_1);
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start_on(directory.path(), std::slice::from_ref(&path));
    let recorder = Recorder::start(&server.address);
    let mut command = latchkey();
    command.arg("test").arg(&path).arg("--against").arg(format!("http://{}", recorder.address));
    let output = command.arg("--data").arg(directory.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let mut answered = 0;
    for exchange in recorder.exchanges.lock().unwrap().iter() {
        let contract = exchange.reply.header("latchkey-contract");
        if !contract.is_empty() {
            holds(&openapi, contract, exchange);
            answered += 1;
        }
    }
    assert!(answered > 10, "{}: {answered} answers", path.display());
}

fn operation<'a>(openapi: &'a Value, id: &str) -> &'a Value {
    let paths = openapi["paths"].as_object().unwrap().values();
    let mut all = paths.flat_map(|path| path.as_object().unwrap().values());
    all.find(|operation| operation["operationId"] == id).unwrap()
}

fn holds(openapi: &Value, contract: &str, exchange: &Exchange) {
    let Exchange { target, body, reply } = exchange;
    let operation = operation(openapi, contract);
    let schemas = Schemas { openapi };
    let declared = &operation["responses"][reply.status.to_string()];
    assert!(declared.is_object(), "{contract}: {} is not declared: {reply}", reply.status);
    for name in FOR_BROWSERS {
        assert_ne!(reply.header(name), "", "{contract}: {name}: {reply}");
    }
    let unsaid = |name: &str| OF_THE_MESSAGE.contains(&name) || FOR_BROWSERS.contains(&name);
    for name in reply.headers.keys().filter(|name| !unsaid(name)) {
        let headers = declared["headers"].as_object().unwrap();
        let known = headers.keys().any(|known| known.eq_ignore_ascii_case(name));
        assert!(known, "{contract}: the header {name} is not declared: {reply}");
    }
    match declared.get("content").filter(|_| !reply.text.is_empty()) {
        Some(content) => {
            let media = &content[reply.header("content-type")];
            assert!(media.is_object(), "{contract}: the content is another: {reply}");
            let wrong = schemas.wrong(&media["schema"], &reply.json(), Strict::Yes);
            assert!(wrong.is_none(), "{contract}: {}: {reply}", wrong.unwrap());
        }
        None => assert_eq!(reply.text, "", "{contract}: a body is not declared: {reply}"),
    }
    if reply.status >= 300 {
        return;
    }
    if let Ok(body) = serde_json::from_str::<Value>(body) {
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let nothing = body.as_object().is_some_and(serde_json::Map::is_empty);
        let wrong = match schema.is_object() {
            true => schemas.wrong(schema, &body, Strict::No),
            false => (!nothing).then(|| "a body is not declared".to_owned()),
        };
        assert!(wrong.is_none(), "{contract}: {}: {reply}", wrong.unwrap());
    }
    let query = target.split_once('?').map_or("", |(_, query)| query);
    for name in query.split('&').filter_map(|pair| pair.split('=').next()) {
        let parameters = operation["parameters"].as_array().unwrap();
        let known = parameters.iter().any(|one| one["name"] == name && one["in"] == "query");
        assert!(known || name.is_empty(), "{contract}: {name} is not declared: {reply}");
    }
}

/// Each document is a test of its own, which runs beside the others.
macro_rules! conform {
    ($($name:ident: $path:literal,)*) => {
        $(
            #[test]
            fn $name() {
                conform($path);
            }
        )*
    };
}

conform! {
    locations: "systems/locations.md",
    participation: "systems/participation.md",
    smartlocker: "systems/smartlocker.md",
    big_time_deals: "designs/big-time-deals.md",
    complaint_management: "designs/complaint-management.md",
    device_status: "designs/device-status.md",
    e_commerce: "designs/e-commerce.md",
    gaming_profile: "designs/gaming-profile.md",
    github: "designs/github.md",
    mall: "designs/mall.md",
    online_shop: "designs/online-shop.md",
    recurring_payments: "designs/recurring-payments.md",
    social_network: "designs/social-network.md",
    task_manager: "designs/task-manager.md",
    language: "docs/language.md",
    answers: "tests/http/answers.md",
    shop: "tests/http/documents/shop.md",
}
