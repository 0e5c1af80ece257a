//! Which names of a document have the same type, by what is declared.

use std::collections::BTreeMap;

use latchkey_language::ast::{
    Contract, Document, Entity, Field, Item, Member, Operation, StatementKind, Type, Verb,
};

use crate::sites::each_statement;

/// The attributes of each entity with their types, and the words of each enum.
#[derive(Debug, Default)]
pub(crate) struct Names {
    entities: BTreeMap<String, Vec<(String, String)>>,
    enums: Vec<Vec<String>>,
}

impl Names {
    pub(crate) fn of(document: &Document) -> Names {
        let mut names = Names::default();
        let entities: Vec<&Entity> = document
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Entity(entity) => Some(entity),
                _ => None,
            })
            .collect();
        for entity in &entities {
            let fields = entity.members.iter().filter_map(|member| match member {
                Member::Field(field) => Some(field),
                _ => None,
            });
            let mut own = Vec::new();
            for field in fields {
                if let Type::OneOf(words) = &field.kind.node {
                    names.enums.push(words.iter().map(|word| word.node.clone()).collect());
                }
                own.push((field.name.node.clone(), names.kind(&field.kind.node)));
            }
            names.entities.insert(entity.name.node.clone(), own);
        }
        for view in &entities {
            let source = view.view_of.as_ref().and_then(|of| names.entities.get(&of.node));
            if let Some(own) = source.cloned() {
                names.entities.insert(view.name.node.clone(), own);
            }
        }
        names
    }

    /// A type, as a text that is the same for the same type.
    fn kind(&self, kind: &Type) -> String {
        match kind {
            Type::Named { name, .. } => name.node.clone(),
            Type::OneOf(words) => {
                words.iter().map(|word| word.node.as_str()).collect::<Vec<_>>().join("|")
            }
            Type::Of(entity, attribute) => {
                let own = self.entities.get(&entity.node).into_iter().flatten();
                let found = own.into_iter().find(|(name, _)| *name == attribute.node);
                found.map_or_else(|| entity.node.clone(), |(_, kind)| kind.clone())
            }
            Type::ListOf { of, .. } => format!("list of {}", self.kind(&of.node)),
            Type::SetOf { of, .. } => format!("set of {}", self.kind(&of.node)),
            Type::Record(members) => {
                let own =
                    |field: &Field| format!("{} {}", field.name.node, self.kind(&field.kind.node));
                members.iter().map(own).collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// The other words of the enum that a word belongs to.
    pub(crate) fn other_words(&self, word: &str) -> Vec<String> {
        let own = self.enums.iter().find(|words| words.iter().any(|other| other == word));
        let others = own.into_iter().flatten().filter(|other| *other != word);
        others.cloned().collect()
    }

    /// The other attributes of an entity that have the type of one.
    fn other_attributes(&self, entity: &str, attribute: &str) -> Vec<String> {
        let own = self.entities.get(entity);
        let kind = own.and_then(|own| own.iter().find(|(name, _)| name == attribute));
        let Some((_, kind)) = kind else { return Vec::new() };
        let alike =
            own.into_iter().flatten().filter(|(name, other)| other == kind && name != attribute);
        alike.map(|(name, _)| name.clone()).collect()
    }

    /// The type of an attribute of that name of any entity.
    fn any(&self, attribute: &str) -> Option<String> {
        let all = self.entities.values().flatten();
        all.into_iter().find(|(name, _)| name == attribute).map(|(_, kind)| kind.clone())
    }
}

/// The names of one contract, worker or steps.
#[derive(Debug, Default)]
pub(crate) struct Local {
    /// Inputs with their types.
    inputs: Vec<(String, String)>,
    /// Names of items with their entities.
    items: Vec<(String, String)>,
}

impl Local {
    pub(crate) fn of(names: &Names, contract: &Contract) -> Local {
        let mut local = Local::default();
        each_statement(&contract.body, &mut |statement| match &statement.node {
            StatementKind::Route { path, .. } => {
                let parts = path.node.split('/').filter_map(|part| part.strip_prefix('{'));
                for name in parts.filter_map(|part| part.strip_suffix('}')) {
                    if let Some(kind) = names.any(name) {
                        local.inputs.push((name.to_owned(), kind));
                    }
                }
            }
            StatementKind::Input(fields) => local.add(names, fields),
            StatementKind::Operate(name, operation) => local.bind(name.as_ref(), operation, names),
            StatementKind::Pick(name, pick) => {
                local.items.push((name.node.clone(), pick.entity.node.clone()));
            }
            _ => {}
        });
        local
    }

    /// Adds declared inputs or parameters.
    pub(crate) fn add(&mut self, names: &Names, fields: &[Field]) {
        for field in fields {
            let kind = names.kind(&field.kind.node);
            let target =
                if names.entities.contains_key(&kind) { &mut self.items } else { &mut self.inputs };
            target.push((field.name.node.clone(), kind));
        }
    }

    fn bind(
        &mut self,
        name: Option<&latchkey_language::Name>,
        operation: &Operation,
        names: &Names,
    ) {
        let target = &operation.target.node;
        let known = self.items.iter().find(|(name, _)| name == target);
        let entity = known.map_or(target, |(_, entity)| entity).clone();
        if let Some(name) = name
            && names.entities.contains_key(&entity)
            && operation.verb.node != Verb::Query
        {
            self.items.push((name.node.clone(), entity));
        }
    }

    /// Other inputs of the type of one.
    pub(crate) fn other_inputs(&self, name: &str) -> Vec<String> {
        let Some((_, kind)) = self.inputs.iter().find(|(own, _)| own == name) else {
            return Vec::new();
        };
        let alike = self.inputs.iter().filter(|(own, other)| own != name && other == kind);
        let mut all: Vec<String> = alike.map(|(own, _)| own.clone()).collect();
        if kind == "id" {
            all.push("caller.id".to_owned());
        }
        all
    }

    /// Other attributes of an item that have the type of one.
    pub(crate) fn other_attributes(
        &self,
        names: &Names,
        item: &str,
        attribute: &str,
    ) -> Vec<String> {
        let entity = self.items.iter().find(|(name, _)| name == item);
        entity.map_or_else(Vec::new, |(_, entity)| names.other_attributes(entity, attribute))
    }

    /// Other items of the entity of one.
    pub(crate) fn other_items(&self, item: &str) -> Vec<String> {
        let Some((_, entity)) = self.items.iter().find(|(name, _)| name == item) else {
            return Vec::new();
        };
        let alike = self.items.iter().filter(|(name, other)| name != item && other == entity);
        alike.map(|(name, _)| name.clone()).collect()
    }
}
