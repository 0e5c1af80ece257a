//! Runs the study on all cores, and says how far it is.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// Does something with each of several things on all cores, and has the results in their order.
pub fn each<T: Sync, R: Send>(
    what: &str,
    things: &[T],
    work: impl Fn(&T) -> Result<R, String> + Sync,
) -> Result<Vec<R>, String> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (next, started) = (AtomicUsize::new(0), Instant::now());
    let results: Mutex<BTreeMap<usize, Result<R, String>>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(thing) = things.get(at) else { break };
                    let result = work(thing);
                    let mut all = results.lock().unwrap_or_else(PoisonError::into_inner);
                    all.insert(at, result);
                    bar(what, all.len(), things.len(), started);
                }
            });
        }
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_values().collect()
}

/// A line of progress: on a terminal renewed each time, elsewhere one in fifty.
fn bar(what: &str, done: usize, of: usize, started: Instant) {
    const WIDTH: usize = 30;
    let full = (done * WIDTH).checked_div(of).unwrap_or(WIDTH);
    let bar: String = (0..WIDTH).map(|at| if at < full { '█' } else { '·' }).collect();
    let line = format!("{bar} {done} of {of} {what}, {:.0} s", started.elapsed().as_secs_f64());
    let mut err = std::io::stderr();
    // Whoever looks may have gone.
    if err.is_terminal() {
        let end = if done == of { "\n" } else { "" };
        let _ = write!(err, "\r\u{1b}[K{line}{end}");
    } else if done.is_multiple_of(50) || done == of {
        let _ = writeln!(err, "{line}");
    }
}
