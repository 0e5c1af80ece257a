//! Values of every DynamoDB type, and maps of them.

use std::collections::BTreeSet;
use std::fmt;

use crate::Number;

/// A short string: names, keys and most values fit in place, with no allocation.
pub use compact_str::CompactString as Text;

/// A value of one of DynamoDB's ten types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `S`
    Text(Text),
    /// `N`
    Number(Number),
    /// `B`
    Bytes(Vec<u8>),
    /// `BOOL`
    Bool(bool),
    /// `NULL`
    Null,
    /// `L`
    List(Vec<Value>),
    /// `M`
    Map(Map),
    /// `SS`
    TextSet(BTreeSet<Text>),
    /// `NS`
    NumberSet(BTreeSet<Number>),
    /// `BS`
    BytesSet(BTreeSet<Vec<u8>>),
}

/// The type of a value, named as DynamoDB names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// `S`
    Text,
    /// `N`
    Number,
    /// `B`
    Bytes,
    /// `BOOL`
    Bool,
    /// `NULL`
    Null,
    /// `L`
    List,
    /// `M`
    Map,
    /// `SS`
    TextSet,
    /// `NS`
    NumberSet,
    /// `BS`
    BytesSet,
}

impl ValueType {
    /// DynamoDB's letters for the type.
    pub fn code(self) -> &'static str {
        match self {
            ValueType::Text => "S",
            ValueType::Number => "N",
            ValueType::Bytes => "B",
            ValueType::Bool => "BOOL",
            ValueType::Null => "NULL",
            ValueType::List => "L",
            ValueType::Map => "M",
            ValueType::TextSet => "SS",
            ValueType::NumberSet => "NS",
            ValueType::BytesSet => "BS",
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl Value {
    /// The type of the value.
    pub fn value_type(&self) -> ValueType {
        match self {
            Value::Text(_) => ValueType::Text,
            Value::Number(_) => ValueType::Number,
            Value::Bytes(_) => ValueType::Bytes,
            Value::Bool(_) => ValueType::Bool,
            Value::Null => ValueType::Null,
            Value::List(_) => ValueType::List,
            Value::Map(_) => ValueType::Map,
            Value::TextSet(_) => ValueType::TextSet,
            Value::NumberSet(_) => ValueType::NumberSet,
            Value::BytesSet(_) => ValueType::BytesSet,
        }
    }

    /// The text, when the value is one.
    pub fn as_text(&self) -> Option<&Text> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    /// The number, when the value is one.
    pub fn as_number(&self) -> Option<Number> {
        if let Value::Number(number) = self { Some(*number) } else { None }
    }

    /// The bytes DynamoDB counts for the value, its name apart.
    ///
    /// Lists and maps cost 3 bytes and 1 for each element.
    pub fn size(&self) -> usize {
        match self {
            Value::Text(text) => text.len(),
            Value::Number(number) => number.size(),
            Value::Bytes(bytes) => bytes.len(),
            Value::Bool(_) | Value::Null => 1,
            Value::List(values) => 3 + values.iter().map(|value| 1 + value.size()).sum::<usize>(),
            Value::Map(map) => 3 + map.len() + map.size(),
            Value::TextSet(set) => set.iter().map(|text| text.len()).sum(),
            Value::NumberSet(set) => set.iter().map(Number::size).sum(),
            Value::BytesSet(set) => set.iter().map(Vec::len).sum(),
        }
    }

    /// Whether lists and maps lie at most `levels` deep in the value; a scalar lies 0 deep.
    pub fn nests_within(&self, levels: usize) -> bool {
        let within = |value: &Value| levels > 0 && value.nests_within(levels - 1);
        match self {
            Value::List(values) => levels > 0 && values.iter().all(within),
            Value::Map(map) => levels > 0 && map.iter().all(|(_, value)| within(value)),
            _ => true,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<Text> for Value {
    fn from(text: Text) -> Value {
        Value::Text(text)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Value {
        Value::Number(number)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Number(number.into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Value {
        Value::Map(map)
    }
}

/// Attributes by name, in the order of their names.
///
/// ```
/// use latchkey_value::{Item, Value};
///
/// let mut item = Item::from([("state", Value::from("OPEN")), ("openings", Value::from(3))]);
/// item.insert("label", Value::from("front"));
/// let names: Vec<&str> = item.iter().map(|(name, _)| name.as_str()).collect();
/// assert_eq!(names, ["label", "openings", "state"]);
/// assert_eq!(item.get("state").and_then(Value::as_text).map(|text| text.as_str()), Some("OPEN"));
/// ```
///
/// A map is a sorted list, because it is read far more often than changed. [`FromIterator`] builds a large map with one
/// sort; [`Map::insert`] is for a few attributes. A map of another type than [`Value`] is an item whose values are not
/// known yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Map<V = Value> {
    // Invariant: sorted by name, no name twice.
    entries: Vec<(Text, V)>,
}

/// A stored record: its attributes, those of its key among them.
pub type Item = Map;

impl Map {
    /// A map of nothing.
    pub const fn new() -> Map {
        Map { entries: Vec::new() }
    }

    /// A map of nothing, with room for `capacity` attributes.
    pub fn with_capacity(capacity: usize) -> Map {
        Map { entries: Vec::with_capacity(capacity) }
    }

    /// The bytes DynamoDB counts for the attributes and their names.
    pub fn size(&self) -> usize {
        self.entries.iter().map(|(name, value)| name.len() + value.size()).sum()
    }
}

impl<V> Map<V> {
    /// How many attributes there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of an attribute.
    pub fn get(&self, name: &str) -> Option<&V> {
        let at = self.position(name).ok()?;
        self.entries.get(at).map(|(_, value)| value)
    }

    /// The value of an attribute, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        let at = self.position(name).ok()?;
        self.entries.get_mut(at).map(|(_, value)| value)
    }

    /// Sets an attribute and returns what it was.
    pub fn insert(&mut self, name: impl Into<Text>, value: impl Into<V>) -> Option<V> {
        let (name, value) = (name.into(), value.into());
        match self.position(&name) {
            Ok(at) => self.entries.get_mut(at).map(|(_, old)| std::mem::replace(old, value)),
            Err(at) => {
                self.entries.insert(at, (name, value));
                None
            }
        }
    }

    /// Takes an attribute out and returns what it was.
    pub fn remove(&mut self, name: &str) -> Option<V> {
        let at = self.position(name).ok()?;
        Some(self.entries.remove(at).1)
    }

    /// Adds an attribute whose name sorts after every other. The caller has made sure of it: only a debug
    /// build looks again.
    pub fn push_last(&mut self, name: Text, value: V) {
        debug_assert!(self.entries.last().is_none_or(|(last, _)| *last < name), "out of order");
        self.entries.push((name, value));
    }

    /// The attributes in the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Text, &V)> {
        self.entries.iter().map(|(name, value)| (name, value))
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.entries.binary_search_by(|(other, _)| other.as_str().cmp(name))
    }
}

impl<N: Into<Text>, T: Into<V>, V> FromIterator<(N, T)> for Map<V> {
    /// Of two attributes of one name, the last stays.
    fn from_iter<I: IntoIterator<Item = (N, T)>>(pairs: I) -> Map<V> {
        let mut entries: Vec<(Text, V)> =
            pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        entries.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
        Map { entries }
    }
}

impl<N: Into<Text>, V: Into<Value>, const COUNT: usize> From<[(N, V); COUNT]> for Map {
    fn from(pairs: [(N, V); COUNT]) -> Map {
        pairs.into_iter().collect()
    }
}

impl<V> IntoIterator for Map<V> {
    type Item = (Text, V);
    type IntoIter = std::vec::IntoIter<(Text, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_takes_no_more_room_than_four_words() {
        assert!(size_of::<Value>() <= 32, "{}", size_of::<Value>());
    }

    #[test]
    fn a_map_stays_sorted_and_keeps_the_last_of_a_name() {
        let mut map = Map::from([("b", 1), ("a", 2), ("b", 3), ("c", 4)]);
        assert_eq!(map.insert("aa", 5), None);
        assert_eq!(map.insert("a", 6), Some(Value::from(2)));
        assert_eq!(map.remove("c"), Some(Value::from(4)));
        map.push_last("z".into(), Value::Null);
        let names: Vec<_> = map.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "aa", "b", "z"]);
        assert_eq!(map.get("b"), Some(&Value::from(3)));
    }

    #[test]
    fn sizes_are_those_of_dynamodbs_rules() {
        // Names count by their UTF-8 bytes; list and map 3, each element 1.
        let list = Value::List(vec![Value::from("ab"), Value::Null]);
        assert_eq!(list.size(), 3 + (1 + 2) + (1 + 1));
        let map = Value::Map(Map::from([("k", Value::from("ab")), ("é", Value::Bool(true))]));
        assert_eq!(map.size(), 3 + (1 + 1 + 2) + (1 + 2 + 1));
        let set = Value::TextSet(["a", "bc"].into_iter().map(Text::from).collect());
        assert_eq!(set.size(), 3);
        let item = Item::from([("PK", Value::from("A")), ("n", Value::from(42)), ("l", list)]);
        assert_eq!(item.size(), (2 + 1) + (1 + 2) + (1 + 8));
    }

    #[test]
    fn nesting_is_counted_by_lists_and_maps() {
        let mut value = Value::Null;
        assert!(value.nests_within(0));
        for _ in 0..32 {
            value = Value::List(vec![value]);
        }
        assert!(value.nests_within(32));
        assert!(!value.nests_within(31));
    }
}
