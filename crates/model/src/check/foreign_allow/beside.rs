//! What is tied by something that stands beside a statement: the condition of another write of the same transaction, and
//! the tests in a block that runs if a value is there.

use super::is_insisted;
use super::tie::{Tied, tied_beside};
use crate::check::flow::{Branch, Group, Placed, Way, within};
use crate::check::truth::{Passed, plain};
use crate::model::{Expr, ExprKind, Given};

impl<'a> Tied<'a> {
    /// A transaction is made only if each of its conditions holds. So the key of an item that one of them finds to be the
    /// caller's is tied, as if the item had been read and tested before.
    pub(super) fn beside_legs(&mut self, group: &Group<'a>, guards: &[Passed<'a>]) {
        for placed in &group.legs {
            let leg = placed.leg;
            if !group.insists(leg).iter().any(|test| self.is_mine(group, test)) {
                // A right of the caller that is asked for here, and not before.
                if is_insisted(group, leg)
                    && !self.loose.is_mute(leg.entity)
                    && within(guards, &placed.guards)
                {
                    leg.key.iter().for_each(|given| self.tie(group, &given.value));
                }
                continue;
            }
            if within(guards, &placed.guards) {
                if let Some(item) = leg.target.filter(|item| !self.has_item(*item)) {
                    self.items.push(item);
                }
                self.tie_key(group, leg.entity, &leg.key);
            } else {
                self.if_present(group, guards, placed);
            }
        }
    }

    /// Ties the value that a leg has as its key, where the leg is made whenever the value is there.
    fn if_present(&mut self, group: &Group<'a>, guards: &[Passed<'a>], placed: &Placed<'a>) {
        let shape = &group.model.entities[placed.leg.entity].key;
        let names = |given: &&'a Given| {
            shape.tells(&given.attribute) && !self.loose.has(placed.leg.entity, &given.attribute)
        };
        let mut found = Vec::new();
        for given in placed.leg.key.iter().filter(names) {
            let around = placed.guards.iter().filter(|test| !within(guards, &[**test]));
            let mut atoms = around.flat_map(|test| test.atoms(&group.lets));
            if atoms.all(|atom| there(group, &atom).is_some_and(|it| is_one(group, it, given))) {
                found.push(&given.value);
            }
        }
        found.into_iter().for_each(|value| self.tie(group, value));
    }

    /// Behind `when x is present { … }`, a value that is there was tested in the block. One that is not there names
    /// nothing.
    pub(super) fn within_branches(
        &mut self,
        group: &Group<'a>,
        (guards, allowed): (&[Passed<'a>], &[Passed<'a>]),
    ) {
        for branch in &group.way.branches {
            let Some(value) = if_there(group, branch) else { continue };
            if self.has(group, value) {
                continue;
            }
            let way = Way::clone(&branch.way);
            let (lets, elements) = (group.lets.clone(), group.elements.clone());
            let (legs, sends) = (Vec::new(), Vec::new());
            let inner = Group { legs, sends, way, lets, elements, ..*group };
            if tied_beside(self.clone(), &inner, guards, allowed).has(&inner, value) {
                self.tie(group, value);
            }
        }
    }
}

/// The value that is there if a block runs, and that the block runs for alone.
fn if_there<'a>(group: &Group<'a>, branch: &Branch<'a>) -> Option<&'a Expr> {
    let [test] = &branch.when[..] else { return None };
    let atoms = test.atoms(&group.lets);
    let [atom] = &atoms[..] else { return None };
    there(group, atom)
}

/// The value that a test finds to be there.
fn there<'a>(group: &Group<'a>, atom: &Passed<'a>) -> Option<&'a Expr> {
    let thing = match (&atom.test.kind, atom.truth) {
        (ExprKind::Present(thing), true) | (ExprKind::Absent(thing), false) => thing,
        _ => return None,
    };
    let thing = plain(&group.lets, thing);
    matches!(thing.kind, ExprKind::Input(_) | ExprKind::Attribute(..)).then_some(thing)
}

fn is_one<'a>(group: &Group<'a>, value: &'a Expr, given: &'a Given) -> bool {
    group.alike(value, &given.value, None)
}
