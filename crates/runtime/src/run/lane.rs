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

/// How many losses at the heads of its lanes lead to another attempt at once.
const AT_ONCE: u32 = 3;

/// The longest wait before the first retry that waits; it doubles with each.
const WAIT_MS: u32 = 5;

/// The longest wait before an attempt.
fn wait_max(attempt: u32) -> Duration {
    Duration::from_millis(u64::from(WAIT_MS << attempt.min(8)))
}

/// Where a call stands in line.
#[derive(Debug, Default)]
pub(super) struct InLine {
    /// The lanes of the items that this attempt depended on, if it lost on one of them.
    lost: Vec<Lane>,
    /// The lanes that the next attempt goes through first.
    passing: Vec<Lane>,
    /// Whether the call has gone through lanes.
    has_passed: bool,
    /// The lanes at whose heads the call is.
    heads: Heads,
    /// How many attempts were lost, since the call came to the heads of its lanes.
    losses: u32,
}

/// Where a leg of a call stands.
pub(super) struct Stand {
    lane: Lane,
    /// Whether the contract runs again if the leg is refused.
    retries: bool,
}

impl Session<'_> {
    /// Waits for the next attempt: in the lanes of the items that the one before depended on, or by chance. False if
    /// there have been enough. At the heads of its lanes a call can lose to those alone that were under way when it came
    /// there, so it is given up only after it has lost there as often as without lanes.
    pub(super) async fn waits_again(&mut self) -> bool {
        let (lost, passing) =
            (std::mem::take(&mut self.line.lost), std::mem::take(&mut self.line.passing));
        if !passing.is_empty() {
            self.line.has_passed = true;
            for lane in passing {
                lane.pass().await;
            }
            return true;
        }
        if lost.iter().any(|lane| !self.line.heads.has(lane)) {
            self.line.losses = 1;
            self.line.heads.join(lost).await;
            return true;
        }
        self.line.losses += 1;
        if self.line.losses > RETRIES_MAX {
            return false;
        }
        // Those that were under way are over with the write that lost to them, so at the heads there is less to wait for.
        let at_once = if self.line.heads.is_empty() { 1 } else { AT_ONCE };
        if let Some(waits @ 1..) = self.line.losses.checked_sub(at_once) {
            let wait = self.call.runtime.source.wait(wait_max(waits + 1));
            if !wait.is_zero() {
                sleep(wait).await;
            }
        }
        true
    }

    /// Lets all others go on. Whatever is waited for next may itself wait for one of these lanes: what follows a send,
    /// or the message before this one.
    pub(super) fn leaves_lanes(&mut self) {
        self.line.heads = Heads::default();
    }

    /// The lane of the item that a leg is on, if there are lanes. A test that is not tried again changes nothing there.
    pub(super) fn lane(&self, plan: Option<&plan::Leg>, leg: &Leg) -> Result<Option<Stand>, Ended> {
        let (Some(lanes), Some(plan)) = (&self.call.runtime.lanes, plan) else { return Ok(None) };
        let retries = matches!(plan.failure, OnFailure::Retry);
        if !retries && matches!(leg, Leg::Check(_)) {
            return Ok(None);
        }
        let key = leg.key().map_err(|_| Bug::new("a write has no key"))?;
        Ok(Some(Stand { lane: lanes.of(&key)?, retries }))
    }

    /// Lets calls pass that lost on one of these items before, unless this call has written already.
    pub(super) fn lets_pass(&mut self, stands: &[Option<Stand>]) -> Result<(), Ended> {
        if self.frame.commits > 0 {
            return Ok(());
        }
        let taken = |stand: &&Stand| !self.line.heads.has(&stand.lane) && stand.lane.is_taken();
        let taken = || stands.iter().flatten().filter(taken);
        if taken().any(|stand| stand.retries) {
            self.loses_on(stands);
            return Err(Ended::Again);
        }
        // Once, so that no stream of others keeps it waiting; and not with a lane in hand, which these may wait for.
        if !self.line.has_passed && self.line.heads.is_empty() {
            self.line.passing = taken().map(|stand| stand.lane.clone()).collect();
            if !self.line.passing.is_empty() {
                return Err(Ended::Again);
            }
        }
        Ok(())
    }

    /// Keeps the lanes that the next attempt waits in, if it lost at a leg that is tried again.
    pub(super) fn loses_at(&mut self, leg: Option<usize>, stands: &[Option<Stand>]) {
        let stand = leg.and_then(|leg| stands.get(leg)).and_then(Option::as_ref);
        if stand.is_some_and(|stand| stand.retries) {
            self.loses_on(stands);
        }
    }

    /// Keeps the lanes that the next attempt waits in.
    fn loses_on(&mut self, stands: &[Option<Stand>]) {
        let lost = stands.iter().flatten().filter(|stand| stand.retries);
        self.line.lost = lost.map(|stand| stand.lane.clone()).collect();
    }
}
