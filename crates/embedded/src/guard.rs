//! Panics of redb, which panics where it meets a damaged page.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::map::EngineError;

thread_local! {
    static GUARDED: Cell<Guarded> = const { Cell::new(Guarded::No) };
}

/// Whether a thread runs code whose panics are caught.
#[derive(Clone, Copy)]
enum Guarded {
    No,
    Yes,
    /// It has panicked, and cleans up.
    Panicked,
}

/// What becomes of a panic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PanicFate {
    /// It is none of the store's.
    Foreign,
    /// The store catches it, and returns an error. redb panics so about a damaged page. A hook need not tell of it.
    Caught,
    /// redb has panicked again while it cleaned up after a panic about a damaged page. Nobody can catch that: Rust aborts
    /// the process behind the hook. A hook can say so, and end the process itself. What was acknowledged stays in the
    /// store's files.
    Fatal,
}

/// What becomes of a panic of this thread. A panic hook asks, once for each panic.
pub fn panic_fate() -> PanicFate {
    match GUARDED.get() {
        Guarded::No => PanicFate::Foreign,
        Guarded::Yes => {
            GUARDED.set(Guarded::Panicked);
            PanicFate::Caught
        }
        Guarded::Panicked => PanicFate::Fatal,
    }
}

/// Runs code that may meet a damaged page, for which redb panics.
pub(crate) fn guard<T, E: From<EngineError>>(run: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let outer = GUARDED.replace(Guarded::Yes);
    let ran = catch_unwind(AssertUnwindSafe(run));
    GUARDED.set(outer);
    ran.unwrap_or_else(|panic| Err(damage(&*panic).into()))
}

/// The error for a panic about a damaged page.
fn damage(panic: &(dyn Any + Send)) -> EngineError {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    let line: Vec<&str> = text.unwrap_or_default().split_whitespace().collect();
    EngineError::damage(match line.is_empty() {
        true => "the store's file is damaged".to_owned(),
        false => format!("the store's file is damaged: {}", line.join(" ")),
    })
}
