//! Keys that are replaced while callers call, and providers that come and go.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::serve::provider::{Mood, Provider};
use crate::serve::signer::Signer;
use crate::serve::until;
use crate::world::{AUDIENCE, World, claims, with};

/// The origin of a page.
const PAGE: &str = "https://app.example";

#[test]
fn keys_are_replaced_under_load_and_no_request_is_lost() {
    let first = Arc::new(Signer::p256("first"));
    let provider = Provider::start(&[&first]);
    let world = World::trusting(&provider, &["--cors", PAGE]);
    let signing = RwLock::new(Arc::clone(&first));
    let (over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for number in 0..8 {
            let (world, provider, signing) = (&world, &provider, &signing);
            let (over, answered) = (&over, &answered);
            scope.spawn(move || {
                let mut client = world.client();
                let mut count = 0;
                while !over.load(Ordering::Relaxed) {
                    count += 1;
                    let signer = Arc::clone(&signing.read().unwrap());
                    // A token of its own for each request, and one that is sent again.
                    let token =
                        signer.token(&with(provider, json!({"jti": format!("{number}-{count}")})));
                    for _ in 0..2 {
                        client.token = Some(token.clone());
                        client.get("/owners/alice/lockers").is(200);
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                    // What a page asks before it sends its token is answered, too.
                    let asks = [("origin", PAGE), ("access-control-request-method", "GET")];
                    let reply = client.send("OPTIONS", "/owners/alice/lockers", &asks, None);
                    assert_eq!(reply.status, 204, "{reply}");
                    assert_eq!(reply.header("access-control-allow-origin"), PAGE, "{reply}");
                }
            });
        }
        let mut keys = vec![first];
        for name in ["second", "third"] {
            let before = answered.load(Ordering::Relaxed);
            until("callers are served", || answered.load(Ordering::Relaxed) > before + 200);
            // The provider publishes a key, signs with it at once, and keeps the one before.
            let next = Arc::new(Signer::p256(name));
            keys.push(Arc::clone(&next));
            let last_two: Vec<&Signer> = keys.iter().rev().take(2).map(|key| &**key).collect();
            provider.publish(&last_two);
            let fetched = provider.times();
            *signing.write().unwrap() = next;
            until("the keys are fetched", || provider.times() > fetched);
        }
        let before = answered.load(Ordering::Relaxed);
        until("callers are served", || answered.load(Ordering::Relaxed) > before + 200);
        over.store(true, Ordering::Relaxed);
        let gone = keys[0].token(&claims(&provider));
        world.doubts(&gone);
    });
}

// Tokens were refused for minutes: the name of their key was known, so nothing was fetched.
#[test]
fn a_key_that_is_replaced_under_its_own_name_or_none_is_fetched() {
    thread::scope(|scope| {
        for kid in ["main", ""] {
            scope.spawn(move || replace_under(kid));
        }
    });
}

fn replace_under(kid: &str) {
    let (old, new) = (Signer::p256("main"), Signer::p256("main"));
    let jwk = |signer: &Signer| {
        signer.jwk_with(json!({"kid": if kid.is_empty() { None } else { Some(kid) }}))
    };
    let token = |provider: &Provider, signer: &Signer| match kid {
        "" => signer.signed("ES256", r#"{"alg":"ES256"}"#, &claims(provider).to_string()),
        _ => signer.token(&claims(provider)),
    };
    let provider = Provider::start(&[]);
    provider.publish_keys(&[jwk(&old)]);
    let world = World::trusting(&provider, &[]);
    world.believes(&token(&provider, &old));
    // A set that is this new is not fetched again for a wrong signature.
    let fetched = provider.times();
    let doubt = world.doubts(&token(&provider, &new));
    let expected = if kid.is_empty() { "only key" } else { "the key it names" };
    assert!(doubt.contains(expected), "{doubt}");
    assert_eq!(provider.times(), fetched);
    thread::sleep(Duration::from_secs(11));
    provider.publish_keys(&[jwk(&new)]);
    world.believes(&token(&provider, &new));
    world.doubts(&token(&provider, &old));
    assert_eq!(provider.times(), fetched + 1, "one fetch, whatever callers send");
    // While the provider is away, a wrong signature is still one.
    thread::sleep(Duration::from_secs(11));
    provider.be(Mood::Away);
    world.doubts(&token(&provider, &old));
}

#[test]
fn a_server_starts_without_its_provider_and_says_so() {
    let signer = Signer::rsa("k", "one");
    let provider = Provider::start(&[&signer]);
    provider.be(Mood::Away);
    let world = World::trusting(&provider, &[]);
    assert!(world.greeting.contains("not known yet"), "{}", world.greeting);
    let token = signer.token(&claims(&provider));
    let reply = world.client().get("/ready");
    assert_eq!(
        (reply.status, reply.text.as_str()),
        (503, "the keys of the identity provider are not known yet\n")
    );
    assert_eq!(world.client().get("/health").status, 200);
    // It says when the provider is asked again: at most ten seconds after it was asked last.
    until("it says so", || {
        let reply = world.lockers_of("alice", &token).refuses(503, "busy");
        let seconds: u32 = reply.header("retry-after").parse().unwrap();
        assert!((1..=10).contains(&seconds), "{reply}");
        seconds > 1
    });
    world.logs("the keys of the identity provider are not known");
    assert!(world.metric("latchkey_identity_refresh_failures_total") >= Some(1));
    assert_eq!(world.metric("latchkey_identity_keys"), Some(0));
    provider.be(Mood::Well);
    until("the provider is asked again", || world.client().get("/ready").status == 200);
    world.believes(&token);
    assert_eq!(world.metric("latchkey_identity_keys"), Some(1));
    // Gone again, it stops nobody whose key is known.
    provider.be(Mood::Away);
    let fresh = signer.token(&with(&provider, json!({"jti": "1"})));
    world.believes(&fresh);
    world
        .lockers_of("alice", &Signer::ed25519("new").token(&claims(&provider)))
        .refuses(503, "busy");
    world.believes(&fresh);
    assert_eq!(world.client().get("/ready").status, 200);
    world.logs("those that are known are honoured");
}

// A set without a usable key was as good as any: the server said that it was ready and answered everyone 401.
#[test]
fn a_provider_without_keys_leaves_the_server_unready() {
    let signer = Signer::rsa("k", "one");
    for keys in [vec![], vec![signer.jwk_with(json!({"use": "enc"}))]] {
        let provider = Provider::start(&[]);
        provider.publish_keys(&keys);
        let world = World::trusting(&provider, &[]);
        let reply = world.client().get("/ready");
        let told = "the identity provider has no key that can verify a token\n";
        assert_eq!((reply.status, reply.text.as_str()), (503, told));
    }
}

// A token that no key would make valid waited for keys that it names, and took a place from those that may be.
#[test]
fn a_token_that_is_over_or_for_others_waits_for_no_key() {
    let signer = Signer::rsa("k", "one");
    let provider = Provider::start(&[&signer]);
    let world = World::trusting(&provider, &[]);
    let before = provider.times();
    let unknown = Signer::ed25519("unknown");
    for changes in [json!({"exp": 1}), json!({"iss": "evil"}), json!({"aud": "others"})] {
        world.doubts(&unknown.token(&with(&provider, changes)));
    }
    assert_eq!(provider.times(), before, "keys were asked for");
}

// A request whose caller had hung up held its place until the keys were fetched.
#[test]
fn whoever_hangs_up_frees_the_place() {
    let provider = Provider::start(&[&Signer::p256("k")]);
    let token = Signer::ed25519("unknown").token(&claims(&provider));
    let request = format!(
        "GET /owners/alice/lockers HTTP/1.1\r\nhost: t\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    let attempt = || {
        let world = World::trusting(&provider, &[]);
        let waiting = || world.metric("latchkey_identity_waiting");
        let fetched = || world.metric("latchkey_identity_refreshes_total") > Some(1);
        let send = |_| {
            let mut stream = TcpStream::connect(&world.address).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            stream
        };
        let mut streams: Vec<TcpStream> = (0..20).map(send).collect();
        until("they wait", || waiting() == Some(20) || fetched());
        // One that only sends no more is answered.
        let mut last = streams.pop().unwrap();
        last.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        last.read_to_string(&mut answer).unwrap();
        drop(streams);
        until("the places are free", || waiting() == Some(0));
        let shown = !fetched();
        assert!(!shown || answer.starts_with("HTTP/1.1 503 "), "{answer}");
        shown
    };
    // Where the keys are fetched meanwhile, nothing is shown.
    assert!((0..5).any(|_| attempt()), "places are free only once the keys are fetched");
}

// A private key was taken as if it were public, and nobody was told.
#[test]
fn a_private_key_of_a_provider_is_told_of_and_its_public_part_used() {
    let signer = Signer::p256("k");
    let provider = Provider::start(&[]);
    let secret = json!({"kty": "oct", "kid": "s", "k": "c2VjcmV0", "alg": "HS256"});
    provider.publish_keys(&[signer.jwk_with(json!({"d": "AQ"})), secret]);
    let world = World::trusting(&provider, &[]);
    world.believes(&signer.token(&claims(&provider)));
    world.doubts(&Signer::p256("s").token(&claims(&provider)));
    for key in ["the private key `k`", "the symmetric key `s`"] {
        world.logs(key);
    }
    world.logs("have the provider replace this key");
}

#[test]
fn a_slow_or_wrong_provider_does_not_hold_up_the_start() {
    let signer = Signer::p256("k");
    let (provider, elsewhere) = (Provider::start(&[&signer]), Provider::start(&[&signer]));
    let moods = [
        Mood::Slow(Duration::from_secs(60)),
        Mood::Huge(1024 * 1024),
        Mood::Redirects(elsewhere.issuer()),
    ];
    for (mood, reason) in
        moods.into_iter().zip(["longer than", "longer than", "redirects are not followed"])
    {
        provider.be(mood);
        let world = World::trusting(&provider, &[]);
        assert_eq!(world.client().get("/ready").status, 503);
        world.logs(reason);
    }
    provider.be(Mood::Well);
    provider.describe(&json!({"issuer": "https://other.example", "jwks_uri": provider.keys_url()}));
    let world = World::trusting(&provider, &[]);
    world.logs("issuer is `https://other.example` and not");
    world.lockers_of("alice", &signer.token(&claims(&provider))).refuses(503, "busy");
    provider.publish_keys(&[signer.jwk(), Signer::rsa("k", "one").jwk()]);
    let world =
        World::start(&["--jwks", &provider.keys_url(), "--issuer", "me", "--audience", AUDIENCE]);
    world.logs("two of its keys have the `kid` `k`");
    assert_eq!(world.client().get("/ready").status, 503);
    assert_eq!(elsewhere.asked(), Vec::<String>::new());
}
