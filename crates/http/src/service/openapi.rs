//! `/openapi.json`: written once when the server starts, and then answered as it is.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, ETAG, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use sha2::{Digest, Sha256};

use super::not_modified;
use crate::headers;
use crate::respond::{self, Response};

/// The bytes of a document's hash in its `ETag`: 128 bits are enough against collisions.
const HASH_BYTES: usize = 16;

/// The OpenAPI document of a server.
#[derive(Debug)]
pub(super) struct Description {
    body: Bytes,
    tag: String,
}

impl Description {
    /// A document; none, if its text is empty.
    pub(super) fn new(text: String) -> Option<Description> {
        if text.is_empty() {
            return None;
        }
        let hash = Sha256::digest(&text);
        let tag = format!("\"{}\"", BASE64.encode(hash.get(..HASH_BYTES)?));
        Some(Description { body: text.into(), tag })
    }

    /// The answer to a request: the document, or that the caller has it.
    pub(super) fn answer(&self, asked: &HeaderMap) -> Response {
        let json = HeaderValue::from_static("application/json");
        let mut response = respond::text(StatusCode::OK, json, self.body.clone());
        let headers = response.headers_mut();
        if let Ok(tag) = HeaderValue::from_str(&self.tag) {
            headers.insert(ETAG, tag);
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        match headers::has_already(asked, &self.tag) {
            true => not_modified(response),
            false => response,
        }
    }
}
