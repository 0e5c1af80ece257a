//! The recipes of `docs/serving.md`, with tokens as those providers make them.

use serde_json::json;

use crate::serve::provider::Provider;
use crate::serve::signer::Signer;
use crate::world::{AUDIENCE, World, claims, with};

#[test]
fn cognito() {
    let signer = Signer::rsa("Gx0+ab/=", "one");
    let provider = Provider::start(&[]);
    provider.publish_keys(&[signer.jwk_with(json!({"alg": "RS256"}))]);
    let world = World::trusting(
        &provider,
        &["--claim", "aud=client_id", "--claim", "roles=cognito:groups"],
    );
    // An access token has no `aud`, and has the groups only if there are some.
    let person = with(
        &provider,
        json!({"aud": null, "client_id": AUDIENCE, "token_use": "access",
        "scope": "openid", "username": "alice", "jti": "…", "auth_time": 1}),
    );
    let token = signer.token(&person);
    world.believes(&token);
    world.lockers_of("bob", &token).refuses(403, "forbidden");
    let mut operator = person.clone();
    operator["cognito:groups"] = json!(["operator", "eu-west-1_abc_Google"]);
    world.lockers_of("bob", &signer.token(&operator)).is(200);
    // An id token has no `client_id`.
    world.doubts(&signer.token(&claims(&provider)));
    let mut other = person;
    other["client_id"] = json!("another client");
    assert_eq!(world.doubts(&signer.token(&other)), "the token is for another audience");
}

#[test]
fn auth0() {
    let signer = Signer::rsa("k", "one");
    let provider = Provider::start(&[&signer]);
    // Its issuer ends with a slash.
    let issuer = format!("{}/", provider.issuer());
    provider.describe(&json!({"issuer": issuer, "jwks_uri": provider.keys_url()}));
    let world = World::start(&[
        "--oidc",
        &issuer,
        "--audience",
        "https://doors.example.com",
        "--claim",
        "roles=https://doors.example.com/roles",
        "--claim",
        "orgs=https://doors.example.com/orgs",
    ]);
    let person = with(
        &provider,
        json!({"iss": issuer, "sub": "auth0|abc", "azp": "…",
        "aud": ["https://doors.example.com", "https://tenant.auth0.com/userinfo"],
        "https://doors.example.com/roles": ["operator"],
        "https://doors.example.com/orgs": "acme globex"}),
    );
    world.lockers_of("auth0%7Cabc", &signer.token(&person)).is(200);
    world.lockers_of("bob", &signer.token(&person)).is(200);
    let mut member = person.clone();
    member["https://doors.example.com/roles"] = json!([]);
    world.lockers_of("bob", &signer.token(&member)).refuses(403, "forbidden");
    world.lockers_of("globex", &signer.token(&member)).is(200);
    // Claims of the plain names are not looked at.
    member["roles"] = json!(["operator"]);
    world.lockers_of("bob", &signer.token(&member)).refuses(403, "forbidden");
    for sub in ["auth0|a b", "google-oauth2|é", "a#b", ""] {
        let mut odd = person.clone();
        odd["sub"] = json!(sub);
        let detail = world.doubts(&signer.token(&odd));
        assert!(detail.starts_with("the token's `sub` must be an id"), "{detail}");
    }
}

#[test]
fn keycloak() {
    let (signer, sealing) = (Signer::rsa("k", "one"), Signer::rsa("enc", "two"));
    let provider = Provider::start(&[]);
    provider.publish_keys(&[
        signer.jwk_with(json!({"alg": "RS256", "x5c": ["MIIC"], "x5t": "…"})),
        sealing.jwk_with(json!({"use": "enc", "alg": "RSA-OAEP"})),
    ]);
    let world = World::trusting(&provider, &["--claim", "roles=realm_access.roles"]);
    let token = |roles: &[&str]| {
        signer.token(&with(&provider, json!({"typ": "Bearer", "azp": "web",
            "sub": "0b3f2d0e-5d0c-4c8e-9f57-2a3f3c9b2a11", "aud": [AUDIENCE, "account"],
            "realm_access": {"roles": roles}, "resource_access": {"account": {"roles": ["operator"]}}})))
    };
    world.lockers_of("bob", &token(&["offline_access"])).refuses(403, "forbidden");
    world.lockers_of("bob", &token(&["offline_access", "operator"])).is(200);
    // A key for encryption signs nothing.
    world.doubts(&sealing.token(&claims(&provider)));
    // Clients are told where tokens are had.
    let schemes =
        world.client().get("/openapi.json").json()["components"]["securitySchemes"].clone();
    let url = format!("{}/.well-known/openid-configuration", provider.issuer());
    assert_eq!(schemes["openIdConnect"]["openIdConnectUrl"], url);
    assert_eq!(schemes["bearer"]["scheme"], "bearer");
}

#[test]
fn a_key_set_of_a_file_or_an_address_is_enough() {
    let signer = Signer::ed25519("k");
    let provider = Provider::start(&[&signer]);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, json!({"keys": [signer.jwk()]}).to_string()).unwrap();
    for place in [provider.keys_url().as_str(), file.path().to_str().unwrap()] {
        let world = World::start(&["--jwks", place, "--issuer", "me", "--audience", AUDIENCE]);
        world.believes(&signer.token(&with(&provider, json!({"iss": "me"}))));
        assert_eq!(
            world.doubts(&signer.token(&claims(&provider))),
            "the token is from another issuer"
        );
        assert!(world.greeting.contains("  identity   "), "{}", world.greeting);
        assert!(
            !world.greeting.contains("token"),
            "no token that would be refused: {}",
            world.greeting
        );
    }
}
