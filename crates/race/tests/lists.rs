//! Writes of each element of a list: a race that was planted, and its honest twin.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use latchkey_language::Rule;
use latchkey_race::{Options, search};

const SHOP: &str = r#"# A shop
```contract
system shop
table Shop { type kind }
entity Till "TILL" {
  PK = "TILL#{tillId}"
  SK = "META"
  tillId id, open bool = true, version counter
}
entity Stock "STOCK" {
  PK = "STOCK#{sku}"
  SK = "META"
  sku id, left int 0.. = 0
}
contract OPEN "Open a till" {
  POST /tills
  input tillId id
  allow true
  till = put Till { tillId } if absent else 409 there
  return 201 till
  facts
}
contract CLOSE "Close a till that has not sold a thing" {
  POST /tills/{tillId}/close/{sku}
  till = get Till strong else 404 gone
  allow true
  sold = get Stock strong
  require sold is absent else 409 sold
  update till set open = false, version = .version + 1 if unchanged else retry
  return till
  facts
}
contract SELL "Sell some things" {
  POST /tills/{tillId}/sales
  input lines list(1..3) of { sku id, n int 1..9 } unique by sku
  till = get Till strong else 404 gone
  allow true
  require till.open else 409 closed
  transact {
    each line in lines { put Stock { sku = line.sku, left = line.n } if absent else 409 sold }
    HELD
  }
  return till
  facts
}
```
"#;

/// The contracts of each loss.
fn lost(held: &str) -> Vec<String> {
    let facts = "consistency strong\n  expect 1 item\n  rate 1/s";
    let text = SHOP.replace("facts", facts).replace("HELD", held);
    let options = Options { without: vec![Rule::Unpinned], ..Options::default() };
    let report = search(&text, &options, &|_| {}).unwrap();
    assert!(report.groups > 0 && report.schedules > 0, "{report:?}");
    report.losses.into_iter().map(|loss| loss.contracts.join("+")).collect()
}

#[test]
fn a_test_before_the_writes_of_each_element_is_lost_unless_it_is_held() {
    let loose = lost("");
    assert!(loose.iter().any(|pair| pair.contains("CLOSE") && pair.contains("SELL")), "{loose:?}");
    let held = "update till set version = .version + 1 if unchanged else retry";
    assert_eq!(lost(held), Vec::<String>::new());
}
