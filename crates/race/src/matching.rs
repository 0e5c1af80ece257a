//! Compares answers with examples, and keeps the names that examples give to parts of answers.

use latchkey_table::Value;
use latchkey_value::json;

pub use latchkey_language::{Bindings, filled};

/// The first difference between an answer and its example, if there is one.
///
/// An object of the answer may have more members; a list must have the same elements. `"$name"` matches any text and
/// names it. `"$absent"` requires that the member is absent.
pub fn differs(
    wanted: &Value,
    found: Option<&Value>,
    at: &str,
    bindings: &mut Bindings,
) -> Option<String> {
    let name = wanted.as_text().and_then(|text| text.strip_prefix('$'));
    match (name, found) {
        (Some("absent"), None) => return None,
        (Some("absent"), Some(found)) => {
            return Some(format!("`{}` is {}, and should be absent", place(at), written(found)));
        }
        (Some(name), Some(Value::Text(text))) => {
            bindings.insert(name.to_owned(), text.to_string());
            return None;
        }
        _ => {}
    }
    let Some(found) = found else {
        return Some(format!("`{}` is absent, and should be {}", place(at), written(wanted)));
    };
    match (wanted, found) {
        (Value::Map(wanted), Value::Map(found)) => wanted.iter().find_map(|(name, value)| {
            differs(value, found.get(name), &format!("{at}/{name}"), bindings)
        }),
        (Value::List(wanted), Value::List(found)) => {
            if wanted.len() != found.len() {
                let (found, wanted) = (found.len(), wanted.len());
                return Some(format!("`{}` has {found} elements, not {wanted}", place(at)));
            }
            wanted.iter().zip(found).enumerate().find_map(|(index, (wanted, found))| {
                differs(wanted, Some(found), &format!("{at}/{index}"), bindings)
            })
        }
        (wanted, found) if wanted == found => None,
        (wanted, found) => {
            Some(format!("`{}` is {}, not {}", place(at), written(found), written(wanted)))
        }
    }
}

fn place(at: &str) -> &str {
    if at.is_empty() { "the answer" } else { at }
}

fn written(value: &Value) -> String {
    let mut text = String::new();
    json::write(value, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(wanted: &str, found: &str) -> (Option<String>, Bindings) {
        let read = |text: &str| json::read(text.as_bytes(), json::Limits::default()).unwrap();
        let mut bindings = Bindings::new();
        let difference = differs(&read(wanted), Some(&read(found)), "", &mut bindings);
        (difference, bindings)
    }

    #[test]
    fn an_answer_may_have_more_but_not_other() {
        let same = [
            ("{}", r#"{"a": 1}"#),
            (r#"{"a": 1.0}"#, r#"{"a": 1, "b": 2}"#),
            (r#"{"a": {"b": null}}"#, r#"{"a": {"b": null, "c": 1}}"#),
            (r#"{"a": [{"b": 1}, {}]}"#, r#"{"a": [{"b": 1, "c": 2}, {"d": 1}]}"#),
            (r#"{"b": "$absent"}"#, r#"{"a": 1}"#),
        ];
        for (wanted, found) in same {
            assert_eq!(compared(wanted, found).0, None, "{wanted} in {found}");
        }
        let other = [
            (r#"{"a": 1}"#, "{}", "`/a` is absent, and should be 1"),
            (r#"{"a": 1}"#, r#"{"a": "1"}"#, "`/a` is \"1\", not 1"),
            (r#"{"a": [1]}"#, r#"{"a": [1, 2]}"#, "`/a` has 2 elements, not 1"),
            (r#"{"a": [{"b": 1}]}"#, r#"{"a": [{"b": 2}]}"#, "`/a/0/b` is 2, not 1"),
            (r#"{"a": null}"#, "{}", "`/a` is absent, and should be null"),
            (r#"{"a": "$absent"}"#, r#"{"a": 1}"#, "`/a` is 1, and should be absent"),
            ("[]", "{}", "`the answer` is {}, not []"),
        ];
        for (wanted, found, difference) in other {
            assert_eq!(compared(wanted, found).0.as_deref(), Some(difference));
        }
    }

    #[test]
    fn a_name_takes_a_text_and_gives_it_back() {
        let (difference, bindings) = compared(r#"{"next": "$next"}"#, r#"{"next": "abc"}"#);
        assert_eq!(difference, None);
        assert_eq!(filled("/a?c=$next&d=$other$", &bindings), "/a?c=abc&d=$other$");
    }
}
