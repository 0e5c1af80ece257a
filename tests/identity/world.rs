//! A server that trusts a provider.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::jwt;
use crate::serve::provider::Provider;
use crate::serve::{Client, Reply, greeting, latchkey, until};

/// The audience of all tokens here.
pub(crate) const AUDIENCE: &str = "lockers-api";

/// A secret of a deployment.
pub(crate) const SECRET: &str = "a secret of the tests that is long enough";

/// A running server. Dropped, it is killed.
pub(crate) struct World {
    child: Child,
    pub(crate) address: String,
    pub(crate) greeting: String,
    log: Arc<Mutex<String>>,
    directory: tempfile::TempDir,
}

/// The document that is served.
fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("systems/smartlocker.md")
}

/// `latchkey serve`, yet to be told whom to trust.
pub(crate) fn serving(data: &Path) -> Command {
    let mut command = latchkey();
    command.env_remove("LATCHKEY_LOG");
    command.arg("serve").arg(document()).args(["--listen", "127.0.0.1:0", "--data"]).arg(data);
    command
}

/// Why such a command does not start.
#[track_caller]
pub(crate) fn refused(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(!output.status.success(), "it should be refused");
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

impl World {
    /// A server with more arguments.
    pub(crate) fn start(arguments: &[&str]) -> World {
        World::start_by(tempfile::tempdir().unwrap(), |command| command.args(arguments))
    }

    /// A server that trusts the tokens of a provider.
    pub(crate) fn trusting(provider: &Provider, more: &[&str]) -> World {
        let issuer = provider.issuer();
        let arguments = ["--oidc", issuer.as_str(), "--audience", AUDIENCE];
        World::start(&[arguments.as_slice(), more].concat())
    }

    pub(crate) fn start_by(
        directory: tempfile::TempDir,
        with: impl FnOnce(&mut Command) -> &mut Command,
    ) -> World {
        let mut command = serving(directory.path());
        let command = with(&mut command).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (log, mut lines) = (Arc::new(Mutex::new(String::new())), child.stderr.take().unwrap());
        let written = Arc::clone(&log);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = lines.read(&mut bytes) {
                written.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        let (greeting, address) = greeting(&mut child, "  openapi");
        World { child, address, greeting, log, directory }
    }

    /// Stops it; its directory stays.
    pub(crate) fn stop(mut self) -> tempfile::TempDir {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.child.wait().unwrap();
        std::mem::replace(&mut self.directory, tempfile::tempdir().unwrap())
    }

    pub(crate) fn data(&self) -> &Path {
        self.directory.path()
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Waits until it has logged something.
    #[track_caller]
    pub(crate) fn logs(&self, text: &str) {
        until(&format!("it logs `{text}`"), || self.log().contains(text));
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(&self.address)
    }

    /// Asks for the lockers of an owner.
    pub(crate) fn lockers_of(&self, owner: &str, token: &str) -> Reply {
        self.client().with_token(token).get(&format!("/owners/{owner}/lockers"))
    }

    #[track_caller]
    pub(crate) fn believes(&self, token: &str) {
        self.lockers_of("alice", token).is(200);
    }

    /// It does not believe a token, and says why.
    #[track_caller]
    pub(crate) fn doubts(&self, token: &str) -> String {
        let reply = self.lockers_of("alice", token).refuses(401, "unauthenticated");
        assert!(reply.header("www-authenticate").starts_with("Bearer"), "{reply}");
        reply.json()["detail"].as_str().unwrap().to_owned()
    }

    /// The figure of a metric.
    pub(crate) fn metric(&self, name: &str) -> Option<u64> {
        let text = self.client().get("/metrics").text;
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")))?;
        line.parse().ok()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a good token of a provider claims: alice, who is nothing but herself.
pub(crate) fn claims(provider: &Provider) -> Value {
    json!({"iss": provider.issuer(), "aud": AUDIENCE, "sub": "alice", "exp": jwt::now() + 3600})
}

/// The same with some claims replaced, or left out where they are null.
pub(crate) fn with(provider: &Provider, changes: Value) -> Value {
    let mut claims = claims(provider);
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}
