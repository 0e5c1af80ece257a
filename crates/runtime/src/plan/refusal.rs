//! Documents that passed the check and cannot be planned. Most are bugs; some ask for more than a table can do.

use latchkey_language::{Diagnostic, Rule, Span};

/// Why a statement cannot be planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unplanned {
    what: String,
    /// The expression or statement, once it is known.
    span: Option<Span>,
    /// What to do, if this is a limit of the table; otherwise it is a bug.
    help: Option<&'static str>,
}

/// What was planned, or why it cannot be.
pub(crate) type Planned<T> = Result<T, Unplanned>;

impl Unplanned {
    pub(crate) fn new(what: impl Into<String>) -> Unplanned {
        Unplanned { what: what.into(), span: None, help: None }
    }

    /// A statement that asks for more than a table can do.
    pub(crate) fn limit(what: impl Into<String>, help: &'static str) -> Unplanned {
        Unplanned { what: what.into(), span: None, help: Some(help) }
    }

    /// Where it is, unless a place within is known already.
    pub(crate) fn at(self, span: Span) -> Unplanned {
        Unplanned { span: self.span.or(Some(span)), ..self }
    }

    /// The refusal of a document, which names the contract and points at the statement.
    pub(crate) fn diagnostic(self, contract: &str, span: Span) -> Diagnostic {
        let message = format!("`{contract}` cannot be run: {}", self.what);
        let refused = Diagnostic::new(Rule::Plan, self.span.unwrap_or(span), message);
        if let Some(help) = self.help {
            return refused.why("a call would be refused by the table each time").help(help);
        }
        refused
            .why("the check lets this through and the runtime cannot do it, so the document is not served")
            .help("this is a bug in Latchkey: report it with the document, and write the statement another way")
    }
}
