//! Standard output of the commands. A command whose output cannot be written ends with an error, and no panic.

use std::io::{self, Write as _};
use std::process::ExitCode;

use crate::logging;

/// The exit code of a command whose reader has gone away, as a shell gives it for SIGPIPE.
const UNREAD: i32 = 141;

/// Prints a text. Ends the command if that cannot be done.
pub(crate) fn print(text: &str) {
    let mut stdout = io::stdout();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        end_unwritten(&error);
    }
}

/// Ends the command because its output cannot be written.
pub(crate) fn end_unwritten(error: &io::Error) -> ! {
    end(error.kind() == io::ErrorKind::BrokenPipe, &error.to_string())
}

/// Prints what the reader of the command line says: help, or what is wrong with the call.
pub(crate) fn tell(told: &clap::Error) -> ExitCode {
    let printed = told.print().and_then(|()| io::stdout().flush());
    match printed {
        Err(error) if !told.use_stderr() => end_unwritten(&error),
        // Standard error has no other place to be reported to.
        Ok(()) | Err(_) => u8::try_from(told.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}

/// Ends the command for a panic of `println!`, which knows no other way. Nothing if it is another panic.
pub(crate) fn end_for(panic: &std::panic::PanicHookInfo<'_>) {
    let text = panic.payload().downcast_ref::<String>().map_or("", String::as_str);
    if let Some(reason) = text.strip_prefix("failed printing to stdout: ") {
        end(reason.starts_with("Broken pipe"), reason);
    }
}

/// Ends the command: quietly if the reader of its output is gone, as behind `| head`.
fn end(is_unread: bool, reason: &str) -> ! {
    if is_unread {
        std::process::exit(UNREAD);
    }
    logging::tell_last(&format!("error: standard output cannot be written: {reason}\n"));
    std::process::exit(1)
}
