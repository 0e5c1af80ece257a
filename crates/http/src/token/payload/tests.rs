use super::*;

fn payload(text: &str) -> Map {
    match latchkey_value::json::read(text.as_bytes(), latchkey_value::json::Limits::default()) {
        Ok(Value::Map(map)) => map,
        other => panic!("{text}: {other:?}"),
    }
}

fn found(text: &str, path: &str) -> Result<Option<Value>, NoObject> {
    follow(&payload(text), path).map(Option::<&Value>::cloned)
}

#[test]
fn a_name_comes_before_a_path() {
    let text = |text: &str| Ok(Some(Value::from(text)));
    for (json, path, expected) in [
        (r#"{"a":"1"}"#, "a", text("1")),
        (r#"{"a":{"b":"1"}}"#, "a.b", text("1")),
        (r#"{"a":{"b":"1"},"a.b":"2"}"#, "a.b", text("2")),
        (r#"{"cognito:groups":"1"}"#, "cognito:groups", text("1")),
        (r#"{"https://example.com/orgs":"1"}"#, "https://example.com/orgs", text("1")),
        (r#"{"https://example.com/a":{"orgs":"1"}}"#, "https://example.com/a.orgs", text("1")),
        (
            r#"{"resource_access":{"my.app":{"roles":"1"}}}"#,
            "resource_access.my.app.roles",
            text("1"),
        ),
        // The longest name is followed, also where a shorter one would lead further.
        (r#"{"a":{"b":{"c":"1"}},"a.b":{"d":"2"}}"#, "a.b.c", Ok(None)),
        (r#"{"a":{"b":{"c":"1"}},"a.b":{"d":"2"}}"#, "a.b.d", text("2")),
        (r#"{"a":{"":"1"}}"#, "a.", text("1")),
        (r#"{"":{"a":"1"}}"#, ".a", text("1")),
        (r#"{"a":{"b":"1"}}"#, "a.c", Ok(None)),
        (r#"{"a":{"b":"1"}}"#, "b", Ok(None)),
        ("{}", "a.b", Ok(None)),
        (r#"{"a":"1"}"#, "a.b", Err(NoObject)),
        (r#"{"a":["b"]}"#, "a.b", Err(NoObject)),
        (r#"{"a":null}"#, "a.b", Err(NoObject)),
    ] {
        assert_eq!(found(json, path), expected, "{path} in {json}");
    }
}

#[test]
fn a_text_is_a_list_with_spaces_for_a_provider_alone() {
    let given = ["roles=scope".to_owned(), "orgs=x.orgs".to_owned(), "sub=username".to_owned()];
    let paths = ClaimPaths::read(&given).unwrap();
    let paths = Paths::of(&paths);
    let claims = |text: &str| paths.claims(&payload(text));
    let names = |texts: &[&str]| texts.iter().map(|text| Text::from(*text)).collect::<Vec<_>>();
    for (scope, expected) in [
        (r#""read write""#, names(&["read", "write"])),
        (r#"" read  write ""#, names(&["read", "write"])),
        (r#""admin""#, names(&["admin"])),
        (r#""""#, names(&[])),
        (r#"["a b","c"]"#, names(&["a b", "c"])),
    ] {
        let found = claims(&format!(r#"{{"username":"u","scope":{scope}}}"#)).unwrap();
        assert_eq!(found.roles, expected, "{scope}");
    }
    let found = claims(r#"{"username":"u","x":{"orgs":["acme"]},"sub":"v","orgs":["other"]}"#);
    let found = found.unwrap();
    assert_eq!((found.sub.as_str(), found.orgs), ("u", names(&["acme"])));
    assert_eq!(claims(r#"{"sub":"v"}"#), Err(TokenError::Missing("sub")));
    for wrong in [r#"{"username":"u","scope":null}"#, r#"{"username":"u","scope":[1]}"#] {
        assert!(matches!(claims(wrong), Err(TokenError::Claim("roles", _))), "{wrong}");
    }
    let wrong = claims(r#"{"username":"u","x":"acme"}"#);
    assert!(matches!(wrong, Err(TokenError::Claim("orgs", _))), "{wrong:?}");
    let plain = Paths::PLAIN.claims(&payload(r#"{"sub":"u","roles":"admin"}"#));
    assert_eq!(plain, Err(TokenError::Claim("roles", "a list of texts")));
}

#[test]
fn only_what_is_read_can_be_elsewhere() {
    let read = |given: &[&str]| {
        ClaimPaths::read(&given.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    };
    let paths = read(&["roles=a=b", "aud=client_id"]).unwrap();
    assert_eq!(paths.roles.as_deref(), Some("a=b"));
    assert_eq!(paths.aud.as_deref(), Some("client_id"));
    assert!(matches!(read(&["roles"]), Err(PathError::Form(_))));
    assert!(matches!(read(&["roles="]), Err(PathError::Form(_))));
    assert!(matches!(read(&["iss=x"]), Err(PathError::Claim(_))));
    assert!(matches!(read(&["exp=x"]), Err(PathError::Claim(_))));
    assert!(matches!(read(&["sub=a", "sub=b"]), Err(PathError::Twice(_))));
    assert!(matches!(read(&[&format!("sub={}", "x".repeat(513))]), Err(PathError::Long(_))));
}
