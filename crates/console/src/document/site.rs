//! Documents as a site of files, which needs no server: HTML that is the same as in the console, and Markdown.

use latchkey_model::Model;
use maud::{DOCTYPE, Markup, html};

use super::body::{self, Places};
use super::{Reading, file_name, reference};
use crate::shown::shown;
use crate::{Document, asset, play, shell};

/// A file of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteFile {
    /// Its path within the site, with slashes.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// The files that every page needs.
const ASSETS: [&str; 4] = ["console.css", "document.css", "theme.js", "document.js"];

/// Nothing is loaded but the files beside a page, and nothing is run that stands in it.
const POLICY: &str = "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src data:; base-uri 'none'; form-action 'none'";

/// A page of a system: what it is called, and its path within the site.
struct Page {
    title: &'static str,
    path: String,
}

/// The pages of a system. Further pages of a system get their line here, and their files in [`site`].
fn pages(model: &Model) -> Vec<Page> {
    let system = &model.system;
    let mut pages = vec![
        Page { title: "Document", path: format!("systems/{system}.html") },
        Page { title: "Reference in Markdown", path: format!("systems/{system}.md") },
    ];
    if has_film(model) {
        pages.push(Page { title: "Play the examples", path: film_path(system) });
    }
    pages
}

/// Whether there is something to play.
fn has_film(model: &Model) -> bool {
    !model.examples.is_empty()
}

/// The path of the page that plays the examples of a system.
fn film_path(system: &str) -> String {
    format!("play/{system}.html")
}

/// The site of documents, as files in the order of their paths. The names of their systems must differ, also in capital
/// letters. The examples are run for it, in memory, on the thread that asks, which must not be one of an async runtime;
/// fails if they cannot be run at all.
pub fn site(documents: &[Document]) -> Result<Vec<SiteFile>, String> {
    let others = documents
        .iter()
        .map(|other| (file_name(&other.path).to_owned(), format!("{}.html", other.model.system)));
    let places = Places { documents: others.collect(), contracts: None };
    let mut files: Vec<SiteFile> = ASSETS
        .iter()
        .filter_map(|name| Some((name, asset::text(name)?)))
        .map(|(name, text)| SiteFile { path: format!("assets/{name}"), text: text.to_owned() })
        .collect();
    files.push(SiteFile { path: "assets/play.css".to_owned(), text: play::style().to_owned() });
    files.push(SiteFile { path: "assets/play.js".to_owned(), text: play::script() });
    files.push(SiteFile { path: "index.html".to_owned(), text: index(documents).into_string() });
    for document in documents {
        let reading = Reading::new(document);
        let system = &document.model.system;
        let main = body::markup(&reading, &places);
        let text = page(system, "../", &["document"], &main).into_string();
        files.push(SiteFile { path: format!("systems/{system}.html"), text });
        let text = reference::markdown(&reading);
        files.push(SiteFile { path: format!("systems/{system}.md"), text });
        if has_film(&document.model) {
            let text = film(&document.model)?.into_string();
            files.push(SiteFile { path: film_path(system), text });
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// The page that plays the examples of a system.
fn film(model: &Model) -> Result<Markup, String> {
    let recording = play::record(model)
        .map_err(|reason| format!("the examples of {} cannot be played: {reason}", model.system))?;
    let main = html! {
        header.head {
            h1 { "Play " (shown(&model.system)) }
            p.muted { "The examples of the document, request by request, in memory." }
        }
        (play::body(&recording))
    };
    Ok(page(&format!("Play {}", model.system), "../", &["play"], &main))
}

/// The first page.
fn index(documents: &[Document]) -> Markup {
    let main = html! {
        header.head { h1 { "Systems" } }
        div.groups {
            @for document in documents {
                @let model = &document.model;
                section.card {
                    header { h2 { (shown(&model.system)) } p.muted { "Table " code { (shown(&model.table.name)) } } }
                    ul.site-pages { @for page in pages(model) { li { a href=(page.path) { (page.title) } } } }
                    ul.contracts {
                        @for contract in model.contracts.iter().chain(model.workers.iter().map(|worker| &worker.body)) {
                            li {
                                a.contract href={ "systems/" (model.system) ".html#contract-" (contract.id) } {
                                    (crate::home::badge(contract))
                                    span.contract-title { (shown(&contract.title)) }
                                    code.contract-path { (shown(&crate::home::call_of(model, contract))) }
                                    span.contract-id { (shown(&contract.id)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    };
    page("Systems", "", &["document"], &main)
}

/// A page of the site, with the styles and scripts of some names. `root` leads from the page to the root of the site.
fn page(title: &str, root: &str, parts: &[&str], main: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (shown(title)) " · Latchkey" }
                link rel="icon" href=(shell::ICON);
                link rel="stylesheet" href={ (root) "assets/console.css" };
                @for part in parts { link rel="stylesheet" href={ (root) "assets/" (part) ".css" }; }
                script src={ (root) "assets/theme.js" } {}
                script defer src={ (root) "assets/document.js" } {}
                @for part in parts.iter().filter(|part| **part != "document") { script defer src={ (root) "assets/" (part) ".js" } {} }
            }
            body {
                a.skip href="#main" { "Skip to the page" }
                header.bar {
                    a.brand href={ (root) "index.html" } aria-label="Latchkey" { (shell::mark()) span { "Latchkey" } }
                    button.quiet.theme type="button" data-theme-button hidden { "Light or dark" }
                }
                main.site #main tabindex="-1" { (main) }
            }
        }
    }
}
