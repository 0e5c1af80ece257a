//! Lists, sets and records: mistakes within them, and things that only look like mistakes. Each is one contract beside
//! those of `lists.md`.

use latchkey_model::check;

const AROUND: &str = include_str!("lists.md");

/// The rules that a contract with these lines breaks.
fn broken(lines: &str) -> Vec<&'static str> {
    let facts = "consistency strong\nexpect 0..9 items\nrate 1/s";
    let text =
        format!("{AROUND}\n```contract\ncontract TRAP \"Trap\" {{\n{lines}\n{facts}\n}}\n```\n");
    let mut rules: Vec<&str> = check(&text).diagnostics.iter().map(|one| one.rule.slug()).collect();
    rules.dedup();
    rules
}

/// The mistakes in the types of an attribute, as they are told.
fn told(attribute: &str) -> Vec<String> {
    let text = AROUND
        .replace("  grams    int 0.. = 0", &format!("  grams int 0.. = 0\n  more {attribute}"));
    check(&text).diagnostics.iter().map(|one| format!("{}: {}", one.rule, one.message)).collect()
}

fn all(cases: &[(&str, &str)], expected: &[&str]) {
    for (what, lines) in cases {
        assert_eq!(broken(lines), expected, "{what}");
    }
}

const SHELF: &str = "shelf = get Shelf(sku = main) strong else 404 not-found\nreturn shelf";

/// A PUT with a list, a transaction of these legs, and an answer.
fn of_list(list: &str, legs: &str) -> String {
    format!(
        "PUT /trap\ninput main id, lines {list}\nallow caller is warden\ntransact {{\n{legs}\n}}\n{SHELF}"
    )
}

const UNIQUE: &str = "list(1..9) of { sku id, other id, n int 1..9 } unique by sku";

/// The same, for each element of a list whose elements differ in `sku`.
fn each(legs: &str) -> String {
    of_list(UNIQUE, &format!("each line in lines {{\n{legs}\n}}"))
}

#[test]
fn what_stands_around_the_traps_is_clean() {
    assert_eq!(check(AROUND).diagnostics, []);
}

#[test]
fn types_say_what_is_wrong_with_them() {
    let cases = [
        ("set(3) of id", "type: `more` is not stored while it is empty"),
        ("set(0) of id?", "type: this is not how many elements there are"),
        ("set(3) of int?", "type: a set has texts, and this is int"),
        ("set?", "type: a set says how many elements it has at most, and of which type"),
        ("list(2..1) of id?", "type: this is not how many elements there are"),
        ("list(1..) of id?", "type: this is not how many elements there are"),
        ("list(1..1001) of id?", "type: this is not how many elements there are"),
        ("list(1..3) of counter?", "type: a counter is an attribute of its own"),
        ("list(1..3) of { a id } unique?", "type: unique by what?"),
        ("list(1..3) of id unique by a?", "type: these elements have no members"),
        (
            "list(1..3) of { a id? } unique by a?",
            "type: `a` does not tell every two elements apart",
        ),
        ("{ a id = b }?", "type: a member has no default"),
        ("{ a id secret }?", "type: a member is secret with its record"),
        (
            "{ a { b { c { d { e id } } } } }?",
            "type: lists and records lie at most 4 deep in each other",
        ),
        ("list(1..900) of text(900)?", "item-size: an item of `Parcel` can have 812"),
    ];
    for (kind, message) in cases {
        let found = told(kind);
        assert!(found.iter().any(|one| one.starts_with(message)), "{kind}: {found:?}");
    }
    assert!(told("{ a id, a id }?").iter().any(|one| one.contains("`a`")));
}

#[test]
fn a_part_of_an_attribute_is_changed_as_its_type_says() {
    let update = |change: &str| {
        format!(
            "PUT /trap/{{parcelId}}\ninput city text(80), long text(90), n int, tag id\n\
             parcel = get Parcel strong else 404 not-found\nallow caller is warden\ntransact {{\nupdate parcel \
             {change} set version = .version + 1 if unchanged and n < 5 and city != long and tag != \"x\" else retry\n\
             put Label of parcel replace\n}}\nreturn parcel"
        )
    };
    for honest in [
        "set address.city = city",
        "set address.zip ?= tag",
        "add tags = tag",
        "remove tags = tag, address.zip",
    ] {
        let honest = honest.replace("address.zip ?= tag", "address.city ?= city");
        let joined = update(&honest).replace(
            " set version",
            if honest.starts_with("set") { ", version" } else { " set version" },
        );
        assert_eq!(broken(&joined), [""; 0], "{honest}");
    }
    for wrong in [
        "remove address.city",
        "remove grams = tag",
        "add tags = parcel.tags",
        "add address.city = city",
    ] {
        assert_ne!(broken(&update(wrong)), [""; 0], "{wrong}");
    }
    for wrong in
        ["address.city = long", "address.town = city", "address.city.x = city", "address.city = n"]
    {
        let joined = update(&format!("set {wrong}")).replace(" set version", ", version");
        assert_ne!(broken(&joined), [""; 0], "{wrong}");
    }
}

#[test]
fn a_change_within_a_record_is_a_change() {
    // The view copies the address, and a part of it is changed.
    let stale = "PUT /trap/{parcelId}\ninput city text(80)\nparcel = get Parcel strong else 404 not-found\n\
                 allow caller is warden\n\
                 update parcel set address.city = city, version = .version + 1 if unchanged else retry\nreturn parcel";
    assert_eq!(broken(stale), ["stale-copy"]);
    // What was read within a record may have changed since.
    let loose = "PUT /trap/{parcelId}/{sku}\nparcel = get Parcel strong else 404 not-found\nallow caller is warden\n\
                 require parcel.address.city == \"Ulm\" and parcel.tags is present and caller.id in parcel.tags \
                 else 409 elsewhere\nshelf = upsert Shelf set left = 1\nreturn shelf";
    assert_eq!(broken(loose), ["unpinned"]);
    let held = "PUT /trap/{parcelId}/{sku}\nparcel = get Parcel strong else 404 not-found\nallow caller is warden\n\
                require parcel.address.city == \"Ulm\" else 409 elsewhere\ntransact {\nupsert Shelf set left = 1\n\
                check parcel if .address.city == \"Ulm\" else retry\n}\nreturn parcel";
    assert_eq!(broken(held), [""; 0]);
}

#[test]
fn two_elements_are_two_items() {
    let put = "put Shelf { sku = line.sku, left = line.n } if absent else 409 taken\n";
    assert_eq!(broken(&each(put)), [""; 0]);
    let of_put = |list: &str| of_list(list, &format!("each line in lines {{\n{put}}}"));
    let two = "put Shelf { sku = line.sku } if absent else 409 taken\n\
               update Shelf(sku = line.other) set left = line.n else 409 gone\n";
    let other = "when line.sku != main { put Shelf { sku = line.sku } if absent else 409 taken }\n";
    all(
        &[
            ("nothing is unique", &of_put("list(1..9) of { sku id, n int 1..9 }")),
            ("another member is", &of_put("list(1..9) of { sku id, n int 1..9 } unique by n")),
            (
                "it is with another",
                &of_put("list(1..9) of { sku id, n int 1..9 } unique by sku and n"),
            ),
            (
                "the key is another's",
                &each("put Shelf { sku = line.other } if absent else 409 taken"),
            ),
            (
                "the key is the same for all",
                &each("put Shelf { sku = main } if absent else 409 taken"),
            ),
            ("26 legs", &of_put("list(1..26) of { sku id, n int 1..9 } unique by sku")),
            ("two legs of an element", &each(two)),
            (
                "a leg beside them",
                &of_list(
                    UNIQUE,
                    &format!(
                        "upsert Shelf(sku = main) set left = 1\neach line in lines {{\n{put}}}"
                    ),
                ),
            ),
        ],
        &["transaction"],
    );
    let sides = "when line.n > 3 { put Shelf { sku = line.sku } if absent else 409 taken }\n\
                 else { update Shelf(sku = line.sku) set left = line.n else 409 gone }\n";
    all(
        &[
            ("25 legs", &of_put("list(1..25) of { sku id, n int 1..9 } unique by sku")),
            ("on two sides of a test", &each(sides)),
            (
                "the other is none of them",
                &of_list(
                    UNIQUE,
                    &format!(
                        "upsert Shelf(sku = main) set left = 1\neach line in lines {{\n{other}}}"
                    ),
                ),
            ),
            (
                "of plain ids",
                &of_list(
                    "list(1..9) of id unique",
                    "each line in lines { put Shelf { sku = line } if absent else 409 taken }",
                ),
            ),
        ],
        &[],
    );
}

#[test]
fn rules_look_into_an_each() {
    let update = |rest: &str| {
        format!(
            "POST /trap\ninput parcels list(1..5) of id unique, city text(80)\nallow caller is warden\n\
             transact {{\neach one in parcels {{\n{rest}\n}}\n}}\nparcel = get Parcel(parcelId = city) strong else 404 \
             not-found\nreturn parcel"
        )
        .replace("city text(80)", "city id")
    };
    let first = broken(&update("put Shelf { sku = one, left = 1 } else retry"));
    assert_eq!(first, ["blind-put"]);
    let rules = [
        ("put Shelf { sku = one } if absent", "unmapped-failure"),
        (
            "update Parcel(parcelId = one) set state = SENT, version = .version + 1 else 409 gone",
            "illegal-move",
        ),
        ("update Parcel(parcelId = one) set grams = 1 else 409 gone", "missing-bump"),
        (
            "update Parcel(parcelId = one) set address.city = city, version = .version + 1 else 409 gone",
            "stale-copy",
        ),
        ("upsert Shelf(sku = one) add left = 1", "drift"),
    ];
    for (leg, rule) in rules {
        assert!(broken(&update(leg)).contains(&rule), "{leg}: {:?}", broken(&update(leg)));
    }
    let sent = "update Parcel(parcelId = one) set state = SENT, version = .version + 1 if .state == NEW else 409 gone";
    assert_eq!(broken(&update(sent)), [""; 0]);
    // Somebody else's shelf.
    let foreign = "POST /trap/{roomId}\ninput lines list(1..5) of id unique\n\
                   room = get Room strong else 404 not-found\nallow caller owns room.ownerId\ntransact {\n\
                   each line in lines { update Shelf(sku = line) set left = 0 else 409 gone }\n}\nreturn room";
    assert_eq!(broken(foreign), ["foreign-allow"]);
    // What was read before may have changed.
    let loose = of_list(UNIQUE, "each line in lines { put Shelf { sku = line.sku } if absent else 409 taken }")
        .replace("transact", "parcel = get Parcel(parcelId = main) strong else 404 no-parcel\nrequire parcel.grams > 5 else 409 light\ntransact");
    assert_eq!(broken(&loose), ["unpinned"]);
    let listed = "PUT /trap/{parcelId}\nparcel = get Parcel strong else 404 not-found\nallow caller is warden\ntransact {\n\
                  each part in parcel.parts { put Shelf { sku = part.sku } if absent else 409 taken }\nHELD\n}\n\
                  return parcel";
    assert_eq!(broken(&listed.replace("HELD", "")), ["unpinned"]);
    assert_eq!(broken(&listed.replace("HELD", "check parcel if unchanged else retry")), [""; 0]);
}

#[test]
fn an_each_over_a_result_needs_its_guard() {
    let over = |read: &str, guard: &str| {
        format!(
            "DELETE /trap/{{roomId}}\nroom = get Room strong else 404 not-found\nallow caller owns room.ownerId\n\
             boxes = query Box {read} where PK = \"ROOM#{{roomId}}\" and SK begins_with \"BOX#\" first 9\ntransact {{\n\
             {guard}\neach box in boxes {{ delete box }}\n}}\nreturn room"
        )
    };
    let guard = "update room set revision = .revision + 1 if unchanged else retry";
    assert_eq!(broken(&over("strong", guard)), [""; 0]);
    assert!(broken(&over("", guard)).contains(&"eventual-decision"));
    assert!(broken(&over("strong", "")).contains(&"missing-bump"));
    let bare = over("strong", "update room set revision = .revision + 1 else retry");
    assert!(broken(&bare).contains(&"unpinned"), "{:?}", broken(&bare));
    let paged = over("strong", guard).replace("first 9", "page 9");
    assert!(broken(&paged).contains(&"type"));
    let others = over("strong", guard)
        .replace("delete box", "put Shelf { sku = main } if absent else 409 x");
    assert_ne!(broken(&others), [""; 0]);
}

#[test]
fn an_each_stands_in_a_transaction_and_makes_writes() {
    let put = "put Shelf { sku = line.sku } if absent else 409 taken";
    let outside = each(put).replace("transact {\neach", "each").replace("}\n}\nshelf", "}\nshelf");
    assert!(broken(&outside).contains(&"name"));
    assert!(broken(&each(&format!("each two in lines {{ {put} }}"))).contains(&"name"));
    assert!(
        broken(&each("put Shelf { sku = new ulid } if absent else 409 taken")).contains(&"type")
    );
    assert!(broken(&each("each = get Shelf(sku = line.sku)")).contains(&"name"));
    let cost = format!("{}\ncost 9 rcu, 17 wcu", each(put));
    assert_eq!(broken(&cost), ["cost"]);
    assert_eq!(broken(&cost.replace("17 wcu", "18 wcu")), [""; 0]);
}

#[test]
fn a_right_within_a_list_is_a_right() {
    // A member of a team may not make everyone an owner, one by one or all at once.
    let text = |test: &str| {
        format!(
            "```contract\nsystem teams\ntable Teams {{ type kind }}\nentity Member \"MEMBER\" {{\n\
             PK = \"TEAM#{{teamId}}\"\nSK = \"MEMBER#{{userId}}\"\nteamId id, userId id, right READ | OWN = READ\n}}\n\
             contract T-1 \"Change rights\" {{\nPOST /teams/{{teamId}}\n\
             input rights list(1..5) of {{ userId id, right READ | OWN }} unique by userId\n\
             me = get Member(userId = caller.id) strong else 404 not-found\nallow me.right in (READ, OWN)\n{test}\n\
             transact {{\neach one in rights {{\n\
             update Member(userId = one.userId) set right = one.right if .right == me.right or .right != me.right\n\
             else 404 no-member\n}}\n}}\nreturn me\nconsistency strong\nexpect 1 item\nrate 1/s\n}}\n```\n"
        )
    };
    let found = |test: &str| {
        let found = check(&text(test)).diagnostics;
        found.iter().any(|one| one.rule.slug() == "escalation")
    };
    assert!(found(""));
    assert!(!found(
        "require all one in rights (one.right == READ) or me.right == OWN else 403 not-yours"
    ));
}

#[test]
fn what_a_list_points_to_is_read_as_carefully_as_one_item() {
    let read = |by: &str, how: &str, rest: &str| {
        // A PUT that writes nothing is a mistake of its own.
        let method = if rest.contains("update") { "PUT" } else { "GET" };
        let input = if how.contains("ids") { "input ids list(1..9) of id unique\n" } else { "" };
        format!(
            "{method} /trap/{{roomId}}\n{input}room = get Room strong else 404 not-found\n\
             allow {by}\nboxes = query Box strong where PK = \"ROOM#{{roomId}}\" and SK begins_with \"BOX#\" first 9\n\
             shelves = get Shelf(sku = {how}\n{rest}"
        )
    };
    let warden = "caller is warden";
    let owner = "caller owns room.ownerId";
    let of_boxes = "box.boxId) for box in boxes strong";
    let of_ids = "id) for id in ids strong";
    let alone = "GET /trap\ninput ids list(1..9) of id unique\nallow caller is warden\n\
                 shelves = get Shelf(sku = id) for id in ids strong\nreturn shelves";
    assert_eq!(broken(alone), [""; 0]);
    assert_eq!(broken(&read(owner, of_boxes, "return shelves")), [""; 0]);
    // Anyone's shelves.
    let foreign = read(owner, of_ids, "return shelves with { boxes = count(boxes) }");
    assert!(broken(&foreign).contains(&"foreign-allow"), "{:?}", broken(&foreign));
    // A decision by what may have changed.
    let decided = read(
        warden,
        of_boxes,
        "require sum(shelves.left) < 5 else 409 full\nupdate room set revision = .revision + 1 if unchanged else retry\n\
         return room",
    );
    assert!(broken(&decided).contains(&"unpinned"), "{:?}", broken(&decided));
    let eventual = read(
        warden,
        "box.boxId) for box in boxes",
        "require count(shelves) < 5 else 409 full\nreturn room",
    );
    assert!(broken(&eventual).contains(&"eventual-decision"), "{:?}", broken(&eventual));
    let both = read(warden, "box.boxId) for box in boxes in 0..3", "return shelves");
    assert_ne!(broken(&both), [""; 0]);
    let cost = format!("{}\ncost 1 rcu, 0 wcu", read(owner, of_boxes, "return shelves"));
    assert_eq!(broken(&cost), ["cost"]);
    let many = "GET /trap\ninput ids list(1..101) of id unique\nallow caller is warden\n\
                shelves = get Shelf(sku = id) for id in ids strong\nreturn shelves";
    assert_eq!(broken(many), ["unbounded"]);
}
