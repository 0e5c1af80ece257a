//! What reaches beyond a right without touching an item: a message whose worker writes what the caller names, and an item
//! that is put into another tenant's partition.

use latchkey_language::{Diagnostic, Rule, Span};

use super::counted::touches;
use super::tie::{Tied, is_found, tied_beside};
use crate::check::flow::{Group, Placed, Sent, groups};
use crate::check::truth::{Passed, plain};
use crate::model::{
    Contract, Entity, EntityId, Expr, ExprKind, Given, InputId, KeyShape, Leg, Model, Piece,
    PutMode, Query, TextPiece, Verb, What,
};

/// The parts of keys by which a write reaches another tenant: the right was a grant to the caller within one, such as
/// `get Member(spaceId, userId = caller.id)`, and the write has another value in that place. A `put … if absent` has it
/// in its key, or in the partition of an index; so has an update, which moves its item there.
pub(super) fn moved<'a>(group: &Group<'a>, placed: &Placed<'a>) -> Vec<&'a Given> {
    let leg = placed.leg;
    let entity = &group.model.entities[leg.entity];
    let is_listed = |given: &&'a Given| {
        let mut indexes = entity.indexes.iter();
        indexes
            .any(|index| index.key.partition.holes().any(|hole| hole.attribute == given.attribute))
    };
    let makes = leg.verb == Verb::Put && leg.put == Some(PutMode::IfAbsent);
    let key: &'a [Given] = if makes { &leg.key } else { &[] };
    let writes = matches!(leg.verb, Verb::Put | Verb::Update | Verb::Upsert);
    let values = leg.values.iter().filter(|_| writes).filter(is_listed);
    let differs =
        |given: &&'a Given| differs(group, &placed.guards, (&given.attribute, &given.value));
    key.iter().chain(values).filter(differs).collect()
}

/// Whether an input stands in a place of a key in which every grant to the caller has another value: a ward of the same
/// clinic, and not the ward that the caller is of.
pub(super) fn differs<'a>(
    group: &Group<'a>,
    guards: &[Passed<'a>],
    (name, value): (&str, &'a Expr),
) -> bool {
    let part = |key: &'a [Given]| {
        key.iter().find(|given| given.attribute == name && !is_caller(group, given))
    };
    let mut same = grants(group, guards).filter_map(part).peekable();
    matches!(group.origin(value).kind, ExprKind::Input(_))
        && same.peek().is_some()
        && same.all(|own| !group.equal(guards, &own.value, value))
}

/// The values that a query gives to parts of a key, as far as its range is fixed.
pub(super) fn given_by<'a>(
    group: &Group<'a>,
    shape: &'a KeyShape,
    query: &'a Query,
) -> Vec<(&'a str, &'a Expr)> {
    let texts = [(&shape.partition, query.partition.as_ref()), (&shape.sort, query.range.start())];
    let mut found = Vec::new();
    for (template, text) in texts {
        let Some(ExprKind::Text(pieces)) = text.map(|text| &plain(&group.lets, text).kind) else {
            continue;
        };
        for (piece, text) in template.pieces.iter().zip(pieces) {
            match (piece, text) {
                (Piece::Literal(a), TextPiece::Literal(b)) if a == b => {}
                (Piece::Hole(hole), TextPiece::Value(value, _)) => {
                    found.push((hole.attribute.as_str(), value));
                }
                _ => break,
            }
        }
    }
    found
}

/// The keys of items that grant something to the caller: with the caller's id in them, and something else.
fn grants<'a>(group: &Group<'a>, guards: &[Passed<'a>]) -> impl Iterator<Item = &'a [Given]> {
    group.way.reads.iter().filter_map(|(read, _)| match &read.what {
        What::Get(key) => {
            let found = read.binding.is_some_and(|binding| is_found(group, guards, binding));
            (found && key.len() > 1 && key.iter().any(|given| is_caller(group, given)))
                .then_some(&**key)
        }
        What::Batch(_) | What::Query(_) | What::Part(_) => None,
    })
}

/// Whether a part of a key is the caller's id.
fn is_caller<'a>(group: &Group<'a>, given: &'a Given) -> bool {
    matches!(group.origin(&given.value).kind, ExprKind::CallerId)
}

/// A send of a contract, for one way in which its `allow` holds.
pub(super) struct Sending<'a, 'g> {
    pub(super) model: &'a Model,
    pub(super) group: &'g Group<'a>,
    pub(super) sent: &'g Sent<'a>,
    pub(super) tied: Tied<'a>,
}

impl<'a> Sending<'a, '_> {
    /// A worker writes an item that a field of the message names, and neither the field nor the item is tied.
    pub(super) fn breach(&self) -> Option<Diagnostic> {
        let queue = self.sent.send.queue;
        let worker = self.model.workers.iter().find(|worker| worker.queue == queue)?;
        let bodies = [Some(&worker.body), worker.dead.as_ref()];
        bodies.into_iter().flatten().find_map(|body| {
            let found = groups(self.model, body).into_iter().find_map(|group| {
                let start = self.start(body, &group);
                let foreign = group.legs.iter().find(|placed| {
                    let leg = placed.leg;
                    touches(leg)
                        && self.is_named(body, &group, leg, &start)
                        && !tied_beside(start.clone(), &group, &placed.guards, &[])
                            .has_leg(&group, leg)
                });
                foreign.map(|placed| placed.leg)
            });
            found.map(|leg| self.tell(body, &self.model.entities[leg.entity], leg.span))
        })
    }

    /// What is given for an input of the worker.
    fn value(&self, body: &Contract, input: InputId) -> Option<&'a Expr> {
        let name = &body.inputs[input].name;
        let given = self.sent.send.values.iter().find(|given| given.attribute == *name);
        given.map(|given| &given.value)
    }

    /// What is tied when the worker begins: what was tied where it was sent, what is new, and what was made with it.
    fn start(&self, body: &'a Contract, group: &Group<'a>) -> Tied<'a> {
        let mut start = Tied::beside(&self.tied.loose);
        for (input, _) in body.inputs.enumerate() {
            let Some(value) = self.value(body, input) else { continue };
            let is_new = matches!(self.group.origin(value).kind, ExprKind::New(_));
            let is_made = || {
                let mut alone = self.made().filter(|leg| leg.key.len() == 1);
                alone.any(|leg| {
                    leg.key.iter().any(|part| self.group.alike(&part.value, value, None))
                })
            };
            if is_new || self.tied.has(self.group, value) || is_made() {
                start.inputs.push(input);
            }
        }
        for (read, _) in &group.way.reads {
            if let (Some(binding), What::Get(key)) = (read.binding, &read.what)
                && self.makes(body, group, (read.entity, key))
            {
                start.items.push(binding);
            }
        }
        start
    }

    /// The items that are made where the message is sent.
    fn made(&self) -> impl Iterator<Item = &'a Leg> {
        let legs = self.group.legs.iter().map(|placed| placed.leg);
        legs.filter(|leg| leg.verb == Verb::Put && leg.put == Some(PutMode::IfAbsent))
    }

    /// Whether a key of the worker is that of an item that was made where the message was sent.
    fn makes(
        &self,
        body: &Contract,
        group: &Group<'a>,
        (entity, key): (EntityId, &'a [Given]),
    ) -> bool {
        self.made().filter(|leg| leg.entity == entity).any(|leg| {
            key.iter().all(|part| {
                let ExprKind::Input(input) = &group.origin(&part.value).kind else { return false };
                let made = leg.key.iter().find(|given| given.attribute == part.attribute);
                made.zip(self.value(body, *input))
                    .is_some_and(|(made, sent)| self.group.alike(&made.value, sent, None))
            })
        })
    }

    /// Whether a write of the worker is on an item that a field of the message names, and that was not made with it.
    fn is_named(&self, body: &Contract, group: &Group<'a>, leg: &'a Leg, start: &Tied<'a>) -> bool {
        let key: Vec<&'a Expr> = match leg.target {
            Some(item) => {
                let names = self.model.entities[leg.entity].key.attributes();
                names.into_iter().filter_map(|name| group.given_part(item, name)).collect()
            }
            None => leg.key.iter().map(|given| &given.value).collect(),
        };
        let made = leg.target.is_none() && self.makes(body, group, (leg.entity, &leg.key));
        !made
            && key.into_iter().any(|value| {
                matches!(&group.origin(value).kind, ExprKind::Input(input)
                    if !start.inputs.contains(input) && self.value(body, *input).is_some())
            })
    }

    fn tell(&self, body: &Contract, entity: &Entity, span: Span) -> Diagnostic {
        let message = format!(
            "this sends what is not tied to what `allow` tested, and `{}` writes the `{}` of that name",
            body.id, entity.name
        );
        let diagnostic = Diagnostic::new(Rule::ForeignAllow, self.sent.send.span, message)
            .other(span, "written here, whoever the message is from")
            .why("a worker has no caller: whoever may send the message reaches an item that is not theirs")
            .help(
                "test the item before it is sent; or send the caller's id, and let the worker compare: `require \
                 item.ownerId == ownerId else done`",
            );
        match self.group.way.allows.first() {
            Some(allow) => diagnostic.other(allow.span, "tested here"),
            None => diagnostic,
        }
    }
}
