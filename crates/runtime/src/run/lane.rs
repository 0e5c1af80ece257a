//! How a call waits before it runs again.

use std::time::Duration;

use latchkey_table::Leg;
use tokio::time::sleep;

use super::{Ended, Session};
use crate::bug::Bug;
use crate::lanes::{Heads, Lane};
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
    /// Waits for the next attempt: in the lanes of the items that the one before depended on, or by chance. False if
    /// there have been enough. At the heads of its lanes a call can lose to those alone that were under way when it came
    /// there, so it is given up only after it has lost there as often as without lanes.
    pub(super) async fn waits_again(&mut self) -> bool {
        let lost = std::mem::take(&mut self.lost);
        if lost.iter().any(|lane| !self.heads.has(lane)) {
            self.losses = 1;
            self.heads.join(lost).await;
            return true;
        }
        self.losses += 1;
        if self.losses > RETRIES_MAX {
            return false;
        }
        if self.losses > 1 {
            let wait = self.call.runtime.source.wait(wait_max(self.losses));
            if !wait.is_zero() {
                sleep(wait).await;
            }
        }
        true
    }

    /// Lets all others go on. Whatever is waited for next may itself wait for one of these lanes: what follows a send,
    /// or the message before this one.
    pub(super) fn leaves_lanes(&mut self) {
        self.heads = Heads::default();
    }

    /// The lane of the item of a leg that is tried again where it is refused, if there are lanes.
    pub(super) fn lane(&self, plan: Option<&plan::Leg>, leg: &Leg) -> Result<Option<Lane>, Ended> {
        let retries = plan.is_some_and(|plan| matches!(plan.failure, OnFailure::Retry));
        let Some(lanes) = self.call.runtime.lanes.as_ref().filter(|_| retries) else {
            return Ok(None);
        };
        let key = leg.key().map_err(|_| Bug::new("a write has no key"))?;
        Ok(Some(lanes.of(&key)?))
    }

    /// Lets calls pass that lost on one of these items before, unless this call has written already.
    pub(super) fn lets_pass(&mut self, lanes: &[Option<Lane>]) -> Result<(), Ended> {
        let waited_for = |lane: &Lane| !self.heads.has(lane) && lane.is_taken();
        if self.frame.commits == 0 && lanes.iter().flatten().any(waited_for) {
            self.loses_on(lanes);
            return Err(Ended::Again);
        }
        Ok(())
    }

    /// Keeps the lanes that the next attempt waits in, if it lost at a leg that has one.
    pub(super) fn loses_at(&mut self, leg: Option<usize>, lanes: &[Option<Lane>]) {
        if leg.and_then(|leg| lanes.get(leg)).is_some_and(Option::is_some) {
            self.loses_on(lanes);
        }
    }

    /// Keeps the lanes that the next attempt waits in.
    pub(super) fn loses_on(&mut self, lanes: &[Option<Lane>]) {
        self.lost = lanes.iter().flatten().cloned().collect();
    }
}
