//! Whether a test on the way says anything about what a caller gives.

use super::Writer;
use crate::check::truth::{Passed, Supposed, each, plain, truth_word};
use crate::model::{Expr, ExprKind, InputId, Kind, Op};
use crate::types::Type;

impl<'a> Writer<'a, '_> {
    /// The value of an input that is written, where nothing on the way tests the input.
    pub(super) fn untested(&self, value: &'a Expr) -> Option<&'a Expr> {
        let lets = &self.group.lets;
        let input = self.input_of(value)?;
        let value = plain(lets, value);
        // That there are elements says nothing of them.
        let listed = |test: &Expr| self.placed.each.is_some_and(|it| std::ptr::eq(&it.over, test));
        let guards = self.placed.guards.iter().filter(|one| !listed(one.test));
        let around = guards.chain(&self.group.way.tests).copied();
        let condition = self.placed.leg.condition.iter().map(|test| Passed::new(test, true));
        let mut tests = around.chain(condition).flat_map(|passed| passed.atoms(lets));
        let tested =
            tests.any(|atom| self.names(&atom, input, value) && !self.is_idle(&atom, value));
        (!tested).then_some(value)
    }

    /// Whether a test names what is given: the input, or the same member of it or of its elements.
    fn names(&self, atom: &Passed<'a>, input: InputId, value: &'a Expr) -> bool {
        let lets = &self.group.lets;
        let (mut of_input, mut of_value) = (false, false);
        each(lets, atom.test, &mut |part| {
            of_input |= match &part.kind {
                ExprKind::Input(other) => *other == input,
                ExprKind::Binding(id) => self.placed.each.is_some_and(|it| it.element == *id),
                _ => false,
            };
            of_value |= match (&value.kind, &plain(lets, part).kind) {
                (ExprKind::Member(_, name), ExprKind::Member(_, other)) => name == other,
                (ExprKind::Member(..), _) => false,
                _ => true,
            };
        });
        of_input && of_value
    }

    /// Whether a test excludes nothing: it comes out the same for every word; or asks whether an id is another than some
    /// other.
    fn is_idle(&self, atom: &Passed<'a>, value: &'a Expr) -> bool {
        let lets = &self.group.lets;
        let is_value = |expr: &'a Expr| self.group.alike(expr, value, None);
        let words: Vec<&'a str> = match &value.of {
            Kind::Value(Type::Enum(words)) => words.iter().map(String::as_str).collect(),
            Kind::Value(Type::Bool) => [true, false].map(truth_word).to_vec(),
            _ => {
                return match (&atom.test.kind, atom.truth) {
                    (ExprKind::Binary(Op::NotEqual, ..), truth) => truth,
                    (ExprKind::Binary(Op::Equal, ..), truth) => !truth,
                    _ => false,
                };
            }
        };
        words.into_iter().all(|word| {
            let supposed_word = |expr: &'a Expr| is_value(expr).then_some(word);
            let there = |thing: &'a Expr| is_value(thing).then_some(true);
            let supposed = Supposed { lets, moves: &[], word: &supposed_word, there: &there };
            supposed.outcome(atom.test) == Some(atom.truth)
        })
    }
}
