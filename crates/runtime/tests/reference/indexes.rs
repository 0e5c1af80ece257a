//! Indexes: derived from the attributes, and there exactly when all of their parts are.

use crate::support::{World, call};

/// Tasks with a sparse index by what may be absent, and one that moves by what changes.
const TASKS: &str = r#"
entity Task "TASK" {
  PK = "TASK#{taskId}"
  SK = "META"
  taskId id, ownerId id, lane int 0..99, doneAt time?, note text(20)?

  index Done moves {
    PK = "OWNER#{ownerId}"
    SK = "DONE#{doneAt}#{taskId}"
  }
  index Lane moves {
    PK = "LANE#{lane:02}"
    SK = "TASK#{taskId}"
  }
}
contract MAKE "Make" {
  POST /tasks
  input taskId id, ownerId id, lane Task.lane, doneAt time?
  allow true
  task = put Task { taskId, ownerId, lane, doneAt } replace
  return 201 task
  facts
}
contract DONE "What is done" {
  GET /owners/{ownerId}/done
  allow true
  tasks = query Task by Done where PK = "OWNER#{ownerId}" and SK begins_with "DONE#" page 25
  return tasks { taskId, doneAt }
  facts
}
contract LANE "A lane" {
  GET /lanes/{lane}
  allow true
  tasks = query Task by Lane where PK = "LANE#{lane:02}" page 25
  return tasks { taskId, lane }
  facts
}
contract TOUCH "Touch" {
  POST /tasks/{taskId}/touch
  allow true
  task = update Task set note = "touched" else 404 not-found
  return task
  facts
}
contract FINISH "Finish what was read" {
  POST /tasks/{taskId}/finish
  task = get Task strong else 404 not-found
  allow true
  update task set doneAt = now if .ownerId == task.ownerId else retry
  return task
  facts
}
contract REOPEN "Reopen what was read" {
  POST /tasks/{taskId}/reopen
  task = get Task strong else 404 not-found
  allow true
  update task remove doneAt if .ownerId == task.ownerId else retry
  return task
  facts
}
contract SHIFT "Move what was read" {
  POST /tasks/{taskId}/shift
  input lane Task.lane ?, doneAt time?
  task = get Task strong else 404 not-found
  allow true
  waive unpinned "what is not given stays as it was read"
  update task set lane ?= lane, doneAt ?= doneAt if .ownerId == task.ownerId else retry
  return task
  facts
}
contract LEAVE "Delete" {
  DELETE /tasks/{taskId}
  allow true
  task = get Task strong else 404 not-found
  delete task
  return task
  facts
}
"#;

async fn tasks(more: &str) -> World {
    World::start(&format!("{TASKS}{more}")).await
}

/// The index attributes of a task as it is stored.
fn places(world: &World, task: &str) -> [Option<String>; 4] {
    ["DonePK", "DoneSK", "LanePK", "LaneSK"]
        .map(|name| world.attribute(&format!("TASK#{task}"), "META", name))
}

async fn done(world: &World) -> Vec<String> {
    listed(world, "DONE", r#"{"ownerId": "o"}"#).await
}

async fn listed(world: &World, contract: &str, inputs: &str) -> Vec<String> {
    let page = world.ok(contract, inputs).await;
    let items = page["items"].as_array().unwrap();
    items.iter().map(|item| item["taskId"].as_str().unwrap().to_owned()).collect()
}

fn quoted(texts: [&str; 4]) -> [Option<String>; 4] {
    texts.map(|text| (!text.is_empty()).then(|| format!("\"{text}\"")))
}

const LATE: &str = "2026-02-25T10:00:00.000Z";

#[tokio::test]
async fn a_put_places_the_item_where_its_parts_say() {
    let world = tasks("").await;
    world.ok("MAKE", r#"{"taskId": "a", "ownerId": "o", "lane": 7}"#).await;
    assert_eq!(places(&world, "a"), quoted(["", "", "LANE#07", "TASK#a"]));
    assert_eq!(done(&world).await, [""; 0]);
    let inputs = format!(r#"{{"taskId": "b", "ownerId": "o", "lane": 42, "doneAt": "{LATE}"}}"#);
    world.ok("MAKE", &inputs).await;
    let place = format!("DONE#{LATE}#b");
    assert_eq!(places(&world, "b"), quoted(["OWNER#o", &place, "LANE#42", "TASK#b"]));
    assert_eq!(done(&world).await, ["b"]);
    assert_eq!(listed(&world, "LANE", r#"{"lane": 42}"#).await, ["b"]);
    // Replaced by one that is not done, it is no longer there.
    world.ok("MAKE", r#"{"taskId": "b", "ownerId": "o", "lane": 1}"#).await;
    assert_eq!(places(&world, "b"), quoted(["", "", "LANE#01", "TASK#b"]));
    assert_eq!(done(&world).await, [""; 0]);
    assert_eq!(listed(&world, "LANE", r#"{"lane": 42}"#).await, [""; 0]);
}

#[tokio::test]
async fn an_update_of_what_was_read_moves_it() {
    let world = tasks("").await;
    world.ok("MAKE", r#"{"taskId": "a", "ownerId": "o", "lane": 7}"#).await;
    world.ok("FINISH", r#"{"taskId": "a"}"#).await;
    let place = format!("DONE#{LATE}#a");
    assert_eq!(places(&world, "a"), quoted(["OWNER#o", &place, "LANE#07", "TASK#a"]));
    assert_eq!(done(&world).await, ["a"]);
    world.ok("SHIFT", r#"{"taskId": "a", "lane": 8}"#).await;
    assert_eq!(places(&world, "a"), quoted(["OWNER#o", &place, "LANE#08", "TASK#a"]));
    assert_eq!(listed(&world, "LANE", r#"{"lane": 7}"#).await, [""; 0]);
    assert_eq!(listed(&world, "LANE", r#"{"lane": 8}"#).await, ["a"]);
    world.ok("TOUCH", r#"{"taskId": "a"}"#).await;
    assert_eq!(places(&world, "a"), quoted(["OWNER#o", &place, "LANE#08", "TASK#a"]));
    world.ok("REOPEN", r#"{"taskId": "a"}"#).await;
    assert_eq!(places(&world, "a"), quoted(["", "", "LANE#08", "TASK#a"]));
    assert_eq!(done(&world).await, [""; 0]);
    world.ok("SHIFT", &format!(r#"{{"taskId": "a", "doneAt": "{LATE}"}}"#)).await;
    assert_eq!(done(&world).await, ["a"]);
    world.ok("SHIFT", r#"{"taskId": "a", "doneAt": null}"#).await;
    assert_eq!(places(&world, "a"), quoted(["", "", "LANE#08", "TASK#a"]));
    world.ok("LEAVE", r#"{"taskId": "a"}"#).await;
    assert_eq!(listed(&world, "LANE", r#"{"lane": 8}"#).await, [""; 0]);
}

const MARK: &str = r#"
contract MARK "Finish without a look" {
  POST /tasks/{taskId}/mark
  allow true
  task = update Task set doneAt = now else 404 not-found
  return task
  facts
}
"#;

const UNMARK: &str = r#"
contract UNMARK "Reopen without a look" {
  POST /tasks/{taskId}/unmark
  allow true
  task = update Task remove doneAt else 404 not-found
  return task
  facts
}
"#;

// There exactly when all of its parts are, also for an item that was written without having been read.
#[tokio::test]
async fn an_update_without_a_read_places_the_item_too() {
    let Some(world) = World::perhaps(&format!("{TASKS}{MARK}")).await else { return };
    world.ok("MAKE", r#"{"taskId": "a", "ownerId": "o", "lane": 7}"#).await;
    world.ok("MARK", r#"{"taskId": "a"}"#).await;
    assert_eq!(done(&world).await, ["a"], "it has every part by now");
    let place = format!("DONE#{LATE}#a");
    assert_eq!(places(&world, "a"), quoted(["OWNER#o", &place, "LANE#07", "TASK#a"]));
}

#[tokio::test]
async fn an_update_without_a_read_takes_the_item_out_too() {
    let Some(world) = World::perhaps(&format!("{TASKS}{UNMARK}")).await else { return };
    let inputs = format!(r#"{{"taskId": "a", "ownerId": "o", "lane": 7, "doneAt": "{LATE}"}}"#);
    world.ok("MAKE", &inputs).await;
    world.ok("UNMARK", r#"{"taskId": "a"}"#).await;
    assert_eq!(done(&world).await, [""; 0]);
    assert_eq!(places(&world, "a"), quoted(["", "", "LANE#07", "TASK#a"]));
}

// A part is set once; an index whose parts change says `moves`, and pays two index writes for each change.
#[tokio::test]
async fn a_move_costs_two_index_writes() {
    let world = tasks("").await;
    let told = world.call("MAKE", r#"{"taskId": "a", "ownerId": "o", "lane": 7}"#).await;
    assert_eq!(told.capacity(), "rcu=0, wcu=2", "the item, and its lane");
    let told = world.call("FINISH", r#"{"taskId": "a"}"#).await;
    assert_eq!(told.capacity(), "rcu=1, wcu=3", "the item, a new place, and the lane's copy");
    let told = world.call("SHIFT", r#"{"taskId": "a", "lane": 8}"#).await;
    assert_eq!(
        told.capacity(),
        "rcu=1, wcu=4",
        "the item, out of one lane, into another, and done"
    );
    let told = world.call("DONE", r#"{"ownerId": "o"}"#).await;
    assert_eq!(told.capacity(), "rcu=0.5, wcu=0");
}

// Index attributes are part of what a write leaves, and never of what is answered.
#[tokio::test]
async fn index_attributes_are_not_shown() {
    let world = tasks("").await;
    world.ok("MAKE", r#"{"taskId": "a", "ownerId": "o", "lane": 7}"#).await;
    for contract in ["FINISH", "TOUCH", "REOPEN"] {
        let body = world.call(contract, r#"{"taskId": "a"}"#).await.body();
        for name in ["DonePK", "LaneSK", "\"PK\"", "\"SK\"", "\"kind\""] {
            assert!(!body.contains(name), "{contract} shows {name}: {body}");
        }
    }
    let mut traced = call("SHIFT", r#"{"taskId": "a", "lane": 9}"#);
    traced.trace = true;
    let told = world.made(traced).await;
    assert!(format!("{:?}", told.0.trace).contains("LANE#09"), "a trace shows what was asked");
}

// An upsert places what it makes, and what it changes.
#[tokio::test]
async fn an_upsert_places_the_item() {
    let text = r#"
entity Seen "SEEN" {
  PK = "SEEN#{userId}"
  SK = "META"
  userId id, at time, times int = 0, place id?
  waive hot-partition "a test"
  index Recent moves { PK = "SEEN"  SK = "{at}#{userId}" }
  index Place moves { PK = "PLACE#{place}"  SK = "{userId}" }
}
contract SEE "See" {
  POST /seen/{userId}
  input at time, place id?
  allow true
  seen = upsert Seen set at = at, place = place add times = 1
  return seen
  facts
}
contract RECENT "Recently seen" {
  GET /seen
  allow true
  seen = query Seen by Recent where PK = "SEEN" order descending page 10
  return seen { userId }
  facts
}
contract THERE "Seen at a place" {
  GET /places/{place}
  allow true
  seen = query Seen by Place where PK = "PLACE#{place}" page 10
  return seen { userId }
  facts
}
"#;
    let world = World::start(text).await;
    let users = async |contract: &str, inputs: &str| {
        let page = world.ok(contract, inputs).await;
        let items = page["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["userId"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    world.ok("SEE", r#"{"userId": "a", "at": "2026-01-01T00:00:00Z", "place": "x"}"#).await;
    world.ok("SEE", r#"{"userId": "b", "at": "2026-01-02T00:00:00Z"}"#).await;
    assert_eq!(users("RECENT", "{}").await, ["b", "a"]);
    assert_eq!(users("THERE", r#"{"place": "x"}"#).await, ["a"]);
    let told = world.ok("SEE", r#"{"userId": "a", "at": "2026-01-03T00:00:00Z"}"#).await;
    assert_eq!(told["times"], 2);
    assert_eq!(users("RECENT", "{}").await, ["a", "b"]);
    assert_eq!(users("THERE", r#"{"place": "x"}"#).await, [""; 0]);
    for name in ["PlacePK", "PlaceSK"] {
        assert_eq!(world.attribute("SEEN#a", "META", name), None, "{name}: a part is not there");
    }
}

// A part of a sparse index could be removed only by those who had read the item, and a write of one beside a counter was a
// 400: the counter was looked for in an item that nobody had read.
#[tokio::test]
async fn an_item_that_was_not_read_moves_in_its_index() {
    let text = r#"
entity Product "PRODUCT" {
  PK = "PRODUCT#{sku}"
  SK = "META"
  sku id, maker id, shelf id?, version counter
  index Shelf moves { PK = "SHELF#{shelf}"  SK = "{sku}" }
  index Maker moves { PK = "MAKER#{maker}"  SK = "{shelf}#{sku}" }
}
contract NEW "Add a product" {
  POST /products/{sku}
  input maker id, shelf id?
  allow true
  product = put Product { sku, maker, shelf } if absent else 409 exists
  return product
  facts
}
contract OFF "Take a product off its shelf" {
  DELETE /products/{sku}/shelf
  allow true
  product = update Product set version = .version + 1 remove shelf else 404 not-found
  return product
  facts
}
contract SHELF "What lies on a shelf" {
  GET /shelves/{shelf}
  allow true
  products = query Product by Shelf where PK = "SHELF#{shelf}" page 10
  return products { sku }
  facts
}
contract MADE "What a maker makes" {
  GET /makers/{maker}
  allow true
  products = query Product by Maker where PK = "MAKER#{maker}" page 10
  return products { sku }
  facts
}
"#;
    let world = World::start(text).await;
    world.ok("NEW", r#"{"sku": "a", "maker": "m", "shelf": "s"}"#).await;
    let all = |name: &str| world.attribute("PRODUCT#a", "META", name);
    assert_eq!(all("ShelfPK").as_deref(), Some(r#""SHELF#s""#));
    assert_eq!(all("MakerSK").as_deref(), Some(r#""s#a""#));
    let told = world.ok("OFF", r#"{"sku": "a"}"#).await;
    assert_eq!(told["version"], 2);
    for name in ["shelf", "ShelfPK", "ShelfSK", "MakerPK", "MakerSK"] {
        assert_eq!(all(name), None, "{name}");
    }
}

#[tokio::test]
async fn a_part_that_may_be_left_alone_leaves_its_index_alone() {
    let text = r#"
entity Product "PRODUCT" {
  PK = "PRODUCT#{sku}"
  SK = "META"
  sku id, note text(20)?, shelf id?, version counter
  index Shelf moves { PK = "SHELF#{shelf}"  SK = "{sku}" }
}
contract NEW "Add a product" {
  POST /products/{sku}
  input shelf id?
  allow true
  product = put Product { sku, shelf } if absent else 409 exists
  return product
  facts
}
contract MOVE "Move a product" {
  PATCH /products/{sku}
  input shelf id?, note text(20)?
  allow true
  product = update Product set shelf ?= shelf, note ?= note, version = .version + 1 else 404 not-found
  return product
  facts
}
contract SHELF "What lies on a shelf" {
  GET /shelves/{shelf}
  allow true
  products = query Product by Shelf where PK = "SHELF#{shelf}" page 10
  return products { sku }
  facts
}
"#;
    let world = World::start(text).await;
    world.ok("NEW", r#"{"sku": "a", "shelf": "s"}"#).await;
    let place = || ["ShelfPK", "ShelfSK"].map(|name| world.attribute("PRODUCT#a", "META", name));
    let at = |shelf: &str| [Some(format!("\"SHELF#{shelf}\"")), Some("\"a\"".to_owned())];
    let cases = [
        (r#"{"sku": "a", "note": "left alone"}"#, at("s")),
        (r#"{"sku": "a", "shelf": "t"}"#, at("t")),
        (r#"{"sku": "a", "shelf": null}"#, [None, None]),
        (r#"{"sku": "a", "note": "still nowhere"}"#, [None, None]),
        (r#"{"sku": "a", "shelf": "u"}"#, at("u")),
    ];
    for (inputs, expected) in cases {
        world.ok("MOVE", inputs).await;
        assert_eq!(place(), expected, "{inputs}");
    }
}
