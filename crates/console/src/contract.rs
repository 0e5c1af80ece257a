//! The page of a contract: what it does, its keys, a form to call it, and what came of the call.
//!
//! The page is made from the checked model and the plan. Its scripts (`contract.js`, `fields.js`, `outcome.js`) fill the
//! keys in while a visitor types, send the request that a client would send, and show the answer.

mod examples;
mod facts;
mod failures;
mod form;
mod keys;
mod known;
mod listing;
mod queue;

use std::net::SocketAddr;

use latchkey_http::{Response, Service};
use latchkey_model::Model;
use latchkey_model::model::{Contract, Segment};
use latchkey_runtime::explain;
use maud::{Markup, html};

use crate::answer::Refusal;
use crate::session::Visitor;
use crate::shell::{self, Shell};
use crate::shown::shown;
use crate::{Console, home, route, template};

/// What the parts of the page are made from.
#[derive(Clone, Copy)]
struct Subject<'a> {
    model: &'a Model,
    contract: &'a Contract,
    visitor: &'a Visitor,
    /// Where the contracts are, if not beside the console.
    api: Option<SocketAddr>,
}

/// The page of a contract, which is named by its system and its id.
pub(crate) fn page(
    console: &Console,
    service: &Service,
    visitor: &Visitor,
    (system, id): (&str, &str),
) -> Response {
    let found = console.system(system).and_then(|(at, document)| {
        let contract = find(&document.model, id)?;
        Some((service.runtimes().get(at)?, &document.model, contract))
    });
    let Some((runtime, model, contract)) = found else {
        let text = "No document that is served has such a contract.";
        return shell::bare(Refusal::NotFound, "No such contract", text);
    };
    let subject = Subject { model, contract, visitor, api: console.api };
    let explained = explain(runtime.system(), id);
    let asked = explained.as_ref().map_or(&[][..], |explained| explained.requests());
    let main = subject.page(&keys::cards(subject, asked));
    let path = route::contract(system, id);
    let scripts: &[&str] = if contract.route.is_some() { &["contract.js"] } else { &[] };
    let title = &contract.title;
    let styles = &["contract.css", "views.css"];
    Shell { console, visitor, title, path: &path, scripts, styles }.page(&main)
}

impl Subject<'_> {
    fn page(self, keys: &Markup) -> Markup {
        let Subject { model, contract, .. } = self;
        html! {
            header.head {
                div {
                    p.label { (shown(&model.system)) " · " (shown(&contract.id)) }
                    h1 { (home::badge(contract)) " " (shown(&contract.title)) }
                    p.call { (self.called()) }
                }
            }
            (facts::cards(self))
            @if contract.route.is_some() {
                div.columns.call-columns #contract data-contract=(known::told(self)) {
                    (form::card(self)) (answer()) (keys)
                }
            } @else {
                div.columns { (queue::card(self)) (keys) }
            }
            @match examples::card(self) {
                Some(examples) => div.columns { (failures::card(self)) (examples) },
                None => (failures::card(self)),
            }
            (listing::card(self))
        }
    }

    /// The path with its inputs, which the script fills in; or the queue.
    fn called(self) -> Markup {
        let Some(route) = &self.contract.route else {
            return html! { "Works through the queue " code { (shown(&home::call_of(self.model, self.contract))) } };
        };
        html! {
            code.template {
                @for segment in &route.segments {
                    "/"
                    @match segment {
                        Segment::Literal(text) => (shown(text)),
                        Segment::Input(id) => (template::chip(&self.contract.inputs[*id].name, None, None)),
                    }
                }
                @if route.segments.is_empty() { "/" }
            }
        }
    }

    /// A part of the document, as it is written, in one line.
    fn words(self, span: latchkey_language::Span) -> String {
        let text = self.model.text.get(span.range()).unwrap_or("…");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The line of a place in the document, counted from 1.
    fn line(self, at: usize) -> usize {
        self.model.text.get(..at).unwrap_or_default().matches('\n').count() + 1
    }
}

/// Where the script shows what came of a call.
fn answer() -> Markup {
    html! {
        section.card.answer #answer tabindex="-1" aria-labelledby="answer-title" {
            header { h2 #answer-title { "Answer" } div.buttons data-answer-tools {} }
            div data-answer aria-live="polite" {
                p.empty { "Run the contract to see its answer, the requests to the table and what they cost." }
            }
        }
    }
}

/// The contract or worker of an id.
fn find<'a>(model: &'a Model, id: &str) -> Option<&'a Contract> {
    let workers = model.workers.iter().map(|worker| &worker.body);
    model.contracts.iter().chain(workers).find(|contract| contract.id == id)
}

#[cfg(test)]
mod tests;
