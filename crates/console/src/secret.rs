//! Secrets that stand in keys: what a page shows of such a key.
//!
//! A key is looked at by its text. One that fits a template with a secret is shown without the secret, also where another
//! entity might have made it: rather too little is shown than too much.

use latchkey_model::Model;
use latchkey_model::model::{Entity, Piece, Template};
use regex::Regex;

/// What stands for a value that nobody is shown.
pub(crate) const SECRET: &str = "(secret)";

/// The keys of a system that have secrets in them.
#[derive(Debug, Default)]
pub(crate) struct SecretKeys {
    keys: Vec<SecretKey>,
}

/// The keys that one template makes.
#[derive(Debug)]
struct SecretKey {
    /// A group for each part; none where the template makes no pattern. Then no key is shown.
    pattern: Option<Regex>,
    /// Whether each part is shown.
    shown: Vec<bool>,
}

impl SecretKeys {
    pub(crate) fn of(model: &Model) -> SecretKeys {
        let mut keys = Vec::new();
        for entity in &model.entities {
            let shapes =
                std::iter::once(&entity.key).chain(entity.indexes.iter().map(|it| &it.key));
            for template in shapes.flat_map(|shape| [&shape.partition, &shape.sort]) {
                keys.extend(SecretKey::of(entity, template));
            }
        }
        SecretKeys { keys }
    }

    /// A key without its secrets; none where it has no secret.
    pub(crate) fn hidden(&self, key: &str) -> Option<String> {
        self.keys.iter().find_map(|one| one.hidden(key))
    }

    /// The JSON of a request without the secrets in its keys.
    pub(crate) fn blackened(&self, json: String) -> String {
        if self.keys.is_empty() {
            return json;
        }
        let Ok(parsed) = serde_json::from_str(&json) else { return SECRET.to_owned() };
        let (mut texts, mut open) = (Vec::new(), vec![&parsed]);
        while let Some(value) = open.pop() {
            match value {
                serde_json::Value::String(text) => texts.push(text),
                serde_json::Value::Array(all) => open.extend(all),
                serde_json::Value::Object(members) => open.extend(members.values()),
                _ => {}
            }
        }
        let written = |text: &str| serde_json::Value::from(text).to_string();
        texts.into_iter().fold(json, |json, text| match self.hidden(text) {
            Some(hidden) => json.replace(&written(text), &written(&hidden)),
            None => json,
        })
    }
}

impl SecretKey {
    fn of(entity: &Entity, template: &Template) -> Option<SecretKey> {
        let is_secret = |name: &str| entity.attribute(name).is_some_and(|it| it.secret);
        let shown: Vec<bool> = template
            .pieces
            .iter()
            .map(|piece| !matches!(piece, Piece::Hole(hole) if is_secret(&hole.attribute)))
            .collect();
        if shown.iter().all(|shown| *shown) {
            return None;
        }
        let parts = template.pieces.iter().map(|piece| match piece {
            Piece::Literal(text) => format!("({})", regex::escape(text)),
            Piece::Hole(_) => "(.*?)".to_owned(),
        });
        let pattern = format!(r"(?s)\A{}\z", parts.collect::<String>());
        Some(SecretKey { pattern: Regex::new(&pattern).ok(), shown })
    }

    fn hidden(&self, key: &str) -> Option<String> {
        let Some(pattern) = &self.pattern else { return Some(SECRET.to_owned()) };
        let found = pattern.captures(key)?;
        let parts = self.shown.iter().enumerate().map(|(at, shown)| match shown {
            true => found.get(at + 1).map_or(SECRET, |part| part.as_str()),
            false => SECRET,
        });
        Some(parts.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> SecretKeys {
        let text = "```contract\nsystem s\ntable Test { type kind }\nentity Box \"BOX\" {\n  PK = \"BOX#{code}\"\n  \
                    SK = \"IN#{hall}#{code}\"\n  code id secret, hall id\n}\nentity Hall \"HALL\" {\n  \
                    PK = \"HALL#{hall}\"\n  SK = \"META\"\n  hall id\n}\n```\n";
        SecretKeys::of(&latchkey_model::check(text).model)
    }

    #[test]
    fn a_key_is_shown_without_its_secrets() {
        let keys = keys();
        assert_eq!(keys.hidden("BOX#x1").as_deref(), Some("BOX#(secret)"));
        assert_eq!(keys.hidden("IN#h#x1").as_deref(), Some("IN#h#(secret)"));
        assert_eq!(keys.hidden("HALL#h"), None);
        assert_eq!(keys.hidden("META"), None);
    }

    #[test]
    fn where_nothing_tells_a_secret_nothing_is_shown() {
        let keys = SecretKeys { keys: vec![SecretKey { pattern: None, shown: vec![true] }] };
        assert_eq!(keys.hidden("HALL#h").as_deref(), Some(SECRET));
    }

    #[test]
    fn requests_are_shown_without_secrets_in_keys() {
        let json =
            "{\n  \"Key\": {\"PK\": {\"S\": \"BOX#a\\\"b\"}, \"SK\": {\"S\": \"HALL#h\"}}\n}"
                .to_owned();
        let wanted =
            "{\n  \"Key\": {\"PK\": {\"S\": \"BOX#(secret)\"}, \"SK\": {\"S\": \"HALL#h\"}}\n}";
        assert_eq!(keys().blackened(json), wanted);
        assert_eq!(keys().blackened("no JSON".to_owned()), SECRET);
        assert_eq!(SecretKeys::default().blackened("BOX#a".to_owned()), "BOX#a");
    }
}
