//! What the check tells of a document, at its lines: warnings, and rules that are waived.

use latchkey_language::{Diagnostic, Level};
use latchkey_model::Model;
use latchkey_model::model::{Waiver, each_step};
use maud::{Markup, html};

use super::lines::Lines;
use crate::shown::shown;

/// What the check tells of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) line: usize,
    /// The rule's name.
    pub(crate) rule: &'static str,
    pub(crate) kind: Kind,
    pub(crate) message: String,
    /// Why it matters, and what to write instead.
    pub(crate) more: Vec<String>,
}

/// What a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The document is not served.
    Error,
    /// The document is served all the same.
    Warning,
    /// The document says why the rule does not hold here.
    Waived,
}

impl Kind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::Error => "error",
            Kind::Warning => "warning",
            Kind::Waived => "waived",
        }
    }
}

/// All findings, in the order of the lines.
pub(crate) fn findings(model: &Model, diagnostics: &[Diagnostic], lines: &Lines) -> Vec<Finding> {
    let mut all: Vec<Finding> = diagnostics.iter().map(|one| told(one, lines)).collect();
    for waiver in waivers(model) {
        let line = lines.of(waiver.span.start);
        let message = waiver.reason.clone();
        let finding = Finding {
            line,
            rule: waiver.rule.slug(),
            kind: Kind::Waived,
            message,
            more: Vec::new(),
        };
        if !all.contains(&finding) {
            all.push(finding);
        }
    }
    all.sort_by_key(|finding| (finding.line, finding.rule));
    all
}

fn told(diagnostic: &Diagnostic, lines: &Lines) -> Finding {
    let others = diagnostic.others.iter().filter(|(_, label)| !label.is_empty());
    let others = others.map(|(span, label)| format!("line {}: {label}", lines.of(span.start)));
    Finding {
        line: lines.of(diagnostic.span.start),
        rule: diagnostic.rule.slug(),
        kind: match diagnostic.level {
            Level::Error => Kind::Error,
            Level::Warning => Kind::Warning,
        },
        message: diagnostic.message.clone(),
        more: others.chain(diagnostic.why.clone()).chain(diagnostic.help.clone()).collect(),
    }
}

/// Every rule that the document waives.
fn waivers(model: &Model) -> Vec<&Waiver> {
    let mut all: Vec<&Waiver> = Vec::new();
    all.extend(model.entities.iter().flat_map(|entity| &entity.waivers));
    all.extend(model.queues.iter().flat_map(|queue| &queue.waivers));
    for body in model.bodies() {
        all.extend(&body.facts.waivers);
        each_step(&body.steps, &mut |step| all.extend(&step.waivers));
    }
    all
}

/// A finding at its line. The reason of a waiver stands in the line itself; what the rule tells of stands here.
pub(crate) fn markup(finding: &Finding) -> Markup {
    let meaning = match finding.kind {
        Kind::Waived => Some(meaning(finding.rule)).filter(|meaning| !meaning.is_empty()),
        Kind::Error | Kind::Warning => None,
    };
    html! {
        div class={ "finding f-" (finding.kind.word()) } {
            p {
                span class={ "pill f-" (finding.kind.word()) } { (finding.kind.word()) } " "
                a href={ "#rule-" (finding.rule) } { code { (finding.rule) } } " "
                (ticked(meaning.as_ref().unwrap_or(&finding.message)))
            }
            @for more in &finding.more { p.muted { (ticked(more)) } }
        }
    }
}

/// The list of the rules, with a line for each.
const RULES: &str = include_str!("../../../../docs/rules/README.md");

/// What a rule tells of, in a few words; empty for rules that explain themselves.
pub(crate) fn meaning(rule: &str) -> String {
    let start = format!("- [`{rule}`]({rule}.md): ");
    let mut lines = RULES.lines().skip_while(|line| !line.starts_with(&start));
    let Some(first) = lines.next() else { return String::new() };
    let first = first.strip_prefix(&start).unwrap_or_default();
    let rest = lines.take_while(|line| line.starts_with("  ")).map(str::trim);
    std::iter::once(first).chain(rest).collect::<Vec<_>>().join(" ")
}

/// A text whose words in backticks are code.
pub(crate) fn ticked(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    let whole = parts.len() % 2 == 1;
    html! {
        @if whole {
            @for (at, part) in parts.iter().enumerate() {
                @if at % 2 == 1 { code { (shown(part)) } } @else { (shown(part)) }
            }
        } @else { (shown(text)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_with_a_page_has_its_meaning() {
        assert_eq!(meaning("scan"), "a read without a fixed partition key");
        for rule in latchkey_model::rules() {
            assert!(!meaning(rule.slug()).is_empty(), "{rule}");
        }
    }

    #[test]
    fn words_in_backticks_are_code() {
        assert_eq!(ticked("a `<b>` c").into_string(), "a <code>&lt;b&gt;</code> c");
        assert_eq!(ticked("a `b").into_string(), "a `b");
    }
}
