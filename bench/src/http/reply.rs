//! As much of HTTP/1.1 answers as it takes to tell them apart.

use crate::Result;

/// The longest head that is waited for.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// A whole answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reply<'a> {
    pub(crate) status: u16,
    /// The lines of the head, but the first.
    pub(crate) head: &'a [u8],
    pub(crate) body: &'a [u8],
}

impl Reply<'_> {
    /// Reads an answer; none while some of it is yet to come. Nothing may follow it.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<Reply<'_>>> {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            return if bytes.len() < HEAD_BYTES_MAX { Ok(None) } else { Err("no head".into()) };
        };
        let (head, body) = bytes.split_at_checked(end + 4).ok_or("half a head")?;
        let first = head.iter().position(|byte| *byte == b'\n').unwrap_or(end);
        let (first, head) = head.split_at_checked(first + 1).ok_or("half a line")?;
        let status = first.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3));
        let status = number(status.ok_or("no HTTP/1.1")?)?;
        let reply = Reply { status: u16::try_from(status)?, head, body };
        let length = reply.header("content-length").ok_or("no content-length")?;
        let length = usize::try_from(number(length)?)?;
        if body.len() > length {
            return Err("more than one answer".into());
        }
        Ok((body.len() == length).then_some(reply))
    }

    /// The value of a header, by its lowercase name.
    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        let named = |(other, _): &(&[u8], &[u8])| other.eq_ignore_ascii_case(name.as_bytes());
        self.headers().find(named).map(|(_, value)| value)
    }

    /// The headers, by their names.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.head.split(|byte| *byte == b'\n').filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            Some((line.get(..colon)?, line.get(colon + 1..)?.trim_ascii()))
        })
    }
}

fn number(digits: &[u8]) -> Result<u64> {
    Ok(std::str::from_utf8(digits)?.parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &[u8] = b"HTTP/1.1 409 Conflict\r\nDate: now: or never\r\n\
        Content-Length:  5 \r\netag: \"1\"\r\n\r\nhello";

    #[test]
    fn an_answer_is_read_once_it_is_whole() {
        for end in 0..ANSWER.len() {
            assert_eq!(Reply::read(&ANSWER[..end]).unwrap(), None, "at {end}");
        }
        let reply = Reply::read(ANSWER).unwrap().unwrap();
        assert_eq!((reply.status, reply.body), (409, b"hello".as_slice()));
        assert_eq!(reply.header("etag"), Some(b"\"1\"".as_slice()));
        assert_eq!(reply.header("date"), Some(b"now: or never".as_slice()));
        assert_eq!(reply.header("etagg"), None);
        assert_eq!(reply.headers().count(), 3);
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let long = vec![b'a'; HEAD_BYTES_MAX];
        let cases: [(&[u8], &str); 6] = [
            (b"HTTP/2 200\r\ncontent-length: 0\r\n\r\n", "no HTTP/1.1"),
            (b"HTTP/1.1 abc\r\ncontent-length: 0\r\n\r\n", "invalid digit"),
            (b"HTTP/1.1 200 OK\r\n\r\n", "no content-length"),
            (b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", "invalid digit"),
            (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab", "more than one"),
            (&long, "no head"),
        ];
        for (bytes, says) in cases {
            let error = Reply::read(bytes).unwrap_err().to_string();
            assert!(error.contains(says), "{error}, not {says}");
        }
    }
}
