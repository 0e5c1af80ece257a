//! `latchkey serve`

mod console;
mod demo;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use latchkey_embedded::{Progress, Store};
use latchkey_example::Play;
use latchkey_http::{
    Claims, Explanation, KeySource, MoreMetrics, Provider, Service, Settings, Starting, TestClock,
};
use latchkey_model::Model;
use latchkey_openapi::{Serving, Version};
use latchkey_runtime::{PROBLEM_BASE, Source, Sweeper, System, SystemSource};
use latchkey_worker::{Meters, Workers};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use self::demo::Playing;
use super::openapi;
use crate::arguments::{Serve, Working};
use crate::control::Control;
use crate::document::{self, Document, Planned};
use crate::doors::Doors;
use crate::identity;
use crate::logging::Logging;
use crate::running::{Reach, Running};
use crate::secret::Secret;
use crate::{Failure, counted, handles, surroundings, wide};

/// How long the development token is valid.
pub(super) const TOKEN_LASTS: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) fn run(arguments: Serve, colour: bool) -> Result<(), Failure> {
    handles::refuse_few()?;
    let logging = Logging::start()?;
    let served = prepare(&arguments, &logging, colour);
    logging.finish();
    served
}

fn prepare(arguments: &Serve, logging: &Logging, colour: bool) -> Result<(), Failure> {
    let read = document::all(&arguments.documents)?;
    let planned = document::planned(&read, colour)?;
    arguments.web.refuse_shared(arguments.listen)?;
    if arguments.demo {
        demo::refuse(arguments, &read, &planned)?;
    }
    let on_the_web = on_the_web(arguments, &planned)?;
    let (models, systems) =
        planned.into_iter().map(|planned| (planned.model, planned.system)).unzip();
    let systems = arguments.kept.storage.place(systems)?;
    let secret = match arguments.demo {
        true => Secret::of_one_run()?,
        false => Secret::find(&arguments.kept.data)?,
    };
    let loopback = arguments.listen.ip().is_loopback();
    if secret.development && !loopback {
        return Err(Failure::Unusable(format!(
            "{} is not loopback, and the development secret is for this machine alone; set LATCHKEY_SECRET",
            arguments.listen
        )));
    }
    if arguments.test_clock && !loopback {
        let message = "--test-clock lets callers choose the time; listen on loopback with it";
        return Err(Failure::unusable(message));
    }
    if arguments.test_clock && arguments.kept.queues.sqs {
        return Err(Failure::unusable(
            "--test-clock moves the time of embedded queues, not of SQS",
        ));
    }
    if arguments.working.test_deliveries > 1 && !loopback {
        return Err(Failure::unusable(
            "--test-deliveries is for tests; listen on loopback with it",
        ));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::unusable)?;
    let served = runtime.block_on(async {
        let documents = Documents { read: &read, models };
        let progress = Progress::default();
        let mut stop = stopped();
        // First of all: who watches the process can tell that it lives, however long the store takes to open.
        let doors = open_doors(arguments, &secret, &on_the_web, &progress).await?;
        let starting = start(arguments, &documents, systems, &secret, &progress, colour);
        let Some(started) = unless_stopped(&mut stop, starting).await? else {
            doors.until_stopped(std::future::ready(()), None).await;
            logging.told.add("stopped\n");
            return Ok(());
        };
        serve(arguments, logging, documents, (doors, started, stop), &secret, on_the_web).await
    });
    // Requests have had their time to finish.
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

/// Opens the store and starts the systems.
async fn start(
    arguments: &Serve,
    documents: &Documents<'_>,
    systems: Vec<System>,
    secret: &Secret,
    progress: &Progress,
    colour: bool,
) -> Result<Started, Failure> {
    if arguments.demo {
        let clock = Arc::new(TestClock::new());
        let source: Arc<dyn Source> = clock.clone();
        let running = Running::in_memory(systems, &source, secret).await?;
        let demo = demo::fill(documents, &running.runtimes, &clock, colour).await?;
        return Ok(Started { running, test_clock: None, demo });
    }
    let test_clock = arguments.test_clock.then(|| Arc::new(TestClock::new()));
    let source: Arc<dyn Source> = match test_clock.clone() {
        Some(clock) => clock,
        None => Arc::new(SystemSource),
    };
    let reach = if test_clock.is_some() { Reach::OwnByHand } else { Reach::Own };
    let (kept, paths) = (&arguments.kept, &arguments.documents);
    let running = Running::start_telling(kept, paths, systems, &source, (reach, progress)).await?;
    Ok(Started { running, test_clock, demo: Vec::new() })
}

/// The systems that are served.
struct Started {
    running: Running,
    test_clock: Option<Arc<TestClock>>,
    demo: Vec<Play>,
}

/// The documents that are served: their texts, and what they mean.
struct Documents<'a> {
    read: &'a [Document],
    models: Vec<Model>,
}

async fn serve(
    arguments: &Serve,
    logging: &Logging,
    documents: Documents<'_>,
    (doors, started, stop): (Doors, Started, Stop),
    secret: &Secret,
    settings: Settings,
) -> Result<(), Failure> {
    let Started { running: Running { opened, runtimes, local }, test_clock, demo } = started;
    let tokens = identity::tokens(secret, &arguments.trust, &arguments.identity).await?;
    // Where there is a provider, a token of the development secret is not accepted.
    let known_here = secret.development && tokens.provider().is_none();
    let keys = tokens.provider().cloned();
    let developing = known_here.then_some(&tokens);
    let (read, admin_role) = (documents.read, arguments.web.admin_role());
    let everything = known_here.then(|| console::everything(&runtimes, admin_role));
    let sign = |claims: &Claims| tokens.sign(claims, SystemSource.now(), TOKEN_LASTS);
    let token = everything.as_ref().map(sign).transpose().map_err(Failure::unusable)?;
    let (web, listen, demo_too) = (&arguments.web, doors.public, arguments.demo);
    let site = console::site(web, listen, documents, &runtimes, developing, demo_too)?;
    // The requests of a demo would wash away what the server has told people.
    let log_requests = tracing::enabled!(target: "latchkey::request", tracing::Level::INFO)
        && (demo.is_empty() || Logging::is_asked_for());
    let meters = Arc::new(Meters::new(runtimes.clone()));
    let working = !arguments.no_workers && test_clock.is_none();
    let settings = Settings {
        test_clock,
        log: Some(logging.log.clone()),
        log_requests,
        more_metrics: Some(more_metrics(&meters)),
        site,
        ..settings
    };
    let service = Service::new(runtimes, tokens.clone(), settings).map_err(Failure::unusable)?;
    let service = Arc::new(service);
    let data = &arguments.kept.data;
    let control = local.map(|store| Control::listen(data, service.runtimes(), &store));
    let workers = match working {
        true => Some(begin(&meters, &arguments.working).await?),
        false => None,
    };
    doors.serve(Arc::clone(&service));
    let shown = format!("{}{}", opened.shown, demo::told(&demo));
    let others = match demo.is_empty() {
        true => "`latchkey token --help` makes others",
        false => "in the console you can be others",
    };
    let token = token.as_deref().map(|token| (token, others));
    let told = greeting(read, &shown, &service, &doors, keys, token);
    logging.told.add(&told);
    let playing = Playing::start(read, demo, &service, &tokens);
    // DynamoDB removes expired records itself.
    let sweep = |store: Arc<Store>| tokio::spawn(sweeper(store, &service).run());
    let sweeper = opened.local.clone().map(sweep);
    let attend = |service: Arc<Service>| tokio::spawn(async move { service.attend_site().await });
    let attendant = service.has_site().then(|| attend(Arc::clone(&service)));
    drop(opened);
    drop(service);
    doors.until_stopped(playing.stopped_by(stop), workers).await;
    playing.finish().await;
    drop(control);
    for task in [sweeper, attendant].into_iter().flatten() {
        task.abort();
        // The task holds the store, which closes when nothing uses it.
        let _ = task.await;
    }
    logging.told.add("stopped\n");
    Ok(())
}

fn sweeper(store: Arc<Store>, service: &Service) -> Sweeper {
    let written_before = store.written_before();
    Sweeper::new(store, service.runtimes()).since(written_before)
}

/// Listens, and has it answered that the server starts.
async fn open_doors(
    arguments: &Serve,
    secret: &Secret,
    on_the_web: &Settings,
    progress: &Progress,
) -> Result<Doors, Failure> {
    let progress = progress.clone();
    let settings = Settings {
        starting: Some(Starting::new(move || progress.to_string())),
        cors: on_the_web.cors.clone(),
        watched_apart: on_the_web.watched_apart,
        problem_base: on_the_web.problem_base.clone(),
        ..Settings::default()
    };
    let tokens = secret.tokens(&arguments.trust)?;
    let starting = Service::new(Vec::new(), tokens, settings).map_err(Failure::unusable)?;
    let public = (arguments.listen, arguments.web.limits(arguments.proxies.into()));
    Doors::open(public, arguments.web.admin_listen, starting).await
}

/// What a server tells and grants to those who come from the web.
fn on_the_web(arguments: &Serve, planned: &[Planned]) -> Result<Settings, Failure> {
    let web = &arguments.web;
    let provider = arguments.identity.oidc.as_deref().map(KeySource::oidc).transpose();
    let provider = provider.map_err(Failure::unusable)?;
    let serving = Serving {
        limits_all: arguments.limit_per_caller.is_some(),
        oidc: provider.and_then(|provider| provider.description()),
    };
    let models: Vec<_> = planned.iter().map(|planned| &planned.model).collect();
    let explanations = latchkey_openapi::problem_pages(&models, &serving);
    let explanations = explanations.into_iter().map(|page| {
        let (html, json) = (page.html.into(), page.json.into());
        Explanation { code: page.code, html, json }
    });
    Ok(Settings {
        openapi: openapi::describe(planned, Version::V3_1, &serving).compact(),
        limit_per_caller: arguments.limit_per_caller.clone(),
        proxies: arguments.proxies.into(),
        cors: web.cors()?,
        watched_apart: web.admin_listen.is_some(),
        problem_base: web.problem_base.clone().unwrap_or_else(|| PROBLEM_BASE.to_owned()),
        explanations: explanations.collect(),
        ..Settings::default()
    })
}

/// Starts the workers.
pub(super) async fn begin(meters: &Arc<Meters>, working: &Working) -> Result<Workers, Failure> {
    let (at_once, deliveries) = (working.workers, working.test_deliveries);
    let settings = latchkey_worker::Settings { at_once, deliveries };
    Workers::start(meters, settings).await.map_err(Failure::unusable)
}

/// The metrics of queues.
pub(super) fn more_metrics(meters: &Arc<Meters>) -> MoreMetrics {
    let meters = Arc::clone(meters);
    MoreMetrics::new(move || {
        let meters = Arc::clone(&meters);
        async move { meters.render().await }
    })
}

/// What the server prints once it listens.
fn greeting(
    documents: &[Document],
    store: &str,
    service: &Service,
    doors: &Doors,
    keys: Option<Provider>,
    token: Option<(&str, &str)>,
) -> String {
    let url = format!("http://{}", doors.public);
    let mut lines = vec![format!("latchkey {}", env!("CARGO_PKG_VERSION"))];
    for (document, runtime) in documents.iter().zip(service.runtimes()) {
        let system = runtime.system();
        let (count, table) = (system.contracts().count(), &system.table().name);
        let workers = match system.queues().filter(|queue| queue.worker.is_some()).count() {
            0 => String::new(),
            1 => ", 1 worker".to_owned(),
            count => format!(", {count} workers"),
        };
        lines.push(format!(
            "  serving    {} ({}{workers}) from {}, on table {table}",
            system.name(),
            counted(wide(count), "contract", "contracts"),
            document.path
        ));
    }
    lines.push(format!("  store      {store}"));
    if let Some(keys) = keys {
        lines.push(match keys.is_loaded() {
            true => {
                format!("  identity   {keys}, {}", counted(wide(keys.count()), "key", "keys"))
            }
            false => format!("  identity   {keys}, whose keys are not known yet; the log says why"),
        });
    }
    lines.push(format!("  listening  {url}"));
    let watched = doors.admin.map_or_else(|| url.clone(), |admin| format!("http://{admin}"));
    lines.push(format!("  health     {url}/health  {watched}/ready  {watched}/metrics"));
    lines.push(format!("  openapi    {url}/openapi.json"));
    if service.has_site() {
        lines.push(format!("  console    {watched}/"));
    }
    if let Some((token, others)) = token {
        lines.push(format!("  token      {token}"));
        lines.push(format!("             sub dev, every role, for 24 hours; {others}"));
    }
    lines.join("\n") + "\n"
}

/// Done once the process is told to stop.
pub(super) type Stop = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The hang-ups of the terminal (SIGHUP). Whoever started the process by `nohup` has them ignored, and so they are not
/// heard.
fn hangups() -> std::io::Result<Option<Signal>> {
    match surroundings::ignores_hangups() {
        true => Ok(None),
        false => signal(SignalKind::hangup()).map(Some),
    }
}

/// The next of some signals, if they are heard.
async fn next_of(signals: &mut Option<Signal>) -> Option<()> {
    signals.as_mut()?.recv().await
}

/// Hears from now on whether the process is told to stop. Told once more, it ends at once, whatever it does.
pub(super) fn stopped() -> Stop {
    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()), hangups());
    let (tell, told) = oneshot::channel();
    // A task of its own, since a store that opens keeps its thread.
    tokio::spawn(async move {
        let (Ok(mut interrupted), Ok(mut terminated), Ok(mut hung_up)) = signals else {
            tracing::error!("signals cannot be heard; the server stops when it is killed");
            return;
        };
        let mut next = async || {
            tokio::select! {
                _ = interrupted.recv() => {}
                _ = terminated.recv() => {}
                Some(()) = next_of(&mut hung_up) => {}
            }
        };
        next().await;
        tracing::info!("finishing what was accepted; once more to stop at once");
        // Nobody asks if the process stops anyway.
        let _ = tell.send(());
        next().await;
        std::process::exit(1);
    });
    Box::pin(async {
        if told.await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

/// Starts what is served. Nothing if the process is told to stop before.
pub(super) async fn unless_stopped<T>(
    stop: &mut Stop,
    starting: impl Future<Output = Result<T, Failure>>,
) -> Result<Option<T>, Failure> {
    tokio::select! {
        // What has started is stopped in order.
        biased;
        started = starting => started.map(Some),
        () = stop => Ok(None),
    }
}
