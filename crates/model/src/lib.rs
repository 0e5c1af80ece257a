//! What a system document means, and whether it can be trusted.
//!
//! [`check`] reads a document, resolves every name, and holds it to the rules. No I/O, and no panic on any
//! text.

mod check;
pub mod demo;
mod lower;
pub mod model;
mod regular;
mod types;

use latchkey_language::{Diagnostic, Level, Rule, Span};
use lower::Lowered;

pub use check::{WorstCosts, rules, waiver_refusal};
pub use lower::{pattern, written_pattern};
pub use model::Model;
pub use regular::sample;
pub use types::{ListOf, Member, Type};

/// A document that was checked.
#[derive(Debug)]
pub struct Checked {
    /// What it means, as far as it could be told.
    pub model: Model,
    /// What is wrong with it: errors in the order of the text, then warnings, those of `unused` last. Where there is
    /// an error, `unused` and `never-written` are left out: in a document that is half written, most of it is not used
    /// yet.
    pub diagnostics: Vec<Diagnostic>,
}

impl Checked {
    /// Whether there is an error. A document that has only warnings is served.
    pub fn is_refused(&self) -> bool {
        self.diagnostics.iter().any(|found| found.level == Level::Error)
    }
}

/// Checks a system document.
pub fn check(text: &str) -> Checked {
    let parsed = latchkey_language::parse(text);
    let Lowered { mut model, mut diagnostics, untold } = lower::lower(&parsed.document);
    text.clone_into(&mut model.text);
    model.examples = parsed.document.examples;
    model.demos = parsed.document.demos;
    model.first_puts = check::first_puts(&model);
    diagnostics.extend(parsed.diagnostics);
    diagnostics.extend(check::check(&model));
    let untold = told_once(&model, &diagnostics, untold);
    diagnostics.extend(untold);
    let mut refused = diagnostics.iter().any(|found| found.level == Level::Error);
    if !refused && model.contracts.is_empty() && model.workers.is_empty() {
        let message = "the document has no contract";
        let help = "write contracts in blocks that begin with ```contract";
        diagnostics.push(Diagnostic::new(Rule::Name, Span::default(), message).help(help));
        refused = true;
    }
    // Of a document that is half written, a demo would be told much that is not its own.
    if !refused {
        diagnostics.extend(demo::check(&model));
    }
    if refused {
        let left_out = [Rule::ImpossibleExample, Rule::NeverWritten, Rule::Unused];
        diagnostics.retain(|found| !left_out.contains(&found.rule));
    }
    // A brace that is missing puts statements behind the end of others.
    if diagnostics.iter().any(|found| found.rule == Rule::Syntax) {
        diagnostics.retain(|found| found.rule != Rule::Never);
    }
    let place =
        |found: &Diagnostic| (found.level, found.rule == Rule::Unused, found.span, found.rule);
    diagnostics.sort_by(|a, b| (place(a), &a.message).cmp(&(place(b), &b.message)));
    diagnostics.dedup();
    Checked { model, diagnostics }
}

/// A write that rests on nothing certain leaves nothing certain: of what is `untold`, only that of bodies in which
/// `unpinned` is not broken.
fn told_once(
    model: &Model,
    diagnostics: &[Diagnostic],
    untold: Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    let mut starts: Vec<usize> = model.bodies().iter().map(|body| body.span.start).collect();
    starts.sort_unstable();
    let body = |found: &Diagnostic| starts.iter().rposition(|start| *start <= found.span.start);
    let unpinned: Vec<Option<usize>> =
        diagnostics.iter().filter(|found| found.rule == Rule::Unpinned).map(body).collect();
    untold.into_iter().filter(|found| !unpinned.contains(&body(found))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: [&str; 3] = [
        include_str!("../../../systems/locations.md"),
        include_str!("../../../systems/participation.md"),
        include_str!("../../../systems/smartlocker.md"),
    ];

    #[test]
    fn the_shipped_documents_are_clean() {
        for document in SHIPPED {
            let line = |at: usize| document.get(..at).unwrap().lines().count();
            let told: Vec<String> = check(document)
                .diagnostics
                .iter()
                .map(|d| format!("{}: {}: {}", line(d.span.start), d.rule, d.message))
                .collect();
            assert_eq!(told, Vec::<String>::new());
        }
    }
}
