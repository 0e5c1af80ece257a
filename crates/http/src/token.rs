//! Bearer tokens: JSON Web Tokens under HMAC-SHA256, and nothing else.
//!
//! A token chooses neither its algorithm nor its key. Nothing of a token is read before its signature is verified.

mod cache;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use latchkey_table::{Map, Number, Text, Value};
use latchkey_value::id::is_id;
use latchkey_value::json::{self, Limits};
use sha2::Sha256;

use cache::Cache;

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
    /// The header is not one of ours, though the signature is.
    #[error(
        "the token's header must be a JSON object with `alg` HS256, no `typ` but JWT and no `crit`"
    )]
    Header,
    /// The payload is not a JSON object.
    #[error("the token's payload is not a JSON object")]
    Payload,
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
    issuer: Text,
    audience: Text,
    believed: Arc<Cache>,
}

/// What a valid token says, apart from what depends on the time.
#[derive(Debug, Clone)]
struct Believed {
    claims: Claims,
    begins: Option<Number>,
    expires: Number,
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
        let weak = WeakSecret { bytes: secret.len() };
        if secret.len() < SECRET_BYTES_MIN {
            return Err(weak);
        }
        // HMAC takes a key of any length.
        let mac = Hmac::new_from_slice(secret).map_err(|_| weak)?;
        let believed = Arc::new(Cache::new());
        Ok(Tokens { mac, issuer: issuer.into(), audience: audience.into(), believed })
    }

    /// The claims of a token that is valid at a time, in milliseconds since 1970.
    pub fn verify(&self, token: &str, now_ms: i64) -> Result<Claims, TokenError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(TokenError::TooLong);
        }
        let believed = match self.believed.get(token) {
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
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(TokenError::Malformed)?;
        let (payload, signature) = (decode(payload)?, decode(signature)?);
        // Nearly every header is the one that this service writes, which needs no reading.
        let header = if header == HEADER { None } else { Some(decode(header)?) };

        let mac = self.mac.clone().chain_update(signed);
        mac.verify_slice(&signature).map_err(|_| TokenError::Signature)?;

        header.as_deref().map_or(Ok(()), check_header)?;
        let payload = object(&payload).ok_or(TokenError::Payload)?;
        self.check_scope(&payload)?;
        number(&payload, "iat")?;
        let claims = Claims {
            sub: text(&payload, "sub")?.ok_or(TokenError::Missing("sub"))?.clone(),
            roles: names(&payload, "roles")?,
            orgs: names(&payload, "orgs")?,
        };
        claims.check()?;
        Ok(Believed {
            claims,
            begins: number(&payload, "nbf")?,
            expires: number(&payload, "exp")?.ok_or(TokenError::Missing("exp"))?,
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

    /// Checks that the token comes from the trusted issuer and is for this service.
    fn check_scope(&self, payload: &Map) -> Result<(), TokenError> {
        let issuer = text(payload, "iss")?.ok_or(TokenError::Missing("iss"))?;
        if *issuer != self.issuer {
            return Err(TokenError::Issuer);
        }
        let wrong = TokenError::Claim("aud", "a text or a list of texts");
        let ours = match payload.get("aud").ok_or(TokenError::Missing("aud"))? {
            Value::Text(audience) => *audience == self.audience,
            Value::List(values) => {
                let texts: Option<Vec<&Text>> = values.iter().map(Value::as_text).collect();
                texts.ok_or(wrong)?.contains(&&self.audience)
            }
            _ => return Err(wrong),
        };
        if ours { Ok(()) } else { Err(TokenError::Audience) }
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
        const ID: &str = "an id: 1 to 128 of A-Z a-z 0-9 . _ : @ | -";
        const IDS: &str = "a list of at most 100 ids: each 1 to 128 of A-Z a-z 0-9 . _ : @ | -";
        if !is_id(&self.sub) {
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

fn number(payload: &Map, name: &'static str) -> Result<Option<Number>, TokenError> {
    let wrong = TokenError::Claim(name, "a number of seconds");
    payload.get(name).map(|value| value.as_number().ok_or(wrong)).transpose()
}

fn text<'a>(payload: &'a Map, name: &'static str) -> Result<Option<&'a Text>, TokenError> {
    let wrong = TokenError::Claim(name, "a text");
    payload.get(name).map(|value| value.as_text().ok_or(wrong)).transpose()
}

/// The texts of a list; none where there is no list.
fn names(payload: &Map, name: &'static str) -> Result<Vec<Text>, TokenError> {
    let wrong = TokenError::Claim(name, "a list of texts");
    match payload.get(name) {
        None => Ok(Vec::new()),
        Some(Value::List(values)) => {
            values.iter().map(|value| value.as_text().cloned().ok_or(wrong)).collect()
        }
        Some(_) => Err(wrong),
    }
}

#[cfg(test)]
mod tests;
