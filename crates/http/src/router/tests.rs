use proptest::prelude::*;

use super::*;

fn segments(path: &str) -> Vec<Segment> {
    let parts = path.split('/').skip(1).filter(|part| !part.is_empty());
    let segment = |part: &str| match part {
        "{}" => Segment::Parameter,
        text => Segment::Literal(text.to_owned()),
    };
    parts.map(segment).collect()
}

fn router(routes: &[&str]) -> Router<String> {
    let mut router = Router::new();
    for route in routes {
        let (method, path) = route.split_once(' ').expect("method and path");
        router.add(0, method, segments(path), (*route).to_owned()).expect("no clash");
    }
    router
}

/// What was found, in one line: the route and its parameters, the methods, or nothing.
fn found(router: &Router<String>, method: &str, path: &str) -> String {
    match router.find(method, path) {
        Matched::Route { target, parameters } => {
            let texts = parameters.iter().map(|parameter| match parameter {
                Ok(text) => format!(" [{text}]"),
                Err(bad) => format!(" !{bad:?}"),
            });
            format!("{target}{}", texts.collect::<String>())
        }
        Matched::Method { allow } => format!("405 {}", allow.join(", ")),
        Matched::Nothing => "404".to_owned(),
    }
}

#[test]
fn finds_the_route_and_its_parameters() {
    let router = router(&[
        "GET /",
        "GET /lockers",
        "POST /lockers",
        "GET /lockers/{}",
        "DELETE /lockers/{}",
        "POST /lockers/import",
        "GET /lockers/{}/events/{}",
        "GET /lockers/{}/events/{}/parts",
        "HEAD /doors",
        "GET /doors",
        "PUT /only",
    ]);
    for (method, path, expected) in [
        ("GET", "/", "GET /"),
        ("GET", "/lockers", "GET /lockers"),
        ("POST", "/lockers", "POST /lockers"),
        ("GET", "/lockers/a", "GET /lockers/{} [a]"),
        ("GET", "/lockers/a/events/b", "GET /lockers/{}/events/{} [a] [b]"),
        ("GET", "/lockers/a/events/b/parts", "GET /lockers/{}/events/{}/parts [a] [b]"),
        // The literal branch has another method only: the parameter is meant.
        ("GET", "/lockers/import", "GET /lockers/{} [import]"),
        ("DELETE", "/lockers/import", "DELETE /lockers/{} [import]"),
        ("POST", "/lockers/import", "POST /lockers/import"),
        ("POST", "/lockers/other", "405 DELETE, GET, HEAD"),
        ("PUT", "/lockers/import", "405 DELETE, GET, HEAD, POST"),
        ("PATCH", "/", "405 GET, HEAD"),
        ("GET", "/only", "405 PUT"),
        ("HEAD", "/only", "405 PUT"),
        ("get", "/lockers", "405 GET, HEAD, POST"),
        ("HEAD", "/lockers/a", "GET /lockers/{} [a]"),
        ("HEAD", "/doors", "HEAD /doors"),
        ("GET", "/nowhere", "404"),
        ("GET", "/Lockers", "404"),
        ("GET", "/lockers/a/events", "404"),
        ("GET", "/lockers/a/events/b/parts/c", "404"),
        ("OPTIONS", "*", "404"),
        ("GET", "", "404"),
        ("GET", "lockers", "404"),
    ] {
        assert_eq!(found(&router, method, path), expected, "{method} {path}");
    }
}

#[test]
fn an_empty_segment_is_an_empty_parameter_and_never_a_literal() {
    let router = router(&["GET /a", "GET /a/{}/b", "GET /c/{}", "PUT /c/{}/"]);
    for (path, expected) in [
        ("/a/", "404"),
        ("//a", "404"),
        ("//", "404"),
        ("/a//b", "GET /a/{}/b []"),
        ("/a//b/", "404"),
        ("/c/", "GET /c/{} []"),
        ("/c//", "404"),
    ] {
        assert_eq!(found(&router, "GET", path), expected, "{path}");
    }
}

#[test]
fn parameters_and_literals_are_compared_decoded() {
    let router = router(&["GET /a b/{}", "GET /é/{}"]);
    for (path, expected) in [
        ("/a%20b/x", "GET /a b/{} [x]"),
        ("/%61%20b/x", "GET /a b/{} [x]"),
        ("/%c3%A9/x", "GET /é/{} [x]"),
        ("/é/x", "GET /é/{} [x]"),
        ("/a+b/x", "404"),
        ("/a%20b%2Fx", "404"),
        ("/a%2/x", "404"),
        ("/a%20b/1%2F2", "GET /a b/{} [1/2]"),
        ("/a%20b/%E2%82%AC", "GET /a b/{} [€]"),
        ("/a%20b/1+2", "GET /a b/{} [1+2]"),
        ("/a%20b/1+%32", "GET /a b/{} [1+2]"),
        ("/a%20b/%2525", "GET /a b/{} [%25]"),
        ("/a%20b/%", "GET /a b/{} !Percent"),
        ("/a%20b/%4", "GET /a b/{} !Percent"),
        ("/a%20b/%4g", "GET /a b/{} !Percent"),
        ("/a%20b/%+4", "GET /a b/{} !Percent"),
        ("/a%20b/%é", "GET /a b/{} !Percent"),
        ("/a%20b/%ff", "GET /a b/{} !Utf8"),
        ("/a%20b/%C3", "GET /a b/{} !Utf8"),
        ("/a%20b/%ed%a0%80", "GET /a b/{} !Utf8"),
        // An overlong slash is no slash.
        ("/a%20b/%c0%af", "GET /a b/{} !Utf8"),
        ("/a%20b/..", "GET /a b/{} [..]"),
    ] {
        assert_eq!(found(&router, "GET", path), expected, "{path}");
    }
}

#[test]
fn plain_parameters_are_borrowed() {
    let router = router(&["GET /a/{}"]);
    let Matched::Route { parameters, .. } = router.find("GET", "/a/plain") else { panic!("found") };
    assert!(matches!(parameters.as_slice(), [Ok(Cow::Borrowed("plain"))]));
}

#[test]
fn a_clash_names_both_and_a_path() {
    for (routes, expected) in [
        (["GET /a", "GET /a"], Some("/a")),
        (["GET /", "GET /"], Some("/")),
        (["GET /a/{}", "GET /a/b"], Some("/a/b")),
        (["GET /a/b", "GET /{}/b"], Some("/a/b")),
        (["GET /a/{}", "GET /{}/b"], Some("/a/b")),
        (["GET /{}/{}", "GET /{}/{}"], Some("/{}/{}")),
        (["GET /{}/x/{}", "GET /a/{}/{}"], Some("/a/x/{}")),
        (["GET /a", "POST /a"], None),
        (["GET /a", "HEAD /a"], None),
        (["GET /a", "GET /b"], None),
        (["GET /{}", "GET /a/b"], None),
        (["GET /", "GET /{}"], None),
        (["GET /{}/b", "GET /a/c"], None),
        (["GET /a/{}/c", "GET /b/{}/c"], None),
    ] {
        let (mut router, mut group) = (Router::new(), 0);
        let mut add = |route: &'static str| {
            let (method, path) = route.split_once(' ').expect("method and path");
            group += 1;
            router.add(group, method, segments(path), route)
        };
        let [earlier, later] = routes;
        assert_eq!(add(earlier), Ok(()));
        let method = "GET".to_owned();
        let clash = |path: &str| Clash { method, path: path.to_owned(), earlier, later };
        assert_eq!(add(later).err(), expected.map(clash), "{routes:?}");
    }
    let mut router = router(&["GET /a/{}"]);
    let refused = router.add(1, "GET", segments("/a/b"), "B".to_owned()).expect_err("a clash");
    assert_eq!(refused.to_string(), "`GET /a/b` can mean `GET /a/{}` or `B`");
    assert_eq!(found(&router, "GET", "/a/b"), "GET /a/{} [b]", "the refused route left no trace");
}

#[test]
fn within_a_group_the_more_literal_route_goes_first() {
    for routes in [["GET /a/{}", "GET /a/b"], ["GET /a/b", "GET /a/{}"]] {
        let router = router(&routes);
        assert_eq!(found(&router, "GET", "/a/b"), "GET /a/b");
        assert_eq!(found(&router, "GET", "/a/c"), "GET /a/{} [c]");
    }
    let mut router = router(&["GET /a/{}"]);
    assert!(router.add(0, "GET", segments("/a/{}"), "again".to_owned()).is_err());
}

#[test]
fn a_path_of_any_length_is_looked_up_without_going_deep() {
    let router = router(&["GET /{}/{}"]);
    let deep = "/x".repeat(1_000_000);
    assert_eq!(found(&router, "GET", &deep), "404");
}

#[test]
fn a_query_is_read_as_forms_are() {
    let pairs = |text: &str| {
        let pairs = query(text).map(|(name, value)| {
            let show = |part: Decoded<'_>| match part {
                Ok(text) => text.into_owned(),
                Err(bad) => format!("!{bad:?}"),
            };
            format!("{}: {}", show(name), show(value))
        });
        pairs.collect::<Vec<_>>()
    };
    for (text, expected) in [
        ("", vec![]),
        ("&&", vec![]),
        ("a=1&b=2", vec!["a: 1", "b: 2"]),
        ("a=1&&a=2&", vec!["a: 1", "a: 2"]),
        ("a", vec!["a: "]),
        ("a=", vec!["a: "]),
        ("=1", vec![": 1"]),
        ("a=b=c", vec!["a: b=c"]),
        ("a+b=c+d%2B", vec!["a b: c d+"]),
        ("t=2026-02-25T10%3A00%3A00%2b01%3a00", vec!["t: 2026-02-25T10:00:00+01:00"]),
        ("a%26b=c%3Dd", vec!["a&b: c=d"]),
        ("a;b=1", vec!["a;b: 1"]),
        ("%zz=1&a=%ff&é=%C3%A9", vec!["!Percent: 1", "a: !Utf8", "é: é"]),
    ] {
        assert_eq!(pairs(text), expected, "{text}");
    }
    let hundred = ["a=1"; 100].join("&");
    assert!(pairs(&hundred).iter().all(|pair| pair == "a: 1"));
    assert_eq!(pairs(&hundred).len(), 100);
    let more = pairs(&format!("{hundred}&b=2&c=3"));
    assert_eq!(more.len(), 101);
    assert_eq!(more.last().map(String::as_str), Some("!TooMany: !TooMany"));
}

/// Whether a path matches a shape, said again without a tree.
fn matches(shape: &[Segment], path: &[&str]) -> bool {
    let fits = |(segment, text): (&Segment, &&str)| match segment {
        Segment::Literal(literal) => literal == text,
        Segment::Parameter => true,
    };
    shape.len() == path.len() && shape.iter().zip(path).all(fits)
}

fn any_shape() -> impl Strategy<Value = Vec<Segment>> {
    let literal = prop::sample::select(vec!["a", "b"]).prop_map(|s| Segment::Literal(s.to_owned()));
    prop::collection::vec(prop_oneof![literal, Just(Segment::Parameter)], 0..4)
}

fn any_method() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["GET", "HEAD", "POST"])
}

/// Every path of up to four words, one of them in no route and one empty.
fn all_paths() -> Vec<Vec<&'static str>> {
    let mut paths = vec![vec![]];
    let mut last = paths.clone();
    for _ in 0..4 {
        let longer = |path: &Vec<&'static str>| {
            let path = path.clone();
            ["a", "b", "z", ""].into_iter().map(move |word| [path.as_slice(), &[word]].concat())
        };
        last = last.iter().flat_map(longer).collect();
        paths.extend(last.clone());
    }
    // A lone slash has no segment, so a single empty one cannot be written.
    paths.retain(|path| path.as_slice() != [""]);
    paths
}

proptest! {
    #[test]
    fn agrees_with_a_look_at_every_route(
        routes in prop::collection::vec((any_method(), any_shape()), 0..12),
        method in any_method(),
    ) {
        let mut router = Router::new();
        let mut kept: Vec<(&str, &[Segment], usize)> = Vec::new();
        let paths = all_paths();
        for (at, (method, shape)) in routes.iter().enumerate() {
            let both = |other: &[Segment]| {
                paths.iter().any(|path| matches(shape, path) && matches(other, path))
            };
            let clash = kept.iter().find(|(known, other, _)| known == method && both(other));
            let added = router.add(at, method, shape.clone(), at);
            prop_assert_eq!(added.err().map(|clash| clash.earlier), clash.map(|(.., at)| *at));
            if clash.is_none() {
                kept.push((method, shape, at));
            }
        }
        for path in &paths {
            let text = format!("/{}", path.join("/"));
            let fits: Vec<_> = kept.iter().filter(|(_, shape, _)| matches(shape, path)).collect();
            let of = |method: &str| fits.iter().find(|(known, ..)| *known == method);
            let wanted = of(method).or_else(|| of("GET").filter(|_| method == "HEAD"));
            match (router.find(method, &text), wanted) {
                (Matched::Route { target, parameters }, Some((_, shape, at))) => {
                    prop_assert_eq!(target, at);
                    let open = shape.iter().zip(path).filter(|(s, _)| **s == Segment::Parameter);
                    let open: Vec<_> = open.map(|(_, text)| Ok(Cow::Borrowed(*text))).collect();
                    prop_assert_eq!(parameters, open);
                }
                (Matched::Method { allow }, None) => {
                    let known = |method: &&str| {
                        of(method).is_some() || (*method == "HEAD" && of("GET").is_some())
                    };
                    let expected: Vec<_> = ["GET", "HEAD", "POST"].into_iter().filter(known).collect();
                    prop_assert!(!expected.is_empty());
                    prop_assert_eq!(allow, expected);
                }
                (Matched::Nothing, None) => prop_assert!(fits.is_empty()),
                (found, wanted) => prop_assert!(false, "{text}: {found:?}, not {wanted:?}"),
            }
        }
    }

    #[test]
    fn any_text_is_encoded_and_found_again(text in ".*", plus in any::<bool>()) {
        let encoded: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
        prop_assert_eq!(decode(&encoded, plus), Ok(Cow::Borrowed(text.as_str())));
    }

    #[test]
    fn any_path_and_query_are_read_or_refused(path in "[/%a-f0-9é+&=]*", text in ".*") {
        let router = router(&["GET /{}", "GET /a/{}"]);
        let _ = (router.find("GET", &path), router.find("GET", &text));
        prop_assert!(query(&path).count() <= 101);
        prop_assert!(query(&text).count() <= 101);
    }
}
