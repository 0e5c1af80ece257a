//! Runs examples on a new DynamoDB table.

use std::sync::Arc;

use latchkey_dynamodb::TableError;
use latchkey_example::{self as example, Report, Target, TargetError};
use latchkey_runtime::{Source, System, SystemSource};
use latchkey_table::Schema;
use tokio::signal::unix::{SignalKind, signal};

use super::unusable;
use crate::arguments::{Remote, Test};
use crate::document::Document;

/// Runs the examples of a document on a new DynamoDB table, which is always removed afterwards.
pub(super) async fn run(
    arguments: &Test,
    document: &Document,
    system: System,
) -> Result<Report, TargetError> {
    let remote = Remote { endpoint: arguments.endpoint.clone(), tables: Vec::new() };
    let service =
        remote.connect().await.map_err(|failure| TargetError::Unusable(failure.into_reason()))?;
    let name = own_name().map_err(|error| unusable(&error.to_string()))?;
    let system = system.on_table(&name);
    let tables: Vec<Arc<Schema>> = system.tables().cloned().collect();
    let system_name = system.name().to_owned();
    let told = |error: TableError| {
        unusable(&remote.explained(&error, &arguments.documents, &system_name, &name))
    };
    // Fails before the table is made if the service cannot be reached.
    for table in &tables {
        service.difference(table, &[]).await.map_err(told)?;
    }
    let run = async {
        for table in &tables {
            service.make(table, &[], |_| {}).await.map_err(told)?;
        }
        let target = Target::on(system, Arc::new(service.clone())).await?;
        example::run(&document.text, &target).await
    };
    let ran = tokio::select! {
        ran = run => ran,
        () = stopped() => Err(unusable("stopped")),
    };
    for name in tables.iter().map(|table| &table.name) {
        if let Err(error) = service.delete_table(name).await {
            eprintln!("{}: table `{name}` is left behind: {error}", remote.told());
            eprintln!("remove it with `aws dynamodb delete-table --table-name {name}`");
        }
    }
    ran
}

/// A random name for a table.
fn own_name() -> std::io::Result<String> {
    let mut random = [0; 10];
    SystemSource.random(&mut random)?;
    let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("latchkey-test-{random}"))
}

/// Waits until the process is told to stop.
async fn stopped() {
    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let (Ok(mut interrupted), Ok(mut terminated)) = signals else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupted.recv() => {}
        _ = terminated.recv() => {}
    }
}
