//! Steps of a sequence, on few keys, so that they meet.
//!
//! A text that begins with `@` is a partition: each sequence puts its own name in place of the `@`.

use latchkey_table::{
    Action, Comparator, Condition, Consistency, Direction, Expression, Item, Key, Number, Operand,
    Path, Returning, Schema, SortRange, Step as PathStep, Text, Update, Value, ValueType,
};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;

/// One request.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Get(Key, Consistency),
    BatchGet(Vec<Key>, Consistency),
    SnapshotGet(Vec<Key>),
    Query(QueryStep),
    Put(Item, Option<Condition>, Returning),
    Update(Key, Vec<Action>, Option<Condition>, Returning),
    Delete(Key, Option<Condition>, Returning),
    Transact(Vec<LegStep>),
}

/// A query, which is asked for all its pages.
#[derive(Debug, Clone)]
pub(crate) struct QueryStep {
    pub(crate) index: Option<Text>,
    pub(crate) partition: Text,
    pub(crate) range: SortRange,
    pub(crate) filter: Option<Condition>,
    pub(crate) direction: Direction,
    pub(crate) limit: Option<u32>,
    pub(crate) consistency: Consistency,
    /// An item to go on behind, be it there or not.
    pub(crate) behind: Option<(Key, Text)>,
}

/// One leg of a transaction.
#[derive(Debug, Clone)]
pub(crate) enum LegStep {
    Put(Item, Option<Condition>),
    Update(Key, Vec<Action>, Option<Condition>),
    Delete(Key, Option<Condition>),
    Check(Key, Condition),
}

/// The partitions of the table.
pub(crate) const PARTITIONS: [&str; 3] = ["@P", "@P#", "@Q"];

/// The partitions of the indexes.
pub(crate) const INDEX_PARTITIONS: [&str; 2] = ["@X", "@Y"];

fn sort() -> impl Strategy<Value = Text> {
    // Few, and close together: prefixes of each other, and beyond ASCII.
    prop_oneof![
        4 => select(vec!["A", "A#1", "B"]),
        1 => select(vec!["A~", "Aé", "B\u{1}", "\u{ffff}", "\u{10ffff}"]),
    ]
    .prop_map(Text::from)
}

fn key() -> impl Strategy<Value = Key> {
    let partition = prop_oneof![3 => Just("@P"), 1 => select(&PARTITIONS)];
    (partition, sort()).prop_map(|(partition, sort)| Key::new(partition, sort))
}

/// Names that two attributes, a list and a map are likely to have.
fn name() -> impl Strategy<Value = Text> {
    select(vec!["n", "t", "s", "l", "m", "x y", "size"]).prop_map(Text::from)
}

/// Names of attributes that a write may change, index keys among them.
fn target() -> impl Strategy<Value = Text> {
    prop_oneof![
        12 => name(),
        2 => select(vec!["GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK"]).prop_map(Text::from),
    ]
}

fn number() -> impl Strategy<Value = Number> {
    let texts = vec![
        "0",
        "1",
        "2",
        "-1",
        "10",
        "1.5",
        "-0.001",
        "1e3",
        "12345678901234567890123456789012345678",
        "9.9e125",
        "-1e-130",
    ];
    prop_oneof![
        6 => (0i64..4).prop_map(Number::from),
        4 => select(texts).prop_map(|text| text.parse().unwrap()),
    ]
}

fn text() -> impl Strategy<Value = Text> {
    prop_oneof![4 => sort(), 1 => select(vec!["", "a", "ab", "é"]).prop_map(Text::from)]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        5 => number().prop_map(Value::Number),
        4 => text().prop_map(Value::Text),
        1 => vec(0u8..3, 0..3).prop_map(Value::Bytes),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => Just(Value::Null),
    ]
}

fn set() -> impl Strategy<Value = Value> {
    prop_oneof![
        btree_set(text(), 1..4).prop_map(Value::TextSet),
        btree_set(number(), 1..4).prop_map(Value::NumberSet),
        btree_set(vec(0u8..3, 0..3), 1..3).prop_map(Value::BytesSet),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![6 => scalar(), 1 => set()];
    leaf.prop_recursive(2, 8, 3, |inner| {
        let field = select(vec!["x", "y"]);
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::List),
            vec((field, inner), 0..3).prop_map(|pairs| Value::Map(pairs.into_iter().collect())),
        ]
    })
}

/// A value that suits the name, more often than not.
fn attribute() -> impl Strategy<Value = (Text, Value)> {
    let list = || vec(scalar(), 0..4).prop_map(Value::List);
    let map = vec((select(vec!["x", "y"]), prop_oneof![scalar(), list()]), 0..3)
        .prop_map(|pairs| Value::Map(pairs.into_iter().collect()));
    prop_oneof![
        3 => number().prop_map(|number| (Text::from("n"), Value::Number(number))),
        3 => text().prop_map(|text| (Text::from("t"), Value::Text(text))),
        2 => set().prop_map(|set| (Text::from("s"), set)),
        2 => list().prop_map(|list| (Text::from("l"), list)),
        2 => map.prop_map(|map| (Text::from("m"), map)),
        2 => (name(), value()),
    ]
}

fn item() -> impl Strategy<Value = Item> {
    let index = || proptest::option::of((select(&INDEX_PARTITIONS), sort()));
    // Around the units of a write and of a read.
    let filler = prop_oneof![
        30 => Just(0usize),
        4 => 850usize..1100,
        2 => 3900usize..4200,
        1 => Just(9_000),
    ];
    (key(), vec(attribute(), 0..5), index(), index(), filler).prop_map(
        |(key, attributes, first, second, filler)| {
            let mut item: Item = attributes.into_iter().collect();
            item.insert("PK", key.partition);
            item.insert("SK", key.sort);
            for (at, index) in [(1, first), (2, second)] {
                if let Some((partition, sort)) = index {
                    item.insert(format!("GSI{at}PK"), partition);
                    item.insert(format!("GSI{at}SK"), sort);
                }
            }
            if filler > 0 {
                item.insert("filler", "x".repeat(filler).as_str());
            }
            item
        },
    )
}

fn path() -> impl Strategy<Value = Path> {
    let step = prop_oneof![
        select(vec!["x", "y"]).prop_map(|name| PathStep::Field(name.into())),
        (0usize..5).prop_map(PathStep::Index),
    ];
    let suited = prop_oneof![
        4 => name().prop_map(Path::attribute),
        2 => (0usize..5).prop_map(|index| Path::from("l").index(index)),
        2 => select(vec!["x", "y"]).prop_map(|name| Path::from("m").field(name)),
    ];
    (suited, vec(step, 0..3), 0..4u8).prop_map(|(path, steps, more)| {
        // Most paths are short.
        let steps = steps.into_iter().filter(|_| more == 0);
        steps.fold(path, |path, step| match step {
            PathStep::Field(name) => path.field(name),
            PathStep::Index(index) => path.index(index),
        })
    })
}

fn operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        4 => value().prop_map(Operand::Value),
        2 => path().prop_map(Operand::Path),
        1 => path().prop_map(Operand::Size),
    ]
}

fn comparator() -> impl Strategy<Value = Comparator> {
    use Comparator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    select(&[Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual])
}

/// A test that suits what an attribute is likely to hold, and so comes out either way.
fn suited() -> impl Strategy<Value = Condition> {
    let of = |name: &str| Operand::Path(name.into());
    let numbers = || number().prop_map(Value::Number);
    let texts = || text().prop_map(Value::Text);
    let alike = || prop_oneof![(Just("n"), numbers(), numbers()), (Just("t"), texts(), texts()),];
    prop_oneof![
        2 => (alike(), comparator()).prop_map(move |((name, value, _), by)| {
            Condition::Compare(of(name), by, Operand::Value(value))
        }),
        2 => alike().prop_map(move |(name, low, high)| {
            Condition::Between(of(name), Operand::Value(low), Operand::Value(high))
        }),
        1 => alike().prop_map(move |(name, one, other)| {
            Condition::In(of(name), vec![Operand::Value(one), Operand::Value(other)])
        }),
        1 => (comparator(), 0i64..4, select(vec!["t", "s", "l", "m"])).prop_map(|(by, count, name)| {
            Condition::Compare(Operand::Size(name.into()), by, count.into())
        }),
        1 => texts().prop_map(|text| Condition::BeginsWith("t".into(), Operand::Value(text))),
        1 => (select(vec!["t", "s", "l"]), scalar())
            .prop_map(|(name, part)| Condition::Contains(name.into(), Operand::Value(part))),
    ]
}

fn test() -> impl Strategy<Value = Condition> {
    let value_type = select(vec![
        ValueType::Text,
        ValueType::Number,
        ValueType::Bytes,
        ValueType::Bool,
        ValueType::Null,
        ValueType::List,
        ValueType::Map,
        ValueType::TextSet,
        ValueType::NumberSet,
        ValueType::BytesSet,
    ]);
    prop_oneof![
        3 => select(vec!["PK", "SK"]).prop_map(|name| Condition::Exists(name.into())),
        2 => select(vec!["PK", "SK"]).prop_map(|name| Condition::Absent(name.into())),
        1 => path().prop_map(Condition::Exists),
        1 => path().prop_map(Condition::Absent),
        1 => (path(), value_type).prop_map(|(path, kind)| Condition::HasType(path, kind)),
        6 => suited(),
        2 => (operand(), comparator(), operand()).prop_map(|(a, by, b)| Condition::Compare(a, by, b)),
        1 => (path(), operand(), operand())
            .prop_map(|(a, b, c)| Condition::Between(Operand::Path(a), b, c)),
        1 => (operand(), vec(operand(), 1..4)).prop_map(|(value, all)| Condition::In(value, all)),
        1 => (path(), operand()).prop_map(|(path, prefix)| Condition::BeginsWith(path, prefix)),
        1 => (path(), operand()).prop_map(|(path, part)| Condition::Contains(path, part)),
    ]
}

/// A condition that is none to refuse unseen: the first of a few.
fn condition() -> impl Strategy<Value = Condition> {
    let valid = vec(test(), 1..5).prop_map(|some| {
        let valid = some.into_iter().find(|condition| condition.validate().is_ok());
        valid.unwrap_or_else(|| Condition::Exists("n".into()))
    });
    valid.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 1..4).prop_map(Condition::And),
            vec(inner.clone(), 1..4).prop_map(Condition::Or),
            inner.prop_map(|inner| Condition::Not(Box::new(inner))),
        ]
    })
}

fn term() -> impl Strategy<Value = Box<Expression>> {
    let plain = || {
        prop_oneof![
            3 => scalar().prop_map(Expression::Value),
            2 => vec(scalar(), 0..3).prop_map(|list| Expression::Value(Value::List(list))),
            1 => value().prop_map(Expression::Value),
            4 => path().prop_map(Expression::Path),
        ]
    };
    prop_oneof![
        3 => plain(),
        1 => (path(), plain()).prop_map(|(path, other)| Expression::OrElse(path, Box::new(other))),
    ]
    .prop_map(Box::new)
}

fn expression() -> impl Strategy<Value = Expression> {
    prop_oneof![
        4 => term().prop_map(|term| *term),
        2 => (term(), term()).prop_map(|(a, b)| Expression::Sum(a, b)),
        1 => (term(), term()).prop_map(|(a, b)| Expression::Difference(a, b)),
        2 => (term(), term()).prop_map(|(a, b)| Expression::Append(a, b)),
        2 => number().prop_map(|by| {
            let stored = Box::new(Expression::Path("n".into()));
            Expression::Sum(stored, Box::new(Expression::Value(Value::Number(by))))
        }),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let indexed = (1..3u8, select(&INDEX_PARTITIONS), sort());
    prop_oneof![
        4 => (path(), expression()).prop_map(|(path, value)| Action::Set(path, value)),
        2 => indexed.prop_map(|(at, partition, sort)| match sort.as_str() {
            "B" => Action::set(format!("GSI{at}PK"), partition),
            _ => Action::set(format!("GSI{at}SK"), sort),
        }),
        1 => (target(), scalar()).prop_map(|(name, value)| Action::set(name, value)),
        1 => target().prop_map(|name| Action::Remove(Path::attribute(name))),
        1 => path().prop_map(Action::Remove),
        1 => (select(vec!["n", "m"]), number())
            .prop_map(|(name, number)| Action::Add(name.into(), Value::Number(number))),
        2 => (select(vec!["s", "s", "l"]), set())
            .prop_map(|(name, set)| Action::Add(name.into(), set)),
        2 => (select(vec!["s", "s", "n"]), set())
            .prop_map(|(name, set)| Action::Delete(name.into(), set)),
    ]
}

/// Actions none of which, nor all of which, are refused unseen: as many of a few as can be.
fn actions(least: usize) -> impl Strategy<Value = Vec<Action>> {
    let table = std::sync::Arc::new(Schema::new("Any"));
    let valid = move |actions: &[Action]| {
        let (table, key) = (table.clone(), Key::new("p", "s"));
        let update = Update { table, key, actions: actions.to_vec(), condition: None };
        update.validate().is_ok()
    };
    vec(action(), least..5).prop_map(move |some| {
        let mut all = Vec::new();
        for action in some {
            all.push(action);
            if !valid(&all) {
                all.pop();
            }
        }
        if all.len() < least {
            all.push(Action::set("n", 1));
        }
        all
    })
}

fn range() -> impl Strategy<Value = SortRange> {
    let between = (sort(), sort()).prop_map(|(a, b)| match a <= b {
        true => SortRange::Between(a, b),
        false => SortRange::Between(b, a),
    });
    prop_oneof![
        6 => Just(SortRange::All),
        1 => sort().prop_map(SortRange::Equal),
        1 => sort().prop_map(SortRange::Less),
        1 => sort().prop_map(SortRange::LessOrEqual),
        1 => sort().prop_map(SortRange::Greater),
        1 => sort().prop_map(SortRange::GreaterOrEqual),
        2 => sort().prop_map(SortRange::BeginsWith),
        2 => between,
    ]
}

fn consistency() -> impl Strategy<Value = Consistency> {
    select(&[Consistency::Eventual, Consistency::Strong])
}

fn query() -> impl Strategy<Value = QueryStep> {
    let of_table = prop_oneof![3 => Just("@P"), 1 => select(&PARTITIONS)];
    let of_table = of_table.prop_map(|partition| (None, partition));
    let of_index = (select(vec!["GSI1", "GSI2"]), select(&INDEX_PARTITIONS))
        .prop_map(|(index, partition)| (Some(Text::from(index)), partition));
    (
        prop_oneof![of_table, of_index],
        range(),
        proptest::option::weighted(0.3, condition()),
        select(&[Direction::Ascending, Direction::Descending]),
        prop_oneof![2 => Just(None), 5 => (1u32..4).prop_map(Some)],
        consistency(),
        proptest::option::weighted(0.2, (key(), sort())),
    )
        .prop_map(
            |((index, partition), range, filter, direction, limit, consistency, behind)| {
                // An index is never strong.
                let consistency = match index {
                    None => consistency,
                    Some(_) => Consistency::Eventual,
                };
                let partition = partition.into();
                QueryStep { index, partition, range, filter, direction, limit, consistency, behind }
            },
        )
}

fn maybe() -> impl Strategy<Value = Option<Condition>> {
    proptest::option::weighted(0.4, condition())
}

fn leg() -> impl Strategy<Value = LegStep> {
    prop_oneof![
        3 => (item(), maybe()).prop_map(|(item, condition)| LegStep::Put(item, condition)),
        3 => (key(), actions(1), maybe())
            .prop_map(|(key, actions, condition)| LegStep::Update(key, actions, condition)),
        1 => (key(), maybe()).prop_map(|(key, condition)| LegStep::Delete(key, condition)),
        1 => (key(), condition()).prop_map(|(key, condition)| LegStep::Check(key, condition)),
    ]
}

/// A sequence: some items, so that the rest has something to meet, and then anything.
pub(crate) fn sequence() -> impl Strategy<Value = Vec<Step>> {
    let put = item().prop_map(|item| Step::Put(item, None, Returning::Nothing));
    (vec(put, 2..8), vec(step(), 8..23)).prop_map(|(mut puts, steps)| {
        puts.extend(steps);
        puts
    })
}

fn step() -> impl Strategy<Value = Step> {
    let returning = || select(&[Returning::Nothing, Returning::Old, Returning::New]);
    prop_oneof![
        4 => (key(), consistency()).prop_map(|(key, consistency)| Step::Get(key, consistency)),
        2 => (vec(key(), 1..6), consistency())
            .prop_map(|(keys, consistency)| Step::BatchGet(keys, consistency)),
        2 => vec(key(), 1..6).prop_map(Step::SnapshotGet),
        5 => query().prop_map(Step::Query),
        6 => (item(), maybe(), returning())
            .prop_map(|(item, condition, returning)| Step::Put(item, condition, returning)),
        8 => (key(), actions(0), maybe(), returning()).prop_map(
            |(key, actions, condition, returning)| Step::Update(key, actions, condition, returning)
        ),
        2 => (key(), maybe(), returning())
            .prop_map(|(key, condition, returning)| Step::Delete(key, condition, returning)),
        6 => vec(leg(), 1..5).prop_map(Step::Transact),
    ]
}
