//! Where searches start: the states that examples lead to, and the calls they make.

use std::collections::BTreeSet;
use std::sync::Arc;

use latchkey_http::Routes;
use latchkey_language::ast::{Example, ExampleCall, ExampleStep, QueueMode};
use latchkey_language::{Diagnostic, Rule, Span};
use latchkey_model::Model;
use latchkey_queue::Home;
use latchkey_queue::outbox::Record;
use latchkey_runtime::{Call, Caller, Sent};
use latchkey_table::{Key, Text, Value};
use latchkey_value::{json, time};

use crate::act::{Act, Kind, Reply};
use crate::example::History;
use crate::explore::RUNS_MAX;
use crate::group::{Aim, Group, is_once};
use crate::invariant::{self, Broken};
use crate::judge::Court;
use crate::lab::Lab;
use crate::machine::Stuck;
use crate::matching::{Bindings, filled};
use crate::report;
use crate::table::Table;
use crate::way::Alone;

/// The instant an example begins at unless it says another, in milliseconds: 2026-01-01.
pub(crate) const BEGINNING: i64 = 1_767_225_600_000;

/// The seeds of calls that lead to states; those of a search are below.
pub(crate) const SEED: u64 = 1_000;

/// The most messages that are worked off between two requests.
const MESSAGES_MAX: usize = 1_000;

/// A state to start from.
#[derive(Debug, Clone)]
pub(crate) struct State {
    /// What led to it.
    pub(crate) label: String,
    pub(crate) table: Table,
    /// The instant.
    pub(crate) now: i64,
    /// How an example gets there.
    pub(crate) history: History,
}

/// All that is known before a search.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) states: Vec<State>,
    /// Calls, each once.
    pub(crate) calls: Vec<Call>,
    pub(crate) callers: Vec<Caller>,
    /// The contracts whose calls were made from types: no example calls them.
    pub(crate) typed: BTreeSet<String>,
    /// The callers of the examples.
    pub(crate) written: Vec<Caller>,
    /// The instants of the examples.
    pub(crate) instants: Vec<i64>,
    /// What the examples do at once.
    pub(crate) together: Vec<Group>,
}

impl World {
    /// Adds a state, unless it is as the one before.
    pub(crate) fn add(&mut self, label: String, table: &Table, now: i64, history: History) {
        let table = table.settled();
        let same = |last: &State| last.now == now && last.table.items() == table.items();
        if !self.states.iter().any(same) {
            self.states.push(State { label, table, now, history });
        }
    }

    /// Adds a call, unless it is known.
    pub(crate) fn add_call(&mut self, call: &Call) {
        if !self.calls.iter().any(|other| is_same(other, call)) {
            self.calls.push(Call { idempotency_key: None, at: None, ..call.clone() });
        }
        // Who has no token is nobody to a contract that asks for one.
        if !call.caller.id.is_empty() && !self.callers.contains(&call.caller) {
            self.callers.push(call.caller.clone());
        }
    }
}

/// Whether two calls ask the same, in whatever order they give their inputs.
pub(crate) fn is_same(one: &Call, other: &Call) -> bool {
    one.contract == other.contract
        && one.caller == other.caller
        && one.if_match == other.if_match
        && one.inputs.len() == other.inputs.len()
        && one.inputs.iter().all(|input| other.inputs.contains(input))
}

impl World {
    /// Gives an `Idempotency-Key` to the calls of contracts that are `idempotent by key`.
    pub(crate) fn add_keys(&mut self, model: &Model) {
        let by_key = |call: &Call| {
            let contract = model.contracts.iter().find(|own| own.id == call.contract.as_str());
            contract.is_some_and(|contract| contract.facts.by_key.is_some())
        };
        for call in self.calls.iter_mut().filter(|call| by_key(call)) {
            call.idempotency_key = Some("race".into());
        }
    }
}

/// Runs the examples of a document, and keeps the states in between.
pub(crate) fn of_examples(lab: &Lab, examples: &[Example]) -> Result<World, Stuck> {
    Ok(Story::tell(lab, examples, None)?.world)
}

/// Runs the examples of a document, and keeps what is wrong with what they leave.
pub(crate) fn examined(lab: &Lab, examples: &[Example]) -> Result<Vec<Diagnostic>, Stuck> {
    let story = Story::tell(lab, examples, Some(Examined::default()))?;
    Ok(story.examined.map(|examined| examined.found).unwrap_or_default())
}

/// What was found wrong while examples ran.
#[derive(Debug, Default)]
struct Examined {
    found: Vec<Diagnostic>,
    /// The invariants that do not hold by now. Each is told once.
    broken: Vec<Broken>,
}

struct Story<'l> {
    lab: &'l Lab,
    routes: Routes,
    world: World,
    table: Table,
    now: i64,
    caller: Option<Caller>,
    bindings: Bindings,
    modes: Vec<(String, QueueMode)>,
    /// The messages whose queue has answered.
    followed: BTreeSet<Text>,
    seed: u64,
    /// Where the step stands that is done.
    at: Span,
    /// What is wrong so far, where someone asks.
    examined: Option<Examined>,
}

impl<'l> Story<'l> {
    fn tell(
        lab: &'l Lab,
        examples: &[Example],
        examined: Option<Examined>,
    ) -> Result<Story<'l>, Stuck> {
        let routes = Routes::new(&lab.system).map_err(|clash| Stuck(clash.to_string()))?;
        let mut world = World::default();
        world.add("nothing stored".to_owned(), &Table::default(), BEGINNING, History::default());
        let mut story = Story {
            lab,
            routes,
            world,
            table: Table::default(),
            now: BEGINNING,
            caller: None,
            bindings: Bindings::new(),
            modes: Vec::new(),
            followed: BTreeSet::new(),
            seed: SEED,
            at: Span::default(),
            examined,
        };
        for example in examples {
            for step in &example.steps {
                story.step(step)?;
            }
        }
        Ok(story)
    }

    fn step(&mut self, step: &ExampleStep) -> Result<(), Stuck> {
        match step {
            ExampleStep::At(instant) => {
                self.at = instant.span;
                if let Some(now) = time::parse(&instant.node) {
                    self.world.instants.push(now);
                    self.pass(now)?;
                    self.now = now;
                }
            }
            ExampleStep::Together(steps, span) => {
                self.at = *span;
                self.together(steps, *span)?;
                self.follow()?;
                self.pass(self.now)?;
            }
            // Only what is done together says so.
            ExampleStep::Deliver(_) => {}
            ExampleStep::As { id, roles, orgs } => {
                let texts = |names: &[latchkey_language::Name]| {
                    names.iter().map(|name| Text::from(name.node.as_str())).collect()
                };
                let caller =
                    Caller { id: id.node.as_str().into(), roles: texts(roles), orgs: texts(orgs) };
                self.caller = (id.node != "nobody").then_some(caller);
            }
            ExampleStep::Queue(name, mode) => {
                self.at = name.span;
                self.modes.retain(|(queue, _)| *queue != name.node);
                self.modes.push((name.node.clone(), mode.node));
                self.pass(self.now)?;
            }
            ExampleStep::Call(call) => {
                self.at = call.method.span.to(call.path.span);
                self.call(call)?;
                self.follow()?;
                self.pass(self.now)?;
            }
        }
        Ok(())
    }

    /// Adds the state by now.
    fn add(&mut self, label: String, now: i64) {
        let line = Some(line(&self.lab.model.text, self.at));
        let history = History { line, names: self.bindings.clone(), done: Vec::new() };
        self.world.add(label, &self.table, now, history);
    }

    fn mode(&self, queue: &str) -> QueueMode {
        let mode = self.modes.iter().find(|(name, _)| name == queue);
        mode.map_or(QueueMode::Works, |(_, mode)| *mode)
    }

    /// Requests that are made at once: every schedule is looked at, and the examples go on as if they had been made
    /// one after the other.
    fn together(&mut self, steps: &[ExampleStep], span: Span) -> Result<(), Stuck> {
        let mut acts = Vec::new();
        for step in steps {
            match step {
                ExampleStep::At(instant) => {
                    self.now = time::parse(&instant.node).unwrap_or(self.now)
                }
                ExampleStep::As { .. } => self.step(step)?,
                ExampleStep::Call(call) => {
                    if let Some(call) = self.read(call) {
                        self.world.add_call(&call);
                        let key = call.idempotency_key.clone();
                        let call = Call { idempotency_key: key, ..call };
                        acts.push(Act::call(call, self.now));
                    }
                }
                ExampleStep::Deliver(queue) => match self.waiting(&queue.node) {
                    Some(act) => acts.push(act),
                    None => {
                        let message = "no message of this queue waits";
                        let help = "hold it above, and send one: `queue NAME holds`";
                        let diagnostic = Diagnostic::new(Rule::Example, queue.span, message);
                        self.tell_of(diagnostic.help(help));
                    }
                },
                ExampleStep::Queue(..) | ExampleStep::Together(..) => {}
            }
        }
        if !acts.is_empty() {
            if self.examined.is_some() {
                self.judge(&acts, span)?;
            } else {
                self.keep(&acts, span);
            }
        }
        for act in &acts {
            self.run(act)?;
        }
        self.add(
            format!("after `together` of line {}", line(&self.lab.model.text, span)),
            self.now,
        );
        Ok(())
    }

    /// The delivery of the message of a queue that is due first.
    fn waiting(&self, queue: &str) -> Option<Act> {
        let sent =
            self.lab.sent(&self.table).into_iter().filter(|(home, _)| *home.queue() == queue);
        let (home, record) =
            sent.min_by_key(|(_, record)| (record.due(), record.message().id().clone()))?;
        deliver(self.lab, &home, &record, record.due().max(self.now))
    }

    /// Keeps acts that are done at once, with the state that they begin in.
    fn keep(&mut self, acts: &[Act], span: Span) {
        let table = self.table.settled();
        let is_it = |state: &State| state.now == self.now && state.table.items() == table.items();
        let known = self.world.states.iter().position(is_it);
        let state = known.unwrap_or_else(|| {
            let line = line(&self.lab.model.text, span);
            self.add(format!("before `together` of line {line}"), self.now);
            self.world.states.len().saturating_sub(1)
        });
        let aim = if is_once(acts) { Aim::Once } else { Aim::Together };
        self.world.together.push(Group { state, acts: acts.to_vec(), aim, key: 0 });
    }

    /// Looks at every schedule of some acts.
    fn judge(&mut self, acts: &[Act], span: Span) -> Result<(), Stuck> {
        let (label, table) = ("as the examples above leave it".to_owned(), self.table.clone());
        let state = State { label, table, now: self.now, history: History::default() };
        let aim = if is_once(acts) { Aim::Once } else { Aim::Together };
        let group = Group { state: 0, acts: acts.to_vec(), aim, key: 0 };
        let court = Court::of(self.lab, RUNS_MAX);
        let (_, Some(lost)) = court.judge(self.lab, &state.table, &group)? else { return Ok(()) };
        let loss = report::loss(self.lab, &state, &group, &lost)?;
        let message = format!("made at once, these lose something: {}", loss.headline);
        self.tell_of(Diagnostic::new(Rule::Example, span, message).why(loss.table()));
        Ok(())
    }

    fn tell_of(&mut self, diagnostic: Diagnostic) {
        if let Some(examined) = &mut self.examined {
            examined.found.push(diagnostic);
        }
    }

    /// The call of an example, if it is one.
    fn read(&self, call: &ExampleCall) -> Option<Call> {
        let caller = self.caller.clone();
        let fill = |text: &str| filled(text, &self.bindings);
        let body = call.body.as_ref().map(|body| fill(&body.node)).unwrap_or_default();
        let headers = call.headers.iter();
        let headers: Vec<(String, String)> =
            headers.map(|(name, value)| (name.node.clone(), fill(&value.node))).collect();
        let path = fill(&call.path.node);
        self.routes.call(&call.method.node, &path, &headers, body.as_bytes(), caller).ok()
    }

    fn call(&mut self, example: &ExampleCall) -> Result<(), Stuck> {
        let Some(call) = self.read(example) else { return Ok(()) };
        self.world.add_call(&call);
        let told = self.run(&Act::call(call, self.now))?;
        if let Some(told) = told {
            self.bind(example, &told);
        }
        let line = line(&self.lab.model.text, example.method.span);
        let label = format!("after `{} {}` of line {line}", example.method.node, example.path.node);
        self.add(label, self.now);
        Ok(())
    }

    fn bind(&mut self, example: &ExampleCall, told: &Reply) {
        for (name, value) in &example.answer_headers {
            // Of the headers an answer has, the other one that a name can stand for is the path of what was made.
            let etag = name.node.eq_ignore_ascii_case("etag");
            let found = if etag { told.etag.as_ref() } else { told.found_at.as_ref() };
            if let (Some(name), Some(found)) = (value.node.strip_prefix('$'), found) {
                self.bindings.insert(name.to_owned(), found.clone());
            }
        }
        let read = |text: &str| json::read(text.as_bytes(), json::Limits::default()).ok();
        let wanted = example.answer.as_ref().map(|answer| filled(&answer.node, &self.bindings));
        if let (Some(wanted), Some(found)) = (wanted.and_then(|text| read(&text)), read(&told.body))
        {
            bind(&wanted, &found, &mut self.bindings);
        }
    }

    fn run(&mut self, act: &Act) -> Result<Option<Reply>, Stuck> {
        self.seed += 1;
        let alone = Alone::run(self.lab, &self.table, act, self.seed)?;
        self.table = alone.table.settled();
        self.look()?;
        Ok(alone.told)
    }

    /// Looks whether the invariants hold by now.
    fn look(&mut self) -> Result<(), Stuck> {
        let Some(examined) = &mut self.examined else { return Ok(()) };
        let broken = invariant::broken(self.lab, &self.table, self.now)?;
        for breach in broken.iter().filter(|breach| !examined.broken.contains(breach)) {
            let Broken { entity, promise, key, span } = breach;
            let Key { partition, sort } = key;
            let message = format!(
                "behind this, \"{promise}\" does not hold of {entity} `{partition}` `{sort}`"
            );
            let diagnostic = Diagnostic::new(Rule::Example, self.at, message);
            examined.found.push(diagnostic.other(*span, "promised here"));
        }
        examined.broken = broken;
        Ok(())
    }

    /// Does what follows the sends that were made.
    fn follow(&mut self) -> Result<(), Stuck> {
        for (home, record) in self.lab.sent(&self.table) {
            if !self.followed.insert(record.message().id().clone()) {
                continue;
            }
            let refused = self.mode(home.queue()) == QueueMode::Refuses;
            let sent = if refused { Sent::Refused } else { Sent::Accepted };
            let act = follow(&record, sent, self.now);
            self.run(&act)?;
            if refused {
                self.remove(&home, &record);
            }
            let label = format!("after what follows a send to `{}`", home.queue());
            self.add(label, self.now);
        }
        Ok(())
    }

    fn remove(&mut self, home: &Home, record: &Record) {
        self.table.set(record.delete(home).key, None);
        self.table = self.table.settled();
    }

    /// Works off the messages that are due up to an instant.
    fn pass(&mut self, until: i64) -> Result<(), Stuck> {
        let mut put_off: BTreeSet<Text> = BTreeSet::new();
        for _ in 0..MESSAGES_MAX {
            self.follow()?;
            let due = self.lab.sent(&self.table).into_iter().filter(|(home, record)| {
                record.due() <= until
                    && self.mode(home.queue()) != QueueMode::Holds
                    && !put_off.contains(record.message().id())
            });
            let first = due.min_by_key(|(_, record)| (record.due(), record.message().id().clone()));
            let Some((home, record)) = first else { break };
            let now = record.due().max(self.now);
            let Some(act) = deliver(self.lab, &home, &record, now) else {
                put_off.insert(record.message().id().clone());
                continue;
            };
            let told = self.run(&act)?;
            if told.is_some_and(|told| told.code.is_none()) {
                self.remove(&home, &record);
            } else {
                put_off.insert(record.message().id().clone());
            }
            let label = format!("after a message of `{}`", home.queue());
            self.add(label, now);
        }
        Ok(())
    }
}

/// The delivery of a message, if its queue has a worker.
pub(crate) fn deliver(lab: &Lab, home: &Home, record: &Record, now: i64) -> Option<Act> {
    let body = Text::from(lab.worker(home.queue())?);
    let message = Arc::new(record.message().clone());
    Some(Act { kind: Kind::Work { queue: home.queue().clone(), message }, now, body })
}

/// What is done about a message that was tried too often, if something is.
pub(crate) fn give_up(lab: &Lab, home: &Home, record: &Record, now: i64) -> Option<Act> {
    let queues = &lab.model.queues;
    let worker = lab.model.workers.iter().find(|own| *home.queue() == queues[own.queue].name)?;
    let body = Text::from(worker.dead.as_ref()?.id.as_str());
    let message = Arc::new(record.message().clone());
    Some(Act { kind: Kind::Dead { queue: home.queue().clone(), message }, now, body })
}

/// What follows a send.
pub(crate) fn follow(record: &Record, sent: Sent, now: i64) -> Act {
    let said = match sent {
        Sent::Accepted => "accepted",
        Sent::Refused => "refused",
    };
    let body = Text::from(format!("{} {said}", record.send()));
    Act { kind: Kind::Follow { record: Arc::new(record.clone()), sent }, now, body }
}

/// Gives the names of an example to what was answered.
fn bind(wanted: &Value, found: &Value, bindings: &mut Bindings) {
    match (wanted, found) {
        (Value::Map(wanted), Value::Map(found)) => {
            for (name, wanted) in wanted.iter() {
                found.get(name).iter().for_each(|found| bind(wanted, found, bindings));
            }
        }
        (Value::List(wanted), Value::List(found)) => {
            wanted.iter().zip(found).for_each(|(wanted, found)| bind(wanted, found, bindings));
        }
        (Value::Text(wanted), Value::Text(found)) => {
            if let Some(name) = wanted.strip_prefix('$').filter(|name| *name != "absent") {
                bindings.insert(name.to_owned(), found.to_string());
            }
        }
        _ => {}
    }
}

/// The line of a span.
pub(crate) fn line(text: &str, span: Span) -> usize {
    text.get(..span.start).map_or(0, |before| before.matches('\n').count() + 1)
}
