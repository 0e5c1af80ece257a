//! Writes that need no right of their own to their item: those that only make, count or check, those that give back what
//! was counted with a reference, and the copy of an item that was written so.

use super::tie::Tied;
use crate::check::flow::{Group, is_stored, within};
use crate::check::truth::each;
use crate::model::{BindingId, Expr, ExprKind, Given, Kind, Leg, Model, Op, PutMode, Verb};
use crate::types::Type;

/// Whether a write does more than make, count or check.
pub(super) fn touches(leg: &Leg) -> bool {
    match leg.verb {
        Verb::Check => false,
        // The rule `blind-put` reports a put that does not say.
        Verb::Put => leg.put == Some(PutMode::Replace),
        Verb::Delete => true,
        Verb::Update | Verb::Upsert => {
            !leg.removes.is_empty()
                || !leg.values.iter().all(counts)
                || !leg.adds.iter().all(|given| is_gain(&given.value))
        }
    }
}

/// Whether a value is counted by a constant, or up.
fn counts(given: &Given) -> bool {
    match &given.value.kind {
        ExprKind::Binary(op @ (Op::Plus | Op::Minus), a, by) => {
            is_stored(a, &given.attribute)
                && (matches!(by.kind, ExprKind::Number(_)) || (*op == Op::Plus && is_gain(by)))
        }
        _ => false,
    }
}

/// Whether what is added is a constant, or cannot be less than 0: to take from an item is more than to count.
fn is_gain(value: &Expr) -> bool {
    match (&value.kind, &value.of) {
        (ExprKind::Number(_), _) | (_, Kind::Unknown | Kind::Value(Type::Counter)) => true,
        (_, Kind::Value(Type::Int { low, .. })) => low.is_some_and(|low| low >= 0),
        (_, Kind::Value(Type::Number { low, .. })) => {
            low.as_ref().is_some_and(|low| !low.is_negative())
        }
        _ => false,
    }
}

/// Whether an attribute of an item is counted by a constant, by a write of the group: a number that the caller draws.
pub(super) fn is_drawn<'a>(group: &Group<'a>, item: BindingId, name: &str) -> bool {
    let draws = |given: &Given| {
        given.attribute == name
            && matches!(&given.value.kind, ExprKind::Binary(Op::Plus | Op::Minus, a, by)
                if is_stored(a, name) && matches!(by.kind, ExprKind::Number(_)))
    };
    group
        .legs
        .iter()
        .any(|placed| group.is_on(placed.leg, item) && placed.leg.values.iter().any(draws))
}

/// Whether a leg writes the view of an item that a leg of the same transaction only counts in: who may do the one, must
/// do the other.
pub(super) fn keeps_view<'a>(group: &Group<'a>, leg: &'a Leg) -> bool {
    let Some(item) = leg.of.filter(|_| leg.verb == Verb::Put) else { return false };
    let is_view = group.model.entities[leg.entity].view_of == group.entity_of(item);
    let mut own = is_view;
    for given in leg.key.iter().chain(&leg.values) {
        each(&group.lets, &given.value, &mut |part| {
            own &= match &part.kind {
                ExprKind::Attribute(other, _) => *other == item,
                ExprKind::Input(_) => false,
                _ => true,
            };
        });
    }
    own && group.legs.iter().any(|placed| {
        let counted = placed.leg;
        counted.target == Some(item) && counted.verb == Verb::Update && !touches(counted)
    })
}

/// Whether an update gives back what was counted: the item of the caller that names its item also says how much, and
/// whatever makes such an item counts that much there, in one transaction with it.
pub(super) fn is_given_back<'a>(
    model: &'a Model,
    (group, all): (&Group<'a>, &[Group<'a>]),
    leg: &'a Leg,
    tied: &Tied<'a>,
) -> bool {
    let shape = model.entities[leg.entity].key.attributes();
    let part = |name: &&'a str| {
        let given = leg.key.iter().find(|given| given.attribute == *name).map(|it| &it.value);
        given.or_else(|| group.given_part(leg.target?, name))
    };
    let Some(key) = shape.iter().map(part).collect::<Option<Vec<&'a Expr>>>() else {
        return false;
    };
    let Some(item) = key.iter().find_map(|value| attribute(group, value)).map(|(item, _)| item)
    else {
        return false;
    };
    let of_item = |value: &'a Expr| {
        attribute(group, value).filter(|(other, _)| *other == item).map(|(_, name)| name)
    };
    let Some(key) = key.into_iter().map(of_item).collect::<Option<Vec<&'a str>>>() else {
        return false;
    };
    let taken = |given: &'a Given| match &given.value.kind {
        ExprKind::Binary(Op::Minus, a, by) if is_stored(a, &given.attribute) => {
            Some((given.attribute.as_str(), of_item(by)?))
        }
        _ => None,
    };
    let rest = leg.values.iter().filter(|given| !counts(given));
    let Some(taken) = rest.map(taken).collect::<Option<Vec<_>>>() else { return false };
    let Some(holder) = group.entity_of(item).filter(|_| tied.has_item(item)) else { return false };
    leg.verb == Verb::Update
        && leg.removes.is_empty()
        && leg.adds.iter().all(|given| is_gain(&given.value))
        && all.iter().flat_map(|maker| &maker.legs).any(|placed| {
            placed.leg.entity == holder && matches!(placed.leg.verb, Verb::Put | Verb::Upsert)
        })
        && all.iter().all(|maker| {
            let held = maker.legs.iter().filter(|placed| placed.leg.entity == holder);
            held.into_iter().all(|placed| {
                let made = Made { group: maker, leg: placed.leg };
                match placed.leg.verb {
                    Verb::Check | Verb::Delete => true,
                    Verb::Update => !made.sets(&key) && !made.sets(&names(&taken)),
                    Verb::Put | Verb::Upsert => maker.legs.iter().any(|other| {
                        other.leg.entity == leg.entity
                            && within(&placed.guards, &other.guards)
                            && made.is_counted(other.leg, (&shape, &key), &taken)
                    }),
                }
            })
        })
}

fn names<'a>(taken: &[(&'a str, &'a str)]) -> Vec<&'a str> {
    taken.iter().map(|(_, name)| *name).collect()
}

/// The item and the attribute that a value is.
fn attribute<'a>(group: &Group<'a>, value: &'a Expr) -> Option<(BindingId, &'a str)> {
    match &group.origin(value).kind {
        ExprKind::Attribute(item, name) => Some((*item, name)),
        _ => None,
    }
}

/// A write of an item that names another.
struct Made<'a, 'g> {
    group: &'g Group<'a>,
    leg: &'a Leg,
}

impl<'a> Made<'a, '_> {
    fn sets(&self, names: &[&str]) -> bool {
        let given =
            self.leg.values.iter().chain(&self.leg.adds).map(|given| given.attribute.as_str());
        given.chain(self.leg.removes.iter().map(String::as_str)).any(|name| names.contains(&name))
    }

    /// What it gives an attribute.
    fn gives(&self, name: &str) -> Option<&'a Expr> {
        let mut given = self.leg.values.iter().chain(&self.leg.key);
        given.find(|given| given.attribute == name).map(|given| &given.value)
    }

    /// Whether another leg counts up what is taken later, on the item that this one names.
    fn is_counted(
        &self,
        other: &'a Leg,
        (shape, key): (&[&str], &[&str]),
        taken: &[(&str, &str)],
    ) -> bool {
        let group = self.group;
        let alike = |a: Option<&'a Expr>, b: Option<&'a Expr>| {
            a.zip(b).is_some_and(|(a, b)| group.alike(a, b, None))
        };
        let part = |name: &str| {
            let given = other.key.iter().find(|given| given.attribute == name).map(|it| &it.value);
            given.or_else(|| group.given_part(other.target?, name))
        };
        let adds = |counted: &str, amount: &str| {
            let plus = other.values.iter().find_map(|given| match &given.value.kind {
                ExprKind::Binary(Op::Plus, a, by)
                    if given.attribute == counted && is_stored(a, counted) =>
                {
                    Some(&**by)
                }
                _ => None,
            });
            let add = other.adds.iter().find(|given| given.attribute == counted);
            alike(plus.or(add.map(|given| &given.value)), self.gives(amount))
        };
        matches!(other.verb, Verb::Update | Verb::Upsert)
            && shape.iter().zip(key).all(|(part_of, name)| alike(part(part_of), self.gives(name)))
            && taken.iter().all(|(counted, amount)| adds(counted, amount))
    }
}
