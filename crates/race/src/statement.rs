//! The statements that made a loss: those that read what was not, or no longer, so, and those that changed it.

use latchkey_language::Span;
use latchkey_model::model::{
    BindingId, Contract, Entity, ExprKind, Given, Leg, Step, StepKind, Verb, What, each_step,
};
use latchkey_model::{Model, Type};
use latchkey_runtime::RawInput;
use latchkey_table::{Action, Item, Key, Leg as Part, Request, Text, Value};

use crate::act::{Act, Kind};
use crate::conflict::met;
use crate::judge::{Lost, Wrong};
use crate::lab::Lab;
use crate::machine::{Effect, Event, Machine};
use crate::promise::{Breach, filled};
use crate::report::{letter, place};

/// A read, and a write of another act that it did not go by.
pub(crate) struct Stale {
    /// The read, by its place among the events.
    pub(crate) read: usize,
    /// The write.
    pub(crate) write: usize,
    /// The items that both name, and the entity of each as far as it is known.
    items: Vec<(Key, Option<String>)>,
    pub(crate) how: How,
}

/// How a read and a write missed each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// The write came after the read, and before the reader's next commit or its end.
    Later,
    /// The read saw a part of the write.
    Part,
    /// The read is eventual, and did not see the write.
    Old,
}

impl Stale {
    /// What is to be noticed in the row of the read, or of the write.
    pub(crate) fn note(&self, at: usize) -> String {
        let (read, write) = (self.read + 1, self.write + 1);
        match (self.how, at == self.read) {
            (How::Later, true) => {
                let key = self.items.first().map(|(key, _)| place(key)).unwrap_or_default();
                format!("{key} is changed in {write}")
            }
            (How::Later, false) => format!("changes what was read in {read}"),
            (How::Part, true) => format!("sees a part of {write}"),
            (How::Part, false) => format!("{read} sees a part of this"),
            (How::Old, true) => format!("does not see {write}"),
            (How::Old, false) => format!("{read} does not see this"),
        }
    }
}

/// The reads of a run that missed a write of another act.
pub(crate) fn stale_reads(lab: &Lab, machine: &Machine<'_>) -> Vec<Stale> {
    let events = &machine.events;
    let mut all = Vec::new();
    for (read, event) in events.iter().enumerate().filter(|(_, event)| !event.request.writes()) {
        let of_others = |(at, other): (usize, &Event)| {
            let items =
                if other.who == event.who { Vec::new() } else { items(lab, machine, event, at) };
            (!items.is_empty()).then_some((at, items))
        };
        if event.apart {
            // The newest that has to do with the read: an older one may have been seen.
            let how = if event.request.is_eventual() { How::Old } else { How::Part };
            let before = events.iter().enumerate().take(read).rev();
            let missed = before.filter_map(of_others).next();
            all.extend(missed.map(|(write, items)| Stale { read, write, items, how }));
        }
        let later = events.iter().enumerate().skip(read + 1);
        let within = later.take_while(|(_, other)| {
            other.who != event.who || !matches!(other.effect, Effect::Committed(_))
        });
        let later = within.filter_map(of_others);
        all.extend(later.map(|(write, items)| Stale { read, write, items, how: How::Later }));
    }
    all
}

/// The items that a write changed, if it happened, and that a read looks at.
fn items(
    lab: &Lab,
    machine: &Machine<'_>,
    read: &Event,
    write: usize,
) -> Vec<(Key, Option<String>)> {
    let is_commit = |event: &&Event| matches!(event.effect, Effect::Committed(_));
    let Some(event) = machine.events.get(write).filter(is_commit) else { return Vec::new() };
    let Some(before) = machine.versions.get(commits(machine, write)) else { return Vec::new() };
    let met = met(&event.request, &read.request, before).into_iter();
    met.map(|key| (key.clone(), kind(lab, machine, write, &key))).collect()
}

/// How many commits were made before an event.
fn commits(machine: &Machine<'_>, at: usize) -> usize {
    let before = machine.events.iter().take(at);
    before.filter(|event| matches!(event.effect, Effect::Committed(_))).count()
}

/// What an item carries in the discriminator before a write, or behind it.
fn kind(lab: &Lab, machine: &Machine<'_>, write: usize, key: &Key) -> Option<String> {
    let commits = commits(machine, write);
    let version = |at: usize| machine.versions.get(at)?.get(key);
    let item = version(commits).or_else(|| version(commits + 1))?;
    Some(item.get(&lab.model.table.discriminator)?.as_text()?.to_string())
}

/// The statements of reads that missed a write, and those of the writes; and those that wrote items of which a promise
/// is broken, or that are otherwise than they should be.
pub(crate) fn statements(
    lab: &Lab,
    acts: &[Act],
    machine: &Machine<'_>,
    stale: &[Stale],
    lost: &Lost,
) -> Vec<(Span, String)> {
    let events = &machine.events;
    let mut told = Told { lab, acts, all: Vec::new() };
    if let Wrong::Broken(Breach::Invariant(broken)) = &lost.wrong {
        told.all.push((broken.span, "this should hold after every commit".to_owned()));
    }
    for one in stale {
        let (Some(read), Some(write)) = (events.get(one.read), events.get(one.write)) else {
            continue;
        };
        let (reads, changes) = match one.how {
            How::Later => ("reads this here", "changes it here"),
            How::Part => ("may see a part of a transaction here", "changes a part here"),
            How::Old => ("may see an older version here", "changes it here"),
        };
        for (key, kind) in &one.items {
            let Some(kind) = kind else { continue };
            told.add(read, key, kind, reads);
            told.add(write, key, kind, changes);
        }
    }
    let wrong: Vec<&Key> = match &lost.wrong {
        Wrong::NoOrder(_) => Vec::new(),
        Wrong::Broken(breach) => vec![breach.key()],
        Wrong::Twice(clean) => lost.outcome.left.differing(clean),
    };
    for (at, event) in events.iter().enumerate() {
        let Effect::Committed(undone) = &event.effect else { continue };
        for (key, _) in undone.iter().filter(|(key, _)| wrong.contains(&key)) {
            if let Some(kind) = kind(lab, machine, at, key) {
                told.add(event, key, &kind, "changes it here");
            }
        }
    }
    told.all
}

struct Told<'a> {
    lab: &'a Lab,
    acts: &'a [Act],
    all: Vec<(Span, String)>,
}

impl Told<'_> {
    /// Adds the statement that asked for an item, with what is told of it, unless it is known.
    fn add(&mut self, event: &Event, key: &Key, kind: &str, text: &str) {
        let Some(act) = self.acts.get(event.who) else { return };
        let body = self.lab.model.bodies().into_iter().find(|body| body.id == act.body.as_str());
        let Some(body) = body else { return };
        let maker = Maker { model: &self.lab.model, body, act, key, kind };
        for span in maker.spans(&event.request) {
            if !self.all.iter().any(|(other, _)| *other == span) {
                self.all.push((span, format!("{} {text}", letter(event.who))));
            }
        }
    }
}

/// What can be done about reads that see a part of a transaction.
pub(crate) fn remedies(events: &[Event], stale: &[Stale]) -> Vec<String> {
    let mut told = Vec::new();
    for one in stale.iter().filter(|one| one.how == How::Part) {
        let batch =
            matches!(events.get(one.read), Some(Event { request: Request::BatchGet(_), .. }));
        let (what, remedy) = match batch {
            true => (
                "several gets at once are read one by one, and may see a part of what is written meanwhile",
                "write `snapshot` behind the `get`",
            ),
            false => (
                "a query may see a part of a transaction",
                "read the items with gets in a `snapshot { … }`",
            ),
        };
        let note = format!(
            "on DynamoDB, {what}: {remedy}, or let a guard decide; reads of the embedded store see all of it or nothing \
             (`--embedded`)"
        );
        if !told.contains(&note) {
            told.push(note);
        }
    }
    told
}

/// Which statement of an act made a request for an item.
struct Maker<'a> {
    model: &'a Model,
    body: &'a Contract,
    act: &'a Act,
    key: &'a Key,
    /// What the item carries in the discriminator.
    kind: &'a str,
}

impl Maker<'_> {
    /// The statements that can have made the request: one, unless two make the very same.
    fn spans(&self, request: &Request) -> Vec<Span> {
        let mut all = Vec::new();
        each_step(&self.body.steps, &mut |step| {
            if self.made(step, request) {
                all.push((step.span, self.is_whole(step, request)));
            }
        });
        let whole = all.iter().any(|(_, whole)| *whole);
        all.into_iter().filter(|(_, own)| *own || !whole).map(|(span, _)| span).collect()
    }

    /// Whether an update of a request does all that a statement always does.
    fn is_whole(&self, step: &Step, request: &Request) -> bool {
        let StepKind::Write(leg) = &step.kind else { return true };
        let actions = match request {
            Request::Update(update, _) => Some(&update.actions),
            Request::Transact(transact) => transact.legs.iter().find_map(|part| match part {
                Part::Update(update) if update.key == *self.key => Some(&update.actions),
                _ => None,
            }),
            _ => None,
        };
        actions.is_none_or(|actions| sets(leg, actions))
    }

    fn made(&self, step: &Step, request: &Request) -> bool {
        let entities = &self.model.entities;
        let of = |entity: &Entity| entity.discriminator == self.kind;
        match &step.kind {
            StepKind::Read(read) if read.entities().any(|entity| of(&entities[entity])) => {
                let alike = match (&read.what, request) {
                    (What::Get(_), Request::Get(_)) => read.snapshot.is_none(),
                    (What::Get(_), Request::SnapshotGet(_)) => read.snapshot.is_some(),
                    (What::Batch(batch), Request::SnapshotGet(_)) => batch.snapshot,
                    (What::Batch(batch), Request::BatchGet(_)) => !batch.snapshot,
                    (What::Query(query), Request::Query(_)) => !query.scans(),
                    (What::Query(query), Request::IndexScan(_)) => query.scans(),
                    _ => false,
                };
                alike
                    && match &read.what {
                        What::Get(key) => self.may_name(&entities[read.entity], key),
                        What::Batch(_) | What::Query(_) | What::Part(_) => true,
                    }
            }
            StepKind::Write(leg) if of(&entities[leg.entity]) => {
                let given = leg.key.iter().chain(&leg.values).chain(self.read_by(leg.target));
                self.may_name(&entities[leg.entity], given) && self.wrote(leg, request)
            }
            _ => false,
        }
    }

    /// What the key is made of by which an item was read.
    fn read_by(&self, binding: Option<BindingId>) -> &[Given] {
        let mut key: &[Given] = &[];
        each_step(&self.body.steps, &mut |step| match &step.kind {
            StepKind::Read(read) if read.binding == binding => {
                if let (Some(_), What::Get(own)) = (binding, &read.what) {
                    key = own;
                }
            }
            _ => {}
        });
        key
    }

    /// Whether a request has the write of a statement on the item.
    fn wrote(&self, leg: &Leg, request: &Request) -> bool {
        let put = |put: &latchkey_table::Put| {
            leg.verb == Verb::Put && put.table.key_of(&put.item).is_ok_and(|own| own == *self.key)
        };
        let update = |update: &latchkey_table::Update| {
            matches!(leg.verb, Verb::Update | Verb::Upsert) && update.key == *self.key
        };
        let delete = |key: &Key| leg.verb == Verb::Delete && key == self.key;
        match request {
            Request::Put(one, _) => put(one),
            Request::Update(one, _) => update(one),
            Request::Delete(one, _) => delete(&one.key),
            Request::Transact(transact) => transact.legs.iter().any(|part| match part {
                Part::Put(one) => put(one),
                Part::Update(one) => update(one),
                Part::Delete(one) => delete(&one.key),
                Part::Check(_) => false,
            }),
            _ => false,
        }
    }

    /// Whether what a statement gives can make the key. Where the act alone does not tell, it can.
    fn may_name<'g>(&self, entity: &Entity, given: impl IntoIterator<Item = &'g Given>) -> bool {
        let mut item = Item::new();
        for given in given {
            let value = match &given.value.kind {
                ExprKind::CallerId => self.caller(),
                ExprKind::Input(input) => self.input(&self.body.inputs[*input]),
                _ => None,
            };
            if let Some(value) = value {
                item.insert(given.attribute.as_str(), value);
            }
        }
        filled(&self.model.table.key, &entity.key, &item).is_none_or(|key| key == *self.key)
    }

    fn caller(&self) -> Option<Value> {
        match &self.act.kind {
            Kind::Call(call) => Some(Value::Text(call.caller.id.clone())),
            Kind::Work { .. } | Kind::Dead { .. } | Kind::Follow { .. } => None,
        }
    }

    /// What a call gives for an input whose text in a key is as it was given.
    fn input(&self, input: &latchkey_model::model::Input) -> Option<Value> {
        if !matches!(input.kind, Type::Id | Type::Ulid | Type::Text { .. } | Type::Enum(_)) {
            return None;
        }
        match &self.act.kind {
            Kind::Call(call) => {
                let given = call.inputs.iter().find(|(name, _)| *name == input.name);
                match given.map(|(_, given)| given) {
                    Some(RawInput::Text(text)) => Some(Value::Text(Text::clone(text))),
                    Some(RawInput::Json(value)) => Some(value.clone()),
                    _ => None,
                }
            }
            Kind::Work { message, .. } | Kind::Dead { message, .. } => {
                message.body().get(&input.name).cloned()
            }
            Kind::Follow { .. } => None,
        }
    }
}

/// Whether an update does all that a statement always does.
fn sets(leg: &Leg, actions: &[Action]) -> bool {
    let given = leg.values.iter().filter(|given| !given.maybe).chain(&leg.adds);
    let mut names = given.map(|given| &given.attribute).chain(&leg.removes);
    names.all(|name| actions.iter().any(|action| *action.target() == name.as_str()))
}
