//! `cargo run -p latchkey-tests --bin study`: the study. Figures go to standard output, as Markdown, or with `--write`
//! into `docs/study.md`.
//!
//! ```text
//! study mutants [--held-back] [--write]    what becomes of the mutants
//! study untold                             those tuned on that the check says nothing of, without a search
//! study unsound [--held-back]              those that the check says nothing of and the search loses in
//! study drawn COUNT [--write]              whether drawn documents that are clean are serialisable
//! study seed SEED                          a drawn document, and what the search loses in it
//! ```

#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::path::Path;

use latchkey_race::Base;
use latchkey_tests::documents::DOCUMENTS;
use latchkey_tests::fate::{Raced, find, is_told_by_check, untold_by_check};
use latchkey_tests::mutant::Mutant;
use latchkey_tests::{choice, generate, run, soundness, tables};

/// The seed of the published figures.
const SEED: u64 = 1;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let number = arguments.get(1).and_then(|count| count.parse::<u64>().ok());
    match (arguments.first().map(String::as_str), number) {
        (Some("mutants"), _) => {
            let studied = studied(choice::mutants(SEED))?;
            if !has("--write") {
                let lists = tables::lists(&studied, has("--held-back"));
                println!("{}{lists}", tables::mutants(&studied));
                return Ok(());
            }
            publish("mutants", &tables::mutants(&studied), true)
        }
        (Some("unsound"), _) => {
            println!("{}", unsound(has("--held-back"))?);
            Ok(())
        }
        (Some("untold"), _) => {
            println!("{}", untold()?);
            Ok(())
        }
        (Some("drawn"), Some(count)) => publish("drawn", &drawn(count)?, has("--write")),
        (Some("seed"), Some(seed)) => {
            println!("{}", generate::document(seed));
            for loss in soundness::draw(seed)?.losses {
                println!("{loss:#?}");
            }
            Ok(())
        }
        _ => Err(
            "study mutants [--held-back] [--write], study untold, study unsound [--held-back], study drawn COUNT \
             [--write], study seed SEED"
                .to_owned(),
        ),
    }
}

/// Mutants, and what becomes of each.
fn studied(mutants: Vec<Mutant>) -> Result<Vec<tables::Studied>, String> {
    let bases = run::each("documents", &DOCUMENTS, |document| {
        Base::new(document.text).map_err(|error| error.to_string())
    })?;
    let found = run::each("mutants", &mutants, |mutant| {
        let document = DOCUMENTS.get(mutant.document).zip(bases.get(mutant.document));
        let (document, base) = document.ok_or("a mutant of no document")?;
        find(document, base, mutant)
    })?;
    Ok(mutants.into_iter().zip(found).collect())
}

/// What the check says nothing of, and the search loses in: with the schedules.
fn unsound(held_back: bool) -> Result<String, String> {
    let mutants = choice::mutants(SEED);
    let told = run::each("mutants", &mutants, |mutant| {
        let document = DOCUMENTS.get(mutant.document).ok_or("a mutant of no document")?;
        Ok(is_told_by_check(document, mutant))
    })?;
    let untold = mutants.into_iter().zip(told).filter(|(_, told)| !told);
    let studied = studied(untold.map(|(mutant, _)| mutant).collect())?;
    let mut text = tables::unsound(&studied, held_back);
    for (_, found) in studied.iter().filter(|(mutant, _)| held_back || !mutant.held_back) {
        let Some(Raced::Ended(against)) = &found.raced else { continue };
        for loss in against.loss.iter().chain(&against.broken) {
            text.push_str(&format!("{}\n{}\n\n", loss.headline, loss.table()));
        }
    }
    Ok(text)
}

fn untold() -> Result<String, String> {
    let (held_back, mutants): (Vec<_>, Vec<_>) =
        choice::mutants(SEED).into_iter().partition(|mutant| mutant.held_back);
    let found = run::each("mutants", &mutants, |mutant| {
        let document = DOCUMENTS.get(mutant.document).ok_or("a mutant of no document")?;
        untold_by_check(document, mutant)
    })?;
    let all = mutants.iter().zip(found).filter_map(|(mutant, found)| Some((mutant, found?)));
    let told = run::each("mutants that are held back", &held_back, |mutant| {
        let document = DOCUMENTS.get(mutant.document).ok_or("a mutant of no document")?;
        Ok(is_told_by_check(document, mutant))
    })?;
    let count = told.iter().filter(|told| **told).count();
    let list = tables::untold(&all.collect::<Vec<_>>());
    Ok(format!("{list}\nheld back, harmless ones among them: {count} of {} are told\n", told.len()))
}

fn drawn(count: u64) -> Result<String, String> {
    let seeds: Vec<u64> = (1..=count).collect();
    let all = run::each("documents", &seeds, |seed| soundness::draw(*seed))?;
    let lost = all.iter().filter(|drawn| drawn.is_clean() && !drawn.losses.is_empty());
    let seeds: Vec<String> = lost.map(|drawn| drawn.seed.to_string()).collect();
    let mut text = tables::drawn(&all);
    if !seeds.is_empty() {
        let lines: Vec<String> = seeds.chunks(15).map(|line| line.join(", ")).collect();
        text.push_str(&format!("\nClean, and lose: {}.\n", lines.join(",\n")));
    }
    Ok(text)
}

/// Prints figures, or puts them between their marks in the document.
fn publish(mark: &str, figures: &str, write: bool) -> Result<(), String> {
    if !write {
        println!("{figures}");
        return Ok(());
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/study.md");
    let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let (open, close) = (format!("<!-- {mark} -->\n"), format!("<!-- end of {mark} -->"));
    let start = text.find(&open).map(|at| at + open.len());
    let parts = start.and_then(|start| {
        let end = start + text.get(start..)?.find(&close)?;
        Some((text.get(..start)?, text.get(end..)?))
    });
    let (before, after) = parts.ok_or_else(|| format!("docs/study.md has no place for {mark}"))?;
    std::fs::write(&path, format!("{before}{}\n{after}", figures.trim_end()))
        .map_err(|error| error.to_string())
}
