//! Entities: attributes, keys, indexes, views.

use latchkey_language::ast::{self, Document, ExprKind, Item, KeyPart, Member};
use latchkey_language::{Diagnostic, Name, Span};

use super::{Lowering, suggestion};
use crate::model::{Attribute, Entity, Hole, IndexShape, KeyShape, Piece, Template, Waiver};
use crate::types::Type;

/// The most bytes of a text: what an item can hold.
const TEXT_BYTES_MAX: u64 = 400 * 1024;

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
        let mut kept = Vec::new();
        for entity in declared {
            match self.entity_ids.get(&entity.name.node).and_then(|id| kept.get(*id)) {
                Some(first) => {
                    let first: &&ast::Entity = first;
                    self.twice("entity", &entity.name, first.name.span);
                }
                None => {
                    self.entity_ids.insert(entity.name.node.clone(), kept.len());
                    kept.push(entity);
                }
            }
        }
        // Views copy types, so what they copy from comes first.
        let mut attributes: Vec<Vec<Attribute>> =
            kept.iter().map(|entity| self.own_attributes(entity)).collect();
        for (id, entity) in kept.iter().enumerate() {
            let copies = self.copied_attributes(entity, &attributes);
            if let Some(own) = attributes.get_mut(id) {
                own.splice(0..0, copies);
            }
        }
        for (entity, attributes) in kept.into_iter().zip(attributes) {
            let lowered = self.entity(entity, attributes);
            self.model.entities.push(lowered);
        }
    }

    fn entity(&mut self, entity: &ast::Entity, mut attributes: Vec<Attribute>) -> Entity {
        self.moves(entity, &mut attributes);
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
                    *place = Some(template);
                }
                Member::Index(index) => indexes.push(self.index(index, &attributes)),
                Member::Waive(waive) => waivers.push(waiver(waive)),
                Member::Field(_) | Member::Copies(_) | Member::Moves(_) => {}
            }
        }
        let key = KeyShape {
            partition: self.required_key(partition, "PK", entity.name.span),
            sort: self.required_key(sort, "SK", entity.name.span),
        };
        Entity {
            name: entity.name.node.clone(),
            discriminator: entity.discriminator.node.clone(),
            attributes,
            key,
            indexes,
            view_of: entity.view_of.as_ref().and_then(|name| self.entity_id(name)),
            guarded_by: entity.guarded_by.as_ref().and_then(|name| self.entity_id(name)),
            span: entity.name.span,
            waivers,
        }
    }

    fn required_key(&mut self, key: Option<Template>, part: &str, span: Span) -> Template {
        key.unwrap_or_else(|| {
            let message = format!("the entity has no `{part}`");
            let help = format!("write `{part} = \"…\"` first in it");
            self.report(Diagnostic::new("name", span, message).help(help));
            Template { pieces: Vec::new(), span }
        })
    }

    fn own_attributes(&mut self, entity: &ast::Entity) -> Vec<Attribute> {
        let mut attributes: Vec<Attribute> = Vec::new();
        for member in &entity.members {
            let Member::Field(field) = member else { continue };
            if let Some(first) = attributes.iter().find(|other| other.name == field.name.node) {
                let span = first.span;
                self.twice("attribute", &field.name, span);
                continue;
            }
            let kind =
                self.field_type(field).unwrap_or(Type::Text { max: TEXT_BYTES_MAX, like: None });
            let counters = attributes.iter().filter(|other| other.kind == Type::Counter).count();
            if kind == Type::Counter && counters > 0 {
                let message = "a second counter in one entity";
                self.report(Diagnostic::new("type", field.name.span, message));
            }
            attributes.push(Attribute {
                name: field.name.node.clone(),
                kind,
                optional: field.optional.is_some(),
                secret: field.secret.is_some(),
                copied: false,
                default: field.default.as_ref().map(|default| match &default.node {
                    ExprKind::Name(name) | ExprKind::Number(name) => name.clone(),
                    _ => String::new(),
                }),
                moves: None,
                span: field.name.span,
            });
        }
        attributes
    }

    fn copied_attributes(
        &mut self,
        entity: &ast::Entity,
        all: &[Vec<Attribute>],
    ) -> Vec<Attribute> {
        let mut copies = Vec::new();
        for member in &entity.members {
            let Member::Copies(names) = member else { continue };
            let Some(source) = &entity.view_of else {
                let span = names.first().map_or(entity.name.span, |name| name.span);
                let help = "write `view of ENTITY` behind the entity's type";
                self.report(Diagnostic::new("name", span, "copies of what?").help(help));
                continue;
            };
            let Some(id) = self.entity_ids.get(&source.node).copied() else { continue };
            let Some(attributes) = all.get(id) else { continue };
            for name in names {
                match attributes.iter().find(|attribute| attribute.name == name.node) {
                    Some(attribute) => {
                        let (copied, default, span) = (true, None, name.span);
                        // A copy of a counter counts the changes of its source, not its own.
                        let kind = match &attribute.kind {
                            Type::Counter => Type::Int { low: Some(1), high: None },
                            kind => kind.clone(),
                        };
                        copies.push(Attribute { copied, default, span, kind, ..attribute.clone() });
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
                self.report(Diagnostic::new("type", name.span, message));
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
            let template = Some(self.template(&key.template, attributes));
            match key.part.node {
                KeyPart::Partition => partition = template,
                KeyPart::Sort => sort = template,
            }
        }
        let key = KeyShape {
            partition: self.required_key(partition, "PK", index.name.span),
            sort: self.required_key(sort, "SK", index.name.span),
        };
        IndexShape {
            name: index.name.node.clone(),
            key,
            moves: index.moves.is_some(),
            span: index.name.span,
        }
    }

    /// A key template: its holes are attributes and nothing else.
    fn template(&mut self, template: &ast::Template, attributes: &[Attribute]) -> Template {
        let mut pieces = Vec::new();
        for piece in &template.pieces {
            match piece {
                ast::Piece::Literal(text) => pieces.push(Piece::Literal(text.node.clone())),
                ast::Piece::Hole { value, width } => {
                    let ExprKind::Name(name) = &value.node else {
                        let message = "a key is made of attributes alone";
                        self.report(Diagnostic::new("type", value.span, message));
                        continue;
                    };
                    match attributes.iter().find(|attribute| attribute.name == *name) {
                        Some(attribute) => pieces.push(Piece::Hole(Hole {
                            attribute: name.clone(),
                            kind: attribute.kind.clone(),
                            width: width.as_ref().map(|width| width.node),
                            span: value.span,
                        })),
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
        Template { pieces, span: template.span }
    }

    /// The type of an attribute or an input.
    pub(super) fn field_type(&mut self, field: &ast::Field) -> Option<Type> {
        match &field.kind.node {
            ast::Type::OneOf(values) => {
                Some(Type::Enum(values.iter().map(|value| value.node.clone()).collect()))
            }
            ast::Type::Of(entity, attribute) => {
                let id = self.entity_id(entity)?;
                let found = self.model.entities.get(id)?.attribute(&attribute.node);
                let kind = found.map(|found| found.kind.clone());
                if kind.is_none() {
                    self.unknown(&format!("attribute of `{}` named", entity.node), attribute, None);
                }
                kind
            }
            ast::Type::Named { name, arguments, bounds, like } => {
                let kind = self.named_type(name, arguments, bounds.as_ref(), like.as_ref());
                if kind.is_none() {
                    let known = NAMED.iter().copied();
                    let help = suggestion(&name.node, known).or_else(|| {
                        Some(format!("the types are {} and `A | B`", NAMED.join(", ")))
                    });
                    self.unknown("type", name, help);
                }
                kind
            }
        }
    }

    fn named_type(
        &mut self,
        name: &Name,
        arguments: &[Name],
        bounds: Option<&ast::Bounds>,
        like: Option<&Name>,
    ) -> Option<Type> {
        let argument = |at: usize| arguments.get(at).and_then(|text| text.node.parse::<u64>().ok());
        let bound = |of: fn(&ast::Bounds) -> &Option<Name>| {
            bounds.and_then(|bounds| of(bounds).as_ref()).map(|text| text.node.clone())
        };
        let (low, high) = (bound(|bounds| &bounds.low), bound(|bounds| &bounds.high));
        let whole = |text: Option<String>| text.and_then(|text| text.parse().ok());
        let takes = match name.node.as_str() {
            "text" => 1,
            "map" => 2,
            _ => 0,
        };
        let kind = match name.node.as_str() {
            "id" => Type::Id,
            "ulid" => Type::Ulid,
            "text" => Type::Text {
                max: argument(0).unwrap_or(TEXT_BYTES_MAX),
                like: like.map(|like| like.node.clone()),
            },
            "int" => Type::Int { low: whole(low), high: whole(high) },
            "number" => Type::Number { low, high },
            "counter" => Type::Counter,
            "bool" => Type::Bool,
            "time" => Type::Time,
            "list" => Type::List,
            "map" => Type::Map { bytes: argument(0).unwrap_or(0), depth: argument(1).unwrap_or(0) },
            "key" => Type::Key,
            _ => return None,
        };
        if arguments.len() != takes {
            let help = match takes {
                1 => "write `text(80)`: the most bytes",
                2 => "write `map(2048, 5)`: the most bytes and levels",
                _ => "leave the parentheses out",
            };
            let message = format!("`{}` takes {takes} numbers in parentheses", name.node);
            self.report(Diagnostic::new("type", name.span, message).help(help));
        }
        Some(kind)
    }
}

/// The types that have a name.
const NAMED: &[&str] =
    &["id", "ulid", "text", "int", "number", "counter", "bool", "time", "list", "map", "key"];

pub(super) fn waiver(waive: &ast::Waive) -> Waiver {
    let (rule, reason) = (waive.rule.node.clone(), waive.reason.node.clone());
    Waiver { rule, reason, span: waive.span }
}
