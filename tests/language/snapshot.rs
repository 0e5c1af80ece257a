//! How `snapshot` is read: as a block of gets where it begins a statement, as a clause behind a get, and as a name.

use latchkey_language::ast::{ClauseKind, Item, StatementKind, Verb};
use latchkey_language::parse;

/// The statements of a contract, each by its kind, and what is wrong with it.
fn read(statements: &str) -> (Vec<String>, Vec<String>) {
    let text = format!("```contract\ncontract A-1 \"Read\" {{\n{statements}\n}}\n```\n");
    let parsed = parse(&text);
    let contract = parsed.document.items.into_iter().find_map(|item| match item {
        Item::Contract(contract) => Some(contract),
        _ => None,
    });
    let body = contract.unwrap().body;
    let kinds = body.iter().map(|statement| kind(&statement.node)).collect();
    (kinds, parsed.diagnostics.into_iter().map(|found| found.message).collect())
}

fn kind(statement: &StatementKind) -> String {
    match statement {
        StatementKind::Snapshot(inner) => {
            let inner: Vec<String> = inner.iter().map(|one| kind(&one.node)).collect();
            format!("snapshot of {}", inner.join(" and "))
        }
        StatementKind::Operate(name, operation) => {
            assert_eq!(operation.verb.node, Verb::Get);
            let is_snapshot = |clause: &ClauseKind| matches!(clause, ClauseKind::Snapshot);
            let at_once = operation.clauses.iter().any(|clause| is_snapshot(&clause.node));
            let name = name.as_ref().map_or("get", |name| name.node.as_str());
            format!("{name}{}", if at_once { " at one instant" } else { "" })
        }
        StatementKind::Return(_) => "return".to_owned(),
        StatementKind::Waive(_) => "waive".to_owned(),
        _ => "another".to_owned(),
    }
}

fn is(statements: &str, kinds: &[&str]) {
    let (found, mistakes) = read(statements);
    assert_eq!(mistakes, [""; 0], "{statements}");
    assert_eq!(found, kinds, "{statements}");
}

#[test]
fn a_block_of_gets_is_one_statement() {
    is(
        "snapshot {\n a = get A else 404 x\n b = get B\n}\nreturn a",
        &["snapshot of a and b", "return"],
    );
    is("snapshot { a = get A\n b = get B else 404 y }", &["snapshot of a and b"]);
    is("snapshot\n{\n a = get A\n b = get B\n}", &["snapshot of a and b"]);
    is(
        "snapshot {\n waive unused \"it is there\"\n get A else 404 x\n b = get B\n}",
        &["snapshot of waive and get and b"],
    );
    // The check says what may stand in it.
    is("snapshot {\n}", &["snapshot of "]);
    is("snapshot {\n allow true\n}", &["snapshot of another"]);
}

#[test]
fn behind_a_get_it_is_a_clause_unless_it_begins_a_block() {
    is("a = get A n in 0..3 snapshot\nreturn a", &["a at one instant", "return"]);
    is("a = get A n in 0..3\n  snapshot\nreturn a", &["a at one instant", "return"]);
    is("a = get A\nsnapshot {\n b = get B\n c = get C\n}", &["a", "snapshot of b and c"]);
    is(
        "a = get A n in 0..3 snapshot\nsnapshot {\n b = get B\n c = get C\n}",
        &["a at one instant", "snapshot of b and c"],
    );
}

#[test]
fn a_snapshot_may_be_a_name() {
    is("snapshot = get A strong\nreturn snapshot", &["snapshot", "return"]);
    is("a = get A\nsnapshot = get B\nreturn a", &["a", "snapshot", "return"]);
}

#[test]
fn what_is_wrong_with_a_block_is_told_once() {
    let (_, mistakes) = read("snapshot a = get A\nreturn a");
    assert_eq!(mistakes.len(), 1, "{mistakes:?}");
    let (kinds, mistakes) = read("snapshot {\n a = got A\n b = get B\n}\nreturn b");
    assert_eq!(mistakes.len(), 1, "{mistakes:?}");
    assert_eq!(kinds.last().map(String::as_str), Some("return"));
}
