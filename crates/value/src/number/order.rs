//! Numbers as texts that sort as the numbers do, for keys.
//!
//! ```text
//! 0 {999 - lead}{digits, each from 9} ~   below zero
//! 1                                       zero
//! 2 {lead}{digits}                        above zero
//! ```
//!
//! The lead is the power of ten of the first digit, plus 500, in three digits.

use super::Number;
use crate::Text;

const LEAD_ZERO: i32 = 500;

impl Number {
    /// The number as a text that sorts among those of other numbers as the number does.
    pub fn to_key(&self) -> Text {
        let coefficient = self.coefficient();
        if coefficient == 0 {
            return Text::const_new("1");
        }
        let digits = coefficient.to_string();
        let places = i32::try_from(digits.len()).unwrap_or(i32::MAX);
        let lead = i32::from(self.exponent()) + places - 1 + LEAD_ZERO;
        if self.is_negative() {
            let from_nine = |digit: char| char::from(b'9' - digit.to_digit(10).map_or(0, low_byte));
            let digits: String = digits.chars().map(from_nine).collect();
            return Text::from(format!("0{:03}{digits}~", 999 - lead));
        }
        Text::from(format!("2{lead:03}{digits}"))
    }

    /// The number of a text of [`Number::to_key`].
    pub fn from_key(text: &str) -> Option<Number> {
        let (sign, rest) = text.split_at_checked(1)?;
        let negative = match sign {
            "1" if rest.is_empty() => return Some(Number::ZERO),
            "0" => true,
            "2" => false,
            _ => return None,
        };
        let (lead, digits) = rest.split_at_checked(3)?;
        let lead: i32 = lead.parse().ok()?;
        let (lead, digits) = match negative {
            true => {
                let digits = digits.strip_suffix('~')?;
                let from_nine = |digit: char| Some(9 - digit.to_digit(10)?);
                let digits: Option<Vec<u32>> = digits.chars().map(from_nine).collect();
                (999 - lead, digits?.into_iter().map(|digit| digit.to_string()).collect())
            }
            false => (lead, digits.to_owned()),
        };
        let places = i32::try_from(digits.len()).ok()?;
        let exponent = lead - LEAD_ZERO - places + 1;
        let number = Number::from_parts(negative, digits.parse().ok()?, exponent).ok()?;
        // No number has two texts.
        (number.to_key() == text).then_some(number)
    }
}

/// A digit's value as a byte.
fn low_byte(digit: u32) -> u8 {
    let [low, ..] = digit.to_le_bytes();
    low
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number() -> impl Strategy<Value = Number> {
        prop_oneof![
            (-1000i64..1000).prop_map(Number::from),
            any::<i64>().prop_map(Number::from),
            (any::<bool>(), any::<u128>(), -160i32..130).prop_filter_map(
                "in range",
                |(negative, coefficient, exponent)| Number::from_parts(
                    negative,
                    coefficient % 10u128.pow(38),
                    exponent
                )
                .ok()
            ),
        ]
    }

    #[test]
    fn some_numbers_as_keys() {
        let text = |text: &str| text.parse::<Number>().unwrap().to_key().to_string();
        assert_eq!(text("0"), "1");
        assert_eq!(text("42"), "250142");
        assert_eq!(text("-42"), "049857~");
        assert_eq!(text("0.05"), "24985");
        for wrong in ["", "3", "11", "2501", "2501420", "0498579~", "04985a~", "250142~", "é"] {
            assert_eq!(Number::from_key(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn keys_sort_as_numbers_do(a in number(), b in number()) {
            prop_assert_eq!(a.to_key().cmp(&b.to_key()), a.cmp(&b));
        }

        #[test]
        fn a_key_is_one_number(a in number()) {
            prop_assert_eq!(Number::from_key(&a.to_key()), Some(a));
        }
    }
}
