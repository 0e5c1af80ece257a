//! `latchkey openapi`

use std::path::PathBuf;

use latchkey_openapi::{OpenApi, Serving, Version};

use crate::Failure;
use crate::document::{self, Planned};

pub(crate) fn run(documents: &[PathBuf], version: Version, colour: bool) -> Result<(), Failure> {
    let documents = document::all(documents)?;
    let planned = document::planned(&documents, colour)?;
    // A reader may close the pipe before the end.
    print!("{}", describe(&planned, version, &Serving::default()).pretty());
    Ok(())
}

/// The OpenAPI document of what is served together.
pub(super) fn describe(planned: &[Planned], version: Version, serving: &Serving) -> OpenApi {
    let models: Vec<_> = planned.iter().map(|planned| &planned.model).collect();
    OpenApi::new(&models, version, serving)
}
