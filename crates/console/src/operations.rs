//! The page of traffic and queues: what each contract does now, the busiest partitions, what waits and what was given up.
//!
//! The server tells counters, and the script of the page draws what changed between two of them. For one role.

use hyper::StatusCode;
use latchkey_http::{Response, Service};
use latchkey_model::model::CapacityUnit;
use latchkey_runtime::queue::{Peeked, Which};
use latchkey_runtime::{QueueHandle, Runtime};
use latchkey_value::{Map, Value as Stored, json, time};
use maud::html;
use serde_json::{Value, json};

use crate::answer::Refusal;
use crate::session::Visitor;
use crate::shell::Shell;
use crate::{Console, answer, route};

/// How many partitions are shown.
const HOT_MAX: usize = 10;

/// How many dead messages of a queue are shown.
const LETTERS_MAX: usize = 100;

/// The most messages that one order sends again by their ids.
const IDS_MAX: usize = 100;

pub(crate) async fn page(console: &Console, service: &Service, visitor: &Visitor) -> Response {
    if !visitor.admin {
        return console.keep_out("The traffic");
    }
    let (status, said) = service.readiness().await;
    let main = html! {
        header.head {
            h1 { "Operations" }
            p.health.good[status == StatusCode::OK].bad[status != StatusCode::OK] { span.dot aria-hidden="true" {} (said.trim()) }
        }
        // Each number has its place before it is known.
        section.tiles data-tiles aria-label="The whole server" {
            @for label in ["calls a second", "calls", "failed", "being answered", "up for"] {
                div.tile { span.label { (label) } strong { "–" } }
            }
        }
        section.card {
            header { h2 { "Contracts" } p.muted { "calls/s, p50 and p99 are of the last minute; refused and failed since the server started." } }
            div.scroll tabindex="0" role="region" aria-label="Contracts" { table.live.stacks data-contracts {
                thead { tr {
                    th { "Contract" } th.num { "calls/s" } th { "lately, up to 15 min" } th.num { "p50" } th.num { "p99" }
                    th.num { "refused" } th.num { "failed" } th.num { "RCU a call" } th.num { "WCU a call" }
                } }
                tbody {}
            } }
            p.empty data-quiet { "No contract has been called since the server started." }
        }
        div.columns {
            section.card { header { h2 { "Busiest partitions" } p.muted { "One call in sixteen is looked at." } } ol.hot data-hot {} }
            section.card { header { h2 { "Queues" } } div.scroll tabindex="0" role="region" aria-label="Queues" { table.stacks data-queues {
                thead { tr { th { "Queue" } th.num { "waiting" } th.num { "oldest" } th.num { "held" } th.num { "later" } th.num { "given up" } } }
                tbody {}
            } } }
        }
        section.card data-letters hidden {
            header { h2 { "Given up" } p.muted { "Messages that were tried too often. " span data-letter-count {} } }
            div.buttons {
                input type="search" data-letter-filter aria-label="Filter" placeholder="Filter by queue, failure or content";
                button type="button" data-redrive-shown { "Send all shown again" }
            }
            p.redriven role="status" data-redriven {}
            ul.letters data-letter-list {}
            div.empty data-letter-none hidden {
                p data-letter-none-text {}
                button type="button" data-letter-all { "Show all" }
            }
        }
    };
    let (path, title) = (route::operations(), "Operations");
    let (scripts, styles) = (&["operations.js"], &["traffic.css", "operations.css"]);
    Shell { console, visitor, title, path: &path, scripts, styles }.page(&main)
}

/// All figures, for the script.
pub(crate) async fn figures(console: &Console, service: &Service, visitor: &Visitor) -> Response {
    if !visitor.admin {
        return refused(console);
    }
    let figures = service.figures();
    let contracts = figures.contracts.iter().map(|one| {
        let document = console.systems.get(one.system);
        let system = document.map_or("", |document| document.model.system.as_str());
        let counts = &one.counts;
        json!({
            "system": system,
            "id": one.contract.as_str(),
            "to": route::contract(system, &one.contract),
            "declared": document.map(|document| declared(document, &one.contract)),
            "calls": counts.calls,
            "refused": counts.refused,
            "failed": counts.failed,
            "readHalves": counts.read_halves,
            "writeUnits": counts.write_units,
        })
    });
    let hot = service.hot_partitions(HOT_MAX).into_iter().filter_map(|hot| {
        let system = &console.systems.get(hot.system)?.model.system;
        let secrets = console.secrets.get(hot.system)?;
        let table = service.runtimes().get(hot.system)?.system().table();
        let index = hot.index.as_deref();
        let partition = crate::table::plain_partition(table, index, &hot.partition);
        let hidden = partition.as_deref().and_then(|key| secrets.hidden(key));
        // Where there is none, it is one of Latchkey's own items, in a table of their own.
        let to = partition.as_deref().filter(|_| hidden.is_none());
        let to = to.map(|key| crate::table::path(system, index, key));
        let partition = hidden.or(partition).unwrap_or_else(|| hot.partition.to_string());
        Some(json!({
            "system": system, "index": index, "partition": partition, "seen": hot.seen, "to": to,
        }))
    });
    let mut queues = Vec::new();
    for runtime in service.runtimes() {
        for queue in runtime.system().queues() {
            queues.push(told(runtime, queue.name, &runtime.queue_by_id(queue.id)).await);
        }
    }
    let told = json!({
        "uptimeMs": u64::try_from(figures.uptime.as_millis()).unwrap_or(u64::MAX),
        "inFlight": figures.in_flight,
        "contracts": contracts.collect::<Vec<_>>(),
        "hot": hot.collect::<Vec<_>>(),
        "queues": queues,
    });
    answer::json(StatusCode::OK, &told)
}

/// What a contract declares that one call costs, as far as it does.
fn declared(document: &crate::Document, id: &str) -> Value {
    let contract = document.model.contracts.iter().find(|contract| contract.id == id);
    let costs =
        contract.and_then(|contract| contract.facts.cost.as_ref()).map(|stated| &stated.value.0);
    let of = |unit: CapacityUnit| {
        let cost = costs?.iter().find(|(_, own)| *own == unit)?;
        Some(cost.0.to_string())
    };
    json!({ "rcu": of(CapacityUnit::Read), "wcu": of(CapacityUnit::Write) })
}

/// A queue, with what was given up. A store that does not answer is said so, and the others are shown all the same.
async fn told(runtime: &Runtime, name: &str, queue: &QueueHandle<'_>) -> Value {
    let system = runtime.system().name();
    let (depth, letters) = (queue.depth().await, queue.letters().await);
    let (depth, letters) = match (depth, letters) {
        (Ok(depth), Ok(letters)) => (depth, letters),
        (Err(error), _) | (_, Err(error)) => {
            return json!({ "system": system, "queue": name, "error": error.to_string() });
        }
    };
    let shown = match letters.counted {
        0 => Ok(Vec::new()),
        _ => queue.peek(Which::Dead, LETTERS_MAX).await,
    };
    let (shown, error) = match shown {
        Ok(shown) => (shown, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    json!({
        "system": system,
        "queue": name,
        "visible": depth.visible.to_string(),
        "oldestMs": depth.oldest_ms,
        "inFlight": depth.in_flight.to_string(),
        "delayed": depth.delayed.to_string(),
        "dead": letters.to_string(),
        "error": error,
        "letters": shown.iter().map(|one| letter(runtime, one)).collect::<Vec<_>>(),
    })
}

fn letter(runtime: &Runtime, peeked: &Peeked) -> Value {
    let failure = peeked.failure.as_ref();
    json!({
        "id": peeked.message.id().as_str(),
        "at": time::format(peeked.at).map(|at| at.to_string()),
        "tries": peeked.tries,
        "failure": failure.map(|failure| json!({
            "class": failure.class.as_str(), "code": failure.code.as_str(), "message": failure.message.as_str(),
        })),
        "body": body(runtime, peeked.message.body()),
    })
}

/// The fields of a message, without secrets.
fn body(runtime: &Runtime, body: &Map) -> String {
    let fields = body.iter().map(|(name, value)| match runtime.system().is_secret(name) {
        true => (name.clone(), Stored::from("(secret)")),
        false => (name.clone(), value.clone()),
    });
    let mut out = String::new();
    json::write(&Stored::Map(fields.collect()), &mut out);
    out
}

/// Sends dead messages again: those of some ids, or all of a queue.
pub(crate) async fn redrive(
    console: &Console,
    service: &Service,
    visitor: &Visitor,
    body: &[u8],
) -> Response {
    if !visitor.admin {
        return refused(console);
    }
    let wrong = |detail: &str| answer::problem(Refusal::Malformed, detail);
    let Ok(order) = serde_json::from_slice::<Value>(body) else { return wrong("this is not JSON") };
    let text = |name: &str| order.get(name).and_then(Value::as_str).unwrap_or_default();
    let place = console.system(text("system")).and_then(|(at, _)| service.runtimes().get(at));
    let Some(queue) = place.and_then(|runtime| runtime.queue(text("queue"))) else {
        return wrong("there is no such queue");
    };
    let ids: Vec<&str> = match order.get("ids").and_then(Value::as_array) {
        Some(ids) => ids.iter().filter_map(Value::as_str).collect(),
        None => return wrong("name the messages in `ids`"),
    };
    if ids.len() > IDS_MAX {
        return wrong("too many messages at once");
    }
    let mut count = 0;
    for id in ids {
        match queue.redrive(Some(id)).await {
            Ok(sent) => count += sent,
            Err(error) => {
                let detail = format!("{count} were sent again, then: {error}");
                return answer::problem(Refusal::Unavailable, &detail);
            }
        }
    }
    answer::json(StatusCode::OK, &json!({ "count": count }))
}

/// The answer to a script of someone who may not see it.
pub(crate) fn refused(console: &Console) -> Response {
    let detail = format!("this is for callers with the role `{}` alone", console.admin);
    answer::problem(Refusal::Forbidden, &detail)
}
