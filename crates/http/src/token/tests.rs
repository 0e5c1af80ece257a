use proptest::prelude::*;

use super::*;

const SECRET: &[u8] = b"0123456789abcdef0123456789ABCDEF";
/// 2026-02-25T09:00:00Z, and an hour later.
const NOW_MS: i64 = 1_772_010_000_000;
const EXP: i64 = 1_772_013_600;
const HOUR: Duration = Duration::from_secs(3_600);

/// `{"iss":"latchkey","aud":"api","sub":"alice","exp":1772013600,"roles":["operator","é"],
/// "orgs":["acme:1"]}`, signed by Python's `hmac` with the secret above.
const PLAIN: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJsYXRjaGtleSIsImF1ZCI6ImFwaSIsInN\
    1YiI6ImFsaWNlIiwiZXhwIjoxNzcyMDEzNjAwLCJyb2xlcyI6WyJvcGVyYXRvciIsIsOpIl0sIm9yZ3MiOlsiYWNtZToxIl\
    19.4oBLLHq_Vf0a1EhyQ9L6xdJNoT6wLvppvZG-qPeopqU";

fn tokens() -> Tokens {
    Tokens::new(SECRET, "latchkey", "api").expect("long enough")
}

fn encode(text: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(text)
}

/// Signs two parts as they are, whatever they say.
fn signed(header: &str, payload: &str) -> String {
    let text = format!("{header}.{payload}");
    let mac = Hmac::<Sha256>::new_from_slice(SECRET).expect("any length");
    let signature = mac.chain_update(&text).finalize().into_bytes();
    format!("{text}.{}", encode(signature))
}

fn forged(header: &str, payload: &str) -> String {
    signed(&encode(header), &encode(payload))
}

fn verified(payload: &str) -> Result<Claims, TokenError> {
    tokens().verify(&forged(r#"{"alg":"HS256"}"#, payload), NOW_MS)
}

fn claims(sub: &str, roles: &[&str], orgs: &[&str]) -> Claims {
    let texts = |texts: &[&str]| texts.iter().copied().map(Text::from).collect();
    Claims { sub: sub.into(), roles: texts(roles), orgs: texts(orgs) }
}

/// The payload of a good token, with some claims replaced, or left out where there is no value.
fn payload(changes: &[(&str, Option<&str>)]) -> String {
    let good =
        [("iss", "\"latchkey\""), ("aud", "\"api\""), ("sub", "\"u\""), ("exp", "1772013600")];
    let good = good.into_iter().filter(|(name, _)| changes.iter().all(|(other, _)| other != name));
    let changed = changes.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
    let parts = good.chain(changed).map(|(name, value)| format!("\"{name}\":{value}"));
    format!("{{{}}}", parts.collect::<Vec<_>>().join(","))
}

#[test]
fn tokens_made_elsewhere_are_understood() {
    // Both by Python's `hmac`; the second has white space, a list of audiences, fractions and a claim
    // that is not ours.
    let rich = "eyAidHlwIiA6ICJqd3QiLCAiYWxnIiA6ICJIUzI1NiIgfQ.eyJzdWIiOiJ1fDEiLCJhdWQiOlsieCIsImFwaSJ\
        dLCJpc3MiOiJsYXRjaGtleSIsIm5iZiI6MTc3MjAxMDAwMC41LCJpYXQiOjE3NzIwMTAwMDAsImV4cCI6MTc3MjAxMzYwMC4\
        yNSwieCI6eyJ5IjpbbnVsbF19fQ.yXdkuWMPPnBlptD5Jfhc8Hmyk4aezLutuuh3vXG5f-U";
    let plain = claims("alice", &["operator", "é"], &["acme:1"]);
    assert_eq!(tokens().verify(PLAIN, NOW_MS), Ok(plain));
    assert_eq!(tokens().verify(rich, NOW_MS), Ok(claims("u|1", &[], &[])));
}

#[test]
fn the_example_of_rfc_7515_is_signed_but_for_nobody() {
    let key =
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
    let key = URL_SAFE_NO_PAD.decode(key).expect("base64");
    let token = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODA\
        sDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let tokens = Tokens::new(&key, "joe", "api").expect("long enough");
    assert_eq!(tokens.verify(token, 1_300_819_000_000), Err(TokenError::Missing("aud")));
}

#[test]
fn a_token_made_here_is_the_one_python_makes() {
    let token = tokens().sign(&claims("alice", &["operator"], &["acme:1"]), NOW_MS + 999, HOUR);
    let expected = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhdWQiOiJhcGkiLCJleHAiOjE3NzIwMTM2MDAsImlhd\
        CI6MTc3MjAxMDAwMCwiaXNzIjoibGF0Y2hrZXkiLCJvcmdzIjpbImFjbWU6MSJdLCJyb2xlcyI6WyJvcGVyYXRvciJdLCJz\
        dWIiOiJhbGljZSJ9.Hdze8MMLiqIJqtxbU_neAqBzpp97jNASBchwUo6p26w";
    assert_eq!(token.as_deref(), Ok(expected));
}

#[test]
fn no_header_but_ours_is_accepted_even_if_signed() {
    let good = payload(&[]);
    for (header, accepted) in [
        (r#"{"alg":"HS256"}"#, true),
        (r#"{"alg":"HS256","typ":"JWT"}"#, true),
        (r#"{"typ":"jWt","alg":"HS256","kid":"1"}"#, true),
        (r#"{"alg":"none"}"#, false),
        (r#"{"alg":"HS384"}"#, false),
        (r#"{"alg":"HS512"}"#, false),
        (r#"{"alg":"RS256"}"#, false),
        (r#"{"alg":"hs256"}"#, false),
        (r#"{"alg":["HS256"]}"#, false),
        (r#"{"alg":null}"#, false),
        (r#"{"typ":"JWT"}"#, false),
        (r#"{"alg":"HS256","alg":"HS256"}"#, false),
        (r#"{"alg":"HS256","typ":"JWS"}"#, false),
        (r#"{"alg":"HS256","typ":null}"#, false),
        (r#"{"alg":"HS256","crit":[]}"#, false),
        (r#"{"alg":"HS256","crit":["exp"]}"#, false),
        (r#"{"alg":"HS256","crit":null}"#, false),
        (r#""HS256""#, false),
        ("[]", false),
        ("", false),
    ] {
        let expected = if accepted { Ok(claims("u", &[], &[])) } else { Err(TokenError::Header) };
        assert_eq!(tokens().verify(&forged(header, &good), NOW_MS), expected, "{header}");
    }
}

#[test]
fn an_unsigned_or_otherwise_signed_token_is_refused() {
    // Made by Python's `hmac` with SHA-384 and our secret.
    let longer = "eyJhbGciOiJIUzM4NCIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJsYXRjaGtleSIsImF1ZCI6ImFwaSIsInN1YiI\
        6ImFsaWNlIiwiZXhwIjoxNzcyMDEzNjAwfQ.K02y1ebrj3Gv7yeYqSorCg7Kh2kMOpzAWdl9OTsUX87Z--h44nNI3vd4XEE\
        mAHzF";
    let none = format!("{}.{}.", encode(r#"{"alg":"none"}"#), encode(payload(&[])));
    let (cut, _) = PLAIN.rsplit_once('.').expect("parts");
    for token in [longer, &none, &format!("{cut}."), &format!("{cut}.AAAA"), ".."] {
        assert_eq!(tokens().verify(token, NOW_MS), Err(TokenError::Signature), "{token}");
    }
    let other = Tokens::new(b"another secret, but as long a one", "latchkey", "api");
    assert_eq!(other.expect("long").verify(PLAIN, NOW_MS), Err(TokenError::Signature));
}

#[test]
fn changing_any_character_is_noticed() {
    for at in 0..PLAIN.len() {
        for to in [b'A', b'B', b'_', b'.', b'=', b' '] {
            let mut changed = PLAIN.as_bytes().to_vec();
            if changed[at] == to {
                continue;
            }
            changed[at] = to;
            let changed = String::from_utf8(changed).expect("ASCII");
            let refused = tokens().verify(&changed, NOW_MS).expect_err("changed");
            let noticed = matches!(refused, TokenError::Signature | TokenError::Malformed);
            assert!(noticed, "{changed}: {refused:?}");
        }
    }
}

#[test]
fn a_token_has_one_spelling() {
    let parts: Vec<&str> = PLAIN.split('.').collect();
    let [header, payload, signature] = parts.as_slice() else { panic!("three parts") };
    // 43 characters are 258 bits: the last two are spare, and `U` and `V` differ in them alone.
    let spare = signature.strip_suffix('U').expect("the last character");
    // A payload of 4 bytes has 4 bits to spare; signed as it is written.
    let loose = signed(header, "e30AAB");
    let standard = PLAIN.replace('-', "+").replace('_', "/");
    for token in [
        format!("{header}.{payload}.{spare}V"),
        loose,
        format!("{PLAIN}="),
        format!("{header}.{payload}==.{signature}"),
        signed(&format!("{header}="), payload),
        signed(header, &format!("{payload}=")),
        format!(" {PLAIN}"),
        format!("{PLAIN}\n"),
        format!("{header}. {payload}.{signature}"),
        standard,
        format!("{PLAIN}."),
        format!("{PLAIN}.{signature}"),
        format!(".{PLAIN}"),
        format!("{header}.{payload}"),
        (*header).to_owned(),
        String::new(),
        "é.é.é".to_owned(),
    ] {
        assert_eq!(tokens().verify(&token, NOW_MS), Err(TokenError::Malformed), "{token}");
    }
}

#[test]
fn a_token_is_at_most_8_kib() {
    let of = |bytes: usize| {
        let filler = format!("\"{}\"", "x".repeat(bytes));
        forged(r#"{"alg":"HS256"}"#, &payload(&[("x", Some(&filler))]))
    };
    let most = (5_900..6_200).map(of).take_while(|token| token.len() <= 8_192).last();
    let most = most.expect("some fit");
    assert!(most.len() > 8_190 - 2, "{}", most.len());
    assert_eq!(tokens().verify(&most, NOW_MS), Ok(claims("u", &[], &[])));
    assert_eq!(tokens().verify(&of(6_200), NOW_MS), Err(TokenError::TooLong));
    assert_eq!(tokens().verify(&"a.".repeat(1 << 20), NOW_MS), Err(TokenError::TooLong));
}

#[test]
fn each_claim_is_required_and_of_its_type() {
    let wrong = |name: &'static str| match name {
        "exp" | "nbf" | "iat" => TokenError::Claim(name, "a number of seconds"),
        "aud" => TokenError::Claim(name, "a text or a list of texts"),
        "roles" | "orgs" => TokenError::Claim(name, "a list of texts"),
        _ => TokenError::Claim(name, "a text"),
    };
    for name in ["iss", "aud", "sub", "exp"] {
        assert_eq!(verified(&payload(&[(name, None)])), Err(TokenError::Missing(name)));
    }
    for name in ["iss", "aud", "sub", "exp", "nbf", "iat", "roles", "orgs"] {
        for value in ["null", "true", "{}", "[1]", "[[]]", "[null]"] {
            let found = verified(&payload(&[(name, Some(value))]));
            assert_eq!(found, Err(wrong(name)), "{name} {value}");
        }
    }
    for (name, value) in [
        ("exp", "\"1772013600\""),
        ("nbf", "\"0\""),
        ("iat", "\"0\""),
        ("iss", "1"),
        ("aud", "1"),
        ("aud", r#"["api",1]"#),
        ("sub", "1"),
        ("roles", "\"admin\""),
        ("roles", r#"["admin",1]"#),
        ("orgs", "\"acme\""),
    ] {
        assert_eq!(verified(&payload(&[(name, Some(value))])), Err(wrong(name)), "{name} {value}");
    }
    for text in ["", "[]", "1", "{", "{}x", "\u{feff}{}", "{\"a\":\"\0\"}"] {
        assert_eq!(verified(text), Err(TokenError::Payload), "{text}");
    }
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(40), "]".repeat(40));
    for (text, error) in [
        (r#"{"exp":1,"exp":2}"#, TokenError::PayloadTwice),
        (&deep, TokenError::PayloadDeep),
        (r#"{"exp":01}"#, TokenError::PayloadNumber),
    ] {
        assert_eq!(verified(text), Err(error), "{text}");
    }
}

#[test]
fn issuer_and_audience_are_compared_whole() {
    for (name, value, expected) in [
        ("iss", "\"latchkey2\"", Some(TokenError::Issuer)),
        ("iss", "\"latchke\"", Some(TokenError::Issuer)),
        ("iss", "\"Latchkey\"", Some(TokenError::Issuer)),
        ("iss", "\"\"", Some(TokenError::Issuer)),
        ("aud", "\"apis\"", Some(TokenError::Audience)),
        ("aud", "\"\"", Some(TokenError::Audience)),
        ("aud", "[]", Some(TokenError::Audience)),
        ("aud", r#"["a","pi"]"#, Some(TokenError::Audience)),
        ("aud", r#"["api"]"#, None),
        ("aud", r#"["other","api"]"#, None),
        ("aud", "\"\\u0061pi\"", None),
    ] {
        assert_eq!(verified(&payload(&[(name, Some(value))])).err(), expected, "{name} {value}");
    }
}

#[test]
fn times_are_kept_to_five_seconds_and_to_the_millisecond() {
    let exp_ms = EXP * 1_000;
    let at = |changes: &[(&str, Option<&str>)], now_ms: i64| {
        tokens().verify(&forged(r#"{"alg":"HS256"}"#, &payload(changes)), now_ms).err()
    };
    let expired = Some(TokenError::Expired);
    let early = Some(TokenError::TooEarly);
    for (now_ms, expected) in [
        (exp_ms - 1, None),
        (exp_ms, None),
        (exp_ms + 4_999, None),
        (exp_ms + 5_000, expired),
        (exp_ms + 60_000, expired),
        (i64::MAX, expired),
        (i64::MIN, None),
    ] {
        assert_eq!(at(&[], now_ms), expected, "{now_ms}");
    }
    for (exp, expected) in [
        ("1772009995", expired),
        ("1772009995.0000001", None),
        ("1772009994.9999999", expired),
        ("1.7720099951e9", None),
        ("0", expired),
        ("-1", expired),
        ("1e100", None),
        ("-1e100", expired),
    ] {
        assert_eq!(at(&[("exp", Some(exp))], NOW_MS), expected, "exp {exp}");
    }
    for (nbf, expected) in [
        ("1772010005", None),
        ("1772010005.001", early),
        ("1772010004.9", None),
        ("1772010060", early),
        ("-5", None),
        ("1e100", early),
    ] {
        assert_eq!(at(&[("nbf", Some(nbf))], NOW_MS), expected, "nbf {nbf}");
    }
    assert_eq!(at(&[("iat", Some("9e99"))], NOW_MS), None, "when it was made does not matter");
    assert_eq!(at(&[("nbf", Some("0"))], i64::MAX), expired);
}

#[test]
fn who_the_caller_is_can_forge_no_key() {
    let long = "a".repeat(128);
    for sub in ["a", "A.b_c:d@e|f-9", &long] {
        let value = format!("\"{sub}\"");
        assert_eq!(verified(&payload(&[("sub", Some(&value))])), Ok(claims(sub, &[], &[])));
        let orgs = format!("[\"{sub}\",\"{sub}\"]");
        let found = verified(&payload(&[("orgs", Some(&orgs))]));
        assert_eq!(found, Ok(claims("u", &[], &[sub, sub])));
    }
    let longer = "a".repeat(129);
    for sub in ["", "a#b", "a b", "a/b", "é", "a\\n", "a\\u0000", "*", "a~", &longer] {
        let found = verified(&payload(&[("sub", Some(&format!("\"{sub}\"")))]));
        assert!(matches!(found, Err(TokenError::Claim("sub", _))), "{sub}: {found:?}");
        let found = verified(&payload(&[("orgs", Some(&format!("[\"a\",\"{sub}\"]")))]));
        assert!(matches!(found, Err(TokenError::Claim("orgs", _))), "{sub}: {found:?}");
    }
}

#[test]
fn lists_are_bounded() {
    let list = |count: usize, bytes: usize| {
        let texts = vec![format!("\"{}\"", "r".repeat(bytes)); count];
        format!("[{}]", texts.join(","))
    };
    for name in ["roles", "orgs"] {
        for (count, bytes, fits) in
            [(0, 0, true), (100, 1, true), (101, 1, false), (1, 128, true), (1, 129, false)]
        {
            let found = verified(&payload(&[(name, Some(&list(count, bytes)))]));
            assert_eq!(found.is_ok(), fits, "{name} {count} {bytes}: {found:?}");
            if let Err(error) = found {
                assert!(matches!(error, TokenError::Claim(refused, _) if refused == name));
            }
        }
    }
    assert_eq!(verified(&payload(&[("roles", Some("[\"\"]"))])), Ok(claims("u", &[""], &[])));
}

#[test]
fn what_would_be_refused_is_not_signed() {
    let many = vec!["r"; 101];
    let long = "o".repeat(128);
    for (claims, expected) in [
        (
            claims("a#b", &[], &[]),
            "the token's `sub` must be an id: 1 to 128 of A-Z a-z 0-9 . _ : @ | -, and not `.` or `..`",
        ),
        (
            claims("..", &[], &[]),
            "the token's `sub` must be an id: 1 to 128 of A-Z a-z 0-9 . _ : @ | -, and not `.` or `..`",
        ),
        (
            claims("a", &many, &[]),
            "the token's `roles` must be a list of at most 100 texts of 128 bytes",
        ),
        (
            claims("a", &[], &[""]),
            "the token's `orgs` must be a list of at most 100 ids: each 1 to 128 of A-Z a-z 0-9 . _ : @ | -",
        ),
        (claims("a", &[], &vec![long.as_str(); 100]), "the token is longer than 8192 bytes"),
    ] {
        let refused = tokens().sign(&claims, NOW_MS, HOUR).expect_err("refused");
        assert_eq!(refused.to_string(), expected);
    }
}

#[test]
fn a_short_secret_is_none_and_no_secret_is_shown() {
    let refused = Tokens::new(&SECRET[1..], "i", "a").expect_err("31 bytes");
    assert_eq!(refused.to_string(), "the token secret has 31 bytes; give at least 32");
    let shown = format!("{:?}", tokens());
    assert_eq!(shown, r#"Tokens { issuer: "latchkey", audience: "api", .. }"#);
}

proptest! {
    #[test]
    fn what_is_signed_is_believed_until_it_expires(
        // Not `.` or `..`, which are no ids.
        sub in "[A-Za-z0-9_:@|-][A-Za-z0-9._:@|-]{0,127}",
        roles in prop::collection::vec("\\PC{0,20}", 0..20),
        orgs in prop::collection::vec("[A-Za-z0-9_:@|-][A-Za-z0-9._:@|-]{0,39}", 0..20),
        now_ms in 0..4_000_000_000_000i64,
        lifetime in 1..100_000u32,
    ) {
        let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
        let orgs: Vec<&str> = orgs.iter().map(String::as_str).collect();
        let claims = claims(&sub, &roles, &orgs);
        let token = tokens().sign(&claims, now_ms, Duration::from_secs(lifetime.into()));
        let token = token.expect("within bounds");
        prop_assert_eq!(tokens().verify(&token, now_ms), Ok(claims));
        let late = now_ms + i64::from(lifetime) * 1_000 + 5_000;
        prop_assert_eq!(tokens().verify(&token, late), Err(TokenError::Expired));
    }

    #[test]
    fn any_text_is_refused_without_its_signature(text in ".*", parts in "[A-Za-z0-9_=-]{0,9}(\\.[A-Za-z0-9_-]{0,43}){0,3}") {
        for token in [text, parts] {
            prop_assert!(tokens().verify(&token, NOW_MS).is_err());
        }
    }

    #[test]
    fn any_signed_payload_is_read_or_refused(text in "\\PC*", changes in prop::collection::vec(
        (prop::sample::select(vec!["iss", "aud", "sub", "exp", "nbf", "iat", "roles", "orgs"]),
         prop::sample::select(vec!["1e999", "-0", "[]", "{}", "\"\"", "\"\\ud800\"", "1e-200", "[[[[]]]]"])), 0..4)) {
        let changes: Vec<_> = changes.into_iter().map(|(name, value)| (name, Some(value))).collect();
        let _ = (verified(&text), verified(&payload(&changes)));
    }
}

#[test]
fn a_token_believed_once_is_looked_at_again_for_its_times_and_its_every_character() {
    let claims = Claims { sub: "alice".into(), roles: vec!["operator".into()], orgs: Vec::new() };
    let ours = tokens();
    let token = ours.sign(&claims, NOW_MS, Duration::from_secs(60)).unwrap();
    for _ in 0..3 {
        assert_eq!(ours.verify(&token, NOW_MS), Ok(claims.clone()));
    }
    assert_eq!(ours.verify(&token, NOW_MS + 120_000), Err(TokenError::Expired));
    assert_eq!(ours.verify(&token, NOW_MS), Ok(claims), "the clock went back");
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let first = if signature.starts_with('A') { 'B' } else { 'A' };
    let changed = format!("{signed}.{first}{}", signature.get(1..).unwrap());
    assert_eq!(ours.verify(&changed, NOW_MS), Err(TokenError::Signature));
}
