//! What is known of a request.

use std::sync::Arc;
use std::time::Instant;

use latchkey_language::Span;
use latchkey_runtime::Trace;
use latchkey_table::{Capacity, Text};

use super::{Sender, Target};
use crate::call_limits::{Left, Taken};

/// What is known of a request when it is answered.
pub(crate) struct Seen<'a> {
    pub(super) sender: Sender<'a>,
    pub(crate) started: Instant,
    pub(crate) target: Option<Arc<Target>>,
    pub(crate) capacity: Capacity,
    /// What the call asked of the table, where that is to be told.
    pub(crate) trace: Option<Trace>,
    /// The statement that refused the call, where that is to be told.
    pub(crate) at: Option<Span>,
    pub(super) caller: Text,
    pub(super) body_read: bool,
    /// What is left of the limits that it counts for.
    pub(super) left: Vec<Left>,
    /// Its place in a bucket, which it gives back if it is refused.
    pub(super) taken: Option<Taken>,
}

impl<'a> Seen<'a> {
    pub(crate) fn new(sender: Sender<'a>, started: Instant, body_read: bool) -> Seen<'a> {
        let (target, trace, at) = (None, None, None);
        let (capacity, caller, left) = (Capacity::default(), Text::default(), Vec::new());
        Seen { sender, started, target, capacity, trace, at, caller, body_read, left, taken: None }
    }
}
