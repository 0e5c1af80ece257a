//! `loose-copy`: an attribute that is always copied from another entity, and that no `view` keeps up to date.

use std::collections::HashMap;

use latchkey_language::{Diagnostic, Rule, Span};

use super::changes::Changes;
use super::flow::lets;
use super::truth::{Lets, PARTS_MAX, plain};
use super::{Report, each_leg};
use crate::model::{Contract, EntityId, Expr, ExprKind, Leg, Model, Op, TextPiece, Verb, Waiver};
use crate::types::Type;

/// An attribute that is written, the attribute that it is copied from if it is a copy, and where.
type Written<'a> = (&'a str, Option<Copied<'a>>, Span);

/// An attribute of an entity that is copied.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Copied<'a> {
    entity: EntityId,
    name: &'a str,
    /// Whether the copy is made of the attribute and of constants, and is not the attribute itself.
    made: bool,
}

/// Where an attribute is written from: one attribute of one entity each time, or not.
enum Source<'a> {
    Copied(Copied<'a>, Span, &'a [Waiver]),
    Other,
}

/// Looks for what a value is a copy of.
struct Copy<'a, 'l> {
    contract: &'a Contract,
    lets: &'l Lets<'a>,
    /// The entity that the value is written to.
    into: EntityId,
}

impl<'a> Copy<'a, '_> {
    /// The attribute that a value is, or is made of together with constants. What is computed with an input as well is a
    /// fact of its own, as the price of so many.
    fn source(&self, value: &'a Expr, left: &mut usize) -> Option<Copied<'a>> {
        *left = left.checked_sub(1)?;
        let value = plain(self.lets, value);
        let inner = match &value.kind {
            ExprKind::Attribute(binding, name) => {
                let entity = self.contract.bindings[*binding].kind.item()?;
                return Some(Copied { entity, name, made: false });
            }
            ExprKind::Member(record, _) => return self.source(record, left),
            ExprKind::Binary(Op::Plus | Op::Minus | Op::Times, a, b) => {
                match (self.is_constant(a), self.is_constant(b)) {
                    (false, true) => self.source(a, left),
                    (true, false) => self.source(b, left),
                    _ => None,
                }
            }
            ExprKind::Rounded(_, a, by, _) => {
                let by_constant = by.as_deref().is_none_or(|by| self.is_constant(by));
                self.source(a, left).filter(|_| by_constant)
            }
            ExprKind::Day(of) => self.source(of, left),
            ExprKind::Text(pieces) => {
                let values = pieces.iter().filter_map(|piece| match piece {
                    TextPiece::Value(value, _) => Some(value),
                    TextPiece::Literal(_) => None,
                });
                let all: Option<Vec<_>> = values.map(|value| self.source(value, left)).collect();
                let all = all?;
                let one = all.first().copied();
                one.filter(|one| all.iter().all(|other| other.entity == one.entity))
            }
            // One member that is a copy is one too many.
            ExprKind::Object(members) => {
                let mut copies = members.iter().filter_map(|(_, value)| self.source(value, left));
                copies.find(|copied| copied.entity != self.into)
            }
            _ => None,
        };
        inner.map(|copied| Copied { made: true, ..copied })
    }

    fn is_constant(&self, value: &'a Expr) -> bool {
        matches!(
            plain(self.lets, value).kind,
            ExprKind::Number(_) | ExprKind::Duration(_) | ExprKind::Months(_)
        )
    }
}

pub(super) fn check(model: &Model, report: &mut Report) {
    let changes = Changes::new(model);
    let mut sources: HashMap<(EntityId, &str), Source<'_>> = HashMap::new();
    for contract in model.bodies() {
        let lets = lets(contract);
        each_leg(contract, |leg, step| {
            let added = leg.adds.iter().map(|given| (given.attribute.as_str(), None, given.span));
            let set = leg.values.iter().map(|given| {
                let from = Copy { contract, lets: &lets, into: leg.entity };
                let copied = from.source(&given.value, &mut PARTS_MAX.clone());
                (given.attribute.as_str(), copied.filter(|_| given.is_whole()), given.span)
            });
            for (attribute, copied, span) in set.chain(added).chain(taken(model, contract, leg)) {
                let copied = copied.filter(|copied| copied.entity != leg.entity);
                let entry = sources.entry((leg.entity, attribute));
                entry
                    .and_modify(|known| match (&known, copied) {
                        (Source::Copied(known, ..), Some(copied)) if *known == copied => {}
                        _ => *known = Source::Other,
                    })
                    .or_insert_with(|| match copied {
                        Some(copied) => Source::Copied(copied, span, &step.waivers),
                        None => Source::Other,
                    });
            }
        });
    }
    let mut found: Vec<_> = sources.into_iter().collect();
    found.sort_by_key(|(place, _)| *place);
    for ((id, attribute), source) in found {
        if let Source::Copied(copied, span, waivers) = source
            && let Some(diagnostic) = breach(model, &changes, (id, attribute), copied, span)
        {
            report.raise(diagnostic, waivers);
        }
    }
}

/// The attributes that a put takes from the item it is `of`, each with its source.
fn taken<'a>(model: &'a Model, contract: &'a Contract, leg: &'a Leg) -> Vec<Written<'a>> {
    let source = leg.of.filter(|_| leg.verb == Verb::Put);
    let Some(from) = source.and_then(|id| contract.bindings[id].kind.item()) else {
        return Vec::new();
    };
    let given = |name: &str| leg.values.iter().any(|given| given.attribute == name);
    let own = model.entities[leg.entity].attributes.iter();
    own.filter(|attribute| !given(&attribute.name))
        .filter_map(|attribute| model.entities[from].attribute(&attribute.name))
        .map(|attribute| {
            let name = attribute.name.as_str();
            (name, Some(Copied { entity: from, name, made: false }), leg.span)
        })
        .collect()
}

fn breach(
    model: &Model,
    changes: &Changes<'_>,
    (id, attribute): (EntityId, &str),
    Copied { entity: from, name, made }: Copied<'_>,
    span: Span,
) -> Option<Diagnostic> {
    let (entity, source) = (&model.entities[id], &model.entities[from]);
    let in_key = entity.key.tells(attribute);
    if entity.view_of == Some(from) || in_key || is_history(model, id, from) {
        return None;
    }
    let by = changes.updates(from, name).into_iter().find(|by| !writes(by, id))?;
    let what = if made { "is made of" } else { "is a copy of" };
    let tail = if made { ", and nothing keeps it" } else { " that nothing keeps" };
    let message = format!("`{attribute}` of `{}` {what} `{name}`{tail} up to date", entity.name);
    let declare = match made {
        true => format!("compute it from `{name}` where it is needed"),
        false => format!(
            "declare `{}` a `view of {}` that `copies {name}`, read `{name}` where it is needed",
            entity.name, source.name
        ),
    };
    Some(
        Diagnostic::new(Rule::LooseCopy, span, message)
            .other(by.span, format!("changes `{name}` of `{}`, and not the copy", source.name))
            .why("the copy goes on showing the old value, and no rule looks after it")
            .help(format!("{declare}, or waive this if the old value is meant")),
    )
}

/// Whether a contract writes items of an entity, and so may keep a copy up to date by hand.
fn writes(contract: &Contract, entity: EntityId) -> bool {
    let mut found = false;
    each_leg(contract, |leg, _| found |= leg.entity == entity && leg.verb != Verb::Check);
    found
}

/// Whether the items of an entity are moments of another's history: a time or the counter of the source is in the key.
fn is_history(model: &Model, id: EntityId, from: EntityId) -> bool {
    let (entity, counter) = (&model.entities[id], model.entities[from].counter());
    let mut parts = entity.key.partition.holes().chain(entity.key.sort.holes());
    parts.any(|hole| {
        matches!(hole.kind, Type::Time | Type::Date)
            || counter.is_some_and(|counter| counter.name == hole.attribute)
    })
}
