//! Keys that are made from values: what a key with a day or a name in lower case tells of its item, and what it does
//! not.

use latchkey_model::check;

/// Declarations with the facts of each contract in place of a line `facts`: it is as current as its reads.
fn with_facts(declarations: &str) -> String {
    let mut parts = declarations.split("facts");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let contract = text.rsplit("\ncontract ").next().unwrap_or_default();
        let read = |line: &str| line.contains("= get ") || line.contains("= query ");
        let dated = |line: &str| read(line) && !line.contains(" strong");
        let consistency = if contract.lines().any(dated) { "eventual" } else { "strong" };
        text += &format!("consistency {consistency}\nexpect 0.. items\nrate 1/s{part}");
    }
    text
}

/// What a document is told of these declarations; `facts` stands for the facts of a contract.
fn told(declarations: &str) -> Vec<String> {
    let declarations = with_facts(declarations);
    let text = format!(
        "```contract\nsystem club\ntable Club {{ type kind }}\nrole clerk\n{declarations}\n```\n"
    );
    let mut found: Vec<String> =
        check(&text).diagnostics.iter().map(|one| one.rule.slug().to_owned()).collect();
    // The documents have no more than they need.
    let beside = ["never-listed", "unused"];
    found.retain(|rule| !beside.contains(&rule.as_str()));
    found.dedup();
    found
}

const NONE: [&str; 0] = [];

/// The same document with a key that tells the name, and with one that does not.
fn both(declarations: &str, lossy: &[&str]) {
    let whole = declarations.replace("NAME", "{name}");
    assert_eq!(told(&whole), NONE, "{whole}");
    let lower = declarations.replace("NAME", "{name:lower}");
    assert_eq!(told(&lower), lossy, "{lower}");
}

const USER: &str = r#"
entity User "USER" {
  PK = "USER#NAME"
  SK = "META"
  name id, ownerId id, points int 0.. = 0
}
contract U-1 "Join" {
  POST /users/{name}
  allow caller is clerk
  user = put User { name, ownerId = caller.id } replace
  return 201 user
  facts
}
"#;

#[test]
fn a_name_in_lower_case_is_the_name_of_others_too() {
    // `bob` may own a user that was read as `bob`, and is called `Bob`.
    let owned = "contract U-2 \"Read\" {\nGET /users/{name}\nallow caller owns name\n\
                 user = get User strong else 404 not-found\nreturn user\nfacts\n}";
    both(&format!("{USER}{owned}"), &["foreign-allow"]);
    let compared = owned.replace("return", "require user.name == name else 404 not-found\nreturn");
    assert_eq!(told(&format!("{USER}{compared}").replace("NAME", "{name:lower}")), NONE);
    // The partition of a query has all of the name, and the key has not.
    let queried = "contract U-3 \"List\" {\nGET /users/{name}/all\nallow caller owns name\n\
                   users = query User where PK = \"USER#{name}\" page 9\nreturn users\nfacts\n}";
    both(&format!("{USER}{queried}"), &["foreign-allow"]);
}

#[test]
fn what_a_key_does_not_tell_may_change() {
    // A put may replace `Bob` by `BOB` under one key, while a call rests on the name.
    let rests = "entity Log \"LOG\" {\nPK = \"LOG#{logId}\"\nSK = \"LOG\"\nlogId ulid, who id\n}\n\
                 contract L-1 \"Log\" {\nPOST /users/{name}/logs\nallow caller is clerk\n\
                 user = get User strong else 404 not-found\n\
                 transact {\nlog = put Log { logId = new ulid, who = user.name } if absent else retry\n\
                 update User add points = 1 else 404 not-found\n}\nreturn log\nfacts\n}";
    both(&format!("{USER}{rests}"), &["unpinned"]);
}

#[test]
fn two_names_may_have_one_key() {
    let legs = "contract U-4 \"Give\" {\nPOST /users/{name}/give\ninput other id\nallow caller is clerk\n\
                require name != other else 409 same\n\
                transact {\nupdate User add points = 1 else 404 not-found\n\
                update User(name = other) add points = 2 else 404 not-found\n}\n\
                user = get User strong else 404 not-found\nreturn user\nfacts\nidempotent by key\n}";
    let user = USER.replace("replace\n", "if absent else 409 there\n");
    both(&format!("{user}{legs}"), &["transaction"]);
}

#[test]
fn an_item_is_made_once_for_each_message_only_if_its_key_has_the_id() {
    let worker = r#"
queue joins { name id, count int }
entity Total "TOTAL" {
  PK = "TOTAL#{shard:02}"
  SK = "TOTAL"
  shard int 0..7, points int = 0
}
entity Seen "SEEN" {
  PK = "SEEN#NAME"
  SK = "SEEN"
  name id
}
contract J-1 "Ask" {
  POST /joins/{name}
  input count int
  allow caller is clerk
  transact {
    made = put Asked { askId = new ulid, name } if absent else retry
    send joins { name, count }
  }
  return 202 made
  facts
}
entity Asked "ASKED" {
  PK = "ASKED#{askId}"
  SK = "ASKED"
  askId ulid, name id
}
worker J-2 "Join" {
  on joins { name, count }
  transact {
    put Seen { name } if absent else done
    upsert Total(shard = shard(name, 8)) add points = count
  }
  done
  facts
}
"#;
    both(worker, &["not-idempotent"]);
}

#[test]
fn an_index_key_of_what_the_key_does_not_tell_may_move() {
    let indexed = r#"
entity Post "POST" {
  PK = "POST#NAME"
  SK = "META"
  name id, points int 0..99
  index ByName { PK = "BY#{name}" SK = "POST#{name}" }
}
contract P-1 "Post" {
  PUT /posts/{name}
  allow caller is clerk
  post = put Post { name, points = 1 } replace
  return post
  facts
}
contract P-2 "List" {
  GET /posts/{name}/all
  allow caller is clerk
  posts = query Post by ByName where PK = "BY#{name}" and SK begins_with "POST#" page 9
  return posts
  facts
}
"#
    .to_owned();
    both(&indexed, &["moving-index-key"]);
}

const SALES: &str = r#"
entity Sale "SALE" {
  PK = "SALE#{shopId}"
  SK = "SK_OF_SALE"
  shopId id, state open | in-progress, at time, n int 0..999, label text(20) like "[A-Za-z]{1,20}"
}
contract S-1 "Sell" {
  POST /shops/{shopId}/sales
  input state Sale.state, n Sale.n, label Sale.label
  allow caller is clerk
  sale = put Sale { shopId, state, at = now, n, label } if absent else 409 there
  return 201 sale
  facts
}
contract S-2 "List" {
  GET /shops/{shopId}/sales
  input state Sale.state, day date, to date, n Sale.n, text text(10) like "[0-9]{4}-[0-9]{2}-[0-9]{2}", label Sale.label
  allow caller is clerk
  sales = query Sale where PK = "SALE#{shopId}" and RANGE page 9
  return sales
  facts
}
"#;

fn ranged(sort: &str, range: &str) -> Vec<String> {
    told(&SALES.replace("SK_OF_SALE", sort).replace("RANGE", range))
}

#[test]
fn a_day_lies_along_a_time() {
    for (sort, range) in [
        ("{state}#{at}", "SK begins_with \"{state}#{day}\""),
        ("{state}#{at}", "SK begins_with \"{state}#{text}\""),
        ("{state}#{at}", "SK begins_with \"{state}#{now:month}\""),
        ("{state}#{at}", "SK between \"{state}#{day}\" and \"{state}#{to}~\""),
        ("{at}", "SK >= \"{day}\""),
        ("{at}", "SK < \"{to}\""),
        ("{at:day}#{n:03}", "SK <= \"{day}\""),
        ("{at:day}#{n:03}", "SK begins_with \"{text}\""),
        ("{at:hour}#{n:-03}", "SK begins_with \"{day}\""),
        ("{n:-03}#{at:month}", "SK begins_with \"{n:-03}#{day:month}\""),
        ("{n:-03}#{at:month}", "SK >= \"{n:-03}\""),
        ("{label:lower}#{n:03}", "SK begins_with \"{label:lower}#\""),
    ] {
        assert_eq!(ranged(sort, range), NONE, "{sort}: {range}");
    }
    for (sort, range) in [
        // All of the last day would be left out.
        ("{at}", "SK between \"{day}\" and \"{to}\""),
        ("{at}", "SK <= \"{day}\""),
        ("{at}", "SK > \"{now:hour}\""),
        // Longer than what the key has.
        ("{at:day}#{n:03}", "SK >= \"{now}\""),
        ("{at:month}#{n:03}", "SK >= \"{day}\""),
        // Up is not down, and no form is not lower case.
        ("{n:-03}", "SK >= \"{n:03}\""),
        ("{n:03}", "SK >= \"{n:-03}\""),
        ("{label:lower}#{n:03}", "SK >= \"{label}\""),
        ("{state}#{at}", "SK >= \"{state}#{n:03}\""),
        ("{at}#{n:03}", "SK >= \"{day}{n:03}\""),
    ] {
        assert_eq!(ranged(sort, range), ["key-order"], "{sort}: {range}");
    }
    // A day alone is no time.
    assert_eq!(ranged("{at}", "SK = \"{day}\""), ["foreign-items"]);
}

#[test]
fn keys_in_lower_case_share_texts_with_their_like() {
    let two = |like: &str| {
        format!(
            "entity A \"A\" {{\nPK = \"X#{{name:lower}}\"\nSK = \"META\"\nname id\n}}\n\
             entity B \"B\" {{\nPK = \"X#{{code}}\"\nSK = \"META\"\ncode text(9) like \"{like}\"\n}}\n\
             contract A-1 \"A\" {{\nGET /a/{{name}}\nallow caller is clerk\na = get A strong else 404 no\nreturn a\nfacts\n}}"
        )
    };
    assert_eq!(told(&two("[A-Z]{1,9}")), NONE);
    assert_eq!(told(&two("[a-z]{1,9}")), ["shared-key"]);
    let days = |shape: &str| {
        format!(
            "entity A \"A\" {{\nPK = \"{shape}\"\nSK = \"META\"\nat time\n}}\n\
             entity B \"B\" {{\nPK = \"{{code}}\"\nSK = \"META\"\ncode text(9) like \"[0-9]{{4}}-[0-9]{{2}}\"\n}}\n\
             contract A-1 \"A\" {{\nGET /a/{{code}}\nallow caller is clerk\nb = get B strong else 404 no\nreturn b\nfacts\n}}"
        )
    };
    assert_eq!(told(&days("{at:day}")), NONE);
    assert_eq!(told(&days("{at:month}")), ["shared-key"]);
}

#[test]
fn a_view_under_a_day_moves_with_the_time() {
    let view = |steps: &str| {
        format!(
            "entity Event \"EVENT\" {{\nPK = \"EVENT#{{eventId}}\"\nSK = \"META\"\neventId id, at time, version counter\n}}\n\
             entity OnDay \"ON_DAY\" view of Event {{\nPK = \"DAY#{{at:day}}\"\nSK = \"EVENT#{{eventId}}\"\n\
             copies eventId, at\n}}\n\
             contract E-1 \"Make\" {{\nPOST /events/{{eventId}}\nallow caller is clerk\n\
             transact {{\nevent = put Event {{ eventId, at = now }} if absent else 409 there\nput OnDay of event replace\n}}\n\
             return 201 event\nfacts\n}}\n\
             contract E-2 \"Move\" {{\nPUT /events/{{eventId}}\ninput at time\nallow caller is clerk\n\
             event = get Event strong else 404 not-found\n\
             transact {{\n{steps}\nput OnDay of event replace\n}}\nreturn event\nfacts\n}}"
        )
    };
    let update = "update event set at = at, version = .version + 1 if unchanged else retry";
    assert_eq!(told(&view(update)), ["stale-copy"]);
    // Whether the day is another, nobody knows: two legs may be on one item.
    let both = format!("delete OnDay of event\n{update}");
    assert_eq!(told(&view(&both)), ["transaction"]);
}

/// The document of a count for each day, with these keys of an index and this cost of a call that counts.
fn counted_by_day(index: &str, cost: u32) -> String {
    format!(
        r#"
entity Stat "STAT" {{
  PK = "ROOM#{{room}}"
  SK = "{{at:day}}"
  room id, at time, n int 0.. = 0
  {index}
}}
contract S-1 "Count" {{
  POST /stats/{{room}}
  input at time
  allow caller is clerk
  waive drift "an approximate number is enough"
  stat = upsert Stat add n = 1
  return stat
  cost 0 rcu, {cost} wcu
  facts
}}
contract S-2 "List" {{
  GET /stats/{{room}}
  allow caller is clerk
  stats = query Stat by BYTIME where PK = "ROOM#{{room}}" page 3
  return stats
  facts
}}"#
    )
}

/// `moving-index-key` and `cost` took the time for fixed, because the day stands in the key.
#[test]
fn an_upsert_moves_its_item_in_an_index_by_what_the_key_does_not_tell() {
    let index = |moves: &str, sort: &str| {
        format!("index BYTIME {moves} {{\n    PK = \"ROOM#{{room}}\"\n    SK = \"{sort}\"\n  }}")
    };
    assert_eq!(told(&counted_by_day(&index("", "{at}"), 2)), ["moving-index-key"]);
    assert_eq!(told(&counted_by_day(&index("", "{at:hour}"), 2)), ["moving-index-key"]);
    assert_eq!(told(&counted_by_day(&index("moves", "{at}"), 2)), ["cost"]);
    assert_eq!(told(&counted_by_day(&index("moves", "{at}"), 3)), NONE);
    // The day of the key tells the day of the index, and its month.
    assert_eq!(told(&counted_by_day(&index("", "{at:day}"), 2)), NONE);
    assert_eq!(told(&counted_by_day(&index("", "{at:month}"), 2)), NONE);
    assert_eq!(told(&counted_by_day(&index("moves", "{at:month}"), 2)), NONE);
}
