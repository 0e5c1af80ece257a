//! `transaction`: too many legs, or two that may hit one item.

use std::collections::BTreeMap;

use latchkey_language::{Diagnostic, Rule};
use latchkey_value::limits::{ITEM_BYTES_MAX, TRANSACTION_BYTES_MAX};
use latchkey_value::{Format, Number};

use super::flow::{Group, Placed, groups, within};
use super::size::item_bytes_max;
use super::truth::{Passed, plain};
use super::{Report, each_read};
use crate::model::{
    Contract, Each, Expr, ExprKind, Given, Leg, Method, Model, Op, Step, StepKind, TextPiece,
    Trigger, Verb, What,
};

const LEGS_MAX: usize = 25;
/// The most that a store takes at once.
const LEGS_MAX_STORE: usize = 100;
const WHENS_MAX: usize = 4;

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in model.bodies() {
        for group in groups(model, contract) {
            let StepKind::Transact(steps) = &group.step.kind else { continue };
            size(contract, &group, steps, report);
            bytes(model, &group, steps, report);
            collisions(model, &group, report);
        }
        snapshots(model, contract, report);
    }
}

/// The legs that the runtime adds: the record of a call with an `Idempotency-Key`, or the removal of the message.
fn added_legs(contract: &Contract) -> usize {
    let post = contract.route.as_ref().is_some_and(|route| route.method == Method::Post);
    match contract.trigger {
        Trigger::Request => usize::from(post && contract.facts.idempotent.is_none()),
        Trigger::Message(_) | Trigger::Dead(_) => 1,
        Trigger::Accepted(_) | Trigger::Refused(_) | Trigger::Invariant => 0,
    }
}

fn size(contract: &Contract, group: &Group<'_>, steps: &[Step], report: &mut Report) {
    let count = most_legs(steps);
    let added = added_legs(contract);
    let mut whens = 0usize;
    steps.iter().for_each(|step| whens += count_whens(step));
    let message = match (count, whens) {
        (0, _) => "a transaction of nothing".to_owned(),
        (_, WHENS_MAX..) if whens > WHENS_MAX => {
            format!("{whens} `when` in one transaction; the most is {WHENS_MAX}")
        }
        _ if added > 0 && count == LEGS_MAX_STORE => {
            format!("{count} legs and one that Latchkey adds; a store takes {LEGS_MAX_STORE}")
        }
        _ if count > LEGS_MAX => format!("{count} legs; the most is {LEGS_MAX}"),
        _ => return,
    };
    let (why, help) = match (count, whens > WHENS_MAX) {
        (0, _) => ("the request would ask for nothing", "write its legs, or delete it"),
        (_, true) => (
            "every `when` doubles the transactions this can become, and each has its own cost",
            "decide before the transaction, with one `when` around two of them",
        ),
        _ => (
            "large transactions conflict with each other and cost double",
            "write fewer items at once",
        ),
    };
    let diagnostic =
        Diagnostic::new(Rule::Transaction, group.step.span, message).why(why).help(help);
    // No store takes more, and nothing is no transaction.
    let fixed = count + added > LEGS_MAX_STORE || count == 0;
    let waivers = if fixed { &[] } else { &group.step.waivers[..] };
    report.raise(diagnostic, waivers);
}

/// A transaction whose items are too large together.
fn bytes(model: &Model, group: &Group<'_>, steps: &[Step], report: &mut Report) {
    let bytes = most_bytes(model, steps);
    if bytes <= TRANSACTION_BYTES_MAX {
        return;
    }
    let message = format!(
        "the items of this transaction can have {bytes} bytes together; the most is {TRANSACTION_BYTES_MAX}"
    );
    let diagnostic = Diagnostic::new(Rule::Transaction, group.step.span, message)
        .why("each item may be as large as it is declared, and the store refuses all of them: 400")
        .help("lower the bounds of what is large, or write fewer items at once");
    report.raise(diagnostic, &group.step.waivers);
}

/// Items that are read at one instant and are too large together.
fn snapshots(model: &Model, contract: &Contract, report: &mut Report) {
    let mut blocks: BTreeMap<u32, usize> = BTreeMap::new();
    each_read(contract, |read, step| {
        let times = match &read.what {
            What::Batch(batch) if batch.snapshot => batch.count(),
            What::Get(_) if read.snapshot.is_some() => 1,
            _ => return,
        };
        let times = usize::try_from(times).unwrap_or(usize::MAX);
        let one = item_bytes_max(model, &model.entities[read.entity]).min(ITEM_BYTES_MAX);
        let mut bytes = one.saturating_mul(times);
        if let Some(number) = read.snapshot {
            let block = blocks.entry(number).or_default();
            *block = block.saturating_add(bytes);
            bytes = *block;
        }
        if bytes <= TRANSACTION_BYTES_MAX {
            return;
        }
        let message = format!(
            "the items of this snapshot can have {bytes} bytes together; the most is {TRANSACTION_BYTES_MAX}"
        );
        let diagnostic = Diagnostic::new(Rule::Transaction, read.span, message)
            .why("each item may be as large as it is declared, and the store refuses to read all of them: 400")
            .help("lower the bounds of what is large, or read fewer items at one instant");
        report.raise(diagnostic, &step.waivers);
    });
}

/// The most bytes that the items of all writes can have. No item is larger than a store takes.
fn most_bytes(model: &Model, steps: &[Step]) -> usize {
    let bytes = |step: &Step| match &step.kind {
        StepKind::Write(leg) => {
            item_bytes_max(model, &model.entities[leg.entity]).min(ITEM_BYTES_MAX)
        }
        StepKind::When(_, yes, no) => most_bytes(model, yes).max(most_bytes(model, no)),
        StepKind::Each(each) => {
            let times = usize::try_from(each.most).unwrap_or(usize::MAX);
            most_bytes(model, &each.body).saturating_mul(times)
        }
        _ => 0,
    };
    steps.iter().map(bytes).fold(0, usize::saturating_add)
}

/// The most legs that can happen at once.
fn most_legs(steps: &[Step]) -> usize {
    let legs = |step: &Step| match &step.kind {
        StepKind::Write(_) | StepKind::Send(_) => 1,
        StepKind::When(_, yes, no) => most_legs(yes).max(most_legs(no)),
        StepKind::Each(each) => {
            let times = usize::try_from(each.most).unwrap_or(usize::MAX);
            most_legs(&each.body).saturating_mul(times)
        }
        _ => 0,
    };
    steps.iter().map(legs).fold(0, usize::saturating_add)
}

fn count_whens(step: &Step) -> usize {
    match &step.kind {
        StepKind::When(_, yes, no) => 1 + yes.iter().chain(no).map(count_whens).sum::<usize>(),
        StepKind::Each(each) => each.body.iter().map(count_whens).sum(),
        _ => 0,
    }
}

fn collisions(model: &Model, group: &Group<'_>, report: &mut Report) {
    for (at, placed) in group.legs.iter().enumerate() {
        if let Some(each) = placed.each
            && covers(group, each, placed).is_none()
        {
            let entity = &model.entities[placed.leg.entity].name;
            report.raise(repeated(each, placed, entity), &placed.step.waivers);
        }
        for (before, other) in group.legs.iter().enumerate().take(at) {
            let apart = placed.leg.entity != other.leg.entity
                || are_apart(group, (at, placed), (before, other));
            if apart {
                continue;
            }
            let entity = &model.entities[placed.leg.entity].name;
            let message = format!("two legs of one transaction may be on the same `{entity}`");
            let diagnostic = Diagnostic::new(Rule::Transaction, placed.leg.span, message)
                .other(other.leg.span, "the other leg")
                .why("the store refuses a transaction that names an item twice")
                .help(told_apart(model, placed.leg, other.leg));
            report.raise(diagnostic, &placed.step.waivers);
        }
    }
}

/// What to write so that two legs are on two items. A key with a text in lower case is the same for two texts, so that
/// the texts are compared as the key has them.
fn told_apart(model: &Model, one: &Leg, other: &Leg) -> String {
    let part = |leg: &Leg, name: &str| {
        let given = leg.key.iter().find(|given| given.attribute == name)?;
        let span = given.value.span;
        model.text.get(span.start..span.end).map(str::to_owned)
    };
    let mut lossy = model.entities[one.entity].key.holes().filter(|hole| hole.is_lossy());
    let in_key = lossy.find_map(|hole| {
        let name = &hole.attribute;
        Some((hole.format?, part(one, name)?, part(other, name)?))
    });
    match in_key {
        Some((format, a, b)) => format!(
            "make one leg of them; or, where they are two items, answer the case that they are the same before, as the \
             key has them: `require \"{{{a}:{format}}}\" != \"{{{b}:{format}}}\" else …`"
        ),
        None => "make one leg of them; or, where they are two items, answer the case that they are the same before: \
                 `when a == b { return … }`"
            .to_owned(),
    }
}

/// A leg that an `each` makes for two elements, perhaps with one key.
fn repeated(each: &Each, placed: &Placed<'_>, entity: &str) -> Diagnostic {
    let message = format!("two elements may be written to the same `{entity}`");
    let help = match (each.result(), each.unique()) {
        (Some(_), _) => "write the item itself, or one whose key has all parts of the item's key",
        (None, Some(_)) => "write what the list is `unique` by into the key, each as it is",
        (None, None) => {
            "say that no two elements are alike: `list(1..20) of { … } unique by …`, and write that into the key"
        }
    };
    Diagnostic::new(Rule::Transaction, placed.leg.span, message)
        .other(each.over.span, "for each of these")
        .why("the store refuses a transaction that names an item twice")
        .help(help)
}

/// The parts of a leg's key that differ for any two elements of its `each`, if some do: by the attributes of the key.
fn covers<'a>(group: &Group<'a>, each: &'a Each, placed: &Placed<'a>) -> Option<Vec<&'a str>> {
    if placed.leg.target == Some(each.element) {
        return Some(Vec::new());
    }
    let given = |is: &dyn Fn(&ExprKind) -> bool| {
        let mut key = placed.leg.key.iter();
        // A key that tells less than its attribute may be the same for two of them.
        let tells =
            |given: &&Given| group.model.entities[placed.leg.entity].key.tells(&given.attribute);
        let found = key.find(|given| tells(given) && is(&plain(&group.lets, &given.value).kind));
        found.map(|given| given.attribute.as_str())
    };
    let itself = |expr: &Expr| matches!(&expr.kind, ExprKind::Binding(id) if *id == each.element);
    if let Some(result) = each.result() {
        let (_, read) = group.read_of(result)?;
        let parts = group.model.entities[read.entity].key.attributes();
        let part = |name: &&str| {
            given(
                &|kind: &ExprKind| matches!(kind, ExprKind::Attribute(id, own) if *id == each.element && own == name),
            )
        };
        return parts.iter().map(part).collect();
    }
    let unique = each.unique()?;
    if unique.is_empty() {
        let whole = |kind: &ExprKind| matches!(kind, ExprKind::Binding(id) if *id == each.element);
        return given(&whole).map(|name| vec![name]);
    }
    let member = |name: &String| {
        given(
            &|kind: &ExprKind| matches!(kind, ExprKind::Member(record, own) if itself(record) && own == name),
        )
    };
    unique.iter().map(member).collect()
}

/// Whether two legs are on two items, for whichever elements.
fn are_apart<'a>(group: &Group<'a>, a: (usize, &Placed<'a>), b: (usize, &Placed<'a>)) -> bool {
    let one = || are_exclusive(group, a.1, b.1) || differ(group, a, b);
    match (a.1.each, b.1.each) {
        // For one element as for two legs without an `each`; for two elements by what tells them apart.
        (Some(each), Some(other)) if std::ptr::eq(each, other) => {
            let parts = covers(group, each, a.1);
            one() && parts.is_some() && parts == covers(group, each, b.1)
        }
        _ => one(),
    }
}

/// Whether two legs stand on different sides of one test.
fn are_exclusive<'a>(group: &Group<'a>, a: &Placed<'a>, b: &Placed<'a>) -> bool {
    let atoms = |placed: &Placed<'a>| -> Vec<Passed<'a>> {
        placed.guards.iter().flat_map(|passed| passed.atoms(&group.lets)).collect()
    };
    let whole = a
        .guards
        .iter()
        .any(|x| b.guards.iter().any(|y| std::ptr::eq(x.test, y.test) && x.truth != y.truth));
    whole
        || atoms(a).iter().any(|x| {
            atoms(b).iter().any(|y| x.truth != y.truth && group.alike(x.test, y.test, None))
        })
}

/// Whether some part of the two keys is known to differ.
fn differ<'a>(group: &Group<'a>, a: (usize, &Placed<'a>), b: (usize, &Placed<'a>)) -> bool {
    let key = &group.model.entities[a.1.leg.entity].key;
    a.1.leg.key.iter().zip(&b.1.leg.key).any(|(part, other)| {
        let (x, y) = (settled(group, a, &part.value), settled(group, b, &other.value));
        x.zip(y).is_some_and(|(x, y)| {
            let told = key.tells(&part.attribute);
            let mut holes = key.holes().filter(|hole| hole.attribute == part.attribute);
            told && (are_unlike(group.origin(x), group.origin(y))
                || are_known_to_differ(group, (a.1, b.1), &Some, x, y))
                || holes.any(|hole| {
                    // The key has a form of the value, and a test found that the two forms differ.
                    let of = |it: &'a Expr| formed(group, it, hole.format);
                    hole.is_lossy() && are_known_to_differ(group, (a.1, b.1), &of, x, y)
                })
        })
    })
}

/// The value that a text is a form of.
fn formed<'a>(group: &Group<'a>, text: &'a Expr, format: Option<Format>) -> Option<&'a Expr> {
    match &plain(&group.lets, text).kind {
        ExprKind::Text(pieces) => match &pieces[..] {
            [TextPiece::Value(value, form)] if *form == format => Some(value),
            _ => None,
        },
        _ => None,
    }
}

/// Whether two expressions can never have one value.
fn are_unlike(x: &Expr, y: &Expr) -> bool {
    use ExprKind as E;
    match (&x.kind, &y.kind) {
        (E::Unknown, _) | (_, E::Unknown) => true,
        // What is made new is like nothing but itself.
        (E::New(_), _) | (_, E::New(_)) => !std::ptr::eq(x, y),
        (E::Word(x), E::Word(y)) => x != y,
        (E::Number(x), E::Number(y)) => x != y,
        (E::Bool(x), E::Bool(y)) => x != y,
        (E::Text(x), E::Text(y)) => match (&x[..], &y[..]) {
            ([TextPiece::Literal(x)], [TextPiece::Literal(y)]) => x != y,
            _ => false,
        },
        // A moment and another that is some time away from it.
        (E::Binary(Op::Plus | Op::Minus, base, by), other)
        | (other, E::Binary(Op::Plus | Op::Minus, base, by)) => {
            let away = match &by.kind {
                E::Number(by) => *by != Number::ZERO,
                E::Duration(by) => *by != 0,
                E::Months(by) => *by != 0,
                _ => false,
            };
            away && match (&base.kind, other) {
                (E::Input(a), E::Input(b)) => a == b,
                (E::Attribute(a, x), E::Attribute(b, y)) => a == b && x == y,
                (E::Now, E::Now) => true,
                _ => false,
            }
        }
        _ => false,
    }
}

/// What an attribute is by the time of a leg: what an earlier leg set it to, or as it was read; `None` if either.
fn settled<'a>(
    group: &Group<'a>,
    (at, placed): (usize, &Placed<'a>),
    value: &'a Expr,
) -> Option<&'a Expr> {
    let named = matches!(value.kind, ExprKind::Binding(_));
    let value = plain(&group.lets, value);
    let ExprKind::Attribute(binding, name) = &value.kind else { return Some(value) };
    if named {
        // A name keeps the value that it was given, whatever is written since. Which that was, is not known behind
        // another write of the item.
        let mut written = group.way.written.iter();
        let is_of_item = |leg: &&'a Leg| [leg.target, leg.result].contains(&Some(*binding));
        return (!written.any(is_of_item)).then_some(value);
    }
    let set = group.legs.iter().take(at).rev().find_map(|other| {
        let changes = matches!(other.leg.verb, Verb::Update | Verb::Upsert);
        let given = other.leg.values.iter().find(|given| given.attribute == *name);
        let given = given.filter(|_| changes && other.leg.target == Some(*binding))?;
        Some((other, given))
    });
    match set {
        None => Some(value),
        Some((other, given)) => {
            let sure = within(&placed.guards, &other.guards) && !given.maybe;
            sure.then_some(&given.value)
        }
    }
}

/// Whether a test found two values, or two forms of them, to differ.
fn are_known_to_differ<'a>(
    group: &Group<'a>,
    (p, q): (&Placed<'a>, &Placed<'a>),
    form: &dyn Fn(&'a Expr) -> Option<&'a Expr>,
    a: &'a Expr,
    b: &'a Expr,
) -> bool {
    group.known(&p.guards).into_iter().chain(group.known(&q.guards)).any(|passed| {
        let ExprKind::Binary(op, x, y) = &passed.test.kind else { return false };
        let unequal = match passed.truth {
            true => matches!(op, Op::NotEqual | Op::Less | Op::Greater),
            false => matches!(op, Op::Equal | Op::LessOrEqual | Op::GreaterOrEqual),
        };
        let about = |x: &'a Expr, y: &'a Expr| group.alike(x, a, None) && group.alike(y, b, None);
        let compared = form(x).zip(form(y));
        unequal && compared.is_some_and(|(x, y)| about(x, y) || about(y, x))
    })
}
