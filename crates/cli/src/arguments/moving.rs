//! The arguments of the commands that read or write whole files: `export`, `import`, `examine` and `verify`.

use std::path::PathBuf;

use clap::Args;

use super::Storage;
use super::keeping::rate;
use crate::stream::RATE;

/// The table that is read or filled.
#[derive(Debug, Args)]
pub(crate) struct TableChoice {
    /// The documents; without any, those that are shipped.
    #[arg(value_name = "DOC")]
    pub(crate) documents: Vec<PathBuf>,
    /// Which system's table, when there are several.
    #[arg(long, value_name = "NAME")]
    pub(crate) system: Option<String>,
    /// Where items are kept.
    #[arg(long, value_name = "DIR", default_value = "./latchkey-data")]
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) storage: Storage,
}

/// The arguments of `export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  latchkey export doors.md --data ./doors --out doors.json
  latchkey export doors.md --dynamodb --out doors.json
  latchkey export doors.md --data ./doors --out doors.json --rate 10    leave the disk to others
  latchkey export doors.md --data ./doors --out - | gzip > doors.json.gz

Each line is one item in the shape of a DynamoDB export: {\"Item\": {\"PK\": {\"S\": \"…\"}, …}}. The file has its name
once it is whole. Stopped half-way, the same command goes on where it stopped. A server that has the store open is
asked for the items of one instant; on DynamoDB stop the writers, or what they write meanwhile may be in it or not.")]
pub(crate) struct Export {
    #[command(flatten)]
    pub(crate) table: TableChoice,
    /// The file to write; `-` is standard output, which cannot be resumed.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Start from the beginning, and replace an existing file.
    #[arg(long)]
    pub(crate) restart: bool,
    /// How many megabytes a second a server reads for it at most.
    #[arg(long, value_name = "MB", default_value_t = RATE, value_parser = rate, conflicts_with = "dynamodb")]
    pub(crate) rate: u64,
}

/// The arguments of `import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  latchkey import doors.md --data ./doors --from doors.json
  latchkey import doors.md --dynamodb --from doors.json
  gunzip -c doors.json.gz | latchkey import doors.md --data ./doors --from -

It stops at the first line that is not an item, with those before it loaded; the same command goes on there, also
after it was killed. A table that has items is left alone, unless --merge is given. Tables of DynamoDB are made
by `latchkey table create`.")]
pub(crate) struct Import {
    #[command(flatten)]
    pub(crate) table: TableChoice,
    /// The file to read; `-` is standard input, which cannot be resumed.
    #[arg(long, value_name = "FILE")]
    pub(crate) from: PathBuf,
    /// Load into a table that has items: those of the same key are replaced, others stay.
    #[arg(long)]
    pub(crate) merge: bool,
    /// Load lines as they are, without checking them against the document.
    #[arg(long)]
    pub(crate) as_is: bool,
    /// Write each line as the document stores it: times in fixed width, keys of indexes, defaults.
    #[arg(long, conflicts_with = "as_is")]
    pub(crate) convert: bool,
    /// Load items of other programs too, as they are: those that are of no entity of the document.
    #[arg(long)]
    pub(crate) foreign: bool,
    /// Start again at the first line.
    #[arg(long)]
    pub(crate) restart: bool,
}

/// The arguments of `examine`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  latchkey examine doors.md --data ./doors
  latchkey examine doors.md --dynamodb --items 100000

Nothing is written. Every item is read once: on DynamoDB a read unit for each 4 KB. The store is opened in place, so no
server may have it open.

Exit codes: 0 if no item is lost to a contract, 1 if one is, 2 if nothing can be said.")]
pub(crate) struct Examine {
    #[command(flatten)]
    pub(crate) table: TableChoice,
    /// Read so many items at most.
    #[arg(long, value_name = "N")]
    pub(crate) items: Option<u64>,
}

/// The arguments of `verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  latchkey verify outcomes.json --key 4f0c…9a --commitment 77b1…e2 --rate 0.25 \\
    --subject '{drawId}#{userId}' --won result=WIN --lost result=LOSE
  latchkey verify export.json … --where kind=TICKET --where drawId=spring    some of an export's items
  curl …/tickets | latchkey verify - …                                       the page of an answer
  latchkey verify outcomes.json … --json                                     for programs

A contract draws `draw(key, subject) < rate`: the first 8 bytes of HMAC-SHA256, big-endian, over 2^64. The file has
the lines of `latchkey export`, JSON objects, arrays of them, or answers with their `items`, one after the other.
Nothing but the file is asked. docs/draws.md says what this proves, and what it does not.

Exit codes: 0 if every outcome follows, 1 if one does not or the key is another, 2 if nothing can be said.")]
pub(crate) struct Verify {
    /// The outcomes; `-` is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) outcomes: PathBuf,
    /// The key that was revealed: 64 hexadecimal digits.
    #[arg(long, value_name = "HEX")]
    pub(crate) key: String,
    /// The commitment that was published before the draw: the SHA-256 of the key, 64 hexadecimal digits.
    #[arg(long, value_name = "HEX", required_unless_present = "no_commitment")]
    pub(crate) commitment: Option<String>,
    /// Verify without a commitment. Then nothing shows that the key existed before the outcomes.
    #[arg(long, conflicts_with = "commitment")]
    pub(crate) no_commitment: bool,
    /// The win rate: a draw below it wins. A decimal from 0 to 1, compared exactly.
    #[arg(long, value_name = "DECIMAL")]
    pub(crate) rate: String,
    /// The text of a draw, as the contract writes it: a text with attributes in braces.
    #[arg(long, value_name = "TEXT")]
    pub(crate) subject: String,
    /// The attribute that has the outcome, and its value for a win.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) won: String,
    /// The same attribute, and its value for a loss.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) lost: String,
    /// Only records with this value; all others are skipped and counted.
    #[arg(long = "where", value_name = "NAME=VALUE")]
    pub(crate) filters: Vec<String>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
