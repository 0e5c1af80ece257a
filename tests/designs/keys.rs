//! The keys of a request, as a list of patterns publishes them and as a contract asks for them.

use serde_json::Value;

/// A condition on one part of a key: which attribute, and how it is compared.
pub(crate) type Condition = (String, &'static str);

const COMPARISONS: [&str; 3] = ["=", "begins_with", "between"];

/// The published conditions on keys: `PK = x`, `SK begins_with "w#"`.
pub(crate) fn published(text: &str) -> Vec<Condition> {
    let spans = text.split('`').skip(1).step_by(2);
    let condition = |span: &str| {
        let (name, rest) = span.split_once(' ')?;
        let comparison = COMPARISONS.into_iter().find(|how| rest.starts_with(how))?;
        Some((name.to_owned(), comparison))
    };
    spans.filter_map(condition).collect()
}

/// The conditions on keys of a request: of a query its own, of a get or an update the parts of the key.
pub(crate) fn asked(request: &Value) -> Vec<Condition> {
    if let Some(key) = request.get("Key").and_then(Value::as_object) {
        return key.keys().map(|name| (name.clone(), "=")).collect();
    }
    let text = |name: &str| request.get(name).and_then(Value::as_str);
    let Some(written) = text("KeyConditionExpression") else { return Vec::new() };
    let name = |placeholder: &str| {
        let names = request.get("ExpressionAttributeNames").unwrap();
        names.get(placeholder).and_then(Value::as_str).unwrap().to_owned()
    };
    // The `AND` within a BETWEEN stands before a value.
    let conditions = written.split(" AND ").filter(|part| !part.starts_with(':'));
    let condition = |part: &str| match part.strip_prefix("begins_with(") {
        Some(rest) => (name(rest.split(',').next().unwrap()), "begins_with"),
        None => {
            let (placeholder, rest) = part.split_once(' ').unwrap();
            (name(placeholder), if rest.starts_with("BETWEEN") { "between" } else { "=" })
        }
    };
    conditions.map(condition).collect()
}

/// Whether a published condition is one that is asked. `PK` and `SK` are the parts of a key, under whatever name.
pub(crate) fn is_asked(published: &Condition, asked: &[Condition]) -> bool {
    let (name, how) = published;
    let part = match name.as_str() {
        "PK" => asked.first(),
        "SK" => asked.get(1),
        _ => None,
    };
    asked.contains(published) || part.is_some_and(|(_, asked)| asked == how)
}
