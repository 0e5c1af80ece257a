//! Ends: which attribute holds the end of an item, and what may be written there.

use latchkey_language::ast::{self, Member};
use latchkey_language::{Diagnostic, Name, Rule};

use super::entity::Declared;
use super::{Lowering, stored, suggestion};
use crate::model::{EntityId, Leg, Verb};
use crate::types::Type;

impl Lowering {
    /// Takes in the end that each entity declares. A view ends with its source.
    pub(super) fn ends_of_items(&mut self, kept: &Declared<'_>) {
        for (id, entity) in kept.enumerate() {
            self.model.entities[id].expires = self.declared_end(id, entity);
        }
        for (id, entity) in kept.enumerate() {
            self.ends_with_source(id, entity);
        }
    }

    fn declared_end(&mut self, id: EntityId, entity: &ast::Entity) -> Option<String> {
        let mut end: Option<&Name> = None;
        for member in &entity.members {
            let Member::Expires(name) = member else { continue };
            match end {
                Some(first) => {
                    let message = "an item has one end";
                    let second = Diagnostic::new(Rule::Name, name.span, message)
                        .other(first.span, "it is declared here already");
                    self.report(second);
                }
                None => end = Some(name),
            }
        }
        let name = end?;
        let attributes = &self.model.entities[id].attributes;
        let Some(attribute) = attributes.iter().find(|attribute| attribute.name == name.node)
        else {
            let known = attributes.iter().map(|attribute| attribute.name.as_str());
            let help = suggestion(&name.node, known);
            self.unknown("attribute", name, help);
            return None;
        };
        let (message, help) = if attribute.kind != Type::Time {
            let message = format!("`{}` is {}, and an end is a time", name.node, attribute.kind);
            (message, format!("declare it so: `{} time`", name.node))
        } else if attribute.default.is_some() {
            let message = format!("`{}` is an end, and has no default", name.node);
            (
                message,
                "give it in every `put`; or make it optional: without it, an item has no end"
                    .to_owned(),
            )
        } else {
            return Some(name.node.clone());
        };
        let diagnostic = Diagnostic::new(Rule::Type, name.span, message);
        let declared = attribute.span;
        self.report(diagnostic.other(declared, "declared here").help(help));
        None
    }

    /// A view of an entity that ends copies the end, and ends then too.
    fn ends_with_source(&mut self, id: EntityId, entity: &ast::Entity) {
        let view = &self.model.entities[id];
        let Some(source) = view.view_of.map(|source| &self.model.entities[source]) else { return };
        let (message, help) = match (&view.expires, self.end_of_source(id)) {
            (None, None) => return,
            (own, Some(end)) => {
                let copied = view.attribute(end).is_some_and(|attribute| attribute.copied);
                if copied && own.as_ref().is_none_or(|own| own == end) {
                    let end = Some(end.clone());
                    self.model.entities[id].expires = end;
                    return;
                }
                let message = format!(
                    "`{}` is a view of `{}`, and does not end with it",
                    view.name, source.name
                );
                (message, format!("add `{end}` to its `copies`: a view ends with its source"))
            }
            (Some(_), None) => {
                let message = format!(
                    "`{}` is a view, and `{}` does not end with it",
                    view.name, source.name
                );
                (
                    message,
                    format!("write `expires` into `{}`; its views then end with it", source.name),
                )
            }
        };
        let why = "a view shows its source for as long as there is one";
        let diagnostic = Diagnostic::new(Rule::Type, entity.name.span, message);
        self.report(diagnostic.why(why).help(help));
    }

    /// The end of what an entity is a view of, or of what that is a view of.
    fn end_of_source(&self, mut id: EntityId) -> Option<&String> {
        // No chain of views is longer than there are entities, unless it is a circle.
        for _ in self.model.entities.iter() {
            let source = self.model.entities[id].view_of?;
            if let Some(end) = &self.model.entities[source].expires {
                return Some(end);
            }
            id = source;
        }
        None
    }

    /// Refuses a write of an item that ends, if the write cannot know the end or whether there is an item.
    pub(super) fn keeps_the_end(&mut self, leg: &Leg) {
        let entity = &self.model.entities[leg.entity];
        let Some(end) = &entity.expires else { return };
        if leg.verb == Verb::Upsert {
            let message =
                format!("`{}` ends, and an `upsert` does not ask whether it has", entity.name);
            let diagnostic = Diagnostic::new(Rule::Type, leg.span, message)
                .why("an item that has ended is absent, though it may still be stored: its old values would come back")
                .help("`update` the item, and `put … if absent` where there is none");
            self.report(diagnostic);
            return;
        }
        let computed = leg
            .values
            .iter()
            .find(|given| given.attribute == *end && stored::mentions(&given.value));
        if let Some(given) = computed {
            let message = format!("`{end}` is the end of the item, and no store computes that");
            let diagnostic = Diagnostic::new(Rule::Type, given.span, message)
                .why("the second in which the item may be removed is computed from the end, before the write")
                .help("`get` the item first, and set the end to a value of the item that was read");
            self.report(diagnostic);
        }
    }
}
