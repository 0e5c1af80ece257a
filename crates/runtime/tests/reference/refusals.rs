//! What is refused leaves nothing behind, and nothing a caller gives makes an internal error.

use std::time::Duration;

use crate::support::{World, call};

const TOWER: &str = r#"
entity Brick "BRICK" {
  PK = "BRICK#{brickId}"
  SK = "META"
  brickId id, weight int 0..100, note text(400000)?
}
entity Stone "STONE" {
  PK = "STONE#{a}#{b}#{c}#{d}#{e}#{f}#{g}#{h}"
  SK = "{i}#{j}#{k}"
  waive item-size "a key that is too long is refused in the call"
  a text(900) like "[a-z]{1,900}", b id, c id, d id, e id, f id, g id, h id
  i text(900) like "[a-z]{1,900}", j id, k text(400) like "[a-z]{1,400}"
}
contract LAY "Lay a brick" {
  POST /bricks
  input brickId id, weight int, note text(400000)?
  allow true
  brick = put Brick { brickId, weight, note } if absent else 409 there
  return 201 brick { brickId }
  facts
}
contract HEAVIER "Make it heavier" {
  POST /bricks/{brickId}
  input by number
  brick = get Brick strong else 404 gone
  allow true
  update brick add weight = 1 if by > 0 else 409 no
  return brick
  facts
}
contract STONE "Lay a stone" {
  POST /stones
  input a Stone.a, b id, i Stone.i, k Stone.k
  allow true
  stone = put Stone { a, b, c = b, d = b, e = b, f = b, g = b, h = b, i, j = b, k } if absent else 409 there
  return 201 stone { b }
  facts
}
contract WAIT "Wait for a brick that never comes" {
  POST /bricks/{brickId}/wait
  brick = get Brick strong else retry
  allow true
  require brick.weight > 99 else retry
  return brick
  facts
}
contract SEE "See a brick" {
  GET /bricks/{brickId}
  brick = get Brick strong else 404 gone
  allow true
  return brick
  facts
}
"#;

// No input makes an internal error: what no table would take is a 400.
#[tokio::test]
async fn what_no_table_takes_is_a_400() {
    let world = World::start(TOWER).await;
    let note = "x".repeat(400_000);
    let told =
        world.call("LAY", &format!(r#"{{"brickId": "b", "weight": 1, "note": "{note}"}}"#)).await;
    assert_eq!(told.status(), 201, "within 400 KB");
    let long = ("a".repeat(900), "b".repeat(128), "i".repeat(900), "k".repeat(400));
    let stone = format!(
        r#"{{"a": "{}", "b": "{}", "i": "{}", "k": "{}"}}"#,
        long.0, long.1, long.2, long.3
    );
    let told = world.call("STONE", &stone).await;
    assert_eq!(
        told.told(),
        (400, "invalid-input".to_owned()),
        "a sort key has at most 1,024 bytes"
    );
    assert_eq!(world.all("STONE#").len(), 0);
}

// Bounds are kept, both ends included.
#[tokio::test]
async fn no_write_leaves_the_bounds_of_what_was_read() {
    let world = World::start(TOWER).await;
    for (weight, status) in [(-1, 400), (101, 400), (0, 201), (100, 201)] {
        let told =
            world.call("LAY", &format!(r#"{{"brickId": "w{weight}", "weight": {weight}}}"#)).await;
        assert_eq!(told.status(), status, "{weight}: {}", told.body());
    }
    let told = world.call("HEAVIER", r#"{"brickId": "w100", "by": 1}"#).await;
    assert_eq!(told.told(), (400, "invalid-input".to_owned()));
    assert_eq!(world.attribute("BRICK#w100", "META", "weight").as_deref(), Some("100"));
    let told = world.call("HEAVIER", r#"{"brickId": "w0", "by": 1}"#).await;
    assert_eq!(told.member("weight"), 1);
}

// A call may take so long and no longer; then it ends, cleanly.
#[tokio::test]
async fn a_call_without_time_ends_cleanly() {
    let world = World::start(TOWER).await;
    for n in 0..20 {
        let mut write = call("LAY", &format!(r#"{{"brickId": "b{n}", "weight": 1}}"#));
        write.time_max = Duration::ZERO;
        let told = world.made(write).await;
        // What is done by then is done; else nobody knows, for the write is on its way.
        let expected = ["", "outcome-unknown"];
        assert!(expected.contains(&told.told().1.as_str()), "{}", told.body());
        if let Err(problem) = &told.0.result {
            assert_eq!((problem.status, problem.retry_after), (503, Some(1)));
        }
        let mut wait = call("WAIT", &format!(r#"{{"brickId": "b{n}"}}"#));
        wait.time_max = Duration::ZERO;
        let told = world.made(wait).await;
        assert_eq!(told.told(), (503, "busy".to_owned()), "{}", told.body());
        assert_eq!(told.problem().retry_after, Some(1));
    }
    // The next call is as good as any.
    let told = world.call("LAY", r#"{"brickId": "c", "weight": 1}"#).await;
    assert_eq!(told.status(), 201);
}

// An `allow` that does not hold is a 403, before anything is written.
#[tokio::test]
async fn who_may_not_changes_nothing() {
    let text = r#"
entity Cell "CELL" {
  PK = "CELL#{cellId}"
  SK = "META"
  cellId id, n int
}
contract SET "Set" {
  PUT /cells/{cellId}
  input n int
  allow caller is chief
  cell = put Cell { cellId, n } replace
  return cell
  facts
}
"#;
    let world = World::start(text).await;
    let told = world.call("SET", r#"{"cellId": "c", "n": 1}"#).await;
    assert_eq!(told.told(), (403, "forbidden".to_owned()));
    assert_eq!(told.capacity(), "rcu=0, wcu=0");
    assert_eq!(world.all("").len(), 0);
}

// An item that lacks what it should have is damaged, and no bug.
#[tokio::test]
async fn a_damaged_item_is_no_internal_error() {
    let world = World::start(TOWER).await;
    let table = world.runtime.system().table().clone();
    let item = latchkey_table::Item::from([("PK", "BRICK#b"), ("SK", "META"), ("kind", "BRICK")]);
    let put = latchkey_table::Put { table, item, condition: None };
    world.store.put(put, latchkey_table::Returning::Nothing).await.unwrap();
    for (contract, inputs) in
        [("SEE", r#"{"brickId": "b"}"#), ("HEAVIER", r#"{"brickId": "b", "by": 1}"#)]
    {
        let told = world.call(contract, inputs).await;
        assert!(
            told.status() < 500 || told.told() == (500, "damaged-item".to_owned()),
            "{contract}: {}",
            told.body()
        );
    }
    assert_eq!(world.runtime.faults().bugs(), 0);
}
