//! Traps of the ways to answer: nothing, an item that is not there, anyone, and steps that give what they read.

use latchkey_model::check;

use crate::method;

const AROUND: &str = include_str!("traps.md");

/// What is said of a contract on a door beside those of `traps.md`, and of what is declared with it.
fn said(declared: &str, steps: &str) -> Vec<String> {
    let route = match steps.contains("/trap") {
        true => String::new(),
        false => format!("{} /trap/{{doorId}}\n", method(&format!("{declared}{steps}"))),
    };
    let facts = "consistency strong\nexpect 1 item\nrate 1/s";
    let text = format!(
        "{AROUND}\n```contract\n{declared}\ncontract TRAP \"Trap\" {{\n{route}{steps}\n{facts}\n}}\n```\n"
    );
    let found = check(&text).diagnostics;
    found.iter().map(|one| format!("{}: {}", one.rule, one.message)).collect()
}

fn rules(steps: &str) -> Vec<String> {
    let slug = |said: String| said.split(':').next().unwrap().to_owned();
    said("", steps).into_iter().map(slug).collect()
}

const READ: &str = "door = get Door strong else 404 not-found\n";
const CHANGED: &str = "update door set until = now, version = .version + 1";

#[test]
fn an_empty_answer_says_nothing() {
    let free = "allow true\nnote = put Note { doorId, noteId = new ulid } if absent else retry\n";
    for (answer, message) in [
        ("return 204 note", "syntax: an answer with the status 204 has no body"),
        ("return 204 with { doorId }", "syntax: an answer with the status 204 has no body"),
        ("return 205 note", "syntax: `205` cannot be the status here"),
        ("return", "syntax: expected the name of what is returned"),
        ("return doorId", "name: there is no name `doorId`"),
        (
            "return with { doorId } at /doors/{noteId}",
            "name: `noteId` is no input, and no item is returned that has it",
        ),
    ] {
        let found = said("", &format!("{free}{answer}"));
        assert!(found.iter().any(|said| said.starts_with(message)), "{answer}: {found:?}");
    }
    for answer in
        ["return 204", "return with { doorId }", "return 202 with { doorId } at /doors/{doorId}"]
    {
        assert_eq!(said("", &format!("{free}{answer}")), [""; 0], "{answer}");
    }
}

// What a problem or a `with` shows must be the caller's, also where nothing else is returned.
#[test]
fn values_alone_are_shown_like_an_item() {
    let other = "GET /trap/{doorId}/{deskId}\ndoor = get Door strong else 404 not-found\n\
                 allow caller owns door.ownerId\ndesk = get Desk strong else 404 no-desk\n";
    assert_eq!(rules(&format!("{other}return with {{ of = desk.doorId }}")), ["foreign-allow"]);
    assert_eq!(rules(&format!("{other}return 204")), [""; 0]);
}

#[test]
fn an_absence_is_told_where_it_can_be_told_apart() {
    let cases = [
        (
            "allow caller is warden\nput Note { doorId, noteId = new ulid } if absent else absent 404 x else 409 y\nreturn 204",
            "type: a `put` makes the item where there is none",
        ),
        (
            "door = get Door strong else absent 404 x else 409 y\nallow caller is warden\nreturn door",
            "type: a read fails only if nothing is there",
        ),
        (
            "allow caller is warden\nupdate Door set seenAt = now, version = .version + 1 else absent 404 x\nreturn 204",
            "type: without an `if`, the `else` of an `update` is for an absent item alone",
        ),
        (
            "POST /trap/{doorId}/{noteId}\nallow caller is warden\ndelete Note else absent 404 x else 409 y\nreturn 204",
            "type: a `delete` without an `if` fails only if its item is absent",
        ),
        (
            "allow caller is warden\nupdate Door set seenAt = now, version = .version + 1 if .state == OPEN else absent 404 x\nreturn 204",
            "unmapped-failure: this write can be refused, and nothing answers",
        ),
    ];
    for (steps, message) in cases {
        let found = said("", steps);
        assert!(found.iter().any(|said| said.starts_with(message)), "{steps}: {found:?}");
    }
    let honest = "allow caller is warden\nupdate Door set seenAt = now, version = .version + 1\n\
                  if .state == OPEN else absent 404 not-found else 409 shut\nreturn 204";
    assert_eq!(said("", honest), [""; 0]);
}

// An `else absent` is an answer like every other: the rules look into it.
#[test]
fn the_answer_to_an_absence_is_looked_into() {
    let write = |absent: &str| {
        format!(
            "{READ}allow caller owns door.ownerId\n{CHANGED}\nif unchanged else absent {absent} else retry\nreturn door"
        )
    };
    // `until` is copied into a view.
    let view = |absent: &str| {
        format!(
            "{READ}allow caller owns door.ownerId\ntransact {{\n{CHANGED}\nif unchanged else absent {absent}\n\
             else retry\nput OwnerDoor of door replace\n}}\nreturn door"
        )
    };
    assert_eq!(rules(&write("404 gone")), ["stale-copy"]);
    assert_eq!(rules(&view("404 gone")), [""; 0]);
    let loose =
        "{\nnote = put Note { doorId, noteId = new ulid } if absent else 409 x\nreturn 201 note\n}";
    assert_eq!(rules(&view(loose)), ["unpinned"]);
    let shows = "POST /trap/{doorId}/{deskId}\ndesk = get Desk strong else 404 not-found\n";
    let steps = format!("{shows}{}", view("404 gone with { of = desk.doorId }"));
    assert_eq!(rules(&steps), ["foreign-allow"]);
    let early = format!(
        "{READ}update Door set seenAt = now, version = .version + 1 if .state == OPEN\n\
         else absent 404 x with {{ of = door.zone }} else 409 y\nallow caller owns door.ownerId\nreturn door"
    );
    assert!(rules(&early).contains(&"no-allow".to_owned()));
}

// Two calls that both found the item were both told that they removed it.
#[test]
fn a_delete_that_needs_its_item_happens_once() {
    let remove = |failure: &str| {
        format!(
            "POST /trap/{{doorId}}/{{noteId}}\nnote = get Note strong else 404 not-found\n\
             allow caller is warden\ndelete note{failure}\nreturn 204"
        )
    };
    assert_eq!(rules(&remove("")), ["stale-answer"]);
    assert_eq!(rules(&remove(" else absent 404 not-found")), [""; 0]);
}

#[test]
fn a_read_that_decides_is_counted() {
    let write = |else_: &str, cost: &str| {
        format!(
            "allow caller is warden\nupdate Door set seenAt = now, version = .version + 1 if .state == OPEN {else_}\n\
                 return 204\ncost {cost}"
        )
    };
    assert_eq!(rules(&write("else 409 x", "0 rcu, 5 wcu")), [""; 0]);
    assert_eq!(rules(&write("else absent 404 y else 409 x", "0 rcu, 5 wcu")), ["cost"]);
    assert_eq!(rules(&write("else absent 404 y else 409 x", "1 rcu, 5 wcu")), [""; 0]);
}

#[test]
fn anyone_is_nobody_in_particular() {
    let cases = [
        (
            "allow anyone\nrequire caller.id == \"x\" else 403 y\nreturn 204",
            "name: anyone may call this",
        ),
        ("allow anyone\nallow caller is warden\nreturn 204", "name: anyone may call this"),
        (
            "allow anyone\nallow true\nreturn 204",
            "name: a contract that anyone may call has no other",
        ),
        (
            "allow anyone\nnote = put Note { doorId, noteId = new ulid } if absent else retry\nreturn 201 note",
            "no-allow: this writes for anyone, with a token or without",
        ),
        (
            "allow anyone\ndoor = get Door strong else {\n\
             note = put Note { doorId, noteId = new ulid } if absent else retry\nreturn 201 note\n}\nreturn door",
            "no-allow: this writes for anyone, with a token or without",
        ),
        (
            "allow anyone\ndoor = get Door strong else 404 x\nreturn door\nidempotent by key",
            "undeclared: anyone may call this, so no record can tell",
        ),
        (
            "door = get Door strong else 404 x\nwhen door.state == OPEN { return door }\nallow anyone\nreturn door",
            "no-allow: this answers any caller",
        ),
    ];
    for (steps, message) in cases {
        let found = said("", steps);
        assert!(found.iter().any(|said| said.starts_with(message)), "{steps}: {found:?}");
    }
    let honest = "allow anyone\nwaive no-allow \"a bell has no caller\"\n\
                  note = put Note { doorId, noteId = new ulid } if absent else retry\nreturn 201 note";
    assert_eq!(said("", honest), [""; 0]);
    let read = "GET /trap/{doorId}\nallow anyone\ndoor = get Door strong else 404 x\nreturn door { state }";
    assert_eq!(said("", read), [""; 0]);
}

// An open contract is one that every caller passes: what it writes decides nobody's rights.
#[test]
fn anyone_gives_no_rights() {
    let steps = "input ownerId id, until time\nallow anyone\ndoor = get Door strong else 404 x\n\
                 waive no-allow \"why not\"\ntransact {\n\
                 update door set ownerId = ownerId, until = until, version = .version + 1 if unchanged else retry\n\
                 put OwnerDoor of door replace\n}\nreturn 204";
    assert!(rules(steps).contains(&"escalation".to_owned()), "{:?}", said("", steps));
}

const KEEPER: &str = "steps kept(doorId id) gives door {\n  door = get Door strong else 404 not-found\n  \
                      allow caller owns door.ownerId\n}\n";

#[test]
fn what_steps_give_is_as_if_it_were_read_there() {
    let write = "transact {\nput Note { doorId, noteId = new ulid } if absent else retry\n\
                 check it if unchanged else retry\n}\nreturn it";
    assert_eq!(said(KEEPER, &format!("it = do kept(doorId)\n{write}")), [""; 0]);
    // Nothing pins the owner.
    let loose = "it = do kept(doorId)\nnote = put Note { doorId, noteId = new ulid } if absent else retry\n\
                 return 201 note with { of = it.ownerId }";
    let found = said(KEEPER, loose);
    assert!(
        found.iter().all(|said| said.starts_with("unpinned")) && !found.is_empty(),
        "{found:?}"
    );
    // Twice, under two names.
    let two = "GET /trap/{doorId}/{deskId}\ndesk = get Desk strong else 404 x\na = do kept(doorId)\n\
               b = do kept(desk.doorId)\nreturn a with { other = b.state }";
    let apart = "stale-answer: `b.ownerId` may be of another moment than `a.ownerId`";
    assert_eq!(said(KEEPER, two), [apart]);
    let eventual = KEEPER.replace(" strong", "");
    let found = said(&eventual, &format!("it = do kept(doorId)\n{write}"));
    assert!(found.iter().any(|said| said.starts_with("eventual-decision")), "{found:?}");
}

#[test]
fn steps_give_what_they_make() {
    let cases = [
        (
            KEEPER,
            "door = do kept(doorId)\ndoor = do kept(doorId)\nreturn door",
            "name: `door` has a meaning already",
        ),
        (KEEPER, "doorId = do kept(doorId)\nreturn 204", "name: `doorId` has a meaning already"),
        (
            "steps kept(doorId id) {\n  door = get Door strong else 404 x\n  allow caller owns door.ownerId\n}\n",
            "door = do kept(doorId)\nreturn 204",
            "name: `kept` gives nothing to name",
        ),
        (
            "steps kept(doorId id) gives doorId {\n  allow caller owns doorId\n}\n",
            "it = do kept(doorId)\nreturn 204",
            "name: these steps give `doorId`, and do not make it",
        ),
        (
            "steps kept(doorId id) gives door {\n  allow true\n  when doorId == \"x\" {\n    door = get Door strong else 404 x\n  }\n}\n",
            "it = do kept(doorId)\nreturn 204",
            "name: these steps give `door`, and do not make it",
        ),
        (KEEPER, "do kept(doorId)\nreturn door", "name: there is no name `door`"),
    ];
    for (declared, steps, message) in cases {
        let found = said(declared, steps);
        assert!(found.iter().any(|said| said.starts_with(message)), "{steps}: {found:?}");
    }
    let value = "steps late(doorId id) gives late {\n  door = get Door strong else 404 x\n  \
                 allow caller owns door.ownerId\n  late = door.until\n}\n";
    assert_eq!(said(value, "late = do late(doorId)\nreturn with { late }"), [""; 0]);
}
