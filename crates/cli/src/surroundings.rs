//! What a command needs of its process, whichever command it is.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use latchkey_embedded::{PanicFate, panic_fate};
use signal_hook::consts::SIGXFSZ;

use crate::{logging, output};

/// Why a process ends at once over its store, and what to do.
pub(crate) const DAMAGED: &str = "the store's file is damaged so that it cannot be written any more, and this process ends; what was acknowledged is \
     still in the store's directory: copy it, look at it with `latchkey store verify`, and restore a backup or take out \
     what can be read with `latchkey store salvage`";

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
