//! What contracts state of themselves: consistency, cardinality, rate, cost.

use std::fmt;

use latchkey_language::Span;
use latchkey_value::Number;
use latchkey_value::limits::LIMIT_CALLS_MAX;

use super::{EntityId, Waiver};

/// What a contract states of itself.
#[derive(Debug, Default)]
pub struct Facts {
    /// `eventual` or `strong`.
    pub consistency: Option<Stated<bool>>,
    /// How many items to expect.
    pub expect: Option<Stated<(u64, Option<u64>)>>,
    /// How often it is called.
    pub rate: Option<Stated<Rate>>,
    /// What it may cost.
    pub cost: Option<Stated<Cost>>,
    /// The entity whose items remember calls, so that one that is repeated is answered as the first was.
    pub idempotent: Option<Stated<EntityId>>,
    /// Where it is stated that each call has an `Idempotency-Key`, by which a repeated one is recognised.
    pub by_key: Option<Span>,
    /// For how many seconds a call may be answered from what an earlier one has read.
    pub cache: Option<Stated<u32>>,
    /// How often the server lets one caller, one address, or the calls for one value of an input, call.
    pub limit: Option<Stated<CallLimit>>,
    /// Rules that are waived for one of these.
    pub waivers: Vec<Waiver>,
}

/// A statement and where it stands.
#[derive(Debug)]
pub struct Stated<T> {
    /// What is stated.
    pub value: T,
    /// Where.
    pub span: Span,
}

/// How often a contract is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// So many times.
    pub calls: Number,
    /// In this time.
    pub per: Period,
}

/// How often the server lets one caller, one address, or the calls for one value of an input, call: so many calls in a
/// time, and so many at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLimit {
    /// So many calls.
    pub calls: u32,
    /// In this time.
    pub per: Period,
    /// Whose calls are counted together.
    pub whose: Whose,
    /// How many calls may come at once, after a time without any.
    pub burst: u32,
}

/// Whose calls a limit counts together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// Those of one caller, by the token.
    Caller,
    /// Those from one address.
    Address,
    /// Those that have the same id in this input of the path, whoever makes them.
    Input(String),
}

impl CallLimit {
    /// The limit of a text such as `20/s` or `20/s burst 40`.
    pub fn parse(text: &str, whose: Whose) -> Option<CallLimit> {
        let mut words = text.split(' ');
        let (calls, per) = words.next()?.split_once('/')?;
        let (calls, per) = (whole_calls(calls)?, Period::named(per)?);
        let burst = match (words.next(), words.next(), words.next()) {
            (None, ..) => calls,
            (Some("burst"), Some(burst), None) => whole_calls(burst)?,
            _ => return None,
        };
        Some(CallLimit { calls, per, whose, burst })
    }
}

/// A number of calls that a limit can have.
pub(crate) fn whole_calls(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|calls| digits && (1..=LIMIT_CALLS_MAX).contains(calls))
}

impl fmt::Display for CallLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = match &self.whose {
            Whose::Caller => "caller",
            Whose::Address => "address",
            Whose::Input(name) => name,
        };
        write!(f, "{}/{} per {whose} burst {}", self.calls, self.per.word(), self.burst)
    }
}

/// A unit of time of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// A second.
    Second,
    /// A minute.
    Minute,
    /// An hour.
    Hour,
    /// A day.
    Day,
}

impl Period {
    /// The period of a word: `s`, `m`, `h` or `d`.
    pub(crate) fn named(word: &str) -> Option<Period> {
        let all = [Period::Second, Period::Minute, Period::Hour, Period::Day];
        all.into_iter().find(|period| period.word() == word)
    }

    fn word(self) -> &'static str {
        match self {
            Period::Second => "s",
            Period::Minute => "m",
            Period::Hour => "h",
            Period::Day => "d",
        }
    }

    /// Its seconds.
    pub fn seconds(self) -> u64 {
        match self {
            Period::Second => 1,
            Period::Minute => 60,
            Period::Hour => 60 * 60,
            Period::Day => 24 * 60 * 60,
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.calls, self.per.word())
    }
}

/// What a call may cost: so much of each unit, in the order it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost(pub Vec<(Number, CapacityUnit)>);

/// A unit of capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapacityUnit {
    /// A read unit.
    Read,
    /// A write unit.
    Write,
}

impl CapacityUnit {
    /// The unit of a word: `rcu` or `wcu`.
    pub(crate) fn named(word: &str) -> Option<CapacityUnit> {
        [CapacityUnit::Read, CapacityUnit::Write].into_iter().find(|unit| unit.word() == word)
    }

    fn word(self) -> &'static str {
        match self {
            CapacityUnit::Read => "rcu",
            CapacityUnit::Write => "wcu",
        }
    }
}

impl Cost {
    /// How much of a unit is stated; nothing, where it is not named.
    pub fn of(&self, unit: CapacityUnit) -> Number {
        self.0.iter().find(|(_, other)| *other == unit).map_or(Number::ZERO, |(count, _)| *count)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (count, unit)) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{count} {}", unit.word())?;
        }
        Ok(())
    }
}
