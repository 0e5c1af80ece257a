//! Keys that sign tokens as an identity provider does, and their public halves.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD as BASE64};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384,
    RSA_PKCS1_SHA512, RSA_PSS_SHA256, RsaEncoding, RsaKeyPair, RsaPublicKeyComponents,
};
use serde_json::{Value, json};

/// A private key with its name.
pub struct Signer {
    pub kid: String,
    /// How it signs, unless told otherwise.
    pub alg: &'static str,
    key: Key,
}

enum Key {
    Rsa(Box<RsaKeyPair>),
    Ec(&'static str, Box<EcdsaKeyPair>),
    Ed(Box<Ed25519KeyPair>),
}

/// The files of keys, beside this crate.
pub fn file(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("keys").join(name)
}

/// What such a file says.
pub fn text(name: &str) -> String {
    std::fs::read_to_string(file(name)).unwrap().trim().to_owned()
}

/// The bytes of the first block of a PEM file.
pub fn pem(name: &str) -> Vec<u8> {
    let text = text(name);
    let inner: String = text.lines().filter(|line| !line.starts_with("-----")).collect();
    STANDARD.decode(inner).unwrap()
}

impl Signer {
    /// An RSA key of 2048 bits: `one` or `two`.
    pub fn rsa(kid: &str, which: &str) -> Signer {
        let key = RsaKeyPair::from_pkcs8(&pem(&format!("rsa-{which}.pem"))).unwrap();
        Signer { kid: kid.to_owned(), alg: "RS256", key: Key::Rsa(Box::new(key)) }
    }

    /// A new key of P-256.
    pub fn p256(kid: &str) -> Signer {
        Signer::ec(kid, "ES256", "P-256", &ECDSA_P256_SHA256_FIXED_SIGNING)
    }

    /// A new key of P-384.
    pub fn p384(kid: &str) -> Signer {
        Signer::ec(kid, "ES384", "P-384", &ECDSA_P384_SHA384_FIXED_SIGNING)
    }

    fn ec(
        kid: &str,
        alg: &'static str,
        curve: &'static str,
        how: &'static EcdsaSigningAlgorithm,
    ) -> Signer {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(how, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(how, made.as_ref(), &random).unwrap();
        Signer { kid: kid.to_owned(), alg, key: Key::Ec(curve, Box::new(key)) }
    }

    /// A new key of Ed25519.
    pub fn ed25519(kid: &str) -> Signer {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let key = Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap();
        Signer { kid: kid.to_owned(), alg: "EdDSA", key: Key::Ed(Box::new(key)) }
    }

    /// The public half, as a provider publishes it.
    pub fn jwk(&self) -> Value {
        let mut jwk = match &self.key {
            Key::Rsa(key) => {
                let RsaPublicKeyComponents { n, e } =
                    RsaPublicKeyComponents::<Vec<u8>>::from(key.public());
                json!({"kty": "RSA", "n": BASE64.encode(n), "e": BASE64.encode(e)})
            }
            Key::Ec(curve, key) => {
                let (_, point) = key.public_key().as_ref().split_first().unwrap();
                let (x, y) = point.split_at(point.len() / 2);
                json!({"kty": "EC", "crv": curve, "x": BASE64.encode(x), "y": BASE64.encode(y)})
            }
            Key::Ed(key) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": BASE64.encode(key.public_key())})
            }
        };
        jwk["kid"] = json!(self.kid);
        jwk["use"] = json!("sig");
        jwk
    }

    /// The same with some members replaced, or left out where they are null.
    pub fn jwk_with(&self, changes: Value) -> Value {
        let mut jwk = self.jwk();
        for (name, value) in changes.as_object().unwrap() {
            match value {
                Value::Null => drop(jwk.as_object_mut().unwrap().remove(name)),
                value => jwk[name] = value.clone(),
            }
        }
        jwk
    }

    /// A token with these claims, under the usual header.
    pub fn token(&self, claims: &Value) -> String {
        let header = json!({"alg": self.alg, "typ": "JWT", "kid": self.kid});
        self.signed(self.alg, &header.to_string(), &claims.to_string())
    }

    /// A token of any header and any payload, signed in one of the key's ways.
    pub fn signed(&self, alg: &str, header: &str, payload: &str) -> String {
        let text = format!("{}.{}", BASE64.encode(header), BASE64.encode(payload));
        let random = SystemRandom::new();
        let signature = match &self.key {
            Key::Rsa(key) => {
                let how: &dyn RsaEncoding = match alg {
                    "RS384" => &RSA_PKCS1_SHA384,
                    "RS512" => &RSA_PKCS1_SHA512,
                    "PS256" => &RSA_PSS_SHA256,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(how, &random, text.as_bytes(), &mut signature).unwrap();
                signature
            }
            Key::Ec(_, key) => key.sign(&random, text.as_bytes()).unwrap().as_ref().to_vec(),
            Key::Ed(key) => key.sign(text.as_bytes()).as_ref().to_vec(),
        };
        format!("{text}.{}", BASE64.encode(signature))
    }
}
