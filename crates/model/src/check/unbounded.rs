//! `unbounded`: a query without a page or `first N`, or with one above 100.

use std::collections::HashMap;

use latchkey_language::{Diagnostic, Rule};

use super::size::template_bytes_max;
use super::{Report, each_read};
use crate::model::{By, Contract, Entity, Limit, Model, Query, Read, What};

const ITEMS_MAX: u64 = 100;

/// The most items that a call reads to find those that it keeps.
const READING_MAX: u64 = 1_000;

/// The most partitions of one query, and the most items of all of them.
const SHARDS_MAX: u64 = 100;
const SHARDS_ITEMS_MAX: u64 = 5_000;

/// What a place has beside its keys: their lengths, and which partition it is in.
const PLACE_OWN_BYTES: usize = 8;

/// The most bytes of the keys in a cursor. One of several partitions may hold a place in each.
const PLACES_BYTES_MAX: usize = 6_000;

pub(super) fn check(model: &Model, report: &mut Report) {
    for contract in model.bodies() {
        snapshots(contract, report);
        each_read(contract, |read, step| {
            let (size, most) = match &read.what {
                What::Query(query) => match &query.limit {
                    None => (None, None),
                    Some(Limit::Page { size, max, .. }) => (Some(*size), Some(u64::from(*max))),
                    Some(Limit::First(count)) => (Some(*count), Some(u64::from(*count))),
                },
                What::Batch(batch) => (None, Some(batch.count())),
                What::Get(_) | What::Part(_) => return,
            };
            if let Some(message) = shards(model, read, most) {
                let diagnostic = Diagnostic::new(Rule::Unbounded, read.span, message)
                    .why("each partition is read for itself, and the next page begins in all of them")
                    .help("spread the items over fewer shards, read smaller pages, or shorten the keys");
                report.raise(diagnostic, &step.waivers);
            }
            if let What::Query(query) = &read.what
                && let Some(message) = reading(query, most)
            {
                let diagnostic = Diagnostic::new(Rule::Unbounded, read.span, message)
                    .why("it reads on until the page is full, and is charged for all that it reads")
                    .help("write `reading 300`: at least the greatest page, and what may be dropped on the way to it");
                report.raise(diagnostic, &step.waivers);
            }
            let message = match (size, most) {
                (_, None) => "this query has no bound".to_owned(),
                (Some(size), Some(max)) if u64::from(size) > max => {
                    format!("a page of {size} above its own maximum of {max}")
                }
                (_, Some(most)) if most > ITEMS_MAX => {
                    format!("{most} items at once; the most is {ITEMS_MAX}")
                }
                (Some(0), _) => "a page of nothing".to_owned(),
                _ => return,
            };
            let diagnostic = Diagnostic::new(Rule::Unbounded, read.span, message)
                .why("one call could read a megabyte and more, and nobody can say what it costs")
                .help("write `page 25 max 100` for a list, or `first 1` for the one that counts");
            report.raise(diagnostic, &step.waivers);
        });
    }
}

/// What is wrong with how many items a query may read to find those that it keeps.
fn reading(query: &Query, most: Option<u64>) -> Option<String> {
    let Some(bound) = query.reading else {
        return match (&query.keep, query.scans()) {
            (_, true) => Some("this scan has no bound".to_owned()),
            (Some(_), false) => Some("this filter has no bound".to_owned()),
            (None, false) => None,
        };
    };
    let bound = u64::from(bound);
    if bound > READING_MAX {
        return Some(format!("{bound} items to read in one call; the most is {READING_MAX}"));
    }
    let most = most.filter(|most| bound < *most)?;
    Some(format!("{bound} items to read cannot fill a page of {most}"))
}

/// A `snapshot` of more items than one request takes.
fn snapshots(contract: &Contract, report: &mut Report) {
    let mut sizes: HashMap<u32, u64> = HashMap::new();
    each_read(contract, |read, step| {
        let Some(size) = read.snapshot.map(|number| sizes.entry(number).or_default()) else {
            return;
        };
        *size += 1;
        if *size == ITEMS_MAX + 1 {
            let message = format!("more than {ITEMS_MAX} items in one snapshot");
            let diagnostic = Diagnostic::new(Rule::Unbounded, read.span, message)
                .why(format!(
                    "the items of a snapshot are read with one request, of at most {ITEMS_MAX} keys"
                ))
                .help("make two snapshots of it, of what must be of one instant each");
            report.raise(diagnostic, &step.waivers);
        }
    });
}

/// A place in an index has both keys of the item: a cursor must have room for them.
fn scan_place(model: &Model, read: &Read, query: &Query) -> Option<String> {
    let entity = &model.entities[read.entity];
    let keys = [Some(&entity.key), entity.place(query.by)].into_iter().flatten();
    let texts = keys.flat_map(|key| [&key.partition, &key.sort]).map(template_bytes_max);
    let bytes = texts.fold(PLACE_OWN_BYTES, usize::saturating_add);
    (bytes > PLACES_BYTES_MAX).then(|| {
        format!("a cursor of this index could have {bytes} bytes; the most is {PLACES_BYTES_MAX}")
    })
}

/// What is too much for a query of several partitions.
fn shards(model: &Model, read: &Read, most: Option<u64>) -> Option<String> {
    let What::Query(query) = &read.what else { return None };
    if query.scans() {
        return scan_place(model, read, query);
    }
    let count = query.through.as_ref()?.count();
    if count > SHARDS_MAX {
        return Some(format!("{count} partitions at once; the most is {SHARDS_MAX}"));
    }
    let items = count.saturating_mul(most.unwrap_or(ITEMS_MAX));
    if items > SHARDS_ITEMS_MAX {
        let all = "of all partitions together";
        return Some(format!("{items} items {all}; the most is {SHARDS_ITEMS_MAX}"));
    }
    let entities = read.entities().map(|id| &model.entities[id]);
    let place = |entity: &Entity| {
        let index = entity.place(query.by).filter(|_| query.by != By::Table);
        let index = index.map_or(0, |key| template_bytes_max(&key.sort));
        let own = [&entity.key.partition, &entity.key.sort].map(template_bytes_max);
        own.into_iter().fold(index.saturating_add(PLACE_OWN_BYTES), usize::saturating_add)
    };
    let place = entities.map(place).max()?;
    let bytes = usize::try_from(count).map_or(usize::MAX, |count| count.saturating_mul(place));
    let paged = matches!(query.limit, Some(Limit::Page { .. }));
    (paged && bytes > PLACES_BYTES_MAX).then(|| {
        format!(
            "a cursor of {count} places could have {bytes} bytes; the most is {PLACES_BYTES_MAX}"
        )
    })
}
