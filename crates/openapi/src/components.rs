//! The components of a document: schemas, headers and parameters, each made when an operation first uses it.

use std::collections::{BTreeMap, BTreeSet};

use latchkey_language::Span;
use latchkey_model::Model;
use latchkey_model::model::EntityId;

use crate::Version;
use crate::example::Fit;
use crate::json::{Json, Object};
use crate::names::{FIELD_ERROR, Place};
use crate::prose;
use crate::schema::{described, list, object, of_type, place_of, reference};
use crate::shape::{Member, Shape, shown};
use crate::shared::{Answered, Sent, field_error, security_schemes};

pub(crate) struct Components {
    pub(crate) version: Version,
    /// The address of the description of an OpenID Connect provider.
    oidc: Option<String>,
    schemas: BTreeMap<String, Json>,
    sent: BTreeSet<Sent>,
    answered: BTreeSet<Answered>,
}

impl Components {
    pub(crate) fn new(version: Version, oidc: Option<String>) -> Components {
        let (schemas, sent, answered) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Components { version, oidc, schemas, sent, answered }
    }

    pub(crate) fn fit(&self) -> Fit<'_> {
        Fit { schemas: &self.schemas }
    }

    /// Adds a schema, and refers to it.
    pub(crate) fn add(&mut self, name: &str, schema: Object) -> Object {
        self.schemas.insert(name.to_owned(), schema.into());
        reference(name)
    }

    /// The schema of the problems of a contract.
    pub(crate) fn problem(&mut self, place: Place<'_>, schema: Object) -> Object {
        self.schemas.entry(FIELD_ERROR.to_owned()).or_insert_with(field_error);
        self.add(&place.own.problem, schema)
    }

    /// A header of a request.
    pub(crate) fn sent(&mut self, header: Sent) -> Object {
        self.sent.insert(header);
        header.reference()
    }

    /// The headers of an answer.
    pub(crate) fn answered(&mut self, headers: impl Iterator<Item = Answered>) -> Object {
        let mut all = Object::new();
        for header in headers {
            self.answered.insert(header);
            all = all.with(header.name(), header.reference());
        }
        all
    }

    /// The schema of what a contract answers, under a name of its own unless it is an entity.
    pub(crate) fn answer(&mut self, model: &Model, place: Place<'_>, shape: Shape) -> Object {
        let is_named = matches!(shape, Shape::Entity(_));
        let schema = self.shape(model, place, shape);
        if is_named { schema } else { self.add(&place.own.answer, schema) }
    }

    /// The schema of a shape.
    pub(crate) fn shape(&mut self, model: &Model, place: Place<'_>, shape: Shape) -> Object {
        match shape {
            Shape::Type(kind) => of_type(&kind),
            Shape::Any => Object::new(),
            Shape::Cursor => {
                let cursor = Object::new()
                    .with("type", "string")
                    .with("description", "Where the list goes on; `null` on the last page.");
                self.version.nullable(cursor)
            }
            Shape::Entity(entity) => self.entity(model, place, entity),
            Shape::Typed(entities) => self.typed(model, place, &entities),
            Shape::List(of) => {
                let is_object = matches!(*of, Shape::Object(_));
                let item = self.shape(model, place, *of);
                // The items of a list that is the answer itself; of one in it, too, if there is no other.
                let free = !self.schemas.contains_key(&place.own.item);
                list(match is_object && free {
                    true => self.add(&place.own.item, item),
                    false => item,
                })
            }
            Shape::Object(members) => {
                let mut all = Vec::new();
                for Member { name, shape, required } in members {
                    let schema = self.shape(model, place, shape);
                    all.push((name, schema.into(), required));
                }
                object(all)
            }
        }
    }

    fn entity(&mut self, model: &Model, place: Place<'_>, id: EntityId) -> Object {
        let name = &place.system.entities[id].shown;
        if self.schemas.contains_key(name) {
            return reference(name);
        }
        let entity = &model.entities[id];
        let block = prose::above(model, entity.span);
        let alone = !model.entities.enumerate().any(|(other, entity)| {
            other != id && block.is_some() && prose::above(model, entity.span) == block
        });
        let schema = object(attributes(model, id));
        let schema = match block.filter(|_| alone) {
            Some(text) => schema.with("description", text),
            None => schema,
        };
        self.add(name, schema)
    }

    /// One of several entities, told by the type of the item.
    fn typed(&mut self, model: &Model, place: Place<'_>, entities: &[EntityId]) -> Object {
        let tag = model.table.discriminator.as_str();
        let (mut all, mut mapping) = (Vec::new(), Object::new());
        for id in entities {
            let word = model.entities[*id].discriminator.as_str();
            let kind = Object::new().with("type", "string").with("enum", vec![word]);
            let mut members = vec![(tag.to_owned(), Json::from(kind), true)];
            members.extend(attributes(model, *id).into_iter().filter(|(name, ..)| name != tag));
            let name = &place.system.entities[*id].typed;
            all.push(self.add(name, object(members)));
            mapping = mapping.with(word, place_of(name));
        }
        let discriminator = Object::new().with("propertyName", tag).with("mapping", mapping);
        Object::new().with("oneOf", all).with("discriminator", discriminator)
    }

    pub(crate) fn into_object(self) -> Object {
        let sent = self.sent.into_iter();
        let parameters: Object =
            sent.map(|header| (header.name().to_owned(), header.component())).collect();
        let answered = self.answered.into_iter();
        let headers: Object =
            answered.map(|header| (header.name().to_owned(), header.component())).collect();
        let schemas: Object = self.schemas.into_iter().collect();
        Object::new()
            .with_any("schemas", schemas)
            .with_any("parameters", parameters)
            .with_any("headers", headers)
            .with("securitySchemes", security_schemes(self.oidc.as_deref()))
    }
}

/// The attributes that are shown of an entity, with what the document says of each.
fn attributes(model: &Model, id: EntityId) -> Vec<(String, Json, bool)> {
    let spans: Vec<Span> = model.entities[id].attributes.iter().map(|one| one.span).collect();
    let attribute = |attribute: &latchkey_model::model::Attribute| {
        let said = prose::comment(model, attribute.span, &spans);
        let schema = described(of_type(&attribute.kind), said);
        (attribute.name.clone(), schema.into(), !attribute.optional)
    };
    shown(model, id).map(attribute).collect()
}
