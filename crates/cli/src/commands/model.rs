//! `latchkey model`

use std::path::PathBuf;
use std::process::ExitCode;

use crate::document::{self, Document};
use crate::{json, render};

pub(crate) fn run(documents: &[PathBuf], colour: bool) -> ExitCode {
    let (mut mistaken, mut unreadable) = (false, false);
    for document in document::each(documents) {
        let Document { path, text } = match document {
            Ok(document) => document,
            Err(message) => {
                eprintln!("error: {message}");
                unreadable = true;
                continue;
            }
        };
        let checked = latchkey_model::check(&text);
        if !checked.is_refused() {
            // A reader may close the pipe before the end.
            println!("{:#}", json::model(&checked.model));
            continue;
        }
        mistaken = true;
        for diagnostic in &checked.diagnostics {
            eprintln!("{}\n", render(&path, &text, diagnostic, colour));
        }
        eprintln!("`{path}` has mistakes, so there is no model of it to print");
    }
    match (unreadable, mistaken) {
        (true, _) => ExitCode::from(2),
        (false, true) => ExitCode::FAILURE,
        (false, false) => ExitCode::SUCCESS,
    }
}
