//! The console: pages that show a served document, call its contracts and watch the server.
//!
//! Pages are rendered here, from checked models and from what the service tells; small scripts make some of them alive.
//! Everything a page needs is in the binary. Pages know no domain: what they show follows from the document.
//!
//! A visitor is who their token says. The token is in a cookie that scripts cannot read and that no other site can send
//! along. A page shows nothing that the token does not allow: calls are made with it, and what is behind all contracts
//! (the table, the queues, the traffic of others) is for one role alone.

mod answer;
mod asset;
mod call;
mod colour;
mod contract;
mod document;
mod find;
mod group;
mod home;
mod markdown;
mod operations;
pub mod play;
mod press;
mod route;
mod secret;
mod session;
mod shell;
mod shown;
mod table;
mod template;
mod traffic;
mod view;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::OnceLock;

use hyper::Method;
use hyper::header::{ALLOW, HeaderValue};
use latchkey_http::{Claims, Response, Service, Site, Visit};
use latchkey_model::Model;
use latchkey_value::Text;
use tokio::sync::OnceCell;

use crate::answer::Refusal;
use crate::route::Page;
use crate::session::Visitor;

pub use crate::document::site::{SiteFile, site};

/// The console of a server.
#[derive(Debug)]
pub struct Console {
    systems: Vec<Document>,
    /// The page of each document, once it was asked for.
    pages: Vec<OnceLock<String>>,
    personas: Vec<Persona>,
    signer: Option<Signer>,
    admin: Text,
    recordings: play::Recordings,
    traffic: traffic::Traffic,
    /// What is not shown of the keys of each system.
    secrets: Vec<secret::SecretKeys>,
    /// Where the contracts are, if not beside the console.
    api: Option<SocketAddr>,
}

/// A document that is served, in the order of the service's systems.
#[derive(Debug)]
pub struct Document {
    /// Where it was read from, for people.
    pub path: String,
    /// What it means.
    pub model: Model,
}

/// Someone whom a visitor can be at a click, while a service is developed.
#[derive(Debug, Clone)]
pub struct Persona {
    /// Who it is.
    pub claims: Claims,
    /// Whether it is someone who has nothing and may do nothing.
    pub stranger: bool,
}

/// Signs tokens for personas.
pub struct Signer(Box<Sign>);

type Sign = dyn Fn(&Claims) -> Result<String, String> + Send + Sync;

impl Signer {
    /// By a function that says why it cannot.
    pub fn new(sign: impl Fn(&Claims) -> Result<String, String> + Send + Sync + 'static) -> Signer {
        Signer(Box::new(sign))
    }
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer")
    }
}

impl Console {
    /// A console of documents. `admin` is the role that may see the table, the queues and the traffic.
    pub fn new(systems: Vec<Document>, admin: impl Into<Text>) -> Console {
        let pages = systems.iter().map(|_| OnceLock::new()).collect();
        let recordings = systems.iter().map(|_| OnceCell::new()).collect();
        let secrets = systems.iter().map(|one| secret::SecretKeys::of(&one.model)).collect();
        let (admin, traffic) = (admin.into(), traffic::Traffic::default());
        let (personas, signer, api) = (Vec::new(), None, None);
        Console { systems, pages, personas, signer, admin, recordings, traffic, secrets, api }
    }

    /// The same console for development: a visitor can be any of these people, with a token that is signed at the click.
    #[must_use]
    pub fn for_development(self, personas: Vec<Persona>, signer: Signer) -> Console {
        Console { personas, signer: Some(signer), ..self }
    }

    fn has_personas(&self) -> bool {
        !self.personas.is_empty()
    }

    /// The same console at an address of its own, apart from the contracts, which are at another.
    #[must_use]
    pub fn apart_from(self, contracts: SocketAddr) -> Console {
        Console { api: Some(contracts), ..self }
    }

    /// The document of a system, and its place among those that are served.
    fn system(&self, name: &str) -> Option<(usize, &Document)> {
        self.systems.iter().enumerate().find(|(_, document)| document.model.system == name)
    }

    /// The answer to someone who may not see a page.
    fn keep_out(&self, what: &str) -> Response {
        let text = format!("{what} is shown to callers with the role `{}` alone.", self.admin);
        shell::bare(Refusal::Forbidden, "Not for you", &text)
    }

    async fn respond(&self, service: &Service, visit: Visit) -> Response {
        let Some(page) = Page::of(visit.uri.path()) else {
            if let Some(path) = Page::without_slash(visit.uri.path()) {
                let query = visit.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
                return answer::moved(&format!("{path}{query}"));
            }
            return shell::bare(Refusal::NotFound, "Nothing here", "The console has no such page.");
        };
        if !page.takes(&visit.method) {
            let text = "This page is not asked for in this way.";
            let mut response = shell::bare(Refusal::Method, "Not here", text);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(page.methods()));
            return response;
        }
        if let Page::Asset { version, name } = &page {
            return asset::answer(version, name);
        }
        if visit.method == Method::POST && !session::is_from_here(&visit.headers) {
            let text = "The request came from a page of another site, and was not carried out.";
            return shell::bare(Refusal::Forbidden, "Refused", text);
        }
        match page {
            Page::SignIn if visit.method == Method::POST => {
                return session::sign_in(self, service, &visit).await;
            }
            Page::SignIn => return session::form(self, &visit),
            Page::SignOut => return session::sign_out(&visit.headers),
            Page::Be => return session::become_someone(self, &visit),
            _ => {}
        }
        let visitor = match session::visitor(self, service, &visit).await {
            Ok(visitor) => visitor,
            Err(outsider) => return outsider.answer(&page, &visit),
        };
        self.page(service, visit, page, &visitor).await
    }

    /// A page for someone who is signed in.
    async fn page(
        &self,
        service: &Service,
        visit: Visit,
        page: Page,
        visitor: &Visitor,
    ) -> Response {
        match page {
            Page::Home => home::page(self, service, visitor).await,
            Page::Find => find::answer(self, visitor),
            Page::Call => call::answer(self, service, visitor, visit).await,
            Page::Table { system } => {
                let query = visit.uri.query().unwrap_or_default();
                table::page(self, service, visitor, &system, query).await
            }
            Page::Operations => operations::page(self, service, visitor).await,
            Page::Figures => operations::figures(self, service, visitor).await,
            Page::Traffic => {
                let query = visit.uri.query().unwrap_or_default();
                traffic::answer(self, service, visitor, query)
            }
            Page::Redrive => operations::redrive(self, service, visitor, &visit.body).await,
            Page::Document { system } => document::page(self, visitor, &system),
            Page::Contract { system, id } => contract::page(self, service, visitor, (&system, &id)),
            Page::Play { system } => play::page(self, visitor, &system),
            Page::Film { system } => play::film(self, &system, &visit.headers).await,
            Page::Asset { .. } | Page::SignIn | Page::SignOut | Page::Be => {
                let text = "The page was answered before.";
                shell::bare(Refusal::Bug, "This is a bug in latchkey", text)
            }
        }
    }
}

impl Site for Console {
    fn has(&self, path: &str) -> bool {
        path == "/"
            || path == route::PREFIX
            || path.strip_prefix(route::PREFIX).is_some_and(|rest| rest.starts_with('/'))
    }

    fn answer<'a>(
        &'a self,
        service: &'a Service,
        visit: Visit,
    ) -> Pin<Box<dyn Future<Output = Response> + Send + 'a>> {
        let asked = visit.headers.clone();
        Box::pin(async move {
            let response = self.respond(service, visit).await;
            let response = answer::readable(response, &asked, service.problem_base());
            press::pressed(response, &asked).await
        })
    }

    fn attend<'a>(&'a self, service: &'a Service) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(self.traffic.watch(service))
    }
}
