//! A small world for each test: a document, a store in memory, a clock that stands still.

use std::sync::Arc;

use latchkey_embedded::Store;
use latchkey_language::Level;
use latchkey_runtime::{
    Answer, Call, Caller, Mistakes, Options, Outcome, Problem, RawInput, Runtime, Source, System,
};
use latchkey_table::{Consistency, Get, Item, Key, Scan, Text, Value};
use latchkey_value::{json, time};
use proptest::prelude::ProptestConfig;

/// The instant of a call that does not say another: 2026-02-25T10:00:00.000Z.
pub(crate) const NOW: i64 = 1_772_013_600_000;

/// What every contract must state; a line `facts` stands for it.
const FACTS: &str = "consistency eventual\n  expect 0.. items\n  rate 1/s";

/// Declarations as a document: with a system, a table and two roles, and the facts filled in.
pub(crate) fn document(declarations: &str) -> String {
    let declarations = declarations.replace("\n  facts", &format!("\n  {FACTS}"));
    format!(
        "```contract\nsystem reference\n\ntable Reference {{ type kind }}\n\nrole reader\n\
         role clerk implies reader\nrole chief implies clerk\n\n{declarations}\n```\n"
    )
}

/// The rules a document breaks.
pub(crate) fn broken(declarations: &str) -> Vec<String> {
    match System::read(&document(declarations)) {
        Ok(_) => Vec::new(),
        Err(Mistakes(found)) => {
            let errors = found.iter().filter(|one| one.level == Level::Error);
            errors.map(|one| format!("{}: {}", one.rule, one.message)).collect()
        }
    }
}

/// The rules by which the check refuses what a runtime could not keep its word on.
const REFUSING: [&str; 8] = [
    "absent:",
    "type:",
    "forged-key:",
    "moving-index-key:",
    "unpinned:",
    "illegal-move:",
    "filter:",
    "foreign-items:",
];

/// Whether the check refuses a document. A document that is not understood at all is a mistake of the test.
pub(crate) fn refused(declarations: &str) -> bool {
    let found = broken(declarations);
    let meant = |one: &String| REFUSING.iter().any(|rule| one.starts_with(rule));
    assert!(found.iter().all(meant), "{found:?}\n{declarations}");
    !found.is_empty()
}

/// How often a property is tried, unless `PROPTEST_CASES` says otherwise.
pub(crate) fn cases(usual: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig::with_cases(asked.unwrap_or(usual))
}

/// A document being run.
pub(crate) struct World {
    pub(crate) runtime: Runtime,
    pub(crate) store: Arc<Store>,
}

/// Chance that is none: every byte the same, and time that stands still.
#[derive(Debug)]
pub(crate) struct Still(pub(crate) u8);

impl Source for Still {
    fn now(&self) -> i64 {
        NOW
    }

    fn random(&self, bytes: &mut [u8]) -> std::io::Result<()> {
        bytes.fill(self.0);
        Ok(())
    }
}

impl World {
    pub(crate) async fn start(declarations: &str) -> World {
        let source = Options::default().source;
        World::with(declarations, source).await
    }

    /// The world of a document, unless the check refuses it, which keeps any promise.
    pub(crate) async fn perhaps(declarations: &str) -> Option<World> {
        if refused(declarations) { None } else { Some(World::start(declarations).await) }
    }

    pub(crate) async fn with(declarations: &str, source: Arc<dyn Source>) -> World {
        World::of(&document(declarations), source).await
    }

    pub(crate) async fn of(text: &str, source: Arc<dyn Source>) -> World {
        let system = match System::read(text) {
            Ok(system) => system,
            Err(Mistakes(found)) => panic!("the document has mistakes: {found:#?}\n{text}"),
        };
        let store = Store::in_memory(&latchkey_embedded::Options::default()).unwrap();
        World::on(system, Arc::new(store), source).await
    }

    /// The same store under another document.
    pub(crate) async fn again(&self, declarations: &str) -> World {
        let system = System::read(&document(declarations)).map_err(|Mistakes(found)| found);
        World::on(system.unwrap(), self.store.clone(), Options::default().source).await
    }

    pub(crate) async fn on(system: System, store: Arc<Store>, source: Arc<dyn Source>) -> World {
        let options = Options { cursor_secret: b"the same for all tests".to_vec(), source };
        let backend = store.clone();
        let runtime = Runtime::start(system, backend, options).await.unwrap();
        World { runtime, store }
    }

    /// Calls a contract as `alice`, who is a clerk.
    pub(crate) async fn call(&self, contract: &str, inputs: &str) -> Told {
        self.made(call(contract, inputs)).await
    }

    /// Calls a contract and wants an answer of a status.
    pub(crate) async fn ok(&self, contract: &str, inputs: &str) -> serde_json::Value {
        let told = self.call(contract, inputs).await;
        assert!(told.status() < 300, "{contract} {inputs}: {}", told.body());
        told.json()
    }

    pub(crate) async fn made(&self, call: Call) -> Told {
        Told(self.runtime.call(call).await)
    }

    /// An item as it is stored.
    pub(crate) fn stored(&self, partition: &str, sort: &str) -> Option<Item> {
        let table = self.runtime.system().table().clone();
        let key = Key::new(partition, sort);
        self.store.get(&Get { table, key, consistency: Consistency::Strong }).unwrap().item
    }

    /// An attribute of an item as it is stored, as JSON.
    pub(crate) fn attribute(&self, partition: &str, sort: &str, name: &str) -> Option<String> {
        self.stored(partition, sort).and_then(|item| item.get(name).map(written))
    }

    /// Every item whose partition begins so, in the order of their keys.
    pub(crate) fn all(&self, partition_prefix: &str) -> Vec<Item> {
        let table = self.runtime.system().table().clone();
        let prefix = Text::from(partition_prefix);
        let scan = Scan { table, partition_prefix: prefix, after: None, items_max: 10_000 };
        self.store.scan(&scan).unwrap().items
    }
}

/// A call by `alice`, who is a clerk, with the members of a JSON object as inputs.
pub(crate) fn call(contract: &str, inputs: &str) -> Call {
    call_by(Caller::new("alice").role("clerk"), contract, inputs)
}

pub(crate) fn call_by(caller: Caller, contract: &str, inputs: &str) -> Call {
    let read = json::read(inputs.as_bytes(), json::Limits::default());
    let Ok(Value::Map(inputs)) = read else { panic!("no object: {inputs}") };
    let mut call = Call::new(contract, caller);
    call.inputs = inputs.into_iter().map(|(name, value)| (name, RawInput::Json(value))).collect();
    call.at = Some(NOW);
    call
}

pub(crate) fn written(value: &Value) -> String {
    let mut text = String::new();
    json::write(value, &mut text);
    text
}

/// An instant so many milliseconds after [`NOW`], as it is written.
pub(crate) fn after(milliseconds: i64) -> String {
    time::format(NOW + milliseconds).unwrap().into()
}

/// What a call came to.
#[derive(Debug)]
pub(crate) struct Told(pub(crate) Outcome);

impl Told {
    pub(crate) fn status(&self) -> u16 {
        self.0.status()
    }

    pub(crate) fn body(&self) -> String {
        self.0.body()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body()).unwrap()
    }

    pub(crate) fn answer(&self) -> &Answer {
        self.0.result.as_ref().unwrap_or_else(|problem| panic!("{problem:?}"))
    }

    pub(crate) fn problem(&self) -> &Problem {
        match &self.0.result {
            Err(problem) => problem,
            Ok(answer) => panic!("an answer, and no problem: {answer:?}"),
        }
    }

    /// The status, and the code of the problem if it is one.
    pub(crate) fn told(&self) -> (u16, String) {
        let code = self.0.result.as_ref().err().map(|problem| problem.code.to_string());
        (self.status(), code.unwrap_or_default())
    }

    /// The version in the `ETag`, without the hash of the body where that stands behind it.
    pub(crate) fn version(&self) -> Option<&str> {
        let tag = self.answer().etag.as_deref()?.trim_matches('"');
        Some(tag.split_once('-').map_or(tag, |(version, _)| version))
    }

    /// A member of the body.
    pub(crate) fn member(&self, name: &str) -> serde_json::Value {
        self.json().get(name).cloned().unwrap_or(serde_json::Value::Null)
    }

    pub(crate) fn capacity(&self) -> String {
        self.0.capacity.to_string()
    }
}

/// All of some futures, polled in turn, so that they are under way at the same time.
pub(crate) async fn all_of<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut under_way: Vec<_> =
        futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(move |context| {
        for (future, outcome) in under_way.iter_mut().filter(|(_, outcome)| outcome.is_none()) {
            if let std::task::Poll::Ready(value) = future.as_mut().poll(context) {
                *outcome = Some(value);
            }
        }
        if under_way.iter().any(|(_, outcome)| outcome.is_none()) {
            return std::task::Poll::Pending;
        }
        std::task::Poll::Ready(
            under_way.iter_mut().filter_map(|(_, outcome)| outcome.take()).collect(),
        )
    })
    .await
}

/// A future that dies if it is not done once it was polled so often: whatever it waited for happens, and it
/// never learns of it. Whether it was done.
pub(crate) async fn dies_after(polls: usize, future: impl Future) -> bool {
    let mut future = Box::pin(future);
    let mut left = polls;
    std::future::poll_fn(move |context| {
        if left == 0 {
            return std::task::Poll::Ready(false);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            std::task::Poll::Ready(_) => std::task::Poll::Ready(true),
            std::task::Poll::Pending if left == 0 => std::task::Poll::Ready(false),
            std::task::Poll::Pending => std::task::Poll::Pending,
        }
    })
    .await
}
