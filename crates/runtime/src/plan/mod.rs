//! A checked document as the runtime runs it: everything that can be settled before a call is.

mod assumed;
mod back;
mod cached;
mod computed;
mod detail;
mod entity;
mod expression;
mod fit;
mod form;
mod input;
mod kept;
mod key_part;
mod leg;
mod op;
mod own;
mod program;
mod queue;
mod read;
mod refusal;
mod sight;
mod tag;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use latchkey_language::{Diagnostic, Span};
use latchkey_model::model::{
    self, BindingId, CallLimit, EntityId, IdVec, InputId, Method, QueueId, Segment, Verb,
};
use latchkey_queue::Home;
use latchkey_table::{Schema, Text};

pub(crate) use cached::{ByCaller, Cached};
pub(crate) use entity::{Attribute, Bounded, Counting, Entity, IndexShape, Part, Shown, made};
pub(crate) use expression::{Code, EveryOf, MemberOf, Piece, Sign};
pub(crate) use input::{Input, InputType, ListOf, Member};
pub(crate) use kept::Kept;
pub(crate) use latchkey_model::model::New;
pub(crate) use leg::{Assign, AttributePart, Elements, Key, Leg, LegNode, Place};
pub(crate) use op::{
    BatchKeys, BatchOp, Beside, Bounds, ElementKeys, EndOp, GetOp, Keep, Kinds, OnFailure, Op,
    Paging, PartOp, ProblemOp, QueryOp, ReturnOp, Shards, SnapshotOp, Strength,
};
use own::own_table;
pub use queue::QueueInfo;
pub(crate) use queue::{Queue, Send, Worker};
pub(crate) use refusal::{Planned, Unplanned};
pub(crate) use sight::Sight;
pub(crate) use tag::Tag;

use crate::explain::check_expression_size;

/// Entities as they are planned, by the ids they have in the model.
pub(crate) type Entities = IdVec<EntityId, Entity>;

/// A document that was checked and planned.
#[derive(Debug)]
pub struct System {
    pub(crate) name: Text,
    pub(crate) table: Arc<Schema>,
    /// Where Latchkey keeps its own items: in the same table, or beside it if its key is not of two texts.
    pub(crate) own_table: Arc<Schema>,
    pub(crate) discriminator: Text,
    /// The attribute by which a store removes items, of its own table too.
    pub(crate) ttl: Text,
    roles: Vec<Text>,
    pub(crate) entities: Entities,
    pub(crate) contracts: Vec<Contract>,
    by_id: HashMap<Text, usize>,
    /// What holds of items. No route leads there.
    invariants: Vec<Contract>,
    pub(crate) queues: IdVec<QueueId, Queue>,
}

/// A contract, planned.
#[derive(Debug)]
pub(crate) struct Contract {
    pub(crate) info: ContractInfo,
    pub(crate) inputs: IdVec<InputId, Input>,
    /// The names of its bindings, for people.
    pub(crate) bindings: IdVec<BindingId, Text>,
    /// The entity of each binding that is an item or a page.
    pub(crate) binding_entities: IdVec<BindingId, Option<EntityId>>,
    pub(crate) program: Vec<Op>,
    /// The values it makes.
    pub(crate) new_values: Vec<New>,
    /// Whether it makes items that carry an incarnation.
    pub(crate) incarnates: bool,
    /// The page a caller can size and continue, if there is one.
    pub(crate) paging: Option<Paging>,
    /// The name under which a caller sizes it.
    pub(crate) page_size: Text,
    /// The input that takes its value from the version in `If-Match`.
    pub(crate) version_input: Option<InputId>,
    /// The entity by which it knows a repeated call itself.
    pub(crate) idempotent_by: Option<EntityId>,
    /// Whether each call of it has an `Idempotency-Key`.
    pub(crate) needs_key: bool,
    /// Whether an `Idempotency-Key` names a call of it, so that its answer is kept.
    pub(crate) takes_names: bool,
    /// Whether it may be answered from what an earlier call has read.
    pub(crate) cache: Option<Cached>,
}

/// What others need to know of a contract: its route and its inputs.
#[derive(Debug, Clone)]
pub struct ContractInfo {
    /// Its id.
    pub id: Text,
    /// Its title.
    pub title: String,
    /// Its method; a worker, and what follows a send, have none.
    pub method: Option<Method>,
    /// Its path between the slashes.
    pub path: Vec<Segment>,
    /// Its inputs, those of the path among them.
    pub inputs: IdVec<InputId, InputInfo>,
    /// Whether it answers a page that can be sized and continued.
    pub paged: bool,
    /// Whether anyone may call it, without a token.
    pub open: bool,
    /// How often one caller, or one address, may call it. Whoever takes calls from outside counts them.
    pub limit: Option<CallLimit>,
    /// Whether it compares a version that the caller gives, so that an `If-Match` is its own to judge.
    pub versioned: bool,
}

/// What others need to know of an input.
#[derive(Debug, Clone)]
pub struct InputInfo {
    /// Its name.
    pub name: Text,
    /// Where a caller puts it.
    pub place: model::Place,
}

/// A document has mistakes, and is not run.
#[derive(Debug)]
pub struct Mistakes(pub Vec<Diagnostic>);

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("the document has mistakes"),
            [one] => write!(f, "the document has a mistake: {}: {}", one.rule, one.message),
            [first, rest @ ..] => {
                let count = rest.len() + 1;
                write!(f, "the document has {count} mistakes: {}: {}", first.rule, first.message)
            }
        }
    }
}

impl std::error::Error for Mistakes {}

impl System {
    /// Checks a document and plans it. Warnings do not keep it from being planned: `latchkey_model::check` has them.
    pub fn read(text: &str) -> Result<System, Mistakes> {
        let checked = latchkey_model::check(text);
        if checked.is_refused() {
            return Err(Mistakes(checked.diagnostics));
        }
        System::plan(&checked.model)
    }

    /// Plans a model without mistakes. What cannot be planned is a mistake of its own: see [`Mistakes`].
    pub fn plan(model: &model::Model) -> Result<System, Mistakes> {
        let table = Arc::new(entity::schema(model));
        let own_table = own_table(&table, &model.table.discriminator);
        let mut mistakes = Vec::new();
        let mut entities = Entities::default();
        let uncounted = tag::uncounted(model);
        for (id, entity) in model.entities.enumerate() {
            let knows_first = model.first_puts.values().any(|first| *first == id);
            let counting = Counting { counted: !uncounted.contains(&id), knows_first };
            match Entity::plan(entity, &model.table.key, &table, counting) {
                // In the order of the model, so that an id means the same in both.
                Ok(planned) => drop(entities.push(planned)),
                Err(error) => mistakes.push(error.diagnostic(&entity.name, entity.span)),
            }
        }
        if mistakes.is_empty() {
            for (id, entity) in model.entities.enumerate() {
                match computed::plan(model, &entities, id) {
                    Ok(computed) => entities[id].computed = computed,
                    Err(error) => mistakes.push(error.diagnostic(&entity.name, entity.span)),
                }
            }
        }
        if !mistakes.is_empty() {
            // Contracts know entities by their ids.
            return Err(Mistakes(mistakes));
        }
        let mut contracts = Vec::new();
        for contract in &model.contracts {
            match program::plan(model, &entities, contract) {
                Ok(planned) => contracts.push(planned),
                Err(error) => mistakes.push(error.diagnostic(&contract.id, contract.span)),
            }
        }
        let mut invariants = Vec::new();
        for invariant in &model.invariants {
            match program::plan(model, &entities, &invariant.body) {
                Ok(planned) => invariants.push(planned),
                Err(error) => mistakes.push(error.diagnostic(&invariant.body.id, invariant.span)),
            }
        }
        let mut queues = IdVec::default();
        for (id, queue) in model.queues.enumerate() {
            match queue::plan(model, &entities, id, queue) {
                Ok(planned) => drop(queues.push(planned)),
                Err(mistake) => mistakes.push(*mistake),
            }
        }
        if !mistakes.is_empty() {
            return Err(Mistakes(mistakes));
        }
        let cached = contracts.iter_mut().filter_map(|contract| contract.cache.as_mut());
        cached.enumerate().for_each(|(number, cached)| cached.number = number);
        let ids = contracts.iter().enumerate();
        let by_id = ids.map(|(at, contract)| (contract.info.id.clone(), at)).collect();
        let system = System {
            name: Text::from(model.system.as_str()),
            table,
            own_table,
            discriminator: Text::from(model.table.discriminator.as_str()),
            ttl: Text::from(model.table.ttl.as_str()),
            roles: model.roles.iter().map(|role| role.name.as_str().into()).collect(),
            entities,
            contracts,
            by_id,
            invariants,
            queues,
        };
        let mistakes = system.too_long(model);
        if mistakes.is_empty() { Ok(system) } else { Err(Mistakes(mistakes)) }
    }

    /// The contracts and workers of which a write is longer than DynamoDB takes.
    fn too_long(&self, model: &model::Model) -> Vec<Diagnostic> {
        let workers = self.queues.iter().filter_map(|queue| queue.worker.as_ref());
        let all = self.contracts.iter().chain(workers.flat_map(Worker::bodies));
        let found = all.filter_map(|contract| {
            let error = check_expression_size(self, contract).err()?;
            let body = model.bodies().into_iter().find(|body| body.id == contract.info.id.as_str());
            let span = body.map_or_else(Span::default, |body| body.span);
            Some(error.diagnostic(&contract.info.id, span))
        });
        found.collect()
    }

    /// The contracts that need transactions. A POST may be given a name, whose record goes with its effect.
    pub(crate) fn transacting(&self) -> Vec<&str> {
        let needs = |contract: &&Contract| {
            let named = contract.takes_names;
            contract.program.iter().any(|op| match op {
                Op::Transact(_) | Op::Snapshot(_) => true,
                Op::Batch(batch) => batch.snapshot,
                Op::Write(leg) => named || leg.verb == Verb::Check,
                _ => false,
            })
        };
        let workers = self.queues.iter().filter_map(|queue| queue.worker.as_ref());
        let workers = workers.flat_map(Worker::bodies);
        let all = self.contracts.iter().chain(workers);
        all.filter(needs).map(|contract| contract.info.id.as_str()).collect()
    }

    /// The same system, on a table of another name.
    #[must_use]
    pub fn on_table(mut self, name: &str) -> System {
        let table = Schema { name: name.into(), ..Schema::clone(&self.table) };
        self.table = Arc::new(table);
        self.own_table = own_table(&self.table, &self.discriminator);
        self
    }

    /// The system's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The table it runs on.
    pub fn table(&self) -> &Arc<Schema> {
        &self.table
    }

    /// The attribute by which a store removes items of its tables.
    pub fn ttl(&self) -> &str {
        &self.ttl
    }

    /// The attributes that hold a key and are neither the type nor an attribute of an entity.
    pub fn key_attributes(&self) -> Vec<&str> {
        let mut names = self.table.key_attributes();
        let declared = |name: &str| {
            let mut all = self.entities.iter().flat_map(|entity| &entity.attributes);
            self.discriminator == name || all.any(|attribute| attribute.name == name)
        };
        names.retain(|name| !declared(name));
        names
    }

    /// The contracts and workers that query an index.
    pub fn readers_of(&self, index: &str) -> Vec<&str> {
        let workers = self.queues.iter().filter_map(|queue| queue.worker.as_ref());
        let all = self.contracts.iter().chain(workers.flat_map(Worker::bodies));
        let reads =
            |op: &Op| matches!(op, Op::Query(query) if query.index.as_deref() == Some(index));
        let readers = all.filter(|contract| contract.program.iter().any(reads));
        readers.map(|contract| contract.info.id.as_str()).collect()
    }

    /// The contracts and workers that look for items of an entity in an index.
    pub fn seekers(&self, entity: &str, index: &str) -> Vec<&str> {
        let workers = self.queues.iter().filter_map(|queue| queue.worker.as_ref());
        let all = self.contracts.iter().chain(workers.flat_map(Worker::bodies));
        let seeks = |op: &Op| match op {
            Op::Query(query) => {
                query.index.as_deref() == Some(index)
                    && query.entities.iter().any(|id| self.entities[*id].name == entity)
            }
            _ => false,
        };
        let seekers = all.filter(|contract| contract.program.iter().any(seeks));
        seekers.map(|contract| contract.info.id.as_str()).collect()
    }

    /// The roles a caller can have.
    pub fn roles(&self) -> &[Text] {
        &self.roles
    }

    /// The problems a contract can answer by what it says, each once, `forbidden` among them.
    pub fn problems(&self, contract: &str) -> Vec<&str> {
        let mut codes = Vec::new();
        for op in self.contract(contract).into_iter().flat_map(|contract| &contract.program) {
            op.problems(&mut codes);
        }
        codes.sort_unstable();
        codes.dedup();
        codes
    }

    /// Its contracts, in the order of the document.
    pub fn contracts(&self) -> impl Iterator<Item = &ContractInfo> {
        self.contracts.iter().map(|contract| &contract.info)
    }

    /// Its contracts that HTTP serves, each with its method.
    pub fn routes(&self) -> impl Iterator<Item = (Method, &ContractInfo)> {
        self.contracts().filter_map(|info| info.method.map(|method| (method, info)))
    }

    pub(crate) fn contract(&self, id: &str) -> Option<&Contract> {
        self.by_id.get(id).and_then(|at| self.contracts.get(*at))
    }

    pub(crate) fn invariant(&self, id: &str) -> Option<&Contract> {
        self.invariants.iter().find(|invariant| invariant.info.id == id)
    }

    pub(crate) fn queue(&self, name: &str) -> Option<(QueueId, &Queue)> {
        self.queues.enumerate().find(|(_, queue)| queue.name == name)
    }

    /// The send of an id.
    pub(crate) fn send(&self, id: &str) -> Option<&Send> {
        let workers = self.queues.iter().filter_map(|queue| queue.worker.as_ref());
        let mut all = self.contracts.iter().chain(workers.flat_map(Worker::bodies));
        all.find_map(|contract| queue::send_of(contract, id))
    }

    /// The worker of an id, and its queue.
    pub(crate) fn worker(&self, id: &str) -> Option<(&Queue, &Worker)> {
        let workers = self.queues.iter().filter_map(|queue| Some((queue, queue.worker.as_ref()?)));
        let mut named = workers.filter(|(_, worker)| worker.body.info.id == id);
        named.next()
    }

    /// Where the messages of a queue lie.
    pub(crate) fn home(&self, queue: &Queue) -> Result<Home, latchkey_queue::Error> {
        let home = Home::new(self.own_table.clone(), &self.discriminator, &queue.name)?;
        Ok(home.ordered_by(queue.ordered_by.clone()).ending_by(self.ttl.clone()))
    }

    /// Its queues, in the order of the document.
    pub fn queues(&self) -> impl Iterator<Item = QueueInfo<'_>> {
        self.queues.enumerate().map(|(id, queue)| QueueInfo {
            id,
            name: &queue.name,
            lease_ms: queue.lease_ms,
            tries: queue.tries,
            ordered_by: queue.ordered_by.as_deref(),
            worker: queue.worker.as_ref().map(|worker| worker.body.info.id.as_str()),
        })
    }

    /// Whether an attribute of a name is secret in any entity.
    pub fn is_secret(&self, attribute: &str) -> bool {
        self.entities.iter().any(|entity| entity.secrets.iter().any(|name| name == attribute))
    }
}

#[cfg(test)]
mod tests {
    use super::System;

    const TILLS: &str = r#"```contract
system tills
table Tills { type kind }

entity Till "TILL" {
  PK = "TILL#{till:02}"
  SK = "META"
  till int 0..15, sold int = 0
}
contract SEE "See" {
  GET /tills
  allow true
  tills = get Till till in 0..15 READ
  return tills
  consistency strong
  expect 0..16 items
  rate 1/s
}
contract OPEN "Open" {
  POST /tills/{till}
  allow true
  old = get Till strong
  when old is present { return old }
  made = put Till { till } if absent else retry
  return made
  consistency strong
  expect 1 item
  rate 1/s
  OWN
}
```
"#;

    /// Which contracts need transactions.
    fn transacting(read: &str, own: &str) -> Vec<String> {
        let system = System::read(&TILLS.replace("READ", read).replace("OWN", own)).unwrap();
        system.transacting().into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn a_snapshot_and_a_record_need_transactions() {
        assert_eq!(transacting("strong", ""), ["OPEN"]);
        assert_eq!(transacting("snapshot", ""), ["SEE", "OPEN"]);
        // Without a record, one write is one.
        assert_eq!(transacting("snapshot", "idempotent by Till"), ["SEE"]);
    }
}
