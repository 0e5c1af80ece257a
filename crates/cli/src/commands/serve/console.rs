//! The console of a server: whether there is one, and whom a visitor can be while a service is developed.

use std::net::SocketAddr;
use std::sync::Arc;

use latchkey_console::{Console, Persona, Signer};
use latchkey_http::{Claims, Site, Tokens};
use latchkey_language::Name;
use latchkey_language::ast::{DemoStep, ExampleStep};
use latchkey_model::Model;
use latchkey_runtime::{Runtime, Source, SystemSource};
use latchkey_table::Text;

use super::{Documents, TOKEN_LASTS};
use crate::Failure;
use crate::arguments::Web;

/// The most people that a visitor is offered to be, of one document.
const PERSONAS_MAX: usize = 6;

/// Who has nothing and may do nothing, unless a document knows someone of the name.
const STRANGER: &str = "stranger";

/// The console, if there is to be one, of a server that listens there. While a service is developed, a visitor can be those that the examples know.
pub(super) fn site(
    web: &Web,
    listen: SocketAddr,
    documents: Documents<'_>,
    runtimes: &[Runtime],
    developing: Option<&Tokens>,
    demo: bool,
) -> Result<Option<Arc<dyn Site>>, Failure> {
    if !web.has_console(listen) {
        return Ok(None);
    }
    let roles = runtimes.iter().flat_map(|runtime| runtime.system().roles());
    if let Some(odd) = web.unknown_admin(roles.map(|role| role.as_str())) {
        tracing::warn!("{odd}");
    }
    let mut people = Vec::new();
    if developing.is_some() {
        people.push((everything(runtimes, web.admin_role()), false));
        for model in &documents.models {
            known(model, demo, &mut people);
        }
        let (sub, roles, orgs) = (Text::const_new(STRANGER), Vec::new(), Vec::new());
        people.push((Claims { sub, roles, orgs }, true));
    }
    let personas = people.into_iter().map(|(claims, stranger)| Persona { claims, stranger });
    let Documents { read, models } = documents;
    let documents = read.iter().zip(models).map(|(read, model)| {
        let path = read.path.clone();
        latchkey_console::Document { path, model }
    });
    let console = Console::new(documents.collect(), web.admin_role());
    let console = match developing.cloned() {
        Some(tokens) => {
            let sign = move |claims: &Claims| {
                let token = tokens.sign(claims, SystemSource.now(), TOKEN_LASTS);
                token.map_err(|error| error.to_string())
            };
            console.for_development(personas.collect(), Signer::new(sign))
        }
        None => console,
    };
    let console = match web.admin_listen {
        Some(_) => console.apart_from(listen),
        None => console,
    };
    Ok(Some(Arc::new(console)))
}

/// Who may do anything: every role of every system, and that of the console.
pub(super) fn everything(runtimes: &[Runtime], admin: &str) -> Claims {
    let roles = runtimes.iter().flat_map(|runtime| runtime.system().roles());
    let mut roles: Vec<Text> = roles.cloned().chain([Text::from(admin)]).collect();
    roles.sort_unstable();
    roles.dedup();
    Claims { sub: Text::const_new("dev"), roles, orgs: Vec::new() }
}

/// Adds those whom the examples of a document call as, each once; before them those of its demo, if it is played.
fn known(model: &Model, demo: bool, people: &mut Vec<(Claims, bool)>) {
    let steps = model.examples.iter().flat_map(|example| &example.steps);
    let examples = steps.filter_map(|step| match step {
        ExampleStep::As { id, roles, orgs } => Some(claims(id, roles, orgs)),
        _ => None,
    });
    let mut demos = Vec::new();
    model.demos.iter().filter(|_| demo).for_each(|demo| callers(&demo.steps, &mut demos));
    let mut found = 0;
    for claims in demos.into_iter().chain(examples) {
        // `as nobody` is a call without a token, and the callers of `as $name` are many.
        let is_one = claims.sub != "nobody" && !claims.sub.contains('$');
        if is_one && found < PERSONAS_MAX && !people.iter().any(|(known, _)| *known == claims) {
            people.push((claims, false));
            found += 1;
        }
    }
}

/// Those whom the steps of a demo call as.
fn callers(steps: &[DemoStep], found: &mut Vec<Claims>) {
    for step in steps {
        match step {
            DemoStep::As { id, roles, orgs } => found.push(claims(id, roles, orgs)),
            DemoStep::Repeat { steps, .. } | DemoStep::Every { steps, .. } => callers(steps, found),
            DemoStep::At(_) | DemoStep::Named(..) | DemoStep::Call(_) => {}
        }
    }
}

fn claims(id: &Name, roles: &[Name], orgs: &[Name]) -> Claims {
    let names = |all: &[Name]| all.iter().map(|name| Text::from(name.node.as_str())).collect();
    Claims { sub: Text::from(id.node.as_str()), roles: names(roles), orgs: names(orgs) }
}
