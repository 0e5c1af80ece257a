//! What a write and an answer rest on beside their own reads: the checks of the transaction, writes that were refused,
//! values that were kept for later, and what decides what a query finds. Each mistake has an honest twin.

use latchkey_model::check;

use crate::planted::PARTIAL;

/// Writes the facts that every contract and worker states, at its end.
fn with_facts(text: &str) -> String {
    let (mut whole, mut depth, mut needs) = (String::new(), 0, false);
    for line in text.lines() {
        needs |= line.starts_with("contract ") || line.starts_with("worker ");
        let count = |brace: char| i32::try_from(line.matches(brace).count()).unwrap();
        depth += count('{') - count('}');
        if depth == 0 && line == "}" && std::mem::take(&mut needs) {
            whole += "consistency strong\nexpect 0.. items\nrate 1/s\n";
        }
        whole += &format!("{line}\n");
    }
    whole
}

/// The rules that a document breaks. These are parts of documents: what misses the rest is left aside.
fn told(parts: &[&str]) -> Vec<String> {
    let text = with_facts(&parts.concat());
    let text =
        format!("```contract\nsystem trial\ntable Trial {{ type kind }}\nrole clerk\n{text}```\n");
    let mut found = check(&text).diagnostics;
    found.retain(|one| !PARTIAL.contains(&one.rule.slug()) && one.rule.slug() != "never-written");
    found.iter().map(|one| format!("{}: {}", one.rule, one.message)).collect()
}

/// Looks at twins: the first is told by the rule, once, and of the second nothing is told.
fn twins(around: &str, rule: &str, pairs: &[(&str, &str)]) {
    for (planted, honest) in pairs {
        let found = told(&[around, planted]);
        let of_rule = found.iter().filter(|said| said.starts_with(rule)).count();
        assert_eq!((of_rule, found.len()), (1, 1), "{planted}\n{found:#?}");
        let found = told(&[around, honest]);
        assert!(found.is_empty(), "{honest}\n{found:#?}");
    }
}

const OPS: &str = r##"
entity Op "OP" {
PK = "OP#{opId}"
SK = "META"
opId id, unitId id, min int 0..9 = 0, strict bool = false
}
entity Unit "UNIT" {
PK = "UNIT#{unitId}"
SK = "META"
unitId id, state FREE | USED = FREE, n int 0..9 = 5
}
entity Sheet "SHEET" {
PK = "OP#{opId}"
SK = "SHEET"
opId id, signed bool = false
}
contract O-1 "Plan" {
PUT /ops/{opId}
input unitId id
allow caller is clerk
transact {
  op = put Op { opId, unitId } if absent else 409 exists
  put Sheet { opId } if absent else 409 exists
}
return 201 op
}
contract O-2 "Choose another unit" {
PUT /ops/{opId}/unit
input unitId id, min int 0..9, strict bool
allow caller is clerk
update Op set unitId = unitId, min = min, strict = strict else 404 not-found
return 204
}
contract O-3 "Store" {
PUT /units/{unitId}
allow caller is clerk
unit = put Unit { unitId } if absent else 409 exists
return 201 unit
}
contract O-4 "Use" {
POST /units/{unitId}/use
allow caller is clerk
unit = update Unit set state = USED, n = 0 if .state == FREE else absent 404 no-unit else 409 used
return unit
}
"##;

fn sign(legs: &str) -> String {
    format!(
        "contract O-5 \"Sign\" {{\nPOST /ops/{{opId}}/sign\nallow caller is clerk\n\
         op = get Op strong else 404 not-found\ntransact {{\n{legs}\n\
         update Sheet set signed = true else 404 not-found\n}}\nreturn 204\n}}\n"
    )
}

#[test]
fn what_a_check_rests_on_is_what_the_writes_beside_it_rest_on() {
    let of_key =
        "check Unit(unitId = op.unitId) if .state == FREE else absent 404 none else 409 used";
    let of_condition =
        "check Unit(unitId = \"U1\") if .n >= op.min else absent 404 none else 409 few";
    let free = "check Unit(unitId = \"U1\") if .state == FREE else absent 404 none else 409 used";
    let pinned = |by: &str, leg: &str| sign(&format!("check op if {by} else retry\n{leg}"));
    let around = format!("when op.strict {{\n{free}\n}}");
    let one_way = format!("when op.strict {{\ncheck op if .strict == true else retry\n{free}\n}}");
    let both = format!("{one_way} else {{\ncheck op if .strict == false else retry\n}}");
    let pairs = [
        (sign(of_key), pinned(".unitId == op.unitId", of_key)),
        (sign(of_condition), pinned(".min == op.min", of_condition)),
        (sign(&around), pinned(".strict == op.strict", &around)),
        (sign(&one_way), sign(&both)),
    ];
    for (planted, honest) in &pairs {
        twins(OPS, "unpinned", &[(planted, honest)]);
    }
    // By a name, and beside a send.
    let named = sign(of_key).replace("transact {", "unit = op.unitId\ntransact {");
    let named = named.replace("unitId = op.unitId", "unitId = unit");
    assert_eq!(told(&[OPS, &named]).len(), 1, "{named}");
}

const STOCKS: &str = r##"
entity Stock "STOCK" {
PK = "HOSP#{hospitalId}"
SK = "STOCK"
hospitalId id, left int 0..1000 = 0, phone text(20) = "1"
}
entity Line "LINE" {
PK = "HOSP#{hospitalId}"
SK = "LINE"
hospitalId id, patientId id?, phone text(20) = "1"
}
contract S-1 "Open" {
PUT /hospitals/{hospitalId}
allow caller is clerk
transact {
  stock = put Stock { hospitalId } if absent else 409 exists
  put Line { hospitalId } if absent else 409 exists
}
return 201 stock
}
contract S-2 "Donate, where nobody waits" {
POST /hospitals/{hospitalId}/donations
allow caller is clerk
transact {
  check Line if .patientId is absent else absent 404 not-found else 409 serve-first
  update Stock add left = 1 else 404 not-found
}
return 204
idempotent by key
}
contract S-3 "Wait no longer" {
DELETE /hospitals/{hospitalId}/line
input patientId id
allow caller is clerk
update Line remove patientId if .patientId == patientId else absent 404 not-found else 409 not-waiting
return 204
}
"##;

fn take(refused: &str) -> String {
    format!(
        "contract S-4 \"Take one or wait\" {{\nPOST /hospitals/{{hospitalId}}/take\ninput patientId id\n\
         allow caller is clerk\nupdate Stock add left = -1 if .left > 0 else absent 404 not-found else {{\n\
         {refused}\nreturn 202 with {{ waiting = true }}\n}}\nreturn 200 with {{ waiting = false }}\n\
         idempotent by key\n}}\n"
    )
}

#[test]
fn a_write_in_an_else_rests_on_the_refusal() {
    let wait = "update Line set patientId = patientId if .patientId is absent else absent 404 not-found else 409 waits";
    let with = |leg: &str| take(&format!("transact {{\n{leg}\n{wait}\n}}"));
    for again in [".left <= 0", ".left == 0", ".left < 1", "not .left > 0"] {
        let honest = with(&format!("check Stock if {again} else retry"));
        twins(STOCKS, "unpinned", &[(&take(wait), &honest)]);
    }
    // Another condition, or another item, does not say what the refusal has found.
    for other in [
        "check Stock if .left < 5 else retry",
        "check Stock(hospitalId = patientId) if .left == 0 else retry",
    ] {
        assert_eq!(told(&[STOCKS, &with(other)]).len(), 1, "{other}");
    }
    // One that nobody can lift: the stock only goes down, and a word is never set back.
    let empties = STOCKS.replace("add left = 1", "set left = 0");
    assert_eq!(told(&[&empties, &take(wait)]), [""; 0]);
}

const WANTS: &str = r##"
entity Unit "UNIT" {
PK = "UNIT#{unitId}"
SK = "META"
unitId id, patientId id?
}
entity Want "WANT" {
PK = "UNIT#{unitId}"
SK = "WANT"
unitId id, patientId id?
}
contract U-0 "Number" {
PUT /wants/{unitId}
allow caller is clerk
want = put Want { unitId } if absent else 409 exists
return 201 want
}
contract U-1 "Store, where nobody wants it" {
PUT /units/{unitId}
allow caller is clerk
transact {
  check Want if .patientId is absent else absent 404 no-want else 409 wanted
  put Unit { unitId } if absent else 409 exists
}
return 201 with { unitId }
}
"##;

#[test]
fn an_item_that_was_there_or_was_not_is_what_a_refusal_has_found() {
    let reserve = |refused: &str| {
        format!(
            "contract U-2 \"Reserve\" {{\nPOST /units/{{unitId}}/reserve\ninput patientId id\nallow caller is clerk\n\
             {refused}\nreturn 200 with {{ wanted = false }}\n}}\n"
        )
    };
    let want = "update Want set patientId = patientId if .patientId is absent else absent 404 no-want else 409 wanted";
    let absent = |leg: &str| {
        reserve(&format!(
            "update Unit set patientId = patientId if .patientId is absent else absent {{\n{leg}\n\
             return 202 with {{ wanted = true }}\n}} else 409 taken"
        ))
    };
    let found = told(&[WANTS, &absent(want)]);
    assert!(matches!(&found[..], [one] if one.starts_with("unpinned")), "{found:#?}");
    let there = |leg: &str| {
        reserve(&format!(
            "put Unit {{ unitId, patientId }} if absent else {{\n{leg}\n\
             return 202 with {{ wanted = true }}\n}}"
        ))
    };
    // Nobody removes a unit, until someone does.
    assert_eq!(told(&[WANTS, &there(want)]), [""; 0]);
    let remove = "contract U-3 \"Remove\" {\nDELETE /units/{unitId}\nallow caller is clerk\ntransact {\n\
                  check Want if .patientId is absent else absent 404 no-want else 409 wanted\n\
                  delete Unit if .unitId is present else 404 not-found\n}\nreturn 204\n}\n";
    let around = format!("{WANTS}{remove}");
    let pinned = format!("transact {{\ncheck Unit if .unitId is present else retry\n{want}\n}}");
    twins(&around, "unpinned", &[(&there(want), &there(&pinned))]);
}

#[test]
fn what_the_legs_before_a_refused_one_have_found_is_repeated_too() {
    let around = "
entity Right \"RIGHT\" {
PK = \"HOSP#{hospitalId}\"
SK = \"RIGHT\"
hospitalId id, open bool = true
}
contract S-6 \"Rights\" {
PUT /hospitals/{hospitalId}/rights
allow caller is clerk
right = put Right { hospitalId } if absent else 409 exists
return 201 right
}
contract S-7 \"Close, where nobody waits\" {
POST /hospitals/{hospitalId}/close
allow caller is clerk
transact {
  check Line if .patientId is absent else absent 404 not-found else 409 waits
  update Right set open = false else 404 not-found
}
return 204
}
";
    let take = |legs: &str| {
        format!(
            "contract S-8 \"Take\" {{\nPOST /hospitals/{{hospitalId}}/take\ninput patientId id\nallow caller is clerk\n\
             transact {{\ncheck Right if .open == true else 403 closed\nupdate Stock add left = -1 if .left > 0 else {{\n\
             transact {{\ncheck Stock if .left <= 0 else retry\n{legs}\n\
             update Line set patientId = patientId if .patientId is absent else absent 404 none else 409 waits\n}}\n\
             return 202 with {{ waiting = true }}\n}}\n}}\nreturn 200 with {{ waiting = false }}\n\
             idempotent by key\n}}\n"
        )
    };
    let around = format!("{STOCKS}{around}");
    twins(
        &around,
        "unpinned",
        &[(&take(""), &take("check Right if .open == true else 403 closed"))],
    );
}

#[test]
fn a_named_value_that_is_kept_for_an_accepted_block_is_as_old_as_what_it_is_made_of() {
    let around = r##"
entity Unit "UNIT" {
PK = "UNIT#{unitId}"
SK = "META"
unitId id, ml int 0..500 = 500, most int 0..500 = 500, state NEW | SENT = NEW
}
queue vans { unitId id }
steps minus(unit Unit) gives rest {
rest = unit.ml - 10
}
contract U-1 "Store" {
PUT /units/{unitId}
allow caller is clerk
unit = put Unit { unitId } if absent else 409 exists
return 201 unit
}
contract U-2 "Spill" {
POST /units/{unitId}/spill
allow caller is clerk
unit = update Unit set ml = .ml - 50 else 404 not-found
return unit
idempotent by key
}
worker U-4 "Drive" {
on vans { unitId }
unit = get Unit strong else done
when unit.state == NEW { later }
done
}
"##;
    let send = |named: &str, value: &str| {
        format!(
            "contract U-3 \"Send\" {{\nPOST /units/{{unitId}}/send\nallow caller is clerk\n\
             unit = get Unit strong else 404 not-found\n{named}\ntransact {{\n\
             check unit if .ml == unit.ml and .state == NEW else 409 sent\nsend vans {{ unitId }}\naccepted {{\n\
             update Unit set state = SENT, ml = {value} if .state == NEW else done\n}}\n}}\n\
             return 202 with {{ ok = true }}\nidempotent by key\n}}\n"
        )
    };
    let told_of = |named: &str, value: &str| {
        let found = told(&[around, &send(named, value)]);
        found.iter().filter(|said| said.starts_with("unpinned")).count()
    };
    assert_eq!(told_of("", "unit.ml - 10"), 1);
    assert_eq!(told_of("rest = unit.ml - 10", "rest"), 1);
    assert_eq!(told_of("rest = do minus(unit)", "rest"), 1);
    // What nobody changes is the same later.
    assert_eq!(told_of("rest = unit.most - 10", "rest"), 0);
    assert_eq!(told_of("", ".ml - 10"), 0);
}

#[test]
fn what_turns_the_order_of_a_query_says_what_it_finds() {
    let around = r##"
entity Cfg "CFG" {
PK = "CFG#{hospitalId}"
SK = "CFG"
hospitalId id, lifo bool = false
}
entity Unit "UNIT" {
PK = "HOSP#{hospitalId}"
SK = "UNIT#{unitId}"
hospitalId id, unitId id, state FREE | USED = FREE
}
contract C-1 "Open" {
PUT /hospitals/{hospitalId}
allow caller is clerk
cfg = put Cfg { hospitalId } if absent else 409 exists
return 201 cfg
}
contract C-2 "Use and turn" {
PUT /hospitals/{hospitalId}/turn
input unitId id
allow caller is clerk
transact {
  update Unit set state = USED if .state == FREE else absent 404 no-unit else 409 used
  update Cfg set lifo = true else 404 not-found
}
return 204
}
contract C-3 "Store" {
PUT /hospitals/{hospitalId}/units/{unitId}
allow caller is clerk
unit = put Unit { hospitalId, unitId } if absent else 409 exists
return 201 unit
}
"##;
    let found = |order: &str, steps: &str| {
        let method = if steps.contains("update") { "POST" } else { "GET" };
        let text = format!(
            "contract C-4 \"Next\" {{\n{method} /hospitals/{{hospitalId}}/next\nallow caller is clerk\n\
             cfg = get Cfg strong else 404 not-found\nunit = query Unit strong where PK = \"HOSP#{{hospitalId}}\"\n\
             and SK begins_with \"UNIT#\" {order} first 1 else 409 none\n{steps}\nreturn unit\n}}\n"
        );
        let slug = |said: String| said.split(':').next().unwrap().to_owned();
        let said = told(&[around, &text]).into_iter().filter(|said| said.contains("cfg.lifo"));
        said.map(slug).collect::<Vec<_>>()
    };
    let turned = "order descending when cfg.lifo";
    let write = "update unit set state = USED if .state == FREE else 409 used";
    let pinned = "transact {\ncheck cfg if .lifo == cfg.lifo else retry\n\
                  update unit set state = USED if .state == FREE else 409 used\n}";
    assert_eq!(found(turned, write), ["unpinned"]);
    assert_eq!(found(turned, pinned), [""; 0]);
    assert_eq!(found(turned, ""), ["stale-answer"]);
    assert_eq!(found("order descending", ""), [""; 0]);
}

#[test]
fn a_test_behind_a_write_decides_which_answer_is_given() {
    let around = STOCKS.replace("update Stock add left = 1", "update Stock set left = 9");
    let around = around.replace(
        "check Line if .patientId is absent else absent 404 not-found else 409 serve-first",
        "update Line set phone = \"2\" else 404 not-found",
    );
    let log = |write: &str| {
        format!(
            "contract S-5 \"Log\" {{\nPOST /hospitals/{{hospitalId}}/log\nallow caller is clerk\n\
             stock = get Stock strong else 404 not-found\n{write}\n\
             when stock.left == 0 {{\nreturn with {{ blood = false }}\n}}\n\
             return with {{ blood = true }}\nidempotent by key\n}}\n"
        )
    };
    let update = "update Line set phone = \"3\" else 404 not-found";
    let found = told(&[&around, &log(update)]);
    assert!(matches!(&found[..], [one, ..] if one.starts_with("stale-answer")), "{found:#?}");
    let pinned =
        log(&format!("transact {{\ncheck stock if .left == stock.left else retry\n{update}\n}}"));
    assert_eq!(told(&[&around, &pinned]), [""; 0]);
}

#[test]
fn a_refused_write_is_a_read() {
    let around = STOCKS.replace("update Stock add left = 1", "update Stock set left = 0");
    let around = around.replace(
        "check Line if .patientId is absent else absent 404 not-found else 409 serve-first",
        "update Line set phone = \"2\" else 404 not-found",
    );
    let fill = "contract S-8 \"Fill\" {\nPOST /hospitals/{hospitalId}/fill\nallow caller is clerk\n\
                update Stock set left = 2 else 404 not-found\nreturn 204\n}\n";
    let fill_both = fill.replace("update Stock set left = 2 else 404 not-found",
        "transact {\nupdate Stock set left = 2 else 404 not-found\nupdate Line set phone = \"4\" else 404 not-found\n}");
    let take = |before: &str, refused: &str| {
        format!(
            "contract S-4 \"Take\" {{\nPOST /hospitals/{{hospitalId}}/take\nallow caller is clerk\n{before}\n\
             update Stock add left = -1 if .left > 0 else absent 404 not-found else {refused}\n\
             return 200 with {{ ok = true }}\nidempotent by key\n}}\n"
        )
    };
    let read = "line = get Line strong else 404 not-found";
    let block = |inner: &str| format!("{{\n{inner}\nreturn 202 with {{ phone = line.phone }}\n}}");
    let around_one = format!("{around}{fill}");
    let planted = [take(read, "409 out with { phone = line.phone }"), take(read, &block(""))];
    let honest = take("", &block(read));
    for planted in &planted {
        twins(&around_one, "stale-answer", &[(planted, &honest)]);
    }
    // Read behind the refusal, by a call that makes the write pass and changes what is read.
    let around_both = format!("{around}{fill_both}");
    let shown = take("", &block(read));
    let silent = take("", "409 out");
    twins(&around_both, "stale-answer", &[(&shown, &silent)]);
}
