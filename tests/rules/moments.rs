//! Reads of two moments: chains of calls between them, reads within a `when`, items that are read twice, and keys that
//! do not tell their attribute.

use latchkey_model::check;

const NONE: [&str; 0] = [];

/// The rules that a document breaks. These are parts of documents: `unused` is left aside.
fn told(text: &str) -> Vec<&'static str> {
    let found = check(text).diagnostics;
    found.iter().map(|one| one.rule.slug()).filter(|rule| *rule != "unused").collect()
}

/// A contract of a room, of which everyone may call everything.
fn contract(id: &str, route: &str, steps: &str) -> String {
    let repeat = if route.starts_with("POST") { "\nidempotent by key" } else { "" };
    format!(
        "contract {id} \"{id}\" {{\n{route}\nallow true\n{steps}\nconsistency strong\nexpect 1 item\nrate 1/s{repeat}\n}}\n"
    )
}

/// A document of rooms, each with three numbers that are made together.
fn rooms(contracts: &str) -> String {
    let entity = |name: &str| {
        format!(
            "entity {name} \"{name}\" {{\nPK = \"ROOM#{{roomId}}\"\nSK = \"{name}\"\nroomId id, value int 0..1000000\n\
             madeAt time, version counter\n}}\n"
        )
    };
    let entities = ["Alpha", "Beta", "Delta"].map(entity).concat();
    let put = |name: &str| {
        format!("put {name} {{ roomId, value = 0, madeAt = now }} if absent else 409 there\n")
    };
    let make = contract(
        "C-0",
        "PUT /rooms/{roomId}",
        &format!(
            "transact {{\nmade = {}{}{}}}\nreturn 201 made",
            put("Alpha"),
            put("Beta"),
            put("Delta")
        ),
    );
    format!(
        "```contract\nsystem rooms\ntable Rooms {{ type kind }}\n{entities}{make}{contracts}```\n"
    )
}

/// A contract that raises one number.
fn raise(id: &str, name: &str) -> String {
    let steps = format!(
        "update {name} set value = .value + 1, version = .version + 1 else 404 not-found\nreturn 204"
    );
    contract(id, &format!("POST /rooms/{{roomId}}/{}", id.to_lowercase()), &steps)
}

/// A contract that writes one number by another, in one transaction.
fn copy(id: &str, from: &str, to: &str) -> String {
    let steps = format!(
        "from = get {from} strong else 404 not-found\ntransact {{\ncheck from if unchanged else retry\n\
         update {to} set value = from.value, version = .version + 1 else 404 not-found\n}}\nreturn 204"
    );
    contract(id, &format!("POST /rooms/{{roomId}}/{}", id.to_lowercase()), &steps)
}

/// A contract that raises two numbers in one transaction.
fn raise_both(id: &str, one: &str, other: &str) -> String {
    let bump = "set value = .value + 1, version = .version + 1 else 404 not-found";
    let steps = format!("transact {{\nupdate {one} {bump}\nupdate {other} {bump}\n}}\nreturn 204");
    contract(id, &format!("POST /rooms/{{roomId}}/{}", id.to_lowercase()), &steps)
}

/// A contract that shows two numbers, read with some words between.
fn show(between: &str) -> String {
    let steps = format!(
        "alpha = get Alpha strong else 404 not-found\n{between}\ndelta = get Delta strong else 404 not-found\n\
         return alpha with {{ last = delta.value }}"
    );
    contract("C-9", "GET /rooms/{roomId}", &steps)
}

// The rule followed two calls, and three show the same.
#[test]
fn a_chain_of_calls_comes_between_two_reads() {
    let two = copy("C-2", "Alpha", "Delta");
    let three = copy("C-2", "Alpha", "Beta") + &copy("C-3", "Beta", "Delta");
    for chain in [two, three] {
        let text = rooms(&format!("{}{chain}{}", raise("C-1", "Alpha"), show("")));
        assert_eq!(told(&text), ["stale-answer"]);
        let together = "snapshot {\nalpha = get Alpha else 404 not-found\ndelta = get Delta else 404 not-found\n}\n\
                        return alpha with { last = delta.value }";
        let steps = contract("C-9", "GET /rooms/{roomId}", together);
        let text = rooms(&format!("{}{chain}{steps}", raise("C-1", "Alpha")));
        assert_eq!(told(&text), NONE);
    }
}

#[test]
fn calls_are_bound_by_what_the_first_writes_beside_and_by_what_it_has_read() {
    let beside = raise_both("C-1", "Alpha", "Beta") + &copy("C-2", "Beta", "Delta");
    let read = copy("C-1", "Beta", "Alpha") + &raise_both("C-2", "Beta", "Delta");
    for calls in [beside, read] {
        assert_eq!(told(&rooms(&format!("{calls}{}", show("")))), ["stale-answer"]);
    }
}

#[test]
fn calls_that_have_nothing_to_do_with_each_other_come_in_any_order() {
    let apart = raise("C-1", "Alpha") + &raise("C-2", "Delta") + &show("");
    assert_eq!(told(&rooms(&apart)), NONE);
}

// A commit that only may have happened does not part the reads around it.
#[test]
fn a_write_within_a_when_does_not_part_two_reads() {
    let calls = raise_both("C-1", "Alpha", "Delta");
    let write = "when alpha.roomId == \"x\" {\nupdate Beta set value = 1, version = .version + 1 else 404 not-found\n}";
    let steps = show(write).replace("GET /rooms/{roomId}", "POST /rooms/{roomId}/seen");
    assert_eq!(told(&rooms(&format!("{calls}{steps}"))), ["stale-answer"]);
}

#[test]
fn an_item_that_is_read_twice_and_has_one_counter_was_the_same() {
    let calls = raise_both("C-1", "Alpha", "Delta");
    let again = |test: &str| {
        let steps = format!(
            "alpha = get Alpha strong else 404 not-found\ndelta = get Delta strong else 404 not-found\n\
             still = get Alpha strong else retry\n{test}\nreturn alpha with {{ last = delta.value }}"
        );
        format!("{calls}{}", contract("C-9", "GET /rooms/{roomId}", &steps))
    };
    let version = "require still.version == alpha.version else retry";
    assert_eq!(told(&rooms(&again(version))), NONE);
    assert!(
        told(&rooms(&again("require still.value >= alpha.value else retry")))
            .contains(&"stale-answer")
    );
    // A counter starts again with an item that is made anew, and the time when it was made does not.
    let remove = contract(
        "C-8",
        "DELETE /rooms/{roomId}",
        "transact {\ndelete Alpha if .value is present else 404 not-found\n\
         delete Beta if .value is present else 404 not-found\n\
         delete Delta if .value is present else 404 not-found\n}\nreturn 204",
    );
    assert!(told(&rooms(&(again(version) + &remove))).contains(&"stale-answer"));
    let both = "require still.version == alpha.version and still.madeAt == alpha.madeAt else retry";
    assert_eq!(told(&rooms(&(again(both) + &remove))), NONE);
}

// Only a `put` behind a read that found nothing was looked at.
#[test]
fn a_write_of_an_item_that_was_not_there_loses_its_race_to_whoever_makes_it() {
    let check = |answer: &str| {
        let steps = format!(
            "beta = get Beta strong\nwhen beta is absent {{\n\
             waive unpinned \"only whether it is there\"\ntransact {{\ncheck Beta if .value is absent else {answer}\n\
             update Alpha set value = 0, version = .version + 1 else 404 not-found\n}}\nreturn 204\n}}\nreturn 204"
        );
        rooms(&contract("C-9", "POST /rooms/{roomId}/empty", &steps))
    };
    assert_eq!(told(&check("409 full")), ["stale-answer"]);
    assert_eq!(told(&check("retry")), NONE);
}

// What was tested within a `when` was forgotten behind it.
#[test]
fn a_write_rests_on_what_was_tested_within_a_when() {
    let calls = raise("C-1", "Beta");
    let write = |leg: &str| {
        let steps = format!(
            "input strict bool\nwhen strict {{\nbeta = get Beta strong else 404 no-beta\n\
             require beta.value < 9 else 409 high\n}}\ntransact {{\n{leg}\
             update Alpha set value = .value + 1, version = .version + 1 else 404 not-found\n}}\nreturn 204"
        );
        rooms(&format!("{calls}{}", contract("C-9", "POST /rooms/{roomId}/raise", &steps)))
    };
    assert_eq!(told(&write("")), ["unpinned"]);
    assert_eq!(told(&write("when strict { check Beta if .value < 9 else retry }\n")), NONE);
    assert_eq!(
        told(&write("when not strict { check Beta if .value < 9 else retry }\n")),
        ["unpinned"]
    );
}

// A waiver above a transaction hides more than its reason says.
#[test]
fn a_waiver_above_a_read_is_for_that_read_alone() {
    let calls = raise("C-1", "Alpha") + &raise("C-2", "Beta");
    let write = |waiver: &str, leg: &str| {
        let steps = format!(
            "snapshot {{\n{waiver}alpha = get Alpha else 404 no-alpha\nbeta = get Beta else 404 no-beta\n}}\n\
             require alpha.value < 9 and beta.value < 9 else 409 high\ntransact {{\n{leg}\
             update Delta set value = 1, version = .version + 1 else 404 not-found\n}}\nreturn 204"
        );
        rooms(&format!("{calls}{}", contract("C-9", "POST /rooms/{roomId}/raise", &steps)))
    };
    let why = "waive unpinned \"an old value is as good\"\n";
    let pinned = "check beta if unchanged else retry\n";
    assert_eq!(told(&write("", "")), ["unpinned", "unpinned"]);
    assert_eq!(told(&write(why, "")), ["unpinned"]);
    assert_eq!(told(&write(why, pinned)), NONE);
}

/// A document of cars, each of which guards its fines.
fn cars(form: &str, query: &str) -> String {
    let get = "car = get Car strong else 404 not-found\n";
    let bump = "update car set revision = .revision + 1 if unchanged else retry\n";
    let fine = contract(
        "C-2",
        "PUT /cars/{plate}/fines/{fineId}",
        &format!(
            "{get}fines = query Fine strong where PK = \"CAR#{query}\" and SK begins_with \"FINE#\" first 4\n\
             require count(fines) < 3 else 409 too-many\ntransact {{\n{bump}\
             fine = put Fine {{ plate, fineId, paid = false }} if absent else 409 there\n}}\nreturn 201 fine"
        ),
    );
    let pay = contract(
        "C-3",
        "POST /cars/{plate}/fines/{fineId}/pay",
        &format!(
            "{get}fine = get Fine strong else 404 no-fine\nrequire not fine.paid else 409 paid\ntransact {{\n{bump}\
             update fine set paid = true else retry\n}}\nreturn 204"
        ),
    );
    let all = contract(
        "C-4",
        "DELETE /cars/{plate}/fines/{fineId}",
        &format!(
            "{get}all = query Car, Fine strong where PK = \"CAR#{query}\" first 5\nfines = Fine in all\n\
             require count(fines) < 4 else 409 too-many\ntransact {{\n{bump}\
             delete Fine if .paid is present else 404 no-fine\n}}\nreturn 204"
        ),
    );
    let make = "car = put Car { plate } if absent else 409 there\nreturn 201 car";
    let make = contract("C-1", "PUT /cars/{plate}", make);
    format!(
        "```contract\nsystem cars\ntable Cars {{ type kind }}\n\
         entity Car \"CAR\" {{\nPK = \"CAR#{form}\"\nSK = \"CAR\"\nplate id, revision counter\n}}\n\
         entity Fine \"FINE\" guarded by Car {{\nPK = \"CAR#{form}\"\nSK = \"FINE#{{fineId}}\"\n\
         plate id, fineId id, paid bool\n}}\n{make}{fine}{pay}{all}```\n"
    )
}

// A key that has a text in one case does not tell the text, and was taken for one that tells nothing.
#[test]
fn a_guard_is_found_by_a_key_in_one_case() {
    assert_eq!(told(&cars("{plate}", "{plate}")), NONE);
    assert_eq!(told(&cars("{plate:upper}", "{plate:upper}")), NONE);
    // The items of another plate have another guard.
    let other = cars("{plate:upper}", "{plate:upper}").replace(
        "car = get Car strong else 404 not-found\nfine = get",
        "input otherId id\ncar = get Car(plate = otherId) strong else 404 not-found\nfine = get",
    );
    assert!(told(&other).contains(&"missing-bump"), "{:?}", told(&other));
    assert!(told(&other).contains(&"unpinned"), "{:?}", told(&other));
}
