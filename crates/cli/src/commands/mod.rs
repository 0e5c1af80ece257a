//! One file for each command.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "they are commands")]

pub(crate) mod backup;
pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod docs;
pub(crate) mod examine;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod model;
pub(crate) mod openapi;
pub(crate) mod queue;
pub(crate) mod race;
pub(crate) mod restore;
pub(crate) mod serve;
pub(crate) mod store;
pub(crate) mod table;
pub(crate) mod test;
pub(crate) mod token;
pub(crate) mod verify;
pub(crate) mod work;
