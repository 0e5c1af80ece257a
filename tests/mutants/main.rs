//! The mistakes people make in a document: the check catches each, or an example does, or it is known why
//! neither need or can.

mod study;

use std::collections::HashSet;

use study::{DOCUMENT, Expected, Fate, mutants, original_holds};

#[test]
fn every_mutant_fares_as_expected() {
    let mut surprises = Vec::new();
    for mutant in mutants().unwrap() {
        let told = match (mutant.fate().unwrap(), mutant.expected) {
            (Fate::Checked(rules), Expected::Checked(rule)) if rules.contains(&rule) => continue,
            (Fate::Shown(_), Expected::Example(_)) => continue,
            (Fate::Survived, Expected::Harmless(_) | Expected::Unseen(_)) => continue,
            (Fate::Checked(rules), _) => format!("the check finds it by {rules:?}"),
            (Fate::Shown(first), _) => format!("an example fails: {first}"),
            (Fate::Survived, _) => "nothing notices".to_owned(),
        };
        surprises.push(format!("{} {}: {told}", mutant.id, mutant.mistake));
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}

#[test]
fn the_examples_are_as_they_say_and_leave_no_failure_out() {
    original_holds().unwrap();
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
