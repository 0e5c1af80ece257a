//! Reads and checks documents, and has the shipped ones.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use latchkey_language::{DOCUMENT_BYTES_MAX, Diagnostic};
use latchkey_model::Model;
use latchkey_runtime::{Mistakes, System};

use crate::{Failure, line_and_column, render, wide};

/// The documents in `systems/`, by their path there.
const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// What is said below the mistakes of a document.
const NOT_RUN: &str = "a document with mistakes is not run; each rule has its page in docs/rules";

/// A document and where it is from.
pub(crate) struct Document {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The text of a document, or why it cannot be read.
fn read(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let failed = |error: std::io::Error| format!("cannot read `{shown}`: {error}");
    let limit = wide(DOCUMENT_BYTES_MAX);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    // One byte more than is allowed, to tell a document that is too large from one that just fits.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > DOCUMENT_BYTES_MAX {
        return Err(format!(
            "`{shown}` has more than {DOCUMENT_BYTES_MAX} bytes: split the document"
        ));
    }
    String::from_utf8(bytes).map_err(|_| format!("`{shown}` is not UTF-8 text"))
}

/// The documents at the paths, each read or with the reason why not; without a path, the shipped documents.
pub(crate) fn each(paths: &[PathBuf]) -> Vec<Result<Document, String>> {
    if paths.is_empty() {
        let shipped = SHIPPED
            .iter()
            .map(|(path, text)| Document { path: (*path).to_owned(), text: (*text).to_owned() });
        return shipped.map(Ok).collect();
    }
    let document =
        |path: &PathBuf| Ok(Document { path: path.display().to_string(), text: read(path)? });
    paths.iter().map(document).collect()
}

/// The documents at the paths; without a path, the shipped documents. Fails at the first that cannot be read.
pub(crate) fn all(paths: &[PathBuf]) -> Result<Vec<Document>, Failure> {
    each(paths).into_iter().collect::<Result<_, _>>().map_err(Failure::Unusable)
}

/// A document without mistakes: what it means, and how it is run.
pub(crate) struct Planned {
    pub(crate) model: Model,
    pub(crate) system: System,
}

impl Document {
    /// Plans the document, or says its mistakes. Warnings go to the log, in commands that have one.
    fn plan(&self, colour: bool) -> Result<Planned, String> {
        let checked = latchkey_model::check(&self.text);
        let planned = match checked.is_refused() {
            true => Err(Mistakes(checked.diagnostics)),
            false => {
                checked.diagnostics.iter().for_each(|found| self.log(found));
                let model = checked.model;
                System::plan(&model).map(|system| Planned { model, system })
            }
        };
        planned.map_err(|Mistakes(mistakes)| {
            let mistakes = mistakes
                .iter()
                .map(|mistake| format!("{}\n\n", render(&self.path, &self.text, mistake, colour)));
            let mistakes: String = mistakes.collect();
            format!("{mistakes}{NOT_RUN}\n")
        })
    }

    fn log(&self, warning: &Diagnostic) {
        let (line, column) = line_and_column(&self.text, warning.span.start);
        let place = format!("{}:{line}:{column}", self.path);
        tracing::warn!(place, rule = %warning.rule, "{}", warning.message);
    }
}

/// Refuses roles that no system has.
pub(crate) fn refuse_unknown_roles(roles: &[String], systems: &[System]) -> Result<(), Failure> {
    let mut known: Vec<&str> = systems.iter().flat_map(System::roles).map(|r| r.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    match roles.iter().find(|role| !known.contains(&role.as_str())) {
        None => Ok(()),
        Some(role) if known.is_empty() => Err(Failure::Unusable(format!(
            "there is no role `{role}`: the documents have no roles"
        ))),
        Some(role) => Err(Failure::Unusable(format!(
            "there is no role `{role}`; the documents have {}",
            known.join(", ")
        ))),
    }
}

/// Plans all documents, or fails with the mistakes of all.
pub(crate) fn planned(documents: &[Document], colour: bool) -> Result<Vec<Planned>, Failure> {
    let (mut all, mut mistakes) = (Vec::<Planned>::new(), String::new());
    for document in documents {
        match document.plan(colour) {
            Ok(planned) => all.push(planned),
            Err(own) => mistakes.push_str(&own),
        }
    }
    if !mistakes.is_empty() {
        return Err(Failure::Mistakes(mistakes));
    }
    for (at, planned) in all.iter().enumerate() {
        let name = planned.system.name();
        if all.iter().take(at).any(|other| other.system.name() == name) {
            let message =
                format!("two documents are system `{name}`; give one of them another name");
            return Err(Failure::Unusable(message));
        }
    }
    Ok(all)
}

/// The systems of all documents, or the mistakes of all.
pub(crate) fn systems(documents: &[Document], colour: bool) -> Result<Vec<System>, Failure> {
    let planned = planned(documents, colour)?;
    Ok(planned.into_iter().map(|planned| planned.system).collect())
}
