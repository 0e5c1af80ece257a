//! What a command needs of its process, whichever command it is.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use latchkey_embedded::{PanicFate, panic_fate};
use signal_hook::consts::{SIGHUP, SIGXFSZ};

use crate::{logging, output};

/// Why a process ends at once over its store, and what to do.
pub(crate) const DAMAGED: &str = "the store's file is damaged so that it cannot be written any more, and this process ends; what was acknowledged is \
     still in the store's directory: copy it, look at it with `latchkey store verify`, and restore a backup or take out \
     what can be read with `latchkey store salvage`";

/// Where Linux says which signals a process ignores.
const STATUS: &str = "/proc/self/status";

/// Whether the process ignores SIGHUP, as `nohup` has it. Where nothing tells, the signal is left as it is.
pub(crate) fn ignores_hangups() -> bool {
    std::fs::read_to_string(STATUS).map_or(true, |status| is_ignored(&status, SIGHUP))
}

/// Whether a signal is ignored, by the status of a process: a mask whose lowest bit is that of signal 1.
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let bit = u32::try_from(signal - 1).ok().and_then(|place| 1_u64.checked_shl(place));
    mask.zip(bit).is_none_or(|(mask, bit)| mask & bit != 0)
}

/// Makes failures of the surroundings errors: of standard output, and of a limit on the size of files.
pub(crate) fn settle() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        output::end_for(panic);
        match panic_fate() {
            PanicFate::Foreign => usual(panic),
            // A damaged store is told as an error.
            PanicFate::Caught => {}
            PanicFate::Fatal => {
                logging::tell_last(&format!("error: {DAMAGED}\n  = note: {panic}\n"));
                std::process::exit(1);
            }
        }
    }));
    // The signal of `ulimit -f` ends a process that does not handle it. Once it is handled, the write fails instead.
    // If that cannot be had, the process ends as it would have.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_which_signals_are_ignored() {
        let status =
            |mask: &str| format!("Name:\tlatchkey\nSigBlk:\t01\nSigIgn:\t{mask}\nSigCgt:\t01\n");
        assert!(is_ignored(&status("0000000000001001"), SIGHUP));
        assert!(!is_ignored(&status("0000000000001000"), SIGHUP));
        assert!(is_ignored("Name:\tlatchkey\n", SIGHUP), "nothing tells");
    }
}
