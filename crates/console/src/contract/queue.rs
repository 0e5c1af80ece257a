//! The queue that a worker works through, and the fields of its messages.

use latchkey_model::model::Trigger;
use maud::{Markup, html};

use super::Subject;
use super::form::described;
use crate::shown::shown;

pub(super) fn card(subject: Subject<'_>) -> Markup {
    let Trigger::Message(id) = subject.contract.trigger else { return html! {} };
    let queue = &subject.model.queues[id];
    html! {
        section.card aria-labelledby="queue-title" {
            header { h2 #queue-title { "Queue " code { (shown(&queue.name)) } } }
            dl.facts {
                div { dt { "Lease" } dd { (lease(queue.lease_ms)) } }
                div { dt { "Tries" } dd { (queue.tries) } }
                @if let Some(group) = queue.group() { div { dt { "In order by" } dd { code { (shown(&group.name)) } } } }
            }
            @if queue.fields.is_empty() { p.muted { "Its messages have no fields." } }
            @else {
                div.scroll {
                    table {
                        caption.label { "A message" }
                        thead { tr { th { "Field" } th { "Type" } th { "Needed" } } }
                        tbody {
                            @for field in &queue.fields {
                                tr {
                                    td { code { (shown(&field.name)) } }
                                    td { (shown(&described(&field.kind))) }
                                    td { @if field.optional { "no" } @else { "yes" } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A lease in seconds, where it is a whole number of them.
fn lease(milliseconds: u64) -> String {
    if milliseconds.is_multiple_of(1000) {
        format!("{} s", milliseconds / 1000)
    } else {
        format!("{milliseconds} ms")
    }
}
