//! The backends, and one program on all of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use latchkey_dynamodb::DynamoDb;
use latchkey_embedded::Store;
use latchkey_race::Memory;
use latchkey_runtime::{Call, Caller, Options, RawInput, Runtime, Source, Storage, System};
use latchkey_table::Backend;
use latchkey_testing::services::{Kind, Service};
use proptest::prelude::*;

use super::calls::{CallStep, Program};
use crate::world::client;

/// 2026-02-25T10:00:00.000Z
const BEGINNING: i64 = 1_772_013_600_000;

/// The contracts that list items of an index of which some have the same key there.
const BY_INDEX: [&str; 3] = ["TAGGED", "OWNED", "USER"];

/// The contracts that go through an index in an order of the table's own.
const SCANS: [&str; 2] = ["SCAN", "SIFT"];

/// More pages than any list has.
const PAGES_MAX: usize = 100;

/// A contract, the status it gave and, of a list, whether it went on.
pub(super) type Answered = (&'static str, u16, bool);

/// The services that all programs are compared on.
pub(super) struct World {
    runtime: tokio::runtime::Runtime,
    services: Vec<(Kind, DynamoDb, Service)>,
    programs: RefCell<u64>,
    /// How often each came.
    seen: RefCell<BTreeMap<Answered, u64>>,
}

/// No time and no chance: every backend is given the same.
#[derive(Debug)]
struct Still;

impl Source for Still {
    fn now(&self) -> i64 {
        BEGINNING
    }

    fn random(&self, bytes: &mut [u8]) -> std::io::Result<()> {
        bytes.fill(7);
        Ok(())
    }
}

/// What a call is answered.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    status: u16,
    body: serde_json::Value,
    tag: Option<String>,
}

impl World {
    pub(super) fn start(kinds: &[Kind]) -> World {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let service = |kind: &Kind| {
            let service = Service::of(*kind);
            let client = runtime.block_on(client(service.endpoint()));
            (*kind, client, service)
        };
        let services = kinds.iter().map(service).collect();
        World { runtime, services, programs: RefCell::default(), seen: RefCell::default() }
    }

    /// Runs a program on every backend, call by call.
    pub(super) fn compare(&self, program: &Program) -> Result<(), TestCaseError> {
        let number = {
            let mut programs = self.programs.borrow_mut();
            *programs += 1;
            *programs
        };
        let name = format!("Drawn-{}-{number}", std::process::id());
        self.runtime.block_on(async {
            let all = self.backends(program, &name).await;
            for call in &program.calls {
                match SCANS.contains(&call.contract) {
                    true => self.scan(&all, call).await?,
                    false => self.call(&all, call).await?,
                }
            }
            for (_, client, _) in &self.services {
                for table in system(program, &name).tables() {
                    client.delete_table(&table.name).await.unwrap();
                }
            }
            Ok(())
        })
    }

    /// The document on each backend, on a table of its own.
    async fn backends(&self, program: &Program, name: &str) -> Vec<(String, Runtime)> {
        let store = Store::in_memory(&latchkey_embedded::Options::default()).unwrap();
        let mut backends: Vec<(String, Arc<dyn Backend>)> = vec![
            ("embedded".to_owned(), Arc::new(store)),
            ("memory".to_owned(), Arc::new(Memory::new())),
        ];
        for (kind, client, _) in &self.services {
            // Without the service's own expiry: it knows another time than the calls.
            for table in system(program, name).tables() {
                client.make(table, &[], |_| {}).await.unwrap();
            }
            backends.push((kind.name().to_owned(), Arc::new(client.clone())));
        }
        let mut started = Vec::new();
        for (backend, storage) in backends {
            let options =
                Options { cursor_secret: b"the same for all".to_vec(), source: Arc::new(Still) };
            let system = system(program, name);
            let runtime = Runtime::start(system, Storage::on(storage), options).await.unwrap();
            started.push((backend, runtime));
        }
        started
    }

    /// Makes a call, and reads its list to the end.
    async fn call(&self, all: &[(String, Runtime)], step: &CallStep) -> Result<(), TestCaseError> {
        let mut cursors: Vec<Option<String>> = all.iter().map(|_| None).collect();
        for _ in 0..PAGES_MAX {
            let mut first: Option<Told> = None;
            for ((backend, runtime), cursor) in all.iter().zip(&mut cursors) {
                let mut told = made(runtime, step, cursor.as_deref()).await;
                *cursor = told.body["nextCursor"].as_str().map(str::to_owned);
                // Items with one key in an index come in any order, and a cursor stands at one of them.
                if BY_INDEX.contains(&step.contract) && cursor.is_some() {
                    told.body["nextCursor"] = true.into();
                }
                match &first {
                    None => first = Some(told),
                    Some(first) => prop_assert_eq!(first, &told, "{} of {:?}", backend, step),
                }
            }
            let Some(told) = first else { return Ok(()) };
            let goes_on = cursors.iter().any(Option::is_some);
            let kind = (step.contract, told.status, goes_on);
            *self.seen.borrow_mut().entry(kind).or_default() += 1;
            prop_assert!(told.status < 500, "{:?}: {:?}", step, told);
            if !goes_on {
                return Ok(());
            }
        }
        Err(TestCaseError::fail(format!("a list has no end: {step:?}")))
    }

    /// Reads a scan to its end on each backend: each finds the same items, whatever the order.
    async fn scan(&self, all: &[(String, Runtime)], step: &CallStep) -> Result<(), TestCaseError> {
        let mut first: Option<Vec<String>> = None;
        for (backend, runtime) in all {
            let (mut found, mut cursor, mut pages) = (Vec::new(), None::<String>, 0);
            loop {
                let told = made(runtime, step, cursor.as_deref()).await;
                prop_assert_eq!(told.status, 200, "{} of {:?}: {:?}", backend, step, told.body);
                found
                    .extend(told.body["items"].as_array().unwrap().iter().map(ToString::to_string));
                cursor = told.body["nextCursor"].as_str().map(str::to_owned);
                let kind = (step.contract, told.status, cursor.is_some());
                *self.seen.borrow_mut().entry(kind).or_default() += 1;
                pages += 1;
                prop_assert!(pages <= PAGES_MAX, "a scan has no end: {:?}", step);
                if cursor.is_none() {
                    break;
                }
            }
            found.sort();
            match &first {
                None => first = Some(found),
                Some(first) => prop_assert_eq!(first, &found, "{} of {:?}", backend, step),
            }
        }
        Ok(())
    }

    /// A program that meets nothing compares nothing: each contract does its work and refuses, and lists go on.
    ///
    /// The answers that came less often than `programs` should bring, each with how often it came.
    pub(super) fn too_rare(&self, programs: u64) -> Vec<(Answered, u64)> {
        let mut shares: Vec<(Answered, u64)> = Vec::new();
        for list in ["ALL", "DEALS", "TAGGED"] {
            shares.extend([((list, 200, false), 4), ((list, 200, true), 8)]);
        }
        for (contract, done, refused) in [
            ("ROOM", 201, 409),
            ("NEST", 200, 409),
            ("SEATS", 201, 409),
            ("DEAL", 201, 409),
            ("HOLD", 201, 409),
            ("TURN", 200, 404),
            ("FREE", 204, 404),
            ("TAG", 204, 404),
        ] {
            shares.extend([((contract, done, false), 24), ((contract, refused, false), 60)]);
        }
        for contract in ["EVENTS", "EVERY", "SPAN", "OWNED", "RANKED", "WITH", "SEATED"] {
            shares.push(((contract, 200, true), 60));
        }
        for contract in ["BOTH", "LARGE", "HELD", "SHELF", "SCAN", "SIFT"] {
            shares.extend([((contract, 200, true), 12), ((contract, 200, false), 12)]);
        }
        shares.extend([(("GROW", 200, false), 60), (("GROW", 409, false), 60)]);
        shares.push((("TWO", 200, false), 24));
        for (contract, status) in [("SOME", 200), ("UNDEAL", 204), ("COUNT", 200), ("USER", 200)] {
            shares.push(((contract, status, false), 60));
        }
        let seen = self.seen.borrow();
        let counted = shares.into_iter().map(|(kind, share)| {
            let count = seen.get(&kind).copied().unwrap_or_default();
            (kind, share, count)
        });
        let rare = counted.filter(|(_, share, count)| *count < programs / share);
        rare.map(|(kind, _, count)| (kind, count)).collect()
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} programs; {:?}", self.programs.borrow(), self.seen.borrow())
    }
}

fn system(program: &Program, name: &str) -> System {
    let text = program.design.text();
    let read = System::read(&text);
    read.unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}")).on_table(name)
}

async fn made(runtime: &Runtime, step: &CallStep, cursor: Option<&str>) -> Told {
    let mut call = Call::new(step.contract, Caller::new("ann"));
    let inputs = step.inputs.iter();
    call.inputs =
        inputs.map(|(name, value)| ((*name).into(), RawInput::Json(value.clone()))).collect();
    if let Some(cursor) = cursor {
        call.inputs.push(("nextCursor".into(), RawInput::Json(cursor.into())));
    }
    call.at = Some(BEGINNING + step.at);
    let outcome = runtime.call(call).await;
    let tag = outcome.result.as_ref().ok().and_then(|answer| answer.etag.clone());
    // An answer of 204 has none.
    let body = serde_json::from_str(&outcome.body()).unwrap_or_default();
    Told { status: outcome.status(), body, tag: tag.map(|tag| tag.to_string()) }
}
