//! Queues, what works through them, and what is sent to them.

use latchkey_language::Diagnostic;
use latchkey_model::model::{self, Model, QueueId};
use latchkey_table::Text;

use super::leg::{Assign, assigns};
use super::refusal::{Planned, Unplanned};
use super::{Code, Contract, Entities, LegNode, New, Op, program};
use crate::plan::expression::Expressions;

/// What messages are sent to.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) name: Text,
    /// For how long a worker has a message to itself.
    pub(crate) lease_ms: u32,
    /// How often a message is tried before it is given up.
    pub(crate) tries: u32,
    /// The field that names the group of a message, where the queue is ordered.
    pub(crate) ordered_by: Option<Text>,
    pub(crate) worker: Option<Worker>,
}

/// What is known of a queue from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueInfo<'a> {
    /// Its place in the document, for [`Runtime::queue_by_id`](crate::Runtime::queue_by_id).
    pub id: QueueId,
    /// Its name.
    pub name: &'a str,
    /// For how long a worker has a message to itself.
    pub lease_ms: u32,
    /// How often a message is tried before it is given up.
    pub tries: u32,
    /// The field that names the group of a message, where the queue is ordered.
    pub ordered_by: Option<&'a str>,
    /// The worker that works through it.
    pub worker: Option<&'a str>,
}

/// What works through a queue.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) body: Contract,
    /// What it does about a message that was tried too often.
    pub(crate) dead: Option<Contract>,
}

impl Worker {
    /// All it runs.
    pub(super) fn bodies(&self) -> impl Iterator<Item = &Contract> {
        [Some(&self.body), self.dead.as_ref()].into_iter().flatten()
    }
}

/// A message that is sent if the transaction it is part of happens.
#[derive(Debug)]
pub(crate) struct Send {
    /// What tells it apart from every other send of the document.
    pub(crate) id: Text,
    pub(crate) queue: QueueId,
    /// The id of the message, made once a call.
    pub(crate) message: Code,
    pub(crate) values: Vec<Assign>,
    /// When it is due; at once, unless it says.
    pub(crate) at: Option<Code>,
    /// What runs once the queue has taken it.
    pub(crate) accepted: Option<Contract>,
    /// What runs once the queue will not take it.
    pub(crate) refused: Option<Contract>,
    /// What is kept for these two: their inputs, as the transaction leaves them.
    pub(crate) kept: Vec<Assign>,
}

impl Send {
    pub(super) fn plan(
        expressions: &mut Expressions<'_>,
        entities: &Entities,
        send: &model::Send,
    ) -> Planned<Send> {
        let model = expressions.model;
        let follow = |contract: &Option<Box<model::Contract>>| {
            let planned =
                contract.as_ref().map(|contract| program::plan(model, entities, contract));
            planned.transpose()
        };
        Ok(Send {
            id: send.id.as_str().into(),
            queue: send.queue,
            message: expressions.made(New::Ulid),
            values: assigns(expressions, &send.values)?,
            at: send.at.as_ref().map(|at| expressions.code(at)).transpose()?,
            accepted: follow(&send.accepted)?,
            refused: follow(&send.refused)?,
            kept: assigns(expressions, &send.record)?,
        })
    }
}

/// Plans a queue and its worker.
pub(super) fn plan(
    model: &Model,
    entities: &Entities,
    id: QueueId,
    queue: &model::Queue,
) -> Result<Queue, Box<Diagnostic>> {
    let worker = model.workers.iter().find(|worker| worker.queue == id);
    let body = |contract: &model::Contract| {
        let planned = program::plan(model, entities, contract);
        planned.map_err(|error| Box::new(error.diagnostic(&contract.id, contract.span)))
    };
    let worker = match worker {
        Some(worker) => {
            let dead = worker.dead.as_ref().map(body).transpose()?;
            Some(Worker { body: body(&worker.body)?, dead })
        }
        None => None,
    };
    let lease_ms = u32::try_from(queue.lease_ms).map_err(|_| {
        Box::new(Unplanned::new("no lease is that long").diagnostic(&queue.name, queue.span))
    })?;
    let ordered_by = queue.group().map(|field| field.name.as_str().into());
    Ok(Queue { name: queue.name.as_str().into(), lease_ms, tries: queue.tries, ordered_by, worker })
}

/// The send of an id in a contract, or in what follows its sends.
pub(super) fn send_of<'a>(contract: &'a Contract, id: &str) -> Option<&'a Send> {
    contract.program.iter().find_map(|op| match op {
        Op::Transact(op) => send_among(&op.legs, id),
        _ => None,
    })
}

fn send_among<'a>(nodes: &'a [LegNode], id: &str) -> Option<&'a Send> {
    nodes.iter().find_map(|node| match node {
        LegNode::Leg(_) => None,
        LegNode::Send(send) if send.id == id => Some(&**send),
        LegNode::Send(send) => {
            let mut behind = [&send.accepted, &send.refused].into_iter().flatten();
            behind.find_map(|contract| send_of(contract, id))
        }
        LegNode::When(_, then, otherwise) => {
            send_among(then, id).or_else(|| send_among(otherwise, id))
        }
        LegNode::Each(each) => send_among(&each.body, id),
    })
}
