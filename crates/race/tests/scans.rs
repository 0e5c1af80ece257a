//! Decisions by what a scan of an index finds: a race that was planted, and its honest twin.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use latchkey_language::Rule;
use latchkey_race::{Options, search};

const DEALS: &str = r#"# Deals
```contract
system deals
table Deals { type kind }
entity Board "BOARD" {
  PK = "BOARD#{boardId}"
  SK = "META"
  boardId id, taken int 0..1 = 0, version counter
}
entity Deal "DEAL" {
  PK = "DEAL#{dealId}"
  SK = "META"
  dealId id, rank int 0..3?, version counter
  index Featured moves { PK = "RANK#{rank}"  SK = "{dealId}" }
}
contract BOARD "Put a board up" {
  POST /boards
  input boardId id
  allow true
  board = put Board { boardId } if absent else 409 there
  return 201 board
  facts
}
contract MAKE "Make a deal" {
  POST /deals
  input dealId id
  allow true
  deal = put Deal { dealId } if absent else 409 there
  return 201 deal
  facts
}
contract LIST "What is featured" {
  GET /featured
  allow true
  waive scan "one deal is featured"
  featured = query Deal by Featured page 3 reading 3
  return featured { dealId }
  eventually
}
contract FEATURE "Feature a deal, if none is" {
  POST /boards/{boardId}/feature
  input dealId id, rank Deal.rank
  deal = get Deal strong else 404 gone
  allow true
  DECISION
  transact {
    update deal set rank = rank, version = .version + 1 if unchanged else retry
    HELD
  }
  return deal
  facts
}
```
```example
as ann
POST /boards {"boardId": "b"}
201
POST /deals {"dealId": "c"}
201
POST /deals {"dealId": "d"}
201
```
"#;

/// The contracts of each loss.
fn lost(decision: &str, held: &str) -> Vec<String> {
    let facts = "consistency strong\n  expect 1 item\n  rate 1/s";
    let text = DEALS
        .replace("eventually", "consistency eventual\n  expect 0.. items\n  rate 1/s")
        .replace("facts", facts)
        .replace("DECISION", decision)
        .replace("HELD", held);
    let without =
        vec![Rule::Unpinned, Rule::EventualDecision, Rule::RangeAsCount, Rule::Undeclared];
    // On DynamoDB a scan may miss a write in any order of the calls. Here it sees all writes before it.
    let options = Options { without, embedded: true, ..Options::default() };
    let report = search(&text, &options, &|_| {}).unwrap();
    assert!(report.groups > 0 && report.schedules > 0, "{report:?}");
    report.losses.into_iter().map(|loss| loss.contracts.join("+")).collect()
}

#[test]
fn what_a_scan_did_not_find_is_lost_unless_it_is_held() {
    let scanned = "waive scan \"one deal is featured\"\n  featured = query Deal by Featured page 3 reading 3\n  \
                   require count(featured) == 0 else 409 full";
    let loose = lost(scanned, "");
    assert_eq!(loose, ["FEATURE"], "beside itself");
    // Held by an item that counts, the same scan is of no harm to those that show it.
    let counted =
        "board = get Board strong else 404 no-board\n  require board.taken == 0 else 409 full";
    let held =
        "update board set taken = board.taken + 1, version = .version + 1 if unchanged else retry";
    assert_eq!(lost(counted, held), Vec::<String>::new());
}
