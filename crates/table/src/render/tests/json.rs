//! Reads JSON back, and attribute values from it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latchkey_value::json::write_text;

use crate::{Item, Text, Value};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Text(String),
    Bare(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub(super) fn read(text: &str) -> Json {
        let mut rest = text;
        let json = value(&mut rest);
        assert_eq!(rest, "");
        json
    }

    pub(super) fn get(&self, name: &str) -> Option<&Json> {
        let Json::Object(members) = self else { panic!("no object: {self:?}") };
        members.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    fn elements(&self) -> &[Json] {
        if let Json::List(elements) = self { elements } else { panic!("no list: {self:?}") }
    }

    pub(super) fn text(&self) -> &str {
        if let Json::Text(text) = self { text } else { panic!("no text: {self:?}") }
    }

    /// The attributes of an object of attribute values.
    pub(super) fn attributes(&self) -> Item {
        let Json::Object(members) = self else { panic!("no object: {self:?}") };
        members.iter().map(|(name, value)| (name.as_str(), value.attribute())).collect()
    }

    /// The value of `{"S": "…"}` and its like.
    pub(super) fn attribute(&self) -> Value {
        let Json::Object(members) = self else { panic!("no object: {self:?}") };
        let [(code, inner)] = members.as_slice() else { panic!("not one type: {self:?}") };
        match code.as_str() {
            "S" => Value::from(inner.text()),
            "N" => Value::Number(inner.text().parse().unwrap()),
            "B" => Value::Bytes(STANDARD.decode(inner.text()).unwrap()),
            "BOOL" => Value::Bool(*inner == Json::Bare("true".to_owned())),
            "NULL" if *inner == Json::Bare("true".to_owned()) => Value::Null,
            "L" => Value::List(inner.elements().iter().map(Json::attribute).collect()),
            "M" => Value::Map(inner.attributes()),
            "SS" => Value::TextSet(inner.elements().iter().map(|it| it.text().into()).collect()),
            "NS" => Value::NumberSet(
                inner.elements().iter().map(|it| it.text().parse().unwrap()).collect(),
            ),
            "BS" => Value::BytesSet(
                inner.elements().iter().map(|it| STANDARD.decode(it.text()).unwrap()).collect(),
            ),
            other => panic!("no type: {other}"),
        }
    }
}

fn take(rest: &mut &str, token: &str) -> bool {
    let trimmed = rest.trim_start_matches([' ', '\n']);
    let found = trimmed.strip_prefix(token);
    *rest = found.unwrap_or(trimmed);
    found.is_some()
}

fn value(rest: &mut &str) -> Json {
    if take(rest, "\"") {
        return Json::Text(string(rest));
    }
    if take(rest, "[") {
        return Json::List(members(rest, "]", value));
    }
    if take(rest, "{") {
        return Json::Object(members(rest, "}", |rest| {
            assert!(take(rest, "\""), "{rest}");
            let name = string(rest);
            assert!(take(rest, ":"), "{rest}");
            (name, value(rest))
        }));
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    assert!(end > 0, "{rest}");
    let (bare, after) = rest.split_at(end);
    *rest = after;
    Json::Bare(bare.to_owned())
}

fn members<T>(rest: &mut &str, close: &str, mut one: impl FnMut(&mut &str) -> T) -> Vec<T> {
    let mut all = Vec::new();
    if take(rest, close) {
        return all;
    }
    loop {
        all.push(one(rest));
        if !take(rest, ",") {
            assert!(take(rest, close), "{rest}");
            return all;
        }
    }
}

/// The rest of a string whose first quote is read.
fn string(rest: &mut &str) -> String {
    let mut text = String::new();
    let mut chars = rest.chars();
    loop {
        text.push(match chars.next().unwrap() {
            '"' => break,
            '\\' => match chars.next().unwrap() {
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => {
                    let code: String = chars.by_ref().take(4).collect();
                    char::from_u32(u32::from_str_radix(&code, 16).unwrap()).unwrap()
                }
                plain @ ('"' | '\\') => plain,
                other => panic!("no escape: {other}"),
            },
            control if control < ' ' => panic!("a bare {control:?}"),
            plain => plain,
        });
    }
    *rest = chars.as_str();
    text
}

#[test]
fn texts_are_escaped_as_json_asks() {
    let cases = [
        ("plain é 😀 \u{7f}\u{2028}", "\"plain é 😀 \u{7f}\u{2028}\""),
        ("a\"b\\c/", r#""a\"b\\c/""#),
        ("\n\r\t\0\u{1f}", r#""\n\r\t\u0000\u001f""#),
    ];
    for (text, expected) in cases {
        let mut out = String::new();
        write_text(text, &mut out);
        assert_eq!(out, expected);
        assert_eq!(Json::read(&out), Json::Text(Text::from(text).into()));
    }
}
