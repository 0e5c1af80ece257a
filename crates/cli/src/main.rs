//! The `latchkey` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    latchkey_cli::main()
}
