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
        direction,
        limit: None,
        resume: None,
        consistency: Consistency::Eventual,
    }
}

fn scope<'a>(query: &'a Query, inputs: &'a [Option<Value>]) -> Scope<'a> {
    Scope { system: "lists", contract: "L-01", caller: "ann", inputs, query }
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
        let cursor = sealer.seal(&scope(&query, &[]), &resume);
        prop_assert_eq!(sealer.open(&scope(&query, &[]), &cursor), Some(resume));
        prop_assert!(cursor.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)));
        let other = Sealer::new(b"another secret");
        prop_assert_eq!(other.open(&scope(&query, &[]), &cursor), None);
    }

    #[test]
    fn no_bytes_are_a_cursor(bytes in proptest::collection::vec(any::<u8>(), 0..200), index in any::<bool>()) {
        let query = query(index, "p", Direction::Ascending);
        let sealer = Sealer::new(b"secret");
        prop_assert_eq!(sealer.open(&scope(&query, &[]), &BASE64.encode(&bytes)), None);
        prop_assert_eq!(sealer.open(&scope(&query, &[]), &String::from_utf8_lossy(&bytes)), None);
    }
}

#[test]
fn a_cursor_is_good_for_one_thing() {
    let sealer = Sealer::new(b"secret");
    let ascending = query(false, "p", Direction::Ascending);
    let given = [Some(Value::from("a")), None];
    let made = || scope(&ascending, &given);
    let cursor = sealer.seal(&made(), &place(false, ["p", "s", "", ""]));
    assert!(sealer.open(&made(), &cursor).is_some());
    let descending = query(false, "p", Direction::Descending);
    let elsewhere = query(false, "q", Direction::Ascending);
    let by_index = query(true, "p", Direction::Ascending);
    // Those that a sloppy join of the parts would take for the same.
    let shifted = [None, Some(Value::from("a"))];
    let fewer = [Some(Value::from("a"))];
    let number = [Some(Value::from(1)), None];
    let null = [Some(Value::from("a")), Some(Value::Null)];
    let others = [
        ("system", Scope { system: "list", ..made() }),
        ("contract", Scope { contract: "L-02", ..made() }),
        ("caller", Scope { caller: "bob", ..made() }),
        ("contract and caller", Scope { contract: "L-01a", caller: "nn", ..made() }),
        ("direction", scope(&descending, &given)),
        ("partition", scope(&elsewhere, &given)),
        ("index", scope(&by_index, &given)),
        ("inputs, shifted", scope(&ascending, &shifted)),
        ("inputs, fewer", scope(&ascending, &fewer)),
        ("inputs, another", scope(&ascending, &number)),
        ("inputs, null", scope(&ascending, &null)),
    ];
    for (what, scope) in others {
        assert_eq!(sealer.open(&scope, &cursor), None, "{what}");
    }
}

#[test]
fn the_longest_keys_make_a_cursor_that_is_looked_at() {
    let (partition, sort) = ("p".repeat(2048), "s".repeat(1024));
    for index in [false, true] {
        let query = query(index, &partition, Direction::Ascending);
        let resume = place(index, [&partition, &sort, &partition, &sort]);
        let sealer = Sealer::new(b"secret");
        let cursor = sealer.seal(&scope(&query, &[]), &resume);
        assert!(cursor.len() <= CURSOR_BYTES_MAX, "{}", cursor.len());
        assert_eq!(sealer.open(&scope(&query, &[]), &cursor), Some(resume));
    }
}
