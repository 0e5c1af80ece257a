//! Indexes that do not hold whole items: what such an index lists, and what may be asked of an item that it found.

use std::collections::HashMap;

use latchkey_language::{Diagnostic, Name, Rule, Span, Spanned};
use latchkey_value::limits::{PROJECTED_INDEX_MAX, PROJECTED_MAX};

use super::{Lowering, suggestion};
use crate::model::{
    BindingId, By, Contract, EntityId, Expr, ExprKind, IndexId, KeyNames, Kind, Leg, Model,
    PathPart, Query, Read, Return, Step, StepKind, TableIndex, Verb, What, each_step,
};

impl Lowering {
    /// The attributes that an index holds beside keys.
    pub(super) fn projection(&mut self, holds: &Spanned<Vec<Name>>, key: &KeyNames) -> Vec<Name> {
        let mut listed: Vec<Name> = Vec::new();
        for name in &holds.node {
            let wrong = if key.has(&name.node) || self.model.table.key.has(&name.node) {
                Some(format!("`{}` is a key, and an index always holds the keys", name.node))
            } else if listed.iter().any(|other| other.node == name.node) {
                Some(format!("`{}` is listed twice", name.node))
            } else {
                None
            };
            match wrong {
                Some(message) => {
                    let diagnostic = Diagnostic::new(Rule::Name, name.span, message);
                    self.report(diagnostic.help("leave it out"));
                }
                None => listed.push(name.clone()),
            }
        }
        let others = self.model.indexes.iter().filter_map(|index| index.holds.as_ref());
        let total = others.map(Vec::len).sum::<usize>() + listed.len();
        if listed.len() > PROJECTED_INDEX_MAX || total > PROJECTED_MAX {
            let message = format!(
                "an index lists at most {PROJECTED_INDEX_MAX} attributes, and all of a table {PROJECTED_MAX}"
            );
            let help = "leave `holds` out: the index then holds whole items";
            self.report(Diagnostic::new(Rule::Type, holds.span, message).help(help));
        }
        listed
    }
}

/// Refuses what an index lists and no item has, and what is asked of items that an index does not hold.
pub(super) fn check(model: &Model) -> Vec<Diagnostic> {
    if !model.indexes.iter().any(|index| index.holds.is_some()) {
        return Vec::new();
    }
    let listed = model
        .indexes
        .enumerate()
        .flat_map(|(id, index)| index.holds.iter().flatten().map(move |name| (id, name)));
    let mut found: Vec<Diagnostic> =
        listed.filter_map(|(index, name)| unknown(model, index, name)).collect();
    let invariants = model.invariants.iter().map(|invariant| &invariant.body);
    for contract in model.bodies().into_iter().chain(invariants) {
        Uses { model, contract, sources: sources(contract), found: &mut found }.check();
    }
    found
}

/// That no item of an index has an attribute that the index lists.
fn unknown(model: &Model, index: IndexId, name: &Name) -> Option<Diagnostic> {
    let entities =
        || model.entities.iter().filter(|entity| entity.place(By::Index(index)).is_some());
    let known = model.table.discriminator == name.node
        || name.node == model.table.ttl
        || entities().any(|entity| entity.attribute(&name.node).is_some());
    if known {
        return None;
    }
    let message = format!("no item of this index has an attribute `{}`", name.node);
    let all = entities().flat_map(|entity| &entity.attributes);
    let mut diagnostic = Diagnostic::new(Rule::Name, name.span, message);
    diagnostic.help = suggestion(&name.node, all.map(|attribute| attribute.name.as_str()));
    Some(diagnostic)
}

/// The result that each element, or each other name of it, comes from.
fn sources(contract: &Contract) -> HashMap<BindingId, BindingId> {
    let mut sources = HashMap::new();
    each_step(&contract.steps, &mut |step| {
        match &step.kind {
            StepKind::Each(each) => sources.extend(each.result().map(|of| (each.element, of))),
            StepKind::Read(read) => {
                if let What::Batch(batch) = &read.what {
                    sources.extend(batch.result().map(|(of, element)| (element, of)));
                }
            }
            StepKind::Let(binding, Expr { kind: ExprKind::Binding(of), .. }) => {
                sources.insert(*binding, *of);
            }
            _ => {}
        }
        step.expressions(&mut |expr| {
            expr.walk(&mut |part| {
                if let ExprKind::Every { over, element, .. } = &part.kind {
                    sources.extend(over.result().map(|of| (*element, of)));
                }
            });
        });
    });
    sources
}

/// The uses of what a contract has read.
struct Uses<'a> {
    model: &'a Model,
    contract: &'a Contract,
    sources: HashMap<BindingId, BindingId>,
    found: &'a mut Vec<Diagnostic>,
}

impl<'a> Uses<'a> {
    fn check(&mut self) {
        let contract = self.contract;
        each_step(&contract.steps, &mut |step| {
            step.expressions(&mut |expr| expr.walk(&mut |part| self.expression(part)));
            match &step.kind {
                StepKind::Read(read) => {
                    if let What::Query(query) = &read.what {
                        self.query(read, query);
                    }
                }
                StepKind::Write(leg) => self.leg(leg),
                StepKind::Return(returned) => self.returned(returned, step),
                _ => {}
            }
        });
    }

    /// The read that found an item by an index that does not hold all of it.
    fn partial(&self, binding: BindingId) -> Option<(&'a Read, By, &'a TableIndex)> {
        let mut binding = binding;
        // A name stands for another, which was there before it.
        while let Some(source) = self.sources.get(&binding) {
            binding = *source;
        }
        let read = self.contract.read_of(binding)?;
        let (read, query) = self.contract.query_of(read)?;
        Some((read, query.by, self.model.partial(query.by)?))
    }

    fn expression(&mut self, part: &Expr) {
        match &part.kind {
            ExprKind::Attribute(binding, name)
            | ExprKind::CountBy(binding, name, _)
            | ExprKind::Sum(binding, name) => self.attribute(*binding, name, part.span),
            _ => {}
        }
    }

    fn attribute(&mut self, binding: BindingId, name: &str, span: Span) {
        let Some((read, by, index)) = self.partial(binding) else { return };
        let Some(entity) = self.contract.bindings[binding].kind.entity() else { return };
        if self.model.tells(by, entity, name) {
            return;
        }
        let message = format!("the index `{}` does not hold `{name}`", index.name);
        let help = format!("`get` the item, or write `{name}` behind `holds keys` of the index");
        self.tell(Diagnostic::new(Rule::Absent, span, message), read, index, help);
    }

    fn tell(&mut self, diagnostic: Diagnostic, read: &Read, index: &TableIndex, help: String) {
        let diagnostic = diagnostic
            .other(index.span, "it holds its keys, and what is listed here")
            .other(read.span, "the item is found by it here");
        self.found.push(diagnostic.help(help));
    }

    /// A query tells items of other entities by their type, and items that have ended by their end.
    fn query(&mut self, read: &Read, query: &Query) {
        let Some(index) = self.model.partial(query.by) else { return };
        let kind = &self.model.table.discriminator;
        let mut missing = Vec::new();
        if !read.also.is_empty() && !self.model.has(query.by, kind) {
            missing.push((kind.as_str(), "nothing tells the items of these entities apart"));
        }
        for id in read.entities() {
            let end = self.model.entities[id].expires.as_deref();
            let end = end.filter(|end| !self.model.tells(query.by, id, end));
            missing.extend(end.map(|end| (end, "nothing tells which of these items have ended")));
        }
        let mut told = Vec::new();
        for (_, test) in query.tests() {
            test.walk(&mut |part| {
                if let ExprKind::Stored(name) = &part.kind
                    && !self.model.has(query.by, name)
                    && !told.contains(&part.span)
                {
                    told.push(part.span);
                    let message = format!("the index `{}` does not hold `{name}`", index.name);
                    let help = format!("write `{name}` behind `holds keys` of the index");
                    let diagnostic = Diagnostic::new(Rule::Absent, part.span, message)
                        .why("a filter tests what the index holds, and would find it nowhere");
                    self.found.push(diagnostic.help(help));
                }
            });
        }
        for (name, message) in missing {
            let diagnostic = Diagnostic::new(Rule::Absent, read.span, message)
                .other(index.span, format!("the index does not hold `{name}`"))
                .help(format!("write `{name}` behind `holds keys` of the index"));
            self.found.push(diagnostic);
        }
    }

    /// A write needs the whole item it is on, and a put what it takes from another.
    fn leg(&mut self, leg: &Leg) {
        if let Some((read, _, index)) = leg.target.and_then(|target| self.partial(target)) {
            let entity = &self.model.entities[leg.entity].name;
            let verb = leg.verb.word();
            let message =
                format!("this is on an item of which the index `{}` holds a part", index.name);
            let help = format!("`get` the item first, or write `{verb} {entity}(…)` with its key");
            self.tell(Diagnostic::new(Rule::Absent, leg.span, message), read, index, help);
        }
        let Some(of) = leg.of.filter(|_| leg.verb == Verb::Put) else { return };
        let given = |name: &str| {
            let mut all = leg.key.iter().chain(&leg.values).chain(&leg.adds);
            all.any(|given| given.attribute == name)
        };
        let Some(theirs) = self.contract.bindings[of].kind.entity() else { return };
        let theirs = &self.model.entities[theirs];
        for attribute in &self.model.entities[leg.entity].attributes {
            let counts = self.model.entities[leg.entity]
                .counter()
                .is_some_and(|it| it.name == attribute.name);
            if !given(&attribute.name) && !counts && theirs.attribute(&attribute.name).is_some() {
                self.attribute(of, &attribute.name, leg.span);
            }
        }
    }

    /// What is returned is held.
    fn returned(&mut self, returned: &Return, step: &Step) {
        if let Some(binding) = returned.binding {
            for part in returned.at.iter().flatten() {
                if let PathPart::Attribute(name) = part {
                    self.attribute(binding, name, step.span);
                }
            }
            for name in &returned.fields {
                self.attribute(binding, name, step.span);
            }
            if returned.fields.is_empty() {
                self.whole(binding, step.span);
            }
        }
        for given in &returned.with {
            if let ExprKind::Binding(binding) = given.value.kind {
                self.whole(binding, given.value.span);
            }
        }
    }

    /// All that is not secret of an item, or of several, is shown.
    fn whole(&mut self, binding: BindingId, span: Span) {
        let Some((read, by, index)) = self.partial(binding) else { return };
        let (model, kind) = (self.model, &self.contract.bindings[binding].kind);
        let missing = |id: &EntityId| {
            let shown = model.entities[*id].attributes.iter().filter(|attribute| !attribute.secret);
            let id = *id;
            shown.filter(move |attribute| !model.tells(by, id, &attribute.name))
        };
        let missing: Vec<&str> =
            kind.entities().iter().flat_map(missing).map(|it| it.name.as_str()).collect();
        let Some(first) = missing.first() else { return };
        let more = match missing.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more attributes"),
        };
        let message =
            format!("the index `{}` does not hold `{first}`{more}, and all is shown", index.name);
        let help = match kind {
            Kind::Collection(_) => "write what is missing behind `holds keys` of the index",
            _ => {
                "name what is shown: `return … { … }`; or `get` the items, or let the index hold more"
            }
        };
        self.tell(Diagnostic::new(Rule::Absent, span, message), read, index, help.to_owned());
    }
}
