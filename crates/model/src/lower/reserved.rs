//! The names of attributes that the table itself uses, whatever its items are: the type, the expiry. What the names of
//! keys may be used for is in `place.rs`.

use std::collections::BTreeMap;

use latchkey_language::{Diagnostic, Name, Rule};
use latchkey_value::name::{EXPIRY_ATTRIBUTE, INCARNATION_ATTRIBUTE, OWN_ATTRIBUTES};

use super::Lowering;
use crate::model::Trigger;

/// What each attribute holds that the table uses for itself.
pub(super) struct Reserved(BTreeMap<String, String>);

/// What the attribute holds by which a table removes items.
const EXPIRY: &str = "the second from which on DynamoDB may remove the item (TTL)";

impl Default for Reserved {
    fn default() -> Reserved {
        let expiry = EXPIRY.to_owned();
        let made = "what tells the item from another in its place".to_owned();
        Reserved(BTreeMap::from([
            (EXPIRY_ATTRIBUTE.to_owned(), expiry),
            (INCARNATION_ATTRIBUTE.to_owned(), made),
        ]))
    }
}

/// That a name is taken, and by what.
pub(super) fn taken(name: &Name, what: &str) -> Diagnostic {
    let message = format!("`{}` is reserved: it holds {what}", name.node);
    Diagnostic::new(Rule::Name, name.span, message)
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
            let diagnostic = taken(name, what);
            self.report(diagnostic.help("choose another name"));
        }
    }

    /// Refuses a name for every item that Latchkey's own items have for something else.
    fn not_own(&mut self, name: &Name) {
        if OWN_ATTRIBUTES.contains(&name.node.as_str()) {
            let what = "something else in Latchkey's own items, such as the record of an `Idempotency-Key`";
            self.report(taken(name, what).help("choose another name"));
        }
    }

    /// Reserves the attribute by which the table removes items, in the place of the usual one.
    pub(super) fn reserve_ttl(&mut self, name: &Name) {
        self.reserved.0.remove(EXPIRY_ATTRIBUTE);
        self.not_reserved(name);
        self.not_own(name);
        self.reserved.0.entry(name.node.clone()).or_insert_with(|| EXPIRY.to_owned());
    }

    /// Reserves the attribute that tells entities apart, under a name that is not reserved for anything else.
    pub(super) fn reserve_type(&mut self, name: &Name) {
        self.not_reserved(name);
        self.not_own(name);
        let what = || "the type of every item".to_owned();
        self.reserved.0.entry(name.node.clone()).or_insert_with(what);
    }
}
