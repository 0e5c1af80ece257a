//! JSON whose members stay in the order in which they are written, and whose numbers are exact.

use latchkey_value::{Number, Value, json};

/// The widest line that is written for people.
const COLUMNS_MAX: usize = 120;

/// A JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Json>),
    Object(Object),
}

/// Members under names of their own, each name once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Object(pub(crate) Vec<(String, Json)>);

impl Object {
    pub(crate) fn new() -> Object {
        Object::default()
    }

    /// The same with one more member.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Json>) -> Object {
        self.0.push((name.to_owned(), value.into()));
        self
    }

    /// The same with one more member, if there is a value.
    pub(crate) fn with_some(self, name: &str, value: Option<impl Into<Json>>) -> Object {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The same with one more member, unless the object is empty.
    pub(crate) fn with_any(self, name: &str, value: Object) -> Object {
        if value.0.is_empty() { self } else { self.with(name, value) }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }
}

impl FromIterator<(String, Json)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(members: I) -> Object {
        Object(members.into_iter().collect())
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Json {
        Json::Object(object)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Text(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Json {
        Json::Text(text)
    }
}

impl From<bool> for Json {
    fn from(truth: bool) -> Json {
        Json::Bool(truth)
    }
}

impl From<Number> for Json {
    fn from(number: Number) -> Json {
        Json::Number(number)
    }
}

impl From<i64> for Json {
    fn from(number: i64) -> Json {
        Json::Number(Number::from(number))
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Json {
        Json::Number(Number::from(number))
    }
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(all: Vec<T>) -> Json {
        Json::List(all.into_iter().map(Into::into).collect())
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Json {
        match value {
            Value::Null => Json::Null,
            Value::Bool(truth) => Json::Bool(*truth),
            Value::Number(number) => Json::Number(*number),
            Value::Text(text) => Json::Text(text.to_string()),
            Value::List(all) => Json::List(all.iter().map(Json::from).collect()),
            Value::Map(map) => {
                let members = map.iter().map(|(name, value)| (name.to_string(), Json::from(value)));
                Json::Object(members.collect())
            }
            Value::TextSet(all) => {
                Json::List(all.iter().map(|text| text.as_str().into()).collect())
            }
            Value::NumberSet(all) => Json::List(all.iter().map(|n| Json::Number(*n)).collect()),
            // As an answer shows them.
            bytes @ (Value::Bytes(_) | Value::BytesSet(_)) => {
                let mut text = String::new();
                json::write(bytes, &mut text);
                Json::Text(text)
            }
        }
    }
}

impl Json {
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_object(&self) -> Option<&Object> {
        match self {
            Json::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Without white space.
    pub(crate) fn write(&self, out: &mut String) {
        self.write_in_line("", out);
    }

    /// In one line, with some text behind each comma and colon.
    fn write_in_line(&self, space: &str, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
            Json::Number(number) => json::write_number(number, out),
            Json::Text(text) => json::write_text(text, out),
            Json::List(all) => {
                out.push('[');
                for (at, one) in all.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                        out.push_str(space);
                    }
                    one.write_in_line(space, out);
                }
                out.push(']');
            }
            Json::Object(Object(members)) => {
                out.push('{');
                for (at, (name, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                        out.push_str(space);
                    }
                    write_name(name, space, out);
                    value.write_in_line(space, out);
                }
                out.push('}');
            }
        }
    }

    /// For people: what fits in a line is in one.
    pub(crate) fn pretty(&self) -> String {
        let mut out = String::new();
        self.write_pretty(0, 0, &mut out);
        out.push('\n');
        out
    }

    /// Writes it at an indent, behind a name of some columns.
    fn write_pretty(&self, indent: usize, before: usize, out: &mut String) {
        let mut line = String::new();
        self.write_in_line(" ", &mut line);
        // Room for a comma.
        let fits = indent + before + line.chars().count() < COLUMNS_MAX;
        match self {
            Json::List(all) if !fits => {
                out.push('[');
                for (at, one) in all.iter().enumerate() {
                    new_line(at, indent + 2, out);
                    one.write_pretty(indent + 2, 0, out);
                }
                new_line(0, indent, out);
                out.push(']');
            }
            Json::Object(Object(members)) if !fits => {
                out.push('{');
                for (at, (name, value)) in members.iter().enumerate() {
                    new_line(at, indent + 2, out);
                    let start = out.len();
                    write_name(name, " ", out);
                    value.write_pretty(indent + 2, out.len() - start, out);
                }
                new_line(0, indent, out);
                out.push('}');
            }
            _ => out.push_str(&line),
        }
    }
}

fn write_name(name: &str, space: &str, out: &mut String) {
    json::write_text(name, out);
    out.push(':');
    out.push_str(space);
}

fn new_line(at: usize, indent: usize, out: &mut String) {
    out.push_str(if at == 0 { "\n" } else { ",\n" });
    out.extend(std::iter::repeat_n(' ', indent));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_in_a_line_is_in_one() {
        let short = Object::new().with("b", "\"").with("a", vec![1i64, 2]).with("c", Json::Null);
        let mut line = String::new();
        Json::from(short.clone()).write(&mut line);
        assert_eq!(line, r#"{"b":"\"","a":[1,2],"c":null}"#);
        let long = Json::from(Object::new().with("x", short).with("y", "-".repeat(100)));
        let expected = format!(
            "{{\n  \"x\": {{\"b\": \"\\\"\", \"a\": [1, 2], \"c\": null}},\n  \"y\": \"{}\"\n}}\n",
            "-".repeat(100)
        );
        assert_eq!(long.pretty(), expected);
    }

    #[test]
    fn numbers_are_exact() {
        let digits = "-0.1234567890123456789012345678901234567";
        let number: Number = digits.parse().unwrap();
        let mut out = String::new();
        Json::from(number).write(&mut out);
        assert_eq!(out, digits);
    }
}
