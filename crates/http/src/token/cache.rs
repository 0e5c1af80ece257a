//! Tokens that were verified lately. A caller sends the same token with every request.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use super::Believed;

/// How many tokens are kept.
const SLOTS: usize = 1024;

/// The longest token that is kept, in bytes.
const KEPT_BYTES_MAX: usize = 2 * 1024;

/// The hash of a token decides its slot, and a new token replaces the one in that slot.
///
/// The hash has a random key: a caller cannot choose which token to replace, nor have a token compared with a similar
/// one.
pub(super) struct Cache {
    slots: Box<[Mutex<Option<CachedToken>>]>,
    hasher: RandomState,
}

struct CachedToken {
    token: Box<str>,
    believed: Arc<Believed>,
}

impl fmt::Debug for Cache {
    /// Leaves the tokens out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}

impl Cache {
    pub(super) fn new() -> Cache {
        let slots = std::iter::repeat_with(Mutex::default).take(SLOTS).collect();
        Cache { slots, hasher: RandomState::new() }
    }

    pub(super) fn get(&self, token: &str) -> Option<Arc<Believed>> {
        let kept = self.slot(token)?.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.as_ref().filter(|kept| *kept.token == *token)?;
        Some(Arc::clone(&kept.believed))
    }

    pub(super) fn keep(&self, token: &str, believed: &Arc<Believed>) {
        if token.len() <= KEPT_BYTES_MAX
            && let Some(slot) = self.slot(token)
        {
            let kept = CachedToken { token: token.into(), believed: Arc::clone(believed) };
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        }
    }

    fn slot(&self, token: &str) -> Option<&Mutex<Option<CachedToken>>> {
        let slots = u64::try_from(self.slots.len()).ok()?;
        let at = self.hasher.hash_one(token).checked_rem(slots)?;
        self.slots.get(usize::try_from(at).ok()?)
    }
}
