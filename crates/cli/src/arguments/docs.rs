//! The arguments of `docs`.

use std::path::PathBuf;

use clap::Args;

/// The arguments of `docs`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  latchkey docs doors.md --out site           open site/index.html in a browser
  latchkey docs --out site                    the shipped systems
  latchkey docs a.md b.md --out site          several documents, on one site
  latchkey docs doors.md --out site --force   also into a directory with other files

The site has a page for each document: its text, a card for each contract with its keys, requests, cost and failures,
the table of all accesses, a picture of the keys, and what the check tells. systems/SYSTEM.md has the cards and tables
as Markdown. Nothing is loaded from elsewhere, and no server is needed. The same documents give the same files.

A directory that holds other files is refused, unless the command has made it. Files of an earlier run that the site no
longer has are removed; other files stay.")]
pub(crate) struct Docs {
    /// The documents; without any, those that are shipped.
    #[arg(value_name = "DOC")]
    pub(crate) documents: Vec<PathBuf>,
    /// The directory of the site.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Write into a directory with other files; those of the same names are replaced.
    #[arg(long)]
    pub(crate) force: bool,
}
