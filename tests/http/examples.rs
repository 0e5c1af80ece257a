//! The examples of the shipped documents hold over HTTP, on whatever backend the suites run on.

use std::path::PathBuf;

use crate::serve::{Server, latchkey};

/// The shipped documents.
fn shipped() -> Vec<PathBuf> {
    documents("../systems")
}

/// The documents in a directory.
fn documents(directory: &str) -> Vec<PathBuf> {
    let directory = format!("{}/{directory}", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|end| end == "md")).collect()
}

/// Runs the examples of documents, which are served on a store with nothing in it. They must show every answer.
fn hold(documents: &[PathBuf]) {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start_on(directory.path(), documents);
    let mut command = latchkey();
    command.arg("test").args(documents).arg("--against").arg(format!("http://{}", server.address));
    command.arg("--complete").arg("--data").arg(directory.path());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{told}");
    for document in documents {
        let line = said.lines().find(|line| line.contains(&*document.to_string_lossy()));
        let ran = line.is_some_and(|line| line.contains("all as they say"));
        assert!(ran && !said.contains(": 0 examples"), "{}: {said}", document.display());
    }
}

#[test]
fn each_shipped_document_does_what_its_examples_say() {
    for document in shipped() {
        hold(&[document]);
    }
}

#[test]
fn each_design_does_what_its_examples_say() {
    for document in documents("../designs").into_iter().filter(|path| !path.ends_with("README.md"))
    {
        hold(&[document]);
    }
}

#[test]
fn each_way_to_answer_is_as_the_examples_say() {
    hold(&[concat!(env!("CARGO_MANIFEST_DIR"), "/http/answers.md").into()]);
}

#[test]
fn the_shipped_documents_served_together_do_what_their_examples_say() {
    hold(&shipped());
}

#[test]
fn tables_of_every_shape_do_what_their_examples_say() {
    for document in documents("http/tables") {
        hold(&[document]);
    }
}

// Of items that end: `if absent` replaces them, and no other condition holds of them.
#[test]
fn items_that_end_do_what_the_examples_say() {
    hold(&[PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/http/ends.md"))]);
}

// What was read for one call answers others, each by its own rights; a write, a strong read and the clock end that.
#[test]
fn answers_from_memory_are_as_the_examples_say() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/http/documents/cached.md");
    hold(&[PathBuf::from(document)]);
}

/// A document with the constructs that the shipped ones do without.
#[test]
fn lists_sets_and_records_are_the_same_on_every_backend() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/http/documents/shop.md");
    hold(&[PathBuf::from(document)]);
}

// A version that may be given, or set aside: `If-Match` stands for it, and is never dropped.
#[test]
fn an_if_match_is_compared_on_every_way_that_writes() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/http/documents/versions.md");
    hold(&[PathBuf::from(document)]);
}
