//! What is told of an answer of two moments.

use latchkey_language::{Diagnostic, Rule, Span};

use super::{Culprit, First, Told, Torn};
use crate::check::flow::{End, Group};
use crate::check::unpinned::answer::by;
use crate::check::unpinned::story::named;
use crate::model::{Contract, ExprKind, Read, What};

/// Two facts of two moments, and who comes in between.
pub(super) fn tell(contract: &Contract, group: &Group<'_>, torn: &Torn<'_>) -> Diagnostic {
    let (first, second) = (&torn.first, &torn.second);
    let name = |told: &Told<'_>| {
        let binding = told.fact.binding();
        named(&contract.bindings[binding].name, &told.fact)
    };
    let itself = is_itself(torn);
    let message = match itself {
        true => format!("{} may be of two moments", name(second)),
        false => format!("{} may be of another moment than {}", name(second), name(first)),
    };
    let mut diagnostic = Diagnostic::new(Rule::StaleAnswer, second.read.span, message);
    let from = match &torn.from {
        First::Read(read) => (read.span, "read here first"),
        First::Written(leg) => (leg.span, "as this leaves it"),
    };
    if !itself {
        diagnostic = diagnostic.other(from.0, from.1);
    }
    if let Some(place) = place(group)
        && ![from.0, second.read.span].contains(&place)
    {
        diagnostic = diagnostic.other(place, "and this goes by both");
    }
    let between = match (&torn.from, itself) {
        (_, true) => "while the items are read, one by one",
        (First::Read(_), false) => "between the two reads",
        (First::Written(_), false) => "between the write and the read",
    };
    let happens = match &torn.culprit {
        Culprit::One(one) if itself => format!(
            "{} writes two of these items in one transaction, and the read may see one of the writes alone",
            by(contract, one)
        ),
        Culprit::One(one) => format!("{between}, {} may change both", by(contract, one)),
        Culprit::Two(one, then) if itself => format!(
            "while the items are read, one by one, {} may change one, and then {}, which goes by it, another",
            by(contract, one),
            by(contract, then)
        ),
        Culprit::Two(one, then) => format!(
            "{between}, {} may change the first, and then {}, which goes by it, the second",
            by(contract, one),
            by(contract, then)
        ),
        Culprit::Chain(all) => {
            let names: Vec<String> = all.iter().map(|one| by(contract, one)).collect();
            format!(
                "{between} may come {}, each bound to come after the one before it; the first changes the first, and \
                 the last the second",
                names.join(", then ")
            )
        }
    };
    let end = match group.end {
        Some(End::Done | End::Off) => {
            "this ends without what it would do in every order of the calls"
        }
        Some(End::Said | End::Uncomputed(_)) | None => {
            "no order of the calls gives the answer that comes of it"
        }
    };
    diagnostic.why(format!("{happens}: {end}")).help(remedy(contract, torn))
}

/// Whether both facts are of one read.
fn is_itself(torn: &Torn<'_>) -> bool {
    matches!(torn.from, First::Read(read) if std::ptr::eq(read, torn.second.read))
}

/// What to write instead.
fn remedy(contract: &Contract, torn: &Torn<'_>) -> String {
    let second = torn.second.read;
    let First::Read(first) = torn.from else {
        return "show what the write left, or what was read behind it, and not both; or read before the write, and pin it"
            .to_owned();
    };
    if std::ptr::eq(first, second) {
        return match &first.what {
            What::Batch(_) => "write `snapshot` behind the `get`".to_owned(),
            _ => "read the items with a `get … snapshot`, or say in a waiver why a part of a change may be shown"
                .to_owned(),
        };
    }
    match (&first.what, &second.what) {
        (What::Get(_), What::Get(key)) => {
            let names = |read: &Read| {
                read.binding.map_or_else(String::new, |id| contract.bindings[id].name.clone())
            };
            let (a, b) = (names(first), names(second));
            let depends = key.iter().any(|given| {
                let mut depends = false;
                given.value.walk(&mut |part| {
                    depends |= matches!(&part.kind, ExprKind::Binding(id) | ExprKind::Attribute(id, _)
                        if Some(*id) == first.binding);
                });
                depends
            });
            match depends {
                false => format!("read both at one instant: `snapshot {{ {a} = get …  {b} = get … }}`"),
                true => format!(
                    "behind this, read both again at one instant with `snapshot {{ … }}`, and go by that; if the key of \
                     `{b}` is another by then, `else retry`"
                ),
            }
        }
        (_, What::Batch(_)) | (What::Batch(_), _) => {
            "the items of a `get … for` or `get … in` are never of one moment with another read: decide in a transaction \
             by a guard that is `unchanged`, or say in a waiver why such an answer does no harm"
                .to_owned()
        }
        _ => "a query is never of one moment with another read: decide in the transaction by a guard that is \
              `unchanged`, or say in a waiver why such an answer does no harm"
            .to_owned(),
    }
}

/// Where an answer, a refusal or an end is written; nowhere, if a block just ends.
fn place(group: &Group<'_>) -> Option<Span> {
    let mut failures = group.step.failures();
    match group.end {
        Some(End::Off) => None,
        Some(End::Uncomputed(by)) => Some(by.span),
        _ => Some(failures.next().map_or(group.step.span, |failure| failure.span)),
    }
}
