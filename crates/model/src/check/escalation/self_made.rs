//! Rights that callers make for themselves: an item with the caller's id in its key, which an `allow` elsewhere rests
//! on, and which everyone can put under any key.

use std::collections::HashMap;
use std::rc::Rc;

use latchkey_language::{Diagnostic, Rule};
use latchkey_value::Value;

use super::{Own, Writer};
use crate::check::flow::lets;
use crate::check::truth::{Lets, PARTS_MAX, Passed, Supposed, each, plain, truth_word};
use crate::check::{each_read, each_step};
use crate::model::{
    BindingId, Contract, EntityId, Expr, ExprKind, Given, InputId, Model, Op, StepKind, Verb, What,
};

/// A test of rights that asks for an attribute of an item of the caller. That the item is there says less: where
/// everyone may join, everyone is a member.
pub(super) struct Use<'a> {
    /// The part of the item's key that is the caller's id.
    part: &'a str,
    item: BindingId,
    pub(super) test: &'a Expr,
    lets: Rc<Lets<'a>>,
}

/// The tests of rights that ask for items with the caller's id in their keys.
pub(super) fn uses(model: &Model) -> HashMap<EntityId, Vec<Use<'_>>> {
    let mut all: HashMap<EntityId, Vec<Use<'_>>> = HashMap::new();
    for contract in &model.contracts {
        let lets = Rc::new(lets(contract));
        let (tests, own) = (rights(contract), Own::of(contract, &lets));
        each_read(contract, |read, _| {
            let (Some(item), What::Get(key)) = (read.binding, &read.what) else { return };
            let mine = key.iter().find(|given| own.has_part(&lets, item, given));
            let Some(mine) = mine else { return };
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

/// Tells of a put by which a caller makes a right for themselves.
pub(super) fn told<'a>(
    writer: &Writer<'a, '_>,
    own: &Own<'a>,
    uses: &[Use<'a>],
) -> Option<Diagnostic> {
    let (leg, group) = (writer.placed.leg, writer.group);
    if !matches!(leg.verb, Verb::Put | Verb::Upsert) {
        return None;
    }
    let mine = leg.key.iter().find(|given| own.has(&group.lets, &given.value))?;
    let others = leg.key.iter().filter(|given| given.attribute != mine.attribute);
    let chosen = others.into_iter().find_map(|given| match &group.origin(&given.value).kind {
        ExprKind::Input(input) => Some((*input, given)),
        _ => None,
    });
    let (input, given) = chosen.filter(|(input, _)| !writer.is_looked_into(*input))?;
    let opened = uses.iter().find(|one| one.part == mine.attribute && one.is_opened(writer))?;
    // A way that asks for something else asks nothing about this.
    let open = !writer.ways().is_empty();
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
    /// How each side of the test comes out if an attribute of the item is a word.
    pub(super) fn outcomes(&self, name: &str, word: &'a str) -> Vec<Option<bool>> {
        let item = self.item;
        let word = |expr: &'a Expr| match &expr.kind {
            ExprKind::Attribute(other, read) if *other == item && read == name => Some(word),
            _ => None,
        };
        let sides = sides(&self.lets, self.test).into_iter();
        sides.map(|side| self.supposing(side, &word, &|_| None)).collect()
    }

    /// Whether the test asks for an element of a set.
    pub(super) fn asks_element(&self, name: &str, word: &str) -> bool {
        self.has_part(|part| match &part.kind {
            ExprKind::Contains(set, element) => {
                self.is_attribute(set, name)
                    && matches!(&plain(&self.lets, element).kind, ExprKind::Word(it) if it == word)
            }
            _ => false,
        })
    }

    /// Whether the test asks for a member of a record.
    pub(super) fn asks_member(&self, name: &str, member: &str) -> bool {
        self.has_part(|part| match &part.kind {
            ExprKind::Member(record, read) => read == member && self.is_attribute(record, name),
            _ => false,
        })
    }

    fn has_part(&self, is_it: impl Fn(&'a Expr) -> bool) -> bool {
        let mut found = false;
        each(&self.lets, self.test, &mut |part| found |= is_it(part));
        found
    }

    /// Whether an expression is an attribute of the item, or in a record that is.
    fn is_attribute(&self, expr: &'a Expr, name: &str) -> bool {
        match &plain(&self.lets, expr).kind {
            ExprKind::Attribute(item, read) => *item == self.item && read == name,
            ExprKind::Member(record, _) => self.is_attribute(record, name),
            _ => false,
        }
    }

    /// How a test comes out if the item is there, and some of its attributes are words, or there.
    fn supposing(
        &self,
        test: &'a Expr,
        word: &dyn Fn(&'a Expr) -> Option<&'a str>,
        has: &dyn Fn(&str) -> Option<bool>,
    ) -> Option<bool> {
        let there = |thing: &'a Expr| match &thing.kind {
            ExprKind::Binding(other) if *other == self.item => Some(true),
            ExprKind::Attribute(other, name) if *other == self.item => has(name),
            _ => None,
        };
        Supposed { lets: &self.lets, moves: &[], word, there: &there }.outcome(test)
    }

    /// Whether the item that is put does what is asked.
    fn is_opened(&self, writer: &Writer<'a, '_>) -> bool {
        let item = self.item;
        let word = |expr: &'a Expr| match &expr.kind {
            ExprKind::Attribute(other, name) if *other == item => writer.puts_word(name),
            _ => None,
        };
        self.supposing(self.test, &word, &|name| writer.puts(name)) != Some(false)
    }
}

/// The sides of a test of `or`.
fn sides<'a>(lets: &Lets<'a>, test: &'a Expr) -> Vec<&'a Expr> {
    let (mut open, mut sides) = (vec![test], Vec::new());
    while let Some(test) = open.pop() {
        match &plain(lets, test).kind {
            ExprKind::Binary(Op::Or, a, b) if sides.len() + open.len() < PARTS_MAX => {
                open.extend([&**b, &**a]);
            }
            _ => sides.push(test),
        }
    }
    sides
}

impl<'a> Writer<'a, '_> {
    /// Whether an attribute is put, where that is sure.
    fn puts(&self, name: &str) -> Option<bool> {
        let leg = self.placed.leg;
        let attribute = self.model.entities[leg.entity].attribute(name)?;
        match leg.values.iter().find(|given| given.attribute == name) {
            Some(_) => None,
            None => (leg.of.is_none() && attribute.default.is_none()).then_some(false),
        }
    }

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
                match attribute.default.as_ref()? {
                    Value::Bool(truth) => Some(truth_word(*truth)),
                    other => other.as_text().map(|text| text.as_str()),
                }
            }
            None => None,
        }
    }

    /// Whether anything is asked about what an input names: an item that was read by it and something else; a test of
    /// such an item, or a condition of another write, that does not come out the same for every caller.
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
        let tests = group.way.tests.iter().chain(&self.placed.guards).copied();
        let allows = group.way.allows.iter().map(|test| Passed::new(test, true));
        let is_input = |it: &'a Expr| matches!(group.origin(it).kind, ExprKind::Input(other) if other == input);
        let tested = tests.chain(allows).flat_map(|passed| passed.atoms(&group.lets)).any(|atom| {
            let mut about = false;
            each(&group.lets, atom.test, &mut |part| {
                about |= match &part.kind {
                    ExprKind::Attribute(item, _) => items.contains(item),
                    ExprKind::Owns(thing) => is_input(thing),
                    ExprKind::Binary(Op::Equal, a, b) => is_input(a) || is_input(b),
                    ExprKind::In(thing, _) | ExprKind::Contains(_, thing) => is_input(thing),
                    _ => false,
                };
            });
            about && self.asks_who(atom, None)
        });
        let others = group.legs.iter().map(|placed| placed.leg);
        // What has the input and something else in its key is an invitation, if it must be there.
        let insisted = others.filter(|leg| !std::ptr::eq(*leg, self.placed.leg)).any(|leg| {
            let on_it = names(&leg.key) || leg.target.is_some_and(|it| items.contains(&it));
            let invites = leg.key.len() > 1 && leg.verb != Verb::Put && leg.condition.is_some();
            on_it && (invites || self.leg_asks(leg))
        });
        asked || tested || insisted
    }
}
