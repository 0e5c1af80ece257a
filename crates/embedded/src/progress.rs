//! What a store is doing while it opens, for those who wait for it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use latchkey_table::Text;

use crate::storage::Part;

/// What a store is doing that can take long. Clones show the same store.
///
/// ```
/// # use latchkey_embedded::{Options, Progress, Store};
/// let progress = Progress::default();
/// let options = Options { progress: progress.clone(), ..Options::default() };
/// let store = Store::in_memory(&options)?;
/// assert_eq!(progress.to_string(), "", "it is open");
/// # Ok::<(), latchkey_embedded::OpenError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<Mutex<Option<Step>>>);

/// A step that can take long.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// The map is opened, and repaired if that is needed.
    Map,
    /// A journal of so many bytes is read.
    Journal { part: Part, bytes: u64 },
    /// An index of a table is filled, so far from so many items.
    Fill { table: Text, index: Text, items: u64 },
    /// Items are moved to a table, so far so many.
    Move { table: Text, items: u64 },
}

impl Progress {
    /// Begins a step, or says how far it is.
    pub(crate) fn tell(&self, step: Step) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(step);
    }

    /// Nothing takes long any more.
    pub(crate) fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match step {
            None => Ok(()),
            Some(Step::Map) => write!(f, "opening {}", Part::Map),
            Some(Step::Journal { part, bytes }) => write!(f, "reading {part}, {bytes} bytes"),
            Some(Step::Fill { table, index, items }) => {
                write!(f, "filling index `{index}` of table `{table}`, {items} items so far")
            }
            Some(Step::Move { table, items }) => {
                write!(f, "moving items to table `{table}`, {items} so far")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_says_what_is_done_and_how_far() {
        let progress = Progress::default();
        let mut told = vec![progress.to_string()];
        let (table, index) = (Text::const_new("Doors"), Text::const_new("GSI1"));
        let steps = [
            Step::Map,
            Step::Journal { part: Part::FirstJournal, bytes: 4096 },
            Step::Fill { table: table.clone(), index, items: 2000 },
            Step::Move { table, items: 7 },
        ];
        for step in steps {
            progress.tell(step);
            told.push(progress.to_string());
        }
        progress.end();
        told.push(progress.to_string());
        let expected = [
            "",
            "opening `store.redb`",
            "reading `journal-0`, 4096 bytes",
            "filling index `GSI1` of table `Doors`, 2000 items so far",
            "moving items to table `Doors`, 7 so far",
            "",
        ];
        assert_eq!(told, expected);
    }
}
