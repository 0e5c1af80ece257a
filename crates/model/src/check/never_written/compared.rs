//! Which words the tests of a document compare with which stored attribute, or with which part of a message.

use std::collections::HashMap;

use latchkey_language::Span;

use crate::check::flow::lets;
use crate::check::truth::{Lets, each, plain};
use crate::model::{
    Contract, EntityId, Expr, ExprKind, Op, QueueId, StepKind, Trigger, What, each_step,
};

/// The places that compare a word, by what it is compared with.
#[derive(Default)]
pub(super) struct Compared<'a> {
    stored: HashMap<(EntityId, &'a str, &'a str), Vec<Span>>,
    sent: HashMap<(QueueId, &'a str, &'a str), Vec<Span>>,
}

impl<'a> Compared<'a> {
    /// Where a word is compared with an attribute.
    pub(super) fn stored(&self, id: EntityId, name: &'a str, word: &'a str) -> Option<&Vec<Span>> {
        self.stored.get(&(id, name, word))
    }

    /// Where a word is compared with a part of a message.
    pub(super) fn sent(&self, id: QueueId, name: &'a str, word: &'a str) -> Option<&Vec<Span>> {
        self.sent.get(&(id, name, word))
    }
}

pub(super) fn compared<'a>(bodies: &[&'a Contract]) -> Compared<'a> {
    let mut compared = Compared::default();
    for contract in bodies {
        let body = Body { contract, lets: lets(contract) };
        each_step(&contract.steps, &mut |step| match &step.kind {
            StepKind::Allow(test)
            | StepKind::Require(test, _)
            | StepKind::Match(test, _)
            | StepKind::When(test, ..) => body.test(test, None, &mut compared),
            StepKind::Write(leg) => {
                let of = Some(leg.entity);
                leg.condition.iter().for_each(|test| body.test(test, of, &mut compared));
            }
            StepKind::Read(read) if let What::Query(query) = &read.what => {
                query.tests().for_each(|(of, test)| body.test(test, Some(of), &mut compared));
            }
            _ => {}
        });
    }
    compared
}

struct Body<'a> {
    contract: &'a Contract,
    lets: Lets<'a>,
}

impl<'a> Body<'a> {
    fn test(&self, test: &'a Expr, stored: Option<EntityId>, compared: &mut Compared<'a>) {
        each(&self.lets, test, &mut |part| match &part.kind {
            ExprKind::Binary(Op::Equal | Op::NotEqual, a, b) => {
                self.pair((a, b), stored, compared);
                self.pair((b, a), stored, compared);
            }
            ExprKind::MovesTo(from, to) => self.pair((from, to), stored, compared),
            ExprKind::In(thing, values) => {
                values.iter().for_each(|value| self.pair((thing, value), stored, compared));
            }
            _ => {}
        });
    }

    fn pair(
        &self,
        (thing, word): (&'a Expr, &'a Expr),
        stored: Option<EntityId>,
        compared: &mut Compared<'a>,
    ) {
        let (thing, value) = (plain(&self.lets, thing), plain(&self.lets, word));
        let ExprKind::Word(word) = &value.kind else { return };
        let places = match (&thing.kind, self.contract.trigger) {
            (ExprKind::Stored(name), _) => {
                stored.map(|id| compared.stored.entry((id, name, word)).or_default())
            }
            (ExprKind::Attribute(binding, name), _) => {
                let entity = self.contract.bindings[*binding].kind.item();
                entity.map(|id| compared.stored.entry((id, name, word)).or_default())
            }
            (ExprKind::Input(input), Trigger::Message(queue) | Trigger::Dead(queue)) => {
                let name = self.contract.inputs[*input].name.as_str();
                Some(compared.sent.entry((queue, name, word)).or_default())
            }
            _ => None,
        };
        if let Some(places) = places.filter(|places| !places.contains(&value.span)) {
            places.push(value.span);
        }
    }
}
