use super::*;
use crate::Map;

fn text(bytes: usize) -> Value {
    Value::Text("x".repeat(bytes).into())
}

/// An item of one more attribute than its key.
fn item(name: &str, value: impl Into<Value>) -> Item {
    let mut item = Item::from([("PK", "p"), ("SK", "s")]);
    item.insert(name, value);
    item
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |value, level| match level % 2 {
        0 => Value::List(vec![value]),
        _ => Value::Map(Map::from([("m", value)])),
    })
}

#[test]
fn an_item_has_at_most_400_kb_names_and_all() {
    let schema = Schema::new("Test");
    // `PK`, `p`, `SK`, `s` and the name of the attribute itself.
    let fits = item("filler", text(ITEM_BYTES_MAX - 12));
    assert_eq!(schema.validate_item(&fits), Ok(409_600));
    let over = item("filler", text(ITEM_BYTES_MAX - 11));
    assert_eq!(schema.validate_item(&over), Err(Invalid::ItemSize { bytes: 409_601 }));
    // Two bytes in UTF-8, though one character.
    let accented = item("filler", "é".repeat(ITEM_BYTES_MAX / 2).as_str());
    assert_eq!(schema.validate_item(&accented), Err(Invalid::ItemSize { bytes: 409_612 }));
}

#[test]
fn what_an_attribute_may_hold_is_checked_in_depth() {
    let set =
        |count: usize| Value::TextSet(["a", "b"].into_iter().take(count).map(Text::from).collect());
    let within = |value: Value| Value::List(vec![Map::from([("m", value)]).into()]);
    let cases = [
        (item("a", nested(31)), None),
        (item("a", nested(32)), Some(Invalid::TooDeep)),
        (item("a", nested(1_000)), Some(Invalid::TooDeep)),
        (item("a", set(1)), None),
        (item("a", set(0)), Some(Invalid::EmptySet)),
        (item("a", Value::NumberSet([].into())), Some(Invalid::EmptySet)),
        (item("a", Value::BytesSet([].into())), Some(Invalid::EmptySet)),
        (item("a", within(set(0))), Some(Invalid::EmptySet)),
        (item("a", within(set(2))), None),
        (item("a", Value::List(vec![])), None),
        (item("a", Map::new()), None),
        (item("a", ""), None),
        (item("a", Value::Bytes(vec![])), None),
        (item("", 1), Some(Invalid::Name { bytes: 0 })),
        (item(&"n".repeat(65_535), 1), None),
        (item(&"n".repeat(65_536), 1), Some(Invalid::Name { bytes: 65_536 })),
        (item("a", within(Map::from([("", 1)]).into())), Some(Invalid::Name { bytes: 0 })),
    ];
    let schema = Schema::new("Test");
    for (item, reason) in cases {
        let names: Vec<_> = item.iter().map(|(name, _)| name.len()).collect();
        assert_eq!(schema.validate_item(&item).err(), reason, "names of {names:?} bytes");
    }
}

#[test]
fn a_key_is_two_texts_of_fitting_length() {
    let schema = Schema::new("Test");
    let no_key = Invalid::NoKey { names: schema.key.clone() };
    let cases = [
        (item("PK", text(1)), None),
        (item("PK", text(2048)), None),
        (item("PK", text(2049)), Some(Invalid::PartitionKey { bytes: 2049 })),
        (item("PK", text(0)), Some(Invalid::PartitionKey { bytes: 0 })),
        (item("SK", text(1024)), None),
        (item("SK", text(1025)), Some(Invalid::SortKey { bytes: 1025 })),
        (item("SK", text(0)), Some(Invalid::SortKey { bytes: 0 })),
        (item("PK", 1), Some(no_key.clone())),
        (item("SK", Value::Null), Some(no_key.clone())),
        (Item::from([("PK", "p")]), Some(no_key.clone())),
        (Item::from([("SK", "s")]), Some(no_key.clone())),
        (Item::new(), Some(no_key)),
    ];
    for (item, reason) in cases {
        assert_eq!(schema.key_of(&item).err(), reason);
        assert_eq!(schema.validate_item(&item).err(), reason);
    }
    assert_eq!(schema.key_of(&item("a", 1)), Ok(Key::new("p", "s")));
    // By bytes: 1,024 characters that take two.
    let key = Key::new("é".repeat(1024), "s");
    assert_eq!(schema.key.validate_key(&key), Ok(()));
    let key = Key::new("é".repeat(1025), "s");
    assert_eq!(schema.key.validate_key(&key), Err(Invalid::PartitionKey { bytes: 2050 }));
}

#[test]
fn an_index_attribute_is_fit_for_a_key_or_not_there() {
    let schema = Schema::new("Test").with_index("GSI1");
    let fits = [
        item("GSI1PK", text(2048)),
        item("GSI1SK", text(1024)),
        item("GSI1PK", text(1)),
        item("other", 1),
    ];
    for item in fits {
        assert!(schema.validate_item(&item).is_ok());
    }
    let unfit = [
        ("GSI1PK", text(2049)),
        ("GSI1PK", text(0)),
        ("GSI1PK", 1.into()),
        ("GSI1PK", Value::Null),
        ("GSI1SK", text(1025)),
        ("GSI1SK", text(0)),
        ("GSI1SK", Value::Bytes(vec![1])),
        ("GSI1SK", Value::List(vec![])),
    ];
    for (name, value) in unfit {
        let reason = Invalid::IndexKey { index: "GSI1".into(), name: name.into() };
        assert_eq!(schema.validate_item(&item(name, value.clone())), Err(reason.clone()));
        // The other attribute does not change that.
        let mut both = item(name, value);
        both.insert(if name == "GSI1PK" { "GSI1SK" } else { "GSI1PK" }, "fits");
        assert_eq!(schema.validate_item(&both), Err(reason));
    }
}

#[test]
fn tables_and_indexes_have_names_of_3_to_255_plain_characters() {
    for name in ["abc", "a-b_c.9", &"x".repeat(255), "..."] {
        assert_eq!(Schema::new(name).validate(), Ok(()), "{name}");
        assert_eq!(Schema::new("Test").with_index(name).index(name).map(|i| &*i.name), Some(name));
    }
    for name in ["", "ab", &"x".repeat(256), "a b", "a/b", "naïve", "a#b", "tab\t"] {
        let reason = Invalid::TableName { name: name.into() };
        assert_eq!(Schema::new(name).validate(), Err(reason.clone()), "{name}");
        assert_eq!(Schema::new("Test").with_index(name).validate(), Err(reason), "{name}");
    }
}

#[test]
fn indexes_have_names_of_their_own_and_are_at_most_20() {
    let with =
        |names: &[&str]| names.iter().fold(Schema::new("Test"), |s, name| s.with_index(name));
    assert_eq!(with(&["GSI1", "GSI2", "Test"]).validate(), Ok(()));
    assert_eq!(
        with(&["GSI1", "GSI2", "GSI1"]).validate(),
        Err(Invalid::TableName { name: "GSI1".into() })
    );
    let names: Vec<_> = (10..31).map(|n| format!("GSI{n}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    assert_eq!(with(&names[..20]).validate(), Ok(()));
    assert_eq!(with(&names).validate(), Err(Invalid::TooManyIndexes { count: 21 }));
    assert_eq!(with(&["GSI1"]).index("GSI2"), None);
}

#[test]
fn key_attributes_have_two_names_of_fitting_length() {
    let with = |key: KeyNames| Schema { key, ..Schema::new("Test") }.validate();
    let long = "n".repeat(256);
    assert_eq!(with(KeyNames::new("id", "n".repeat(255))), Ok(()));
    for (key, name) in [
        (KeyNames::new("", "SK"), ""),
        (KeyNames::new("PK", ""), ""),
        (KeyNames::new("PK", "PK"), "PK"),
        (KeyNames::new("PK", long.as_str()), long.as_str()),
    ] {
        let reason = Invalid::KeyName { name: name.into() };
        assert_eq!(with(key.clone()), Err(reason.clone()));
        let mut schema = Schema::new("Test").with_index("GSI1");
        schema.indexes[0].key = key;
        assert_eq!(schema.validate(), Err(reason));
    }
    // An index may well use a key of the table, as what it is there.
    let mut schema = Schema::new("Test").with_index("GSI1");
    schema.indexes[0].key = KeyNames::new("SK", "PK");
    assert_eq!(schema.validate(), Ok(()));
    schema.indexes[0].key.partition = KeyAttribute::number("SK");
    assert_eq!(schema.validate(), Err(Invalid::KeyName { name: "SK".into() }));
}

#[test]
fn a_key_may_be_a_number_or_lack_its_sort_key() {
    let names = KeyNames { partition: KeyAttribute::number("n"), sort: None };
    let schema = Schema { key: names.clone(), ..Schema::new("Test") };
    let item = Item::from([("n", Value::from(42)), ("a", Value::from("x"))]);
    let key = Key::new("250142", "");
    assert_eq!(schema.key_of(&item), Ok(key.clone()));
    assert_eq!(names.item::<Value>(&key), Item::from([("n", 42)]));
    assert_eq!(names.shown(&key), "42");
    let no_key = Invalid::NoKey { names: names.clone() };
    assert_eq!(schema.key_of(&Item::from([("n", "42")])), Err(no_key));
    let number = Invalid::NumberKey { name: "n".into() };
    assert_eq!(names.validate_key(&Key::new("42", "")), Err(number));
    assert_eq!(names.validate_key(&Key::new("250142", "x")), Err(Invalid::NoSortKey));
    let range = SortRange::Equal(Text::from("x"));
    assert_eq!(names.validate_range(&range), Err(Invalid::NoSortKey));
    let sorted = KeyNames { sort: Some(KeyAttribute::number("at")), ..names };
    let begins = SortRange::BeginsWith(Text::from("250142"));
    let number = Err(Invalid::NumberKey { name: "at".into() });
    assert_eq!(sorted.validate_range(&begins), number);
    assert_eq!(sorted.validate_range(&range), number);
    assert_eq!(sorted.validate_range(&SortRange::Less(Text::from("250142"))), Ok(()));
    assert_eq!(sorted.validate_key(&Key::new("1", "")), number);
}
