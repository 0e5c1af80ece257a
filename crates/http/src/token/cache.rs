//! Tokens that were verified lately. A caller sends the same token with every request.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use super::Believed;

/// How many places there are for tokens of a similar hash.
const PLACES: usize = 256;

/// How many tokens one place holds: a few callers whose tokens fall together do not push each other out.
const PLACE_TOKENS: usize = 4;

/// The longest token that is kept, in bytes.
const KEPT_BYTES_MAX: usize = 2 * 1024;

/// The hash of a token decides its place, and a new token replaces the one there that was used the longest ago.
///
/// The hash has a random key: a caller cannot choose which token to replace, nor have a token compared with a similar
/// one.
pub(super) struct Cache {
    places: Box<[Mutex<Place>]>,
    hasher: RandomState,
}

/// Some tokens, the one that was used last first.
type Place = [Option<CachedToken>; PLACE_TOKENS];

struct CachedToken {
    hash: u64,
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
        let places = std::iter::repeat_with(Mutex::default).take(PLACES).collect();
        Cache { places, hasher: RandomState::new() }
    }

    pub(super) fn get(&self, token: &str) -> Option<Arc<Believed>> {
        let hash = self.hasher.hash_one(token);
        let mut place = self.place(hash)?.lock().unwrap_or_else(PoisonError::into_inner);
        let is = |kept: &Option<CachedToken>| {
            kept.as_ref().is_some_and(|kept| kept.hash == hash && *kept.token == *token)
        };
        let at = place.iter().position(is)?;
        place.get_mut(..=at)?.rotate_right(1);
        place.first()?.as_ref().map(|kept| Arc::clone(&kept.believed))
    }

    pub(super) fn keep(&self, token: &str, believed: &Arc<Believed>) {
        let hash = self.hasher.hash_one(token);
        if token.len() <= KEPT_BYTES_MAX
            && let Some(place) = self.place(hash)
        {
            let kept = CachedToken { hash, token: token.into(), believed: Arc::clone(believed) };
            let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
            // The same token, as it was believed by keys before, is not kept beside it.
            let again = |kept: &Option<CachedToken>| {
                kept.as_ref().is_none_or(|kept| kept.hash == hash && *kept.token == *token)
            };
            let out = place.iter().position(again).unwrap_or(PLACE_TOKENS - 1);
            if let Some(some) = place.get_mut(..=out) {
                some.rotate_right(1);
            }
            let [first, ..] = &mut *place;
            *first = Some(kept);
        }
    }

    fn place(&self, hash: u64) -> Option<&Mutex<Place>> {
        let places = u64::try_from(self.places.len()).ok()?;
        let at = hash.checked_rem(places)?;
        self.places.get(usize::try_from(at).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Claims;
    use super::*;

    fn believed(sub: &str) -> Arc<Believed> {
        let claims = Claims { sub: sub.into(), roles: Vec::new(), orgs: Vec::new() };
        Arc::new(Believed { claims, begins: None, expires: 1i64.into(), issued: None, keys: None })
    }

    #[test]
    fn callers_whose_tokens_fall_together_do_not_push_each_other_out() {
        let cache = Cache::new();
        // Some of these fall together, whatever the key of the hash is; five in one place hardly ever do.
        let tokens: Vec<String> = (0..64).map(|number| format!("token-{number}")).collect();
        for token in &tokens {
            cache.keep(token, &believed(token));
        }
        let kept = tokens.iter().filter_map(|token| Some((token, cache.get(token)?)));
        let kept = kept.inspect(|(token, believed)| assert_eq!(believed.claims.sub, ***token));
        assert!(kept.count() >= 62);
        assert!(cache.get("token-64").is_none());
    }

    #[test]
    fn the_token_that_was_used_the_longest_ago_goes_first() {
        let cache = Cache::new();
        let place = |token: &str| cache.hasher.hash_one(token) % 256;
        let first = place("token-0");
        let together = (0..).map(|number| format!("token-{number}"));
        let tokens: Vec<String> = together.filter(|token| place(token) == first).take(5).collect();
        for token in &tokens[..4] {
            cache.keep(token, &believed(token));
        }
        assert!(cache.get(&tokens[0]).is_some());
        // Once more is not twice.
        cache.keep(&tokens[2], &believed(&tokens[2]));
        cache.keep(&tokens[4], &believed(&tokens[4]));
        let kept: Vec<bool> = tokens.iter().map(|token| cache.get(token).is_some()).collect();
        assert_eq!(kept, [true, false, true, true, true]);
    }
}
