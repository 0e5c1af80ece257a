//! `latchkey docs`
//!
//! All files are written beside their places first. They are moved there once all are written, so a disk that is full
//! leaves the site as it was.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use latchkey_console::{Document, SiteFile, site};

use crate::Failure;
use crate::arguments::Docs;
use crate::document;

/// The file by which a directory is known to be a site, with the paths of its files.
const LIST: &str = ".latchkey-docs";

/// Where files are written before they are moved.
const STAGE: &str = ".latchkey-docs-new";

pub(crate) fn run(arguments: &Docs, colour: bool) -> Result<(), Failure> {
    let documents = document::all(&arguments.documents)?;
    let planned = document::planned(&documents, colour)?;
    let documents: Vec<Document> = documents
        .into_iter()
        .zip(planned)
        .map(|(read, planned)| Document { path: read.path, model: planned.model })
        .collect();
    refuse_alike(&documents)?;
    let out = arguments.out.as_path();
    let before = before(out, arguments.force)?;
    let files = site(&documents).map_err(Failure::Unusable)?;
    write(out, &files, &before).map_err(|error| {
        Failure::Unusable(format!("cannot write the site to `{}`: {error}", out.display()))
    })?;
    println!("{}: {} files", out.join("index.html").display(), files.len());
    Ok(())
}

/// Refuses systems whose files would be one file where capital letters make no difference.
fn refuse_alike(documents: &[Document]) -> Result<(), Failure> {
    for (at, document) in documents.iter().enumerate() {
        let name = &document.model.system;
        let same = |other: &&Document| other.model.system.eq_ignore_ascii_case(name);
        if let Some(other) = documents.iter().take(at).find(same) {
            let message = format!(
                "the systems `{}` and `{name}` differ in capital letters alone; give one of them another name",
                other.model.system
            );
            return Err(Failure::Unusable(message));
        }
    }
    Ok(())
}

/// The files of the site that is there, or why nothing is written there.
fn before(out: &Path, force: bool) -> Result<Vec<PathBuf>, Failure> {
    let unusable =
        |error: io::Error| Failure::Unusable(format!("cannot use `{}`: {error}", out.display()));
    let mut entries = match fs::read_dir(out) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unusable(error)),
    };
    match fs::read_to_string(out.join(LIST)) {
        Ok(list) => Ok(list.lines().map(PathBuf::from).filter(|path| is_within(path)).collect()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unusable(error)),
        Err(_) if force || entries.next().is_none() => Ok(Vec::new()),
        Err(_) => Err(Failure::Unusable(format!(
            "`{}` has files that `latchkey docs` has not made; choose another directory, or add --force",
            out.display()
        ))),
    }
}

/// Whether a path leads to a place within a directory.
fn is_within(path: &Path) -> bool {
    let mut parts = path.components();
    parts.clone().next().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Writes the files, then moves them to their places, then removes those that were there before.
fn write(out: &Path, files: &[SiteFile], before: &[PathBuf]) -> io::Result<()> {
    let made = !out.exists();
    fs::create_dir_all(out)?;
    let stage = out.join(STAGE);
    let staged = stage_all(&stage, files);
    if let Err(error) = staged {
        // The first error is the one that matters.
        let _ = fs::remove_dir_all(&stage);
        if made {
            let _ = fs::remove_dir(out);
        }
        return Err(error);
    }
    for file in files {
        let place = out.join(&file.path);
        if let Some(directory) = place.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::rename(stage.join(&file.path), place)?;
    }
    fs::rename(stage.join(LIST), out.join(LIST))?;
    fs::remove_dir_all(&stage)?;
    for path in before {
        if !files.iter().any(|file| Path::new(&file.path) == path) {
            match fs::remove_file(out.join(path)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Writes all files, and their list, into a directory of its own.
fn stage_all(stage: &Path, files: &[SiteFile]) -> io::Result<()> {
    match fs::remove_dir_all(stage) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir(stage)?;
    for file in files {
        let place = stage.join(&file.path);
        if let Some(directory) = place.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::write(place, &file.text)?;
    }
    let list: String = files.iter().map(|file| format!("{}\n", file.path)).collect();
    fs::write(stage.join(LIST), list)
}
