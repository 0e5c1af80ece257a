//! Filters: pages of what is kept, bounded by what is read.

use latchkey_runtime::explain;
use latchkey_table::{Item, Put, Returning};
use proptest::prelude::*;

use crate::support::{Told, World, call, cases};

const TASKS: &str = r#"
entity Task "TASK" {
  PK = "PLAN#{planId}"
  SK = "TASK#{taskId}"
  planId id, taskId id, state OPEN | DONE = OPEN, points int 0..9 = 0, labels set(5) of text(9)?, endsAt time?
  expires endsAt
  index ByState moves { PK = "STATE#{state}"  SK = "{taskId}" }
}
contract ADD "Add a task" {
  POST /plans/{planId}
  input taskId id, state Task.state, points Task.points, endsAt time?
  allow true
  task = put Task { planId, taskId, state, points, endsAt } if absent else 409 there
  return 201 task
  facts
}
contract LIST "The tasks of a plan, or those in a state" {
  GET /plans/{planId}
  input state Task.state ?, order asc | desc = asc
  allow true
  waive filter "a plan has few tasks"
  tasks = query Task strong
    where PK = "PLAN#{planId}"
    order descending when order == desc
    page 3 max 9
    keep state is absent or .state == state
    reading 9
  return tasks { taskId }
  facts
}
contract DEAR "The tasks of a state that have points" {
  GET /states/{state}
  input least Task.points
  allow true
  waive filter "few tasks have no points"
  tasks = query Task by ByState where PK = "STATE#{state}" page 2 keep .points >= least reading 5
  return tasks { taskId }
  facts
}
contract NEXT "The first open task" {
  GET /plans/{planId}/next
  allow true
  waive filter "a plan has few tasks that are done"
  task = query Task strong where PK = "PLAN#{planId}" first 1 keep .state == OPEN reading 5 else 404 none
  return task { taskId }
  facts
}
contract TWO "The first open tasks" {
  GET /plans/{planId}/two
  allow true
  waive filter "a plan has few tasks that are done"
  tasks = query Task strong where PK = "PLAN#{planId}" first 2 keep .state == OPEN reading 5
  return tasks { taskId }
  facts
}
contract NEVER "Those that the caller may see" {
  GET /plans/{planId}/seen
  input all bool = true
  allow true
  waive filter "a plan has few tasks"
  tasks = query Task where PK = "PLAN#{planId}" page 3 keep all and .state == OPEN reading 9
  return tasks { taskId }
  facts
}
"#;

const DEALS: &str = r#"
entity Deal "DEAL" {
  PK = "DEAL#{dealId}"
  SK = "META"
  dealId id, rank int 0..99?, price int 0..9
  index Featured { PK = "FEATURED#{rank:02}"  SK = "{dealId}" }
}
contract ADD "Add a deal" {
  POST /deals/{dealId}
  input rank Deal.rank ?, price Deal.price
  allow true
  deal = put Deal { dealId, rank, price } if absent else 409 there
  return 201 deal
  facts
}
contract FEATURED "All deals that are featured" {
  GET /featured
  allow true
  waive scan "few deals are featured"
  deals = query Deal by Featured page 3 max 5 reading 5
  return deals { dealId }
  facts
}
contract DEAR "All deals that are featured and dear" {
  GET /dear
  input least Deal.price
  allow true
  waive scan "few deals are featured"
  waive filter "few of them are cheap"
  deals = query Deal by Featured page 3 keep .price >= least reading 4
  return deals { dealId }
  facts
}
"#;

/// All pages of a scan, and how many there were.
async fn scanned(world: &World, contract: &str, inputs: &str) -> (Vec<String>, usize) {
    let (mut all, mut pages, mut cursor) = (Vec::new(), 0, None::<String>);
    loop {
        let mut inputs = inputs.to_owned();
        if let Some(next) = cursor {
            let more = if inputs == "{}" { "" } else { ", " };
            inputs = format!(r#"{}{more}"nextCursor": "{next}"}}"#, inputs.trim_end_matches('}'));
        }
        let body = world.ok(contract, &inputs).await;
        let items = body["items"].as_array().unwrap().iter();
        all.extend(items.map(|item| item["dealId"].as_str().unwrap().to_owned()));
        pages += 1;
        match body["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return (all, pages),
        }
        assert!(pages < 100, "it goes on for ever");
    }
}

#[tokio::test]
async fn a_scan_of_an_index_goes_through_all_partitions() {
    let world = World::start(DEALS).await;
    let mut featured = Vec::new();
    for at in 0..20 {
        // Every other one is featured, two in each partition.
        let rank = if at % 2 == 0 { format!(r#""rank": {}, "#, at / 4) } else { String::new() };
        let inputs = format!(r#"{{{rank}"dealId": "d{at:02}", "price": {}}}"#, at % 10);
        world.ok("ADD", &inputs).await;
        featured.extend((at % 2 == 0).then(|| format!("d{at:02}")));
    }
    let (mut all, pages) = scanned(&world, "FEATURED", "{}").await;
    all.sort();
    assert_eq!((all, pages), (featured.clone(), 4));
    let (mut dear, _) = scanned(&world, "DEAR", r#"{"least": 6}"#).await;
    dear.sort();
    assert_eq!(dear, ["d06", "d08", "d16", "d18"]);
    let none = scanned(&World::start(DEALS).await, "FEATURED", "{}").await;
    assert_eq!(none, (Vec::new(), 1));
    // A cursor of one scan is for no other.
    let body = world.ok("FEATURED", "{}").await;
    let next = body["nextCursor"].as_str().unwrap();
    let other = world.call("DEAR", &format!(r#"{{"least": 0, "nextCursor": "{next}"}}"#)).await;
    assert_eq!(other.told(), (400, "invalid-cursor".into()));
}

#[tokio::test]
async fn explain_shows_a_scan() {
    let world = World::start(DEALS).await;
    let told = explain(world.runtime.system(), "DEAR").unwrap().to_string();
    for line in [
        "deals = query Deal by Featured page 3 keep .price >= least reading 4",
        "   Scan\n",
        r#""IndexName": "Featured""#,
        r##""FilterExpression": "#n0 >= :v0""##,
        "all partitions of the index, in an order that is the table's own",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    // A page of five and the one that tells whether there are more would be more than may be read.
    let featured = explain(world.runtime.system(), "FEATURED").unwrap().to_string();
    let limit = "to tell whether there are more, but no more than may be read; at most 5";
    assert!(featured.contains(limit), "{featured}");
}

/// What is secret in a filter is black in a trace.
#[tokio::test]
async fn a_secret_of_a_filter_is_not_in_the_trace() {
    let world = World::start(
        r#"
entity Door "DOOR" {
  PK = "HOUSE#{houseId}"
  SK = "DOOR#{doorId}"
  houseId id, doorId id, pin text(9) secret
}
contract ADD "Add a door" {
  POST /doors/{houseId}
  input doorId id, pin text(9) secret
  allow true
  door = put Door { houseId, doorId, pin } if absent else 409 there
  return 201 door
  facts
}
contract OPEN "The doors that a pin opens" {
  GET /doors/{houseId}
  input pin text(9) secret
  allow true
  waive filter "a house has few doors"
  doors = query Door where PK = "HOUSE#{houseId}" page 3 keep .pin == pin reading 9
  return doors
  facts
}
"#,
    )
    .await;
    world.ok("ADD", r#"{"houseId": "h", "doorId": "a", "pin": "4711"}"#).await;
    let told = told(&world, "OPEN", r#"{"houseId": "h", "pin": "4711"}"#).await;
    assert!(told.body().contains(r#""doorId":"a""#), "{}", told.body());
    assert!(!format!("{:?}", told.0.trace).contains("4711"), "{:?}", told.0.trace);
}

/// A task: whether it is open, its points, and whether it has ended.
type Task = (bool, u8, bool);

async fn world(tasks: &[Task]) -> World {
    let world = World::start(TASKS).await;
    for (at, (open, points, ended)) in tasks.iter().enumerate() {
        let state = if *open { "OPEN" } else { "DONE" };
        let ends = if *ended { r#", "endsAt": "2026-02-25T10:00:00.000Z""# } else { "" };
        let inputs = format!(
            r#"{{"planId": "p", "taskId": "t{at:02}", "state": "{state}", "points": {points}{ends}}}"#
        );
        world.ok("ADD", &inputs).await;
    }
    world
}

/// Calls at an instant by which some tasks have ended.
async fn told(world: &World, contract: &str, inputs: &str) -> Told {
    let mut call = call(contract, inputs);
    call.trace = true;
    world.made(call).await
}

fn ids(body: &serde_json::Value) -> Vec<String> {
    let items = body["items"].as_array().unwrap().iter();
    items.map(|item| item["taskId"].as_str().unwrap().to_owned()).collect()
}

/// All pages of a list, each with how many items it has.
async fn pages(world: &World, contract: &str, inputs: &str, most: usize) -> Vec<Vec<String>> {
    let (mut all, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let next = cursor.map_or(String::new(), |next| format!(r#", "nextCursor": "{next}""#));
        let told = told(world, contract, &format!("{{{inputs}{next}}}")).await;
        assert_eq!(told.status(), 200, "{}", told.body());
        let body = told.json();
        all.push(ids(&body));
        assert!(told.0.trace.len() <= most, "{:?}", told.0.trace);
        match body["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return all,
        }
        assert!(all.len() < 100, "it goes on for ever");
    }
}

fn open(range: std::ops::Range<usize>) -> Vec<Task> {
    range.map(|at| (at % 4 == 0, 0, false)).collect()
}

#[tokio::test]
async fn a_page_is_filled_up_to_the_bound() {
    // Every fourth of twenty is open.
    let world = world(&open(0..20)).await;
    // Nine are read for a page: three of them are open, and the third is at the end of the nine.
    let all = pages(&world, "LIST", r#""planId": "p", "state": "OPEN""#, 2).await;
    assert_eq!(all, [vec!["t00", "t04", "t08"], vec!["t12", "t16"], vec![]]);
    let down = pages(&world, "LIST", r#""planId": "p", "state": "OPEN", "order": "desc""#, 2).await;
    assert_eq!(down, [vec!["t16", "t12"], vec!["t08", "t04"], vec!["t00"]]);
    // Not asked for, nothing is dropped, and one more than the page is read.
    let plain = pages(&world, "LIST", r#""planId": "p", "pageSize": 9"#, 1).await;
    assert_eq!(plain.iter().map(Vec::len).collect::<Vec<_>>(), [9, 9, 2]);
}

#[tokio::test]
async fn reads_are_charged_for_what_is_read() {
    let world = world(&open(0..9)).await;
    let state = told(&world, "LIST", r#"{"planId": "p", "state": "OPEN"}"#).await;
    let all = told(&world, "LIST", r#"{"planId": "p", "pageSize": 8}"#).await;
    // Small items: one unit for each strong request. The first reads four, the second the rest.
    assert_eq!((state.0.trace.len(), state.0.capacity.read_halves), (2, 4));
    assert_eq!((all.0.trace.len(), all.0.capacity.read_halves), (1, 2));
}

#[tokio::test]
async fn the_first_are_found_or_the_call_is_refused() {
    // The sixth is open: behind the bound.
    let far: Vec<Task> = (0..8).map(|at| (at > 4, 0, false)).collect();
    let world_far = world(&far).await;
    for contract in ["NEXT", "TWO"] {
        let told = told(&world_far, contract, r#"{"planId": "p"}"#).await;
        assert_eq!(told.told(), (503, "busy".into()), "{contract}");
        assert!(told.body().contains("5 items were read"), "{}", told.body());
    }
    let near: Vec<Task> = (0..8).map(|at| (at > 3, 0, false)).collect();
    let world_near = world(&near).await;
    assert_eq!(told(&world_near, "NEXT", r#"{"planId": "p"}"#).await.json()["taskId"], "t04");
    // One of two is a part.
    let two = told(&world_near, "TWO", r#"{"planId": "p"}"#).await;
    assert_eq!(two.told(), (503, "busy".into()));
    // Where the range ends within the bound, that is all there are.
    let few = world(&[(false, 0, false), (true, 0, false)]).await;
    assert_eq!(ids(&told(&few, "TWO", r#"{"planId": "p"}"#).await.json()), ["t01"]);
    let none = world(&[(false, 0, false)]).await;
    assert_eq!(told(&none, "NEXT", r#"{"planId": "p"}"#).await.told(), (404, "none".into()));
    assert_eq!(ids(&told(&none, "TWO", r#"{"planId": "p"}"#).await.json()), Vec::<String>::new());
}

#[tokio::test]
async fn an_item_that_has_ended_is_dropped_and_counts_as_read() {
    let tasks: Vec<Task> = (0..12).map(|at| (true, 0, at != 11)).collect();
    let world = world(&tasks).await;
    let all = pages(&world, "LIST", r#""planId": "p", "state": "OPEN""#, 2).await;
    assert_eq!(all, [vec![], vec!["t11"]]);
    let told = told(&world, "NEXT", r#"{"planId": "p"}"#).await;
    assert_eq!(told.told(), (503, "busy".into()));
}

#[tokio::test]
async fn a_filter_that_no_item_can_pass_asks_nothing() {
    let world = world(&open(0..5)).await;
    let none = told(&world, "NEVER", r#"{"planId": "p", "all": false}"#).await;
    assert_eq!((none.0.trace.len(), none.json()["items"].clone()), (0, serde_json::json!([])));
    assert!(none.json()["nextCursor"].is_null());
    assert_eq!(ids(&told(&world, "NEVER", r#"{"planId": "p"}"#).await.json()), ["t00", "t04"]);
}

/// The filter looks at what is stored: a damaged item that it keeps is told, and one that it drops is not seen.
#[tokio::test]
async fn a_damaged_item_that_is_kept_is_told() {
    let world = world(&open(0..2)).await;
    let put = |state: &str, kind: &str| {
        let item = Item::from([
            ("PK", "PLAN#p"),
            ("SK", "TASK#t01"),
            ("kind", kind),
            ("planId", "p"),
            ("taskId", "t01"),
            ("state", state),
            ("points", "no number"),
        ]);
        let table = world.runtime.system().table().clone();
        world.store.put(Put { table, item, condition: None }, Returning::Nothing).wait().unwrap();
    };
    let open = r#"{"planId": "p", "state": "OPEN"}"#;
    put("OPEN", "TASK");
    assert_eq!(told(&world, "LIST", open).await.told(), (500, "damaged-item".into()));
    put("DONE", "TASK");
    assert_eq!(ids(&told(&world, "LIST", open).await.json()), ["t00"]);
    // Of another type, it is passed over.
    put("OPEN", "OTHER");
    assert_eq!(ids(&told(&world, "LIST", open).await.json()), ["t00"]);
}

#[tokio::test]
async fn a_cursor_of_a_filter_is_for_its_inputs() {
    let world = world(&open(0..20)).await;
    let body = told(&world, "LIST", r#"{"planId": "p", "state": "OPEN"}"#).await.json();
    let next = body["nextCursor"].as_str().unwrap();
    for inputs in [r#""planId": "p", "state": "DONE""#, r#""planId": "p""#] {
        let told = told(&world, "LIST", &format!(r#"{{{inputs}, "nextCursor": "{next}"}}"#)).await;
        assert_eq!(told.told(), (400, "invalid-cursor".into()), "{inputs}");
    }
}

#[tokio::test]
async fn explain_shows_the_filter() {
    let world = world(&[]).await;
    let told = |contract: &str| explain(world.runtime.system(), contract).unwrap().to_string();
    let list = told("LIST");
    for line in [
        "max 9 keep state is absent or .state == state reading 9",
        "Query when state is present and order == \"desc\"",
        "Query when state is absent and order == \"desc\"",
        r##""FilterExpression": "#n1 = :v1""##,
        "asked again until 9 items are read; the page is then cut short, and has a cursor",
        "items with endsAt <= now are passed over, and count among those",
    ] {
        assert!(list.contains(line), "{line}\n{list}");
    }
    assert!(told("NEXT").contains("asked again until 5 items are read; then 503 busy"));
    assert!(
        told("NEVER").contains("when not all: not asked, no item can be kept"),
        "{}",
        told("NEVER")
    );
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn pages_are_what_is_kept_in_order(
        tasks in proptest::collection::vec((any::<bool>(), 0..4u8, proptest::bool::weighted(0.2)), 0..24),
        size in 1..6usize,
        least in 0..4u8,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = world(&tasks).await;
            let kept = |keep: &dyn Fn(&Task) -> bool| -> Vec<String> {
                let all = tasks.iter().enumerate();
                let kept = all.filter(|(_, task)| keep(task) && !task.2);
                kept.map(|(at, _)| format!("t{at:02}")).collect()
            };
            let mut open = kept(&|task| task.0);
            let inputs = format!(r#""planId": "p", "state": "OPEN", "pageSize": {size}"#);
            prop_assert_eq!(pages(&world, "LIST", &inputs, 2).await.concat(), open.clone());
            let inputs = format!(r#""planId": "p", "state": "OPEN", "order": "desc", "pageSize": {size}"#);
            open.reverse();
            prop_assert_eq!(pages(&world, "LIST", &inputs, 2).await.concat(), open);
            let all = pages(&world, "LIST", &format!(r#""planId": "p", "pageSize": {size}"#), 9).await;
            prop_assert_eq!(all.concat(), kept(&|_| true));
            let dear = pages(&world, "DEAR", &format!(r#""state": "DONE", "least": {least}"#), 2).await;
            prop_assert_eq!(dear.concat(), kept(&|task| !task.0 && task.1 >= least));
            Ok(())
        })?;
    }
}
