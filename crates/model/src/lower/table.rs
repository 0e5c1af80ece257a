//! The table: the names of its keys, and its indexes.

use latchkey_language::ast::{self, ClauseKind, KeyPart};
use latchkey_language::{Diagnostic, Name, Rule};

use latchkey_value::limits::TABLE_NAME_BYTES;
use latchkey_value::name::{EXPIRY_ATTRIBUTE, OWN_TABLE_SUFFIX};

use super::reserved::taken;
use super::{Lowering, suggestion};
use crate::model::{
    By, EntityId, Expr, ExprKind, IndexId, KeyAttribute, KeyNames, Kind, Query, Range, Table,
    TableIndex, TextPiece,
};
use crate::types::Type;

impl Lowering {
    /// Takes in the table and the indexes that it lists.
    pub(super) fn table(&mut self, declared: &ast::Table) {
        if let Some(name) = &declared.ttl {
            self.reserve_ttl(name);
        }
        let key = self.key_names(&declared.keys, None);
        if declared.keys.is_empty() {
            self.removes_by_no_key(&key, declared.ttl.as_ref());
        }
        let named = |keys: &[ast::KeyName]| !keys.is_empty();
        self.names_keys =
            named(&declared.keys) || declared.indexes.iter().any(|index| named(&index.keys));
        let discriminator = declared.discriminator.as_ref();
        match discriminator {
            Some(name) => self.type_name(name, &key),
            None => {
                let message = "the table does not say which attribute tells its items apart";
                let help = format!("write `table {} {{ type entityType }}`", declared.name.node);
                let missing = Diagnostic::new(Rule::Name, declared.name.span, message);
                self.report(missing.help(help));
            }
        }
        self.model.table = Table {
            name: declared.name.node.clone(),
            discriminator: discriminator.map_or_else(String::new, |name| name.node.clone()),
            ttl: declared
                .ttl
                .as_ref()
                .map_or_else(|| EXPIRY_ATTRIBUTE.to_owned(), |name| name.node.clone()),
            key,
        };
        for index in &declared.indexes {
            let key = self.key_names(&index.keys, Some(&index.name.node));
            if index.keys.is_empty() {
                self.removes_by_no_key(&key, declared.ttl.as_ref());
            }
            let known = self.model.indexes.iter().find(|other| other.name == index.name.node);
            match known.map(|known| known.span) {
                Some(first) => self.twice("index", &index.name, first),
                None => {
                    let (name, span) = (index.name.node.clone(), index.name.span);
                    let holds = index.holds.as_ref().map(|holds| self.projection(holds, &key));
                    self.model.indexes.push(TableIndex { name, key, holds, span });
                }
            }
        }
        self.lists_indexes = !declared.indexes.is_empty();
        self.one_type();
        self.own_table_has_a_name(&declared.name);
    }

    /// The attribute by which the table removes items holds no key. That it is none that is named is seen with the key.
    fn removes_by_no_key(&mut self, key: &KeyNames, ttl: Option<&Name>) {
        if let Some(name) = ttl.filter(|name| key.has(&name.node)) {
            let diagnostic = taken(name, "a key");
            self.report(diagnostic.help("choose another name"));
        }
    }

    /// A key attribute is a text wherever it is one, or a number.
    fn one_type(&mut self) {
        let mut known: Vec<&KeyAttribute> = self.model.table.key.iter().collect();
        let mut found = Vec::new();
        for index in &self.model.indexes {
            for attribute in index.key.iter() {
                match known.iter().find(|other| other.name == attribute.name) {
                    Some(other) if other.number != attribute.number => {
                        let message = format!(
                            "`{}` is a text in one key and a number in another",
                            attribute.name
                        );
                        found.push(Diagnostic::new(Rule::Type, index.span, message));
                    }
                    Some(_) => {}
                    None => known.push(attribute),
                }
            }
        }
        self.diagnostics.extend(found);
    }

    /// A table with keys or indexes of its own may have a second one beside it.
    fn own_table_has_a_name(&mut self, name: &Name) {
        let most = TABLE_NAME_BYTES.end() - OWN_TABLE_SUFFIX.len();
        if self.names_keys && name.node.len() > most {
            let message = format!("the name is too long for a second table, `…{OWN_TABLE_SUFFIX}`");
            let help = format!("choose one of at most {most} characters");
            self.report(Diagnostic::new(Rule::Name, name.span, message).help(help));
        }
    }

    /// The attribute that tells entities apart holds no key of the table.
    fn type_name(&mut self, name: &Name, key: &KeyNames) {
        for (attribute, part) in key.iter().zip(["partition", "sort"]) {
            if name.node == attribute.name {
                let diagnostic = taken(name, &format!("the {part} key of every item"));
                self.report(diagnostic.help("choose another name"));
            }
        }
        self.reserve_type(name);
    }

    /// The names of a key: as they are written, or else those that every table has. A key that names its partition and
    /// nothing else has no sort key.
    fn key_names(&mut self, written: &[ast::KeyName], index: Option<&str>) -> KeyNames {
        let (mut partition, mut sort): (Option<&ast::KeyName>, Option<&ast::KeyName>) =
            (None, None);
        for key in written {
            // The type may be a key of an index. That it is none of the table is seen with the type.
            if key.attribute.node != self.model.table.discriminator {
                self.not_reserved(&key.attribute);
            }
            let place = match key.part.node {
                KeyPart::Partition => &mut partition,
                KeyPart::Sort => &mut sort,
            };
            if let Some(first) = place.replace(key) {
                let second =
                    Diagnostic::new(Rule::Name, key.part.span, "a second name for one key")
                        .other(first.attribute.span, "the first is here");
                self.report(second);
            }
        }
        let named = |key: &ast::KeyName| KeyAttribute {
            name: key.attribute.node.clone(),
            number: key.number.is_some(),
        };
        match (partition, sort) {
            (Some(partition), Some(sort)) if partition.attribute.node == sort.attribute.node => {
                let message = "one attribute cannot be both the partition key and the sort key";
                self.report(Diagnostic::new(Rule::Name, sort.attribute.span, message));
                KeyNames { partition: named(partition), ..KeyNames::standard(index) }
            }
            (Some(partition), sort) => {
                KeyNames { partition: named(partition), sort: sort.map(named) }
            }
            (None, Some(sort)) => {
                let help = "write `PK` and the attribute that holds it, too";
                let message = "the key has no `PK`";
                self.report(Diagnostic::new(Rule::Name, sort.attribute.span, message).help(help));
                KeyNames::standard(index)
            }
            (None, None) => KeyNames::standard(index),
        }
    }

    /// Refuses what a query asks of its key and the key cannot have: a sort key that there is none of, or anything but
    /// a number where it is one.
    pub(super) fn keys_have_types(&mut self, query: &Query) {
        let Some(names) = self.model.key_names(query.by) else { return };
        let mut found = Vec::new();
        for (at, value) in query.texts().enumerate() {
            let partition = at == 0 && query.partition.is_some();
            let part = if partition { KeyPart::Partition } else { KeyPart::Sort };
            let wrong = match names.attribute(part) {
                None => {
                    Some(("there is no sort key to ask for".to_owned(), "leave out this condition"))
                }
                Some(key) if key.number && !is_number(value) => Some((
                    format!("the key `{}` is a number, and this is none", key.name),
                    "write a number: an input, an attribute or a constant, without quotes",
                )),
                Some(key)
                    if key.number && matches!(query.range, Range::BeginsWith(_)) && !partition =>
                {
                    Some((
                        format!("the key `{}` is a number, which begins with nothing", key.name),
                        "write `between … and …`",
                    ))
                }
                Some(_) => None,
            };
            found.extend(wrong.map(|(message, help)| {
                Diagnostic::new(Rule::Type, value.span, message).help(help)
            }));
        }
        self.diagnostics.extend(found);
    }

    /// The index by which a query reads. All its entities have a place there.
    pub(super) fn by_index(
        &mut self,
        index: &Name,
        operation: &ast::Operation,
        of: &[EntityId],
    ) -> By {
        let id = self.model.indexes.position(|known| known.name == index.node);
        let has = |entity: &EntityId, id| self.model.entities[*entity].place(By::Index(id));
        let by = match id {
            Some(id) if of.iter().all(|entity| has(entity, id).is_some()) => By::Index(id),
            _ => By::Unknown,
        };
        if by == By::Unknown {
            let message = format!("there is no index of the entity named `{}`", index.node);
            let shapes = of.iter().flat_map(|entity| &self.model.entities[*entity].indexes);
            let names = shapes.map(|shape| shape.name.as_str());
            let mut unknown = Diagnostic::new(Rule::Name, index.span, message);
            unknown.help = suggestion(&index.node, names);
            self.report(unknown);
        }
        let strong = |clause: &&ast::Clause| matches!(clause.node, ClauseKind::Strong(_));
        if let Some(clause) = operation.clauses.iter().find(strong) {
            let message = "a query by an index is never strong";
            let help = "leave `strong` out, and `get` what a decision rests on";
            let diagnostic = Diagnostic::new(Rule::Type, clause.span, message)
                .other(index.span, "the index")
                .why("DynamoDB copies items to its indexes a moment after the write");
            self.report(diagnostic.help(help));
        }
        by
    }

    /// The index of a name that an entity has a place in.
    pub(super) fn index_id(&mut self, name: &Name) -> IndexId {
        let known = self.model.indexes.position(|index| index.name == name.node);
        if known.is_none() && self.lists_indexes {
            let message = format!("the table has no index `{}`", name.node);
            let listed = self.model.indexes.iter().map(|index| index.name.as_str());
            let mut unknown = Diagnostic::new(Rule::Name, name.span, message)
                .why("a table that lists indexes lists all of them");
            let written = || format!("write `index {} {{ … }}` in the table", name.node);
            unknown.help = Some(suggestion(&name.node, listed).unwrap_or_else(written));
            self.report(unknown);
        }
        known.unwrap_or_else(|| {
            let key = KeyNames::standard(Some(&name.node));
            if key.has(&self.model.table.ttl) {
                let message = format!("a key of the index would be `{}`", self.model.table.ttl);
                let why = "by that attribute the table removes items";
                let taken = Diagnostic::new(Rule::Name, name.span, message).why(why);
                self.report(taken.help("choose another name for the index, or for the `ttl`"));
            }
            let (name, span) = (name.node.clone(), name.span);
            self.model.indexes.push(TableIndex { name, key, holds: None, span })
        })
    }
}

/// Whether a value is a number, alone or as all of a text. What is unknown was reported.
fn is_number(value: &Expr) -> bool {
    let value = match &value.kind {
        ExprKind::Text(pieces) => match pieces.as_slice() {
            [TextPiece::Value(value, None)] => value,
            _ => return false,
        },
        _ => value,
    };
    match &value.of {
        Kind::Value(kind) => {
            matches!(kind, Type::Int { .. } | Type::Number { .. } | Type::Counter)
        }
        _ => true,
    }
}
