//! Tokens of an identity provider.

use std::net::IpAddr;
use std::sync::Arc;

use super::cache::Cache;
use super::payload::{ClaimPaths, Paths};
use super::{Believed, Claims, Parts, TokenError, Tokens, decode, object, seconds};
use crate::identity::{Algorithm, KID_BYTES_MAX, Provider, Refreshed, Unsigned};

/// An identity provider whose tokens are accepted.
#[derive(Debug, Clone)]
pub struct Trusted {
    /// Its keys.
    pub provider: Provider,
    /// Where its tokens have their claims.
    pub claims: ClaimPaths,
    /// Whether HS256 tokens that are signed with our own secret are accepted too.
    pub hs256: bool,
}

/// What the header of a token says that matters.
struct Header {
    algorithm: Named,
    kid: Option<String>,
}

enum Named {
    Hs256,
    Key(Algorithm),
}

impl Tokens {
    /// The same, which accepts the tokens of an identity provider, of the same issuer and audience. Tokens under HS256
    /// are then accepted only if that is asked for.
    #[must_use]
    pub fn trusting(self, trusted: Trusted) -> Tokens {
        // What was believed before may not be any more.
        Tokens { trusted: Some(trusted), believed: Arc::new(Cache::new()), ..self }
    }

    /// The identity provider, if there is one.
    pub fn provider(&self) -> Option<&Provider> {
        self.trusted.as_ref().map(|trusted| &trusted.provider)
    }

    /// Whether a token that was refused so may be good under fresher keys: those that are known lack its key, or are
    /// not quite new and may have another under its name by now.
    pub fn may_be_outdated(&self, error: TokenError) -> bool {
        match error {
            TokenError::UnknownKey => true,
            TokenError::KeySignature
            | TokenError::OnlyKeySignature
            | TokenError::KeyAlgorithm
            | TokenError::NoKeyNamed
            | TokenError::UnusableKey => self.provider().is_some_and(Provider::is_aged),
            _ => false,
        }
    }

    /// The claims of a token that the keys which are known do not verify, sent from an address: waits until the keys are
    /// refreshed, which takes some seconds at most. A token that was issued long before the keys were fetched does not
    /// wait: its key would be among them.
    pub async fn verify_refreshed(
        &self,
        token: &str,
        from: IpAddr,
        now_ms: impl Fn() -> i64,
    ) -> Result<Claims, TokenError> {
        let provider = self.provider().ok_or(TokenError::UnknownKey)?;
        let error = match self.verify(token, now_ms()) {
            Err(error) if self.may_be_outdated(error) => error,
            verified => return verified,
        };
        // Without fresher keys, nothing is known of a key that is not there; a signature that is wrong stays wrong.
        let without = |error| match error {
            TokenError::UnknownKey => TokenError::NoKeysNow,
            error => error,
        };
        let unverified = self.refuse_hopeless(token, now_ms())?;
        if unverified.is_settled(provider)? {
            // The provider may publish its keys very late.
            provider.ask_for_later();
            return Err(error);
        }
        let mut waiting = provider.ask(from).ok_or_else(|| without(error))?;
        loop {
            let refreshed = waiting.next().await;
            match (self.verify(token, now_ms()), refreshed) {
                (Err(TokenError::UnknownKey), Refreshed::Perhaps)
                    if !unverified.is_settled(provider)? => {}
                (Err(error), Refreshed::No) => return Err(without(error)),
                (verified, _) => return verified,
            }
        }
    }

    /// Refuses a token that no key would make valid, so that it does not wait for keys. What it says is not believed.
    fn refuse_hopeless(&self, token: &str, now_ms: i64) -> Result<Believed, TokenError> {
        let trusted = self.trusted.as_ref().ok_or(TokenError::UnknownKey)?;
        let payload = decode(Parts::of(token)?.payload)?;
        let unverified = self.read(&payload, &Paths::of(&trusted.claims), None)?;
        unverified.check(now_ms)?;
        Ok(unverified)
    }

    /// What a token says where there is a provider. The header only chooses between a secret and the keys; a secret is
    /// never a key of the provider, and a key of the provider is never a secret.
    pub(super) fn believe_provided(
        &self,
        trusted: &Trusted,
        parts: &Parts<'_>,
    ) -> Result<Believed, TokenError> {
        let header = Header::read(&decode(parts.header)?)?;
        let algorithm = match header.algorithm {
            Named::Hs256 if trusted.hs256 => return self.believe_ours(parts),
            Named::Hs256 => return Err(TokenError::NoSecrets),
            Named::Key(algorithm) => algorithm,
        };
        let (payload, signature) = (decode(parts.payload)?, decode(parts.signature)?);
        let known = trusted.provider.known();
        let key = known.keys.find(header.kid.as_deref());
        let missing = match &header.kid {
            None if known.generation > 0 => TokenError::NoKeyNamed,
            Some(kid) if known.keys.leaves_out(kid) => TokenError::UnusableKey,
            _ => TokenError::UnknownKey,
        };
        let key = key.ok_or(missing)?;
        key.verify(algorithm, parts.signed.as_bytes(), &signature).map_err(
            |error| match error {
                Unsigned::Algorithm => TokenError::KeyAlgorithm,
                Unsigned::Signature if header.kid.is_none() => TokenError::OnlyKeySignature,
                Unsigned::Signature => TokenError::KeySignature,
            },
        )?;
        self.read(&payload, &Paths::of(&trusted.claims), Some(known.generation))
    }
}

impl Believed {
    /// Whether a token was issued so long before the keys were fetched that its key would be among them.
    fn is_settled(&self, provider: &Provider) -> Result<bool, TokenError> {
        match (&self.issued, provider.known().settled_ms()) {
            (Some(issued), Some(settled)) => Ok(*issued < seconds(settled)?),
            _ => Ok(false),
        }
    }
}

impl Header {
    fn read(header: &[u8]) -> Result<Header, TokenError> {
        const WRONG: TokenError = TokenError::ProviderHeader;
        let header = object(header).ok_or(WRONG)?;
        let text = |name: &str| match header.get(name) {
            None => Ok(None),
            Some(value) => value.as_text().map(Some).ok_or(WRONG),
        };
        let fits = |kind: &str| {
            ["JWT", "at+jwt", "application/at+jwt"]
                .iter()
                .any(|fits| kind.eq_ignore_ascii_case(fits))
        };
        // `crit` names extensions that a server must know. This one knows none.
        if !text("typ")?.is_none_or(|kind| fits(kind)) || header.get("crit").is_some() {
            return Err(WRONG);
        }
        let kid = text("kid")?.map(ToString::to_string);
        if kid.as_ref().is_some_and(|kid| kid.len() > KID_BYTES_MAX) {
            return Err(WRONG);
        }
        let algorithm = match text("alg")?.ok_or(WRONG)?.as_str() {
            "HS256" => Named::Hs256,
            name => Named::Key(Algorithm::of(name).ok_or(TokenError::Algorithm)?),
        };
        Ok(Header { algorithm, kid })
    }
}
