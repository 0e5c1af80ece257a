//! `latchkey work`

use std::sync::Arc;
use std::time::Duration;

use latchkey_http::{Limits, Server, Service, Settings};
use latchkey_runtime::{Source, SystemSource};
use latchkey_worker::Meters;

use super::serve::{begin, more_metrics, stopped, until_stopped};
use crate::Failure;
use crate::arguments::{Trust, Work};
use crate::control::Control;
use crate::document::{self, systems};
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
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::unusable)?;
    let worked = runtime.block_on(async {
        let source: Arc<dyn Source> = Arc::new(SystemSource);
        let kept = &arguments.kept;
        let running =
            Running::start(kept, &arguments.documents, systems, &source, Reach::Own).await?;
        work(arguments, logging, running).await
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    worked
}

async fn work(arguments: &Work, logging: &Logging, running: Running) -> Result<(), Failure> {
    let Running { opened, runtimes, local } = running;
    let meters = Arc::new(Meters::new(runtimes.clone()));
    let told = match arguments.listen {
        None => None,
        Some(address) => {
            // Without contracts, the service answers only `/health`, `/ready` and `/metrics`.
            let (log, more) = (Some(logging.log.clone()), Some(more_metrics(&meters)));
            let settings = Settings { log, more_metrics: more, ..Settings::default() };
            let tokens = Secret::find(&arguments.kept.data)?.tokens(&Trust::default())?;
            let service = Service::new(Vec::new(), tokens, settings).map_err(Failure::unusable)?;
            let server =
                Server::listen(address, Limits::default()).await.map_err(Failure::unusable)?;
            Some((server, Arc::new(service)))
        }
    };
    let data = &arguments.kept.data;
    let control = local.as_ref().map(|store| Control::listen(data, &runtimes, store));
    let workers = begin(&meters, &arguments.working).await?;
    let stop = stopped();
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
    if let Some((server, _)) = &told {
        lines.push(format!("  metrics    http://{}/metrics", server.address()));
    }
    logging.told.add(&(lines.join("\n") + "\n"));
    match told {
        None => {
            stop.await;
            workers.stop().await;
        }
        Some((server, service)) => {
            until_stopped((server, None), service, stop, Some(workers)).await;
        }
    }
    drop(control);
    logging.told.add("stopped\n");
    Ok(())
}
