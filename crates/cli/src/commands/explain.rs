//! `latchkey explain`

use std::path::PathBuf;

use crate::Failure;

pub(crate) fn run(contract: &str, documents: &[PathBuf], colour: bool) -> Result<(), Failure> {
    let _ = (contract, documents, colour);
    Ok(())
}
