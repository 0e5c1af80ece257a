//! Calls to search with: those of examples, made from types where there are none, and variants of both.

use std::collections::{BTreeMap, BTreeSet};

use latchkey_model::model::{Contract, EntityId, ExprKind, Input, Op, Place, StepKind, each_step};
use latchkey_model::{ListOf, Member, Model, Type, sample};
use latchkey_runtime::draw::part;
use latchkey_runtime::{Call, Caller, RawInput, Sent};
use latchkey_table::{Number, Text, Value};
use latchkey_value::time;

use crate::act::Act;
use crate::lab::{Lab, is_ours};
use crate::table::Table;
use crate::tie::{Part, Parts, Ties};
use crate::world::{State, World, deliver, follow, give_up, is_same};

/// How many values are tried for one input.
const VALUES_MAX: usize = 8;

/// How many calls of one contract are varied in one state.
const BASES_MAX: usize = 4;

/// How many texts of a pattern are tried for values of its type: not each of them fits.
const SAMPLES_MAX: usize = 16;

/// The most bytes of a text of a pattern, where its type says none.
const TEXT_BYTES_MAX: u64 = 1_024;

/// Ids that nothing has yet.
const FRESH: [&str; 2] = ["new-1", "new-2"];

/// Values by the names they have in items and calls, in lower case.
type Pool = BTreeMap<String, Vec<Value>>;

/// The acts to try in a state, those of examples first.
pub(crate) fn acts(lab: &Lab, world: &World, state: &State) -> Vec<Act> {
    let mut acts = Vec::new();
    for (home, record) in lab.sent(&state.table) {
        let due = record.due().max(state.now);
        acts.extend(deliver(lab, &home, &record, due));
        if record.due() > state.now {
            acts.extend(deliver(lab, &home, &record, record.due().saturating_sub(1)));
        }
        acts.extend(give_up(lab, &home, &record, due));
        acts.push(follow(&record, Sent::Accepted, state.now));
        acts.push(follow(&record, Sent::Refused, state.now));
    }
    for call in &world.calls {
        acts.push(Act::call(call.clone(), state.now));
    }
    let pool = pool(&lab.model, &state.table, &world.calls);
    for contract in &lab.model.contracts {
        let bases = world.calls.iter().filter(|call| call.contract == contract.id.as_str());
        let instants = instants(&lab.model, contract, &pool, world, state.now);
        let mut known: Vec<Call> = bases.clone().cloned().collect();
        let whole = world.typed.contains(&contract.id);
        let tied = Ties::of(&lab.model, contract).values(&state.table, whole);
        for base in bases.take(BASES_MAX) {
            let varied = Varied { contract, pool: &pool, world, now: state.now };
            let tied = tied.iter().map(|parts| varied.tied(base, parts));
            for call in varied.all(base).into_iter().chain(tied) {
                // Calls that differ in one input alone have the same variants in that input.
                if !known.iter().any(|other| is_same(other, &call)) {
                    acts.push(Act::call(call.clone(), state.now));
                    known.push(call);
                }
            }
            for now in &instants {
                acts.push(Act::call(base.clone(), *now));
            }
        }
    }
    acts
}

/// Adds calls made from types for the contracts that have none.
pub(crate) fn add_from_types(model: &Model, world: &mut World) {
    let roles: Vec<Text> = model.roles.iter().map(|role| role.name.as_str().into()).collect();
    let able = Caller { roles, ..Caller::new("ann") };
    for contract in &model.contracts {
        if world.calls.iter().any(|call| call.contract == contract.id.as_str()) {
            continue;
        }
        world.typed.insert(contract.id.clone());
        for caller in [able.clone(), Caller::new("ann"), Caller::new("bob")] {
            let mut call = Call::new(contract.id.as_str(), caller);
            for input in &contract.inputs {
                let needed = !input.optional && input.default.is_none();
                let value = from_type(&input.kind, crate::world::BEGINNING).into_iter().next();
                if let Some(value) = value.filter(|_| needed) {
                    call = with(&call, input, &value);
                }
            }
            world.add_call(&call);
        }
    }
}

/// The same call with fresh values, to be made again: one for each input that could be a key, one for the caller,
/// and the call as it is.
pub(crate) fn freshened(contract: &Contract, base: &Call, count: usize) -> Vec<Call> {
    let mut calls = vec![base.clone()];
    let fresh = format!("grown-{count}");
    for input in &contract.inputs {
        let value = match &input.kind {
            Type::Id | Type::Text { like: None, .. } => Some(Value::from(fresh.as_str())),
            Type::Text { max, like: Some(like) } => alike_text(like, *max, SAMPLES_MAX + count),
            _ => None,
        };
        calls.extend(value.map(|value| with(base, input, &value)));
    }
    let caller = Caller { id: fresh.as_str().into(), ..base.caller.clone() };
    calls.push(Call { caller, ..base.clone() });
    calls
}

struct Varied<'a> {
    contract: &'a Contract,
    pool: &'a Pool,
    world: &'a World,
    now: i64,
}

impl Varied<'_> {
    /// The variants of a call: each input, or the caller, replaced.
    fn all(&self, base: &Call) -> Vec<Call> {
        let mut calls = Vec::new();
        for input in &self.contract.inputs {
            for value in self.values(base, input) {
                calls.push(with(base, input, &value));
            }
        }
        for caller in &self.world.callers {
            calls.push(Call { caller: caller.clone(), ..base.clone() });
        }
        for id in FRESH {
            let caller = Caller { id: id.into(), ..base.caller.clone() };
            calls.push(Call { caller, ..base.clone() });
        }
        calls
    }

    /// The same call, with values that belong together.
    fn tied(&self, base: &Call, parts: &Parts) -> Call {
        let mut call = base.clone();
        for (part, value) in parts {
            match part {
                Part::Input(input) => call = with(&call, &self.contract.inputs[*input], value),
                Part::Caller => {
                    let Some(id) = value.as_text() else { continue };
                    let known = self.world.callers.iter().find(|caller| caller.id == *id);
                    let made = || Caller { id: id.clone(), ..base.caller.clone() };
                    call.caller = known.cloned().unwrap_or_else(made);
                }
            }
        }
        call
    }

    fn values(&self, base: &Call, input: &Input) -> Vec<Value> {
        let mut values = Vec::new();
        let given = base.inputs.iter().find(|(name, _)| *name == input.name);
        let given = given.and_then(|(_, given)| match given {
            RawInput::Json(value) => Some(value.clone()),
            RawInput::Text(text) => Some(Value::Text(text.clone())),
            RawInput::Undecodable | RawInput::Misplaced(_) => None,
        });
        let alike = alike(self.pool, &input.name);
        match &input.kind {
            Type::Id | Type::Ulid | Type::Text { .. } => {
                if input.kind == Type::Id {
                    values.extend(FRESH.map(Value::from));
                }
                values.extend(alike);
            }
            Type::Int { .. } | Type::Number { .. } | Type::Counter => {
                let all = alike.iter().chain(given.as_ref()).filter_map(number);
                values.extend(all.flat_map(around));
                values.extend(from_type(&input.kind, self.now));
            }
            Type::Time => {
                let texts = alike.iter().chain(given.as_ref()).filter_map(Value::as_text);
                let times = texts.filter_map(|text| time::parse(text)).chain([self.now]);
                let near = times.flat_map(|at| [at, at.saturating_add(1), at.saturating_sub(1)]);
                values.extend(near.filter_map(time::format).map(Value::Text));
            }
            Type::Date => {
                let texts = alike.iter().chain(given.as_ref()).filter_map(Value::as_text);
                let days = texts.filter_map(|text| time::parse_date(text));
                let near = days.flat_map(|at| [at, at - time::DAY, at + time::DAY]);
                values.extend(near.filter_map(date));
                values.extend(from_type(&input.kind, self.now));
            }
            Type::ListOf(list) => {
                values.extend(lists(&self.parts(&list.of, &input.name), list));
            }
            Type::Record(_) => values.extend(self.parts(&input.kind, &input.name)),
            kind => values.extend(from_type(kind, self.now)),
        }
        let mut distinct: Vec<Value> = Vec::new();
        for value in values {
            if !distinct.contains(&value) && Some(&value) != given.as_ref() {
                distinct.push(value);
            }
        }
        distinct.truncate(VALUES_MAX);
        distinct
    }
}

impl Varied<'_> {
    /// Values for what lies within an input: known ones first, so that two calls share them.
    fn parts(&self, kind: &Type, name: &str) -> Vec<Value> {
        match kind {
            Type::Id | Type::Ulid | Type::Text { .. } => {
                let known = alike(self.pool, name).into_iter();
                let texts = known.filter(|value| value.as_text().is_some()).take(2);
                texts.chain(from_type(kind, self.now)).collect()
            }
            Type::Record(members) => {
                records(members, &|member| self.parts(&member.kind, &member.name))
            }
            kind => from_type(kind, self.now),
        }
    }
}

/// A value, one below and one above.
fn around(number: Number) -> Vec<Value> {
    let one = Number::from(1i64);
    let near = [Ok(number), number.checked_sub(one), number.checked_add(one)];
    near.into_iter().flatten().map(Value::Number).collect()
}

fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(*number),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

/// The values of a pool whose name an input's name ends with.
fn alike(pool: &Pool, name: &str) -> Vec<Value> {
    let name = name.to_lowercase();
    let named = pool.iter().filter(|(known, _)| name.ends_with(known.as_str()));
    let exact = pool.get(&name);
    exact.into_iter().chain(named.map(|(_, values)| values)).flatten().cloned().collect()
}

/// The numbers that invariants compare with, and the values of a table and of calls, each once, in their order.
fn pool(model: &Model, table: &Table, calls: &[Call]) -> Pool {
    let mut pool = compared(model);
    let mut add = |name: &str, value: &Value| {
        let values = pool.entry(name.to_lowercase()).or_default();
        if !values.contains(value) {
            values.push(value.clone());
        }
    };
    for (key, item) in table.items() {
        if !is_ours(&key.partition) {
            item.iter().for_each(|(name, value)| add(name, value));
        }
    }
    for call in calls {
        for (name, given) in &call.inputs {
            match given {
                RawInput::Json(value) => add(name, value),
                RawInput::Text(text) => add(name, &Value::Text(text.clone())),
                RawInput::Undecodable | RawInput::Misplaced(_) => {}
            }
        }
    }
    pool
}

/// The ends of the items that a contract reads or writes.
fn ends<'a>(model: &'a Model, contract: &Contract) -> BTreeSet<&'a str> {
    let mut ends = BTreeSet::new();
    each_step(&contract.steps, &mut |step| {
        let mut touch = |entity: EntityId| ends.extend(model.entities[entity].expires.as_deref());
        match &step.kind {
            StepKind::Read(read) => read.entities().for_each(touch),
            StepKind::Write(leg) => touch(leg.entity),
            _ => {}
        }
    });
    ends
}

/// The instants to call a contract at beside the state's, if it tests `now`: those that it compares with `now`, a
/// millisecond before and after them, and the next of the examples. A contract compares the ends of its items with
/// `now`.
fn instants(model: &Model, contract: &Contract, pool: &Pool, world: &World, now: i64) -> Vec<i64> {
    let ends = ends(model, contract);
    let mut names: BTreeSet<String> = ends.iter().map(|end| end.to_lowercase()).collect();
    let mut tests_now = !ends.is_empty();
    each_step(&contract.steps, &mut |step| {
        let test = match &step.kind {
            StepKind::Allow(test)
            | StepKind::Require(test, _)
            | StepKind::Match(test, _)
            | StepKind::When(test, ..) => test,
            StepKind::Write(leg) => match &leg.condition {
                Some(condition) => condition,
                None => return,
            },
            _ => return,
        };
        test.walk(&mut |part| {
            tests_now |= matches!(part.kind, ExprKind::Now);
            if let ExprKind::Binary(op, a, b) = &part.kind
                && compares(*op)
            {
                for (one, other) in [(a, b), (b, a)] {
                    if matches!(one.kind, ExprKind::Now) {
                        named(&other.kind, contract, &mut names);
                    }
                }
            }
        });
    });
    let values = names.iter().filter_map(|name| pool.get(name)).flatten();
    let times = values.filter_map(Value::as_text).filter_map(|text| time::parse(text));
    let mut instants: Vec<i64> =
        times.flat_map(|at| [at, at.saturating_sub(1), at.saturating_add(1)]).collect();
    instants.sort_unstable();
    instants.dedup();
    instants.retain(|at| *at > now);
    instants.truncate(3 * VALUES_MAX);
    let next = world.instants.iter().copied().filter(|at| *at > now).min();
    let next = next.filter(|at| tests_now && !instants.contains(at));
    instants.extend(next);
    instants
}

/// The numbers that invariants compare values with, by the names of the values.
fn compared(model: &Model) -> Pool {
    let mut pool = Pool::new();
    for invariant in &model.invariants {
        each_step(&invariant.body.steps, &mut |step| {
            let StepKind::Require(test, _) = &step.kind else { return };
            test.walk(&mut |part| {
                let ExprKind::Binary(op, a, b) = &part.kind else { return };
                for (one, other) in [(a, b), (b, a)] {
                    if let (ExprKind::Number(number), true) = (&one.kind, compares(*op)) {
                        let mut names = BTreeSet::new();
                        named(&other.kind, &invariant.body, &mut names);
                        for name in names {
                            pool.entry(name).or_default().push(Value::Number(*number));
                        }
                    }
                }
            });
        });
    }
    pool
}

fn compares(op: Op) -> bool {
    !matches!(op, Op::And | Op::Or | Op::Plus | Op::Minus | Op::Times | Op::Over)
}

fn named(kind: &ExprKind, contract: &Contract, names: &mut BTreeSet<String>) {
    match kind {
        ExprKind::Attribute(_, name) | ExprKind::Stored(name) => {
            names.insert(name.to_lowercase());
        }
        ExprKind::Input(input) => {
            names.insert(contract.inputs[*input].name.to_lowercase());
        }
        _ => {}
    }
}

/// The day of an instant.
fn date(at: i64) -> Option<Value> {
    time::format(at).and_then(|at| time::day(&at)).map(Value::Text)
}

/// Some values of a type.
fn from_type(kind: &Type, now: i64) -> Vec<Value> {
    const HOUR: i64 = 60 * 60 * 1_000;
    match kind {
        Type::Id => ["a", "b"].map(Value::from).to_vec(),
        Type::Ulid => vec![Value::from("01ARZ3NDEKTSV4RRFFQ69G5FAV")],
        Type::Text { max, like: None } => {
            let most = max.and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX);
            let fits = |text: &&str| text.len() <= most;
            ["abc", "a", "1"].into_iter().filter(fits).map(Value::from).collect()
        }
        Type::Text { max, like: Some(like) } => {
            let mut texts: Vec<Value> = Vec::new();
            for text in (0..SAMPLES_MAX).filter_map(|number| alike_text(like, *max, number)) {
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
            texts.truncate(3);
            texts
        }
        Type::Int { low, high } => {
            let all = [Some(low.unwrap_or(0).max(1)), *low, *high];
            let within = |value: &i64| high.is_none_or(|high| *value <= high);
            let all = all.into_iter().flatten().filter(within).map(Some);
            all.into_iter().flatten().map(Value::from).collect()
        }
        Type::Number { low, high } => {
            let all = [Some(Number::from(1i64)), *low, *high];
            all.into_iter().flatten().map(Value::Number).collect()
        }
        Type::Counter => vec![Value::from(1i64)],
        Type::Bool => [true, false].map(Value::Bool).to_vec(),
        Type::Time => {
            let all = [now.saturating_add(HOUR), now.saturating_add(2 * HOUR), now];
            all.into_iter().filter_map(time::format).map(Value::Text).collect()
        }
        Type::Date => {
            let all = [now, now.saturating_add(time::DAY), now.saturating_sub(time::DAY)];
            all.into_iter().filter_map(date).collect()
        }
        Type::Enum(words) => words.iter().map(|word| Value::from(word.as_str())).collect(),
        Type::List => vec![Value::List(Vec::new())],
        Type::Map { .. } => vec![Value::Map(latchkey_table::Item::new())],
        Type::ListOf(list) => lists(&from_type(&list.of, now), list),
        Type::SetOf { of, most } => {
            let all = from_type(of, now).into_iter();
            let texts = all.filter_map(|value| value.as_text().cloned());
            let texts: Vec<Text> = texts.collect();
            let most = usize::try_from(*most).unwrap_or(usize::MAX);
            let sets = [1, 2].into_iter().filter(|count| *count <= most.min(texts.len()));
            let some = |count| texts.iter().take(count).cloned().map(Value::Text).collect();
            // As a caller writes it.
            sets.map(|count| Value::List(some(count))).collect()
        }
        Type::Record(members) => records(members, &|member| from_type(&member.kind, now)),
        Type::Duration | Type::Months | Type::Key => Vec::new(),
    }
}

/// A text that matches a pattern, another for each number if there are as many.
fn alike_text(like: &str, max: Option<u64>, number: usize) -> Option<Value> {
    sample(like, max.unwrap_or(TEXT_BYTES_MAX), number).map(|text| Value::from(text.as_str()))
}

/// Lists of some elements: one of them, two of them, and another one alone, so that two lists share an element or none.
fn lists(elements: &[Value], list: &ListOf) -> Vec<Value> {
    let least = usize::try_from(list.low).unwrap_or(usize::MAX);
    let most = usize::try_from(list.high).unwrap_or(usize::MAX);
    let mut lists = Vec::new();
    for (skipped, count) in [(0, 1), (0, 2), (1, 1), (0, least)] {
        let some: Vec<Value> = elements.iter().cycle().skip(skipped).take(count).cloned().collect();
        let whole = some.len() == count && (least..=most).contains(&count);
        if whole && !lists.contains(&Value::List(some.clone())) {
            lists.push(Value::List(some));
        }
    }
    if least == 0 {
        lists.push(Value::List(Vec::new()));
    }
    lists
}

/// Records: one for each value of the member that has the most, all members with their first or that value.
fn records(members: &[Member], values: &dyn Fn(&Member) -> Vec<Value>) -> Vec<Value> {
    let all: Vec<(&Member, Vec<Value>)> =
        members.iter().map(|member| (member, values(member))).collect();
    let most = all.iter().map(|(_, values)| values.len()).max().unwrap_or(0).min(2);
    let record = |at: usize| {
        let mut map = latchkey_table::Item::new();
        for (member, values) in &all {
            let value = values.get(at).or(values.first())?;
            map.insert(member.name.as_str(), value.clone());
        }
        Some(Value::Map(map))
    };
    (0..most).filter_map(record).collect()
}

/// The same call, with another value for an input, where a caller puts it.
fn with(call: &Call, input: &Input, value: &Value) -> Call {
    let mut call = call.clone();
    let given = match (input.place, part(value, None)) {
        (Place::Path | Place::Query, Some(text)) => RawInput::Text(text),
        _ => RawInput::Json(value.clone()),
    };
    call.inputs.retain(|(name, _)| *name != input.name);
    call.inputs.push((Text::from(input.name.as_str()), given));
    if call.if_match.is_some() && input.name.to_lowercase().ends_with("version") {
        call.if_match = None;
    }
    call
}
