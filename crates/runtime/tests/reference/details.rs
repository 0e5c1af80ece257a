//! What a problem tells a person: what happened, and what to do.

use crate::support::World;

const BANK: &str = r#"
entity Account "ACCOUNT" {
  PK = "ACCOUNT#{accountId}"
  SK = "META"
  accountId id, balance int 0..1000, frozen bool, version counter
}
contract OPEN "Open an account" {
  POST /accounts
  input accountId id, balance int, frozen bool = false
  allow true
  account = put Account { accountId, balance, frozen } if absent else 409 account-exists
  return 201 account
  facts
}
contract PAY "Pay from an account" {
  POST /accounts/{accountId}/pay
  input amount int 1..
  account = get Account strong else 404 not-found
  allow true
  require not account.frozen else 409 account-frozen
  paid = update account set balance = .balance - amount, version = .version + 1 else 404 not-found
  return paid
  facts
}
contract MOVE "Pay from one account to another" {
  POST /accounts/{accountId}/move
  input amount int 1.., other id
  allow true
  require accountId != other else 400 same-account
  transact {
    update Account set balance = .balance - amount, version = .version + 1 else 404 not-found
    update Account(accountId = other) set balance = .balance + amount, version = .version + 1 else 404 not-found
  }
  account = get Account strong else 404 not-found
  return account
  facts
}
contract FINE "Take one away" {
  POST /accounts/{accountId}/fine
  allow true
  account = update Account set balance = .balance - 1, version = .version + 1 else 404 not-found
  return account
  facts
}
contract SHOW "Show an account that is not frozen" {
  GET /accounts/{accountId}
  account = get Account strong else 404 not-found
  allow true
  require not account.frozen else 404 not-found
  return account
  facts
}
"#;

async fn bank() -> World {
    let world = World::start(BANK).await;
    for (account, balance, frozen) in [("a", 5, false), ("b", 998, false), ("cold", 5, true)] {
        let inputs =
            format!(r#"{{"accountId": "{account}", "balance": {balance}, "frozen": {frozen}}}"#);
        world.ok("OPEN", &inputs).await;
    }
    world
}

// A bound that would be left is told by the attribute, and by the input it is computed from.
#[tokio::test]
async fn a_bound_that_would_be_left_is_pointed_at() {
    let world = bank().await;
    let cases = [
        ("PAY", r#"{"accountId": "a", "amount": 6}"#, "/amount"),
        ("MOVE", r#"{"accountId": "a", "amount": 6, "other": "b"}"#, "/amount"),
        ("MOVE", r#"{"accountId": "a", "amount": 3, "other": "b"}"#, "/amount"),
        ("OPEN", r#"{"accountId": "d", "balance": 1001}"#, "/balance"),
    ];
    for (contract, inputs, pointer) in cases {
        let told = world.call(contract, inputs).await;
        assert_eq!(told.told(), (400, "invalid-input".to_owned()), "{contract} {inputs}");
        let errors = &told.problem().errors;
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert_eq!(errors[0].pointer, pointer, "{contract} {inputs}");
        assert_eq!(errors[0].detail, "takes `balance` out of its bounds: 0 to 1000");
    }
    world.ok("PAY", r#"{"accountId": "a", "amount": 5}"#).await;
    // No input is to blame: nothing is pointed at.
    let told = world.call("FINE", r#"{"accountId": "a"}"#).await;
    assert_eq!((told.status(), told.problem().errors.len()), (400, 0), "{}", told.body());
    assert_eq!(told.problem().detail, "this takes `balance` out of its bounds: 0 to 1000");
}

// Where a document says nothing of a problem, its detail does not just repeat its title.
#[tokio::test]
async fn a_problem_without_words_of_its_own_says_what_happened() {
    let world = bank().await;
    let detail = async |contract: &str, inputs: &str| {
        world.call(contract, inputs).await.problem().detail.clone()
    };
    let taken = detail("OPEN", r#"{"accountId": "a", "balance": 1}"#).await;
    assert_eq!(taken, "the key is taken, by the Account itself or by an item of another type");
    let frozen = detail("PAY", r#"{"accountId": "cold", "amount": 1}"#).await;
    assert_eq!(frozen, "this needs `not account.frozen`, which does not hold");
    // What is hidden behind a 404 is told as what is not there.
    let absent = detail("SHOW", r#"{"accountId": "nobody"}"#).await;
    assert_eq!(absent, "nothing was found for what was sent; check the ids");
    assert_eq!(detail("SHOW", r#"{"accountId": "cold"}"#).await, absent);
}
