//! What hyper does not tell of a head.
//!
//! hyper drops a `Content-Length` that stands beside a `Transfer-Encoding`, and a fragment that stands behind the path.
//! It does not say why it cannot read a head. So the lines of a head are looked at as they are read. What is seen here
//! refuses a request, or words its refusal. It never lets in what hyper refuses.
//!
//! Only bytes that are read while no request is under way are looked at. So the beginning of a request that came
//! together with the end of another is not. hyper answers such a request, and ends the connection behind it if it has
//! two lengths.

use std::mem;

/// The largest `Content-Length` that hyper takes.
const LENGTH_MAX: u64 = u64::MAX - 2;

/// How TLS begins: a record of a handshake.
const TLS: u8 = 0x16;

/// How much hyper gets of the preface of HTTP/2: enough to refuse it. It answers the whole one by nothing.
const PREFACE_SHOWN: usize = b"PRI * HTTP/2.0\r\n\r\n".len();

/// What is odd about a request that hyper lets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Odd {
    /// A `#` in the path or the query.
    Fragment,
    /// A `Content-Length` beside a `Transfer-Encoding`.
    TwoLengths,
}

/// Why hyper cannot read a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Tls,
    /// Another version of HTTP.
    Version,
    /// A `Content-Length` that hyper takes for none.
    TooLong,
    Other,
}

/// The lines of a head that arrives.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// What has arrived of a line.
    line: Vec<u8>,
    begun: bool,
    ended: bool,
    tls: bool,
    other_version: bool,
    preface: bool,
    fragment: bool,
    coding: bool,
    length: bool,
    too_long: bool,
}

impl Lines {
    /// Looks at bytes that were read. Once the head has ended, tells what is odd about its request.
    pub(crate) fn look(&mut self, bytes: &[u8]) -> Option<Odd> {
        self.tls |= !self.begun && self.line.is_empty() && bytes.first() == Some(&TLS);
        let mut rest = bytes;
        while !self.ended {
            let Some(end) = memchr::memchr(b'\n', rest) else {
                self.line.extend_from_slice(rest);
                return None;
            };
            let (line, after) = rest.split_at(end + 1);
            rest = after;
            if self.line.is_empty() {
                self.take(line.trim_ascii_end());
            } else {
                let mut whole = mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.take(whole.trim_ascii_end());
            }
            if self.ended {
                return self.odd();
            }
        }
        None
    }

    /// How many of some bytes hyper gets, if so many were read before them.
    pub(crate) fn shown(&self, before: usize, count: usize) -> usize {
        match self.preface {
            true => PREFACE_SHOWN.saturating_sub(before).max(1).min(count),
            false => count,
        }
    }

    /// How much memory this takes.
    pub(crate) fn bytes(&self) -> usize {
        self.line.capacity()
    }

    /// Why hyper cannot read the head.
    pub(crate) fn cause(&self) -> Cause {
        match self {
            Lines { tls: true, .. } => Cause::Tls,
            Lines { other_version: true, .. } => Cause::Version,
            Lines { too_long: true, .. } => Cause::TooLong,
            _ => Cause::Other,
        }
    }

    fn odd(&self) -> Option<Odd> {
        match self {
            Lines { coding: true, length: true, .. } => Some(Odd::TwoLengths),
            Lines { fragment: true, .. } => Some(Odd::Fragment),
            _ => None,
        }
    }

    fn take(&mut self, line: &[u8]) {
        match (self.begun, line.is_empty()) {
            // Empty lines before a request are passed over (RFC 9112, 2.2).
            (false, true) => {}
            (false, false) => self.take_first(line),
            (true, true) => self.ended = true,
            (true, false) => self.take_header(line),
        }
    }

    fn take_first(&mut self, line: &[u8]) {
        self.begun = true;
        self.preface = line == b"PRI * HTTP/2.0";
        let mut words = line.split(|byte| *byte == b' ');
        let (target, version, more) = (words.nth(1), words.next(), words.next());
        let is_ours = |version: &[u8]| matches!(version, b"HTTP/1.1" | b"HTTP/1.0");
        // What is no first line may be the rest of a header, of a request that came together with another.
        self.fragment = version.is_some_and(is_ours)
            && more.is_none()
            && target.is_some_and(|target| target.contains(&b'#'));
        self.other_version =
            version.is_some_and(|version| version.starts_with(b"HTTP/") && !is_ours(version));
    }

    fn take_header(&mut self, line: &[u8]) {
        // Most headers are others.
        if !line.first().is_some_and(|first| b"cCtT".contains(first)) {
            return;
        }
        if header(line, b"transfer-encoding").is_some() {
            self.coding = true;
        } else if let Some(value) = header(line, b"content-length") {
            self.length = true;
            let value = str::from_utf8(value).map(|value| value.trim().parse::<u64>());
            self.too_long |= matches!(value, Ok(Ok(value)) if value > LENGTH_MAX);
        }
    }
}

/// The value of a header, if a line is that header.
fn header<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (found, rest) = line.split_at_checked(name.len())?;
    found.eq_ignore_ascii_case(name).then_some(rest)?.strip_prefix(b":")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is odd about a head, whole and byte by byte.
    fn odd(head: &str) -> Option<Odd> {
        let whole = Lines::default().look(head.as_bytes());
        let mut lines = Lines::default();
        let mut told: Vec<Odd> = head.bytes().filter_map(|byte| lines.look(&[byte])).collect();
        assert_eq!(told.pop(), whole, "{head:?}");
        assert!(told.is_empty(), "told once: {head:?}");
        whole
    }

    fn cause(head: &[u8]) -> Cause {
        let mut lines = Lines::default();
        lines.look(head);
        lines.cause()
    }

    #[test]
    fn what_hyper_drops_is_seen_however_it_arrives() {
        assert_eq!(odd("GET /a HTTP/1.1\r\nhost: t\r\ncontent-length: 2\r\n\r\n{}"), None);
        assert_eq!(odd("GET /a#b HTTP/1.1\r\nhost: t\r\n\r\n"), Some(Odd::Fragment));
        assert_eq!(odd("\r\n\nGET /a?b=#b HTTP/1.1\nhost: t\n\n"), Some(Odd::Fragment));
        assert_eq!(odd("GET /a HTTP/1.1\r\nx: a#b\r\n\r\n"), None);
        assert_eq!(odd("okie: a=#1; b=2\r\nhost: t\r\n\r\n"), None, "the rest of a head");
        let two = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-LENGTH: 4\r\n\r\n";
        assert_eq!(odd(two), Some(Odd::TwoLengths));
        let two = "POST / HTTP/1.1\r\ncontent-length: 4\r\ntransfer-encoding:chunked\r\n\r\n";
        assert_eq!(odd(two), Some(Odd::TwoLengths));
        // A body says nothing.
        let one = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nContent-Length: 4\r\n\r\n";
        assert_eq!(odd(one), None);
    }

    #[test]
    fn why_a_head_cannot_be_read_is_told() {
        assert_eq!(cause(b"\x16\x03\x01\x02\0\x01\0\x01\n\xfc\x03\x03"), Cause::Tls);
        assert_eq!(cause(b"GET / HTTP/1.2\r\nhost: t\r\n\r\n"), Cause::Version);
        assert_eq!(cause(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Cause::Version);
        assert_eq!(
            cause(b"GET / HTTP/1.1\r\ncontent-length: 18446744073709551614\r\n"),
            Cause::TooLong
        );
        assert_eq!(
            cause(b"GET / HTTP/1.1\r\ncontent-length: 18446744073709551613\r\n"),
            Cause::Other
        );
        assert_eq!(cause(b"GET / HTTP/1.1\r\nhost\r\n\r\n"), Cause::Other);
        assert_eq!(cause(b"GET /\r\n"), Cause::Other);
    }

    #[test]
    fn hyper_gets_the_beginning_of_a_preface_alone() {
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        let mut lines = Lines::default();
        lines.look(preface);
        assert_eq!(lines.shown(0, preface.len()), PREFACE_SHOWN);
        assert_eq!(lines.shown(10, 14), 8);
        assert_eq!(lines.shown(PREFACE_SHOWN, 6), 1);
        assert_eq!(Lines::default().shown(0, 500), 500);
    }
}
