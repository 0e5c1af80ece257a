//! Values, conditions and actions of every kind, for tests by property.

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use crate::{
    Action, Comparator, Condition, Expression, Item, Map, Number, Operand, Path, Text, Value,
    ValueType,
};

/// Few names, so that paths often lead somewhere; the empty one is no name at all.
pub(crate) fn name() -> impl Strategy<Value = Text> {
    prop_oneof![9 => "[a-d]", 1 => Just(String::new())].prop_map(Text::from)
}

fn number() -> impl Strategy<Value = Number> {
    let wide = (any::<bool>(), 0u128..1000, -140i32..130).prop_filter_map("in range", |parts| {
        let (negative, coefficient, exponent) = parts;
        Number::from_parts(negative, coefficient, exponent).ok()
    });
    prop_oneof![(-9i64..10).prop_map(Number::from), wide]
}

fn leaf() -> impl Strategy<Value = Value> {
    let text = || prop_oneof!["[a-c]{0,3}", ".{0,4}"];
    prop_oneof![
        text().prop_map(|text| Value::from(text.as_str())),
        number().prop_map(Value::Number),
        vec(any::<u8>(), 0..4).prop_map(Value::Bytes),
        any::<bool>().prop_map(Value::Bool),
        Just(Value::Null),
        btree_set(text().prop_map(Text::from), 0..3).prop_map(Value::TextSet),
        btree_set(number(), 0..3).prop_map(Value::NumberSet),
        btree_set(vec(any::<u8>(), 0..2), 0..3).prop_map(Value::BytesSet),
    ]
}

pub(crate) fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::List),
            vec((name(), inner), 0..4).prop_map(|pairs| Value::Map(Map::from_iter(pairs))),
        ]
    })
}

pub(crate) fn item() -> impl Strategy<Value = Item> {
    vec((name(), value()), 0..6).prop_map(|pairs| {
        let mut item = Item::from_iter(pairs);
        item.insert("PK", "p");
        item.insert("SK", "s");
        item
    })
}

fn path() -> impl Strategy<Value = Path> {
    let step = prop_oneof![
        name().prop_map(|name| Path::from("").field(name)),
        (0usize..4).prop_map(|index| Path::from("").index(index)),
    ];
    (name(), vec(step, 0..4)).prop_map(|(root, steps)| {
        let steps = steps.iter().flat_map(|path| path.steps().to_vec());
        steps.fold(Path::attribute(root), |path, step| match step {
            crate::Step::Field(name) => path.field(name),
            crate::Step::Index(index) => path.index(index),
        })
    })
}

fn operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        value().prop_map(Operand::Value),
        path().prop_map(Operand::Path),
        path().prop_map(Operand::Size),
    ]
}

pub(crate) fn condition() -> impl Strategy<Value = Condition> {
    use Comparator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let comparator =
        prop::sample::select(&[Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual]);
    let types = prop::sample::select(&[ValueType::Text, ValueType::Number, ValueType::List]);
    let leaf = prop_oneof![
        path().prop_map(Condition::Exists),
        path().prop_map(Condition::Absent),
        (path(), types).prop_map(|(path, kind)| Condition::HasType(path, kind)),
        (operand(), comparator, operand())
            .prop_map(|(a, comparator, b)| Condition::Compare(a, comparator, b)),
        (operand(), operand(), operand()).prop_map(|(a, b, c)| Condition::Between(a, b, c)),
        (operand(), vec(operand(), 0..4)).prop_map(|(value, all)| Condition::In(value, all)),
        (path(), operand()).prop_map(|(path, prefix)| Condition::BeginsWith(path, prefix)),
        (path(), operand()).prop_map(|(path, element)| Condition::Contains(path, element)),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Condition::And),
            vec(inner.clone(), 0..4).prop_map(Condition::Or),
            inner.prop_map(|condition| Condition::Not(Box::new(condition))),
        ]
    })
}

fn expression() -> impl Strategy<Value = Expression> {
    let leaf = prop_oneof![value().prop_map(Expression::Value), path().prop_map(Expression::Path)];
    leaf.prop_recursive(3, 8, 2, |inner| {
        let pair = || (inner.clone().prop_map(Box::new), inner.clone().prop_map(Box::new));
        prop_oneof![
            (path(), inner.clone().prop_map(Box::new))
                .prop_map(|(path, other)| Expression::OrElse(path, other)),
            pair().prop_map(|(a, b)| Expression::Sum(a, b)),
            pair().prop_map(|(a, b)| Expression::Difference(a, b)),
            pair().prop_map(|(a, b)| Expression::Append(a, b)),
        ]
    })
}

pub(crate) fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        3 => (path(), expression()).prop_map(|(path, value)| Action::Set(path, value)),
        2 => path().prop_map(Action::Remove),
        1 => (name(), leaf()).prop_map(|(name, value)| Action::Add(name, value)),
        1 => (name(), leaf()).prop_map(|(name, value)| Action::Delete(name, value)),
    ]
}
