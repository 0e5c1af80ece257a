//! The ring of counters: what it keeps, for how long, and what it tells.

use super::*;

/// Counters after some calls, of which the slow ones took longer than every bound.
fn counts(calls: u64, slow: u64, failed: u64) -> Counts {
    let mut latencies = vec![0; latency_bounds().count() + 1];
    latencies[0] = calls - slow;
    *latencies.last_mut().unwrap() = slow;
    Counts { calls, failed, latencies, ..Counts::default() }
}

/// A ring that saw two contracts once before anything, then after each of these numbers of calls of the first.
fn ring(calls: &[u64]) -> Ring {
    let start = Instant::now();
    let mut ring = Ring::default();
    for (at, calls) in std::iter::once(&0).chain(calls).enumerate() {
        let at = start + STEP * u32::try_from(at).unwrap();
        ring.add(at, vec![counts(*calls, 0, 0), counts(0, 0, 0)]);
    }
    ring
}

#[test]
fn a_step_has_what_was_counted_since_the_last() {
    let ring = ring(&[10, 10, 35]);
    let told = ring.told(&[0]);
    assert_eq!(told["calls"], json!([2.0, 0.0, 5.0]));
    assert_eq!(told["minute"]["perSecond"], json!(2.33));
    assert_eq!(told["minute"]["calls"], 35);
    assert_eq!(ring.told(&[0, 1])["calls"], told["calls"]);
    assert_eq!(ring.told(&[1])["calls"], json!([0.0, 0.0, 0.0]));
}

#[test]
fn a_ring_forgets_what_is_old() {
    let calls: Vec<u64> = (1..=400).collect();
    let ring = ring(&calls);
    assert_eq!((ring.steps.len(), ring.latencies.len()), (STEPS, MINUTE));
    assert_eq!(ring.minute(&[0])["calls"], 12);
}

#[test]
fn quantiles_are_those_of_the_last_minute() {
    let mut ring = Ring::default();
    let start = Instant::now();
    ring.add(start, vec![counts(1000, 1000, 0)]);
    assert_eq!(ring.minute(&[0])["p50"], Value::Null);
    ring.add(start + STEP, vec![counts(1100, 1002, 3)]);
    let minute = ring.minute(&[0]);
    assert_eq!(minute["p50"], json!({ "us": 500, "above": false }));
    assert_eq!(minute["p99"], json!({ "us": 10_000_000, "above": true }));
    assert_eq!((&minute["calls"], &minute["failed"]), (&json!(100), &json!(3)));
}

// A server whose counters begin again, as they never do, must not show thousands of millions of calls.
#[test]
fn counters_never_run_backwards() {
    let mut ring = Ring::default();
    let start = Instant::now();
    ring.add(start, vec![counts(9, 0, 0)]);
    ring.add(start + STEP, vec![counts(3, 0, 0)]);
    assert_eq!(ring.minute(&[0])["calls"], 0);
}

#[test]
fn a_contract_is_told_more_closely() {
    let mut ring = Ring::default();
    let start = Instant::now();
    ring.add(start, vec![counts(0, 0, 0)]);
    ring.add(start + STEP, vec![Counts { read_halves: 15, write_units: 40, ..counts(10, 1, 0) }]);
    ring.add(
        start + STEP * 2,
        vec![Counts { read_halves: 15, write_units: 40, ..counts(10, 1, 0) }],
    );
    let told = ring.closely(0);
    assert_eq!(told["p50"], json!([500, null]));
    assert_eq!(told["p99"], json!([10_000_000, null]));
    assert_eq!(told["rcu"], json!([0.75, null]));
    assert_eq!(told["wcu"], json!([4.0, null]));
}
