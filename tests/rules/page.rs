//! A page of `docs/rules`: samples in fences of four backticks, and what is said about them.

use std::fs;
use std::path::{Path, PathBuf};

/// What a fence of a page holds, by the heading above it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Fails,
    Says,
    Fixed,
}

pub(crate) struct Page {
    pub(crate) slug: String,
    pub(crate) text: String,
    path: PathBuf,
    /// What each fence holds, and the bytes of it.
    fences: Vec<(Part, std::ops::Range<usize>)>,
}

impl Page {
    pub(crate) fn read(path: &Path) -> Page {
        let text = fs::read_to_string(path).unwrap();
        let slug = path.file_stem().unwrap().to_string_lossy().into_owned();
        let fences = fences(&text);
        Page { slug, text, path: path.to_owned(), fences }
    }

    /// The texts of one part, in the order of the page.
    pub(crate) fn parts(&self, part: Part) -> impl Iterator<Item = &str> {
        let these = self.fences.iter().filter(move |(other, _)| *other == part);
        these.map(|(_, range)| self.text.get(range.clone()).unwrap().trim_end_matches('\n'))
    }

    /// Writes anew what the page shows.
    pub(crate) fn bless(&self, said: &[String]) {
        let mut text = self.text.clone();
        let shown: Vec<_> = self.fences.iter().filter(|(part, _)| *part == Part::Says).collect();
        assert_eq!(shown.len(), said.len(), "{}: one `What it says` for each sample", self.slug);
        for ((_, range), said) in shown.into_iter().zip(said).rev() {
            text.replace_range(range.clone(), &format!("{said}\n"));
        }
        fs::write(&self.path, text).unwrap();
    }
}

fn fences(text: &str) -> Vec<(Part, std::ops::Range<usize>)> {
    let mut found = Vec::new();
    let (mut part, mut open, mut at) = (None, None, 0);
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let line = line.trim_end();
        match &open {
            None if line.starts_with('#') => {
                part = match line.trim_start_matches('#').trim() {
                    "Fails" => Some(Part::Fails),
                    "What it says" => Some(Part::Says),
                    "Fixed" => Some(Part::Fixed),
                    _ => None,
                };
            }
            None if line.starts_with("```") => {
                let fence = line.trim_end_matches(|other| other != '`').to_owned();
                open = Some((fence, end));
            }
            Some((fence, from)) if line == *fence => {
                found.extend(part.map(|part| (part, *from..start)));
                open = None;
            }
            _ => {}
        }
    }
    found
}
