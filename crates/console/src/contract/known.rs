//! What the script of the page must know of the contract, its visitor and the other contracts of its system.

use std::net::IpAddr;

use latchkey_model::Model;
use latchkey_model::model::{CapacityUnit, Contract, Segment, StepKind, each_step};
use serde_json::{Value, json};

use super::Subject;
use crate::route;
use crate::view::Views;

pub(super) fn told(subject: Subject<'_>) -> Value {
    let Subject { model, contract, visitor, api } = subject;
    let claims = &visitor.claims;
    let names = |all: &[latchkey_value::Text]| -> Vec<String> {
        all.iter().map(|name| name.as_str().to_owned()).collect()
    };
    let cost = contract.facts.cost.as_ref().map(|stated| {
        let of = |unit| stated.value.of(unit).to_string();
        json!({ "rcu": of(CapacityUnit::Read), "wcu": of(CapacityUnit::Write) })
    });
    json!({
        "id": contract.id,
        "system": model.system,
        "method": contract.route.as_ref().map(|route| route.method.as_str()),
        "segments": segments(contract),
        "keys": model.table.key.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(),
        "page": contract.page().map(|page| page.sized_by),
        "cost": cost,
        "who": { "sub": claims.sub.as_str(), "roles": names(&claims.roles), "orgs": names(&claims.orgs) },
        "contracts": contracts(model),
        "api": api.map(|address| {
            // Whoever listens at every address of a machine is asked for under the name of the console.
            let host = (!address.ip().is_unspecified()).then(|| match address.ip() {
                IpAddr::V4(ip) => ip.to_string(),
                IpAddr::V6(ip) => format!("[{ip}]"),
            });
            json!({ "host": host, "port": address.port() })
        }),
        "views": Views::of(model, contract).told(contract),
    })
}

/// The contracts that can be called, to which an answer can lead.
fn contracts(model: &Model) -> Vec<Value> {
    let called = model.contracts.iter().filter_map(|contract| {
        let route = contract.route.as_ref()?;
        Some(json!({
            "id": contract.id,
            "title": contract.title,
            "method": route.method.as_str(),
            "segments": segments(contract),
            "version": version(model, contract),
            "to": route::contract(&model.system, &contract.id),
        }))
    });
    called.collect()
}

/// The input that must have the version of an item, and the attribute that has it: a link that leads from the item to
/// the contract fills it in.
fn version(model: &Model, contract: &Contract) -> Option<Value> {
    let mut found = None;
    each_step(&contract.steps, &mut |step| {
        if let StepKind::Match(test, _) = &step.kind {
            found = found.or_else(|| model.versioned(contract, test));
        }
    });
    let versioned = found?;
    Some(json!({ "input": contract.inputs[versioned.input].name, "counter": versioned.counter }))
}

/// A path: texts, and the names of inputs.
fn segments(contract: &Contract) -> Vec<Value> {
    let all = contract.route.iter().flat_map(|route| &route.segments);
    all.map(|segment| match segment {
        Segment::Literal(text) => json!({ "text": text }),
        Segment::Input(id) => json!({ "input": contract.inputs[*id].name }),
    })
    .collect()
}
