use std::sync::Arc;

use latchkey_table::{Consistency, Direction, Key, SortRange};

use super::*;

fn query(index: Option<&str>) -> Query {
    Query {
        table: Arc::new(Schema::new("Lists").with_index("By")),
        index: index.map(Into::into),
        partition: "p".into(),
        range: SortRange::All,
        direction: Direction::Ascending,
        limit: None,
        resume: None,
        consistency: Consistency::Eventual,
    }
}

#[test]
fn a_list_goes_on_behind_its_last_item() {
    let item = Item::from([("PK", "p"), ("SK", "s"), ("ByPK", "i"), ("BySK", "j")]);
    let key = Key::new("p", "s");
    let expected = Resume { key: key.clone(), index_key: None };
    assert_eq!(behind(&query(None), &item), Some(expected));
    let expected = Resume { key, index_key: Some(Key::new("i", "j")) };
    assert_eq!(behind(&query(Some("By")), &item), Some(expected));
}

#[test]
fn there_is_no_going_on_without_a_place() {
    let item = Item::from([("PK", "p"), ("SK", "s"), ("ByPK", "i")]);
    assert_eq!(behind(&query(Some("By")), &item), None, "it is not in the index");
    assert_eq!(behind(&query(Some("Other")), &item), None, "there is no such index");
    assert_eq!(behind(&query(None), &Item::from([("PK", "p")])), None);
}
