//! Items that are read one by one, chains of calls behind an answer and a refusal, and a run that dies between two
//! commits.

use crate::chains::told;

const NONE: [&str; 0] = [];

const POTS: &str = r#"
entity Pot "POT" {
  PK = "POT#{potId}#{shard:02}"
  SK = "META"
  potId id, shard int 0..3, n int 0..1000 = 0
}
contract P-1 "Make a pot" {
  PUT /pots/{potId}/{shard}
  allow caller is boss
  put Pot { potId, shard } if absent else 409 there
  return 204
  facts
}
contract P-2 "Move one over" {
  POST /pots/{potId}/{shard}/move
  input toShard int 0..3
  allow caller is boss
  require toShard != shard else 409 same
  transact {
    MOVED
    update Pot(potId, shard = toShard) set n = .n + 1 else 404 no-target
  }
  return 204
  facts
  idempotent by key
}
contract P-3 "Add up" {
  GET /pots/{potId}
  allow true
  pots = get Pot shard in 0..3 READ
  return with { total = sum(pots.n) }
  facts
}
"#;

// Sums were not looked at, and two shards were taken for two items that no read sees together.
#[test]
fn the_sum_of_shards_may_see_a_part_of_a_move() {
    let moved = "update Pot set n = .n - 1 if .n > 0 else absent 404 none else 409 empty";
    let torn = POTS.replace("MOVED", moved);
    assert_eq!(told(&torn.replace("READ", "strong")), ["stale-answer"]);
    assert_eq!(told(&torn.replace("READ", "snapshot")), NONE);
    assert_eq!(told(&POTS.replace("MOVED", "").replace("READ", "strong")), NONE);
}

const DEALS: &str = r#"
entity Deal "DEAL" {
  PK = "DEALS#{area}#{shard:02}"
  SK = "DEAL#{dealId}"
  area id, shard int 0..3, dealId id
}
contract D-1 "A deal" {
  PUT /areas/{area}/{shard}/deals/{dealId}
  allow caller is boss
  put Deal { area, shard, dealId } if absent else 409 there
  return 204
  facts
}
contract D-2 "A deal that follows another" {
  PUT /areas/{area}/{shard}/deals/{dealId}/next
  input toShard int 0..3, nextId id
  allow caller is boss
  require nextId != dealId else 409 same
  transact {
    CHECK
    put Deal { area, shard = toShard, dealId = nextId } if absent else 409 there
  }
  return 204
  facts
}
contract D-3 "All deals" {
  GET /areas/{area}/deals
  allow true
  deals = query Deal shard in 0..3 strong where PK = "DEALS#{area}#{shard:02}" and SK begins_with "DEAL#" page 50
  return deals
  facts
}
"#;

// A query over shards was taken for one read.
#[test]
fn a_query_over_shards_is_of_several_moments() {
    let by = DEALS.replace("CHECK", "check Deal if .dealId is present else 404 none");
    assert_eq!(told(&by), ["stale-answer"]);
    assert_eq!(told(&DEALS.replace("CHECK", "")), NONE);
}

const CUPS: &str = r#"
entity Cup "CUP" {
  PK = "CUP#{cupId}"
  SK = "META"
  cupId id, n int 0..1000
}
contract C-1 "Set a cup" {
  PUT /cups/{cupId}
  input n Cup.n
  allow caller is boss
  put Cup { cupId, n } replace
  return 204
  facts
}
contract C-2 "Fill one as another" {
  PUT /cups/{cupId}/as
  input otherId id
  allow caller is boss
  require otherId != cupId else 409 same
  other = get Cup(cupId = otherId) strong else 404 none
  transact {
    check other if .n == other.n else retry
    put Cup { cupId, n = other.n } replace
  }
  return 204
  facts
}
contract C-3 "Several" {
  POST /cups
  input ids list(1..5) of id unique
  allow true
  cups = get Cup(cupId = i) for i in ids READ
  return cups
  facts
}
"#;

// A batch was taken for one moment but for parts of one transaction.
#[test]
fn the_items_of_a_batch_are_read_one_by_one() {
    assert_eq!(told(&CUPS.replace("READ", "strong")), ["stale-answer"]);
    assert_eq!(told(&CUPS.replace("READ", "snapshot")), NONE);
}

const SHOPS: &str = r#"
entity Shop "SHOP" {
  PK = "SHOP#{shopId}"
  SK = "META"
  shopId id, city text(20)
}
entity Price "PRICE" {
  PK = "SHOP#{shopId}"
  SK = "PRICE#{sku}"
  shopId id, sku id, cents int 0..100000
}
contract P-1 "Open a shop" {
  POST /shops
  input shopId id, city text(20)
  allow caller is boss
  shop = put Shop { shopId, city } if absent else 409 there
  return 201 shop
  facts
}
contract P-2 "Move a shop" {
  PUT /shops/{shopId}/city
  input city text(20)
  allow caller is boss
  update Shop set city = city else 404 none
  return 204
  facts
}
contract P-3 "The price in Rome" {
  PUT /shops/{shopId}/prices/{sku}/roman
  allow caller is boss
  transact {
    CHECK
    put Price { shopId, sku, cents = 100 } replace
  }
  return 204
  facts
}
contract P-4 "Set a price" {
  PUT /shops/{shopId}/prices/{sku}
  input cents int 0..100000
  allow caller is boss
  shop = get Shop strong else 404 none
  put Price { shopId, sku, cents } replace
  return with { cents, city = shop.city }
  facts
}
contract P-5 "Show a price" {
  GET /shops/{shopId}/prices/{sku}
  allow true
  price = get Price strong else 404 none
  return price
  facts
}
"#;

// Chains were followed between two reads, and not between a read and a write.
#[test]
fn an_answer_is_overtaken_by_a_chain_of_calls() {
    let by = SHOPS.replace("CHECK", "check Shop if .city == \"Rome\" else 409 not-rome");
    assert_eq!(told(&by), ["stale-answer"]);
    // Pinned, or not shown.
    let put = "put Price { shopId, sku, cents } replace\n";
    let pinned = format!("transact {{\n{put}check shop if .city == shop.city else retry\n}}\n");
    assert_eq!(told(&by.replace(put, &pinned)), NONE);
    assert_eq!(told(&by.replace("{ cents, city = shop.city }", "{ cents }")), NONE);
}

const LOTS: &str = r#"
entity Lot "LOT" {
  PK = "LOT#{lotId}"
  SK = "META"
  lotId id, open bool = true, version counter
}
entity Claim "CLAIM" {
  PK = "LOT#{lotId}"
  SK = "CLAIM"
  lotId id, userId id
}
contract L-1 "Make a lot" {
  PUT /lots/{lotId}
  allow caller is boss
  lot = put Lot { lotId } if absent else 409 there
  return 201 lot
  facts
}
contract L-2 "Close a lot" {
  PUT /lots/{lotId}/closed
  allow caller is boss
  lot = get Lot strong else 404 none
  require lot.open else 409 closed
  update lot set open = false, version = .version + 1 if unchanged else retry
  return 204
  facts
}
contract L-3 "Award a closed lot" {
  PUT /lots/{lotId}/award
  input userId id
  allow caller is boss
  lot = get Lot strong else 404 none
  require lot.open == false else 409 open
  transact {
    check lot if .open == false else retry
    put Claim { lotId, userId } if absent else 409 claimed
  }
  return 204
  facts
}
contract L-4 "Buy an open lot" {
  PUT /lots/{lotId}/buyer
  lot = get Lot strong else 404 none
  allow true
  require lot.open else 409 closed
  transact {
    LEGS
  }
  return 204
  facts
}
contract L-5 "Show the claim" {
  GET /lots/{lotId}/claim
  allow true
  claim = get Claim strong else 404 none
  return claim
  facts
}
"#;

#[test]
fn a_refusal_before_the_pin_is_overtaken_by_a_chain_of_calls() {
    let put = "put Claim { lotId, userId = caller.id } if absent else 409 claimed\n";
    let check = "check lot if unchanged else retry\n";
    assert_eq!(told(&LOTS.replace("LEGS", &format!("{put}{check}"))), ["stale-answer"]);
    assert_eq!(told(&LOTS.replace("LEGS", &format!("{check}{put}"))), NONE);
}

const ORDERS: &str = r#"
entity Order "ORDER" {
  PK = "ORDER#{orderId}"
  SK = "META"
  orderId id, total int 0..1000 = 0, version counter
}
entity Line "LINE" {
  PK = "ORDER#{orderId}"
  SK = "LINE#{n:02}"
  orderId id, n int 1..99, cents int 1..10
}
contract O-1 "Make an order" {
  PUT /orders/{orderId}
  allow caller is boss
  put Order { orderId } if absent else 409 there
  return 204
  facts
}
contract O-2 "Add a line" {
  PUT /orders/{orderId}/lines/{n}
  input cents int 1..10
  allow caller is boss
  transact {
    update Order set total = .total + cents, version = .version + 1 else 404 none
    put Line { orderId, n, cents } if absent else 409 there
  }
  return 204
  facts
}
contract O-3 "Touch an order" {
  PUT /orders/{orderId}/touch
  allow caller is boss
  order = update Order set version = .version + 1 else 404 none
  lines = query Line strong where PK = "ORDER#{orderId}" and SK begins_with "LINE#" first 50
  return SHOWN
  facts
}
"#;

// What a write of the call left, beside what was read behind that commit.
#[test]
fn an_answer_shows_what_a_write_left_and_what_was_read_behind_it() {
    assert_eq!(told(&ORDERS.replace("SHOWN", "order with { lines }")), ["stale-answer"]);
    assert_eq!(told(&ORDERS.replace("SHOWN", "with { lines, orderId = order.orderId }")), NONE);
}

const PARCELS: &str = r#"
entity Order "ORDER" {
  PK = "ORDER#{orderId}"
  SK = "META"
  orderId id, state PAID | PACKED = PAID
  state moves { PAID -> PACKED }
}
entity Parcel "PARCEL" {
  PK = "ORDER#{orderId}"
  SK = "PARCEL"
  orderId id
}
queue packs { orderId id }
contract O-1 "Order" {
  PUT /orders/{orderId}
  allow caller is boss
  transact {
    put Order { orderId } if absent else 409 there
    send packs { orderId }
  }
  return 204
  facts
}
contract O-2 "Show the parcel" {
  GET /orders/{orderId}/parcel
  allow caller is boss
  parcel = get Parcel strong else 404 none
  return parcel
  facts
}
worker W-1 "Pack" {
  on packs { orderId }
  STEPS
  done
  facts
}
"#;

// A worker that dies between two commits was taken for one that runs twice.
#[test]
fn a_second_run_that_ends_at_the_first_commit_never_does_the_rest() {
    let packed = "update Order set state = PACKED if .state == PAID else done\n";
    let parcel = "put Parcel { orderId } if absent else done\n";
    let with = |steps: &str| told(&PARCELS.replace("STEPS", steps));
    assert_eq!(with(&format!("{packed}{parcel}")), ["not-idempotent"]);
    assert_eq!(with(&format!("transact {{\n{packed}{parcel}}}\n")), NONE);
    // The last commit stops a second run, and the first can happen again.
    let again = "put Parcel { orderId } replace\n";
    assert_eq!(with(&format!("{again}{packed}")), NONE);
    let tested = "order = get Order strong else done\nrequire order.state == PAID else done\n\
                  update order set state = PACKED if .state == PAID else retry\n";
    assert!(with(&format!("{tested}{parcel}")).contains(&"not-idempotent"));
}
