//! From the syntax tree to the model: every name resolved, every type known.
//!
//! A mistake is reported where it is made; what depends on it is taken as unknown and not reported again.

mod answer;
mod attribute;
mod collection;
mod computed;
mod contract;
mod each;
mod entity;
mod expiry;
mod expression;
mod field;
mod fit;
mod function;
mod held;
mod inline;
mod invariant;
mod keep;
mod key;
mod literal;
mod operation;
mod operator;
mod part;
mod place;
mod record;
mod reserved;
mod rounded;
mod scope;
mod secret;
mod send;
mod shards;
mod snapshot;
mod statement;
mod stored;
mod structure;
mod table;
mod worker;
mod write;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use latchkey_language::ast::{self, Document, Item};
use latchkey_language::{Diagnostic, Name, Rule, Span};

use crate::model::{EntityId, Model, PutMode, QueueId, Role, RoleId, StepKind, Verb, each_step};
use crate::types::Type;

pub use field::{pattern, written_pattern};
pub(crate) use literal::milliseconds;
pub(crate) use place::is_required;
use reserved::Reserved;
pub(crate) use statement::ends;

/// A document, as far as it has a meaning.
pub(crate) struct Lowered {
    pub(crate) model: Model,
    /// What is wrong with its names and types.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The uses of an item of which nobody tells what it is by then. Where `unpinned` is broken it is the reason, and
    /// these are not told.
    pub(crate) untold: Vec<Diagnostic>,
}

/// Resolves the names and types of a document.
pub(crate) fn lower(document: &Document) -> Lowered {
    let mut lowering = Lowering::default();
    lowering.declare(document);
    lowering.entities(document);
    lowering.queues(document);
    lowering.contracts(document);
    lowering.invariants(document);
    let Lowering { mut model, mut diagnostics, untold, .. } = lowering;
    for entity in remade(&model) {
        model.entities[entity].remade = true;
    }
    diagnostics.extend(held::check(&model));
    Lowered { model, diagnostics, untold }
}

/// The entities of which a statement deletes an item, or replaces one, and those whose items end.
fn remade(model: &Model) -> HashSet<EntityId> {
    let expiring = model.entities.enumerate().filter(|(_, entity)| entity.is_expiring());
    let mut found: HashSet<EntityId> = expiring.map(|(id, _)| id).collect();
    for body in model.bodies() {
        each_step(&body.steps, &mut |step| {
            if let StepKind::Write(leg) = &step.kind
                && (leg.verb == Verb::Delete || leg.put == Some(PutMode::Replace))
            {
                found.insert(leg.entity);
            }
        });
    }
    found
}

#[derive(Default)]
pub(super) struct Lowering {
    pub(super) model: Model,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Diagnostics that are reported only if `unpinned` finds nothing.
    pub(super) untold: Vec<Diagnostic>,
    /// The names of attributes that the table itself uses.
    reserved: Reserved,
    /// Whether the table lists its indexes, so that there are no others.
    lists_indexes: bool,
    /// Whether it names attributes that hold keys.
    names_keys: bool,
    /// Entities by name.
    pub(super) entity_ids: HashMap<String, EntityId>,
    /// The types of the attributes that make keys, by name.
    pub(super) key_types: HashMap<String, Type>,
    /// The defaults that are computed from other attributes.
    pub(super) computed: HashMap<(EntityId, String), ast::Expr>,
    /// Queues by name.
    pub(super) queue_ids: HashMap<String, QueueId>,
    /// Steps by name.
    pub(super) declared_steps: HashMap<String, Rc<ast::Steps>>,
    /// Those that something does.
    pub(super) done_steps: HashSet<String>,
    /// Those that are being done, each within the one before.
    pub(super) doing: Vec<String>,
    /// How many statements the contract that is being read has so far.
    pub(super) statements: usize,
    /// What the contract that is being read asks of its caller.
    pub(super) asked: Asked,
}

/// What a contract asks of its caller, and where.
#[derive(Default)]
pub(super) struct Asked {
    /// The first `allow anyone`.
    pub(super) anyone: Option<Span>,
    /// The uses of the caller.
    pub(super) callers: Vec<Span>,
    /// The other `allow`s.
    pub(super) allows: Vec<Span>,
}

impl Lowering {
    /// Takes in what stands alone: the system, the table, the roles.
    fn declare(&mut self, document: &Document) {
        let (mut system, mut table) = (None, None);
        for item in &document.items {
            match item {
                Item::System(name) => {
                    self.once("system", name.span, &mut system);
                    self.model.system.clone_from(&name.node);
                }
                Item::Table(declared) => {
                    self.once("table", declared.name.span, &mut table);
                    self.table(declared);
                }
                Item::Role(role) => {
                    let known = self.model.roles.iter().find(|other| other.name == role.name.node);
                    if let Some(known) = known {
                        let span = known.span;
                        self.twice("role", &role.name, span);
                        continue;
                    }
                    let implies = role.implies.as_ref().and_then(|implied| self.role(implied));
                    let (name, span) = (role.name.node.clone(), role.name.span);
                    self.model.roles.push(Role { name, implies, span });
                }
                Item::Entity(_)
                | Item::Contract(_)
                | Item::Queue(_)
                | Item::Worker(_)
                | Item::Steps(_)
                | Item::Invariant(_) => {}
            }
        }
        for (what, found) in [("system", system), ("table", table)] {
            if found.is_none() && !document.items.is_empty() {
                let message = format!("the document declares no {what}");
                let help = match what {
                    "system" => "write `system NAME` in its first block",
                    _ => "write `table NAME { type ATTRIBUTE }` in its first block",
                };
                self.diagnostics
                    .push(Diagnostic::new(Rule::Name, Span::default(), message).help(help));
            }
        }
    }

    /// A role that is declared above.
    pub(super) fn role(&mut self, name: &Name) -> Option<RoleId> {
        let found = self.model.roles.position(|role| role.name == name.node);
        if found.is_none() {
            let roles = self.model.roles.iter().map(|role| role.name.as_str());
            let help = suggestion(&name.node, roles);
            self.unknown("role", name, help);
        }
        found
    }

    fn once(&mut self, what: &str, span: Span, found: &mut Option<Span>) {
        if let Some(first) = found {
            let diagnostic = Diagnostic::new(Rule::Name, span, format!("a second {what}"))
                .other(*first, "the first is here")
                .help("a document is one system with one table");
            self.diagnostics.push(diagnostic);
        }
        found.get_or_insert(span);
    }

    pub(super) fn twice(&mut self, what: &str, name: &Name, first: Span) {
        let message = format!("{what} `{}` is declared twice", name.node);
        let diagnostic =
            Diagnostic::new(Rule::Name, name.span, message).other(first, "the first is here");
        self.diagnostics.push(diagnostic);
    }

    /// Reports the name of an attribute or a function that does not exist. Of one with a dash, the parser has said that
    /// it is no name.
    pub(super) fn unknown_operand(&mut self, what: &str, name: &Name, help: Option<String>) {
        if !name.node.contains('-') {
            self.unknown(what, name, help);
        }
    }

    pub(super) fn unknown(&mut self, what: &str, name: &Name, help: Option<String>) {
        let mut diagnostic =
            Diagnostic::new(Rule::Name, name.span, format!("there is no {what} `{}`", name.node));
        diagnostic.help = help;
        self.diagnostics.push(diagnostic);
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// An entity by its name.
    pub(super) fn entity_id(&mut self, name: &Name) -> Option<EntityId> {
        let found = self.entity_ids.get(&name.node).copied();
        if found.is_none() {
            let help = suggestion(&name.node, self.entity_ids.keys().map(String::as_str));
            self.unknown("entity", name, help);
        }
        found
    }
}

/// The closest of the known names, if one is close.
pub(crate) fn suggestion<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let best = known.map(|other| (strsim::levenshtein(name, other), other)).min()?;
    (best.0 <= name.len().div_ceil(3)).then(|| format!("did you mean `{}`?", best.1))
}

#[cfg(test)]
mod tests;
