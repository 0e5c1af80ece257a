//! Where expressions get their values: the seam that calls and explanations share.

use std::borrow::Cow;

use latchkey_model::model::BindingId;
use latchkey_table::{Action, Datum, Key, Map, Value};

use super::Fault;
use crate::bug::Bug;
use crate::plan::{Code, Part, Sign};

/// What is given for `set a ?= x`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Maybe<V = Value> {
    /// Nothing: the attribute is left alone.
    Left,
    /// `null`: the attribute is taken out.
    TakenOut,
    /// A value.
    Set(V),
}

/// What evaluates to nothing is absent.
pub(crate) type Evaluated<'a, V = Value> = Result<Option<Cow<'a, V>>, Fault>;

/// A text in a key, as a scope gives it.
pub(crate) type KeyText<S> = <<S as Values>::Value as Datum>::Text;

/// Where expressions get their values: a call, or an explanation of one.
pub(crate) trait Values {
    /// What an expression evaluates to: a value, or a name for one.
    type Value: Datum;

    /// The value of an expression that mentions nothing stored.
    fn value<'a>(&'a self, code: &'a Code) -> Evaluated<'a, Self::Value>;

    /// Whether a test that mentions nothing stored holds.
    fn test(&self, code: &Code) -> Result<bool, Fault>;

    /// The item of a binding.
    fn item(&self, binding: BindingId) -> Option<&Map<Self::Value>>;

    /// What tells an item that is made now from others that stood in its place.
    fn incarnation(&self) -> Result<Self::Value, Fault>;

    /// The second in which an item with this end may be removed.
    fn second(&self, end: &Self::Value) -> Result<Self::Value, Fault>;

    /// What is given for `set a ?= x`.
    fn maybe(&self, code: &Code) -> Result<Maybe<Self::Value>, Fault>;

    /// Whether `set a ?= x` leaves the attribute alone.
    fn leaves_alone(&self, code: &Code) -> Result<bool, Fault>;

    /// What a view was found to have that its source, the item of this key, lacks.
    fn found(&self, source: &Key<KeyText<Self>>, name: &str) -> Option<&Self::Value>;

    /// An item as changes leave it.
    fn image(
        &self,
        actions: &[Action<Self::Value>],
        base: &Map<Self::Value>,
    ) -> Result<Map<Self::Value>, Fault>;

    /// The set that has one value as its element.
    fn element(&self, value: Self::Value) -> Result<Self::Value, Fault>;

    /// The sum of two numbers, or their difference, if there is such a number.
    fn sum(&self, a: &Self::Value, sign: Sign, b: &Self::Value) -> Option<Self::Value>;

    /// A bound of a number that is computed with another: the sum of two numbers, or their difference. A sum that has
    /// too many digits is rounded towards the numbers within the bound. Nothing if no number is within.
    fn bound(
        &self,
        a: &Self::Value,
        sign: Sign,
        b: &Self::Value,
        limit: Limit,
    ) -> Option<Self::Value>;

    /// A value that must be there, as a text.
    fn text(&self, code: &Code) -> Result<KeyText<Self>, Fault>;

    /// A number that must be there, as the text it is in a key of numbers.
    fn number_key(&self, code: &Code) -> Result<KeyText<Self>, Fault>;

    /// A key of an item, if the item has all the parts of the key.
    fn place(&self, parts: &[Part], item: &Map<Self::Value>) -> Result<Option<KeyText<Self>>, Bug>;

    /// An attribute of an item as it is stored: nothing where its default was assumed.
    fn stored(&self, binding: BindingId, name: &str) -> Option<&Self::Value> {
        self.item(binding).and_then(|item| item.get(name))
    }
}

/// Which bound of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Least,
    Greatest,
}
