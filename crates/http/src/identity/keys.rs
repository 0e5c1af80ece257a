//! A set of public keys (RFC 7517), and what each of them may verify.
//!
//! The key decides the algorithm, never the token. A public key is never used as an HMAC secret: secrets are of
//! another type, in another list, and `oct` keys of a set are left out.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_table::{Map, Text, Value};
use latchkey_value::json::{self, Limits};
use ring::signature::{
    self, EcdsaVerificationAlgorithm, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey,
};

/// The most keys of a set. Providers have two to ten.
const KEYS_MAX: usize = 100;

/// The longest `kid`, in bytes.
pub(crate) const KID_BYTES_MAX: usize = 256;

/// The bits of an RSA modulus. Shorter ones can be factored; longer ones cost too much to verify.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// An algorithm by which a token may be signed (RFC 7518, RFC 8037).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Es256,
    Es384,
    EdDsa,
}

/// A set of keys that verify signatures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeySet {
    keys: Vec<Key>,
    /// The keys of the set that are not used.
    pub(crate) left_out: Vec<LeftOut>,
    /// The keys of the set that are not public. Of a private one, the public part is used.
    pub(crate) exposed: Vec<Exposed>,
}

/// A public key.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// Its `kid`.
    id: Option<Text>,
    /// Its `alg`: the only algorithm it is for.
    only: Option<Algorithm>,
    material: Material,
}

#[derive(Clone, PartialEq, Eq)]
enum Material {
    /// The modulus and the exponent, without leading zeros.
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// An uncompressed point.
    P256(Vec<u8>),
    /// An uncompressed point.
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// A key of a set that is left out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) kid: Option<Text>,
    pub(crate) reason: &'static str,
}

/// A key of a set that only its owner may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exposed {
    pub(crate) kid: Option<Text>,
    /// Whether it is a secret that signs and verifies; otherwise it is a private key.
    pub(crate) symmetric: bool,
}

/// Why a set is refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// Not a JSON object with a list `keys`.
    #[error("it is not a JSON Web Key Set: a JSON object with a list `keys` of objects")]
    Form,
    /// More keys than a provider has.
    #[error("it has {0} keys; at most {KEYS_MAX} are taken")]
    TooMany(usize),
    /// Two keys for signatures have one `kid`: which of them signed is not known.
    #[error("two of its keys have the `kid` `{0}`")]
    Twice(Text),
}

/// Why a token is not signed by a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unsigned {
    /// The key is for other algorithms.
    Algorithm,
    Signature,
}

impl Algorithm {
    pub(crate) fn of(name: &str) -> Option<Algorithm> {
        Some(match name {
            "RS256" => Algorithm::Rs256,
            "RS384" => Algorithm::Rs384,
            "RS512" => Algorithm::Rs512,
            "PS256" => Algorithm::Ps256,
            "ES256" => Algorithm::Es256,
            "ES384" => Algorithm::Es384,
            "EdDSA" => Algorithm::EdDsa,
            _ => return None,
        })
    }
}

impl KeySet {
    /// Reads a set. Keys that are for something else, or that cannot be used, are left out: RFC 7517 asks for that.
    pub(crate) fn read(text: &[u8]) -> Result<KeySet, SetError> {
        let Ok(Value::Map(set)) = json::read(text, Limits::default()) else {
            return Err(SetError::Form);
        };
        let Some(Value::List(members)) = set.get("keys") else { return Err(SetError::Form) };
        if members.len() > KEYS_MAX {
            return Err(SetError::TooMany(members.len()));
        }
        let (mut keys, mut left_out, mut exposed) = (Vec::<Key>::new(), Vec::new(), Vec::new());
        for member in members {
            let Value::Map(member) = member else { return Err(SetError::Form) };
            let kid = member.get("kid").and_then(Value::as_text);
            let kid = kid.filter(|kid| kid.len() <= KID_BYTES_MAX).cloned();
            if is_symmetric(member) || is_private(member) {
                exposed.push(Exposed { kid: kid.clone(), symmetric: is_symmetric(member) });
            }
            match Key::read(member) {
                Ok(key) => {
                    if let Some(kid) = keys
                        .iter()
                        .filter_map(|other| other.id.as_ref())
                        .find(|id| Some(*id) == key.id.as_ref())
                    {
                        return Err(SetError::Twice(kid.clone()));
                    }
                    keys.push(key);
                }
                Err(reason) => left_out.push(LeftOut { kid, reason }),
            }
        }
        Ok(KeySet { keys, left_out, exposed })
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The key of a name. A token without a name can only mean the one key there is.
    pub(crate) fn find(&self, kid: Option<&str>) -> Option<&Key> {
        match (kid, self.keys.as_slice()) {
            (Some(kid), keys) => keys.iter().find(|key| key.id.as_deref() == Some(kid)),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }

    /// Whether a name is that of a key that is not used.
    pub(crate) fn leaves_out(&self, kid: &str) -> bool {
        self.left_out.iter().any(|key| key.kid.as_deref() == Some(kid))
    }
}

impl Key {
    /// Reads a key for signatures.
    fn read(member: &Map) -> Result<Key, &'static str> {
        if is_symmetric(member) {
            return Err("it is symmetric (`oct`), and a secret is never taken from a set");
        }
        let id = match member.get("kid") {
            None => None,
            Some(Value::Text(kid)) if kid.len() <= KID_BYTES_MAX => Some(kid.clone()),
            Some(_) => return Err("its `kid` is not a text of at most 256 bytes"),
        };
        match member.get("use") {
            None => {}
            Some(Value::Text(purpose)) if purpose == "sig" => {}
            Some(_) => return Err("its `use` is not `sig`"),
        }
        match member.get("key_ops") {
            None => {}
            Some(Value::List(ops)) if ops.iter().any(|op| is(op, "verify")) => {}
            Some(_) => return Err("its `key_ops` does not have `verify`"),
        }
        let only = match member.get("alg") {
            None => None,
            Some(alg) => {
                let known = alg.as_text().and_then(|alg| Algorithm::of(alg));
                Some(known.ok_or("its `alg` is none that is accepted")?)
            }
        };
        let material = Material::read(member)?;
        match only {
            Some(only) if !material.fits(only) => Err("its `alg` does not fit its `kty`"),
            _ => Ok(Key { id, only, material }),
        }
    }

    /// Whether a text has a signature of this key. The algorithm is the one that the token names; it must be one of
    /// the key's.
    pub(crate) fn verify(
        &self,
        algorithm: Algorithm,
        signed: &[u8],
        signature: &[u8],
    ) -> Result<(), Unsigned> {
        if self.only.is_some_and(|only| only != algorithm) || !self.material.fits(algorithm) {
            return Err(Unsigned::Algorithm);
        }
        let verified = match &self.material {
            Material::Rsa { n, e } => {
                let parameters = rsa_parameters(algorithm).ok_or(Unsigned::Algorithm)?;
                RsaPublicKeyComponents { n, e }.verify(parameters, signed, signature)
            }
            Material::P256(point) => {
                let algorithm: &EcdsaVerificationAlgorithm = &signature::ECDSA_P256_SHA256_FIXED;
                UnparsedPublicKey::new(algorithm, point).verify(signed, signature)
            }
            Material::P384(point) => {
                let algorithm: &EcdsaVerificationAlgorithm = &signature::ECDSA_P384_SHA384_FIXED;
                UnparsedPublicKey::new(algorithm, point).verify(signed, signature)
            }
            Material::Ed25519(key) => {
                UnparsedPublicKey::new(&signature::ED25519, key).verify(signed, signature)
            }
        };
        verified.map_err(|_| Unsigned::Signature)
    }
}

impl fmt::Debug for Key {
    /// Its name is enough.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("id", &self.id)
            .field("only", &self.only)
            .finish_non_exhaustive()
    }
}

/// By which parameters an RSA key verifies; none, if the algorithm is not of RSA.
fn rsa_parameters(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        Algorithm::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        Algorithm::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        Algorithm::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
        Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
        Algorithm::Es256 | Algorithm::Es384 | Algorithm::EdDsa => return None,
    })
}

impl Material {
    fn read(member: &Map) -> Result<Material, &'static str> {
        let text = |name: &str| member.get(name).and_then(Value::as_text).map(Text::as_str);
        match (text("kty"), text("crv")) {
            (Some("RSA"), _) => {
                let (n, e) = (integer(member, "n")?, integer(member, "e")?);
                if !RSA_BITS.contains(&bits(&n)) {
                    return Err("its modulus has less than 2048 bits, or more than 8192");
                }
                match e.as_slice() {
                    [] | [1] => Err("its exponent is below 3"),
                    [.., last] if last % 2 == 0 => Err("its exponent is even"),
                    exponent if bits(exponent) > 33 => Err("its exponent is above 2^33"),
                    _ => Ok(Material::Rsa { n, e }),
                }
            }
            (Some("EC"), Some("P-256")) => Ok(Material::P256(point(member, 32)?)),
            (Some("EC"), Some("P-384")) => Ok(Material::P384(point(member, 48)?)),
            (Some("OKP"), Some("Ed25519")) => Ok(Material::Ed25519(bytes(member, "x", 32)?)),
            _ => Err("its `kty` and `crv` are none that are accepted"),
        }
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        match self {
            Material::Rsa { .. } => rsa_parameters(algorithm).is_some(),
            Material::P256(_) => algorithm == Algorithm::Es256,
            Material::P384(_) => algorithm == Algorithm::Es384,
            Material::Ed25519(_) => algorithm == Algorithm::EdDsa,
        }
    }
}

/// Whether a key is a secret.
fn is_symmetric(member: &Map) -> bool {
    member.get("kty").is_some_and(|kind| is(kind, "oct"))
}

/// Whether a key has a part that only its owner may have (RFC 7518, 6.2.2 and 6.3.2; RFC 8037, 2).
fn is_private(member: &Map) -> bool {
    ["d", "p", "q", "dp", "dq", "qi", "oth"].iter().any(|name| member.get(name).is_some())
}

fn is(value: &Value, text: &str) -> bool {
    value.as_text().is_some_and(|value| value == text)
}

/// How many bits a number has that begins with no zero byte.
fn bits(number: &[u8]) -> usize {
    let Some((first, rest)) = number.split_first() else { return 0 };
    let unused: usize = first.leading_zeros().try_into().unwrap_or(usize::MAX);
    (rest.len() * 8 + 8).saturating_sub(unused)
}

fn decoded(member: &Map, name: &str) -> Result<Vec<u8>, &'static str> {
    let text = member.get(name).and_then(Value::as_text).ok_or("it lacks a number")?;
    URL_SAFE_NO_PAD.decode(text.as_bytes()).map_err(|_| "its numbers are not base64url")
}

/// A number without leading zeros, which some providers write.
fn integer(member: &Map, name: &str) -> Result<Vec<u8>, &'static str> {
    let bytes = decoded(member, name)?;
    Ok(bytes.into_iter().skip_while(|byte| *byte == 0).collect())
}

fn bytes(member: &Map, name: &str, length: usize) -> Result<Vec<u8>, &'static str> {
    let bytes = decoded(member, name)?;
    if bytes.len() == length {
        Ok(bytes)
    } else {
        Err("its numbers have another length than its curve's")
    }
}

/// An uncompressed point of a curve.
fn point(member: &Map, length: usize) -> Result<Vec<u8>, &'static str> {
    let (x, y) = (bytes(member, "x", length)?, bytes(member, "y", length)?);
    Ok([&[4], x.as_slice(), &y].concat())
}

#[cfg(test)]
mod tests;
