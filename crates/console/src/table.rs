//! The page of a table: one partition at a time, of the table itself or of an index. Read-only, for one role.
//!
//! A page is one query for at most [`ITEMS_MAX`] items, never a scan. Each item leads on: to its partitions in the other
//! indexes, and to the partitions whose keys are made of attributes that it has.

mod item;

use std::time::{Duration, Instant};

use latchkey_http::{Response, Service};
use latchkey_model::Model;
use latchkey_runtime::Runtime;
use latchkey_table::{
    Consistency, Direction, Item, Key, KeyNames, KeyType, Number, Page, Query, Resume, Schema,
    SortRange, Text,
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
    /// Which of its items.
    from: Place,
}

/// Where a page begins or ends, by an item: its key, and that in the index.
#[derive(Debug, Default)]
enum Place {
    /// With the first item of the partition.
    #[default]
    Start,
    /// Behind an item.
    After(Vec<String>),
    /// The items before an item.
    Before(Vec<String>),
}

impl Place {
    /// Adds a part of the item's key. What is asked for first counts.
    fn add(&mut self, before: bool, part: String) {
        match (self, before) {
            (Place::After(parts), false) | (Place::Before(parts), true) => parts.push(part),
            (own @ Place::Start, false) => *own = Place::After(vec![part]),
            (own @ Place::Start, true) => *own = Place::Before(vec![part]),
            (Place::After(_), true) | (Place::Before(_), false) => {}
        }
    }
}

impl Asked {
    fn of(query: &str) -> Asked {
        let mut asked = Asked::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "index" if !value.is_empty() => asked.index = Some(value.into_owned()),
                "partition" if !value.is_empty() => asked.partition = Some(value.into_owned()),
                "after" | "before" => asked.from.add(name == "before", value.into_owned()),
                _ => {}
            }
        }
        asked
    }
}

/// The path of a partition's first page.
pub(crate) fn path(system: &str, index: Option<&str>, partition: &str) -> String {
    path_from(system, index, partition, ("after", &[]))
}

/// The path of a page of a partition: `after` an item, or `before` it.
fn path_from(
    system: &str,
    index: Option<&str>,
    partition: &str,
    (side, item): (&str, &[Text]),
) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    if let Some(index) = index {
        query.append_pair("index", index);
    }
    query.append_pair("partition", partition);
    for part in item {
        query.append_pair(side, part);
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
    let index = asked.index.as_deref();
    let names = key_names(table, index)?;
    let back = matches!(asked.from, Place::Before(_));
    let query = Query {
        table: table.clone(),
        index: index.map(Text::from),
        partition: key_text(names, partition)?,
        range: SortRange::All,
        filter: None,
        direction: if back { Direction::Descending } else { Direction::Ascending },
        // One more tells whether there are more.
        limit: Some(ITEMS_MAX + 1),
        resume: resume(&asked.from)?,
        consistency: Consistency::Eventual,
    };
    let mut page: Page = runtime
        .backend()
        .ask(query, Instant::now() + TIME_MAX)
        .await
        .map_err(|error| error.to_string())?;
    let most = usize::try_from(ITEMS_MAX).unwrap_or(usize::MAX);
    let more = page.items.len() > most || page.resume.is_some();
    page.items.truncate(most);
    if back {
        page.items.reverse();
    }
    let to = |side, item: Option<&Item>| {
        let item = parts(table, index, item?)?;
        Some(path_from(&model.system, index, partition, (side, &item)))
    };
    let turns = Turns {
        first: (!matches!(asked.from, Place::Start)).then(|| path(&model.system, index, partition)),
        previous: match (&asked.from, back && !more) {
            (Place::Start, _) | (_, true) => None,
            _ => to("before", page.items.first()),
        },
        next: (back || more).then(|| to("after", page.items.last())).flatten(),
    };
    Ok(html! {
        section.card.collection {
            header {
                h2 { code { (shown(partition)) } }
                p.muted {
                    @match index { Some(index) => { "index " (shown(index)) }, None => "table" }
                    ", " (counted(page.items.len())) @if turns.next.is_some() { " and more" } ", " (page.capacity)
                }
            }
            @if page.items.is_empty() { p.empty { (nothing(&asked.from)) } }
            div.items data-items { @for one in &page.items { (item::card(model, table, secrets, one, index)) } }
            (turns.links())
        }
    })
}

/// What stands in the place of no items.
fn nothing(from: &Place) -> &'static str {
    match from {
        Place::Start => "Nothing is stored under this key.",
        Place::After(_) => "Nothing more is stored under this key.",
        Place::Before(_) => "Nothing is stored before this under this key.",
    }
}

/// Where one can turn to from a page.
struct Turns {
    first: Option<String>,
    previous: Option<String>,
    next: Option<String>,
}

impl Turns {
    fn links(&self) -> Markup {
        let all = [("First page", &self.first), ("Previous", &self.previous), ("Next", &self.next)];
        html! {
            @if all.iter().any(|(_, to)| to.is_some()) {
                nav.turns aria-label="Pages of this partition" {
                    @for (name, to) in all { @if let Some(to) = to { a.button href=(to) { (name) } } }
                }
            }
        }
    }
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

/// A partition as people write it; nothing for one that the table cannot have.
pub(crate) fn plain_partition(table: &Schema, index: Option<&str>, key: &str) -> Option<String> {
    match key_names(table, index).ok()?.partition.value_type {
        KeyType::Text => Some(key.to_owned()),
        KeyType::Number => Number::from_key(key).map(|number| number.to_string()),
    }
}

/// The item from which a page is read on.
fn resume(from: &Place) -> Result<Option<Resume>, String> {
    let (Place::After(parts) | Place::Before(parts)) = from else { return Ok(None) };
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
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

/// The keys of an item, for a query string: that of the table, and that of the index in which it was found.
fn parts(table: &Schema, index: Option<&str>, item: &Item) -> Option<Vec<Text>> {
    let mut keys = vec![table.key.of(item)?];
    if index.is_some() {
        keys.push(key_names(table, index).ok()?.of(item)?);
    }
    Some(keys.into_iter().flat_map(|key| [key.partition, key.sort]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_begins_behind_an_item_or_ends_before_it() {
        let from = |query: &str| Asked::of(query).from;
        assert!(matches!(from("partition=a"), Place::Start));
        let key = |parts: &[&str]| parts.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        match from("partition=a&after=p&after=") {
            Place::After(parts) => assert_eq!(parts, key(&["p", ""])),
            other => panic!("{other:?}"),
        }
        // Whoever asks for both gets the first.
        match from("before=p&after=x&before=s") {
            Place::Before(parts) => assert_eq!(parts, key(&["p", "s"])),
            other => panic!("{other:?}"),
        }
        assert!(resume(&from("before=p")).is_err());
        let whole = resume(&from("before=p&before=s&before=i&before=j")).unwrap().unwrap();
        assert_eq!(whole, Resume { key: Key::new("p", "s"), index_key: Some(Key::new("i", "j")) });
    }
}
