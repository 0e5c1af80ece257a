//! Makes, shows and compares the tables of documents on a service.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use latchkey_dynamodb::{Description, DynamoDb, Mismatch, Setting, TableError};
use latchkey_runtime::System;
use latchkey_table::{Schema, Text, ValueType};

use super::remedy::Remedies;
use super::systems;
use crate::Failure;
use crate::arguments::{Remote, Tables};

/// How often the command says what it waits for.
const TELL_EVERY: Duration = Duration::from_secs(5);

pub(super) fn create(tables: Tables, colour: bool) -> Result<(), Failure> {
    Work::new(tables, colour)?.run(Work::create)
}

pub(super) fn describe(tables: Tables, colour: bool) -> Result<(), Failure> {
    Work::new(tables, colour)?.run(Work::describe)
}

pub(super) fn diff(tables: Tables, colour: bool) -> Result<(), Failure> {
    Work::new(tables, colour)?.run(Work::diff)
}

/// What a command does with the tables of systems.
struct Work {
    documents: Vec<PathBuf>,
    remote: Remote,
    systems: Vec<System>,
    /// The tables that this command has made.
    made: RefCell<Vec<Text>>,
}

/// What a command found of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TableState {
    Right,
    Wrong,
}

impl Work {
    fn new(tables: Tables, colour: bool) -> Result<Work, Failure> {
        let Tables { documents, remote } = tables;
        let systems = systems(&documents, &remote, colour)?;
        Ok(Work { documents, remote, systems, made: RefCell::default() })
    }

    /// Does something with each table.
    fn run<F>(&self, each: F) -> Result<(), Failure>
    where
        F: AsyncFn(&Work, &DynamoDb, &System, &Schema) -> Result<TableState, TableError>,
    {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(Failure::unusable)?.block_on(async {
            let service = self.remote.connect().await?;
            let mut right = true;
            let tables = |system| System::tables(system).map(move |table| (system, table));
            for (system, table) in self.systems.iter().flat_map(tables) {
                match each(self, &service, system, table).await {
                    Ok(found) => right &= found == TableState::Right,
                    Err(error) => return Err(Failure::Unusable(self.explained(&error, system))),
                }
            }
            if right { Ok(()) } else { Err(Failure::Printed) }
        })
    }

    fn explained(&self, error: &TableError, system: &System) -> String {
        self.remote.explained(error, &self.documents, system.name(), &system.table().name)
    }

    async fn create(
        &self,
        service: &DynamoDb,
        system: &System,
        schema: &Schema,
    ) -> Result<TableState, TableError> {
        let (name, table) = (system.name(), &schema.name);
        let mut told: Option<Instant> = None;
        let stored = stored(system, schema);
        let made = service.make(schema, &stored, |waiting| {
            if told.is_none_or(|at| at.elapsed() >= TELL_EVERY) {
                eprintln!("{name}: waiting: {}", list(waiting));
                told = Some(Instant::now());
            }
        });
        match made.await {
            Ok(true) => {
                let problems = service.protect(table, system.ttl()).await;
                println!("{name}: made table `{table}`");
                if !self.made.borrow().contains(&system.table().name) {
                    second(system, schema).iter().for_each(|line| println!("{name}: {line}"));
                }
                self.made.borrow_mut().push(table.clone());
                for problem in problems {
                    eprintln!("{name}: {problem}");
                }
                Ok(TableState::Right)
            }
            Ok(false) => {
                println!("{name}: table `{table}` is there, and as it should be");
                Ok(TableState::Right)
            }
            Err(error @ TableError::Differs { .. }) => {
                eprintln!("error: {}", self.explained(&error, system));
                Ok(TableState::Wrong)
            }
            Err(error) => Err(error),
        }
    }

    async fn describe(
        &self,
        service: &DynamoDb,
        system: &System,
        schema: &Schema,
    ) -> Result<TableState, TableError> {
        let table = &schema.name;
        match service.describe(table).await? {
            Some(description) => {
                println!("{}: {}", system.name(), shown(&description));
                Ok(TableState::Right)
            }
            None => {
                let error = TableError::Missing { table: table.to_string() };
                eprintln!("error: {}", self.explained(&error, system));
                Ok(TableState::Wrong)
            }
        }
    }

    async fn diff(
        &self,
        service: &DynamoDb,
        system: &System,
        schema: &Schema,
    ) -> Result<TableState, TableError> {
        let (name, table) = (system.name(), &schema.name);
        let arguments = self.remote.arguments(&self.documents, name, &system.table().name);
        let endpoint = self.remote.endpoint.as_deref();
        let remedies = Remedies { system, schema, arguments: &arguments, endpoint };
        let Some(mismatches) = service.difference(schema, &stored(system, schema)).await? else {
            println!("{name}: there is no table `{table}`; run");
            println!("  latchkey table create{arguments}");
            second(system, schema).iter().for_each(|line| println!("  # {line}"));
            return Ok(TableState::Wrong);
        };
        let mut told: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
        let mut remedies_told = remedies.of(&mismatches);
        if service.recovery(table).await == Setting::Off {
            told.push("point-in-time recovery is off".to_owned());
            remedies_told.push(remedies.recovery());
        }
        match service.expiry(table).await {
            Setting::Off => {
                told.push("records that are over are not removed: time to live is off".to_owned());
                remedies_told.push(remedies.expiry());
            }
            Setting::On(attribute) if attribute != system.ttl() => {
                let ttl = system.ttl();
                told.push(format!("time to live is by `{attribute}`, not `{ttl}`"));
                remedies_told.extend([remedies.no_expiry(&attribute), remedies.expiry()]);
            }
            Setting::On(_) | Setting::Unknown(_) => {}
        }
        if told.is_empty() {
            println!("{name}: table `{table}` is as it should be");
            return Ok(TableState::Right);
        }
        println!("{name}: table `{table}` is not as it should be");
        told.iter().for_each(|one| println!("  {one}"));
        println!("run, one after the other, each when the one before is done:");
        remedies_told.iter().for_each(|one| println!("  {one}"));
        Ok(TableState::Wrong)
    }
}

/// What attributes are stored as in a table of a system. That of Latchkey's own items alone has none of the document.
fn stored(system: &System, schema: &Schema) -> Vec<(Text, ValueType)> {
    match schema.name == system.table().name {
        true => system.places().stored,
        false => Vec::new(),
    }
}

/// What to know before a table is used that is to hold Latchkey's own items, where they may be among those of the
/// document until now.
fn second(system: &System, schema: &Schema) -> Vec<String> {
    let (main, second) = (&system.table().name, &schema.name);
    let places = system.places();
    let moves = places.own.name == *second
        && places.before.is_some_and(|before| before.name == *main && main != second);
    if !moves {
        return Vec::new();
    }
    vec![
        format!("messages, timers and Idempotency-Key records are in `{second}` from now on, no longer in `{main}`"),
        "stop every server of the document before, then start the new ones: they move messages and timers".to_owned(),
        format!(
            "records stay in `{main}`: for a day a call that is repeated with its key may act again; to bring them \
             over, run between the two `latchkey export` with the document before, and `latchkey import --merge` with \
             this one"
        ),
    ]
}

fn list(mismatches: &[Mismatch]) -> String {
    mismatches.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// A table, for people.
fn shown(table: &Description) -> String {
    let mut lines = vec![format!("table `{}`, {}", table.table, table.status)];
    let mut line = |name: &str, value: &str| lines.push(format!("  {name:<10}{value}"));
    line("key", &table.key);
    for index in &table.indexes {
        let (name, key, holds) = (&index.index, &index.key, &index.projection);
        line("index", &format!("{name}: {key}, {holds}, {}", index.status));
    }
    line("billing", &table.billing);
    let setting = |setting: &Setting| match setting {
        Setting::On(by) if by.is_empty() => "on".to_owned(),
        Setting::On(by) => format!("on, by `{by}`"),
        Setting::Off => "off".to_owned(),
        Setting::Unknown(reason) => format!("unknown: {reason}"),
    };
    line("recovery", &setting(&table.recovery));
    line("expiry", &setting(&table.expiry));
    let (items, bytes) = (table.items, table.bytes);
    line("items", &format!("{items}, of {bytes} bytes, when they were last counted"));
    lines.join("\n")
}
