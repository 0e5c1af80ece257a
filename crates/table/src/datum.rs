//! What stands where a request has a value.
//!
//! A request that a backend carries out holds [`Value`]s. A request that is only shown, before there is a
//! call, holds names for the values that the call will bring. Both kinds are filled, validated and rendered
//! by the same code, which is generic over [`Datum`]. They are different types, so a name is never mistaken
//! for a value. Only requests of values can be carried out.

use std::borrow::Cow;
use std::fmt::Debug;

use crate::{Map, Number, Text, Value, ValueType};

/// A value, or a name for a value that is not known yet.
pub trait Datum: Clone + Debug + Eq + From<Value> + From<Self::Text> {
    /// A text in a key.
    type Text: KeyText;

    /// The number of a text in a key that is a number. A text that is no such text stays a text, which no table takes.
    fn of_number_key(text: &Self::Text) -> Self;

    /// What is known of it.
    fn view(&self) -> View<'_, Self>;

    /// The value, when it is known.
    fn known(&self) -> Option<&Value> {
        if let View::Value(value) = self.view() { Some(value) } else { None }
    }

    /// The number, when it is known to be that number.
    fn known_number(&self) -> Option<Number> {
        self.known().and_then(Value::as_number)
    }

    /// Its type.
    fn type_of(&self) -> ValueType {
        match self.view() {
            View::Value(value) => value.value_type(),
            View::Name(value_type, _) => value_type,
            View::Map(_) => ValueType::Map,
        }
    }
}

/// What is known of a [`Datum`].
#[derive(Debug)]
pub enum View<'a, V> {
    /// The value itself.
    Value(&'a Value),
    /// The type of the value, and the text that is shown in place of the value.
    Name(ValueType, Cow<'a, str>),
    /// A map, with something known of each entry.
    Map(&'a Map<V>),
}

/// A text in a key. Two texts are in order only where both are known.
pub trait KeyText: Clone + Debug + Eq + PartialOrd {
    /// How many bytes it has, when they are known.
    fn key_bytes(&self) -> Option<usize>;

    /// Whether it is, or can be, the text of a number in a key.
    fn is_number_key(&self) -> bool;
}

impl Datum for Value {
    type Text = Text;

    fn of_number_key(text: &Text) -> Value {
        Number::from_key(text).map_or_else(|| Value::Text(text.clone()), Value::Number)
    }

    fn view(&self) -> View<'_, Value> {
        View::Value(self)
    }
}

impl KeyText for Text {
    fn key_bytes(&self) -> Option<usize> {
        Some(self.len())
    }

    fn is_number_key(&self) -> bool {
        Number::from_key(self).is_some()
    }
}
