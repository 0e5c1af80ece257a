//! A process of its own for tests that kill it or fill its disk.
//!
//! `store-process create DIR` opens the store in a directory and closes it; `store-process write DIR`
//! writes to it until it is killed, and says on a line of its own what it was told is durable.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its output is its purpose")]

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use latchkey_embedded::{Options, Store};
use latchkey_table::{
    Action, Check, Condition, Consistency, Delete, Get, Item, Key, Leg, Put, Schema, Text,
    Transact, Update, Value,
};

const WRITERS: usize = 8;

/// How many items a writer keeps behind its head.
const KEPT: i64 = 50;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["create", directory] => create(Path::new(directory)),
        ["write", directory] => write(Path::new(directory)),
        _ => Err("usage: store-process create|write DIR".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn create(directory: &Path) -> Result<(), Box<dyn Error>> {
    Store::open(directory, &Options::default())?;
    println!("opened");
    Ok(())
}

fn write(directory: &Path) -> Result<(), Box<dyn Error>> {
    let store = Store::open(directory, &Options::default())?;
    let table = Arc::new(Schema::new("Kill").with_index("GSI1"));
    store.create_table(&table).wait()?;
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (store, table) = (&store, &table);
                scope.spawn(move || write_on(store, table, Text::from(writer.to_string())))
            })
            .collect();
        for writer in writers {
            if let Ok(Err(error)) = writer.join() {
                return Err(error.to_string().into());
            }
        }
        Ok(())
    })
}

/// Adds one item after another, each with a head that counts them, in one transaction.
fn write_on(store: &Store, table: &Arc<Schema>, writer: Text) -> Result<(), latchkey_table::Error> {
    let partition = Text::from(format!("W#{writer}"));
    let key = Key::new(partition.clone(), "HEAD");
    let get = Get { table: Arc::clone(table), key, consistency: Consistency::Strong };
    let head = store.get(&get)?.item;
    let head = head.and_then(|head| head.get("n").and_then(Value::as_number)?.to_i64());
    for n in head.unwrap_or(0) + 1.. {
        store.transact(transaction(table, &partition, n)).wait()?;
        // One call a line, so that a kill cuts at most the last.
        let line = format!("{writer} {n};\n");
        if std::io::stdout().lock().write_all(line.as_bytes()).is_err() {
            break;
        }
    }
    Ok(())
}

fn transaction(table: &Arc<Schema>, partition: &Text, n: i64) -> Transact {
    let table = || Arc::clone(table);
    let key = |sort: String| Key::new(partition.clone(), sort);
    let item_key = |n: i64| key(format!("ITEM#{n:012}"));
    let is_last = match n {
        1 => Condition::Absent("n".into()),
        _ => Condition::equals("n", n - 1),
    };
    let item = Item::from([
        ("PK", Value::Text(partition.clone())),
        ("SK", Value::Text(item_key(n).sort)),
        ("n", Value::from(n)),
        ("GSI1PK", Value::from("ALL")),
        ("GSI1SK", Value::from(format!("{n:012}").as_str())),
        ("filler", Value::from("x".repeat(usize::try_from(n % 7).unwrap_or(0) * 300).as_str())),
    ]);
    let mut legs = vec![
        Leg::Update(Update {
            table: table(),
            key: key("HEAD".to_owned()),
            actions: vec![Action::set("n", n)],
            condition: Some(is_last),
        }),
        Leg::Put(Put { table: table(), item, condition: Some(Condition::Absent("PK".into())) }),
        Leg::Delete(Delete { table: table(), key: item_key(n - KEPT), condition: None }),
    ];
    if n > 1 {
        let condition = Condition::equals("n", n - 1);
        legs.push(Leg::Check(Check { table: table(), key: item_key(n - 1), condition }));
    }
    Transact { legs }
}
