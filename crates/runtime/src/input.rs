//! Inputs: turns what the caller sent into typed values. One answer reports all wrong fields.

mod structure;

use latchkey_model::model::{InputId, NEXT_CURSOR, Place};
use latchkey_table::{Map, Number, Text, Value};
use latchkey_value::id::{is_given_id, is_id, is_ulid};

use crate::call::RawInput;
use crate::evaluate::Inputs;
use crate::json;
use crate::plan::{Contract, Input, InputType, Paging};
use crate::problem::{FIELD_ERRORS_MAX, FieldError, Problem};
use crate::time;
use structure::Spot;

/// What was given, in the types it is declared with.
#[derive(Debug)]
pub(crate) struct Typed {
    pub(crate) given: Inputs,
    pub(crate) page_size: Option<u32>,
    pub(crate) cursor: Option<Text>,
}

/// Reads what was given; `versioned` is the input that is known from elsewhere.
pub(crate) fn read(
    contract: &Contract,
    inputs: Vec<(Text, RawInput)>,
    versioned: Option<InputId>,
) -> Result<Typed, Problem> {
    let mut errors = Errors::default();
    let given = contract.inputs.map(|_, _| None);
    let mut typed = Typed { given, page_size: None, cursor: None };
    // An input that was given and is wrong is not told to be missing as well.
    let mut seen = contract.inputs.map(|_, _| false);
    let mut seen_paging = (false, false);
    for (name, given) in inputs {
        if let RawInput::Misplaced(detail) = given {
            errors.push(&name, detail);
            continue;
        }
        let Some(id) = contract.inputs.position(|input| input.name == name) else {
            let sizes = name == contract.page_size;
            let seen = if sizes { &mut seen_paging.0 } else { &mut seen_paging.1 };
            let paging = contract.paging.filter(|_| sizes || name == NEXT_CURSOR);
            read_paging(paging, &name, given, seen, &mut typed, &mut errors);
            continue;
        };
        if std::mem::replace(&mut seen[id], true) {
            errors.push(&name, "is given twice");
            continue;
        }
        typed.given[id] = read_one(&contract.inputs[id], given, &mut errors);
    }
    for (id, input) in contract.inputs.enumerate() {
        let needed = !input.optional && input.default.is_none() && versioned != Some(id);
        if needed && !seen[id] {
            errors.push(&input.name, "is missing");
        }
    }
    errors.end(typed)
}

/// What is wrong with the values that were read.
#[derive(Default)]
pub(crate) struct Errors {
    all: Vec<FieldError>,
    /// Whether there are more, which are not told.
    more: bool,
    /// Whether the values were stored before: some that were taken once are refused by now.
    stored: bool,
}

impl Errors {
    fn push(&mut self, name: &str, detail: impl Into<String>) {
        self.push_at(&Spot::Field(name), detail);
    }

    fn push_at(&mut self, spot: &Spot<'_>, detail: impl Into<String>) {
        if self.all.len() < FIELD_ERRORS_MAX {
            self.all.push(FieldError { pointer: spot.pointer(), detail: detail.into() });
        } else {
            self.more = true;
        }
    }

    /// Whether more would not be told, and would tell nothing new.
    fn is_full(&self) -> bool {
        self.more
    }

    fn end<T>(self, value: T) -> Result<T, Problem> {
        if self.all.is_empty() {
            return Ok(value);
        }
        let mut problem = Problem::invalid(self.all);
        if self.more {
            problem.detail = format!(
                "more than {FIELD_ERRORS_MAX} fields are wrong; `errors` has the first {FIELD_ERRORS_MAX}"
            );
        }
        Err(problem)
    }
}

/// Reads what a message or the record of a send has kept. It was of these types when it was written; by
/// now the document may be another.
pub(crate) fn kept(contract: &Contract, given: &Map) -> Result<Inputs, Problem> {
    let mut errors = Errors::default();
    let values = contract.inputs.map(|_, input| {
        let value = given.get(&input.name).cloned();
        match &value {
            None if !input.optional => errors.push(&input.name, "is missing"),
            Some(value) if input.place == Place::Message => {
                let stored = Errors { stored: true, ..Errors::default() };
                if let Err(problem) = fits_as(input, value, stored) {
                    errors.all.extend(problem.errors);
                }
            }
            _ => {}
        }
        value
    });
    errors.end(values)
}

/// The two inputs every list has.
fn read_paging(
    paging: Option<Paging>,
    name: &str,
    given: RawInput,
    seen: &mut bool,
    typed: &mut Typed,
    errors: &mut Errors,
) {
    let Some(paging) = paging else {
        return errors.push(name, "is not a field of this contract");
    };
    if std::mem::replace(seen, true) {
        return errors.push(name, "is given twice");
    }
    if name == NEXT_CURSOR {
        match given {
            RawInput::Text(text) | RawInput::Json(Value::Text(text)) => typed.cursor = Some(text),
            _ => errors.push(name, "must be a text"),
        }
        return;
    }
    let (low, high) = (Some(1), Some(i64::from(paging.size_max)));
    match read_as(&InputType::Int { low, high }, given) {
        Ok(size) => {
            let size = size.as_number().and_then(|size| size.to_i64());
            match size.map(u32::try_from) {
                Some(Ok(size)) => typed.page_size = Some(size),
                _ => errors.push(name, "is not a page size"),
            }
        }
        Err(detail) => errors.push(name, detail),
    }
}

/// Refuses a default that was computed and is not of the input's type.
pub(crate) fn fits(input: &Input, value: &Value) -> Result<(), Problem> {
    fits_as(input, value, Errors::default())
}

fn fits_as(input: &Input, value: &Value, mut errors: Errors) -> Result<(), Problem> {
    // What no caller can give is made here alone.
    if matches!(input.kind, InputType::Never) {
        return Ok(());
    }
    read_value(&input.kind, RawInput::Json(value.clone()), &Spot::Field(&input.name), &mut errors);
    errors.end(())
}

fn read_one(input: &Input, given: RawInput, errors: &mut Errors) -> Option<Value> {
    match given {
        RawInput::Json(Value::Null) if input.nullable => Some(Value::Null),
        RawInput::Json(Value::Null) if input.optional => {
            errors.push(&input.name, "cannot be null, for what it sets must stay; leave it out");
            None
        }
        given => read_value(&input.kind, given, &Spot::Field(&input.name), errors),
    }
}

/// Reads a value of a type at a spot. What is wrong with it is told of the spots within it.
fn read_value(
    kind: &InputType,
    given: RawInput,
    spot: &Spot<'_>,
    errors: &mut Errors,
) -> Option<Value> {
    let read = match kind {
        InputType::ListOf(_) | InputType::SetOf { .. } | InputType::Record(_) => {
            return match structured(given) {
                Some(value) => structure::read(kind, value, spot, errors),
                None => {
                    errors.push_at(spot, "must be JSON");
                    None
                }
            };
        }
        plain => read_as(plain, given),
    };
    let read = read.and_then(|value| match (kind, value.as_text()) {
        (InputType::Id, Some(id)) if !errors.stored && !is_given_id(id) => {
            Err("must not be `.` or `..`, which no path can carry".to_owned())
        }
        _ => Ok(value),
    });
    read.map_err(|detail| errors.push_at(spot, detail)).ok()
}

/// Reads a stored attribute as a caller would give it, or tells what is wrong with it, and where within it.
pub(crate) fn read_stored(
    kind: &InputType,
    name: &str,
    value: &Value,
) -> Result<Option<Value>, FieldError> {
    let mut errors = Errors { stored: true, ..Errors::default() };
    let spot = Spot::Field(name);
    let read = read_value(kind, RawInput::Json(value.clone()), &spot, &mut errors);
    errors.all.into_iter().next().map_or(Ok(read), Err)
}

/// Reads a value that is made of no others.
pub(crate) fn read_as(kind: &InputType, given: RawInput) -> Result<Value, String> {
    let must = |what: &str| Err(format!("must be {what}"));
    let given = match given {
        RawInput::Undecodable => return must("percent-encoded UTF-8"),
        RawInput::Misplaced(detail) => return Err(detail.to_owned()),
        given => given,
    };
    let zero = if is_padded(&given) { ", without a zero before it" } else { "" };
    match kind {
        InputType::Id => match text(given) {
            Some(id) if is_id(&id) => Ok(Value::Text(id)),
            _ => must("an id: 1 to 128 of `A-Z a-z 0-9 . _ : @ | -`"),
        },
        InputType::Ulid => match text(given) {
            Some(ulid) if is_ulid(&ulid) => Ok(Value::Text(ulid)),
            _ => must("a ULID: 26 of `0-9 A-Z` without `I L O U`"),
        },
        InputType::Text { bytes_max, like } => {
            let Some(text) = text(given) else { return must("a text") };
            if text.len() > *bytes_max {
                return Err(format!("must have at most {bytes_max} bytes; it has {}", text.len()));
            }
            match like {
                Some((pattern, regex)) if !regex.is_match(&text) => {
                    must(&format!("like `{pattern}`"))
                }
                _ => Ok(Value::Text(text)),
            }
        }
        InputType::Int { low, high } => match number(given).and_then(|number| number.to_i64()) {
            Some(n) if low.is_none_or(|low| low <= n) && high.is_none_or(|high| n <= high) => {
                Ok(Value::from(n))
            }
            _ => must(&format!("a whole number{}{zero}", between(low.as_ref(), high.as_ref()))),
        },
        InputType::Number { low, high } => match number(given) {
            Some(n) if low.is_none_or(|low| low <= n) && high.is_none_or(|high| n <= high) => {
                Ok(Value::Number(n))
            }
            _ => must(&format!("a number{}{zero}", between(low.as_ref(), high.as_ref()))),
        },
        InputType::Bool => match given {
            RawInput::Json(value @ Value::Bool(_)) => Ok(value),
            RawInput::Text(text) if text == "true" => Ok(Value::Bool(true)),
            RawInput::Text(text) if text == "false" => Ok(Value::Bool(false)),
            _ => must("`true` or `false`"),
        },
        InputType::Time => read_time(given),
        InputType::Date => match text(given) {
            Some(date) if time::parse_date(&date).is_some() => Ok(Value::Text(date)),
            _ => must("a date such as `2026-02-25`"),
        },
        InputType::Enum(words) => match text(given) {
            Some(word) if words.contains(&word) => Ok(Value::Text(word)),
            _ => must(&format!("one of {}", words.join(", "))),
        },
        InputType::List => match structured(given) {
            Some(list @ Value::List(_)) if !is_named(&list) => must("without empty names"),
            Some(list @ Value::List(_)) => Ok(list),
            _ => must("a list"),
        },
        InputType::Map { bytes_max, levels_max } => read_map(given, *bytes_max, *levels_max),
        InputType::Never => Err("cannot be given".to_owned()),
        InputType::ListOf(_) | InputType::SetOf { .. } | InputType::Record(_) => {
            Err("is made of other values".to_owned())
        }
    }
}

fn read_time(given: RawInput) -> Result<Value, String> {
    let from_text = matches!(given, RawInput::Text(_));
    let given = text(given);
    if let Some(time) = given.as_deref().and_then(time::canonical) {
        return Ok(Value::Text(time));
    }
    let plus = given.filter(|given| from_text && given.contains(' '));
    let hint = match plus.and_then(|given| time::canonical(&given.replace(' ', "+"))) {
        Some(_) => "; in a query string a `+` means a space, so write it as `%2B`",
        None => "",
    };
    Err(format!("must be an RFC 3339 time such as `2026-02-25T10:00:00Z`{hint}"))
}

fn read_map(given: RawInput, bytes_max: usize, levels_max: usize) -> Result<Value, String> {
    let Some(map @ Value::Map(_)) = structured(given) else {
        return Err("must be an object".to_owned());
    };
    if !map.nests_within(levels_max) {
        return Err(format!("must have at most {levels_max} levels"));
    }
    if !is_named(&map) {
        return Err("must be without empty names".to_owned());
    }
    let mut written = String::new();
    json::write(&map, &mut written);
    if written.len() > bytes_max {
        return Err(format!("must have at most {bytes_max} bytes; it has {}", written.len()));
    }
    Ok(map)
}

/// Whether all in it that has a name has one a table can keep. JSON was read with bounded levels.
fn is_named(value: &Value) -> bool {
    match value {
        Value::List(values) => values.iter().all(is_named),
        Value::Map(map) => map.iter().all(|(name, value)| !name.is_empty() && is_named(value)),
        _ => true,
    }
}

fn between<T: std::fmt::Display>(low: Option<&T>, high: Option<&T>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!(" from {low} to {high}"),
        (Some(low), None) => format!(" of {low} or more"),
        (None, Some(high)) => format!(" of {high} or less"),
        (None, None) => String::new(),
    }
}

fn text(given: RawInput) -> Option<Text> {
    match given {
        RawInput::Text(text) | RawInput::Json(Value::Text(text)) => Some(text),
        _ => None,
    }
}

/// Whether a text begins with a zero that no number begins with, as `01` does.
fn is_padded(given: &RawInput) -> bool {
    let RawInput::Text(text) = given else { return false };
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    matches!(digits, [b'0', b'0'..=b'9', ..])
}

/// A number as JSON writes it, in a body or in a query string.
fn number(given: RawInput) -> Option<Number> {
    match given {
        RawInput::Json(value) => value.as_number(),
        // JSON may have blanks around it; a number by itself has none.
        RawInput::Text(text) if text.trim() != text => None,
        RawInput::Text(text) => match json::read(text.as_bytes(), json::Limits::default()) {
            Ok(Value::Number(number)) => Some(number),
            _ => None,
        },
        RawInput::Undecodable | RawInput::Misplaced(_) => None,
    }
}

/// A list or an object, which as text is JSON.
fn structured(given: RawInput) -> Option<Value> {
    match given {
        RawInput::Json(value) => Some(value),
        RawInput::Text(text) => json::read(text.as_bytes(), json::Limits::default()).ok(),
        RawInput::Undecodable | RawInput::Misplaced(_) => None,
    }
}

#[cfg(test)]
mod tests;
