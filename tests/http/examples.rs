//! The examples of the shipped documents hold over HTTP, on whatever backend the suites run on.

use std::path::PathBuf;

use crate::serve::{Server, latchkey};

/// The shipped documents.
fn shipped() -> Vec<PathBuf> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../systems");
    let files = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|end| end == "md")).collect()
}

/// Runs the examples of documents, which are served on a store with nothing in it.
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
fn the_shipped_documents_served_together_do_what_their_examples_say() {
    hold(&shipped());
}
