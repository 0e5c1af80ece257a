//! `latchkey model`

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use crate::{json, render};

use crate::document;

pub(crate) fn run(path: &Path, colour: bool) -> ExitCode {
    let text = match document::read(path) {
        Ok(text) => text,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::from(2);
        }
    };
    let checked = latchkey_model::check(&text);
    if checked.diagnostics.is_empty() {
        // Whoever reads may have seen enough.
        let _ = writeln!(std::io::stdout(), "{:#}", json::model(&checked.model));
        return ExitCode::SUCCESS;
    }
    for diagnostic in &checked.diagnostics {
        eprintln!("{}\n", render(&path.display().to_string(), &text, diagnostic, colour));
    }
    eprintln!("the document has mistakes, so it has no model to print");
    ExitCode::FAILURE
}
