//! Why a store does not open.

use std::io;
use std::path::{Path, PathBuf};

use crate::engine::{EngineError, FORMAT_VERSION, OpenFailure};
use crate::private::quoted;

/// Why a store does not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error(
        "the store in `{}` is in use{}: stop that process, or name another directory",
        path.display(),
        holder.map_or_else(String::new, |id| format!(" by process {id}"))
    )]
    InUse {
        /// The store's directory.
        path: PathBuf,
        /// The id of that process, if it could be read.
        holder: Option<u32>,
    },
    /// The directory cannot be made, read or written.
    #[error("the directory `{}` cannot be used: {error}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The file is missing, and a journal that belongs to it is there.
    #[error(
        "`{}` is missing, and `{journal}` is there, which has its last writes: restore the whole directory from a \
         copy; or save these writes by `latchkey store salvage`, and move `journal-0` and `journal-1` away to begin \
         with an empty store",
        path.display()
    )]
    Missing {
        /// The store's file.
        path: PathBuf,
        /// The journal's file.
        journal: &'static str,
    },
    /// A restore to the directory was interrupted.
    #[error(
        "a restore to `{}` did not finish, so there is no store in it: run `latchkey restore FILE --data {}` again, \
         or remove `{}` to begin with an empty store",
        path.display(),
        quoted(path),
        mark.display()
    )]
    Unrestored {
        /// The store's directory.
        path: PathBuf,
        /// The file that says so.
        mark: PathBuf,
    },
    /// A file of the store was lost while it was open.
    #[error(
        "`{}` says that a file of this store was lost while the store was open, so acknowledged writes may be missing: \
         restore the whole directory from a copy, or remove `{}` to go on with what is there",
        path.display(),
        path.display()
    )]
    Lost {
        /// The file that says so.
        path: PathBuf,
    },
    /// A new store cannot be made; nothing is left of the attempt.
    #[error("no store can be made at `{}`: {reason}", path.display())]
    NotCreated {
        /// The store's file.
        path: PathBuf,
        /// What went wrong.
        reason: String,
    },
    /// The store was written by a newer release.
    #[error(
        "`{}` has format {found}, and this release knows formats up to {known}: \
         run the release that wrote it, or a later one",
        path.display()
    )]
    NewerFormat {
        /// The store's file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The latest format this release knows.
        known: u32,
    },
    /// The file is not a store, or a journal does not belong to it, or the system does not let it be read.
    #[error("`{}` cannot be opened: {reason}", path.display())]
    Unusable {
        /// The store's file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file is damaged, or is not a store.
    #[error(
        "`{}` cannot be opened: {reason}. Restore a backup; or see what is damaged with `latchkey store verify --data \
         {directory}`, and save what can be read with `latchkey store salvage --data {directory} --out DIR`",
        path.display(),
        directory = quoted(path.parent().unwrap_or(path))
    )]
    Damaged {
        /// The store's file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The store cannot be made small: what its journals have does not get into its file.
    #[error(
        "the last writes cannot be moved from the journals to `{}`{}; nothing is lost. If its disk is full, make room on \
         it; else see with `latchkey store verify --data {}` whether it is damaged",
        path.display(),
        free.map_or_else(String::new, |free| format!(", whose disk has {free} bytes free")),
        quoted(path.parent().unwrap_or(path))
    )]
    NotFolded {
        /// The store's file.
        path: PathBuf,
        /// How much room its disk has, if the system tells.
        free: Option<u64>,
    },
    /// The writer's thread cannot be started.
    #[error("the writer cannot be started: {0}")]
    Thread(io::Error),
}

impl OpenError {
    /// Why the store at a path does not open.
    pub(crate) fn of(path: &Path, failure: OpenFailure) -> OpenError {
        match failure {
            OpenFailure::Newer { found } => OpenError::newer(path, found),
            OpenFailure::Unusable(error) => OpenError::unusable(path, error),
        }
    }

    /// What the engine says of the store at a path.
    pub(crate) fn unusable(path: &Path, error: EngineError) -> OpenError {
        let (path, reason) = (path.to_owned(), error.text);
        match error.is_damage {
            true => OpenError::Damaged { path, reason },
            false => OpenError::Unusable { path, reason },
        }
    }

    pub(crate) fn newer(path: &Path, found: u32) -> OpenError {
        OpenError::NewerFormat { path: path.to_owned(), found, known: FORMAT_VERSION }
    }
}
