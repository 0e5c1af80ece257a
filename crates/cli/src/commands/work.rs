//! `latchkey work`

use std::sync::Arc;
use std::time::Duration;

use latchkey_http::{Server, Service, Settings};
use latchkey_runtime::{Source, SystemSource};
use latchkey_worker::Meters;

use super::serve::{begin, log, more_metrics, stopped, until_stopped};
use crate::Failure;
use crate::arguments::{Trust, Work};
use crate::control::Control;
use crate::document::{self, systems};
use crate::running::{Reach, Running};
use crate::secret::Secret;

pub(crate) fn run(arguments: &Work, colour: bool) -> Result<(), Failure> {
    log();
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
        work(arguments, running).await
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    worked
}

async fn work(arguments: &Work, running: Running) -> Result<(), Failure> {
    let Running { backend, runtimes, local } = running;
    let meters = Arc::new(Meters::new(runtimes.clone()));
    let told = match arguments.listen {
        None => None,
        Some(address) => {
            // Without a contract: health and metrics are all it answers.
            let settings =
                Settings { more_metrics: Some(more_metrics(&meters)), ..Settings::default() };
            let tokens = Secret::find(&arguments.kept.data)?.tokens(&Trust::default())?;
            let service = Service::new(Vec::new(), tokens, settings).map_err(Failure::unusable)?;
            let server = Server::listen(address).await.map_err(Failure::unusable)?;
            Some((server, Arc::new(service)))
        }
    };
    let control = local.is_some().then(|| Control::listen(&arguments.kept.data, &runtimes));
    let workers = begin(&meters, &arguments.working).await?;
    let stop = stopped();
    println!("latchkey {}", env!("CARGO_PKG_VERSION"));
    for runtime in &runtimes {
        let system = runtime.system();
        for queue in system.queues() {
            if let Some(worker) = queue.worker {
                println!("  working    {worker} on {}/{}", system.name(), queue.name);
            }
        }
    }
    println!("  store      {}", arguments.kept.storage.told(&arguments.kept.data, &backend));
    match told {
        None => {
            stop.await;
            workers.stop().await;
        }
        Some((server, service)) => {
            println!("  metrics    http://{}/metrics", server.address());
            until_stopped(server, service, stop, Some(workers)).await;
        }
    }
    drop(control);
    println!("stopped");
    Ok(())
}
