//! What an index holds of an item: all of it, or its keys and some attributes.

use crate::limits::{KEY_NAME_BYTES_MAX, PROJECTED_INDEX_MAX, PROJECTED_MAX};
use crate::{Index, Invalid, Item, KeyNames, Schema, Text, Value};

/// What an index holds of an item.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Projection {
    /// All of it.
    #[default]
    All,
    /// The keys of the table and of the index, and these attributes. They are in the order of their names.
    Keys(Vec<Text>),
}

impl Projection {
    /// The keys and some attributes, each once.
    pub fn keys<N: Into<Text>>(attributes: impl IntoIterator<Item = N>) -> Projection {
        let mut attributes: Vec<Text> = attributes.into_iter().map(Into::into).collect();
        attributes.sort_unstable();
        attributes.dedup();
        Projection::Keys(attributes)
    }

    /// DynamoDB's word for it.
    pub fn code(&self) -> &'static str {
        match self {
            Projection::All => "ALL",
            Projection::Keys(attributes) if attributes.is_empty() => "KEYS_ONLY",
            Projection::Keys(_) => "INCLUDE",
        }
    }

    /// The attributes it has beside the keys, where it does not have all.
    pub fn attributes(&self) -> &[Text] {
        match self {
            Projection::All => &[],
            Projection::Keys(attributes) => attributes,
        }
    }
}

impl Index {
    /// An index that holds whole items.
    pub fn new(name: impl Into<Text>, key: KeyNames) -> Index {
        Index { name: name.into(), key, holds: Projection::All }
    }

    /// The same, holding this of an item.
    #[must_use]
    pub fn holding(self, holds: Projection) -> Index {
        Index { holds, ..self }
    }

    /// Whether it holds an attribute of the items of a table that has such a key.
    pub fn has(&self, table: &KeyNames, name: &str) -> bool {
        match &self.holds {
            Projection::All => true,
            Projection::Keys(attributes) => {
                table.has(name)
                    || self.key.has(name)
                    || attributes.binary_search_by(|other| other.as_str().cmp(name)).is_ok()
            }
        }
    }

    /// What it holds of an item of a table that has such a key.
    pub fn held<'a>(
        &'a self,
        table: &'a KeyNames,
        item: &'a Item,
    ) -> impl Iterator<Item = (&'a Text, &'a Value)> {
        item.iter().filter(|(name, _)| self.has(table, name))
    }

    /// An item as a read of the index finds it.
    pub fn cut(&self, table: &KeyNames, item: Item) -> Item {
        match self.holds {
            Projection::All => item,
            Projection::Keys(_) => {
                item.into_iter().filter(|(name, _)| self.has(table, name)).collect()
            }
        }
    }
}

impl Schema {
    /// Refuses projections that no table can have.
    pub(crate) fn validate_projections(&self) -> Result<(), Invalid> {
        let mut total = 0;
        for index in &self.indexes {
            let attributes = index.holds.attributes();
            total += attributes.len();
            if attributes.len() > PROJECTED_INDEX_MAX || total > PROJECTED_MAX {
                return Err(Invalid::Projected { index: index.name.clone() });
            }
            for name in attributes {
                let is_key = self.key.has(name) || index.key.has(name);
                if name.is_empty() || name.len() > KEY_NAME_BYTES_MAX || is_key {
                    return Err(Invalid::KeyName { name: name.clone() });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(holds: Projection) -> Index {
        Index::new("GSI1", KeyNames::new("GSI1PK", "GSI1SK")).holding(holds)
    }

    fn item() -> Item {
        let names = ["PK", "SK", "GSI1PK", "GSI1SK", "name", "price", "type"];
        names.into_iter().map(|name| (name, "x")).collect()
    }

    #[test]
    fn an_index_has_the_keys_and_what_is_listed() {
        let table = Schema::new("Test").key;
        let names = |holds: Projection| {
            let cut = index(holds).cut(&table, item());
            cut.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(Projection::All), "GSI1PK GSI1SK PK SK name price type");
        assert_eq!(names(Projection::keys::<&str>([])), "GSI1PK GSI1SK PK SK");
        let some = Projection::keys(["type", "absent", "name", "type"]);
        assert_eq!(names(some.clone()), "GSI1PK GSI1SK PK SK name type");
        let index = index(some);
        let of_item = item();
        let held: Item =
            index.held(&table, &of_item).map(|(n, v)| (n.clone(), v.clone())).collect();
        assert_eq!(held, index.cut(&table, item()));
    }

    #[test]
    fn a_projection_has_its_word() {
        assert_eq!(Projection::All.code(), "ALL");
        assert_eq!(Projection::keys::<&str>([]).code(), "KEYS_ONLY");
        assert_eq!(Projection::keys(["a"]).code(), "INCLUDE");
    }

    #[test]
    fn an_index_lists_at_most_20_attributes_and_a_table_100() {
        let list = |count: usize| Projection::keys((0..count).map(|at| format!("a{at}")));
        let with = |counts: &[usize]| {
            let mut schema = Schema::new("Test");
            for (at, count) in counts.iter().enumerate() {
                let name = format!("GSI{at}");
                schema = schema.with_index(&name);
                schema.indexes.last_mut().unwrap().holds = list(*count);
            }
            schema.validate()
        };
        assert_eq!(with(&[20, 20, 20, 20, 20]), Ok(()));
        let too_many = |index: &str| Err(Invalid::Projected { index: index.into() });
        assert_eq!(with(&[20, 21]), too_many("GSI1"));
        assert_eq!(with(&[20, 20, 20, 20, 20, 1]), too_many("GSI5"));
    }

    #[test]
    fn no_key_is_listed() {
        for name in ["PK", "GSI1SK", ""] {
            let mut schema = Schema::new("Test").with_index("GSI1");
            schema.indexes[0].holds = Projection::keys([name]);
            assert_eq!(schema.validate(), Err(Invalid::KeyName { name: name.into() }));
        }
    }
}
