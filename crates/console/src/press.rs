//! Presses what is sent: pages and recordings say the same words again and again.
//!
//! In the format of zlib, which HTTP calls `deflate`. No page shows the token, which is in a cookie alone, so the length
//! of what is pressed tells nothing of it.

use http_body_util::{BodyExt, Full};
use hyper::HeaderMap;
use hyper::body::Bytes;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue, VARY};
use latchkey_http::Response;
use miniz_oxide::deflate::compress_to_vec_zlib;

/// How hard to press, from 0 to 10: more takes longer, and wins little.
const LEVEL: u8 = 6;

/// Shorter answers are sent as they are.
const BYTES_MIN: usize = 1_024;

/// An answer as whoever asks can read it: pressed, if that is worth it and not done yet.
pub(crate) async fn pressed(response: Response, asked: &HeaderMap) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(body) = body.collect().await;
    let body = body.to_bytes();
    if body.len() < BYTES_MIN || parts.headers.contains_key(CONTENT_ENCODING) {
        return Response::from_parts(parts, Full::new(body));
    }
    parts.headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if !reads(asked) {
        return Response::from_parts(parts, Full::new(body));
    }
    parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("deflate"));
    Response::from_parts(parts, Full::new(press(&body)))
}

/// Bytes, pressed.
pub(crate) fn press(bytes: &[u8]) -> Bytes {
    compress_to_vec_zlib(bytes, LEVEL).into()
}

/// Whether whoever asks reads what is pressed, as every browser does.
pub(crate) fn reads(asked: &HeaderMap) -> bool {
    let all = asked.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(',')).any(|one| {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        let refused = weight
            .trim()
            .strip_prefix("q=0")
            .is_some_and(|rest| rest.chars().all(|c| c == '.' || c == '0'));
        name.trim().eq_ignore_ascii_case("deflate") && !refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_pressed_for_those_who_can_read_it() {
        let takes = |value: &'static str| {
            reads(&HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(value))]))
        };
        assert!(takes("gzip, deflate, br") && takes("Deflate") && takes("deflate;q=0.5"));
        assert!(!takes("gzip") && !takes("deflate;q=0") && !takes("deflate; q=0.0") && !takes(""));
        assert!(!reads(&HeaderMap::new()));
    }
}
