//! Why an expression has no value.

use latchkey_table::Invalid;

use crate::bug::Bug;

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A sum no number or instant can hold.
    OutOfRange,
    /// A quotient of a number and zero.
    DividedByZero,
    /// It cannot be: the check has shown otherwise, and what is read is as the document declares it.
    Bug(Bug),
    /// No table would take it.
    Invalid(Invalid),
}

impl From<Invalid> for Fault {
    fn from(invalid: Invalid) -> Fault {
        Fault::Invalid(invalid)
    }
}

impl From<Bug> for Fault {
    fn from(bug: Bug) -> Fault {
        Fault::Bug(bug)
    }
}

impl Fault {
    /// Something is not there, or not of the type, that the check has shown it to be.
    pub(crate) fn bug(what: &'static str) -> Fault {
        Fault::Bug(Bug::new(what))
    }
}
