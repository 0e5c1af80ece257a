//! How a call waits before it runs again.

use std::time::Duration;

use latchkey_table::Leg;
use tokio::time::sleep;

use super::{Ended, Session};
use crate::bug::Bug;
use crate::lanes::Lane;
use crate::plan::{self, OnFailure};

/// How often a contract is run again when it finds its ground changed.
const RETRIES_MAX: u32 = 5;

/// The longest wait before the first retry that waits; it doubles with each.
const WAIT_MS: u32 = 5;

/// The longest wait before an attempt.
fn wait_max(attempt: u32) -> Duration {
    Duration::from_millis(u64::from(WAIT_MS << attempt.min(8)))
}

impl Session<'_> {
    /// Waits for an attempt: in the lane of the item that the one before lost on, or by chance. False if there have been
    /// enough. At the head of a lane only those come before a call that were under way when it came there.
    pub(super) async fn waits_for(&mut self, attempt: u32) -> bool {
        if attempt > RETRIES_MAX {
            return false;
        }
        let is_head = |lane: &Lane| self.head.as_ref().is_some_and(|head| head.is_of(lane));
        if let Some(lane) = self.lost.take().filter(|lane| attempt > 0 && !is_head(lane)) {
            // It leaves another first: no two calls wait for each other.
            self.head = None;
            self.head = Some(lane.head().await);
        } else if attempt > 1 {
            let wait = self.call.runtime.source.wait(wait_max(attempt));
            if !wait.is_zero() {
                sleep(wait).await;
            }
        }
        true
    }

    /// The lane of the item of a leg that is tried again where it is refused, if there are lanes. Calls that lost on the
    /// same item go first, unless this one has written already.
    pub(super) fn passes(
        &mut self,
        plan: Option<&plan::Leg>,
        leg: &Leg,
    ) -> Result<Option<Lane>, Ended> {
        let retries = plan.is_some_and(|plan| matches!(plan.failure, OnFailure::Retry));
        let Some(lanes) = self.call.runtime.lanes.as_ref().filter(|_| retries) else {
            return Ok(None);
        };
        let key = leg.key().map_err(|_| Bug::new("a write has no key"))?;
        let lane = lanes.of(&key)?;
        let is_head = self.head.as_ref().is_some_and(|head| head.is_of(&lane));
        if self.frame.commits == 0 && !is_head && lane.is_taken() {
            self.lost = Some(lane);
            return Err(Ended::Again);
        }
        Ok(Some(lane))
    }
}
