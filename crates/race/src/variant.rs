//! Calls to search with: those of examples, made from types where there are none, and variants of both.

use std::collections::{BTreeMap, BTreeSet};

use latchkey_model::model::{Contract, ExprKind, Input, Op, Place, StepKind, each_step};
use latchkey_model::{Model, Type};
use latchkey_runtime::draw::part;
use latchkey_runtime::{Call, Caller, RawInput, Sent};
use latchkey_table::{Number, Text, Value};
use latchkey_value::time;

use crate::act::Act;
use crate::lab::{Lab, is_ours};
use crate::table::Table;
use crate::world::{State, World, deliver, follow, give_up, is_same};

/// How many values are tried for one input.
const VALUES_MAX: usize = 8;

/// How many calls of one contract are varied in one state.
const BASES_MAX: usize = 4;

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
    let pool = pool(&state.table, &world.calls);
    for contract in &lab.model.contracts {
        let bases = world.calls.iter().filter(|call| call.contract == contract.id.as_str());
        let instants = instants(contract, &pool, world, state.now);
        let mut known: Vec<Call> = bases.clone().cloned().collect();
        for base in bases.take(BASES_MAX) {
            let varied = Varied { contract, pool: &pool, world, now: state.now };
            for call in varied.all(base) {
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
        if matches!(input.kind, Type::Id | Type::Text { .. }) {
            calls.push(with(base, input, &Value::from(fresh.as_str())));
        }
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

/// The values of a table and of calls, each once, in their order.
fn pool(table: &Table, calls: &[Call]) -> Pool {
    let mut pool = Pool::new();
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

/// The instants to call a contract at beside the state's, if it tests `now`: those that it compares with `now`, a
/// millisecond before and after them, and the next of the examples.
fn instants(contract: &Contract, pool: &Pool, world: &World, now: i64) -> Vec<i64> {
    let (mut names, mut tests_now) = (BTreeSet::new(), false);
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

fn compares(op: Op) -> bool {
    !matches!(op, Op::And | Op::Or | Op::Plus | Op::Minus)
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

/// Some values of a type.
fn from_type(kind: &Type, now: i64) -> Vec<Value> {
    const HOUR: i64 = 60 * 60 * 1_000;
    match kind {
        Type::Id => ["a", "b"].map(Value::from).to_vec(),
        Type::Ulid => vec![Value::from("01ARZ3NDEKTSV4RRFFQ69G5FAV")],
        Type::Text { .. } => ["abc", "a", "1"].map(Value::from).to_vec(),
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
        Type::Enum(words) => words.iter().map(|word| Value::from(word.as_str())).collect(),
        Type::List => vec![Value::List(Vec::new())],
        Type::Map { .. } => vec![Value::Map(latchkey_table::Item::new())],
        Type::Duration | Type::Key => Vec::new(),
    }
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
