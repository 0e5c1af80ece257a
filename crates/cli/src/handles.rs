//! How many files and connections this process may have open.
//!
//! If a server had more places for connections than file handles, it could not accept the connection that would take
//! the place of an idle one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{Failure, wide};

/// The handles that are not for callers: files, those who watch the server, and connections to other services.
const OWN: usize = 160;

/// The fewest connections that a server takes.
const CONNECTIONS_MIN: usize = 16;

/// With fewer files a server cannot begin: it opens its store, its log and its doors.
const FILES_MIN: u64 = 64;

/// Refuses to start where this process may have too few files open.
pub(crate) fn refuse_few() -> Result<(), Failure> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let few = |limit: Option<u64>| limit.filter(|limit| *limit < FILES_MIN);
    let raised = Rlimit { current: Some(FILES_MIN), maximum };
    let most = match (few(maximum), few(current)) {
        (Some(most), _) => most,
        (None, Some(most)) if setrlimit(Resource::Nofile, raised).is_err() => most,
        (None, _) => return Ok(()),
    };
    Err(Failure::Unusable(format!(
        "this process may have {most} files open, and a server needs {FILES_MIN} or more; raise the limit, as with \
         `ulimit -n 1024`"
    )))
}

/// Raises the limit on open files as far as this process may, and returns how many connections fit: those that are
/// wanted, or fewer.
pub(crate) fn connections(wanted: usize) -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let needed = wide(wanted + OWN);
    // No limit at all is none.
    let Some(now) = current.filter(|now| *now < needed) else { return wanted };
    let most = maximum.unwrap_or(needed).min(needed).max(now);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum });
    let files = if raised.is_ok() { most } else { now };
    let fit = usize::try_from(files).unwrap_or(usize::MAX).saturating_sub(OWN);
    let fit = fit.clamp(CONNECTIONS_MIN, wanted.max(CONNECTIONS_MIN));
    if fit < wanted {
        tracing::warn!(
            files,
            connections = fit,
            "the server takes fewer connections than usual; raise the limit on open files, `ulimit -n`"
        );
    }
    fit
}
