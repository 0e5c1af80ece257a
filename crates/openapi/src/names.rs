//! The names of operations and schemas: those of the contracts and entities, so that they stay when others come and go.
//!
//! Names that differ only in case or in what is no letter and no digit become one in many languages, so they count as
//! the same. A name that several systems have is said with the system in all of them. Of two that one system has, the
//! second gets a number. What nobody else has keeps its name: a name with a system or a number is none that is already
//! the name of something.

use std::collections::{BTreeMap, BTreeSet};

use latchkey_model::Model;
use latchkey_model::model::{Contract, Entity, EntityId, IdVec};

/// The schema of a wrong field, which all problems share.
pub(crate) const FIELD_ERROR: &str = "FieldError";

/// The names of a system. Each thing that may have a schema has a name, used or not: what is used must not decide what
/// others are called.
pub(crate) struct SystemNames {
    /// In the order of the model.
    pub(crate) contracts: Vec<ContractNames>,
    pub(crate) entities: IdVec<EntityId, EntityNames>,
}

/// The names of what a contract has.
pub(crate) struct ContractNames {
    pub(crate) operation: String,
    /// The schema of the body that it takes.
    pub(crate) body: String,
    /// The schema of what it answers.
    pub(crate) answer: String,
    /// The schema of one item of the list that it answers.
    pub(crate) item: String,
    /// The schema of the problem that it answers.
    pub(crate) problem: String,
}

/// The names of the schemas of an entity.
pub(crate) struct EntityNames {
    /// Its items, as they are shown.
    pub(crate) shown: String,
    /// The same, each with its type.
    pub(crate) typed: String,
}

/// Where names are looked up: a contract, and its system.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) system: &'a SystemNames,
    pub(crate) own: &'a ContractNames,
}

/// The kinds of schemas that a contract may have.
const OF_CONTRACTS: [&str; 4] = ["Body", "Answer", "Item", "Problem"];

/// The names of several systems, in their order.
pub(crate) fn of(models: &[&Model]) -> Vec<SystemNames> {
    let ids = |model: &Model| -> Vec<String> {
        model.contracts.iter().map(|contract| contract.id.to_string()).collect()
    };
    let mut operations = Namer::new(models.iter().map(|model| ids(model)), "");
    let mut schemas = Namer::new(models.iter().map(|model| texts(model)), FIELD_ERROR);
    let system = |model: &&Model| {
        let dashed = format!("{}-", model.system);
        let prefix = pascal(&model.system);
        let mut schema = |text: &str| schemas.name(&prefix, text);
        let shown = model.entities.map(|_, entity| schema(&of_entity(entity)));
        let entities = model.entities.map(|id, entity| EntityNames {
            shown: shown[id].clone(),
            typed: schema(&of_typed(entity)),
        });
        let contracts = model.contracts.iter().map(|contract| {
            let [body, answer, item, problem] =
                OF_CONTRACTS.map(|kind| schema(&of_contract(contract, kind)));
            let operation = operations.name(&dashed, &contract.id);
            ContractNames { operation, body, answer, item, problem }
        });
        SystemNames { contracts: contracts.collect(), entities }
    };
    models.iter().map(system).collect()
}

/// Everything of a system that may have a schema.
fn texts(model: &Model) -> Vec<String> {
    let shown = model.entities.iter().map(of_entity);
    let typed = model.entities.iter().map(of_typed);
    let contracts = model
        .contracts
        .iter()
        .flat_map(|contract| OF_CONTRACTS.map(|kind| of_contract(contract, kind)));
    shown.chain(typed).chain(contracts).collect()
}

fn of_entity(entity: &Entity) -> String {
    pascal(&entity.name)
}

fn of_typed(entity: &Entity) -> String {
    format!("Typed{}", pascal(&entity.name))
}

fn of_contract(contract: &Contract, kind: &str) -> String {
    format!("{}{kind}", pascal(&contract.id))
}

/// Gives names to texts of systems, of which no two are the same, and none is that which is taken.
struct Namer {
    /// What several systems have.
    shared: BTreeSet<String>,
    /// What one system has, and may keep its name.
    own: BTreeSet<String>,
    seen: BTreeSet<String>,
}

impl Namer {
    /// By the texts of each system.
    fn new(systems: impl Iterator<Item = Vec<String>>, taken: &str) -> Namer {
        let mut count: BTreeMap<String, usize> = BTreeMap::new();
        for texts in systems {
            let own: BTreeSet<String> = texts.iter().map(|text| plain(text)).collect();
            own.into_iter().for_each(|text| *count.entry(text).or_default() += 1);
        }
        let (shared, own): (BTreeMap<_, _>, BTreeMap<_, _>) =
            count.into_iter().partition(|(_, systems)| *systems > 1);
        let seen = BTreeSet::from([plain(taken)]);
        Namer { shared: shared.into_keys().collect(), own: own.into_keys().collect(), seen }
    }

    /// The name of the next text, with the prefix of its system if others have it, too.
    fn name(&mut self, prefix: &str, text: &str) -> String {
        let base = match self.shared.contains(&plain(text)) {
            true => format!("{prefix}{text}"),
            false => text.to_owned(),
        };
        let mut name = base.clone();
        let mut number = 2u32;
        let others = |name: &str| name != text && self.own.contains(&plain(name));
        while others(&name) || !self.seen.insert(plain(&name)) {
            name = format!("{base}_{number}");
            number = number.saturating_add(1);
        }
        name
    }
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
        let of = |system: usize| {
            let own = all.iter().filter(move |(other, _)| *other == system);
            own.map(|(_, text)| (*text).to_owned()).collect::<Vec<_>>()
        };
        let mut namer = Namer::new([of(0), of(1)].into_iter(), "Taken");
        let prefix = |system: &usize| if *system == 0 { "One" } else { "Two" };
        all.iter().map(|(system, text)| namer.name(prefix(system), text)).collect()
    }

    #[test]
    fn a_name_is_one_name() {
        assert_eq!(named(&[(0, "A"), (1, "B")]), ["A", "B"]);
        assert_eq!(named(&[(0, "A"), (1, "A")]), ["OneA", "TwoA"]);
        assert_eq!(named(&[(0, "A-1"), (0, "a1"), (0, "A_1")]), ["A-1", "a1_2", "A_1_3"]);
        assert_eq!(named(&[(0, "taken")]), ["taken_2"]);
        // `OneA` was the name of the first, and the third, whose own name it is, was `OneA_2`.
        assert_eq!(named(&[(0, "A"), (1, "A"), (1, "OneA")]), ["OneA_2", "TwoA", "OneA"]);
        assert_eq!(named(&[(0, "A-1"), (0, "a1"), (0, "A1_2")]), ["A-1", "a1_3", "A1_2"]);
    }

    #[test]
    fn a_type_is_written_as_types_are() {
        let all = ["QC-01", "first-come", "get_door", "2-x"].map(pascal);
        assert_eq!(all, ["QC01", "FirstCome", "GetDoor", "N2X"]);
    }
}
