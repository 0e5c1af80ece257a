//! `update … if COND` happens exactly when the same condition, tested on the item that was read, holds; and both
//! are what the condition means.

use std::fmt::Write;

use proptest::prelude::*;

use crate::support::{World, after};

/// An attribute or an input, by its type and its place among those of the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Number,
    Text,
    Time,
    Bool,
    Word,
}

const ATTRIBUTES: [(&str, Kind); 11] = [
    ("n", Kind::Int),
    ("m", Kind::Int),
    ("rate", Kind::Number),
    ("cost", Kind::Number),
    ("name", Kind::Text),
    ("nick", Kind::Text),
    ("at", Kind::Time),
    ("till", Kind::Time),
    ("flag", Kind::Bool),
    ("state", Kind::Word),
    ("kept", Kind::Word),
];

/// Those that may be absent.
const PERHAPS: [(&str, Kind); 3] = [("hint", Kind::Text), ("rank", Kind::Int), ("due", Kind::Time)];

const INPUTS: [(&str, Kind); 6] = [
    ("ix", Kind::Int),
    ("iy", Kind::Number),
    ("it", Kind::Text),
    ("iw", Kind::Time),
    ("ib", Kind::Bool),
    ("ie", Kind::Word),
];

/// A value: numbers in tenths, times in milliseconds from now.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Val {
    Int(i64),
    Tenths(i64),
    Text(String),
    Time(i64),
    Bool(bool),
    Word(&'static str),
}

/// A side of a comparison.
#[derive(Debug, Clone)]
enum Side {
    Stored(&'static str),
    Input(&'static str),
    Constant(Val),
    /// An input or a constant, and so much more.
    Sum(Box<Side>, i64),
}

#[derive(Debug, Clone)]
enum Cond {
    Compare(Side, &'static str, Side),
    Between(Side, Side, Side),
    In(Side, Vec<Side>),
    BeginsWith(Side, Side),
    Present(&'static str),
    Absent(&'static str),
    /// A test of an optional attribute that is only asked where it is there.
    Guarded(&'static str, Box<Cond>, bool),
    Truth(Side),
    Clerk,
    Not(Box<Cond>),
    And(Box<Cond>, Box<Cond>),
    Or(Box<Cond>, Box<Cond>),
}

/// What names stand for.
#[derive(Debug, Clone)]
struct Values(Vec<(&'static str, Val)>);

impl Values {
    fn get(&self, name: &str) -> Option<&Val> {
        self.0.iter().find(|(other, _)| *other == name).map(|(_, value)| value)
    }
}

fn number(tenths: i64) -> String {
    let sign = if tenths < 0 { "-" } else { "" };
    format!("{sign}{}.{}", tenths.abs() / 10, tenths.abs() % 10)
}

impl Val {
    fn json(&self) -> String {
        match self {
            Val::Int(n) => n.to_string(),
            Val::Tenths(tenths) => number(*tenths),
            Val::Text(text) => format!("\"{text}\""),
            Val::Time(milliseconds) => format!("\"{}\"", after(*milliseconds)),
            Val::Bool(value) => value.to_string(),
            Val::Word(word) => format!("\"{word}\""),
        }
    }

    /// As the language writes it.
    fn text(&self) -> String {
        match self {
            Val::Time(milliseconds) if *milliseconds < 0 => format!("now - {}ms", -milliseconds),
            Val::Time(milliseconds) => format!("now + {milliseconds}ms"),
            Val::Word(word) => (*word).to_owned(),
            other => other.json(),
        }
    }
}

impl Side {
    fn text(&self, of: &str) -> String {
        match self {
            Side::Stored(name) => format!("{of}.{name}"),
            Side::Input(name) => (*name).to_owned(),
            Side::Constant(value) => value.text(),
            Side::Sum(side, by) => {
                let (sign, unit) = match side.as_ref() {
                    Side::Input("iw") | Side::Constant(Val::Time(_)) => ("", "ms"),
                    _ => ("", ""),
                };
                let amount = by.abs();
                let operator = if *by < 0 { "-" } else { "+" };
                format!("{} {operator} {sign}{amount}{unit}", side.text(of))
            }
        }
    }

    fn value(&self, item: &Values, inputs: &Values) -> Val {
        match self {
            Side::Stored(name) => item.get(name).cloned().unwrap(),
            Side::Input(name) => inputs.get(name).cloned().unwrap(),
            Side::Constant(value) => value.clone(),
            Side::Sum(side, by) => match side.value(item, inputs) {
                Val::Int(n) => Val::Int(n + by),
                Val::Tenths(tenths) => Val::Tenths(tenths + by * 10),
                Val::Time(milliseconds) => Val::Time(milliseconds + by),
                other => other,
            },
        }
    }
}

impl Cond {
    /// As the language writes it, of what is stored (`.x`) or of what was read (`thing.x`).
    fn text(&self, of: &str) -> String {
        match self {
            Cond::Compare(a, sign, b) => format!("{} {sign} {}", a.text(of), b.text(of)),
            Cond::Between(a, low, high) => {
                format!("{} between {} and {}", a.text(of), low.text(of), high.text(of))
            }
            Cond::In(a, all) => {
                let all: Vec<String> = all.iter().map(|side| side.text(of)).collect();
                format!("{} in ({})", a.text(of), all.join(", "))
            }
            Cond::BeginsWith(a, b) => format!("{} begins_with {}", a.text(of), b.text(of)),
            Cond::Present(name) => format!("{of}.{name} is present"),
            Cond::Absent(name) => format!("{of}.{name} is absent"),
            Cond::Guarded(name, inner, true) => {
                format!("({of}.{name} is present and {})", inner.text(of))
            }
            Cond::Guarded(name, inner, false) => {
                format!("({of}.{name} is absent or {})", inner.text(of))
            }
            Cond::Truth(side) => side.text(of),
            Cond::Clerk => "caller is clerk".to_owned(),
            Cond::Not(inner) => format!("not ({})", inner.text(of)),
            Cond::And(a, b) => format!("({} and {})", a.text(of), b.text(of)),
            Cond::Or(a, b) => format!("({} or {})", a.text(of), b.text(of)),
        }
    }

    /// What it means.
    fn holds(&self, item: &Values, inputs: &Values) -> bool {
        let value = |side: &Side| side.value(item, inputs);
        match self {
            Cond::Compare(a, sign, b) => {
                let order = value(a).cmp(&value(b));
                match *sign {
                    "==" => order.is_eq(),
                    "!=" => order.is_ne(),
                    "<" => order.is_lt(),
                    "<=" => order.is_le(),
                    ">" => order.is_gt(),
                    _ => order.is_ge(),
                }
            }
            Cond::Between(a, low, high) => value(low) <= value(a) && value(a) <= value(high),
            Cond::In(a, all) => all.iter().any(|side| value(side) == value(a)),
            Cond::BeginsWith(a, b) => match (value(a), value(b)) {
                (Val::Text(a), Val::Text(b)) => a.starts_with(&b),
                _ => false,
            },
            Cond::Present(name) => item.get(name).is_some(),
            Cond::Absent(name) => item.get(name).is_none(),
            Cond::Guarded(name, inner, true) => {
                item.get(name).is_some() && inner.holds(item, inputs)
            }
            Cond::Guarded(name, inner, false) => {
                item.get(name).is_none() || inner.holds(item, inputs)
            }
            Cond::Truth(side) => value(side) == Val::Bool(true),
            Cond::Clerk => true,
            Cond::Not(inner) => !inner.holds(item, inputs),
            Cond::And(a, b) => a.holds(item, inputs) && b.holds(item, inputs),
            Cond::Or(a, b) => a.holds(item, inputs) || b.holds(item, inputs),
        }
    }
}

fn val(kind: Kind) -> BoxedStrategy<Val> {
    match kind {
        Kind::Int => (-3_i64..=3).prop_map(Val::Int).boxed(),
        Kind::Number => (-12_i64..=12).prop_map(Val::Tenths).boxed(),
        Kind::Text => "[ab]{0,3}".prop_map(Val::Text).boxed(),
        Kind::Time => (-2_i64..=2).prop_map(Val::Time).boxed(),
        Kind::Bool => any::<bool>().prop_map(Val::Bool).boxed(),
        Kind::Word => prop_oneof![Just(Val::Word("NEW")), Just(Val::Word("OPEN"))].boxed(),
    }
}

fn named(all: &[(&'static str, Kind)], kind: Kind) -> Vec<&'static str> {
    all.iter().filter(|(_, other)| *other == kind).map(|(name, _)| *name).collect()
}

/// A side that is not stored.
fn plain(kind: Kind) -> BoxedStrategy<Side> {
    let input = Just(Side::Input(named(&INPUTS, kind)[0]));
    let simple = prop_oneof![input, val(kind).prop_map(Side::Constant)].boxed();
    match kind {
        Kind::Int | Kind::Number | Kind::Time => {
            let sum = (simple.clone(), -3_i64..=3);
            prop_oneof![
                2 => simple,
                1 => sum.prop_map(|(side, by)| Side::Sum(Box::new(side), by)),
            ]
            .boxed()
        }
        _ => simple,
    }
}

fn stored(kind: Kind) -> BoxedStrategy<Side> {
    proptest::sample::select(named(&ATTRIBUTES, kind)).prop_map(Side::Stored).boxed()
}

fn side(kind: Kind) -> BoxedStrategy<Side> {
    prop_oneof![3 => stored(kind), 2 => plain(kind)].boxed()
}

/// Two sides of a type. What is stored is not compared with itself: no table does.
fn sides(kind: Kind) -> BoxedStrategy<(Side, Side)> {
    let differ = |(a, b): &(Side, Side)| match (a, b) {
        (Side::Stored(a), Side::Stored(b)) => a != b,
        _ => true,
    };
    (side(kind), side(kind)).prop_filter("one attribute on both sides", differ).boxed()
}

fn signs(kind: Kind) -> Vec<&'static str> {
    match kind {
        Kind::Bool | Kind::Word => vec!["==", "!="],
        _ => vec!["==", "!=", "<", "<=", ">", ">="],
    }
}

/// A word takes its meaning from the other side, so one of the two must have one.
fn understood(cond: &Cond) -> bool {
    let word = |side: &Side| matches!(side, Side::Constant(Val::Word(_)));
    match cond {
        Cond::Compare(a, _, b) => !(word(a) && word(b)),
        Cond::In(a, _) => !word(a),
        // A text that is written in the document has no bound of its own to hold others to.
        Cond::Between(Side::Constant(Val::Text(_)), ..) => false,
        _ => true,
    }
}

fn ordered() -> BoxedStrategy<Kind> {
    proptest::sample::select(vec![Kind::Int, Kind::Number, Kind::Text, Kind::Time]).boxed()
}

fn any_kind() -> BoxedStrategy<Kind> {
    let all = vec![Kind::Int, Kind::Number, Kind::Text, Kind::Time, Kind::Bool, Kind::Word];
    proptest::sample::select(all).boxed()
}

fn atom() -> BoxedStrategy<Cond> {
    let compare = any_kind().prop_flat_map(|kind| {
        (sides(kind), proptest::sample::select(signs(kind)))
            .prop_map(|((a, b), sign)| Cond::Compare(a, sign, b))
    });
    let between = ordered().prop_flat_map(|kind| {
        (stored(kind), plain(kind), plain(kind)).prop_map(|(a, b, c)| Cond::Between(a, b, c))
    });
    let of_plain = ordered().prop_flat_map(|kind| {
        (plain(kind), stored(kind), plain(kind)).prop_map(|(a, b, c)| Cond::Between(a, b, c))
    });
    let alternatives = any_kind().prop_flat_map(|kind| {
        (stored(kind), proptest::collection::vec(plain(kind), 1..4))
            .prop_map(|(a, all)| Cond::In(a, all))
    });
    let begins = (stored(Kind::Text), plain(Kind::Text)).prop_map(|(a, b)| Cond::BeginsWith(a, b));
    let names: Vec<&'static str> = PERHAPS.iter().map(|(name, _)| *name).collect();
    let presence = proptest::sample::select(names)
        .prop_flat_map(|name| prop_oneof![Just(Cond::Present(name)), Just(Cond::Absent(name))]);
    let guarded = proptest::sample::select(PERHAPS.to_vec()).prop_flat_map(|(name, kind)| {
        let parts = (proptest::sample::select(signs(kind)), plain(kind), any::<bool>());
        parts.prop_map(move |(sign, b, both)| {
            let inner = Cond::Compare(Side::Stored(name), sign, b);
            Cond::Guarded(name, Box::new(inner), both)
        })
    });
    let truth = prop_oneof![Just(Side::Stored("flag")), Just(Side::Input("ib"))];
    prop_oneof![
        4 => compare,
        1 => between,
        1 => of_plain,
        1 => alternatives,
        1 => begins,
        1 => presence,
        2 => guarded,
        1 => truth.prop_map(Cond::Truth),
        1 => Just(Cond::Clerk),
    ]
    .prop_filter("words of no enum", understood)
    .boxed()
}

fn cond() -> BoxedStrategy<Cond> {
    atom()
        .prop_recursive(4, 24, 2, |inner| {
            let pair = (inner.clone(), inner.clone());
            prop_oneof![
                inner.prop_map(|cond| Cond::Not(Box::new(cond))),
                pair.clone().prop_map(|(a, b)| Cond::And(Box::new(a), Box::new(b))),
                pair.prop_map(|(a, b)| Cond::Or(Box::new(a), Box::new(b))),
            ]
        })
        .boxed()
}

fn values(all: &'static [(&'static str, Kind)]) -> BoxedStrategy<Vec<(&'static str, Val)>> {
    let each: Vec<_> =
        all.iter().map(|(name, kind)| val(*kind).prop_map(move |v| (*name, v))).collect();
    each.boxed()
}

fn item() -> BoxedStrategy<Values> {
    let perhaps: Vec<_> = PERHAPS
        .iter()
        .map(|(name, kind)| proptest::option::of(val(*kind)).prop_map(move |v| (*name, v)))
        .collect();
    (values(&ATTRIBUTES), perhaps)
        .prop_map(|(mut all, perhaps)| {
            all.extend(perhaps.into_iter().filter_map(|(name, value)| Some((name, value?))));
            Values(all)
        })
        .boxed()
}

const INPUT: &str = "input ix int, iy number, it text(20), iw time, ib bool, ie NEW | OPEN";
const SHOWN: &str = "with { ix, iy, it, iw, ib, ie }";

fn document(conditions: &[Cond]) -> String {
    let mut text = String::from(
        "entity Thing \"THING\" {\n  PK = \"THING#{thingId}\"\n  SK = \"META\"\n  thingId id, n int, m int\n  \
         rate number, cost number, name text(20), nick text(20), at time, till time, flag bool\n  \
         state NEW | OPEN, kept NEW | OPEN, hint text(20)?, rank int?, due time?, touched int = 0\n}\n\
         contract MAKE \"Make\" {\n  PUT /things/{thingId}\n  input n int, m int, rate number, cost number\n  \
         input name text(20), nick text(20), at time, till time, flag bool, state NEW | OPEN, kept NEW | OPEN\n  \
         input hint text(20)?, rank int?, due time?\n  allow true\n  \
         thing = put Thing { thingId, n, m, rate, cost, name, nick, at, till, flag, state, kept, hint, rank, due } replace\n  \
         return thing\n  facts\n}\n",
    );
    // `or thing.touched < 0`, which is false: the check refuses a test that can never hold.
    for (at, condition) in conditions.iter().enumerate() {
        let (stored, read) = (condition.text(""), condition.text("thing"));
        write!(
            text,
            "contract U-{at} \"Update\" {{\n  POST /u-{at}/{{thingId}}\n  {INPUT}\n  allow true\n  \
             thing = update Thing set touched = .touched + 1 if {stored} else 409 refused\n  \
             return thing {{ touched }} {SHOWN}\n  facts\n}}\n\
             contract R-{at} \"Require\" {{\n  POST /r-{at}/{{thingId}}\n  {INPUT}\n  \
             thing = get Thing strong else 404 gone\n  allow true\n  require ({read}) or thing.touched < 0 else 409 refused\n  \
             return thing {{ touched }} {SHOWN}\n  facts\n}}\n\
             contract T-{at} \"Transact\" {{\n  POST /t-{at}/{{thingId}}\n  {INPUT}\n  \
             thing = get Thing strong else 404 gone\n  allow true\n  transact {{\n    \
             check thing if {stored} else 409 refused\n  }}\n  return thing {{ touched }} {SHOWN}\n  facts\n}}\n"
        )
        .unwrap();
    }
    text
}

fn json(values: &Values) -> String {
    let members: Vec<String> =
        values.0.iter().map(|(name, value)| format!("\"{name}\": {}", value.json())).collect();
    format!("{{\"thingId\": \"t\", {}}}", members.join(", "))
}

proptest! {
    #![proptest_config(crate::support::cases(60))]

    #[test]
    fn a_condition_means_the_same_stored_and_read(
        conditions in proptest::collection::vec(cond(), 6),
        items in proptest::collection::vec(item(), 4),
        inputs in proptest::collection::vec(values(&INPUTS), 3),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::start(&document(&conditions)).await;
            for item in &items {
                for inputs in &inputs {
                    let inputs = Values(inputs.clone());
                    world.ok("MAKE", &json(item)).await;
                    let mut touched = 0;
                    for (at, condition) in conditions.iter().enumerate() {
                        let expected = if condition.holds(item, &inputs) { 200 } else { 409 };
                        for (which, of) in [("U", ""), ("R", "thing"), ("T", "")] {
                            let told = world.call(&format!("{which}-{at}"), &json(&inputs)).await;
                            let text = condition.text(of);
                            assert_eq!(told.status(), expected, "{which}: {text}\n{item:?}\n{inputs:?}\n{}", told.body());
                        }
                        touched += i64::from(expected == 200);
                    }
                    let stored = world.attribute("THING#t", "META", "touched");
                    assert_eq!(stored, Some(touched.to_string()), "each that held was made once");
                }
            }
        });
    }
}
