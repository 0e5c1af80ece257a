//! Tokens that an attacker makes who has everything but a private key. All are answered 401, and nothing is fetched for
//! them but what was configured.

use std::thread;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD as BASE64};
use serde_json::{Value, json};

use crate::jwt;
use crate::serve::provider::{DISCOVERY, KEYS, Provider};
use crate::serve::signer::{Signer, text};
use crate::world::{SECRET, World, claims, with};

/// The public key of a JWK of RSA, as `openssl rsa -pubout` writes it.
fn pem(jwk: &Value) -> String {
    fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = content.len();
        let mut all = vec![tag];
        match length {
            0..128 => all.push(u8::try_from(length).unwrap()),
            _ => all.extend([
                0x82,
                u8::try_from(length >> 8).unwrap(),
                (length & 255).try_into().unwrap(),
            ]),
        }
        all.extend(content);
        all
    }
    let number = |name: &str| {
        let bytes = BASE64.decode(jwk[name].as_str().unwrap()).unwrap();
        let sign: &[u8] = if bytes[0] >= 128 { &[0] } else { &[] };
        tagged(2, &[sign, &bytes].concat())
    };
    let key = tagged(0x30, &[number("n"), number("e")].concat());
    let algorithm = tagged(
        0x30,
        &[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00],
    );
    let info = tagged(0x30, &[algorithm, tagged(3, &[&[0], key.as_slice()].concat())].concat());
    let lines: Vec<String> = STANDARD
        .encode(info)
        .as_bytes()
        .chunks(64)
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"))
}

/// Everything that a public key may be written as, as an HMAC secret.
fn as_secrets(jwk: &Value, set: &Value) -> Vec<String> {
    let mut secrets = Vec::new();
    if jwk["kty"] == "RSA" {
        let pem = pem(jwk);
        secrets.extend([pem.trim_end().to_owned(), pem.replace('\n', ""), pem]);
    }
    secrets.extend([jwk.to_string(), set.to_string()]);
    for name in ["n", "e", "x", "y", "kid"] {
        secrets.extend(jwk[name].as_str().map(str::to_owned));
    }
    secrets.extend([String::new(), "secret".to_owned(), "latchkey".to_owned()]);
    secrets
}

#[test]
fn a_public_key_is_no_secret() {
    let (rsa, ec) = (Signer::rsa("rsa", "one"), Signer::p256("ec"));
    let provider = Provider::start(&[&rsa, &ec]);
    let set = json!({"keys": [rsa.jwk(), ec.jwk()]});
    let payload = with(&provider, json!({"roles": ["operator"]})).to_string();
    let directory = tempfile::tempdir().unwrap();
    let issuer = provider.issuer();
    let arguments = ["--oidc", &issuer, "--audience", crate::world::AUDIENCE];
    let both = World::start_by(directory, |command| {
        command.args(arguments).arg("--accept-hs256").env("LATCHKEY_SECRET", SECRET)
    });
    for world in [World::start(&arguments), both] {
        for jwk in [rsa.jwk(), ec.jwk()] {
            for secret in as_secrets(&jwk, &set) {
                for alg in ["HS256", "HS384", "HS512", "RS256", "ES256", "hs256"] {
                    let header = json!({"alg": alg, "typ": "JWT", "kid": jwk["kid"]}).to_string();
                    world.doubts(&jwt::signed(&secret, &header, &payload));
                }
            }
        }
    }
    assert_eq!(provider.asked(), [DISCOVERY, KEYS, DISCOVERY, KEYS]);
}

#[test]
fn a_token_chooses_neither_its_algorithm_nor_its_key() {
    let (rsa, ec, ed) = (Signer::rsa("rsa", "one"), Signer::p256("ec"), Signer::ed25519("ed"));
    let (other, mallory) = (Signer::p384("p384"), Signer::rsa("rsa", "two"));
    let provider = Provider::start(&[]);
    let mut weak: Value = serde_json::from_str(&text("weak.jwk")).unwrap();
    weak["alg"] = json!("RS256");
    provider.publish_keys(&[
        rsa.jwk_with(json!({"alg": "RS256"})),
        ec.jwk(),
        ed.jwk(),
        other.jwk(),
        Signer::rsa("enc", "two").jwk_with(json!({"use": "enc"})),
        weak,
    ]);
    let world = World::trusting(&provider, &[]);
    let payload = claims(&provider).to_string();
    let header = |alg: &str, kid: &str| json!({"alg": alg, "kid": kid, "typ": "JWT"}).to_string();
    world.believes(&rsa.signed("RS256", &header("RS256", "rsa"), &payload));

    let unsigned = |header: &str, signature: &str| {
        format!("{}.{}.{signature}", BASE64.encode(header), BASE64.encode(&payload))
    };
    for alg in [
        "none", "None", "NONE", "nOnE", "", "RS256 ", "rs256", "RS1", "ES256K", "ES512", "PS512",
        "dir",
    ] {
        world.doubts(&unsigned(&header(alg, "rsa"), ""));
        world.doubts(&rsa.signed("RS256", &header(alg, "rsa"), &payload));
    }
    for odd in [
        r#"{"kid":"rsa"}"#,
        r#"{"alg":null,"kid":"rsa"}"#,
        r#"{"alg":["RS256"],"kid":"rsa"}"#,
        r#"{"alg":"RS256","kid":["rsa"]}"#,
        r#"{"alg":"RS256","kid":"rsa","crit":["b64"],"b64":false}"#,
        r#"{"alg":"RS256","kid":"rsa","typ":"logout+jwt"}"#,
        r#"{"alg":"none","alg":"RS256","kid":"rsa"}"#,
        "[]",
        "",
        r#"{"alg":"RS256"}"#,
    ] {
        world.doubts(&rsa.signed("RS256", odd, &payload));
    }
    // A key of another curve, another kind, another use, another owner.
    for (signer, alg, kid) in [
        (&rsa, "PS256", "rsa"),
        (&rsa, "RS384", "rsa"),
        (&rsa, "RS256", "ec"),
        (&ec, "ES256", "p384"),
        (&ec, "ES384", "ec"),
        (&ec, "ES384", "p384"),
        (&other, "ES256", "ec"),
        (&ed, "ES256", "ed"),
        (&ec, "EdDSA", "ed"),
        (&mallory, "RS256", "rsa"),
    ] {
        world.doubts(&signer.signed(alg, &header(alg, kid), &payload));
    }
    // No signature of ECDSA is all zeros.
    world.doubts(&unsigned(&header("ES256", "ec"), &BASE64.encode([0; 64])));
    world.doubts(&unsigned(&header("EdDSA", "ed"), &BASE64.encode([0; 64])));
    world.doubts(&unsigned(&header("RS256", "rsa"), &BASE64.encode([0; 256])));
    assert_eq!(provider.asked(), [DISCOVERY, KEYS], "none of these names a key that is not known");
}

#[test]
fn a_name_of_a_key_leads_nowhere() {
    let signer = Signer::rsa("k", "one");
    let mallory = Signer::rsa("mallory", "two");
    let (provider, evil) = (Provider::start(&[&signer]), Provider::start(&[&mallory]));
    let world = World::trusting(&provider, &[]);
    let payload = claims(&provider).to_string();
    let sealing = Signer::rsa("enc", "two");
    provider.publish_keys(&[
        signer.jwk(),
        sealing.jwk_with(json!({"use": "enc"})),
        serde_json::from_str(&text("weak.jwk")).unwrap(),
    ]);
    let kids = [
        "../../../../dev/null",
        "/etc/passwd",
        "k' OR '1'='1",
        "k\u{0}",
        "K",
        " k",
        "",
        "enc",
        "weak",
        &evil.keys_url(),
        "k;curl",
        &"k".repeat(256),
    ];
    let mut tokens: Vec<String> = kids
        .iter()
        .map(|kid| {
            mallory.signed("RS256", &json!({"alg": "RS256", "kid": kid}).to_string(), &payload)
        })
        .collect();
    // Too long to be a name, or a token.
    for length in [257, 5000, 40_000] {
        let header = json!({"alg": "RS256", "kid": "k".repeat(length)}).to_string();
        tokens.push(mallory.signed("RS256", &header, &payload));
    }
    tokens.push(text("weak.jwt"));
    // An address or a key that the token itself brings.
    for kid in ["k", "mallory"] {
        let jwk = mallory.jwk();
        for (name, value) in [
            ("jku", json!(evil.keys_url())),
            ("x5u", json!(evil.keys_url())),
            ("jwk", jwk),
            ("x5c", json!(["MIIC"])),
            ("x5t", json!("…")),
        ] {
            let header = json!({"alg": "RS256", "kid": kid, name: value}).to_string();
            tokens.push(mallory.signed("RS256", &header, &payload));
        }
    }
    thread::scope(|scope| {
        for token in &tokens {
            scope.spawn(|| world.doubts(token));
        }
    });
    assert_eq!(evil.asked(), Vec::<String>::new(), "an attacker's address is not fetched");
    let asked = provider.asked();
    assert!(asked.iter().all(|path| path == DISCOVERY || path == KEYS), "{asked:?}");
    assert_eq!(provider.times(), 2, "one fetch for all unknown names");
    world.believes(&signer.token(&claims(&provider)));
    world.logs("left out");
    let log = world.log();
    for token in &tokens {
        for part in token.split('.').filter(|part| part.len() > 20) {
            assert!(!log.contains(part), "a part of a token is in the log");
        }
    }
}
