//! Entities: attributes, keys, indexes, views.

use latchkey_language::ast::{self, Document, ExprKind, Item, KeyPart, Member};
use latchkey_language::{Diagnostic, Name, Rule, Span};

use super::computed::is_computed;
use super::{Lowering, suggestion};
use crate::check::rules;
use crate::model::{
    Attribute, Entity, EntityId, Hole, IdVec, IndexShape, KeyNames, KeyShape, Piece, Template,
    Waiver,
};
use crate::types::Type;

/// The prefix of the keys of Latchkey's own items.
const RESERVED: &str = "LATCHKEY#";

/// The largest language of a key: what it costs to compare two keys grows with the product of their sizes.
const TEMPLATE_SIZE_MAX: usize = 4096;

/// Entities as they are declared, each name once.
pub(super) type Declared<'a> = IdVec<EntityId, &'a ast::Entity>;

impl Lowering {
    pub(super) fn entities(&mut self, document: &Document) {
        let declared: Vec<&ast::Entity> = document
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Entity(entity) => Some(entity),
                _ => None,
            })
            .collect();
        let mut kept: Declared<'_> = IdVec::default();
        for entity in declared {
            match self.entity_ids.get(&entity.name.node).map(|id| kept[*id]) {
                Some(first) => self.twice("entity", &entity.name, first.name.span),
                None => {
                    let id = kept.push(entity);
                    self.entity_ids.insert(entity.name.node.clone(), id);
                }
            }
        }
        // Views copy types, so what they copy from comes first.
        let mut attributes = kept.map(|_, entity| self.own_attributes(entity, &kept));
        for (id, entity) in kept.enumerate() {
            let copies = self.copied_attributes(entity, &attributes);
            attributes[id].splice(0..0, copies);
        }
        self.model.entities =
            kept.map(|id, entity| self.entity(entity, std::mem::take(&mut attributes[id])));
        self.places();
        self.told_apart(&kept);
        self.guards_count(&kept);
        self.ends_of_items(&kept);
    }

    /// Items of two entities must differ in their type, or one is read as the other.
    fn told_apart(&mut self, kept: &Declared<'_>) {
        for (at, entity) in kept.iter().enumerate() {
            let kind = &entity.discriminator;
            let first = kept.iter().take(at).find(|other| other.discriminator.node == kind.node);
            if let Some(first) = first {
                self.twice("entity type", kind, first.discriminator.span);
            }
        }
    }

    fn guards_count(&mut self, kept: &Declared<'_>) {
        for name in kept.iter().filter_map(|entity| entity.guarded_by.as_ref()) {
            let guard = self.entity_ids.get(&name.node).map(|id| &self.model.entities[*id]);
            if guard.is_some_and(|guard| guard.counter().is_none()) {
                let message = format!("`{}` has no counter to guard with", name.node);
                let help =
                    format!("add an attribute such as `revision counter` to `{}`", name.node);
                self.report(Diagnostic::new(Rule::Type, name.span, message).help(help));
            }
        }
    }

    fn entity(&mut self, entity: &ast::Entity, mut attributes: Vec<Attribute>) -> Entity {
        self.moves(entity, &mut attributes);
        let computed = self.computed_defaults(entity, &mut attributes);
        let (mut partition, mut sort) = (None, None);
        let (mut indexes, mut waivers) = (Vec::new(), Vec::new());
        for member in &entity.members {
            match member {
                Member::Key(key) => {
                    let template = self.template(&key.template, &attributes);
                    let place = match key.part.node {
                        KeyPart::Partition => &mut partition,
                        KeyPart::Sort => &mut sort,
                    };
                    if let Some(first) = place.replace(template) {
                        self.second_key(key, first.span);
                    }
                    self.key_is_whole(key, &attributes);
                }
                Member::Index(index) => {
                    let shape = self.index(index, &attributes);
                    let first = indexes.iter().find(|i: &&IndexShape| i.index == shape.index);
                    if let Some(first) = first {
                        self.twice("index", &index.name, first.span);
                    }
                    indexes.push(shape);
                }
                Member::Waive(waive) => waivers.extend(self.waiver(waive)),
                Member::Field(_) | Member::Copies(_) | Member::Moves(_) | Member::Expires(_) => {}
            }
        }
        let names = self.model.table.key.clone();
        let key = self.key_shape([partition, sort], &names, "table", entity.name.span);
        Entity {
            name: entity.name.node.clone(),
            discriminator: entity.discriminator.node.clone(),
            attributes,
            key,
            indexes,
            view_of: entity.view_of.as_ref().and_then(|name| self.entity_id(name)),
            guarded_by: entity.guarded_by.as_ref().and_then(|name| self.entity_id(name)),
            expires: None,
            // Contracts are not read yet.
            remade: false,
            computed,
            span: entity.name.span,
            waivers,
        }
    }

    fn second_key(&mut self, key: &ast::KeyTemplate, first: Span) {
        let second = Diagnostic::new(Rule::Name, key.part.span, "a second template for one key")
            .other(first, "the first is here");
        self.report(second);
    }

    /// Every part of an item's key is always there.
    fn key_is_whole(&mut self, key: &ast::KeyTemplate, attributes: &[Attribute]) {
        for piece in &key.template.pieces {
            let ast::Piece::Hole { value, .. } = piece else { continue };
            let ExprKind::Name(name) = &value.node else { continue };
            let found = attributes.iter().find(|attribute| attribute.name == *name);
            if let Some(attribute) = found.filter(|attribute| attribute.optional) {
                let message = format!("`{name}` may be absent, and the key needs it");
                let (declared, remedy) = match attribute.copied {
                    true => ("the copy may be absent", "leave out its `?`, or make it no copy"),
                    false => ("declared optional here", "leave out its `?`"),
                };
                let help = format!(
                    "{remedy}, or use `{name}` in an `index`: an item without it is not in the index"
                );
                let optional = Diagnostic::new(Rule::Type, value.span, message)
                    .other(attribute.span, declared)
                    .help(help);
                self.report(optional);
            }
        }
    }

    /// The templates of a key, as its table or index has parts.
    fn key_shape(
        &mut self,
        [partition, sort]: [Option<Template>; 2],
        names: &KeyNames,
        of: &str,
        span: Span,
    ) -> KeyShape {
        let partition = self.required_key(partition, "PK", span);
        let sort = match (&names.sort, sort) {
            (Some(_), sort) => self.required_key(sort, "SK", span),
            (None, None) => Template { pieces: Vec::new(), whole: true, span },
            (None, Some(sort)) => {
                let message = format!("the {of} has no sort key");
                let help = format!("leave out `SK`, or name it in the {of}");
                self.report(Diagnostic::new(Rule::Name, sort.span, message).help(help));
                Template { pieces: Vec::new(), whole: true, span }
            }
        };
        KeyShape { partition, sort }
    }

    fn required_key(&mut self, key: Option<Template>, part: &str, span: Span) -> Template {
        key.unwrap_or_else(|| {
            let message = format!("the entity has no `{part}`");
            let help = format!("write `{part} = \"…\"` first in it");
            self.report(Diagnostic::new(Rule::Name, span, message).help(help));
            Template { pieces: Vec::new(), whole: false, span }
        })
    }

    fn own_attributes(&mut self, entity: &ast::Entity, all: &Declared<'_>) -> Vec<Attribute> {
        let mut attributes: Vec<Attribute> = Vec::new();
        for member in &entity.members {
            let Member::Field(field) = member else { continue };
            if let Some(first) = attributes.iter().find(|other| other.name == field.name.node) {
                let span = first.span;
                self.twice("attribute", &field.name, span);
                continue;
            }
            self.not_reserved(&field.name);
            let kind =
                self.attribute_type(field, all).unwrap_or(Type::Text { max: None, like: None });
            self.set_may_be_absent(field, &kind);
            // What is computed is looked at when all attributes are known.
            let constant = field.default.as_ref().filter(|one| !is_computed(one, entity));
            if constant.is_some() {
                self.never_both(field);
            }
            let default = constant.map(|default| self.constant(default, &kind));
            let counters = attributes.iter().filter(|other| other.kind == Type::Counter).count();
            if kind == Type::Counter && counters > 0 {
                let message = "a second counter in one entity";
                self.report(Diagnostic::new(Rule::Type, field.name.span, message));
            }
            attributes.push(Attribute {
                name: field.name.node.clone(),
                secret: field.secret.is_some() || kind == Type::Key,
                kind,
                optional: field.optional.is_some(),
                copied: false,
                kept: false,
                default,
                computed: None,
                moves: None,
                span: field.name.span,
            });
        }
        attributes
    }

    fn copied_attributes(
        &mut self,
        entity: &ast::Entity,
        all: &IdVec<EntityId, Vec<Attribute>>,
    ) -> Vec<Attribute> {
        let mut copies = Vec::new();
        for member in &entity.members {
            let Member::Copies(names) = member else { continue };
            let Some(source) = &entity.view_of else {
                let span = names.first().map_or(entity.name.span, |copied| copied.name.span);
                let help = "write `view of ENTITY` behind the entity's type";
                self.report(Diagnostic::new(Rule::Name, span, "copies of what?").help(help));
                continue;
            };
            let Some(id) = self.entity_ids.get(&source.node).copied() else { continue };
            let attributes = &all[id];
            for ast::Copied { name, optional, kept } in names {
                match attributes.iter().find(|attribute| attribute.name == name.node) {
                    Some(attribute) => {
                        let kept = kept.is_some_and(|span| self.may_be_kept(attribute, span));
                        let (copied, default, computed) = (true, None, None);
                        let span = name.span;
                        // A copy of a counter counts the changes of its source, not its own.
                        let kind = match &attribute.kind {
                            Type::Counter => Type::Int { low: Some(1), high: None },
                            kind => kind.clone(),
                        };
                        copies.push(Attribute {
                            optional: attribute.optional || optional.is_some(),
                            copied,
                            kept,
                            default,
                            computed,
                            span,
                            kind,
                            ..attribute.clone()
                        });
                    }
                    None => {
                        let known = attributes.iter().map(|attribute| attribute.name.as_str());
                        let help = suggestion(&name.node, known);
                        self.unknown(&format!("attribute of `{}` named", source.node), name, help);
                    }
                }
            }
        }
        copies
    }

    /// Whether a view can have an attribute that its source lacks. If it cannot, that is reported.
    fn may_be_kept(&mut self, source: &Attribute, span: Span) -> bool {
        if !source.optional {
            let message =
                format!("every source has `{}`, so there is nothing to keep", source.name);
            let help = "leave out `kept`, or make the attribute optional where it is declared";
            let diagnostic = Diagnostic::new(Rule::Type, span, message);
            self.report(diagnostic.other(source.span, "declared here").help(help));
        }
        source.optional
    }

    fn moves(&mut self, entity: &ast::Entity, attributes: &mut [Attribute]) {
        for member in &entity.members {
            let Member::Moves(moves) = member else { continue };
            let name = &moves.attribute;
            let Some(attribute) = attributes.iter_mut().find(|other| other.name == name.node)
            else {
                self.unknown("attribute", name, None);
                continue;
            };
            let Type::Enum(values) = &attribute.kind else {
                let message =
                    format!("`{}` is of type {} and has no moves", name.node, attribute.kind);
                self.report(Diagnostic::new(Rule::Type, name.span, message));
                continue;
            };
            for value in moves.moves.iter().flat_map(|(from, to)| to.iter().chain([from])) {
                if !values.contains(&value.node) {
                    let help = suggestion(&value.node, values.iter().map(String::as_str));
                    let what = format!("value of `{}` named", name.node);
                    self.unknown(&what, value, help);
                }
            }
            let plain = |names: &[Name]| names.iter().map(|name| name.node.clone()).collect();
            let moves = moves.moves.iter().map(|(from, to)| (from.node.clone(), plain(to)));
            attribute.moves = Some(moves.collect());
        }
    }

    fn index(&mut self, index: &ast::Index, attributes: &[Attribute]) -> IndexShape {
        let (mut partition, mut sort) = (None, None);
        for key in &index.keys {
            let template = self.template(&key.template, attributes);
            let place = match key.part.node {
                KeyPart::Partition => &mut partition,
                KeyPart::Sort => &mut sort,
            };
            if let Some(first) = place.replace(template) {
                self.second_key(key, first.span);
            }
        }
        let id = self.index_id(&index.name);
        let names = self.model.indexes[id].key.clone();
        IndexShape {
            index: id,
            name: index.name.node.clone(),
            key: self.key_shape([partition, sort], &names, "index", index.name.span),
            moves: index.moves.is_some(),
            // All entities are read before it is known which attributes hold several keys.
            own_partition: true,
            own_sort: true,
            span: index.name.span,
        }
    }

    /// A key template: its holes are attributes and nothing else.
    fn template(&mut self, template: &ast::Template, attributes: &[Attribute]) -> Template {
        let mut pieces = Vec::new();
        if let Some(ast::Piece::Literal(text)) = template.pieces.first()
            && text.node.starts_with(RESERVED)
        {
            let message = format!("keys that begin with `{RESERVED}` are Latchkey's own");
            self.report(Diagnostic::new(Rule::Name, text.span, message));
        }
        for piece in &template.pieces {
            match piece {
                ast::Piece::Literal(text) => pieces.push(Piece::Literal(text.node.clone())),
                ast::Piece::Hole { value, format } => {
                    let ExprKind::Name(name) = &value.node else {
                        let message = "a key is made of attributes alone";
                        self.report(Diagnostic::new(Rule::Type, value.span, message));
                        continue;
                    };
                    match attributes.iter().find(|attribute| attribute.name == *name) {
                        Some(attribute) if !attribute.kind.has_text() => {
                            let message = format!(
                                "`{name}` is a {}, which cannot stand in a key",
                                attribute.kind
                            );
                            self.report(Diagnostic::new(Rule::Type, value.span, message));
                        }
                        Some(attribute) => {
                            if let Some(format) = format {
                                self.has_form(&attribute.kind, format);
                            }
                            pieces.push(Piece::Hole(Hole {
                                attribute: name.clone(),
                                kind: attribute.kind.clone(),
                                format: format.as_ref().map(|format| format.node),
                                span: value.span,
                            }));
                        }
                        None => {
                            let known = attributes.iter().map(|attribute| attribute.name.as_str());
                            let help = suggestion(name, known);
                            let name = Name::new(name.clone(), value.span);
                            self.unknown("attribute", &name, help);
                        }
                    }
                }
            }
        }
        let whole = pieces.len() == template.pieces.len();
        let template = Template { pieces, whole, span: template.span };
        if whole {
            self.key_is_fit(&template);
        }
        template
    }

    /// Refuses a key that can be empty, which no table takes, and one that is too large to be told from others.
    fn key_is_fit(&mut self, template: &Template) {
        let language = template.language();
        let (message, help) = if language.size() > TEMPLATE_SIZE_MAX {
            ("the patterns of this key are too large together", "shorten them, or use an `id`")
        } else if language.has_empty() && !template.holes().any(|hole| hole.kind.is_any_text()) {
            (
                "this key can be empty, and a table takes no empty key",
                "begin it with a word of its own, such as `\"META\"` or `\"LOG#…\"`",
            )
        } else {
            return;
        };
        self.report(Diagnostic::new(Rule::Type, template.span, message).help(help));
    }
}

impl Lowering {
    /// A waiver, if there is such a rule.
    pub(super) fn waiver(&mut self, waive: &ast::Waive) -> Option<Waiver> {
        let Some(rule) = rules().find(|rule| rule.slug() == waive.rule.node) else {
            let message = format!("there is no rule `{}`", waive.rule.node);
            let mut unknown = Diagnostic::new(Rule::Waive, waive.span, message);
            unknown.help = suggestion(&waive.rule.node, rules().map(Rule::slug));
            self.report(unknown);
            return None;
        };
        Some(Waiver { rule, reason: waive.reason.node.clone(), span: waive.span })
    }
}
