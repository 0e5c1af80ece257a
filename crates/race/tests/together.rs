//! `together { … }`: a loss prints one that reproduces it, and `latchkey test` runs all its schedules.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use latchkey_language::{Level, Rule};
use latchkey_race::{Options, examine, search};

const TILLS: &str = include_str!("tills.md");

/// The tills without what pins the read.
fn planted() -> String {
    TILLS
        .replace("left = .left - amount", "left = till.left - amount")
        .replace("if unchanged else retry", "else 404 gone")
}

fn options(text: &str) -> Options {
    let errors = latchkey_model::check(text).diagnostics.into_iter();
    let without: Vec<Rule> =
        errors.filter(|found| found.level == Level::Error).map(|found| found.rule).collect();
    Options { without, ..Options::default() }
}

fn told(text: &str) -> Vec<String> {
    let found = examine(text, &options(text)).unwrap();
    found.into_iter().map(|found| found.message).collect()
}

#[test]
fn what_loses_something_is_told_and_what_does_not_is_not() {
    let example = "\n```example\nas ann\ntogether {\n  POST /tills/t/pay {\"amount\": 1}\n  POST /tills/t/pay {\"amount\": 2}\n}\n```\n";
    assert_eq!(told(&format!("{TILLS}{example}")), [""; 0]);
    let message = "made at once, these lose something: PAY beside itself: no order of these calls comes to this";
    assert_eq!(told(&format!("{}{example}", planted())), [message]);
}

#[test]
fn a_loss_prints_an_example_that_reproduces_it() {
    // With examples, the lines go behind a line of one; without, they stand alone.
    let alone = planted().split("```example").next().unwrap().to_owned();
    let report = search(&alone, &options(&alone), &|_| {}).unwrap();
    assert!(!report.losses.is_empty());
    for loss in &report.losses {
        let kept = format!("{alone}```example\n{}```\n", loss.example);
        let parsed = latchkey_language::parse(&kept);
        assert_eq!(parsed.diagnostics, [], "{}", loss.example);
        assert_eq!(told(&kept).len(), 1, "{}", loss.example);
        let mended =
            kept.replace("else 404 gone\n  return paid", "if unchanged else retry\n  return paid");
        assert_eq!(told(&mended), [""; 0], "{}", loss.example);
    }
    let report = search(&planted(), &options(&planted()), &|_| {}).unwrap();
    let loss = report.losses.first().unwrap();
    assert!(loss.example.starts_with("// behind line "), "{}", loss.example);
}

const MAILS: &str = r#"# Mails
```contract
system mails
table Mails { type kind }

entity Mail "MAIL" {
  PK = "MAIL#{mailId}"
  SK = "META"
  mailId id, told bool = false, version counter
}
entity Box "BOX" {
  PK = "BOX#{mailId}"
  SK = "META"
  mailId id, letters int = 0
}
queue letters { mailId id }
contract SEND "Send a letter" {
  POST /mails
  input mailId id
  allow true
  transact {
    mail = put Mail { mailId } if absent else 409 there
    send letters { mailId }
  }
  return 202 mail
  consistency strong
  expect 1 item
  rate 1/s
}
contract SEE "See a box" {
  GET /boxes/{mailId}
  allow true
  box = get Box strong else 404 gone
  return box
  consistency strong
  expect 1 item
  rate 1/s
}
worker PUT "Put a letter into its box" {
  on letters { mailId }
  mail = get Mail strong else done
  when mail.told == true { done }
  transact {
    TOLD
    upsert Box add letters = 1
  }
  done
  consistency strong
  expect 1 item
  rate 1/s
}
```
```example
as ann
queue letters holds
POST /mails {"mailId": "m"}
202
together {
  deliver letters
  deliver letters
}
```
"#;

#[test]
fn a_message_is_delivered_twice() {
    let once = "update mail set told = true, version = .version + 1 if unchanged else retry";
    assert_eq!(told(&MAILS.replace("TOLD", once)), [""; 0]);
    let message = "made at once, these lose something: PUT beside itself: done twice, or again after a crash, it leaves something else than once";
    assert_eq!(told(&MAILS.replace("TOLD", "")), [message]);
}
