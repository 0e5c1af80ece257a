//! Calls that lost on an item wait in line, where all writers are in one process. Nobody waits for someone in the same
//! line to be done with something else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::support::{World, all_of};

const STOCKS: &str = r#"
entity Stock "STOCK" {
  PK = "STOCK#{stockId}"
  SK = "META"
  stockId id, taken int 0.. = 0, told int 0.. = 0, looks int 0.. = 0, version counter
}
queue notes {
  stockId id
}
contract MAKE "Make" {
  POST /stocks
  input stockId id
  allow true
  stock = put Stock { stockId } if absent else 409 there
  return 201 stock
  facts
}
contract TAKE "Take one" {
  POST /stocks/{stockId}/taken
  allow true
  stock = get Stock strong else 404 gone
  taken = stock.taken + 1
  transact {
    update stock set taken = taken, version = .version + 1 if unchanged else retry
    send notes { stockId }
      accepted {
        noted = get Stock strong else done
        when noted.told < noted.taken {
          update noted set told = noted.taken, version = .version + 1 if unchanged else retry
        }
      }
      refused { done }
  }
  left = get Stock strong else 503 try-again
  return 202 left { stockId }
  facts
}
contract TICK "Count a look" {
  POST /stocks/{stockId}/looks
  allow true
  update Stock set looks = .looks + 1, version = .version + 1 else 404 gone
  return 204
  facts
}
contract MOVE "Move one" {
  POST /stocks/{stockId}/moves
  input toId id
  allow true
  require stockId != toId else 400 same
  from = get Stock strong else 404 gone
  to = get Stock(stockId = toId) strong else 404 gone
  taken = from.taken + 1
  told = to.told + 1
  transact {
    update from set taken = taken, version = .version + 1 if unchanged else retry
    update to set told = told, version = .version + 1 if unchanged else retry
  }
  return 204
  facts
}
worker NOTE "Note" {
  on notes { stockId }
  done
  facts
}
"#;

// A call that had waited in line held its place while it did what follows its send. That changed the same item, and
// waited in line behind the call: both until the time was up, and all others behind them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_follows_a_send_does_not_wait_for_its_own_call() {
    let world = World::start(STOCKS).await;
    world.ok("MAKE", r#"{"stockId": "s"}"#).await;
    let began = Instant::now();
    let told = all_of((0..32).map(|_| world.call("TAKE", r#"{"stockId": "s"}"#)).collect()).await;
    for told in &told {
        assert_eq!(told.told(), (202, String::new()), "{}", told.body());
    }
    println!("32 calls in line took {:?}", began.elapsed());
    assert_eq!(world.attribute("STOCK#s", "META", "taken").unwrap(), "32");
    assert_eq!(world.attribute("STOCK#s", "META", "told").unwrap(), "32");
}

// Calls that change an item and never run again did not wait in line. A stream of them had a third of the calls that
// read before they write answered 503 `busy`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_never_run_again_keep_nobody_waiting() {
    let world = Arc::new(World::start(STOCKS).await);
    for stock in ["a", "b"] {
        world.ok("MAKE", &format!(r#"{{"stockId": "{stock}"}}"#)).await;
    }
    let over = Arc::new(AtomicBool::new(false));
    let mut looking = Vec::new();
    for n in 0..40 {
        let (world, over) = (world.clone(), over.clone());
        looking.push(tokio::spawn(async move {
            let stock = if n % 2 == 0 { r#"{"stockId": "a"}"# } else { r#"{"stockId": "b"}"# };
            let mut looks = 0;
            while !over.load(Ordering::SeqCst) {
                assert_eq!(world.call("TICK", stock).await.told(), (204, String::new()));
                looks += 1;
            }
            looks
        }));
    }
    let mut moving = Vec::new();
    for n in 0..8 {
        let world = world.clone();
        let (from, to) = if n % 2 == 0 { ("a", "b") } else { ("b", "a") };
        let given = format!(r#"{{"stockId": "{from}", "toId": "{to}"}}"#);
        moving.push(tokio::spawn(async move {
            for _ in 0..50 {
                let told = world.call("MOVE", &given).await;
                assert_eq!(told.told(), (204, String::new()), "{}", told.body());
            }
        }));
    }
    let began = Instant::now();
    for one in moving {
        one.await.unwrap();
    }
    over.store(true, Ordering::SeqCst);
    let mut looks = 0;
    for one in looking {
        looks += one.await.unwrap();
    }
    println!("400 moves beside {looks} looks took {:?}", began.elapsed());
    for stock in ["a", "b"] {
        let number = |name| world.attribute(&format!("STOCK#{stock}"), "META", name).unwrap();
        assert_eq!((number("taken"), number("told")), ("200".to_owned(), "200".to_owned()));
    }
}
