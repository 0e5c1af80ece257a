//! Inputs that are made of others: lists, sets and records. Each wrong place is told by its JSON pointer.

use std::collections::{BTreeMap, BTreeSet};

use latchkey_table::{Map, Text, Value};

use super::{Errors, read_value};
use crate::call::RawInput;
use crate::evaluate::push;
use crate::plan::{InputType, ListOf, Member};

/// Where a value lies in the inputs.
pub(super) enum Spot<'a> {
    /// An input, or a member of an object.
    Field(&'a str),
    /// A member of the object at a spot.
    Member(&'a Spot<'a>, &'a str),
    /// An element of the list at a spot.
    Element(&'a Spot<'a>, usize),
}

/// How much of a name a pointer shows, in characters: its beginning tells it well enough.
const NAME_SHOWN_MAX: usize = 100;

impl Spot<'_> {
    /// The spot as a JSON pointer (RFC 6901).
    pub(super) fn pointer(&self) -> String {
        let mut pointer = String::new();
        self.write(&mut pointer);
        pointer
    }

    fn write(&self, pointer: &mut String) {
        match self {
            Spot::Field(name) => write_name(name, pointer),
            Spot::Member(record, name) => {
                record.write(pointer);
                write_name(name, pointer);
            }
            Spot::Element(list, at) => {
                list.write(pointer);
                pointer.push('/');
                pointer.push_str(&at.to_string());
            }
        }
    }
}

fn write_name(name: &str, pointer: &mut String) {
    pointer.push('/');
    for c in name.chars().take(NAME_SHOWN_MAX) {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}

/// Reads a list, a set or a record.
pub(super) fn read(
    kind: &InputType,
    given: Value,
    spot: &Spot<'_>,
    errors: &mut Errors,
) -> Option<Value> {
    match kind {
        InputType::ListOf(list) => read_list(list, given, spot, errors),
        InputType::SetOf { of, count_max } => read_set(of, *count_max, given, spot, errors),
        InputType::Record(members) => read_record(members, given, spot, errors),
        other => read_value(other, RawInput::Json(given), spot, errors),
    }
}

/// The elements of a list, if there are as many as there may be.
fn elements(
    given: Value,
    (least, most): (usize, usize),
    spot: &Spot<'_>,
    errors: &mut Errors,
) -> Option<Vec<Value>> {
    let Value::List(values) = given else {
        errors.push_at(spot, "must be a list");
        return None;
    };
    if !(least..=most).contains(&values.len()) {
        let wanted = if least == most { most.to_string() } else { format!("{least} to {most}") };
        errors.push_at(spot, format!("must have {wanted} elements; it has {}", values.len()));
        return None;
    }
    Some(values)
}

fn read_list(list: &ListOf, given: Value, spot: &Spot<'_>, errors: &mut Errors) -> Option<Value> {
    let given = elements(given, (list.count_min, list.count_max), spot, errors)?;
    let count = given.len();
    let mut values = Vec::with_capacity(count);
    for (at, value) in given.into_iter().enumerate() {
        if errors.is_full() {
            return None;
        }
        values.extend(read_value(
            &list.of,
            RawInput::Json(value),
            &Spot::Element(spot, at),
            errors,
        ));
    }
    if values.len() < count {
        return None;
    }
    match &list.unique {
        Some(by) if !are_unique(&values, by, spot, errors) => None,
        _ => Some(Value::List(values)),
    }
}

/// Tells each element that has all of these members in common with one before it.
fn are_unique(values: &[Value], by: &[Text], spot: &Spot<'_>, errors: &mut Errors) -> bool {
    let mut first: BTreeMap<Text, usize> = BTreeMap::new();
    let mut unique = true;
    for (at, value) in values.iter().enumerate() {
        let Some(own) = identity(value, by) else { continue };
        if let Some(before) = first.get(&own) {
            let element = Spot::Element(spot, at);
            let detail = format!("is the same as in {}", Spot::Element(spot, *before).pointer());
            match by {
                [one] => errors.push_at(&Spot::Member(&element, one), detail),
                _ => errors.push_at(&element, detail),
            }
            unique = false;
        } else {
            first.insert(own, at);
        }
    }
    unique
}

/// What tells an element from others. A character that no JSON text has unescaped parts its values.
fn identity(value: &Value, by: &[Text]) -> Option<Text> {
    let mut text = Text::default();
    if by.is_empty() {
        push(&mut text, value, None).ok()?;
        return Some(text);
    }
    let Value::Map(map) = value else { return None };
    for name in by {
        let mut part = Text::default();
        push(&mut part, map.get(name)?, None).ok()?;
        text.push_str(&format!("{}:{part}", part.len()));
    }
    Some(text)
}

fn read_set(
    of: &InputType,
    most: usize,
    given: Value,
    spot: &Spot<'_>,
    errors: &mut Errors,
) -> Option<Value> {
    // A set that the document hands on is one already.
    let given = match given {
        Value::TextSet(set) => Value::List(set.into_iter().map(Value::Text).collect()),
        given => given,
    };
    let given = elements(given, (1, most), spot, errors)?;
    let mut set = BTreeSet::new();
    let mut whole = true;
    for (at, value) in given.into_iter().enumerate() {
        let spot = Spot::Element(spot, at);
        match read_value(of, RawInput::Json(value), &spot, errors) {
            Some(Value::Text(text)) => {
                if !set.insert(text) {
                    errors.push_at(&spot, "is given twice");
                    whole = false;
                }
            }
            _ => whole = false,
        }
    }
    whole.then_some(Value::TextSet(set))
}

fn read_record(
    members: &[Member],
    given: Value,
    spot: &Spot<'_>,
    errors: &mut Errors,
) -> Option<Value> {
    let Value::Map(map) = given else {
        errors.push_at(spot, "must be an object");
        return None;
    };
    let mut whole = true;
    let mut record = Map::with_capacity(members.len());
    let mut missing = members.iter().peekable();
    // Both have the order of their names.
    for (name, value) in map {
        while let Some(member) = missing.next_if(|member| member.name < name) {
            whole &= may_lack(member, spot, errors);
        }
        let spot = Spot::Member(spot, &name);
        match missing.next_if(|member| member.name == name) {
            Some(member) if member.optional && value == Value::Null => {}
            Some(member) => match read_value(&member.kind, RawInput::Json(value), &spot, errors) {
                Some(value) => record.push_last(member.name.clone(), value),
                None => whole = false,
            },
            None => {
                errors.push_at(&spot, "is not a member of this object");
                whole = false;
            }
        }
    }
    for member in missing {
        whole &= may_lack(member, spot, errors);
    }
    whole.then_some(Value::Map(record))
}

/// Tells a member that is missing and must not be.
fn may_lack(member: &Member, spot: &Spot<'_>, errors: &mut Errors) -> bool {
    if !member.optional {
        errors.push_at(&Spot::Member(spot, &member.name), "is missing");
    }
    member.optional
}
