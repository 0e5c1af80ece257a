//! How full a queue is.

use std::fmt;

/// How many messages there are, and how long they have waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Depth {
    /// Those that could be received now.
    pub visible: Count,
    /// Those that are due later.
    pub delayed: Count,
    /// Those that someone holds.
    pub in_flight: Count,
    /// For how long the oldest of the visible has been due, in milliseconds, where the queue tells.
    pub oldest_ms: Option<u64>,
    /// How many groups their first message holds up, where an ordered queue tells.
    pub blocked: Option<usize>,
}

/// A number of messages, counted as far as is cheap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// How many were counted.
    pub counted: u64,
    /// Whether there may be more.
    pub more: bool,
}

impl Count {
    /// As many, and no more.
    pub fn exactly(counted: u64) -> Count {
        Count { counted, more: false }
    }
}

impl std::ops::Add for Count {
    type Output = Count;

    fn add(self, other: Count) -> Count {
        let counted = self.counted.saturating_add(other.counted);
        Count { counted, more: self.more || other.more }
    }
}

impl fmt::Display for Count {
    /// `12,345`, or `10,000+` where there may be more.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.counted.to_string();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        if self.more { f.write_str("+") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_shown_in_groups_of_three() {
        for (counted, more, shown) in [
            (0, false, "0"),
            (999, false, "999"),
            (1000, false, "1,000"),
            (10_000, true, "10,000+"),
            (1_234_567, false, "1,234,567"),
        ] {
            assert_eq!(Count { counted, more }.to_string(), shown);
        }
    }
}
