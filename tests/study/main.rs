//! The study, in short: the operators make what they should, and drawn documents that are clean are serialisable.

use std::collections::BTreeSet;

use latchkey_language::{Diagnostic, Rule, parse};
use latchkey_model::check;
use latchkey_race::{Against, Loss};
use latchkey_tests::documents::DOCUMENTS;
use latchkey_tests::fate::{Found, Raced};
use latchkey_tests::mutant::Operator;
use latchkey_tests::soundness::draw;
use latchkey_tests::{choice, examples, run, tables};

#[test]
fn the_documents_are_studied_without_their_demos() {
    for document in DOCUMENTS {
        let model = latchkey_model::check(document.text).model;
        assert!(model.demos.is_empty() && model.contracts.len() > 5, "{}", document.name);
    }
}

#[test]
fn there_are_mutants_of_every_kind_and_a_fifth_is_held_back() {
    let mutants = choice::mutants(1);
    assert!(mutants.len() >= 500, "{}", mutants.len());
    let operators: BTreeSet<Operator> = mutants.iter().map(|mutant| mutant.operator).collect();
    assert_eq!(operators.len(), Operator::ALL.len());
    let held_back = mutants.iter().filter(|mutant| mutant.held_back).count();
    assert!((mutants.len() / 7..mutants.len() / 3).contains(&held_back), "{held_back}");
    for mutant in &mutants {
        assert_ne!(mutant.text(DOCUMENTS[mutant.document].text), DOCUMENTS[mutant.document].text);
    }
}

#[test]
fn the_same_seed_makes_the_same_mutants() {
    let texts = |seed| -> Vec<String> {
        let mutants = choice::mutants(seed).into_iter();
        mutants.map(|mutant| mutant.text(DOCUMENTS[mutant.document].text)).collect()
    };
    assert_eq!(texts(1), texts(1));
}

#[test]
fn mutants_are_documents() {
    let mutants = choice::mutants(1);
    let none = mutants.iter().filter(|mutant| {
        let text = mutant.text(DOCUMENTS[mutant.document].text);
        !parse(&text).diagnostics.is_empty()
    });
    let shown: Vec<String> =
        none.map(|mutant| mutant.shown(DOCUMENTS[mutant.document].text)).collect();
    assert!(shown.is_empty(), "{shown:#?}");
}

// What `--write` wrote had to be cut and wrapped by hand.
#[test]
fn published_figures_have_no_lists_and_no_wide_lines() {
    let told = || Found {
        rules: latchkey_model::rules().collect(),
        refused: true,
        example: None,
        raced: None,
    };
    // Of a mutant with a loss its text is shown.
    let lost = || Found {
        rules: Vec::new(),
        refused: false,
        example: None,
        raced: Some(Raced::Ended(Box::new(Against { loss: Some(loss()), ..Against::default() }))),
    };
    let all: [fn() -> Found; 2] = [told, lost];
    for found in all {
        let mutants = choice::mutants(1).into_iter();
        let studied: Vec<tables::Studied> = mutants.map(|mutant| (mutant, found())).collect();
        let text = tables::mutants(&studied);
        assert!(!text.contains("Survivors") && !text.contains("Harmless"), "{text}");
        let prose = text.lines().filter(|line| !line.starts_with('|'));
        let wide: Vec<&str> = prose.filter(|line| line.chars().count() > 120).collect();
        assert!(wide.is_empty(), "{wide:#?}");
    }
}

fn loss() -> Loss {
    Loss {
        headline: "QC-04 beside itself: something is lost".to_owned(),
        contracts: Vec::new(),
        state: String::new(),
        calls: Vec::new(),
        rows: Vec::new(),
        ends: Vec::new(),
        differences: Vec::new(),
        statements: Vec::new(),
        remedies: Vec::new(),
        example: String::new(),
    }
}

/// A rule that told of an example which holds would make people mend what is right.
#[test]
fn an_example_that_is_called_impossible_fails() {
    let mut mutants = choice::mutants(1);
    mutants.retain(|mutant| !mutant.held_back);
    let told = run::each("mutants", &mutants, |mutant| {
        let text = mutant.text(DOCUMENTS[mutant.document].text);
        let found = check(&text);
        let impossible = |found: &&Diagnostic| found.rule == Rule::ImpossibleExample;
        let line = |found: &Diagnostic| {
            let before = text.bytes().take(found.span.start);
            before.filter(|byte| *byte == b'\n').count() + 1
        };
        let lines: Vec<usize> = found.diagnostics.iter().filter(impossible).map(line).collect();
        if found.is_refused() || lines.is_empty() {
            return Ok(0);
        }
        let failed: Vec<usize> =
            examples::run(&text)?.failures.iter().map(|failure| failure.line).collect();
        // Line 1 stands for examples that do not end.
        let holds = lines.iter().find(|line| !failed.contains(line) && !failed.contains(&1));
        match holds {
            Some(line) => Err(format!("line {line} holds in {}", mutant.shown(&text))),
            None => Ok(lines.len()),
        }
    });
    let told = told.unwrap();
    assert!(told.iter().filter(|count| **count > 0).count() >= 20, "{told:?}");
}

/// How many documents are drawn.
const DRAWN: u64 = 200;

#[test]
fn drawn_documents_that_are_clean_lose_nothing_that_is_stored() {
    let seeds: Vec<u64> = (1..=DRAWN).collect();
    let drawn = run::each("documents", &seeds, |seed| draw(*seed)).unwrap();
    let lost: Vec<u64> =
        drawn.iter().filter(|drawn| drawn.loses_items()).map(|drawn| drawn.seed).collect();
    assert_eq!(lost, Vec::<u64>::new(), "see `study seed SEED`");
    // Enough of them must have something to lose.
    let clean = drawn.iter().filter(|drawn| drawn.groups > 0).count();
    assert!(clean * 8 >= drawn.len(), "only {clean} are clean and meet");
}
