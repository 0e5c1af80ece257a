//! The page of a table: one partition at a time, of the table itself or of an index. Read-only, for one role.
//!
//! A page is one query of at most [`ITEMS_MAX`] items, never a scan. Each item leads on: to its partitions in the other
//! indexes, and to the partitions whose keys are made of attributes that it has.

mod item;

use std::time::{Duration, Instant};

use latchkey_http::{Response, Service};
use latchkey_model::Model;
use latchkey_runtime::Runtime;
use latchkey_table::{
    Consistency, Direction, Key, KeyNames, KeyType, Number, Page, Query, Resume, Schema, SortRange,
    Text,
};
use maud::{Markup, html};

use crate::answer::Refusal;
use crate::secret::SecretKeys;
use crate::session::Visitor;
use crate::shell::{self, Shell};
use crate::shown::shown;
use crate::template::partition::{Partition, partitions};
use crate::{Console, colour, route};

/// The most items of a page.
const ITEMS_MAX: u32 = 50;

/// How long a query for a page may take.
const TIME_MAX: Duration = Duration::from_secs(5);

/// What a visitor asks to see.
#[derive(Debug, Default)]
struct Asked {
    /// The index; none for the table itself.
    index: Option<String>,
    /// The partition, as it is written in requests.
    partition: Option<String>,
    /// The item behind which to go on: its key, and that in the index.
    after: Vec<String>,
}

impl Asked {
    fn of(query: &str) -> Asked {
        let mut asked = Asked::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "index" if !value.is_empty() => asked.index = Some(value.into_owned()),
                "partition" if !value.is_empty() => asked.partition = Some(value.into_owned()),
                "after" => asked.after.push(value.into_owned()),
                _ => {}
            }
        }
        asked
    }
}

/// The path of a partition's page.
pub(crate) fn path(system: &str, index: Option<&str>, partition: &str, after: &[Text]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    if let Some(index) = index {
        query.append_pair("index", index);
    }
    query.append_pair("partition", partition);
    for part in after {
        query.append_pair("after", part);
    }
    format!("{}?{}", route::table(system), query.finish())
}

pub(crate) async fn page(
    console: &Console,
    service: &Service,
    visitor: &Visitor,
    system: &str,
    query: &str,
) -> Response {
    let found = console.system(system);
    let found = found.and_then(|(at, document)| {
        Some((document, service.runtimes().get(at)?, console.secrets.get(at)?))
    });
    let Some((document, runtime, secrets)) = found else {
        return shell::bare(Refusal::NotFound, "No such system", "No such system is served.");
    };
    if !visitor.admin {
        return console.keep_out("The table");
    }
    let asked = Asked::of(query);
    let model = &document.model;
    let seen = match &asked.partition {
        Some(partition) => Some(look(model, secrets, runtime, &asked, partition).await),
        None => None,
    };
    let places = partitions(model);
    let main = html! {
        header.head { h1 { "Table " (shown(&model.table.name)) } p.muted { "One partition at a time. Nothing is changed here." } }
        div.columns.table-page {
            section.stack {
                (chooser(model, &places, &asked))
                section.card hidden data-recent={ (model.system) } { h2 { "Looked at before" } ul.pages.recent {} }
            }
            section.stack aria-live="polite" {
                @match &seen {
                    Some(Ok(seen)) => (seen),
                    Some(Err(reason)) => p.note.bad role="alert" { (shown(reason)) },
                    None => p.empty { "Choose a partition: type the ids of its key, or the key itself." },
                }
            }
        }
    };
    let path = route::table(system);
    let (title, scripts, styles) = ("Table", &["table.js"], &["table.css"]);
    Shell { console, visitor, title, path: &path, scripts, styles }.page(&main)
}

/// Where partitions can be chosen: by the templates of their keys, or by the key itself.
fn chooser(model: &Model, places: &[Partition<'_>], asked: &Asked) -> Markup {
    let action = route::table(&model.system);
    html! {
        section.card {
            h2 { "Choose a partition" }
            div.templates {
                @for (at, place) in places.iter().enumerate() {
                    form.template method="get" action=(action) data-template=(place.template.to_string()) {
                        @if let Some(index) = place.index { input type="hidden" name="index" value=(index); }
                        input type="hidden" name="partition" disabled[!place.is_constant()] value=[place.is_constant().then(|| place.template.to_string())];
                        p.template-key {
                            code { (shown(&place.template.to_string())) }
                            @if let Some(index) = place.index { span.pill { (shown(index)) } }
                        }
                        p.entities {
                            @for entity in &place.entities { span class={ "entity " (colour::class(model, *entity, "e")) } { (shown(&model.entities[*entity].name)) } }
                        }
                        div.template-inputs {
                            @for name in place.attributes() {
                                @let id = format!("t{at}-{name}");
                                label for=(id) { (shown(name)) }
                                input id=(id) data-hole=(name) required autocomplete="off" spellcheck="false";
                            }
                            button type="submit" { "Show" }
                        }
                    }
                }
            }
            form.raw-key method="get" action=(action) {
                label for="raw" { "Or the key itself" }
                div.raw-row {
                    select name="index" aria-label="Table or index" {
                        option value="" { "table" }
                        @for index in model.indexes.iter() { option value=(index.name) selected[asked.index.as_ref() == Some(&index.name)] { (shown(&index.name)) } }
                    }
                    input #raw name="partition" required autocomplete="off" spellcheck="false" value=[asked.partition.as_deref()];
                    button type="submit" { "Show" }
                }
            }
        }
    }
}

/// Looks at a partition.
async fn look(
    model: &Model,
    secrets: &SecretKeys,
    runtime: &Runtime,
    asked: &Asked,
    partition: &str,
) -> Result<Markup, String> {
    let table = runtime.system().table();
    let names = key_names(table, asked.index.as_deref())?;
    let query = Query {
        table: table.clone(),
        index: asked.index.as_deref().map(Text::from),
        partition: key_text(names, partition)?,
        range: SortRange::All,
        filter: None,
        direction: Direction::Ascending,
        limit: Some(ITEMS_MAX),
        resume: resume(asked)?,
        consistency: Consistency::Eventual,
    };
    let page: Page = runtime
        .backend()
        .ask(query, Instant::now() + TIME_MAX)
        .await
        .map_err(|error| error.to_string())?;
    Ok(html! {
        section.card.collection {
            header {
                h2 { code { (shown(partition)) } }
                p.muted {
                    @match &asked.index { Some(index) => { "index " (shown(index)) }, None => "table" }
                    ", " (counted(page.items.len())) @if page.resume.is_some() { " and more" } ", " (page.capacity)
                }
            }
            @if page.items.is_empty() { p.empty { "Nothing is stored under this key." } }
            div.items data-items { @for one in &page.items { (item::card(model, table, secrets, one, asked.index.as_deref())) } }
            @if let Some(next) = page.resume.filter(|_| !page.items.is_empty()) {
                p { a.button href=(path(&model.system, asked.index.as_deref(), partition, &parts(&next))) { "The next " (ITEMS_MAX) } }
            }
        }
    })
}

fn counted(items: usize) -> String {
    format!("{items} item{}", if items == 1 { "" } else { "s" })
}

/// The key of the table, or of an index.
fn key_names<'a>(table: &'a Schema, index: Option<&str>) -> Result<&'a KeyNames, String> {
    match index {
        None => Ok(&table.key),
        Some(name) => {
            let found = table.indexes.iter().find(|index| index.name == name);
            Ok(&found.ok_or_else(|| format!("there is no index `{name}`"))?.key)
        }
    }
}

/// The partition of a key as a request has it.
fn key_text(names: &KeyNames, partition: &str) -> Result<Text, String> {
    match names.partition.value_type {
        KeyType::Text => Ok(Text::from(partition)),
        KeyType::Number => {
            let number: Number = partition
                .trim()
                .parse()
                .map_err(|_| format!("`{partition}` is no number, and the key is one"))?;
            Ok(number.to_key())
        }
    }
}

/// Where a page begins.
fn resume(asked: &Asked) -> Result<Option<Resume>, String> {
    let parts: Vec<&str> = asked.after.iter().map(String::as_str).collect();
    match parts.as_slice() {
        [] => Ok(None),
        [partition, sort] => Ok(Some(Resume { key: Key::new(*partition, *sort), index_key: None })),
        [partition, sort, of_index, in_index] => {
            let index_key = Some(Key::new(*of_index, *in_index));
            Ok(Some(Resume { key: Key::new(*partition, *sort), index_key }))
        }
        _ => {
            Err("the place where the page begins is not whole; choose the partition again"
                .to_owned())
        }
    }
}

/// Where the next page begins, for a query string.
fn parts(resume: &Resume) -> Vec<Text> {
    let keys = std::iter::once(&resume.key).chain(&resume.index_key);
    keys.flat_map(|key| [key.partition.clone(), key.sort.clone()]).collect()
}
