//! Products, which are exact, and quotients, which are rounded as is asked.

use super::{COEFFICIENT_LIMIT, Number, NumberError};

/// How a number is rounded that has more places than it is to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the nearest; a half goes away from zero.
    Nearest,
    /// To the next one that is not greater.
    Down,
    /// To the next one that is not less.
    Up,
}

impl Number {
    /// The product, if it has at most 38 digits and is in range: nothing is rounded.
    ///
    /// ```
    /// use latchkey_value::Number;
    /// let product = "0.15".parse::<Number>()?.checked_mul("-4".parse()?)?;
    /// assert_eq!(product.to_string(), "-0.6");
    /// # Ok::<(), latchkey_value::NumberError>(())
    /// ```
    pub fn checked_mul(self, other: Number) -> Result<Number, NumberError> {
        let (mut a, mut b) = (self.coefficient(), other.coefficient());
        let mut exponent = i32::from(self.exponent).saturating_add(i32::from(other.exponent));
        if a == 0 || b == 0 {
            return Ok(Number::ZERO);
        }
        // Every ten in the product is a two in one coefficient and a five in the other. Without those, no zero ends the
        // product, and a product that does not fit has too many digits.
        for (two, five) in [(2, 5), (5, 2)] {
            while a.is_multiple_of(two) && b.is_multiple_of(five) {
                a /= two;
                b /= five;
                exponent = exponent.saturating_add(1);
            }
        }
        let product = a.checked_mul(b).ok_or(NumberError::TooPrecise)?;
        Number::from_parts(self.negative != other.negative, product, exponent)
    }

    /// The quotient, rounded to so many places behind the point.
    ///
    /// ```
    /// use latchkey_value::{Number, Rounding};
    /// let third = Number::from(-2i64).divided(Number::from(3i64), 2, Rounding::Nearest)?;
    /// assert_eq!(third.to_string(), "-0.67");
    /// # Ok::<(), latchkey_value::NumberError>(())
    /// ```
    pub fn divided(
        self,
        by: Number,
        places: u8,
        rounding: Rounding,
    ) -> Result<Number, NumberError> {
        if by == Number::ZERO {
            return Err(NumberError::ByZero);
        }
        let negative = self.negative != by.negative;
        let places = i32::from(places);
        let shift = i32::from(self.exponent) - i32::from(by.exponent) + places;
        let division = match u32::try_from(shift) {
            Ok(digits) => Division::longer(self.coefficient(), by.coefficient(), digits)?,
            Err(_) => Division::shorter(self.coefficient(), by.coefficient(), shift.unsigned_abs()),
        };
        let away = match rounding {
            Rounding::Nearest => division.is_half_or_more,
            Rounding::Down => division.is_inexact && negative,
            Rounding::Up => division.is_inexact && !negative,
        };
        let Division { quotient, zeros, .. } = division;
        let power = i32::try_from(zeros).map_err(|_| NumberError::TooLarge)?;
        if !away {
            return Number::from_parts(negative, quotient, power - places);
        }
        let whole = 10u128.checked_pow(zeros).and_then(|power| quotient.checked_mul(power));
        let whole = whole.and_then(|whole| whole.checked_add(1)).ok_or(NumberError::TooPrecise)?;
        Number::from_parts(negative, whole, -places)
    }
}

/// A quotient of whole numbers, `quotient × 10^zeros`, and what is known of the rest.
struct Division {
    quotient: u128,
    zeros: u32,
    is_inexact: bool,
    is_half_or_more: bool,
}

impl Division {
    fn of(quotient: u128, zeros: u32, rest: u128, by: u128) -> Division {
        let is_half_or_more = rest != 0 && rest >= by - rest;
        Division { quotient, zeros, is_inexact: rest != 0, is_half_or_more }
    }

    /// Divides by a number below 10^38, with so many digits more than the dividend has.
    fn longer(dividend: u128, by: u128, digits: u32) -> Result<Division, NumberError> {
        let (mut quotient, mut rest) = (dividend / by, dividend % by);
        // Zeros are held back until a later digit makes them significant.
        let mut zeros = 0u32;
        for done in 0..digits {
            if rest == 0 {
                let left = digits - done;
                return Ok(Division::of(quotient, zeros + left, 0, by));
            }
            let digit;
            (digit, rest) = ten_times(rest, by);
            if digit == 0 {
                zeros += u32::from(quotient != 0);
                continue;
            }
            quotient = 10u128
                .checked_pow(zeros + 1)
                .and_then(|power| quotient.checked_mul(power))
                .and_then(|quotient| quotient.checked_add(digit))
                .filter(|quotient| *quotient < COEFFICIENT_LIMIT)
                .ok_or(NumberError::TooPrecise)?;
            zeros = 0;
        }
        Ok(Division::of(quotient, zeros, rest, by))
    }

    /// Divides by a number with so many zeros behind it.
    fn shorter(dividend: u128, by: u128, zeros: u32) -> Division {
        let by = 10u128.checked_pow(zeros).and_then(|power| by.checked_mul(power));
        match by {
            Some(by) => Division::of(dividend / by, 0, dividend % by, by),
            // More than thrice any dividend.
            None => {
                let is_inexact = dividend != 0;
                Division { quotient: 0, zeros: 0, is_inexact, is_half_or_more: false }
            }
        }
    }
}

/// How often a number goes into ten times a lesser one, and what is left. Both are below 10^38, so that twice a rest does
/// not overflow, and ten times it would.
fn ten_times(rest: u128, by: u128) -> (u128, u128) {
    let less =
        |digit: u128, rest: u128| if rest >= by { (digit + 1, rest - by) } else { (digit, rest) };
    let twice = |(digit, rest): (u128, u128)| less(digit * 2, rest * 2);
    let (digit, four_times) = twice(twice((0, rest)));
    twice(less(digit, four_times + rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(text: &str) -> Number {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn products_are_exact_or_refused() {
        let nines = "9".repeat(38);
        for (a, b, product) in [
            ("0", "5", "0"),
            ("2.5", "4", "10"),
            ("-0.1", "0.1", "-0.01"),
            (&nines, "1", &nines),
            // 76 digits, of which all but two are zeros.
            (
                "20000000000000000000000000000000000000",
                "50000000000000000000000000000000000000",
                "1e75",
            ),
            ("1152921504606846976", "88817841970012523233890533447265625", "1024e50"),
        ] {
            assert_eq!(number(a).checked_mul(number(b)), Ok(number(product)), "{a} * {b}");
        }
        assert_eq!(number(&nines).checked_mul(number("3")), Err(NumberError::TooPrecise));
        assert_eq!(number("1e100").checked_mul(number("1e100")), Err(NumberError::TooLarge));
        assert_eq!(number("1e-100").checked_mul(number("1e-100")), Err(NumberError::TooSmall));
    }

    #[test]
    fn quotients_are_rounded_as_is_asked() {
        use Rounding::{Down, Nearest, Up};
        for (a, b, places, nearest, down, up) in [
            ("1", "4", 2, "0.25", "0.25", "0.25"),
            ("1", "4", 1, "0.3", "0.2", "0.3"),
            ("-1", "4", 1, "-0.3", "-0.3", "-0.2"),
            ("1", "-8", 2, "-0.13", "-0.13", "-0.12"),
            ("10", "3", 0, "3", "3", "4"),
            ("-10", "3", 0, "-3", "-4", "-3"),
            ("0", "7", 3, "0", "0", "0"),
            (
                "2",
                "3",
                30,
                "0.666666666666666666666666666667",
                "0.666666666666666666666666666666",
                "0.666666666666666666666666666667",
            ),
            ("1e100", "2", 2, "5e99", "5e99", "5e99"),
            ("1", "1e100", 2, "0", "0", "0.01"),
            ("-1e-130", "9e125", 0, "0", "-1", "0"),
            (
                "99999999999999999999999999999999999999",
                "99999999999999999999999999999999999998",
                0,
                "1",
                "1",
                "2",
            ),
            ("1234.5", "1", 0, "1235", "1234", "1235"),
        ] {
            let (a, b) = (number(a), number(b));
            for (rounding, expected) in [(Nearest, nearest), (Down, down), (Up, up)] {
                let found = a.divided(b, places, rounding);
                assert_eq!(found, Ok(number(expected)), "{a} / {b} to {places}, {rounding:?}");
            }
        }
        let one = number("1");
        assert_eq!(one.divided(Number::ZERO, 2, Nearest), Err(NumberError::ByZero));
        assert_eq!(number("1e50").divided(number("3"), 0, Down), Err(NumberError::TooPrecise));
    }

    proptest! {
        /// What is rounded down, times the divisor, is the dividend or less, and misses it by less than a unit.
        #[test]
        fn a_quotient_times_its_divisor_is_the_dividend(a in -1_000_000_000i64..1_000_000_000, b in 1i64..1_000_000, places in 0u8..8) {
            let (dividend, by) = (Number::from(a), Number::from(b));
            let down = dividend.divided(by, places, Rounding::Down).expect("a number");
            let up = dividend.divided(by, places, Rounding::Up).expect("a number");
            let rest = dividend.checked_sub(down.checked_mul(by).expect("it fits")).expect("it fits");
            let unit = Number::from_parts(false, 1, -i32::from(places)).expect("a number");
            prop_assert!(!rest.is_negative() && rest < unit.checked_mul(by).expect("it fits"));
            let apart = up.checked_sub(down).expect("it fits");
            prop_assert_eq!(apart == Number::ZERO, rest == Number::ZERO);
            prop_assert!(apart == Number::ZERO || apart == unit);
        }
    }
}
