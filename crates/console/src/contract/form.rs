//! The form that calls a contract: a field for each input, made from its type.
//!
//! A field says in its attributes of what kind it is, so that the script can read and fill it, and hint at what is wrong.
//! Hints are early and never decide: the server does, and its words are then shown at the field.

mod control;

use latchkey_model::Type;
use latchkey_model::model::{Input, InputId, Method, NEXT_CURSOR, Place};
use maud::{Markup, html};

use super::Subject;
use crate::shown::shown;
use control::Field;
pub(super) use control::described;

pub(super) fn card(subject: Subject<'_>) -> Markup {
    let inputs = |place: Place| {
        let all = subject.contract.inputs.enumerate();
        all.filter(move |(_, input)| input.place == place).collect::<Vec<_>>()
    };
    let groups = [(Place::Path, "Path"), (Place::Query, "Query"), (Place::Body, "Body")];
    let groups = groups.map(|(place, title)| (title, inputs(place)));
    let several = groups.iter().filter(|(_, all)| !all.is_empty()).count() > 1;
    html! {
        form.card.caller #call novalidate autocomplete="off" aria-labelledby="call-title" {
            header {
                h2 #call-title { "Call it" }
                p.muted.small { "as " strong { (shown(&subject.visitor.claims.sub)) } }
            }
            div.fields {
                @for (title, all) in &groups {
                    @if several && !all.is_empty() { p.label { (title) } }
                    @for (id, input) in all { (field(subject, *id, input)) }
                }
                @if let Some(size) = page_size(subject) { (size) }
                @if subject.contract.inputs.is_empty() { p.muted { "It takes no input." } }
                (more(subject))
            }
            div.buttons.call-buttons {
                button.main type="submit" { "Run" } kbd.keys-hint { "Ctrl" } kbd.keys-hint { "Enter" }
                span.grow {}
                button.quiet type="button" data-curl { "Copy as curl" }
                button.quiet type="button" data-clear { "Clear" }
            }
        }
    }
}

/// The field of an input.
fn field(subject: Subject<'_>, id: InputId, input: &Input) -> Markup {
    let Subject { model, contract, .. } = subject;
    let default = input.default.as_ref().map(|default| subject.words(default.span));
    // `If-Match` can stand for the version that a `match` asks for.
    let by_header = model.version_input(contract) == Some(id);
    let place = match input.place {
        Place::Path => "path",
        Place::Query => "query",
        Place::Body | Place::Message | Place::Record => "body",
    };
    let field = Field {
        name: &input.name,
        label: &input.name,
        id: format!("in-{}", input.name),
        kind: &input.kind,
        required: !input.optional && default.is_none() && !by_header,
        default,
        nullable: input.place == Place::Body && model.takes_null(contract, id),
        secret: input.secret,
        place: Some(place),
    };
    field.markup()
}

/// The field that sizes a page.
fn page_size(subject: Subject<'_>) -> Option<Markup> {
    let page = subject.contract.page()?;
    let kind = Type::Int { low: Some(1), high: Some(i64::from(page.max)) };
    Some(extra(page.sized_by, page.sized_by, &kind, Some(page.size.to_string()), "query"))
}

/// What few calls need: the cursor of a page, and headers.
fn more(subject: Subject<'_>) -> Markup {
    let Subject { contract, .. } = subject;
    let text = Type::Text { max: None, like: None };
    let method = contract.route.as_ref().map(|route| route.method);
    let by_key = contract.facts.by_key.is_some();
    let cursor = contract.page().map(|_| extra(NEXT_CURSOR, NEXT_CURSOR, &text, None, "query"));
    let header = |name: &str, label: &str| extra(name, label, &text, None, "header");
    html! {
        details.more open[by_key] {
            summary { "More" }
            div.fields {
                @if let Some(cursor) = cursor { (cursor) }
                @if contract.keeps_records() || by_key { (header("idempotency-key", "Idempotency-Key")) }
                (header("if-match", "If-Match"))
                @if method == Some(Method::Get) { (header("if-none-match", "If-None-Match")) }
            }
        }
    }
}

/// A field that is no input of the contract.
fn extra(
    name: &str,
    label: &str,
    kind: &Type,
    default: Option<String>,
    place: &'static str,
) -> Markup {
    let field = Field {
        name,
        label,
        id: format!("in-{name}"),
        kind,
        required: false,
        default,
        nullable: false,
        secret: false,
        place: Some(place),
    };
    field.markup()
}
