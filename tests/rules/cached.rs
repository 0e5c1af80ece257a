//! Traps of `cache`: what can be answered from memory, and what never is.

use latchkey_model::check;

const AROUND: &str = include_str!("traps.md");

/// What is said of a contract beside those of `traps.md`, with a cache.
fn said(route: &str, steps: &str, facts: &str) -> Vec<String> {
    let text = format!(
        "{AROUND}\n```contract\ncontract TRAP \"Trap\" {{\n{route}\n{steps}\n\
         consistency {facts}\nexpect 0..9 items\nrate 1/s\n}}\n```\n"
    );
    let found = check(&text).diagnostics;
    found.iter().map(|one| format!("{}: {}", one.rule, one.message)).collect()
}

const NOTHING: [&str; 0] = [];
const DOOR: &str = "GET /trap/{doorId}";
const READ: &str = "allow true\ndoor = get Door else 404 not-found\nreturn door { doorId }";

#[test]
fn how_long_is_a_number_of_whole_seconds() {
    for right in ["1s", "90s", "5m", "12h", "1d", "2000ms"] {
        assert_eq!(said(DOOR, READ, &format!("eventual\ncache {right}")), NOTHING, "{right}");
    }
    for wrong in ["0s", "1500ms", "25h", "2d", "1mo", "1y", "99999999999999999999d"] {
        let message = format!("type: `{wrong}` is not how long a cache can last");
        assert_eq!(said(DOOR, READ, &format!("eventual\ncache {wrong}")), [message]);
    }
    for wrong in ["cache", "cache 30", "cache for 30s", "cache doorId"] {
        let found = said(DOOR, READ, &format!("eventual\n{wrong}"));
        assert!(found.iter().any(|one| one.starts_with("syntax:")), "{wrong}: {found:?}");
    }
}

#[test]
fn a_cache_that_no_call_could_use_is_told() {
    let strong = "undeclared: this read is never answered from a cache";
    let now = "undeclared: no two calls make this read";
    let by_time = |before: &str, from: &str| {
        format!(
            "allow true\n{before}shifts = query Shift\n\
             where PK = \"DOOR#{{doorId}}\" and SK between \"SHIFT#{{{from}}}\" and \"SHIFT#~\" first 9\n\
             return shifts {{ at }}"
        )
    };
    let cases = [
        (
            "GET /trap/{doorId}",
            "allow true\ndoor = get Door strong else 404 x\nreturn door { doorId }".to_owned(),
            "strong\ncache 9s",
            strong,
        ),
        (
            "GET /trap/{doorId}",
            "allow true\nsnapshot {\ndoor = get Door else 404 x\nowned = get OwnerDoor(ownerId = doorId)\n}\n\
             return door { doorId } with { owned = owned is present }"
                .to_owned(),
            "strong\ncache 9s",
            strong,
        ),
        (
            "POST /trap/{doorId}",
            "allow caller is warden\nnote = put Note { doorId, noteId = new ulid } if absent else retry\nreturn 201 note"
                .to_owned(),
            "strong\ncache 9s",
            "undeclared: nothing but a GET is answered from a cache",
        ),
        (
            "GET /trap/{doorId}",
            "allow caller is warden\nnote = put Note { doorId, noteId = new ulid } if absent else retry\nreturn 201 note"
                .to_owned(),
            "strong\ncache 9s",
            "undeclared: a contract that writes is never answered from a cache",
        ),
        (
            "GET /trap/{doorId}",
            "allow true\nreturn with { doorId }".to_owned(),
            "strong\ncache 9s",
            "undeclared: this contract reads nothing that a cache could keep",
        ),
        ("GET /trap/{doorId}", by_time("", "now"), "eventual\ncache 9s", now),
        ("GET /trap/{doorId}", by_time("", "now - 1d"), "eventual\ncache 9s", now),
        (
            "GET /trap/{doorId}",
            by_time("earlier = now - 1d\nmoved = max(earlier, now)\n", "moved"),
            "eventual\ncache 9s",
            now,
        ),
    ];
    for (route, steps, facts, message) in cases {
        let found = said(route, &steps, facts);
        assert!(found.iter().any(|one| one.starts_with(message)), "{steps}: {found:?}");
        // Without the cache, none of this is said.
        let without = said(route, &steps, facts.split('\n').next().unwrap());
        assert!(!without.iter().any(|one| one.starts_with(message)), "{steps}: {without:?}");
    }
}

#[test]
fn a_cache_that_some_call_can_use_is_in_order() {
    let by_part = "allow true\nshifts = query Shift\n\
         where PK = \"DOOR#{doorId}\" and SK begins_with \"SHIFT#{now:hour}\" first 9\nreturn shifts { at }";
    let when = "input sure bool = false\nallow true\ndoor = get Door strong when sure else 404 not-found\n\
                return door { doorId }";
    // `now` beside the read, and in its refusal, is of each call.
    let beside = "allow true\ndoor = get Door else 404 not-found \"not at {now}\"\nreturn door { doorId } with { at = now }";
    // A name may be `cache`.
    let named = "allow true\ncache = get Door else 404 not-found\nreturn cache { doorId }";
    assert_eq!(said(DOOR, named, "eventual\ncache 9s"), NOTHING);
    for steps in [by_part, when, beside] {
        let found = said(DOOR, steps, "eventual\ncache 9s");
        let told: Vec<&String> = found.iter().filter(|one| one.starts_with("undeclared")).collect();
        assert!(told.is_empty(), "{steps}: {told:?}");
    }
    // A waived cache has no effect.
    let strong = "allow true\nwaive undeclared \"to be weaker soon\"\ndoor = get Door strong else 404 x\n\
                  return door { doorId }";
    assert_eq!(said(DOOR, strong, "strong\ncache 9s"), NOTHING);
}

// A chain of names, each used twice, took a look for each way through it.
#[test]
fn a_long_chain_of_names_is_looked_at_once() {
    let mut steps = String::from("allow true\ndoor = get Door else 404 x\nn0 = 1\n");
    for at in 1..120 {
        steps += &format!("n{at} = max(n{0}, n{0})\n", at - 1);
    }
    steps += "other = get Note(doorId, noteId = \"{n119}\")\nreturn door { doorId } with { note = other is present }";
    let found = said(DOOR, &steps, "eventual\ncache 9s");
    assert!(!found.iter().any(|one| one.starts_with("undeclared")), "{found:?}");
}
