//! `snapshot { … }`: what may stand in it, what it costs, and what the check makes of reads of two moments.

use latchkey_model::check;

const FACTS: &str = "consistency strong\nexpect 1 item\nrate 1/s\n";
const NONE: [&str; 0] = [];

/// Boats and their berths, which are sold together, and a contract that reads them.
fn told(steps: &str) -> Vec<(String, String)> {
    let text = format!(
        "```contract\nsystem port\ntable Port {{ type kind }}\nrole clerk\n\
         entity Boat \"BOAT\" {{\nPK = \"BOAT#{{boatId}}\"\nSK = \"META\"\nboatId id\nownerId id\nberthId id\n\
         version counter\n}}\n\
         entity Berth \"BERTH\" {{\nPK = \"BERTH#{{berthId}}\"\nSK = \"META\"\nberthId id\nownerId id\nversion counter\n}}\n\
         contract P-1 \"Moor\" {{\nPOST /boats/{{boatId}}\ninput berthId id\nallow caller is clerk\n\
         transact {{\nboat = put Boat {{ boatId, ownerId = caller.id, berthId }} if absent else 409 there\n\
         put Berth {{ berthId, ownerId = caller.id }} if absent else 409 taken\n}}\nreturn 201 boat\n{FACTS}}}\n\
         contract P-2 \"Sell\" {{\nPUT /boats/{{boatId}}/owner\ninput berthId id, to id\nallow caller is clerk\n\
         boat = get Boat strong else 404 no-boat\nberth = get Berth strong else 404 no-berth\ntransact {{\n\
         update boat set ownerId = to, version = .version + 1 if unchanged else retry\n\
         update berth set ownerId = to, version = .version + 1 if unchanged else retry\n}}\nreturn boat\n{FACTS}}}\n\
         contract T \"Trap\" {{\nGET /boats/{{boatId}}\ninput berthId id\n{steps}\n{FACTS}}}\n```\n"
    );
    let found = check(&text).diagnostics;
    let told = found.iter().filter(|found| found.rule.slug() != "unused");
    told.map(|found| (found.rule.slug().to_owned(), found.message.clone())).collect()
}

#[track_caller]
fn is(steps: &str, expected: &[&str]) {
    let all = told(steps);
    let rules: Vec<&str> = all.iter().map(|(rule, _)| rule.as_str()).collect();
    assert_eq!(rules, expected, "{steps}\n{all:#?}");
}

#[track_caller]
fn says(steps: &str, message: &str) {
    let all = told(steps);
    assert!(all.iter().any(|(_, told)| told == message), "{steps}\n{all:#?}");
}

const BOTH: &str =
    "snapshot {\nboat = get Boat else 404 no-boat\nberth = get Berth else 404 no-berth\n}\n";
const APART: &str =
    "boat = get Boat strong else 404 no-boat\nberth = get Berth strong else 404 no-berth\n";
const SHOWN: &str = "allow caller is clerk\nreturn boat with { berth = berth.ownerId }";

#[test]
fn two_gets_are_of_two_moments_and_a_snapshot_is_of_one() {
    is(&format!("{BOTH}{SHOWN}"), &NONE);
    is(&format!("{APART}{SHOWN}"), &["stale-answer"]);
    // An eventual read may be of any moment, and says so.
    let eventual = APART.replace("berth = get Berth strong", "berth = get Berth");
    is(&format!("{eventual}{SHOWN}"), &["undeclared"]);
}

#[test]
fn what_never_changes_may_be_of_any_moment() {
    let keys = "allow caller is clerk\nreturn boat { boatId } with { b = berth.berthId }";
    is(&format!("{APART}{keys}"), &NONE);
}

#[test]
fn a_right_and_what_it_is_used_for_are_of_one_moment() {
    let used = "allow caller owns boat.ownerId and boat.berthId == berth.berthId\nreturn berth";
    is(&format!("{APART}{used}"), &["stale-answer"]);
    is(&format!("{BOTH}{used}"), &NONE);
}

#[test]
fn a_snapshot_is_of_another_moment_than_what_stands_outside() {
    let other = "other = get Boat(boatId = berthId) else 404 no-boat\n";
    let boats = format!("snapshot {{\nboat = get Boat else 404 no-boat\n{other}}}\n");
    let berth = "berth = get Berth strong else 404 no-berth\n";
    let berths = "snapshot {\nberth = get Berth else 404 no-berth\n\
                  second = get Berth(berthId = boatId) else 404 no-berth\n}\n";
    for (what, reads) in [
        ("a get behind it", format!("{boats}{berth}")),
        ("a get before it", format!("{berth}{boats}")),
        ("another snapshot", format!("{boats}{berths}")),
    ] {
        assert_eq!(told(&format!("{reads}{SHOWN}")).len(), 1, "{what}");
        is(&format!("{reads}{SHOWN}"), &["stale-answer"]);
    }
    // One way through the contract has the snapshot, and the other has not.
    let shown = "return boat with { berth = berth.ownerId }";
    let ways = |other: &str| {
        format!(
            "allow caller is clerk\nwhen berthId == boatId {{\n{BOTH}{shown}\n}}\n{other}{shown}"
        )
    };
    is(&ways(BOTH), &NONE);
    is(&ways(APART), &["stale-answer"]);
    // What was read before, and is not shown, does no harm.
    let before = format!("seen = get Boat strong else 404 no-boat\n{BOTH}");
    is(&format!("{before}{SHOWN}"), &NONE);
}

#[test]
fn an_item_that_is_read_again_and_is_the_same_counts() {
    let again = "seen = get Boat strong else 404 no-boat\nsnapshot {\nboat = get Boat else 404 no-boat\n\
                 berth = get Berth(berthId = seen.berthId) else 404 no-berth\n}\nallow caller is clerk\n";
    let shown = "return berth { berthId, ownerId } with { boat = seen.ownerId, n = berthId }";
    is(&format!("{again}{shown}"), &["stale-answer"]);
    let same = "require boat.ownerId == seen.ownerId else retry\n";
    is(&format!("{again}{same}{shown}"), &NONE);
}

#[test]
fn an_else_of_the_second_may_use_the_first() {
    let second = "snapshot {\nboat = get Boat else 404 no-boat\n\
                  berth = get Berth else 409 afloat \"{boat.boatId} has no berth\" with { at = boat.berthId }\n}\n";
    is(&format!("allow caller is clerk\n{second}return boat with {{ b = berth.ownerId }}"), &NONE);
}

#[test]
fn a_snapshot_is_made_of_gets_of_one_item() {
    let refused = |inner: &str, message: &str| {
        says(&format!("snapshot {{\n{inner}\n}}\nallow caller is clerk\nreturn boat"), message);
    };
    let gets = "a snapshot is made of gets of one item each";
    refused("boat = get Boat else 404 a\nallow caller is clerk", gets);
    refused(
        "boat = get Boat else 404 a\nboats = query Boat where PK = \"BOAT#{boatId}\" first 2",
        gets,
    );
    refused("boat = get Boat else 404 a\nx = get Berth for berthId in boat", gets);
    refused("boat = get Boat else 404 a", "a snapshot of less than two items");
    refused(
        "boat = get Boat strong else 404 a\nberth = get Berth",
        "a get of a snapshot sees every write before it as it is",
    );
    refused(
        "boat = get Boat else 404 a\nberth = get Berth(berthId = boat.berthId) else 404 b",
        "this key needs `boat`, which the same snapshot reads",
    );
    says(
        "boat = get Boat snapshot else 404 a\nallow caller is clerk\nreturn boat",
        "one item is read at one instant as it is",
    );
}

#[test]
fn a_snapshot_has_at_most_100_items() {
    let gets = |count: usize| -> String {
        let one = |at| format!("b{at} = get Boat(boatId = \"b{at}\") else 404 no-boat\n");
        (0..count).map(one).collect()
    };
    let steps = |count| format!("allow caller is clerk\nsnapshot {{\n{}}}\nreturn b0", gets(count));
    is(&steps(100), &NONE);
    is(&steps(101), &["unbounded"]);
}

#[test]
fn a_snapshot_costs_twice_as_much_and_all_of_it_at_once() {
    let cost = |steps: &str, units: u32| format!("{steps}\ncost {units} rcu");
    let both = format!("{BOTH}{SHOWN}");
    is(&cost(&both, 4), &NONE);
    is(&cost(&both, 3), &["cost"]);
    // What is done about the first is done when both are paid for.
    let first = "snapshot {\nboat = get Boat else {\nallow caller is clerk\n\
                 other = get Boat(boatId = berthId) strong else 404 no-boat\nreturn other { boatId }\n}\n\
                 berth = get Berth\n}\nallow caller is clerk\nreturn boat";
    is(&cost(first, 5), &NONE);
    is(&cost(first, 4), &["cost"]);
}
