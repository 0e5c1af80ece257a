//! What is wrong with a document, where, and what to write instead.

use crate::{Rule, Span};

/// What a diagnostic means for its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The document is refused.
    Error,
    /// The document is served all the same.
    Warning,
}

/// One thing that is wrong.
///
/// ```
/// let parsed = latchkey_language::parse("```contract\nsystem\n```\n");
/// let found = parsed.diagnostics.first().expect("the name is missing");
/// assert_eq!(found.rule.to_string(), "syntax");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule.
    pub rule: Rule,
    /// Whether the document is refused.
    pub level: Level,
    /// What is wrong, in lowercase, with the user's words in backticks.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What to say at that place, if anything.
    pub label: String,
    /// Other places that are involved, each with a message.
    pub others: Vec<(Span, String)>,
    /// Why it matters.
    pub why: Option<String>,
    /// What to write instead.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A diagnostic of a rule at a place, with the rule's level.
    pub fn new(rule: Rule, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            rule,
            level: rule.level(),
            message: message.into(),
            span,
            label: String::new(),
            others: Vec::new(),
            why: None,
            help: None,
        }
    }

    /// Says something at the place itself.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = label.into();
        self
    }

    /// Points at another place.
    #[must_use]
    pub fn other(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.others.push((span, label.into()));
        self
    }

    /// Says why it matters.
    #[must_use]
    pub fn why(mut self, why: impl Into<String>) -> Diagnostic {
        self.why = Some(why.into());
        self
    }

    /// Says what to write instead.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }
}
