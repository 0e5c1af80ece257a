//! Tokens made by hand, so that they can be wrong in every way.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

/// A token of this header and this payload, signed with HMAC-SHA256.
pub fn signed(secret: &str, header: &str, payload: &str) -> String {
    let text = format!("{}.{}", BASE64.encode(header), BASE64.encode(payload));
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(text.as_bytes());
    format!("{text}.{}", BASE64.encode(mac.finalize().into_bytes()))
}

/// A token with these claims under the usual header.
pub fn token(secret: &str, claims: &Value) -> String {
    signed(secret, r#"{"alg":"HS256","typ":"JWT"}"#, &claims.to_string())
}

/// What a good token claims.
pub fn claims(sub: &str, roles: &[&str], orgs: &[&str]) -> Value {
    json!({
        "iss": "latchkey", "aud": "latchkey", "exp": now() + 3600,
        "sub": sub, "roles": roles, "orgs": orgs,
    })
}

/// The seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}
