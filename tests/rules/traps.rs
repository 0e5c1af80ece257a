//! Mistakes that are easy to overlook, and things that only look like them. Each is one contract beside those
//! of `traps.md`, which change everything that can change.

use latchkey_language::Rule;
use latchkey_model::check;

use crate::method;

const AROUND: &str = include_str!("traps.md");

/// The rules a contract breaks. It is on a door, unless it says otherwise.
fn broken(steps: &str) -> Vec<&'static str> {
    let steps = match steps.contains("POST ") || steps.contains("GET ") {
        true => steps.to_owned(),
        false => format!("{} /trap/{{doorId}}\n{steps}", method(steps)),
    };
    let facts = "consistency strong\nexpect 1 item\nrate 1/s";
    let text =
        format!("{AROUND}\n```contract\ncontract TRAP \"Trap\" {{\n{steps}\n{facts}\n}}\n```\n");
    let mut rules: Vec<&str> = check(&text).diagnostics.iter().map(|one| one.rule.slug()).collect();
    rules.dedup();
    rules
}

fn all(cases: &[(&str, &str)], expected: &[&str]) {
    for (what, steps) in cases {
        assert_eq!(broken(steps), expected, "{what}");
    }
}

const READ: &str = "door = get Door strong else 404 not-found\n";

#[test]
fn what_stands_around_the_traps_is_clean() {
    assert_eq!(check(AROUND).diagnostics, []);
}

#[test]
fn a_fact_is_seen_wherever_it_hides() {
    let cases = [
        ("behind a name", "owner = door.ownerId\nallow caller owns owner"),
        ("behind two", "owner = door.ownerId\nwho = owner\nallow caller owns who"),
        (
            "behind the name of a test",
            "fresh = door.until > now\nallow caller is warden\nrequire fresh else 409 late",
        ),
        ("in a `not`", "allow caller is warden\nrequire not (door.until < now) else 409 late"),
        (
            "in a `when` that ends",
            "allow caller is warden\nwhen door.state == BROKEN { return door }",
        ),
    ];
    for (what, tests) in cases {
        let loose = format!(
            "{READ}{tests}\nnote = put Note {{ doorId, noteId = new ulid }} if absent else retry\nreturn 201 note"
        );
        assert_eq!(broken(&loose), ["unpinned"], "{what}");
        let pinned = format!(
            "{READ}{tests}\ntransact {{\nnote = put Note {{ doorId, noteId = new ulid }} if absent else retry\n\
             check door if unchanged else retry\n}}\nreturn 201 note"
        );
        assert_eq!(broken(&pinned), [""; 0], "{what}, pinned");
    }
}

#[test]
fn a_write_in_an_else_rests_on_its_own_way() {
    let loose = format!(
        "{READ}allow caller owns door.ownerId\nrequire door.until > now else {{\n\
         note = put Note {{ doorId, noteId = new ulid }} if absent else retry\nreturn 201 note\n}}\nreturn door"
    );
    assert_eq!(broken(&loose), ["unpinned"]);
    // Within the transaction of a leg's failure.
    let loose = format!(
        "{READ}allow caller owns door.ownerId\ntransact {{\ncheck door if unchanged else {{\n\
         note = put Note {{ doorId, noteId = new ulid }} if absent else retry\nreturn 201 note\n}}\n\
         put Note {{ doorId, noteId = new ulid }} if absent else retry\n}}\nreturn door"
    );
    assert_eq!(broken(&loose), ["unpinned"]);
    // What was absent when it was read may have been made.
    let made = "POST /trap/{doorId}/{noteId}\nallow caller is warden\nnote = get Note strong else {\n\
                made = put Note { doorId, noteId } replace\nreturn 201 made\n}\nreturn 201 note";
    assert_eq!(broken(made), ["unpinned"]);
    assert_eq!(broken(&made.replace("replace", "if absent else retry")), [""; 0]);
}

#[test]
fn a_pin_is_on_the_item_and_says_what_was_read() {
    let write = "note = put Note { doorId, noteId = new ulid } if absent else retry";
    let pins = [
        (
            "of another item",
            "other = get Door(doorId = otherId) strong else 404 not-found",
            "check other if unchanged else retry",
        ),
        ("to what the caller sent", "", "check door if .ownerId == otherId else retry"),
        (
            "that may not happen",
            "",
            "when otherId == doorId { check door if unchanged else retry }",
        ),
        ("in an `or`", "", "check door if unchanged or .state == OPEN else retry"),
        ("turned around", "", "check door if not unchanged else retry"),
        ("of another attribute", "", "check door if .state == door.state else retry"),
    ];
    for (what, read, pin) in pins {
        let steps = format!(
            "POST /trap/{{doorId}}\ninput otherId id\n{READ}{read}\nallow caller owns door.ownerId\n\
             when otherId == doorId {{ return door }}\ntransact {{\n{write}\n{pin}\n}}\nreturn 201 note"
        );
        assert!(broken(&steps).contains(&"unpinned"), "a pin {what}");
    }
    let pins = [
        ("by its value", "check door if .ownerId == door.ownerId else retry"),
        ("by a name for it", "check door if .ownerId == owner else retry"),
        ("by its key", "check Door if .ownerId == owner else retry"),
    ];
    for (what, pin) in pins {
        let steps = format!(
            "{READ}owner = door.ownerId\nallow caller owns owner\ntransact {{\n{write}\n{pin}\n}}\nreturn 201 note"
        );
        assert_eq!(broken(&steps), [""; 0], "a pin {what}");
    }
}

#[test]
fn a_condition_that_repeats_the_test_pins_it() {
    let steps = |test: &str, condition: &str| {
        let moved = if test.contains("moves to OPEN") { "state = OPEN, " } else { "" };
        // Where the condition asks for more than the test, it fails again each time.
        let more =
            ["door.state != BROKEN", "door.state in (SHUT, OPEN)", "not (door.state == BROKEN)"];
        let lost = if more.contains(&test) { "409 no" } else { "retry" };
        format!(
            "{READ}allow caller is warden\nrequire {test} else 409 no\nupdate door\n\
             set {moved}seenAt = now, version = .version + 1\nif {condition} else {lost}\nreturn door"
        )
    };
    let cases = [
        ("door.until > now", ".until > now", true),
        ("door.until > now", ".until > now - 1h", false),
        ("not (door.seenAt is absent)", ".seenAt is present", true),
        ("door.seenAt is present", ".seenAt is absent", false),
        ("door.state == BROKEN", "not (.state != BROKEN)", true),
        ("door.state moves to OPEN", ".state == SHUT", true),
        ("door.state != BROKEN", ".state == SHUT", true),
        ("door.state in (SHUT, OPEN)", ".state == OPEN", true),
        ("door.state == SHUT", ".state == SHUT", true),
        ("not (door.state == BROKEN)", ".state == OPEN", true),
    ];
    for (test, condition, pinned) in cases {
        let expected: &[&str] = if pinned { &[] } else { &["unpinned"] };
        assert_eq!(broken(&steps(test, condition)), expected, "{test}, and {condition}");
    }
    // And what is tested is never so.
    let other = broken(&steps("door.state moves to OPEN", ".state == BROKEN"));
    assert_eq!(other, ["unpinned", "endless-retry"]);
}

#[test]
fn what_a_query_found_may_not_be_what_it_would_find() {
    let next = "allow caller is warden\nlast = query Note strong\nwhere PK = \"DOOR#{doorId}\" and SK begins_with \"NOTE#\"\n\
                order descending\nfirst 1 else 404 none\n";
    let loose = format!(
        "{next}note = put Note {{ doorId, noteId = last.noteId }} replace\nreturn 201 note"
    );
    assert_eq!(broken(&loose), ["unpinned"]);
    // Which item it was does not matter to a write of that very item.
    let pinned = format!(
        "{next}update last set text = \"x\" if .noteId == last.noteId else retry\nreturn last"
    );
    assert_eq!(broken(&pinned), [""; 0]);
}

#[test]
fn a_guard_guards_its_own() {
    let steps = |guard: &str| {
        format!(
            "POST /trap/{{doorId}}\ninput otherId id, at time\nallow caller is warden\n\
             rota = get Rota{guard} strong else 404 not-found\n\
             shift = query Shift strong\nwhere PK = \"DOOR#{{doorId}}\" and SK begins_with \"SHIFT#\"\n\
             order descending\nfirst 1\nrequire shift is absent or shift.guard == caller.id else 409 no\n\
             transact {{\nnew_shift = put Shift {{ doorId, at, guard = caller.id }} if absent else retry\n\
             update rota set revision = .revision + 1 if unchanged else retry\n}}\nreturn 201 new_shift"
        )
    };
    let input = "otherId id, ";
    assert_eq!(broken(&steps("").replace(input, "")), [""; 0]);
    let found = broken(&steps("(doorId = otherId)"));
    assert_eq!(found, ["unpinned", "missing-bump"], "another's guard");
}

#[test]
fn a_view_is_written_at_its_place_with_what_changed() {
    let change = "update door set until = until, version = .version + 1 if unchanged else retry\n";
    let steps = |legs: &str| {
        format!(
            "POST /trap/{{doorId}}\ninput until time, otherId id\n{READ}allow caller owns door.ownerId\n\
             when otherId == doorId {{ return door }}\ntransact {{\n{legs}\n}}\nreturn door"
        )
    };
    let cases = [
        ("nothing", ""),
        ("too early", "EARLY"),
        ("under a narrower `when`", "when otherId == \"x\" { put OwnerDoor of door replace }"),
        ("with another value", "update OwnerDoor of door set until = now else retry"),
        ("at another key", "put OwnerDoor(ownerId = otherId) of door replace"),
        ("with one value by hand", "put OwnerDoor of door { until = now } replace"),
    ];
    for (what, view) in cases {
        let legs = match view {
            "EARLY" => format!("put OwnerDoor of door replace\n{change}"),
            _ => format!("{change}{view}"),
        };
        assert!(
            broken(&steps(&legs)).contains(&"stale-copy"),
            "{what}: {:?}",
            broken(&steps(&legs))
        );
    }
    for view in
        ["put OwnerDoor of door replace", "update OwnerDoor of door set until = until else retry"]
    {
        assert_eq!(broken(&steps(&format!("{change}{view}"))), [""; 0], "{view}");
    }
}

#[test]
fn a_source_that_is_replaced_may_leave_its_view() {
    let put = "allow caller owns ownerId\ntransact {\n\
               door = put Door { doorId, ownerId, until = now } replace\nput OwnerDoor of door replace\n}\nreturn door";
    let found = broken(&format!("POST /trap/{{doorId}}\ninput ownerId id\n{put}"));
    assert!(found.contains(&"stale-copy"), "{found:?}");
    assert!(found.contains(&"illegal-move"), "{found:?}");
    assert!(found.contains(&"missing-bump"), "{found:?}");
}

#[test]
fn the_wrong_view_is_not_the_old_one() {
    let steps = |delete: &str| {
        format!(
            "POST /trap/{{doorId}}\ninput newOwnerId id\n{READ}allow caller owns door.ownerId\n\
             when newOwnerId == door.ownerId {{ return door }}\ntransact {{\n{delete}\n\
             update door set ownerId = newOwnerId, version = .version + 1 if unchanged else retry\n\
             put OwnerDoor of door replace\n}}\nreturn door"
        )
    };
    assert_eq!(broken(&steps("delete OwnerDoor of door")), [""; 0]);
    let wrong = broken(&steps("delete OwnerDoor(ownerId = caller.id)"));
    assert!(wrong.contains(&"stale-copy"), "{wrong:?}");
}

#[test]
fn a_move_is_ruled_out_by_what_is_known() {
    let steps = |tests: &str, value: &str, condition: &str| {
        let chosen = value == "to" || tests.contains("moves to to");
        let input = if chosen { "input to Door.state\n" } else { "" };
        // What was not tested before fails again each time.
        let lost = if tests.is_empty() && condition != "unchanged" { "409 no" } else { "retry" };
        format!(
            "POST /trap/{{doorId}}\n{input}{READ}allow caller is warden\n{tests}\n\
             update door set state = {value}, version = .version + 1 if {condition} else {lost}\nreturn door"
        )
    };
    let legal = [
        ("require door.state moves to to else 409 no", "to", "unchanged"),
        ("when not (door.state moves to to) { return door }", "to", "unchanged"),
        ("require door.state != BROKEN and door.state != OPEN else 409 no", "OPEN", "unchanged"),
        ("require door.state in (SHUT) else 409 no", "OPEN", "unchanged"),
        ("", "OPEN", ".state in (SHUT)"),
        ("require to == OPEN and door.state == SHUT else 409 no", "to", "unchanged"),
        ("may = door.state moves to OPEN\nrequire may else 409 no", "OPEN", "unchanged"),
    ];
    for (tests, value, condition) in legal {
        let found = broken(&steps(tests, value, condition));
        assert_eq!(found, [""; 0], "{tests}, {condition}");
    }
    let illegal = [
        ("", "OPEN", "unchanged"),
        ("require door.state moves to SHUT else 409 no", "to", "unchanged"),
        ("require door.state moves to to or door.state == OPEN else 409 no", "to", "unchanged"),
        ("require door.state in (SHUT, BROKEN) else 409 no", "OPEN", "unchanged"),
        ("require door.state != BROKEN else 409 no", "SHUT", "unchanged"),
    ];
    for (tests, value, condition) in illegal {
        let found = broken(&steps(tests, value, condition));
        assert_eq!(found, ["illegal-move"], "{tests}, {condition}");
    }
}

#[test]
fn a_test_does_not_outlive_the_write_of_its_item() {
    let steps = format!(
        "{READ}allow caller is warden\nrequire door.state == SHUT else 409 no\n\
         update door set state = OPEN, version = .version + 1 if unchanged else retry\n\
         waive half-done \"x\"\n\
         update door set state = OPEN, version = .version + 1 if unchanged else retry\nreturn door"
    );
    assert_eq!(broken(&steps), ["illegal-move"]);
}

#[test]
fn two_legs_are_apart_only_if_something_says_so() {
    let steps = |tests: &str, legs: &str| {
        format!(
            "POST /trap/{{doorId}}\ninput a id, b id\nallow caller is warden\n{tests}\ntransact {{\n{legs}\n}}\nreturn 201 note"
        )
    };
    let two =
        "note = put Note { doorId, noteId = a } replace\nput Note { doorId, noteId = b } replace";
    for tests in ["", "require a != doorId or a != b else 400 no", "when a == b { b2 = a }"] {
        assert!(broken(&steps(tests, two)).contains(&"transaction"), "{tests}");
    }
    for tests in [
        "require a != b else 400 no",
        "require not (a == b) else 400 no",
        "require a < b else 400 no",
        "require a != b and a != doorId else 400 no",
        "same = a == b\nrequire not same else 400 no",
    ] {
        assert_eq!(broken(&steps(tests, two)), [""; 0], "{tests}");
    }
    for legs in [
        "note = put Note { doorId, noteId = a } replace\nwhen a != b { put Note { doorId, noteId = b } replace }",
        "note = put Note { doorId, noteId = a } replace\nput Note { doorId, noteId = new ulid } replace\n\
         check Door if .doorId == b else retry",
        "when a == b { put Note { doorId, noteId = a } replace }\nwhen a != b { put Note { doorId, noteId = b } replace }\n\
         note = put Note { doorId, noteId = new ulid } replace",
    ] {
        assert_eq!(broken(&steps("", legs)), [""; 0], "{legs}");
    }
}

#[test]
fn a_doubtful_read_is_in_doubt_by_every_name() {
    let eventual = |steps: &str| broken(steps).into_iter().any(|rule| rule == "eventual-decision");
    let read = "door = get Door else 404 not-found\n";
    let write =
        "note = put Note { doorId, noteId = new ulid } if absent else retry\nreturn 201 note";
    assert!(eventual(&format!("{read}owner = door.ownerId\nallow caller owns owner\n{write}")));
    assert!(eventual(&format!(
        "{read}allow caller is warden\nupdate door add visits = 1 set version = .version + 1 if unchanged else retry\nreturn door"
    )));
    let through = "POST /trap/{deskId}\ndesk = get Desk else 404 not-found\ndoor = get Door of desk strong else 404 not-found\n\
                   allow caller owns door.ownerId\n";
    assert!(eventual(&format!(
        "{through}update door set seenAt = now, version = .version + 1 if unchanged else retry\nreturn door"
    )));
    // What is shown is the door itself, whose owner is read strongly.
    assert!(!eventual(&format!("{through}return door")));
    assert!(eventual(&format!(
        "{read}note = get Note(noteId = doorId) strong else 404 not-found\nallow caller owns door.ownerId\n\
         return door with {{ text = note.doorId }}"
    )));
    // How many there are says no more than the list that is shown.
    let days = |test: &str, first: &str, last: &str| {
        format!(
            "allow caller is warden\none = query Note where PK = \"DOOR#{{doorId}}\" and SK begins_with \"NOTE#A\" first 5\n\
             when {test} {{ return with {{ {first} }} }}\n\
             two = query Note where PK = \"DOOR#{{doorId}}\" and SK begins_with \"NOTE#B\" first 5\nreturn with {{ {last} }}"
        )
    };
    assert!(!eventual(&days("count(one) >= 5", "one", "one, two")));
    assert!(eventual(&days("count(one) >= 5", "doorId", "one, two")));
    assert!(eventual(&days("count(one) >= 5", "one", "two")));
    let written = days("count(one) >= 5", "one", "one, two")
        .replace("two = query", "delete Note(noteId = doorId)\ntwo = query");
    assert!(eventual(&written));
}

#[test]
fn an_allow_is_on_every_way() {
    let found = |steps: &str| broken(steps).into_iter().any(|rule| rule == "no-allow");
    let ok = format!(
        "{READ}when door.state == OPEN {{\nallow caller is warden\nreturn door\n}} else {{\nallow caller owns door.ownerId\n}}\nreturn door"
    );
    assert!(!found(&ok));
    let open = format!("{READ}when door.state == OPEN {{\nallow caller is warden\n}}\nreturn door");
    assert!(found(&open));
    let told = format!(
        "{READ}require door.state == OPEN else 409 no with {{ owner = door.ownerId }}\nallow caller is warden\nreturn door"
    );
    assert!(found(&told));
    let other = format!(
        "{READ}require door.state == OPEN else {{ return door }}\nallow caller is warden\nreturn door"
    );
    assert!(found(&other));
}

#[test]
fn all_kinds_of_index_moves_are_seen() {
    let sum = broken(
        "allow caller is warden\ndoor = update Door add rank = 1 set version = .version + 1 else 404 no\nreturn door",
    );
    assert!(sum.contains(&"moving-index-key"), "a sum: {sum:?}");
    all(
        &[(
            "the second of two parts",
            "allow caller is warden\ndoor = update Door set zone = doorId, rank = 1, version = .version + 1 if .zone is absent else 404 no\nreturn door",
        )],
        &["moving-index-key"],
    );
    let once = "allow caller is warden\ndoor = update Door set zone = doorId, version = .version + 1 if .zone is absent else 404 no\nreturn door";
    assert!(!broken(once).contains(&"moving-index-key"));
}

#[test]
fn what_would_hide_a_mistake_is_one() {
    let cases = [
        ("a second name for an item", "name", format!("{READ}d = door\nallow caller owns d.ownerId\nreturn door")),
        (
            "`unchanged` of nothing that was read",
            "type",
            "allow caller is warden\ndoor = update Door set seenAt = now, version = .version + 1 if unchanged else retry\nreturn door"
                .to_owned(),
        ),
        ("a waiver above nothing", "waive", format!("{READ}allow caller is warden\nreturn door\nwaive scan \"x\"")),
        (
            "two conditions on one key",
            "type",
            "allow caller is warden\nnotes = query Note strong\nwhere PK = \"DOOR#{doorId}\" and SK >= \"NOTE#a\" and SK < \"NOTE#b\"\n\
             page 5\nreturn notes"
                .to_owned(),
        ),
    ];
    for (what, rule, steps) in cases {
        let found = broken(&steps);
        assert!(found.contains(&rule), "{what}: {found:?}");
    }
}

#[test]
fn an_index_part_that_was_found_absent_is_set_once_and_no_more() {
    // The test that found it absent went on counting after a write had set it.
    let once = "post = get Post strong else 404 not-found\nallow caller owns post.authorId\n\
                when post.publishedAt is present { return post }\n\
                update post set publishedAt = now, version = .version + 1 if unchanged else retry\n";
    let again =
        "update post set publishedAt = now, version = .version + 1 if unchanged else retry\n";
    let honest = include_str!("honest/notes.md");
    for (steps, expected) in [(once.to_owned(), 0), (format!("{once}{again}"), 1)] {
        let text = format!(
            "{honest}\n```contract\ncontract TRAP \"Trap\" {{\nPOST /trap/{{postId}}\n{steps}return post\n\
             consistency strong\nexpect 1 item\nrate 1/s\n}}\n```\n"
        );
        let told = check(&text).diagnostics;
        let moved = told.iter().filter(|one| one.rule == Rule::MovingIndexKey).count();
        assert_eq!((moved, told.is_empty()), (expected, expected == 0), "{told:?}");
    }
}

#[test]
fn a_condition_that_asks_the_same_another_way_pins_and_one_that_asks_less_does_not() {
    let honest = include_str!("honest/notes.md");
    let cases = [
        ("0 < post.remaining", ".remaining > 0", true),
        ("post.remaining > 0", "0 < .remaining", true),
        ("post.remaining > 0", ".remaining >= 0", false),
        ("post.remaining > 0", ".remaining < 0", false),
        ("not post.frozen", ".frozen == false", true),
        ("not post.frozen", ".frozen == true", false),
        ("post.frozen", "not (.frozen == false)", true),
        ("post.frozen", ".frozen == false", false),
    ];
    for (test, condition, pins) in cases {
        let text = format!(
            "{honest}\n```contract\ncontract TRAP \"Trap\" {{\nPOST /trap/{{postId}}\n\
             post = get Post strong else 404 not-found\nallow caller owns post.authorId\n\
             require {test} else 409 no\n\
             update post set remaining = 3, frozen = true, version = .version + 1 if {condition} else retry\n\
             return post\nconsistency strong\nexpect 1 item\nrate 1/s\n}}\n```\n"
        );
        let rules: Vec<&str> = check(&text).diagnostics.iter().map(|one| one.rule.slug()).collect();
        let expected: &[&str] = if pins { &[] } else { &["unpinned"] };
        assert_eq!(rules, expected, "require {test}, if {condition}");
    }
}

#[test]
fn a_name_does_not_hide_a_word() {
    // `input open …` took the place of the word `open`, and nothing told so.
    let told = |input: &str, test: &str| {
        let text = format!(
            "```contract\nsystem shop\ntable Shop {{ type kind }}\nentity Order \"ORDER\" {{\nPK = \"ORDER#{{orderId}}\"\n\
             SK = \"META\"\norderId id, status open | closed = open\n}}\ncontract O-1 \"Get\" {{\nGET /orders/{{orderId}}\n\
             input {input}\nallow true\norder = get Order strong else 404 no\nrequire {test} else 409 no\n\
             return order with {{ open }}\nconsistency strong\nexpect 1 item\nrate 1/s\n}}\n```\n"
        );
        check(&text).diagnostics.iter().map(|one| one.rule).collect::<Vec<_>>()
    };
    for input in ["open Order.status", "open bool"] {
        for test in
            ["order.status == open", "open == order.status", "order.status in (open, closed)"]
        {
            assert_eq!(told(input, test), [Rule::Name], "{input}: {test}");
        }
    }
    assert_eq!(told("open Order.status", "order.status == closed"), []);
}
