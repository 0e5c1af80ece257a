//! `latchkey explain`

use std::path::PathBuf;

use latchkey_runtime::{Explanation, explain};

use crate::Failure;
use crate::document;

pub(crate) fn run(contract: &str, documents: &[PathBuf], colour: bool) -> Result<(), Failure> {
    let documents = document::all(documents)?;
    let systems = document::systems(&documents, colour)?;
    let explanations: Vec<Explanation> =
        systems.iter().filter_map(|system| explain(system, contract)).collect();
    if explanations.is_empty() {
        let ids = systems.iter().flat_map(|system| system.contracts()).map(|info| info.id.as_str());
        let ids: Vec<&str> = ids.collect();
        let message = format!("there is no contract `{contract}`; there are {}", ids.join(", "));
        return Err(Failure::Unusable(message));
    }
    let texts: Vec<String> = explanations.iter().map(ToString::to_string).collect();
    // A reader may close the pipe before the end.
    print!("{}", texts.join("\n"));
    Ok(())
}
