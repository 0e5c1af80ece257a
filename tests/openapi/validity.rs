//! Whether a value is one that a schema allows. It knows the words that our schemas use, and refuses others.

use regex::Regex;
use serde_json::Value;

/// Words that say something to people, or to generators alone.
const FOR_PEOPLE: [&str; 5] =
    ["description", "default", "discriminator", "contentMediaType", "contentSchema"];

/// Whether members that are not declared are wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strict {
    Yes,
    No,
}

/// The schemas of an OpenAPI document.
pub(crate) struct Schemas<'a> {
    pub(crate) openapi: &'a Value,
}

impl Schemas<'_> {
    /// What is wrong with a value.
    pub(crate) fn wrong(&self, schema: &Value, value: &Value, strict: Strict) -> Option<String> {
        let schema = match schema.get("$ref").and_then(Value::as_str) {
            Some(to) => self.openapi.pointer(to.strip_prefix('#').unwrap()).unwrap(),
            None => schema,
        };
        for (word, told) in schema.as_object().unwrap() {
            let wrong = match word.as_str() {
                word if FOR_PEOPLE.contains(&word) => None,
                "type" => (!is_of(told, value)).then(|| format!("{value} is not of {told}")),
                "enum" => {
                    let known = told.as_array().unwrap().contains(value);
                    (!known).then(|| format!("{value} is none of {told}"))
                }
                "oneOf" => {
                    let all = told.as_array().unwrap().iter();
                    let fit = all.filter(|one| self.wrong(one, value, strict).is_none()).count();
                    (fit != 1).then(|| format!("{value} fits {fit} schemas"))
                }
                "properties" | "required" | "additionalProperties" => None,
                "items" => {
                    value.as_array().into_iter().flatten().enumerate().find_map(|(at, one)| {
                        self.wrong(told, one, strict).map(|wrong| format!("{at}: {wrong}"))
                    })
                }
                _ => breaks(word, told, value),
            };
            if wrong.is_some() {
                return wrong;
            }
        }
        self.wrong_member(schema, value, strict)
    }

    fn wrong_member(&self, schema: &Value, value: &Value, strict: Strict) -> Option<String> {
        let (Some(members), true) = (value.as_object(), schema["type"] != Value::Null) else {
            return None;
        };
        for name in schema["required"].as_array().into_iter().flatten() {
            if !members.contains_key(name.as_str().unwrap()) {
                return Some(format!("{name} is missing"));
            }
        }
        let more = &schema["additionalProperties"];
        let open = more == &Value::Bool(true) || (strict == Strict::No && more.is_null());
        members.iter().find_map(|(name, member)| match schema["properties"].get(name) {
            Some(own) => self.wrong(own, member, strict).map(|wrong| format!("{name}: {wrong}")),
            None => (!open).then(|| format!("{name} is not declared")),
        })
    }
}

fn is_of(kinds: &Value, value: &Value) -> bool {
    let is = |kind: &Value| match kind.as_str().unwrap() {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    };
    kinds.as_array().map_or_else(|| is(kinds), |all| all.iter().any(is))
}

/// Whether a value breaks a bound, and how. A value of another type breaks none.
fn breaks(word: &str, told: &Value, value: &Value) -> Option<String> {
    let characters = value.as_str().map(|text| text.chars().count() as u64);
    let elements = value.as_array().map(|all| all.len() as u64);
    let (bound, number) = (told.as_f64(), value.as_f64());
    let holds = match word {
        "minimum" => number.is_none_or(|number| bound.unwrap() <= number),
        "maximum" => number.is_none_or(|number| number <= bound.unwrap()),
        "minLength" => characters.is_none_or(|count| told.as_u64().unwrap() <= count),
        "maxLength" => characters.is_none_or(|count| count <= told.as_u64().unwrap()),
        "minItems" => elements.is_none_or(|count| told.as_u64().unwrap() <= count),
        "maxItems" => elements.is_none_or(|count| count <= told.as_u64().unwrap()),
        "uniqueItems" => value
            .as_array()
            .is_none_or(|all| all.iter().enumerate().all(|(at, one)| !all[..at].contains(one))),
        "pattern" => {
            let pattern = Regex::new(told.as_str().unwrap()).unwrap();
            value.as_str().is_none_or(|text| pattern.is_match(text))
        }
        "format" => match (told.as_str().unwrap(), value.as_str()) {
            ("date-time", Some(text)) => latchkey_value::time::parse(text).is_some(),
            ("date", Some(text)) => latchkey_value::time::parse_date(text).is_some(),
            ("int64" | "uri-reference" | "date-time" | "date", _) => true,
            (other, _) => panic!("{other} is no format that is known"),
        },
        other => panic!("{other} is no word that is known"),
    };
    (!holds).then(|| format!("{value} breaks {word} {told}"))
}
