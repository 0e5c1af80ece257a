//! `latchkey table`

mod cloudformation;
#[cfg(feature = "aws")]
mod remedy;
#[cfg(feature = "aws")]
mod service;

use std::path::PathBuf;

use latchkey_runtime::System;

use crate::arguments::{Remote, Table};
use crate::{Failure, document};

pub(crate) fn run(arguments: Table, colour: bool) -> Result<(), Failure> {
    match arguments {
        Table::Cloudformation { documents, tables } => {
            let remote = Remote { endpoint: None, tables };
            let systems = systems(&documents, &remote, colour)?;
            print!("{}", cloudformation::template(&systems));
            Ok(())
        }
        #[cfg(feature = "aws")]
        Table::Create(tables) => service::create(tables, colour),
        #[cfg(feature = "aws")]
        Table::Describe(tables) => service::describe(tables, colour),
        #[cfg(feature = "aws")]
        Table::Diff(tables) => service::diff(tables, colour),
        #[cfg(not(feature = "aws"))]
        Table::Create(_) | Table::Describe(_) | Table::Diff(_) => {
            Err(Failure::unusable(crate::aws::NO_DYNAMODB))
        }
    }
}

fn systems(documents: &[PathBuf], remote: &Remote, colour: bool) -> Result<Vec<System>, Failure> {
    remote.place(document::systems(&document::all(documents)?, colour)?)
}
