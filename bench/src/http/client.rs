//! Clients over HTTP/1.1: each keeps one connection, and sends a request when the one before is answered.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use latchkey_http::{Claims, Tokens};
use latchkey_runtime::{Source, SystemSource};
use latchkey_testing::jwt;
use latchkey_testing::signer::Signer;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::lockers::{Lockers, Versions, pick};
use super::reply::Reply;
use crate::Result;

/// Signs the tokens of a run. It keeps nothing from anyone.
pub(crate) const SECRET: &str = "a secret for measurements on loopback alone";

/// How long the tokens last.
const TOKEN_LASTS: Duration = Duration::from_secs(24 * 60 * 60);

/// What the clients ask for.
#[derive(Debug, Clone)]
pub(crate) enum Ask {
    /// Any locker; the answer's body has so many bytes.
    Get { body_bytes: usize },
    /// A change of a locker that is the client's own.
    Change(Arc<Versions>),
}

/// Who signs the tokens of the clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signing {
    /// We do, with the secret.
    Hs256,
    /// An identity provider, with a key whose public half the server has.
    Rs256,
}

/// What clients do in one run.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) lockers: Lockers,
    pub(crate) ask: Ask,
    pub(crate) signing: Signing,
    pub(crate) clients: u64,
    pub(crate) time: Duration,
    /// Two runs of the same seed pick the same lockers.
    pub(crate) seed: u32,
}

/// What one run came to.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) time: Duration,
    /// How long each request took.
    pub(crate) latencies: Vec<Duration>,
}

/// Loads a server.
pub(crate) fn run(runtime: &Runtime, address: SocketAddr, work: &Work) -> Result<Done> {
    runtime.block_on(async {
        let mut clients = Vec::new();
        for number in 0..work.clients {
            clients.push(Client::new(address, number, work).await?);
        }
        let start = Instant::now();
        let mut tasks = JoinSet::new();
        for client in clients {
            tasks.spawn(client.run(start + work.time));
        }
        let mut latencies = Vec::new();
        while let Some(done) = tasks.join_next().await {
            latencies.extend(done??);
        }
        Ok(Done { time: start.elapsed(), latencies })
    })
}

/// The first answer to a get, to be copied.
pub(crate) fn sample(runtime: &Runtime, address: SocketAddr, work: &Work) -> Result<Vec<u8>> {
    runtime.block_on(async {
        let mut client = Client::new(address, 0, work).await?;
        client.write(0)?;
        client.exchange().await?;
        Ok(client.incoming)
    })
}

struct Client {
    stream: TcpStream,
    number: u64,
    work: Work,
    /// The lines of a head that are the same in every request.
    common: String,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
}

impl Client {
    async fn new(address: SocketAddr, number: u64, work: &Work) -> Result<Client> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let common = format!(
            "host: {address}\r\nuser-agent: latchkey-bench\r\naccept: */*\r\nauthorization: Bearer {}\r\n",
            token(number, work.signing)?
        );
        let work = work.clone();
        Ok(Client { stream, number, work, common, outgoing: Vec::new(), incoming: Vec::new() })
    }

    /// Asks over and over until the end.
    async fn run(mut self, end: Instant) -> Result<Vec<Duration>> {
        let mut latencies = Vec::new();
        let mut now = Instant::now();
        while now < end {
            let own = self.write(u64::try_from(latencies.len())?)?;
            self.exchange().await?;
            self.check(own)?;
            let answered = Instant::now();
            latencies.push(answered - now);
            now = answered;
        }
        Ok(latencies)
    }

    /// Writes the next request; it says which of the lockers it changes.
    fn write(&mut self, count: u64) -> Result<u64> {
        use std::io::Write;
        let Work { lockers, ask, clients, seed, .. } = &self.work;
        let pick = pick(*seed, self.number, count);
        let own = lockers.own(pick, self.number, *clients);
        let (out, common) = (&mut self.outgoing, &self.common);
        out.clear();
        match ask {
            Ask::Get { .. } => {
                write!(out, "GET /lockers/{} HTTP/1.1\r\n{common}\r\n", lockers.any(pick))?;
            }
            Ask::Change(versions) => {
                let change = versions.change(own)?;
                let body = format!(
                    r#"{{"newStatus":"{}","expectedVersion":{}}}"#,
                    change.status, change.version
                );
                write!(
                    out,
                    "PUT /lockers/{}/status HTTP/1.1\r\n{common}\
                     content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                    change.locker,
                    body.len()
                )?;
            }
        }
        Ok(own)
    }

    /// Sends what was written, and reads until the answer is whole.
    async fn exchange(&mut self) -> Result<()> {
        self.stream.write_all(&self.outgoing).await?;
        self.incoming.clear();
        loop {
            if self.stream.read_buf(&mut self.incoming).await? == 0 {
                return Err("the server hung up".into());
            }
            if Reply::read(&self.incoming)?.is_some() {
                return Ok(());
            }
        }
    }

    /// Sees that the answer is what was asked for.
    fn check(&self, own: u64) -> Result<()> {
        let reply = Reply::read(&self.incoming)?.ok_or("half an answer")?;
        let wrong = || {
            let body = String::from_utf8_lossy(reply.body);
            Err(format!("status {}: {body}", reply.status).into())
        };
        match &self.work.ask {
            _ if reply.status != 200 => wrong(),
            Ask::Get { body_bytes } if reply.body.len() != *body_bytes => wrong(),
            Ask::Get { .. } => Ok(()),
            Ask::Change(versions) => versions.changed(own),
        }
    }
}

/// A token for a client, who may do anything to any locker.
fn token(client: u64, signing: Signing) -> Result<String> {
    let caller = format!("client-{client:04}");
    match signing {
        Signing::Hs256 => token_of(&caller, Some("operator")),
        Signing::Rs256 => {
            let claims = json!({
                "iss": "latchkey", "aud": "latchkey", "sub": caller, "roles": ["operator"], "orgs": [],
                "iat": jwt::now(), "exp": jwt::now() + TOKEN_LASTS.as_secs(),
            });
            Ok(provider().token(&claims))
        }
    }
}

/// The key of the identity provider.
pub(crate) fn provider() -> Signer {
    Signer::rsa("bench", "one")
}

/// A token for a caller.
pub(crate) fn token_of(caller: &str, role: Option<&str>) -> Result<String> {
    let tokens = Tokens::new(SECRET.as_bytes(), "latchkey", "latchkey")?;
    let roles = role.into_iter().map(Into::into).collect();
    let claims = Claims { sub: caller.into(), roles, orgs: Vec::new() };
    Ok(tokens.sign(&claims, SystemSource.now(), TOKEN_LASTS)?)
}
