//! Attributes that stand in a key, and how they are read back from it.
//!
//! A key can be split in one way only: the rule `forged-key` sees to it, and where it is waived nothing is read back.

use std::sync::Arc;

use latchkey_model::Type;
use latchkey_model::model::{self, Hole, KeyNames, KeyShape, Piece, Template};
use latchkey_table::{Item, Number, Text, Value};
use latchkey_value::Format;
use regex::{Regex, RegexBuilder};

use super::refusal::{Planned, Unplanned};
use crate::evaluate::push;

/// How large a pattern of a key may be: its parts have patterns of at most 1 MiB each.
pub(super) const PATTERN_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A key that tells attributes.
#[derive(Debug)]
pub(crate) struct Back {
    /// The attribute that holds the key.
    key: Text,
    /// Whether it holds a number, which is the one attribute that it tells.
    number: bool,
    /// The key, with a group for each attribute that it tells.
    pattern: Regex,
    parts: Vec<Told>,
}

/// An attribute that a key tells.
#[derive(Debug)]
struct Told {
    attribute: Text,
    group: String,
    form: Form,
}

/// How the value of an attribute is had from its text.
#[derive(Debug, Clone, Copy)]
enum Form {
    Text,
    Bool,
    Number(Option<Format>),
}

impl Back {
    /// The keys of an entity in the table or an index that tell attributes which are not stored under the name of the
    /// key itself.
    pub(super) fn plan(
        entity: &model::Entity,
        names: &KeyNames,
        shape: &KeyShape,
    ) -> Planned<Vec<Arc<Back>>> {
        let mut backs = Vec::new();
        for (name, template) in names.iter().zip([&shape.partition, &shape.sort]) {
            let tells = |hole: &Hole| entity.is_told_by(template, &hole.attribute);
            let told =
                || template.holes().filter(|hole| hole.attribute != name.name && tells(hole));
            if told().next().is_none() {
                continue;
            }
            let parts = told().enumerate().map(|(at, hole)| Told {
                attribute: hole.attribute.as_str().into(),
                group: format!("latchkey{at}"),
                form: Form::of(hole),
            });
            let mut parts: Vec<Told> = parts.collect();
            let pattern = pattern(template, &parts)?;
            parts.retain(|part| pattern.contains(&format!("<{}>", part.group)));
            let pattern = RegexBuilder::new(&pattern).size_limit(PATTERN_BYTES_MAX).build();
            let unread = |_| Unplanned::new("its key cannot be read back").at(template.span);
            let (key, pattern) = (name.name.as_str().into(), pattern.map_err(unread)?);
            backs.push(Arc::new(Back { key, number: name.number, pattern, parts }));
        }
        Ok(backs)
    }

    /// Whether it tells an attribute.
    pub(super) fn tells(&self, attribute: &str) -> bool {
        self.parts.iter().any(|part| part.attribute == attribute)
    }

    /// An attribute of an item that the item has in this key alone, if it is there.
    pub(crate) fn read(&self, item: &Item, attribute: &str) -> Option<Value> {
        let part = self.parts.iter().find(|part| part.attribute == attribute)?;
        let key = item.get(&self.key)?;
        if self.number {
            return key.as_number().map(Value::Number);
        }
        let key = key.as_text()?;
        let text = self.pattern.captures(key)?.name(&part.group)?.as_str();
        part.form.value(text)
    }
}

impl Form {
    fn of(hole: &Hole) -> Form {
        match &hole.kind {
            Type::Int { .. } | Type::Counter | Type::Number { .. } => Form::Number(hole.format),
            Type::Bool => Form::Bool,
            _ => Form::Text,
        }
    }

    /// The value that has a text in a key. A text that no value has is none.
    fn value(self, text: &str) -> Option<Value> {
        let value = match self {
            Form::Text => return Some(Value::from(text)),
            Form::Bool => Value::Bool(text == "true"),
            Form::Number(None) => Value::Number(text.parse().ok()?),
            Form::Number(Some(format)) => {
                let digits = text.trim_start_matches('0');
                let number: Number = if digits.is_empty() { "0" } else { digits }.parse().ok()?;
                let Format::Countdown(width) = format else { return exact(number, format, text) };
                let greatest: Number = "9".repeat(width).parse().ok()?;
                return exact(greatest.checked_sub(number).ok()?, format, text);
            }
        };
        Some(value)
    }
}

/// A number, if this is how it is written.
fn exact(number: Number, format: Format, text: &str) -> Option<Value> {
    let (mut written, value) = (Text::default(), Value::Number(number));
    push(&mut written, &value, Some(format)).ok()?;
    (written == text).then_some(value)
}

/// The pattern of a template: each attribute that it tells is a group, the first time it stands there.
fn pattern(template: &Template, parts: &[Told]) -> Planned<String> {
    let mut grouped = Vec::new();
    let pieces = template.pieces.iter().map(|piece| match piece {
        Piece::Literal(text) => Ok(regex::escape(text)),
        Piece::Hole(hole) => {
            let lossless = !hole.is_lossy();
            let part = parts.iter().find(|part| part.attribute == hole.attribute && lossless);
            let texts = of_hole(hole)?;
            Ok(match part.filter(|_| !grouped.contains(&&hole.attribute)) {
                Some(part) => {
                    grouped.push(&hole.attribute);
                    format!("(?P<{}>{texts})", part.group)
                }
                None => format!("(?:{texts})"),
            })
        }
    });
    let pieces = pieces.collect::<Planned<Vec<String>>>()?;
    Ok(format!(r"\A{}\z", pieces.concat()))
}

/// The pattern of all keys that a template makes.
pub(super) fn pattern_of(template: &Template) -> Planned<String> {
    let pieces = template.pieces.iter().map(|piece| match piece {
        Piece::Literal(text) => Ok(regex::escape(text)),
        Piece::Hole(hole) => Ok(match hole.format {
            Some(Format::Lower | Format::Upper) => format!("(?is:{})", of_hole(hole)?),
            _ => format!("(?s:{})", of_hole(hole)?),
        }),
    });
    Ok(format!(r"\A{}\z", pieces.collect::<Planned<Vec<String>>>()?.concat()))
}

/// The texts of a part of a key. No other than the check has reckoned with.
fn of_hole(hole: &Hole) -> Planned<String> {
    let digits = |count: usize| format!("[0-9]{{{count}}}");
    let unsigned = match &hole.kind {
        Type::Int { low, .. } => low.is_some_and(|low| low >= 0),
        _ => hole.kind == Type::Counter,
    };
    Ok(match (&hole.kind, hole.format) {
        (_, Some(Format::Countdown(width))) => digits(width),
        (_, Some(Format::Year)) => digits(4),
        (_, Some(Format::Month)) => "[0-9]{4}-[0-9]{2}".to_owned(),
        (_, Some(Format::Day)) | (Type::Date, _) => "[0-9]{4}-[0-9]{2}-[0-9]{2}".to_owned(),
        (_, Some(Format::Hour)) => "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}".to_owned(),
        (Type::Time, _) => {
            r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z".to_owned()
        }
        (Type::Int { .. } | Type::Counter, Some(Format::Padded(width))) => {
            let fits = |high: i64| high.to_string().len() <= width;
            match &hole.kind {
                Type::Int { high: Some(high), .. } if unsigned && fits(*high) => digits(width),
                _ if unsigned => format!("[0-9]{{{width},}}"),
                _ => format!("[0-9-]{{{width}}}[0-9]*"),
            }
        }
        (Type::Int { .. } | Type::Counter, _) if unsigned => "[0-9]+".to_owned(),
        (Type::Int { .. }, _) => "-?[0-9]+".to_owned(),
        (Type::Number { .. }, _) => "[0-9.-]+".to_owned(),
        (Type::Bool, _) => "true|false".to_owned(),
        (Type::Enum(words), _) => {
            words.iter().map(|word| regex::escape(word)).collect::<Vec<_>>().join("|")
        }
        (Type::Ulid, Some(Format::Lower)) => "[0-9a-z]{26}".to_owned(),
        (Type::Ulid, _) => "[0-9A-Z]{26}".to_owned(),
        (Type::Text { like: Some(like), .. }, _) => latchkey_model::written_pattern(like)
            .map_err(|error| Unplanned::new(format!("`{like}` is not a pattern: {error}")))?,
        (Type::Id, _) => "[A-Za-z0-9._:@|-]+".to_owned(),
        // Nothing else stands in a key that is read back.
        _ => ".*".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backs(fields: &str, template: &str, attribute: &str, key: &str) -> Option<Value> {
        let text = format!(
            "```contract\nsystem s\ntable Test {{ type kind }}\nentity E \"E\" {{\n  PK = \"E#{{e}}\"\n  \
             SK = \"{template}\"\n  e id\n  {fields}\n}}\n```\n"
        );
        let model = latchkey_model::check(&text).model;
        let entity = model.entities.iter().next().unwrap();
        let backs = Back::plan(entity, &model.table.key, &entity.key).unwrap();
        let item = Item::from([("PK", "E#1"), ("SK", key)]);
        backs.iter().find_map(|back| back.read(&item, attribute))
    }

    #[test]
    fn a_value_is_had_from_its_text() {
        let number = |text: &str| Some(Value::Number(text.parse().unwrap()));
        let text = |text: &str| Some(Value::from(text));
        let (at, at_key) = ("2026-02-25T10:00:00.000Z", "A#2026-02-25T10:00:00.000Z#x-1");
        let cases = [
            ("a id", "ORDER#{a}", "a", "ORDER#o-1", text("o-1")),
            ("a id", "ORDER#{a}", "a", "ORDER#", None),
            ("a id", "ORDER#{a}", "a", "order#o-1", None),
            ("at time, a id", "A#{at}#{a}", "at", at_key, text(at)),
            ("at time, a id", "A#{at}#{a}", "a", at_key, text("x-1")),
            ("n int 0..999", "N#{n:03}", "n", "N#007", number("7")),
            ("n int 0..999", "N#{n:03}", "n", "N#000", number("0")),
            ("n int 0..999", "N#{n:03}", "n", "N#7", None),
            ("n int 0..", "N#{n:03}", "n", "N#1234", number("1234")),
            ("n int 0..", "N#{n:03}", "n", "N#0123", None),
            ("n int 0..999", "N#{n:-03}", "n", "N#990", number("9")),
            ("n int", "N#{n}", "n", "N#-12", number("-12")),
            ("n number", "N#{n}", "n", "N#-1.5", number("-1.5")),
            ("b bool", "B#{b}", "b", "B#false", Some(Value::Bool(false))),
            ("w A | in-b", "W#{w}#x", "w", "W#in-b#x", text("in-b")),
            ("w A | in-b", "W#{w}#x", "w", "W#C#x", None),
            (r#"t text(9) like "[a-z]+(-[0-9])?""#, "T#{t}#", "t", "T#ab-1#", text("ab-1")),
            // What many values have in common tells none of them.
            ("at time, a id", "A#{at:day}#{a}", "at", "A#2026-02-25#x", None),
            ("at time, a id", "A#{at:day}#{a}", "a", "A#2026-02-25#x", text("x")),
            ("a id", "A#{a:lower}", "a", "A#x", None),
            ("a id", "A#{a:lower}#{a}", "a", "A#x#X", text("X")),
            ("a ulid, b id", "A#{a:upper}#{b}", "b", "A#01ARZ3NDEKTSV4RRFFQ69G5FAV#X", text("X")),
        ];
        for (fields, template, attribute, key, expected) in cases {
            assert_eq!(backs(fields, template, attribute, key), expected, "{template} {key}");
        }
    }

    #[test]
    fn a_key_that_can_be_split_in_two_ways_tells_nothing() {
        let fields = "a text(9) like \"[a-z#]+\", b id\n  waive forged-key \"old keys\"";
        assert_eq!(backs(fields, "{a}#{b}", "b", "x#y"), None);
        let fields = "t text(9) like \"[A-Z]+\", a id";
        assert_eq!(backs(fields, "{t:lower}#{a}", "a", "x#y"), None);
    }
}
