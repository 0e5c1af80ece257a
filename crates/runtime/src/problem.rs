//! Refusals, as RFC 9457 problems.

use latchkey_language::Span;
use latchkey_table::{Invalid, ReadOnly, Text, Value};

use crate::json;

/// Where the page of a problem is unless a server says otherwise: a path of the server itself, which explains the code.
pub const PROBLEM_BASE: &str = "/problems";

/// The most wrong fields that one answer reports.
pub(crate) const FIELD_ERRORS_MAX: usize = 50;

/// Why a call was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The problem's name, for programs.
    pub code: Text,
    /// What happened, for people.
    pub detail: String,
    /// The fields that are wrong.
    pub errors: Vec<FieldError>,
    /// The members beside the text.
    pub with: Vec<(Text, Value)>,
    /// After how many seconds it may be worth another try.
    pub retry_after: Option<u32>,
    /// The statement of the document that refuses, if one does. Callers are not told. Boxed, so that a result that may be
    /// a problem stays small.
    pub at: Option<Box<Span>>,
}

/// A field that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Where it is, as a JSON pointer into the inputs.
    pub pointer: String,
    /// What is wrong with it.
    pub detail: String,
}

impl FieldError {
    /// An error of a field by its name.
    pub fn named(name: &str, detail: impl Into<String>) -> FieldError {
        let mut pointer = String::from("/");
        // A name can be as long as a request; its beginning tells it well enough.
        for c in name.chars().take(100) {
            match c {
                '~' => pointer.push_str("~0"),
                '/' => pointer.push_str("~1"),
                c => pointer.push(c),
            }
        }
        FieldError { pointer, detail: detail.into() }
    }
}

impl Problem {
    /// A problem of a name.
    pub fn new(status: u16, code: impl Into<Text>, detail: impl Into<String>) -> Problem {
        Problem {
            status,
            code: code.into(),
            detail: detail.into(),
            errors: Vec::new(),
            with: Vec::new(),
            retry_after: None,
            at: None,
        }
    }

    /// 400: these fields are wrong.
    pub fn invalid(errors: Vec<FieldError>) -> Problem {
        let detail = match errors.as_slice() {
            [one] => format!("{}: {}", one.pointer, one.detail),
            many => format!("{} fields are wrong", many.len()),
        };
        Problem { errors, ..Problem::new(400, "invalid-input", detail) }
    }

    /// 400: one thing is wrong, which is no field.
    pub fn bad(detail: impl Into<String>) -> Problem {
        Problem::new(400, "invalid-input", detail)
    }

    /// 400: a value that the contract computes does not exist. What it is computed from may be stored, and no input wrong.
    pub fn not_computable(detail: &'static str) -> Problem {
        Problem::new(400, Text::const_new("not-computable"), detail)
    }

    /// 400: a value that the contract computes does not fit.
    pub(crate) fn does_not_fit() -> Problem {
        Problem::not_computable(
            "a value that is computed from inputs and stored items does not fit: in 38 digits, or in the years 0 to 9999",
        )
    }

    /// 400: what no table takes. A number among it is one that was computed: inputs and stored numbers fit.
    pub(crate) fn untaken(reason: &Invalid) -> Problem {
        match reason {
            Invalid::Number(_) => Problem::does_not_fit(),
            reason => Problem::bad(reason.to_string()),
        }
    }

    /// 503: try again in a moment.
    pub fn later(code: &'static str, detail: &str) -> Problem {
        Problem { retry_after: Some(1), ..Problem::new(503, Text::const_new(code), detail) }
    }

    /// Of a write that the store does not take now.
    pub(crate) fn read_only(why: ReadOnly) -> Problem {
        let detail = match why {
            ReadOnly::NoRoom => {
                "the disk of the store is nearly full, and nothing was done; writes are taken again once there is room"
            }
            ReadOnly::FileGone => {
                "a file of the store is gone, and nothing was done; writes are refused until the server is started again"
            }
            ReadOnly::JournalFails => {
                "a journal of the store cannot be written, and nothing was done; writes are taken again once it can"
            }
            ReadOnly::FileLimit => {
                "a file of the store reached a limit on the size of files (`ulimit -f`), and nothing was done; start the server without that limit"
            }
        };
        Problem::later("store-unavailable", detail)
    }

    /// Writes `application/problem+json`, with the contract if one was reached. The `type` is the page of the code
    /// below a base, such as [`PROBLEM_BASE`].
    pub fn write(&self, base: &str, contract: Option<&str>, out: &mut String) {
        out.push_str("{\"type\":");
        json::write_text(&format!("{base}/{}", self.code), out);
        out.push_str(",\"title\":");
        json::write_text(&title(&self.code), out);
        out.push_str(",\"status\":");
        json::write_number(&u64::from(self.status).into(), out);
        for (name, text) in [("detail", self.detail.as_str()), ("code", &self.code)] {
            write_member(name, out);
            json::write_text(text, out);
        }
        if let Some(contract) = contract {
            write_member("contract", out);
            json::write_text(contract, out);
        }
        if !self.errors.is_empty() {
            write_member("errors", out);
            for (at, error) in self.errors.iter().enumerate() {
                out.push_str(if at == 0 { "[{\"pointer\":" } else { ",{\"pointer\":" });
                json::write_text(&error.pointer, out);
                write_member("detail", out);
                json::write_text(&error.detail, out);
                out.push('}');
            }
            out.push(']');
        }
        for (name, value) in &self.with {
            write_member(name, out);
            json::write(value, out);
        }
        out.push('}');
    }
}

fn write_member(name: &str, out: &mut String) {
    out.push(',');
    json::write_text(name, out);
    out.push(':');
}

/// `version-conflict` as people write it.
fn title(code: &str) -> String {
    let mut title = code.replace('-', " ");
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_written_as_rfc_9457_asks() {
        let mut problem = Problem::invalid(vec![FieldError::named("a/b~", "must \"be\" there")]);
        problem.with.push(("currentVersion".into(), Value::from(3)));
        let mut out = String::new();
        problem.write(PROBLEM_BASE, Some("D-01"), &mut out);
        let expected = concat!(
            r#"{"type":"/problems/invalid-input","title":"Invalid input","status":400,"#,
            r#""detail":"/a~1b~0: must \"be\" there","code":"invalid-input","contract":"D-01","#,
            r#""errors":[{"pointer":"/a~1b~0","detail":"must \"be\" there"}],"currentVersion":3}"#
        );
        assert_eq!(out, expected);
    }
}
