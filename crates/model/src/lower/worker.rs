//! Queues, and the workers that go through them.

use std::collections::HashSet;

use latchkey_language::ast::{self, Document, Item, Statement, StatementKind};
use latchkey_language::{Diagnostic, Name, Rule, Span};
use latchkey_value::Format;
use latchkey_value::limits::OUTBOX_SHARDS;

use super::contract::{mark_used, pages};
use super::literal::milliseconds;
use super::scope::Scope;
use super::statement::ends;
use super::structure::has_set;
use super::{Lowering, suggestion};
use crate::model::{
    Contract, Ending, Facts, Hole, IdVec, Input, InputId, Piece, Place, Queue, QueueField, QueueId,
    Step, StepKind, Template, Trigger, Worker,
};
use crate::types::Type;

/// For how long a worker has a message to itself, unless the queue says.
const LEASE_MS: u64 = 30_000;

/// How long that may be: as long as SQS lets a message be invisible.
const LEASE_MS_MAX: u64 = 12 * 60 * 60 * 1000;

/// How often a message is tried, unless the queue says.
const TRIES: u32 = 5;

/// How often that may be, as SQS has it.
const TRIES_MAX: u32 = 1000;

/// The longest name of a queue. SQS takes 80; the rest is for the name of the deployment.
const NAME_BYTES_MAX: usize = 60;

impl Lowering {
    pub(super) fn queues(&mut self, document: &Document) {
        for item in &document.items {
            match item {
                Item::Queue(queue) => self.queue(queue),
                Item::Steps(steps) => self.declare_steps(steps),
                _ => {}
            }
        }
    }

    fn queue(&mut self, queue: &ast::Queue) {
        if let Some(first) = self.queue_ids.get(&queue.name.node) {
            let first = self.model.queues[*first].span;
            self.twice("queue", &queue.name, first);
            return;
        }
        if queue.name.node.len() > NAME_BYTES_MAX {
            let message = format!("a queue's name has at most {NAME_BYTES_MAX} letters");
            self.report(Diagnostic::new(Rule::Name, queue.name.span, message));
        }
        let fields = self.queue_fields(queue);
        let ordered_by = self.ordered_by(queue, &fields);
        let lease_ms = self.lease(queue);
        let tries = self.tries(queue);
        let waivers = queue.waivers.iter().filter_map(|waive| self.waiver(waive)).collect();
        let id = self.model.queues.push(Queue {
            name: queue.name.node.clone(),
            fields,
            ordered_by,
            lease_ms,
            tries,
            outbox: outbox(&queue.name),
            span: queue.name.span,
            waivers,
        });
        self.queue_ids.insert(queue.name.node.clone(), id);
    }

    fn queue_fields(&mut self, queue: &ast::Queue) -> Vec<QueueField> {
        let mut fields: Vec<QueueField> = Vec::new();
        for field in &queue.fields {
            if let Some(first) = fields.iter().find(|known| known.name == field.name.node) {
                let span = first.span;
                self.twice("field", &field.name, span);
                continue;
            }
            let kind = self.field_type(field).unwrap_or(Type::Id);
            if let Some(span) = field.default.as_ref().map(|default| default.span) {
                let message = "a field of a message has no default: the sender gives it";
                self.report(
                    Diagnostic::new(Rule::Type, span, message).help("make it optional: `?`"),
                );
            }
            if field.secret.is_some() || kind == Type::Key {
                let message = "a message keeps no secrets";
                let help = "send the key of the item that has it, and let the worker read it";
                self.report(Diagnostic::new(Rule::Type, field.name.span, message).help(help));
            }
            if has_set(&kind) {
                let message = "a message has no sets: a queue knows JSON alone";
                let help = "send a list";
                self.report(Diagnostic::new(Rule::Type, field.name.span, message).help(help));
            }
            let kind =
                if kind == Type::Counter { Type::Int { low: Some(1), high: None } } else { kind };
            fields.push(QueueField {
                name: field.name.node.clone(),
                kind,
                optional: field.optional.is_some(),
                span: field.name.span,
            });
        }
        fields
    }

    /// `ordered by FIELD`: which field that is. Its value becomes part of a key, and the name of a group on SQS.
    fn ordered_by(&mut self, queue: &ast::Queue, fields: &[QueueField]) -> Option<usize> {
        let name = queue.ordered_by.as_ref()?;
        let Some(at) = fields.iter().position(|field| field.name == name.node) else {
            let help = suggestion(&name.node, fields.iter().map(|field| field.name.as_str()));
            self.unknown(&format!("field of `{}` named", queue.name.node), name, help);
            return None;
        };
        let field = fields.get(at)?;
        let (message, help) = match &field.kind {
            Type::Id | Type::Ulid | Type::Enum(_) if !field.optional => return Some(at),
            Type::Id | Type::Ulid | Type::Enum(_) => (
                format!("`{}` may be absent, so a message may have no group", name.node),
                "make the field required: leave out its `?`",
            ),
            kind => (
                format!("a queue cannot be ordered by `{}`, a field of type `{kind}`", name.node),
                "order by a required field of type `id` or `ulid`, or one of a few words",
            ),
        };
        let why = "the messages of one group are worked on one after the other, and the field names the group";
        let diagnostic =
            Diagnostic::new(Rule::Type, name.span, message).other(field.span, "declared here");
        self.report(diagnostic.why(why).help(help));
        None
    }

    /// A setting, and a second of it reported.
    fn setting<'a>(&mut self, all: &'a [Name]) -> Option<&'a Name> {
        for second in all.iter().skip(1) {
            self.report(Diagnostic::new(Rule::Name, second.span, "a queue says this once"));
        }
        all.first()
    }

    fn lease(&mut self, queue: &ast::Queue) -> u64 {
        let Some(text) = self.setting(&queue.leases) else { return LEASE_MS };
        let (span, ms) = (text.span, milliseconds(&text.node));
        match ms {
            Some(ms @ 1000..=LEASE_MS_MAX) if ms.is_multiple_of(1000) => ms,
            _ => {
                let message = format!("`{}` is not a lease", text.node);
                let help = "write whole seconds, from `1s` to `12h`";
                self.report(Diagnostic::new(Rule::Type, span, message).help(help));
                LEASE_MS
            }
        }
    }

    fn tries(&mut self, queue: &ast::Queue) -> u32 {
        let Some(text) = self.setting(&queue.tries) else { return TRIES };
        let (span, tries) = (text.span, text.node.parse().ok());
        match tries {
            Some(tries @ 1..=TRIES_MAX) => tries,
            _ => {
                let message = format!("`{}` is not a number of tries", text.node);
                let help = format!("write a whole number from 1 to {TRIES_MAX}");
                self.report(Diagnostic::new(Rule::Type, span, message).help(help));
                TRIES
            }
        }
    }

    /// A queue by its name.
    pub(super) fn queue_id(&mut self, name: &Name) -> Option<QueueId> {
        let found = self.queue_ids.get(&name.node).copied();
        if found.is_none() {
            let help = suggestion(&name.node, self.queue_ids.keys().map(String::as_str));
            self.unknown("queue", name, help);
        }
        found
    }

    pub(super) fn worker(&mut self, worker: &ast::Contract) {
        let Some((queue, inputs)) = self.subscription(worker) else { return };
        let second = self.model.workers.iter().find(|other| other.queue == queue);
        if let Some(first) = second.map(|other| other.body.span) {
            let diagnostic =
                Diagnostic::new(Rule::Name, worker.id.span, "a second worker of one queue")
                    .other(first, "the first is here")
                    .why("each message goes to one of them, and nobody knows to which")
                    .help("make one worker of them, or send to two queues");
            self.report(diagnostic);
            return;
        }
        let id = worker.id.node.clone();
        let mut scope = Scope {
            id,
            trigger: Trigger::Message(queue),
            inputs: inputs.clone(),
            ..Scope::default()
        };
        let (steps, facts) = self.body(worker, &mut scope);
        if !ends(&steps) {
            let message = "the worker has no end";
            let help = "end it, and every way through it, with `done`, `later` or `fail CODE`";
            self.report(Diagnostic::new(Rule::Name, worker.id.span, message).help(help));
        }
        self.unpaged(&steps, worker.id.span);
        let mut used = std::mem::take(&mut scope.used_inputs);
        let mut body = finish(scope, worker, worker.id.span, steps, facts);
        let dead = self.dead(worker, queue, inputs, &mut used);
        mark_used(&mut body.inputs, &used);
        self.model.workers.push(Worker { queue, body, dead });
    }

    /// `on QUEUE { a, b }`: the queue, and what the worker is given of a message.
    fn subscription(&mut self, worker: &ast::Contract) -> Option<(QueueId, IdVec<InputId, Input>)> {
        let mut all = worker.body.iter().filter_map(|statement| match &statement.node {
            StatementKind::On(queue, fields) => Some((queue, fields, statement.span)),
            _ => None,
        });
        let Some((queue, names, first)) = all.next() else {
            let help = "write `on QUEUE { … }` first in it";
            let missing = Diagnostic::new(Rule::Name, worker.id.span, "the worker is on no queue");
            self.report(missing.help(help));
            return None;
        };
        for (_, _, span) in all {
            let second = Diagnostic::new(Rule::Name, span, "a worker is on one queue")
                .other(first, "which it is here");
            self.report(second);
        }
        let id = self.queue_id(queue)?;
        let mut inputs: IdVec<InputId, Input> = IdVec::default();
        for name in names {
            self.no_word(name, Trigger::Dead(id));
            if let Some(first) = inputs.iter().find(|input| input.name == name.node) {
                let span = first.span;
                self.twice("field", name, span);
                continue;
            }
            let declared = &self.model.queues[id];
            match declared.field(&name.node) {
                Some(field) => {
                    inputs.push(Input {
                        name: field.name.clone(),
                        kind: field.kind.clone(),
                        optional: field.optional,
                        default: None,
                        secret: false,
                        place: Place::Message,
                        used: false,
                        span: name.span,
                    });
                }
                None => {
                    let known = declared.fields.iter().map(|field| field.name.as_str());
                    let help = suggestion(&name.node, known);
                    let what = format!("field of `{}` named", queue.node);
                    self.unknown(&what, name, help);
                }
            }
        }
        Some((id, inputs))
    }

    /// `on dead { … }`
    fn dead(
        &mut self,
        worker: &ast::Contract,
        queue: QueueId,
        inputs: IdVec<InputId, Input>,
        used: &mut HashSet<InputId>,
    ) -> Option<Contract> {
        let mut all = worker.body.iter().filter_map(|statement| match &statement.node {
            StatementKind::OnDead(block) => Some((block, statement.span)),
            _ => None,
        });
        let (block, span) = all.next()?;
        for (_, second) in all {
            let second = Diagnostic::new(Rule::Name, second, "a second `on dead`")
                .other(span, "the first is here");
            self.report(second);
        }
        let span = Span::new(span.start, span.start + "on dead".len());
        let id = format!("{} dead", worker.id.node);
        let trigger = Trigger::Dead(queue);
        let mut scope = Scope { id, trigger, inputs, ..Scope::default() };
        let steps = self.closed_block(block, span, &mut scope);
        used.extend(&scope.used_inputs);
        Some(finish(scope, worker, span, steps, Facts::default()))
    }

    /// Statements that run by themselves; at their end they are done.
    pub(super) fn closed_block(
        &mut self,
        block: &[Statement],
        span: Span,
        scope: &mut Scope,
    ) -> Vec<Step> {
        let mut steps = Vec::new();
        self.steps(block, scope, &mut steps, &mut Facts::default(), false);
        self.unpaged(&steps, span);
        if !ends(&steps) {
            let (kind, waivers) = (StepKind::End(Ending::Done), Vec::new());
            steps.push(Step { kind, waivers, span });
        }
        steps
    }

    /// A page is what a caller asks for.
    fn unpaged(&mut self, steps: &[Step], span: Span) {
        if !pages(steps).is_empty() {
            let message = "nobody turns the pages here";
            let help = "write `first N` instead of `page`";
            self.report(Diagnostic::new(Rule::Type, span, message).help(help));
        }
    }

    /// How a worker ends.
    pub(super) fn ending(&mut self, ending: &ast::Ending, span: Span, scope: &mut Scope) -> Ending {
        let word = match ending {
            ast::Ending::Done => "done",
            ast::Ending::Later => "later",
            ast::Ending::Fail { .. } => "fail",
        };
        if scope.trigger == Trigger::Request {
            let message = format!("a caller waits for an answer, and `{word}` is none");
            let help =
                "end it with a `return`, or answer a problem: `else 409 name-of-the-problem`";
            self.report(Diagnostic::new(Rule::Name, span, message).help(help));
        }
        let last = !matches!(scope.trigger, Trigger::Request | Trigger::Message(_));
        if last && word == "fail" {
            let message = "nothing comes behind this that could see it fail";
            let help = "write `later` to run it again, or `done`";
            self.report(Diagnostic::new(Rule::Name, span, message).help(help));
        }
        match ending {
            ast::Ending::Done => Ending::Done,
            ast::Ending::Later => Ending::Later,
            ast::Ending::Fail { code, message } => Ending::Fail {
                code: code.node.clone(),
                message: message.as_ref().map(|message| self.message(message, scope)),
            },
        }
    }

    /// Refuses what only a caller can make something of.
    pub(super) fn must_be_called(&mut self, word: &str, span: Span, scope: &Scope) {
        if scope.trigger != Trigger::Request {
            let message = format!("nobody calls this, so there is nothing to `{word}`");
            let help = match word {
                "return" => "end it with `done`, `later` or `fail CODE`",
                "match" => "write `require`",
                "answer" => "write `else done`, `else later` or `else fail CODE`",
                _ => "leave it out: the `allow` of the sender has decided",
            };
            self.report(Diagnostic::new(Rule::Name, span, message).help(help));
        }
    }
}

/// A worker or a follow-up, as a contract.
pub(super) fn finish(
    scope: Scope,
    of: &ast::Contract,
    span: Span,
    steps: Vec<Step>,
    facts: Facts,
) -> Contract {
    Contract {
        id: scope.id,
        title: of.title.node.clone(),
        trigger: scope.trigger,
        open: None,
        route: None,
        inputs: scope.inputs,
        bindings: scope.bindings,
        steps,
        facts,
        span,
    }
}

/// The partitions the sends to a queue wait in.
fn outbox(name: &Name) -> Template {
    let (attribute, span) = ("shard".to_owned(), name.span);
    let high = i64::try_from(OUTBOX_SHARDS).ok().map(|shards| shards - 1);
    let kind = Type::Int { low: Some(0), high };
    let begin = Piece::Literal(format!("LATCHKEY#OUTBOX#{}#", name.node));
    let hole = Piece::Hole(Hole { attribute, kind, format: Some(Format::Padded(2)), span });
    Template { pieces: vec![begin, hole], whole: true, span }
}
