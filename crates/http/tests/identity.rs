//! The keys of an identity provider that is replaced, away, slow or wrong.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use latchkey_http::{
    ClaimPaths, Claims, KeySource, Provider, ProviderError, Timing, TokenError, Tokens, Trusted,
};
use latchkey_testing::provider::{self, DISCOVERY, KEYS, Mood};
use latchkey_testing::signer::{Signer, text};
use serde_json::{Value, json};

/// From where tokens are sent.
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// How long a test waits before it takes something for hanging.
const HANG: Duration = Duration::from_secs(300);

const SECRET: &[u8] = b"0123456789abcdef0123456789ABCDEF";

/// As a server does it, but sooner.
const TIMING: Timing = Timing {
    every: Duration::from_secs(60),
    apart: Duration::from_millis(300),
    fetch_max: Duration::from_millis(1500),
};

fn now_ms() -> i64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(passed.as_millis()).unwrap()
}

fn claims(issuer: &str) -> Value {
    json!({"iss": issuer, "aud": "doors", "sub": "auth0|abc", "exp": now_ms() / 1000 + 600})
}

async fn trusting(source: KeySource, issuer: &str, timing: Timing) -> Tokens {
    let provider = Provider::start(source, timing).await.unwrap();
    let trusted = Trusted { provider, claims: ClaimPaths::default(), hs256: false };
    Tokens::new(SECRET, issuer, "doors").unwrap().trusting(trusted)
}

/// Tokens of a provider that is found by its issuer.
async fn of(provider: &provider::Provider, timing: Timing) -> Tokens {
    let issuer = provider.issuer();
    trusting(KeySource::oidc(&issuer).unwrap(), &issuer, timing).await
}

/// What a server makes of a token.
async fn verified(tokens: &Tokens, token: &str) -> Result<String, TokenError> {
    let verified = match tokens.verify(token, now_ms()) {
        Err(error) if tokens.may_be_outdated(error) => {
            tokens.verify_refreshed(token, HERE, now_ms).await
        }
        verified => verified,
    };
    verified.map(|claims| claims.sub.to_string())
}

fn known() -> Result<String, TokenError> {
    Ok("auth0|abc".to_owned())
}

#[tokio::test]
async fn every_algorithm_is_accepted_by_its_key() {
    let signers = [
        Signer::rsa("rsa", "one"),
        Signer::p256("p256"),
        Signer::p384("p384"),
        Signer::ed25519("ed"),
    ];
    let provider = provider::Provider::start(&signers.each_ref());
    let tokens = of(&provider, TIMING).await;
    for signer in &signers {
        assert_eq!(verified(&tokens, &signer.token(&claims(&provider.issuer()))).await, known());
    }
    for alg in ["RS384", "RS512", "PS256"] {
        let header = json!({"alg": alg, "kid": "rsa", "typ": "at+jwt"}).to_string();
        let token = signers[0].signed(alg, &header, &claims(&provider.issuer()).to_string());
        assert_eq!(verified(&tokens, &token).await, known(), "{alg}");
    }
    assert_eq!(provider.asked(), [DISCOVERY, KEYS]);
}

#[tokio::test]
async fn a_key_that_leaves_the_set_takes_its_remembered_tokens_along() {
    let (old, new) = (Signer::p256("old"), Signer::p256("new"));
    let provider = provider::Provider::start(&[&old]);
    let tokens = of(&provider, TIMING).await;
    let claims = claims(&provider.issuer());
    let (first, second) = (old.token(&claims), new.token(&claims));
    assert_eq!(tokens.verify(&first, now_ms()), tokens.verify(&first, now_ms()));
    provider.publish(&[&old, &new]);
    assert_eq!(tokens.verify(&second, now_ms()), Err(TokenError::UnknownKey));
    assert_eq!(verified(&tokens, &second).await, known());
    assert_eq!(verified(&tokens, &first).await, known(), "both keys are in the set");
    provider.publish(&[&new]);
    let third = Signer::p256("third").token(&claims);
    assert_eq!(verified(&tokens, &third).await, Err(TokenError::UnknownKey));
    assert_eq!(tokens.verify(&first, now_ms()), Err(TokenError::UnknownKey), "its key is gone");
    assert_eq!(verified(&tokens, &second).await, known());
}

#[tokio::test]
async fn another_key_under_the_same_name_is_another_key() {
    let (one, two) = (Signer::p256("k"), Signer::p256("k"));
    let provider = provider::Provider::start(&[&one]);
    let every = Duration::from_millis(400);
    let tokens = of(&provider, Timing { every, ..TIMING }).await;
    let token = one.token(&claims(&provider.issuer()));
    assert_eq!(verified(&tokens, &token).await, known());
    // Nobody asks for a key; the set is fetched now and then.
    provider.publish(&[&two]);
    let until = provider.times() + 2;
    while provider.times() < until {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(tokens.verify(&token, now_ms()), Err(TokenError::KeySignature));
    assert_eq!(verified(&tokens, &two.token(&claims(&provider.issuer()))).await, known());
}

#[tokio::test]
async fn however_many_unknown_keys_are_named_one_fetch_answers_all() {
    let signer = Signer::p256("k");
    let provider = provider::Provider::start(&[&signer]);
    let apart = Duration::from_secs(2);
    let tokens = of(&provider, Timing { apart, ..TIMING }).await;
    let mut asking = tokio::task::JoinSet::new();
    for number in 0..600 {
        let (tokens, claims) = (tokens.clone(), claims(&provider.issuer()));
        asking.spawn(async move {
            let token = Signer::ed25519(&format!("unknown-{number}")).token(&claims);
            verified(&tokens, &token).await
        });
    }
    let mut counts = [0, 0];
    for answer in asking.join_all().await {
        match answer {
            Err(TokenError::UnknownKey) => counts[0] += 1,
            // No more than so many wait.
            Err(TokenError::NoKeysNow) => counts[1] += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(counts, [512, 88]);
    assert_eq!(provider.times(), 2, "the first, and one for all of them");
    tokio::time::sleep(apart + apart / 2).await;
    assert_eq!(provider.times(), 2, "nobody asks any more");
}

#[tokio::test]
async fn a_provider_that_is_away_stops_nobody_whose_key_is_known() {
    let (old, new) = (Signer::p256("old"), Signer::p256("new"));
    let provider = provider::Provider::start(&[&old]);
    let tokens = of(&provider, TIMING).await;
    let claims = claims(&provider.issuer());
    let elsewhere = provider::Provider::start(&[&new]);
    for mood in [
        Mood::Away,
        Mood::Slow(Duration::from_secs(3)),
        Mood::Huge(300 * 1024),
        Mood::Huge(64 * 1024 * 1024),
        Mood::Redirects(elsewhere.keys_url()),
        Mood::Fails(500),
        Mood::Fails(404),
    ] {
        provider.be(mood.clone());
        provider.publish(&[&new]);
        let answer = verified(&tokens, &new.token(&claims)).await;
        assert_eq!(answer, Err(TokenError::NoKeysNow), "{mood:?}");
        assert_eq!(verified(&tokens, &old.token(&claims)).await, known(), "{mood:?}");
        // It is asked again by itself.
        provider.be(Mood::Well);
        provider.publish(&[&old]);
        let (before, other) = (provider.times(), Signer::ed25519("other").token(&claims));
        while provider.times() == before {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        while verified(&tokens, &other).await != Err(TokenError::UnknownKey) {}
    }
    assert_eq!(elsewhere.asked(), Vec::<String>::new(), "no redirect is followed");
}

#[tokio::test]
async fn a_set_that_is_refused_changes_nothing() {
    let (old, new) = (Signer::p256("old"), Signer::p256("new"));
    let provider = provider::Provider::start(&[&old]);
    let tokens = of(&provider, TIMING).await;
    let claims = claims(&provider.issuer());
    let many: Vec<Value> =
        (0..101).map(|at| new.jwk_with(json!({"kid": at.to_string()}))).collect();
    let sets = [
        json!({"keys": [new.jwk(), Signer::rsa("new", "one").jwk()]}).to_string(),
        json!({ "keys": many }).to_string(),
        "{}".to_owned(),
        "<html>".to_owned(),
        String::new(),
        format!("{{\"keys\":{}[]{}}}", "[".repeat(40), "]".repeat(40)),
    ];
    for set in sets {
        provider.publish_text(&set);
        tokio::time::sleep(TIMING.apart).await;
        let _ = verified(&tokens, &new.token(&claims)).await;
        assert_eq!(
            verified(&tokens, &new.token(&claims)).await,
            Err(TokenError::NoKeysNow),
            "{set}"
        );
        assert_eq!(verified(&tokens, &old.token(&claims)).await, known(), "{set}");
    }
}

#[tokio::test]
async fn a_server_starts_while_the_provider_is_away() {
    let signer = Signer::rsa("k", "one");
    let provider = provider::Provider::start(&[&signer]);
    provider.be(Mood::Away);
    let tokens = of(&provider, TIMING).await;
    let token = signer.token(&claims(&provider.issuer()));
    assert!(!tokens.provider().unwrap().is_loaded());
    assert_eq!(verified(&tokens, &token).await, Err(TokenError::NoKeysNow));
    provider.be(Mood::Well);
    while !tokens.provider().unwrap().is_loaded() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(verified(&tokens, &token).await, known());
}

#[tokio::test]
async fn a_provider_is_the_one_it_says_it_is() {
    let signer = Signer::p256("k");
    let provider = provider::Provider::start(&[&signer]);
    let other = provider::Provider::start(&[&signer]);
    let issuer = provider.issuer();
    for (description, accepted) in [
        (json!({"issuer": issuer, "jwks_uri": provider.keys_url()}), true),
        (json!({"issuer": issuer, "jwks_uri": other.keys_url()}), true),
        (json!({"issuer": format!("{issuer}/"), "jwks_uri": provider.keys_url()}), false),
        (json!({"issuer": other.issuer(), "jwks_uri": provider.keys_url()}), false),
        (json!({"issuer": issuer}), false),
        (json!({"issuer": issuer, "jwks_uri": "http://192.0.2.1/keys"}), false),
        (json!({"issuer": issuer, "jwks_uri": "file:///etc/passwd"}), false),
        (json!({"issuer": [issuer], "jwks_uri": provider.keys_url()}), false),
        (json!([]), false),
    ] {
        provider.describe(&description);
        let tokens = of(&provider, TIMING).await;
        assert_eq!(tokens.provider().unwrap().is_loaded(), accepted, "{description}");
    }
    // The issuer's last slash is not doubled, and is part of its name.
    provider.describe(&json!({"issuer": format!("{issuer}/"), "jwks_uri": provider.keys_url()}));
    let source = KeySource::oidc(&format!("{issuer}/")).unwrap();
    let tokens = trusting(source, &format!("{issuer}/"), TIMING).await;
    assert_eq!(verified(&tokens, &signer.token(&claims(&format!("{issuer}/")))).await, known());
    assert!(provider.asked().iter().all(|path| path == DISCOVERY || path == KEYS));
}

#[tokio::test]
async fn keys_of_a_file_follow_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys.json");
    let place = path.to_str().unwrap();
    let start = || Provider::start(KeySource::jwks(place).unwrap(), TIMING);
    assert!(matches!(start().await, Err(ProviderError::Load(_))), "no file");
    for (text, expected) in [
        ("{".to_owned(), "not a JSON Web Key Set"),
        (json!({"keys": []}).to_string(), "no key that can verify"),
        (format!("{{\"keys\":[{}]}}", text("weak.jwk")), "less than 2048 bits"),
        (" ".repeat(300 * 1024), "longer than"),
        (
            json!({"keys": [Signer::p256("k").jwk_with(json!({"d": "AQ"}))]}).to_string(),
            "the private key `k`",
        ),
        (
            json!({"keys": [Signer::p256("k").jwk(), {"kty": "oct", "k": "AQ"}]}).to_string(),
            "a symmetric key without a usable `kid`",
        ),
    ] {
        std::fs::write(&path, &text).unwrap();
        let refused = start().await.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains(expected), "{refused}");
    }
    let (old, new) = (Signer::rsa("old", "one"), Signer::ed25519("new"));
    std::fs::write(&path, json!({"keys": [old.jwk()]}).to_string()).unwrap();
    let tokens = trusting(KeySource::jwks(place).unwrap(), "me", TIMING).await;
    assert_eq!(verified(&tokens, &old.token(&claims("me"))).await, known());
    std::fs::write(&path, json!({"keys": [new.jwk()]}).to_string()).unwrap();
    assert_eq!(verified(&tokens, &new.token(&claims("me"))).await, known());
    assert_eq!(tokens.verify(&old.token(&claims("me")), now_ms()), Err(TokenError::UnknownKey));
}

#[tokio::test]
async fn a_token_without_a_name_fits_the_only_key_and_fetches_nothing() {
    let (one, two) = (Signer::p256("one"), Signer::p256("two"));
    let provider = provider::Provider::start(&[&one]);
    let tokens = of(&provider, TIMING).await;
    let unnamed = |signer: &Signer| {
        signer.signed("ES256", r#"{"alg":"ES256"}"#, &claims(&provider.issuer()).to_string())
    };
    assert_eq!(verified(&tokens, &unnamed(&one)).await, known());
    let refused = |token: &str| tokens.verify(token, now_ms()).unwrap_err();
    assert_eq!(refused(&unnamed(&two)), TokenError::OnlyKeySignature);
    provider.publish(&[&one, &two]);
    assert_eq!(verified(&tokens, &two.token(&claims(&provider.issuer()))).await, known());
    assert_eq!(refused(&unnamed(&one)), TokenError::NoKeyNamed);
    assert_eq!(provider.times(), 2);
}

// The name of the key was known, so nothing was fetched, and tokens were refused until the next fetch.
#[tokio::test]
async fn a_key_that_is_replaced_under_its_name_or_none_is_fetched() {
    let (old, new, other) = (Signer::p256("k"), Signer::p256("k"), Signer::rsa("k", "one"));
    let provider = provider::Provider::start(&[&old]);
    let issuer = provider.issuer();
    let unnamed = |signer: &Signer| {
        signer.signed("ES256", r#"{"alg":"ES256"}"#, &claims(&issuer).to_string())
    };
    let tokens = of(&provider, TIMING).await;
    assert_eq!(verified(&tokens, &old.token(&claims(&issuer))).await, known());
    for (signer, token) in [
        (&new, new.token(&claims(&issuer))),
        (&old, unnamed(&old)),
        (&other, other.token(&claims(&issuer))),
    ] {
        tokio::time::sleep(TIMING.apart).await;
        provider.publish(&[signer]);
        assert_eq!(verified(&tokens, &token).await, known());
    }
    assert_eq!(provider.times(), 4);
    // What no fetch can help is refused as what it is, and one fetch serves all.
    tokio::time::sleep(TIMING.apart).await;
    let wrong = old.token(&claims(&issuer));
    let (one, two) = tokio::join!(verified(&tokens, &wrong), verified(&tokens, &wrong));
    assert_eq!((one, two), (Err(TokenError::KeyAlgorithm), Err(TokenError::KeyAlgorithm)));
    assert_eq!(provider.times(), 5);
    tokio::time::sleep(TIMING.apart).await;
    provider.be(Mood::Away);
    let gone = unnamed(&old);
    assert_eq!(verified(&tokens, &gone).await, Err(TokenError::KeyAlgorithm), "not a 503");
}

#[tokio::test]
async fn what_was_believed_without_the_provider_is_not_believed_beside_it() {
    // A clone shared what it remembered with tokens that trust a provider alone.
    let signer = Signer::p256("k");
    let provider = provider::Provider::start(&[&signer]);
    let issuer = provider.issuer();
    let ours = Tokens::new(SECRET, issuer.as_str(), "doors").unwrap();
    let claims = Claims { sub: "alice".into(), roles: Vec::new(), orgs: Vec::new() };
    let token = ours.sign(&claims, now_ms(), Duration::from_secs(60)).unwrap();
    assert_eq!(ours.verify(&token, now_ms()), Ok(claims));
    let source = KeySource::oidc(&issuer).unwrap();
    let provider = Provider::start(source, TIMING).await.unwrap();
    let trusted = Trusted { provider, claims: ClaimPaths::default(), hs256: false };
    let tokens = ours.clone().trusting(trusted);
    assert_eq!(tokens.verify(&token, now_ms()), Err(TokenError::NoSecrets));
}

/// When a token was issued, so many seconds ago.
fn issued(mut claims: Value, ago: i64) -> Value {
    claims.as_object_mut().unwrap().insert("iat".to_owned(), json!(now_ms() / 1000 - ago));
    claims
}

// A token of a key that was retired long ago waited for a fetch, and held a place meanwhile.
#[tokio::test]
async fn a_token_from_long_before_the_last_fetch_does_not_wait() {
    let signer = Signer::p256("k");
    let provider = provider::Provider::start(&[&signer]);
    let apart = Duration::from_secs(3600);
    let tokens = of(&provider, Timing { apart, ..TIMING }).await;
    let other = Signer::ed25519("other");
    let old = other.token(&issued(claims(&provider.issuer()), 90));
    let answered = tokio::time::timeout(HANG, verified(&tokens, &old)).await;
    assert_eq!(answered, Ok(Err(TokenError::UnknownKey)), "it waits");
    // One that may be of a newer key waits; its issue is not believed before it is verified, nor needed.
    for claims in [issued(claims(&provider.issuer()), 30), claims(&provider.issuer())] {
        let waiting = other.token(&claims);
        let answered = tokio::time::timeout(TIMING.apart, verified(&tokens, &waiting)).await;
        assert!(answered.is_err(), "{answered:?}");
    }
}

#[tokio::test]
async fn a_key_that_is_published_very_late_is_found() {
    let (old, new) = (Signer::p256("old"), Signer::p256("new"));
    let provider = provider::Provider::start(&[&old]);
    let tokens = of(&provider, TIMING).await;
    let token = new.token(&issued(claims(&provider.issuer()), 90));
    provider.publish(&[&old, &new]);
    assert_eq!(verified(&tokens, &token).await, Err(TokenError::UnknownKey));
    // Nobody waits for the fetch that the token has asked for.
    while tokens.verify(&token, now_ms()) == Err(TokenError::UnknownKey) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(verified(&tokens, &token).await, known());
}

// One address could take all places of those who wait for keys.
#[tokio::test]
async fn an_address_that_waits_often_makes_room_for_others() {
    let signer = Signer::p256("k");
    let provider = provider::Provider::start(&[&signer]);
    let apart = Duration::from_secs(3600);
    let tokens = of(&provider, Timing { apart, ..TIMING }).await;
    let token = Signer::ed25519("unknown").token(&claims(&provider.issuer()));
    let mut asking = tokio::task::JoinSet::new();
    let mut ask = |from: [u8; 4]| {
        let (tokens, token) = (tokens.clone(), token.clone());
        asking.spawn(async move {
            let answer = tokens.verify_refreshed(&token, IpAddr::from(from), now_ms).await;
            (from, answer.map(|claims| claims.sub))
        });
    };
    (0..512).for_each(|_| ask([192, 0, 2, 1]));
    (2..12).for_each(|last| ask([192, 0, 2, last]));
    for _ in 2..12 {
        let (from, answer) = asking.join_next().await.unwrap().unwrap();
        assert_eq!((from, answer), ([192, 0, 2, 1], Err(TokenError::NoKeysNow)));
    }
    // The others wait on.
    let more = tokio::time::timeout(TIMING.apart, asking.join_next()).await;
    assert!(more.is_err(), "{more:?}");
}
