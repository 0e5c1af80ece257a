//! The limits of a request: the size of its head, the size and the time of its body.

use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Bytes};
use hyper::header::{CONTENT_LENGTH, HeaderName, HeaderValue};
use hyper::{HeaderMap, Request};
use latchkey_runtime::Problem;

use crate::headers;

/// The error of a body.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The largest head: path, query and headers.
pub(crate) const HEAD_BYTES_MAX: usize = 64 * 1024;

/// The largest body.
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// How long a body may take to arrive.
const BODY_TIME_MAX: Duration = Duration::from_secs(10);

/// Refuses a body that is said to be something else than JSON, or two things at once.
pub(crate) fn check_kind(headers: &HeaderMap) -> Result<(), Problem> {
    if headers::is_json(headers) {
        return Ok(());
    }
    let detail = "send the body as `content-type: application/json`, and say so once";
    Err(Problem::new(415, "unsupported-media-type", detail))
}

/// Reads a body. A body that is too long or too slow is refused.
pub(crate) async fn read<B>(headers: &HeaderMap, body: B) -> Result<Bytes, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if !headers::is_plain(headers) {
        let detail =
            "the body is encoded, and this server decodes none; send it without `Content-Encoding`";
        return Err(Problem::new(415, "unsupported-media-type", detail));
    }
    let too_long = || {
        let detail = format!("the body has more than {BODY_BYTES_MAX} bytes; send less at once");
        Problem::new(413, "body-too-large", detail)
    };
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let length = length.and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > u64::try_from(BODY_BYTES_MAX).unwrap_or(u64::MAX)) {
        return Err(too_long());
    }
    let collected = Limited::new(body, BODY_BYTES_MAX).collect();
    match tokio::time::timeout(BODY_TIME_MAX, collected).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
        Ok(Err(_)) => Err(Problem::bad("the body broke off before its end; send all of it")),
        Err(_) => {
            let seconds = BODY_TIME_MAX.as_secs();
            let detail = format!("the body did not arrive within {seconds} seconds; send it again");
            Err(Problem::new(408, "request-timeout", detail))
        }
    }
}

/// The size of a head, as far as hyper hands it on.
pub(crate) fn head_bytes<B>(request: &Request<B>) -> usize {
    let path = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    let method = request.method().as_str().len();
    let header = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len();
    method + path + request.headers().iter().map(header).sum::<usize>()
}
