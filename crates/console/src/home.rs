//! The first page: the systems that are served, and their contracts as their documents group them.

use hyper::StatusCode;
use latchkey_http::{Response, Service};
use latchkey_model::Model;
use latchkey_model::model::{Contract, Segment, Trigger};
use maud::{Markup, html};

use crate::session::Visitor;
use crate::shell::Shell;
use crate::shown::shown;
use crate::{Console, Document, group, route};

/// A group of more contracts than these is as wide as the page, in columns.
const LONG: usize = 12;

pub(crate) async fn page(console: &Console, service: &Service, visitor: &Visitor) -> Response {
    let (status, said) = service.readiness().await;
    let main = html! {
        header.head {
            h1 { "What is served" }
            p.health.good[status == StatusCode::OK].bad[status != StatusCode::OK] { span.dot aria-hidden="true" {} (said.trim()) }
        }
        @if visitor.admin { (traffic()) }
        @for document in &console.systems { (system(document, visitor.admin)) }
    };
    // What all callers do is for one role.
    let (scripts, styles): (&[&str], &[&str]) =
        if visitor.admin { (&["home.js"], &["traffic.css"]) } else { (&[], &[]) };
    let shell = Shell { console, visitor, title: "Home", path: "/", scripts, styles };
    shell.page(&main)
}

/// The traffic of the last minute, which the script fills in. Each number has its place before it is known.
fn traffic() -> Markup {
    let tiles = [
        ("calls a second", "perSecond"),
        ("refused", "refused"),
        ("failed", "failed"),
        ("p50", "p50"),
        ("p99", "p99"),
    ];
    html! {
        section.traffic aria-labelledby="traffic-title" {
            header {
                h2 #traffic-title { "The last minute" }
                p.small { a href=(route::operations()) { "Operations" } }
            }
            p.note.bad role="alert" data-silent hidden {}
            dl.tiles {
                @for (label, name) in tiles { div.tile data-tile=(name) { dt.label { (label) } dd { "–" } } }
            }
        }
    }
}

fn system(document: &Document, traffic: bool) -> Markup {
    let model = &document.model;
    let counted =
        |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    html! {
        section.system-card {
            header {
                h2 { a href=(route::document(&model.system)) { (shown(&model.system)) } }
                p.muted {
                    "Table " code { (shown(&model.table.name)) } ", "
                    (counted(model.entities.iter().count(), "entity").replace("entitys", "entities")) ", "
                    (counted(model.contracts.len(), "contract")) ", from " code { (shown(&document.path)) }
                }
                @if traffic { p.lately data-lately=(model.system) { span.spark-place {} span.small.muted { "–" } } }
            }
            div.groups {
                @for group in group::groups(model) {
                    section.group-card.long[group.contracts.len() > LONG] {
                        @if !group.title.is_empty() { h3 { (shown(&group.title)) } }
                        ul.contracts { @for one in group.contracts { li { (row(model, one)) } } }
                    }
                }
            }
        }
    }
}

/// A contract in a list.
fn row(model: &Model, contract: &Contract) -> Markup {
    html! {
        a.contract href=(route::contract(&model.system, &contract.id)) {
            (badge(contract))
            span.contract-title { (shown(&contract.title)) }
            code.contract-path { (shown(&call_of(model, contract))) }
            span.contract-id { (shown(&contract.id)) }
        }
    }
}

/// The method of a contract, in its colour.
pub(crate) fn badge(contract: &Contract) -> Markup {
    let method = contract.route.as_ref().map(|route| route.method.as_str());
    let word = method.unwrap_or("QUEUE");
    html! { span class={ "method m-" (word.to_ascii_lowercase()) } { (word) } }
}

/// The path of a contract, or the queue that it works through.
pub(crate) fn call_of(model: &Model, contract: &Contract) -> String {
    match (&contract.route, contract.trigger) {
        (Some(route), _) => {
            let parts = route.segments.iter().map(|segment| match segment {
                Segment::Literal(text) => format!("/{text}"),
                Segment::Input(id) => format!("/{{{}}}", contract.inputs[*id].name),
            });
            let path: String = parts.collect();
            if path.is_empty() { "/".to_owned() } else { path }
        }
        (
            None,
            Trigger::Message(queue)
            | Trigger::Dead(queue)
            | Trigger::Accepted(queue)
            | Trigger::Refused(queue),
        ) => model.queues[queue].name.clone(),
        (None, Trigger::Request | Trigger::Invariant) => String::new(),
    }
}
