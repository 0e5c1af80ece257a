use std::io::{BufReader, Cursor};

use latchkey_table::{Number, Schema, Value};
use proptest::prelude::*;

use super::*;

fn schema() -> Schemas {
    Schema::new("Doors").with_index("GSI1").into()
}

fn lines(text: &str) -> Lines<Cursor<Vec<u8>>> {
    Lines::new(Cursor::new(text.as_bytes().to_vec()))
}

fn count(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap()
}

fn line_of(item: &Item) -> String {
    let mut text = String::new();
    line::write(item, &mut text);
    text
}

fn item(sort: &str, value: &str) -> Item {
    Item::from([("PK", "P"), ("SK", sort), ("value", value)])
}

#[test]
fn lines_become_items_and_empty_lines_nothing() {
    let text = format!("{}\r\n\n  \n{}", line_of(&item("1", "a")), line_of(&item("2", "b")));
    let (part, stop) = lines(&text).part(&schema());
    assert!(stop.is_none(), "{stop:?}");
    let found: Vec<_> = part.entries.iter().map(|entry| (entry.line, &entry.item)).collect();
    assert_eq!(found, [(1, &item("1", "a")), (4, &item("2", "b"))]);
    assert_eq!((part.at.lines, part.at.items, part.lines), (4, 2, 4));
    assert_eq!(part.at.bytes, count(&text));
    assert_eq!(part.last, Some((Which::Main, Key::new("P", "2"))));
}

/// A document whose items have a time in their key.
fn visits() -> Arc<System> {
    let document = "```contract\nsystem doors\ntable Doors { type kind }\nentity Visit \"VISIT\" {\n\
                    PK = \"DOOR#{doorId}\"\n SK = \"AT#{at}\"\n doorId id\n at time\n}\n\
                    contract V-01 \"Get a visit\" {\n GET /doors/{doorId}/visits/{at}\n allow true\n\
                    visit = get Visit else 404 not-found\n return visit\n\
                    consistency eventual\n expect 1 item\n rate 1/s\n}\n```\n";
    Arc::new(System::read(document).unwrap())
}

fn visit(at: &str) -> String {
    let item = Item::from([("PK", "DOOR#a"), ("SK", &format!("AT#{at}")), ("kind", "VISIT")]);
    line_of(&item) + "\n"
}

// The keys before the place where an import continues were forgotten.
#[test]
fn two_keys_are_not_converted_to_one_where_an_import_continues() {
    let text = visit("2026-02-25T10:00:00Z") + &visit("2026-02-25T11:00:00+01:00");
    let begun = || lines(&text).of(visits(), Loads::Fitting).converted(true);
    let mut first = begun();
    assert!(matches!(first.entry(&schema()), Ok(Some(Some(_)))));
    let at = first.at;
    let mut again = begun();
    assert!(again.skip(at, &schema()).unwrap(), "it is the same input");
    let (part, stop) = again.part(&schema());
    assert_eq!(part.entries.len(), 0);
    match stop {
        Some(Stop::Bad { line: 2, message }) => {
            assert!(message.starts_with("its key becomes that of line 1"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    let changed = text.replace("10:00:00Z", "10:00:02Z");
    let mut changed = lines(&changed).of(visits(), Loads::Fitting).converted(true);
    assert!(!changed.skip(at, &schema()).unwrap(), "it has changed");
}

// Only that a time is not as it must be was told.
#[test]
fn a_line_that_cannot_be_converted_is_refused_with_the_reason() {
    let item = Item::from([("PK", "DOOR#a"), ("SK", "AT#2026-02-25T10:00:00Z"), ("kind", "VISIT")]);
    let mut item = item;
    drop(item.insert("at", Value::from(1_772_013_600)));
    let mut lines = lines(&line_of(&item)).of(visits(), Loads::Fitting).converted(true);
    let (_, stop) = lines.part(&schema());
    let Some(Stop::Bad { line: 1, message }) = stop else { panic!("{stop:?}") };
    assert!(
        message.contains("it was not converted: `at` is 1772013600, which could be seconds"),
        "{message}"
    );
}

// Both were loaded, one over the other, and counted as two.
#[test]
fn two_keys_are_not_converted_to_one() {
    let system = visits();
    let loaded = |times: &[&str]| {
        let text: String = times
            .iter()
            .map(|at| {
                Item::from([("PK", "DOOR#a"), ("SK", &format!("AT#{at}")), ("kind", "VISIT")])
            })
            .map(|item| line_of(&item) + "\n")
            .collect();
        let mut lines = lines(&text).of(Arc::clone(&system), Loads::Fitting).converted(true);
        let (part, stop) = lines.part(&schema());
        let told = stop.map(|stop| match stop {
            Stop::Bad { line, message } => format!("{line}: {message}"),
            Stop::Unreadable(error) => error.to_string(),
        });
        (part.entries.len(), told)
    };
    let (full, short, other) =
        ("2026-02-25T10:00:00.000Z", "2026-02-25T10:00:00Z", "2026-02-25T11:00:00+01:00");
    let told =
        "2: its key becomes that of line 1, which had another one: leave one of the two items out";
    for two in [[short, other], [full, short], [short, full]] {
        assert_eq!(loaded(&two), (1, Some(told.to_owned())), "{two:?}");
    }
    // The last of one key still counts.
    assert_eq!(loaded(&[short, short]), (1, None));
    assert_eq!(loaded(&[short, "2026-02-25T10:00:01Z"]), (2, None));
}

#[test]
fn the_last_line_of_a_key_counts() {
    let items = [item("1", "old"), item("2", "b"), item("1", "new")];
    let text: String = items.iter().map(|item| line_of(item) + "\n").collect();
    let (part, _) = lines(&text).part(&schema());
    let found: Vec<_> = part.entries.iter().map(|entry| &entry.item).collect();
    assert_eq!(found, [&items[2], &items[1]]);
    assert_eq!(part.at.items, 3);
}

#[test]
fn a_bad_line_is_told_and_those_before_it_are_kept() {
    let good = line_of(&item("1", "a"));
    let huge = line_of(&item("1", &"x".repeat(ITEM_BYTES_MAX)));
    let cases = [
        ("{", "column 2: the text ends where a key in quotes should be"),
        ("{\"Item\":{\"PK\":{\"S\":\"P\"}}} x", "column 27: `x` after the end of the value"),
        ("[1]", "a line is `{\"Item\": {…}}` and nothing else"),
        (
            "{\"Item\":{\"PK\":{\"S\":\"P\"}}}",
            "the item does not have its key: text `PK`, text `SK`",
        ),
        (
            "{\"Item\":{\"PK\":{\"S\":\"P\"},\"SK\":{\"N\":\"1\"}}}",
            "the item does not have its key: text `PK`, text `SK`",
        ),
        (
            "{\"Item\":{\"PK\":{\"S\":\"P\"},\"SK\":{\"S\":\"\"}}}",
            "a sort key of 0 bytes: it has 1 to 1024",
        ),
        (
            "{\"Item\":{\"GSI1PK\":{\"N\":\"1\"},\"PK\":{\"S\":\"P\"},\"SK\":{\"S\":\"1\"}}}",
            "`GSI1PK` is a key of index `GSI1`, and the value is not of its type or not of fitting length",
        ),
        (
            "{\"Item\":{\"PK\":{\"S\":\"P\"},\"SK\":{\"S\":\"1\"},\"s\":{\"SS\":[]}}}",
            "an empty set",
        ),
        (huge.as_str(), "an item of 409611 bytes: the most is 409600"),
        ("\u{1f}\u{8b}", "column 1: `\\u{1f}` where a value should be"),
    ];
    for (bad, expected) in cases {
        let text = format!("{good}\n{bad}\n{good}\n");
        let (part, stop) = lines(&text).part(&schema());
        let Some(Stop::Bad { line, message }) = stop else { panic!("{bad}: {stop:?}") };
        assert_eq!((line, message.as_str()), (2, expected));
        assert_eq!(part.entries.len(), 1, "{bad}");
        assert_eq!(part.at.bytes, count(&good) + 1, "it goes on before the bad line");
    }
}

#[test]
fn what_is_compressed_or_endless_is_told_so() {
    let mut compressed = Lines::new(Cursor::new(vec![0x1f, 0x8b, 8, 0, 0]));
    let (_, stop) = compressed.part(&schema());
    assert!(matches!(&stop, Some(Stop::Bad { line: 1, message }) if message.contains("gunzip")));
    // A line without an end is not read to it.
    let mut endless = Lines::new(BufReader::new(io::repeat(b'x')));
    let (_, stop) = endless.part(&schema());
    assert!(matches!(&stop, Some(Stop::Bad { message, .. }) if message.contains("longer")));
    assert!(endless.buffer.len() <= LINE_BYTES_MAX + 1);
}

#[test]
fn parts_are_bounded_and_a_position_can_be_gone_on_from() {
    let all: Vec<Item> = (0..PART_ITEMS_MAX * 2 + 5).map(|at| item(&at.to_string(), "v")).collect();
    let text: String = all.iter().map(|item| line_of(item) + "\n").collect();
    let mut whole = lines(&text);
    let mut found = Vec::new();
    let mut positions = Vec::new();
    loop {
        let (part, stop) = whole.part(&schema());
        assert!(stop.is_none());
        if part.lines == 0 {
            break;
        }
        assert!(part.entries.len() <= PART_ITEMS_MAX);
        found.extend(part.entries.into_iter().map(|entry| entry.item));
        positions.push(part.at);
    }
    assert_eq!(found, all);
    assert_eq!(positions.len(), 3);
    let mut rest = lines(&text);
    assert!(rest.skip(positions[0], &schema()).unwrap(), "it is the same input");
    assert_eq!(rest.part(&schema()).0.entries[0].item, all[PART_ITEMS_MAX]);
    // What comes later may differ, what was read may not.
    let at = usize::try_from(positions[0].bytes).unwrap();
    assert!(lines(text.get(..at).unwrap()).skip(positions[0], &schema()).unwrap());
    assert!(!lines(text.get(..at - 1).unwrap()).skip(positions[0], &schema()).unwrap());
    assert!(!lines(&text.replacen("\"v\"", "\"w\"", 1)).skip(positions[0], &schema()).unwrap());
}

#[test]
fn no_item_needs_a_longer_line() {
    // Sets of the numbers that are longest for what they count.
    let sets = (1..=1020i32).map(|_| {
        let numbers = (1..100u128).map(|c| Number::from_parts(true, c, -130).unwrap());
        Value::NumberSet(numbers.collect())
    });
    let item = Item::from([
        ("PK", Value::from("P")),
        ("SK", Value::from("S")),
        ("sets", Value::List(sets.collect())),
    ]);
    let size = schema().main().validate_item(&item).unwrap();
    let length = line_of(&item).len();
    assert!(length < LINE_BYTES_MAX / ITEM_BYTES_MAX * size, "{length} for {size}");
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        ".{0,8}".prop_map(|text| Value::from(text.as_str())),
        (any::<bool>(), any::<u64>(), -100i32..100).prop_map(
            |(negative, coefficient, exponent)| {
                Value::Number(Number::from_parts(negative, coefficient.into(), exponent).unwrap())
            }
        ),
        prop::collection::vec(any::<u8>(), 0..8).prop_map(Value::Bytes),
        any::<bool>().prop_map(Value::Bool),
        Just(Value::Null),
        prop::collection::btree_set(".{0,4}", 1..4)
            .prop_map(|set| Value::TextSet(set.into_iter().map(Into::into).collect())),
        prop::collection::btree_set(any::<i64>(), 1..4)
            .prop_map(|set| Value::NumberSet(set.into_iter().map(Number::from).collect())),
        prop::collection::btree_set(prop::collection::vec(any::<u8>(), 0..4), 1..4)
            .prop_map(Value::BytesSet),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            prop::collection::vec((".{1,4}", inner), 0..4)
                .prop_map(|pairs| Value::Map(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn every_item_comes_back_from_its_line(values in prop::collection::vec((".{1,4}", any_value()), 0..5)) {
        let mut item: Item = values.into_iter().collect();
        item.insert("PK", "P");
        item.insert("SK", "S");
        prop_assert_eq!(read(line_of(&item).as_bytes()), Ok(item));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut lines = Lines::new(Cursor::new(bytes));
        let _ = lines.part(&schema());
    }

    #[test]
    fn any_mangled_line_is_read_or_refused(
        value in any_value(),
        at in any::<prop::sample::Index>(),
        put in "[\"{}\\[\\]:,SNBLM0-9a-z\\\\]{0,3}",
        take in 0usize..4,
    ) {
        let mut item = Item::from([("PK", "P"), ("SK", "S")]);
        item.insert("v", value);
        let mut bytes = line_of(&item).into_bytes();
        let start = at.index(bytes.len());
        bytes.splice(start..(start + take).min(bytes.len()), put.bytes());
        let _ = read(&bytes);
    }
}
