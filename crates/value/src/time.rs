//! Instants in UTC, to the millisecond: as milliseconds since 1970, and as texts of fixed width that
//! sort as the instants do. A date is a day in UTC: the beginning of such a text.

use crate::Text;

/// The first instant there is: `0000-01-01T00:00:00.000Z`.
pub const MIN: i64 = -62_167_219_200_000;

/// The last instant there is: `9999-12-31T23:59:59.999Z`.
pub const MAX: i64 = 253_402_300_799_999;

/// How long a date is: `2026-02-25`.
pub const DATE_BYTES: usize = 10;

/// The milliseconds of a day.
pub const DAY: i64 = 24 * HOUR;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// The days of 400 years, after which the calendar repeats itself.
const ERA_DAYS: i64 = 146_097;

/// The days from 1 March of the year 0, where an era begins, to 1 January 1970.
const EPOCH_DAYS: i64 = 719_468;

/// Reads an instant by RFC 3339: a date, `T`, a time with its seconds, and `Z` or an offset.
///
/// Digits beyond the millisecond are cut off, however many there are. A leap second, `23:59:60` in UTC at the end of a
/// month, is read as the millisecond before it. An instant before [`MIN`] or after [`MAX`], in UTC, is refused.
///
/// ```
/// use latchkey_value::time::parse;
///
/// assert_eq!(parse("1970-01-01T01:00:00.0015+01:00"), Some(1));
/// assert_eq!(parse("1970-01-01 00:00:00Z"), None);
/// ```
pub fn parse(text: &str) -> Option<i64> {
    #[rustfmt::skip]
    let [
        y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T' | b't',
        h1, h2, b':', n1, n2, b':', s1, s2, rest @ ..
    ] = text.as_bytes() else {
        return None;
    };
    let day = days(number(&[*y1, *y2, *y3, *y4])?, number(&[*m1, *m2])?, number(&[*d1, *d2])?)?;
    let (hour, minute) = (below(24, [*h1, *h2])?, below(60, [*n1, *n2])?);
    let second = below(61, [*s1, *s2])?;
    let (fraction, rest) = read_fraction(rest)?;
    let start = day * DAY + hour * HOUR + minute * MINUTE - read_offset(rest)?;
    let instant =
        if second < 60 { start + second * SECOND + fraction } else { leap_second(start + MINUTE)? };
    (MIN..=MAX).contains(&instant).then_some(instant)
}

/// Writes an instant as `2026-02-25T10:00:00.000Z`; nothing outside [`MIN`] and [`MAX`].
///
/// ```
/// assert_eq!(latchkey_value::time::format(1).unwrap(), "1970-01-01T00:00:00.001Z");
/// ```
pub fn format(milliseconds: i64) -> Option<Text> {
    if !(MIN..=MAX).contains(&milliseconds) {
        return None;
    }
    let (year, month, day) = date(milliseconds.div_euclid(DAY));
    let time = milliseconds.rem_euclid(DAY);
    let [y1, y2] = digits(year / 100);
    let [y3, y4] = digits(year % 100);
    let [m1, m2] = digits(month);
    let [d1, d2] = digits(day);
    let [h1, h2] = digits(time / HOUR);
    let [n1, n2] = digits(time % HOUR / MINUTE);
    let [s1, s2] = digits(time % MINUTE / SECOND);
    let [_, f1] = digits(time % SECOND / 100);
    let [f2, f3] = digits(time % 100);
    #[rustfmt::skip]
    let bytes = [
        y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T',
        h1, h2, b':', n1, n2, b':', s1, s2, b'.', f1, f2, f3, b'Z',
    ];
    str::from_utf8(&bytes).ok().map(Text::new)
}

/// An instant of RFC 3339, in UTC and in fixed width.
pub fn canonical(text: &str) -> Option<Text> {
    format(parse(text)?)
}

/// Reads a date, `2026-02-25`, as its first instant.
///
/// ```
/// use latchkey_value::time::{DAY, parse_date};
///
/// assert_eq!(parse_date("1970-01-02"), Some(DAY));
/// assert_eq!(parse_date("1970-02-29"), None);
/// ```
pub fn parse_date(text: &str) -> Option<i64> {
    let (year, month, day) = read_date(text.as_bytes().as_array()?)?;
    Some(days(year, month, day)? * DAY)
}

/// The day of an instant that is written in fixed width.
pub fn day(instant: &str) -> Option<Text> {
    instant.get(..DATE_BYTES).map(Text::new)
}

/// The instant or date so many milliseconds after another, or before it. A date moves by whole days.
pub fn add(text: &str, milliseconds: i64) -> Option<Text> {
    match parse_date(text) {
        Some(start) => {
            day(&format(start.checked_add(milliseconds).filter(|_| milliseconds % DAY == 0)?)?)
        }
        None => format(parse(text)?.checked_add(milliseconds)?),
    }
}

/// The instant or date so many months after another, or before it, both in fixed width. Where the month is too short for
/// the day, it is the last of the month.
///
/// ```
/// use latchkey_value::time::add_months;
///
/// assert_eq!(add_months("2024-01-31", 1).unwrap(), "2024-02-29");
/// assert_eq!(add_months("2024-02-29T08:00:00.000Z", -12).unwrap(), "2023-02-28T08:00:00.000Z");
/// ```
pub fn add_months(text: &str, months: i64) -> Option<Text> {
    let (date, rest) = text.split_at_checked(DATE_BYTES)?;
    let (year, month, day) = read_date(date.as_bytes().as_array()?)?;
    let months = (year * 12 + month - 1).checked_add(months)?;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    let day = day.min(month_days(year, month)?);
    if !(0..=9999).contains(&year) {
        return None;
    }
    let mut moved = Text::from(format!("{year:04}-{month:02}-{day:02}"));
    moved.push_str(rest);
    Some(moved)
}

/// The milliseconds from one instant or date to a later one; below zero when it is not later.
pub fn between(later: &str, earlier: &str) -> Option<i64> {
    let read = |text: &str| parse_date(text).or_else(|| parse(text));
    read(later)?.checked_sub(read(earlier)?)
}

/// The year, month and day of a date.
fn read_date(text: &[u8; DATE_BYTES]) -> Option<(i64, i64, i64)> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text else { return None };
    Some((number(&[y1, y2, y3, y4])?, number(&[m1, m2])?, number(&[d1, d2])?))
}

/// The last millisecond before the end of a minute, if a leap second can stand there.
fn leap_second(minute_end: i64) -> Option<i64> {
    let (_, _, day) = date(minute_end.div_euclid(DAY));
    (minute_end.rem_euclid(DAY) == 0 && day == 1).then_some(minute_end - 1)
}

/// Reads `.` and digits, if they are there, and returns their milliseconds and what follows.
fn read_fraction(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let Some(after) = bytes.strip_prefix(b".") else { return Some((0, bytes)) };
    let length = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (fraction, rest) = after.split_at_checked(length)?;
    let mut places = fraction.iter().copied().chain([b'0'; 2]);
    let milliseconds = [places.next()?, places.next()?, places.next()?];
    Some((number(&milliseconds)?, rest))
}

/// Reads `Z` or `±HH:MM`, as milliseconds ahead of UTC.
fn read_offset(bytes: &[u8]) -> Option<i64> {
    let (sign, [h1, h2, b':', n1, n2]) = (match bytes {
        [b'Z' | b'z'] => return Some(0),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    }) else {
        return None;
    };
    Some(sign * (below(24, [*h1, *h2])? * HOUR + below(60, [*n1, *n2])? * MINUTE))
}

/// The number of a few digits.
fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
    })
}

fn below(limit: i64, digits: [u8; 2]) -> Option<i64> {
    number(&digits).filter(|number| *number < limit)
}

/// The two digits of a number below 100.
fn digits(number: i64) -> [u8; 2] {
    let digit = |number: i64| b'0' + u8::try_from(number % 10).unwrap_or(0);
    [digit(number / 10), digit(number)]
}

/// How many days a month has, if there is such a month.
fn month_days(year: i64, month: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => Some(31),
        4 | 6 | 9 | 11 => Some(30),
        2 if leap => Some(29),
        2 => Some(28),
        _ => None,
    }
}

/// The days from 1 January 1970 to a date, if there is such a day.
///
/// Years begin in March here, so that a leap day is the last of its year.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=month_days(year, month)?).contains(&day) {
        return None;
    }
    let year = if month > 2 { year } else { year - 1 };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    // From March on, the months of 31 and 30 days make up five months of 153 days.
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * ERA_DAYS + day_of_era - EPOCH_DAYS)
}

/// The year, month and day so many days after 1 January 1970.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH_DAYS;
    let (era, day_of_era) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
    // Without the leap days before it, every year of an era has 365 days.
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / (ERA_DAYS - 1);
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests;
