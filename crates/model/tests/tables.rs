//! Tables with names, keys and indexes of their own.

use latchkey_model::check;

const NOTHING: [&str; 0] = [];

/// What is said about a document of a table and some entities, with one contract that gets an `A`.
fn told(table: &str, entities: &str) -> Vec<String> {
    let text = format!(
        "```contract\nsystem shop\ntable Shop {{\ntype kind\n{table}\n}}\nrole seller\n{entities}\n\
         contract C-1 \"Get\" {{\nGET /things/{{id}}\nallow caller is seller\n\
         thing = get Thing strong else 404 not-found\nreturn thing\n\
         consistency strong\nexpect 1 item\nrate 1/s\n}}\n```\n"
    );
    let found = check(&text).diagnostics;
    let told =
        found.iter().filter(|one| one.rule.slug() != "unused" && one.rule.slug() != "never-listed");
    told.map(|one| format!("{}: {}", one.rule, one.message)).collect()
}

fn thing(members: &str) -> String {
    format!("entity Thing \"THING\" {{\n{members}\n}}")
}

const KEY: &str = "PK = \"T#{id}\"\nSK = \"META\"\nid id\n";

#[test]
fn a_table_names_its_keys_and_indexes() {
    let entity = format!("{KEY}index G-1.x {{ PK = \"G#{{id}}\"  SK = \"M\" }}");
    for table in [
        "PK pk\nSK sk\nindex G-1.x { PK g1pk  SK g1sk }",
        "PK pk  SK sk  index G-1.x { PK g1.pk  SK g1-sk } // a comment",
        "index G-1.x {}",
        "",
    ] {
        assert_eq!(told(table, &thing(&entity)), NOTHING, "{table}");
    }
}

#[test]
fn a_table_is_named_as_dynamodb_takes_it() {
    let entity = thing(KEY);
    let cases = [
        ("PK pk", "name: the table has no sort key"),
        (
            "PK pk\nSK sk\nindex ByA { PK a }\nindex ByB { PK a number }",
            "type: `a` is a text in one key and a number in another",
        ),
        ("SK sk", "name: the key has no `PK`"),
        ("PK a\nSK a", "name: one attribute cannot be both the partition key and the sort key"),
        ("PK a\nPK b\nSK c", "name: a second name for one key"),
        (
            "PK expires\nSK c",
            "name: `expires` is reserved: it holds the second from which on DynamoDB may remove the item (TTL)",
        ),
        ("PK kind\nSK c", "name: `kind` is reserved: it holds the partition key of every item"),
        ("index GSI1 {}\nindex GSI1 {}", "name: index `GSI1` is declared twice"),
        ("index G1 {}", "syntax: `G1` is not a name for an index"),
        ("PK a+b\nSK c", "syntax: `a+b` is not a name for an attribute"),
    ];
    for (table, message) in cases {
        assert_eq!(told(table, &entity), [message], "{table}");
    }
}

#[test]
fn a_table_that_lists_indexes_lists_all() {
    // A typing mistake would make another index, which nothing fills.
    let entity = thing(&format!("{KEY}index GSI-l {{ PK = \"G#{{id}}\"  SK = \"M\" }}"));
    let wrong = ["name: the table has no index `GSI-l`"];
    assert_eq!(told("index GSI-1 { PK a  SK b }", &entity), wrong);
}

#[test]
fn an_attribute_may_be_a_key_and_nothing_else() {
    let table = "PK id\nSK sk";
    assert_eq!(told(table, &thing("PK = \"{id}\"\nSK = \"META\"\nid id")), NOTHING);
    // Another entity has no such attribute, and a key of another form.
    let other = "entity Other \"OTHER\" {\nPK = \"O#{o}\"\nSK = \"META\"\no id\n}";
    let both = format!("{}\n{other}", thing("PK = \"{id}\"\nSK = \"META\"\nid id"));
    assert_eq!(told(table, &both), NOTHING);
    let reserved = ["name: `id` is reserved: it holds the partition key of every item"];
    assert_eq!(told(table, &thing(KEY)), reserved);
    let padded = told(table, &thing("PK = \"{id:02}\"\nSK = \"META\"\nid int 0..99"));
    assert_eq!(padded, reserved);
    let number = told(table, &thing("PK = \"{id}\"\nSK = \"META\"\nid int 0..99"));
    assert_eq!(
        number,
        ["type: `id` is int and holds the partition key of every item, which is a text"]
    );
    // A view copies an attribute that is a key of its source, under a key of its own.
    let view = "entity View \"VIEW\" view of Thing {\nPK = \"V#{id}\"\nSK = \"META\"\ncopies id\n}";
    let both = format!("{}\n{view}", thing("PK = \"{id}\"\nSK = \"META\"\nid id"));
    assert_eq!(told(table, &both), reserved);
}

const BY_STATE: &str = "PK = \"S#{id}\"\nSK = \"META\"\nid id, state A | B, at time\n";

#[test]
fn an_index_of_attributes_holds_all_that_have_them() {
    let table = "index ByState { PK state  SK at }";
    let index = "index ByState { PK = \"{state}\"  SK = \"{at}\" }";
    let declared = thing(&format!("{BY_STATE}{index}"));
    assert_eq!(told(table, &declared), NOTHING);
    // It is found by the index, whatever it declares.
    let other = |members: &str| {
        format!(
            "{declared}\nentity O \"O\" {{\nPK = \"O#{{o}}\"\nSK = \"META\"\no id\n{members}\n}}"
        )
    };
    assert_eq!(
        told(table, &other("state A | B, at time")),
        ["name: items of `O` are in index `ByState`"]
    );
    assert_eq!(
        told(table, &other("state A | B, at time?")),
        ["name: items of `O` are in index `ByState`"]
    );
    assert_eq!(told(table, &other("state A | B")), NOTHING);
    let wrong = "type: `at` is int and holds the sort key of index `ByState`, which is a text";
    assert_eq!(told(table, &other("at int")), [wrong]);
    // The table refuses a value that no key can have, whether or not the item is in the index.
    let empty = "name: `at` holds the sort key of index `ByState`, and may be empty";
    assert_eq!(told(table, &other("at text(80)")), [empty]);
    assert_eq!(told(table, &other("at text(80) like \"[a-z]*\"")), [empty]);
    let long =
        "name: `at` holds the sort key of index `ByState`, and may have more than 1024 bytes";
    assert_eq!(told(table, &other("at text(2000) like \"[a-z]+\"")), [long]);
    assert_eq!(told(table, &other("state text(2000) like \"[a-z]+\"")), NOTHING);
    assert_eq!(told(table, &other("at text(80) like \"[a-z]+\"")), NOTHING);
    // Of texts that are made for it, the attributes are the index's own.
    let made = thing(&format!("{KEY}index ByState {{ PK = \"S#{{id}}\"  SK = \"M\" }}"));
    let both =
        format!("{made}\nentity O \"O\" {{\nPK = \"O#{{o}}\"\nSK = \"META\"\no id\nstate id\n}}");
    let reserved = "name: `state` is reserved: it holds the partition key of index `ByState`";
    assert_eq!(told(table, &both), [reserved]);
}

#[test]
fn a_table_the_other_way_round_holds_every_item() {
    let table = "PK pk\nSK sk\nindex inverted { PK sk  SK pk }";
    assert_eq!(told(table, &thing(KEY)), ["name: items of `Thing` are in index `inverted`"]);
    let key = "PK = \"T#{id}\"\nSK = \"T#{id}\"\nid id\n";
    let index = |sort: &str| {
        thing(&format!("{key}index inverted {{ PK = \"T#{{id}}\"  SK = \"{sort}\" }}"))
    };
    assert_eq!(told(table, &index("T#{id}")), NOTHING);
    assert_eq!(told(table, &index("U#{id}")), ["name: `pk` holds two keys of `Thing` that differ"]);
}

#[test]
fn the_type_may_be_a_key_of_an_index() {
    let table = "index ByKind { PK kind  SK id }";
    let index = |partition: &str| {
        let waive = "waive hot-partition \"few\"";
        thing(&format!("{KEY}index ByKind {{ PK = \"{partition}\"  SK = \"{{id}}\" }}\n{waive}"))
    };
    assert_eq!(told(table, &index("THING")), NOTHING);
    let reserved = "name: `kind` is reserved: it holds the partition key of index `ByKind`";
    assert_eq!(told(table, &index("OTHER")), [reserved]);
    assert_eq!(told(table, &thing(KEY)), ["name: items of `Thing` are in index `ByKind`"]);
}

#[test]
fn indexes_that_share_a_key_hold_the_same_items() {
    let table = "index One { PK a  SK b }\nindex Two { PK a  SK c }";
    let indexes = "index One { PK = \"A#{id}\"  SK = \"B#{x}\" }\nindex Two { PK = \"A#{id}\"  SK = \"C#{y}\" }";
    assert_eq!(told(table, &thing(&format!("{KEY}x id, y id\n{indexes}"))), NOTHING);
    // Without `y` it would have to be in the one and not in the other.
    let wrong = "name: `a` holds keys of two indexes, and `y` in one of them may be absent";
    assert_eq!(told(table, &thing(&format!("{KEY}x id, y id?\n{indexes}"))), [wrong]);
}

#[test]
fn a_key_may_be_a_partition_alone() {
    let table = "PK id\nindex ByOwner { PK owner }";
    let entity = "PK = \"{id}\"\nid id, owner id\nindex ByOwner { PK = \"{owner}\" }";
    assert_eq!(told(table, &thing(entity)), NOTHING);
    let sorted = entity.replace("{ PK = \"{owner}\" }", "{ PK = \"{owner}\"  SK = \"M\" }");
    assert_eq!(told(table, &thing(&sorted)), ["name: the index has no sort key"]);
    let undeclared = "PK = \"{id}\"\nid id, owner id";
    assert_eq!(told(table, &thing(undeclared)), ["name: items of `Thing` are in index `ByOwner`"]);
    // Without a sort key, nothing but the partition tells two entities apart.
    let other = format!("{}\nentity O \"O\" {{\nPK = \"{{o}}\"\no id\n}}", thing(entity));
    assert_eq!(told(table, &other), ["shared-key: `O` and `Thing` can have the same key"]);
    let named = other.replace("\"{o}\"", "\"O#{o}\"");
    assert_eq!(told(table, &named), NOTHING);
}

#[test]
fn a_number_is_a_key_under_any_name() {
    // No entity could be in an index whose key is a number under a name that no attribute can have.
    let found = |key: &str, index: &str| {
        let table = format!("index ByBucket {{ PK {key} number }}");
        let members = "bucket int 0..3, words text(9) like \"[a-z]+\"";
        let entity = thing(&format!("{KEY}{members}\nindex ByBucket {{ PK = \"{index}\" }}"));
        let all = told(&table, &entity);
        all.into_iter().find(|one| one.contains("a number")).unwrap_or_default()
    };
    for key in ["GSI-Bucket", "GSIBucket", "bucket", "\"State#Day\""] {
        assert_eq!(found(key, "{bucket}"), "", "{key}");
    }
    for made in ["B#{bucket}", "{bucket:02}", "{bucket}{bucket}"] {
        let message = "name: `GSI-Bucket` is a number, and this is a text";
        assert_eq!(found("GSI-Bucket", made), message, "{made}");
    }
    let words = "type: `words` is text(9) and holds the partition key of index `ByBucket`, \
                 which is a number";
    assert_eq!(found("GSI-Bucket", "{words}"), words);
}

#[test]
fn a_key_may_be_a_number() {
    let table = "PK id number\nSK at number";
    let entity = |members: &str| thing(&format!("PK = \"{{id}}\"\nSK = \"{{at}}\"\n{members}"));
    let fits = entity("id int, at number");
    let got = |text: String| {
        // The contract gives the key by its route, which has the `id` alone.
        text.replace("at number\n", "at number = 0\n")
    };
    let nothing_says = "name: nothing says which `at` is meant";
    assert_eq!(told(table, &got(fits)), [nothing_says]);
    let wrong = told("PK id number", &thing("PK = \"{id}\"\nid id"));
    assert_eq!(
        wrong,
        ["type: `id` is id and holds the partition key of every item, which is a number"]
    );
    assert_eq!(told("PK pk number", &thing("PK = \"{id}\"\nid int")), [""; 0]);
    let made = told("PK pk number", &thing("PK = \"T#{id}\"\nid int"));
    assert_eq!(made, ["name: `pk` is a number, and this is a text"]);
    let counter = told("PK id number", &thing("PK = \"{id}\"\nid counter"));
    let message =
        "type: `id` is counter and holds the partition key of every item, which is a number";
    assert!(counter.contains(&message.to_owned()), "{counter:?}");
    // Two numbers are never told apart.
    let two = format!(
        "{}\nentity O \"O\" {{\nPK = \"{{id}}\"\nid int 0..9\n}}",
        thing("PK = \"{id}\"\nid int 10..99")
    );
    assert_eq!(told("PK id number", &two), ["shared-key: `O` and `Thing` can have the same key"]);
}

#[test]
fn a_query_asks_of_a_key_what_it_can_have() {
    let table = "PK id number\nSK at number\nindex ByOwner { PK owner }";
    let members = "PK = \"{id}\"\nSK = \"{at}\"\nid int, at number, owner id\nindex ByOwner { PK = \"{owner}\" }";
    let asked = |query: &str| {
        let text = format!(
            "```contract\nsystem shop\ntable Shop {{\ntype kind\n{table}\n}}\nrole seller\n{}\n\
             contract C-1 \"List\" {{\nGET /things/{{id}}\ninput low number, owner id\nallow caller is seller\n\
             all = query Thing {query} page 10\nreturn all\n\
             consistency eventual\nexpect 0.. items\nrate 1/s\n}}\n```\n",
            thing(members)
        );
        let found = check(&text).diagnostics;
        let told = found.iter().filter(|one| one.rule.slug() != "unused");
        told.map(|one| format!("{}: {}", one.rule, one.message)).collect::<Vec<_>>()
    };
    for right in [
        "where PK = id",
        "where PK = \"{id}\" and SK >= low",
        "where PK = id and SK between 1 and low",
        "by ByOwner where PK = owner",
    ] {
        assert_eq!(asked(right), NOTHING, "{right}");
    }
    let cases = [
        ("where PK = owner", "type: the key `id` is a number, and this is none"),
        ("where PK = \"T#{id}\"", "type: the key `id` is a number, and this is none"),
        ("where PK = id and SK = owner", "type: the key `at` is a number, and this is none"),
        (
            "where PK = id and SK begins_with low",
            "type: the key `at` is a number, which begins with nothing",
        ),
        ("by ByOwner where PK = owner and SK = owner", "type: there is no sort key to ask for"),
    ];
    for (query, message) in cases {
        assert!(asked(query).contains(&message.to_owned()), "{query}: {:?}", asked(query));
    }
}
