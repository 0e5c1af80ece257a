//! The OpenAPI documents: what they say, kept as golden files, and what must hold of every one of them.
//!
//! `LATCHKEY_BLESS=1 cargo nextest run -p latchkey-tests --test openapi golden` writes the golden files anew; read the
//! difference before you commit it. `tests/openapi/lint.sh` holds the same documents to the linters.

#![expect(
    clippy::as_conversions,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should fail, where it went wrong"
)]

mod conformance;
mod golden;
mod names;
mod structure;
mod validity;

use std::fs;
use std::path::{Path, PathBuf};

use latchkey_model::Model;
use latchkey_openapi::{OpenApi, Serving, Version};
use serde_json::Value;

const VERSIONS: [(Version, &str); 2] = [(Version::V3_1, "3.1"), (Version::V3_0, "3.0")];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A document that is described, and its name without `.md`.
struct Document {
    name: String,
    text: String,
}

impl Document {
    fn read(path: &Path) -> Document {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        Document { name, text: fs::read_to_string(path).unwrap() }
    }

    fn model(&self) -> Model {
        model(&self.text)
    }
}

fn model(text: &str) -> Model {
    let checked = latchkey_model::check(text);
    assert!(!checked.is_refused(), "{:#?}", checked.diagnostics);
    checked.model
}

/// The documents of a folder, in the order of their names.
fn documents(folder: &str) -> Vec<Document> {
    let files = fs::read_dir(root().join(folder)).unwrap().map(|file| file.unwrap().path());
    let is_document = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "md") && !path.ends_with("README.md")
    };
    let mut files: Vec<PathBuf> = files.filter(is_document).collect();
    files.sort();
    files.iter().map(|path| Document::read(path)).collect()
}

fn shipped() -> Vec<Document> {
    documents("systems")
}

/// Every document of the tree that has contracts of all kinds.
fn everything() -> Vec<Document> {
    let others = ["docs/language.md", "tests/http/answers.md", "tests/http/documents/shop.md"];
    let others = others.map(|path| Document::read(&root().join(path)));
    let folders = ["systems", "designs", "tests/http/tables"].into_iter().flat_map(documents);
    folders.chain(others).collect()
}

fn described(models: &[&Model], version: Version) -> Value {
    serde_json::from_str(&OpenApi::new(models, version, &Serving::default()).compact()).unwrap()
}
