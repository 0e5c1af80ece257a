//! Items that end: from that millisecond on an item is absent to every read and every condition.

use latchkey_runtime::{System, sweep};
use latchkey_table::{Put, Returning, Value};

use crate::support::{NOW, Told, World, after, broken, call, document};

const DESKS: &str = r#"
entity Lease "LEASE" {
  PK = "LEASE#{desk}"
  SK = "META"
  desk id, holder id, endsAt time, note text(20)?, version counter
  expires endsAt
}
entity HolderLease "HOLDER_LEASE" view of Lease {
  PK = "HOLDER#{holder}"
  SK = "LEASE#{desk}"
  copies holder, desk, endsAt
}
contract TAKE "Take a desk" {
  POST /desks/{desk}
  allow true
  transact {
    lease = put Lease { desk, holder = caller.id, endsAt = now + 60s } if absent else 409 taken
    put HolderLease of lease replace
  }
  return 201 lease
  facts
}
contract SEE "See a desk" {
  GET /desks/{desk}
  allow true
  lease = get Lease else 404 gone
  return lease
  facts
}
contract MINE "See a holder's desks" {
  GET /holders/{holder}/desks
  allow true
  leases = query HolderLease where PK = "HOLDER#{holder}" and SK begins_with "LEASE#" page 10
  return leases
  facts
}
contract EXTEND "Extend" {
  POST /desks/{desk}/extend
  input until time
  lease = get Lease strong else 404 gone
  allow caller owns lease.holder
  transact {
    update lease set endsAt = until, version = .version + 1 if unchanged else retry
    put HolderLease of lease replace
  }
  return lease
  facts
}
"#;

const MARKS: &str = r#"
entity Mark "MARK" {
  PK = "MARKS#{shelf}"
  SK = "MARK#{n:03}"
  shelf id, n int 0..999, until time?
  expires until
}
contract PUT "Put a mark" {
  PUT /marks/{shelf}/{n}
  input until time?
  allow true
  mark = put Mark { shelf, n, until } if absent else 409 marked
  return 201 mark
  facts
}
contract CHANGE "Change a mark" {
  PATCH /marks/{shelf}/{n}
  input until time?
  mark = get Mark strong else 404 gone
  allow true
  update mark set until ?= until else 409 lost
  return mark
  facts
}
contract DROP "Drop a mark" {
  DELETE /marks/{shelf}/{n}
  mark = get Mark strong else 404 gone
  allow true
  delete mark if .n == n else 409 lost
  return mark
  facts
}
contract PAGE "List marks" {
  GET /marks/{shelf}
  allow true
  marks = query Mark where PK = "MARKS#{shelf}" and SK begins_with "MARK#" page 5 max 100
  return marks { n }
  facts
}
contract FIRST "List the first marks" {
  GET /first/{shelf}
  allow true
  marks = query Mark where PK = "MARKS#{shelf}" and SK begins_with "MARK#" first 3
  return marks { n }
  facts
}
contract LAST "The last mark" {
  GET /last/{shelf}
  allow true
  mark = query Mark where PK = "MARKS#{shelf}" and SK begins_with "MARK#" order descending first 1 else 404 none
  return mark { n }
  facts
}
contract SOME "Some marks" {
  GET /some/{shelf}
  allow true
  marks = get Mark n in 0..9 snapshot
  return marks { n }
  facts
}
"#;

async fn at(world: &World, milliseconds: i64, contract: &str, inputs: &str) -> Told {
    let mut call = call(contract, inputs);
    call.at = Some(NOW + milliseconds);
    world.made(call).await
}

/// The numbers of the marks that a contract lists.
fn numbers(told: &Told) -> Vec<i64> {
    let items = told.json()["items"].as_array().cloned().unwrap();
    items.iter().map(|item| item["n"].as_i64().unwrap()).collect()
}

// "From that millisecond on the item is absent to every contract, whether or not it is still stored."
#[tokio::test]
async fn an_item_is_there_until_the_millisecond_of_its_end() {
    let world = World::start(DESKS).await;
    assert_eq!(at(&world, 0, "TAKE", r#"{"desk": "D"}"#).await.status(), 201);
    let seen = |told: Told| (told.0.result.is_ok(), told.status());
    assert_eq!(seen(at(&world, 59_999, "SEE", r#"{"desk": "D"}"#).await), (true, 200));
    assert_eq!(at(&world, 59_999, "TAKE", r#"{"desk": "D"}"#).await.told(), (409, "taken".into()));
    assert_eq!(at(&world, 60_000, "SEE", r#"{"desk": "D"}"#).await.status(), 404);
    let extend = format!(r#"{{"desk": "D", "until": "{}"}}"#, after(999_000));
    assert_eq!(at(&world, 60_000, "EXTEND", &extend).await.told(), (404, "gone".into()));
    let mine = at(&world, 60_000, "MINE", r#"{"holder": "alice"}"#).await;
    assert_eq!(mine.json(), serde_json::json!({"items": [], "nextCursor": null}));
    assert!(world.stored("LEASE#D", "META").is_some(), "it is stored all the same");
    let again = at(&world, 60_000, "TAKE", r#"{"desk": "D"}"#).await;
    assert_eq!((again.status(), again.member("version")), (201, 1.into()));
}

// "the second in which the item may be removed": no second before the end, and it follows the end.
#[tokio::test]
async fn the_second_of_removal_follows_the_end() {
    let world = World::start(DESKS).await;
    at(&world, 1, "TAKE", r#"{"desk": "D"}"#).await;
    let second = |partition: &str, sort: &str| world.attribute(partition, sort, "expires").unwrap();
    let expected = (NOW / 1000 + 61).to_string();
    assert_eq!(
        (second("LEASE#D", "META"), second("HOLDER#alice", "LEASE#D")),
        (expected.clone(), expected)
    );
    let extend = format!(r#"{{"desk": "D", "until": "{}"}}"#, after(70_000));
    assert_eq!(at(&world, 0, "EXTEND", &extend).await.status(), 200);
    let expected = (NOW / 1000 + 70).to_string();
    assert_eq!(
        (second("LEASE#D", "META"), second("HOLDER#alice", "LEASE#D")),
        (expected.clone(), expected)
    );
    // A write may end its item: the answer has it still, and nobody finds it.
    let end = format!(r#"{{"desk": "D", "until": "{}"}}"#, after(5));
    assert_eq!(at(&world, 5, "EXTEND", &end).await.member("endsAt"), after(5));
    assert_eq!(at(&world, 5, "SEE", r#"{"desk": "D"}"#).await.status(), 404);
}

// "With `endsAt time?`, an item without the attribute has no end."
#[tokio::test]
async fn an_end_that_is_absent_never_comes() {
    let world = World::start(MARKS).await;
    let mark = r#"{"shelf": "S", "n": 1}"#;
    assert_eq!(at(&world, 0, "PUT", mark).await.status(), 201);
    assert_eq!(world.attribute("MARKS#S", "MARK#001", "expires"), None);
    let far = 1_000 * 24 * 60 * 60 * 1000;
    assert_eq!(at(&world, far, "PUT", mark).await.told(), (409, "marked".into()));
    let end = format!(r#"{{"shelf": "S", "n": 1, "until": "{}"}}"#, after(1_001));
    assert_eq!(at(&world, 1_000, "CHANGE", &end).await.status(), 200);
    let second = (NOW / 1000 + 2).to_string();
    assert_eq!(world.attribute("MARKS#S", "MARK#001", "expires"), Some(second));
    let never = r#"{"shelf": "S", "n": 1, "until": null}"#;
    assert_eq!(at(&world, 1_000, "CHANGE", never).await.status(), 200);
    assert_eq!(world.attribute("MARKS#S", "MARK#001", "expires"), None);
    assert_eq!(at(&world, far, "DROP", mark).await.status(), 200);
    assert_eq!(at(&world, far, "DROP", mark).await.status(), 404);
}

// A write whose item ended between its call's `now` and the write looks at its own `now`; one whose `now` is later does
// not touch what has ended.
#[tokio::test]
async fn a_condition_looks_at_the_end() {
    let world = World::start(MARKS).await;
    let until = format!(r#"{{"shelf": "S", "n": 1, "until": "{}"}}"#, after(10));
    assert_eq!(at(&world, 0, "PUT", &until).await.status(), 201);
    let told = latchkey_runtime::explain(world.runtime.system(), "DROP").unwrap().to_string();
    assert!(told.contains("until"), "{told}");
    assert_eq!(at(&world, 10, "DROP", r#"{"shelf": "S", "n": 1}"#).await.status(), 404);
    assert!(world.stored("MARKS#S", "MARK#001").is_some());
    assert_eq!(at(&world, 9, "DROP", r#"{"shelf": "S", "n": 1}"#).await.status(), 200);
}

async fn some_marks(world: &World, ended: i64, live: i64) {
    let table = world.runtime.system().table().clone();
    let first = format!(r#"{{"shelf": "S", "n": 0, "until": "{}"}}"#, after(1));
    assert_eq!(at(world, 0, "PUT", &first).await.status(), 201);
    let item = world.stored("MARKS#S", "MARK#000").unwrap();
    for n in 1..ended + live {
        let mut item = item.clone();
        item.insert("SK", format!("MARK#{n:03}").as_str());
        item.insert("n", n);
        if n >= ended {
            item.remove("until");
            item.remove("expires");
        }
        let put = Put { table: table.clone(), item, condition: None };
        world.store.put(put, Returning::Nothing).await.unwrap();
    }
}

// "A query passes over items that have ended, at most 300 of them. Where it meets more, a `page` is cut short …"
#[tokio::test]
async fn pages_pass_over_what_has_ended_up_to_a_bound() {
    let world = World::start(MARKS).await;
    some_marks(&world, 290, 8).await;
    let shelf = r#"{"shelf": "S"}"#;
    let page = at(&world, 1, "PAGE", shelf).await;
    assert_eq!(numbers(&page), [290, 291, 292, 293, 294]);
    assert_eq!(numbers(&at(&world, 1, "FIRST", shelf).await), [290, 291, 292]);
    assert_eq!(at(&world, 1, "LAST", shelf).await.member("n"), 297);
    assert_eq!(numbers(&at(&world, 0, "SOME", shelf).await).len(), 10);
    assert_eq!(numbers(&at(&world, 1, "SOME", shelf).await), [0; 0]);
    let cursor = page.member("nextCursor");
    let next = format!(r#"{{"shelf": "S", "nextCursor": {cursor}}}"#);
    let next = at(&world, 1, "PAGE", &next).await;
    assert_eq!(
        (numbers(&next), next.member("nextCursor")),
        (vec![295, 296, 297], serde_json::Value::Null)
    );
}

#[tokio::test]
async fn a_page_that_meets_more_is_cut_short_and_goes_on() {
    let world = World::start(MARKS).await;
    some_marks(&world, 700, 3).await;
    let (mut cursor, mut found, mut pages) = (String::new(), Vec::new(), 0);
    loop {
        let page = at(&world, 1, "PAGE", &format!(r#"{{"shelf": "S"{cursor}}}"#)).await;
        assert_eq!(page.status(), 200, "{}", page.body());
        found.extend(numbers(&page));
        pages += 1;
        match page.member("nextCursor") {
            serde_json::Value::Null => break,
            next => cursor = format!(r#", "nextCursor": {next}"#),
        }
    }
    assert_eq!((found, pages), (vec![700, 701, 702], 3));
    // What must be whole is refused instead.
    let first = at(&world, 1, "FIRST", r#"{"shelf": "S"}"#).await;
    assert_eq!(first.told(), (503, "busy".into()));
    assert_eq!(
        numbers(&at(&world, 0, "FIRST", r#"{"shelf": "S"}"#).await),
        [0, 1, 2],
        "before their end"
    );
}

// "The embedded store removes it five minutes after the end."
#[tokio::test]
async fn a_sweep_removes_what_has_ended_for_five_minutes() {
    let world = World::start(MARKS).await;
    some_marks(&world, 600, 4).await;
    let system = world.runtime.system().clone();
    let grace = 5 * 60 * 1000;
    let all = |at: i64| {
        let (world, system) = (&world, system.clone());
        async move {
            let (mut from, mut removed, mut steps) = (None, 0, 0);
            loop {
                let swept = sweep(&*world.store, &system, from, NOW + at).await.unwrap();
                (removed, steps) = (removed + swept.removed, steps + 1);
                assert!(swept.removed <= 500, "a step is bounded");
                from = swept.after;
                if from.is_none() {
                    return (removed, steps);
                }
            }
        }
    };
    assert_eq!(all(grace).await.0, 0, "its second is not over");
    let (removed, steps) = all(grace + 1_000).await;
    assert_eq!((removed, world.all("MARKS#").len()), (600, 4));
    assert!(steps >= 3, "{steps}");
}

// An item with the attribute of the table's `ttl` was removed, although it had no end, or was another program's.
#[tokio::test]
async fn a_sweep_leaves_what_has_no_end() {
    let world = World::start(MARKS).await;
    let table = world.runtime.system().table().clone();
    for (sort, kind, until) in [
        ("MARK#001", Some("MARK"), None),
        ("MARK#002", Some("MARK"), Some("2099-01-01T00:00:00.000Z")),
        ("MARK#003", Some("NOTAMARK"), Some("2000-01-01T00:00:00.000Z")),
        ("MARK#004", None, None),
        ("MARK#005", Some("MARK"), Some("2000-01-01T00:00:00.000Z")),
    ] {
        let texts = [("kind", kind), ("until", until), ("PK", Some("MARKS#s")), ("SK", Some(sort))];
        let texts = texts.into_iter().filter_map(|(name, text)| Some((name, Value::from(text?))));
        let item = texts.chain([("expires", Value::from(946_684_800))]).collect();
        let put = Put { table: table.clone(), item, condition: None };
        world.store.put(put, Returning::Nothing).await.unwrap();
    }
    let system = world.runtime.system().clone();
    let (mut from, mut removed) = (None, 0);
    loop {
        let swept = sweep(&*world.store, &system, from, NOW).await.unwrap();
        removed += swept.removed;
        from = swept.after;
        if from.is_none() {
            break;
        }
    }
    assert_eq!((removed, world.all("MARKS#").len()), (1, 4));
    assert_eq!(world.stored("MARKS#s", "MARK#005"), None);
}

// An item that was put in the place of one that has ended is another item: `unchanged` does not hold.
#[tokio::test]
async fn what_replaces_an_item_that_has_ended_is_not_that_item() {
    let world = World::start(DESKS).await;
    at(&world, 0, "TAKE", r#"{"desk": "D"}"#).await;
    let made = |world: &World| world.attribute("LEASE#D", "META", "LATCHKEY#MADE").unwrap();
    let first = made(&world);
    at(&world, 60_000, "TAKE", r#"{"desk": "D"}"#).await;
    assert_ne!(made(&world), first);
}

// An item of another type with an end in the past is not replaced.
#[tokio::test]
async fn only_an_item_of_the_entity_is_replaced() {
    let world = World::start(MARKS).await;
    some_marks(&world, 1, 0).await;
    let mut item = world.stored("MARKS#S", "MARK#000").unwrap();
    item.insert("kind", "OTHER");
    let table = world.runtime.system().table().clone();
    let put = Put { table, item, condition: None };
    world.store.put(put, Returning::Nothing).await.unwrap();
    let told = at(&world, 1, "PUT", r#"{"shelf": "S", "n": 0}"#).await;
    assert_eq!(told.told(), (409, "marked".into()));
    let kept = world.stored("MARKS#S", "MARK#000").unwrap();
    assert_eq!(kept.get("kind"), Some(&Value::from("OTHER")));
}

#[test]
fn explain_shows_what_an_end_adds() {
    let system = System::read(&document(MARKS)).unwrap();
    let told = |contract: &str| latchkey_runtime::explain(&system, contract).unwrap().to_string();
    for (contract, parts) in [
        ("PUT", vec!["attribute_not_exists", "until, in seconds", "<= "]),
        ("CHANGE", vec!["if until <= now: counts as absent", "attribute_not_exists", "> "]),
        ("PAGE", vec!["items with until <= now are passed over, at most 300"]),
        ("FIRST", vec!["then 503 busy"]),
    ] {
        let text = told(contract);
        for part in parts {
            assert!(text.contains(part), "{contract} lacks {part}: {text}");
        }
    }
}

// "`ttl expires_at` names the attribute by which DynamoDB removes items that end"
#[tokio::test]
async fn a_table_names_the_attribute_by_which_its_items_are_removed() {
    let text = document(MARKS);
    assert!(text.contains("{ type kind }"), "{text}");
    let text = text.replace("{ type kind }", "{ type kind  ttl gone }");
    let system = System::read(&text).unwrap();
    let told = latchkey_runtime::explain(&system, "PUT").unwrap().to_string();
    assert!(told.contains("\"gone\"") && !told.contains("\"expires\""), "{told}");
    let named = |name: &str| broken(&MARKS.replace("shelf id,", &format!("shelf id, {name} id?,")));
    assert_eq!(named("gone"), [""; 0]);
    let reserved = named("expires");
    assert!(reserved.iter().any(|one| one.contains("`expires` is reserved")), "{reserved:?}");
    let checked = latchkey_model::check(&text.replace("shelf id,", "shelf id, gone id?,"));
    let told = checked.diagnostics.iter().map(|one| one.message.clone()).collect::<Vec<_>>();
    assert!(told.iter().any(|one| one.contains("`gone` is reserved")), "{told:?}");
}

#[test]
fn what_cannot_end_is_refused() {
    let entity = |members: &str| {
        format!(
            "entity Mark \"MARK\" {{\n  PK = \"MARK#{{n}}\"\n  SK = \"MARK\"\n  n id\n  {members}\n}}\n"
        )
    };
    let of = |members: &str| broken(&entity(members));
    assert_eq!(
        of("until text(9)\n  expires until"),
        ["type: `until` is text(9), and an end is a time"]
    );
    assert_eq!(of("until time\n  expires untill"), ["name: there is no attribute `untill`"]);
    assert_eq!(of("a time, b time\n  expires a\n  expires b"), ["name: an item has one end"]);
    let source = entity("until time\n  expires until");
    let view = |body: &str| {
        let view = "entity Seen \"SEEN\" view of Mark {\n  PK = \"SEEN#{n}\"\n  SK = \"SEEN\"\n";
        broken(&format!("{source}{view}  {body}\n}}\n"))
    };
    assert_eq!(view("copies n"), ["type: `Seen` is a view of `Mark`, and does not end with it"]);
    assert_eq!(view("copies n, until"), ["name: the document has no contract"], "and nothing else");
    let write = |statement: &str| {
        let body = format!(
            "contract TRY \"Try\" {{\n  PUT /marks/{{n}}\n  input at time\n  allow true\n  {statement}\n  \
             seen = get Mark strong else 404 gone\n  return seen\n  facts\n}}\n"
        );
        broken(&format!("{}{body}", entity("until time, other time\n  expires until")))
    };
    let upsert = write("upsert Mark set until = at, other = at");
    assert_eq!(upsert, ["type: `Mark` ends, and an `upsert` does not ask whether it has"]);
    let computed = write("update Mark set until = .other if .other < at else 404 gone");
    assert_eq!(computed, ["type: `until` is the end of the item, and no store computes that"]);
}
