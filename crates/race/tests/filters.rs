//! Decisions by what a filter keeps: a race that was planted, and its honest twin.

#![expect(clippy::unwrap_used, reason = "a test that goes wrong should fail, where it went wrong")]

use latchkey_language::Rule;
use latchkey_race::{Options, search};

const PLANS: &str = r#"# Plans
```contract
system plans
table Plans { type kind }
entity Plan "PLAN" {
  PK = "PLAN#{planId}"
  SK = "META"
  planId id, closed bool = false, revision counter
}
entity Task "TASK" {
  PK = "PLAN#{planId}"
  SK = "TASK#{taskId}"
  planId id, taskId id, state OPEN | DONE = DONE, version counter
}
contract PLAN "Make a plan" {
  POST /plans
  input planId id
  allow true
  plan = put Plan { planId } if absent else 409 there
  return 201 plan
  facts
}
contract ADD "Add a task" {
  POST /plans/{planId}/tasks
  input taskId id, state Task.state
  plan = get Plan strong else 404 gone
  allow true
  require not plan.closed else 409 closed
  transact {
    task = put Task { planId, taskId, state } if absent else 409 there
    GUARD
  }
  return 201 task
  facts
}
contract CLOSE "Close a plan that has no open tasks" {
  POST /plans/{planId}/close
  plan = get Plan strong else 404 gone
  allow true
  waive filter "a plan has few tasks that are done"
  open = query Task strong where PK = "PLAN#{planId}" and SK begins_with "TASK#" first 1
    keep .state == OPEN reading 9
  require open is absent else 409 open
  update plan set closed = true, revision = .revision + 1 if unchanged else retry
  return plan
  facts
}
```
"#;

/// The contracts of each loss.
fn lost(guard: &str) -> Vec<String> {
    let facts = "consistency strong\n  expect 1 item\n  rate 1/s";
    let text = PLANS.replace("facts", facts).replace("GUARD", guard);
    let options = Options { without: vec![Rule::Unpinned], ..Options::default() };
    let report = search(&text, &options, &|_| {}).unwrap();
    assert!(report.groups > 0 && report.schedules > 0, "{report:?}");
    report.losses.into_iter().map(|loss| loss.contracts.join("+")).collect()
}

#[test]
fn what_a_filter_did_not_find_is_lost_unless_it_is_held() {
    let loose = lost("check plan if .planId == planId else retry");
    assert!(loose.iter().any(|pair| pair.contains("ADD") && pair.contains("CLOSE")), "{loose:?}");
    let held = "update plan set revision = .revision + 1 if unchanged else retry";
    assert_eq!(lost(held), Vec::<String>::new());
}
