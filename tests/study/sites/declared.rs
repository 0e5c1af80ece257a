//! Mistakes in what is declared: entities, queues, inputs.

use latchkey_language::Span;
use latchkey_language::ast::{Entity, Field, Member, Queue, Type};

use super::Sites;
use crate::mutant::Operator;

impl Sites<'_> {
    pub(super) fn entity(&mut self, entity: &Entity) {
        if let Some(guard) = &entity.guarded_by {
            let before = self.text.get(entity.span.start..guard.span.start);
            if let Some(at) = before.and_then(|before| before.rfind("guarded")) {
                let start = entity.span.start + at;
                self.drop(Operator::DropDeclared, Span::new(start, guard.span.end));
            }
        }
        for member in &entity.members {
            match member {
                Member::Field(field) => self.field(field),
                Member::Copies(names) => {
                    let spans: Vec<Span> = names
                        .iter()
                        .map(|copied| {
                            copied.optional.map_or(copied.name.span, |end| copied.name.span.to(end))
                        })
                        .collect();
                    for at in 0..spans.len() {
                        self.drop_one(Operator::DropDeclared, &spans, at, None);
                    }
                }
                Member::Moves(moves) => {
                    for (from, to) in &moves.moves {
                        let spans: Vec<Span> = to.iter().map(|to| to.span).collect();
                        let whole = to.last().map(|last| from.span.to(last.span));
                        for at in 0..spans.len() {
                            self.drop_one(Operator::DropDeclared, &spans, at, whole);
                        }
                    }
                }
                Member::Expires(name) => {
                    let before = self.text.get(entity.span.start..name.span.start);
                    if let Some(at) = before.and_then(|before| before.rfind("expires")) {
                        let start = entity.span.start + at;
                        self.drop(Operator::DropDeclared, Span::new(start, name.span.end));
                    }
                }
                Member::Key(_) | Member::Index(_) | Member::Waive(_) => {}
            }
        }
    }

    pub(super) fn queue(&mut self, queue: &Queue) {
        if let Some(by) = &queue.ordered_by {
            let before = self.text.get(queue.span.start..by.span.start);
            if let Some(at) = before.and_then(|before| before.rfind("ordered")) {
                let start = queue.span.start + at;
                self.drop(Operator::DropDeclared, Span::new(start, by.span.end));
            }
        }
    }

    /// An attribute or an input.
    pub(super) fn field(&mut self, field: &Field) {
        if let Some(default) = &field.default {
            let type_end = [field.optional, field.secret]
                .into_iter()
                .flatten()
                .map(|span| span.end)
                .fold(field.kind.span.end, usize::max);
            self.drop(Operator::DropDeclared, Span::new(type_end, default.span.end));
            self.value(default);
        }
        if let Some(secret) = field.secret {
            self.drop(Operator::DropDeclared, secret);
        }
        if let Type::Named { bounds: Some(bounds), .. } = &field.kind.node {
            for (bound, by) in [(&bounds.low, -1), (&bounds.high, 1)] {
                let number = bound.as_ref().and_then(|bound| bound.node.parse::<i64>().ok());
                if let Some((bound, number)) = bound.as_ref().zip(number) {
                    self.replace(Operator::WidenRange, bound.span, (number + by).to_string());
                }
            }
        }
    }
}
