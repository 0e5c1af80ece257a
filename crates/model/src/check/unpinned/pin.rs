//! What pins a fact: a leg that insists on it, or the guard of its entity.

use super::{Act, Fact, Site, Use, all_there, entity_of};
use crate::check::flow::{Group, fixes, is_stored, within};
use crate::check::truth::{Passed, Supposed, plain};
use crate::model::{BindingId, Contract, Expr, ExprKind, Leg, Model, Op, PutMode, Verb, What};

/// What holds a fact until the write is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pin {
    /// Nothing.
    Nothing,
    /// The item is held as it was found; a query may find another by now.
    Item,
    /// The same, and the item is written, so that of all calls that found it only one writes it.
    Claimed,
    /// All of it.
    Whole,
}

/// Whether one of some legs is sure to happen with a write.
type Sure<'a, 'g> = &'g dyn Fn(&dyn Fn(&'a Leg) -> bool) -> bool;

/// How much of a fact still holds when the write happens.
pub(super) fn pin<'a>(
    model: &'a Model,
    contract: &'a Contract,
    group: &Group<'a>,
    (act, guards): Site<'a, '_>,
    used: &Use<'a>,
) -> Pin {
    // Removing what is gone already does no harm.
    if let Act::Write(leg) = act
        && leg.verb == Verb::Delete
        && matches!(used.fact, Fact::There(_))
        && group.is_on(leg, used.fact.binding())
    {
        return Pin::Whole;
    }
    held(model, contract, group, guards, used)
}

/// How much of a fact still holds when legs happen that stand within some tests.
pub(super) fn held<'a>(
    model: &'a Model,
    contract: &'a Contract,
    group: &Group<'a>,
    guards: &[Passed<'a>],
    used: &Use<'a>,
) -> Pin {
    let binding = used.fact.binding();
    // What was tested within a `when` is pinned by a leg within the same test.
    let is_asked = |test: &Passed<'a>| {
        used.when
            .iter()
            .any(|other| other.truth == test.truth && group.alike(other.test, test.test, None))
    };
    let open = |test: &Passed<'a>| !is_asked(test) && !within(guards, &[*test]);
    // Whether one of some legs is sure to happen with the write.
    let sure = |is_one: &dyn Fn(&'a Leg) -> bool| {
        let legs = group.legs.iter().filter(|other| is_one(other.leg));
        let ways = legs.map(|other| other.guards.iter().copied().filter(&open).collect());
        covers(&ways.collect::<Vec<Vec<_>>>())
    };
    if is_guarded(model, contract, (group, guards), binding, &sure) {
        return Pin::Whole;
    }
    if all_there::holds(group, guards, used) {
        return Pin::Whole;
    }
    let pins = |leg| group.is_on(leg, binding) && leg_pins(model, group, guards, leg, used);
    let by_leg = sure(&pins);
    match by_leg {
        true if sure(&|leg| leg.verb != Verb::Check && group.is_on(leg, binding)) => Pin::Claimed,
        true => Pin::Item,
        false => Pin::Nothing,
    }
}

/// Whether one of several legs happens however the tests around them come out: one stands within none, or both blocks
/// of a `when` have some of which that is so.
fn covers(ways: &[Vec<Passed<'_>>]) -> bool {
    let mut tests: Vec<&Expr> = Vec::new();
    for way in ways {
        let Some(first) = way.first() else { return true };
        if !tests.iter().any(|test| std::ptr::eq(*test, first.test)) {
            tests.push(first.test);
        }
    }
    let is_covered = |test: &Expr, truth: bool| {
        let inner = ways.iter().filter_map(|way| {
            let (first, rest) = way.split_first()?;
            (std::ptr::eq(first.test, test) && first.truth == truth).then(|| rest.to_vec())
        });
        covers(&inner.collect::<Vec<_>>())
    };
    tests.into_iter().any(|test| is_covered(test, true) && is_covered(test, false))
}

/// Whether a leg on the item of a fact insists on it.
pub(super) fn leg_pins<'a>(
    model: &'a Model,
    group: &Group<'a>,
    guards: &[Passed<'a>],
    pin: &'a Leg,
    used: &Use<'a>,
) -> bool {
    let insists = group.insists(pin);
    let binding = used.fact.binding();
    let counter = model.entities[pin.entity].counter();
    let unchanged = counter.is_some_and(|counter| {
        insists.iter().any(|test| {
            let said = matches!(test.test.kind, ExprKind::Unchanged) && test.truth;
            // Which is short for the counter's being as it was read.
            let fixed = fixes(test).filter(|(name, _)| *name == counter.name);
            (said && pin.target == Some(binding))
                || fixed
                    .is_some_and(|(name, value)| is_as_read(group, guards, (binding, name), value))
        })
    });
    let needs = pin.verb == Verb::Update || pin.absent.is_some();
    let kept = unchanged || needs || insists.iter().any(needs_item);
    let in_key = |name: &str| model.entities[pin.entity].key.tells(name);
    match &used.fact {
        Fact::NotThere(_) => pin.put == Some(PutMode::IfAbsent),
        Fact::There(_) => kept,
        // No condition on one item holds a range.
        Fact::Items(..) => false,
        Fact::Attribute(binding, name) => {
            unchanged
                || (kept && in_key(name))
                || insists.iter().any(|test| {
                    let fixed = fixes(test).filter(|(fixed, _)| fixed == name);
                    asks_again(model, group, pin, test, used)
                        || fixed.is_some_and(|(_, value)| {
                            is_as_read(group, guards, (*binding, name), value)
                        })
                })
        }
    }
}

/// Whether the test of an attribute has one result for all stored items that meet a condition.
pub(super) fn asks_again<'a>(
    model: &'a Model,
    group: &Group<'a>,
    pin: &'a Leg,
    condition: &Passed<'a>,
    used: &Use<'a>,
) -> bool {
    let Fact::Attribute(binding, name) = &used.fact else { return false };
    let words = match (&condition.test.kind, condition.truth) {
        (ExprKind::In(thing, words), true) if is_stored(thing, name) => words.iter().collect(),
        _ => {
            let fixed = fixes(condition).filter(|(fixed, _)| fixed == name);
            fixed.map(|(_, value)| value).into_iter().collect::<Vec<_>>()
        }
    };
    let enough = || words.iter().all(|word| suffices(model, group, pin, used, word));
    repeats(group, condition, used, *binding)
        || negates(model, group, pin, condition, used)
        || finds(group, condition, used, *binding)
        || (!words.is_empty() && enough())
}

/// Whether a condition is false of an item that is not there.
pub(in crate::check) fn needs_item(test: &Passed<'_>) -> bool {
    matches!((&test.test.kind, test.truth), (ExprKind::Unchanged, true)) || !needs(test).is_empty()
}

/// What must be stored for a condition to hold.
pub(super) fn needs<'a>(test: &Passed<'a>) -> Vec<&'a Expr> {
    let mut all: Vec<&Expr> = match (&test.test.kind, test.truth) {
        (ExprKind::Contains(set, _), true) => vec![set],
        (ExprKind::Present(thing), true) | (ExprKind::Absent(thing), false) => vec![thing],
        (ExprKind::Binary(Op::NotEqual, a, b), false) => vec![a, b],
        (ExprKind::Binary(Op::NotEqual | Op::Or, ..), _) => Vec::new(),
        (ExprKind::Binary(_, a, b) | ExprKind::BeginsWith(a, b), true) => vec![a, b],
        (ExprKind::Between(a, ..) | ExprKind::In(a, _), true) => vec![a],
        _ => Vec::new(),
    };
    all.retain(|expr| expr.stored_root().is_some());
    all
}

/// Whether an earlier test found something there, and a condition holds only if it is there.
fn finds<'a>(group: &Group<'a>, condition: &Passed<'a>, used: &Use<'a>, item: BindingId) -> bool {
    let found = used.test.and_then(|test| match (&test.test.kind, test.truth) {
        (ExprKind::Present(thing), true) | (ExprKind::Absent(thing), false) => Some(&**thing),
        _ => None,
    });
    found.is_some_and(|found| {
        needs(condition).into_iter().any(|needed| group.alike(found, needed, Some(item)))
    })
}

/// Whether a condition tests the stored item exactly as an earlier test did the item that was read.
fn repeats<'a>(group: &Group<'a>, condition: &Passed<'a>, used: &Use<'a>, item: BindingId) -> bool {
    use ExprKind as E;
    let Some(test) = used.test else { return false };
    // The test of a filter speaks of what is stored, as the condition does.
    let alike = |a: &'a Expr, b: &'a Expr| group.alike(a, b, Some(item)) || group.alike(a, b, None);
    let same_way = test.truth == condition.truth;
    match (&test.test.kind, &condition.test.kind) {
        _ if same_way && alike(test.test, condition.test) => true,
        (E::Present(a), E::Absent(b)) | (E::Absent(a), E::Present(b)) => !same_way && alike(a, b),
        // `item.done` and `.done == true` ask the same.
        (E::Attribute(..), E::Binary(Op::Equal, a, b)) => {
            matches!(b.kind, E::Bool(value) if value == (test.truth == condition.truth))
                && alike(test.test, a)
        }
        (E::Binary(one, a, b), E::Binary(other, c, d)) => {
            let (one, a, b) = facing_up(*one, a, b);
            let (other, c, d) = facing_up(*other, c, d);
            let opposite =
                matches!((one, other), (Op::Equal, Op::NotEqual) | (Op::NotEqual, Op::Equal));
            let even = matches!(one, Op::Equal | Op::NotEqual);
            let agree = if same_way { one == other } else { opposite };
            agree && ((alike(a, c) && alike(b, d)) || (even && alike(a, d) && alike(b, c)))
        }
        _ => false,
    }
}

/// Whether a condition is the opposite of a test that did not pass, or the other way round: `.x < n` where `x >= n` was
/// false. A comparison with something absent is false, so a condition that is the opposite of a comparison also
/// holds of an item that lacks the attribute.
fn negates<'a>(
    model: &'a Model,
    group: &Group<'a>,
    pin: &'a Leg,
    condition: &Passed<'a>,
    used: &Use<'a>,
) -> bool {
    let (Some(test), Fact::Attribute(binding, name)) = (used.test, &used.fact) else {
        return false;
    };
    let (ExprKind::Binary(one, a, b), ExprKind::Binary(other, c, d)) =
        (&test.test.kind, &condition.test.kind)
    else {
        return false;
    };
    let attribute = model.entities[pin.entity].attribute(name);
    let always = attribute.is_some_and(|attribute| !attribute.optional)
        && (is_stored(c, name) || is_stored(d, name));
    let (one, a, b) = facing_up(*one, a, b);
    let (other, c, d) = facing_up(*other, c, d);
    let opposite =
        matches!((one, other), (Op::Less, Op::LessOrEqual) | (Op::LessOrEqual, Op::Less));
    let alike = |a: &'a Expr, b: &'a Expr| group.alike(a, b, Some(*binding));
    test.truth != condition.truth
        && (condition.truth || always)
        && opposite
        && alike(a, d)
        && alike(b, c)
}

/// A comparison with its lesser side first.
pub(super) fn facing_up<'a>(op: Op, a: &'a Expr, b: &'a Expr) -> (Op, &'a Expr, &'a Expr) {
    match op {
        Op::Greater => (Op::Less, b, a),
        Op::GreaterOrEqual => (Op::LessOrEqual, b, a),
        op => (op, a, b),
    }
}

/// Whether a value is what an attribute was read as: the attribute itself, or what a test found equal to it.
fn is_as_read<'a>(
    group: &Group<'a>,
    guards: &[Passed<'a>],
    (binding, name): (BindingId, &str),
    value: &'a Expr,
) -> bool {
    let itself = |expr: &'a Expr| {
        matches!(&plain(&group.lets, expr).kind, ExprKind::Attribute(other, attribute)
            if *other == binding && attribute == name)
    };
    itself(value)
        || group.known(guards).iter().filter_map(Passed::equality).any(|(a, b)| {
            (itself(a) && group.alike(b, value, None)) || (itself(b) && group.alike(a, value, None))
        })
}

/// Whether the test that asks for an attribute comes out the same with the word a condition fixes it to.
fn suffices<'a>(
    model: &'a Model,
    group: &Group<'a>,
    pin: &'a Leg,
    used: &Use<'a>,
    value: &'a Expr,
) -> bool {
    let (Some(test), Fact::Attribute(binding, name)) = (used.test, &used.fact) else {
        return false;
    };
    let ExprKind::Word(word) = &plain(&group.lets, value).kind else { return false };
    let attribute = model.entities[pin.entity].attribute(name);
    let moves = attribute.and_then(|attribute| attribute.moves.as_deref()).unwrap_or_default();
    let is_it = |expr: &'a Expr| {
        let it = matches!(&expr.kind, ExprKind::Attribute(other, attribute)
            if other == binding && attribute == name);
        (it || is_stored(expr, name)).then_some(word.as_str())
    };
    let supposed = Supposed { lets: &group.lets, moves, word: &is_it, there: &|_| None };
    supposed.outcome(test.test) == Some(test.truth)
}

/// Whether the guard of an entity was read before it and is unchanged in the transaction.
fn is_guarded<'a>(
    model: &'a Model,
    contract: &'a Contract,
    (group, guards): (&Group<'a>, &[Passed<'a>]),
    binding: BindingId,
    sure: Sure<'a, '_>,
) -> bool {
    let entity = entity_of(contract, binding).map(|entity| &model.entities[entity]);
    let Some(id) = entity.and_then(|entity| entity.guarded_by) else { return false };
    let guard = &model.entities[id];
    let Some((at, found)) = group.read_of(binding) else { return false };
    // What is found in one read with items of other entities depends on these too.
    let (at, beside) = match &found.what {
        What::Part(part) => match group.read_of(part.of) {
            Some((at, whole)) if let What::Query(query) = &whole.what => {
                let others = whole.entities().filter(|_| !part.one);
                (at, others.map(|entity| (entity, &**query)).collect())
            }
            _ => return false,
        },
        What::Get(_) | What::Batch(_) | What::Query(_) => (at, Vec::new()),
    };
    let moves = |entity| entity == id || model.entities[entity].guarded_by == Some(id);
    if !beside.iter().all(|(entity, _)| moves(*entity)) {
        return false;
    }
    let its_own = |read: BindingId| {
        guard.key.holes().all(|hole| {
            let parts = beside.iter().map(|(entity, query)| group.queried_as(*entity, query, hole));
            let mut parts = parts.chain([group.part_as(binding, hole)]);
            parts.all(|part| {
                let of_guard = group.part_as(read, hole);
                of_guard.zip(part).is_some_and(|(a, b)| group.equal_as(guards, hole, a, b))
            })
        })
    };
    let held = |read: BindingId| {
        sure(&|leg| {
            let insists = group.insists(leg);
            let mut unchanged =
                insists.iter().filter(|test| matches!(test.test.kind, ExprKind::Unchanged));
            leg.target == Some(read) && unchanged.any(|test| test.truth)
        })
    };
    let before = group.way.readings.iter().take(at).map(|reading| reading.read);
    let mut before = before.filter(|read| read.entity == id);
    guard.counter().is_some()
        && before.any(|read| read.binding.is_some_and(|read| its_own(read) && held(read)))
}
