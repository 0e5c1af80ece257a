//! Indexes that hold a part of each item: what they list, and what may be asked of what they find.

use latchkey_language::Level;
use latchkey_model::check;

const NOTHING: [&str; 0] = [];

/// A shop whose orders are found by an index.
fn shop(holds: &str, entities: &str, statements: &str) -> String {
    format!(
        r#"```contract
system shop
table Shop {{
  type kind
  index ByState {{ PK byStatePk  SK byStateSk {holds} }}
}}
entity Order "ORDER" {{
  PK = "CUSTOMER#{{customerId}}"
  SK = "ORDER#{{orderId}}"
  customerId id, orderId id, state OPEN | PAID, total int 0..999, note text(2000)?, at time
  version counter
  index ByState moves {{ PK = "STATE#{{state}}"  SK = "ORDER#{{at}}#{{orderId}}" }}
}}
{entities}
contract MAKE "Make" {{
  POST /customers/{{customerId}}/orders
  input orderId id, total Order.total, note text(2000)?
  allow true
  order = put Order {{ customerId, orderId, state = OPEN, total, note, at = now }} if absent else 409 taken
  return 201 order
  consistency strong
  expect 1 item
  rate 1/s
}}
contract PAY "Pay" {{
  POST /customers/{{customerId}}/orders/{{orderId}}/pay
  allow true
  order = get Order strong else 404 not-found
  require order.state == OPEN else 409 paid
  update order set state = PAID, version = .version + 1 if unchanged else retry
  return order
  consistency strong
  expect 1 item
  rate 1/s
}}
contract LIST "List" {{
  GET /states/{{state}}
  allow true
  {statements}
  consistency eventual
  expect 0.. items
  rate 1/s
}}
```
"#
    )
}

/// What refuses a document.
fn told(text: &str) -> Vec<String> {
    let found = check(text).diagnostics;
    let errors = found.iter().filter(|one| one.level == Level::Error);
    errors.map(|one| format!("{}: {}", one.rule, one.message)).collect()
}

/// What is said of a list by the index, and what is done with it.
fn listed(holds: &str, then: &str) -> Vec<String> {
    let query =
        r#"orders = query Order by ByState where PK = "STATE#{state}" and SK begins_with "ORDER#""#;
    told(&shop(holds, "", &format!("{query} page 10\n  {then}")))
}

#[test]
fn what_an_index_holds_may_be_shown() {
    let cases = [
        ("", "return orders"),
        // The keys tell all these: those of the table and of the index.
        ("holds keys", "return orders { customerId, orderId, at, state }"),
        ("holds keys, total", "return orders { orderId, total } with { sum = sum(orders.total) }"),
        ("holds keys, total, note, version,", "return orders"),
        ("holds keys, kind, total", "return orders { total }"),
        ("holds keys", "return with { open = count(orders by state), all = count(orders) }"),
    ];
    for (holds, then) in cases {
        assert_eq!(listed(holds, then), NOTHING, "{holds}: {then}");
    }
}

#[test]
fn what_an_index_does_not_hold_is_absent() {
    let not_held = |name: &str| format!("absent: the index `ByState` does not hold `{name}`");
    let cases = [
        ("return orders { orderId, total }", not_held("total")),
        ("return orders { orderId } with { sum = sum(orders.total) }", not_held("total")),
        (
            "return orders",
            "absent: the index `ByState` does not hold `total` and 2 more attributes, and all is shown"
                .to_owned(),
        ),
    ];
    for (then, message) in cases {
        assert_eq!(listed("holds keys", then), [message], "{then}");
    }
    let first = |then: &str| {
        let query = r#"order = query Order by ByState where PK = "STATE#{state}" and SK begins_with "ORDER#" first 1"#;
        told(&shop("holds keys", "", &format!("{query} else 404 none\n  {then}")))
    };
    let test = "waive eventual-decision \"it may be a moment old\"\n  require order.total > 5 else 409 small\n  return order { orderId }";
    assert_eq!(first(test), [not_held("total")]);
    assert_eq!(first("return order { orderId } with { note = order.note }"), [not_held("note")]);
    let whole = "whole = get Order of order else 404 gone\n  return whole";
    assert_eq!(first(whole), NOTHING);
}

#[test]
fn every_use_of_what_is_not_held_is_found() {
    let first = r#"some = query Order by ByState where PK = "STATE#{state}" and SK begins_with "ORDER#" first 3"#;
    let not_held = "absent: the index `ByState` does not hold `total`";
    let copy = r#"entity Copy "COPY" { PK = "COPY#{orderId}"  SK = "META"
  orderId id, total int 0..999
}
contract SEE "See" {
  GET /copies/{orderId}
  allow true
  copy = get Copy else 404 none
  return copy
  consistency eventual
  expect 1 item
  rate 1/s
}"#;
    let cases = [
        "copies = get Copy(orderId = some.orderId) for one in some\n  return copies",
        "transact { each one in some { put Copy of one if absent else 409 taken } }\n  return 204",
        "transact { each one in some { put Copy { orderId = one.orderId, total = one.total } if absent else 409 taken } }\n  return 204",
    ];
    for (at, then) in cases.into_iter().enumerate() {
        let then = then.replace("some.orderId", "one.orderId");
        let found = told(&shop("holds keys", copy, &format!("{first}\n  {then}")));
        assert_eq!(found.iter().any(|one| one == not_held), at > 0, "{then}: {found:?}");
    }
}

#[test]
fn a_write_needs_the_whole_item() {
    let query = r#"order = query Order by ByState where PK = "STATE#{state}" and SK begins_with "ORDER#" first 1 else 404 none"#;
    let found = |write: &str| {
        let text = shop("holds keys, version", "", &format!("{query}\n  {write}\n  return 204"));
        told(&text.replace("GET /states", "POST /states"))
    };
    let part = "absent: this is on an item of which the index `ByState` holds a part";
    for write in [
        "update order set total = 1, version = .version + 1 if unchanged else retry",
        "delete order if unchanged else retry",
        "transact { check order if unchanged else retry }",
    ] {
        assert!(found(write).contains(&part.to_owned()), "{write}: {:?}", found(write));
    }
    let by_key = "delete Order of order if .state == OPEN else 409 paid";
    assert!(!found(by_key).contains(&part.to_owned()), "{:?}", found(by_key));
}

const INVOICE: &str = r#"entity Invoice "INVOICE" {
  PK = "INVOICE#{invoiceId}"
  SK = "META"
  invoiceId id, state OPEN | PAID, at time
  index ByState moves { PK = "STATE#{state}"  SK = "PREFIX#{at}#{invoiceId}" }
}
contract BILL "Bill" {
  POST /invoices/{invoiceId}
  allow true
  invoice = put Invoice { invoiceId, state = OPEN, at = now } if absent else 409 taken
  return 201 invoice
  consistency strong
  expect 1 item
  rate 1/s
}
contract BOOK "Book" {
  POST /invoices/{invoiceId}/book
  allow true
  invoice = get Invoice strong else 404 none
  require invoice.state == OPEN else 409 paid
  update invoice set state = PAID if .state == OPEN else retry
  return invoice
  consistency strong
  expect 1 item
  rate 1/s
}"#;

#[test]
fn the_type_is_held_or_proved_by_the_keys() {
    let query = "orders = query Order by ByState where PK = \"STATE#{state}\" and SK begins_with \"ORDER#\" page 10\n  return orders { orderId }";
    // The keys of the other entity lie elsewhere.
    let apart = INVOICE.replace("PREFIX", "INVOICE");
    assert_eq!(told(&shop("holds keys", &apart, query)), NOTHING);
    let among = INVOICE.replace("PREFIX", "ORDER");
    let foreign = "foreign-items: this query of `Order` can also read items of `Invoice`";
    let found = told(&shop("holds keys", &among, query));
    assert!(found.contains(&foreign.to_owned()), "{found:?}");
    let both = "all = query Order, Invoice by ByState where PK = \"STATE#{state}\" page 10\n  orders = Order in all\n  invoices = Invoice in all\n  return with { orders = count(orders), invoices = count(invoices) }";
    let apart_told = told(&shop("holds keys", &apart, both));
    let untold = "absent: nothing tells the items of these entities apart".to_owned();
    assert!(apart_told.contains(&untold), "{apart_told:?}");
    let typed = told(&shop("holds keys, kind", &apart, both));
    assert!(!typed.contains(&untold), "{typed:?}");
}

#[test]
fn the_end_is_held() {
    let held = |holds: &str, sort: &str| {
        let text = format!(
            r#"```contract
system s
table Desks {{ type kind  index ByHolder {{ {holds} }} }}
entity Lease "LEASE" {{
  PK = "LEASE#{{desk}}"
  SK = "META"
  desk id, holder id, endsAt time
  index ByHolder {{ PK = "HOLDER#{{holder}}"  SK = "{sort}" }}
  expires endsAt
}}
contract TAKE "Take" {{
  POST /desks/{{desk}}
  allow true
  lease = put Lease {{ desk, holder = caller.id, endsAt = now + 60s }} if absent else 409 taken
  return 201 lease
  consistency strong
  expect 1 item
  rate 1/s
}}
contract MINE "Mine" {{
  GET /holders/{{holder}}
  allow caller owns holder
  leases = query Lease by ByHolder where PK = "HOLDER#{{holder}}" and SK begins_with "D" page 10
  return leases {{ desk }}
  consistency eventual
  expect 0.. items
  rate 1/s
}}
```
"#
        );
        told(&text)
    };
    let untold = ["absent: nothing tells which of these items have ended"];
    assert_eq!(held("holds keys", "D#{desk}"), untold);
    // By what DynamoDB removes it is not by what it has ended.
    assert_eq!(held("holds keys, expires", "D#{desk}"), untold);
    assert_eq!(held("holds keys, endsAt", "D#{desk}"), NOTHING);
    assert_eq!(held("holds keys", "D#{endsAt}#{desk}"), NOTHING);
}

#[test]
fn a_filter_tests_what_is_held() {
    let query = r#"waive filter "few are large"
  orders = query Order by ByState where PK = "STATE#{state}" and SK begins_with "ORDER#"
    keep .total > 5 reading 100 page 10
  return orders { orderId }"#;
    let found = told(&shop("holds keys", "", query));
    assert_eq!(found, ["absent: the index `ByState` does not hold `total`"]);
    assert_eq!(told(&shop("holds keys, total", "", query)), NOTHING);
    // A key tells it to us, and not to the store.
    let found = told(&shop("holds keys", "", &query.replace(".total > 5", ".orderId == \"x\"")));
    assert_eq!(found, ["absent: the index `ByState` does not hold `orderId`"]);
}

#[test]
fn a_list_names_what_items_have() {
    let found = |holds: &str| listed(holds, "return orders { orderId }");
    let cases = [
        ("holds keys, totl", "name: no item of this index has an attribute `totl`"),
        ("holds keys, byStatePk", "name: `byStatePk` is a key, and an index always holds the keys"),
        ("holds keys, PK", "name: `PK` is a key, and an index always holds the keys"),
        ("holds keys, total, total", "name: `total` is listed twice"),
        ("holds total", "syntax: expected `keys`, but found `total`"),
        ("holds keys\n holds keys", "syntax: a second `holds` of one index"),
    ];
    for (holds, message) in cases {
        let found = found(holds);
        assert!(found.iter().any(|one| one == message), "{holds}: {found:?}");
    }
}

#[test]
fn a_part_costs_less() {
    // An order has up to 2 KB, and a page of 10 is read with one more.
    let cost = |holds: &str, cost: &str| {
        let query = format!(
            "orders = query Order by ByState where PK = \"STATE#{{state}}\" and SK begins_with \"ORDER#\" page 10\n  return orders {{ orderId }}\n  {cost}"
        );
        told(&shop(holds, "", &query))
    };
    assert_eq!(cost("", "cost 4 rcu"), NOTHING);
    assert_eq!(cost("", "cost 2 rcu").len(), 1);
    assert_eq!(cost("holds keys", "cost 1.5 rcu"), NOTHING);
    assert_eq!(cost("holds keys", "cost 0.5 rcu").len(), 1);
    // An order is 3 units in a table, and an entry of its index 1 or 3. A move is two writes, and what the index does
    // not hold costs it nothing.
    let write = |holds: &str, set: &str, cost: &str| {
        let text = shop(
            holds,
            "",
            "orders = query Order by ByState where PK = \"STATE#{state}\" and SK begins_with \"ORDER#\" page 10\n  return orders { orderId }",
        );
        let text =
            text.replace("update order set state = PAID", &format!("update order set {set}"));
        let pay = text.find("contract PAY").unwrap();
        let (before, after) = text.split_at(pay);
        let after = after.replacen("rate 1/s", &format!("rate 1/s\n  cost {cost}"), 1);
        let found = told(&format!("{before}{after}"));
        found.into_iter().filter(|one| one.starts_with("cost")).collect::<Vec<_>>()
    };
    assert_eq!(write("holds keys", "total = 5", "1 rcu, 3 wcu"), NOTHING);
    assert_eq!(write("holds keys, total", "total = 5", "1 rcu, 4 wcu"), NOTHING);
    assert_eq!(write("holds keys, total", "total = 5", "1 rcu, 3 wcu").len(), 1);
    assert_eq!(write("", "total = 5", "1 rcu, 6 wcu"), NOTHING);
    assert_eq!(write("", "total = 5", "1 rcu, 5 wcu").len(), 1);
    assert_eq!(write("holds keys", "state = PAID", "1 rcu, 5 wcu"), NOTHING);
    assert_eq!(write("holds keys", "state = PAID", "1 rcu, 4 wcu").len(), 1);
}
