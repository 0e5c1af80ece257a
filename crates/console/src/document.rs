//! The page of a document: its text, with what is computed and what the check tells of it.
//!
//! A page is made once, at its first request, and kept: neither the document nor what is computed of it changes while it
//! is served.

mod access;
mod body;
mod card;
mod exchange;
mod finding;
mod keyspace;
mod lines;
mod reference;
pub(crate) mod site;
mod source;

use std::path::Path;

use latchkey_http::Response;
use latchkey_language::{BlockKind, blocks};
use latchkey_model::Model;
use maud::PreEscaped;

use crate::answer::Refusal;
use crate::session::Visitor;
use crate::shell::{self, Shell};
use crate::{Console, Document, route};
use body::Places;
use card::Card;
use finding::Finding;
use lines::Lines;

/// A document and all that is computed of it.
pub(crate) struct Reading<'a> {
    model: &'a Model,
    path: &'a str,
    lines: Lines,
    cards: Vec<Card>,
    findings: Vec<Finding>,
    /// The lines of each block that is shown as source.
    shown: Vec<std::ops::RangeInclusive<usize>>,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(document: &'a Document) -> Reading<'a> {
        let model = &document.model;
        let lines = Lines::new(&model.text);
        let checked = latchkey_model::check(&model.text);
        let contracts =
            blocks(&model.text).into_iter().filter(|block| block.kind == BlockKind::Contract);
        let shown = contracts.map(|block| {
            lines.of(block.text.start)
                ..=lines.of(block.text.end.saturating_sub(1).max(block.text.start))
        });
        Reading {
            model,
            path: file_name(&document.path),
            cards: card::cards(model, &lines),
            findings: finding::findings(model, &checked.diagnostics, &lines),
            shown: shown.collect(),
            lines,
        }
    }

    /// Whether a line has a place in the page.
    fn is_shown(&self, line: usize) -> bool {
        self.shown.iter().any(|lines| lines.contains(&line))
    }
}

/// The name of a file. The rest of its path is of the machine that serves it.
fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

/// The page of a system's document.
pub(crate) fn page(console: &Console, visitor: &Visitor, system: &str) -> Response {
    let Some((at, document)) = console.system(system) else {
        let text = "No document of this system is served.";
        return shell::bare(Refusal::NotFound, "No such system", text);
    };
    let Some(kept) = console.pages.get(at) else {
        let text = "The page has no place.";
        return shell::bare(Refusal::Bug, "This is a bug in latchkey", text);
    };
    let main = kept.get_or_init(|| {
        let documents = console
            .systems
            .iter()
            .map(|other| (file_name(&other.path).to_owned(), route::document(&other.model.system)));
        let contracts = Some(format!("{}/contracts/", route::document(system)));
        let places = Places { documents: documents.collect(), contracts };
        body::markup(&Reading::new(document), &places).into_string()
    });
    let path = route::document(system);
    let (styles, scripts) = (&["document.css"], &["document.js"]);
    let title = format!("{system}: document");
    let shell = Shell { console, visitor, title: &title, path: &path, styles, scripts };
    shell.page(&PreEscaped(main.clone()))
}
