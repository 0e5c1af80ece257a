use std::io::BufReader;

use proptest::prelude::*;

use super::*;

/// What is read of a text, a few bytes at a time; then what is wrong with it.
fn read(text: &[u8], capacity: usize) -> (Vec<(String, Map)>, Option<String>, bool) {
    let mut records = Records::new(BufReader::with_capacity(capacity, text));
    let mut found = Vec::new();
    let wrong = loop {
        match records.next() {
            Ok(None) => break None,
            Ok(Some((place, map))) => found.push((place.to_string(), map)),
            Err(stop) => break Some(told("`f`", &stop)),
        }
    };
    (found, wrong, records.more)
}

fn users(text: &str) -> Vec<String> {
    let (found, wrong, _) = read(text.as_bytes(), 7);
    assert_eq!(wrong, None, "{text}");
    let user = |map: &Map| map.get("u").and_then(Value::as_text).unwrap().to_string();
    found.iter().map(|(place, map)| format!("{place}: {}", user(map))).collect()
}

#[test]
fn every_shape_is_read() {
    let none: [&str; 0] = [];
    assert_eq!(users(""), none);
    assert_eq!(users("\n \r\n\t"), none);
    assert_eq!(users("[]"), none);
    // Lines of an export, and plain ones among them.
    let lines = "{\"Item\":{\"u\":{\"S\":\"a\"}}}\n\n{\"u\": \"b\"}\r\n{\"u\":\"c}{[\\\"\\\\\"}";
    assert_eq!(users(lines), ["line 1: a", "line 3: b", "line 4: c}{[\"\\"]);
    // A list over several lines, with a line of an export in it.
    let list = "[\n  {\"u\": \"a\"},\n  {\"Item\": {\"u\": {\"S\": \"b\"}}}\n]\n{\"u\": \"c\"}";
    assert_eq!(users(list), ["line 1, item 1: a", "line 1, item 2: b", "line 5: c"]);
    // Pages, with nothing between them, as they come from a server.
    let page = r#"{"items":[{"u":"a"},{"u":"b"}],"nextCursor":"x"}{"items":[],"nextCursor":null}
{"items":[{"u":"c"}]}"#;
    assert_eq!(users(page), ["line 1, item 1: a", "line 1, item 2: b", "line 2, item 1: c"]);
    // Attributes that only look like it.
    assert_eq!(users(r#"{"u": "a", "items": "none", "Item": {}}"#), ["line 1: a"]);
}

#[test]
fn the_last_page_says_whether_there_are_more() {
    let more = |text: &str| read(text.as_bytes(), 64).2;
    assert!(more(r#"{"items": [], "nextCursor": "x"}"#));
    assert!(!more(r#"{"items": [], "nextCursor": "x"}{"items": [], "nextCursor": null}"#));
    assert!(!more(r#"{"items": []}"#));
}

#[test]
fn what_is_no_record_is_told_with_its_place() {
    let cases = [
        ("{}\nabc\n{}", "line 2: column 1: "),
        ("{}\n{\"a\": }\n", "line 2: column 7: "),
        ("{}\n  {\"ü\": x}", "line 2: column 9: "),
        ("{\n\n \"a\": x}", "line 3: column 7: "),
        ("{}\n{\"a\": \"b\n\"}", "line 2: column 9: a control character"),
        ("{\"a\": [1}", "line 1: column "),
        ("{}\n{\"a\": {}", "line 2: column 9: the text ends"),
        ("}", "line 1: column 1: "),
        ("{},{}", "line 1: column 3: "),
        ("17\n", "line 1: a record is an object"),
        ("\"{}\"", "line 1: a record is an object"),
        ("[{}, 17]", "line 1: item 2: a record is an object"),
        ("{\"a\": 1, \"a\": 2}", "line 1: column "),
        ("{}\n{\"Item\": {\"a\": 1}}", "line 2: `a`: a value is an object of one member"),
        ("\u{feff}{}", "line 1: column 1: a byte order mark"),
        ("\u{1f}\u{8b}", "line 1: column 1: "),
    ];
    for (text, expected) in cases {
        let (_, wrong, _) = read(text.as_bytes(), 5);
        let wrong = wrong.unwrap_or_default();
        assert!(wrong.starts_with(&format!("`f`, {expected}")), "{text:?}: {wrong}");
    }
    let (_, wrong, _) = read(&[0x1f, 0x8b, 8, 0, b'\n'], 64);
    assert!(wrong.as_ref().unwrap().contains("it is compressed"), "{wrong:?}");
    let deep = format!("{}{}", "[".repeat(80), "]".repeat(80));
    let (_, wrong, _) = read(deep.as_bytes(), 64);
    assert!(
        wrong.as_ref().unwrap().contains(&format!("more than {LEVELS_MAX} levels")),
        "{wrong:?}"
    );
}

#[test]
fn what_never_ends_is_not_read_to_its_end() {
    let endless = io::repeat(b'[');
    let mut records = Records::new(BufReader::with_capacity(1 << 16, endless));
    let Err(stop) = records.next() else { panic!("it was read") };
    let wrong = told("`f`", &stop);
    assert!(wrong.contains("is a bracket left open?"), "{wrong}");
    assert!(records.buffer.len() <= BYTES_MAX + 1);
}

proptest! {
    // However it arrives, and whatever it is, the same is read; nothing panics.
    #[test]
    fn what_is_read_does_not_depend_on_how_it_arrives(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "{", "}", "[", "]", "\"", "\\", "\n", " ", ":", ",", "\"u\":", "\"a\"", "1", "é",
                "{\"u\":\"x\"}", "{\"items\":[", "]}", "{\"Item\":{\"u\":{\"S\":\"x\"}}}",
            ]),
            0..12,
        ),
        capacity in 1usize..16,
    ) {
        let text = parts.concat();
        prop_assert_eq!(read(text.as_bytes(), capacity), read(text.as_bytes(), 1 << 16));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        read(&bytes, 3);
    }
}
