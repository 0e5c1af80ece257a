//! One kept-alive connection to a served system.

use std::net::SocketAddr;

use serde_json::Value as Json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Result;
use crate::http::client::token_of;
use crate::http::reply::Reply;

/// A connection, and what was last read from it.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    incoming: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Connection> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, incoming: Vec::new() })
    }

    /// Sends a request, and reads until the answer is whole.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<Reply<'_>> {
        self.stream.write_all(request).await?;
        self.incoming.clear();
        loop {
            if self.stream.read_buf(&mut self.incoming).await? == 0 {
                return Err("the server hung up".into());
            }
            // Looked at twice, for a borrow that may be returned lasts as long as the answer.
            if Reply::read(&self.incoming)?.is_some() {
                return Reply::read(&self.incoming)?.ok_or_else(|| "half an answer".into());
            }
        }
    }
}

/// A request without a body, or with one of JSON.
pub(crate) fn request(line: &str, token: &str, body: Option<&Json>) -> Vec<u8> {
    let mut text = format!("{line} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\n");
    let body = body.map(Json::to_string).unwrap_or_default();
    if !body.is_empty() {
        text.push_str("content-type: application/json\r\n");
    }
    text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    text.into_bytes()
}

/// An administrator, who asks one thing after the other.
#[derive(Debug)]
pub(crate) struct Admin {
    connection: Connection,
    token: String,
}

impl Admin {
    pub(crate) async fn open(address: SocketAddr) -> Result<Admin> {
        let token = token_of("ada", Some("admin"))?;
        Ok(Admin { connection: Connection::open(address).await?, token })
    }

    /// What is answered, which must be a success.
    pub(crate) async fn ask(&mut self, line: &str, body: Option<&Json>) -> Result<Vec<u8>> {
        let reply = self.connection.exchange(&request(line, &self.token, body)).await?;
        match reply.status {
            200..300 => Ok(reply.body.to_vec()),
            status => {
                let body = String::from_utf8_lossy(reply.body);
                Err(format!("{line}: status {status}: {body}").into())
            }
        }
    }
}
