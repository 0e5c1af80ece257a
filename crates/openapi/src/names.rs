//! The names of operations and schemas: those of the contracts and entities, so that they stay when others come and go.
//!
//! Names that differ only in case or in what is no letter and no digit become one in many languages, so they count as
//! the same. A name that several systems have is said with the system in all of them. Of two that one system has, the
//! second gets a number.

use std::collections::{BTreeMap, BTreeSet};

use latchkey_model::Model;
use latchkey_model::model::EntityId;

/// The schema of a wrong field, which all problems share.
pub(crate) const FIELD_ERROR: &str = "FieldError";

/// What a schema is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// The items of an entity, as they are shown.
    Entity(EntityId),
    /// The same, each with its type.
    Typed(EntityId),
    /// The body that a contract takes, by the contract's place in the model.
    Body(usize),
    /// What a contract answers.
    Answer(usize),
    /// One item of the list that a contract answers.
    Item(usize),
    /// The problem that a contract answers.
    Problem(usize),
}

/// The names of several systems.
pub(crate) struct Names {
    operations: Vec<Vec<String>>,
    schemas: BTreeMap<(usize, Subject), String>,
}

impl Names {
    pub(crate) fn of(models: &[&Model]) -> Names {
        let (mut operations, mut schemas) = (Vec::new(), Vec::new());
        for (system, model) in models.iter().enumerate() {
            for (at, contract) in model.contracts.iter().enumerate() {
                operations.push((system, at, contract.id.clone()));
            }
            schemas.extend(subjects(system, model));
        }
        let systems: Vec<String> = models.iter().map(|model| model.system.clone()).collect();
        let prefixes: Vec<String> = systems.iter().map(|system| format!("{system}-")).collect();
        let named = distinct(operations.iter().map(|(system, _, id)| (*system, id)), &prefixes, "");
        let mut by_system = vec![Vec::new(); models.len()];
        for ((system, ..), name) in operations.iter().zip(named) {
            if let Some(own) = by_system.get_mut(*system) {
                own.push(name);
            }
        }
        let prefixes: Vec<String> = systems.iter().map(|system| pascal(system)).collect();
        let all = schemas.iter().map(|(system, _, base)| (*system, base));
        let named = distinct(all, &prefixes, FIELD_ERROR);
        let subjects = schemas.iter().map(|(system, subject, _)| (*system, *subject));
        Names { operations: by_system, schemas: subjects.zip(named).collect() }
    }

    /// The id of a contract's operation, by the place of its system and its own in the model.
    pub(crate) fn operation(&self, system: usize, contract: usize) -> Option<&str> {
        self.operations.get(system)?.get(contract).map(String::as_str)
    }

    pub(crate) fn schema(&self, system: usize, subject: Subject) -> Option<&str> {
        self.schemas.get(&(system, subject)).map(String::as_str)
    }
}

/// Everything of a system that may have a schema, used or not: what is used must not decide what others are called.
fn subjects(system: usize, model: &Model) -> Vec<(usize, Subject, String)> {
    let mut all = Vec::new();
    for (id, entity) in model.entities.enumerate() {
        all.push((system, Subject::Entity(id), pascal(&entity.name)));
    }
    for (id, entity) in model.entities.enumerate() {
        all.push((system, Subject::Typed(id), format!("Typed{}", pascal(&entity.name))));
    }
    for (at, contract) in model.contracts.iter().enumerate() {
        let own = pascal(&contract.id);
        for (subject, kind) in [
            (Subject::Body(at), "Body"),
            (Subject::Answer(at), "Answer"),
            (Subject::Item(at), "Item"),
            (Subject::Problem(at), "Problem"),
        ] {
            all.push((system, subject, format!("{own}{kind}")));
        }
    }
    all
}

/// Names for texts of systems, of which no two are the same, and none is that which is taken.
fn distinct<'a>(
    all: impl Iterator<Item = (usize, &'a String)> + Clone,
    prefixes: &[String],
    taken: &str,
) -> Vec<String> {
    let mut systems: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (system, text) in all.clone() {
        systems.entry(plain(text)).or_default().insert(system);
    }
    let mut seen = BTreeSet::from([plain(taken)]);
    let mut names = Vec::new();
    for (system, text) in all {
        let shared = systems.get(&plain(text)).is_some_and(|systems| systems.len() > 1);
        let prefix = prefixes.get(system).filter(|_| shared);
        let base = prefix.map_or_else(|| text.clone(), |prefix| format!("{prefix}{text}"));
        let mut name = base.clone();
        let mut number = 2u32;
        while !seen.insert(plain(&name)) {
            name = format!("{base}_{number}");
            number = number.saturating_add(1);
        }
        names.push(name);
    }
    names
}

/// What most languages see of a name.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// A name as types are written: `QC-01` is `QC01`, `first-come` is `FirstCome`.
fn pascal(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut pascal = String::new();
    for word in words {
        let mut characters = word.chars();
        pascal.extend(characters.next().map(|first| first.to_ascii_uppercase()));
        pascal.push_str(characters.as_str());
    }
    // No type begins with a digit.
    if pascal.starts_with(|c: char| c.is_ascii_digit()) { format!("N{pascal}") } else { pascal }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(all: &[(usize, &str)]) -> Vec<String> {
        let all: Vec<(usize, String)> =
            all.iter().map(|(system, text)| (*system, (*text).to_owned())).collect();
        let prefixes = ["One".to_owned(), "Two".to_owned()];
        distinct(all.iter().map(|(system, text)| (*system, text)), &prefixes, "Taken")
    }

    #[test]
    fn a_name_is_one_name() {
        assert_eq!(named(&[(0, "A"), (1, "B")]), ["A", "B"]);
        assert_eq!(named(&[(0, "A"), (1, "A")]), ["OneA", "TwoA"]);
        assert_eq!(named(&[(0, "A-1"), (0, "a1"), (0, "A_1")]), ["A-1", "a1_2", "A_1_3"]);
        assert_eq!(named(&[(0, "taken")]), ["taken_2"]);
        assert_eq!(named(&[(0, "A"), (1, "A"), (1, "OneA")]), ["OneA", "TwoA", "OneA_2"]);
    }

    #[test]
    fn a_type_is_written_as_types_are() {
        let all = ["QC-01", "first-come", "get_door", "2-x"].map(pascal);
        assert_eq!(all, ["QC01", "FirstCome", "GetDoor", "N2X"]);
    }
}
