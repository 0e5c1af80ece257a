//! What binds calls to an order, beyond two reads: a chain of calls that overtakes a write, a list that is read before a
//! write, and a value that a call has stored before.

use latchkey_model::check;

const NONE: [&str; 0] = [];

/// A document of these statements. `facts` stands for what every contract states.
fn document(statements: &str) -> String {
    let statements = statements.replace("facts", "consistency strong\nexpect 0..5 items\nrate 1/s");
    format!(
        "```contract\nsystem chains\ntable Chains {{ type kind }}\nrole boss\n{statements}```\n"
    )
}

/// The rules that a document breaks. These are parts of documents: `unused` is left aside.
pub(crate) fn told(statements: &str) -> Vec<&'static str> {
    let found = check(&document(statements)).diagnostics;
    found.iter().map(|one| one.rule.slug()).filter(|rule| *rule != "unused").collect()
}

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

// A third contract that goes on from the new item to what is written here was not looked at.
#[test]
fn a_found_item_is_overtaken_by_whoever_goes_on_from_a_newer_one() {
    let by = PLANS.replace("CHECK", "check Draft if .n is present else 404 no-draft");
    assert_eq!(told(&by), ["unpinned"]);
    // What is written here has nothing to do with the plan.
    let apart = by.replace("check Plan if .ready == true else 409 not-ready\n", "");
    assert_eq!(told(&apart), NONE);
}

// A maker that goes by an earlier item of the range was let through.
#[test]
fn a_found_item_is_overtaken_by_one_that_goes_by_another_of_the_range() {
    let plain = PLANS.replace("CHECK", "");
    let from = "draft = put Draft { planId, n } if absent else 409 there\n  return 201 draft";
    let next = "input after int 1..99999\n  require after != n else 409 same\n  transact {\n\
                check Draft(planId, n = after) if .state == NEW else 409 taken\n\
                draft = put Draft { planId, n } if absent else 409 there\n  }\n  return 201 draft";
    assert_eq!(told(&plain.replace(from, next)), ["unpinned"]);
}

const ACCOUNTS: &str = r#"
entity Account "ACCOUNT" {
  PK = "ACCOUNT#{accountId}"
  SK = "META"
  accountId id, limit int 0..1000000
}
entity Notice "NOTICE" {
  PK = "ACCOUNT#{accountId}"
  SK = "NOTICE"
  accountId id, limit int 0..1000000
}
contract A-1 "Set the limit" {
  PUT /accounts/{accountId}/limit
  input limit Account.limit
  allow caller is boss
  WRITES
  return 204
  facts
}
contract A-2 "Show the notice" {
  GET /accounts/{accountId}/notice
  allow caller is boss
  notice = get Notice strong else 404 none
  return notice
  facts
}
"#;

// What a call carries over its own commit was looked at only where it was read.
#[test]
fn a_value_that_an_earlier_commit_has_stored_is_a_fact() {
    let account = "put Account { accountId, limit } replace\n";
    let notice = "put Notice { accountId, limit } replace\n";
    let with = |writes: &str| told(&ACCOUNTS.replace("WRITES", writes));
    assert_eq!(with(&format!("{account}{notice}")), ["unpinned"]);
    assert_eq!(with(&format!("transact {{\n{account}{notice}}}\n")), NONE);
    let check = "check Account if .limit == limit else 409 changed\n";
    let waiver = "waive half-done \"the limit stands\"\n";
    assert_eq!(with(&format!("{account}{waiver}transact {{\n{check}{notice}}}\n")), NONE);
}

const CHARTS: &str = r#"
entity Note "NOTE" {
  PK = "CHART#{chartId}"
  SK = "NOTE#{noteId}"
  chartId id, noteId id, body text(40)
}
entity Seal "SEAL" {
  PK = "CHART#{chartId}"
  SK = "SEAL"
  chartId id, by id
}
contract N-1 "Add a note, while nobody has sealed the chart" {
  PUT /charts/{chartId}/notes/{noteId}
  input body text(40)
  allow caller is boss
  transact {
    put Note { chartId, noteId, body } if absent else 409 there
    check Seal if .by is absent else 409 sealed
  }
  return 204
  facts
}
contract N-2 "Seal a chart" {
  POST /charts/{chartId}/seal
  STEPS
  facts
}
contract N-3 "Show the seal" {
  GET /charts/{chartId}/seal
  allow caller is boss
  seal = get Seal strong else 404 none
  return seal
  facts
}
"#;

// The rule knew attributes of items alone.
#[test]
fn a_list_a_count_and_a_presence_from_before_a_write_are_told() {
    let put = "put Seal { chartId, by = caller.id } if absent else 409 sealed\n";
    let allow = "allow caller is boss\n";
    let query =
        "notes = query Note strong where PK = \"CHART#{chartId}\" and SK begins_with \"NOTE#\"";
    let first = format!("{query} first 50\n");
    let page = format!("{query} page 50\n");
    let one = "note = get Note(chartId, noteId = \"x\") strong\n".to_owned();
    let with = |steps: String| told(&CHARTS.replace("STEPS", &steps));
    let stale = ["stale-answer"];
    assert_eq!(with(format!("{allow}{first}{put}return with {{ notes }}")), stale);
    assert_eq!(with(format!("{allow}{page}{put}return notes")), stale);
    assert_eq!(
        with(format!("{allow}{first}{put}return with {{ n = count(notes), notes }}")),
        stale
    );
    assert_eq!(with(format!("{allow}{one}{put}return with {{ has = note is present }}")), stale);
    let batch = "input ids list(1..5) of id unique\nallow caller is boss\n\
                 notes = get Note(chartId, noteId = i) for i in ids strong\n";
    assert_eq!(with(format!("{batch}{put}return notes")), stale);
    // Read behind the write, or shown without it.
    assert_eq!(with(format!("{allow}{put}{first}return with {{ notes }}")), NONE);
    assert_eq!(with(format!("{allow}{first}{put}return 204")).len(), 0);
}

const SEATS: &str = r#"
entity Seat "SEAT" {
  PK = "SEAT#{seatId}"
  SK = "META"
  seatId id, state FREE | LOCKED = FREE
}
contract S-1 "Make a seat" {
  PUT /seats/{seatId}
  allow caller is boss
  put Seat { seatId } if absent else 409 there
  return 204
  facts
}
contract S-2 "Remove a seat" {
  DELETE /seats/{seatId}
  allow caller is boss
  seat = get Seat strong else 404 none
  require seat.state != LOCKED else 409 locked
  delete seat if CONDITION else retry
  return 204
  facts
}
contract S-3 "Lock a seat" {
  PUT /seats/{seatId}/lock
  allow caller is boss
  update Seat set state = LOCKED if .state == FREE else absent 404 none else 409 locked
  return 204
  facts
}
"#;

// A condition that holds of a missing item was taken for one that does not.
#[test]
fn a_condition_that_holds_of_a_missing_item_does_not_keep_two_from_removing_it() {
    assert_eq!(told(&SEATS.replace("CONDITION", ".state != LOCKED")), ["stale-answer"]);
    assert_eq!(told(&SEATS.replace("CONDITION", ".state == FREE")), NONE);
}

const MENUS: &str = r#"
entity Shop "SHOP" {
  PK = "SHOP#{shopId}"
  SK = "META"
  shopId id, menuId id
}
entity Menu "MENU" {
  PK = "MENU#{menuId}"
  SK = "META"
  menuId id, title text(20)
}
contract S-1 "Open a shop" {
  PUT /shops/{shopId}
  input title text(20)
  allow caller is boss
  menuId = new ulid
  transact {
    put Shop { shopId, menuId } if absent else 409 there
    put Menu { menuId, title } if absent else retry
  }
  return 204
  facts
}
contract S-2 "Swap the menu" {
  PUT /shops/{shopId}/menu
  input title text(20)
  allow caller is boss
  shop = get Shop strong else 404 none
  menuId = new ulid
  transact {
    REMOVED
    update shop set menuId = menuId if .menuId == shop.menuId else retry
    put Menu { menuId, title } if absent else retry
  }
  return 204
  facts
}
contract S-3 "Show the menu" {
  GET /shops/{shopId}/menu
  allow true
  shop = get Shop strong else 404 none
  menu = get Menu(menuId = shop.menuId) strong else 404 no-menu
  return menu { title }
  facts
}
"#;

// What an item points to was made with it; but it can be removed with that as well.
#[test]
fn what_an_item_points_to_may_be_gone_by_then() {
    assert_eq!(
        told(&MENUS.replace("REMOVED", "delete Menu(menuId = shop.menuId)")),
        ["stale-answer"]
    );
    let kept = told(&MENUS.replace("REMOVED", ""));
    assert!(!kept.contains(&"stale-answer"), "{kept:?}");
}
