//! Sums that are rounded: bounds of a stored number, where the sum that stands for a bound is no number itself.

use std::cmp::Ordering;

use super::{COEFFICIENT_LIMIT, DIGITS_MAX, Number, NumberError, halves};

impl Number {
    /// The greatest number, `9.99…E+125`.
    const GREATEST: Number = {
        let [high, low] = halves(COEFFICIENT_LIMIT - 1);
        Number { high, low, exponent: 88, negative: false }
    };

    /// The smallest number above zero, `1E-130`.
    const SMALLEST: Number = Number { high: 0, low: 1, exponent: -130, negative: false };

    /// The greatest number that is not above the sum, which is the sum itself where the sum is a number. Nothing if the
    /// sum is below all numbers.
    ///
    /// ```
    /// use latchkey_value::Number;
    /// let less_one = "1e40".parse::<Number>()?.sum_rounded_down("-1".parse()?);
    /// assert_eq!(less_one, Some("99999999999999999999999999999999999999e2".parse()?));
    /// # Ok::<(), latchkey_value::NumberError>(())
    /// ```
    pub fn sum_rounded_down(self, other: Number) -> Option<Number> {
        let (big, small) = match self.cmp_magnitude(&other) {
            Ordering::Less => (other, self),
            Ordering::Equal | Ordering::Greater => (self, other),
        };
        let sum = self.checked_add(other).or_else(|error| match error {
            NumberError::TooPrecise => big.plus_smaller(small),
            error => Err(error),
        });
        match sum {
            Ok(sum) => Some(sum),
            Err(NumberError::TooSmall) if big.negative => Some(Number::SMALLEST.negated()),
            Err(NumberError::TooSmall) => Some(Number::ZERO),
            Err(_) if big.negative => None,
            Err(_) => Some(Number::GREATEST),
        }
    }

    /// The sum with a number of no greater magnitude, rounded down to 38 digits.
    fn plus_smaller(self, small: Number) -> Result<Number, NumberError> {
        // A difference can begin one place lower than the larger number, so 39 digits of that number are taken. Where
        // they do not fit, the number begins with a 3 or more, and no difference that has to be rounded begins lower.
        let lead = self.lead();
        let parts = [DIGITS_MAX + 1, DIGITS_MAX].into_iter().find_map(|digits| {
            let unit = lead.checked_sub(i32::try_from(digits).ok()?)?.checked_add(1)?;
            let whole = self.coefficient_at(unit)?;
            let (part, rest) = small.units_of(unit);
            let (sum, inexact) = match (self.negative == small.negative, rest) {
                (true, rest) => (whole.checked_add(part)?, rest),
                (false, false) => (whole.checked_sub(part)?, false),
                (false, true) => (whole.checked_sub(part)?.checked_sub(1)?, true),
            };
            Some((sum, inexact, unit))
        });
        let (mut sum, mut inexact, mut unit) = parts.ok_or(NumberError::TooPrecise)?;
        while sum >= COEFFICIENT_LIMIT {
            inexact |= !sum.is_multiple_of(10);
            sum /= 10;
            unit = unit.saturating_add(1);
        }
        let away = u128::from(inexact && self.negative);
        Number::from_parts(self.negative, sum.saturating_add(away), unit)
    }

    /// The magnitude in units of a power of ten, which must not be above that of the last digit.
    fn coefficient_at(&self, unit: i32) -> Option<u128> {
        let power = u32::try_from(i32::from(self.exponent).checked_sub(unit)?).ok()?;
        self.coefficient().checked_mul(10u128.checked_pow(power)?)
    }

    /// How many whole units of a power of ten the magnitude has, and whether something is left over.
    fn units_of(&self, unit: i32) -> (u128, bool) {
        if let Some(units) = self.coefficient_at(unit) {
            return (units, false);
        }
        let power = unit.saturating_sub(i32::from(self.exponent)).unsigned_abs();
        match 10u128.checked_pow(power) {
            Some(size) => (self.coefficient() / size, !self.coefficient().is_multiple_of(size)),
            None => (0, true),
        }
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
    fn a_sum_is_rounded_down_to_the_next_number() {
        let nines = "9".repeat(38);
        for (a, b, sum) in [
            ("0.1", "0.2", "0.3"),
            ("1e40", "-1", &format!("{nines}e2")),
            ("-1e40", "1", "-1e40"),
            ("1e40", "1", "1e40"),
            ("-1e40", "-1", "-10000000000000000000000000000000000001e3"),
            // The larger number has no room for a 39th digit.
            ("5e40", "-1", "49999999999999999999999999999999999999e3"),
            ("-5e40", "1", "-5e40"),
            // 39 digits, all of them known.
            (&nines, "0.9", &nines),
            (&format!("-{nines}"), "-0.9", "-1e38"),
            (
                "1.0000000000000000000000000000000000001",
                "-0.95000000000000000000000000000000000001",
                "0.05000000000000000000000000000000000009",
            ),
            // Beyond all numbers, above and below, and around zero.
            ("9e125", "9e125", &format!("{nines}e88")),
            (&format!("{nines}e88"), "1", &format!("{nines}e88")),
            ("1.1e-130", "-1e-130", "0"),
            ("-1.1e-130", "1e-130", "-1e-130"),
            ("1e125", "-1e-130", &format!("{nines}e87")),
        ] {
            let rounded = number(a).sum_rounded_down(number(b));
            assert_eq!(rounded, Some(number(sum)), "{a} + {b}");
            assert_eq!(number(b).sum_rounded_down(number(a)), rounded, "{b} + {a}");
        }
        assert_eq!(number("-9e125").sum_rounded_down(number("-9e125")), None);
        assert_eq!(number(&format!("-{nines}e88")).sum_rounded_down(number("-1")), None);
    }

    fn any_number() -> impl Strategy<Value = Number> {
        (any::<bool>(), 0..COEFFICIENT_LIMIT, 0u32..38, -45i32..45).prop_filter_map(
            "a number",
            |(negative, coefficient, cut, exponent)| {
                Number::from_parts(negative, coefficient / 10u128.pow(cut), exponent).ok()
            },
        )
    }

    proptest! {
        /// What is rounded down and what is rounded up are the same, or neighbours: no number lies between them.
        #[test]
        fn no_number_lies_between_a_sum_and_its_rounding(a in any_number(), b in any_number()) {
            let down = a.sum_rounded_down(b).expect("the sum is in range");
            let up = a.negated().sum_rounded_down(b.negated()).expect("it is in range").negated();
            match a.checked_add(b) {
                Ok(sum) => prop_assert_eq!((down, up), (sum, sum)),
                Err(_) => {
                    prop_assert!(down < up);
                    let between = up.checked_sub(down).expect("neighbours");
                    let lead = down.lead().max(up.lead());
                    // One unit in the 38th digit of the larger, or of the smaller where a power of ten lies between.
                    prop_assert_eq!(between.coefficient(), 1);
                    prop_assert!((lead - 38..lead - 36).contains(&i32::from(between.exponent())));
                }
            }
        }
    }
}
