//! What holds after every commit: views equal their sources, and values keep to their bounds.

use std::collections::BTreeMap;
use std::fmt;

use latchkey_model::Type;
use latchkey_model::model::{Entity, KeyAttribute, KeyNames, KeyShape, Model, Piece, Template};
use latchkey_runtime::draw::part;
use latchkey_table::{Item, Key, Number, Text, Value};
use regex::Regex;

use crate::ends::{Ends, Now};
use crate::invariant::Broken;
use crate::table::Table;

/// What a document promises of its items.
#[derive(Debug)]
pub(crate) struct Promises {
    discriminator: String,
    /// The attributes that hold keys.
    names: KeyNames,
    /// By what items carry in the discriminator.
    bounds: BTreeMap<String, Vec<Bound>>,
    views: Vec<View>,
    ends: Ends,
}

/// The bounds of an attribute.
#[derive(Debug)]
struct Bound {
    attribute: String,
    within: Within,
}

/// What a value keeps to.
#[derive(Debug)]
enum Within {
    Numbers { low: Option<Number>, high: Option<Number> },
    Words(Vec<String>),
    Text { bytes: Option<u64>, like: Option<Regex> },
}

impl Within {
    /// What the values of a type keep to, if there is a bound.
    fn of(kind: &Type) -> Option<Within> {
        match kind {
            Type::Int { low, high } => {
                // A whole number has 64 bits.
                let (low, high) = (low.unwrap_or(i64::MIN), high.unwrap_or(i64::MAX));
                Some(Within::Numbers { low: Some(low.into()), high: Some(high.into()) })
            }
            Type::Number { low, high } => Some(Within::Numbers { low: *low, high: *high }),
            Type::Enum(words) => Some(Within::Words(words.clone())),
            Type::Text { max, like } => {
                // A pattern that is none was refused by the check.
                let like = like.as_ref().and_then(|like| latchkey_model::pattern(like).ok());
                Some(Within::Text { bytes: *max, like })
            }
            _ => None,
        }
    }

    /// Whether a value keeps to it. One of another type is not looked at here.
    fn holds(&self, value: &Value) -> bool {
        match (self, value) {
            (Within::Numbers { low, high }, Value::Number(number)) => {
                low.is_none_or(|low| *number >= low) && high.is_none_or(|high| *number <= high)
            }
            (Within::Words(words), Value::Text(text)) => words.iter().any(|word| *text == *word),
            (Within::Text { bytes, like }, Value::Text(text)) => {
                let long = u64::try_from(text.len()).unwrap_or(u64::MAX);
                bytes.is_none_or(|bytes| long <= bytes)
                    && like.as_ref().is_none_or(|like| like.is_match(text))
            }
            _ => true,
        }
    }
}

/// A view and its source.
#[derive(Debug)]
struct View {
    view: Side,
    source: Side,
    copied: Vec<String>,
}

#[derive(Debug)]
struct Side {
    name: String,
    discriminator: String,
    key: KeyShape,
}

/// A promise that is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Breach {
    /// A value is out of its bounds.
    Bound {
        /// The item.
        key: Key,
        /// The attribute.
        attribute: String,
    },
    /// A view differs from its source in an attribute, or one of the two is missing.
    View {
        /// The view's item.
        key: Key,
        /// The entity of the view.
        view: String,
        /// The attribute that differs; none if the view or its source is not there.
        attribute: Option<String>,
    },
    /// A counter did not move by one, although its item changed.
    Counter {
        /// The item.
        key: Key,
        /// The counter.
        attribute: String,
    },
    /// A guarded item changed, and the counter of its guard did not.
    Guard {
        /// The guarded item.
        key: Key,
        /// The entity of the guard.
        guard: String,
    },
    /// An invariant does not hold.
    Invariant(Broken),
}

impl Breach {
    /// The item of which a promise is broken.
    pub(crate) fn key(&self) -> &Key {
        match self {
            Breach::Bound { key, .. }
            | Breach::View { key, .. }
            | Breach::Counter { key, .. }
            | Breach::Guard { key, .. }
            | Breach::Invariant(Broken { key, .. }) => key,
        }
    }

    /// Whether the same promise is broken, be it of another item.
    pub(crate) fn is_like(&self, other: &Breach) -> bool {
        match (self, other) {
            (Breach::Bound { attribute: one, .. }, Breach::Bound { attribute: other, .. })
            | (Breach::Counter { attribute: one, .. }, Breach::Counter { attribute: other, .. })
            | (Breach::View { view: one, .. }, Breach::View { view: other, .. })
            | (Breach::Guard { guard: one, .. }, Breach::Guard { guard: other, .. }) => {
                one == other
            }
            (Breach::Invariant(one), Breach::Invariant(other)) => one.span == other.span,
            _ => false,
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Breach::Bound { key, attribute } => {
                let Key { partition, sort } = key;
                write!(f, "`{attribute}` of `{partition}` `{sort}` is out of its bounds")
            }
            Breach::View { key, view, attribute: Some(attribute) } => {
                let Key { partition, sort } = key;
                write!(
                    f,
                    "the view {view} `{partition}` `{sort}` differs from its source in `{attribute}`"
                )
            }
            Breach::View { key, view, attribute: None } => {
                let Key { partition, sort } = key;
                write!(
                    f,
                    "of the view {view} `{partition}` `{sort}` and its source, one is missing"
                )
            }
            Breach::Counter { key, attribute } => {
                let Key { partition, sort } = key;
                write!(f, "`{partition}` `{sort}` changed, and its `{attribute}` did not move by 1")
            }
            Breach::Guard { key, guard } => {
                let Key { partition, sort } = key;
                write!(f, "`{partition}` `{sort}` changed, and the counter of its {guard} did not")
            }
            Breach::Invariant(Broken { entity, promise, key, .. }) => {
                let Key { partition, sort } = key;
                write!(f, "\"{promise}\" does not hold of {entity} `{partition}` `{sort}`")
            }
        }
    }
}

impl Promises {
    pub(crate) fn of(model: &Model) -> Promises {
        let mut bounds: BTreeMap<String, Vec<Bound>> = BTreeMap::new();
        let mut views = Vec::new();
        for entity in &model.entities {
            let own = bounds.entry(entity.discriminator.clone()).or_default();
            for attribute in &entity.attributes {
                if let Some(within) = Within::of(&attribute.kind) {
                    own.push(Bound { attribute: attribute.name.clone(), within });
                }
            }
            if let Some(source) = entity.view_of {
                let copied = entity.attributes.iter().filter(|attribute| attribute.copied);
                let copied = copied.map(|attribute| attribute.name.clone()).collect();
                let source = Side::of(&model.entities[source]);
                views.push(View { view: Side::of(entity), source, copied });
            }
        }
        let (discriminator, names) = (model.table.discriminator.clone(), model.table.key.clone());
        Promises { discriminator, names, bounds, views, ends: Ends::of(model) }
    }

    /// The first promise that is broken by what has changed in a table, and was not before. Items that have ended by an
    /// instant are absent.
    pub(crate) fn broken(&self, table: &Table, at: &Now) -> Option<Breach> {
        let base = table.base();
        for (key, item) in table.changes() {
            let old = base.get(key);
            let mut now = Vec::new();
            let mut before = Vec::new();
            for image in item.into_iter().chain(old) {
                self.breaches(table, at, image, &mut now);
                self.breaches(&base, at, image, &mut before);
            }
            if let Some(item) = item {
                self.out_of_bounds(key, item, &mut now);
            }
            if let Some(breach) = now.into_iter().find(|breach| !before.contains(breach)) {
                return Some(breach);
            }
        }
        None
    }

    /// The key that an item's attributes make on one side of a view.
    fn filled(&self, side: &Side, item: &Item) -> Option<Key> {
        filled(&self.names, &side.key, item)
    }

    fn kind<'a>(&self, item: &'a Item) -> Option<&'a Text> {
        item.get(&self.discriminator).and_then(Value::as_text)
    }

    fn out_of_bounds(&self, key: &Key, item: &Item, breaches: &mut Vec<Breach>) {
        let Some(kind) = self.kind(item) else { return };
        for bound in self.bounds.get(kind.as_str()).into_iter().flatten() {
            if item.get(&bound.attribute).is_some_and(|value| !bound.within.holds(value)) {
                let (key, attribute) = (key.clone(), bound.attribute.clone());
                breaches.push(Breach::Bound { key, attribute });
            }
        }
    }

    /// The breaches of the views that an item, as it is or was, has to do with.
    fn breaches(&self, table: &Table, at: &Now, image: &Item, breaches: &mut Vec<Breach>) {
        let Some(kind) = self.kind(image) else { return };
        for view in &self.views {
            if *kind != view.view.discriminator && *kind != view.source.discriminator {
                continue;
            }
            let (Some(copy_key), Some(source_key)) =
                (self.filled(&view.view, image), self.filled(&view.source, image))
            else {
                continue;
            };
            let of = |key: &Key, side: &Side| {
                let item = table.get(key).filter(|item| !self.ends.is_past(item, at))?;
                (self.kind(item)? == side.discriminator.as_str()).then_some(item)
            };
            let (copy, source) = (of(&copy_key, &view.view), of(&source_key, &view.source));
            let attribute = match (copy, source) {
                (None, None) => continue,
                // The source may have gone on to another place of its view.
                (None, Some(source))
                    if self.filled(&view.view, source) != Some(copy_key.clone()) =>
                {
                    continue;
                }
                (Some(copy), Some(source)) => {
                    let differs = |name: &&String| copy.get(name) != source.get(name);
                    match view.copied.iter().find(differs) {
                        None => continue,
                        Some(name) => Some(name.clone()),
                    }
                }
                (None, Some(_)) | (Some(_), None) => None,
            };
            let name = view.view.name.clone();
            breaches.push(Breach::View { key: copy_key, view: name, attribute });
        }
    }
}

impl Side {
    fn of(entity: &Entity) -> Side {
        Side {
            name: entity.name.clone(),
            discriminator: entity.discriminator.clone(),
            key: entity.key.clone(),
        }
    }
}

/// The key that an item's attributes make.
pub(crate) fn filled(names: &KeyNames, shape: &KeyShape, item: &Item) -> Option<Key> {
    let text = |key: Option<&KeyAttribute>, template: &Template| match key {
        Some(key) if key.number => Some(item.get(&key.name)?.as_number()?.to_key()),
        _ => text(template, item),
    };
    let sort = text(names.sort.as_ref(), &shape.sort)?;
    Some(Key::new(text(Some(&names.partition), &shape.partition)?, sort))
}

fn text(template: &Template, item: &Item) -> Option<Text> {
    let mut text = Text::default();
    for piece in &template.pieces {
        match piece {
            Piece::Literal(literal) => text.push_str(literal),
            Piece::Hole(hole) => text.push_str(&part(item.get(&hole.attribute)?, hole.format)?),
        }
    }
    Some(text)
}
