use proptest::prelude::*;

use super::*;
use crate::arbitrary;

fn path(text: &str) -> Path {
    Path::from(text)
}

fn text_set(elements: &[&str]) -> Value {
    Value::TextSet(elements.iter().copied().map(Text::from).collect())
}

fn number_set(elements: &[i64]) -> Value {
    Value::NumberSet(elements.iter().copied().map(Number::from).collect())
}

fn list(values: impl IntoIterator<Item = Value>) -> Value {
    Value::List(values.into_iter().collect())
}

/// An attribute of every type, named by DynamoDB's letters for it in lowercase.
fn stored() -> Item {
    Item::from([
        ("s", Value::from("héllo😀")),
        ("n", Value::from(5)),
        ("b", Value::Bytes(vec![1, 2, 3])),
        ("bool", Value::from(true)),
        ("null", Value::Null),
        ("l", list([Value::from(1), Value::from("a"), list([Value::from(2)])])),
        ("m", Value::Map(Map::from([("x", Value::from(1)), ("y", list([Value::Null]))]))),
        ("ss", text_set(&["a", "b"])),
        ("ns", number_set(&[1, 2])),
        ("bs", Value::BytesSet([vec![1], vec![2]].into())),
        ("n2", Value::from(7)),
    ])
}

fn compare(a: impl Into<Operand>, comparator: Comparator, b: impl Into<Operand>) -> Condition {
    Condition::Compare(a.into(), comparator, b.into())
}

const COMPARATORS: [Comparator; 6] = [
    Comparator::Equal,
    Comparator::NotEqual,
    Comparator::Less,
    Comparator::LessOrEqual,
    Comparator::Greater,
    Comparator::GreaterOrEqual,
];

/// The comparators, in the order above, that hold of two operands.
fn outcomes(a: impl Into<Operand>, b: impl Into<Operand>) -> String {
    let (a, b) = (a.into(), b.into());
    let holding = COMPARATORS
        .iter()
        .filter(|comparator| holds(&compare(a.clone(), **comparator, b.clone()), Some(&stored())));
    holding.map(|comparator| comparator.symbol()).collect::<Vec<_>>().join(" ")
}

fn check_all(cases: impl IntoIterator<Item = (Condition, bool)>) {
    for (condition, expected) in cases {
        assert_eq!(holds(&condition, Some(&stored())), expected, "{condition:?}");
    }
}

#[test]
fn values_of_an_ordered_type_compare_by_their_order() {
    let (equal, less, greater) = ("= <= >=", "<> < <=", "<> > >=");
    assert_eq!(outcomes(path("n"), 5), equal);
    assert_eq!(outcomes(path("n"), 6), less);
    assert_eq!(outcomes(path("n"), -6), greater);
    assert_eq!(outcomes(path("n"), path("n2")), less);
    assert_eq!(outcomes(10, 9), greater);
    assert_eq!(outcomes("10", "9"), less);
    assert_eq!(outcomes(path("s"), "héllo😀"), equal);
    assert_eq!(outcomes(path("s"), "hz"), greater);
    // By UTF-8 bytes, not by UTF-16 units, in which the emoji would come first.
    assert_eq!(outcomes("😀", "\u{ffff}"), greater);
    assert_eq!(outcomes(path("b"), Value::Bytes(vec![1, 2])), greater);
    assert_eq!(outcomes(path("b"), Value::Bytes(vec![200])), less);
    assert_eq!(outcomes(Value::Number("1.0".parse().unwrap()), 1), equal);
}

#[test]
fn with_an_absent_operand_only_not_equal_holds() {
    for absent in [path("zz"), path("m").field("zz"), path("l").index(9), path("n").field("x")] {
        assert_eq!(outcomes(absent.clone(), 5), "<>", "{absent}");
        assert_eq!(outcomes(5, absent.clone()), "<>", "{absent}");
        assert_eq!(outcomes(absent.clone(), path("zzz")), "<>", "{absent}");
        assert_eq!(outcomes(Operand::Size(absent.clone()), 0), "<>", "{absent}");
    }
}

#[test]
fn with_operands_of_two_types_only_not_equal_holds() {
    assert_eq!(outcomes(path("s"), 5), "<>");
    assert_eq!(outcomes(path("n"), "5"), "<>");
    assert_eq!(outcomes(path("b"), "\u{1}\u{2}\u{3}"), "<>");
    assert_eq!(outcomes(path("null"), false), "<>");
    assert_eq!(outcomes(path("ss"), list([Value::from("a"), Value::from("b")])), "<>");
    assert_eq!(outcomes(path("ns"), text_set(&["1", "2"])), "<>");
}

#[test]
fn values_without_order_are_equal_in_depth_or_not() {
    let cases = [
        ("bool", Value::from(true), true),
        ("bool", Value::from(false), false),
        ("null", Value::Null, true),
        ("ss", text_set(&["b", "a"]), true),
        ("ss", text_set(&["a"]), false),
        ("ns", number_set(&[2, 1]), true),
        ("bs", Value::BytesSet([vec![2], vec![1]].into()), true),
        ("l", list([Value::from(1), Value::from("a"), list([Value::from(2)])]), true),
        ("l", list([Value::from("a"), Value::from(1), list([Value::from(2)])]), false),
        ("l", list([Value::from(1), Value::from("a"), list([Value::from(3)])]), false),
        ("m", Map::from([("y", list([Value::Null])), ("x", Value::from(1))]).into(), true),
        ("m", Map::from([("x", 1)]).into(), false),
    ];
    for (name, value, equal) in cases {
        let expected = if equal { "=" } else { "<>" };
        assert_eq!(outcomes(path(name), value.clone()), expected, "{name} {value:?}");
    }
}

#[test]
fn size_counts_utf16_units_bytes_or_elements() {
    let sizes = [("s", 7), ("b", 3), ("l", 3), ("m", 2), ("ss", 2), ("ns", 2), ("bs", 2)];
    for (name, size) in sizes {
        assert_eq!(outcomes(Operand::Size(path(name)), size), "= <= >=", "{name}");
    }
    let inner = Operand::Size(path("l").index(2));
    assert_eq!(outcomes(inner, 1), "= <= >=");
    // Numbers, booleans and null have no size; the condition is not refused, it just does not hold.
    for name in ["n", "bool", "null"] {
        assert_eq!(outcomes(Operand::Size(path(name)), 1), "<>", "{name}");
    }
}

#[test]
fn existence_and_type_look_at_the_place_itself() {
    let places = [
        (path("null"), true),
        (path("m").field("x"), true),
        (path("m").field("y").index(0), true),
        (path("m").field("y").index(1), false),
        (path("m").index(0), false),
        (path("l").index(2).index(0), true),
        (path("zz"), false),
        (path("m.x"), false),
    ];
    for (place, there) in places {
        check_all([
            (Condition::Exists(place.clone()), there),
            (Condition::Absent(place.clone()), !there),
        ]);
    }
    for (name, value) in stored().iter() {
        check_all([
            (Condition::HasType(path(name), value.value_type()), true),
            (Condition::HasType(path(name), ValueType::Map), name == "m"),
            (Condition::HasType(path("zz"), value.value_type()), false),
        ]);
    }
    assert!(holds(&Condition::Absent(path("n")), None));
    assert!(!holds(&Condition::Exists(path("n")), None));
}

#[test]
fn between_includes_both_bounds_and_in_takes_any_alternative() {
    let between =
        |value: Operand, low: Operand, high: Operand| Condition::Between(value, low, high);
    let n = || Operand::Path(path("n"));
    let one_of = |all: Vec<Operand>| Condition::In(Operand::Path(path("n")), all);
    check_all([
        (between(n(), 5.into(), 9.into()), true),
        (between(n(), 1.into(), 5.into()), true),
        (between(n(), 6.into(), 9.into()), false),
        (between(n(), 1.into(), path("n2").into()), true),
        (between(n(), 1.into(), path("zz").into()), false),
        (between(path("zz").into(), 1.into(), 9.into()), false),
        (between(path("s").into(), "h".into(), "i".into()), true),
        (between(path("s").into(), 1.into(), 9.into()), false),
        (between(Operand::Size(path("l")), 3.into(), 3.into()), true),
        (one_of(vec![4.into(), 5.into()]), true),
        (one_of(vec![4.into(), "5".into(), path("n2").into()]), false),
        (one_of(vec![path("zz").into()]), false),
        (Condition::In(path("zz").into(), vec![path("zzz").into()]), false),
        (Condition::In(path("ss").into(), vec![text_set(&["b", "a"]).into()]), true),
    ]);
}

#[test]
fn begins_with_takes_text_and_bytes() {
    let begins = |name, prefix: Operand| Condition::BeginsWith(path(name), prefix);
    check_all([
        (begins("s", "hé".into()), true),
        (begins("s", "".into()), true),
        (begins("s", "e".into()), false),
        (begins("s", "héllo😀!".into()), false),
        (begins("b", Value::Bytes(vec![1, 2]).into()), true),
        (begins("b", Value::Bytes(vec![2]).into()), false),
        (begins("s", Value::Bytes(vec![b'h']).into()), false),
        (begins("b", "\u{1}".into()), false),
        (begins("n", "5".into()), false),
        (begins("l", "a".into()), false),
        (begins("zz", "".into()), false),
        (begins("s", path("zz").into()), false),
        (begins("s", path("n").into()), false),
    ]);
}

#[test]
fn contains_takes_texts_bytes_sets_and_lists() {
    let contains = |name, element: Operand| Condition::Contains(path(name), element);
    check_all([
        (contains("s", "llo".into()), true),
        (contains("s", "".into()), true),
        (contains("s", "LLO".into()), false),
        (contains("s", 5.into()), false),
        (contains("b", Value::Bytes(vec![2, 3]).into()), true),
        (contains("b", Value::Bytes(vec![]).into()), true),
        (contains("b", Value::Bytes(vec![1, 3]).into()), false),
        (contains("ss", "a".into()), true),
        (contains("ss", "ab".into()), false),
        (contains("ss", text_set(&["a"]).into()), false),
        (contains("ns", 2.into()), true),
        (contains("ns", "2".into()), false),
        (contains("bs", Value::Bytes(vec![2]).into()), true),
        (contains("l", "a".into()), true),
        (contains("l", list([Value::from(2)]).into()), true),
        (contains("l", 2.into()), false),
        (contains("l", path("n").into()), false),
        (contains("m", "x".into()), false),
        (contains("n", 5.into()), false),
        (contains("zz", "".into()), false),
        (contains("s", path("zz").into()), false),
        (contains("l", Operand::Size(path("l").index(2))), true),
    ]);
}

#[test]
fn conditions_combine() {
    let (yes, no) = (|| Condition::Exists(path("n")), || Condition::Exists(path("zz")));
    let not = |condition| Condition::Not(Box::new(condition));
    check_all([
        (Condition::And(vec![yes(), yes()]), true),
        (Condition::And(vec![yes(), no()]), false),
        (Condition::Or(vec![no(), yes()]), true),
        (Condition::Or(vec![no(), no()]), false),
        (not(no()), true),
        (not(not(no())), false),
        // Both an ordering and its negation: an absent attribute has no order.
        (not(compare(path("zz"), Comparator::Less, 5)), true),
    ]);
    assert!(holds(&Condition::equals("s", "héllo😀"), Some(&stored())));
}

#[test]
fn what_dynamodb_refuses_unseen_is_refused() {
    use Comparator::{Equal, Less};
    let deep = (0..32).fold(Value::Null, |value, _| list([value]));
    let far = (0..33).fold(path("a"), |path, _| path.index(0));
    let reversed =
        |low: Value, high: Value| Condition::Between(path("n").into(), low.into(), high.into());
    let same = || Invalid::SameOperand { path: "m.x".to_owned() };
    let x = || path("m").field("x");
    let cases = [
        (compare(path("n"), Less, true), Invalid::Unordered { found: ValueType::Bool }),
        (compare(list([]), Less, path("l")), Invalid::Unordered { found: ValueType::List }),
        (reversed(2.into(), 1.into()), Invalid::ReversedBounds),
        (reversed(1.into(), "2".into()), Invalid::ReversedBounds),
        (reversed(1.into(), Value::Null), Invalid::Unordered { found: ValueType::Null }),
        (Condition::In(path("n").into(), vec![]), Invalid::Alternatives { count: 0 }),
        (
            Condition::In(path("n").into(), vec![1.into(); 101]),
            Invalid::Alternatives { count: 101 },
        ),
        (Condition::BeginsWith(path("s"), 1.into()), Invalid::Prefix { found: ValueType::Number }),
        (
            Condition::BeginsWith(path("s"), Operand::Size(path("b"))),
            Invalid::Prefix { found: ValueType::Number },
        ),
        (compare(x(), Equal, x()), same()),
        (Condition::Contains(x(), x().into()), same()),
        (Condition::BeginsWith(x(), x().into()), same()),
        (Condition::And(vec![]), Invalid::EmptyCondition),
        (Condition::Or(vec![]), Invalid::EmptyCondition),
        (Condition::Not(Box::new(Condition::And(vec![]))), Invalid::EmptyCondition),
        (compare(path("l"), Equal, deep.clone()), Invalid::TooDeep),
        (Condition::Contains(path("l"), deep.into()), Invalid::TooDeep),
        (compare(path("ss"), Equal, text_set(&[])), Invalid::EmptySet),
        (compare(path("l"), Equal, list([number_set(&[])])), Invalid::EmptySet),
        (compare(path("m"), Equal, Map::from([("", 1)])), Invalid::Name { bytes: 0 }),
        (Condition::Exists(path("")), Invalid::Name { bytes: 0 }),
        (Condition::Absent(path("a").field("")), Invalid::Name { bytes: 0 }),
        (compare(Operand::Size(path("")), Equal, 1), Invalid::Name { bytes: 0 }),
        (Condition::Exists(far), Invalid::PathSteps { steps: 33 }),
    ];
    for (condition, reason) in cases {
        assert_eq!(condition.validate(), Err(reason), "{condition:?}");
    }
}

#[test]
fn what_is_odd_but_allowed_is_not_refused() {
    use Comparator::{Equal, Less};
    let shallow = (0..31).fold(Value::Null, |value, _| list([value]));
    let far = (0..32).fold(path("a"), |path, _| path.index(0));
    let cases = [
        compare(1, Equal, 1),
        compare(path("l"), Less, path("m")),
        compare(Operand::Size(path("l")), Equal, Operand::Size(path("l"))),
        compare(path("l"), Equal, shallow),
        Condition::Exists(far),
        Condition::Between(path("n").into(), 1.into(), 1.into()),
        Condition::Between(path("n").into(), path("n").into(), path("n").into()),
        Condition::In(path("n").into(), vec![1.into(); 100]),
        Condition::And(vec![Condition::Exists(path("n"))]),
    ];
    for condition in cases {
        assert_eq!(condition.validate(), Ok(()), "{condition:?}");
    }
}

#[test]
fn a_condition_has_at_most_300_operators_and_functions() {
    let exists = || Condition::<Value>::Exists(path("a"));
    let all = |count: usize| Condition::And(vec![exists(); count]);
    // Each of them, and what stands between them.
    assert_eq!(all(150).validate(), Ok(()));
    assert_eq!(all(151).validate(), Err(Invalid::ConditionTooLarge));
    let nots = |count| (0..count).fold(exists(), |inner, _| Condition::Not(Box::new(inner)));
    assert_eq!(nots(299).validate(), Ok(()));
    assert_eq!(nots(300).validate(), Err(Invalid::ConditionTooLarge));
    assert_eq!(nots(3_000).validate(), Err(Invalid::ConditionTooLarge));
    // Neither does a chain that renders to nothing get around the bound on depth.
    let alone = (0..3_000).fold(exists(), |inner, _| Condition::And(vec![inner]));
    assert_eq!(alone.validate(), Err(Invalid::ConditionTooLarge));
    let sizes = |count| Condition::In(1.into(), vec![Operand::Size(path("a")); count]);
    assert_eq!(sizes(100).validate(), Ok(()));
    assert_eq!(
        Condition::Or(vec![sizes(100), sizes(100), sizes(95)]).validate(),
        Ok(()),
        "295 sizes, 3 `in` and 2 `or`"
    );
    assert_eq!(
        Condition::Or(vec![sizes(100), sizes(100), sizes(96)]).validate(),
        Err(Invalid::ConditionTooLarge)
    );
}

proptest! {
    #[test]
    fn no_condition_panics(
        condition in arbitrary::condition(),
        item in proptest::option::of(arbitrary::item()),
    ) {
        let negated = Condition::Not(Box::new(condition.clone()));
        prop_assert_ne!(holds(&condition, item.as_ref()), holds(&negated, item.as_ref()));
        let _ = condition.validate();
    }
}
