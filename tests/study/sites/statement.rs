//! Mistakes in statements: a test, a leg or a block that is not there, or stands elsewhere.

use latchkey_language::Span;
use latchkey_language::ast::{
    Else, ElseKind, Expr, Fact, Return, Send, Statement, StatementKind, Verb,
};

use super::{Sites, each_statement};
use crate::mutant::Operator;

impl Sites<'_> {
    /// The body of a contract, a worker or steps.
    pub(super) fn body(&mut self, body: &[Statement]) {
        let mut others: Vec<(Span, String)> = Vec::new();
        each_statement(body, &mut |statement| {
            let otherwise = match &statement.node {
                StatementKind::Require(_, otherwise) | StatementKind::Match(_, otherwise) => {
                    otherwise.as_ref()
                }
                StatementKind::Operate(_, operation) => operation.otherwise.as_ref(),
                StatementKind::Pick(_, pick) => pick.otherwise.as_ref(),
                _ => None,
            };
            if let Some(otherwise) = otherwise
                && !matches!(otherwise.kind, ElseKind::Block(_))
            {
                others.push((otherwise.span, short(otherwise)));
            }
        });
        for (at, (span, own)) in others.iter().enumerate() {
            self.drop(Operator::DropElse, *span);
            let mut seen = vec![own.clone()];
            for (_, other) in others.iter().skip(at).chain(&others) {
                if !seen.contains(other) {
                    seen.push(other.clone());
                    self.replace(Operator::OtherElse, *span, other.clone());
                }
            }
        }
        each_statement(body, &mut |statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Statement) {
        let span = statement.span;
        match &statement.node {
            StatementKind::Allow(test) => {
                self.drop(Operator::DropAllow, span);
                self.replace(Operator::DropAllow, test.span, "true");
                self.sides(Operator::DropAllow, test);
                self.inner(test);
            }
            StatementKind::AllowAnyone => self.drop(Operator::DropAllow, span),
            StatementKind::Require(test, _) | StatementKind::Match(test, _) => {
                self.drop(Operator::DropTest, span);
                self.test(test);
            }
            StatementKind::When { condition, then, otherwise } => {
                self.when(span, condition, then, otherwise);
            }
            StatementKind::Operate(_, operation) => {
                if !matches!(operation.verb.node, Verb::Get | Verb::Query) {
                    self.drop(Operator::DropLeg, span);
                }
                self.operation(operation);
            }
            StatementKind::Transact(legs) | StatementKind::Each { body: legs, .. } => {
                self.swap(legs)
            }
            StatementKind::Let(_, value) => self.value(value),
            StatementKind::Send(send) => self.send(span, send),
            StatementKind::Do { arguments, .. } => {
                self.drop(Operator::DropLeg, span);
                arguments.iter().for_each(|value| self.value(value));
            }
            StatementKind::Input(fields) => {
                fields.iter().for_each(|field| self.field(field));
            }
            StatementKind::Return(answer) => self.answer(answer),
            StatementKind::Fact(fact) => self.fact(span, fact),
            StatementKind::Route { .. }
            | StatementKind::Snapshot(_)
            | StatementKind::Pick(..)
            | StatementKind::On(..)
            | StatementKind::OnDead(_)
            | StatementKind::End(_)
            | StatementKind::Waive(_) => {}
        }
    }

    fn when(&mut self, span: Span, condition: &Expr, then: &[Statement], otherwise: &[Statement]) {
        let inner = |block: &[Statement]| {
            Some(block.first()?.span.to(block.last()?.span)).map(|span| self.source(span))
        };
        let (then, otherwise) = (inner(then), inner(otherwise));
        self.drop(Operator::DropWhen, span);
        if let Some(then) = then {
            self.replace(Operator::DropWhen, span, then);
        }
        if let Some(otherwise) = otherwise {
            self.replace(Operator::DropWhen, span, otherwise);
        }
        self.test(condition);
    }

    fn swap(&mut self, legs: &[Statement]) {
        for pair in legs.windows(2) {
            if let [one, other] = pair {
                let (first, second) = (self.source(one.span), self.source(other.span));
                self.add(Operator::SwapLegs, vec![(one.span, second), (other.span, first)]);
            }
        }
    }

    fn send(&mut self, span: Span, send: &Send) {
        self.drop(Operator::DropSend, span);
        for block in [&send.accepted, &send.refused].into_iter().flatten() {
            // The span is that of the word before the block.
            let inner = block.node.last().map_or(block.span.end, |last| last.span.end);
            let brace = self.text.get(inner..).and_then(|rest| rest.find('}'));
            if let Some(brace) = brace {
                self.drop(Operator::DropSend, Span::new(block.span.start, inner + brace + 1));
            }
        }
        if let Some(at) = &send.at {
            self.value(at);
            let start = send.fields.last().map(|field| field.value.span.end);
            let text = start.and_then(|start| self.text.get(start..at.span.start));
            if let Some((start, brace)) = start.zip(text.and_then(|text| text.find('}'))) {
                self.drop(Operator::DropSend, Span::new(start + brace + 1, at.span.end));
            }
        }
        self.assigns(&send.fields);
    }

    fn answer(&mut self, answer: &Return) {
        if let Some(status) = &answer.status {
            let other = match status.node {
                204 => None,
                200 => Some("201"),
                _ => Some("200"),
            };
            if let Some(other) = other {
                self.replace(Operator::OtherAnswer, status.span, other);
            }
        }
        let fields: Vec<Span> = answer.fields.iter().map(|field| field.span).collect();
        for at in 0..fields.len() {
            if fields.len() > 1 {
                self.drop_one(Operator::OtherAnswer, &fields, at, None);
            }
        }
        if let Some(value) = &answer.value {
            for other in self.local.other_items(&value.node) {
                self.replace(Operator::OtherName, value.span, other);
            }
        }
        self.assigns(&answer.with);
    }

    fn fact(&mut self, span: Span, fact: &Fact) {
        self.drop(Operator::DropFact, span);
        if let Fact::Consistency(name) = fact {
            let other = if name.node == "strong" { "eventual" } else { "strong" };
            self.replace(Operator::DropFact, name.span, other);
        }
    }
}

/// An `else` as another statement could say it: without a message and values of its own.
fn short(otherwise: &Else) -> String {
    use latchkey_language::ast::Ending;
    let ending = |ending: &Ending| match ending {
        Ending::Done => "done".to_owned(),
        Ending::Later => "later".to_owned(),
        Ending::Fail { code, .. } => format!("fail {}", code.node),
    };
    match &otherwise.kind {
        ElseKind::Fail { status, code, .. } => format!("else {} {}", status.node, code.node),
        ElseKind::Retry => "else retry".to_owned(),
        ElseKind::End(end) => format!("else {}", ending(end)),
        ElseKind::Block(_) => "else { … }".to_owned(),
    }
}
