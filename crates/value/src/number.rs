//! Exact decimals of up to 38 digits, as DynamoDB stores them.

mod order;
mod quotient;
mod rounding;

pub use quotient::Rounding;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// The most significant digits a number can have.
const DIGITS_MAX: u32 = 38;

/// The power of ten of the first digit of the largest number, `9.99…E+125`.
const LEAD_MAX: i32 = 125;

/// The power of ten of the first digit of the smallest number above zero, `1E-130`.
const LEAD_MIN: i32 = -130;

const COEFFICIENT_LIMIT: u128 = 10u128.pow(DIGITS_MAX);

/// An exact decimal: up to 38 significant digits, from `1E-130` to `9.99…E+125` in magnitude.
///
/// ```
/// use latchkey_value::Number;
/// let sum = "0.1".parse::<Number>()?.checked_add("0.2".parse()?)?;
/// assert_eq!(sum.to_string(), "0.3");
/// # Ok::<(), latchkey_value::NumberError>(())
/// ```
///
/// Invariant: the coefficient is below `10^38` and does not end in a zero; zero is `0 × 10^0`, not
/// negative. Equal numbers therefore have equal fields.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Number {
    // Two halves rather than one u128, whose alignment would grow every `Value` by half.
    high: u64,
    low: u64,
    exponent: i16,
    negative: bool,
}

/// Why a number cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// The text is not a decimal number.
    #[error("not a decimal number")]
    Malformed,
    /// The number needs more than 38 significant digits.
    #[error("more than 38 significant digits")]
    TooPrecise,
    /// The magnitude is above `9.99…E+125`.
    #[error("magnitude above 9.99E+125")]
    TooLarge,
    /// The magnitude is below `1E-130`, and not zero.
    #[error("magnitude below 1E-130")]
    TooSmall,
    /// Nothing can be divided by zero.
    #[error("division by zero")]
    ByZero,
}

impl Number {
    /// Zero.
    pub const ZERO: Number = Number { high: 0, low: 0, exponent: 0, negative: false };

    /// Builds `±coefficient × 10^exponent`, whatever zeros the coefficient ends in.
    pub fn from_parts(
        negative: bool,
        mut coefficient: u128,
        mut exponent: i32,
    ) -> Result<Number, NumberError> {
        if coefficient == 0 {
            return Ok(Number::ZERO);
        }
        while coefficient.is_multiple_of(10) {
            coefficient /= 10;
            exponent = exponent.saturating_add(1);
        }
        if coefficient >= COEFFICIENT_LIMIT {
            return Err(NumberError::TooPrecise);
        }
        let lead = exponent.saturating_add(i32::from(digit_count(coefficient))).saturating_sub(1);
        if lead > LEAD_MAX {
            return Err(NumberError::TooLarge);
        }
        if lead < LEAD_MIN {
            return Err(NumberError::TooSmall);
        }
        // The lead is in range and there are at most 38 digits, so the exponent fits.
        let exponent = i16::try_from(exponent).map_err(|_| NumberError::TooLarge)?;
        let [high, low] = halves(coefficient);
        Ok(Number { high, low, exponent, negative })
    }

    /// The digits as an integer, without trailing zeros.
    pub fn coefficient(&self) -> u128 {
        (u128::from(self.high) << 64) | u128::from(self.low)
    }

    /// The power of ten the coefficient is multiplied by.
    pub fn exponent(&self) -> i16 {
        self.exponent
    }

    /// Whether the number is below zero.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// The sum, if it has at most 38 digits and is in range: nothing is rounded.
    pub fn checked_add(self, other: Number) -> Result<Number, NumberError> {
        let (a, b) = (self.coefficient(), other.coefficient());
        if a == 0 {
            return Ok(other);
        }
        if b == 0 {
            return Ok(self);
        }
        let exponent = self.exponent.min(other.exponent);
        // A scaled coefficient that overflows u128 leaves a sum of at least 39 digits, the last of
        // them not zero, for the other one has fewer than 39 and does not end in zero.
        let a = scale(a, self.exponent, exponent)?;
        let b = scale(b, other.exponent, exponent)?;
        let exponent = i32::from(exponent);
        if self.negative == other.negative {
            let sum = a.checked_add(b).ok_or(NumberError::TooPrecise)?;
            return Number::from_parts(self.negative, sum, exponent);
        }
        match a.cmp(&b) {
            Ordering::Equal => Ok(Number::ZERO),
            Ordering::Greater => Number::from_parts(self.negative, a.abs_diff(b), exponent),
            Ordering::Less => Number::from_parts(other.negative, a.abs_diff(b), exponent),
        }
    }

    /// The difference, if it has at most 38 digits and is in range: nothing is rounded.
    pub fn checked_sub(self, other: Number) -> Result<Number, NumberError> {
        self.checked_add(other.negated())
    }

    /// The same magnitude with the other sign.
    #[must_use]
    pub fn negated(self) -> Number {
        if self == Number::ZERO { self } else { Number { negative: !self.negative, ..self } }
    }

    /// The value as an `i64`, when it is a whole number in range.
    pub fn to_i64(&self) -> Option<i64> {
        let power = u32::try_from(self.exponent).ok()?;
        let magnitude = self.coefficient().checked_mul(10u128.checked_pow(power)?)?;
        let magnitude = i128::try_from(magnitude).ok()?;
        i64::try_from(if self.negative { magnitude.checked_neg()? } else { magnitude }).ok()
    }

    /// The bytes DynamoDB counts for the number: one, and one for every two digits before and every
    /// two digits after the decimal point (trailing and leading zeros aside), and one for a minus.
    pub fn size(&self) -> usize {
        if *self == Number::ZERO {
            return 1;
        }
        let digits = i32::from(digit_count(self.coefficient()));
        let whole = digits.saturating_add(i32::from(self.exponent)).clamp(0, digits);
        let fraction = digits.saturating_sub(whole);
        let pairs = |digits: i32| usize::try_from(digits).unwrap_or(0).div_ceil(2);
        1 + pairs(whole) + pairs(fraction) + usize::from(self.negative)
    }

    /// The power of ten of the first digit.
    fn lead(&self) -> i32 {
        i32::from(digit_count(self.coefficient()))
            .saturating_add(i32::from(self.exponent))
            .saturating_sub(1)
    }

    fn cmp_magnitude(&self, other: &Number) -> Ordering {
        let (a, b) = (self.coefficient(), other.coefficient());
        if self.exponent == other.exponent || a == 0 || b == 0 {
            return a.cmp(&b);
        }
        // With the same lead, the finer of the two has at most 38 digits from it downwards, so the
        // other, scaled to the same exponent, has as many: neither overflows.
        self.lead().cmp(&other.lead()).then_with(|| {
            let exponent = self.exponent.min(other.exponent);
            scale(a, self.exponent, exponent)
                .unwrap_or(u128::MAX)
                .cmp(&scale(b, other.exponent, exponent).unwrap_or(u128::MAX))
        })
    }
}

const fn halves(coefficient: u128) -> [u64; 2] {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = coefficient.to_be_bytes();
    [u64::from_be_bytes([a, b, c, d, e, f, g, h]), u64::from_be_bytes([i, j, k, l, m, n, o, p])]
}

/// How many decimal digits a coefficient has; at most 39, for a u128.
fn digit_count(coefficient: u128) -> u8 {
    coefficient.checked_ilog10().map_or(0, |log| u8::try_from(log).unwrap_or(38).saturating_add(1))
}

/// A coefficient at one exponent, restated at a lower one.
fn scale(coefficient: u128, from: i16, to: i16) -> Result<u128, NumberError> {
    let power = u32::from(from.saturating_sub(to).unsigned_abs());
    10u128
        .checked_pow(power)
        .and_then(|factor| coefficient.checked_mul(factor))
        .ok_or(NumberError::TooPrecise)
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.cmp_magnitude(other),
            (true, true) => other.cmp_magnitude(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl FromStr for Number {
    type Err = NumberError;

    /// Reads `[+-]digits[.digits][e[+-]digits]`; at least one digit before or after the point.
    fn from_str(text: &str) -> Result<Number, NumberError> {
        let bytes = text.as_bytes();
        let (negative, bytes) = match bytes.split_first() {
            Some((b'-', rest)) => (true, rest),
            Some((b'+', rest)) => (false, rest),
            _ => (false, bytes),
        };
        let at = bytes.iter().position(|b| matches!(b, b'e' | b'E'));
        let (mantissa, power) = match at.and_then(|at| bytes.split_at_checked(at)) {
            Some((mantissa, power)) => (mantissa, Some(power)),
            None => (bytes, None),
        };
        let (coefficient, shift) = read_mantissa(mantissa)?;
        let power = match power {
            Some(power) => read_power(power.get(1..).unwrap_or_default())?,
            None => 0,
        };
        Number::from_parts(negative, coefficient, power.saturating_add(shift))
    }
}

/// The digits of a mantissa and the power of ten that its point and its dropped zeros stand for.
fn read_mantissa(bytes: &[u8]) -> Result<(u128, i32), NumberError> {
    let (mut coefficient, mut shift) = (0u128, 0i32);
    // Zeros are held back until a later digit makes them significant.
    let (mut zeros, mut digits, mut point) = (0u32, 0usize, false);
    for byte in bytes {
        match byte {
            b'.' if !point => point = true,
            b'0'..=b'9' => {
                digits += 1;
                shift = shift.saturating_sub(i32::from(point));
                if *byte == b'0' {
                    zeros = zeros.saturating_add(u32::from(coefficient != 0));
                    continue;
                }
                let factor = 10u128.checked_pow(zeros.saturating_add(1));
                coefficient = factor
                    .and_then(|factor| coefficient.checked_mul(factor))
                    .and_then(|shifted| shifted.checked_add(u128::from(byte - b'0')))
                    .filter(|coefficient| *coefficient < COEFFICIENT_LIMIT)
                    .ok_or(NumberError::TooPrecise)?;
                zeros = 0;
            }
            _ => return Err(NumberError::Malformed),
        }
    }
    if digits == 0 {
        return Err(NumberError::Malformed);
    }
    let zeros = i32::try_from(zeros).unwrap_or(i32::MAX);
    Ok((coefficient, shift.saturating_add(zeros)))
}

fn read_power(bytes: &[u8]) -> Result<i32, NumberError> {
    let (negative, digits) = match bytes.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, bytes),
    };
    if digits.is_empty() {
        return Err(NumberError::Malformed);
    }
    let mut power = 0i32;
    for byte in digits {
        if !byte.is_ascii_digit() {
            return Err(NumberError::Malformed);
        }
        // Saturating is enough: anything this far out is refused by its magnitude.
        power = power.saturating_mul(10).saturating_add(i32::from(byte - b'0'));
    }
    Ok(if negative { power.saturating_neg() } else { power })
}

impl fmt::Display for Number {
    /// Writes plain decimal notation, with neither exponent nor needless zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negative {
            f.write_str("-")?;
        }
        let digits = self.coefficient().to_string();
        let zeros =
            |f: &mut fmt::Formatter<'_>, count: i32| (0..count).try_for_each(|_| f.write_str("0"));
        let length = i32::try_from(digits.len()).unwrap_or(i32::MAX);
        let exponent = i32::from(self.exponent);
        if exponent >= 0 {
            f.write_str(&digits)?;
            return zeros(f, exponent);
        }
        let point = length.saturating_add(exponent);
        match usize::try_from(point).ok().and_then(|at| digits.split_at_checked(at)) {
            Some((whole, fraction)) if !whole.is_empty() => write!(f, "{whole}.{fraction}"),
            _ => {
                f.write_str("0.")?;
                zeros(f, point.saturating_neg())?;
                f.write_str(&digits)
            }
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number { negative: value < 0, ..Number::from(value.unsigned_abs()) }
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Number {
        if value == 0 {
            return Number::ZERO;
        }
        let (mut low, mut exponent) = (value, 0);
        while low.is_multiple_of(10) {
            low /= 10;
            exponent += 1;
        }
        Number { high: 0, low, exponent, negative: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(text: &str) -> Number {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn reads_and_writes_plain_notation() {
        for (input, output) in [
            ("0", "0"),
            ("-0", "0"),
            ("0e500", "0"),
            ("00042", "42"),
            ("+5", "5"),
            ("5.", "5"),
            (".5", "0.5"),
            ("-7.250", "-7.25"),
            ("1e3", "1000"),
            ("1.5E+3", "1500"),
            ("12e-4", "0.0012"),
            ("0.000", "0"),
            ("100.001", "100.001"),
            ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
        ] {
            assert_eq!(number(input).to_string(), output, "{input}");
        }
        assert_eq!(number("1e125").to_string().len(), 126);
        assert_eq!(number("1e-130").to_string().len(), 132);
    }

    #[test]
    fn refuses_what_dynamodb_refuses() {
        use NumberError::{Malformed, TooLarge, TooPrecise, TooSmall};
        for text in ["", "+", ".", "e2", "1e", "1e+", "1.2.3", "++5", "NaN", " 5", "1_0", "1e2e3"] {
            assert_eq!(text.parse::<Number>(), Err(Malformed), "{text}");
        }
        assert_eq!("1e126".parse::<Number>(), Err(TooLarge));
        assert_eq!("1e99999999999999999999".parse::<Number>(), Err(TooLarge));
        assert_eq!("1e-131".parse::<Number>(), Err(TooSmall));
        assert_eq!("999999999999999999999999999999999999999".parse::<Number>(), Err(TooPrecise));
        assert_eq!(format!("1.{}1", "0".repeat(5_000)).parse::<Number>(), Err(TooPrecise));
        assert_eq!(number(&format!("1.{}", "0".repeat(5_000))), Number::from(1i64));
    }

    #[test]
    fn adds_exactly_or_not_at_all() {
        let sum = |a: &str, b: &str| number(a).checked_add(number(b)).map(|n| n.to_string());
        assert_eq!(sum("0.1", "0.2"), Ok("0.3".to_owned()));
        assert_eq!(sum("5", "-5"), Ok("0".to_owned()));
        assert_eq!(sum("-1", "0.5"), Ok("-0.5".to_owned()));
        assert_eq!(sum("1e38", "-1"), Ok("9".repeat(38)));
        assert_eq!(sum("1e39", "-1"), Err(NumberError::TooPrecise));
        assert_eq!(sum("1e125", "1e-130"), Err(NumberError::TooPrecise));
        assert_eq!(sum("9e125", "9e125"), Err(NumberError::TooLarge));
        assert_eq!(number("3").checked_sub(number("4")), Ok(number("-1")));
    }

    #[test]
    fn counts_bytes_as_dynamodb_does() {
        let sizes = [
            ("0", 1),
            ("7", 2),
            ("42", 2),
            ("-42", 3),
            ("421", 3),
            ("1000", 2),
            ("0.5", 2),
            ("1.5", 3),
            ("123.45", 4),
            ("99999999999999999999999999999999999999", 20),
        ];
        for (text, size) in sizes {
            assert_eq!(number(text).size(), size, "{text}");
        }
    }

    #[test]
    fn converts_whole_numbers() {
        assert_eq!(Number::from(i64::MIN).to_i64(), Some(i64::MIN));
        assert_eq!(Number::from(i64::MAX).to_i64(), Some(i64::MAX));
        assert_eq!(Number::from(u64::MAX).to_i64(), None);
        assert_eq!(number("1.5").to_i64(), None);
        assert_eq!(number("1e60").to_i64(), None);
    }

    fn any_number() -> impl Strategy<Value = Number> {
        (any::<bool>(), any::<u128>(), 0u32..38, -140i32..130).prop_filter_map(
            "in range",
            |(negative, coefficient, cut, exponent)| {
                Number::from_parts(negative, coefficient / 10u128.pow(cut), exponent).ok()
            },
        )
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = text.parse::<Number>();
        }

        #[test]
        fn text_round_trips(n in any_number()) {
            prop_assert_eq!(n.to_string().parse::<Number>(), Ok(n));
        }

        #[test]
        fn order_is_that_of_the_difference(a in any_number(), b in any_number()) {
            // Too far apart to subtract exactly: then the leads differ.
            match a.checked_sub(b) {
                Ok(difference) => prop_assert_eq!(a.cmp(&b), difference.cmp(&Number::ZERO)),
                Err(_) => prop_assert_ne!(a.cmp(&b), Ordering::Equal),
            }
            prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
            prop_assert_eq!(a.cmp(&b) == Ordering::Equal, a == b);
        }

        #[test]
        fn integers_behave_as_integers(a in any::<i64>(), b in any::<i64>()) {
            let (x, y) = (Number::from(a), Number::from(b));
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            prop_assert_eq!(x.to_i64(), Some(a));
            let sum = (i128::from(a) + i128::from(b)).to_string();
            prop_assert_eq!(x.checked_add(y).map(|n| n.to_string()), Ok(sum));
        }

        #[test]
        fn what_is_added_can_be_taken_away(a in any_number(), b in any_number()) {
            if let Ok(sum) = a.checked_add(b) {
                prop_assert_eq!(sum.checked_sub(b), Ok(a));
            }
        }
    }
}
