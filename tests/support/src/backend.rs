//! Which backend the suites run on: the store on this machine, or the service that `LATCHKEY_TEST_BACKEND`
//! names, `dynamodb-local` or `dynoxide`.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use serde_json::{Value, json};

use crate::aws;
use crate::latchkey;
use crate::services::{ENVIRONMENT, Kind, Service};

/// The variable that chooses.
const VARIABLE: &str = "LATCHKEY_TEST_BACKEND";

/// The service that holds the tables; none if they are on this machine.
pub fn service() -> Option<&'static Service> {
    // Never dropped: one of our own ends with this process.
    static SERVICE: OnceLock<Option<Service>> = OnceLock::new();
    let service = SERVICE.get_or_init(|| {
        let name = std::env::var(VARIABLE).unwrap_or_default();
        let kind =
            [Kind::DynamoDbLocal, Kind::Dynoxide].into_iter().find(|kind| kind.name() == name);
        assert!(kind.is_some() || ["", "embedded"].contains(&name.as_str()), "{VARIABLE}={name}");
        kind.map(Service::of)
    });
    service.as_ref()
}

/// How many times as long as on this machine's store the same work takes.
pub fn pace() -> u32 {
    match service().map(Service::kind) {
        None => 1,
        Some(Kind::Dynoxide) => 2,
        Some(Kind::DynamoDbLocal) => 6,
    }
}

/// So many rounds of a race, or as many as take no longer.
pub fn rounds(count: usize) -> usize {
    count.div_ceil(usize::try_from(pace()).unwrap())
}

/// A command that keeps items on the backend: `serve` or `call`. Its tables are made, and are those of the
/// data directory: whoever is started on it again meets them.
pub fn on_backend(command: &str, data: &Path, documents: &[PathBuf]) -> Command {
    match service() {
        Some(service) => on(service.endpoint(), command, data, documents),
        None => bare(command, data, documents),
    }
}

/// The same, at this endpoint.
pub fn on(endpoint: &str, command: &str, data: &Path, documents: &[PathBuf]) -> Command {
    let mut started = bare(command, data, documents);
    started.arg("--dynamodb").args(tables(endpoint, data, documents)).envs(ENVIRONMENT);
    started
}

fn bare(command: &str, data: &Path, documents: &[PathBuf]) -> Command {
    let mut started = latchkey();
    started.arg(command).args(documents).arg("--data").arg(data);
    started
}

/// The flags that say where the tables of a data directory are. They are made if they are not there.
fn tables(endpoint: &str, data: &Path, documents: &[PathBuf]) -> Vec<String> {
    static MADE: Mutex<BTreeSet<(PathBuf, Vec<PathBuf>)>> = Mutex::new(BTreeSet::new());
    let mut flags = vec!["--endpoint".to_owned(), endpoint.to_owned()];
    for system in systems(documents) {
        let table = table(data, &system);
        flags.extend(["--table".to_owned(), format!("{system}={table}")]);
    }
    if MADE.lock().unwrap().insert((data.to_owned(), documents.to_vec())) {
        let mut command = latchkey();
        command.args(["table", "create"]).args(documents).args(&flags).envs(ENVIRONMENT);
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the tables are not made: {told}");
        systems(documents).iter().for_each(|system| keep(endpoint, &table(data, system)));
    }
    flags
}

/// Turns the expiry of a table off, and of the one beside it. A service removes what is over by its own clock, and the
/// instants of the tests are long past to it.
fn keep(endpoint: &str, table: &str) {
    let ask = |operation: &str, request: &Value| {
        let target = format!("DynamoDB_20120810.{operation}");
        let answer = aws::ask(endpoint, "dynamodb", &target, request);
        serde_json::from_str::<Value>(&answer).unwrap()
    };
    for name in [table.to_owned(), format!("{table}-latchkey")] {
        // The next name behind one that is just before it.
        let before: String = name.chars().take(name.chars().count() - 1).collect();
        let listed = ask("ListTables", &json!({"ExclusiveStartTableName": before, "Limit": 1}));
        if listed["TableNames"][0] != name {
            continue;
        }
        let told = ask("DescribeTimeToLive", &json!({"TableName": name}));
        if told["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED" {
            let attribute = &told["TimeToLiveDescription"]["AttributeName"];
            let off = json!({"AttributeName": attribute, "Enabled": false});
            ask("UpdateTimeToLive", &json!({"TableName": name, "TimeToLiveSpecification": off}));
        }
    }
}

/// The table of a system, named after the data directory of its server.
pub fn table(data: &Path, system: &str) -> String {
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    format!("{system}-{:016x}", hasher.finish())
}

/// The names of the systems of documents; without any, of those that are shipped.
fn systems(documents: &[PathBuf]) -> Vec<String> {
    let shipped = || {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../systems");
        let files = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
        files.filter(|file| file.extension().is_some_and(|end| end == "md")).collect()
    };
    let documents = if documents.is_empty() { shipped() } else { documents.to_vec() };
    let name = |document: PathBuf| {
        let text = std::fs::read_to_string(&document).unwrap();
        let name = text.lines().find_map(|line| line.strip_prefix("system "));
        assert!(name.is_some(), "{} has no name", document.display());
        name.unwrap().trim().to_owned()
    };
    documents.into_iter().map(name).collect()
}
