//! `latchkey openapi`

use std::path::PathBuf;

use latchkey_openapi::{OpenApi, Version};

use crate::Failure;
use crate::document::{self, Planned};

pub(crate) fn run(documents: &[PathBuf], version: Version, colour: bool) -> Result<(), Failure> {
    let documents = document::all(documents)?;
    let planned = document::planned(&documents, colour)?;
    // A reader may close the pipe before the end.
    print!("{}", describe(&planned, version, false).pretty());
    Ok(())
}

/// The OpenAPI document of what is served together, by a server that limits all calls or those of contracts that say
/// so.
pub(super) fn describe(planned: &[Planned], version: Version, all_limited: bool) -> OpenApi {
    let models: Vec<_> = planned.iter().map(|planned| &planned.model).collect();
    OpenApi::new(&models, version, all_limited)
}
