//! Names such as `$next`, which stand for values in the requests of examples and demos.

use std::collections::BTreeMap;

/// The values of names such as `$next`.
pub type Bindings = BTreeMap<String, String>;

/// A text with each known name replaced by its value.
///
/// ```
/// let known = [("id".to_owned(), "D1".to_owned())].into();
/// assert_eq!(latchkey_language::filled("/doors/$id?next=$next", &known), "/doors/D1?next=$next");
/// ```
pub fn filled(text: &str, bindings: &Bindings) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        filled.push_str(before);
        let (name, behind) = name_and_rest(after);
        match bindings.get(name) {
            Some(value) => filled.push_str(value),
            None => {
                filled.push('$');
                filled.push_str(name);
            }
        }
        rest = behind;
    }
    filled.push_str(rest);
    filled
}

/// The names that a text has, in order.
pub fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let behind = text.split('$').skip(1);
    behind.map(|after| name_and_rest(after).0).filter(|name| !name.is_empty())
}

/// The name that a text begins with, and what follows it.
fn name_and_rest(text: &str) -> (&str, &str) {
    let length = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    text.split_at_checked(length.unwrap_or(text.len())).unwrap_or(("", text))
}
