//! The schemas of types.

use latchkey_model::{ListOf, Member, Type};
use latchkey_value::id::{ID_BYTES_MAX, ULID_BYTES};

use crate::Version;
use crate::json::{Json, Object};
use crate::pattern::pattern;

/// The characters of an id.
const ID_PATTERN: &str = "^[A-Za-z0-9._:@|-]{1,128}$";

/// The ids that callers may give: none is `.` or `..`, which no URL can carry. The lengths are told beside it.
const GIVEN_ID_PATTERN: &str =
    r"^(?:\.{0,2}[A-Za-z0-9_:@|-][A-Za-z0-9._:@|-]*|\.{3}[A-Za-z0-9._:@|-]*)$";

/// The first character of a ULID holds three bits.
pub(crate) const ULID_PATTERN: &str = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$";

/// Where the schema of a name stands.
pub(crate) fn place_of(name: &str) -> String {
    format!("#/components/schemas/{name}")
}

/// A reference to a schema of a name.
pub(crate) fn reference(name: &str) -> Object {
    Object::new().with("$ref", place_of(name))
}

/// A list.
pub(crate) fn list(of: impl Into<Json>) -> Object {
    Object::new().with("type", "array").with("items", of)
}

/// An object of named members, each with whether it must be there.
pub(crate) fn object(members: Vec<(String, Json, bool)>) -> Object {
    let required: Vec<String> =
        members.iter().filter(|(.., required)| *required).map(|(name, ..)| name.clone()).collect();
    let properties: Object = members.into_iter().map(|(name, schema, _)| (name, schema)).collect();
    let required = (!required.is_empty()).then_some(required);
    let object = Object::new().with("type", "object").with_any("properties", properties);
    object.with_some("required", required)
}

/// The schema of the values of a type, as they are answered.
pub(crate) fn of_type(kind: &Type) -> Object {
    of_values(kind, None)
}

/// The schema of the values of a type. A caller may give `null` for a member that can be left out; that is told in the
/// words of a version.
fn of_values(kind: &Type, given: Option<Version>) -> Object {
    let text = || Object::new().with("type", "string");
    let whole = || Object::new().with("type", "integer").with("format", "int64");
    match kind {
        Type::Id => text()
            .with("minLength", 1i64)
            .with("maxLength", wide(ID_BYTES_MAX))
            .with("pattern", if given.is_some() { GIVEN_ID_PATTERN } else { ID_PATTERN }),
        Type::Ulid => text()
            .with("minLength", wide(ULID_BYTES))
            .with("maxLength", wide(ULID_BYTES))
            .with("pattern", ULID_PATTERN),
        Type::Text { max, like } => of_text(*max, like.as_deref()),
        Type::Int { low, high } => whole().with_some("minimum", *low).with_some("maximum", *high),
        Type::Counter => whole().with("minimum", 1i64),
        Type::Number { low, high } => {
            let number = Object::new().with("type", "number");
            number.with_some("minimum", *low).with_some("maximum", *high)
        }
        Type::Bool => Object::new().with("type", "boolean"),
        Type::Time => text().with("format", "date-time"),
        Type::Date => text().with("format", "date"),
        Type::Duration => whole().with("description", "In milliseconds."),
        Type::Months => whole().with("description", "In months."),
        Type::Enum(words) => text().with("enum", words.clone()),
        Type::List => list(Object::new()),
        Type::Map { bytes, depth } => {
            let limit = format!("At most {bytes} bytes as JSON, and {depth} levels.");
            let map = Object::new().with("type", "object").with("description", limit);
            map.with("additionalProperties", true)
        }
        Type::Key => text().with("format", "byte"),
        Type::ListOf(of) => of_list(of, given),
        Type::SetOf { of, most } => {
            let set = list(of_values(of, given)).with("minItems", 1i64).with("maxItems", *most);
            set.with("uniqueItems", true)
        }
        Type::Record(members) => of_record(members, given),
    }
}

fn of_text(max: Option<u64>, like: Option<&str>) -> Object {
    let pattern = like.and_then(pattern);
    let untold = like.filter(|_| pattern.is_none());
    // A length of JSON Schema is in characters. Where each is one byte, it says all.
    let in_bytes = max.filter(|_| !pattern.as_ref().is_some_and(|pattern| pattern.is_ascii));
    let limits = [
        in_bytes.map(|max| format!("At most {max} bytes of UTF-8.")),
        untold.map(|like| {
            format!("Matches, as a whole, the regular expression `{like}` of Rust's `regex`.")
        }),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    Object::new()
        .with("type", "string")
        .with_some("description", (!limits.is_empty()).then(|| limits.join(" ")))
        .with_some("maxLength", max)
        .with_some("pattern", pattern.map(|pattern| pattern.text))
}

fn of_list(of: &ListOf, given: Option<Version>) -> Object {
    let differ = match &of.unique {
        Some(by) if !by.is_empty() => {
            Some(format!("No two elements have the same {}.", by.join(" and ")))
        }
        _ => None,
    };
    let unique = of.unique.as_ref().is_some_and(Vec::is_empty).then_some(true);
    list(of_values(&of.of, given))
        .with_some("description", differ)
        .with("minItems", of.low)
        .with("maxItems", of.high)
        .with_some("uniqueItems", unique)
}

fn of_record(members: &[Member], given: Option<Version>) -> Object {
    let member = |member: &Member| {
        let schema = of_values(&member.kind, given);
        let schema = match given.filter(|_| member.optional) {
            Some(version) => version.nullable(schema),
            None => schema,
        };
        (member.name.clone(), Json::from(schema), !member.optional)
    };
    object(members.iter().map(member).collect()).with("additionalProperties", false)
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

impl Version {
    /// The schema of the values of a type, as a caller gives them.
    pub(crate) fn of_input(self, kind: &Type) -> Object {
        of_values(kind, Some(self))
    }

    /// The schema of a text that is a value as JSON: in a query, lists and objects are written so. Generated clients
    /// do not take a parameter with a content of its own.
    pub(crate) fn json_text(self, kind: &Type) -> Object {
        let text = Object::new()
            .with("type", "string")
            .with("description", format!("JSON in a text: `{kind}`."));
        match self {
            Version::V3_1 => text
                .with("contentMediaType", "application/json")
                .with("contentSchema", self.of_input(kind)),
            Version::V3_0 => text,
        }
    }

    /// A schema whose values may also be `null`. The schema says itself what it is of: `null` is told at the leaf.
    pub(crate) fn nullable(self, schema: Object) -> Object {
        let mut members = schema.0;
        for (name, value) in &mut members {
            match (name.as_str(), value) {
                ("type", kind) if self == Version::V3_1 => {
                    *kind = Json::List(vec![kind.clone(), "null".into()]);
                }
                ("enum", Json::List(words)) => words.push(Json::Null),
                _ => {}
            }
        }
        let schema = Object(members);
        if self == Version::V3_0 { schema.with("nullable", true) } else { schema }
    }
}

/// A schema with a text that says what its values are for, before what it says of itself.
pub(crate) fn described(schema: Object, text: Option<String>) -> Object {
    let Some(text) = text else { return schema };
    let mut described = Object::new();
    let mut said = false;
    for (name, value) in schema.0 {
        if name == "description" {
            said = true;
            let own = value.as_text().unwrap_or_default();
            described = described.with("description", format!("{text} {own}"));
        } else {
            described.0.push((name, value));
        }
    }
    if said { described } else { described.with("description", text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(schema: Object) -> String {
        let mut out = String::new();
        Json::from(schema).write(&mut out);
        out
    }

    #[test]
    fn a_caller_may_give_null_for_a_member_that_can_be_left_out() {
        // The server took it, and the document did not say so.
        let member = |name: &str, optional| {
            let (name, kind) = (name.to_owned(), Type::Bool);
            Member { name, kind, optional }
        };
        let record = Type::Record(vec![member("a", false), member("b", true)]);
        let given = |schema: Object| written(schema);
        let rest = r#""required":["a"],"additionalProperties":false}"#;
        let answered =
            r#"{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"boolean"}},"#;
        assert_eq!(given(of_type(&record)), format!("{answered}{rest}"));
        let new = r#"{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":["boolean","null"]}},"#;
        assert_eq!(given(Version::V3_1.of_input(&record)), format!("{new}{rest}"));
        let old = r#"{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"boolean","nullable":true}},"#;
        assert_eq!(given(Version::V3_0.of_input(&record)), format!("{old}{rest}"));
    }

    #[test]
    fn null_is_told_at_the_leaf() {
        let words = || of_type(&Type::Enum(vec!["A".to_owned()]));
        let new = written(Version::V3_1.nullable(words()));
        assert_eq!(new, r#"{"type":["string","null"],"enum":["A",null]}"#);
        let old = written(Version::V3_0.nullable(words()));
        assert_eq!(old, r#"{"type":"string","enum":["A",null],"nullable":true}"#);
    }

    #[test]
    fn a_text_says_its_limit_in_bytes_where_characters_are_longer() {
        let text = |like: Option<&str>| {
            written(of_type(&Type::Text { max: Some(5), like: like.map(str::to_owned) }))
        };
        let plain = r#"{"type":"string","description":"At most 5 bytes of UTF-8.","maxLength":5}"#;
        assert_eq!(text(None), plain);
        let ascii = r#"{"type":"string","maxLength":5,"pattern":"^[a-z]+$"}"#;
        assert_eq!(text(Some("[a-z]+")), ascii);
        // A pattern that JSON Schema cannot say was left out, and nobody told.
        let untold = concat!(
            r#"{"type":"string","description":"At most 5 bytes of UTF-8. Matches, as a whole, the regular "#,
            r#"expression `(?m)^a` of Rust's `regex`.","maxLength":5}"#
        );
        assert_eq!(text(Some("(?m)^a")), untold);
    }
}
