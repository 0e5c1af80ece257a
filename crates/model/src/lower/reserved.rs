//! The names of attributes that the table itself uses: its keys, those of its indexes, the type, the expiry.

use std::collections::BTreeMap;

use latchkey_language::ast::{Document, Item, Member};
use latchkey_language::{Diagnostic, Name, Rule};
use latchkey_value::name::{EXPIRY_ATTRIBUTE, key_attributes};

use super::Lowering;
use crate::model::Trigger;

/// What each attribute holds that the table uses for itself.
#[derive(Default)]
pub(super) struct Reserved(BTreeMap<String, String>);

impl Reserved {
    /// Those of the table of a document, with the indexes it declares.
    pub(super) fn new(document: &Document) -> Reserved {
        let mut holds = BTreeMap::new();
        let mut add = |index: Option<&str>| {
            let of =
                index.map_or_else(|| "every item".to_owned(), |index| format!("index `{index}`"));
            let parts = ["partition key", "sort key"];
            for (attribute, part) in key_attributes(index).into_iter().zip(parts) {
                holds.insert(attribute, format!("the {part} of {of}"));
            }
        };
        add(None);
        for item in &document.items {
            let Item::Entity(entity) = item else { continue };
            for member in &entity.members {
                if let Member::Index(index) = member {
                    add(Some(&index.name.node));
                }
            }
        }
        let expiry = "the second in which DynamoDB removes the item (TTL)".to_owned();
        holds.insert(EXPIRY_ATTRIBUTE.to_owned(), expiry);
        Reserved(holds)
    }
}

/// The words of the language that a value can be.
const WORDS: &[&str] = &["caller", "false", "new", "now", "true", "unchanged"];

/// The words that only some bodies have.
fn own_words(trigger: Trigger) -> &'static [&'static str] {
    match trigger {
        Trigger::Request | Trigger::Refused(_) | Trigger::Invariant => &[],
        Trigger::Message(_) => &["message"],
        Trigger::Dead(_) => &["message", "failure"],
        Trigger::Accepted(_) => &["sent"],
    }
}

impl Lowering {
    /// Refuses a name that is a word of the language: what is written would mean the one or the other.
    pub(super) fn no_word(&mut self, name: &Name, trigger: Trigger) {
        if WORDS.contains(&name.node.as_str()) || own_words(trigger).contains(&name.node.as_str()) {
            let message = format!("`{}` is a word of the language", name.node);
            let diagnostic = Diagnostic::new(Rule::Name, name.span, message);
            self.report(diagnostic.help("choose another name"));
        }
    }

    /// Refuses a name that the table itself uses: both would be one attribute.
    pub(super) fn not_reserved(&mut self, name: &Name) {
        if let Some(what) = self.reserved.0.get(&name.node) {
            let message = format!("`{}` is reserved: it holds {what}", name.node);
            let diagnostic = Diagnostic::new(Rule::Name, name.span, message);
            self.report(diagnostic.help("choose another name"));
        }
    }

    /// Reserves the attribute that tells entities apart, under a name that is not reserved for anything else.
    pub(super) fn reserve_type(&mut self, name: &Name) {
        self.not_reserved(name);
        let what = || "the type of every item".to_owned();
        self.reserved.0.entry(name.node.clone()).or_insert_with(what);
    }
}
