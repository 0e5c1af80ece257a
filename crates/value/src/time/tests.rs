use proptest::prelude::*;

use super::*;

fn shown(milliseconds: i64) -> Text {
    format(milliseconds).unwrap_or_else(|| panic!("{milliseconds} is out of range"))
}

#[test]
fn reads_what_rfc_3339_allows() {
    for (text, expected) in [
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
        ("2026-02-25T10:00:00.000Z", "2026-02-25T10:00:00.000Z"),
        ("2026-02-25t10:00:00z", "2026-02-25T10:00:00.000Z"),
        // The RFC's own examples.
        ("1985-04-12T23:20:50.52Z", "1985-04-12T23:20:50.520Z"),
        ("1996-12-19T16:39:57-08:00", "1996-12-20T00:39:57.000Z"),
        ("1990-12-31T23:59:60Z", "1990-12-31T23:59:59.999Z"),
        ("1990-12-31T15:59:60-08:00", "1990-12-31T23:59:59.999Z"),
        ("1937-01-01T12:00:27.87+00:20", "1937-01-01T11:40:27.870Z"),
        // Fractions are cut, before 1970 as well as after.
        ("2026-01-01T00:00:00.1Z", "2026-01-01T00:00:00.100Z"),
        ("2026-01-01T00:00:00.12Z", "2026-01-01T00:00:00.120Z"),
        ("2026-01-01T00:00:00.9999Z", "2026-01-01T00:00:00.999Z"),
        ("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"),
        (
            "2026-01-01T00:00:00.0019999999999999999999999999999999999999999Z",
            "2026-01-01T00:00:00.001Z",
        ),
        // Offsets.
        ("2026-01-01T00:00:00-00:00", "2026-01-01T00:00:00.000Z"),
        ("2026-01-01T00:00:00+23:59", "2025-12-31T00:01:00.000Z"),
        ("2026-12-31T23:59:59.5-23:59", "2027-01-01T23:58:59.500Z"),
        ("2026-01-01T00:00:00.25+05:30", "2025-12-31T18:30:00.250Z"),
        // Days that are.
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"),
        ("2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z"),
        ("0000-02-29T00:00:00Z", "0000-02-29T00:00:00.000Z"),
        ("2026-04-30T00:00:00Z", "2026-04-30T00:00:00.000Z"),
        // Leap seconds, at the end of a month in UTC.
        ("2016-12-31T23:59:60.999Z", "2016-12-31T23:59:59.999Z"),
        ("2015-07-01T01:59:60+02:00", "2015-06-30T23:59:59.999Z"),
        ("2024-02-29T23:59:60Z", "2024-02-29T23:59:59.999Z"),
        ("9999-12-31T23:59:60Z", "9999-12-31T23:59:59.999Z"),
        // The ends.
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"),
        ("0000-01-01T01:00:00+01:00", "0000-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ("9999-12-31T22:59:59.999-01:00", "9999-12-31T23:59:59.999Z"),
    ] {
        assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn refuses_what_is_no_instant() {
    for text in [
        "",
        "now",
        "2026-02-25",
        "2026-02-25T10:00:00",
        "2026-02-25T10:00Z",
        "2026-02-25T10Z",
        "20260225T100000Z",
        "2026-02-25 10:00:00Z",
        "2026-02-25_10:00:00Z",
        " 2026-02-25T10:00:00Z",
        "2026-02-25T10:00:00Z ",
        "2026-02-25T10:00:00ZZ",
        "2026-02-25T10:00:00Zé",
        "2026-02-25T10:00:00.Z",
        "2026-02-25T10:00:00,5Z",
        "2026-02-25T10:00:00.5",
        "2026-02-25T10:00:00.5.5Z",
        "2026-02-25T10:00:00.-5Z",
        "2026-2-25T10:00:00Z",
        "2026-02-5T10:00:00Z",
        "+026-02-25T10:00:00Z",
        "-026-02-25T10:00:00Z",
        "12026-02-25T10:00:00Z",
        "2026/02/25T10:00:00Z",
        "2026-02-25T10.00.00Z",
        "2026-02-25T+1:00:00Z",
        "2026-02-25T1 :00:00Z",
        "２026-02-25T10:00:00Z",
        // Days and times that are not.
        "2026-00-10T00:00:00Z",
        "2026-13-10T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-32T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2024-02-30T00:00:00Z",
        "2026-02-25T24:00:00Z",
        "2026-02-25T10:60:00Z",
        "2026-02-25T10:00:61Z",
        // Second 60 where there is no leap second.
        "2026-02-25T10:00:60Z",
        "2026-02-25T23:59:60Z",
        "2026-02-27T23:59:60Z",
        "2026-03-01T23:59:60Z",
        "2026-03-01T10:00:60Z",
        "2026-06-30T23:59:61Z",
        "2026-06-30T23:58:60Z",
        "2026-06-30T23:59:60+01:00",
        "2026-06-30T22:59:60Z",
        // Offsets.
        "2026-02-25T10:00:00+24:00",
        "2026-02-25T10:00:00+01:60",
        "2026-02-25T10:00:00+0100",
        "2026-02-25T10:00:00+01",
        "2026-02-25T10:00:00+1:00",
        "2026-02-25T10:00:00 01:00",
        "2026-02-25T10:00:00\u{2212}01:00",
        "2026-02-25T10:00:00Z+01:00",
        "2026-02-25T10:00:00+01:00Z",
        // Outside the years 0000 to 9999, in UTC.
        "0000-01-01T00:00:00+00:01",
        "9999-12-31T23:59:00-00:01",
    ] {
        assert_eq!(parse(text), None, "{text}");
    }
    // Once, a text of more than 64 bytes was no time.
    let long = format!("1970-01-01T00:00:00.001{}Z", "9".repeat(1_000));
    assert_eq!(parse(&long), Some(1));
    assert_eq!(parse(&long.replace('Z', "x")), None);
}

#[test]
fn instants_are_counted_from_1970() {
    for (text, milliseconds) in [
        ("0000-01-01T00:00:00.000Z", MIN),
        ("1582-10-15T00:00:00.000Z", -12_219_292_800_000),
        ("1900-03-01T00:00:00.000Z", -2_203_891_200_000),
        ("1969-12-31T23:59:59.999Z", -1),
        ("1970-01-01T00:00:00.000Z", 0),
        ("2000-02-29T00:00:00.000Z", 951_782_400_000),
        ("2000-03-01T00:00:00.000Z", 951_868_800_000),
        ("2001-09-09T01:46:40.123Z", 1_000_000_000_123),
        ("2038-01-19T03:14:07.000Z", 2_147_483_647_000),
        ("9999-12-31T23:59:59.999Z", MAX),
    ] {
        assert_eq!(parse(text), Some(milliseconds), "{text}");
        assert_eq!(format(milliseconds).as_deref(), Some(text));
    }
    for outside in [MIN - 1, MAX + 1, i64::MIN, i64::MAX] {
        assert_eq!(format(outside), None);
    }
}

#[test]
fn every_day_of_the_calendar_follows_the_one_before() {
    // Counted by hand from the first day on, without the arithmetic under test.
    let mut expected = MIN / DAY;
    for year in 0..10_000 {
        let leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
        let february = if leap { 29 } else { 28 };
        let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        for (month, length) in (1..).zip(lengths) {
            for day in 1..=length {
                assert_eq!(days(year, month, day), Some(expected), "{year}-{month}-{day}");
                assert_eq!(date(expected), (year, month, day));
                expected += 1;
            }
            assert_eq!(days(year, month, length + 1), None);
        }
    }
    assert_eq!(expected * DAY, MAX + 1);
}

#[test]
fn adds_and_subtracts() {
    let start = "2024-02-28T23:59:59.999Z";
    for (milliseconds, expected) in [
        (0, Some(start)),
        (1, Some("2024-02-29T00:00:00.000Z")),
        (DAY + 1, Some("2024-03-01T00:00:00.000Z")),
        (-DAY, Some("2024-02-27T23:59:59.999Z")),
        (i64::MAX, None),
        (i64::MIN, None),
    ] {
        assert_eq!(add(start, milliseconds).as_deref(), expected, "{milliseconds}");
        if let Some(end) = expected {
            assert_eq!(between(end, start), Some(milliseconds));
        }
    }
    assert_eq!(add("9999-12-31T23:59:59.999Z", 1), None);
    assert_eq!(add("0000-01-01T00:00:00.000Z", -1), None);
    assert_eq!(add("soon", 1), None);
    assert_eq!(between(start, "soon"), None);
    assert_eq!(between("soon", start), None);
    assert_eq!(between(&shown(MAX), &shown(MIN)), Some(MAX - MIN));
}

fn instant() -> impl Strategy<Value = i64> {
    prop_oneof![MIN..=MAX, -10 * DAY..10 * DAY, Just(MIN), Just(MAX)]
}

proptest! {
    #[test]
    fn what_is_written_is_read(milliseconds in instant()) {
        let text = shown(milliseconds);
        prop_assert_eq!(text.len(), 24);
        prop_assert!(!text.is_heap_allocated());
        prop_assert_eq!(parse(&text), Some(milliseconds));
        prop_assert_eq!(canonical(&text), Some(text));
    }

    #[test]
    fn texts_sort_as_instants_do(one in instant(), other in instant(), near in -3i64..3) {
        let near = one.saturating_add(near).clamp(MIN, MAX);
        for other in [other, near] {
            prop_assert_eq!(shown(one).cmp(&shown(other)), one.cmp(&other));
            prop_assert_eq!(between(&shown(one), &shown(other)), Some(one - other));
            prop_assert_eq!(add(&shown(other), one - other), Some(shown(one)));
        }
    }

    #[test]
    fn an_offset_is_taken_off(local in instant(), ahead: bool, hours in 0i64..24, minutes in 0i64..60) {
        let text = shown(local);
        let sign = if ahead { '+' } else { '-' };
        let text = format!("{}{sign}{hours:02}:{minutes:02}", text.trim_end_matches('Z'));
        let offset = hours * HOUR + minutes * MINUTE;
        let expected = if ahead { local - offset } else { local + offset };
        let expected = (MIN..=MAX).contains(&expected).then_some(expected);
        prop_assert_eq!(parse(&text), expected);
    }

    #[test]
    fn finer_digits_are_cut(milliseconds in instant(), finer in "[0-9]{0,30}") {
        let text = shown(milliseconds);
        let text = format!("{}{finer}z", text.trim_end_matches('Z'));
        prop_assert_eq!(parse(&text), Some(milliseconds));
    }

    #[test]
    fn a_change_of_one_byte_is_another_instant_or_none(
        milliseconds in instant(),
        at in any::<prop::sample::Index>(),
        byte in prop_oneof![b'0'..=b'9', 0x20u8..0x7f],
    ) {
        let text = shown(milliseconds);
        let mut bytes = text.as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let changed = String::from_utf8(bytes).unwrap();
        match parse(&changed) {
            None => {}
            Some(same) if changed.eq_ignore_ascii_case(&text) => {
                prop_assert_eq!(same, milliseconds);
            }
            // A leap second is not an instant of its own.
            Some(_) if changed.get(17..19) == Some("60") => {}
            Some(other) => prop_assert_eq!(shown(other), changed),
        }
    }

    #[test]
    fn no_text_is_too_strange(text in ".{0,70}", near in "[0-9TZtz:.+-]{19,30}") {
        for text in [text, near] {
            if let Some(instant) = parse(&text) {
                prop_assert!((MIN..=MAX).contains(&instant));
            }
        }
    }
}

#[test]
fn dates_are_days_of_the_calendar() {
    for (text, day) in [("1970-01-01", 0), ("2026-02-25", 20_509), ("2024-02-29", 19_782)] {
        assert_eq!(parse_date(text), Some(day * DAY), "{text}");
        assert_eq!(super::day(&shown(day * DAY)).unwrap(), text);
    }
    for wrong in ["2026-02-29", "2026-2-25", "2026-02-25T", "2026-13-01", "", "2026-02-2é"] {
        assert_eq!(parse_date(wrong), None, "{wrong}");
    }
    assert_eq!(add("2026-02-28", DAY).unwrap(), "2026-03-01");
    assert_eq!(add("2026-02-28", DAY + 1), None);
    assert_eq!(add("9999-12-31", DAY), None);
    assert_eq!(between("2026-03-01", "2026-02-25"), Some(4 * DAY));
    assert_eq!(between("2026-02-25T01:00:00.000Z", "2026-02-25"), Some(HOUR));
}

#[test]
fn a_month_ends_with_its_last_day() {
    for (from, months, to) in [
        ("2026-01-31", 1, Some("2026-02-28")),
        ("2024-01-31", 1, Some("2024-02-29")),
        ("2024-02-29", 12, Some("2025-02-28")),
        ("2026-03-31", -1, Some("2026-02-28")),
        ("2026-01-15", -13, Some("2024-12-15")),
        ("2026-05-05T06:07:08.009Z", 0, Some("2026-05-05T06:07:08.009Z")),
        ("9999-12-31", 1, None),
        ("0000-01-01", -1, None),
        ("2026-01-01", i64::MAX, None),
    ] {
        assert_eq!(add_months(from, months).as_deref(), to, "{from} and {months} months");
    }
}
