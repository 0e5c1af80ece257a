//! Calls that count only if they are not refused: the limits by an input.
//!
//! Nobody knows how a call ends before it does, so it has its place in the bucket meanwhile. A call that finds the
//! bucket empty because others are under way waits until one of them ends, in the order of arrival: those that are
//! refused give their places back, so callers who may not call do not take the places of those who may.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use latchkey_runtime::Problem;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::Policy;
use super::buckets::{Bucket, Buckets, Verdict};

/// The calls under way, by their buckets.
#[derive(Debug)]
pub(super) struct Quotas {
    buckets: Arc<Buckets>,
    open: Mutex<HashMap<Bucket, Open>>,
}

/// The calls of a bucket.
#[derive(Debug, Default)]
struct Open {
    /// Those that have a place and have not ended.
    calls: usize,
    /// Those that wait for one to end.
    waiting: usize,
    /// Notified when a call has ended.
    ended: Arc<Notify>,
}

/// The place of a call that is under way. Dropped, it stays taken: the call counts.
#[derive(Debug)]
pub(crate) struct Taken {
    quotas: Arc<Quotas>,
    pub(super) bucket: Bucket,
    call_ns: u64,
}

/// A call that waits.
struct Waiting<'a> {
    quotas: &'a Quotas,
    bucket: Bucket,
}

impl Quotas {
    pub(super) fn new(buckets: Arc<Buckets>) -> Quotas {
        Quotas { buckets, open: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Bucket, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether calls of a bucket are under way, which may give their places back.
    pub(super) fn is_open(&self, bucket: Bucket) -> bool {
        self.lock().contains_key(&bucket)
    }

    /// Takes a place, and says after which time the bucket is full again. Waits for calls that are under way, if the
    /// bucket is empty without their places; not longer than a call may take.
    pub(super) async fn take(
        self: &Arc<Quotas>,
        policy: &Policy,
        bucket: Bucket,
        time_max: Duration,
    ) -> Result<(Taken, u64), (Problem, u64)> {
        let deadline = Instant::now() + time_max;
        let mut waiting: Option<Waiting<'_>> = None;
        loop {
            let now = Instant::now();
            let ended = {
                let mut all = self.lock();
                let open = all.entry(bucket).or_default();
                // Whoever came before has the next place.
                if waiting.is_some() || open.waiting == 0 {
                    let (call_ns, depth_ns) = (policy.call_ns, policy.depth_ns());
                    match self.buckets.take(bucket, call_ns, depth_ns, now) {
                        Verdict::Taken { owed_ns } => {
                            open.calls += 1;
                            let quotas = Arc::clone(self);
                            return Ok((Taken { quotas, bucket, call_ns }, owed_ns));
                        }
                        Verdict::Empty { owed_ns, wait_ns } if open.calls == 0 => {
                            // Nor is there a place for those behind.
                            open.ended.notify_one();
                            forget_if_unused(&mut all, bucket);
                            return Err((policy.refusal(wait_ns), owed_ns));
                        }
                        Verdict::Empty { .. } => {}
                    }
                }
                open.waiting += 1;
                let mut ended = Box::pin(Arc::clone(&open.ended).notified_owned());
                ended.as_mut().enable();
                ended
            };
            // It counts as one that waits until it has looked again, so that nobody comes between.
            waiting = Some(Waiting { quotas: self, bucket });
            if timeout(deadline.saturating_duration_since(now), ended).await.is_err() {
                let detail = format!(
                    "other calls of {} that count for the same limit are under way; try again in a moment",
                    policy.name
                );
                return Err((Problem::later("busy", &detail), self.buckets.owed_ns(bucket, now)));
            }
        }
    }

    /// Tells the first that waits that a call has ended.
    fn end(&self, bucket: Bucket) {
        let mut all = self.lock();
        if let Some(open) = all.get_mut(&bucket) {
            open.calls = open.calls.saturating_sub(1);
            open.ended.notify_one();
        }
        forget_if_unused(&mut all, bucket);
    }
}

fn forget_if_unused(all: &mut HashMap<Bucket, Open>, bucket: Bucket) {
    if all.get(&bucket).is_some_and(|open| open.calls == 0 && open.waiting == 0) {
        all.remove(&bucket);
    }
}

impl Taken {
    /// Gives the place back: the call was refused.
    pub(super) fn give_back(self) {
        self.quotas.buckets.give_back(self.bucket, self.call_ns);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.quotas.end(self.bucket);
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut all = self.quotas.lock();
        if let Some(open) = all.get_mut(&self.bucket) {
            open.waiting = open.waiting.saturating_sub(1);
        }
        forget_if_unused(&mut all, self.bucket);
    }
}

#[cfg(test)]
mod tests {
    use latchkey_runtime::model::{CallLimit, Period, Whose};

    use super::*;

    const TIME: Duration = Duration::from_secs(60);

    fn policy() -> Policy {
        let whose = Whose::Input("id".into());
        Policy::of_contract("D-01", 1, CallLimit { calls: 2, per: Period::Day, whose, burst: 2 })
    }

    fn quotas() -> (Arc<Quotas>, Bucket) {
        let buckets = Arc::new(Buckets::new());
        let bucket = buckets.of(&"owner");
        (Arc::new(Quotas::new(buckets)), bucket)
    }

    // Callers who were refused had all places while they were at it, and the owner was told to come again tomorrow.
    #[tokio::test]
    async fn a_call_waits_for_those_that_may_give_their_places_back() {
        let (quotas, bucket) = quotas();
        let policy = policy();
        let one = quotas.take(&policy, bucket, TIME).await.unwrap().0;
        let other = quotas.take(&policy, bucket, TIME).await.unwrap().0;
        let order = Arc::new(Mutex::new(Vec::new()));
        let line: Vec<_> = (0..4)
            .map(|number| {
                let (quotas, policy, order) =
                    (Arc::clone(&quotas), policy.clone(), Arc::clone(&order));
                tokio::spawn(async move {
                    let taken = quotas.take(&policy, bucket, TIME).await;
                    order.lock().unwrap().push(number);
                    taken
                })
            })
            .collect();
        while quotas.lock()[&bucket].waiting < 4 {
            tokio::task::yield_now().await;
        }
        // The first two are refused, and the two that come next are not: there is none left for the others.
        one.give_back();
        other.give_back();
        let mut answers = Vec::new();
        for (number, answer) in line.into_iter().enumerate() {
            let answer = answer.await.unwrap();
            assert_eq!(answer.is_ok(), number < 2, "{number}");
            answers.extend(answer.err().map(|(problem, _)| (problem.status, problem.retry_after)));
            // A call that was taken counts when it is dropped.
        }
        assert!(order.lock().unwrap().starts_with(&[0, 1]));
        assert!(answers.iter().all(|(status, after)| *status == 429 && *after > Some(40_000)));
        assert!(quotas.lock().is_empty(), "nothing is kept of what has ended");
    }

    #[tokio::test]
    async fn a_call_does_not_wait_for_ever_and_those_who_leave_are_forgotten() {
        let (quotas, bucket) = quotas();
        let policy = policy();
        let one = quotas.take(&policy, bucket, TIME).await.unwrap().0;
        let other = quotas.take(&policy, bucket, TIME).await.unwrap().0;
        let (problem, _) =
            quotas.take(&policy, bucket, Duration::from_millis(1)).await.unwrap_err();
        assert_eq!((problem.status, problem.retry_after), (503, Some(1)));
        assert!(
            timeout(Duration::from_millis(1), quotas.take(&policy, bucket, TIME)).await.is_err()
        );
        one.give_back();
        let next = quotas.take(&policy, bucket, TIME).await.unwrap().0;
        drop((next, other));
        assert!(quotas.lock().is_empty());
    }
}
