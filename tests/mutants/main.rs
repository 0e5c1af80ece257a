//! The mistakes people make in a document: each is caught, or known to be harmless, or seen by an example.

mod study;

use std::collections::HashSet;

use study::{DOCUMENT, Expected, mutants};

#[test]
fn every_mutant_fares_as_expected() {
    let mut surprises = Vec::new();
    for mutant in mutants().unwrap() {
        let found = mutant.found_by().unwrap();
        let as_expected = match mutant.expected {
            Expected::Caught(rule) => found.contains(&rule),
            Expected::Harmless(_) | Expected::Example(_) => found.is_empty(),
        };
        if !as_expected {
            surprises.push(format!("{} {}: found by {found:?}", mutant.id, mutant.mistake));
        }
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}

#[test]
fn every_mutant_is_one() {
    let mut seen = HashSet::new();
    for mutant in mutants().unwrap() {
        let document = mutant.document().unwrap();
        assert_ne!(document, DOCUMENT, "{} changes nothing", mutant.id);
        assert!(seen.insert(document), "{} is there twice", mutant.id);
    }
}

#[test]
fn every_contract_and_entity_has_mutants() {
    let mutants = mutants().unwrap();
    assert!(mutants.len() >= 60, "only {} mutants", mutants.len());
    let model = latchkey_model::check(DOCUMENT).model;
    let entities = model.entities.iter().map(|entity| &entity.name);
    for name in model.contracts.iter().map(|contract| &contract.id).chain(entities) {
        assert!(mutants.iter().any(|mutant| mutant.id == format!("{name}.1")), "none in {name}");
    }
}
