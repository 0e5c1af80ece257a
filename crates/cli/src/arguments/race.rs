//! What `race` is told.

use std::path::{Path, PathBuf};

use clap::Args;
use latchkey_language::Rule;

/// What `race` is told.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  latchkey race                               the documents that are shipped
  latchkey race doors.md                      all contracts of a document
  latchkey race doors.md D-03 D-07            only groups with one of these
  latchkey race doors.md --deep               more groups of each kind
  latchkey race doors.md --embedded           with the reads of the embedded store
  latchkey race doors.md --without unpinned   although the check refuses it

An argument that ends with `.md`, or is a file, is a document; any other is a contract or a worker. Nothing is stored,
and nothing depends on how fast the machine is: the same document gives the same report. docs/race.md says what is
searched and what is not.

Exit codes: 0 if nothing was lost, 1 if something was or the document has mistakes, 2 if a file cannot be used.")]
pub(crate) struct Race {
    /// Documents, and contracts or workers; without a document, those that are shipped.
    #[arg(value_name = "DOC or CONTRACT")]
    pub(crate) names: Vec<String>,
    /// Try more groups of each kind.
    #[arg(long)]
    pub(crate) deep: bool,
    /// Search with the reads of the embedded store: none sees part of a transaction, none is out of date.
    #[arg(long)]
    pub(crate) embedded: bool,
    /// Switch a rule of the check off, to search a document that it refuses.
    #[arg(long, value_name = "RULE", value_parser = rule)]
    pub(crate) without: Vec<Rule>,
}

impl Race {
    /// The documents, and the contracts.
    pub(crate) fn split(&self) -> (Vec<PathBuf>, Vec<String>) {
        let is_document = |name: &&String| name.ends_with(".md") || Path::new(name).is_file();
        let (documents, contracts): (Vec<&String>, Vec<&String>) =
            self.names.iter().partition(is_document);
        (
            documents.into_iter().map(PathBuf::from).collect(),
            contracts.into_iter().cloned().collect(),
        )
    }
}

fn rule(slug: &str) -> Result<Rule, String> {
    let rule = latchkey_model::rules().find(|rule| rule.slug() == slug);
    rule.ok_or_else(|| "there is no such rule; docs/rules lists them".to_owned())
}
