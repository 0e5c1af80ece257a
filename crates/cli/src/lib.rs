//! The parts of the `latchkey` command, for tests and for your own tools.

mod arguments;
#[cfg(feature = "aws")]
mod aws;
#[cfg(not(feature = "aws"))]
#[path = "no_aws.rs"]
mod aws;
mod commands;
mod control;
mod document;
mod doors;
mod handles;
mod identity;
pub mod json;
mod logging;
mod output;
mod render;
mod running;
mod secret;
mod storage;
mod stream;
mod surroundings;
mod transfer;
mod upkeep;

use std::fmt;
use std::process::ExitCode;

pub use arguments::main;
pub use render::{line_and_column, render};

/// A length as a `u64`. No target of Rust has a longer `usize`.
fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// How many of something, for people: `1 item`, `2,000 items`.
fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", transfer::meter::grouped(count), if count == 1 { one } else { many })
}

/// Why a command could not do its work.
enum Failure {
    /// An example fails, or what was looked at is not right. The command has printed why.
    Printed,
    /// Documents have mistakes: these.
    Mistakes(String),
    /// The call is wrong, or a file cannot be used.
    Unusable(String),
}

impl Failure {
    fn unusable(message: impl fmt::Display) -> Failure {
        Failure::Unusable(message.to_string())
    }

    /// The failure as a reason for another.
    fn into_reason(self) -> String {
        match self {
            Failure::Printed => "the reason is printed above".to_owned(),
            Failure::Mistakes(reason) | Failure::Unusable(reason) => reason,
        }
    }

    fn exit_code(self) -> ExitCode {
        match self {
            Failure::Printed => ExitCode::FAILURE,
            Failure::Mistakes(mistakes) => {
                logging::tell_last(&mistakes);
                ExitCode::FAILURE
            }
            Failure::Unusable(message) => {
                logging::tell_last(&format!("error: {message}\n"));
                ExitCode::from(2)
            }
        }
    }
}
