//! What an answer shows, and what decides which answer is given: each fact with the moment at which it was looked at.

use super::{Fact, Use, collect, entity_of, tested};
use crate::check::flow::Group;
use crate::check::truth::each;
use crate::model::{
    BindingId, Contract, Expr, ExprKind, Given, Kind, Leg, Model, Return, StepKind, Verb,
};

/// The attributes that an answer shows.
pub(super) fn shown_facts<'a>(
    model: &'a Model,
    contract: &'a Contract,
    group: &Group<'a>,
    answer: &'a Return,
) -> Vec<Use<'a>> {
    let mut facts = Vec::new();
    if let Some(binding) = answer.binding
        && let Some(entity) = entity_of(contract, binding)
    {
        let attributes = model.entities[entity].attributes.iter();
        let names = attributes.map(|attribute| attribute.name.as_str());
        let names = names
            .filter(|name| answer.fields.is_empty() || answer.fields.iter().any(|it| it == name));
        let shown = |name| Use::new(Fact::Attribute(binding, name), group.step.span, None);
        facts.extend(names.map(shown));
    }
    for given in &answer.with {
        collect(group, &given.value, None, &mut facts);
        // A list shows all attributes of its items.
        if let (ExprKind::Binding(list), Kind::Page(entity)) = (&given.value.kind, &given.value.of)
        {
            let attributes = model.entities[*entity].attributes.iter();
            facts.extend(attributes.map(|attribute| {
                Use::new(Fact::Attribute(*list, &attribute.name), given.span, None)
            }));
        }
    }
    facts.retain(|used| matches!(used.fact, Fact::Attribute(..)));
    facts
}

/// Something that an answer shows, or that decides which answer is given.
pub(super) struct Shown<'a> {
    pub(super) used: Use<'a>,
    /// Of a test, how many writes came before it.
    pub(super) tested: Option<usize>,
    /// How many writes came before it was looked at: of a name for a value, before the value was named.
    pub(super) by: usize,
}

/// What decides which answer is given, behind a write: the tests there.
pub(super) fn decided_facts<'a>(group: &Group<'a>) -> Vec<Shown<'a>> {
    let mut facts = Vec::new();
    for passed in group.way.tests.iter().filter(|passed| passed.after > 0) {
        let (mut found, after) = (Vec::new(), Some(passed.after));
        tested(group, *passed, &mut found);
        facts.extend(found.into_iter().map(|used| Shown { used, tested: after, by: passed.after }));
        facts.extend(named_facts(group, passed.test, after));
    }
    facts
}

/// The attributes that an expression has by the names of values: as they were where each was named.
pub(super) fn named_facts<'a>(
    group: &Group<'a>,
    expr: &'a Expr,
    tested: Option<usize>,
) -> Vec<Shown<'a>> {
    let mut facts = Vec::new();
    each(&group.lets, expr, &mut |part| {
        let ExprKind::Binding(name) = &part.kind else { return };
        let Some(value) = group.lets.get(name).copied() else { return };
        let mut all = group.way.named.iter();
        let Some((_, by)) = all.find(|(other, _)| std::ptr::eq(*other, value)) else { return };
        value.walk(&mut |inner| {
            if let ExprKind::Attribute(item, attribute) = &inner.kind {
                let used = Use::new(Fact::Attribute(*item, attribute), part.span, None);
                facts.push(Shown { used, tested, by: *by });
            }
        });
    });
    facts
}

/// Whether the name of an item means, behind a write, what the write left, as far as a fact goes. A transaction returns
/// no items: the name means the item as it was read, with what the transaction has set.
pub(super) fn left(writes: &[Group<'_>], leg: &Leg, used: &Use<'_>) -> bool {
    let binding = used.fact.binding();
    if ![leg.target, leg.result].contains(&Some(binding))
        || matches!(leg.verb, Verb::Delete | Verb::Check)
    {
        return false;
    }
    let is_in = |group: &&Group<'_>| group.legs.iter().any(|it| std::ptr::eq(it.leg, leg));
    let together = writes.iter().find(is_in).is_some_and(|group| {
        matches!(group.step.kind, StepKind::Transact(_)) && leg.verb != Verb::Put
    });
    match &used.fact {
        Fact::Attribute(_, name) if together => {
            let sets = |given: &Given| given.attribute == *name && given.is_whole() && !given.maybe;
            leg.values.iter().any(sets) || leg.removes.iter().any(|other| other == name)
        }
        _ => true,
    }
}

/// What an answer says of items beside their attributes: whether one is there, how many there are, which there are, and
/// what an attribute of them adds up to.
pub(super) fn asked_facts<'a>(
    contract: &'a Contract,
    group: &Group<'a>,
    answer: &'a Return,
) -> Vec<Use<'a>> {
    let mut facts = Vec::new();
    for given in &answer.with {
        each(&group.lets, &given.value, &mut |part| {
            let mut add = |fact| facts.push(Use::new(fact, part.span, None));
            match &part.kind {
                ExprKind::Present(thing) | ExprKind::Absent(thing) => {
                    if let ExprKind::Binding(item) = &thing.kind {
                        add(Fact::There(*item));
                        add(Fact::NotThere(*item));
                    }
                }
                ExprKind::Count(list) => add(Fact::Items(*list, None)),
                ExprKind::CountBy(list, name, _) | ExprKind::Sum(list, name) => {
                    add(Fact::Items(*list, Some(name)));
                }
                ExprKind::Binding(list) if matches!(part.of, Kind::Page(_)) => {
                    add(Fact::Items(*list, None));
                }
                _ => {}
            }
        });
    }
    let is_list = |list: &BindingId| matches!(contract.bindings[*list].kind, Kind::Page(_));
    let list = answer.binding.filter(is_list);
    facts.extend(list.map(|list| Use::new(Fact::Items(list, None), group.step.span, None)));
    facts
}
