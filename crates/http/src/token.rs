//! Bearer tokens: JSON Web Tokens under HMAC-SHA256, or signed with a key of an identity provider.
//!
//! A token chooses neither its algorithm nor the kind of its key. Nothing of a token is read before its signature is
//! verified, but for the header of a token where there is a provider: `alg` and `kid` are looked up in what is known,
//! and nothing else in it is followed.

mod cache;
mod payload;
mod provided;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use latchkey_table::{Map, Number, Text, Value};
use latchkey_value::id::{is_given_id, is_id};
use latchkey_value::json::{self, Fault, Limits};
use sha2::Sha256;

use cache::Cache;
use payload::Paths;
pub use payload::{ClaimPaths, PathError};
pub use provided::Trusted;

/// The longest token that is accepted, in bytes.
pub const TOKEN_BYTES_MAX: usize = 8 * 1024;

/// The shortest secret: RFC 7518 wants a key of at least the hash's length.
pub const SECRET_BYTES_MIN: usize = 32;

/// By how much the clock of the issuer and the clock of the server may differ.
const LEEWAY_MS: i64 = 5_000;

/// The longest `sub`, role or organisation, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// The most roles, and the most organisations, of one caller.
const NAMES_MAX: usize = 100;

/// `{"alg":"HS256","typ":"JWT"}`, the header of every token made here.
const HEADER: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";

/// Who a token says the caller is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// The caller: an `id`.
    pub sub: Text,
    /// The roles of the caller.
    pub roles: Vec<Text>,
    /// The organisations of the caller, each an `id`. The caller owns what they own.
    pub orgs: Vec<Text>,
}

/// Why a token is refused. The caller sees the message, which has nothing of the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// More bytes than [`TOKEN_BYTES_MAX`].
    #[error("the token is longer than {TOKEN_BYTES_MAX} bytes")]
    TooLong,
    /// Not three parts of base64url.
    #[error("the token is not three parts of unpadded base64url")]
    Malformed,
    /// Signed with another key or another algorithm, or changed since.
    #[error("the token's HS256 signature is not ours")]
    Signature,
    /// Signed with another key than the one it names, or changed since.
    #[error("the token's signature is not that of the key it names")]
    KeySignature,
    /// It names no key, and is signed with another than the only one there is, or changed since.
    #[error(
        "the token has no `kid`, and its signature is not that of the identity provider's only key"
    )]
    OnlyKeySignature,
    /// The header of a token, where there is an identity provider.
    #[error(
        "the token's header must be a JSON object with an `alg`, no `typ` but JWT and at+jwt, a `kid` of at most 256 bytes and no `crit`"
    )]
    ProviderHeader,
    /// An algorithm that is not accepted.
    #[error("the token's `alg` is none that is accepted")]
    Algorithm,
    /// An algorithm that is not of the key.
    #[error("the token's `alg` is none that its key is for")]
    KeyAlgorithm,
    /// An HS256 token, where only those of an identity provider are accepted.
    #[error("HS256 tokens are not accepted here; send one of the identity provider")]
    NoSecrets,
    /// A token without a `kid`, where there are several keys.
    #[error("the token has no `kid`, and the identity provider has several keys, or none")]
    NoKeyNamed,
    /// A `kid` that no key has.
    #[error("the token's `kid` is none of the identity provider's")]
    UnknownKey,
    /// A `kid` of a key that is for something else, or too weak.
    #[error(
        "the token's `kid` is that of a key that is not accepted for signatures; the log says why"
    )]
    UnusableKey,
    /// The keys cannot be had now, so nothing can be said about the token.
    #[error("the keys of the identity provider cannot be had now; try again after `Retry-After`")]
    NoKeysNow,
    /// The header is not one of ours, though the signature is.
    #[error(
        "the token's header must be a JSON object with `alg` HS256, no `typ` but JWT and no `crit`"
    )]
    Header,
    /// The payload is not a JSON object.
    #[error("the token's payload is not a JSON object")]
    Payload,
    /// The payload has a name twice in one object: which of the values counts, readers disagree about.
    #[error("the token's payload has a claim twice")]
    PayloadTwice,
    /// The payload is nested deeper than it may be.
    #[error("the token's payload has more than {} levels of objects and lists", Limits::default().levels_max)]
    PayloadDeep,
    /// The payload has a number that cannot be kept exactly.
    #[error(
        "the token's payload has a number that 38 digits cannot hold, or that is not written as JSON asks"
    )]
    PayloadNumber,
    /// A required claim is missing.
    #[error("the token has no `{0}`")]
    Missing(&'static str),
    /// A claim has another type or value than required.
    #[error("the token's `{0}` must be {1}")]
    Claim(&'static str, &'static str),
    /// `exp` is past.
    #[error("the token has expired")]
    Expired,
    /// `nbf` is in the future.
    #[error("the token is not valid yet")]
    TooEarly,
    /// The server's clock cannot be compared with the times of a token. No token is accepted then.
    #[error("the server's clock is wrong, so no token can be believed")]
    Clock,
    /// `iss` is not the issuer that the server trusts.
    #[error("the token is from another issuer")]
    Issuer,
    /// `aud` does not name this service.
    #[error("the token is for another audience")]
    Audience,
}

/// The secret is too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the token secret has {bytes} bytes; give at least {SECRET_BYTES_MIN}")]
pub struct WeakSecret {
    /// How many bytes it has.
    pub bytes: usize,
}

/// Makes and checks the tokens of one deployment.
///
/// ```
/// use std::time::Duration;
/// use latchkey_http::{Claims, TokenError, Tokens};
///
/// let tokens = Tokens::new(b"0123456789abcdef0123456789abcdef", "latchkey", "latchkey")?;
/// let claims = Claims { sub: "alice".into(), roles: vec!["operator".into()], orgs: Vec::new() };
/// let token = tokens.sign(&claims, 0, Duration::from_secs(60))?;
/// assert_eq!(tokens.verify(&token, 30_000), Ok(claims));
/// assert_eq!(tokens.verify(&token, 90_000), Err(TokenError::Expired));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Tokens {
    /// Keyed once; a check clones it.
    mac: Hmac<Sha256>,
    /// Of the secrets before: they verify, and sign nothing.
    old: Vec<Hmac<Sha256>>,
    issuer: Text,
    audience: Text,
    trusted: Option<Trusted>,
    believed: Arc<Cache>,
}

/// What a valid token says, apart from what depends on the time.
#[derive(Debug, Clone)]
struct Believed {
    claims: Claims,
    begins: Option<Number>,
    expires: Number,
    issued: Option<Number>,
    /// The generation of the provider's keys that verified it; none, if a secret did.
    keys: Option<u64>,
}

impl fmt::Debug for Tokens {
    /// Leaves the key out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Tokens");
        shown.field("issuer", &self.issuer).field("audience", &self.audience);
        shown.finish_non_exhaustive()
    }
}

impl Tokens {
    /// Tokens under this secret, from this issuer and for this audience.
    pub fn new(
        secret: &[u8],
        issuer: impl Into<Text>,
        audience: impl Into<Text>,
    ) -> Result<Tokens, WeakSecret> {
        let (mac, old, believed) = (keyed(secret)?, Vec::new(), Arc::new(Cache::new()));
        let (issuer, audience) = (issuer.into(), audience.into());
        Ok(Tokens { mac, old, issuer, audience, trusted: None, believed })
    }

    /// The same, with a secret that tokens were signed with before. It verifies them, and signs none.
    pub fn with_old_secret(mut self, secret: &[u8]) -> Result<Tokens, WeakSecret> {
        self.old.push(keyed(secret)?);
        self.believed = Arc::new(Cache::new());
        Ok(self)
    }

    /// The claims of a token that is valid at a time, in milliseconds since 1970.
    pub fn verify(&self, token: &str, now_ms: i64) -> Result<Claims, TokenError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(TokenError::TooLong);
        }
        // Where the provider's keys have changed, the one that verified the token may be gone.
        let current = |believed: &Arc<Believed>| match (believed.keys, &self.trusted) {
            (Some(keys), Some(trusted)) => trusted.provider.generation() == keys,
            (Some(_), None) => false,
            (None, _) => true,
        };
        let believed = match self.believed.get(token).filter(current) {
            Some(believed) => believed,
            None => {
                let believed = Arc::new(self.believe(token)?);
                self.believed.keep(token, &believed);
                believed
            }
        };
        believed.check(now_ms)?;
        Ok(believed.claims.clone())
    }

    /// What a token says, if its signature, issuer and audience are right.
    fn believe(&self, token: &str) -> Result<Believed, TokenError> {
        let parts = Parts::of(token)?;
        match &self.trusted {
            None => self.believe_ours(&parts),
            Some(trusted) => self.believe_provided(trusted, &parts),
        }
    }

    /// What a token says that is signed with a secret of ours.
    fn believe_ours(&self, parts: &Parts<'_>) -> Result<Believed, TokenError> {
        let (payload, signature) = (decode(parts.payload)?, decode(parts.signature)?);
        // Nearly every header is the one that this service writes, which needs no reading.
        let header = if parts.header == HEADER { None } else { Some(decode(parts.header)?) };

        let is_of = |mac: &Hmac<Sha256>| {
            mac.clone().chain_update(parts.signed).verify_slice(&signature).is_ok()
        };
        if !is_of(&self.mac) && !self.old.iter().any(is_of) {
            return Err(TokenError::Signature);
        }
        header.as_deref().map_or(Ok(()), check_header)?;
        self.read(&payload, &Paths::PLAIN, None)
    }

    /// Reads the payload of a token whose signature is verified, or that is to be refused before that.
    fn read(
        &self,
        payload: &[u8],
        paths: &Paths<'_>,
        keys: Option<u64>,
    ) -> Result<Believed, TokenError> {
        let payload = match json::read(payload, Limits::default()) {
            Ok(Value::Map(payload)) => payload,
            Ok(_) => return Err(TokenError::Payload),
            Err(error) => {
                return Err(match error.message {
                    Fault::Duplicate { .. } => TokenError::PayloadTwice,
                    Fault::TooDeep { .. } => TokenError::PayloadDeep,
                    Fault::Number(_) | Fault::LeadingZero => TokenError::PayloadNumber,
                    _ => TokenError::Payload,
                });
            }
        };
        paths.check_scope(&payload, &self.issuer, &self.audience)?;
        let claims = paths.claims(&payload)?;
        claims.check()?;
        Ok(Believed {
            claims,
            begins: payload::number(&payload, "nbf")?,
            expires: payload::number(&payload, "exp")?.ok_or(TokenError::Missing("exp"))?,
            issued: payload::number(&payload, "iat")?,
            keys,
        })
    }

    /// A token with these claims, valid for a time from `now_ms`, in milliseconds since 1970.
    ///
    /// Refuses what [`Tokens::verify`] would refuse.
    pub fn sign(
        &self,
        claims: &Claims,
        now_ms: i64,
        lifetime: Duration,
    ) -> Result<String, TokenError> {
        claims.check()?;
        let issued = now_ms.div_euclid(1000);
        let seconds = i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX);
        let list = |texts: &[Text]| Value::List(texts.iter().cloned().map(Value::Text).collect());
        let payload = Map::from([
            ("iss", Value::Text(self.issuer.clone())),
            ("aud", Value::Text(self.audience.clone())),
            ("iat", Value::from(issued)),
            ("exp", Value::from(issued.saturating_add(seconds))),
            ("sub", Value::Text(claims.sub.clone())),
            ("roles", list(&claims.roles)),
            ("orgs", list(&claims.orgs)),
        ]);
        let mut text = String::new();
        json::write(&Value::Map(payload), &mut text);

        let mut token = format!("{HEADER}.");
        URL_SAFE_NO_PAD.encode_string(text, &mut token);
        let signature = self.mac.clone().chain_update(&token).finalize().into_bytes();
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        if token.len() > TOKEN_BYTES_MAX { Err(TokenError::TooLong) } else { Ok(token) }
    }
}

/// The parts of a token, as they are written.
struct Parts<'a> {
    /// Header and payload, which the signature covers.
    signed: &'a str,
    header: &'a str,
    payload: &'a str,
    signature: &'a str,
}

impl Parts<'_> {
    fn of(token: &str) -> Result<Parts<'_>, TokenError> {
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(TokenError::Malformed)?;
        Ok(Parts { signed, header, payload, signature })
    }
}

impl Believed {
    /// Checks the times of a token.
    fn check(&self, now_ms: i64) -> Result<(), TokenError> {
        if self.expires <= seconds(now_ms.saturating_sub(LEEWAY_MS))? {
            return Err(TokenError::Expired);
        }
        let latest = seconds(now_ms.saturating_add(LEEWAY_MS))?;
        if self.begins.as_ref().is_some_and(|begins| *begins > latest) {
            return Err(TokenError::TooEarly);
        }
        Ok(())
    }
}

impl Claims {
    fn check(&self) -> Result<(), TokenError> {
        const ID: &str = "an id: 1 to 128 of A-Z a-z 0-9 . _ : @ | -, and not `.` or `..`";
        const IDS: &str = "a list of at most 100 ids: each 1 to 128 of A-Z a-z 0-9 . _ : @ | -";
        if !is_given_id(&self.sub) {
            return Err(TokenError::Claim("sub", ID));
        }
        let short = |role: &Text| role.len() <= NAME_BYTES_MAX;
        if self.roles.len() > NAMES_MAX || !self.roles.iter().all(short) {
            return Err(TokenError::Claim("roles", "a list of at most 100 texts of 128 bytes"));
        }
        if self.orgs.len() > NAMES_MAX || !self.orgs.iter().all(|org| is_id(org)) {
            return Err(TokenError::Claim("orgs", IDS));
        }
        Ok(())
    }
}

/// A secret, ready to sign and verify.
fn keyed(secret: &[u8]) -> Result<Hmac<Sha256>, WeakSecret> {
    let weak = WeakSecret { bytes: secret.len() };
    if secret.len() < SECRET_BYTES_MIN {
        return Err(weak);
    }
    // HMAC takes a key of any length.
    Hmac::new_from_slice(secret).map_err(|_| weak)
}

/// Refuses padding, white space and bits left over at the end, so that a token has one spelling.
fn decode(part: &str) -> Result<Vec<u8>, TokenError> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenError::Malformed)
}

fn object(text: &[u8]) -> Option<Map> {
    match json::read(text, Limits::default()) {
        Ok(Value::Map(map)) => Some(map),
        _ => None,
    }
}

fn check_header(header: &[u8]) -> Result<(), TokenError> {
    let header = object(header).ok_or(TokenError::Header)?;
    let is = |name: &str, fits: fn(&str) -> bool| {
        header.get(name).map(|value| value.as_text().is_some_and(|text| fits(text)))
    };
    let algorithm = is("alg", |text| text == "HS256") == Some(true);
    let kind = is("typ", |text| text.eq_ignore_ascii_case("JWT")) != Some(false);
    // `crit` names extensions that a server must know. This one knows none.
    let plain = header.get("crit").is_none();
    if algorithm && kind && plain { Ok(()) } else { Err(TokenError::Header) }
}

/// Milliseconds as exact seconds.
fn seconds(ms: i64) -> Result<Number, TokenError> {
    // An i64 has at most 19 digits, so the number always exists.
    Number::from_parts(ms < 0, u128::from(ms.unsigned_abs()), -3).map_err(|_| TokenError::Clock)
}

#[cfg(test)]
mod tests;
