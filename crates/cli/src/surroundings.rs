//! What a command needs of its process, whichever command it is.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGXFSZ;

use crate::output;

/// Makes failures of the surroundings errors: of standard output, and of a limit on the size of files.
pub(crate) fn settle() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        output::end_for(panic);
        // A damaged store is told as an error.
        if !latchkey_embedded::panic_is_caught() {
            usual(panic);
        }
    }));
    // The signal of `ulimit -f` ends a process that does not handle it. Once it is handled, the write fails instead.
    // If that cannot be had, the process ends as it would have.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}
