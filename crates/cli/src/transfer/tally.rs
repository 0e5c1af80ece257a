//! What items were found not to be as their document says: how many, some of them, and what to do.

use std::collections::BTreeMap;

use latchkey_runtime::{Finding, Matter, System};
use latchkey_table::{Key, Text};

use super::meter::grouped;
use crate::arguments::TableChoice;
use crate::storage::{bare, quoted};

/// How many items of one kind are shown.
const EXAMPLES_MAX: usize = 3;

/// Findings about many items, in bounded memory: one group for each matter of each entity.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Tally {
    groups: BTreeMap<(Option<Text>, Matter), Group>,
}

/// Items with the same finding.
#[derive(Debug, Default, PartialEq)]
struct Group {
    count: u64,
    examples: Vec<(Key, String)>,
}

impl Tally {
    /// Takes in what was found about an item.
    pub(crate) fn take(&mut self, key: &Key, findings: Vec<Finding>) {
        let mut counted: Vec<(Option<Text>, Matter)> = Vec::new();
        for Finding { entity, matter, detail } in findings {
            let of = (entity, matter);
            // Both halves of a key of an index are one matter.
            let again = counted.contains(&of);
            let group = self.groups.entry(of.clone()).or_default();
            group.count += u64::from(!again);
            if !again && group.examples.len() < EXAMPLES_MAX {
                group.examples.push((key.clone(), detail));
            }
            counted.push(of);
        }
    }

    /// Takes in what another tally has.
    pub(crate) fn add(&mut self, other: Tally) {
        for (of, more) in other.groups {
            let group = self.groups.entry(of).or_default();
            group.count += more.count;
            let room = EXAMPLES_MAX.saturating_sub(group.examples.len());
            group.examples.extend(more.examples.into_iter().take(room));
        }
    }

    /// Whether an item is lost to a contract, or will be, or is not as declared. Those of no entity are nobody's business,
    /// and what contracts pass over in an index does no harm.
    pub(crate) fn is_bad(&self) -> bool {
        let harmless = |matter: &Matter| matches!(matter, Matter::Type | Matter::Stray(_));
        self.groups.keys().any(|(_, matter)| !harmless(matter))
    }

    /// Whether there are items of other programs.
    pub(crate) fn has_foreign(&self) -> bool {
        self.groups.keys().any(|(entity, _)| entity.is_none())
    }

    /// Whether there is nothing to tell.
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// What was found, for people: a paragraph for each group.
    pub(crate) fn told(&self, system: &System) -> String {
        let mut told = String::new();
        for ((entity, matter), group) in &self.groups {
            let items = match group.count {
                1 => "1 item".to_owned(),
                count => format!("{} items", grouped(count)),
            };
            told.push_str(&meaning(system, entity.as_deref(), matter, &items));
            told.push('\n');
            for (Key { partition, sort }, detail) in &group.examples {
                let sort = if sort.is_empty() { String::new() } else { format!(" {sort}") };
                told.push_str(&format!("  {partition}{sort}: {detail}\n"));
            }
            if group.count > u64::try_from(group.examples.len()).unwrap_or(u64::MAX) {
                told.push_str("  …\n");
            }
        }
        told
    }
}

/// What a finding means.
fn meaning(system: &System, entity: Option<&str>, matter: &Matter, items: &str) -> String {
    let of = entity.map_or_else(|| "no entity".to_owned(), |entity| format!("`{entity}`"));
    let entity = entity.unwrap_or_default();
    let missed = |index: &str| match system.seekers(entity, index).as_slice() {
        [] => "no contract looks for it there".to_owned(),
        [one] => format!("{one} does not find it there"),
        all => format!("{} do not find it there", all.join(", ")),
    };
    match matter {
        Matter::Type => format!("{items} of no entity: no contract shows or changes it"),
        Matter::Attribute(name) => format!(
            "{items} of `{entity}` with another `{name}` than declared: a contract that reads it may answer 500 \
             damaged-item"
        ),
        Matter::Loose(name) => format!(
            "{items} of `{entity}` with another `{name}` than declared, of the same type: contracts read it as it is, \
             without members that are not declared"
        ),
        Matter::Stray(index) => {
            format!(
                "{items} of {of} in index `{index}`: contracts that ask it read it and pass it over"
            )
        }
        Matter::Mistaken(index) => format!(
            "{items} of {of} in index `{index}`, which does not hold the type: contracts that ask it take it for \
             another"
        ),
        Matter::Key(name) => format!(
            "{items} of `{entity}` under another `{name}` than its attributes make: contracts look elsewhere for it"
        ),
        Matter::Index(index) => {
            format!("{items} of `{entity}` without the keys of index `{index}`: {}", missed(index))
        }
        Matter::Unlisted(index) => {
            format!("{items} of `{entity}` without a place in index `{index}`: {}", missed(index))
        }
        Matter::Removal => {
            format!("{items} of `{entity}` that a table removes before it has ended")
        }
    }
}

/// The arguments that name a table, as they were given.
pub(crate) fn arguments(choice: &TableChoice) -> String {
    let mut all = String::new();
    let mut add = |text: &str| {
        all.push(' ');
        all.push_str(text);
    };
    choice.documents.iter().for_each(|path| add(&quoted(&path.display().to_string())));
    choice.system.iter().for_each(|system| add(&format!("--system {}", quoted(system))));
    if choice.storage.dynamodb {
        add("--dynamodb");
        let remote = &choice.storage.remote;
        remote.endpoint.iter().for_each(|url| add(&format!("--endpoint {}", quoted(&bare(url)))));
        remote.tables.iter().for_each(|table| add(&format!("--table {}", quoted(table))));
    } else {
        add(&format!("--data {}", quoted(&choice.data.display().to_string())));
    }
    all
}
