//! `serve --demo`: the demo of each document fills its system, and goes on while the server runs.

use std::sync::Arc;

use latchkey_example::{NotFilled, Play};
use latchkey_http::{Service, TestClock, Tokens};
use latchkey_language::Diagnostic;
use latchkey_runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Documents;
use crate::arguments::Serve;
use crate::document::{Document, Planned};
use crate::{Failure, counted, line_and_column, render, wide};

/// How to write a demo, in a word.
const HOW: &str = "write a block that begins with ```demo, such as\n\n\
  ```demo\n  as alice\n  repeat 20 {\n    POST /doors {\"doorId\": \"D$n\"}\n  }\n  every 2s {\n    as alice\n    \
  GET /doors/D1\n  }\n  ```\n\nor leave --demo out; docs/language.md has the rest";

/// Refuses what a demo cannot be served with.
pub(super) fn refuse(
    arguments: &Serve,
    read: &[Document],
    planned: &[Planned],
) -> Result<(), Failure> {
    let (kept, identity) = (&arguments.kept, &arguments.identity);
    let other = [
        ("--dynamodb", kept.storage.dynamodb, "a demo keeps all in memory"),
        ("--sqs", kept.queues.sqs, "a demo keeps all in memory"),
        ("--test-clock", arguments.test_clock, "a demo happens now"),
        ("--oidc", identity.oidc.is_some(), "the callers of a demo have no tokens of a provider"),
        ("--jwks", identity.jwks.is_some(), "the callers of a demo have no tokens of a provider"),
    ];
    if let Some((flag, _, why)) = other.into_iter().find(|(_, given, _)| *given) {
        return Err(Failure::Unusable(format!("--demo does not go with {flag}: {why}")));
    }
    let bare = read.iter().zip(planned).find(|(_, planned)| planned.model.demos.is_empty());
    match bare {
        None => Ok(()),
        Some((document, _)) => {
            Err(Failure::Unusable(format!("`{}` has no demo: {HOW}", document.path)))
        }
    }
}

/// Fills the systems, one after the other.
pub(super) async fn fill(
    documents: &Documents<'_>,
    runtimes: &[Runtime],
    clock: &Arc<TestClock>,
    colour: bool,
) -> Result<Vec<Play>, Failure> {
    let mut plays = Vec::new();
    for ((document, model), runtime) in documents.read.iter().zip(&documents.models).zip(runtimes) {
        match latchkey_example::fill(&model.demos, runtime, clock).await {
            Ok(play) => plays.push(play),
            Err(NotFilled::Unusable(reason)) => return Err(Failure::Unusable(reason)),
            Err(NotFilled::Refused(refused)) => {
                let shown = render(&document.path, &document.text, &refused, colour);
                return Err(Failure::Mistakes(format!(
                    "{shown}\n\nthe demo is not served: a request that fills it was not answered as it says\n"
                )));
            }
        }
    }
    Ok(plays)
}

/// What the greeting says of a demo.
pub(super) fn told(demo: &[Play]) -> String {
    let requests: usize = demo.iter().map(|play| play.requests).sum();
    let kinds: usize = demo.iter().map(Play::count).sum();
    match demo.is_empty() {
        true => String::new(),
        false => {
            let filled = counted(wide(requests), "request", "requests");
            let going = match kinds {
                0 => String::new(),
                kinds => format!("; requests of {} go on", counted(wide(kinds), "kind", "kinds")),
            };
            format!("\n  demo       filled by {filled}{going}")
        }
    }
}

/// The requests that go on.
pub(super) struct Playing {
    stop: Arc<watch::Sender<bool>>,
    tasks: Vec<JoinSet<()>>,
}

impl Playing {
    /// Starts them. Answers that must not be are logged, with their lines.
    pub(super) fn start(
        read: &[Document],
        demo: Vec<Play>,
        service: &Arc<Service>,
        tokens: &Tokens,
    ) -> Playing {
        let (stop, stopped) = watch::channel(false);
        let tasks = read.iter().zip(demo).map(|(document, play)| {
            let (path, text) = (document.path.clone(), document.text.clone());
            let log = move |wrong: &Diagnostic| {
                let (line, column) = line_and_column(&text, wrong.span.start);
                let place = format!("{path}:{line}:{column}");
                let help = wrong.help.as_deref().unwrap_or_default();
                tracing::error!(place, help, "a request of the demo: {}", wrong.message);
            };
            let log = Arc::new(log);
            play.start(service, tokens, &stopped, move |wrong: &Diagnostic| log(wrong))
        });
        let tasks = tasks.collect();
        Playing { stop: Arc::new(stop), tasks }
    }

    /// The same signal, which stops them too.
    pub(super) fn stopped_by<F: Future<Output = ()>>(
        &self,
        signal: F,
    ) -> impl Future<Output = ()> + use<F> {
        let stop = Arc::clone(&self.stop);
        async move {
            signal.await;
            stop.send_replace(true);
        }
    }

    /// Waits until those under way are answered.
    pub(super) async fn finish(self) {
        self.stop.send_replace(true);
        for mut tasks in self.tasks {
            while tasks.join_next().await.is_some() {}
        }
    }
}
