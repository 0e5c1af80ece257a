//! Three calls of which one only does what it does because another came first, items that are read one by one, and
//! invariants that one call breaks alone.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use latchkey_language::Rule;
use latchkey_race::{Options, Report, search};

fn searched(statements: &str, example: &str) -> Report {
    let statements = statements.replace("facts", "consistency strong\nexpect 0..5 items\nrate 1/s");
    let text = format!(
        "```contract\nsystem chains\ntable Chains {{ type kind }}\nrole boss\n{statements}```\n```example\nas bo role boss\n{example}```\n"
    );
    let options = Options { without: vec![Rule::Unpinned], deep: true, ..Options::default() };
    search(&text, &options, &|_| {}).unwrap()
}

/// The contracts of each loss.
fn lost(statements: &str, example: &str) -> Vec<String> {
    let report = searched(statements, example);
    assert!(report.groups > 0 && report.schedules > 0, "{report:?}");
    report.losses.into_iter().map(|loss| loss.contracts.join("+")).collect()
}

const NONE: [&str; 0] = [];

const PLANS: &str = r#"
entity Plan "PLAN" {
  PK = "PLAN#{planId}"
  SK = "META"
  planId id, ready bool = false
}
entity Draft "DRAFT" {
  PK = "PLAN#{planId}"
  SK = "DRAFT#{n:05}"
  planId id, n int 1..99999, state NEW | TAKEN = NEW
}
contract P-1 "Make a plan" {
  PUT /plans/{planId}
  allow caller is boss
  plan = put Plan { planId } if absent else 409 there
  return 201 plan
  facts
}
contract P-2 "Add a draft" {
  PUT /plans/{planId}/drafts/{n}
  allow caller is boss
  draft = put Draft { planId, n } if absent else 409 there
  return 201 draft
  facts
}
contract P-3 "The plan is ready" {
  POST /plans/{planId}/drafts/{n}/ready
  allow caller is boss
  transact {
    CHECK
    update Plan set ready = true else 404 no-plan
  }
  return 204
  facts
}
contract P-4 "Take the latest draft" {
  POST /plans/{planId}/take
  allow caller is boss
  latest = query Draft strong where PK = "PLAN#{planId}" and SK begins_with "DRAFT#" order descending first 1
  require latest is present else 404 no-draft
  transact {
    check Plan if .ready == true else 409 not-ready
    update latest set state = TAKEN if .state == NEW else 409 taken
  }
  return 204
  facts
}
"#;

// Triples were of calls that undo each other.
#[test]
fn a_newer_item_that_a_third_call_goes_on_from() {
    let example = "PUT /plans/p\n201\nPUT /plans/p/drafts/1\n201\n\
                   POST /plans/p/drafts/1/ready\n204\nPOST /plans/p/take\n204\nPUT /plans/p/drafts/2\n201\n\
                   POST /plans/p/drafts/2/ready\n204\n";
    let by = PLANS.replace("CHECK", "check Draft if .n is present else 404 no-draft");
    assert_eq!(lost(&by, example), ["P-4+P-2+P-3"]);
    assert_eq!(lost(&PLANS.replace("CHECK", ""), example), NONE);
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

#[test]
fn a_query_over_shards_misses_what_another_goes_on_from() {
    let example = "PUT /areas/a/2/deals/d0\n204\nPUT /areas/a/0/deals/d1\n204\n\
                   PUT /areas/a/0/deals/d1/next {\"toShard\": 3, \"nextId\": \"d2\"}\n204\n";
    let by = DEALS.replace("CHECK", "check Deal if .dealId is present else 404 none");
    assert_eq!(lost(&by, example), ["D-3+D-1+D-2"]);
    assert_eq!(lost(&DEALS.replace("CHECK", ""), example), NONE);
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

// A batch was of one moment but for parts of one transaction.
#[test]
fn a_batch_is_read_item_by_item() {
    let example = "PUT /cups/a {\"n\": 1}\n204\nPUT /cups/b/as {\"otherId\": \"a\"}\n204\nPOST /cups {\"ids\": [\"a\", \"b\"]}\n200\n";
    assert_eq!(lost(&CUPS.replace("READ", "strong"), example), ["C-3+C-1+C-2"]);
    assert_eq!(lost(&CUPS.replace("READ", "snapshot"), example), NONE);
}

const TILLS: &str = r#"
entity Till "TILL" {
  PK = "TILL#{tillId}"
  SK = "META"
  tillId id, cash int 0..1000000 = 0
}
entity Slip "SLIP" {
  PK = "TILL#{tillId}"
  SK = "SLIP"
  tillId id, cash int 0..1000000
}
contract T-1 "Make a till" {
  PUT /tills/{tillId}
  allow caller is boss
  till = put Till { tillId } if absent else 409 there
  return 201 till
  facts
}
contract T-2 "Set the cash" {
  PUT /tills/{tillId}/cash
  input cash Till.cash
  allow caller is boss
  WRITES
  return 204
  facts
}
"#;

const SET: &str = "update Till set cash = cash else 404 none";

// One call of each kind was kept, and the one that breaks the invariant was another.
#[test]
fn an_invariant_that_one_call_breaks_alone() {
    let bound = "invariant Till \"never above 4\" {\n.cash <= 4\n}\n";
    let text = format!("{}{bound}", TILLS.replace("WRITES", SET));
    for cash in ["2", "4", "5"] {
        let example = format!("PUT /tills/t\n201\nPUT /tills/t/cash {{\"cash\": {cash}}}\n204\n");
        let report = searched(&text, &example);
        let told: Vec<&str> = report.losses.iter().map(|loss| loss.headline.as_str()).collect();
        let broken = |told: &&str| told.contains("\"never above 4\" does not hold");
        assert!(told.iter().any(broken), "{cash}: {told:?}");
    }
    let honest = TILLS.replace("WRITES", &format!("require cash <= 4 else 409 much\n  {SET}"));
    let report = searched(
        &format!("{honest}{bound}"),
        "PUT /tills/t\n201\nPUT /tills/t/cash {\"cash\": 4}\n204\n",
    );
    assert!(report.losses.is_empty(), "{:#?}", report.losses);
}

// Invariants were looked at behind the last commit of a call that ran alone.
#[test]
fn an_invariant_that_holds_again_behind_the_last_commit() {
    let same = "invariant Slip \"as the till\" {\ntill = get Till\ntill is present and till.cash == .cash\n}\n";
    let put = "put Slip { tillId, cash } replace";
    let example = "PUT /tills/t\n201\nPUT /tills/t/cash {\"cash\": 1}\n204\n";
    let two = format!("{}{same}", TILLS.replace("WRITES", &format!("{SET}\n  {put}")));
    assert_eq!(lost(&two, example), ["T-2"]);
    let one =
        format!("{}{same}", TILLS.replace("WRITES", &format!("transact {{\n{SET}\n{put}\n}}")));
    assert_eq!(lost(&one, example), NONE);
}
