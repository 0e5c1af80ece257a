use std::time::Duration;

use latchkey_runtime::model::Period;

use super::*;

fn limit(whose: Whose) -> CallLimit {
    CallLimit { calls: 2, per: Period::Minute, whose, burst: 3 }
}

fn caller(id: &str) -> Caller {
    Caller { id: id.into(), ..Caller::default() }
}

fn forwarded(lines: &[&'static str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(FORWARDED, HeaderValue::from_static(line));
    }
    headers
}

#[test]
fn callers_have_buckets_of_their_own_in_each_contract() {
    let limits = CallLimits::new(None, 0);
    let (one, other) = (
        Policy::of_contract("D-01", 1, limit(Whose::Caller)),
        Policy::of_contract("D-02", 2, limit(Whose::Caller)),
    );
    let (now, headers) = (Instant::now(), HeaderMap::new());
    let ask = |policy: &Policy, id: &str, peer: u8, seconds: u64| {
        let asking = Asking {
            caller: &caller(id),
            peer: IpAddr::from([127, 0, 0, peer]),
            headers: &headers,
            now: now + Duration::from_secs(seconds),
            counted_by: None,
        };
        let mut left = Vec::new();
        let taken = limits.take(Some(policy), asking, &mut left);
        let told: Vec<String> =
            left.iter().map(|left| left.left.to_str().unwrap().to_owned()).collect();
        (taken.map_err(|problem| (problem.status, problem.retry_after)), told.join(", "))
    };
    assert_eq!(one.told, "\"D-01\";q=3;w=90");
    assert_eq!(ask(&one, "alice", 1, 0), (Ok(()), "\"D-01\";r=2;t=30".to_owned()));
    assert_eq!(ask(&one, "alice", 2, 0), (Ok(()), "\"D-01\";r=1;t=60".to_owned()));
    assert_eq!(ask(&one, "alice", 1, 0), (Ok(()), "\"D-01\";r=0;t=90".to_owned()));
    let refused = (Err((429, Some(30))), "\"D-01\";r=0;t=90".to_owned());
    assert_eq!(ask(&one, "alice", 1, 0), refused);
    assert_eq!(ask(&one, "alice", 1, 30).0, Ok(()));
    assert_eq!(ask(&one, "bob", 1, 0).0, Ok(()));
    assert_eq!(ask(&other, "alice", 1, 0).0, Ok(()));
    // A contract of this id in another document shared the bucket.
    let namesake = Policy::of_contract("D-01", 3, limit(Whose::Caller));
    assert_eq!(ask(&namesake, "alice", 1, 0).0, Ok(()));
}

#[test]
fn the_limit_for_all_contracts_counts_beside_that_of_the_contract() {
    let limits = CallLimits::new(Some(limit(Whose::Caller)), 0);
    let one = Policy::of_contract("D-01", 1, CallLimit { burst: 1, ..limit(Whose::Caller) });
    let (now, headers, alice) = (Instant::now(), HeaderMap::new(), caller("alice"));
    let asking = Asking {
        caller: &alice,
        peer: [127, 0, 0, 1].into(),
        headers: &headers,
        now,
        counted_by: None,
    };
    let mut left = Vec::new();
    assert!(limits.take(Some(&one), asking, &mut left).is_ok());
    let mut answered = HeaderMap::new();
    tell(&mut answered, left);
    let told: Vec<_> = answered.get_all(LEFT).iter().map(|line| line.to_str().unwrap()).collect();
    assert_eq!(told, ["\"all contracts\";r=2;t=30", "\"D-01\";r=0;t=30"]);
    assert!(limits.take(None, asking, &mut Vec::new()).is_ok());
    // Calls that the contract's limit refused were taken from the other bucket.
    for _ in 0..5 {
        let mut left = Vec::new();
        let refused = limits.take(Some(&one), asking, &mut left).unwrap_err();
        assert!(refused.detail.contains("D-01"), "{}", refused.detail);
        assert_eq!(refused.retry_after, Some(30));
        let told: Vec<_> = left.iter().map(|left| left.left.to_str().unwrap()).collect();
        assert_eq!(told, ["\"D-01\";r=0;t=30", "\"all contracts\";r=1;t=60"]);
    }
    assert!(limits.take(None, asking, &mut Vec::new()).is_ok());
    let refused = limits.take(None, asking, &mut Vec::new()).unwrap_err();
    assert!(refused.detail.contains("all contracts"), "{}", refused.detail);
}

#[test]
fn of_two_empty_buckets_the_longer_wait_is_told() {
    let slow = CallLimit { calls: 1, per: Period::Hour, whose: Whose::Caller, burst: 1 };
    let slow = Policy::of_contract("D-02", 2, slow);
    let limits = CallLimits::new(Some(CallLimit { burst: 1, ..limit(Whose::Caller) }), 0);
    let (now, headers, alice) = (Instant::now(), HeaderMap::new(), caller("alice"));
    let asking = Asking {
        caller: &alice,
        peer: [127, 0, 0, 1].into(),
        headers: &headers,
        now,
        counted_by: None,
    };
    assert!(limits.take(Some(&slow), asking, &mut Vec::new()).is_ok());
    let refused = limits.take(Some(&slow), asking, &mut Vec::new()).unwrap_err();
    assert_eq!(refused.retry_after, Some(3_600));
}

// A caller could write any address into the header and have a new bucket for each call.
#[test]
fn only_the_servers_own_proxies_say_who_asks() {
    let peer = IpAddr::from([10, 0, 0, 9]);
    let from = |lines: &[&'static str], proxies| address(&forwarded(lines), peer, proxies);
    let one = IpAddr::from([198, 51, 100, 1]);
    assert_eq!(from(&["198.51.100.1"], 0), peer);
    assert_eq!(from(&["203.0.113.7, 198.51.100.1"], 1), one);
    assert_eq!(from(&["203.0.113.7", "198.51.100.1:4711"], 1), one);
    assert_eq!(from(&["198.51.100.1, 203.0.113.7"], 2), one);
    assert_eq!(from(&["[2001:db8::1]:99"], 1), IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1]));
    for odd in ["", "unknown", "1.2.3.4.5"] {
        assert_eq!(address(&forwarded(&[]), peer, 1), peer);
        let mut headers = HeaderMap::new();
        headers.insert(FORWARDED, HeaderValue::from_static(odd));
        assert_eq!(address(&headers, peer, 1), peer);
    }
}

#[test]
fn a_subscriber_of_ipv6_has_one_bucket() {
    let network = |text: &str| network(text.parse().unwrap());
    assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:2"));
    assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
    assert_eq!(network("::ffff:127.0.0.1"), network("127.0.0.1"));
}
