//! The study of the check, the examples and the race search: mutants that operators make, and small documents that
//! chance makes. `docs/study.md` has the figures.

pub mod choice;
pub mod documents;
pub mod examples;
pub mod fate;
pub mod generate;
pub mod mutant;
mod names;
pub mod run;
pub mod sites;
pub mod soundness;
pub mod tables;
