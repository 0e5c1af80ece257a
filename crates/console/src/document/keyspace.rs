//! A picture of the key space: the partitions of the table and of each index, and what lies in them.
//!
//! The picture is SVG with classes and no style of its own. Letters of the fixed-width font are taken to be as wide as in
//! the widest font of the list in the style sheet, so text stays within its block.

use latchkey_model::Model;
use latchkey_model::model::{By, Entity, EntityId};
use maud::{Markup, html};

use super::access::outline;
use super::lines::Lines;
use crate::colour;
use crate::shown::shown;

/// The width of the picture, in pixels.
const WIDTH: usize = 920;
/// The height of a line of text.
const LINE: usize = 18;
/// The space within and between blocks.
const GAP: usize = 10;
/// The width of a letter in tenths of a pixel: of a template, of a name, of a note.
const LETTERS: [usize; 3] = [74, 90, 72];
/// How many letters of a text are shown.
const LETTERS_MAX: usize = 60;

/// How many letters of the templates of a partition are shown.
const TEMPLATES_MAX: usize = 115;

/// The table or an index, and its partitions.
pub(crate) struct Space<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Whether it is an index.
    pub(crate) index: bool,
    /// The attributes that hold its keys.
    pub(crate) key: String,
    /// Its partitions. Templates that differ in the names of their parts alone make one: their items lie together where
    /// the values are the same.
    pub(crate) partitions: Vec<Partition>,
}

/// A partition, and what lies in it.
pub(crate) struct Partition {
    /// Its templates, each once.
    pub(crate) templates: Vec<String>,
    /// The sort template and the template of the partition of each entity, by the first.
    pub(crate) lies: Vec<(String, String, EntityId)>,
}

/// The table and its indexes.
pub(crate) fn spaces(model: &Model) -> Vec<Space<'_>> {
    let indexes = model
        .indexes
        .enumerate()
        .map(|(id, index)| (By::Index(id), index.name.as_str(), &index.key));
    let all =
        std::iter::once((By::Table, model.table.name.as_str(), &model.table.key)).chain(indexes);
    let space = |(by, name, key): (By, _, &latchkey_model::model::KeyNames)| {
        let mut partitions: Vec<Partition> = Vec::new();
        for (id, entity) in model.entities.enumerate() {
            let Some(place) = entity.place(by) else { continue };
            let (template, sort) = (place.partition.to_string(), place.sort.to_string());
            let same = |other: &&mut Partition| {
                other.templates.iter().any(|other| outline(other) == outline(&template))
            };
            let lies = (sort, template.clone(), id);
            match partitions.iter_mut().find(same) {
                Some(partition) => {
                    if !partition.templates.contains(&template) {
                        partition.templates.push(template);
                    }
                    partition.lies.push(lies);
                }
                None => partitions.push(Partition { templates: vec![template], lies: vec![lies] }),
            }
        }
        partitions.iter_mut().for_each(|partition| partition.lies.sort());
        let names: Vec<&str> = key.iter().map(|attribute| attribute.name.as_str()).collect();
        Space { name, index: by != By::Table, key: names.join(", "), partitions }
    };
    all.map(space).collect()
}

/// A block of the picture.
struct Drawn {
    x: usize,
    y: usize,
    width: usize,
    entity: EntityId,
    name: String,
    sort: String,
    note: Option<String>,
}

/// A partition of the picture.
struct Row {
    y: usize,
    height: usize,
    partition: String,
    blocks: Vec<Drawn>,
}

/// The picture of the table or an index.
pub(crate) fn picture(model: &Model, lines: &Lines, space: &Space<'_>, number: usize) -> Markup {
    let (rows, height) = rows(model, space);
    let (title, about) = (format!("space-{number}"), format!("space-{number}-about"));
    html! {
        div.scroll.space-box tabindex="0" role="group" aria-label={ "Keys of " (shown(space.name)) } {
            svg.space width=(WIDTH) height=(height) viewBox={ "0 0 " (WIDTH) " " (height) } role="group"
                aria-labelledby={ (title) " " (about) } {
                title id=(title) { "The keys of " (shown(space.name)) }
                desc id=(about) { (shown(&described(model, space))) }
                @for row in &rows { (drawn(model, lines, row)) }
            }
        }
    }
}

/// Puts the blocks of each partition side by side, on as many lines as they take.
fn rows(model: &Model, space: &Space<'_>) -> (Vec<Row>, usize) {
    let (mut rows, mut y) = (Vec::new(), 0);
    for Partition { templates, lies } in &space.partitions {
        let noted = lies.iter().any(|(_, _, id)| note(model, &model.entities[*id]).is_some());
        let high = LINE * (if noted { 3 } else { 2 }) + GAP;
        let (mut x, mut top) = (GAP, y + LINE + 2 * GAP);
        let mut blocks = Vec::new();
        for (sort, _, entity) in lies {
            let sort =
                if sort.is_empty() { "(no sort key)".to_owned() } else { cut(sort, LETTERS_MAX) };
            let note = note(model, &model.entities[*entity]).map(|note| cut(&note, LETTERS_MAX));
            let name = cut(&model.entities[*entity].name, LETTERS_MAX);
            let noted = note.as_deref().unwrap_or_default();
            let widths = [sort.as_str(), &name, noted].into_iter().zip(LETTERS);
            let width = widths.map(|(text, letter)| text.chars().count() * letter / 10).max();
            let width = (width.unwrap_or(0).max(60) + 2 * GAP).min(WIDTH - 2 * GAP);
            if x > GAP && x + width + GAP > WIDTH {
                (x, top) = (GAP, top + high + GAP);
            }
            blocks.push(Drawn { x, y: top, width, entity: *entity, name, sort, note });
            x += width + GAP;
        }
        let height = top + high + GAP - y;
        rows.push(Row {
            y,
            height,
            partition: cut(&templates.join(" or "), TEMPLATES_MAX),
            blocks,
        });
        y += height + GAP;
    }
    (rows, y.max(LINE))
}

fn drawn(model: &Model, lines: &Lines, row: &Row) -> Markup {
    html! {
        rect.band x="0" y=(row.y) width=(WIDTH) height=(row.height) rx="8" {}
        text.pk x=(GAP) y=(row.y + LINE + GAP / 2) { (shown(&row.partition)) }
        @for block in &row.blocks {
            @let entity = &model.entities[block.entity];
            @let high = if row.blocks.iter().any(|other| other.note.is_some()) { 3 * LINE + GAP } else { 2 * LINE + GAP };
            a class={ "block " (colour::class(model, block.entity, "b")) } href={ "#L" (lines.of(entity.span.start)) } {
                rect x=(block.x) y=(block.y) width=(block.width) height=(high) rx="6" {}
                text.name x=(block.x + GAP) y=(block.y + LINE) { (shown(&block.name)) }
                text.sk x=(block.x + GAP) y=(block.y + 2 * LINE) { (shown(&block.sort)) }
                @if let Some(note) = &block.note { text.tied x=(block.x + GAP) y=(block.y + 3 * LINE) { (shown(note)) } }
            }
        }
    }
}

/// What ties an entity to others.
pub(crate) fn note(model: &Model, entity: &Entity) -> Option<String> {
    let name = |id: EntityId| model.entities[id].name.as_str();
    let view = entity.view_of.map(|of| format!("view of {}", name(of)));
    let guard = entity.guarded_by.map(|by| format!("guarded by {}", name(by)));
    let ends = entity.expires.as_ref().map(|attribute| format!("ends at {attribute}"));
    let all: Vec<String> = view.into_iter().chain(guard).chain(ends).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// A text as far as it is shown.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// The picture in words.
fn described(model: &Model, space: &Space<'_>) -> String {
    let partitions = space.partitions.iter().map(|Partition { templates, lies }| {
        let items = lies.iter().map(|(sort, _, id)| {
            let name = &model.entities[*id].name;
            if sort.is_empty() { name.clone() } else { format!("{name} at {sort}") }
        });
        let items: Vec<String> = items.collect();
        format!("Partition {} has {}.", templates.join(" or "), items.join(", "))
    });
    partitions.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "```contract\nsystem a\ntable T { type kind }\n\
        entity A \"A\" {\n  PK = \"X#{a}\"\n  SK = \"M\"\n  a id\n}\n\
        entity B \"B\" {\n  PK = \"X#{b}\"\n  SK = \"L\"\n  b id\n  index I {\n    PK = \"Y\"\n    SK = \"{b}\"\n  }\n}\n\
        entity C \"C\" view of A {\n  PK = \"Z#{a}\"\n  SK = \"M\"\n  copies a\n}\n```\n";

    #[test]
    fn items_that_lie_together_are_in_one_partition() {
        let model = latchkey_model::check(DOCUMENT).model;
        let told: Vec<(&str, Vec<String>, Vec<String>)> = spaces(&model)
            .iter()
            .flat_map(|space| space.partitions.iter().map(|one| (space.name, one)))
            .map(|(name, one)| {
                let lies = one
                    .lies
                    .iter()
                    .map(|(sort, _, id)| format!("{sort} {}", model.entities[*id].name));
                (name, one.templates.clone(), lies.collect())
            })
            .collect();
        let texts =
            |all: &[&str]| -> Vec<String> { all.iter().map(|&text| text.to_owned()).collect() };
        assert_eq!(
            told,
            [
                ("T", texts(&["X#{a}", "X#{b}"]), texts(&["L B", "M A"])),
                ("T", texts(&["Z#{a}"]), texts(&["M C"])),
                ("I", texts(&["Y"]), texts(&["{b} B"])),
            ]
        );
    }

    #[test]
    fn blocks_stay_within_the_picture() {
        let long = "x".repeat(100);
        let text = DOCUMENT
            .replace("\"M\"", &format!("\"{long}\""))
            .replace("entity A ", &format!("entity A{long} "));
        let model = latchkey_model::check(&text).model;
        for space in spaces(&model) {
            let (rows, height) = rows(&model, &space);
            for row in &rows {
                assert!(row.y + row.height <= height);
                for block in &row.blocks {
                    assert!(block.x + block.width + GAP <= WIDTH, "{}", block.name);
                    assert!(block.y > row.y && block.y < row.y + row.height);
                }
            }
        }
    }
}
