//! Rights that callers make for themselves: an item with the caller's id in its key, which an `allow` elsewhere rests
//! on, and which everyone can put under any key.

use std::collections::HashMap;
use std::rc::Rc;

use latchkey_language::{Diagnostic, Rule};

use super::Writer;
use crate::check::flow::lets;
use crate::check::truth::{Lets, Supposed, each, plain, truth_word};
use crate::check::{each_read, each_step};
use crate::model::{
    BindingId, Contract, EntityId, Expr, ExprKind, Given, InputId, Model, StepKind, Verb, What,
};

/// A test of rights that asks for an attribute of an item of the caller. That the item is there says less: where
/// everyone may join, everyone is a member.
pub(super) struct Use<'a> {
    /// The part of the item's key that is the caller's id.
    part: &'a str,
    item: BindingId,
    test: &'a Expr,
    lets: Rc<Lets<'a>>,
}

/// The tests of rights that ask for items with the caller's id and something else in their keys.
pub(super) fn uses(model: &Model) -> HashMap<EntityId, Vec<Use<'_>>> {
    let mut all: HashMap<EntityId, Vec<Use<'_>>> = HashMap::new();
    for contract in &model.contracts {
        let lets = Rc::new(lets(contract));
        let tests = rights(contract);
        each_read(contract, |read, _| {
            let (Some(item), What::Get(key)) = (read.binding, &read.what) else { return };
            let mine = key.iter().find(|given| is_caller(&lets, given));
            let Some(mine) = mine.filter(|_| key.len() > 1) else { return };
            let keys = model.entities[read.entity].key.attributes();
            let asks = |test: &&Expr| {
                let mut found = false;
                each(&lets, test, &mut |part| {
                    found |= matches!(&part.kind, ExprKind::Attribute(other, name)
                        if *other == item && !keys.contains(&name.as_str()));
                });
                found
            };
            for test in tests.iter().copied().filter(asks) {
                let one = Use { part: &mine.attribute, item, test, lets: Rc::clone(&lets) };
                all.entry(read.entity).or_default().push(one);
            }
        });
    }
    all
}

/// What the rights of the caller are tested by.
fn rights(contract: &Contract) -> Vec<&Expr> {
    let mut found = Vec::new();
    each_step(&contract.steps, &mut |step| match &step.kind {
        StepKind::Allow(test) => found.push(test),
        StepKind::Require(test, Some(failure)) if failure.forbids() => found.push(test),
        _ => {}
    });
    found
}

fn is_caller<'a>(lets: &Lets<'a>, given: &'a Given) -> bool {
    matches!(plain(lets, &given.value).kind, ExprKind::CallerId)
}

/// Tells of a put by which a caller makes a right for themselves.
pub(super) fn told<'a>(writer: &Writer<'a, '_>, uses: &[Use<'a>]) -> Option<Diagnostic> {
    let (leg, group) = (writer.placed.leg, writer.group);
    if !matches!(leg.verb, Verb::Put | Verb::Upsert) {
        return None;
    }
    let mine = leg.key.iter().find(|given| is_caller(&group.lets, given))?;
    let chosen = leg.key.iter().find_map(|given| match &group.origin(&given.value).kind {
        ExprKind::Input(input) => Some((*input, given)),
        _ => None,
    });
    let (input, given) = chosen
        .filter(|(input, given)| !group.is_made(&given.value) && !writer.is_looked_into(*input))?;
    let opened = uses.iter().find(|one| one.part == mine.attribute && one.is_opened(writer))?;
    let open = writer.ways().iter().flatten().any(|way| writer.is_open(way));
    let entity = &writer.model.entities[leg.entity].name;
    let name = &writer.contract.inputs[input].name;
    open.then(|| {
        let message = format!("callers make a `{entity}` for themselves, under any `{name}`");
        let diagnostic = Diagnostic::new(Rule::Escalation, leg.span, message)
            .other(given.span, "the caller names it, and nothing on the way looks at it")
            .other(opened.test.span, "a right rests on the item here")
            .why("whoever makes the item has the right that it stands for")
            .help(
                "ask for an invitation, or whether everyone may join: `require space.open else 403 closed`; or put less \
                 into it than the right asks for",
            );
        match group.way.allows.last() {
            Some(allow) => diagnostic.other(allow.span, "all that is asked of the caller"),
            None => diagnostic,
        }
    })
}

impl<'a> Use<'a> {
    /// Whether the item that is put does what is asked.
    fn is_opened(&self, writer: &Writer<'a, '_>) -> bool {
        let (item, test) = (self.item, self.test);
        let word = |expr: &'a Expr| match &expr.kind {
            ExprKind::Attribute(other, name) if *other == item => writer.puts_word(name),
            _ => None,
        };
        let there = |thing: &'a Expr| match &thing.kind {
            ExprKind::Binding(other) if *other == item => Some(true),
            _ => None,
        };
        let supposed = Supposed { lets: &self.lets, moves: &[], word: &word, there: &there };
        supposed.outcome(test) != Some(false)
    }
}

impl<'a> Writer<'a, '_> {
    /// The word that an attribute is put with, or has by default.
    fn puts_word(&self, name: &str) -> Option<&'a str> {
        let leg = self.placed.leg;
        match leg.values.iter().find(|given| given.attribute == name) {
            Some(given) => match &plain(&self.group.lets, &given.value).kind {
                ExprKind::Word(word) => Some(word),
                ExprKind::Bool(truth) => Some(truth_word(*truth)),
                _ => None,
            },
            None if leg.of.is_none() => {
                let attribute = self.model.entities[leg.entity].attribute(name)?;
                attribute.default.as_ref()?.as_text().map(|text| text.as_str())
            }
            None => None,
        }
    }

    /// Whether anything is asked about what an input names: an item that was read by it and something else, a test of
    /// such an item, or a condition of another write.
    fn is_looked_into(&self, input: InputId) -> bool {
        let group = self.group;
        let names = |key: &'a [Given]| {
            key.iter().any(|given| {
                let first = &group.origin(&given.value).kind;
                matches!(first, ExprKind::Input(other) if *other == input)
            })
        };
        let reads = group.way.reads.iter().filter_map(|(read, _)| match &read.what {
            What::Get(key) if names(key) => Some((read, key)),
            _ => None,
        });
        let items: Vec<_> = reads.clone().filter_map(|(read, _)| read.binding).collect();
        let asked = reads.into_iter().any(|(read, key)| key.len() > 1 && read.failure.is_some());
        let mut tested = false;
        let tests = group.way.tests.iter().chain(&self.placed.guards).map(|one| one.test);
        for test in tests.chain(group.way.allows.iter().copied()) {
            each(&group.lets, test, &mut |part| {
                tested |= match &part.kind {
                    ExprKind::Attribute(item, _) => items.contains(item),
                    ExprKind::Input(other) => *other == input,
                    _ => false,
                };
            });
        }
        let others = group.legs.iter().map(|placed| placed.leg);
        let insisted = others.filter(|leg| !std::ptr::eq(*leg, self.placed.leg)).any(|leg| {
            leg.condition.is_some()
                && (names(&leg.key) || leg.target.is_some_and(|it| items.contains(&it)))
        });
        asked || tested || insisted
    }
}
