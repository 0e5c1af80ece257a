//! The page of a contract.

use hyper::StatusCode;
use latchkey_http::Response;
use latchkey_model::Model;
use latchkey_model::model::Contract;
use maud::html;

use crate::session::Visitor;
use crate::shell::{self, Shell};
use crate::shown::shown;
use crate::{Console, home, route};

pub(crate) fn page(console: &Console, visitor: &Visitor, system: &str, id: &str) -> Response {
    let found = console.system(system).and_then(|(_, document)| {
        find(&document.model, id).map(|contract| (&document.model, contract))
    });
    let Some((model, contract)) = found else {
        let text = "No document that is served has such a contract.";
        return shell::bare(StatusCode::NOT_FOUND, "No such contract", text);
    };
    let main = html! {
        header.head {
            h1 { (home::badge(contract)) " " (shown(&contract.title)) }
            p.muted { code { (shown(&home::call_of(model, contract))) } }
        }
    };
    let path = route::contract(system, id);
    let shell = Shell {
        console,
        visitor,
        title: &contract.title,
        path: &path,
        styles: &[],
        scripts: &["contract.js"],
    };
    shell.page(&main)
}

/// The contract or worker of an id.
fn find<'a>(model: &'a Model, id: &str) -> Option<&'a Contract> {
    let workers = model.workers.iter().map(|worker| &worker.body);
    model.contracts.iter().chain(workers).find(|contract| contract.id == id)
}
