//! A proxy before a service, which fails as it is told to.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is carried out and answered.
    Pass,
    /// It is carried out, and the connection closed in place of an answer.
    Lost,
    /// It is carried out at once, and answered so much later.
    Late(Duration),
    /// Nobody ever answers it.
    Hang,
    /// It is not carried out; what is answered is no HTTP.
    Garbage,
    /// It is not carried out, but answered so.
    Answer(u16, String),
}

impl Fate {
    /// An error as DynamoDB tells it.
    pub fn error(status: u16, code: &str) -> Fate {
        let name = format!("com.amazonaws.dynamodb.v20120810#{code}");
        Fate::Answer(status, format!(r#"{{"__type":"{name}","message":"told so"}}"#))
    }

    /// A transaction cancelled for such reasons, leg by leg.
    pub fn cancelled(reasons: &[&str]) -> Fate {
        let name = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException";
        let reasons: Vec<_> =
            reasons.iter().map(|code| format!(r#"{{"Code":"{code}"}}"#)).collect();
        let reasons = reasons.join(",");
        let body = format!(
            r#"{{"__type":"{name}","Message":"cancelled","CancellationReasons":[{reasons}]}}"#
        );
        Fate::Answer(400, body)
    }
}

/// A request as it came by.
#[derive(Debug, Clone)]
pub struct Seen {
    /// `PutItem` and so on.
    pub operation: String,
    pub body: String,
}

type Decide = dyn Fn(usize, &Seen) -> Fate + Send + Sync;

/// The proxy. Dropped, it is gone.
pub struct Proxy {
    pub endpoint: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    /// Stands before a service. What becomes of a request is decided by how many came before it.
    pub async fn start(
        service: &str,
        decide: impl Fn(usize) -> Fate + Send + Sync + 'static,
    ) -> Proxy {
        Proxy::start_by(service, move |count, _| decide(count)).await
    }

    /// The same. What becomes of a request is decided by the request, too.
    pub async fn start_by(
        service: &str,
        decide: impl Fn(usize, &Seen) -> Fate + Send + Sync + 'static,
    ) -> Proxy {
        let service: SocketAddr = service.strip_prefix("http://").unwrap().parse().unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let decide: Arc<Decide> = Arc::new(decide);
        let noted = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, decide) = (Arc::clone(&noted), Arc::clone(&decide));
                tokio::spawn(async move {
                    // Either side may go away.
                    let _ = serve(stream, service, &seen, &*decide).await;
                });
            }
        });
        Proxy { endpoint, seen, task }
    }

    /// What came by.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    service: SocketAddr,
    seen: &Mutex<Vec<Seen>>,
    decide: &Decide,
) -> std::io::Result<()> {
    while let Some((head, body)) = read_message(&mut stream).await? {
        let fate = {
            let mut seen = seen.lock().unwrap();
            let operation = header(&head, "x-amz-target").unwrap_or_default();
            let operation = operation.rsplit('.').next().unwrap_or_default().to_owned();
            let body = String::from_utf8_lossy(&body).into_owned();
            let one = Seen { operation, body };
            let fate = decide(seen.len(), &one);
            seen.push(one);
            fate
        };
        match fate {
            Fate::Pass => {
                let answer = ask(service, &head, &body).await?;
                stream.write_all(&answer).await?;
            }
            Fate::Lost => {
                ask(service, &head, &body).await?;
                return Ok(());
            }
            Fate::Late(by) => {
                let answer = ask(service, &head, &body).await?;
                tokio::time::sleep(by).await;
                stream.write_all(&answer).await?;
            }
            Fate::Hang => std::future::pending().await,
            Fate::Garbage => {
                stream.write_all(b"what?\r\n\r\n").await?;
                return stream.shutdown().await;
            }
            Fate::Answer(status, body) => {
                let head = format!(
                    "HTTP/1.1 {status} So\r\ncontent-type: application/x-amz-json-1.0\r\n\
                     content-length: {}\r\n\r\n",
                    body.len()
                );
                stream.write_all((head + &body).as_bytes()).await?;
            }
        }
    }
    Ok(())
}

/// The next request or answer of a connection, if there is one: its head and its body.
async fn read_message(stream: &mut TcpStream) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let mut body = bytes.split_off(end);
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let length = header(&head, "content-length").map_or(0, |length| length.parse().unwrap());
    while body.len() < length {
        if stream.read_buf(&mut body).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some((head, body)))
}

fn header<'a>(head: &'a str, wanted: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim())
}

/// Has a request carried out, on a connection of its own.
async fn ask(service: SocketAddr, head: &str, body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(service).await?;
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    let answer = read_message(&mut stream).await?;
    let (head, body) = answer.ok_or(std::io::ErrorKind::UnexpectedEof)?;
    assert!(header(&head, "content-length").is_some(), "an answer of unknown length: {head}");
    Ok([head.as_bytes(), &body].concat())
}
