//! The `latchkey` command, built with the tests that start it.

use std::process::ExitCode;

fn main() -> ExitCode {
    latchkey_cli::main()
}
