//! The `latchkey` command.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]

mod check;
mod document;
mod model;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ColorChoice, Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  latchkey check doors.md                    is the document right?
  latchkey check systems/*.md --json         the same of several, for a program
  latchkey model doors.md --json             what it means, for your own tools

Exit codes: 0 if all is well, 1 if a document has mistakes, 2 if a file cannot be read or the call is wrong.";

/// Access-pattern documents that run.
#[derive(Debug, Parser)]
#[command(name = "latchkey", version, after_help = EXAMPLES)]
struct Arguments {
    /// When to use colour.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Checks documents: names, types, and every rule. Prints all mistakes at once.
    Check {
        /// The documents.
        #[arg(required = true, value_name = "DOC")]
        documents: Vec<PathBuf>,
        /// Print the mistakes as JSON, one a line.
        #[arg(long)]
        json: bool,
    },
    /// Prints the checked model of a document: nobody is locked in.
    Model {
        /// The document.
        #[arg(value_name = "DOC")]
        document: PathBuf,
        /// Print JSON; there is no other form yet.
        #[arg(long, required = true)]
        json: bool,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let colour = match arguments.color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            std::io::stderr().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        }
    };
    match arguments.command {
        Command::Check { documents, json } => check::run(&documents, json, colour),
        Command::Model { document, .. } => model::run(&document, colour),
    }
}
