//! Bytes as they go over a connection, for clients that do not keep to the rules.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use crate::serve::HANG;

/// A connection, and what was read of it.
pub(crate) struct Wire(pub(crate) BufReader<TcpStream>);

/// One answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// As it came, but in lowercase.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Wire {
    pub(crate) fn open(address: &str) -> Wire {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        Wire(BufReader::new(stream))
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.0.get_mut().write_all(bytes.as_ref())
    }

    /// Says that nothing more will come.
    pub(crate) fn end(&self) {
        // It may be closed already.
        let _ = self.0.get_ref().shutdown(std::net::Shutdown::Write);
    }

    /// The next answer; nothing at the end of the connection, however it came.
    pub(crate) fn answer(&mut self) -> Option<Answer> {
        self.answer_to("")
    }

    /// The same, to a method: the answer to `HEAD` has a length and no body.
    pub(crate) fn answer_to(&mut self, method: &str) -> Option<Answer> {
        self.read(method == "HEAD").unwrap_or_else(|error| {
            let waited = [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut];
            assert!(!waited.contains(&error.kind()), "neither an answer nor an end");
            None
        })
    }

    fn read(&mut self, head_alone: bool) -> io::Result<Option<Answer>> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head)? == 0 {
                return Ok(None);
            }
        }
        let head = head.to_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status: {head}"));
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |length| length.trim().parse().unwrap());
        let mut body = vec![0; if head_alone || [204, 304].contains(&status) { 0 } else { length }];
        self.0.read_exact(&mut body)?;
        Ok(Some(Answer { status, head, body }))
    }
}

/// A request to register a locker, whole.
pub(crate) fn register(token: &str, locker: &str) -> String {
    let body = format!(r#"{{"lockerId":"{locker}","ownerId":"owner"}}"#);
    request("POST", "/lockers", token, &body)
}

pub(crate) fn request(method: &str, path: &str, token: &str, body: &str) -> String {
    let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
    format!(
        "{method} {path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {token}\r\n{kind}\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}
