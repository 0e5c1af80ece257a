//! The tree keeps its own rules.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Long enough for one thing, short enough to read in one go.
const LINES_MAX: usize = 500;

/// The widest line of prose.
const COLUMNS_MAX: usize = 120;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn files(directory: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let built =
            ["target", "node_modules", "made"].contains(&name.as_str()) || name.starts_with('.');
        if path.is_dir() && !built {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|other| other == extension) {
            found.push(path);
        }
    }
}

fn sources(extension: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    files(root(), extension, &mut found);
    let name = |path: &Path| path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
    found.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn no_file_is_too_long_to_read() {
    for (name, text) in sources("rs") {
        let lines = text.lines().count();
        assert!(lines <= LINES_MAX, "{name} has {lines} lines; the most is {LINES_MAX}");
    }
}

#[test]
fn no_line_of_prose_is_too_wide() {
    for (name, text) in sources("md") {
        let mut fenced = false;
        for (number, line) in (1..).zip(text.lines()) {
            let fence = line.trim_start_matches(['>', ' ']).starts_with("```");
            fenced ^= fence;
            // A row of a table is one line, however long.
            let prose = !fenced && !fence && !line.trim_start().starts_with('|');
            let columns = line.chars().count();
            assert!(!prose || columns <= COLUMNS_MAX, "{name}:{number} has {columns} columns");
        }
    }
}

#[test]
fn the_engine_knows_no_domain() {
    for (name, text) in sources("rs") {
        if !name.starts_with("crates/") || name.contains("/tests") {
            continue;
        }
        // Tests stand at the end of a file.
        let code = text.split("#[cfg(test)]").next().unwrap();
        // The header of that name is HTTP's.
        let code = code.replace("header::LOCATION", "").replace("LOCATION, RETRY_AFTER", "");
        let code = code.replace("(LOCATION,", "").replace("\"Location\"", "").to_lowercase();
        for word in code.split(|c: char| !c.is_ascii_alphanumeric()) {
            for domain in ["locker", "location", "participation", "reservation"] {
                // Words that happen to hold one of these.
                let other = ["trylockerror", "allocation"].contains(&word);
                assert!(other || !word.contains(domain), "{name} says `{word}`");
            }
        }
    }
}

#[test]
fn nothing_is_left_unfinished() {
    // Spelled apart, or this file would find itself.
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    for (name, text) in sources("rs").into_iter().chain(sources("md")) {
        for mark in marks {
            assert!(!text.contains(mark), "{name} says `{mark}`");
        }
    }
}

#[test]
fn every_crate_has_its_section_and_every_module_says_what_it_is_for() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (name, text) in sources("rs") {
        let Some(module) = name.strip_prefix("crates/") else { continue };
        let Some((krate, _)) = module.split_once("/src/") else { continue };
        let heading = format!("### `crates/{krate}`");
        assert!(map.contains(&heading), "ARCHITECTURE.md has no section for crates/{krate}");
        let tests = name.ends_with("tests.rs") || name.contains("/tests/");
        assert!(tests || text.starts_with("//!"), "{name} does not begin with what it is for");
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    for (name, text) in sources("md") {
        let folder = root().join(&name).parent().unwrap().to_path_buf();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap();
            if path.is_empty() || path.contains("://") {
                continue;
            }
            assert!(folder.join(path).exists(), "{name} links to {target}");
        }
    }
}

/// The packages of the command, by `cargo tree`.
fn tree(features: &[&str]) -> String {
    let asked = ["tree", "-p", "latchkey-cli", "--edges", "normal", "--locked", "--offline"];
    let mut cargo = Command::new(env!("CARGO"));
    let told = cargo.args(asked).args(features).current_dir(root()).output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    String::from_utf8(told.stdout).unwrap()
}

#[test]
fn a_build_without_aws_has_no_crate_of_aws() {
    let (with, without) = (tree(&[]), tree(&["--no-default-features"]));
    assert!(with.contains("aws-sdk-dynamodb") && with.contains("aws-sdk-sqs"), "{with}");
    assert!(without.contains("latchkey-runtime") && !without.contains("aws"), "{without}");
}
