//! Searches what the contracts of a document can do to each other.
//!
//! Contracts have no loops, so all that they do together can be searched, on the real runtime, through the seam to
//! storage. [`search`] runs groups of calls on a table in memory, each stopped at every request, in every order that
//! matters, and compares what comes of it with what the same calls come to unit by unit.

mod act;
mod against;
mod conflict;
mod counting;
mod ends;
mod example;
mod explore;
mod group;
mod grow;
mod invariant;
mod judge;
mod lab;
mod machine;
pub mod matching;
mod outcome;
mod port;
mod promise;
mod reach;
mod report;
mod search;
mod statement;
mod table;
mod tie;
mod triples;
mod variant;
mod way;
mod world;

pub use against::{Against, Base, Limits};
pub use machine::Stuck;
pub use reach::Unsearched;
pub use report::{Loss, Row};
pub use search::{Doing, Options, Progress, Report, SearchError, examine, search};
pub use table::Memory;
