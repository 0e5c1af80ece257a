//! Sends: the fields of a message, its due time, and the statements that run once the queue has answered.

use latchkey_language::ast;
use latchkey_language::{Diagnostic, Name, Rule, Span, Spanned};

use super::scope::Scope;
use super::{Lowering, suggestion};
use crate::model::{Contract, Facts, Given, QueueId, Send, StepKind, Trigger};
use crate::types::Type;

impl Lowering {
    pub(super) fn send(
        &mut self,
        send: &ast::Send,
        span: Span,
        scope: &mut Scope,
    ) -> Option<StepKind> {
        if !scope.in_transaction {
            let message = "a `send` is a leg of a transaction";
            let help = "write `transact { … }` around it, with the writes it goes with";
            let why = "it happens exactly if the transaction does";
            self.report(Diagnostic::new(Rule::Name, span, message).why(why).help(help));
        }
        if scope.in_each {
            let message = "a `send` within `each`";
            let help =
                "send one message behind the `each`, with the list or the key of what was written";
            let why = "a message is made once in a call";
            self.report(Diagnostic::new(Rule::Name, span, message).why(why).help(help));
        }
        let queue = self.queue_id(&send.queue)?;
        let values = self.message_fields(send, queue, scope);
        let at = send.at.as_ref().map(|at| self.sure(at, scope, Some(&Type::Time)));
        let count = scope.sends.entry(queue).or_insert(0);
        *count += 1;
        let id = match *count {
            1 => format!("{}/{}", scope.id, send.queue.node),
            more => format!("{}/{}/{more}", scope.id, send.queue.node),
        };
        let mut record: Vec<Given> = Vec::new();
        let mut follow = |block: Option<&Spanned<Vec<ast::Statement>>>, trigger: Trigger| {
            let word = if matches!(trigger, Trigger::Accepted(_)) { "accepted" } else { "refused" };
            let id = format!("{id} {word}");
            let (block, kept) = self.block(block?, id, trigger, scope);
            for given in kept {
                if !record.iter().any(|other| other.attribute == given.attribute) {
                    record.push(given);
                }
            }
            Some(Box::new(block))
        };
        let accepted = follow(send.accepted.as_ref(), Trigger::Accepted(queue));
        let refused = follow(send.refused.as_ref(), Trigger::Refused(queue));
        let span = Span::new(span.start, send.queue.span.end);
        Some(StepKind::Send(Box::new(Send {
            id,
            queue,
            values,
            at,
            accepted,
            refused,
            record,
            span,
        })))
    }

    fn message_fields(
        &mut self,
        send: &ast::Send,
        queue: QueueId,
        scope: &mut Scope,
    ) -> Vec<Given> {
        self.given_once(&send.fields);
        self.never_maybe(&send.fields);
        let mut values = Vec::new();
        for assign in &send.fields {
            let declared = &self.model.queues[queue];
            let Some(field) = declared.field(&assign.name.node) else {
                let known = declared.fields.iter().map(|field| field.name.as_str());
                let help = suggestion(&assign.name.node, known);
                let what = format!("field of `{}` named", declared.name);
                self.unknown(&what, &assign.name, help);
                continue;
            };
            let (kind, optional) = (field.kind.clone(), field.optional);
            let value = self.value(&assign.value, scope, Some(&kind));
            self.must_fit(&value, Some(&kind));
            if !optional {
                self.must_have(&value, scope);
            }
            if self.is_secret(&value, scope) {
                let message = "this is secret, and a message keeps no secrets";
                self.report(Diagnostic::new(Rule::Type, value.span, message).help("leave it out"));
            }
            let (attribute, span) = (assign.name.node.clone(), assign.name.span);
            values.push(Given::whole(attribute, value, optional, span));
        }
        self.whole_message(&send.queue, queue, &send.fields);
        values
    }

    /// Refuses a message without something it must have.
    fn whole_message(&mut self, name: &Name, queue: QueueId, given: &[ast::Assign]) {
        let declared = &self.model.queues[queue];
        let missing: Vec<String> = declared
            .fields
            .iter()
            .filter(|field| !field.optional)
            .filter(|field| !given.iter().any(|given| given.name.node == field.name))
            .map(|field| format!("`{}`", field.name))
            .collect();
        if !missing.is_empty() {
            let message =
                format!("this sends a message to `{}` without {}", name.node, missing.join(", "));
            let help = "give it in the braces, or make it optional";
            self.report(Diagnostic::new(Rule::Type, name.span, message).help(help));
        }
    }

    /// The statements that run once the queue has answered, and the values from here that they need.
    fn block(
        &mut self,
        block: &Spanned<Vec<ast::Statement>>,
        id: String,
        trigger: Trigger,
        scope: &mut Scope,
    ) -> (Contract, Vec<Given>) {
        if scope.outer.is_some() {
            let message = "what follows a send ends with it";
            let help = "send without `accepted` and `refused` here";
            self.report(Diagnostic::new(Rule::Name, block.span, message).help(help));
        }
        let outer = Some(Box::new(std::mem::take(scope)));
        let mut inner = Scope { id, trigger, outer, ..Scope::default() };
        let steps = self.closed_block(&block.node, block.span, &mut inner);
        if let Some(outer) = inner.outer.take() {
            *scope = *outer;
        }
        let contract = Contract {
            id: inner.id,
            title: String::new(),
            trigger,
            open: None,
            route: None,
            inputs: inner.inputs,
            bindings: inner.bindings,
            steps,
            facts: Facts::default(),
            span: block.span,
        };
        (contract, inner.record)
    }
}
