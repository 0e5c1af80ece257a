//! What surrounds every page: the head, the bar with the filter box, who visits.

use hyper::StatusCode;
use latchkey_http::Response;
use latchkey_model::model::Contract;
use maud::{DOCTYPE, Markup, html};

use crate::answer::Refusal;
use crate::session::{self, Visitor};
use crate::shown::shown;
use crate::{Console, answer, asset, group, route};

/// A page of the console.
pub(crate) struct Shell<'a> {
    pub(crate) console: &'a Console,
    pub(crate) visitor: &'a Visitor,
    /// The title of the page.
    pub(crate) title: &'a str,
    /// The path of the page, which is marked in the list of pages.
    pub(crate) path: &'a str,
    /// The scripts of the page, beside that of all pages.
    pub(crate) scripts: &'a [&'a str],
    /// The styles of the page, beside that of all pages.
    pub(crate) styles: &'a [&'a str],
}

impl Shell<'_> {
    /// The page around its content.
    pub(crate) fn page(&self, main: &Markup) -> Response {
        let scripts: Vec<&str> = ["console.js"].iter().chain(self.scripts).copied().collect();
        let body = html! {
            body {
                a.skip href="#main" { "Skip to the page" }
                header.bar {
                    button.quiet.burger type="button" aria-expanded="false" aria-controls="side" data-side { "Pages" }
                    a.brand href="/" aria-label="Latchkey" { (mark()) span { "Latchkey" } }
                    (filter_box())
                    (self.visitor())
                }
                div.frame {
                    nav.side #side aria-label="Pages" { (self.pages()) }
                    main #main tabindex="-1" { (main) }
                }
            }
        };
        answer::page(StatusCode::OK, document(self.title, &scripts, self.styles, &body))
    }

    fn visitor(&self) -> Markup {
        let claims = &self.visitor.claims;
        html! {
            details.who {
                summary { span.dot aria-hidden="true" {} span.who-name { (shown(&claims.sub)) } }
                div.menu {
                    p { "You are " strong { (shown(&claims.sub)) } "." }
                    p.muted {
                        @if claims.roles.is_empty() { "You have no role." } @else { "Roles: " (shown(&claims.roles.join(", "))) }
                        @if !claims.orgs.is_empty() { br; "Organisations: " (shown(&claims.orgs.join(", "))) }
                    }
                    @if !self.console.personas.is_empty() {
                        p.label { "Be someone else" }
                        (session::personas(self.console, Some(self.path), Some(claims)))
                    }
                    div.menu-foot {
                        button.quiet type="button" data-theme-switch { "Light or dark" }
                        form method="post" action={ (route::PREFIX) "/sign-out" } { button.quiet type="submit" { "Sign out" } }
                    }
                }
            }
        }
    }

    /// The pages of the console: those of the server, and the contracts of each system.
    fn pages(&self) -> Markup {
        html! {
            ul.pages {
                li { (self.link("/", "Home")) }
                @if self.visitor.admin { li { (self.link(&route::operations(), "Operations")) } }
            }
            @for document in &self.console.systems {
                @let model = &document.model;
                details.system open[self.is_within(&model.system)] {
                    summary { (shown(&model.system)) }
                    ul.pages {
                        li { (self.link(&route::document(&model.system), "Document")) }
                        li { (self.link(&route::play(&model.system), "Play")) }
                        @if self.visitor.admin { li { (self.link(&route::table(&model.system), "Table")) } }
                    }
                    @for group in group::groups(model) {
                        @if !group.title.is_empty() { p.group { (shown(&group.title)) } }
                        ul.pages {
                            @for contract in group.contracts {
                                @let path = route::contract(&model.system, &contract.id);
                                li { (self.contract(&path, contract)) }
                            }
                        }
                    }
                }
            }
        }
    }

    fn is_within(&self, system: &str) -> bool {
        let document = route::document(system);
        let within = self.path.strip_prefix(&document);
        within.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            || self.console.systems.len() == 1
    }

    fn contract(&self, path: &str, contract: &Contract) -> Markup {
        html! {
            a.titled href=(path) title=(shown(&contract.title)) aria-current=[(self.path == path).then_some("page")] {
                span.side-id { (shown(&contract.id)) } " " (shown(&contract.title))
            }
        }
    }

    fn link(&self, path: &str, text: &str) -> Markup {
        html! { a href=(path) aria-current=[(self.path == path).then_some("page")] { (shown(text)) } }
    }
}

/// The box that finds contracts, entities and pages. Without scripts it is not there.
fn filter_box() -> Markup {
    html! {
        div.find hidden data-find {
            input #find type="search" placeholder="Find a contract, an entity, a page" aria-label="Find" role="combobox"
                aria-expanded="false" aria-controls="found" aria-autocomplete="list" autocomplete="off" spellcheck="false";
            kbd aria-hidden="true" { "/" }
            ul #found role="listbox" aria-label="Found" hidden {}
        }
    }
}

/// A whole document.
fn document(title: &str, scripts: &[&str], styles: &[&str], body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (shown(title)) " · Latchkey" }
                link rel="icon" href=(ICON);
                link rel="stylesheet" href=(asset::path("console.css"));
                @for style in styles { link rel="stylesheet" href=(asset::path(style)); }
                // Before the first paint, so that a chosen theme does not flash.
                script src=(asset::path("theme.js")) {}
                @for script in scripts { script type="module" src=(asset::path(script)) {} }
            }
            (body)
        }
    }
}

/// The mark, as a picture for the tab of a browser.
pub(crate) const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E%3Crect width='24' height='24' rx='6' fill='%230f766e'/%3E%3Cg fill='none' stroke='white' stroke-width='2'%3E%3Ccircle cx='9' cy='9' r='3.4'/%3E%3Cpath d='m11.5 11.5 7 7m-2-2 2-2m-4.6-.6 2-2'/%3E%3C/g%3E%3C/svg%3E";

/// A key.
pub(crate) fn mark() -> Markup {
    html! {
        svg.mark viewBox="0 0 24 24" aria-hidden="true" {
            rect width="24" height="24" rx="6" {}
            circle cx="9" cy="9" r="3.4" {}
            path d="m11.5 11.5 7 7m-2-2 2-2m-4.6-.6 2-2" {}
        }
    }
}

/// A page for someone who is not signed in.
pub(crate) fn outside(title: &str, main: &Markup) -> Markup {
    let body = html! {
        body.outside {
            header.bar { a.brand href="/" aria-label="Latchkey" { (mark()) span { "Latchkey" } } }
            main #main { (main) }
        }
    };
    document(title, &[], &[], &body)
}

/// A page that says one thing.
pub(crate) fn bare(refusal: Refusal, title: &str, text: &str) -> Response {
    let main = html! {
        section.card.sign-in { h1 { (title) } p { (text) } p { a href="/" { "To the console" } } }
    };
    answer::refusal(refusal, outside(title, &main))
}
