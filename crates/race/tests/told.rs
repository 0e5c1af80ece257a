//! What a loss tells: the very statements that made it so, and what can be done.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use latchkey_language::Rule;
use latchkey_race::{Options, Report, search};

fn document(statements: &str) -> String {
    let facts = "consistency strong\n  expect 1 item\n  rate 1/s";
    let statements = statements.replace("facts", facts);
    format!("# Told\n```contract\nsystem told\ntable Told {{ type kind }}\n{statements}\n```\n")
}

fn searched(text: &str, embedded: bool) -> Report {
    let options = Options { without: vec![Rule::Unpinned], embedded, ..Options::default() };
    search(text, &options, &|_| {}).unwrap()
}

/// The statements of the loss of these contracts, each with what is told of it.
fn statements(text: &str, contracts: &[&str]) -> Vec<String> {
    let report = searched(text, false);
    let loss = report.losses.iter().find(|loss| loss.contracts == contracts).unwrap();
    let line = |source: &str| source.lines().next().unwrap_or_default().trim().to_owned();
    let told = loss.statements.iter();
    told.map(|(span, what)| format!("{what}: {}", line(text.get(span.range()).unwrap()))).collect()
}

#[test]
fn of_two_reads_of_an_entity_the_one_that_was_outdated_is_named() {
    let text = document(
        r#"
entity Account "ACCOUNT" {
  PK = "ACCOUNT#{accountId}"
  SK = "META"
  accountId id, money int 0.. = 10, version counter
}
contract OPEN "Open an account" {
  PUT /accounts/{accountId}
  allow true
  account = put Account { accountId } if absent else 409 there
  return 201 account
  facts
}
contract CLOSE "Empty an account" {
  DELETE /accounts/{accountId}
  allow true
  update Account set money = 0, version = .version + 1 if .money > 0 else 409 empty
  return 204
  facts
}
contract MOVE "Move money" {
  POST /moves
  input from id, to id
  require from != to else 409 same
  source = get Account(accountId = from) strong else 404 no-source
  target = get Account(accountId = to) strong else 404 no-target
  allow true
  require source.money > 0 else 409 nothing
  transact {
    update source set money = source.money - 1, version = .version + 1 else 404 no-source
    update target set money = .money + 1, version = .version + 1 else 404 no-target
  }
  return 204
  facts
}
"#,
    );
    let example = "PUT /accounts/a\n201\nPUT /accounts/b\n201\nPOST /moves {\"from\": \"a\", \"to\": \"b\"}\n204";
    let text = format!("{text}```example\nas ann\n{example}\n```\n");
    let told = statements(&text, &["MOVE", "CLOSE"]);
    let wanted = [
        "A reads this here: source = get Account(accountId = from) strong else 404 no-source",
        "B changes it here: update Account set money = 0, version = .version + 1 if .money > 0 else 409 empty",
    ];
    assert_eq!(told, wanted);
    let told = statements(&text, &["MOVE"]);
    let wanted = [
        "B reads this here: source = get Account(accountId = from) strong else 404 no-source",
        "A changes it here: update source set money = source.money - 1, version = .version + 1 else 404 no-source",
    ];
    assert_eq!(told, wanted);
}

/// A list beside a transaction that puts two of its items.
const PAIRS: &str = r#"
entity Shoe "SHOE" {
  PK = "PAIR#{pairId}"
  SK = "SHOE#{side}"
  pairId id, side LEFT | RIGHT
}
contract BUY "Buy a pair" {
  PUT /pairs/{pairId}
  allow true
  transact {
    put Shoe { pairId, side = LEFT } if absent else 409 there
    put Shoe { pairId, side = RIGHT } if absent else 409 there
  }
  return 204
  facts
}
contract LIST "See a pair" {
  GET /pairs/{pairId}
  allow true
  SHOES
  return shoes { side }
  consistency strong
  expect 0..2 items
  rate 1/s
}
"#;

#[test]
fn a_list_that_saw_a_part_of_a_transaction_says_so() {
    let query = r#"shoes = query Shoe strong where PK = "PAIR#{pairId}" and SK begins_with "SHOE#" first 2"#;
    let text = document(&PAIRS.replace("SHOES", query));
    let told = statements(&text, &["BUY", "LIST"]);
    let wanted = [
        "B may see a part of a transaction here: shoes = query Shoe strong where",
        "A changes a part here: put Shoe { pairId, side = LEFT } if absent else 409 there",
        "A changes a part here: put Shoe { pairId, side = RIGHT } if absent else 409 there",
    ];
    assert_eq!(told.len(), wanted.len(), "{told:#?}");
    for (told, wanted) in told.iter().zip(wanted) {
        assert!(told.starts_with(wanted), "{told:#?}");
    }
    let report = searched(&text, false);
    let loss = report.losses.first().unwrap();
    let note = "on DynamoDB, a query may see a part of a transaction: read the items with gets in a `snapshot { … }`";
    assert!(loss.remedies.iter().any(|told| told.starts_with(note)), "{:?}", loss.remedies);
    assert!(loss.rows.iter().any(|row| row.note == "sees a part of 1"), "{}", loss.table());
    // The embedded store has no such reads.
    assert_eq!(searched(&text, true).losses.len(), 0);
}
