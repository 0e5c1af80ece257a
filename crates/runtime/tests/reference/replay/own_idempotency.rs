//! Contracts that know a repeated call by themselves: `idempotent by`.

use super::at_once::together;
use super::*;

const OWN: &str = r#"
entity Ticket "TICKET" {
  PK = "TICKET#{ticketId}"
  SK = "META"
  ticketId ulid, ownerId id, note text(20)?
}
entity Lock "LOCK" {
  PK = "OWNER#{ownerId}"
  SK = "LOCK"
  ownerId id, ticketId ulid
}
contract TAKE "Take a ticket" {
  POST /tickets
  input note text(20)?
  allow true
  lock = get Lock(ownerId = caller.id) strong
  when lock is present {
    first = get Ticket(ticketId = lock.ticketId) strong else 503 try-again
    return 200 first
  }
  ticketId = new ulid
  transact {
    put Lock { ownerId = caller.id, ticketId } if absent else retry
    ticket = put Ticket { ticketId, ownerId = caller.id, note } if absent else retry
  }
  return 201 ticket
  facts
  idempotent by Lock
}
"#;

// A contract that knows a repeated call by itself has no record, whatever the key and the body.
#[tokio::test]
async fn a_contract_with_an_idempotency_of_its_own_answers_itself() {
    let world = World::start(OWN).await;
    let mut take = named("TAKE", r#"{"note": "a"}"#, "k");
    take.trace = true;
    let first = world.made(take.clone()).await;
    assert_eq!(first.status(), 201, "{}", first.body());
    for step in &first.0.trace {
        assert!(!format!("{:?}", step.request).contains("LATCHKEY#IDEM"), "{:?}", step.request);
    }
    for again in [take.clone(), named("TAKE", r#"{"note": "b"}"#, "k"), call("TAKE", "{}")] {
        let told = world.made(again).await;
        assert_eq!((told.status(), told.0.replayed), (200, false), "{}", told.body());
        assert_eq!(told.member("ticketId"), first.member("ticketId"));
        assert_eq!(told.member("note"), "a");
    }
    assert_eq!((records(&world), world.all("TICKET#").len()), (0, 1));
    // A key must be one all the same.
    for key in ["", "\"\"", "a\nb", &"k".repeat(256)] {
        assert_eq!(world.made(named("TAKE", "{}", key)).await.status(), 400, "{key:?}");
    }
    let told = latchkey_runtime::explain(world.runtime.system(), "TAKE").unwrap().to_string();
    assert!(
        told.contains("With an Idempotency-Key: no record; a repeated call is known by its Lock.")
    );
    assert!(!told.contains("LATCHKEY#IDEM") && !told.contains("record of the call"), "{told}");
}

// Of many at once one acts, and the others find what it has left.
#[tokio::test]
async fn of_many_calls_of_such_a_contract_one_acts() {
    for _ in 0..20 {
        let world = Arc::new(World::start(OWN).await);
        let told = together(&world, named("TAKE", "{}", "same")).await;
        let acted = told.iter().filter(|told| told.status() == 201).count();
        let found = told.iter().filter(|told| told.status() == 200).count();
        assert_eq!((acted, acted + found), (1, told.len()));
        assert_eq!((records(&world), world.all("TICKET#").len()), (0, 1));
    }
}

// With `idempotent by key`, a call without a key is refused before it does anything.
#[tokio::test]
async fn a_contract_that_needs_a_key_is_not_called_without_one() {
    let keyed = "contract KEYED \"Count, by key\" {\n  POST /shops/{shopId}/keyed\n  allow true\n  \
                 sales = upsert Sales add sold = 1\n  return sales\n  facts\n  idempotent by key\n}\n";
    let world = World::start(&format!("{}{keyed}", super::SHOP)).await;
    let told = world.made(super::call("KEYED", r#"{"shopId": "s"}"#)).await;
    assert_eq!(told.status(), 400);
    assert!(told.body().to_string().contains("idempotency-key-missing"), "{}", told.body());
    assert!(world.all("SHOP#").is_empty(), "nothing was written");
    super::replays(&world, || super::named("KEYED", r#"{"shopId": "s"}"#, "k")).await;
    assert_eq!(super::sold(&world), "1");
}
