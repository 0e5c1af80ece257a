//! Keys: which patterns can stand in them, which texts they can become, what is refused about them.

use latchkey_model::check;

/// What a document is told whose entity has these attributes and keys.
fn told(members: &str) -> Vec<String> {
    with(members, "")
}

/// The same, with more declarations.
fn with(members: &str, more: &str) -> Vec<String> {
    let text = format!(
        "```contract\nsystem shop\ntable Shop {{ type kind }}\nrole clerk\n\
         entity Article \"ARTICLE\" {{\n{members}\n}}\n{more}\n```\n"
    );
    let found = check(&text).diagnostics;
    // Only the keys are of interest: without an error the document is told to have no contract.
    let beside = |message: &str| message == "the document has no contract";
    let found = found.iter().filter(|one| one.rule.slug() != "unused" && !beside(&one.message));
    found.map(|one| format!("{}: {}", one.rule, one.message)).collect()
}

const NONE: [&str; 0] = [];

/// Two parts of a key by their types, the text between them, and whether two fillings can make one key.
const PARTS: &[(&str, &str, &str, bool)] = &[
    // Honest.
    ("text(50) like \"[^#]{1,50}\"", "#", "text(50) like \"[^#]{1,50}\"", false),
    ("text(50) like \"[a-z][a-z0-9-]{0,30}\"", "#", "id", false),
    ("text(50) like \"[a-z]+\"", "#", "text(9) like \".*\"", false),
    ("text(50) like \"^[a-z]+$\"", "#", "id", false),
    ("text(50) like \"(?i)[a-z]{2}|none\"", "#", "id", false),
    ("text(50) like \"[0-9]{4}\"", "", "id", false),
    ("text(50) like \"[0-9]{4}-[0-9]{2}\"", "", "text(50) like \"[0-9]{4}\"", false),
    ("text(50) like \"[A-Z]{2}|[A-Z]{3}x\"", "", "text(9) like \"[0-9]+\"", false),
    ("text(50) like \"[a-z]+\"", "", "text(9) like \"[0-9]+\"", false),
    ("text(50) like \"[a-z]{1,20}#[a-z]{1,20}\"", "#", "id", false),
    ("text(50) like \"[a-z]{1,20}#[a-z]{1,20}\"", "#", "text(50) like \".*\"", false),
    ("text(50) like \"\\\\w{1,8}\"", "#", "id", false),
    ("ulid", "", "ulid", false),
    ("ON | OFF", "", "id", false),
    ("A | AB", "#", "id", false),
    ("A | AB", "", "int 0..9", false),
    ("int 0..", "#", "int 0..", false),
    // Two fillings, one key.
    ("text(50) like \"[a-z]{1,20}#[a-z]{1,20}\"", "", "id", true),
    ("text(50) like \"[a-z]{1,9}(#[a-z]{1,9})?\"", "#", "text(50) like \"[a-z#]{1,9}\"", true),
    ("text(50) like \"[a-z0-9]{1,30}.[a-z]{2,20}\"", "#", "text(50) like \"[^-]+\"", true),
    ("text(50) like \"[0-9]{1}.*[0-9]{1}\"", "#", "text(50) like \".+\"", true),
    ("text(50) like \"[0-9]{1}.*[0-9]{1}\"", "", "text(50) like \"[0-9]+\"", true),
    ("text(50) like \"[!-0]{1,5}\"", "#", "text(50) like \"[!-0]{1,5}\"", true),
    ("text(50) like \"[a-z]{1,20}\"", "", "id", true),
    ("text(50) like \"[a-z]{0,20}\"", "", "text(50) like \"[a-z]{0,20}\"", true),
    ("text(50) like \"ü|üb\"", "", "text(50) like \"b?c\"", true),
    ("text(50) like \"[^a]+\"", "ä", "text(50) like \"[^a]+\"", true),
    ("A | AB", "", "id", true),
    ("id", "-", "id", true),
    ("int 0..", "", "int 0..", true),
];

#[test]
fn a_part_of_a_key_ends_where_its_pattern_says() {
    for (first, between, second, forged) in PARTS {
        let entity =
            format!("PK = \"A#{{one}}{between}{{two}}\"\nSK = \"META\"\none {first}\ntwo {second}");
        let found = told(&entity);
        assert_eq!(!found.is_empty(), *forged, "{first} {between} {second}: {found:?}");
        assert!(found.iter().all(|one| one.starts_with("forged-key")), "{found:?}");
        let indexed = format!(
            "PK = \"A#{{key}}\"\nSK = \"META\"\nkey id\none {first}\ntwo {second}\n\
             index ByTwo {{ PK = \"T#{{key}}\" SK = \"B#{{one}}{between}{{two}}\" }}"
        );
        let sorted: Vec<String> =
            told(&indexed).into_iter().filter(|one| !one.starts_with("key-order")).collect();
        assert_eq!(!sorted.is_empty(), *forged, "in an index: {sorted:?}");
    }
}

#[test]
fn entities_share_a_key_only_if_their_patterns_share_a_text() {
    let cases = [
        ("[a-z]{1,20}", "[a-z]{1,20}", true),
        ("[a-z]{1,20}", "[0-9]{1,20}", false),
        ("[a-z]{1,3}", "[a-z]{4,9}", false),
        ("[a-z]{1,4}", "[a-z]{4,9}", true),
        ("a.*", "b.*", false),
        ("[^b].*", "[^a].*", true),
        (r"\\d{4}", "[a-z]+|20[0-9]{2}", true),
    ];
    for (one, other, shared) in cases {
        let entity = |name: &str, like: &str| {
            format!(
                "entity {name} \"{name}\" {{ PK = \"A#{{x}}\" SK = \"META\" x text(9) like \"{like}\" }}"
            )
        };
        let article = "PK = \"ARTICLE#{id}\"\nSK = \"META\"\nid id";
        let found = with(article, &[entity("One", one), entity("Two", other)].join("\n"));
        let expected: &[&str] =
            if shared { &["shared-key: `Two` and `One` can have the same key"] } else { &NONE };
        assert_eq!(found, expected, "{one} and {other}");
    }
}

#[test]
fn a_pattern_is_one_by_itself() {
    // Between parentheses `a)|(b` is a pattern, which matches whatever begins with `a`.
    for like in ["a)|(b", "(a", "(?x)a#"] {
        let entity = format!("PK = \"A#{{one}}\"\nSK = \"META\"\none text(9) like \"{like}\"");
        assert_eq!(told(&entity), ["type: this is not a pattern"], "{like}");
    }
}

#[test]
fn a_key_is_never_empty() {
    let empty = ["type: this key can be empty, and a table takes no empty key"];
    assert_eq!(told("PK = \"A#{one}\"\nSK = \"\"\none id"), empty);
    let entity = |sort: &str, like: &str| {
        told(&format!("PK = \"A#{{one}}\"\nSK = \"{sort}\"\none text(9) like \"{like}\""))
    };
    assert_eq!(entity("{one}", "[a-z]*"), empty);
    assert_eq!(entity("{one}", "[a-z]+"), NONE);
    assert_eq!(entity("S#{one}", "[a-z]*"), NONE);
}

#[test]
fn a_key_is_of_the_type_its_parts_have_where_they_come_from() {
    // The part of a key that came from an item was taken to be of the key's type, whatever the item had.
    let more = "entity Price \"PRICE\" { PK = \"PRICE#{code}\" SK = \"META\" code text(9) like \"[a-z]+\" cents int 0.. }\n\
        contract S-1 \"Price\" {\nPUT /articles/{articleId}\n\
        article = get Article strong else 404 not-found\nallow caller is clerk\n\
        put Price of article { cents = 1 } replace\nreturn article\n\
        consistency strong\nexpect 1 item\nrate 1/s\n}";
    let article = |code: &str| {
        with(
            &format!("PK = \"ARTICLE#{{articleId}}\"\nSK = \"META\"\narticleId id\ncode {code}"),
            more,
        )
    };
    assert_eq!(article("text(9) like \"[a-z]+\""), NONE);
    assert_eq!(article("text(9)"), ["type: this need not be like `[a-z]+`"]);
    assert_eq!(article("id"), ["type: this need not be like `[a-z]+`"]);
    assert_eq!(article("int 0.."), ["type: this is int, and text(9) is expected"]);
}

#[test]
fn a_name_stands_once_in_a_path() {
    let more = "contract S-1 \"Get\" {\nGET /articles/{articleId}/again/{articleId}\nallow caller is clerk\n\
        article = get Article strong else 404 not-found\nreturn article\n\
        consistency strong\nexpect 1 item\nrate 1/s\n}";
    let found = with("PK = \"ARTICLE#{articleId}\"\nSK = \"META\"\narticleId id", more);
    assert_eq!(found, ["name: `{articleId}` is in the path twice"]);
}

#[test]
fn a_pattern_stands_behind_its_type() {
    for after in ["?", " secret", "? secret"] {
        let found = told(&format!(
            "PK = \"A#{{id}}\"\nSK = \"META\"\nid id\none text(9){after} like \"[a-z]+\""
        ));
        let message =
            "syntax: `like` stands directly behind the type: `text(80) like \"…\"?`".to_owned();
        assert_eq!(found, [message], "text(9){after}");
    }
}

/// What is told of a list of articles whose sort key has a secret in it.
fn listed(sort: &str, range: &str) -> Vec<String> {
    let more = format!(
        "contract S-1 \"Put\" {{\nPOST /shelves/{{shelf}}/articles\n\
         input id id, pin Article.pin, size SMALL | LARGE\nallow caller is clerk\n\
         put Article {{ shelf, id, pin, size }} if absent else 409 there\nreturn 204\n\
         consistency strong\nexpect 0 items\nrate 1/s\n}}\n\
         contract S-2 \"List\" {{\nGET /shelves/{{shelf}}/articles\n\
         input pin Article.pin, last Article.pin, size SMALL | LARGE\n\
         allow caller is clerk\narticles = query Article where PK = \"SHELF#{{shelf}}\"{range} page 25\n\
         return articles {{ id }}\nconsistency eventual\nexpect 0.. items\nrate 1/s\n}}"
    );
    let members = format!(
        "PK = \"SHELF#{{shelf}}\"\nSK = \"{sort}\"\nshelf id, id id\n\
         pin text(8) like \"[0-9]{{4,8}}\" secret, size SMALL | LARGE"
    );
    with(&members, &more)
}

#[test]
fn a_range_does_not_find_a_secret_out() {
    // By what is found and what is not, a caller found a secret out letter by letter, as with a filter.
    let shown = ["type: `pin` is secret, and what is found would show how it begins or sorts"];
    let sort = "A#{size}#{pin}#{id}";
    for range in [
        "begins_with \"A#{size}#{pin}\"",
        "begins_with \"A#SMALL#{pin}\"",
        "begins_with \"A#{size}#12\"",
        ">= \"A#{size}#{pin}\"",
        "> \"A#{size}#{pin}#\"",
        "< \"A#{size}#5\"",
        "between \"A#{size}#{pin}\" and \"A#{size}#{last}\"",
        "between \"A#{size}#{pin}#\" and \"A#{size}#{last}#~\"",
        "between \"A#{size}#\" and \"A#{size}#{last}#\"",
    ] {
        assert_eq!(listed(sort, &format!(" and SK {range}")), shown, "{range}");
    }
    // The end of the key, and nothing else in it.
    assert_eq!(listed("A#{id}#{pin}", " and SK begins_with \"A#{shelf}#{pin}\""), shown);
    for range in [
        "",
        " and SK begins_with \"A#\"",
        " and SK begins_with \"A#{size}#\"",
        " and SK begins_with \"A#SMALL#\"",
        " and SK >= \"A#{size}#\"",
        // The whole of it is compared as with `==`.
        " and SK begins_with \"A#{size}#{pin}#\"",
        " and SK begins_with \"A#SMALL#{pin}#\"",
        " and SK between \"A#{size}#{pin}#\" and \"A#{size}#{pin}#~\"",
        " and SK = \"A#{size}#{pin}#{shelf}\"",
    ] {
        assert_eq!(listed(sort, range), NONE, "{range}");
    }
}

// It told of 15 more: of every attribute behind the default, and of whatever used one.
#[test]
fn a_list_as_a_default_is_one_mistake() {
    for default in ["[]", "[1, 2]", "[{ a = 1 }]"] {
        let entity = format!(
            "PK = \"A#{{one}}\"\nSK = \"{{two}}\"\none id, tags list = {default}, two id, three {{ four list = [] }}\nfive id"
        );
        let told = told(&entity);
        assert_eq!(told, ["syntax: a list cannot be written as a default"; 2], "{default}");
    }
    let told = told("PK = \"A#{one}\"\nSK = \"{two}\"\none id, three int = 1 +, two id");
    assert_eq!(told, ["syntax: expected a value, but found `,`"]);
}

#[test]
fn a_number_that_is_bounded_is_only_to_be_padded() {
    for (kind, help) in [
        ("int 1..5", "pad it: `{n:01}`"),
        ("int 0..1000", "pad it: `{n:04}`"),
        ("int 0..", "bound it and pad it: `n int 0..999999` and `{n:06}`"),
    ] {
        let text = format!(
            "```contract\nsystem s\ntable Tab {{ type kind }}\nentity E \"E\" {{\n  PK = \"E#{{e}}\"\n  \
             SK = \"N#{{n}}\"\n  e id, n {kind}\n}}\n```\n"
        );
        let found = check(&text).diagnostics;
        let found = found.iter().filter(|one| one.rule.slug() == "key-order");
        let helps: Vec<_> = found.map(|one| one.help.as_deref()).collect();
        assert_eq!(helps, [Some(help)], "{kind}");
    }
}

/// What a document is told whose entity has these members, and a contract with these lines before its `return`.
fn asked(members: &str, lines: &str) -> Vec<String> {
    let contract = format!(
        "contract A-1 \"List\" {{\nGET /articles\n{lines}\nallow caller is clerk\nreturn found\n\
         consistency eventual\nexpect 0.. items\nrate 1/s\n}}"
    );
    let beside = ["unused", "never-written", "hot-partition"];
    let told = with(members, &contract);
    told.into_iter().filter(|one| !beside.iter().any(|slug| one.starts_with(slug))).collect()
}

#[test]
fn a_range_has_the_items_of_one_part_only_if_it_is_closed() {
    let cases = [
        ("id", "-", "{maker}-", true),
        ("id", "_", "{maker}_", true),
        ("text(9) like \"[a-z]+\"", "-", "{maker}-", false),
        ("id", "#", "{maker}#", false),
        ("ulid", "-", "{maker}-", false),
        // A search by how it begins.
        ("id", "-", "{maker}", false),
        ("A | AB", "-", "{maker}-", false),
    ];
    for (kind, between, beginning, refused) in cases {
        let members = format!(
            "PK = \"ALL\"\nSK = \"{{maker}}{between}{{name}}\"\nmaker {kind}\nname text(9) like \"[a-z]+\""
        );
        let lines = format!(
            "input maker Article.maker\nfound = query Article where PK = \"ALL\" and SK begins_with \"{beginning}\" page 9"
        );
        let told = asked(&members, &lines);
        let forged =
            told.iter().any(|one| one.contains("`maker` can contain what follows it here"));
        assert_eq!(forged, refused, "{kind} {beginning}: {told:?}");
    }
}

#[test]
fn a_partition_is_asked_for_with_the_parts_of_the_key() {
    let cases = [
        ("Article.name", "{maker}-{q}", None),
        ("id", "{maker}-{q}", Some("nothing tells where `maker` ends")),
        ("text(9) like \"[0-9]+\"", "{maker}-{q}", None),
        ("text(9) like \"-[a-z]+\"", "{maker}{q}", Some("are not those of the key")),
    ];
    for (kind, partition, refused) in cases {
        let members =
            "PK = \"{maker}-{name}\"\nSK = \"META\"\nmaker id\nname text(9) like \"[a-z]+\"";
        let lines = format!(
            "input maker Article.maker, q {kind}\nfound = query Article where PK = \"{partition}\" page 9"
        );
        let told = asked(members, &lines);
        let forged = told.iter().find(|one| one.starts_with("forged-key"));
        match refused {
            Some(words) => assert!(forged.is_some_and(|one| one.contains(words)), "{told:?}"),
            None => assert_eq!(forged, None, "{kind} {partition}: {told:?}"),
        }
    }
}

#[test]
fn what_a_query_asks_for_can_be_a_key() {
    let members = "PK = \"ALL\"\nSK = \"{maker}#{name}\"\nmaker text(9) like \"[^#]+\"\nname text(9) like \"[^#]+\"";
    let cases = [
        ("q text(9)", "begins_with \"{q}\"", Some("item-size: this can be empty")),
        ("q text(9) like \".+\"", "begins_with \"{q}\"", None),
        (
            "q text(2000) like \".+\"",
            "begins_with \"{q}\"",
            Some("item-size: this can have 2000 bytes"),
        ),
        (
            "q Article.maker",
            "between \"{q}#\" and \"{q}#~\"",
            Some("key-order: a text of the key can sort behind"),
        ),
    ];
    for (input, range, wanted) in cases {
        let lines = format!(
            "input {input}\nfound = query Article where PK = \"ALL\" and SK {range} page 9"
        );
        let told = asked(members, &lines);
        match wanted {
            Some(words) => {
                assert!(told.iter().any(|one| one.starts_with(words)), "{input}: {told:?}")
            }
            None => assert_eq!(told, NONE, "{input} {range}"),
        }
    }
}

#[test]
fn words_of_a_document_may_stand_for_parts_of_a_key() {
    let members = "PK = \"T#{state}#{maker}-{name}\"\nSK = \"META\"\nstate ON | OFF\nmaker id\n\
                   name text(9) like \"[a-z]+\"";
    let cases = [
        ("name Article.name", "T#ON#acme-{name}", false),
        ("maker id, name Article.name", "T#ON#{maker}-{name}", false),
        ("maker id, name id", "T#ON#{maker}-{name}", true),
        ("rest text(9) like \"#[a-z-]+\"", "T#ON{rest}", true),
    ];
    for (inputs, partition, refused) in cases {
        let lines =
            format!("input {inputs}\nfound = query Article where PK = \"{partition}\" page 9");
        let told = asked(members, &lines);
        let forged = told.iter().any(|one| one.starts_with("forged-key"));
        assert_eq!(forged, refused, "{inputs} {partition}: {told:?}");
    }
}
