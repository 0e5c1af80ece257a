//! Queues, and what works through them.

use latchkey_language::Span;

use super::{Contract, Model, QueueId, Send, StepKind, Template, Waiver, each_step};
use crate::types::Type;

/// What messages are sent to.
#[derive(Debug)]
pub struct Queue {
    /// Its name.
    pub name: String,
    /// What its messages are made of.
    pub fields: Vec<QueueField>,
    /// Which of its fields names the group of a message, where the messages of a group are worked on in order.
    pub ordered_by: Option<usize>,
    /// For how long a worker has a message to itself, in milliseconds.
    pub lease_ms: u64,
    /// How often a message is tried before it is given up.
    pub tries: u32,
    /// The partitions its sends wait in, where it lies outside the store: `LATCHKEY#OUTBOX#{name}#{shard:02}`.
    pub outbox: Template,
    /// Where its name is declared.
    pub span: Span,
    /// Rules that are waived for it.
    pub waivers: Vec<Waiver>,
}

impl Queue {
    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&QueueField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The field that names a message's group, where the queue is ordered.
    pub fn group(&self) -> Option<&QueueField> {
        self.ordered_by.and_then(|at| self.fields.get(at))
    }
}

/// A part of a message.
#[derive(Debug)]
pub struct QueueField {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Type,
    /// Whether it may be absent.
    pub optional: bool,
    /// Where it is declared.
    pub span: Span,
}

/// What works through a queue.
#[derive(Debug)]
pub struct Worker {
    /// The queue.
    pub queue: QueueId,
    /// What it does with a message. Its inputs are those fields of the message it asks for.
    pub body: Contract,
    /// What it does about a message that was tried too often. It has the same inputs.
    pub dead: Option<Contract>,
}

impl Model {
    /// All that runs: contracts, workers, what they do about dead letters, and what follows a send.
    pub fn bodies(&self) -> Vec<&Contract> {
        let workers =
            self.workers.iter().flat_map(|worker| [Some(&worker.body), worker.dead.as_ref()]);
        let mut bodies: Vec<&Contract> = self.contracts.iter().chain(workers.flatten()).collect();
        let mut at = 0;
        while let Some(body) = bodies.get(at) {
            let blocks = body.sends().into_iter().flat_map(|send| [&send.accepted, &send.refused]);
            bodies.extend(blocks.flatten().map(|block| &**block));
            at += 1;
        }
        bodies
    }
}

impl Contract {
    /// Everything it sends, in the order it is written.
    pub fn sends(&self) -> Vec<&Send> {
        let mut sends = Vec::new();
        each_step(&self.steps, &mut |step| {
            if let StepKind::Send(send) = &step.kind {
                sends.push(&**send);
            }
        });
        sends
    }
}
