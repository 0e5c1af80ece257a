//! `latchkey call`

use std::sync::Arc;

use latchkey_runtime::{Caller, Outcome, RawInput, Source, System, SystemSource};
use latchkey_table::Text;
use latchkey_table::render::Rendered;
use latchkey_value::{json, time};

use crate::Failure;
use crate::arguments::Call;
use crate::document::{self, refuse_unknown_roles};
use crate::running::{Reach, Running};

pub(crate) fn run(arguments: Call, colour: bool) -> Result<(), Failure> {
    let documents = document::all(&arguments.documents)?;
    let systems = arguments.kept.storage.place(document::systems(&documents, colour)?)?;
    refuse_unknown_roles(&arguments.roles, &systems)?;
    let call = call(&arguments)?;
    let ids: Vec<Text> =
        systems.iter().flat_map(|system| system.contracts()).map(|one| one.id.clone()).collect();
    let mut systems = systems.into_iter();
    let has = |system: &System| system.contracts().any(|one| one.id == arguments.contract);
    let Some(system) = systems.find(has) else {
        return Err(Failure::Unusable(format!(
            "there is no contract `{}`; there are {}",
            arguments.contract,
            ids.join(", ")
        )));
    };
    let (kept, data) = (&arguments.kept, &arguments.kept.data);
    if !kept.storage.dynamodb && !data.join("store.redb").exists() {
        eprintln!("note: `{}` has no store yet, so a new one is made in it", data.display());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = runtime.map_err(Failure::unusable)?.block_on(async {
        let source: Arc<dyn Source> = Arc::new(SystemSource);
        let documents = &arguments.documents;
        let running = Running::start(kept, documents, vec![system], &source, Reach::Others).await?;
        let Some(runtime) = running.runtimes.first() else {
            return Err(Failure::unusable("this is a bug in latchkey: the system did not start"));
        };
        Ok::<_, Failure>(runtime.call(call).await)
    })?;
    show(&outcome);
    if outcome.status() < 400 { Ok(()) } else { Err(Failure::Printed) }
}

fn call(arguments: &Call) -> Result<latchkey_runtime::Call, Failure> {
    let texts = |all: &[String]| all.iter().map(|one| Text::from(one.as_str())).collect();
    let caller = Caller {
        id: arguments.caller.as_str().into(),
        roles: texts(&arguments.roles),
        orgs: texts(&arguments.orgs),
    };
    let mut call = latchkey_runtime::Call::new(arguments.contract.as_str(), caller);
    for input in &arguments.inputs {
        let wrong = || Failure::Unusable(format!("`{input}` is neither NAME=TEXT nor NAME:=JSON"));
        let (name, value) = input.split_once('=').ok_or_else(wrong)?;
        let (name, given) = match name.strip_suffix(':') {
            Some(name) => {
                let value = json::read(value.as_bytes(), json::Limits::default());
                let value =
                    value.map_err(|error| Failure::Unusable(format!("`{name}`: {error}")))?;
                (name, RawInput::Json(value))
            }
            None => (name, RawInput::Text(value.into())),
        };
        call.inputs.push((name.into(), given));
    }
    if let Some(at) = &arguments.at {
        let instant = time::parse(at);
        let wrong = || Failure::Unusable(format!("`{at}` is not an RFC 3339 time"));
        call.at = Some(instant.ok_or_else(wrong)?);
    }
    call.idempotency_key = arguments.idempotency_key.as_deref().map(Text::from);
    call.trace = arguments.trace;
    Ok(call)
}

/// The trace to standard error, the answer to standard output.
fn show(outcome: &Outcome) {
    for step in &outcome.trace {
        match Rendered::of(&step.request) {
            Ok(rendered) => {
                eprintln!("{}: {} ({})", rendered.operation(), step.outcome, step.capacity);
                eprintln!("{}\n", rendered.to_json());
            }
            Err(error) => eprintln!("{} ({}): {error}\n", step.outcome, step.capacity),
        }
    }
    eprintln!("{} ({})", outcome.status(), outcome.capacity);
    let body = outcome.body();
    let read = json::read(body.as_bytes(), json::Limits { levels_max: json::LEVELS_CEILING });
    let shown = read.map_or_else(|_| body.to_string(), |value| json::pretty(&value));
    // A reader may close the pipe before the end.
    println!("{shown}");
}
