//! What the rules make of items that end, and honest uses that they let through.

use latchkey_language::Rule;
use latchkey_model::check;

/// Locks by the name of what they lock, sessions under a new token, and contracts that change both.
const AROUND: &str = r#"
```contract
system ends
table Ends { type kind }
role warden

entity Lock "LOCK" {
  PK = "LOCK#{name}"
  SK = "LOCK"
  name id, holder id, endsAt time, turns int 0.. = 0, version counter
  expires endsAt
}

entity Session "SESSION" {
  PK = "SESSION#{token}"
  SK = "META"
  token ulid, userId id, endsAt time
  expires endsAt
}

entity Entry "ENTRY" {
  PK = "ENTRY#{name}"
  SK = "ENTRY#{entryId}"
  name id, entryId id, by id
}

entity Tally "TALLY" {
  PK = "TALLY#{name}"
  SK = "TALLY"
  name id, entries int 0.. = 0
}

entity Seen "SEEN" {
  PK = "SEEN#{name}"
  SK = "SEEN#{entryId}"
  name id, entryId id, endsAt time
  expires endsAt
}

contract TAKE "Take a lock" {
  PUT /locks/{name}
  allow true
  lock = put Lock { name, holder = caller.id, endsAt = now + 1m } if absent else 409 locked
  return 201 lock
  consistency strong
  expect 1 item
  rate 1/s
}

contract LOGIN "Log in" {
  POST /sessions
  allow true
  session = put Session { token = new ulid, userId = caller.id, endsAt = now + 1h } if absent else retry
  return 201 session
  consistency strong
  expect 1 item
  rate 1/s
}
```
"#;

/// The rules that a contract breaks beside those above.
fn broken(body: &str) -> Vec<String> {
    let facts = "consistency strong\nexpect 1 item\nrate 1/s";
    let text =
        format!("{AROUND}\n```contract\ncontract TRAP \"Trap\" {{\n{body}\n{facts}\n}}\n```\n");
    told(&text)
}

fn told(text: &str) -> Vec<String> {
    let found = check(text).diagnostics.into_iter();
    // Nothing uses all that stands around.
    let beside = [Rule::Unused, Rule::NeverListed];
    let told = found.filter(|found| !beside.contains(&found.rule));
    let mut rules: Vec<String> = told.map(|found| found.rule.slug().to_owned()).collect();
    rules.dedup();
    rules
}

const NOTHING: [&str; 0] = [];

const READ: &str =
    "POST /trap/{name}\nlock = get Lock strong else 404 not-found\nallow caller owns lock.holder\n";
const WRITE: &str =
    "entry = put Entry { name, entryId = new ulid, by = caller.id } if absent else retry\n";

#[test]
fn what_stands_around_is_clean() {
    assert_eq!(told(AROUND), NOTHING);
}

// A lock that has ended is taken by another: whoever read it before writes as if it still had it.
#[test]
fn a_lock_that_was_read_may_be_another_by_now() {
    assert_eq!(broken(&format!("{READ}{WRITE}return entry")), ["unpinned"]);
    let pinned =
        format!("{READ}transact {{\n{WRITE}check lock if unchanged else retry\n}}\nreturn entry");
    assert_eq!(broken(&pinned), NOTHING);
    let held = format!(
        "{READ}transact {{\n{WRITE}check lock if .holder == lock.holder else retry\n}}\nreturn entry"
    );
    assert_eq!(broken(&held), NOTHING);
}

// Under a key that is new each time nothing takes its place.
#[test]
fn what_has_a_new_key_is_never_replaced() {
    let body = "POST /trap/{token}/{name}\nsession = get Session strong else 401 unauthenticated-session\n\
                allow caller owns session.userId\n";
    assert_eq!(broken(&format!("{body}{WRITE}return entry")), NOTHING);
    // Unless another contract may end it.
    let logout = "```contract\ncontract LOGOUT \"Log out\" {\nDELETE /sessions/{token}\n\
                  session = get Session strong else 404 not-found\nallow caller owns session.userId\n\
                  update session set endsAt = now else 404 not-found\nreturn session\n\
                  consistency strong\nexpect 1 item\nrate 1/s\n}\n```\n";
    let trap = format!("{body}{WRITE}return entry\nconsistency strong\nexpect 1 item\nrate 1/s");
    let text =
        format!("{AROUND}\n```contract\ncontract TRAP \"Trap\" {{\n{trap}\n}}\n```\n{logout}");
    assert_eq!(told(&text), ["unpinned"]);
}

#[test]
fn an_absent_lock_is_pinned_by_a_put_and_by_nothing_else() {
    let free = "POST /trap/{name}\nlock = get Lock strong\nallow caller is warden\nrequire lock is absent else 409 locked\n";
    assert_eq!(broken(&format!("{free}{WRITE}return entry")), ["unpinned"]);
    let taken = format!(
        "{free}transact {{\n{WRITE}put Lock {{ name, holder = caller.id, endsAt = now + 1m }} if absent else retry\n}}\n\
         return entry"
    );
    assert_eq!(broken(&taken), NOTHING);
}

// A mark that ends stops a message only until then.
#[test]
fn a_mark_that_ends_opens_again() {
    let worker = |mark: &str| {
        let send = "contract SEND \"Send\" {\nPOST /entries/{name}\ninput entryId id = new ulid\nallow true\n\
                    transact {\nentry = put Entry { name, entryId, by = caller.id } if absent else 409 there\n\
                    send entries { name, entryId }\n}\nreturn 202 entry\n\
                    consistency strong\nexpect 1 item\nrate 1/s\n}\n";
        let queue = "queue entries {\n  name id\n  entryId id\n}\n";
        let work = format!(
            "worker COUNT \"Count\" {{\non entries {{ name, entryId }}\ntransact {{\n{mark}\n\
             upsert Tally add entries = 1\n}}\ndone\nconsistency strong\nexpect 1 item\nrate 1/s\n}}\n"
        );
        let kept = "entity Kept \"KEPT\" {\n  PK = \"KEPT#{name}\"\n  SK = \"KEPT#{entryId}\"\n  name id, entryId id\n}\n";
        told(&format!("{AROUND}\n```contract\n{kept}{queue}{send}{work}```\n"))
    };
    assert_eq!(worker("put Kept { name, entryId } if absent else done"), NOTHING);
    assert_eq!(
        worker("put Seen { name, entryId, endsAt = now + 1d } if absent else done"),
        ["not-idempotent"]
    );
}

#[test]
fn a_call_is_not_recognised_by_what_ends() {
    let body = "POST /trap/{name}\nlock = get Lock strong\nallow true\nwhen lock is present { return lock }\n\
                transact {\nmade = put Lock { name, holder = caller.id, endsAt = now + 1m } if absent else retry\n}\n\
                return made\nidempotent by Lock";
    assert_eq!(broken(body), ["undeclared"]);
}

// An item that was read has not ended, so a test for that says nothing.
#[test]
fn a_test_for_the_end_of_what_was_read_never_fails() {
    let read = READ.replace("POST", "GET");
    let late = format!("{read}require lock.endsAt <= now else 409 x\nreturn lock");
    assert_eq!(broken(&late), ["never"]);
    let soon = format!("{read}require lock.endsAt > now + 5s else 409 x\nreturn lock");
    assert_eq!(broken(&soon), NOTHING);
}

// A claim that ends frees its name; one that stays behind an owner that ends does not.
#[test]
fn a_claim_ends_with_its_owner_or_before() {
    let claims = |claim: &str, owner: &str| {
        let text = format!(
            "```contract\nsystem claims\ntable Claims {{ type kind }}\n\
             entity Guest \"GUEST\" {{\n  PK = \"GUEST#{{guestId}}\"\n  SK = \"META\"\n  guestId ulid, nick id, room id, \
             endsAt time\n  {owner}\n}}\n\
             entity Nick \"NICK\" {{\n  PK = \"NICK#{{nick}}\"\n  SK = \"NICK\"\n  nick id, endsAt time\n  {claim}\n}}\n\
             contract COME \"Come\" {{\n  POST /guests\n  input nick id, room id\n  allow true\n  end = now + 1h\n  \
             transact {{\n    put Nick {{ nick, endsAt = end }} if absent else 409 taken\n    \
             guest = put Guest {{ guestId = new ulid, nick, room, endsAt = end }} if absent else retry\n  }}\n  \
             return 201 guest\n  consistency strong\n  expect 1 item\n  rate 1/s\n}}\n\
             contract SEE \"See\" {{\n  GET /guests/{{guestId}}\n  allow true\n  guest = get Guest else 404 gone\n  \
             return guest\n  consistency eventual\n  expect 1 item\n  rate 1/s\n}}\n```\n"
        );
        told(&text)
    };
    assert_eq!(claims("expires endsAt", "expires endsAt"), NOTHING);
    assert_eq!(claims("expires endsAt", ""), NOTHING);
    assert_eq!(claims("", "expires endsAt"), ["unreleased"]);
}

// What a query over items that end may read is part of its cost.
#[test]
fn cost_counts_what_is_passed_over() {
    let list = |ends: &str, cost: &str| {
        told(&format!(
            "```contract\nsystem lists\ntable Lists {{ type kind }}\n\
             entity Line \"LINE\" {{\n  PK = \"LINE#{{list}}\"\n  SK = \"LINE#{{n:03}}\"\n  list id, n int 0..999, \
             endsAt time\n  {ends}\n}}\n\
             contract LIST \"List\" {{\n  GET /lists/{{list}}\n  allow true\n  \
             lines = query Line where PK = \"LINE#{{list}}\" and SK begins_with \"LINE#\" page 10\n  return lines\n  \
             consistency eventual\n  expect 0.. items\n  rate 1/s\n  cost {cost} rcu, 0 wcu\n}}\n```\n"
        ))
    };
    assert_eq!(list("", "1"), NOTHING);
    assert_eq!(list("expires endsAt", "1"), ["cost"]);
    assert_eq!(list("expires endsAt", "30"), NOTHING);
}
