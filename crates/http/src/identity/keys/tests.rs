use latchkey_testing::signer::{Signer, text};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

fn read(keys: &[Json]) -> Result<KeySet, SetError> {
    KeySet::read(json!({ "keys": keys }).to_string().as_bytes())
}

/// The only key of a set, or why there is none.
fn only(key: Json) -> Result<Key, &'static str> {
    let set = read(&[key]).expect("a set");
    match (set.keys.into_iter().next(), set.left_out.first()) {
        (Some(key), None) => Ok(key),
        (None, Some(left_out)) => Err(left_out.reason),
        other => panic!("{other:?}"),
    }
}

fn verified(key: &Key, alg: &str, token: &str) -> Result<(), Unsigned> {
    let (signed, signature) = token.rsplit_once('.').expect("parts");
    let signature = URL_SAFE_NO_PAD.decode(signature).expect("base64");
    key.verify(Algorithm::of(alg).expect("an algorithm"), signed.as_bytes(), &signature)
}

#[test]
fn signatures_of_other_libraries_are_verified() {
    // RFC 7515, A.3.
    let key = only(json!({"kty": "EC", "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}))
    .unwrap();
    let token = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt\
        cGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSA\
        pmWQxfKTUJqPP3-Kg6NU1Q";
    assert_eq!(verified(&key, "ES256", token), Ok(()));
    // RFC 8037, A.4.
    let key = only(json!({"kty": "OKP", "crv": "Ed25519",
        "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}))
    .unwrap();
    let token = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-\
        09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    assert_eq!(verified(&key, "EdDSA", token), Ok(()));
    // By openssl.
    let key = only(Signer::rsa("one", "one").jwk()).unwrap();
    assert_eq!(verified(&key, "RS256", &text("rs256.jwt")), Ok(()));
    assert_eq!(verified(&key, "PS256", &text("ps256.jwt")), Ok(()));
    assert_eq!(verified(&key, "RS256", &text("ps256.jwt")), Err(Unsigned::Signature));
}

#[test]
fn a_key_verifies_by_its_own_algorithms_alone() {
    const ALL: [&str; 7] = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"];
    let rsa = ["RS256", "RS384", "RS512", "PS256"];
    for (signer, own) in [
        (Signer::rsa("k", "one"), rsa.as_slice()),
        (Signer::p256("k"), &["ES256"]),
        (Signer::p384("k"), &["ES384"]),
        (Signer::ed25519("k"), &["EdDSA"]),
    ] {
        let any = only(signer.jwk()).unwrap();
        for alg in ALL {
            let token = signer.signed(alg, "{}", "{}");
            let expected = if own.contains(&alg) { Ok(()) } else { Err(Unsigned::Algorithm) };
            assert_eq!(verified(&any, alg, &token), expected, "{alg} by {}", signer.alg);
            match only(signer.jwk_with(json!({ "alg": alg }))) {
                Ok(pinned) => {
                    assert!(own.contains(&alg));
                    for other in ALL {
                        let token = signer.signed(other, "{}", "{}");
                        let expected = if other == alg { Ok(()) } else { Err(Unsigned::Algorithm) };
                        assert_eq!(verified(&pinned, other, &token), expected, "{other}, {alg}");
                    }
                }
                Err(reason) => {
                    assert!(!own.contains(&alg));
                    assert_eq!(reason, "its `alg` does not fit its `kty`");
                }
            }
        }
    }
}

#[test]
fn keys_for_something_else_are_left_out() {
    let rsa = Signer::rsa("k", "one");
    let ec = Signer::p256("k");
    for (key, accepted) in [
        (rsa.jwk_with(json!({"use": null})), true),
        (rsa.jwk_with(json!({"use": "enc"})), false),
        (rsa.jwk_with(json!({"use": 1})), false),
        (rsa.jwk_with(json!({"key_ops": ["verify"]})), true),
        (rsa.jwk_with(json!({"key_ops": ["encrypt"]})), false),
        (rsa.jwk_with(json!({"key_ops": []})), false),
        (rsa.jwk_with(json!({"key_ops": "verify"})), false),
        (rsa.jwk_with(json!({"alg": "RSA-OAEP"})), false),
        (rsa.jwk_with(json!({"alg": "HS256"})), false),
        (rsa.jwk_with(json!({"alg": "none"})), false),
        (rsa.jwk_with(json!({"kid": 1})), false),
        (rsa.jwk_with(json!({"kid": "k".repeat(256)})), true),
        (rsa.jwk_with(json!({"kid": "k".repeat(257)})), false),
        (rsa.jwk_with(json!({"kty": "oct", "k": "c2VjcmV0"})), false),
        (rsa.jwk_with(json!({"kty": null})), false),
        (rsa.jwk_with(json!({"n": null})), false),
        (rsa.jwk_with(json!({"n": ""})), false),
        (rsa.jwk_with(json!({"n": "not base64!"})), false),
        (rsa.jwk_with(json!({"e": "AQ"})), false),
        (rsa.jwk_with(json!({"e": "Ag"})), false),
        (rsa.jwk_with(json!({"e": "AAAA"})), false),
        (rsa.jwk_with(json!({"x5c": ["…"], "x5t": "…", "other": {}})), true),
        (ec.jwk_with(json!({"crv": "P-384"})), false),
        (ec.jwk_with(json!({"crv": "secp256k1"})), false),
        (ec.jwk_with(json!({"y": null})), false),
        (ec.jwk_with(json!({"kty": "OKP"})), false),
    ] {
        assert_eq!(only(key.clone()).is_ok(), accepted, "{key}");
    }
    let weak: Json = serde_json::from_str(&text("weak.jwk")).unwrap();
    assert_eq!(only(weak), Err("its modulus has less than 2048 bits, or more than 8192"));
    let long = URL_SAFE_NO_PAD.encode([255; 1025]);
    assert!(only(rsa.jwk_with(json!({ "n": long }))).is_err());
    // Some providers write a zero before the modulus.
    let n = rsa.jwk()["n"].as_str().map(|n| URL_SAFE_NO_PAD.decode(n).unwrap()).unwrap();
    let padded = URL_SAFE_NO_PAD.encode([[0].as_slice(), &n].concat());
    assert_eq!(only(rsa.jwk_with(json!({ "n": padded }))), only(rsa.jwk()));
    // A point that is not on the curve verifies nothing.
    let off = ec.jwk_with(json!({"y": ec.jwk()["x"]}));
    let off = only(off).unwrap();
    assert_eq!(verified(&off, "ES256", &ec.signed("ES256", "{}", "{}")), Err(Unsigned::Signature));
}

#[test]
fn a_set_that_is_not_clear_is_refused_as_a_whole() {
    let (one, two) = (Signer::p256("same"), Signer::p256("same"));
    assert_eq!(read(&[one.jwk(), two.jwk()]).err(), Some(SetError::Twice("same".into())));
    // One for encryption may have the name of one for signatures.
    let other = two.jwk_with(json!({"use": "enc"}));
    let set = read(&[one.jwk(), other]).unwrap();
    assert_eq!((set.len(), set.left_out.len()), (1, 1));
    let many: Vec<Json> = (0..101).map(|at| one.jwk_with(json!({"kid": at.to_string()}))).collect();
    assert_eq!(read(&many).err(), Some(SetError::TooMany(101)));
    assert_eq!(read(&many[..100]).map(|set| set.len()), Ok(100));
    for text in
        ["", "{}", "[]", "null", r#"{"keys":{}}"#, r#"{"keys":[1]}"#, r#"{"keys":[],"keys":[]}"#]
    {
        assert_eq!(KeySet::read(text.as_bytes()).err(), Some(SetError::Form), "{text}");
    }
}

#[test]
fn a_token_without_a_name_means_the_only_key() {
    let (one, two) = (Signer::p256("one"), Signer::p256("two"));
    let set = read(&[one.jwk(), two.jwk()]).unwrap();
    assert_eq!(set.find(None), None);
    assert!(set.find(Some("two")).is_some());
    assert_eq!(set.find(Some("")), None);
    let set = read(&[one.jwk_with(json!({"kid": null}))]).unwrap();
    assert!(set.find(None).is_some());
    assert_eq!(set.find(Some("one")), None);
    let set = read(&[]).unwrap();
    assert_eq!(set.find(None), None);
}

// A private key was taken as if it were public, and nobody was told.
#[test]
fn of_a_private_key_the_public_part_is_used_and_told_of() {
    let (one, two) = (Signer::p256("one"), Signer::rsa("two", "one"));
    let secret = json!({"kty": "oct", "kid": "three", "k": "c2VjcmV0", "alg": "HS256"});
    let set = read(&[one.jwk_with(json!({"d": "AQ"})), two.jwk_with(json!({"qi": "AQ"})), secret])
        .unwrap();
    let exposed: Vec<String> = set.exposed.iter().map(ToString::to_string).collect();
    let told = ["the private key `one`", "the private key `two`", "the symmetric key `three`"];
    assert_eq!(exposed, told);
    assert!(set.find(Some("one")).is_some() && set.find(Some("two")).is_some());
    assert_eq!(set.find(Some("three")), None, "a secret is never a key");
    assert!(set.leaves_out("three"));
    assert_eq!(read(&[one.jwk(), two.jwk()]).unwrap().exposed, []);
}

proptest! {
    #[test]
    fn any_keys_are_read_or_refused(
        which in 0usize..4,
        changes in prop::collection::vec((
            prop::sample::select(vec!["kty", "crv", "alg", "use", "key_ops", "kid", "n", "e", "x", "y", "d"]),
            prop_oneof![
                Just(json!("RSA")), Just(json!("EC")), Just(json!("OKP")), Just(json!("oct")), Just(json!("P-256")),
                Just(json!("P-384")), Just(json!("Ed25519")), Just(json!("RS256")), Just(json!("ES384")),
                Just(json!("EdDSA")), Just(json!("sig")), Just(json!(["verify"])), Just(json!(null)), Just(json!(3)),
                prop::collection::vec(any::<u8>(), 0..100).prop_map(|bytes| json!(URL_SAFE_NO_PAD.encode(bytes))),
                ".{0,9}".prop_map(|text| json!(text)),
            ],
        ), 0..4),
        signature in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let signers = [Signer::rsa("k", "one"), Signer::p256("k"), Signer::p384("k"), Signer::ed25519("k")];
        let mut key = signers[which].jwk();
        for (name, value) in changes {
            key[name] = value;
        }
        let set = read(&[key]).expect("one key is left out, or not");
        prop_assert_eq!(set.len() + set.left_out.len(), 1);
        for alg in ["RS256", "PS256", "ES256", "ES384", "EdDSA"] {
            let alg = Algorithm::of(alg).expect("an algorithm");
            prop_assert!(set.keys.iter().all(|key| key.verify(alg, b"a.b", &signature).is_err()));
        }
    }

    #[test]
    fn any_set_is_read_or_refused(text in "\\PC{0,60}", keys in "[\\[\\]{}\":,kty 0-9]{0,40}") {
        for text in [text.clone(), format!("{{\"keys\":{keys}}}"), format!("{{\"keys\":[{text}]}}")] {
            prop_assert!(KeySet::read(text.as_bytes()).map_or(0, |set| set.keys.len()) == 0);
        }
    }
}
