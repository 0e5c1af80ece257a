//! `latchkey work`

use std::sync::Arc;
use std::time::Duration;

use latchkey_embedded::Progress;
use latchkey_http::{Limits, Service, Settings, Starting};
use latchkey_runtime::{Source, SystemSource};
use latchkey_worker::Meters;

use super::serve::{Stop, begin, more_metrics, stopped, unless_stopped};
use crate::Failure;
use crate::arguments::{Trust, Work};
use crate::control::Control;
use crate::document::{self, systems};
use crate::doors::Doors;
use crate::logging::Logging;
use crate::running::{Reach, Running};
use crate::secret::Secret;

pub(crate) fn run(arguments: &Work, colour: bool) -> Result<(), Failure> {
    let logging = Logging::start()?;
    let worked = prepare(arguments, &logging, colour);
    logging.finish();
    worked
}

fn prepare(arguments: &Work, logging: &Logging, colour: bool) -> Result<(), Failure> {
    let documents = document::all(&arguments.documents)?;
    let systems = arguments.kept.storage.place(systems(&documents, colour)?)?;
    if !systems.iter().any(|system| system.queues().any(|queue| queue.worker.is_some())) {
        return Err(Failure::unusable("no document has a worker"));
    }
    let kept = &arguments.kept;
    if !kept.storage.dynamodb && !kept.data.join("store.redb").exists() {
        let data = kept.data.display();
        tracing::warn!(%data, "the data directory has no store yet, so a new one is made in it");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::unusable)?;
    let worked = runtime.block_on(async {
        let source: Arc<dyn Source> = Arc::new(SystemSource);
        let kept = &arguments.kept;
        let progress = Progress::default();
        let mut stop = stopped();
        let doors = open_doors(arguments, &progress).await?;
        let (paths, telling) = (&arguments.documents, (Reach::Own, &progress));
        let starting = Running::start_telling(kept, paths, systems, &source, telling);
        let Some(running) = unless_stopped(&mut stop, starting).await? else {
            if let Some(doors) = doors {
                doors.until_stopped(std::future::ready(()), None).await;
            }
            logging.told.add("stopped\n");
            return Ok(());
        };
        work(arguments, logging, running, (doors, stop)).await
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    worked
}

/// Listens, if there is an address, and has it answered that the process starts.
async fn open_doors(arguments: &Work, progress: &Progress) -> Result<Option<Doors>, Failure> {
    let Some(address) = arguments.listen else { return Ok(None) };
    let progress = progress.clone();
    let starting = Some(Starting::new(move || progress.to_string()));
    let settings = Settings { starting, ..Settings::default() };
    let tokens = Secret::find(&arguments.kept.data)?.tokens(&Trust::default())?;
    let starting = Service::new(Vec::new(), tokens, settings).map_err(Failure::unusable)?;
    Doors::open((address, Limits::default()), None, starting).await.map(Some)
}

async fn work(
    arguments: &Work,
    logging: &Logging,
    running: Running,
    (doors, stop): (Option<Doors>, Stop),
) -> Result<(), Failure> {
    let Running { opened, runtimes, local } = running;
    let meters = Arc::new(Meters::new(runtimes.clone()));
    if let Some(doors) = &doors {
        // Without contracts, the service answers only `/health`, `/ready` and `/metrics`.
        let (log, more) = (Some(logging.log.clone()), Some(more_metrics(&meters)));
        let settings = Settings { log, more_metrics: more, ..Settings::default() };
        let tokens = Secret::find(&arguments.kept.data)?.tokens(&Trust::default())?;
        let service = Service::new(Vec::new(), tokens, settings).map_err(Failure::unusable)?;
        doors.serve(Arc::new(service));
    }
    let data = &arguments.kept.data;
    let control = local.as_ref().map(|store| Control::listen(data, &runtimes, store));
    let workers = begin(&meters, &arguments.working).await?;
    let mut lines = vec![format!("latchkey {}", env!("CARGO_PKG_VERSION"))];
    for runtime in &runtimes {
        let system = runtime.system();
        for queue in system.queues() {
            if let Some(worker) = queue.worker {
                lines.push(format!("  working    {worker} on {}/{}", system.name(), queue.name));
            }
        }
    }
    lines.push(format!("  store      {}", opened.shown));
    if let Some(doors) = &doors {
        lines.push(format!("  metrics    http://{}/metrics", doors.public));
    }
    logging.told.add(&(lines.join("\n") + "\n"));
    match doors {
        None => {
            stop.await;
            workers.stop().await;
        }
        Some(doors) => doors.until_stopped(stop, Some(workers)).await,
    }
    drop(control);
    logging.told.add("stopped\n");
    Ok(())
}
