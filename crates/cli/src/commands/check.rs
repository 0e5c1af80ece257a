//! `latchkey check`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use latchkey_language::Level;
use latchkey_model::Model;
use latchkey_runtime::{Mistakes, System};

use crate::arguments::Deny;
use crate::document::{self, Document};
use crate::{json, output, render};

pub(crate) fn run(
    documents: &[PathBuf],
    as_json: bool,
    deny: Option<Deny>,
    colour: bool,
) -> ExitCode {
    let (mut mistakes, mut warnings, mut unreadable) = (0usize, 0usize, false);
    for document in document::each(documents) {
        let Document { path: shown, text } = match document {
            Ok(document) => document,
            Err(message) => {
                eprintln!("error: {message}");
                unreadable = true;
                continue;
            }
        };
        let mut checked = latchkey_model::check(&text);
        if !checked.is_refused()
            && let Err(Mistakes(unplanned)) = System::plan(&checked.model)
        {
            checked.diagnostics.extend(unplanned);
        }
        for diagnostic in &checked.diagnostics {
            match diagnostic.level {
                Level::Error => mistakes += 1,
                Level::Warning => warnings += 1,
            }
            if as_json {
                output::print(&format!("{}\n", json::diagnostic(&shown, &text, diagnostic)));
            } else {
                let rendered = render(&shown, &text, diagnostic, colour);
                let _ = writeln!(std::io::stderr(), "{rendered}\n");
            }
        }
        if !checked.is_refused() && !as_json {
            println!("{shown}: {}", summary(&checked.model, checked.diagnostics.len()));
        }
    }
    if mistakes + warnings > 0 && !as_json {
        let found = match (mistakes, warnings) {
            (0, warnings) => counted(warnings, "warning", "warnings"),
            (mistakes, 0) => counted(mistakes, "mistake", "mistakes"),
            (mistakes, warnings) => format!(
                "{}, {}",
                counted(mistakes, "mistake", "mistakes"),
                counted(warnings, "warning", "warnings")
            ),
        };
        eprintln!("{found}; each rule has its page in docs/rules");
    }
    let denied = deny == Some(Deny::Warnings) && warnings > 0;
    match (unreadable, mistakes > 0 || denied) {
        (true, _) => ExitCode::from(2),
        (false, true) => ExitCode::FAILURE,
        (false, false) => ExitCode::SUCCESS,
    }
}

/// What a document without mistakes has.
fn summary(model: &Model, warnings: usize) -> String {
    let entities = counted(model.entities.len(), "entity", "entities");
    let contracts = counted(model.contracts.len(), "contract", "contracts");
    let workers = match model.workers.len() {
        0 => String::new(),
        count => format!(", {}", counted(count, "worker", "workers")),
    };
    let warnings = match warnings {
        0 => String::new(),
        count => format!(", {}", counted(count, "warning", "warnings")),
    };
    format!("{entities}, {contracts}{workers}, no mistakes{warnings}")
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
