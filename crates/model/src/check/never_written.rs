//! `never-written`: something that is read, tested or declared, and that no write of the document can store.
//!
//! An entity that is changed and that nothing makes; a word of an enum, or a declared move, that no write comes to; an
//! optional attribute that is read and that nothing sets; a word of a message that nothing sends. A value that is not a
//! constant may be any word of its type.

mod compared;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use latchkey_language::{Diagnostic, Rule, Span};

use super::Report;
use super::flow::{Group, Placed, groups};
use super::illegal_move::{moves, words};
use super::unused::read_attributes;
use crate::model::{Attribute, Contract, Entity, EntityId, Model, PutMode, Queue, QueueId, Verb};
use crate::types::Type;
use compared::{Compared, compared};

/// How many places that compare a word are shown with it.
const SHOWN_MAX: usize = 2;

/// Words by the attribute of an entity that they are stored in.
type Words<'a> = HashMap<(EntityId, &'a str), BTreeSet<&'a str>>;

/// What the writes of a document can store.
#[derive(Default)]
struct Written<'a> {
    made: HashSet<EntityId>,
    /// The first write of an item that must be there.
    changed: BTreeMap<EntityId, Span>,
    set: HashSet<(EntityId, &'a str)>,
    words: Words<'a>,
    moved: HashSet<(EntityId, &'a str, &'a str, &'a str)>,
    sent: HashMap<(QueueId, &'a str), BTreeSet<&'a str>>,
}

pub(super) fn check(model: &Model, report: &mut Report) {
    let mut written = Written::default();
    let bodies = model.bodies();
    for contract in &bodies {
        for group in groups(model, contract) {
            written.take_in(model, contract, &group);
        }
    }
    written.take_in_kept(model);
    let compared = compared(&bodies);
    let read = read_attributes(model);
    for (id, entity) in model.entities.enumerate() {
        // A view has what its source has.
        if entity.view_of.is_some() {
            continue;
        }
        if !written.made.contains(&id) {
            never_made(model, &written, (id, entity), report);
            continue;
        }
        for attribute in &entity.attributes {
            let place = (id, attribute.name.as_str());
            let found = match &attribute.kind {
                Type::Enum(all) if written.is_set(place, attribute) => {
                    never_stored(model, &written, &compared, (id, entity, attribute, all))
                }
                _ if !written.is_set(place, attribute) && read.contains(&place) => {
                    never_set(entity, attribute)
                }
                _ => None,
            };
            found.into_iter().for_each(|diagnostic| report.raise(diagnostic, &entity.waivers));
        }
    }
    for (id, queue) in model.queues.enumerate() {
        never_sent(model, &written, &compared, (id, queue), report);
    }
}

impl<'a> Written<'a> {
    fn take_in(&mut self, model: &'a Model, contract: &'a Contract, group: &Group<'a>) {
        for placed in &group.legs {
            self.take_in_leg(model, contract, group, placed);
        }
        for sent in &group.sends {
            for field in &model.queues[sent.send.queue].fields {
                let Type::Enum(all) = &field.kind else { continue };
                let given = sent.send.values.iter().find(|given| given.attribute == field.name);
                let words = given.map(|given| words(group, &given.value, all));
                let place = (sent.send.queue, field.name.as_str());
                self.sent.entry(place).or_default().extend(words.into_iter().flatten());
            }
        }
    }

    /// Takes in what views keep: it comes from another program, with whatever word.
    fn take_in_kept(&mut self, model: &'a Model) {
        for view in model.entities.iter() {
            let Some(source) = view.view_of else { continue };
            for attribute in view.attributes.iter().filter(|attribute| attribute.kept) {
                let place = (source, attribute.name.as_str());
                self.set.insert(place);
                if let Type::Enum(all) = &attribute.kind {
                    self.words.entry(place).or_default().extend(all.iter().map(String::as_str));
                }
            }
        }
    }

    fn take_in_leg(
        &mut self,
        model: &'a Model,
        contract: &'a Contract,
        group: &Group<'a>,
        placed: &Placed<'a>,
    ) {
        let leg = placed.leg;
        let entity = &model.entities[leg.entity];
        let makes = matches!(leg.verb, Verb::Put | Verb::Upsert);
        if makes {
            self.made.insert(leg.entity);
        } else {
            self.changed.entry(leg.entity).or_insert(leg.span);
        }
        // A put takes the attributes that it is not given from the item it is `of`.
        let source = leg.of.and_then(|id| contract.bindings[id].kind.item());
        for attribute in &entity.attributes {
            let name = attribute.name.as_str();
            let mut given = leg.key.iter().chain(&leg.values).chain(&leg.adds);
            let given = given.find(|given| given.attribute == name);
            let copied =
                source.is_some_and(|source| model.entities[source].attribute(name).is_some());
            if given.is_some() || copied {
                self.set.insert((leg.entity, name));
            }
            let Type::Enum(all) = &attribute.kind else { continue };
            let stored = self.words.entry((leg.entity, name)).or_default();
            match given {
                Some(given) => stored.extend(words(group, &given.value, all)),
                None if copied && makes => stored.extend(all.iter().map(String::as_str)),
                None if makes => stored.extend(initial(attribute)),
                None => {}
            }
        }
        if leg.put == Some(PutMode::Replace) || matches!(leg.verb, Verb::Update | Verb::Upsert) {
            for moved in moves(group, placed, entity, true) {
                let pairs = moved.pairs.into_iter();
                let name = moved.attribute.name.as_str();
                self.moved.extend(pairs.map(|(from, to)| (leg.entity, name, from, to)));
            }
        }
    }

    /// Whether an item can have an attribute.
    fn is_set(&self, place: (EntityId, &'a str), attribute: &Attribute) -> bool {
        !attribute.optional || attribute.default.is_some() || self.set.contains(&place)
    }
}

/// The word that an attribute has unless one is given.
fn initial(attribute: &Attribute) -> Option<&str> {
    attribute.default.as_ref().and_then(|default| default.as_text()).map(|text| text.as_str())
}

/// An entity whose items must be there, one for each item of another entity that is made. Others are filled from
/// elsewhere.
fn never_made(
    model: &Model,
    written: &Written<'_>,
    (id, entity): (EntityId, &Entity),
    report: &mut Report,
) {
    let Some(changed) = written.changed.get(&id) else { return };
    let parts = |entity: &Entity| -> BTreeSet<String> {
        entity.key.attributes().into_iter().map(str::to_owned).collect()
    };
    let of_key = parts(entity);
    let mut twins = model.entities.enumerate().filter(|(other, twin)| {
        written.made.contains(other) && twin.view_of.is_none() && parts(twin) == of_key
    });
    let Some((_, twin)) = twins.next() else { return };
    let (name, twin) = (&entity.name, &twin.name);
    let message = format!("nothing ever makes an item of `{name}`");
    let diagnostic = Diagnostic::new(Rule::NeverWritten, entity.span, message)
        .other(*changed, "this needs one")
        .why("a read of it finds nothing, and a write that needs it is always refused")
        .help(format!(
            "`put {name}` where an item of `{twin}` is made, which has the same parts in its key"
        ));
    report.raise(diagnostic, &entity.waivers);
}

/// Words, or else moves, of an attribute that no write comes to.
fn never_stored<'a>(
    model: &'a Model,
    written: &Written<'a>,
    compared: &Compared<'a>,
    (id, entity, attribute, all): (EntityId, &'a Entity, &'a Attribute, &'a [String]),
) -> Option<Diagnostic> {
    let name = attribute.name.as_str();
    let stored = written.words.get(&(id, name));
    let is_target = |word: &str| {
        let moves = attribute.moves.iter().flatten();
        moves.into_iter().any(|(_, targets)| targets.iter().any(|target| target == word))
    };
    let shared = is_shared(model, &attribute.kind);
    let missing: Vec<&str> = all
        .iter()
        .map(String::as_str)
        .filter(|word| !stored.is_some_and(|stored| stored.contains(word)))
        .filter(|word| !shared || is_target(word) || compared.stored(id, name, word).is_some())
        .collect();
    if !missing.is_empty() {
        let message =
            format!("nothing ever sets `{name}` of `{}` to {}", entity.name, list(&missing));
        let mut diagnostic = Diagnostic::new(Rule::NeverWritten, attribute.span, message)
            .why("no item ever has it: a test for it has one outcome, and whoever waits for it waits for ever")
            .help("set it in the contract that it is for, or delete the word");
        let places = missing.iter().filter_map(|word| compared.stored(id, name, word));
        for place in places.flatten().take(SHOWN_MAX) {
            diagnostic = diagnostic.other(*place, "compared with here");
        }
        return Some(diagnostic);
    }
    let declared = attribute.moves.iter().flatten();
    let pairs = declared.flat_map(|(from, targets)| targets.iter().map(move |to| (from, to)));
    let unmade: Vec<String> = pairs
        .filter(|(from, to)| !written.moved.contains(&(id, name, from.as_str(), to.as_str())))
        .map(|(from, to)| format!("from {from} to {to}"))
        .collect();
    (!unmade.is_empty()).then(|| {
        let message = format!("nothing ever moves `{name}` of `{}` {}", entity.name, list(&unmade));
        Diagnostic::new(Rule::NeverWritten, attribute.span, message)
            .why("the move is declared, and no write makes it: a write is missing, or its condition is for another value")
            .help("write the contract that makes the move, or delete it from the moves")
    })
}

/// Whether a list of words is that of several attributes or fields: one of them may need only some of the words.
fn is_shared(model: &Model, kind: &Type) -> bool {
    let attributes = model.entities.iter().flat_map(|entity| &entity.attributes);
    let attributes = attributes.filter(|attribute| !attribute.copied && attribute.kind == *kind);
    let fields = model.queues.iter().flat_map(|queue| &queue.fields);
    attributes.count() + fields.filter(|field| field.kind == *kind).count() > 1
}

/// An optional attribute that is read, and always absent.
fn never_set(entity: &Entity, attribute: &Attribute) -> Option<Diagnostic> {
    let name = &attribute.name;
    // Of a part of an index `never-listed` tells.
    if entity.indexes.iter().any(|index| index.key.attributes().contains(&name.as_str())) {
        return None;
    }
    let message = format!("nothing ever sets `{name}` of `{}`", entity.name);
    let diagnostic = Diagnostic::new(Rule::NeverWritten, attribute.span, message)
        .why("it is read, and it is always absent")
        .help("set it where the item is made or changed, or delete it");
    Some(diagnostic)
}

/// Words of a message that a worker asks for, and that no `send` gives.
fn never_sent(
    model: &Model,
    written: &Written<'_>,
    compared: &Compared<'_>,
    (id, queue): (QueueId, &Queue),
    report: &mut Report,
) {
    let Some(worker) = model.workers.iter().find(|worker| worker.queue == id) else { return };
    for field in &queue.fields {
        let name = field.name.as_str();
        let asked = worker.body.inputs.iter().any(|input| input.name == name && input.used);
        // To a queue that nothing is sent to `unused` objects.
        let (Type::Enum(all), Some(sent), true) =
            (&field.kind, written.sent.get(&(id, name)), asked)
        else {
            continue;
        };
        let shared = is_shared(model, &field.kind);
        let missing: Vec<&str> = all
            .iter()
            .map(String::as_str)
            .filter(|word| !sent.contains(word))
            .filter(|word| !shared || compared.sent(id, name, word).is_some())
            .collect();
        if missing.is_empty() {
            continue;
        }
        let message =
            format!("no `send` to `{}` ever gives `{name}` as {}", queue.name, list(&missing));
        let mut diagnostic = Diagnostic::new(Rule::NeverWritten, field.span, message)
            .why("what the worker does about it never happens")
            .help("send it where it is due, or delete the word");
        let places = missing.iter().filter_map(|word| compared.sent(id, name, word));
        for place in places.flatten().take(SHOWN_MAX) {
            diagnostic = diagnostic.other(*place, "compared with here");
        }
        report.raise(diagnostic, &queue.waivers);
    }
}

/// Names in a row, as they are spoken.
fn list(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}
