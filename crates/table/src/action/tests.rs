use proptest::prelude::*;

use super::*;
use crate::limits::{ITEM_BYTES_MAX, VALUE_LEVELS_MAX};
use crate::{Map, NumberError, Schema, arbitrary};

fn path(text: &str) -> Path {
    Path::from(text)
}

fn list<V: Into<Value>, const COUNT: usize>(values: [V; COUNT]) -> Value {
    Value::List(values.into_iter().map(Into::into).collect())
}

fn text_set(elements: &[&str]) -> Value {
    Value::TextSet(elements.iter().copied().map(Text::from).collect())
}

fn number_set(elements: &[i64]) -> Value {
    Value::NumberSet(elements.iter().copied().map(Number::from).collect())
}

fn set(path: Path, value: impl Into<Expression>) -> Action {
    Action::Set(path, value.into())
}

fn at(name: &str) -> Box<Expression> {
    Box::new(Expression::Path(path(name)))
}

fn constant(value: impl Into<Value>) -> Box<Expression> {
    Box::new(Expression::Value(value.into()))
}

fn stored() -> Item {
    Item::from([
        ("n", Value::from(5)),
        ("s", Value::from("text")),
        ("l", list(["a", "b", "c"])),
        ("m", Value::Map(Map::from([("x", Value::from(1)), ("l", list([1, 2]))]))),
        ("ss", text_set(&["a", "b"])),
        ("ns", number_set(&[1, 2])),
        ("bs", Value::BytesSet([vec![1]].into())),
    ])
}

/// Applies actions to what is stored; they are ones no validation refuses. Tells what became of the
/// attributes that differ.
fn change(actions: &[Action]) -> Result<Vec<(String, Option<Value>)>, Invalid> {
    assert_eq!(validate(actions), Ok(()), "{actions:?}");
    let (old, new) = (stored(), apply(actions, &stored())?);
    let names = old.iter().chain(new.iter()).map(|(name, _)| name.to_string());
    let names: std::collections::BTreeSet<_> = names.collect();
    let changed = names.into_iter().filter(|name| old.get(name) != new.get(name));
    Ok(changed.map(|name| (name.clone(), new.get(&name).cloned())).collect())
}

fn check_each<const COUNT: usize>(cases: [(Vec<Action>, &str, Option<Value>); COUNT]) {
    for (actions, name, expected) in cases {
        let changed = change(&actions);
        assert_eq!(changed, Ok(vec![(name.to_owned(), expected)]), "{actions:?}");
    }
}

#[test]
fn set_writes_attributes_entries_and_elements() {
    let m = |x: i64| {
        let map = Map::from([("x", Value::from(x)), ("l", list([1, 2]))]);
        Some(Value::Map(map))
    };
    let mut grown = Map::from([("x", Value::from(1)), ("l", list([1, 2]))]);
    grown.insert("new", "v");
    check_each([
        (vec![Action::set("n", 6)], "n", Some(6.into())),
        (vec![Action::set("n", "other type")], "n", Some("other type".into())),
        (vec![Action::set("new", Value::Null)], "new", Some(Value::Null)),
        (vec![set(path("m").field("x"), 2)], "m", m(2)),
        (vec![set(path("m").field("new"), "v")], "m", Some(grown.into())),
        (vec![set(path("l").index(1), "B")], "l", Some(list(["a", "B", "c"]))),
        (vec![Action::set("m.x", 1)], "m.x", Some(1.into())),
    ]);
}

#[test]
fn set_past_the_end_of_a_list_appends_in_the_order_of_the_indexes() {
    check_each([
        (vec![set(path("l").index(3), "d")], "l", Some(list(["a", "b", "c", "d"]))),
        (vec![set(path("l").index(99), "d")], "l", Some(list(["a", "b", "c", "d"]))),
        (
            vec![set(path("l").index(70), "e"), set(path("l").index(9), "d")],
            "l",
            Some(list(["a", "b", "c", "d", "e"])),
        ),
        (
            vec![set(path("l").index(10), "e"), set(path("l").index(0), "A")],
            "l",
            Some(list(["A", "b", "c", "e"])),
        ),
    ]);
}

#[test]
fn every_right_hand_side_sees_the_item_as_it_was() {
    let swap = [set(path("n"), *at("s")), set(path("s"), *at("n"))];
    let expected =
        vec![("n".to_owned(), Some(Value::from("text"))), ("s".to_owned(), Some(Value::from(5)))];
    assert_eq!(change(&swap), Ok(expected));
    // A value that is removed or set in the same update can still be read.
    let moved = [Action::Remove(path("s")), set(path("new"), *at("s"))];
    let expected = vec![("new".to_owned(), Some(Value::from("text"))), ("s".to_owned(), None)];
    assert_eq!(change(&moved), Ok(expected));
    let unborn = [Action::set("new", 1), set(path("copy"), *at("new"))];
    assert_eq!(change(&unborn), Err(Invalid::MissingOperand { path: "new".to_owned() }));
    let counted = [Action::Add("n".into(), 1.into()), set(path("copy"), *at("n"))];
    let expected =
        vec![("copy".to_owned(), Some(Value::from(5))), ("n".to_owned(), Some(Value::from(6)))];
    assert_eq!(change(&counted), Ok(expected));
}

#[test]
fn set_computes() {
    let or_else = |name: &str, other| Expression::OrElse(path(name), other);
    check_each([
        (vec![Action::increment("n", 2i64)], "n", Some(7.into())),
        (
            vec![set(path("n"), Expression::Difference(at("n"), constant(9)))],
            "n",
            Some((-4).into()),
        ),
        (vec![set(path("new"), Expression::Sum(constant(1), constant(2)))], "new", Some(3.into())),
        (vec![set(path("new"), or_else("zz", constant(1)))], "new", Some(1.into())),
        (vec![set(path("new"), or_else("n", constant(1)))], "new", Some(5.into())),
        (vec![set(path("new"), or_else("zz", at("n")))], "new", Some(5.into())),
        // What is there keeps even a missing operand from being looked at.
        (vec![set(path("new"), or_else("n", at("zz")))], "new", Some(5.into())),
        (
            vec![set(path("c"), Expression::Sum(Box::new(or_else("c", constant(0))), constant(1)))],
            "c",
            Some(1.into()),
        ),
        (
            vec![set(path("l"), Expression::Append(at("l"), constant(list(["d"]))))],
            "l",
            Some(list(["a", "b", "c", "d"])),
        ),
        (
            vec![set(path("l"), Expression::Append(constant(list(["z"])), at("l")))],
            "l",
            Some(list(["z", "a", "b", "c"])),
        ),
        (
            vec![set(
                path("new"),
                Expression::Append(
                    Box::new(or_else("zz", constant(list::<Value, 0>([])))),
                    constant(list([1, 2])),
                ),
            )],
            "new",
            Some(list([1, 2])),
        ),
    ]);
    assert_eq!(change(&[set(path("n"), or_else("n", constant(9)))]), Ok(vec![]));
}

#[test]
fn remove_takes_out_what_is_there() {
    let removals = |indexes: &[usize]| {
        indexes.iter().map(|index| Action::Remove(path("l").index(*index))).collect::<Vec<_>>()
    };
    let without_x = Map::from([("l", list([1, 2]))]);
    check_each([
        (vec![Action::Remove(path("n"))], "n", None),
        (vec![Action::Remove(path("m").field("x"))], "m", Some(without_x.into())),
        // By the indexes of the list as it was, in whichever order.
        (removals(&[0, 1]), "l", Some(list(["c"]))),
        (removals(&[2, 0]), "l", Some(list(["b"]))),
        (removals(&[0, 7]), "l", Some(list(["b", "c"]))),
        (removals(&[0, 1, 2]), "l", Some(list::<Value, 0>([]))),
    ]);
    for absent in [path("zz"), path("m").field("zz"), path("l").index(3)] {
        assert_eq!(change(&[Action::Remove(absent.clone())]), Ok(vec![]), "{absent}");
    }
}

#[test]
fn sets_and_removals_of_one_list_use_its_original_indexes() {
    let both = |set_at: usize, remove_at: usize| {
        let actions =
            [Action::Remove(path("l").index(remove_at)), set(path("l").index(set_at), "new")];
        change(&actions).map(|changed| changed.into_iter().next().and_then(|(_, value)| value))
    };
    assert_eq!(both(2, 0), Ok(Some(list(["b", "new"]))));
    assert_eq!(both(0, 2), Ok(Some(list(["new", "b"]))));
    assert_eq!(both(9, 0), Ok(Some(list(["b", "c", "new"]))));
    // What is appended at 3 is not what a removal of 3 means.
    assert_eq!(both(9, 3), Ok(Some(list(["a", "b", "c", "new"]))));
}

#[test]
fn a_removal_does_not_reach_into_what_the_same_update_appends() {
    // It once did: the entry was looked for in the item as changed, where the append had put a map.
    let map = Map::from([("x", 1)]);
    let actions = [set(path("l").index(9), map), Action::Remove(path("l").index(3).field("x"))];
    assert_eq!(change(&actions), Err(Invalid::Path { path: "l[3].x".to_owned() }));
}

#[test]
fn add_sums_numbers_and_joins_sets() {
    let add = |name: &str, value: Value| vec![Action::Add(name.into(), value)];
    check_each([
        (add("n", 3.into()), "n", Some(8.into())),
        (add("n", (-8).into()), "n", Some((-3).into())),
        (add("new", 3.into()), "new", Some(3.into())),
        (add("ss", text_set(&["b", "c"])), "ss", Some(text_set(&["a", "b", "c"]))),
        (add("ns", number_set(&[3])), "ns", Some(number_set(&[1, 2, 3]))),
        (add("new", text_set(&["a"])), "new", Some(text_set(&["a"]))),
        (
            add("bs", Value::BytesSet([vec![2]].into())),
            "bs",
            Some(Value::BytesSet([vec![1], vec![2]].into())),
        ),
    ]);
}

#[test]
fn delete_takes_elements_out_and_the_attribute_with_the_last() {
    let delete = |name: &str, value: Value| vec![Action::Delete(name.into(), value)];
    check_each([
        (delete("ss", text_set(&["b", "z"])), "ss", Some(text_set(&["a"]))),
        (delete("ss", text_set(&["b", "a"])), "ss", None),
        (delete("ns", number_set(&[1, 2, 3])), "ns", None),
        (delete("bs", Value::BytesSet([vec![1]].into())), "bs", None),
    ]);
    assert_eq!(change(&delete("ss", text_set(&["z"]))), Ok(vec![]));
    assert_eq!(change(&delete("new", text_set(&["z"]))), Ok(vec![]));
}

#[test]
fn what_does_not_fit_the_item_is_an_error() {
    let no_path = |path: &str| Invalid::Path { path: path.to_owned() };
    let operand = |found| Invalid::Operand { found };
    let cases = [
        (set(path("zz").field("x"), 1), no_path("zz.x")),
        (set(path("zz").index(0), 1), no_path("zz[0]")),
        (set(path("m").field("zz").field("x"), 1), no_path("m.zz.x")),
        (set(path("l").field("x"), 1), no_path("l.x")),
        (set(path("m").index(0), 1), no_path("m[0]")),
        (set(path("l").index(3).index(0), 1), no_path("l[3][0]")),
        (set(path("s").index(0), 1), no_path("s[0]")),
        (set(path("ss").index(0), 1), no_path("ss[0]")),
        (Action::Remove(path("zz").field("x")), no_path("zz.x")),
        (Action::Remove(path("n").field("x")), no_path("n.x")),
        (Action::Remove(path("l").field("x")), no_path("l.x")),
        (Action::Remove(path("m").index(0)), no_path("m[0]")),
        (set(path("a"), *at("zz")), Invalid::MissingOperand { path: "zz".to_owned() }),
        (Action::increment("zz", 1i64), Invalid::MissingOperand { path: "zz".to_owned() }),
        (
            set(path("a"), Expression::Append(at("zz"), constant(list([1])))),
            Invalid::MissingOperand { path: "zz".to_owned() },
        ),
        (Action::increment("s", 1i64), operand(ValueType::Text)),
        (set(path("a"), Expression::Difference(at("n"), at("l"))), operand(ValueType::List)),
        (set(path("a"), Expression::Append(at("n"), at("l"))), operand(ValueType::Number)),
        (set(path("a"), Expression::Append(at("l"), at("ss"))), operand(ValueType::TextSet)),
        (Action::Add("s".into(), 1.into()), operand(ValueType::Text)),
        (Action::Add("n".into(), text_set(&["a"])), operand(ValueType::Number)),
        (Action::Add("ns".into(), text_set(&["a"])), operand(ValueType::NumberSet)),
        (Action::Add("l".into(), 1.into()), operand(ValueType::List)),
        (Action::Delete("n".into(), number_set(&[5])), operand(ValueType::Number)),
        (Action::Delete("ns".into(), text_set(&["a"])), operand(ValueType::NumberSet)),
    ];
    for (action, reason) in cases {
        assert_eq!(change(std::slice::from_ref(&action)), Err(reason), "{action:?}");
    }
}

#[test]
fn a_number_out_of_range_is_an_error_and_nothing_is_rounded() {
    let number = |text: &str| Value::Number(text.parse().unwrap());
    let item = Item::from([("large", number("9e125")), ("small", number("1e-130"))]);
    let tried = |name: &str, value: &str| {
        let summed = apply(&[Action::Add(name.into(), number(value))], &item);
        let sum = Expression::Sum(at(name), constant(number(value)));
        assert_eq!(apply(&[set(path(name), sum)], &item), summed);
        summed.map(|new| new.get(name).cloned())
    };
    assert_eq!(tried("large", "9e125"), Err(NumberError::TooLarge.into()));
    assert_eq!(tried("large", "1"), Err(NumberError::TooPrecise.into()));
    assert_eq!(tried("small", "1"), Err(NumberError::TooPrecise.into()));
    assert_eq!(tried("large", "-9e125"), Ok(Some(0.into())));
}

#[test]
fn what_dynamodb_refuses_unseen_is_refused() {
    let operand = |found| Invalid::Operand { found };
    let deep = (0..32).fold(Value::Null, |value, _| list([value]));
    let sum = || Box::new(Expression::Sum(at("n"), constant(1)));
    let append = || Box::new(Expression::Append(at("l"), constant(list([1]))));
    let far = || (0..33).fold(path("a"), |path, _| path.index(0));
    let text = || constant("text");
    // Also where it would not come to be computed.
    let never = Expression::OrElse(path("n"), Box::new(Expression::Sum(constant(1), at("n"))));
    let cases = [
        (Action::Add("n".into(), "1".into()), operand(ValueType::Text)),
        (Action::Add("l".into(), list([1])), operand(ValueType::List)),
        (Action::Delete("n".into(), 1.into()), operand(ValueType::Number)),
        (Action::Delete("l".into(), list([1])), operand(ValueType::List)),
        (Action::Add("ss".into(), text_set(&[])), Invalid::EmptySet),
        (Action::Delete("ns".into(), number_set(&[])), Invalid::EmptySet),
        (Action::set("l", list([number_set(&[])])), Invalid::EmptySet),
        (Action::set("m", Map::from([("", 1)])), Invalid::Name { bytes: 0 }),
        (Action::set("l", deep), Invalid::TooDeep),
        (set(path("n"), Expression::Sum(at("n"), text())), operand(ValueType::Text)),
        (set(path("n"), Expression::Difference(text(), at("n"))), operand(ValueType::Text)),
        (set(path("l"), Expression::Append(text(), at("l"))), operand(ValueType::Text)),
        (set(path("n"), never), Invalid::Nested),
        (set(path("n"), Expression::Sum(sum(), at("n"))), Invalid::Nested),
        (set(path("n"), Expression::Difference(at("n"), sum())), Invalid::Nested),
        (set(path("l"), Expression::Append(at("l"), append())), Invalid::Nested),
        (Action::set("", 1), Invalid::Name { bytes: 0 }),
        (Action::Remove(path("m").field("")), Invalid::Name { bytes: 0 }),
        (Action::Add("".into(), 1.into()), Invalid::Name { bytes: 0 }),
        (set(path("n"), *at("")), Invalid::Name { bytes: 0 }),
        (Action::Remove(far()), Invalid::PathSteps { steps: 33 }),
        (set(path("n"), Expression::Path(far())), Invalid::PathSteps { steps: 33 }),
    ];
    for (action, reason) in cases {
        assert_eq!(validate(std::slice::from_ref(&action)), Err(reason), "{action:?}");
    }
}

#[test]
fn overlapping_paths_are_refused_wherever_they_stand() {
    let filler = || (b'b'..=b'y').map(|byte| Action::set(char::from(byte).to_string(), 1));
    let overlapping = [
        (Action::set("a", 1), Action::set("a", 2)),
        (Action::set("a", 1), Action::Remove(path("a"))),
        (Action::set("a", 1), set(path("a").field("x"), 1)),
        (Action::Remove(path("a").index(0)), set(path("a").index(0).field("x"), 1)),
        (Action::Add("a".into(), 1.into()), Action::Remove(path("a").field("x"))),
        (Action::Add("a".into(), 1.into()), Action::Delete("a".into(), number_set(&[1]))),
        // One takes the value for a map, the other for a list.
        (set(path("a").field("x"), 1), set(path("a").index(0), 1)),
        (set(path("a").index(1).field("x"), 1), Action::Remove(path("a").index(1).index(0))),
    ];
    for (one, other) in overlapping {
        for pair in [[one.clone(), other.clone()], [other.clone(), one.clone()]] {
            let actions: Vec<_> = pair.into_iter().chain(filler()).collect();
            let refused = validate(&actions);
            assert!(matches!(refused, Err(Invalid::OverlappingPaths { .. })), "{one:?} {other:?}");
        }
    }
    let apart = [
        set(path("a").field("x"), 1),
        set(path("a").field("xx"), 1),
        Action::Remove(path("a").field("y").index(0)),
        Action::Remove(path("a").field("y").index(10)),
        set(path("ab"), *at("a")),
        Action::set("a.x", 1),
    ];
    assert_eq!(validate(&apart), Ok(()));
}

#[test]
fn no_walk_through_an_update_is_deeper_than_an_expression_is_long() {
    let nested = |depth: usize| {
        let value = Expression::Value(1.into());
        (0..depth).fold(value, |other, _| Expression::OrElse(path("a"), Box::new(other)))
    };
    assert_eq!(validate(&[set(path("a"), nested(1022))]), Ok(()));
    assert_eq!(validate(&[set(path("a"), nested(1023))]), Err(Invalid::ExpressionSize));
    let removals = |count: usize| {
        (0..count).map(|n| Action::<Value>::Remove(path(&format!("a{n}")))).collect::<Vec<_>>()
    };
    assert_eq!(validate(&removals(1024)), Ok(()));
    assert_eq!(validate(&removals(1025)), Err(Invalid::ExpressionSize));
}

#[test]
fn an_action_weighs_what_its_values_do() {
    let sum = Expression::Sum(at("n"), constant(42));
    let or_else = Expression::OrElse(path("s"), constant("abc"));
    let cases = [
        (set(path("n"), sum), 2),
        (set(path("s"), or_else), 3),
        (Action::Remove(path("s")), 0),
        (Action::Add("ss".into(), text_set(&["ab", "c"])), 3),
        (Action::Delete("ss".into(), text_set(&["ab"])), 2),
    ];
    for (action, bytes) in cases {
        assert_eq!(weight(&action), bytes, "{action:?}");
    }
}

proptest! {
    #[test]
    fn no_update_panics_nor_leaves_a_bad_item_that_is_accepted(
        actions in proptest::collection::vec(arbitrary::action(), 0..5),
        item in arbitrary::item(),
    ) {
        let schema = Schema::new("Test").with_index("GSI1");
        let _ = validate(&actions);
        let before = item.clone();
        if let Ok(new) = apply(&actions, &item)
            && let Ok(bytes) = schema.validate_item(&new)
        {
            prop_assert_eq!(bytes, new.size());
            prop_assert!(bytes <= ITEM_BYTES_MAX);
            for (name, value) in new.iter() {
                prop_assert!(!name.is_empty());
                prop_assert!(value.nests_within(VALUE_LEVELS_MAX));
                prop_assert!(validate::value(value).is_ok());
            }
        }
        prop_assert_eq!(item, before);
    }

    #[test]
    fn an_update_that_grows_an_item_past_the_limit_is_caught(
        filler in ITEM_BYTES_MAX - 40..ITEM_BYTES_MAX,
        more in 0usize..40,
    ) {
        let schema = Schema::new("Test");
        let mut item = Item::from([("PK", "p"), ("SK", "s")]);
        item.insert("filler", "x".repeat(filler - 12).as_str());
        let new = apply(&[Action::set("m", "x".repeat(more).as_str())], &item).unwrap();
        let fits = schema.validate_item(&new).is_ok();
        prop_assert_eq!(fits, filler + 1 + more <= ITEM_BYTES_MAX);
    }

    #[test]
    fn actions_apply_in_any_order(
        actions in proptest::collection::vec(arbitrary::action(), 0..5),
        item in arbitrary::item(),
    ) {
        if validate(&actions).is_ok() {
            let reversed: Vec<_> = actions.iter().rev().cloned().collect();
            prop_assert_eq!(apply(&actions, &item).ok(), apply(&reversed, &item).ok());
        }
    }
}
