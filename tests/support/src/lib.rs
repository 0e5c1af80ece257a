//! A real server in a process of its own, and a client that says exactly what it sends.

#![expect(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "only the suites use it, and a test that goes wrong should fail where it went wrong"
)]

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

mod aws;
pub mod backend;
pub mod capability;
pub mod chance;
pub mod fate;
pub mod jwt;
pub mod moto;
pub mod promise;
pub mod provider;
pub mod proxy;
pub mod services;
pub mod signer;
pub mod sqs;
pub mod verdict;

/// The directory that cargo builds into: that of the running test is `PROFILE/deps` in it.
fn target() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(3).unwrap().to_owned()
}

/// A program of the suites' own package, which cargo builds with them.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join(name);
    assert!(program.exists(), "{} is not built", program.display());
    program
}

/// A running `latchkey serve`. Dropped, it is killed.
pub struct Server {
    child: Child,
    /// `127.0.0.1:PORT`
    pub address: String,
    pub data: PathBuf,
    /// What it printed before it answered.
    pub greeting: String,
}

/// What came back.
#[derive(Clone)]
pub struct Reply {
    /// What was sent for it, cut short where it is long.
    pub request: String,
    pub status: u16,
    /// By their lowercase names.
    pub headers: BTreeMap<String, String>,
    pub text: String,
    /// How long it took, from before it was sent.
    pub took: Duration,
}

/// How long the server gives a call.
pub const CALL_TIME: Duration = Duration::from_secs(10);

impl Reply {
    /// Whether the call was told to come back although its time was not over. No call of the embedded store is, however
    /// many calls change the same items.
    pub fn is_busy_early(&self) -> bool {
        self.status == 503 && self.code() == "busy" && self.took < CALL_TIME
    }

    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    /// The problem's code.
    pub fn code(&self) -> String {
        let body = self.json();
        body.get("code").and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

impl fmt::Display for Reply {
    /// The request and the reply, as they went over the wire.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "--- request\n{}\n--- reply\n{}", self.request, self.status)?;
        for (name, value) in &self.headers {
            writeln!(f, "{name}: {value}")?;
        }
        writeln!(f, "\n{}\n---", shortened(self.text.as_bytes()))
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl Server {
    /// Serves the shipped systems from a directory, with a clock that requests may set.
    pub fn start(data: &Path) -> Server {
        Server::start_on(data, &[])
    }

    /// Serves documents so.
    pub fn start_on(data: &Path, documents: &[PathBuf]) -> Server {
        Server::start_by(backend::on_backend("serve", data, documents), data)
    }

    /// Starts a server by a command that has all but where to listen.
    pub fn start_by(mut command: Command, data: &Path) -> Server {
        command.arg("--test-clock");
        Server::start_in_time(command, data)
    }

    /// The same, by the clock of the machine.
    pub fn start_in_time(command: Command, data: &Path) -> Server {
        Server::start_until("`latchkey token", command, data)
    }

    /// The same, by a command with a secret of its own: it tells of no token.
    pub fn start_with_secret(command: Command, data: &Path) -> Server {
        Server::start_until("  health", command, data)
    }

    /// Starts it and reads until it has said some words.
    fn start_until(words: &str, mut command: Command, data: &Path) -> Server {
        let mut child = command
            .args(["--listen", "127.0.0.1:0"])
            .env("LATCHKEY_LOG", "warn")
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let (greeting, address) = greeting(&mut child, words);
        Server { child, address, data: data.to_owned(), greeting }
    }

    /// The process, for signals.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a power cut would.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to stop, and waits until it has.
    pub fn stop(&mut self) -> std::process::ExitStatus {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.wait()
    }

    /// Waits until it has ended.
    pub fn wait(&mut self) -> std::process::ExitStatus {
        self.child.wait().unwrap()
    }

    pub fn token(&self, sub: &str, roles: &[&str], orgs: &[&str]) -> String {
        token(&self.data, sub, roles, orgs)
    }

    /// A connection of its own.
    pub fn client(&self) -> Client {
        Client::new(&self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads what a server prints, up to a line with some words: all of it, and the address it listens on.
pub fn greeting(child: &mut Child, last: &str) -> (String, String) {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (mut greeting, mut address) = (String::new(), String::new());
    for line in lines.by_ref() {
        let line = line.unwrap();
        greeting.push_str(&line);
        greeting.push('\n');
        if let Some(url) = line.trim().strip_prefix("listening") {
            address = url.trim().strip_prefix("http://").unwrap().to_owned();
        }
        if line.contains(last) {
            break;
        }
    }
    assert!(!address.is_empty(), "it does not listen: {greeting}");
    // Later lines are read too, so that the server never waits for a reader.
    thread::spawn(move || lines.for_each(drop));
    (greeting, address)
}

/// What `latchkey token` prints.
pub fn token(data: &Path, sub: &str, roles: &[&str], orgs: &[&str]) -> String {
    let mut command = latchkey();
    command.args(["token", "--sub", sub, "--data"]).arg(data);
    for role in roles {
        command.args(["--role", role]);
    }
    for org in orgs {
        command.args(["--org", org]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The command itself, for its other uses.
pub fn latchkey() -> Command {
    let mut command = Command::new(program("latchkey-under-test"));
    command.env_remove("LATCHKEY_SECRET").env_remove("LATCHKEY_SECRETS_OLD");
    command
}

/// How long a test waits before it takes something for hanging. No other verdict rests on it.
pub const HANG: Duration = Duration::from_secs(300);

/// Waits until something is true.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < HANG, "it hangs, waiting until {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A client of one connection, kept open, that sends what it is told and no more.
pub struct Client {
    address: String,
    stream: Option<BufReader<TcpStream>>,
    pub token: Option<String>,
    /// The instant requests are made at, on a server that lets them.
    pub now: Option<String>,
}

impl Client {
    pub fn new(address: &str) -> Client {
        Client { address: address.to_owned(), stream: None, token: None, now: None }
    }

    #[must_use]
    pub fn with_token(mut self, token: &str) -> Client {
        self.token = Some(token.to_owned());
        self
    }

    #[must_use]
    pub fn at(mut self, now: &str) -> Client {
        self.now = Some(now.to_owned());
        self
    }

    pub fn get(&mut self, path: &str) -> Reply {
        self.send("GET", path, &[], None)
    }

    pub fn post(&mut self, path: &str, body: &Value) -> Reply {
        self.send("POST", path, &[], Some(&body.to_string()))
    }

    pub fn put(&mut self, path: &str, body: &Value) -> Reply {
        self.send("PUT", path, &[], Some(&body.to_string()))
    }

    /// Sends a request with a JSON body, if any, and panics if no answer comes.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Reply {
        self.try_send(method, path, headers, body).unwrap()
    }

    /// The same, but a server may be gone.
    pub fn try_send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> std::io::Result<Reply> {
        let mut head = self.head(method, path, headers);
        if let Some(body) = body {
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                head.push_str("content-type: application/json\r\n");
            }
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        head.push_str(body.unwrap_or_default());
        self.raw(head.as_bytes(), method == "HEAD")
    }

    /// Sends a body of any bytes in one piece, or in chunks whose number of bytes nothing tells before.
    pub fn send_bytes(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
        chunked: bool,
    ) -> Reply {
        let mut head = self.head(method, path, headers);
        if chunked {
            head.push_str("transfer-encoding: chunked\r\n\r\n");
        } else {
            head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        }
        let mut bytes = head.into_bytes();
        if chunked {
            for chunk in body.chunks(64 * 1024) {
                bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
                bytes.extend(chunk);
                bytes.extend(b"\r\n");
            }
            bytes.extend(b"0\r\n\r\n");
        } else {
            bytes.extend(body);
        }
        self.raw(&bytes, method == "HEAD").unwrap()
    }

    /// The head of a request, but for what tells of its body and the empty line.
    pub fn head(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> String {
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n", self.address);
        let mut add = |name: &str, value: &str| head.push_str(&format!("{name}: {value}\r\n"));
        if let Some(token) = &self.token {
            add("authorization", &format!("Bearer {token}"));
        }
        if let Some(now) = &self.now {
            add("latchkey-now", now);
        }
        headers.iter().for_each(|(name, value)| add(name, value));
        head
    }

    /// Sends bytes as they are, and reads one answer.
    pub fn raw(&mut self, bytes: &[u8], head_alone: bool) -> std::io::Result<Reply> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(&self.address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(HANG))?;
            self.stream = Some(BufReader::new(stream));
        }
        let stream = self.stream.as_mut().unwrap();
        let sent = Instant::now();
        let answer = stream
            .get_mut()
            .write_all(bytes)
            // A server that refuses a long body answers before it has read it.
            .or_else(|error| match error.kind() {
                std::io::ErrorKind::BrokenPipe | std::io::ErrorKind::ConnectionReset => Ok(()),
                _ => Err(error),
            })
            .and_then(|()| read_reply(stream, head_alone))
            .map(|reply| Reply { request: shortened(bytes), took: sent.elapsed(), ..reply });
        let keep = answer.as_ref().is_ok_and(|reply| reply.header("connection") != "close");
        if !keep {
            self.stream = None;
        }
        answer
    }
}

fn read_reply(stream: &mut BufReader<TcpStream>, head_alone: bool) -> std::io::Result<Reply> {
    let broken = |what: &str| std::io::Error::new(std::io::ErrorKind::UnexpectedEof, what);
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(broken("no answer"));
    }
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status: u16 = status.ok_or_else(|| broken(&line))?;
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(broken("half a head"));
        }
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; if head_alone || status == 304 { 0 } else { length }];
    stream.read_exact(&mut body)?;
    let text = String::from_utf8(body).unwrap();
    Ok(Reply { request: String::new(), status, headers, text, took: Duration::ZERO })
}

/// As much of a message as a person reads.
fn shortened(bytes: &[u8]) -> String {
    const BYTES_MAX: usize = 4000;
    let shown: Vec<u8> = bytes.iter().copied().take(BYTES_MAX).collect();
    let rest = bytes.len() - shown.len();
    let text = String::from_utf8_lossy(&shown).trim_end().to_owned();
    if rest == 0 { text } else { format!("{text}… and {rest} bytes more") }
}
