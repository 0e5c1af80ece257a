//! The table *published pattern → contract → how* of a design.

use latchkey_runtime::{System, explain};
use serde_json::Value;

use crate::keys;

/// The requests of DynamoDB that a pattern can be made of.
const OPERATIONS: &[&str] = &[
    "GetItem",
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "Query",
    "Scan",
    "BatchGetItem",
    "TransactGetItems",
    "TransactWriteItems",
];

/// A row of the table.
struct Pattern<'a> {
    published: &'a str,
    contracts: &'a str,
    how: &'a str,
}

/// How many patterns are as they are published, how many are changed, and how many there are not.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Count {
    pub(crate) exact: usize,
    pub(crate) changed: usize,
    pub(crate) not: usize,
}

impl Count {
    pub(crate) fn and(self, other: Count) -> Count {
        Count {
            exact: self.exact + other.exact,
            changed: self.changed + other.changed,
            not: self.not + other.not,
        }
    }

    /// The last cells of a row of the README.
    pub(crate) fn cells(self) -> String {
        format!("| {} | {} | {} |", self.exact, self.changed, self.not)
    }
}

fn patterns(text: &str) -> Vec<Pattern<'_>> {
    let (_, rest) = text.split_once("\n| published pattern | contract | how |\n").unwrap();
    let rows = rest.lines().skip(1).take_while(|line| line.starts_with('|'));
    let found: Vec<Pattern<'_>> = rows.map(pattern).collect();
    assert!(!found.is_empty());
    found
}

fn pattern(row: &str) -> Pattern<'_> {
    let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
    let [published, contracts, how] = cells.try_into().unwrap();
    Pattern { published, contracts, how }
}

/// Counts the patterns of a design. One that is not exact says why.
pub(crate) fn count(text: &str) -> Count {
    let mut count = Count::default();
    for Pattern { published, how, .. } in patterns(text) {
        let (kind, why) = how.split_once([':', ';', ',']).unwrap_or((how, ""));
        match kind {
            "exact" => count.exact += 1,
            "changed" => count.changed += 1,
            _ => {
                assert_eq!(kind, "not", "{published}");
                count.not += 1;
            }
        }
        assert!(kind == "exact" || why.len() > 20, "`{published}` does not say why it is {kind}");
    }
    count
}

/// What stands in backticks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The published requests of a pattern, each with its index.
fn published(text: &str) -> Vec<String> {
    let mut requests: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('`') {
        let (_, behind) = rest.split_at(at + 1);
        let (word, behind) = behind.split_once('`').unwrap();
        rest = behind;
        if !OPERATIONS.contains(&word) {
            continue;
        }
        let index = behind.strip_prefix(" of ").and_then(|behind| code(behind).next());
        requests.push(index.map_or_else(|| word.to_owned(), |index| format!("{word} of {index}")));
    }
    requests
}

/// The requests that a contract makes: those of the table itself, each with its index. The legs of a transaction are
/// one request, and so are the forms of which a call makes one. Two are left out: the record of an `Idempotency-Key`, which only a caller who sends one causes; and the
/// read behind a refused write, which only a service makes that does not say what it refused.
fn asked(system: &System, contract: &str) -> Vec<(String, Value)> {
    let explanation = explain(system, contract).unwrap();
    let of_the_table = explanation.requests().iter().filter(|one| !one.otherwise);
    let of_the_table = of_the_table.filter(|one| !one.json.contains("LATCHKEY#"));
    let mut requests: Vec<(String, Value)> = Vec::new();
    let (mut in_transaction, mut written) = (false, None);
    for request in of_the_table {
        let json: Value = serde_json::from_str(&request.json).unwrap();
        if request.is_leg() {
            if !in_transaction {
                requests.push(("TransactWriteItems".to_owned(), Value::Null));
            }
            in_transaction = true;
            continue;
        }
        in_transaction = false;
        let key = json.get("Key").cloned();
        if request.operation == "GetItem" && key.is_some() && key == written {
            continue;
        }
        written = key.filter(|_| matches!(request.operation, "UpdateItem" | "DeleteItem"));
        let index = json.get("IndexName").and_then(Value::as_str);
        let name = request.operation;
        let name = index.map_or_else(|| name.to_owned(), |index| format!("{name} of {index}"));
        requests.push((name, json));
    }
    requests
}

/// The one request of a pattern has the published conditions on its keys, and no other.
fn keys_are_as_published(contract: &str, published: &str, request: &Value) {
    let (written, asked) = (keys::published(published), keys::asked(request));
    let found = written.iter().filter(|condition| keys::is_asked(condition, &asked)).count();
    let told = written.is_empty() || asked.is_empty() || found == asked.len();
    assert!(told, "{contract} asks for {asked:?}, and published is {published}");
}

/// Every pattern that is exact makes the requests that it was published with, and no other.
pub(crate) fn are_asked_as_published(text: &str) {
    let system = System::read(text).unwrap();
    for pattern in patterns(text) {
        let wanted = published(pattern.published);
        let known = |id: &&str| system.contracts().any(|known| known.id == **id);
        let contracts: Vec<&str> = pattern.contracts.split(", ").filter(known).collect();
        if !pattern.how.starts_with("exact") {
            continue;
        }
        assert_eq!(contracts.is_empty(), wanted.is_empty(), "{}", pattern.published);
        for contract in contracts {
            let (names, requests): (Vec<String>, Vec<Value>) =
                asked(&system, contract).into_iter().unzip();
            assert_eq!(names, wanted, "{contract}: {}", pattern.published);
            if let [request] = requests.as_slice() {
                keys_are_as_published(contract, pattern.published, request);
            }
        }
    }
}
