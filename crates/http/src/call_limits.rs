//! How often callers may call: the `limit` of each contract, and one for all contracts of the server.
//!
//! A limit is a bucket of calls for each caller or address. The bucket holds `burst` calls and is filled at the stated
//! rate. A call that finds the bucket empty is refused before its body is read.

mod buckets;
mod quota;

use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use latchkey_runtime::model::{CallLimit, Whose};
use latchkey_runtime::{Caller, Problem, RawInput};

pub(crate) use self::buckets::Bucket;
use self::buckets::{Buckets, Verdict};
use self::quota::Quotas;
pub(crate) use self::quota::Taken;
use crate::bug::bug;
use crate::request::Inputs;

/// What the limits are, and what is left of them, as the IETF's draft 11 on RateLimit headers has them.
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LEFT: HeaderName = HeaderName::from_static("ratelimit");

/// Where proxies say for whom they ask.
const FORWARDED: &str = "x-forwarded-for";

/// Room for what is left of a limit, behind its name: two numbers.
const LEFT_BYTES: usize = 46;

const NANOS_IN_SECOND: u64 = 1_000_000_000;

/// The name of the limit for all contracts. No contract has it: the id of a contract has no space.
const ALL_CONTRACTS: &str = "all contracts";

/// The limits of a server.
#[derive(Debug)]
pub(crate) struct CallLimits {
    /// The limit for all contracts together, if there is one.
    all: Option<Policy>,
    /// How many proxies stand before the server.
    proxies: usize,
    buckets: Arc<Buckets>,
    quotas: Arc<Quotas>,
}

/// A limit, ready to be used.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    /// The contract, by its number on the server: two documents may have contracts of one id. None is all contracts.
    contract: Option<usize>,
    /// What it is called in headers: a contract's id, or [`ALL_CONTRACTS`].
    name: String,
    /// The name as headers have it.
    quoted: String,
    limit: CallLimit,
    /// How long it takes to fill the bucket by one call.
    call_ns: u64,
    told: HeaderValue,
}

/// What is left of a limit after a call.
#[derive(Debug)]
pub(crate) struct Left {
    policy: HeaderValue,
    left: HeaderValue,
}

/// Who makes a call, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asking<'a> {
    /// The caller of the token; nobody without one.
    pub(crate) caller: &'a Caller,
    /// The other end of the connection.
    pub(crate) peer: IpAddr,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) now: Instant,
    /// What the call has in the input by which the contract's limit counts.
    pub(crate) counted_by: Option<&'a str>,
}

impl Policy {
    /// The limit of a contract, which has a number on the server.
    pub(crate) fn of_contract(id: &str, number: usize, limit: CallLimit) -> Policy {
        Policy::new(id, Some(number), limit)
    }

    /// What a call has in the input by which the limit counts, if it counts by one. Nothing of a text that cannot be
    /// read: such a call is refused.
    pub(crate) fn counted_by<'a>(&self, inputs: &'a Inputs) -> Option<&'a str> {
        let Whose::Input(name) = &self.limit.whose else { return None };
        let (_, value) = inputs.iter().find(|(input, _)| input == name)?;
        match value {
            RawInput::Text(text) => Some(text),
            _ => None,
        }
    }

    fn new(name: &str, contract: Option<usize>, limit: CallLimit) -> Policy {
        let call_ns = (limit.per.seconds() * NANOS_IN_SECOND) / u64::from(limit.calls.max(1));
        let seconds = seconds(call_ns.saturating_mul(u64::from(limit.burst)));
        let quoted = Quoted(name).to_string();
        let told = format!("{quoted};q={};w={seconds}", limit.burst);
        let told = HeaderValue::try_from(&told).unwrap_or_else(|_| {
            drop(bug(format!("`{told}` cannot be sent as a header")));
            HeaderValue::from_static("")
        });
        Policy { contract, name: name.to_owned(), quoted, limit, call_ns, told }
    }

    /// Whether only calls count that are not refused.
    fn is_counted(&self) -> bool {
        matches!(self.limit.whose, Whose::Input(_))
    }

    /// How long it takes to fill the bucket.
    fn depth_ns(&self) -> u64 {
        self.call_ns.saturating_mul(u64::from(self.limit.burst))
    }

    /// What is left of a bucket that is full again after a time.
    fn left(&self, owed_ns: u64) -> Option<Left> {
        let calls = owed_ns.div_ceil(self.call_ns.max(1));
        let left = u64::from(self.limit.burst).saturating_sub(calls);
        let mut text = String::with_capacity(self.quoted.len().saturating_add(LEFT_BYTES));
        text.push_str(&self.quoted);
        let _ = write!(text, ";r={left};t={}", seconds(owed_ns));
        match HeaderValue::try_from(&text) {
            Ok(left) => Some(Left { policy: self.told.clone(), left }),
            Err(_) => {
                drop(bug(format!("what is left of {} cannot be sent as a header", self.name)));
                None
            }
        }
    }

    fn refusal(&self, wait_ns: u64) -> Problem {
        let seconds = seconds(wait_ns).max(1);
        let (name, limit) = (&self.name, &self.limit);
        let so_many = match &limit.whose {
            Whose::Caller => format!("this caller has made as many calls of {name} as it may"),
            Whose::Address => format!("this address has made as many calls of {name} as it may"),
            Whose::Input(input) => {
                format!("as many calls of {name} were made for this `{input}` as may be")
            }
        };
        let detail = format!("{so_many} ({limit}); try again in {seconds} s");
        let retry_after = Some(u32::try_from(seconds).unwrap_or(u32::MAX));
        Problem { retry_after, ..Problem::new(429, "too-many-requests", detail) }
    }
}

impl CallLimits {
    /// Limits, with one for all contracts of each caller, behind so many proxies.
    pub(crate) fn new(all: Option<CallLimit>, proxies: usize) -> CallLimits {
        let all = all.map(|limit| Policy::new(ALL_CONTRACTS, None, limit));
        let buckets = Arc::new(Buckets::new());
        let quotas = Arc::new(Quotas::new(Arc::clone(&buckets)));
        CallLimits { all, proxies, buckets, quotas }
    }

    /// Takes a call from the buckets of the caller, or refuses it. A call that one bucket refuses is given back to the
    /// others, and told the longest wait. Says what is left, also if it refuses.
    ///
    /// A limit by an input is only looked at: the call is [taken](CallLimits::take_counted) once it is known whole.
    pub(crate) fn take(
        &self,
        contract: Option<&Policy>,
        asking: Asking<'_>,
        left: &mut Vec<Left>,
    ) -> Result<(), Problem> {
        let policies = || self.all.iter().chain(contract);
        let (mut taken, mut longest) = ([None, None], None);
        for (slot, policy) in taken.iter_mut().zip(policies()) {
            let bucket = self.bucket(policy, asking);
            let (call_ns, depth_ns, now) = (policy.call_ns, policy.depth_ns(), asking.now);
            let verdict = match policy.is_counted() {
                true => self.buckets.look(bucket, call_ns, depth_ns, now),
                false => self.buckets.take(bucket, call_ns, depth_ns, now),
            };
            match verdict {
                Verdict::Taken { owed_ns } => *slot = Some((policy, bucket, owed_ns)),
                // Calls under way may give their places back.
                Verdict::Empty { owed_ns, .. }
                    if policy.is_counted() && self.quotas.is_open(bucket) =>
                {
                    left.extend(policy.left(owed_ns));
                }
                Verdict::Empty { owed_ns, wait_ns } => {
                    left.extend(policy.left(owed_ns));
                    if longest.is_none_or(|(_, longest)| wait_ns > longest) {
                        longest = Some((policy, wait_ns));
                    }
                }
            }
        }
        for (policy, bucket, owed_ns) in taken.into_iter().flatten() {
            let kept = match longest {
                None => owed_ns,
                Some(_) if policy.is_counted() => owed_ns.saturating_sub(policy.call_ns),
                Some(_) => {
                    self.buckets.give_back(bucket, policy.call_ns);
                    owed_ns.saturating_sub(policy.call_ns)
                }
            };
            left.extend(policy.left(kept));
        }
        longest.map_or(Ok(()), |(policy, wait_ns)| Err(policy.refusal(wait_ns)))
    }

    /// The bucket of a call that counts by an input.
    pub(crate) fn counted(&self, policy: &Policy, asking: Asking<'_>) -> Option<Bucket> {
        policy.is_counted().then(|| self.bucket(policy, asking))
    }

    /// Takes a call that counts by an input from its bucket, and says what is left then, also if it refuses.
    pub(crate) async fn take_counted(
        &self,
        policy: &Policy,
        bucket: Bucket,
        time_max: Duration,
        left: &mut Vec<Left>,
    ) -> Result<Taken, Problem> {
        let taken = self.quotas.take(policy, bucket, time_max).await;
        let owed_ns = match &taken {
            Ok((_, owed_ns)) | Err((_, owed_ns)) => *owed_ns,
        };
        // What is left of the contract's own limit is told last.
        left.pop();
        left.extend(policy.left(owed_ns));
        taken.map(|(taken, _)| taken).map_err(|(problem, _)| problem)
    }

    /// Gives a refused call back to its bucket, and says what is left with it.
    pub(crate) fn give_back(&self, policy: &Policy, taken: Taken, left: &mut Vec<Left>) {
        let bucket = taken.bucket;
        taken.give_back();
        left.pop();
        left.extend(policy.left(self.buckets.owed_ns(bucket, Instant::now())));
    }

    /// The bucket of a limit that a call is taken from.
    fn bucket(&self, policy: &Policy, asking: Asking<'_>) -> Bucket {
        if let Whose::Input(_) = policy.limit.whose {
            return self.buckets.of(&(policy.contract, "input", asking.counted_by));
        }
        // Without a token the calls of an address are counted, also where a limit is for callers.
        match policy.limit.whose == Whose::Caller && !asking.caller.id.is_empty() {
            true => self.buckets.of(&(policy.contract, true, asking.caller.id.as_str())),
            false => {
                let address = network(address(asking.headers, asking.peer, self.proxies));
                self.buckets.of(&(policy.contract, false, address))
            }
        }
    }
}

/// Tells a caller the limits and what is left of them.
pub(crate) fn tell(headers: &mut HeaderMap, all: Vec<Left>) {
    for Left { policy, left } in all {
        headers.append(POLICY, policy);
        headers.append(LEFT, left);
    }
}

/// Whole seconds, rounded up.
fn seconds(ns: u64) -> u64 {
    ns.div_ceil(NANOS_IN_SECOND)
}

/// The address that a request comes from: the peer's, or the one that the outermost of the server's own proxies was
/// asked from. What stands further left in the header was written by the caller.
pub(crate) fn address(headers: &HeaderMap, peer: IpAddr, proxies: usize) -> IpAddr {
    let Some(from_right) = proxies.checked_sub(1) else { return peer };
    let lines = headers.get_all(FORWARDED).iter().filter_map(|line| line.to_str().ok());
    let all: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
    // A request that came past the proxies has no such header. Its peer is the only address that is known.
    all.iter().rev().nth(from_right).and_then(|text| parse(text)).unwrap_or(peer)
}

/// An address as proxies write it: bare, with a port, or in brackets.
fn parse(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.split(']').next());
    text.parse()
        .ok()
        .or_else(|| bare?.parse().ok())
        .or_else(|| text.parse().ok().map(|with_port: std::net::SocketAddr| with_port.ip()))
}

/// What one subscriber has: an address of IPv4, or 64 bits of one of IPv6.
pub(crate) fn network(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits() >> 64 << 64,
    }
}

/// A text of a structured field (RFC 9651).
struct Quoted<'a>(&'a str);

impl std::fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_char('"')?;
        for character in self.0.chars() {
            if matches!(character, '"' | '\\') {
                f.write_char('\\')?;
            }
            f.write_char(character)?;
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests;
