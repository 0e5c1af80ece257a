//! Calls that are drawn: of few keys, so that they meet.

use latchkey_table::{Number, Text, Value};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use super::designs::{Design, design};
use super::kept;

/// A document, and what is done with it.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) design: Design,
    pub(crate) calls: Vec<CallStep>,
}

/// One call. A list is read to its end.
#[derive(Debug, Clone)]
pub(crate) struct CallStep {
    pub(crate) contract: &'static str,
    pub(crate) inputs: Vec<(&'static str, Value)>,
    /// Milliseconds after the beginning.
    pub(crate) at: i64,
}

pub(crate) fn program() -> impl Strategy<Value = Program> {
    design().prop_flat_map(|design| {
        let weighted = all_of(&design).into_iter().map(|(weight, _, call)| (weight, call));
        let call = Union::new_weighted(weighted.collect());
        // Some items first, so that the rest has something to meet.
        let made = match &design {
            Design::Rooms(_) => some(&[("ROOM", 2), ("DEAL", 8), ("SEATS", 3), ("HOLD", 1)]),
            Design::Numbers { .. } => some(&[("EVENT", 8)]),
            Design::Alone { .. } => some(&[("SESSION", 4)]),
            Design::Kept(_) => some(&[("BOX", 1), ("THING", 9)]),
        };
        let made = made.into_iter().map(|name| call_of(&design, name)).collect::<Vec<_>>();
        (made, vec(call, 15..40)).prop_map(move |(mut calls, more)| {
            calls.extend(more);
            Program { design: design.clone(), calls }
        })
    })
}

/// Each name so often.
fn some(names: &[(&'static str, usize)]) -> Vec<&'static str> {
    names.iter().flat_map(|(name, count)| std::iter::repeat_n(*name, *count)).collect()
}

/// How often a call is drawn, its contract, and the call.
pub(super) type Weighted = (u32, &'static str, BoxedStrategy<CallStep>);

type Inputs = Vec<(&'static str, Value)>;

fn all_of(design: &Design) -> Vec<Weighted> {
    match design {
        Design::Rooms(_) => rooms(design.shards()),
        Design::Numbers { .. } => numbers(design.shards()),
        Design::Alone { .. } => alone(),
        Design::Kept(_) => kept::calls(),
    }
}

/// A call of one contract.
fn call_of(design: &Design, contract: &str) -> BoxedStrategy<CallStep> {
    let found = all_of(design).into_iter().find(|(_, name, _)| *name == contract);
    found.map(|(_, _, call)| call).unwrap()
}

/// A call of a contract that is drawn so often, at one of four instants.
pub(super) fn step(weight: u32, contract: &'static str, inputs: BoxedStrategy<Inputs>) -> Weighted {
    let call = (inputs, (0..4i64).prop_map(|n| n * 500)).prop_map(move |(inputs, at)| CallStep {
        contract,
        inputs,
        at,
    });
    (weight, contract, call.boxed())
}

pub(super) fn text(all: &'static [&'static str]) -> BoxedStrategy<Value> {
    select(all).prop_map(Value::from).boxed()
}

pub(super) fn int(range: std::ops::Range<i64>) -> BoxedStrategy<Value> {
    range.prop_map(Value::from).boxed()
}

fn number() -> BoxedStrategy<Value> {
    let texts = vec!["-10", "-1.5", "0", "2", "9", "10", "1e3", "0.001"];
    select(texts).prop_map(|text| Value::Number(text.parse::<Number>().unwrap())).boxed()
}

/// Two bounds, the lower first more often than not.
fn bounds() -> [(&'static str, BoxedStrategy<Value>); 2] {
    let some = |texts: Vec<&'static str>| {
        select(texts).prop_map(|text| Value::Number(text.parse::<Number>().unwrap())).boxed()
    };
    [("low", some(vec!["-10", "-1.5", "0", "9"])), ("high", some(vec!["0", "2", "10", "1e3"]))]
}

pub(super) fn yes() -> BoxedStrategy<Value> {
    any::<bool>().prop_map(Value::Bool).boxed()
}

pub(super) fn id() -> BoxedStrategy<Value> {
    text(&["a", "b"])
}

/// An end among the instants of the calls, some behind all of them.
pub(super) fn end() -> BoxedStrategy<Value> {
    text(&[
        "2026-02-25T10:00:00.000Z",
        "2026-02-25T10:00:00.500Z",
        "2026-02-25T10:00:01.001Z",
        "2026-02-25T11:00:00.000Z",
    ])
}

pub(super) fn perhaps(value: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    prop_oneof![2 => value, 1 => Just(Value::Null)].boxed()
}

/// A value for each name.
pub(super) fn all(inputs: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Inputs> {
    let (names, values): (Vec<&'static str>, Vec<BoxedStrategy<Value>>) =
        inputs.into_iter().unzip();
    let given = |(name, value)| (value != Value::Null).then_some((name, value));
    values
        .prop_map(move |values| names.iter().copied().zip(values).filter_map(given).collect())
        .boxed()
}

fn map(members: Vec<(&'static str, Value)>) -> Value {
    let members = members.into_iter().filter(|(_, value)| *value != Value::Null);
    Value::Map(members.map(|(name, value)| (Text::from(name), value)).collect())
}

fn rooms(shards: u8) -> Vec<Weighted> {
    let shard = || int(0..i64::from(shards) + 1);
    let rank = || int(0..3);
    let record = (int(0..4), perhaps(id())).prop_map(|(a, b)| map(vec![("a", a), ("b", b)]));
    let seat =
        (int(0..6), id()).prop_map(|(place, deal)| map(vec![("place", place), ("deal", deal)]));
    let apart = |seats: Vec<Value>| {
        let mut kept: Vec<Value> = Vec::new();
        for seat in seats {
            let place = |seat: &Value| match seat {
                Value::Map(members) => members.get("place").cloned(),
                _ => None,
            };
            if kept.iter().all(|other| place(other) != place(&seat)) {
                kept.push(seat);
            }
        }
        Value::List(kept)
    };
    let seats = vec(seat, 1..4).prop_map(apart).boxed();
    let ids = vec(id(), 0..4).prop_map(Value::List).boxed();
    let room = || ("room", text(&["r", "r", "s"]));
    let down = || ("down", yes());
    let dealt = || vec![("shard", shard()), ("rank", rank()), ("deal", id())];
    vec![
        step(2, "ROOM", all(vec![room(), ("n", int(1..4)), ("box", record.boxed())])),
        step(2, "NEST", all(vec![room(), ("a", int(0..5)), ("b", perhaps(id()))])),
        step(2, "TAG", all(vec![room(), ("tag", id())])),
        step(1, "UNTAG", all(vec![room(), ("tag", id())])),
        step(1, "LEAVE", all(vec![room()])),
        step(2, "ALL", all(vec![room(), down()])),
        step(2, "WITH", all(vec![room()])),
        step(3, "SEATS", all(vec![room(), ("seats", seats)])),
        step(1, "SEATED", all(vec![room(), ("shard", shard()), ("rank", rank())])),
        step(
            6,
            "DEAL",
            all([dealt(), vec![("tag", text(&["t", "u"])), ("endsAt", perhaps(end()))]].concat()),
        ),
        step(1, "UNDEAL", all([dealt(), vec![("tag", text(&["t", "u"]))]].concat())),
        step(2, "DEALS", all(vec![down()])),
        step(1, "RANKED", all(vec![("low", rank()), ("high", rank())])),
        step(2, "TAGGED", all(vec![("tag", text(&["t", "u"])), down()])),
        step(1, "SOME", all(vec![("shard", shard()), ("rank", rank()), ("ids", ids)])),
        step(2, "HOLD", all(vec![("name", text(&["h", "i"])), ("endsAt", end())])),
        step(2, "TURN", all(vec![("name", text(&["h", "i"]))])),
        step(1, "FREE", all(vec![("name", text(&["h", "i"]))])),
    ]
}

fn numbers(shards: u8) -> Vec<Weighted> {
    let shard = || ("shard", int(0..i64::from(shards) + 1));
    let (at, owner, rank) = (|| ("at", number()), || ("owner", id()), || ("rank", int(-12..12)));
    vec![
        step(6, "EVENT", all(vec![shard(), at(), owner(), rank()])),
        step(2, "MOVE", all(vec![shard(), at(), rank()])),
        step(2, "EVENTS", all([vec![shard(), ("down", yes())], bounds().to_vec()].concat())),
        step(2, "EVERY", all(vec![("down", yes())])),
        step(2, "OWNED", all(vec![owner(), ("down", yes())])),
        step(2, "SPAN", all([vec![("down", yes())], bounds().to_vec()].concat())),
    ]
}

fn alone() -> Vec<Weighted> {
    let ids = vec(id(), 0..4).prop_map(Value::List).boxed();
    let user = || ("user", text(&["u", "v"]));
    vec![
        step(3, "SESSION", all(vec![("name", id()), user(), ("endsAt", perhaps(end()))])),
        step(2, "TURN", all(vec![("name", id())])),
        step(1, "FREE", all(vec![("name", id())])),
        step(1, "COUNT", all(vec![("ids", ids)])),
        step(2, "USER", all(vec![user()])),
    ]
}
