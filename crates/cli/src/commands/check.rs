//! `latchkey check`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::document::{self, Document};
use crate::{json, render};

pub(crate) fn run(documents: &[PathBuf], as_json: bool, colour: bool) -> ExitCode {
    let (mut mistakes, mut unreadable) = (0usize, false);
    for document in document::each(documents) {
        let Document { path: shown, text } = match document {
            Ok(document) => document,
            Err(message) => {
                eprintln!("error: {message}");
                unreadable = true;
                continue;
            }
        };
        let checked = latchkey_model::check(&text);
        mistakes += checked.diagnostics.len();
        for diagnostic in &checked.diagnostics {
            if as_json {
                // Whoever reads may have seen enough.
                let _ =
                    writeln!(std::io::stdout(), "{}", json::diagnostic(&shown, &text, diagnostic));
            } else {
                let rendered = render(&shown, &text, diagnostic, colour);
                let _ = writeln!(std::io::stderr(), "{rendered}\n");
            }
        }
        if checked.diagnostics.is_empty() && !as_json {
            let model = &checked.model;
            let entities = counted(model.entities.len(), "entity", "entities");
            let contracts = counted(model.contracts.len(), "contract", "contracts");
            let workers = match model.workers.len() {
                0 => String::new(),
                count => format!(", {}", counted(count, "worker", "workers")),
            };
            println!("{shown}: {entities}, {contracts}{workers}, no mistakes");
        }
    }
    match (unreadable, mistakes) {
        (true, _) => ExitCode::from(2),
        (false, 0) => ExitCode::SUCCESS,
        (false, count) => {
            if !as_json {
                let mistakes = counted(count, "mistake", "mistakes");
                eprintln!("{mistakes}; each rule has its page in docs/rules");
            }
            ExitCode::FAILURE
        }
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
