//! What the filter box finds, for its script: every contract, entity and page, with where it leads.

use hyper::StatusCode;
use latchkey_http::Response;
use serde_json::{Value, json};

use crate::session::Visitor;
use crate::{Console, answer, home, route};

pub(crate) fn answer(console: &Console, visitor: &Visitor) -> Response {
    let mut all: Vec<Value> = vec![json!({ "kind": "page", "name": "Home", "to": "/" })];
    if visitor.admin {
        all.push(json!({ "kind": "page", "name": "Operations", "to": route::operations() }));
    }
    for document in &console.systems {
        let model = &document.model;
        if visitor.admin {
            let (name, to) = (format!("Table {}", model.table.name), route::table(&model.system));
            all.push(json!({ "kind": "page", "name": name, "system": model.system, "to": to }));
        }
        all.push(json!({
            "kind": "page",
            "name": format!("Play {}", model.system),
            "title": "the examples, request by request",
            "system": model.system,
            "to": route::play(&model.system),
        }));
        let to = route::document(&model.system);
        all.push(json!({ "kind": "page", "name": format!("{}: document", model.system), "system": model.system, "to": to }));
        all.extend(model.entities.iter().map(|entity| {
            let line =
                model.text.get(..entity.span.start).unwrap_or_default().matches('\n').count() + 1;
            json!({
                "kind": "entity",
                "name": entity.name,
                "more": format!("{} {}", entity.key.partition, entity.key.sort).trim_end(),
                "system": model.system,
                "to": format!("{to}#L{line}"),
            })
        }));
        let bodies = model.contracts.iter().chain(model.workers.iter().map(|worker| &worker.body));
        all.extend(bodies.map(|contract| {
            json!({
                "kind": contract.route.as_ref().map_or("QUEUE", |route| route.method.as_str()),
                "name": contract.id,
                "title": contract.title,
                "more": home::call_of(model, contract),
                "system": model.system,
                "to": route::contract(&model.system, &contract.id),
            })
        }));
    }
    answer::json(StatusCode::OK, &Value::Array(all))
}
