use std::sync::Arc;

use latchkey_table::{Consistency, Schema, SortRange};
use proptest::prelude::*;

use super::*;

fn query(index: bool, partition: &str, direction: Direction) -> Query {
    Query {
        table: Arc::new(Schema::new("Lists").with_index("By")),
        index: index.then(|| Text::from("By")),
        partition: partition.into(),
        range: SortRange::All,
        filter: None,
        direction,
        limit: None,
        resume: None,
        consistency: Consistency::Eventual,
    }
}

fn used<'a>(query: &'a Query, inputs: &'a [Option<Value>]) -> CursorUse<'a> {
    let list = List::Query(query);
    CursorUse { system: "lists", contract: "L-01", caller: "ann", inputs, list }
}

/// A place in the table, or in the index.
fn place(index: bool, [partition, sort, key, place]: [&str; 4]) -> Resume {
    match index {
        true => Resume { key: Key::new(key, place), index_key: Some(Key::new(partition, sort)) },
        false => Resume { key: Key::new(partition, sort), index_key: None },
    }
}

proptest! {
    #[test]
    fn a_cursor_leads_where_it_was_made(
        texts in proptest::array::uniform4("[a-zA-Z0-9#:\u{e4}\u{1f600}]{1,60}"),
        index in any::<bool>(),
        descending in any::<bool>(),
        secret in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        let texts = [&*texts[0], &*texts[1], &*texts[2], &*texts[3]];
        let direction = if descending { Direction::Descending } else { Direction::Ascending };
        let query = query(index, texts[0], direction);
        let resume = place(index, texts);
        let sealer = Sealer::new(&secret);
        let cursor = sealer.seal(&used(&query, &[]), &resume).unwrap();
        prop_assert_eq!(sealer.open(&used(&query, &[]), &cursor), Ok(Some(resume)));
        prop_assert!(cursor.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)));
        let other = Sealer::new(b"another secret");
        prop_assert_eq!(other.open(&used(&query, &[]), &cursor), Ok(None));
    }

    #[test]
    fn no_bytes_are_a_cursor(bytes in proptest::collection::vec(any::<u8>(), 0..200), index in any::<bool>()) {
        let query = query(index, "p", Direction::Ascending);
        let sealer = Sealer::new(b"secret");
        prop_assert_eq!(sealer.open(&used(&query, &[]), &BASE64.encode(&bytes)), Ok(None));
        prop_assert_eq!(sealer.open(&used(&query, &[]), &String::from_utf8_lossy(&bytes)), Ok(None));
    }
}

#[test]
fn a_cursor_is_good_for_one_thing() {
    let sealer = Sealer::new(b"secret");
    let ascending = query(false, "p", Direction::Ascending);
    let given = [Some(Value::from("a")), None];
    let made = || used(&ascending, &given);
    let cursor = sealer.seal(&made(), &place(false, ["p", "s", "", ""])).unwrap();
    assert!(matches!(sealer.open(&made(), &cursor), Ok(Some(_))));
    let descending = query(false, "p", Direction::Descending);
    let elsewhere = query(false, "q", Direction::Ascending);
    let by_index = query(true, "p", Direction::Ascending);
    // Those that a sloppy join of the parts would take for the same.
    let shifted = [None, Some(Value::from("a"))];
    let fewer = [Some(Value::from("a"))];
    let number = [Some(Value::from(1)), None];
    let null = [Some(Value::from("a")), Some(Value::Null)];
    let others = [
        ("system", CursorUse { system: "list", ..made() }),
        ("contract", CursorUse { contract: "L-02", ..made() }),
        ("caller", CursorUse { caller: "bob", ..made() }),
        ("contract and caller", CursorUse { contract: "L-01a", caller: "nn", ..made() }),
        ("direction", used(&descending, &given)),
        ("partition", used(&elsewhere, &given)),
        ("index", used(&by_index, &given)),
        ("inputs, shifted", used(&ascending, &shifted)),
        ("inputs, fewer", used(&ascending, &fewer)),
        ("inputs, another", used(&ascending, &number)),
        ("inputs, null", used(&ascending, &null)),
    ];
    for (what, used) in others {
        assert_eq!(sealer.open(&used, &cursor), Ok(None), "{what}");
    }
}

#[test]
fn the_longest_keys_make_a_cursor_that_is_looked_at() {
    let (partition, sort) = ("p".repeat(2048), "s".repeat(1024));
    for index in [false, true] {
        let query = query(index, &partition, Direction::Ascending);
        let resume = place(index, [&partition, &sort, &partition, &sort]);
        let sealer = Sealer::new(b"secret");
        let cursor = sealer.seal(&used(&query, &[]), &resume).unwrap();
        assert!(cursor.len() <= CURSOR_BYTES_MAX, "{}", cursor.len());
        assert_eq!(sealer.open(&used(&query, &[]), &cursor), Ok(Some(resume)));
    }
}

// The keys of an item stood in base64 in the cursor, secret parts and fields that the contract leaves out among them.
#[test]
fn a_cursor_shows_nothing_of_a_key() {
    let sealer = Sealer::new(b"secret");
    let query = query(true, "list", Direction::Ascending);
    let resume = place(true, ["list", "MAIL#ann@example.org", "USER#0042", "PROFILE"]);
    let cursor = sealer.seal(&used(&query, &[]), &resume).unwrap();
    let bytes = BASE64.decode(&cursor).unwrap();
    for part in ["list", "MAIL", "ann@", "USER", "0042", "PROFILE"] {
        let shown = bytes.windows(part.len()).any(|window| window == part.as_bytes());
        assert!(!shown, "{part}");
    }
    // One list has one cursor, however often it is asked for; one place behind it has another.
    assert_eq!(sealer.seal(&used(&query, &[]), &resume).unwrap(), cursor);
    let next = place(true, ["list", "MAIL#ann@example.org", "USER#0043", "PROFILE"]);
    let next = BASE64.decode(sealer.seal(&used(&query, &[]), &next).unwrap()).unwrap();
    assert_ne!(next[1..25], bytes[1..25], "two places share a nonce");
}

// A cursor that an earlier version made in clear text, with its seal behind it.
#[test]
fn a_cursor_of_an_earlier_form_is_refused() {
    let query = query(false, "p", Direction::Ascending);
    let old = [&[1, 1, 0, b's'], [7; 16].as_slice()].concat();
    assert_eq!(Sealer::new(b"secret").open(&used(&query, &[]), &BASE64.encode(old)), Ok(None));
}

#[test]
fn a_cursor_of_an_index_has_both_keys_and_is_for_no_query() {
    let by_index = query(true, "", Direction::Ascending);
    let table = std::sync::Arc::clone(&by_index.table);
    let index = by_index.index.clone().unwrap();
    let scan = IndexScan { table, index, filter: None, limit: None, resume: None };
    let whole = || CursorUse { list: List::Index(&scan), ..used(&by_index, &[]) };
    let sealer = Sealer::new(b"secret");
    for texts in [["FEATURED#1", "s", "DEAL#1", "META"], ["x", "y", "z", "\u{1f600}"]] {
        let resume = place(true, texts);
        let cursor = sealer.seal(&whole(), &resume).unwrap();
        assert_eq!(sealer.open(&whole(), &cursor), Ok(Some(resume)));
        assert_eq!(sealer.open(&used(&by_index, &[]), &cursor), Ok(None));
    }
    let in_one = query(true, "p", Direction::Ascending);
    let cursor = sealer.seal(&used(&in_one, &[]), &place(true, ["p", "s", "k", "m"])).unwrap();
    assert_eq!(sealer.open(&whole(), &cursor), Ok(None));
}

#[test]
fn a_cursor_of_an_old_secret_is_opened_and_none_is_made_with_it() {
    let query = query(false, "p", Direction::Ascending);
    let resume = place(false, ["p", "s", "", ""]);
    let (before, other) = (Sealer::new(b"before"), Sealer::new(b"another"));
    let rotated = Sealer::new(b"now").with_old(b"long before").with_old(b"before");
    let cursor = before.seal(&used(&query, &[]), &resume).unwrap();
    assert_eq!(rotated.open(&used(&query, &[]), &cursor), Ok(Some(resume.clone())));
    assert_eq!(Sealer::new(b"now").open(&used(&query, &[]), &cursor), Ok(None));
    let foreign = other.seal(&used(&query, &[]), &resume).unwrap();
    assert_eq!(rotated.open(&used(&query, &[]), &foreign), Ok(None));
    let cursor = rotated.seal(&used(&query, &[]), &resume).unwrap();
    assert_eq!(before.open(&used(&query, &[]), &cursor), Ok(None));
    assert_eq!(Sealer::new(b"now").open(&used(&query, &[]), &cursor), Ok(Some(resume)));
}
