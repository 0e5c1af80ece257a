mod expressions;
mod json;
mod operations;
mod properties;

use std::sync::Arc;

use super::*;
use crate::{
    Action, Comparator, Expression, Index, Key, KeyNames, Operand, Path, Resume, Schema, SortRange,
    ValueType,
};

fn table() -> Arc<Schema> {
    Arc::new(Schema::new("Test").with_index("GSI1"))
}

fn key() -> Key {
    Key::new("p", "s")
}

fn path(text: &str) -> Path {
    Path::from(text)
}

fn exists(name: &str) -> Condition {
    Condition::Exists(path(name))
}

fn not(condition: Condition) -> Condition {
    Condition::Not(Box::new(condition))
}

fn stored(name: &str) -> Box<Expression> {
    Box::new(Expression::Path(path(name)))
}

fn constant(value: impl Into<Value>) -> Box<Expression> {
    Box::new(Expression::Value(value.into()))
}

fn list(values: impl IntoIterator<Item = Value>) -> Value {
    Value::List(values.into_iter().collect())
}

fn check(condition: Condition) -> Check {
    Check { table: table(), key: key(), condition }
}

fn update(actions: Vec<Action>, condition: Option<Condition>) -> Update {
    Update { table: table(), key: key(), actions, condition }
}

/// The placeholders in the order of their numbers, which are those from 0 on.
fn texts(placeholders: &Placeholders) -> (Vec<&str>, Vec<Value>) {
    let (names, values) = (&placeholders.names, &placeholders.values);
    for (at, (placeholder, _)) in names.iter().enumerate() {
        assert_eq!(*placeholder, format!("#n{at}"));
    }
    for (at, (placeholder, _)) in values.iter().enumerate() {
        assert_eq!(*placeholder, format!(":v{at}"));
    }
    let names = names.iter().map(|(_, name)| name.as_str()).collect();
    (names, values.iter().map(|(_, value)| value.clone()).collect())
}

#[test]
fn conditions_as_dynamodb_writes_them() {
    use Comparator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let place = || path("m").field("a.b").index(3).index(0).field("m");
    let compare = |comparator| Condition::Compare(path("a").into(), comparator, 5.into());
    let five = || vec![Value::from(5)];
    let cases = [
        (exists("a"), "attribute_exists(#n0)", "a", vec![]),
        (Condition::Absent(place()), "attribute_not_exists(#n0.#n1[3][0].#n0)", "m a.b", vec![]),
        (
            Condition::HasType(path("a"), ValueType::TextSet),
            "attribute_type(#n0, :v0)",
            "a",
            vec!["SS".into()],
        ),
        (compare(Equal), "#n0 = :v0", "a", five()),
        (compare(NotEqual), "#n0 <> :v0", "a", five()),
        (compare(Less), "#n0 < :v0", "a", five()),
        (compare(LessOrEqual), "#n0 <= :v0", "a", five()),
        (compare(Greater), "#n0 > :v0", "a", five()),
        (compare(GreaterOrEqual), "#n0 >= :v0", "a", five()),
        (Condition::Compare(path("b").into(), Less, path("a").into()), "#n0 < #n1", "b a", vec![]),
        // An operand may not be compared with itself, but two equal constants may.
        (Condition::Compare(5.into(), Equal, 5.into()), ":v0 = :v1", "", vec![5.into(), 5.into()]),
        (
            Condition::Between(Operand::Size(path("a")), 1.into(), path("b").into()),
            "size(#n0) BETWEEN :v0 AND #n1",
            "a b",
            vec![1.into()],
        ),
        (
            Condition::In(path("a").into(), vec![5.into(), path("b").into(), "x".into()]),
            "#n0 IN (:v0, #n1, :v1)",
            "a b",
            vec![5.into(), "x".into()],
        ),
        (
            Condition::BeginsWith(path("a"), "x".into()),
            "begins_with(#n0, :v0)",
            "a",
            vec!["x".into()],
        ),
        (
            Condition::Contains(path("a"), Operand::Size(path("b"))),
            "contains(#n0, size(#n1))",
            "a b",
            vec![],
        ),
        (
            Condition::And(vec![Condition::equals("a", 1), Condition::equals("a", 1)]),
            "#n0 = :v0 AND #n0 = :v1",
            "a",
            vec![1.into(), 1.into()],
        ),
        (not(Condition::equals("a", 5)), "NOT #n0 = :v0", "a", five()),
    ];
    for (condition, text, names, values) in cases {
        let rendered = ConditionCheck::of(&check(condition)).unwrap();
        assert_eq!(rendered.condition, text);
        let found = texts(&rendered.placeholders);
        assert_eq!((found.0.join(" ").as_str(), found.1), (names, values), "{text}");
    }
}

#[test]
fn parentheses_stand_where_they_must_and_nowhere_else() {
    let and = |all: &[&Condition]| Condition::And(all.iter().copied().cloned().collect());
    let or = |any: &[&Condition]| Condition::Or(any.iter().copied().cloned().collect());
    let [a, b, c, d] = &["a", "b", "c", "d"].map(exists);
    let between = &Condition::Between(Operand::Path(path("e")), path("f").into(), path("g").into());
    let cases = [
        (and(&[a, b, c]), "a AND b AND c"),
        (or(&[a, b, c]), "a OR b OR c"),
        (and(&[a, &or(&[b, c])]), "a AND (b OR c)"),
        (and(&[&or(&[a, b]), &or(&[c, d])]), "(a OR b) AND (c OR d)"),
        (or(&[a, &and(&[b, c])]), "a OR b AND c"),
        (and(&[a, &and(&[b, c]), d]), "a AND b AND c AND d"),
        (or(&[&or(&[a, b]), c]), "a OR b OR c"),
        (not(a.clone()), "NOT a"),
        (not(and(&[a, b])), "NOT (a AND b)"),
        (not(or(&[a, b])), "NOT (a OR b)"),
        (and(&[&not(a.clone()), b]), "NOT a AND b"),
        (and(&[a, &not(or(&[b, c]))]), "a AND NOT (b OR c)"),
        (and(&[&or(&[a, &and(&[b, &or(&[c, d])])]), d]), "(a OR b AND (c OR d)) AND d"),
        // One alone is itself, wherever it stands.
        (and(&[a]), "a"),
        (or(&[&and(&[a, b])]), "a AND b"),
        (and(&[&and(&[&or(&[a, b])]), c]), "(a OR b) AND c"),
        (not(or(&[&and(&[a, b])])), "NOT (a AND b)"),
        // Two negations are none.
        (not(not(a.clone())), "a"),
        (not(not(not(a.clone()))), "NOT a"),
        (not(and(&[&not(or(&[a, b]))])), "a OR b"),
        (and(&[&not(not(or(&[a, b]))), c]), "(a OR b) AND c"),
        // The `AND` of a range is its own.
        (and(&[between, a]), "e BETWEEN f AND g AND a"),
        (not(between.clone()), "NOT e BETWEEN f AND g"),
    ];
    for (condition, expected) in cases {
        let rendered = ConditionCheck::of(&check(condition)).unwrap();
        let names = rendered.placeholders.names.iter();
        let named = names.fold(rendered.condition.clone(), |text, (placeholder, name)| {
            text.replace(&format!("attribute_exists({placeholder})"), name)
                .replace(placeholder, name)
        });
        assert_eq!(named, expected);
    }
}

#[test]
fn updates_as_dynamodb_writes_them() {
    let or_else = |name: &str, other| Box::new(Expression::OrElse(path(name), other));
    let set = |name: &str, value| Action::Set(path(name), value);
    let one = || Value::TextSet(["x".into()].into());
    let empty = || list([]);
    let cases = [
        (vec![Action::set("a", "x")], "SET #n0 = :v0", "a", vec![Value::from("x")]),
        (vec![set("a", *stored("b"))], "SET #n0 = #n1", "a b", vec![]),
        (vec![Action::increment("a", 1)], "SET #n0 = #n0 + :v0", "a", vec![1.into()]),
        (
            vec![set("a", Expression::Difference(stored("b"), stored("c")))],
            "SET #n0 = #n1 - #n2",
            "a b c",
            vec![],
        ),
        (
            vec![set("a", Expression::Sum(or_else("a", constant(0)), constant(1)))],
            "SET #n0 = if_not_exists(#n0, :v0) + :v1",
            "a",
            vec![0.into(), 1.into()],
        ),
        (
            vec![set("a", *or_else("b", or_else("c", constant(0))))],
            "SET #n0 = if_not_exists(#n1, if_not_exists(#n2, :v0))",
            "a b c",
            vec![0.into()],
        ),
        (
            vec![set("a", Expression::Append(or_else("a", constant(empty())), stored("b")))],
            "SET #n0 = list_append(if_not_exists(#n0, :v0), #n1)",
            "a b",
            vec![empty()],
        ),
        (
            vec![Action::Remove(path("l").index(10)), Action::Remove(path("m").field("l"))],
            "REMOVE #n0[10], #n1.#n0",
            "l m",
            vec![],
        ),
        (vec![Action::Add("n".into(), 5.into())], "ADD #n0 :v0", "n", vec![5.into()]),
        (vec![Action::Delete("s".into(), one())], "DELETE #n0 :v0", "s", vec![one()]),
        // Each clause once, in one order, whatever that of the actions.
        (
            vec![
                Action::Delete("a".into(), one()),
                Action::Add("b".into(), 1.into()),
                Action::set("c", 2),
                Action::Remove(path("d")),
                Action::Add("e".into(), 3.into()),
                Action::set("f", 4),
            ],
            "SET #n0 = :v0, #n1 = :v1 REMOVE #n2 ADD #n3 :v2, #n4 :v3 DELETE #n5 :v4",
            "c f d b e a",
            vec![2.into(), 4.into(), 1.into(), 3.into(), one()],
        ),
    ];
    for (actions, text, names, values) in cases {
        let rendered = UpdateItem::of(&update(actions, None), Returning::Nothing).unwrap();
        assert_eq!(rendered.update.as_deref(), Some(text));
        let found = texts(&rendered.placeholders);
        assert_eq!((found.0.join(" ").as_str(), found.1), (names, values), "{text}");
    }
}

#[test]
fn the_expressions_of_one_update_share_their_names() {
    let condition = Condition::And(vec![Condition::equals("b", 3), Condition::equals("c", 4)]);
    let request = update(vec![Action::set("a", 1), Action::set("b", 2)], Some(condition));
    let rendered = UpdateItem::of(&request, Returning::Nothing).unwrap();
    assert_eq!(rendered.update.as_deref(), Some("SET #n0 = :v0, #n1 = :v1"));
    assert_eq!(rendered.condition.as_deref(), Some("#n1 = :v2 AND #n2 = :v3"));
    let (names, values) = texts(&rendered.placeholders);
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(values, [1, 2, 3, 4].map(Value::from));
}

#[test]
fn what_dynamodb_cannot_compute_at_once_has_no_rendering() {
    let sum = || Box::new(Expression::Sum(stored("a"), constant(1)));
    let append = || Box::new(Expression::Append(stored("a"), constant(list([]))));
    let cases = [
        Expression::Sum(sum(), constant(1)),
        Expression::Difference(constant(1), sum()),
        Expression::OrElse(path("b"), sum()),
        Expression::Append(append(), stored("b")),
        Expression::Append(stored("b"), append()),
        Expression::OrElse(path("b"), append()),
        Expression::Sum(append(), constant(1)),
    ];
    for expression in cases {
        let request = update(vec![Action::Set(path("a"), expression)], None);
        let refused = UpdateItem::of(&request, Returning::Nothing);
        assert_eq!(refused, Err(Invalid::Nested), "{request:?}");
        // It was once let through, for the store on this machine to compute.
        assert_eq!(request.validate(), Err(Invalid::Nested), "{request:?}");
    }
}

#[test]
fn what_is_no_expression_is_refused() {
    let deep = (0..32).fold(Value::Null, |value, _| list([value]));
    let nots = (0..3_000).fold(exists("a"), |inner, _| not(inner));
    let cases = [
        (Condition::And(vec![]), Invalid::EmptyCondition),
        (not(Condition::Or(vec![])), Invalid::EmptyCondition),
        (Condition::In(path("a").into(), vec![]), Invalid::Alternatives { count: 0 }),
        (exists(""), Invalid::Name { bytes: 0 }),
        (Condition::equals("a", deep.clone()), Invalid::TooDeep),
        (nots, Invalid::ConditionTooLarge),
    ];
    for (condition, reason) in cases {
        let delete = Delete { table: table(), key: key(), condition: Some(condition) };
        assert_eq!(DeleteItem::of(&delete, Returning::Nothing), Err(reason));
    }
    let put = |name: &str, value| {
        let put = Put { table: table(), item: Item::from([(name, value)]), condition: None };
        PutItem::of(&put, Returning::Nothing).map(drop)
    };
    assert_eq!(put("a", deep.clone()), Err(Invalid::TooDeep));
    assert_eq!(put("a", Value::TextSet([].into())), Err(Invalid::EmptySet));
    assert_eq!(put("", Value::Null), Err(Invalid::Name { bytes: 0 }));
    let changes = |actions| UpdateItem::of(&update(actions, None), Returning::Nothing).map(drop);
    assert_eq!(changes(vec![Action::set("a", deep)]), Err(Invalid::TooDeep));
    assert!(changes(vec![Action::set("a", 1), Action::set("a", 2)]).is_err());
}

#[test]
fn a_refused_leg_is_told() {
    let fine = || Leg::Check(check(exists("a")));
    let transact = |leg| Rendered::of(&Request::Transact(Transact { legs: vec![fine(), leg] }));
    let at_leg = |reason| Err(Error::Invalid { leg: Some(1), reason });
    // Alone, it makes an item of its key; a transaction has no way to say so.
    let idle = update(vec![], Some(exists("a")));
    assert_eq!(transact(Leg::Update(idle.clone())), at_leg(Invalid::NoActions));
    let alone = UpdateItem::of(&idle, Returning::Nothing).unwrap();
    assert_eq!((alone.update, alone.condition.is_some()), (None, true));
    let vain = Leg::Check(check(Condition::Or(vec![])));
    assert_eq!(transact(vain), at_leg(Invalid::EmptyCondition));
    assert!(transact(Leg::Check(check(exists("b")))).is_ok());
}

#[test]
fn a_write_asks_for_the_images_it_can_have() {
    use ReturnValues::{AllNew, AllOld};
    let cases = [
        (Returning::Nothing, None, None),
        (Returning::Old, Some(AllOld), Some(AllOld)),
        // Of a put it is the item itself, of a delete there is none.
        (Returning::New, None, Some(AllNew)),
    ];
    for (returning, of_others, of_update) in cases {
        for condition in [None, Some(exists("a"))] {
            let on_failure = condition.is_some().then_some(AllOld);
            let put = Put { table: table(), item: Item::new(), condition: condition.clone() };
            let put = PutItem::of(&put, returning).unwrap();
            let images = (put.return_values, put.return_values_on_condition_check_failure);
            assert_eq!(images, (of_others, on_failure), "{returning:?}");
            let delete = Delete { table: table(), key: key(), condition: condition.clone() };
            let delete = DeleteItem::of(&delete, returning).unwrap();
            let images = (delete.return_values, delete.return_values_on_condition_check_failure);
            assert_eq!(images, (of_others, on_failure), "{returning:?}");
            let update = UpdateItem::of(&update(vec![], condition), returning).unwrap();
            let images = (update.return_values, update.return_values_on_condition_check_failure);
            assert_eq!(images, (of_update, on_failure), "{returning:?}");
        }
    }
}

fn query(range: SortRange) -> request::Query {
    request::Query {
        table: table(),
        index: None,
        partition: "p".into(),
        range,
        filter: None,
        direction: Direction::Ascending,
        limit: None,
        resume: None,
        consistency: Consistency::Strong,
    }
}

#[test]
fn a_query_chooses_its_keys() {
    use SortRange::{BeginsWith, Between, Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
    let x = || Text::from("x");
    let cases = [
        (SortRange::All, "", "p"),
        (Equal(x()), " AND #n1 = :v1", "p x"),
        (Less(x()), " AND #n1 < :v1", "p x"),
        (LessOrEqual(x()), " AND #n1 <= :v1", "p x"),
        (Greater(x()), " AND #n1 > :v1", "p x"),
        (GreaterOrEqual(x()), " AND #n1 >= :v1", "p x"),
        (Between(x(), "y".into()), " AND #n1 BETWEEN :v1 AND :v2", "p x y"),
        (BeginsWith(x()), " AND begins_with(#n1, :v1)", "p x"),
    ];
    for (range, sort, values) in cases {
        for (index, names) in [(None, ["PK", "SK"]), (Some("GSI1"), ["GSI1PK", "GSI1SK"])] {
            let asked = request::Query { index: index.map(Text::from), ..query(range.clone()) };
            let rendered = Query::of(&asked).unwrap();
            assert_eq!(rendered.key_condition, format!("#n0 = :v0{sort}"));
            assert_eq!(rendered.index_name.as_deref(), index);
            let found = texts(&rendered.placeholders);
            assert_eq!(found.0, names[..if sort.is_empty() { 1 } else { 2 }]);
            assert_eq!(found.1, values.split(' ').map(Value::from).collect::<Vec<_>>());
        }
    }
    let elsewhere = request::Query { index: Some("GSI2".into()), ..query(SortRange::All) };
    assert_eq!(Query::of(&elsewhere), Err(Invalid::NoIndex { name: "GSI2".into() }));
}

#[test]
fn a_filter_shares_the_placeholders_of_the_keys() {
    let filter = Some(Condition::Not(Box::new(Condition::equals("state", "DONE"))));
    let asked = request::Query { filter, ..query(SortRange::Greater("x".into())) };
    let rendered = Query::of(&asked).unwrap();
    assert_eq!(rendered.key_condition, "#n0 = :v0 AND #n1 > :v1");
    assert_eq!(rendered.filter.as_deref(), Some("NOT #n2 = :v2"));
    let json = Rendered::Query(rendered).to_json();
    assert!(json.contains(r##""FilterExpression": "NOT #n2 = :v2""##), "{json}");
    assert_eq!(Query::of(&query(SortRange::All)).unwrap().filter, None);
    let none = request::Query { filter: Some(Condition::Or(vec![])), ..query(SortRange::All) };
    assert_eq!(Query::of(&none), Err(Invalid::EmptyCondition));
}

#[test]
fn a_query_goes_on_from_the_keys_of_table_and_index() {
    let mut schema = Schema::new("Test").with_index("GSI1");
    let turned = KeyNames::new("SK", "at");
    schema.indexes.push(Index::new("turned", turned));
    let schema = Arc::new(schema);
    let resumed = |index: Option<&str>, index_key: Option<Key>| {
        let resume = Some(Resume { key: key(), index_key });
        let table = Arc::clone(&schema);
        let index = index.map(Text::from);
        Query::of(&request::Query { table, index, resume, ..query(SortRange::All) })
            .map(|query| query.exclusive_start_key)
    };
    let own = [("PK", "p"), ("SK", "s")];
    assert_eq!(resumed(None, None), Ok(Some(Item::from(own))));
    let with_index = [("PK", "p"), ("SK", "s"), ("GSI1PK", "q"), ("GSI1SK", "r")];
    assert_eq!(resumed(Some("GSI1"), Some(Key::new("q", "r"))), Ok(Some(Item::from(with_index))));
    // An attribute of both keys has one value.
    let shared = [("PK", "p"), ("SK", "s"), ("at", "9")];
    assert_eq!(resumed(Some("turned"), Some(Key::new("s", "9"))), Ok(Some(Item::from(shared))));
    assert_eq!(resumed(Some("turned"), Some(Key::new("t", "9"))), Err(Invalid::Resume));
    assert_eq!(resumed(Some("GSI1"), None), Err(Invalid::Resume));
    assert_eq!(resumed(None, Some(key())), Err(Invalid::Resume));
}
