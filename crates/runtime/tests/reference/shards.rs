//! Queries of several partitions: merged in the order of their keys, page by page, in both directions.

use latchkey_runtime::explain;
use proptest::prelude::*;

use crate::support::{World, call, cases};

const DEALS: &str = r#"
entity Deal "DEAL" {
  PK = "DEALS#{day}#{shard:02}"
  SK = "{rank:02}#{name}"
  day id, shard int 0..3, rank int 0..99, name id, maker id, open bool
  index ByMaker { PK = "MAKER#{maker}#{shard:02}"  SK = "{rank:02}" }
}
contract ADD "Add a deal" {
  POST /deals/{day}
  input shard Deal.shard, rank Deal.rank, name id, open bool = true
  allow true
  deal = put Deal { day, shard, rank, name, maker = "m", open } if absent else 409 there
  return 201 deal
  facts
}
contract LIST "The deals of a day" {
  GET /deals/{day}
  input order asc | desc = asc
  allow true
  deals = query Deal shard in 0..3 strong
    where PK = "DEALS#{day}#{shard:02}"
    order descending when order == desc
    page 3 max 100
  return deals { name, rank, shard }
  facts
}
contract MAKER "The deals of a maker" {
  GET /makers/{maker}
  input order asc | desc = asc
  allow true
  deals = query Deal by ByMaker shard in 0..3
    where PK = "MAKER#{maker}#{shard:02}"
    order descending when order == desc
    page 3 max 100
  return deals { name, rank, shard }
  facts
}
contract OPEN "The open deals of a maker" {
  GET /makers/{maker}/open
  input order asc | desc = asc
  allow true
  waive filter "few are closed"
  deals = query Deal by ByMaker shard in 0..3
    where PK = "MAKER#{maker}#{shard:02}"
    order descending when order == desc
    page 2
    keep .open == true reading 2
  return deals { name, rank, shard }
  facts
}
contract SOME "Some ranks" {
  GET /deals/{day}/some
  input from Deal.rank, to Deal.rank
  allow true
  deals = query Deal shard in 0..3
    where PK = "DEALS#{day}#{shard:02}" and SK between "{from:02}#" and "{to:02}$"
    page 3
  return deals { name, rank, shard }
  facts
}
contract BEST "The best deal" {
  GET /deals/{day}/best
  allow true
  deal = query Deal shard in 0..3 where PK = "DEALS#{day}#{shard:02}" first 1 else 404 none
  return deal { name }
  facts
}
contract FEW "The first few" {
  GET /deals/{day}/few
  allow true
  deals = query Deal shard in 0..3 where PK = "DEALS#{day}#{shard:02}" order descending first 2
  return deals { name }
  facts
}
"#;

/// A deal: its rank, its name and its shard.
type Deal = (u8, String, u8);

async fn world(deals: &[Deal]) -> World {
    let world = World::start(DEALS).await;
    for deal in deals {
        let (rank, name, shard) = deal;
        let open = is_open(deal);
        let inputs = format!(
            r#"{{"day": "d", "shard": {shard}, "rank": {rank}, "name": "{name}", "open": {open}}}"#
        );
        world.ok("ADD", &inputs).await;
    }
    world
}

/// Some of the deals are closed.
fn is_open((_, name, shard): &Deal) -> bool {
    name != "n1" && (name, *shard) != (&"n3".to_owned(), 2)
}

/// Goes through all pages of the open deals, which may be short.
async fn walk_cut(world: &World, order: &str, size: usize) -> Vec<Deal> {
    let (mut seen, mut cursor) = (Vec::new(), None::<String>);
    for _ in 0..100 {
        let next = cursor.map_or(String::new(), |next| format!(r#", "nextCursor": "{next}""#));
        let inputs = format!(r#"{{"maker": "m", "order": "{order}", "pageSize": {size}{next}}}"#);
        let body = world.ok("OPEN", &inputs).await;
        seen.extend(body["items"].as_array().unwrap().iter().map(deal));
        match body["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return seen,
        }
    }
    panic!("it goes on for ever");
}

/// A deal of an answer.
fn deal(item: &serde_json::Value) -> Deal {
    let number = |name: &str| u8::try_from(item[name].as_u64().unwrap()).unwrap();
    (number("rank"), item["name"].as_str().unwrap().to_owned(), number("shard"))
}

/// Goes through all pages: each is full but the last.
async fn walk(world: &World, contract: &str, inputs: &str, size: usize) -> Vec<Deal> {
    let (mut seen, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let next = cursor.map_or(String::new(), |next| format!(r#", "nextCursor": "{next}""#));
        let inputs = format!(r#"{{{inputs}, "pageSize": {size}{next}}}"#);
        let body = world.ok(contract, &inputs).await;
        let items = body["items"].as_array().unwrap();
        seen.extend(items.iter().map(deal));
        match body["nextCursor"].as_str() {
            Some(next) => {
                assert_eq!(items.len(), size, "{body}");
                cursor = Some(next.to_owned());
            }
            None => return seen,
        }
        assert!(seen.len() < 1000, "it goes on for ever");
    }
}

#[tokio::test]
async fn pages_that_fit_exactly_are_the_last() {
    for count in 0..8u8 {
        let deals: Vec<Deal> = (0..count).map(|at| (at, format!("n{at}"), at % 4)).collect();
        let world = world(&deals).await;
        assert_eq!(walk(&world, "LIST", r#""day": "d""#, 3).await, deals);
        let body = world.ok("LIST", r#"{"day": "d", "pageSize": 7}"#).await;
        assert_eq!(body["nextCursor"].is_null(), count < 8);
    }
}

#[tokio::test]
async fn the_first_are_those_of_all_partitions() {
    let deals = [(5, "e".to_owned(), 0), (2, "b".to_owned(), 3), (7, "g".to_owned(), 1)];
    let world = world(&deals).await;
    assert_eq!(world.ok("BEST", r#"{"day": "d"}"#).await["name"], "b");
    assert_eq!(world.call("BEST", r#"{"day": "x"}"#).await.told(), (404, "none".into()));
    let few = world.ok("FEW", r#"{"day": "d"}"#).await;
    assert_eq!((&few["items"][0]["name"], &few["items"][1]["name"]), (&"g".into(), &"e".into()));
    // A range that is empty asks nothing.
    let none = world.ok("SOME", r#"{"day": "d", "from": 9, "to": 3}"#).await;
    assert_eq!(none["items"].as_array().unwrap().len(), 0);
    assert_eq!(walk_some(&world).await, ["b", "e"]);
}

async fn walk_some(world: &World) -> Vec<String> {
    let body = world.ok("SOME", r#"{"day": "d", "from": 2, "to": 5}"#).await;
    let items = body["items"].as_array().unwrap().iter();
    items.map(|item| item["name"].as_str().unwrap().to_owned()).collect()
}

/// A cursor is bound to its list and its direction, and tells nothing.
#[tokio::test]
async fn a_cursor_goes_on_with_its_own_list_alone() {
    let deals: Vec<Deal> = (0..8).map(|at| (at, format!("n{at}"), at % 4)).collect();
    let world = world(&deals).await;
    let body = world.ok("LIST", r#"{"day": "d"}"#).await;
    let next = body["nextCursor"].as_str().unwrap();
    for (contract, inputs) in [
        ("LIST", r#""day": "other""#),
        ("LIST", r#""day": "d", "order": "desc""#),
        ("MAKER", r#""maker": "m""#),
        ("SOME", r#""day": "d", "from": 0, "to": 9"#),
    ] {
        let inputs = format!(r#"{{{inputs}, "nextCursor": "{next}"}}"#);
        let told = world.call(contract, &inputs).await.told();
        assert_eq!(told, (400, "invalid-cursor".into()), "{contract} {inputs}");
    }
    let again = world.ok("LIST", r#"{"day": "d"}"#).await;
    assert_eq!(again["nextCursor"].as_str(), Some(next));
}

/// What is written before the place of a cursor is not shown behind it.
#[tokio::test]
async fn a_later_page_has_nothing_from_before_it() {
    let deals: Vec<Deal> = (10..16).map(|at| (at, format!("n{at}"), 0)).collect();
    let world = world(&deals).await;
    let body = world.ok("LIST", r#"{"day": "d"}"#).await;
    let next = body["nextCursor"].as_str().unwrap();
    world.ok("ADD", r#"{"day": "d", "shard": 2, "rank": 11, "name": "early"}"#).await;
    world.ok("ADD", r#"{"day": "d", "shard": 2, "rank": 13, "name": "late"}"#).await;
    let body = world.ok("LIST", &format!(r#"{{"day": "d", "nextCursor": "{next}"}}"#)).await;
    let names: Vec<&str> =
        body["items"].as_array().unwrap().iter().map(|i| i["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["late", "n13", "n14"]);
}

#[tokio::test]
async fn each_partition_is_asked_once_and_told() {
    let world = world(&[(1, "a".to_owned(), 0)]).await;
    let mut call = call("LIST", r#"{"day": "d"}"#);
    call.trace = true;
    let told = world.made(call).await;
    assert_eq!(told.0.trace.len(), 4);
    let told = explain(world.runtime.system(), "MAKER").unwrap().to_string();
    for line in [
        "deals = query Deal shard in 0..3 by ByMaker where PK = \"MAKER#{maker}#{shard:02}\"",
        "once for each shard from 0 to 3; the items are merged by ByMakerSK, and the first are kept",
        "MAKER#{maker}#{shard:02}",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
}

fn deals() -> impl Strategy<Value = Vec<Deal>> {
    // Few ranks, so that many items of different partitions have one sort key.
    let deal = (0..4u8, 0..4u8);
    proptest::collection::vec(deal, 0..14).prop_map(|all| {
        let named = all.into_iter().enumerate();
        named.map(|(at, (rank, shard))| (rank, format!("n{}", at % 5), shard)).collect()
    })
}

/// A partition that was read further than others does not go back to where they are.
#[tokio::test]
async fn a_partition_that_is_ahead_stays_ahead() {
    let deals = [
        (0, "n0", 0),
        (0, "n1", 0),
        (0, "n1", 1),
        (0, "n2", 0),
        (0, "n3", 0),
        (0, "n4", 0),
        (2, "n0", 1),
        (2, "n1", 1),
        (2, "n2", 2),
        (2, "n2", 3),
        (2, "n3", 1),
        (2, "n4", 2),
    ];
    let deals = deals.map(|(rank, name, shard)| (rank, name.to_owned(), shard));
    let world = world(&deals).await;
    let open: Vec<Deal> = deals.iter().filter(|deal| is_open(deal)).cloned().collect();
    for order in ["asc", "desc"] {
        let mut seen = walk_cut(&world, order, 2).await;
        seen.sort();
        assert_eq!(seen, open, "{order}");
    }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn pages_are_the_whole_list_in_order(deals in deals(), size in 1..6usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut deals = deals;
            // One item for each key.
            deals.sort();
            deals.dedup();
            let world = world(&deals).await;
            let sort = |deal: &Deal| format!("{:02}#{}", deal.0, deal.1);
            let mut expected = deals.clone();
            expected.sort_by_key(|deal| (sort(deal), deal.2));
            prop_assert_eq!(&walk(&world, "LIST", r#""day": "d""#, size).await, &expected);
            // Pages that are cut by what they may read show each item once, too.
            for order in ["asc", "desc"] {
                let mut seen = walk_cut(&world, order, size.min(2)).await;
                seen.sort();
                let open: Vec<Deal> = deals.iter().filter(|deal| is_open(deal)).cloned().collect();
                prop_assert_eq!(&seen, &open);
            }
            let mut down = deals.clone();
            down.sort_by_key(|deal| (std::cmp::Reverse(sort(deal)), deal.2));
            let order = r#""day": "d", "order": "desc""#;
            prop_assert_eq!(&walk(&world, "LIST", order, size).await, &down);
            // In the index all of one rank and shard have one sort key: each is shown once, ranks in order.
            for order in ["asc", "desc"] {
                let inputs = format!(r#""maker": "m", "order": "{order}""#);
                let seen = walk(&world, "MAKER", &inputs, size).await;
                let ranks: Vec<u8> = seen.iter().map(|deal| deal.0).collect();
                let mut sorted = ranks.clone();
                sorted.sort_unstable();
                if order == "desc" {
                    sorted.reverse();
                }
                prop_assert_eq!(ranks, sorted);
                let mut seen = seen;
                seen.sort();
                prop_assert_eq!(&seen, &deals);
            }
            Ok(())
        })?;
    }
}
