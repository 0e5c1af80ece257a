//! The limits of a request: the size of its head, the size and the time of its body.

use std::error::Error;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes};
use hyper::header::{CONTENT_LENGTH, HeaderName, HeaderValue};
use hyper::{HeaderMap, Request};
use latchkey_runtime::Problem;

use crate::budget::{Budget, NoRoom, Room};
use crate::headers;
use crate::refusal::MALFORMED;
use crate::service::Sender;

/// The error of a body.
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

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

/// The problem of a body that is too large.
pub(crate) fn too_large() -> Problem {
    let detail = format!("the body has more than {BODY_BYTES_MAX} bytes; send less at once");
    Problem::new(413, "body-too-large", detail)
}

/// Reads a body. A body that is too long or too slow is refused. It takes room while the second value lives.
pub(crate) async fn read<B>(
    headers: &HeaderMap,
    body: B,
    budget: &Arc<Budget>,
    sender: Sender<'_>,
) -> Result<(Bytes, Room), Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    if body.is_end_stream() {
        return Ok((Bytes::new(), Room::default()));
    }
    if !headers::is_plain(headers) {
        let detail =
            "the body is encoded, and this server decodes none; send it without `Content-Encoding`";
        return Err(Problem::new(415, "unsupported-media-type", detail));
    }
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let length = length.and_then(|length| length.parse::<usize>().ok());
    if length.is_some_and(|length| length > BODY_BYTES_MAX) {
        return Err(too_large());
    }
    let mut arriving = Arriving { whole: Vec::new(), room: Room::default(), length };
    match tokio::time::timeout(BODY_TIME_MAX, arriving.read(body, budget, sender)).await {
        Ok(Ok(whole)) => Ok((whole, arriving.room)),
        Ok(Err(Stop::TooLong)) => Err(too_large()),
        Ok(Err(Stop::NoRoom)) => {
            let detail = "the server has as many large bodies to read as it has memory for; try again in a moment";
            Err(Problem::later("busy", detail))
        }
        Ok(Err(Stop::BrokeOff)) => {
            Err(Problem::bad("the body broke off before its end; send all of it"))
        }
        Ok(Err(Stop::BadChunks)) => {
            let detail = "the chunks of the body cannot be read: look for a size that is no hexadecimal number, a line \
                          that does not end with CR and LF, data of another size, or very long extensions or trailers";
            Err(Problem::new(400, MALFORMED, detail))
        }
        Err(_) => {
            let seconds = BODY_TIME_MAX.as_secs();
            let detail = format!("the body did not arrive within {seconds} seconds; send it again");
            Err(Problem::new(408, "request-timeout", detail))
        }
    }
}

/// A body that arrives.
struct Arriving {
    whole: Vec<u8>,
    room: Room,
    /// How long it will be, if that is known.
    length: Option<usize>,
}

/// Why a body is not read to its end.
enum Stop {
    TooLong,
    NoRoom,
    BrokeOff,
    BadChunks,
}

impl Stop {
    /// What an error of a body means. hyper's has the error of the stream, or of the reader of chunks, as its cause.
    fn of(error: &BoxError) -> Stop {
        let mut cause: Option<&(dyn Error + 'static)> = Some(&**error);
        while let Some(error) = cause {
            match error.downcast_ref::<io::Error>().map(io::Error::kind) {
                Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                    return Stop::BadChunks;
                }
                _ => cause = error.source(),
            }
        }
        Stop::BrokeOff
    }
}

impl From<NoRoom> for Stop {
    fn from(NoRoom: NoRoom) -> Stop {
        Stop::NoRoom
    }
}

impl Arriving {
    /// Reads to the end. The parts are copied into one: a small part can hold on to a large buffer, and takes more
    /// memory to remember than it has bytes.
    async fn read<B>(
        &mut self,
        body: B,
        budget: &Arc<Budget>,
        sender: Sender<'_>,
    ) -> Result<Bytes, Stop>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let mut body = pin!(body);
        while let Some(frame) = body.as_mut().frame().await {
            let Ok(part) = frame.map_err(|error| Stop::of(&error.into()))?.into_data() else {
                continue;
            };
            let length = self.whole.len() + part.len();
            if length > BODY_BYTES_MAX {
                return Err(Stop::TooLong);
            }
            if self.whole.is_empty() && body.is_end_stream() {
                self.room.grow(budget, length, sender.life)?;
                return Ok(part);
            }
            if length > self.whole.capacity() {
                let most = self.length.unwrap_or(BODY_BYTES_MAX).max(length);
                let capacity = length.max(2 * self.whole.capacity()).min(most);
                self.room.grow(budget, capacity, sender.life)?;
                self.whole.reserve_exact(capacity - self.whole.len());
            }
            self.whole.extend_from_slice(&part);
        }
        Ok(std::mem::take(&mut self.whole).into())
    }
}

/// The size of a head, as far as hyper hands it on.
pub(crate) fn head_bytes<B>(request: &Request<B>) -> usize {
    let path = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    let method = request.method().as_str().len();
    let header = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len();
    method + path + request.headers().iter().map(header).sum::<usize>()
}
