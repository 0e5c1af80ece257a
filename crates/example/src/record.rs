//! The recorder: runs the examples of a document in memory, and looks at the table after each step.

mod lease;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hyper::header::{self, HeaderName};
use latchkey_http::Delivered;
use latchkey_model::Model;
use latchkey_runtime::{Ending, Runtime, System, Trace};
use latchkey_table::render::Rendered;
use latchkey_table::{Capacity, Item, Key, KeyNames, Request, Scan, Schema, Text, Value};
use latchkey_value::{json, time};

use crate::blocks::{blocks, line, statement};
use crate::recording::{
    Answered, Asked, Changed, Did, Items, QueueChange, Read, Recording, Step, Waiting, differences,
};
use crate::run::{Called, Event, Run};
use crate::target::{Target, TargetError, unusable};
use crate::watch::Watched;

/// The most steps that are recorded. More are most often messages that send each other.
const STEPS_MAX: usize = 5_000;

/// The most items of a table that are looked at.
const ITEMS_MAX: usize = 50_000;

/// How long a look at the table may take.
const LOOK_TIME_MAX: Duration = Duration::from_secs(10);

/// How the keys of Latchkey's own items begin, and its own attributes.
const HOUSEKEEPING: &str = "LATCHKEY#";

/// The text in place of a secret.
const BLACK: &str = "(secret)";

/// The headers of an answer that are told beside those that an example names.
const TOLD_HEADERS: [HeaderName; 3] = [header::ETAG, header::LOCATION, header::RETRY_AFTER];

/// Runs the examples of a checked document in memory, and records them. It needs a tokio runtime, and takes as long as
/// the examples do: do not await it where others wait.
pub async fn record(model: &Model) -> Result<Recording, TargetError> {
    let system = System::plan(model).map_err(unusable)?;
    let target = Target::watched(system).await?;
    let watched = target.as_watched().ok_or_else(|| unusable("nobody looks on"))?;
    let runtime = watched.runtime()?;
    let mut recorder = Recorder { model, runtime, items: Items::new(), queues: BTreeMap::new() };
    let mut recording = recorder.recording();
    let mut run = Run::new(&model.text, &target);
    recorder.look(watched).await?;
    loop {
        let event = match run.next().await {
            Ok(Some(event)) => event,
            Ok(None) => break,
            Err(TargetError::Unusable(reason) | TargetError::Request(reason)) => {
                recording.cut = Some(reason);
                break;
            }
        };
        if recording.steps.len() == STEPS_MAX {
            recording.cut = Some(format!("only the first {STEPS_MAX} steps are recorded"));
            break;
        }
        let mut step = recorder.step(event, run.block, &run.instant);
        recorder.compare(&mut step, watched).await?;
        recording.steps.push(step);
    }
    Ok(recording)
}

struct Recorder<'a> {
    model: &'a Model,
    runtime: &'a Runtime,
    /// What was in the table when it was last looked at.
    items: Items,
    queues: BTreeMap<String, Waiting>,
}

impl Recorder<'_> {
    /// A recording without steps.
    fn recording(&self) -> Recording {
        let model = self.model;
        let entities = model.entities.iter().map(|entity| {
            let attributes = entity.attributes.iter().map(|attribute| attribute.name.clone());
            (entity.name.clone(), entity.discriminator.clone(), attributes.collect())
        });
        let bodies = model.bodies().into_iter();
        Recording {
            system: model.system.clone(),
            table: self.runtime.system().table().clone(),
            discriminator: model.table.discriminator.clone(),
            entities: entities.collect(),
            titles: bodies.map(|body| (body.id.clone(), body.title.clone())).collect(),
            blocks: blocks(&model.text, &model.examples),
            steps: Vec::new(),
            cut: None,
        }
    }

    /// What happened, as a step without what it changed.
    fn step(&self, event: Event, block: usize, instant: &str) -> Step {
        let step = |did| Step {
            block,
            line: None,
            at: instant.to_owned(),
            did,
            contract: None,
            requests: Vec::new(),
            capacity: Capacity::ZERO,
            statement: None,
            changes: Vec::new(),
            queues: Vec::new(),
        };
        match event {
            Event::Called(called) => {
                let mut called = *called;
                let seen = called.reply.seen.take();
                let at = seen.as_ref().and_then(|seen| seen.at);
                Step {
                    line: Some(line(&self.model.text, called.span.start)),
                    contract: called.reply.contract.clone(),
                    capacity: seen.as_ref().map_or(Capacity::ZERO, |seen| seen.capacity),
                    requests: seen.map_or_else(Vec::new, |seen| self.asked(seen.trace)),
                    statement: at.map(|at| statement(&self.model.text, at)),
                    ..step(self.called(called))
                }
            }
            Event::Worked(worked) => self.worked(worked, step),
            Event::Queue(name, mode) => Step {
                line: Some(line(&self.model.text, name.span.start)),
                ..step(Did::Queue { queue: name.node, mode })
            },
        }
    }

    fn called(&self, called: Called) -> Did {
        let Called { claims, method, path, headers, body, reply, answer_headers, wrong, .. } =
            called;
        let answer = String::from_utf8_lossy(&reply.body).into_owned();
        let code = match json::read(&reply.body, json::Limits::default()) {
            Ok(Value::Map(map)) if reply.status >= 400 => {
                map.get("code").and_then(Value::as_text).map(Text::to_string)
            }
            _ => None,
        };
        let told = |name: &HeaderName| {
            TOLD_HEADERS.contains(name) || answer_headers.iter().any(|own| own == name.as_str())
        };
        let found = reply.headers.iter().filter(|(name, _)| told(name));
        let found = found.map(|(name, value)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        Did::Call(Box::new(Answered {
            caller: claims,
            method,
            path,
            headers,
            body: body.map(|body| self.without_secrets(body)),
            status: reply.status,
            code,
            answer_headers: found.collect(),
            answer: self.without_secrets(answer),
            wrong,
        }))
    }

    /// What a worker did. A run is of one message; where it is of more, they are told together.
    fn worked(&self, worked: Vec<Delivered>, step: impl Fn(Did) -> Step) -> Step {
        let (mut requests, mut capacity, mut endings) = (Vec::new(), Capacity::ZERO, Vec::new());
        let (mut queue, mut tries, mut at, mut failed) = (String::new(), 0, None, false);
        for one in worked {
            let handled = one.handled;
            endings.push(match (&handled.worked.ending, handled.dead) {
                (_, true) => "given up, now a dead letter".to_owned(),
                (Ending::Done, _) => "done".to_owned(),
                (Ending::Later, _) => "put off".to_owned(),
                (Ending::Failed(failure), _) => {
                    format!("failed: {} {}: {}", failure.class, failure.code, failure.message)
                }
            });
            failed |= handled.dead || matches!(handled.worked.ending, Ending::Failed(_));
            requests.extend(self.asked(handled.worked.trace));
            capacity += handled.worked.capacity;
            (queue, tries, at) = (one.queue, one.tries, time::format(one.at));
        }
        let workers = &self.model.workers;
        let worker =
            workers.iter().find(|worker| self.model.queues[worker.queue].name == queue.as_str());
        let did = Did::Work { queue, tries, ended: endings.join("; "), failed };
        let step = step(did);
        Step {
            line: worker.map(|worker| line(&self.model.text, worker.body.span.start)),
            contract: worker.map(|worker| worker.body.id.clone()),
            at: at.map_or_else(|| step.at.clone(), |at| at.to_string()),
            requests,
            capacity,
            ..step
        }
    }

    /// What was asked of the table.
    fn asked(&self, trace: Trace) -> Vec<Asked> {
        let asked = trace.into_iter().map(|mut step| {
            lease::name_leases(&mut step.request);
            let rendered = Rendered::of(&step.request);
            let (operation, json) = match &rendered {
                Ok(rendered) => (rendered.operation(), compact(&rendered.to_json())),
                Err(error) => {
                    ("(no rendering)", serde_json::Value::from(error.to_string()).to_string())
                }
            };
            let reads = self.reads(&step.request);
            Asked { operation, json, outcome: step.outcome, capacity: step.capacity, reads }
        });
        asked.collect()
    }

    /// What a request reads of the document's own items.
    fn reads(&self, request: &Request) -> Vec<Read> {
        let item = |table: &Schema, key: &Key| Read {
            index: None,
            partition: table.key.partition.datum(&key.partition),
            sort: table.key.sort.as_ref().map(|sort| sort.datum(&key.sort)),
        };
        let reads = match request {
            Request::Get(get) => vec![item(&get.table, &get.key)],
            Request::BatchGet(get) => get.keys.iter().map(|key| item(&get.table, key)).collect(),
            Request::SnapshotGet(get) => get.keys.iter().map(|key| item(&get.table, key)).collect(),
            Request::Query(query) => {
                let index = query.index.as_ref().and_then(|name| query.table.index(name));
                let names: &KeyNames = index.map_or(&query.table.key, |index| &index.key);
                let partition = names.partition.datum(&query.partition);
                vec![Read { index: query.index.clone(), partition, sort: None }]
            }
            // A scan of an index reads all of it, and no partition more than another.
            Request::IndexScan(_)
            | Request::Put(..)
            | Request::Update(..)
            | Request::Delete(..)
            | Request::Transact(_) => Vec::new(),
        };
        let is_ours =
            |read: &Read| read.partition.as_text().is_some_and(|own| own.starts_with(HOUSEKEEPING));
        reads.into_iter().filter(|read| !is_ours(read)).collect()
    }

    /// Adds what is different since the step before.
    async fn compare(&mut self, step: &mut Step, watched: &Watched) -> Result<(), TargetError> {
        let (items, queues) = (std::mem::take(&mut self.items), std::mem::take(&mut self.queues));
        self.look(watched).await?;
        step.changes = differences(&items, &self.items);
        for change in &mut step.changes {
            match &mut change.what {
                Changed::Put(item) | Changed::Gone(item) => self.blacken(item),
                Changed::Set(attributes) => {
                    for (_, was, is) in
                        attributes.iter_mut().filter(|(name, ..)| self.is_secret(name))
                    {
                        *was = was.take().map(|_| Value::from(BLACK));
                        *is = is.take().map(|_| Value::from(BLACK));
                    }
                }
            }
        }
        let changed = self.queues.iter().filter_map(|(queue, is)| {
            let was = queues.get(queue).copied().unwrap_or_default();
            (was != *is).then(|| QueueChange { queue: queue.clone(), was, is: *is })
        });
        step.queues = changed.collect();
        Ok(())
    }

    /// Looks at the table and at the queues.
    async fn look(&mut self, watched: &Watched) -> Result<(), TargetError> {
        self.items = self.scan().await?;
        let runtime = watched.runtime()?;
        for info in runtime.system().queues() {
            let Some(queue) = runtime.queue_by_id(info.id).embedded() else { continue };
            let depth = queue.depth().await.map_err(unusable)?;
            let waiting = (depth.visible + depth.delayed + depth.in_flight).counted;
            let dead = queue.letters().await.map_err(unusable)?.counted;
            self.queues.insert(info.name.to_owned(), Waiting { waiting, dead });
        }
        Ok(())
    }

    /// The items of the document: those that Latchkey keeps for itself are left out.
    async fn scan(&self) -> Result<Items, TargetError> {
        let table = self.runtime.system().table();
        let (mut items, mut after) = (Items::new(), None);
        loop {
            let scan = Scan {
                table: table.clone(),
                partition_prefix: Text::default(),
                after: after.take(),
                items_max: Scan::ITEMS_MAX,
            };
            let deadline = Instant::now() + LOOK_TIME_MAX;
            let part = self.runtime.backend().scan(scan, deadline).await.map_err(unusable)?;
            for item in part.items {
                let key = table.key_of(&item).map_err(unusable)?;
                if !key.partition.starts_with(HOUSEKEEPING) {
                    items.insert(key, without_housekeeping(item));
                }
            }
            if items.len() > ITEMS_MAX {
                return Err(unusable(format!("the examples make more than {ITEMS_MAX} items")));
            }
            match part.resume {
                Some(resume) => after = Some(resume),
                None => return Ok(items),
            }
        }
    }

    fn is_secret(&self, name: &str) -> bool {
        self.runtime.system().is_secret(name)
    }

    fn blacken(&self, item: &mut Item) {
        let secret: Vec<Text> = item.iter().map(|(name, _)| name.clone()).collect();
        for name in secret.into_iter().filter(|name| self.is_secret(name)) {
            item.insert(name, BLACK);
        }
    }

    /// A JSON text without the values of secret attributes.
    fn without_secrets(&self, text: String) -> String {
        let Ok(mut value) = json::read(text.as_bytes(), json::Limits::default()) else {
            return text;
        };
        if !self.hide(&mut value) {
            return text;
        }
        let mut hidden = String::new();
        json::write(&value, &mut hidden);
        hidden
    }

    /// Blackens secrets wherever they are in a value. Whether there was one.
    fn hide(&self, value: &mut Value) -> bool {
        match value {
            Value::Map(map) => {
                let names: Vec<Text> = map.iter().map(|(name, _)| name.clone()).collect();
                let mut hidden = false;
                for name in names {
                    if self.is_secret(&name) {
                        map.insert(name, BLACK);
                        hidden = true;
                    } else if let Some(value) = map.get_mut(&name) {
                        hidden |= self.hide(value);
                    }
                }
                hidden
            }
            Value::List(values) => {
                let hidden = values.iter_mut().map(|value| self.hide(value));
                // All of them, not up to the first.
                hidden.filter(|hidden| *hidden).count() > 0
            }
            _ => false,
        }
    }
}

/// An item without the attributes that Latchkey keeps for itself.
fn without_housekeeping(mut item: Item) -> Item {
    let names: Vec<Text> = item.iter().map(|(name, _)| name.clone()).collect();
    for name in names.iter().filter(|name| name.starts_with(HOUSEKEEPING)) {
        item.remove(name);
    }
    item
}

/// A JSON text without the blanks between its tokens.
fn compact(text: &str) -> String {
    let (mut within, mut escaped) = (false, false);
    let kept = text.chars().filter(|c| {
        let blank = !within && c.is_ascii_whitespace();
        match *c {
            _ if escaped => escaped = false,
            '\\' if within => escaped = true,
            '"' => within = !within,
            _ => {}
        }
        !blank
    });
    kept.collect()
}

#[cfg(test)]
mod tests;
