//! The arguments of the commands that keep a data directory whole: `backup`, `restore` and `store`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::stream::RATE;

/// A number of megabytes a second.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(rate @ 1..=100_000) => Ok(rate),
        _ => Err("from 1 to 100000, in megabytes a second".to_owned()),
    }
}

/// The arguments of `backup`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  latchkey backup --data ./doors --out doors.backup
  latchkey backup --data ./doors --out doors.backup --rate 10    leave the disk to others
  latchkey backup --data ./doors --out - | gzip > doors.backup.gz
  latchkey restore doors.backup --data ./again

The backup has one instant of the store: all tables, messages, timers and records of Idempotency-Key. A server that has
the directory open goes on, and sends it. The file has its name once it is whole. It has secrets, as the store has;
it does not have the development secret.

Exit codes: 0 if the backup is made, 2 if it is not, also because the store is damaged.")]
pub(crate) struct Backup {
    /// The data directory.
    #[arg(long, value_name = "DIR", default_value = "./latchkey-data")]
    pub(crate) data: PathBuf,
    /// The file to write, which is not there yet; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// How many megabytes a second a server reads for it at most.
    #[arg(long, value_name = "MB", default_value_t = RATE, value_parser = rate)]
    pub(crate) rate: u64,
}

/// The arguments of `restore`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  latchkey restore doors.backup --data ./again
  gunzip < doors.backup.gz | latchkey restore - --data ./again
  latchkey store verify --data ./again
  latchkey serve doors.md --data ./again

Every frame and every item is verified. A file that was cut or changed is refused, and leaves no store behind.")]
pub(crate) struct Restore {
    /// The backup; `-` is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) backup: PathBuf,
    /// The data directory to make, which has no store yet.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
}

/// The arguments of `store`.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  latchkey store verify --data ./doors
  latchkey store salvage --data ./doors --out ./saved
  latchkey store compact --data ./doors")]
pub(crate) enum StoreCommand {
    /// Reads the whole store and its indexes, and tells of everything that is not as it was written.
    Verify(StoreVerify),
    /// Writes what can be read of a damaged store as files for `latchkey import`, with a list of what cannot.
    Salvage(StoreSalvage),
    /// Gives room back to the disk that the store does not use any more.
    #[command(after_help = "\
Examples:
  latchkey store compact --data ./doors

No server may have the store open. Stopped at any point, it loses nothing; after a kill the next start reads the whole
file once.")]
    Compact {
        /// The data directory.
        #[arg(long, value_name = "DIR", default_value = "./latchkey-data")]
        data: PathBuf,
    },
}

/// The arguments of `store verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  latchkey store verify --data ./doors
  latchkey store verify --data ./doors --rate 10      leave the disk to others
  latchkey store verify --data ./doors --json         a line for each damage, and one at the end

A server that has the store open goes on: it checks one instant of the store, at a bounded rate. Without a server
the checksums of all pages of the file and the journals are checked, too. Nothing is written.

Exit codes: 0 if the store is sound, 1 if it is damaged, 2 if nothing can be said.")]
pub(crate) struct StoreVerify {
    /// The data directory.
    #[arg(long, value_name = "DIR", default_value = "./latchkey-data")]
    pub(crate) data: PathBuf,
    /// How many megabytes a second a server reads for it at most.
    #[arg(long, value_name = "MB", default_value_t = RATE, value_parser = rate)]
    pub(crate) rate: u64,
    /// Print JSON, one object a line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The arguments of `store salvage`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  latchkey store salvage --data ./doors --out ./saved
  latchkey import doors.md --data ./again --from ./saved/Doors.json
  cat ./saved/lost.json                               what could not be read, one JSON object a line

Each table becomes a file TABLE.json. If `store.redb` does not open at all, its pages are searched; what is found is in
TABLE.uncertain.json, because it may have been changed or removed since. Nothing in the data directory is written.

Exit codes: 0 if everything was saved, 1 if something is lost, 2 if nothing could be done.")]
pub(crate) struct StoreSalvage {
    /// The data directory, which no server has open.
    #[arg(long, value_name = "DIR", default_value = "./latchkey-data")]
    pub(crate) data: PathBuf,
    /// The directory to write, which is new or empty.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}
