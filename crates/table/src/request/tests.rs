use super::*;
use crate::limits::ITEM_BYTES_MAX;
use crate::{Comparator, Error, Map, Operand, Path, Value, ValueType};

fn table() -> Arc<Schema> {
    Arc::new(Schema::new("Test").with_index("GSI1"))
}

fn key(sort: impl std::fmt::Display) -> Key {
    Key::new("p", sort.to_string())
}

fn item(sort: &str, filler: usize) -> Item {
    let mut item = Item::from([("PK", "p"), ("SK", sort)]);
    item.insert("filler", "x".repeat(filler).as_str());
    item
}

fn put(sort: &str) -> Leg {
    Leg::Put(Put { table: table(), item: item(sort, 0), condition: None })
}

fn update(sort: &str, actions: Vec<Action>) -> Leg {
    Leg::Update(Update { table: table(), key: key(sort), actions, condition: None })
}

fn delete(sort: &str) -> Leg {
    Leg::Delete(Delete { table: table(), key: key(sort), condition: None })
}

fn check(sort: &str) -> Leg {
    let condition = Condition::Exists("PK".into());
    Leg::Check(Check { table: table(), key: key(sort), condition })
}

fn transact(legs: impl IntoIterator<Item = Leg>) -> Result<usize, Error> {
    Transact { legs: legs.into_iter().collect() }.validate()
}

fn at_leg(leg: usize, reason: Invalid) -> Result<usize, Error> {
    Err(Error::Invalid { leg: Some(leg), reason })
}

fn at_none(reason: Invalid) -> Result<usize, Error> {
    Err(Error::Invalid { leg: None, reason })
}

#[test]
fn a_transaction_has_1_to_100_legs() {
    let legs = |count: usize| (0..count).map(|n| delete(&n.to_string()));
    assert_eq!(transact(legs(0)), at_none(Invalid::Legs { count: 0 }));
    assert_eq!(transact(legs(1)), Ok(0));
    assert_eq!(transact(legs(100)), Ok(0));
    assert_eq!(transact(legs(101)), at_none(Invalid::Legs { count: 101 }));
}

#[test]
fn no_two_legs_of_a_transaction_are_on_one_item() {
    let kinds: [fn(&str) -> Leg; 4] =
        [put, |sort| update(sort, vec![Action::set("a", 1)]), delete, check];
    for one in kinds {
        for other in kinds {
            let same = transact([one("s"), delete("between"), other("s")]);
            assert_eq!(same, at_none(Invalid::SameItem));
            assert!(transact([one("s"), other("t")]).is_ok());
        }
    }
    // One key in two tables is two items.
    let elsewhere = Arc::new(Schema::new("Other"));
    let other = Leg::Delete(Delete { table: elsewhere, key: key("s"), condition: None });
    assert_eq!(transact([delete("s"), other]), Ok(0));
}

#[test]
fn a_transaction_writes_at_most_4_mb() {
    // Ten items of the largest size, and one that takes the rest of 4 MB but for `spare` bytes.
    let legs = |spare: usize| {
        let sizes = (0..10).map(|_| ITEM_BYTES_MAX).chain([98_304 - spare]);
        sizes.enumerate().map(|(n, bytes)| {
            let sort = format!("{n:02}");
            let overhead = item(&sort, 0).size();
            Leg::Put(Put { table: table(), item: item(&sort, bytes - overhead), condition: None })
        })
    };
    assert_eq!(transact(legs(0)), Ok(4_194_304));
    let more = |spare, leg| transact(legs(spare).chain([leg]));
    let five = || update("u", vec![Action::set("a", "x".repeat(5).as_str())]);
    assert_eq!(more(5, five()), Ok(4_194_304));
    assert_eq!(more(4, five()), at_none(Invalid::TransactionSize { bytes: 4_194_305 }));
    assert_eq!(more(0, delete("d")), Ok(4_194_304));
    assert_eq!(more(0, check("c")), Ok(4_194_304));
}

#[test]
fn the_leg_at_fault_is_told() {
    let large = Leg::Put(Put { table: table(), item: item("s", ITEM_BYTES_MAX), condition: None });
    let bytes = ITEM_BYTES_MAX + item("s", 0).size();
    assert_eq!(transact([delete("d"), large]), at_leg(1, Invalid::ItemSize { bytes }));
    let empty = Leg::Delete(Delete { table: table(), key: key(""), condition: None });
    assert_eq!(transact([check("c"), empty]), at_leg(1, Invalid::SortKey { bytes: 0 }));
    let condition = Condition::And(vec![]);
    let vain = Leg::Check(Check { table: table(), key: key("s"), condition });
    assert_eq!(transact([vain, delete("d")]), at_leg(0, Invalid::EmptyCondition));
}

#[test]
fn an_update_of_a_transaction_changes_something() {
    // It was once taken: alone an update may have no actions, but a transaction's cannot be rendered.
    assert_eq!(transact([delete("d"), update("s", vec![])]), at_leg(1, Invalid::NoActions));
    assert_eq!(update("s", vec![]).validate(), Ok(0));
}

#[test]
fn a_leg_is_refused_for_what_it_would_do() {
    let remove = |path: Path| Action::Remove(path);
    let changes = |name: &str| Invalid::ChangesKey { name: name.into() };
    let overlap = Invalid::OverlappingPaths { one: "a".to_owned(), other: "a.x".to_owned() };
    let keyless = Item::from([("PK", "p")]);
    let names = KeyNames::new("PK", "SK");
    let put_of = |item| Leg::Put(Put { table: table(), item, condition: None });
    let mut bad_index = item("s", 0);
    bad_index.insert("GSI1PK", 1);
    let index_key = || Invalid::IndexKey { index: "GSI1".into(), name: "GSI1PK".into() };
    let cases = [
        (update("s", vec![Action::set("PK", "p")]), changes("PK")),
        (update("s", vec![Action::set("SK", "other")]), changes("SK")),
        (update("s", vec![remove("SK".into())]), changes("SK")),
        (
            update("s", vec![Action::set("a", 1), remove(Path::from("PK").field("x"))]),
            changes("PK"),
        ),
        (update("s", vec![Action::Add("PK".into(), 1.into())]), changes("PK")),
        (update("s", vec![remove(Path::from("a").field("x")), Action::set("a", 1)]), overlap),
        (
            update("s", vec![Action::Add("a".into(), "text".into())]),
            Invalid::Operand { found: ValueType::Text },
        ),
        (update("", vec![Action::set("a", 1)]), Invalid::SortKey { bytes: 0 }),
        (update("s", vec![Action::set("a", Map::from([("", 1)]))]), Invalid::Name { bytes: 0 }),
        (put_of(keyless), Invalid::NoKey { names }),
        (put_of(bad_index), index_key()),
        (update("s", vec![Action::set("GSI1PK", 1)]), index_key()),
        (update("s", vec![Action::set("GSI1PK", "")]), index_key()),
        (update("s", vec![Action::set("GSI1PK", "x".repeat(2049).as_str())]), index_key()),
        (delete(&"x".repeat(1025)), Invalid::SortKey { bytes: 1025 }),
        (check(""), Invalid::SortKey { bytes: 0 }),
    ];
    for (leg, reason) in cases {
        assert_eq!(leg.validate(), Err(reason), "{leg:?}");
    }
    // A key of an index may change, and names the key's are a part of are others.
    let fine = [Action::set("GSI1PK", "p"), Action::set("PKX", 1), Action::set("pk", 1)];
    assert_eq!(update("s", fine.into()).validate(), Ok(1 + 2 + 2));
}

#[test]
fn a_leg_knows_its_table_key_and_condition() {
    let conditional = Leg::Put(Put {
        table: table(),
        item: item("s", 0),
        condition: Some(Condition::Absent("PK".into())),
    });
    let legs = [conditional, update("s", vec![]), delete("s"), check("s")];
    for leg in &legs {
        assert_eq!(leg.key(), Ok(key("s")));
        assert_eq!(leg.table().name, "Test");
    }
    let conditional: Vec<_> = legs.iter().map(|leg| leg.condition().is_some()).collect();
    assert_eq!(conditional, [true, false, false, true]);
}

#[test]
fn a_get_takes_1_to_100_keys_no_two_the_same() {
    let batch = |keys: Vec<Key>| {
        let consistency = Consistency::Eventual;
        let snapshot = SnapshotGet { table: table(), keys: keys.clone() }.validate();
        assert_eq!(BatchGet { table: table(), keys, consistency }.validate(), snapshot);
        snapshot
    };
    let keys = |count: usize| (0..count).map(key).collect::<Vec<_>>();
    assert_eq!(batch(keys(0)), Err(Invalid::Keys { count: 0 }));
    assert_eq!(batch(keys(1)), Ok(()));
    assert_eq!(batch(keys(100)), Ok(()));
    assert_eq!(batch(keys(101)), Err(Invalid::Keys { count: 101 }));
    assert_eq!(batch(vec![key("a"), key("b"), key("a")]), Err(Invalid::SameItem));
    assert_eq!(batch(vec![Key::new("p", "s"), Key::new("ps", "s")]), Ok(()));
    assert_eq!(batch(vec![key("a"), key("")]), Err(Invalid::SortKey { bytes: 0 }));
    let get = |key| Get { table: table(), key, consistency: Consistency::Strong }.validate();
    assert_eq!(get(key("s")), Ok(()));
    assert_eq!(get(Key::new("", "s")), Err(Invalid::PartitionKey { bytes: 0 }));
}

/// A query of sort keys that begin with `s`, changed as told.
fn made(change: impl FnOnce(&mut Query)) -> Query {
    let mut query = Query {
        table: table(),
        index: None,
        partition: "p".into(),
        range: SortRange::BeginsWith("s".into()),
        filter: None,
        direction: Direction::Ascending,
        limit: None,
        resume: None,
        consistency: Consistency::Strong,
    };
    change(&mut query);
    query
}

fn query(change: impl FnOnce(&mut Query)) -> Result<(), Invalid> {
    made(change).validate()
}

#[test]
fn a_filter_is_a_condition_on_anything_but_the_keys_of_the_query() {
    let filtered = |index: Option<&str>, filter: Condition| {
        query(|query| {
            query.index = index.map(Text::from);
            query.consistency = Consistency::Eventual;
            query.filter = Some(filter);
        })
    };
    let is = |name: &str| Condition::equals(name, "x");
    let refused = |name: &str| Err(Invalid::FiltersKey { name: name.into() });
    assert_eq!(filtered(None, is("state")), Ok(()));
    assert_eq!(filtered(None, is("SK")), refused("SK"));
    let nested =
        Condition::Not(Box::new(Condition::Or(vec![is("a"), Condition::Exists("PK".into())])));
    assert_eq!(filtered(None, nested), refused("PK"));
    let sized = Operand::Size("SK".into());
    let longer = Condition::Compare(sized, Comparator::Greater, Operand::from(3));
    assert_eq!(filtered(None, longer), refused("SK"));
    // The keys of the table are attributes like others to a query by an index, and the other way round.
    assert_eq!(filtered(Some("GSI1"), is("SK")), Ok(()));
    assert_eq!(filtered(Some("GSI1"), is("GSI1SK")), refused("GSI1SK"));
    assert_eq!(filtered(None, is("GSI1SK")), Ok(()));
    assert_eq!(filtered(None, Condition::And(vec![])), Err(Invalid::EmptyCondition));
    let in_many = Condition::In(
        Operand::Path(Path::attribute("a")),
        (0..90).map(|at: i64| Operand::from(at)).collect(),
    );
    assert_eq!(filtered(None, in_many.clone()), Ok(()));
    let long = Condition::Or(vec![in_many; 10]);
    assert_eq!(filtered(None, long), Err(Invalid::ExpressionSize));
}

#[test]
fn a_query_is_of_a_partition_a_range_and_a_limit() {
    let partition = |bytes: usize| query(|q| q.partition = "x".repeat(bytes).into());
    assert_eq!(partition(2048), Ok(()));
    assert_eq!(partition(2049), Err(Invalid::PartitionKey { bytes: 2049 }));
    assert_eq!(partition(0), Err(Invalid::PartitionKey { bytes: 0 }));
    assert_eq!(query(|q| q.limit = Some(0)), Err(Invalid::Limit));
    assert_eq!(query(|q| q.limit = Some(1)), Ok(()));
    let reversed = SortRange::Between("b".into(), "a".into());
    assert_eq!(query(|q| q.range = reversed), Err(Invalid::ReversedBounds));
    let empty = SortRange::BeginsWith("".into());
    assert_eq!(query(|q| q.range = empty), Err(Invalid::SortKey { bytes: 0 }));
}

#[test]
fn an_index_is_there_and_is_not_read_strongly() {
    let on = |name: &str, consistency| {
        query(|q| {
            q.index = Some(name.into());
            q.consistency = consistency;
        })
    };
    assert_eq!(on("GSI1", Consistency::Eventual), Ok(()));
    assert_eq!(on("GSI1", Consistency::Strong), Err(Invalid::StrongIndex { name: "GSI1".into() }));
    assert_eq!(on("GSI2", Consistency::Eventual), Err(Invalid::NoIndex { name: "GSI2".into() }));
}

#[test]
fn a_query_goes_on_behind_an_item_it_found() {
    let on = |index: &str| made(|q| q.index = Some(index.into()));
    let item = Item::from([("PK", "p"), ("SK", "s"), ("GSI1PK", "i"), ("GSI1SK", "j")]);
    let key = Key::new("p", "s");
    let expected = Resume { key: key.clone(), index_key: None };
    assert_eq!(made(|_| {}).behind(&item), Ok(expected));
    let expected = Resume { key, index_key: Some(Key::new("i", "j")) };
    assert_eq!(on("GSI1").behind(&item), Ok(expected));

    let half = Item::from([("PK", "p"), ("SK", "s"), ("GSI1PK", "i")]);
    let names = KeyNames::new("GSI1PK", "GSI1SK");
    assert_eq!(on("GSI1").behind(&half), Err(Invalid::NoKey { names }), "it is not in the index");
    assert_eq!(on("GSI2").behind(&item), Err(Invalid::NoIndex { name: "GSI2".into() }));
    let names = KeyNames::new("PK", "SK");
    let keyless = Item::from([("PK", "p")]);
    assert_eq!(made(|_| {}).behind(&keyless), Err(Invalid::NoKey { names }));
}

#[test]
fn a_leg_is_a_request_of_its_own() {
    let alone = |leg: Leg| leg.alone(Returning::Old);
    assert!(matches!(alone(put("s")), Request::Put(_, Returning::Old)));
    assert!(matches!(alone(update("s", vec![])), Request::Update(_, Returning::Old)));
    assert!(matches!(alone(delete("s")), Request::Delete(_, Returning::Old)));
    let check = check("s");
    let legs = vec![check.clone()];
    assert_eq!(alone(check), Request::Transact(Transact { legs }));
}

#[test]
fn a_resume_key_is_of_the_query_it_goes_on_with() {
    let on_table =
        |key: Key, index_key: Option<Key>| query(|q| q.resume = Some(Resume { key, index_key }));
    assert_eq!(on_table(key("s9"), None), Ok(()));
    assert_eq!(on_table(key("t"), None), Err(Invalid::Resume));
    assert_eq!(on_table(Key::new("q", "s9"), None), Err(Invalid::Resume));
    assert_eq!(on_table(key("s9"), Some(key("s9"))), Err(Invalid::Resume));
    assert_eq!(on_table(key(""), None), Err(Invalid::SortKey { bytes: 0 }));

    let on_index = |key: Key, index_key: Option<Key>| {
        query(|q| {
            q.index = Some("GSI1".into());
            q.consistency = Consistency::Eventual;
            q.resume = Some(Resume { key, index_key });
        })
    };
    // The item itself may lie anywhere in the table.
    let elsewhere = || Key::new("anywhere", "at all");
    assert_eq!(on_index(elsewhere(), Some(key("s9"))), Ok(()));
    assert_eq!(on_index(key("s9"), None), Err(Invalid::Resume));
    assert_eq!(on_index(elsewhere(), Some(key("t"))), Err(Invalid::Resume));
    assert_eq!(on_index(elsewhere(), Some(Key::new("q", "s9"))), Err(Invalid::Resume));
    assert_eq!(on_index(elsewhere(), Some(Key::new("p", ""))), Err(Invalid::SortKey { bytes: 0 }));
    assert_eq!(
        on_index(Key::new("", "s"), Some(key("s9"))),
        Err(Invalid::PartitionKey { bytes: 0 })
    );
}

#[test]
fn an_update_weighs_what_its_values_do() {
    let actions = vec![
        Action::set("a", "12345"),
        Action::Remove("b".into()),
        Action::Add("c".into(), Value::from(42)),
    ];
    assert_eq!(update("s", actions).validate(), Ok(5 + 2));
    assert_eq!(put("s").validate(), Ok(item("s", 0).size()));
}

/// 38 times `attribute_exists(#n0.#n0…)` of 101 bytes each, 5 between two, and a last that ends in an
/// index: 4 096 bytes in all if that has one digit.
fn long(last: usize) -> Condition {
    let deep = |steps: usize| (0..steps).fold(Path::from("a"), |path, _| path.field("a"));
    let mut all: Vec<_> = (0..38).map(|_| Condition::Exists(deep(20))).collect();
    let indexed = (0..8).fold(deep(5), |path, _| path.index(0)).index(last);
    all.push(Condition::Exists(indexed));
    Condition::And(all)
}

#[test]
fn expressions_are_held_to_4_kb_as_dynamodb_writes_them() {
    let legs = |condition: Condition| {
        let (table, key) = (table(), key("s"));
        [
            Leg::Put(Put {
                table: table.clone(),
                item: item("s", 0),
                condition: Some(condition.clone()),
            }),
            Leg::Update(Update {
                table: table.clone(),
                key: key.clone(),
                actions: vec![],
                condition: Some(condition.clone()),
            }),
            Leg::Delete(Delete {
                table: table.clone(),
                key: key.clone(),
                condition: Some(condition.clone()),
            }),
            Leg::Check(Check { table, key, condition }),
        ]
    };
    for leg in legs(long(9)) {
        assert!(leg.validate().is_ok(), "{leg:?}");
    }
    for leg in legs(long(10)) {
        assert_eq!(leg.validate(), Err(Invalid::ExpressionSize), "{leg:?}");
    }
    // 4 bytes for the word, `#n0`, and `, ` between two.
    let removals = |count: usize| {
        let remove = |n: usize| Action::Remove(Path::from(format!("a{n}").as_str()));
        update("s", (0..count).map(remove).collect()).validate()
    };
    let most = (4096 - 6 - 1 - 10 * 5 - 90 * 6 + 2) / 7 + 100;
    assert_eq!(removals(most), Ok(0));
    assert_eq!(removals(most + 1), Err(Invalid::ExpressionSize));
}

#[test]
fn names_and_values_of_expressions_are_held_to_2_mb() {
    let value = |bytes: usize| Value::from("x".repeat(bytes).as_str());
    let checked = |bytes: usize| {
        let mut all: Vec<_> = (0..5).map(|_| Condition::equals("a", value(400_000))).collect();
        all.push(Condition::equals("a", value(bytes)));
        Check { table: table(), key: key("s"), condition: Condition::And(all) }.validate()
    };
    let most = 2_097_152 - 2_000_000 - 1;
    assert_eq!(checked(most), Ok(0));
    assert_eq!(checked(most + 1), Err(Invalid::SubstitutedSize { bytes: 2_097_153 }));
}
