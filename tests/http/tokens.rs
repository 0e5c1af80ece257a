//! Bearer tokens: whom the service believes.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde_json::{Value, json};

use crate::jwt;
use crate::scene::Scene;
use crate::serve::Reply;

const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

fn with(name: &str, value: Value) -> Value {
    let mut claims = jwt::claims("alice", &[], &[]);
    claims[name] = value;
    claims
}

fn without(name: &str) -> Value {
    let mut claims = jwt::claims("alice", &[], &[]);
    claims.as_object_mut().unwrap().remove(name);
    claims
}

/// Asks for alice's lockers with this `Authorization`.
fn ask(scene: &Scene, authorization: &str) -> Reply {
    let headers = [("authorization", authorization)];
    scene.nobody().send("GET", "/owners/alice/lockers", &headers, None)
}

#[track_caller]
fn refused(scene: &Scene, token: &str) {
    unauthenticated(ask(scene, &format!("Bearer {token}")));
}

#[track_caller]
fn unauthenticated(reply: Reply) {
    let reply = reply.refuses(401, "unauthenticated").cost("rcu=0, wcu=0");
    let reply = reply.has("latchkey-contract", "QC-02");
    let challenge = reply.header("www-authenticate");
    assert!(challenge.starts_with("Bearer"), "`WWW-Authenticate`; {reply}");
}

#[track_caller]
fn believed(scene: &Scene, token: &str) {
    ask(scene, &format!("Bearer {token}")).is(200);
}

#[test]
fn a_good_token_is_believed() {
    let scene = Scene::start();
    believed(&scene, &jwt::token(&scene.secret, &jwt::claims("alice", &[], &[])));
    believed(&scene, &jwt::token(&scene.secret, &without("roles")));
    believed(&scene, &jwt::token(&scene.secret, &without("orgs")));
    believed(&scene, &jwt::token(&scene.secret, &with("aud", json!(["other", "latchkey"]))));
    believed(&scene, &jwt::token(&scene.secret, &with("nbf", json!(jwt::now() - 60))));
    believed(&scene, &jwt::token(&scene.secret, &with("iat", json!(jwt::now()))));
    believed(&scene, &jwt::token(&scene.secret, &with("scope", json!({"any": ["thing"]}))));
    believed(
        &scene,
        &jwt::signed(&scene.secret, r#"{"alg":"HS256"}"#, &with("x", json!(1)).to_string()),
    );
    // The one the command makes, and the scheme in any letters.
    let made = scene.server.token("alice", &[], &[]);
    believed(&scene, &made);
    ask(&scene, &format!("bearer {made}")).is(200);
    ask(&scene, &format!("BEARER {made}")).is(200);
}

#[test]
fn without_a_token_nobody_is_known() {
    let scene = Scene::start();
    unauthenticated(scene.nobody().get("/owners/alice/lockers"));
    let good = jwt::token(&scene.secret, &jwt::claims("alice", &[], &[]));
    for authorization in [
        "",
        "Bearer",
        "Bearer ",
        "Basic YWxpY2U6eA==",
        "Token x",
        &good,
        &format!("JWT {good}"),
        &format!("Bearer:{good}"),
        &format!("Bearer \"{good}\""),
        &format!("Bearer {good} x"),
        &format!("Bearer {good},Bearer {good}"),
    ] {
        unauthenticated(ask(&scene, authorization));
    }
    // Of two, none: who knows which of them was meant.
    let bearer = format!("Bearer {good}");
    let twice = [("authorization", bearer.as_str()), ("authorization", bearer.as_str())];
    let reply = scene.nobody().send("GET", "/owners/alice/lockers", &twice, None);
    assert!(reply.text.contains("several `authorization` headers"), "{reply}");
    unauthenticated(reply);
    // A token is no part of a URL.
    let path = format!("/owners/alice/lockers?access_token={good}");
    unauthenticated(scene.nobody().get(&path));
}

#[test]
fn garbage_is_no_token() {
    let scene = Scene::start();
    let good = jwt::token(&scene.secret, &jwt::claims("alice", &[], &[]));
    let parts: Vec<&str> = good.split('.').collect();
    for token in [
        "x",
        ".",
        "..",
        "...",
        "a.b",
        "a.b.c",
        "null",
        "e30.e30.e30",
        &format!("{}.{}", parts[0], parts[1]),
        &format!("{}.{}.", parts[0], parts[1]),
        &format!(".{}.{}", parts[1], parts[2]),
        &format!("{}..{}", parts[0], parts[2]),
        &format!("{good}."),
        &format!("{good}.{}", parts[2]),
        &format!("{good}="),
        &format!("{good}A"),
        &good.to_lowercase(),
        &"x".repeat(10_000),
        &format!("{}.{}.{}", parts[0], "A".repeat(20_000), parts[2]),
    ] {
        refused(&scene, token);
    }
}

#[test]
fn a_payload_that_cannot_be_read_is_told_why() {
    let scene = Scene::start();
    let claims = jwt::claims("alice", &[], &[]).to_string();
    let with = |more: &str| claims.replacen('{', &format!("{{{more},"), 1);
    let deep = format!("\"x\":{}{}", "[".repeat(40), "]".repeat(40));
    for (payload, reason) in [
        (with("\"sub\":\"bob\""), "a claim twice"),
        (with(&deep), "more than 32 levels"),
        (with("\"x\":01"), "a number"),
        (with("\"x\":1e999"), "a number"),
        ("[]".to_owned(), "not a JSON object"),
    ] {
        let token = jwt::signed(&scene.secret, r#"{"alg":"HS256"}"#, &payload);
        let reply = ask(&scene, &format!("Bearer {token}")).refuses(401, "unauthenticated");
        assert!(reply.text.contains(reason), "{payload}: {reply}");
    }
}

#[test]
fn a_token_with_any_letter_changed_is_not_believed() {
    let scene = Scene::start();
    let mut client = scene.nobody();
    let good = jwt::token(&scene.secret, &jwt::claims("alice", &["device"], &[]));
    for (at, was) in good.char_indices() {
        let other = if was == 'A' { 'B' } else { 'A' };
        let changed: String =
            good.char_indices().map(|(n, c)| if n == at { other } else { c }).collect();
        client.token = Some(changed);
        unauthenticated(client.get("/owners/alice/lockers"));
    }
    client.token = Some(good);
    client.get("/owners/alice/lockers").is(200);
}

#[test]
fn a_token_chooses_neither_its_algorithm_nor_its_key() {
    let scene = Scene::start();
    let payload = jwt::claims("alice", &["operator"], &[]).to_string();
    for header in [
        r#"{"alg":"none","typ":"JWT"}"#,
        r#"{"alg":"None"}"#,
        r#"{"alg":""}"#,
        r#"{"typ":"JWT"}"#,
        "{}",
        r#"{"alg":"HS384","typ":"JWT"}"#,
        r#"{"alg":"HS512","typ":"JWT"}"#,
        r#"{"alg":"RS256","typ":"JWT"}"#,
        r#"{"alg":"hs256","typ":"JWT"}"#,
        r#"{"alg":["HS256"]}"#,
        r#"{"alg":"HS256","crit":["x"],"x":1}"#,
        r#"{"alg":"none","alg":"HS256"}"#,
        "[]",
        "null",
        "",
        "x",
    ] {
        // Signed rightly, and not at all.
        refused(&scene, &jwt::signed(&scene.secret, header, &payload));
        refused(&scene, &format!("{}.{}.", BASE64.encode(header), BASE64.encode(&payload)));
    }
    for secret in
        ["", "secret", "latchkey", &scene.secret.to_uppercase(), &format!("{} ", scene.secret)]
    {
        refused(&scene, &jwt::signed(secret, HEADER, &payload));
    }
    let other = Scene::start();
    refused(&scene, &jwt::signed(&other.secret, HEADER, &payload));
}

#[test]
fn a_token_is_good_for_a_time() {
    let scene = Scene::start();
    let now = jwt::now();
    for exp in [
        json!(now - 3600),
        json!(now - 30),
        json!(0),
        json!(-1),
        json!("9999999999"),
        json!(null),
        json!([]),
        json!(true),
    ] {
        refused(&scene, &jwt::token(&scene.secret, &with("exp", exp)));
    }
    for nbf in [json!(now + 3600), json!(now + 30), json!("0"), json!(null)] {
        refused(&scene, &jwt::token(&scene.secret, &with("nbf", nbf)));
    }
    refused(&scene, &jwt::token(&scene.secret, &without("exp")));
    believed(&scene, &jwt::token(&scene.secret, &with("exp", json!(now + 60))));
    believed(&scene, &jwt::token(&scene.secret, &with("exp", json!(9_999_999_999_u64))));
    // The clock of the calls is not the clock of the tokens.
    let mut late = scene.person("alice").at("2099-01-01T00:00:00Z");
    late.get("/owners/alice/lockers").is(200);
}

#[test]
fn a_token_is_of_our_issuer_and_for_us() {
    let scene = Scene::start();
    for name in ["aud", "iss"] {
        refused(&scene, &jwt::token(&scene.secret, &without(name)));
        for value in
            [json!("other"), json!("Latchkey"), json!(""), json!(null), json!(1), json!({})]
        {
            refused(&scene, &jwt::token(&scene.secret, &with(name, value)));
        }
    }
    for audience in [json!([]), json!(["other"]), json!(["latchkey", 1])] {
        refused(&scene, &jwt::token(&scene.secret, &with("aud", audience)));
    }
    refused(&scene, &jwt::token(&scene.secret, &with("iss", json!(["latchkey"]))));
}

#[test]
fn the_caller_is_an_id() {
    let scene = Scene::start();
    refused(&scene, &jwt::token(&scene.secret, &without("sub")));
    for sub in [
        json!("a#b"),
        json!("OWNER#alice"),
        json!(""),
        json!(" "),
        json!("a b"),
        json!("é"),
        json!("a/b"),
        json!("x".repeat(129)),
        json!(1),
        json!(null),
        json!(["alice"]),
        json!("a\u{0}"),
    ] {
        refused(&scene, &jwt::token(&scene.secret, &with("sub", sub)));
    }
    let longest = "x".repeat(128);
    scene.person(&longest).get(&format!("/owners/{longest}/lockers")).is(200);
    scene.person("a.b_c:d@e|f-g").get("/owners/a.b_c:d@e%7Cf-g/lockers").is(200);
}

#[test]
fn roles_and_organisations_are_lists() {
    let scene = Scene::start();
    for name in ["roles", "orgs"] {
        for value in [
            json!("operator"),
            json!({"operator": true}),
            json!([1]),
            json!([["operator"]]),
            json!(1),
            json!([null]),
        ] {
            refused(&scene, &jwt::token(&scene.secret, &with(name, value)));
        }
    }
    refused(&scene, &jwt::token(&scene.secret, &with("orgs", json!(["a#b"]))));
    believed(
        &scene,
        &jwt::token(&scene.secret, &with("roles", json!(["x", "y", "operator", "x"]))),
    );
    // What is claimed twice is claimed by nobody.
    let claims = jwt::claims("bob", &[], &[]).to_string();
    let doubled = claims.replace("\"sub\":\"bob\"", "\"sub\":\"bob\",\"sub\":\"alice\"");
    refused(&scene, &jwt::signed(&scene.secret, HEADER, &doubled));
    for payload in ["", "{", "[]", "null", "x", "{}"] {
        refused(&scene, &jwt::signed(&scene.secret, HEADER, payload));
    }
}

#[test]
fn a_token_is_asked_for_before_anything_else_is_told() {
    let scene = Scene::start();
    scene.locker("L1", "alice");
    let mut nobody = scene.nobody();
    for (method, path, body) in [
        ("GET", "/lockers/L1", None),
        ("GET", "/lockers/L9", None),
        ("GET", "/lockers/%23", None),
        ("GET", "/lockers/L1?colour=red", None),
        ("POST", "/lockers", Some("{")),
        ("POST", "/lockers", Some(r#"{"lockerId":"L1","ownerId":"alice"}"#)),
        ("PUT", "/lockers/L1/status", Some("{}")),
    ] {
        nobody.send(method, path, &[], body).refuses(401, "unauthenticated");
    }
}
