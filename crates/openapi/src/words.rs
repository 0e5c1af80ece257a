//! What other pages about a contract show of it, in the words of the OpenAPI document.

use latchkey_language::Span;
use latchkey_model::Model;
use latchkey_model::model::{Contract, Place};

use crate::problem::Refusals;
use crate::{Serving, pattern, prose};

/// A problem that a contract can answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answerable {
    /// The status.
    pub status: u16,
    /// The problem's name, for programs.
    pub code: String,
    /// When it is answered, for people.
    pub when: String,
}

/// Every problem that a contract can answer: those of its own statements, and those of the server. Each once, by status.
pub fn problems(model: &Model, contract: &Contract, serving: &Serving) -> Vec<Answerable> {
    let takes_body = contract.inputs.iter().any(|input| input.place == Place::Body);
    let limited = serving.limits_all || contract.facts.limit.is_some();
    let refusals = Refusals::of(model, contract, takes_body, limited).all.into_iter();
    refusals
        .map(|refusal| Answerable {
            status: refusal.status,
            code: refusal.code,
            when: refusal.when,
        })
        .collect()
}

/// The pattern of a `like` as browsers read it, for the whole of a text; nothing where it cannot be written so.
pub fn pattern_of(like: &str) -> Option<String> {
    pattern::pattern(like).map(|pattern| pattern.text)
}

/// The prose above the block in which something is declared, as Markdown, up to a heading or another block.
pub fn prose_above(model: &Model, declared: Span) -> Option<String> {
    prose::above(model, declared)
}
