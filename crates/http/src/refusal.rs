//! Requests that reach no contract, because of how they are written.
//!
//! hyper reads heads, and answers one that it cannot read by itself: with a status and nothing else. Such an answer is
//! recognised as it is written, and a problem is sent in its place. `raw` has looked at the lines of the head; it words
//! the problem, and refuses what hyper lets in and should not. It lets in nothing that hyper refuses.

use std::net::Ipv6Addr;

use hyper::body::Bytes;
use hyper::header::{CONTENT_LENGTH, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING};
use hyper::{HeaderMap, Request, Version};
use latchkey_runtime::Problem;
use latchkey_table::Capacity;

use crate::body::{self, HEAD_BYTES_MAX, head_bytes};
use crate::bug::bug;
use crate::headers;
use crate::log::Entry;
use crate::raw::{Cause, Odd};
use crate::respond;
use crate::service::Service;

/// The code of a request that is not HTTP/1.1.
pub(crate) const MALFORMED: &str = "malformed-request";

/// What follows the status line and the headers of hyper's own answer.
const EMPTY: &str = "content-length: 0\r\n";

/// Why a request is refused for its head alone: its size, its `Host`, a fragment, or how its body is framed.
pub(crate) fn of_head<B>(request: &Request<B>) -> Option<Problem> {
    if head_bytes(request) > HEAD_BYTES_MAX {
        let detail =
            format!("path and headers have more than {HEAD_BYTES_MAX} bytes; send less in them");
        return Some(Problem::new(431, "head-too-large", detail));
    }
    let odd = request.extensions().get::<Odd>();
    let mut hosts = request.headers().get_all(HOST).iter();
    let detail = match (request.version(), hosts.next(), hosts.next()) {
        (_, _, Some(_)) => "a request has one `Host`, and this one has more",
        (Version::HTTP_11, None, _) => "a request of HTTP/1.1 has a `Host`, and this one has none",
        (_, Some(host), _) if !is_host(host.as_bytes()) => {
            "`Host` is not the name or the address of a host, with or without a port"
        }
        _ if odd == Some(&Odd::Fragment) => {
            "the path or the query has a `#`, which begins a fragment, and a request has none; write `%23`"
        }
        _ if odd == Some(&Odd::TwoLengths) || !is_plainly_framed(request.headers()) => {
            "the only `Transfer-Encoding` is `chunked`, without a `Content-Length` beside it"
        }
        _ => return None,
    };
    Some(Problem::new(400, MALFORMED, detail))
}

/// Whether bytes are a host and its port, as a URL has them (RFC 3986): a name, an address, or an address of IPv6 in
/// brackets. A comma, which a name of RFC 3986 may have, is what some proxies write between two hosts.
fn is_host(host: &[u8]) -> bool {
    let Ok(host) = str::from_utf8(host) else { return false };
    let port = |port: &str| {
        // RFC 3986 lets a port be empty.
        port.bytes().all(|byte| byte.is_ascii_digit())
            && (port.is_empty() || port.parse::<u16>().is_ok())
    };
    if let Some(rest) = host.strip_prefix('[') {
        let Some((address, rest)) = rest.split_once(']') else { return false };
        let fits = address.parse::<Ipv6Addr>().is_ok();
        return fits && (rest.is_empty() || rest.strip_prefix(':').is_some_and(port));
    }
    match host.split_once(':') {
        Some((name, rest)) => is_name(name) && port(rest),
        None => is_name(host),
    }
}

/// Whether a text is the name of a host; empty, where a request is for none.
fn is_name(name: &str) -> bool {
    let mut parts = name.split('%');
    let plain = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+;=".contains(&byte))
    };
    let encoded = |text: &str| {
        let digits = text.get(..2).is_some_and(|two| two.bytes().all(|b| b.is_ascii_hexdigit()));
        digits && text.get(2..).is_some_and(plain)
    };
    parts.next().is_some_and(plain) && parts.all(encoded)
}

/// Whether the length of a body has one reading. A proxy may read another one, and take the end of one request for the
/// beginning of the next.
fn is_plainly_framed(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(coding), None) => {
            coding.as_bytes().eq_ignore_ascii_case(b"chunked")
                && !headers.contains_key(CONTENT_LENGTH)
        }
        (Some(_), Some(_)) => false,
    }
}

/// The problem of a request that hyper has refused with a status.
fn unread(status: u16, cause: Cause) -> Option<Problem> {
    let (status, code, detail) = match (status, cause) {
        (400, Cause::Tls) => (
            400,
            MALFORMED,
            "this is TLS, and this server speaks none: call it by `http://`, or put a proxy before it that speaks TLS",
        ),
        (400, Cause::Version) => {
            (400, MALFORMED, "this is another version of HTTP; this server speaks HTTP/1.1")
        }
        (400, Cause::Other | Cause::TooLong) => (
            400,
            MALFORMED,
            "this is no request of HTTP/1.1: look for a first line without `HTTP/1.1`, a space or a control character in \
             the path, a header without a colon or folded over two lines, a NUL in a header, a `Transfer-Encoding` that \
             is not `chunked`, or a `Content-Length` that is no number",
        ),
        (414, _) => {
            (414, "path-too-long", "path and query have more than 65534 bytes; send less in them")
        }
        // hyper says of such a body that the head is too large.
        (431, Cause::TooLong) => return Some(body::too_large()),
        (431, _) => (
            431,
            "head-too-large",
            "there are more than 100 headers, or path and headers are far larger than 64 KiB; send less in them",
        ),
        _ => return None,
    };
    Some(Problem::new(status, code, detail))
}

impl Service {
    /// An answer with a problem, in place of one that hyper gives by itself; nothing, if the bytes are another answer.
    pub(crate) fn explained(&self, bare: &[u8], cause: Cause) -> Option<Bytes> {
        let bare = str::from_utf8(bare).ok()?;
        let (start, rest) = bare.split_once(EMPTY).filter(|_| bare.ends_with("\r\n\r\n"))?;
        let (line, start) = start.split_once("\r\n")?;
        let problem = unread(line.split(' ').nth(1)?.parse().ok()?, cause)?;
        let id = self.next_id();
        let mut response = respond::problem(&problem, None, self.problem_base());
        let body = respond::problem_body(&problem, None, self.problem_base());
        match HeaderValue::from_str(&id) {
            Ok(id) => drop(response.headers_mut().insert(headers::REQUEST_ID, id)),
            Err(_) => drop(bug(format!("`{id}` cannot be sent as a header"))),
        }
        self.tell_browsers(&mut response);
        self.count_unread(&Entry {
            id: &id,
            contract: "",
            caller: "",
            status: problem.status,
            micros: 0,
            capacity: Capacity::ZERO,
        });
        let line = format!("HTTP/1.1 {}\r\n", response.status());
        let mut text = format!("{line}{start}content-length: {}\r\n", body.len()).into_bytes();
        let line = |(name, value): (&HeaderName, &HeaderValue)| {
            [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat()
        };
        response.headers().iter().for_each(|header| text.extend(line(header)));
        text.extend(rest.as_bytes());
        text.extend(body.as_bytes());
        Some(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_with_or_without_a_port() {
        for host in
            ["a", "a.example:80", "", "127.0.0.1:8080", "[::1]", "[2001:db8::1]:80", "a:", "a%20b"]
        {
            assert!(is_host(host.as_bytes()), "{host}");
        }
        let refused = [
            "[zz]:80", "[::1", "a:80:80", "a:b", "a:99999", "a%zz", "a%2", "a,b", "::1", "a b",
            "[::1]x", "a/b", "a:+1",
        ];
        for host in refused {
            assert!(!is_host(host.as_bytes()), "{host}");
        }
        assert!(!is_host(b"\xff"));
    }
}
