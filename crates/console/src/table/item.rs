//! An item as a card: its entity, its sort key, its attributes, and where it leads.

use latchkey_model::Model;
use latchkey_model::model::Entity;
use latchkey_table::{Item, KeyType, Schema, Value};
use latchkey_value::json;
use maud::{Markup, html};

use crate::colour;
use crate::secret::{SECRET, SecretKeys};
use crate::shown::shown;
use crate::template::partition::{filled, partitions};
use crate::view::order;

/// What the keys of Latchkey's own items begin with.
const OWN: &str = "LATCHKEY#";

/// An item, as it was found in the table or in an index.
pub(super) fn card(
    model: &Model,
    table: &Schema,
    secrets: &SecretKeys,
    item: &Item,
    index: Option<&str>,
) -> Markup {
    let discriminator = item.get(&model.table.discriminator).and_then(Value::as_text);
    let known = model.entities.enumerate().find(|(_, entity)| {
        Some(entity.discriminator.as_str()) == discriminator.map(|text| text.as_str())
    });
    let key = table.key.of(item);
    let own = key.as_ref().is_some_and(|key| key.partition.starts_with(OWN));
    let names = table
        .indexes
        .iter()
        .find(|one| Some(one.name.as_str()) == index)
        .map_or(&table.key, |one| &one.key);
    let place = names.of(item);
    let at = known.and_then(|(_, entity)| time(entity, item, index));
    html! {
        article data-at=[at] class={ "item " (known.map_or_else(|| "ex".to_owned(), |(id, _)| colour::class(model, id, "e"))) } {
            header {
                span.entity {
                    @match (known, discriminator) {
                        (Some((_, entity)), _) => (shown(&entity.name)),
                        (None, _) if own => "Latchkey's own",
                        (None, Some(text)) => (shown(text)),
                        (None, None) => "no type",
                    }
                }
                code.sort { (place.map_or_else(String::new, |key| shown(&sort_shown(names, secrets, &key)).into_owned())) }
            }
            @if own { p.muted { "Its content is not shown." } }
            @else { (attributes(model, table, item, known.map(|(_, entity)| entity))) (leads(model, table, secrets, item, index)) }
        }
    }
}

/// A key for people: that of a number says nothing without its name.
fn named(table: &Schema, index: Option<&str>, key: &str) -> String {
    let own = table.indexes.iter().find(|one| Some(one.name.as_str()) == index);
    let partition = &own.map_or(&table.key, |one| &one.key).partition;
    match partition.value_type {
        KeyType::Number => format!("{} = {key}", partition.name),
        KeyType::Text => key.to_owned(),
    }
}

/// The time by which an item is ordered among those of its entity, as it is stored.
fn time<'a>(entity: &Entity, item: &'a Item, index: Option<&str>) -> Option<&'a str> {
    let key = match index {
        None => &entity.key,
        Some(name) => &entity.indexes.iter().find(|shape| shape.name == name)?.key,
    };
    let attribute = order::time_in(&key.sort)?;
    item.get(&attribute).and_then(Value::as_text).map(|text| text.as_str())
}

/// A sort key for people.
fn sort_shown(
    names: &latchkey_table::KeyNames,
    secrets: &SecretKeys,
    key: &latchkey_table::Key,
) -> String {
    let Some(sort) = &names.sort else { return String::new() };
    let text = plain(&sort.value(key.sort.clone()));
    secrets.hidden(&text).unwrap_or(text)
}

/// The attributes that are neither keys nor the type.
fn attributes(model: &Model, table: &Schema, item: &Item, entity: Option<&Entity>) -> Markup {
    let keys = table.key_attributes();
    let is_declared = |name: &str| entity.is_some_and(|entity| entity.attribute(name).is_some());
    let is_shown = |name: &str| {
        is_declared(name) || (!keys.contains(&name) && name != model.table.discriminator)
    };
    let is_secret = |name: &str| {
        let own = entity.and_then(|entity| entity.attribute(name));
        own.map_or_else(
            || model.entities.iter().any(|one| one.attribute(name).is_some_and(|it| it.secret)),
            |it| it.secret,
        )
    };
    html! {
        dl.attributes {
            @for (name, value) in item.iter().filter(|(name, _)| is_shown(name)) {
                dt { (shown(name)) }
                dd.value { @if is_secret(name) { span.muted { (SECRET) } } @else { (shown(&plain(value))) } }
            }
        }
    }
}

/// A value as text: a text as it is, all else as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        other => {
            let mut out = String::new();
            json::write(other, &mut out);
            out
        }
    }
}

/// Where an item leads: to its other partitions, and to those whose keys are made of what it has.
fn leads(
    model: &Model,
    table: &Schema,
    secrets: &SecretKeys,
    item: &Item,
    index: Option<&str>,
) -> Markup {
    let here = |place: Option<&str>, key: &str| {
        let names = table
            .indexes
            .iter()
            .find(|one| Some(one.name.as_str()) == index)
            .map_or(&table.key, |one| &one.key);
        // As it is shown: the key of a number has another form.
        place == index && item.get(&names.partition.name).is_some_and(|own| plain(own) == key)
    };
    let mut found: Vec<(Option<&str>, String)> = Vec::new();
    let mut add = |place, key: String| {
        if !here(place, &key)
            && !found.iter().any(|(known, other)| *known == place && *other == key)
        {
            found.push((place, key));
        }
    };
    // The keys that the item has, then those that its attributes make.
    let places = std::iter::once((None, &table.key))
        .chain(table.indexes.iter().map(|one| (Some(one.name.as_str()), &one.key)));
    for (place, names) in places {
        if let Some(value) = names.parts(item).and(item.get(&names.partition.name)) {
            add(place, plain(value));
        }
    }
    let all = partitions(model);
    for partition in &all {
        let name =
            partition.index.and_then(|name| table.indexes.iter().find(|one| one.name == name));
        let name = name.map(|one| one.name.as_str());
        if partition.index.is_some() && name.is_none() {
            continue;
        }
        if let Some(key) = filled(partition.template, item) {
            add(name, key.to_string());
        }
    }
    html! {
        @if !found.is_empty() {
            ul.leads aria-label="Leads to" {
                @for (place, key) in &found {
                    li { @match secrets.hidden(key) { Some(hidden) => span.muted { (shown(&hidden)) }, None => a href=(super::path(&model.system, *place, key)) { (shown(&named(table, *place, key))) } } @if let Some(place) = place { " " span.pill { (shown(place)) } } }
                }
            }
        }
    }
}
