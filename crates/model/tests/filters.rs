//! Filters: what they may ask, that they have a bound and a reason, what they cost, and what rests on them.

use latchkey_model::check;

const NONE: [&str; 0] = [];

/// The rules that a document breaks, with some statements and facts of a contract that lists or takes tasks.
fn found(head: &str, steps: &str, facts: &str) -> Vec<(&'static str, String)> {
    let text = format!(
        "```contract\nsystem tasks\ntable Tasks {{ type kind }}\nrole clerk\n\
         entity Plan \"PLAN\" {{\nPK = \"PLAN#{{planId}}\"\nSK = \"META\"\nplanId id, ownerId id, revision counter\n}}\n\
         entity Task \"TASK\" guarded by Plan {{\nPK = \"PLAN#{{planId}}\"\nSK = \"TASK#{{taskId}}\"\n\
         planId id, taskId id, state OPEN | DONE = OPEN, points int 0..9 = 0, note text(1000)?, version counter\n}}\n\
         entity Note \"NOTE\" {{\nPK = \"NOTES#{{planId}}\"\nSK = \"NOTE#{{noteId}}\"\n\
         planId id, noteId id, state OPEN | DONE = OPEN, version counter\n}}\n\
         entity Odd \"ODD\" {{\nPK = \"ODD#{{planId}}#{{shard:02}}\"\nSK = \"ODD#{{oddId}}\"\n\
         planId id, shard int 0..3, oddId id, state OPEN | DONE = OPEN\n}}\n\
         contract T-1 \"Plan\" {{\nPOST /plans/{{planId}}\nallow true\n\
         plan = put Plan {{ planId, ownerId = caller.id }} if absent else 409 there\nreturn 201 plan\n\
         consistency strong\nexpect 1 item\nrate 1/s\n}}\n\
         contract T-2 \"Add\" {{\nPOST /plans/{{planId}}/tasks\ninput taskId id, note text(1000)?, points Task.points\n\
         plan = get Plan strong else 404 not-found\nallow caller owns plan.ownerId\n\
         transact {{\ntask = put Task {{ planId, taskId, note, points }} if absent else 409 there\n\
         update plan set revision = .revision + 1 if unchanged else retry\n}}\nreturn 201 task\n\
         consistency strong\nexpect 1 item\nrate 1/s\n}}\n\
         contract T-3 \"Do\" {{\nPOST /plans/{{planId}}/tasks/{{taskId}}/do\n\
         plan = get Plan strong else 404 not-found\nallow caller owns plan.ownerId\n\
         task = get Task strong else 404 no-task\nrequire task.state == OPEN else 409 done\n\
         transact {{\nupdate task set state = DONE, version = .version + 1 if unchanged else retry\n\
         update plan set revision = .revision + 1 if unchanged else retry\n}}\nreturn task\n\
         consistency strong\nexpect 1 item\nrate 1/s\nidempotent by key\n}}\n\
         contract N-1 \"Note\" {{\nPOST /plans/{{planId}}/notes\ninput noteId id, shard Odd.shard\nallow caller is clerk\n\
         transact {{\nnote = put Note {{ planId, noteId }} if absent else 409 there\n\
         put Odd {{ planId, shard, oddId = noteId }} if absent else 409 odd\n}}\nreturn 201 note\n\
         consistency strong\nexpect 1 item\nrate 1/s\n}}\n\
         contract N-2 \"Settle\" {{\nPOST /plans/{{planId}}/notes/{{noteId}}/settle\nallow caller is clerk\n\
         update Note set state = DONE, version = .version + 1 if .state == OPEN else 409 done\n\
         return 204\nconsistency strong\nexpect 0 items\nrate 1/s\n}}\n\
         contract X \"Trap\" {{\n{head}\nallow caller is clerk\n{steps}\n{facts}\n}}\n```\n"
    );
    let all = check(&text).diagnostics;
    let quiet = ["unused", "never-written", "uneven", "unmade"];
    let told = all.iter().filter(|one| !quiet.contains(&one.rule.slug()));
    told.map(|one| (one.rule.slug(), one.message.clone())).collect()
}

const LIST: &str = "GET /trap/{planId}\ninput wanted Note.state?";
const EVENTUAL: &str = "consistency eventual\nexpect 0.. items\nrate 1/s";

#[track_caller]
fn lists(query: &str, expected: &[&str]) {
    let all = found(LIST, &format!("{query}\nreturn notes with {{ wanted }}"), EVENTUAL);
    let mut rules: Vec<&str> = all.iter().map(|(rule, _)| *rule).collect();
    rules.sort_unstable();
    assert_eq!(rules, expected, "{query}\n{all:#?}");
}

const NOTES: &str = "notes = query Note where PK = \"NOTES#{planId}\" page 25";
const WHY: &str = "waive filter \"a plan has few notes\"\n";

#[test]
fn a_filter_has_a_reason_and_a_bound() {
    let keep = "keep .state == OPEN";
    lists(&format!("{WHY}{NOTES} {keep} reading 300"), &NONE);
    lists(&format!("{NOTES} {keep} reading 300"), &["filter"]);
    lists(&format!("{WHY}{NOTES} {keep}"), &["unbounded"]);
    lists(&format!("{NOTES} {keep}"), &["filter", "unbounded"]);
    // Neither for anything else.
    lists(&format!("{NOTES} reading 300"), &["name"]);
    lists(&format!("{WHY}{NOTES}"), &["waive"]);
    // A condition among the keys has no meaning that a reason could excuse.
    let among = "notes = query Note where PK = \"NOTES#{planId}\" and state == OPEN page 25";
    lists(&format!("{WHY}{among}"), &["filter", "waive"]);
    // The bound fills a page, and is one.
    lists(&format!("{WHY}{NOTES} max 50 {keep} reading 49"), &["unbounded"]);
    lists(&format!("{WHY}{NOTES} max 50 {keep} reading 50"), &NONE);
    lists(&format!("{WHY}{NOTES} {keep} reading 1000"), &NONE);
    lists(&format!("{WHY}{NOTES} {keep} reading 1001"), &["unbounded"]);
    lists(&format!("{WHY}{NOTES} {keep} reading 1.5"), &["type", "unbounded"]);
    // Each once, and of a query alone.
    lists(&format!("{WHY}{NOTES} {keep} {keep} reading 300"), &["name"]);
    lists(
        &format!("notes = get Plan {keep} else 404 not-found").replace("get Plan", "get Plan "),
        &["name"],
    );
}

#[test]
fn a_filter_asks_the_store_for_what_it_can_test() {
    let of = |test: &str| format!("{WHY}{NOTES} keep {test} reading 300");
    lists(&of("wanted is absent or .state == wanted"), &NONE);
    lists(&of(".state in (OPEN, DONE) and not (.noteId begins_with \"x\")"), &NONE);
    lists(&of(".version > 1 and .noteId != caller.id"), &NONE);
    // The input may be absent.
    lists(&of(".state == wanted"), &["absent"]);
    lists(&of("wanted is present or .state == wanted"), &["absent"]);
    lists(&of(".state == LOST"), &["name"]);
    lists(&of(".nothing == 1"), &["name"]);
    lists(&of(".version + 1 > 2"), &["type"]);
    lists(&of("caller owns .noteId"), &["type"]);
    lists(&of("unchanged"), &["type"]);
    lists(&of("wanted is present"), &["type"]);
    lists(&of("caller is clerk"), &["type"]);
    // DynamoDB compares nothing with itself, and planning told of it without a name.
    lists(&of(".noteId != .noteId"), &["type"]);
    lists(&of(".version between 1 and .version"), &["type"]);
}

#[test]
fn a_filter_is_of_any_number_of_partitions() {
    let shards = "notes = query Odd shard in 0..3 where PK = \"ODD#{planId}#{shard:02}\" page 25 \
                  keep .state == OPEN reading 300";
    lists(&format!("{WHY}{shards}"), &NONE);
    lists(shards, &["filter"]);
}

/// DynamoDB refuses a filter on the keys that a query reads by.
#[test]
fn a_filter_on_a_key_of_the_query_is_refused() {
    let text = |by: &str, test: &str| {
        format!(
            "```contract\nsystem shops\ntable Shops {{ type kind PK shop SK made index ByMade {{ PK made SK shop }} }}\n\
             entity Sale \"SALE\" {{\nPK = \"{{shop}}\"\nSK = \"{{made}}\"\nshop id, made id, price int 0..9\n\
             index ByMade {{ PK = \"{{made}}\" SK = \"{{shop}}\" }}\n}}\n\
             contract S \"Sales\" {{\nGET /sales/{{shop}}\nallow true\nwaive filter \"few\"\n\
             sales = query Sale {by} where PK = shop page 25 keep {test} reading 300\nreturn sales\n\
             consistency eventual\nexpect 0.. items\nrate 1/s\n}}\n```\n"
        )
        .replace("PK = shop page", "PK = \"{shop}\" page")
    };
    let rules = |text: &str| {
        let all = check(text).diagnostics;
        let errors = all.iter().filter(|one| one.rule.slug() == "type");
        errors.map(|one| one.message.clone()).collect::<Vec<_>>()
    };
    let told = |name: &str| [format!("`{name}` is a key of this query, and no filter can test it")];
    assert_eq!(rules(&text("", ".price > 1")), NONE);
    assert_eq!(rules(&text("", ".made > \"x\"")), told("made"));
    assert_eq!(rules(&text("by ByMade", ".price > 1 or .shop is present")), told("shop"));
}

#[test]
fn what_a_filter_drops_is_paid_for() {
    let facts = |cost: &str| format!("{EVENTUAL}\ncost {cost}");
    // A note has less than 400 bytes, a task 1,000 more.
    let tasks =
        "tasks = query Task where PK = \"PLAN#{planId}\" and SK begins_with \"TASK#\" page 25";
    let listed = |keep: &str| format!("{tasks} {keep}\nreturn tasks");
    let told = |steps: &str, cost: &str| {
        let all = found("GET /trap/{planId}", steps, &facts(cost));
        let cost = all.iter().find(|(rule, _)| *rule == "cost");
        cost.map(|(_, message)| message.split(',').next().unwrap_or_default().to_owned())
    };
    let dear = format!("{WHY}{}", listed("keep .state == OPEN reading 300"));
    let plain = told(&listed(""), "0.5 rcu").unwrap();
    let kept = told(&dear, "0.5 rcu").unwrap();
    let units = |message: &str| -> f64 {
        let number = message.rsplit(' ').nth(1).unwrap();
        number.parse().unwrap_or_else(|_| panic!("{message}"))
    };
    // 300 items and not 26, each of up to some 1,700 bytes, and each of four requests rounded up.
    assert!(units(&kept) > units(&plain) * 10.0, "{plain} {kept}");
    assert_eq!(told(&dear, &format!("{} rcu", units(&kept))), None);
}

#[test]
fn a_rate_counts_the_requests_of_a_filter() {
    let rules = |keep: &str, rate: &str| {
        let steps = format!("{WHY}{NOTES} {keep}\nreturn notes");
        let facts = format!("consistency eventual\nexpect 0.. items\nrate {rate}/s");
        let all = found("GET /trap/{planId}", &steps, &facts);
        all.into_iter().map(|(rule, _)| rule).collect::<Vec<_>>()
    };
    let keep = "keep .state == OPEN reading 1000";
    assert_eq!(rules(keep, "500"), NONE);
    // Eleven requests, each half a unit at least, and a partition has 3,000 units.
    assert_eq!(rules(keep, "600"), ["hot-partition"]);
}

const TAKE: &str = "POST /trap/{planId}\ninput least int 0..9";
const STRONG: &str = "consistency strong\nexpect 1 item\nrate 1/s\nidempotent by key";

#[track_caller]
fn takes(steps: &str, expected: &[&str]) {
    let all = found(TAKE, steps, STRONG);
    let mut rules: Vec<&str> = all.iter().map(|(rule, _)| *rule).collect();
    rules.sort_unstable();
    assert_eq!(rules, expected, "{steps}\n{all:#?}");
}

/// Who writes an item that a filter kept relies on what the filter asked.
#[test]
fn what_a_filter_asked_is_pinned() {
    let first = format!(
        "{WHY}note = query Note strong where PK = \"NOTES#{{planId}}\" first 1 \
                         keep .state == OPEN reading 300 else 404 none"
    );
    let loose = "set version = .version + 1";
    let end = "return note with { least }";
    takes(&format!("{first}\nupdate note {loose} if unchanged else retry\n{end}"), &NONE);
    takes(&format!("{first}\nupdate note {loose} if .state == OPEN else retry\n{end}"), &NONE);
    takes(&format!("{first}\nupdate note {loose} else retry\n{end}"), &["unpinned"]);
    takes(
        &format!("{first}\nupdate note {loose} if .state == DONE else retry\n{end}"),
        &["endless-retry", "unpinned"],
    );
    // Calls that take items out of what is kept find others: as with a `delete`, only a guard holds the range.
    let done = "set state = DONE, version = .version + 1";
    takes(&format!("{first}\nupdate note {done} if unchanged else retry\n{end}"), &["unpinned"]);
    // Eventual, it decides nothing.
    let eventual = first.replace(" strong", "");
    let steps = format!("{eventual}\nupdate note {loose} if unchanged else retry\n{end}");
    let all = found(TAKE, &steps, STRONG);
    assert!(all.iter().any(|(rule, _)| *rule == "eventual-decision"), "{all:#?}");
}

/// How many a filter keeps changes with what it asks for; the guard holds that, too.
#[test]
fn a_decision_by_what_a_filter_kept_needs_the_guard() {
    let plan = "plan = get Plan strong else 404 not-found";
    let open = format!(
        "{WHY}open = query Task strong where PK = \"PLAN#{{planId}}\" and SK begins_with \"TASK#\" \
                        first 5 keep .state == OPEN and .points >= least reading 300"
    );
    let few = "require count(open) < 5 else 409 busy-plan";
    let bump = "update plan set revision = .revision + 1 if unchanged else retry";
    let end = "return plan";
    takes(&format!("{plan}\n{open}\n{few}\n{bump}\n{end}"), &NONE);
    // Three never are five, kept or not.
    let three = open.replace("first 5", "first 3");
    takes(&format!("{plan}\n{three}\n{few}\n{bump}\n{end}"), &["range-as-count"]);
    // A total over a part.
    let shown = "return plan with { points = sum(open.points) }";
    takes(&format!("{plan}\n{open}\n{few}\n{bump}\n{shown}"), &["partial-list"]);
    // Notes have no guard.
    let notes = format!(
        "{WHY}open = query Note strong where PK = \"NOTES#{{planId}}\" \
                         first 5 keep .state == OPEN and .version > least reading 300"
    );
    takes(&format!("{plan}\n{notes}\n{few}\n{bump}\n{end}"), &["unpinned"]);
}

/// Where a filter asks for a value of another item, that item is relied on with what is kept.
#[test]
fn the_values_of_a_filter_are_relied_on() {
    let later = "waive stale-answer \"to find no note is no harm\"\n";
    let steps = |strong: &str, pinned: &str| {
        format!(
            "task = get Task(taskId = \"mine\") {strong} else 404 none\n{WHY}{later}\
             note = query Note strong where PK = \"NOTES#{{planId}}\" first 1 \
             keep .state == task.state and .noteId > \"m\" reading 300 else 404 none\n\
             transact {{\nupdate note set version = .version + 1 if unchanged else retry\n{pinned}\n}}\nreturn 204"
        )
    };
    let check = "check task if unchanged else retry";
    takes(&steps("strong", check), &NONE);
    takes(&steps("strong", ""), &["unpinned"]);
    let eventual = found(TAKE, &steps("", check), STRONG);
    assert!(eventual.iter().any(|(rule, _)| *rule == "eventual-decision"), "{eventual:#?}");
}

/// The rules that a document breaks whose contract scans an index of deals.
fn scans(query: &str, more: &str) -> Vec<&'static str> {
    let text = format!(
        "```contract\nsystem deals\ntable Deals {{ type kind }}\n\
         entity Deal \"DEAL\" {{\nPK = \"DEAL#{{dealId}}\"\nSK = \"META\"\n\
         dealId id, rank id?, price int 0..9\nindex Featured {{ PK = \"FEATURED#{{rank}}\" SK = \"{{dealId}}\" }}\n}}\n{more}\
         contract D-1 \"Add\" {{\nPOST /deals/{{dealId}}\ninput rank id?, price Deal.price\nallow true\n\
         deal = put Deal {{ dealId, rank, price }} if absent else 409 there\nreturn 201 deal\n\
         consistency strong\nexpect 1 item\nrate 1/s\n}}\n\
         contract D-2 \"Featured\" {{\nGET /featured\nallow true\n{query}\nreturn deals\n\
         consistency eventual\nexpect 0.. items\nrate 1/s\n}}\n```\n"
    );
    let all = check(&text).diagnostics;
    let quiet = ["unused", "never-written"];
    let mut rules: Vec<_> = all.iter().map(|one| one.rule.slug()).collect();
    rules.retain(|rule| !quiet.contains(rule));
    rules.sort_unstable();
    rules
}

#[test]
fn a_scan_of_an_index_has_a_reason_a_bound_and_pages() {
    let why = "waive scan \"few deals are featured\"\n";
    let of = |query: &str| scans(&format!("{why}deals = query Deal {query}"), "");
    let bare = |query: &str| scans(&format!("deals = query Deal {query}"), "");
    assert_eq!(of("by Featured page 25 reading 300"), NONE);
    assert_eq!(bare("by Featured page 25 reading 300"), ["scan"]);
    assert_eq!(of("by Featured page 25"), ["unbounded"]);
    assert_eq!(of("by Featured page 25 reading 24"), ["unbounded"]);
    // The table itself is never scanned, and no partition is left open.
    assert_eq!(of("page 25 reading 300"), ["name", "scan", "waive"]);
    assert_eq!(of("by Featured where SK = \"x\" page 25 reading 300"), ["name", "scan", "waive"]);
    // There is no order that all backends share.
    assert_eq!(of("by Featured order descending page 25 reading 300"), ["name"]);
    assert_eq!(of("by Featured first 5 reading 300"), ["name"]);
    assert_eq!(of("by Featured strong page 25 reading 300"), ["name", "type", "undeclared"]);
    // A filter needs its own reason.
    assert_eq!(of("by Featured page 25 keep .price > 3 reading 300"), ["filter"]);
    let both = format!("waive filter \"few are cheap\"\n{why}");
    let kept = "deals = query Deal by Featured page 25 keep .price > 3 reading 300";
    assert_eq!(scans(&format!("{both}{kept}"), ""), NONE);
}

#[test]
fn a_scan_of_an_index_meets_every_entity_in_it() {
    let other = "entity Brand \"BRAND\" {\nPK = \"BRAND#{brandId}\"\nSK = \"META\"\nbrandId id, rank id\n\
                 index Featured { PK = \"BRANDS#{rank}\" SK = \"{brandId}\" }\n}\n\
                 contract B-1 \"Brand\" {\nPOST /brands/{brandId}\ninput rank id\nallow true\n\
                 brand = put Brand { brandId, rank } if absent else 409 there\nreturn 201 brand\n\
                 consistency strong\nexpect 1 item\nrate 1/s\n}\n";
    let query =
        "waive scan \"few deals are featured\"\ndeals = query Deal by Featured page 25 reading 300";
    assert_eq!(scans(query, ""), NONE);
    assert_eq!(scans(query, other), ["foreign-items"]);
}

#[test]
fn a_filter_does_not_find_a_secret_out() {
    // With `begins_with`, anyone could ask for a secret letter by letter.
    let told = |keep: &str| -> Vec<&'static str> {
        let text = format!(
            "```contract\nsystem safe\ntable Safe {{ type kind }}\n\
             entity Safe \"SAFE\" {{\nPK = \"HOUSE#{{houseId}}\"\nSK = \"SAFE#{{safeId}}\"\n\
             houseId id, safeId id, pin text(20) secret, turns int 0..9 secret\n}}\n\
             contract S-1 \"Add\" {{\nPOST /houses/{{houseId}}\ninput safeId id, pin text(20), turns Safe.turns\n\
             allow true\nsafe = put Safe {{ houseId, safeId, pin, turns }} if absent else 409 there\nreturn 201 safe\n\
             consistency strong\nexpect 1 item\nrate 1/s\n}}\n\
             contract S-2 \"Find\" {{\nGET /houses/{{houseId}}\ninput pin text(20), turns int 0..9\nallow true\n\
             waive filter \"a house has few\"\n\
             safes = query Safe where PK = \"HOUSE#{{houseId}}\" page 9 keep {keep} reading 9\nreturn safes\n\
             consistency eventual\nexpect 0.. items\nrate 1/s\n}}\n```\n"
        );
        let all = check(&text).diagnostics;
        all.iter().filter(|one| one.message.contains("secret")).map(|one| one.rule.slug()).collect()
    };
    for keep in [
        ".pin begins_with pin",
        ".turns == turns and .pin > pin",
        "turns <= .turns",
        ".turns between 1 and turns",
        "not .pin < pin",
    ] {
        assert_eq!(told(keep), ["type"], "{keep}");
    }
    assert_eq!(told(".pin == pin and .turns == turns"), NONE);
    assert_eq!(told(".safeId > pin and .turns == turns"), NONE);
}
