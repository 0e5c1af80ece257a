//! Queries of several partitions: which numbers they may go through, and what they cost.

use latchkey_model::check;

const NONE: [&str; 0] = [];

/// The rules that a contract with such a query breaks, on deals that are spread over ten shards.
fn found(steps: &str) -> Vec<(&'static str, String)> {
    let text = format!(
        "```contract\nsystem deals\ntable Deals {{ type kind }}\n\
         entity Deal \"DEAL\" {{\nPK = \"DEALS#{{day}}#{{shard:02}}\"\nSK = \"DEAL#{{dealId}}\"\n\
         day id, shard int 0..9, dealId ulid, price int 0..\n\
         index ByDeal {{ PK = \"D#{{dealId}}\" SK = \"{{day}}\" }}\n}}\n\
         entity Other \"OTHER\" {{\nPK = \"OTHER#{{otherId}}#{{shard:03}}\"\nSK = \"{{otherId}}\"\notherId id, shard int 0..200\n}}\n\
         contract D-1 \"Add\" {{\nPOST /deals/{{day}}\ninput price Deal.price, dealId ulid = new ulid\nallow true\n\
         deal = put Deal {{ day, shard = shard(dealId, 10), dealId, price }} if absent else 409 there\nreturn 201 deal\n\
         consistency strong\nexpect 1 item\nrate 1/s\n}}\n\
         contract D-2 \"Trap\" {{\nGET /deals/{{day}}\nallow true\n{steps}\nexpect 0.. items\n}}\n```\n"
    );
    let all = check(&text).diagnostics;
    let told = all.iter().filter(|one| one.rule.slug() != "unused");
    told.map(|one| (one.rule.slug(), one.message.clone())).collect()
}

#[track_caller]
fn is(steps: &str, expected: &[&str]) {
    let stated = if steps.contains("strong") { "strong" } else { "eventual" };
    let facts = format!("consistency {stated}\nrate 1/s");
    let all = found(&format!("{steps}\n{facts}"));
    let rules: Vec<&str> = all.iter().map(|(rule, _)| *rule).collect();
    assert_eq!(rules, expected, "{steps}\n{all:#?}");
}

#[test]
fn a_query_goes_through_the_number_of_its_partition() {
    let of = |numbers: &str, place: &str| {
        format!("deals = query Deal {numbers} where PK = \"{place}\" page 25\nreturn deals")
    };
    let place = "DEALS#{day}#{shard:02}";
    is(&of("shard in 0..9", place), &NONE);
    is(&of("shard in 0..9 strong", place), &NONE);
    is(&of("shard in 0..10", place), &["type"]);
    is(&of("shard in 9..0", place), &["type"]);
    is(&of("shard in 0..", place), &["type"]);
    is(&of("price in 0..9", "DEALS#{day}#{price:02}"), &["name"]);
    // The same partition each time.
    is(&of("shard in 0..9", "DEALS#{day}#04"), &["type"]);
    // What the others hold would be missing.
    is(&of("shard in 0..4", place), &["partial-list"]);
    // The name is one of the query alone.
    is(&of("", place), &["name"]);
    let by =
        "deals = query Deal by ByDeal shard in 0..9 where PK = \"D#{shard}\" page 25\nreturn deals";
    is(by, &["name"]);
    let taken = "input shard int 0..9\ndeals = query Deal shard in 0..9 where PK = \"DEALS#{day}#{shard:02}\" page 25\n\
                 return deals with { shard }";
    is(taken, &["name"]);
    let range = "deals = query Deal shard in 0..9 where PK = \"DEALS#{day}#{shard:02}\" and SK >= \"DEAL#{shard}\" page 25\n\
                 return deals";
    is(range, &["type", "key-order"]);
}

#[test]
fn all_partitions_together_are_bounded() {
    let others = |numbers: &str, limit: &str| {
        format!(
            "input otherId id\nothers = query Other shard in {numbers} where PK = \"OTHER#{{otherId}}#{{shard:03}}\" {limit}\nreturn others"
        )
    };
    is(&others("0..200", "first 5"), &["unbounded"]);
    is(&others("0..99", "first 5"), &["partial-list"]);
    is(&others("0..99", "first 51"), &["unbounded", "partial-list"]);
    // A cursor could have a place in each of them.
    is(&others("0..99", "page 5"), &["unbounded", "partial-list"]);
}

#[test]
fn each_partition_is_paid_for() {
    let list = "deals = query Deal shard in 0..9 where PK = \"DEALS#{day}#{shard:02}\" page 25\nreturn deals\n\
                consistency eventual\n";
    let told = found(&format!("{list}rate 1/s\ncost 1 rcu"));
    let (rule, message) = told.first().expect("it costs more");
    assert_eq!(*rule, "cost");
    // 26 items of some 400 bytes from each of ten.
    assert!(message.contains("can cost 20 rcu"), "{message}");
    // A partition gets its own part of that.
    assert_eq!(found(&format!("{list}rate 1000/s")), []);
    let hot = found(&format!("{list}rate 100000/s"));
    assert_eq!(hot.iter().map(|(rule, _)| *rule).collect::<Vec<_>>(), ["hot-partition"]);
}

#[test]
fn a_decision_takes_a_list_of_shards_for_a_part() {
    let few = "deals = query Deal shard in 0..9 strong where PK = \"DEALS#{day}#{shard:02}\" LIMIT\n\
               require count(deals) < 5 else 409 full\nreturn deals";
    is(&few.replace("LIMIT", "page 9"), &["range-as-count"]);
    is(&few.replace("LIMIT", "first 4"), &["range-as-count"]);
    is(&few.replace("LIMIT", "first 5"), &NONE);
    // Of each shard there is one such item, and of all of them ten.
    let one = "deals = query Deal shard in 0..9 strong where PK = \"DEALS#{day}#{shard:02}\" and SK = \"DEAL#x\" first 4\n\
               require count(deals) < 5 else 409 full\nreturn deals";
    assert!(
        found(&format!("{one}\nconsistency eventual\nrate 1/s"))
            .iter()
            .any(|(rule, _)| *rule == "range-as-count")
    );
}
