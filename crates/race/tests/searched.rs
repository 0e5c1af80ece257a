//! What a search reaches: contracts that need a key, workers that try in vain, instants, and what it could not reach.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use latchkey_language::{Level, Rule};
use latchkey_race::{Options, Report, search};

/// Searches a document of these statements, with whatever the check has against it switched off.
fn searched(statements: &str, example: &str) -> Report {
    let statements = statements.replace("facts", "consistency strong\n  expect 1 item\n  rate 1/s");
    let text = format!(
        "# Reach\n```contract\nsystem reach\ntable Reach {{ type kind }}\n{statements}\n```\n{example}"
    );
    let errors = latchkey_model::check(&text).diagnostics.into_iter();
    let errors = errors.filter(|found| found.level == Level::Error).map(|found| found.rule);
    let without: Vec<Rule> = errors.collect();
    assert!(without.iter().all(|rule| *rule == Rule::Unpinned), "{without:?}");
    search(&text, &Options { without, ..Options::default() }, &|_| {}).unwrap()
}

fn headlines(report: &Report) -> Vec<&str> {
    report.losses.iter().map(|loss| loss.headline.as_str()).collect()
}

/// Tanks, filled and drained. `DRAINED` is the write that takes from one.
const TANKS: &str = r#"
role smith
entity Tank "TANK" {
  PK = "TANK#{tankId}"
  SK = "META"
  tankId id, litres int 0..1000 = 100
}
contract BUILD "Build a tank" {
  PUT /tanks/{tankId}
  allow caller is smith
  tank = put Tank { tankId } if absent else 409 there
  return 201 tank
  facts
}
contract DRAIN "Drain a tank" {
  POST /tanks/{tankId}/drain
  input litres int 1..50
  allow caller is smith
  tank = get Tank strong else 404 gone
  require tank.litres >= litres else 409 empty
  rest = tank.litres - litres
  DRAINED
  return drained
  facts
  idempotent by key
}
"#;

#[test]
fn contracts_that_need_a_key_are_searched() {
    let example = "```example\nas ann role smith\nPUT /tanks/t\n201\nPOST /tanks/t/drain Idempotency-Key: k {\"litres\": 10}\n200\n```\n";
    let planted = TANKS.replace("DRAINED", "drained = update tank set litres = rest else 404 gone");
    let honest = TANKS.replace(
        "DRAINED",
        "drained = update tank set litres = rest if .litres == tank.litres else retry",
    );
    // From an example that sends the header, and from types.
    for example in [example, ""] {
        let report = searched(&planted, example);
        let told = headlines(&report);
        assert!(told.iter().any(|told| told.starts_with("DRAIN beside itself")), "{told:?}");
        let loss = report.losses.iter().find(|loss| loss.contracts == ["DRAIN"]).unwrap();
        for key in ["Idempotency-Key: \"race-1\"", "Idempotency-Key: \"race-2\""] {
            assert!(loss.example.contains(key), "{}", loss.example);
        }
        let report = searched(&honest, example);
        assert_eq!(headlines(&report), [""; 0]);
    }
}

/// A worker that tries again for ever once its condition cannot hold.
const FLAMES: &str = r#"
entity Candle "CANDLE" {
  PK = "CANDLE#{candleId}"
  SK = "META"
  candleId id, lit bool = true
}
queue snuffs { candleId id }
contract LIGHT "Light a candle" {
  PUT /candles/{candleId}
  allow true
  transact {
    candle = put Candle { candleId } if absent else 409 there
    send snuffs { candleId }
  }
  return 201 candle
  facts
}
contract BLOW "Blow a candle out" {
  POST /candles/{candleId}/blow
  allow true
  candle = update Candle set lit = false if .lit == true else 404 gone
  return candle
  facts
}
worker SNUFF "Take a candle away" {
  on snuffs { candleId }
  candle = get Candle strong else done
  delete candle if .lit == true else retry
  done
  facts
}
"#;

#[test]
fn a_worker_that_tries_in_vain_ends() {
    let example = "```example\nas ann\nqueue snuffs holds\nPUT /candles/c\n201\nPOST /candles/c/blow\n200\n```\n";
    let report = searched(FLAMES, example);
    assert_eq!(headlines(&report), [""; 0]);
    assert_eq!(report.cut, 0);
    // Six attempts of each of two deliveries have some ten thousand orders.
    assert!(report.schedules < 2_000, "{} schedules", report.schedules);
}

#[test]
fn what_is_not_searched_is_named() {
    // No value made from types is the word, and nothing rings the bell.
    let statements = r#"
entity Car "CAR" {
  PK = "CAR#{plate}"
  SK = "META"
  plate id
}
entity Bell "BELL" {
  PK = "BELL#{bellId}"
  SK = "META"
  bellId id, rung bool = false
}
contract PARK "Park a car" {
  PUT /cars/{plate}
  input word text(20)
  allow true
  require word == "sesame" else 409 wrong-word
  car = put Car { plate } if absent else 409 there
  return 201 car
  facts
}
contract HANG "Hang a bell" {
  PUT /bells/{bellId}
  allow true
  bell = put Bell { bellId } if absent else 409 there
  return 201 bell
  facts
}
"#;
    let report = searched(statements, "");
    assert_eq!((report.contracts, report.contracts_of, report.writes), (1, 2, true));
    let missing: Vec<&str> = report.unsearched.iter().map(|own| own.id.as_str()).collect();
    assert_eq!(missing, ["PARK"]);
    assert!(report.unsearched[0].why.starts_with("no call of it succeeded: `"), "{report:?}");
    let example = "```example\nas ann\nPUT /cars/ABC-1234 {\"word\": \"sesame\"}\n201\n```\n";
    assert_eq!(searched(statements, example).unsearched, []);
}

/// Offers that end. `TERM` is what a taker waits for.
const OFFERS: &str = r#"
role judge
entity Offer "OFFER" {
  PK = "OFFER#{offerId}"
  SK = "META"
  offerId id, until time, taker id?
}
contract OFFER "Offer something" {
  PUT /offers/{offerId}
  allow true
  offer = put Offer { offerId, until = now + 10d } if absent else 409 there
  return 201 offer
  facts
}
contract TAKE "Take it after its term" {
  POST /offers/{offerId}/take
  allow caller is judge
  offer = get Offer strong else 404 gone
  TERM
  require offer.taker is absent else 409 taken
  taken = update offer set taker = caller.id else 404 gone
  return taken
  facts
}
"#;

#[test]
fn an_instant_after_a_stored_time_is_tried() {
    let example = "```example\nat 2026-01-01T00:00:00Z as ann\nPUT /offers/o\n201\nPOST /offers/o/take\n403\n```\n";
    let later = "```example\nat 2026-01-01T00:00:00Z as ann role judge\nPUT /offers/o\n201\nat 2026-03-01T00:00:00Z\nPOST /offers/o/take\n200\n```\n";
    let just_after = OFFERS.replace("TERM", "require offer.until < now else 409 early");
    let report = searched(&just_after, example);
    // The caller of the loss has a role that no example gives.
    assert_eq!(headlines(&report), [""; 0]);
    let example = example.replace("as ann", "as ann role judge").replace("403", "409");
    for (text, example) in [
        (just_after, example.as_str()),
        (OFFERS.replace("TERM", "require offer.until + 9d < now else 409 early"), later),
    ] {
        let report = searched(&text, example);
        let told = headlines(&report);
        assert!(told.iter().any(|told| told.starts_with("TAKE beside itself")), "{told:?}");
    }
}

#[test]
fn a_promise_that_one_call_breaks_is_told_of_that_call() {
    let statements = r#"
role cook
entity Pot "POT" {
  PK = "POT#{potId}"
  SK = "META"
  potId id, spoons int = 0
}
invariant Pot "at most one spoon" { .spoons <= 1 }
contract COOK "Cook" {
  PUT /pots/{potId}
  allow caller is cook
  pot = put Pot { potId } if absent else 409 there
  return 201 pot
  facts
}
contract SALT "Salt" {
  PUT /pots/{potId}/salt
  allow caller is cook
  pot = update Pot set spoons = 2 else 404 gone
  return pot
  facts
}
"#;
    let report = searched(statements, "");
    let wanted = "SALT: \"at most one spoon\" does not hold of Pot `POT#a` `META`";
    assert_eq!(headlines(&report), [wanted]);
    let (_, asked) = report.losses[0].calls.first().unwrap();
    assert!(asked.ends_with(" (made up: a caller with every role)"), "{asked}");
    let told: Vec<&str> =
        report.losses[0].statements.iter().map(|(_, told)| told.as_str()).collect();
    assert_eq!(told, ["this should hold after every commit", "A changes it here"]);
}
