//! Where a value lies in an item.

use std::fmt;

use crate::limits::PATH_STEPS_MAX;
use crate::{Invalid, Item, Text, Value, validate};

/// An attribute, or a place within it: `status`, `address.city`, `tags[0]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    root: Text,
    steps: Vec<Step>,
}

/// One step into a map or a list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The entry of a map.
    Field(Text),
    /// The element of a list, from 0.
    Index(usize),
}

impl Path {
    /// The path of a whole attribute. The name is taken as it is: dots in it mean nothing.
    pub fn attribute(name: impl Into<Text>) -> Path {
        Path { root: name.into(), steps: Vec::new() }
    }

    /// The path of an entry of the map here.
    #[must_use]
    pub fn field(mut self, name: impl Into<Text>) -> Path {
        self.steps.push(Step::Field(name.into()));
        self
    }

    /// The path of an element of the list here.
    #[must_use]
    pub fn index(mut self, index: usize) -> Path {
        self.steps.push(Step::Index(index));
        self
    }

    /// The attribute the path starts at.
    pub fn root(&self) -> &Text {
        &self.root
    }

    /// The steps from that attribute on.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What lies here in an item.
    pub fn of<'a>(&self, item: &'a Item) -> Option<&'a Value> {
        walk(item.get(&self.root)?, &self.steps)
    }

    /// Whether there is a place here in an item, be it filled or not: an attribute always has one, an
    /// entry where its map is, an element where its list is.
    pub fn has_place(&self, item: &Item) -> bool {
        let Some((last, steps)) = self.steps.split_last() else { return true };
        let around = item.get(&self.root).and_then(|root| walk(root, steps));
        matches!(
            (around, last),
            (Some(Value::Map(_)), Step::Field(_)) | (Some(Value::List(_)), Step::Index(_))
        )
    }

    /// Refuses a path DynamoDB would refuse whatever is stored.
    pub(crate) fn validate(&self) -> Result<(), Invalid> {
        if self.steps.len() > PATH_STEPS_MAX {
            return Err(Invalid::PathSteps { steps: self.steps.len() });
        }
        validate::name(&self.root)?;
        self.steps.iter().try_for_each(|step| match step {
            Step::Field(name) => validate::name(name),
            Step::Index(_) => Ok(()),
        })
    }

    /// Whether one of the two lies within the other, or they disagree whether a value they share is a
    /// map or a list.
    pub fn clashes_with(&self, other: &Path) -> bool {
        self.root == other.root
            && self.steps.iter().zip(&other.steps).find(|(a, b)| a != b).is_none_or(|pair| {
                !matches!(pair, (Step::Field(_), Step::Field(_)) | (Step::Index(_), Step::Index(_)))
            })
    }
}

fn walk<'a>(root: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    steps.iter().try_fold(root, |value, step| match (value, step) {
        (Value::Map(map), Step::Field(name)) => map.get(name),
        (Value::List(list), Step::Index(index)) => list.get(*index),
        _ => None,
    })
}

impl From<&str> for Path {
    fn from(name: &str) -> Path {
        Path::attribute(name)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.root)?;
        self.steps.iter().try_for_each(|step| match step {
            Step::Field(name) => write!(f, ".{name}"),
            Step::Index(index) => write!(f, "[{index}]"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Map;

    #[test]
    fn leads_into_maps_and_lists() {
        let list = Value::List(vec![Value::from(1), Value::from(Map::from([("x", 2)]))]);
        let item = Item::from([("a.b", Value::from(3)), ("l", list)]);
        assert_eq!(Path::from("a.b").of(&item), Some(&Value::from(3)));
        assert_eq!(Path::from("l").index(1).field("x").of(&item), Some(&Value::from(2)));
        assert_eq!(Path::from("l").field("x").of(&item), None);
        assert_eq!(Path::from("l").index(2).of(&item), None);
        assert_eq!(Path::from("l").index(1).field("x").to_string(), "l[1].x");
    }

    #[test]
    fn overlapping_paths_clash() {
        let a = || Path::from("a");
        assert!(a().clashes_with(&a()));
        assert!(a().clashes_with(&a().field("b")));
        assert!(a().field("b").clashes_with(&a().index(0)));
        assert!(!a().field("b").clashes_with(&a().field("c")));
        assert!(!a().index(0).field("x").clashes_with(&a().index(1)));
        assert!(!a().clashes_with(&Path::from("b")));
    }
}
