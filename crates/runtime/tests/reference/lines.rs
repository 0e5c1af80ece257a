//! Calls that lost on an item wait in line, where all writers are in one process. Nobody waits for someone in the same
//! line to be done with something else.

use std::time::Instant;

use crate::support::{World, all_of};

const STOCKS: &str = r#"
entity Stock "STOCK" {
  PK = "STOCK#{stockId}"
  SK = "META"
  stockId id, taken int 0.. = 0, told int 0.. = 0, version counter
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
