//! `no-allow`: a path to a write or an answer that no `allow` stands before, or one that asks the caller for
//! its own right.

use std::collections::HashSet;

use latchkey_language::{Diagnostic, Span};

use super::{Report, each_leg, each_read, each_step};
use crate::lower::ends;
use crate::model::{
    Contract, Expr, ExprKind, Failure, FailureKind, Kind, Model, Op, Piece, Step, StepKind,
    Template, TextPiece, Verb, What,
};

/// The attributes that say who owns an item, by entity.
type Owners<'a> = HashSet<(usize, &'a str)>;

pub(super) fn check(model: &Model, report: &mut Report) {
    let owners = owners(model);
    let owned: HashSet<usize> = owners.iter().map(|(entity, _)| *entity).collect();
    for contract in &model.contracts {
        walk(&contract.steps, false, report);
        let mut concerned = false;
        each_read(contract, |read, _| concerned |= owned.contains(&read.entity));
        each_leg(contract, |leg, _| concerned |= owned.contains(&leg.entity));
        if concerned {
            self_made(model, contract, &owners, report);
        }
    }
}

/// Goes along the steps; whether an `allow` stands before what follows them.
fn walk(steps: &[Step], mut allowed: bool, report: &mut Report) -> bool {
    for step in steps {
        let failure = match &step.kind {
            StepKind::Allow(_) => {
                allowed = true;
                continue;
            }
            StepKind::Return(_) if !allowed => {
                raise(step, step.span, "this answers whoever asks", report);
                continue;
            }
            StepKind::Transact(_) | StepKind::Write(_) if !allowed => {
                raise(step, step.span, "this writes for whoever asks", report);
                // One `allow` before it is before what follows, too.
                allowed = true;
                continue;
            }
            StepKind::When(_, yes, no) => {
                // A way that ends is no way to what follows.
                let (on, off) = (walk(yes, allowed, report), walk(no, allowed, report));
                allowed = allowed || ((on || ends(yes)) && (off || ends(no)));
                continue;
            }
            StepKind::Transact(legs) => {
                walk(legs, allowed, report);
                continue;
            }
            StepKind::Require(_, failure) | StepKind::Match(_, failure) => failure,
            StepKind::Read(read) => &read.failure,
            StepKind::Write(leg) => &leg.failure,
            StepKind::Return(_) | StepKind::Let(..) => continue,
        };
        match failure.as_ref().map(|failure| &failure.kind) {
            Some(FailureKind::Steps(steps)) => {
                walk(steps, allowed, report);
            }
            Some(FailureKind::Problem { .. }) if !allowed => {
                if let Some(span) = failure.as_ref().and_then(tells) {
                    raise(step, span, "this tells whoever asks", report);
                }
            }
            _ => {}
        }
    }
    allowed
}

/// Where a problem tells something of an item, if it does.
fn tells(failure: &Failure) -> Option<Span> {
    let FailureKind::Problem { message, with, .. } = &failure.kind else { return None };
    let mut found = None;
    for told in with.iter().map(|given| &given.value).chain(message) {
        told.walk(&mut |part| {
            if matches!(part.kind, ExprKind::Attribute(..) | ExprKind::Binding(_)) {
                found = found.or(Some(part.span));
            }
        });
    }
    found
}

fn raise(step: &Step, span: Span, message: &str, report: &mut Report) {
    let diagnostic = Diagnostic::new("no-allow", span, message)
        .why("without an `allow` before it, any signed-in caller gets here")
        .help("write `allow caller owns …` or `allow caller is ROLE` on every way to it");
    report.raise(diagnostic, &step.waivers);
}

/// The attributes some `allow` asks about, and their copies.
fn owners(model: &Model) -> Owners<'_> {
    let mut owners = Owners::new();
    for contract in &model.contracts {
        each_step(&contract.steps, &mut |step| {
            let StepKind::Allow(test) = &step.kind else { return };
            test.walk(&mut |part| {
                if let ExprKind::Owns(what) = &part.kind
                    && let ExprKind::Attribute(binding, name) = &what.kind
                    && let Some(Kind::Item(entity)) =
                        contract.bindings.get(*binding).map(|binding| &binding.kind)
                {
                    owners.insert((*entity, name));
                }
            });
        });
    }
    for (id, view) in model.entities.iter().enumerate() {
        let Some(source) = view.view_of else { continue };
        let copied = view.attributes.iter().filter(|attribute| attribute.copied);
        let copied = copied.map(|attribute| attribute.name.as_str());
        let owned: Vec<&str> = copied.filter(|name| owners.contains(&(source, *name))).collect();
        owners.extend(owned.into_iter().map(|name| (id, name)));
    }
    owners
}

/// An `allow` on an input, where an owner is known: whoever calls can name what it owns.
fn self_made(model: &Model, contract: &Contract, owners: &Owners<'_>, report: &mut Report) {
    let trusted = trusted(model, contract, owners);
    each_step(&contract.steps, &mut |step| {
        let StepKind::Allow(test) = &step.kind else { return };
        if let Some(span) = open(test, &trusted) {
            let message = "this asks about what the caller sent, not about an owner";
            let diagnostic = Diagnostic::new("no-allow", span, message)
                .why("whoever calls can name a thing of its own here, and is let in")
                .help("read the item first, and ask about its owner: `allow caller owns item.…`");
            report.raise(diagnostic, &step.waivers);
        }
    });
}

/// Where a test lets in whoever names an input well.
fn open(test: &Expr, trusted: &HashSet<&str>) -> Option<Span> {
    match &test.kind {
        ExprKind::Binary(Op::Or, a, b) => open(a, trusted).or_else(|| open(b, trusted)),
        ExprKind::Binary(Op::And, a, b) => open(a, trusted).and(open(b, trusted)),
        ExprKind::Owns(what) => match &what.kind {
            ExprKind::Input(name) if !trusted.contains(name.as_str()) => Some(test.span),
            _ => None,
        },
        _ => None,
    }
}

/// The inputs that choose the owner of all that is read or made.
fn trusted<'a>(model: &'a Model, contract: &'a Contract, owners: &Owners<'_>) -> HashSet<&'a str> {
    let mut trusted = HashSet::new();
    let mut take_in = |entity: usize, attribute: &str, value: &'a Expr| {
        if let ExprKind::Input(name) = &value.kind
            && owners.contains(&(entity, attribute))
        {
            trusted.insert(name.as_str());
        }
    };
    each_read(contract, |read, _| match &read.what {
        What::Get(key) => {
            key.iter().for_each(|given| take_in(read.entity, &given.attribute, &given.value));
        }
        What::Query(query) => {
            let entity = model.entities.get(read.entity);
            let Some((entity, partition)) = entity.zip(query.partition.as_ref()) else { return };
            for (attribute, value) in holes(&entity.key.partition, partition) {
                take_in(read.entity, attribute, value);
            }
        }
    });
    each_leg(contract, |leg, _| {
        if leg.verb == Verb::Put {
            let given = leg.key.iter().chain(&leg.values);
            given.for_each(|given| take_in(leg.entity, &given.attribute, &given.value));
        }
    });
    trusted
}

/// The values a text has where a template has its attributes.
fn holes<'a>(template: &'a Template, text: &'a Expr) -> Vec<(&'a str, &'a Expr)> {
    let ExprKind::Text(pieces) = &text.kind else { return Vec::new() };
    let pairs = template.pieces.iter().zip(pieces);
    pairs
        .filter_map(|pair| match pair {
            (Piece::Hole(hole), TextPiece::Value(value, _)) => Some((&*hole.attribute, value)),
            _ => None,
        })
        .collect()
}
