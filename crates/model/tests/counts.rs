//! Decisions by how many items there are, in a shop, a workspace and a bank.

use latchkey_language::{Level, Rule};
use latchkey_model::check;

const FACTS: &str = "consistency strong\nexpect 1 item\nrate 1/s\n";
const NONE: [&str; 0] = [];

/// Things of an owner, guarded by the owner's desk, and a contract with a decision on what a query found.
fn rules(limit: &str, decision: &str) -> Vec<&'static str> {
    let text = format!(
        "```contract\nsystem things\ntable Things {{ type kind }}\n\
         entity Desk \"DESK\" {{\nPK = \"OWNER#{{ownerId}}\"\nSK = \"DESK\"\nownerId id\nseats int 1..20\nrevision counter\n}}\n\
         entity Thing \"THING\" guarded by Desk {{\nPK = \"OWNER#{{ownerId}}\"\nSK = \"THING#{{thingId}}\"\nownerId id\n\
         thingId id\nguests int 2..9\ncents int 0..\n}}\n\
         contract T-0 \"Open\" {{\nPOST /owners/{{ownerId}}\ninput seats Desk.seats\nallow caller owns ownerId\n\
         desk = put Desk {{ ownerId, seats }} if absent else 409 there\nreturn 201 desk\n{FACTS}}}\n\
         contract T-1 \"One more\" {{\nPOST /owners/{{ownerId}}/things\ninput guests Thing.guests, cents Thing.cents, most int, few int 0..3\n\
         allow caller owns ownerId\ndesk = get Desk strong else 404 not-found\n\
         found = query Thing strong where PK = \"OWNER#{{ownerId}}\" and SK begins_with \"THING#\" {limit}\n{decision}\n\
         transact {{\nthing = put Thing {{ ownerId, thingId = new ulid, guests, cents }} if absent else retry\n\
         update desk set revision = .revision + 1 if unchanged else retry\n}}\n\
         return 201 thing with {{ most, few, all = count(found) }}\n{FACTS}}}\n```\n"
    );
    check(&text)
        .diagnostics
        .iter()
        .filter(|d| d.level == Level::Error || d.rule == Rule::Unused)
        .map(|one| one.rule.slug())
        .collect()
}

fn required(limit: &str, test: &str) -> Vec<&'static str> {
    rules(limit, &format!("require {test} else 409 too-many"))
}

#[test]
fn no_decision_rests_on_a_page() {
    // A caller with `pageSize=1` had as many things as they liked.
    for test in ["count(found) < 5", "count(found) == 0", "sum(found.cents) <= 100"] {
        assert_eq!(required("page 25 max 100", test), ["range-as-count"], "{test}");
    }
    let named = "many = count(found)\nwhen many > 4 { return desk }";
    assert_eq!(rules("page 25", named), ["range-as-count"]);
    // A page that only is shown, with its size.
    assert_eq!(rules("page 25", ""), NONE);
}

#[test]
fn the_first_so_many_are_enough_for_a_limit_they_can_reach() {
    let cases = [
        ("first 3", "count(found) < 5", false),
        ("first 4", "count(found) < 5", false),
        ("first 5", "count(found) < 5", true),
        ("first 5", "5 > count(found)", true),
        ("first 5", "count(found) <= 5", false),
        ("first 6", "count(found) <= 5", true),
        ("first 5", "count(found) + 1 <= 5", true),
        ("first 4", "count(found) + 1 <= 5", false),
        ("first 5", "not (count(found) >= 5)", true),
        ("first 5", "count(found) != 5", false),
        ("first 6", "count(found) != 5", true),
        ("first 2", "count(found) == 0", true),
        // The limit is an attribute, or an input, with or without bounds.
        ("first 20", "count(found) < desk.seats", true),
        ("first 19", "count(found) < desk.seats", false),
        ("first 3", "count(found) < few", true),
        ("first 99", "count(found) < most", false),
        // Each item adds two guests at least, and perhaps no cent.
        ("first 10", "sum(found.guests) + guests <= 20", true),
        ("first 9", "sum(found.guests) + guests <= 20", false),
        ("first 99", "sum(found.cents) <= 20", false),
        // Nobody knows what this becomes.
        ("first 99", "9 - count(found) > 0", false),
    ];
    for (limit, test, right) in cases {
        let expected: &[&str] = if right { &[] } else { &["range-as-count"] };
        assert_eq!(required(limit, test), expected, "{limit}: {test}");
    }
}

#[test]
fn all_shards_are_no_part() {
    let text = format!(
        "```contract\nsystem bank\ntable Bank {{ type kind }}\n\
         entity Share \"SHARE\" {{\nPK = \"A#{{accountId}}#{{shard:02}}\"\nSK = \"SHARE\"\naccountId id, shard int 0..7, cents int 0.. = 0\n}}\n\
         contract K-1 \"Pay in\" {{\nPOST /accounts/{{accountId}}/shares/{{shard}}\ninput cents int 1..\nallow caller owns accountId\n\
         share = upsert Share add cents = cents\nreturn share\n{FACTS}}}\n\
         contract K-2 \"Rich?\" {{\nGET /accounts/{{accountId}}/rich\nallow caller owns accountId\n\
         all = get Share shard in 0..7 strong\nrequire sum(all.cents) > 1000 else 409 poor\nreturn all\n\
         consistency strong\nexpect 0..8 items\nrate 1/s\n}}\n```\n"
    );
    let told: Vec<_> = check(&text)
        .diagnostics
        .iter()
        .filter(|d| d.level == Level::Error || d.rule == Rule::Unused)
        .map(|one| one.rule.slug())
        .collect();
    assert_eq!(told, NONE);
}
