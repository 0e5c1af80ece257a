//! Whether a write makes a test come out otherwise, so that a second run does not pass it.

use latchkey_value::Number;

use super::Around;
use crate::check::leaves::moves_away;
use crate::check::truth::{PARTS_MAX, Passed, plain};
use crate::model::{Expr, ExprKind, GivenPart, Leg, New, Op, Trigger};

/// Which attribute of the item of a leg an expression is.
type Named<'a, 'n> = &'n dyn Fn(&'a Expr) -> Option<&'a str>;

/// Whether an expression is the item of a leg.
type Item<'a, 'n> = &'n dyn Fn(&'a Expr) -> bool;

impl<'a> Around<'a, '_> {
    /// Whether a test comes out otherwise once a leg has happened.
    pub(super) fn turns(
        &self,
        test: &Passed<'a>,
        leg: &'a Leg,
        name: Named<'a, '_>,
        item: Item<'a, '_>,
    ) -> bool {
        self.ends_otherwise(*test, leg, (name, item), &mut PARTS_MAX.clone())
            || self.moves_on(test, leg, name)
            || moves_away(self.model, (leg, &self.group.lets), test, name)
    }

    /// Whether a test comes out otherwise after a leg, however it came out before.
    fn ends_otherwise(
        &self,
        passed: Passed<'a>,
        leg: &'a Leg,
        (name, item): (Named<'a, '_>, Item<'a, '_>),
        parts: &mut usize,
    ) -> bool {
        let Some(less) = parts.checked_sub(1) else { return false };
        *parts = less;
        let test = plain(&self.group.lets, passed.test);
        let passed = Passed { test, ..passed };
        if self.left(&passed, leg, name, item) == Some(!passed.truth)
            || self.fills(&passed, leg, name)
            || self.marks(&passed, leg, name)
        {
            return true;
        }
        let mut turned = |test: &'a Expr, truth: bool| {
            self.ends_otherwise(Passed { test, truth, ..passed }, leg, (name, item), parts)
        };
        match (&test.kind, passed.truth) {
            (ExprKind::Not(inner), truth) => turned(inner, !truth),
            // `.seen is absent or not x in .seen`: neither side holds any more.
            (ExprKind::Binary(Op::Or, a, b), true) | (ExprKind::Binary(Op::And, a, b), false) => {
                turned(a, passed.truth) && turned(b, passed.truth)
            }
            _ => false,
        }
    }

    /// Whether a leg makes an element of a set, or takes one out, where a test asks for the opposite: `not x in .tags`
    /// and `add tags = x`. The element must be the same in a second run: no attribute that was read.
    fn fills(&self, test: &Passed<'a>, leg: &'a Leg, name: Named<'a, '_>) -> bool {
        let lets = &self.group.lets;
        let ExprKind::Contains(set, asked) = &test.test.kind else { return false };
        let Some(set) = name(plain(lets, set)) else { return false };
        let asked = plain(lets, asked);
        let part = if test.truth { GivenPart::NoElement } else { GivenPart::Element };
        is_steady(asked)
            && leg.values.iter().any(|given| {
                let (same, value) = (given.attribute == set && given.part == part, &given.value);
                same && self.group.alike(plain(lets, value), asked, None)
            })
    }

    /// Whether a leg notes what a call has given, where a test asks for something else: `.last != id` and
    /// `set last = id`. A caller repeats a call before the next one; messages come in any order, and the one before
    /// the last may come again.
    fn marks(&self, test: &Passed<'a>, leg: &'a Leg, name: Named<'a, '_>) -> bool {
        let differ = Passed { truth: !test.truth, ..*test };
        let Some((a, b)) = differ.equality() else { return false };
        let lets = &self.group.lets;
        self.contract.trigger == Trigger::Request
            && [(a, b), (b, a)].into_iter().any(|(attribute, asked)| {
                let Some(attribute) = name(plain(lets, attribute)) else { return false };
                let asked = plain(lets, asked);
                let set = self.set(leg, attribute);
                is_steady(asked)
                    && !self.is_made_anew(asked)
                    && set.is_some_and(|set| self.group.alike(plain(lets, &set.value), asked, None))
            })
    }

    /// Whether a value is another one in a repeated call, unless the caller gives it.
    fn is_made_anew(&self, value: &'a Expr) -> bool {
        let ExprKind::Input(input) = &value.kind else { return false };
        let mut made = false;
        if let Some(default) = &self.contract.inputs[*input].default {
            default.walk(&mut |part| {
                made |= matches!(part.kind, ExprKind::New(New::Ulid | New::Key) | ExprKind::Now);
            });
        }
        made
    }

    /// Whether a leg moves an attribute away from the value that a test asks for: removes it, or sets it as a timer does
    /// that recurs, `.at == at` and `set at = at + 1m`. The value must be the same in a second run: no attribute that
    /// was read.
    fn moves_on(&self, test: &Passed<'a>, leg: &'a Leg, name: Named<'a, '_>) -> bool {
        let Some((a, b)) = test.equality() else { return false };
        let lets = &self.group.lets;
        [(a, b), (b, a)].into_iter().any(|(attribute, asked)| {
            let Some(attribute) = name(plain(lets, attribute)) else { return false };
            if leg.removes.iter().any(|removed| removed == attribute) {
                return true;
            }
            let Some(set) = self.set(leg, attribute) else { return false };
            let (asked, left) = (plain(lets, asked), plain(lets, &set.value));
            let is_it = |from: &'a Expr| {
                self.group.alike(from, asked, None)
                    || name(from) == Some(attribute)
                    || matches!(&from.kind, ExprKind::Stored(stored) if stored == attribute)
                    || matches!(&from.kind, ExprKind::Attribute(item, read)
                        if read == attribute && self.group.is_on(leg, *item))
            };
            match (&asked.kind, &left.kind) {
                (ExprKind::Number(asked), ExprKind::Number(left)) => asked != left,
                (ExprKind::Input(_), ExprKind::Not(from)) => is_it(plain(lets, from)),
                (ExprKind::Input(_), ExprKind::Binary(op @ (Op::Plus | Op::Minus), from, by)) => {
                    let by = &plain(lets, by).kind;
                    let grows = *op == Op::Plus && matches!(by, ExprKind::Duration(1..));
                    let from = plain(lets, from);
                    let from_it = match &from.kind {
                        // It is there: the test has found it.
                        ExprKind::Coalesce(values) => {
                            values.first().is_some_and(|first| is_it(plain(lets, first)))
                        }
                        // No less than it, and so more of it.
                        ExprKind::Greatest(values) if grows => {
                            values.iter().any(|one| is_it(plain(lets, one)))
                        }
                        _ => is_it(from),
                    };
                    let moves = matches!(by, ExprKind::Duration(1..))
                        || matches!(by, ExprKind::Number(by) if *by != Number::from(0_u64));
                    from_it && moves
                }
                _ => false,
            }
        })
    }
}

/// Whether a value is the same in a second run.
fn is_steady(value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Input(_) | ExprKind::Word(_) | ExprKind::CallerId)
}
