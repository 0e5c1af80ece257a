//! The document as a page: the picture of its keys, the table of its accesses, its findings, and its text with a card for
//! each contract.

use latchkey_language::{Block, BlockKind, blocks};
use latchkey_model::Model;
use maud::{Markup, PreEscaped, html};

use super::card::{Card, Who};
use super::finding::{self, Finding};
use super::keyspace;
use super::{Reading, exchange, source};
use crate::colour;
use crate::markdown::{self, Heading, Insert};
use crate::shown::{content, shown};

/// The levels of headings that the contents have.
const CONTENTS_LEVELS: u8 = 3;

/// Where links of a page lead.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    /// The other documents: the name of each file, and the path of its page.
    pub(crate) documents: Vec<(String, String)>,
    /// What the path of a contract's page begins with, where there are such pages.
    pub(crate) contracts: Option<String>,
}

/// The content of a page.
pub(crate) fn markup(reading: &Reading<'_>, places: &Places) -> Markup {
    let model = reading.model;
    let headings = markdown::headings(&model.text);
    let mut inserted = Inserted { reading, places, blocks: blocks(&model.text), done: Vec::new() };
    let text = markdown::render(&model.text, &headings, &mut inserted);
    // Text that is read in another way with tables than without may hide a block.
    let rest = inserted.rest();
    html! {
        div.document-box { div.document {
            (contents(reading, &headings))
            div.stack.document-main {
                header.head {
                    h1 { (shown(&model.system)) }
                    p.muted { "Table " code { (shown(&model.table.name)) } ", from " code { (shown(reading.path)) } }
                    p.jumps {
                        a href="#keys" { "Keys" } a href="#document" { "Document" } a href="#patterns" { "Screen → key" }
                        a href="#findings" { "Findings (" (reading.findings.len()) ")" }
                    }
                }
                (keys(reading))
                article.prose #document { (text) (PreEscaped(rest)) }
                (patterns(reading))
                (findings(reading))
            }
        } }
    }
}

/// The contents of the page.
fn contents(reading: &Reading<'_>, headings: &[Heading]) -> Markup {
    let count = reading.findings.len();
    html! {
        nav.contents aria-label="On this page" data-contents {
            details open {
                summary { "On this page" }
                ul {
                    li { a href="#keys" { "Keys" } }
                    @for heading in headings.iter().filter(|heading| heading.level <= CONTENTS_LEVELS) {
                        li class={ "c" (heading.level) } { a href={ "#" (heading.id) } { (shown(&heading.text)) } }
                    }
                    li { a href="#patterns" { "Screen → key" } }
                    li { a href="#findings" { "Findings (" (count) ")" } }
                }
            }
        }
    }
}

/// The picture of the keys, and the same as a table.
fn keys(reading: &Reading<'_>) -> Markup {
    let spaces = keyspace::spaces(reading.model);
    html! {
        section.card #keys {
            header { h2 { "Keys" } p.muted { "Partitions, and what lies in each" } }
            @for (number, space) in spaces.iter().enumerate() {
                h3.space-name { (if space.index { "Index " } else { "Table " }) code { (shown(space.name)) } span.muted { " by " (shown(&space.key)) } }
                (keyspace::picture(reading.model, &reading.lines, space, number))
            }
            details {
                summary { "The same as a table" }
                div.scroll tabindex="0" { (entities(reading, &spaces)) }
            }
        }
    }
}

fn entities(reading: &Reading<'_>, spaces: &[keyspace::Space<'_>]) -> Markup {
    let model = reading.model;
    html! {
        table {
            thead { tr { th scope="col" { "Entity" } th scope="col" { "In" } th scope="col" { "Partition" } th scope="col" { "Sort key" } th scope="col" { "Tied to" } } }
            tbody {
                @for space in spaces {
                    @for partition in &space.partitions {
                        @for (sort, partition, id) in &partition.lies {
                            @let entity = &model.entities[*id];
                            tr {
                                td { (dot(model, Some(*id))) a href={ "#L" (reading.lines.of(entity.span.start)) } { (shown(&entity.name)) } }
                                td { code { (shown(space.name)) } }
                                td { code { (shown(partition)) } }
                                td { @if !sort.is_empty() { code { (shown(sort)) } } }
                                td { @if let Some(note) = keyspace::note(model, entity) { (shown(&note)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The colour of an entity.
fn dot(model: &Model, id: Option<latchkey_model::model::EntityId>) -> Markup {
    html! { @if let Some(id) = id { span class={ "dot " (colour::class(model, id, "d")) } aria-hidden="true" {} " " } }
}

/// Each access of each contract.
fn patterns(reading: &Reading<'_>) -> Markup {
    html! {
        section.card #patterns {
            header { h2 { "Screen → key" } p.muted { "What each contract asks of the table" } }
            div.scroll tabindex="0" {
                table.patterns {
                    thead { tr { th scope="col" { "Contract" } (columns()) } }
                    tbody {
                        @for card in &reading.cards {
                            @for (at, access) in card.accesses.iter().enumerate() {
                                tr.first[at == 0] {
                                    @if at == 0 {
                                        th scope="rowgroup" rowspan=(card.accesses.len()) {
                                            a href={ "#contract-" (card.id) } { (shown(&card.id)) }
                                            " " (shown(&card.title))
                                        }
                                    }
                                    (cells(reading.model, access))
                                }
                            }
                            @if card.accesses.is_empty() {
                                tr.first {
                                    th scope="row" { a href={ "#contract-" (card.id) } { (shown(&card.id)) } " " (shown(&card.title)) }
                                    td.muted colspan="6" { "asks nothing of the table" }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn columns() -> Markup {
    html! { th scope="col" { "Operation" } th scope="col" { "On" } th scope="col" { "Entity" } th scope="col" { "Partition" } th scope="col" { "Sort key" } th scope="col" { "Consistency" } }
}

fn cells(model: &Model, access: &super::access::Access) -> Markup {
    html! {
        td { (access.operation) }
        td { @match &access.index { Some(index) => code { (shown(index)) }, None => "table" } }
        td.nowrap { (dot(model, access.entity)) @if let Some(id) = access.entity { (shown(&model.entities[id].name)) } }
        td.sk { code { (shown(&access.partition)) } }
        td.sk { @if !access.sort.is_empty() { code { (shown(&access.sort)) } } }
        td { @if access.consistency.is_empty() { span.muted { "write" } } @else { (access.consistency) } }
    }
}

/// What the check tells, rule by rule.
fn findings(reading: &Reading<'_>) -> Markup {
    let mut rules: Vec<&'static str> =
        reading.findings.iter().map(|finding| finding.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    html! {
        section.card #findings {
            header { h2 { "Findings of the check" } }
            @if rules.is_empty() { p.muted { "No warning, and no rule is waived." } }
            @for rule in rules {
                div.rule id={ "rule-" (rule) } {
                    h3 { code { (rule) } " " span.muted { (finding::ticked(&finding::meaning(rule))) } }
                    ul {
                        @for one in reading.findings.iter().filter(|finding| finding.rule == rule) {
                            li { (at_line(reading, one)) }
                        }
                    }
                }
            }
        }
    }
}

fn at_line(reading: &Reading<'_>, finding: &Finding) -> Markup {
    html! {
        span class={ "pill f-" (finding.kind.word()) } { (finding.kind.word()) } " "
        @if reading.is_shown(finding.line) { a href={ "#L" (finding.line) } { "line " (finding.line) } } @else { "line " (finding.line) }
        ": " (finding::ticked(&finding.message))
    }
}

/// What stands in the text instead of the blocks.
struct Inserted<'a> {
    reading: &'a Reading<'a>,
    places: &'a Places,
    blocks: Vec<Block>,
    /// Where the blocks that were inserted begin.
    done: Vec<usize>,
}

impl Inserted<'_> {
    fn html(&self, block: &Block) -> String {
        let reading = self.reading;
        let text = reading.model.text.get(block.text.range()).unwrap_or_default();
        let first = reading.lines.of(block.text.start);
        let html = match block.kind {
            BlockKind::Contract => {
                let declared: Vec<usize> = reading.cards.iter().map(|card| card.line).collect();
                html! {
                    @for part in source::parts(text, first, &declared) {
                        (source::markup(&part, &reading.findings))
                        @for card in reading.cards.iter().filter(|card| Some(card.line) == part.contract) {
                            (card_markup(reading, card, self.places))
                        }
                    }
                }
            }
            BlockKind::Example => {
                let found =
                    reading.model.examples.iter().find(|example| example.span == block.text);
                html! {
                    @match found {
                        Some(example) => (exchange::markup(reading.model, &reading.lines, example)),
                        None => pre.plain { (shown(text)) }
                    }
                }
            }
            BlockKind::Demo => html! { pre.plain { (shown(text)) } },
        };
        html.into_string()
    }

    /// The blocks that were not inserted.
    fn rest(&self) -> String {
        let left = self.blocks.iter().filter(|block| !self.done.contains(&block.opening.start));
        left.map(|block| self.html(block)).collect()
    }
}

impl Insert for Inserted<'_> {
    fn block(&mut self, start: usize) -> Option<String> {
        let own = |block: &&Block| (block.opening.start..=block.opening.end).contains(&start);
        let block = *self.blocks.iter().find(own)?;
        self.done.push(block.opening.start);
        Some(self.html(&block))
    }

    fn relative(&self, target: &str) -> Option<String> {
        let file = target.split('#').next()?.rsplit('/').next()?;
        let (_, page) = self.places.documents.iter().find(|(name, _)| name == file)?;
        Some(page.clone())
    }
}

/// The card of a contract.
fn card_markup(reading: &Reading<'_>, card: &Card, places: &Places) -> Markup {
    html! {
        section.card.contract-card id={ "contract-" (card.id) } aria-label={ (shown(&card.id)) ", computed" } {
            header {
                p.what {
                    span class={ "method m-" (card.method.to_ascii_lowercase()) } { (card.method) }
                    " " code { (shown(&card.path)) }
                }
                p.muted {
                    (shown(&card.id))
                    @if let Some(before) = &places.contracts { " · " a href={ (before) (crate::route::segment(&card.id)) } { "Try it" } }
                }
            }
            dl.facts {
                dt { "Who may call" }
                dd { @for who in &card.who { p { @match who { Who::Told(words) => (words), Who::Test(test) => code { (shown(test)) } } } } @if card.who.is_empty() { span.muted { "not stated" } } }
                dt { "Cost of a call" }
                dd {
                    "at most " strong { (card.most) }
                    @match &card.declared { Some(declared) => { ", declared " (shown(declared)) }, None => {} }
                    @if card.keeps_records { span.muted { ", and the record of a call with an Idempotency-Key" } }
                }
                @for (name, value) in &card.facts { dt { (name) } dd { (shown(value)) } }
                @if !card.uses.is_empty() {
                    dt { "Examples" }
                    dd.uses { @for (line, status) in &card.uses { a href={ "#L" (line) } { "line " (line) @if let Some(status) = status { " (" (status) ")" } } " " } }
                }
            }
            @if !card.accesses.is_empty() {
                div.scroll tabindex="0" {
                    table.accesses { thead { tr { (columns()) } } tbody { @for access in &card.accesses { tr { (cells(reading.model, access)) } } } }
                }
            }
            (failures(card))
            (requests(card))
        }
    }
}

fn failures(card: &Card) -> Markup {
    html! {
        @if !card.failures.is_empty() {
            details {
                summary { "Failures (" (card.failures.len()) ")" }
                div.scroll tabindex="0" {
                    table {
                        thead { tr { th scope="col" { "Status" } th scope="col" { "Code" } th scope="col" { "Message" } th scope="col" { "Line" } } }
                        tbody {
                            @for failure in &card.failures {
                                tr {
                                    td { @match failure.status { Some(status) => (status), None => span.muted { "a failed try" } } }
                                    td { code { (shown(&failure.code)) } }
                                    td { (shown(&failure.message)) }
                                    td { a href={ "#L" (failure.line) } { (failure.line) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn requests(card: &Card) -> Markup {
    html! {
        @match &card.requests {
            None => p.muted { "The requests are not known: the document cannot be run." },
            Some(requests) if requests.is_empty() => {},
            Some(requests) => details {
                summary { "Requests to the table (" (requests.len()) ")" }
                @for asked in requests {
                    @if !asked.is_leg() { p.label { (asked.operation) } }
                    pre.plain { (content(&asked.json)) }
                }
            }
        }
    }
}
