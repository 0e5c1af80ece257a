//! Random requests, answered by the store and by a plain map: every answer must be the same.

use std::collections::BTreeSet;
use std::sync::Arc;

use latchkey_embedded::{Options, Store};
use latchkey_table::{
    Action, BatchGet, Check, Comparator, Condition, Consistency, Delete, Direction, Expression,
    Get, Item, Key, Leg, Operand, Path, Put, Query, Returning, Schema, SnapshotGet, SortRange,
    Text, Transact, Update, Value,
};
use proptest::prelude::*;

use crate::disk::Disk;
use crate::reference::Reference;

/// A request, or a thing that must make no difference to any answer.
#[derive(Debug, Clone)]
enum Step {
    Get(Key, Consistency),
    BatchGet(Vec<Key>, Consistency),
    SnapshotGet(Vec<Key>),
    Query(QueryStep),
    Put(Draft, Option<Condition>, Returning),
    Update(Key, Vec<Action>, Option<Condition>, Returning),
    Delete(Key, Option<Condition>, Returning),
    Transact(Vec<LegStep>),
    /// Closes the store and opens it again.
    Reopen,
    /// Opens what is on the disk while the store is still open, as if it had been killed.
    Kill,
    /// Drops the second index, or fills it anew.
    ToggleIndex,
}

#[derive(Debug, Clone)]
struct QueryStep {
    index: Option<Text>,
    partition: Text,
    range: SortRange,
    filter: Option<Condition>,
    direction: Direction,
    limit: Option<u32>,
}

#[derive(Debug, Clone)]
enum LegStep {
    Put(Draft, Option<Condition>),
    Update(Key, Vec<Action>, Option<Condition>),
    Delete(Key, Option<Condition>),
    Check(Key, Condition),
}

/// An item and how long a text to fill it up with.
#[derive(Debug, Clone)]
struct Draft {
    item: Item,
    filler: usize,
}

impl Draft {
    fn item(&self) -> Item {
        let mut item = self.item.clone();
        if self.filler > 0 {
            item.insert("filler", "x".repeat(self.filler).as_str());
        }
        item
    }
}

fn sort() -> impl Strategy<Value = Text> {
    // Few, and close together: prefixes of each other, and beyond ASCII.
    prop::sample::select(vec!["A", "A#1", "A#2", "A~", "Aé", "B", "B\u{0}", "\u{10ffff}"])
        .prop_map(Text::from)
}

fn partition() -> impl Strategy<Value = Text> {
    prop::sample::select(vec!["P", "P#", "Q"]).prop_map(Text::from)
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        30 => (partition(), sort()).prop_map(|(partition, sort)| Key { partition, sort }),
        1 => Just(Key::new("", "A")),
        1 => Just(Key::new("p".repeat(2049), "A")),
        1 => Just(Key::new("P", "s".repeat(1025))),
        1 => Just(Key::new("p".repeat(2048), "s".repeat(1024))),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0i64..4).prop_map(Value::from),
        sort().prop_map(Value::Text),
        Just(Value::Null),
        Just(Value::Bool(true)),
        prop::collection::btree_set(sort(), 0..3).prop_map(Value::TextSet),
        prop::collection::vec((0i64..4).prop_map(Value::from), 0..3).prop_map(Value::List),
        (0i64..4).prop_map(|n| Value::Map(Item::from([("x", n)]))),
    ]
}

/// Names of plain attributes and, now and then, of index keys.
fn name() -> impl Strategy<Value = Text> {
    prop_oneof![
        8 => prop::sample::select(vec!["n", "a", "b"]),
        2 => prop::sample::select(vec!["GSI1PK", "GSI1SK", "GSI2SK"]),
        1 => prop::sample::select(vec!["PK", "SK"]),
    ]
    .prop_map(Text::from)
}

fn draft() -> impl Strategy<Value = Draft> {
    let plain = prop::collection::vec((prop::sample::select(vec!["n", "a", "b"]), value()), 0..4);
    let first = prop::option::of((partition(), sort()));
    let second = prop::option::of(sort());
    let filler = prop_oneof![
        20 => Just(0usize),
        4 => Just(700),
        4 => Just(5_000),
        2 => Just(300_000),
        1 => Just(409_300),
        1 => 409_400usize..409_700,
    ];
    (key(), plain, first, second, filler).prop_map(|(key, plain, first, second, filler)| {
        let mut item: Item = plain.into_iter().collect();
        item.insert("PK", key.partition);
        item.insert("SK", key.sort);
        if let Some((partition, sort)) = first {
            item.insert("GSI1PK", partition);
            item.insert("GSI1SK", sort);
        }
        if let Some(sort) = second {
            item.insert("GSI2PK", "ALL");
            item.insert("GSI2SK", sort);
        }
        Draft { item, filler }
    })
}

fn condition() -> impl Strategy<Value = Condition> {
    let comparator = prop::sample::select(vec![
        Comparator::Equal,
        Comparator::NotEqual,
        Comparator::Less,
        Comparator::GreaterOrEqual,
    ]);
    let leaf = prop_oneof![
        name().prop_map(|name| Condition::Exists(Path::attribute(name))),
        name().prop_map(|name| Condition::Absent(Path::attribute(name))),
        Just(Condition::Absent(Path::from("PK"))),
        Just(Condition::Exists(Path::from("PK"))),
        (name(), comparator, value()).prop_map(|(name, comparator, value)| {
            Condition::Compare(Path::attribute(name).into(), comparator, Operand::Value(value))
        }),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..3).prop_map(Condition::And),
            prop::collection::vec(inner.clone(), 1..3).prop_map(Condition::Or),
            inner.prop_map(|inner| Condition::Not(Box::new(inner))),
        ]
    })
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        (name(), value()).prop_map(|(name, value)| Action::set(name, value)),
        name().prop_map(|name| Action::Remove(Path::attribute(name))),
        name().prop_map(|name| Action::increment(&name, 1)),
        (name(), value()).prop_map(|(name, value)| {
            let other = Box::new(Expression::Value(value));
            let path = Path::attribute(name);
            Action::Set(path.clone(), Expression::OrElse(path, other))
        }),
        (name(), value()).prop_map(|(name, value)| Action::Add(name, value)),
        (name(), value()).prop_map(|(name, value)| Action::Delete(name, value)),
        Just(Action::set("a", "x".repeat(200_000).as_str())),
    ];
    prop::collection::vec(action, 0..4)
}

fn range() -> impl Strategy<Value = SortRange> {
    prop_oneof![
        Just(SortRange::All),
        sort().prop_map(SortRange::Equal),
        sort().prop_map(SortRange::Less),
        sort().prop_map(SortRange::LessOrEqual),
        sort().prop_map(SortRange::Greater),
        sort().prop_map(SortRange::GreaterOrEqual),
        sort().prop_map(SortRange::BeginsWith),
        (sort(), sort()).prop_map(|(low, high)| SortRange::Between(low, high)),
    ]
}

fn leg() -> impl Strategy<Value = LegStep> {
    let maybe = || prop::option::of(condition());
    prop_oneof![
        (draft(), maybe()).prop_map(|(draft, condition)| LegStep::Put(draft, condition)),
        (key(), actions(), maybe())
            .prop_map(|(key, actions, condition)| LegStep::Update(key, actions, condition)),
        (key(), maybe()).prop_map(|(key, condition)| LegStep::Delete(key, condition)),
        (key(), condition()).prop_map(|(key, condition)| LegStep::Check(key, condition)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let maybe = || prop::option::weighted(0.4, condition());
    let consistency = || prop::sample::select(vec![Consistency::Eventual, Consistency::Strong]);
    let returning =
        || prop::sample::select(vec![Returning::Nothing, Returning::Old, Returning::New]);
    let query = (
        prop::option::of(prop::sample::select(vec!["GSI1", "GSI2"]).prop_map(Text::from)),
        prop_oneof![partition(), Just(Text::from("ALL"))],
        range(),
        maybe(),
        prop::sample::select(vec![Direction::Ascending, Direction::Descending]),
        prop::option::of(0u32..5),
    );
    prop_oneof![
        4 => (key(), consistency()).prop_map(|(key, consistency)| Step::Get(key, consistency)),
        1 => (prop::collection::vec(key(), 0..5), consistency())
            .prop_map(|(keys, consistency)| Step::BatchGet(keys, consistency)),
        1 => prop::collection::vec(key(), 0..5).prop_map(Step::SnapshotGet),
        8 => query.prop_map(|(index, partition, range, filter, direction, limit)| {
            Step::Query(QueryStep { index, partition, range, filter, direction, limit })
        }),
        10 => (draft(), maybe(), returning())
            .prop_map(|(draft, condition, returning)| Step::Put(draft, condition, returning)),
        6 => (key(), actions(), maybe(), returning()).prop_map(|(key, actions, condition, returning)| {
            Step::Update(key, actions, condition, returning)
        }),
        3 => (key(), maybe(), returning())
            .prop_map(|(key, condition, returning)| Step::Delete(key, condition, returning)),
        6 => prop::collection::vec(leg(), 0..5).prop_map(Step::Transact),
        1 => Just(Step::Reopen),
        1 => Just(Step::Kill),
        1 => Just(Step::ToggleIndex),
    ]
}

/// A store and a map that have seen the same requests.
struct Pair {
    disk: Disk,
    store: Option<Store>,
    table: Arc<Schema>,
    reference: Reference,
    options: Options,
}

fn two_indexes() -> Arc<Schema> {
    Arc::new(Schema::new("Model").with_index("GSI1").with_index("GSI2"))
}

impl Pair {
    fn new(journal_bytes: u64) -> Pair {
        let (disk, table) = (Disk::default(), two_indexes());
        let options = Options { journal_bytes, ..Options::default() };
        let mut pair = Pair { disk, store: None, table, reference: Reference::default(), options };
        pair.open();
        pair
    }

    fn open(&mut self) {
        // The old one lets go first.
        self.store = None;
        let store = Store::open_on(self.disk.opener(), &self.options).unwrap();
        store.create_table(&self.table).wait().unwrap();
        self.store = Some(store);
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn leg(&self, step: LegStep) -> Leg {
        let table = Arc::clone(&self.table);
        match step {
            LegStep::Put(draft, condition) => {
                Leg::Put(Put { table, item: draft.item(), condition })
            }
            LegStep::Update(key, actions, condition) => {
                Leg::Update(Update { table, key, actions, condition })
            }
            LegStep::Delete(key, condition) => Leg::Delete(Delete { table, key, condition }),
            LegStep::Check(key, condition) => Leg::Check(Check { table, key, condition }),
        }
    }

    fn run(&mut self, step: Step) -> Result<(), TestCaseError> {
        let table = Arc::clone(&self.table);
        match step {
            Step::Get(key, consistency) => {
                let get = Get { table, key, consistency };
                prop_assert_eq!(self.store().get(&get), self.reference.get(&get));
            }
            Step::BatchGet(keys, consistency) => {
                let get = BatchGet { table, keys, consistency };
                prop_assert_eq!(self.store().batch_get(&get), self.reference.batch_get(&get));
            }
            Step::SnapshotGet(keys) => {
                let get = SnapshotGet { table, keys };
                prop_assert_eq!(self.store().snapshot_get(&get), self.reference.snapshot_get(&get));
            }
            Step::Query(query) => self.query(query)?,
            Step::Put(draft, condition, returning) => {
                let put = Put { table, item: draft.item(), condition };
                let answer = self.store().put(put.clone(), returning).wait();
                prop_assert_eq!(answer, self.reference.put(put, returning));
            }
            Step::Update(key, actions, condition, returning) => {
                let update = Update { table, key, actions, condition };
                let answer = self.store().update(update.clone(), returning).wait();
                prop_assert_eq!(answer, self.reference.update(update, returning));
            }
            Step::Delete(key, condition, returning) => {
                let delete = Delete { table, key, condition };
                let answer = self.store().delete(delete.clone(), returning).wait();
                prop_assert_eq!(answer, self.reference.delete(delete, returning));
            }
            Step::Transact(legs) => {
                let transact =
                    Transact { legs: legs.into_iter().map(|leg| self.leg(leg)).collect() };
                let answer = self.store().transact(transact.clone()).wait();
                prop_assert_eq!(answer, self.reference.transact(transact));
            }
            Step::Reopen => self.open(),
            Step::Kill => {
                self.disk = Disk::with_parts(self.disk.parts());
                self.open();
            }
            Step::ToggleIndex => {
                self.table = match self.table.indexes.len() {
                    2 => Arc::new(Schema::new("Model").with_index("GSI1")),
                    _ => two_indexes(),
                };
                let made = self.store().create_table(&self.table).wait();
                // An item may hold something under the index's names that no index can take.
                if made.is_err() {
                    self.table = Arc::new(Schema::new("Model").with_index("GSI1"));
                }
            }
        }
        Ok(())
    }

    /// Asks for every page of a query, and compares each.
    fn query(&self, step: QueryStep) -> Result<(), TestCaseError> {
        let QueryStep { index, partition, range, filter, direction, limit } = step;
        let mut query = Query {
            table: Arc::clone(&self.table),
            index,
            partition,
            range,
            filter,
            direction,
            limit,
            resume: None,
            consistency: Consistency::Eventual,
        };
        loop {
            let answer = self.store().query(&query);
            prop_assert_eq!(&answer, &self.reference.query(&query));
            match answer {
                Ok(page) if page.resume.is_some() => query.resume = page.resume,
                _ => return Ok(()),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 3000, ..ProptestConfig::default() })]

    #[test]
    fn the_store_answers_as_a_plain_map_does(
        steps in prop::collection::vec(step(), 1..60),
        // With small journals, folds happen all the time.
        journal_bytes in prop::sample::select(vec![1, 3_000, 1 << 24]),
    ) {
        let mut pair = Pair::new(journal_bytes);
        for step in steps {
            pair.run(step)?;
        }
        let verified = pair.store().verify(&pair.table).unwrap();
        prop_assert_eq!(verified.items, pair.reference.len() as u64);
        prop_assert_eq!(verified.entries, pair.reference.index_entries(&pair.table) as u64);
    }
}

#[test]
fn every_page_size_walks_the_same_items_in_both_directions() {
    let mut pair = Pair::new(1 << 24);
    for n in 0..23i64 {
        let item = Item::from([
            ("PK", Value::from("P")),
            ("SK", Value::from(format!("S#{n:03}").as_str())),
            ("GSI1PK", Value::from("ALL")),
            // Many share an index key.
            ("GSI1SK", Value::from(format!("{}", n % 3).as_str())),
        ]);
        pair.run(Step::Put(Draft { item, filler: 0 }, None, Returning::Nothing)).unwrap();
    }
    for (index, partition) in [(None, "P"), (Some("GSI1"), "ALL")] {
        for direction in [Direction::Ascending, Direction::Descending] {
            for limit in 1..25 {
                let mut query = Query {
                    table: Arc::clone(&pair.table),
                    index: index.map(Text::from),
                    partition: partition.into(),
                    range: SortRange::All,
                    filter: None,
                    direction,
                    limit: Some(limit),
                    resume: None,
                    consistency: Consistency::Eventual,
                };
                let mut seen = BTreeSet::new();
                let mut count = 0;
                loop {
                    let page = pair.store().query(&query).unwrap();
                    count += page.items.len();
                    seen.extend(
                        page.items.iter().map(|item| item.get("SK").unwrap().as_text().cloned()),
                    );
                    query.resume = page.resume;
                    if query.resume.is_none() {
                        break;
                    }
                }
                assert_eq!((count, seen.len()), (23, 23), "{index:?} {direction:?} {limit}");
            }
        }
    }
}
