//! What things cost, how large they grow and how hot they run, at the bounds of the rules and just beyond.

use latchkey_language::Rule;
use latchkey_model::check;

/// The rules a document breaks, and what it is told.
fn told(entity: &str, contract: &str) -> Vec<(&'static str, String)> {
    let read = |line: &str| line.contains("get Thing") || line.contains("query Thing");
    let dated = |line: &str| read(line) && !line.contains(" strong");
    let consistency = if contract.lines().any(dated) { "eventual" } else { "strong" };
    let text = format!(
        "```contract\nsystem load\ntable Load {{ type kind }}\n\nentity Thing \"THING\" {{\n{entity}\n}}\n\n\
         contract L-1 \"Load\" {{\n{contract}\nconsistency {consistency}\nexpect 1 item\n}}\n```\n"
    );
    // That a call counts again when it is repeated is not what these are about.
    let found = check(&text).diagnostics.into_iter().filter(|one| one.rule != Rule::Drift);
    found.map(|one| (one.rule.slug(), one.message)).collect()
}

fn broken(entity: &str, contract: &str) -> Vec<&'static str> {
    told(entity, contract).into_iter().map(|(rule, _)| rule).collect()
}

const NONE: [&str; 0] = [];
const HOT: [&str; 1] = ["hot-partition"];

/// An entity by its partition key, with one more attribute.
fn keyed(partition: &str, attribute: &str) -> String {
    format!("PK = \"{partition}\"\nSK = \"T#{{thingId}}\"\nthingId id\n{attribute}")
}

/// A get of the entity that knows its whole key.
fn get(path: &str, rate: &str) -> String {
    format!(
        "GET {path}\nallow true\nthing = get Thing else 404 not-found\nreturn thing\nrate {rate}"
    )
}

#[test]
fn a_partition_key_with_one_value_is_constant() {
    let cases = [
        ("THINGS", "", "/things/{thingId}", &HOT[..]),
        ("{thingId}", "", "/things/{thingId}", &NONE),
        ("THING#{shard:02}", "shard int 0..15", "/things/{thingId}/{shard}", &NONE),
        ("THING#{shard:02}", "shard int 0..0", "/things/{thingId}/{shard}", &HOT),
        ("THING#{shard:02}", "shard int 0..1", "/things/{thingId}/{shard}", &NONE),
        ("THING#{state}", "state ON | OFF", "/things/{thingId}/{state}", &NONE),
        ("THING#{on}", "on bool", "/things/{thingId}/{on}", &NONE),
        ("THING#{rate}", "rate int", "/things/{thingId}/{rate}", &NONE),
    ];
    for (partition, attribute, path, expected) in cases {
        let entity = keyed(partition, attribute);
        assert_eq!(broken(&entity, &get(path, "1/s")), expected, "{partition} of {attribute}");
        let waived = format!("waive hot-partition \"there are ten\"\n{entity}");
        let expected = if expected.is_empty() { vec!["waive"] } else { vec![] };
        assert_eq!(broken(&waived, &get(path, "1/s")), expected, "{partition}, waived");
    }
}

#[test]
fn an_index_is_held_to_it_too() {
    let entity = |partition: &str| {
        format!(
            "{}\nindex ALL {{\nPK = \"{partition}\"\nSK = \"{{thingId}}\"\n}}",
            keyed("{thingId}", "shard int 0..15")
        )
    };
    let query = |partition: &str, input: &str| {
        format!(
            "GET /things{input}\nallow true\nthings = query Thing by ALL\nwhere PK = \"{partition}\"\npage 25\n\
             return things\nrate 1/s"
        )
    };
    assert_eq!(broken(&entity("ALL"), &query("ALL", "")), HOT);
    let sharded = "ALL#{shard:02}";
    assert_eq!(broken(&entity(sharded), &query(sharded, "/{shard}")), NONE);
}

#[test]
fn a_key_that_cannot_be_read_is_told_of_once() {
    assert_eq!(broken(&keyed("THING#{nothing}", ""), &get("/things/{thingId}", "1/s")), ["name"]);
    let text = keyed("THING#{thingId}", "body text\nother bogus");
    let rules = broken(&text, &get("/things/{thingId}", "1/s"));
    assert!(rules.iter().all(|rule| ["type", "name"].contains(rule)), "{rules:?}");
}

#[test]
fn a_rate_is_held_to_what_one_partition_takes() {
    let entity = keyed("THING#{thingId}", "count int 0.. = 0");
    // An eventual get is half a unit, of 3,000.
    let eventual = get("/things/{thingId}", "$");
    let strong = eventual.replace("get Thing", "get Thing strong");
    let write = "POST /things/{thingId}\nallow true\nthing = upsert Thing add count = 1\nreturn thing\nrate $";
    let both = "POST /things/{thingId}\ninput other id\nallow true\nrequire other != thingId else 400 same\ntransact {\n\
                upsert Thing add count = 1\nupsert Thing(thingId = other) add count = 1\n}\n\
                thing = get Thing strong else 404 not-found\nreturn thing\nrate $";
    let cases = [
        (eventual.as_str(), "6000/s", &NONE[..]),
        (&eventual, "6001/s", &HOT),
        (&eventual, "6000.1/s", &HOT),
        (&eventual, "360000/m", &NONE),
        (&eventual, "360001/m", &HOT),
        (&eventual, "21600000/h", &NONE),
        (&eventual, "21600001/h", &HOT),
        (&eventual, "518400000/d", &NONE),
        (&eventual, "518400001/d", &HOT),
        (&eventual, "99999999999999999999999999999999999999/d", &HOT),
        (&strong, "3000/s", &NONE),
        (&strong, "3001/s", &HOT),
        (write, "1000/s", &NONE),
        (write, "1001/s", &HOT),
        // Two legs at two units; both may be for one partition.
        (both, "250/s", &NONE),
        (both, "251/s", &HOT),
    ];
    for (contract, rate, expected) in cases {
        assert_eq!(broken(&entity, &contract.replace('$', rate)), expected, "{rate}: {contract}");
    }
    let sharded = keyed("THING#{shard:02}", "shard int 0..15\ncount int 0.. = 0");
    let write = write.replace("{thingId}", "{thingId}/{shard}");
    for (rate, expected) in [("16000/s", &NONE[..]), ("16001/s", &HOT)] {
        assert_eq!(broken(&sharded, &write.replace('$', rate)), expected, "{rate} of 16 shards");
    }
}

#[test]
fn a_rate_is_waived_above_the_statement_or_the_rate() {
    let entity = keyed("THING#{thingId}", "");
    let contract = get("/things/{thingId}", "9000/s");
    let waiver = "waive hot-partition \"spread over a million things\"\n";
    assert_eq!(broken(&entity, &contract), HOT);
    for before in ["thing = get", "rate"] {
        let waived = contract.replacen(before, &format!("{waiver}{before}"), 1);
        assert_eq!(broken(&entity, &waived), NONE, "above `{before}`");
        let needless = waived.replace("9000/s", "1/s");
        assert_eq!(broken(&entity, &needless), ["waive"], "above `{before}`, needless");
    }
    let elsewhere = contract.replacen("allow", &format!("{waiver}allow"), 1);
    assert_eq!(broken(&entity, &elsewhere), ["waive", "hot-partition"]);
    assert_eq!(broken(&format!("{waiver}{entity}"), &contract), ["waive", "hot-partition"]);
}

#[test]
fn where_there_are_few_partitions_items_are_as_large_as_declared() {
    // Each item has a little less than 4 KB.
    let entity = keyed("THING#{state}", "state ON | OFF\nbody text(3600)");
    let list = |rate: &str| {
        format!(
            "GET /things/{{state}}\nallow true\nthings = query Thing\nwhere PK = \"THING#{{state}}\"\npage 9 max 99\n\
             return things\nrate {rate}"
        )
    };
    // A hundred of them, one more than is shown.
    let cost = told(&entity, &format!("{}\ncost 0 rcu", list("1/s")));
    assert!(cost.len() == 1 && cost[0].0 == "cost", "{cost:?}");
    let message = &cost[0].1;
    let units: f64 = message.split(' ').nth(3).unwrap().parse().unwrap();
    assert!((46.0..=50.0).contains(&units), "{message}");
    let most = (3000.0 / units).floor();
    assert_eq!(broken(&entity, &list(&format!("{most}/s"))), NONE);
    assert_eq!(broken(&entity, &list(&format!("{}/s", most + 1.0))), HOT);
    // Of many partitions nobody knows which is asked for, nor how large its items are.
    let entity = keyed("THING#{owner}", "owner id\nbody text(3600)");
    let list = list("2000/s").replace("{state}", "{owner}");
    assert_eq!(broken(&entity, &list), NONE);
}

/// Ways to use an entity with an index, and what each costs at most.
const WAYS: &[(&str, &str, &str)] = &[
    ("a get", "thing = get Thing else 404 not-found\nreturn thing", "0.5 rcu, 0 wcu"),
    ("a strong one", "thing = get Thing strong else 404 not-found\nreturn thing", "1 rcu, 0 wcu"),
    // The item and its entry in the index.
    (
        "an update",
        "thing = update Thing add count = 1 else 404 not-found\nreturn thing",
        "0 rcu, 2 wcu",
    ),
    (
        "one that moves",
        "thing = update Thing set state = OFF else 404 not-found\nreturn thing",
        "0 rcu, 3 wcu",
    ),
    (
        "a put",
        "input state Thing.state\nthing = put Thing { thingId, state } if absent else 409 there\nreturn thing",
        "0 rcu, 2 wcu",
    ),
    (
        "a put that replaces",
        "input state Thing.state\nthing = put Thing { thingId, state } replace\nreturn thing",
        "0 rcu, 3 wcu",
    ),
    (
        "a transaction",
        "input state Thing.state\ntransact {\nthing = put Thing { thingId, state } if absent else 409 there\n}\nreturn thing",
        "0 rcu, 3 wcu",
    ),
    (
        "the heavier of two ways",
        "input state Thing.state\nthing = get Thing strong\nwhen thing is present {\nreturn thing\n}\n\
             made = put Thing { thingId, state } if absent else retry\nreturn made",
        "1 rcu, 2 wcu",
    ),
    (
        "what an `else` does",
        "input state Thing.state\nmade = put Thing { thingId, state } if absent else {\nthing = get Thing strong else 404 not-found\n\
             return thing\n}\nreturn made",
        "1 rcu, 2 wcu",
    ),
    (
        "what an `else` of a leg does",
        "input state Thing.state\ntransact {\nmade = put Thing { thingId, state } if absent else {\n\
             thing = get Thing strong else 404 not-found\nreturn thing\n}\n}\nreturn made",
        "1 rcu, 3 wcu",
    ),
];

#[test]
fn a_stated_cost_is_that_of_the_most_expensive_way() {
    let entity = keyed(
        "THING#{thingId}",
        "count int 0.. = 0\nstate ON | OFF = ON\nindex STATE moves {\nPK = \"S#{state}#{thingId}\"\nSK = \"S\"\n}",
    );
    for (what, steps, cost) in WAYS {
        let contract = |cost: &str| {
            let method = crate::method(steps);
            format!("{method} /things/{{thingId}}\nallow true\n{steps}\nrate 1/s\ncost {cost}")
        };
        let others = ["unpinned", "unused"];
        let costs = |cost: &str| -> Vec<String> {
            let all = told(&entity, &contract(cost)).into_iter();
            all.filter(|(rule, _)| !others.contains(rule)).map(|(_, message)| message).collect()
        };
        assert_eq!(costs(cost), [""; 0], "{what}");
        assert_eq!(costs("100 rcu, 100 wcu"), [""; 0], "{what}, and more");
        let told = [format!("`L-1` can cost {cost}, and says `cost 0.4 rcu`")];
        assert_eq!(costs("0.4 rcu"), told, "{what}, and less");
    }
    let entity = keyed("THING#{thingId}", "");
    let contract = get("/things/{thingId}", "1/s\nwaive cost \"for now\"\ncost 0 rcu");
    assert_eq!(broken(&entity, &contract), NONE);
}

#[test]
fn an_item_has_400_kilobytes_and_no_more() {
    let get = get("/things/{thingId}", "1/s");
    // What there is beside the text: names, keys, the type.
    let entity = |body: u64| keyed("{thingId}", &format!("body text({body})"));
    let names = ["PK", "SK", "kind", "THING", "thingId", "body", "T#"].concat().len();
    let beside = u64::try_from(names).unwrap() + 3 * 128;
    assert_eq!(broken(&entity(409_600 - beside), &get), NONE);
    let over = told(&entity(409_601 - beside), &get);
    let message = "an item of `Thing` can have 409601 bytes; the most is 409600";
    assert_eq!(over, [("item-size", message.to_owned())]);
    let waived = format!("{}\nwaive item-size \"never both\"", entity(500_000));
    assert_eq!(broken(&waived, &get), NONE);
    // The bytes of a map are those of its JSON; in the table they can be half as many again.
    assert_eq!(broken(&keyed("{thingId}", "body map(272000, 5)"), &get), NONE);
    assert_eq!(broken(&keyed("{thingId}", "body map(273000, 5)"), &get), ["item-size"]);
    assert_eq!(broken(&keyed("{thingId}", "body list"), &get), NONE);
    assert_eq!(broken(&keyed("{thingId}", "body text(18446744073709551614)"), &get), ["item-size"]);
}

#[test]
fn an_answer_that_must_be_recorded_fits_its_record() {
    // Each call was refused, and none could be made without a record.
    let told = |shown: &str, many: u32| {
        let text = format!(
            "```contract\nsystem notes\ntable Notes {{ type kind }}\nrole clerk\n\
             entity Note \"NOTE\" {{\nPK = \"BOOK#{{bookId}}\"\nSK = \"NOTE#{{noteId}}\"\n\
             bookId id, noteId ulid, text text(8000)\n}}\n\
             contract N-1 \"Add\" {{\nPOST /books/{{bookId}}/notes\ninput text Note.text\nallow caller is clerk\n\
             notes = query Note strong where PK = \"BOOK#{{bookId}}\" and SK begins_with \"NOTE#\" first {many}\n\
             put Note {{ bookId, noteId = new ulid, text }} if absent else retry\n\
             waive stale-answer \"the notes before this one\"\n\
             return 201 notes{shown}\n\
             consistency strong\nexpect 0..100 items\nrate 1/s\nidempotent by key\n}}\n```\n"
        );
        let found = latchkey_model::check(&text).diagnostics;
        found.iter().map(|one| one.rule.slug()).filter(|rule| *rule == "item-size").count()
    };
    assert_eq!(told("", 100), 1);
    // A control character is six in JSON.
    assert_eq!(told("", 9), 1);
    assert_eq!(told("", 8), 0);
    assert_eq!(told(" { noteId }", 100), 0);
}
