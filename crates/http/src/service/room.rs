//! The memory of answers until they are sent.

use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::Body;
use hyper::header::{AGE, CACHE_CONTROL, CONTENT_LENGTH, ETAG};
use latchkey_runtime::Problem;

use super::Service;
use crate::budget::{FREE_BYTES, NoRoom};
use crate::connections::Life;
use crate::respond::Response;

impl Service {
    /// Whether a response is so long that it needs room.
    pub(crate) fn takes_room(response: &Response) -> bool {
        let bytes = response.body().size_hint().lower();
        usize::try_from(bytes).is_ok_and(|bytes| bytes > FREE_BYTES)
    }

    /// The response with room for its body until that is sent, or a refusal. A body that is kept anyway needs none. Who
    /// has made a change is answered without, for a refusal would say that nothing was done.
    pub(crate) async fn with_room(
        &self,
        is_safe: bool,
        mut response: Response,
        life: &Arc<Life>,
    ) -> Response {
        let Some(Ok(frame)) = response.body_mut().frame().await else { return response };
        let bytes = frame.into_data().unwrap_or_default();
        let held = match bytes.is_unique() {
            true => self.answers.hold(bytes.clone(), life),
            false => Ok(bytes.clone()),
        };
        match held {
            Ok(held) => *response.body_mut() = Full::new(held),
            Err(NoRoom) if is_safe => {
                let detail = "the server has as many answers to send as it has memory for; try again in a moment";
                let mut refused = self.problem(&Problem::later("busy", detail));
                for (name, value) in response.headers() {
                    let of_its_body = [AGE, CACHE_CONTROL, CONTENT_LENGTH, ETAG].contains(name);
                    if !of_its_body && !refused.headers().contains_key(name) {
                        refused.headers_mut().append(name, value.clone());
                    }
                }
                self.metrics.record_answer_refused();
                return refused;
            }
            Err(NoRoom) => *response.body_mut() = Full::new(bytes),
        }
        response
    }
}
