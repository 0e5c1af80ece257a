//! Groups that look alike in one state and are not in another; what the examples do together; and a deep search, which
//! looks at more.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use latchkey_language::Rule;
use latchkey_race::{Options, Report, search};

const STATEMENTS: &str = r##"
system units
table Units { type kind }
role clerk
entity Cfg "CFG" {
  PK = "CFG#{hospitalId}"
  SK = "CFG"
  hospitalId id
  lifo bool = false
}
entity Unit "UNIT" {
  PK = "HOSP#{hospitalId}"
  SK = "UNIT#{unitId}"
  hospitalId id, unitId id
  state FREE | USED = FREE
}
contract C-1 "Open" {
  PUT /hospitals/{hospitalId}
  allow caller is clerk
  cfg = put Cfg { hospitalId } if absent else 409 exists
  return 201 cfg
  consistency strong
  expect 1 item
  rate 1/s
}
contract C-2 "The newest first, as long as this one is free" {
  PUT /hospitals/{hospitalId}/lifo
  input unitId id
  allow caller is clerk
  transact {
    check Unit if .state == FREE else absent 404 no-unit else 409 used
    update Cfg set lifo = true else 404 not-found
  }
  return 204
  consistency strong
  expect 1 item
  rate 1/s
}
contract C-3 "Use one" {
  POST /hospitals/{hospitalId}/use
  allow caller is clerk
  cfg = get Cfg strong else 404 not-found
  unit = query Unit strong where PK = "HOSP#{hospitalId}" and SK begins_with "UNIT#"
    order descending when cfg.lifo first 1 else 409 none
  update unit set state = USED if .state == FREE else 409 used
  return unit
  consistency strong
  expect 1 item
  rate 1/s
}
contract C-4 "Store" {
  PUT /hospitals/{hospitalId}/units/{unitId}
  allow caller is clerk
  unit = put Unit { hospitalId, unitId } if absent else 409 exists
  return 201 unit
  consistency strong
  expect 1 item
  rate 1/s
}
"##;

/// With one unit the order does not matter; with two it does.
const STEPS: [&str; 5] = [
    "PUT /hospitals/H1\n201\n",
    "PUT /hospitals/H1/units/U1\n201\n",
    "PUT /hospitals/H1/units/U2\n201\n",
    "PUT /hospitals/H1/lifo {\"unitId\": \"U1\"}\n204\n",
    "POST /hospitals/H1/use\n200 {\"unitId\": \"U2\"}\n",
];

fn searched(steps: &str, deep: bool, contracts: &[&str]) -> Report {
    let example = format!("as cleo role clerk\n{steps}");
    let text = format!("```contract{STATEMENTS}```\n```example\n{example}```\n");
    let options = Options {
        without: vec![Rule::Unpinned, Rule::StaleAnswer],
        deep,
        contracts: contracts.iter().map(|id| (*id).to_owned()).collect(),
        ..Options::default()
    };
    search(&text, &options, &|_| {}).unwrap()
}

fn lost(report: &Report) -> Vec<Vec<String>> {
    let contracts = |loss: &latchkey_race::Loss| {
        let mut all = loss.contracts.clone();
        all.sort_unstable();
        all
    };
    report.losses.iter().map(contracts).collect()
}

// The state with one unit came first, and stood for the one with two.
#[test]
fn what_is_alike_in_one_state_is_looked_at_in_the_next() {
    for order in [[0, 1, 2, 3, 4], [1, 2, 0, 3, 4]] {
        let steps = order.map(|at| STEPS[at]).concat();
        assert_eq!(lost(&searched(&steps, false, &[])), [["C-2", "C-3"]], "{order:?}");
    }
}

#[test]
fn what_the_examples_do_together_is_searched() {
    let before = STEPS[..3].concat();
    let together = "together {\nPOST /hospitals/H1/use\nPUT /hospitals/H1/lifo {\"unitId\": \"U1\"}\n\
                    PUT /hospitals/H1/units/U0\n}\n";
    let steps = format!("{before}{together}");
    // No search of pairs, and none of triples that undo each other, would have these three.
    let all = ["C-2", "C-3", "C-4"].map(str::to_owned).to_vec();
    assert!(lost(&searched(&steps, false, &["C-3"])).contains(&all));
    assert!(!lost(&searched(&before, false, &["C-3"])).contains(&all));
    // A block of which no call is wanted is left out.
    assert!(!lost(&searched(&steps, false, &["C-1"])).contains(&all));
}

#[test]
fn a_deep_search_runs_more() {
    let steps = STEPS.concat();
    let (usual, deep) = (searched(&steps, false, &[]), searched(&steps, true, &[]));
    assert!(deep.groups > usual.groups, "{} and {}", deep.groups, usual.groups);
    assert!(deep.schedules > usual.schedules, "{} and {}", deep.schedules, usual.schedules);
}
