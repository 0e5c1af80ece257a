//! A small identity provider on loopback, which can be away, slow, or wrong in many ways.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::signer::Signer;

/// The path of the description.
pub const DISCOVERY: &str = "/.well-known/openid-configuration";

/// The path of the keys.
pub const KEYS: &str = "/keys";

/// How it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mood {
    Well,
    /// It hangs up.
    Away,
    /// It waits before it answers.
    Slow(Duration),
    /// It sends a body of so many bytes.
    Huge(usize),
    /// It sends callers elsewhere.
    Redirects(String),
    /// It answers with a status.
    Fails(u16),
}

/// A provider. It ends with the process.
#[derive(Clone)]
pub struct Provider {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    mood: Mood,
    description: String,
    keys: String,
    asked: Vec<String>,
}

impl Provider {
    /// One that publishes the keys of these.
    pub fn start(signers: &[&Signer]) -> Provider {
        let provider = Provider::bound("127.0.0.1:0");
        provider.publish(signers);
        provider
    }

    fn bound(address: &str) -> Provider {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let issuer = format!("http://{address}");
        let description = json!({"issuer": issuer, "jwks_uri": format!("{issuer}{KEYS}")});
        let (description, keys) = (description.to_string(), String::new());
        let shared = Shared { mood: Mood::Well, description, keys, asked: Vec::new() };
        let provider = Provider { address, shared: Arc::new(Mutex::new(shared)) };
        let answering = provider.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answering = answering.clone();
                thread::spawn(move || answering.answer(stream));
            }
        });
        provider
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap()
    }

    pub fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address of its keys.
    pub fn keys_url(&self) -> String {
        format!("{}{KEYS}", self.issuer())
    }

    /// Publishes the keys of these and no others.
    pub fn publish(&self, signers: &[&Signer]) {
        self.publish_keys(&signers.iter().map(|signer| signer.jwk()).collect::<Vec<_>>());
    }

    pub fn publish_keys(&self, keys: &[Value]) {
        self.publish_text(&json!({ "keys": keys }).to_string());
    }

    pub fn publish_text(&self, text: &str) {
        self.shared().keys = text.to_owned();
    }

    pub fn describe(&self, description: &Value) {
        self.shared().description = description.to_string();
    }

    pub fn be(&self, mood: Mood) {
        self.shared().mood = mood;
    }

    /// The paths it was asked for, in their order.
    pub fn asked(&self) -> Vec<String> {
        self.shared().asked.clone()
    }

    /// How often it was asked for its keys.
    pub fn times(&self) -> usize {
        self.asked().iter().filter(|path| *path == KEYS).count()
    }

    /// The bytes of the answer to a path; none, if it hangs up.
    pub fn answer_to(&self, path: &str) -> Option<Vec<u8>> {
        let (mood, found) = {
            let mut shared = self.shared();
            shared.asked.push(path.to_owned());
            let found = match path {
                DISCOVERY => Some(shared.description.clone()),
                KEYS => Some(shared.keys.clone()),
                _ => None,
            };
            (shared.mood.clone(), found)
        };
        let ok =
            |body: &str| format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let found = found.map_or_else(
            || "HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n".to_owned(),
            |body| ok(&body),
        );
        Some(match mood {
            Mood::Well => found.into_bytes(),
            Mood::Away => return None,
            Mood::Slow(time) => {
                thread::sleep(time);
                found.into_bytes()
            }
            Mood::Huge(bytes) => {
                ok(&format!("{{\"keys\":[],\"x\":\"{}\"}}", "x".repeat(bytes))).into_bytes()
            }
            Mood::Redirects(to) => {
                format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
                    .into_bytes()
            }
            Mood::Fails(status) => {
                format!("HTTP/1.1 {status} No\r\ncontent-length: 0\r\n\r\n").into_bytes()
            }
        })
    }

    fn answer(&self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        if let Some(path) = read_path(&mut stream)
            && let Some(answer) = self.answer_to(&path)
        {
            // Whoever asked may be gone.
            let _ = stream.get_mut().write_all(&answer);
        }
    }
}

/// The path of a request, whose head is read.
pub fn read_path<S: Read>(stream: &mut BufReader<S>) -> Option<String> {
    let mut first = String::new();
    stream.read_line(&mut first).ok()?;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            return first.split(' ').nth(1).map(str::to_owned);
        }
    }
}
