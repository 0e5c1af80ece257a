//! An `example` block as exchanges: who asks what, and what must be answered.

use latchkey_language::ast::{Example, ExampleCall, ExampleStep, QueueMode};
use latchkey_language::{Name, Span};
use latchkey_model::Model;
use maud::{Markup, html};

use super::card::called;
use super::lines::Lines;
use crate::shown::{content, shown};

/// An example block.
pub(crate) fn markup(model: &Model, lines: &Lines, example: &Example) -> Markup {
    let page = Page { model, lines };
    let mut items: Vec<(usize, Markup)> =
        example.steps.iter().map(|step| (start(step), page.step(step))).collect();
    let covered: Vec<Span> = example.steps.iter().flat_map(spans).collect();
    items.extend(page.comments(example.span, &covered));
    items.sort_by_key(|(at, _)| *at);
    html! {
        div.exchanges role="group" aria-label="Example" { @for (_, item) in items { (item) } }
    }
}

struct Page<'a> {
    model: &'a Model,
    lines: &'a Lines,
}

impl Page<'_> {
    fn line(&self, at: usize) -> usize {
        self.lines.of(at)
    }

    fn step(&self, step: &ExampleStep) -> Markup {
        html! {
            @match step {
                ExampleStep::At(time) => p.setting { span.label { "At" } " " code { (shown(&time.node)) } }
                ExampleStep::As { id, roles, orgs } => {
                    p.setting {
                        span.label { "As" } " " strong { (shown(&id.node)) }
                        @for role in roles { " " span.pill { "role " (shown(&role.node)) } }
                        @for org in orgs { " " span.pill { "org " (shown(&org.node)) } }
                    }
                }
                ExampleStep::Queue(name, mode) => {
                    p.setting { span.label { "Queue" } " " code { (shown(&name.node)) } " " (mode_word(mode.node)) }
                }
                ExampleStep::Deliver(name) => {
                    p.setting { span.label { "Deliver" } " the first message of " code { (shown(&name.node)) } }
                }
                ExampleStep::Together(steps, _) => {
                    div.together { p.setting { span.label { "At once" } } @for step in steps { (self.step(step)) } }
                }
                ExampleStep::Call(call) => (self.call(call)),
            }
        }
    }

    fn call(&self, call: &ExampleCall) -> Markup {
        let contract = called(self.model, call);
        html! {
            div.exchange id={ "L" (self.line(call.method.span.start)) } {
                div.ask {
                    p {
                        span class={ "method m-" (call.method.node.to_ascii_lowercase()) } { (shown(&call.method.node)) }
                        " " code { (shown(&call.path.node)) }
                        @if let Some(contract) = contract {
                            " " a.to href={ "#contract-" (contract.id) } { (shown(&contract.id)) }
                        }
                    }
                    (headers(&call.headers))
                    @if let Some(body) = &call.body { (self.json(body)) }
                }
                div.told {
                    p {
                        @if let Some(status) = &call.status {
                            span class={ "pill " (kind(status.node)) } { (status.node) }
                        }
                    }
                    (headers(&call.answer_headers))
                    @if let Some(answer) = &call.answer { (self.json(answer)) }
                }
            }
        }
    }

    /// JSON as it is written in the document.
    fn json(&self, text: &Name) -> Markup {
        let written = self.model.text.get(text.span.range()).unwrap_or(&text.node);
        html! { pre { (content(written.trim())) } }
    }

    /// The comments of a block, but for those within JSON, which are shown there.
    fn comments(&self, within: Span, covered: &[Span]) -> Vec<(usize, Markup)> {
        let mut at = within.start;
        let mut found = Vec::new();
        for line in self.model.text.get(within.range()).unwrap_or_default().split_inclusive('\n') {
            let comment = match line.trim_start().strip_prefix("//") {
                Some(rest) => Some((line.len() - line.trim_start().len(), rest)),
                None => line.split_once(" //").map(|(before, rest)| (before.len() + 1, rest)),
            };
            if let Some((column, text)) = comment {
                let place = at + column;
                if !covered.iter().any(|span| span.range().contains(&place)) {
                    let text = text.trim();
                    found.push((place, html! { p.comment { (shown(text)) } }));
                }
            }
            at += line.len();
        }
        found
    }
}

/// Where a step begins.
fn start(step: &ExampleStep) -> usize {
    match step {
        ExampleStep::At(name) | ExampleStep::Queue(name, _) | ExampleStep::Deliver(name) => {
            name.span.start
        }
        ExampleStep::As { id, .. } => id.span.start,
        ExampleStep::Call(call) => call.method.span.start,
        ExampleStep::Together(_, span) => span.start,
    }
}

/// What a step shows as it is written, where `//` is no comment of the block.
fn spans(step: &ExampleStep) -> Vec<Span> {
    match step {
        ExampleStep::Call(call) => {
            let headers =
                call.headers.iter().chain(&call.answer_headers).map(|(_, value)| value.span);
            let rest =
                call.body.iter().chain(&call.answer).chain([&call.path]).map(|name| name.span);
            headers.chain(rest).collect()
        }
        ExampleStep::Together(steps, _) => steps.iter().flat_map(spans).collect(),
        ExampleStep::At(_)
        | ExampleStep::As { .. }
        | ExampleStep::Queue(..)
        | ExampleStep::Deliver(_) => Vec::new(),
    }
}

fn mode_word(mode: QueueMode) -> &'static str {
    match mode {
        QueueMode::Works => "works",
        QueueMode::Holds => "holds its messages back",
        QueueMode::Refuses => "refuses messages",
    }
}

/// The colour of a status.
fn kind(status: u16) -> &'static str {
    match status {
        0..400 => "good",
        400..500 => "warn",
        _ => "bad",
    }
}

fn headers(headers: &[(Name, Name)]) -> Markup {
    html! {
        @for (name, value) in headers {
            p.header { code { (shown(&name.node)) ": " (shown(&value.node)) } }
        }
    }
}
