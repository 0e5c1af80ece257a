//! Traps of `limit`: how much and whose, and contracts that can have none.

use latchkey_model::check;

const AROUND: &str = include_str!("traps.md");

/// What is said of a contract beside those of `traps.md`, with a limit.
fn said(contract: &str, allow: &str, limit: &str) -> Vec<String> {
    let text = format!(
        "{AROUND}\n```contract\n{contract} {{\n{allow}\ndoor = get Door else 404 not-found\nreturn door {{ doorId }}\n\
         consistency eventual\nexpect 1 item\nrate 1/s\n{limit}\n}}\n```\n"
    );
    let found = check(&text).diagnostics;
    found.iter().map(|one| format!("{}: {}", one.rule, one.message)).collect()
}

const NOTHING: [&str; 0] = [];
const TRAP: &str = "contract TRAP \"Trap\"";
const ROUTE: &str = "GET /trap/{doorId}\nallow true";
const OPEN: &str = "GET /trap/{doorId}\nallow anyone";

#[test]
fn calls_are_whole_numbers_in_a_time() {
    for right in
        ["1/s per caller", "5/m per address", "20/h per caller burst 1", "1000000/d per caller"]
    {
        assert_eq!(said(TRAP, ROUTE, &format!("limit {right}")), NOTHING, "{right}");
    }
    for wrong in ["0", "1.5", "1000001", "99999999999999999999"] {
        let message = format!("type: `{wrong}` is not a number of calls");
        assert_eq!(
            said(TRAP, ROUTE, &format!("limit {wrong}/s per caller")),
            std::slice::from_ref(&message)
        );
        assert_eq!(said(TRAP, ROUTE, &format!("limit 1/s per caller burst {wrong}")), [message]);
    }
    let unit = "name: there is no unit of time `w`";
    assert_eq!(said(TRAP, ROUTE, "limit 1/w per caller"), [unit]);
    assert_eq!(said(TRAP, ROUTE, "limit 1/s per org"), ["name: there is no limit `org`"]);
    // An id of the path; nothing of the body or the query, which come after calls are counted.
    assert_eq!(said(TRAP, ROUTE, "limit 1000/d per doorId burst 50"), NOTHING);
    let asked = "GET /trap/{doorId}\ninput who id\nrequire who != doorId else 400 same\nallow true";
    let by_query = "type: a limit cannot count by `who`";
    assert_eq!(said(TRAP, asked, "limit 1/s per who"), [by_query]);
    for wrong in [
        "limit",
        "limit 20/s",
        "limit 20 /s per caller",
        "limit 20/s per caller burst",
        "limit 1/s by x",
    ] {
        let found = said(TRAP, ROUTE, wrong);
        assert!(found.iter().any(|one| one.starts_with("syntax:")), "{wrong}: {found:?}");
    }
}

#[test]
fn a_limit_that_counts_nobody_is_told() {
    assert_eq!(said(TRAP, OPEN, "limit 1/s per address"), NOTHING);
    let anyone = "undeclared: a contract that anyone may call does not know its caller";
    assert_eq!(said(TRAP, OPEN, "limit 1/s per caller"), [anyone]);
    let queue = "queue jobs { doorId id }\nworker W-1 \"Work\"";
    let text = format!(
        "{AROUND}\n```contract\n{queue} {{\non jobs {{ doorId }}\ndoor = get Door strong else done\n\
         update door set state = OPEN if unchanged else retry\ndone\n\
         consistency strong\nexpect 1 item\nrate 1/s\nlimit 1/s per caller\n}}\n```\n"
    );
    let found = check(&text).diagnostics;
    let worker = "a worker has no callers to limit";
    assert_eq!(found.iter().filter(|one| one.message == worker).count(), 1, "{found:?}");
}
