//! The forms a value can have in a text or a key, beside its own: `{n:02}`, `{at:day}`.

use std::fmt;

use crate::{Number, Text, Value};

/// The greatest width: no number has more digits.
const WIDTH_MAX: usize = 38;

/// The form of a value in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// `:02`: a whole number with zeros before it, so that texts sort as the numbers do.
    Padded(usize),
    /// `:-02`: what is left to the greatest number of so many digits, with zeros before it. The texts sort the other way
    /// round.
    Countdown(usize),
    /// `:year` of a time or a date.
    Year,
    /// `:month` of a time or a date, with its year.
    Month,
    /// `:day` of a time, with its month and year.
    Day,
    /// `:hour` of a time, with its day.
    Hour,
    /// `:lower`: `A-Z` become `a-z`. Other letters stay, for a key must not change with the tables of Unicode.
    Lower,
    /// `:upper`: `a-z` become `A-Z`, and no others.
    Upper,
}

impl Format {
    /// The format that is written so behind the colon.
    ///
    /// ```
    /// use latchkey_value::Format;
    /// assert_eq!(Format::named("-010"), Some(Format::Countdown(10)));
    /// assert_eq!(Format::named("10"), None);
    /// ```
    pub fn named(text: &str) -> Option<Format> {
        Some(match text {
            "year" => Format::Year,
            "month" => Format::Month,
            "day" => Format::Day,
            "hour" => Format::Hour,
            "lower" => Format::Lower,
            "upper" => Format::Upper,
            _ => match text.strip_prefix('-') {
                Some(digits) => Format::Countdown(width(digits)?),
                None => Format::Padded(width(text)?),
            },
        })
    }

    /// Whether two values can have the same text.
    pub fn is_lossy(self) -> bool {
        !matches!(self, Format::Padded(_) | Format::Countdown(_))
    }

    /// How many bytes of an instant it keeps, if it is a part of one.
    pub fn prefix(self) -> Option<usize> {
        match self {
            Format::Year => Some("2026".len()),
            Format::Month => Some("2026-02".len()),
            Format::Day => Some("2026-02-25".len()),
            Format::Hour => Some("2026-02-25T10".len()),
            Format::Padded(_) | Format::Countdown(_) | Format::Lower | Format::Upper => None,
        }
    }

    /// Appends the text of a value. Nothing if the value has no such form.
    pub fn push(self, text: &mut Text, value: &Value) -> Option<()> {
        match (self, value) {
            (Format::Padded(width), Value::Number(number)) => pad(text, *number, width),
            (Format::Countdown(width), Value::Number(number)) => {
                let limit = 10u128.checked_pow(u32::try_from(width).ok()?)?;
                let greatest = Number::from_parts(false, limit.checked_sub(1)?, 0).ok()?;
                pad(text, greatest.checked_sub(*number).ok()?, width);
            }
            (Format::Lower, Value::Text(value)) => {
                text.extend(value.chars().map(|c| c.to_ascii_lowercase()));
            }
            (Format::Upper, Value::Text(value)) => {
                text.extend(value.chars().map(|c| c.to_ascii_uppercase()));
            }
            (format, Value::Text(value)) => text.push_str(value.get(..format.prefix()?)?),
            _ => return None,
        }
        Some(())
    }
}

impl fmt::Display for Format {
    /// As it is written behind the colon.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Format::Padded(width) => write!(f, "0{width}"),
            Format::Countdown(width) => write!(f, "-0{width}"),
            Format::Year => f.write_str("year"),
            Format::Month => f.write_str("month"),
            Format::Day => f.write_str("day"),
            Format::Hour => f.write_str("hour"),
            Format::Lower => f.write_str("lower"),
            Format::Upper => f.write_str("upper"),
        }
    }
}

/// A width as it is written: a zero, and how many digits.
fn width(text: &str) -> Option<usize> {
    let digits = text.strip_prefix('0')?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|width| plain && (1..=WIDTH_MAX).contains(width))
}

/// Appends a number with zeros before it. A longer number is not cut.
fn pad(text: &mut Text, number: Number, width: usize) {
    let digits = number.to_string();
    (digits.len()..width).for_each(|_| text.push('0'));
    text.push_str(&digits);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(format: &str, value: impl Into<Value>) -> Option<String> {
        let mut text = Text::default();
        let pushed = Format::named(format).expect("a format").push(&mut text, &value.into());
        pushed.map(|()| text.to_string())
    }

    #[test]
    fn a_format_is_read_as_it_is_written() {
        for written in
            ["02", "038", "-01", "-010", "year", "month", "day", "hour", "lower", "upper"]
        {
            let format = Format::named(written).expect(written);
            assert_eq!(format.to_string(), written);
        }
        for wrong in ["", "0", "2", "00", "039", "-2", "--02", "0+2", "-", "week", "Day", "Upper"] {
            assert_eq!(Format::named(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_count_down_sorts_the_other_way_round() {
        let all: Vec<String> =
            [0i64, 1, 9, 10, 99, 100, 999].map(|n| of("-03", n).expect("a text")).to_vec();
        assert_eq!(all, ["999", "998", "990", "989", "900", "899", "000"]);
        assert!(all.is_sorted_by(|a, b| a > b));
        assert_eq!(of("-038", 0i64), Some("9".repeat(38)));
        assert_eq!(of("-02", "a"), None);
    }

    #[test]
    fn a_part_of_an_instant_begins_it() {
        let at = "2026-02-25T10:20:30.456Z";
        for (format, part) in [
            ("year", "2026"),
            ("month", "2026-02"),
            ("day", "2026-02-25"),
            ("hour", "2026-02-25T10"),
        ] {
            assert_eq!(of(format, at).as_deref(), Some(part));
            assert!(at.starts_with(part));
        }
        assert_eq!(of("month", "2026-02-25").as_deref(), Some("2026-02"));
        assert_eq!(of("hour", "2026-02-25"), None);
    }

    #[test]
    fn only_ascii_letters_change_their_case() {
        assert_eq!(of("lower", "Bob.ÉLAN@X-1").as_deref(), Some("bob.Élan@x-1"));
        assert_eq!(of("upper", "Bob.élan@x-1").as_deref(), Some("BOB.éLAN@X-1"));
        assert_eq!(of("upper", 7i64), None);
    }
}
