//! Who calls, and when: the token of a request, verified, and the instant that a test gives it.

use hyper::HeaderMap;
use latchkey_runtime::{Caller, Problem};
use latchkey_value::time;

use super::{Seen, Sender, Service, Target};
use crate::call_limits::{self, Asking, Bucket};
use crate::headers;
use crate::identity::Provider;
use crate::request::Inputs;
use crate::token::{Claims, TokenError};

impl Service {
    /// The caller of a request.
    pub(super) async fn caller(
        &self,
        headers: &HeaderMap,
        sender: Sender<'_>,
    ) -> Result<Caller, Problem> {
        let refused = |detail: &str| Problem::new(401, "unauthenticated", detail);
        let token = headers::bearer(headers).map_err(refused)?;
        self.believe(token, headers, sender).await.map(Caller::from)
    }

    /// The claims of a token.
    pub(crate) async fn believe(
        &self,
        token: &str,
        headers: &HeaderMap,
        sender: Sender<'_>,
    ) -> Result<Claims, Problem> {
        // Tokens are checked by the system's clock, also on a server with a test clock.
        let now = || latchkey_runtime::Source::now(&latchkey_runtime::SystemSource);
        let verified = match self.tokens.verify(token, now()) {
            Err(error) if self.tokens.may_be_outdated(error) => {
                let from = call_limits::address(headers, sender.peer, self.settings.proxies);
                let refreshed = self.tokens.verify_refreshed(token, from, now);
                // Boxed, so that the future of other requests stays small.
                Box::pin(sender.while_there(refreshed)).await.unwrap_or(Err(TokenError::NoKeysNow))
            }
            verified => verified,
        };
        verified.map_err(|error| match error {
            TokenError::NoKeysNow => Problem {
                retry_after: self.tokens.provider().map(Provider::retry_after),
                ..Problem::later("busy", &error.to_string())
            },
            error => Problem::new(401, "unauthenticated", error.to_string()),
        })
    }

    /// Takes a call from the buckets of its caller, or refuses it. Gives the bucket that it counts for once its body is
    /// read, if it counts by an input.
    pub(super) fn take(
        &self,
        target: &Target,
        inputs: &Inputs,
        caller: &Caller,
        headers: &HeaderMap,
        seen: &mut Seen<'_>,
    ) -> Result<Option<Bucket>, Problem> {
        let Some(limits) = &self.limits else { return Ok(None) };
        let (peer, now) = (seen.sender.peer, seen.started);
        let policy = target.limit.as_ref();
        let counted_by = policy.and_then(|policy| policy.counted_by(inputs));
        let asking = Asking { caller, peer, headers, now, counted_by };
        let taken = limits.take(policy, asking, &mut seen.left);
        taken.inspect_err(|_| self.metrics.record_limited(target.number))?;
        Ok(policy.and_then(|policy| limits.counted(policy, asking)))
    }

    /// Takes a call from its bucket, where the calls for an input are counted. Its body has been read: whoever does not
    /// send it takes nothing from others.
    pub(super) async fn take_counted(
        &self,
        target: &Target,
        bucket: Bucket,
        seen: &mut Seen<'_>,
    ) -> Result<(), Problem> {
        let (Some(limits), Some(policy)) = (&self.limits, &target.limit) else { return Ok(()) };
        let time_max = self.settings.call_time_max;
        let taken = limits.take_counted(policy, bucket, time_max, &mut seen.left).await;
        seen.taken = Some(taken.inspect_err(|_| self.metrics.record_limited(target.number))?);
        Ok(())
    }

    /// Gives a refused call back: whoever may not call takes nothing from those who may.
    pub(super) fn give_back(&self, target: &Target, seen: &mut Seen<'_>) {
        let Some(taken) = seen.taken.take() else { return };
        if let (Some(limits), Some(policy)) = (&self.limits, &target.limit) {
            limits.give_back(policy, taken, &mut seen.left);
        }
    }

    /// The instant in `Latchkey-Now`, on a server with a test clock.
    pub(super) fn instant(&self, headers: &HeaderMap) -> Result<Option<i64>, Problem> {
        let Some(value) = headers.get(headers::NOW).filter(|_| self.settings.test_clock.is_some())
        else {
            return Ok(None);
        };
        let instant = value.to_str().ok().and_then(time::parse);
        instant.map(Some).ok_or_else(|| Problem::bad("`Latchkey-Now` is not an RFC 3339 time"))
    }
}
