//! What the `latchkey` command is made of, for tests and for tools of your own.

pub mod json;
mod render;

pub use render::{line_and_column, render};
