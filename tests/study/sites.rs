//! The places of a document where an operator can make a mistake, found by its syntax tree.

mod declared;
mod expression;
mod operation;
mod statement;

use std::collections::BTreeSet;

use latchkey_language::ast::{ElseKind, Item, Operation, Pick, Statement, StatementKind};
use latchkey_language::{Span, parse};

use crate::mutant::{Edit, Mutant, Operator};
use crate::names::{Local, Names};

/// Every mutant of a document, in the order of the text.
pub fn mutants(document: usize, text: &str) -> Vec<Mutant> {
    let parsed = parse(text).document;
    let names = Names::of(&parsed);
    let mut sites = Sites {
        text,
        document,
        names: &names,
        local: Local::default(),
        within: String::new(),
        found: Vec::new(),
    };
    for item in &parsed.items {
        match item {
            Item::Contract(contract) | Item::Worker(contract) => {
                sites.within.clone_from(&contract.id.node);
                sites.local = Local::of(&names, contract);
                sites.body(&contract.body);
            }
            Item::Steps(steps) => {
                sites.within.clone_from(&steps.name.node);
                sites.local = Local::default();
                sites.local.add(&names, &steps.parameters);
                sites.body(&steps.body);
            }
            Item::Entity(entity) => {
                sites.within.clone_from(&entity.name.node);
                sites.local = Local::default();
                sites.entity(entity);
            }
            Item::Queue(queue) => {
                sites.within.clone_from(&queue.name.node);
                sites.queue(queue);
            }
            Item::System(_) | Item::Table(_) | Item::Role(_) | Item::Invariant(_) => {}
        }
    }
    let mut seen = BTreeSet::new();
    sites.found.retain(|mutant| {
        let made = mutant.text(text);
        made != text && seen.insert(made)
    });
    sites.found
}

pub(crate) struct Sites<'a> {
    text: &'a str,
    document: usize,
    names: &'a Names,
    local: Local,
    within: String,
    found: Vec<Mutant>,
}

impl Sites<'_> {
    fn add(&mut self, operator: Operator, edits: Vec<(Span, String)>) {
        let edits = edits.into_iter().map(|(span, by)| Edit { span, by }).collect();
        let within = self.within.clone();
        let document = self.document;
        self.found.push(Mutant { document, operator, within, edits, held_back: false });
    }

    fn replace(&mut self, operator: Operator, span: Span, by: impl Into<String>) {
        self.add(operator, vec![(span, by.into())]);
    }

    fn drop(&mut self, operator: Operator, span: Span) {
        self.replace(operator, span, "");
    }

    fn insert(&mut self, operator: Operator, at: usize, what: &str) {
        self.replace(operator, Span::new(at, at), what);
    }

    fn source(&self, span: Span) -> String {
        self.text.get(span.range()).map_or_else(String::new, str::to_owned)
    }

    /// Drops one of several things between commas, or all of `whole` if there is only one.
    fn drop_one(&mut self, operator: Operator, things: &[Span], at: usize, whole: Option<Span>) {
        let Some(own) = things.get(at) else { return };
        let before = at.checked_sub(1).and_then(|at| things.get(at));
        let after = things.get(at + 1);
        match (before, after) {
            (Some(before), _) => self.drop(operator, Span::new(before.end, own.end)),
            (None, Some(after)) => self.drop(operator, Span::new(own.start, after.start)),
            (None, None) => whole.into_iter().for_each(|whole| self.drop(operator, whole)),
        }
    }
}

/// Shows every statement, and those within it, to a function.
pub(crate) fn each_statement<'a>(body: &'a [Statement], see: &mut dyn FnMut(&'a Statement)) {
    for statement in body {
        see(statement);
        match &statement.node {
            StatementKind::When { then, otherwise, .. } => {
                each_statement(then, see);
                each_statement(otherwise, see);
            }
            StatementKind::Transact(legs)
            | StatementKind::Snapshot(legs)
            | StatementKind::OnDead(legs)
            | StatementKind::Each { body: legs, .. } => {
                each_statement(legs, see);
            }
            StatementKind::Send(send) => {
                for block in [&send.accepted, &send.refused].into_iter().flatten() {
                    each_statement(&block.node, see);
                }
            }
            StatementKind::Require(_, Some(otherwise))
            | StatementKind::Match(_, Some(otherwise)) => {
                if let ElseKind::Block(block) = &otherwise.kind {
                    each_statement(block, see);
                }
            }
            StatementKind::Operate(_, Operation { otherwise: Some(otherwise), .. })
            | StatementKind::Pick(_, Pick { otherwise: Some(otherwise), .. }) => {
                if let ElseKind::Block(block) = &otherwise.kind {
                    each_statement(block, see);
                }
            }
            _ => {}
        }
    }
}
