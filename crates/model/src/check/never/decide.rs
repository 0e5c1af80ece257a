//! The outcome of a test, where the tests before it and the types of its parts decide it.

use std::cmp::Ordering;

use latchkey_language::Span;

use super::range::{Bounds, bounds_of, opposite, turned};
use crate::check::flow::Group;
use crate::check::truth::{Passed, declared, each, plain, truth_word};
use crate::model::{BindingId, Contract, Expr, ExprKind, InputId, Kind, Model, Op};
use crate::types::Type;

/// The outcome of a test and the earlier tests that decide it; `None` where nothing does.
pub(super) type Verdict = Option<(bool, Vec<Span>)>;

/// How many parts of a test are decided, and how many earlier tests are looked at.
const PARTS_MAX: usize = 60;

/// Decides a test.
pub(super) fn decide<'a>(
    model: &'a Model,
    contract: &'a Contract,
    group: &Group<'a>,
    test: &'a Expr,
) -> Verdict {
    let legs = group.way.written.iter();
    let written = legs.flat_map(|leg| [leg.target, leg.result]).flatten().collect();
    let mut known = Known { model, contract, group, written, facts: Vec::new() };
    if !known.is_settled(test) {
        return None;
    }
    let tests = group.way.tests.iter().rev();
    let settled = tests.filter(|passed| !passed.stale && known.is_settled(passed.test));
    let facts = settled.flat_map(|passed| passed.atoms(&group.lets)).take(PARTS_MAX).collect();
    known.facts = facts;
    known.test(test, &mut PARTS_MAX.clone())
}

/// What is known where a test stands.
pub(super) struct Known<'a, 'g> {
    model: &'a Model,
    contract: &'a Contract,
    pub(super) group: &'g Group<'a>,
    /// The items that were written by then. Their names mean what the write left.
    written: Vec<BindingId>,
    /// The tests that were passed, taken apart.
    pub(super) facts: Vec<Passed<'a>>,
}

impl<'a> Known<'a, '_> {
    /// Whether every part of a test is known and means now what it meant when it was named: a value that was named
    /// before a write keeps the old attribute.
    fn is_settled(&self, test: &'a Expr) -> bool {
        let lets = &self.group.lets;
        let mut settled = true;
        each(lets, test, &mut |part| settled &= !matches!(part.kind, ExprKind::Unknown));
        test.walk(&mut |part| {
            if let ExprKind::Binding(name) = &part.kind
                && let Some(named) = lets.get(name)
            {
                each(lets, named, &mut |part| {
                    if let ExprKind::Attribute(item, _) | ExprKind::Binding(item) = &part.kind {
                        settled &= !self.written.contains(item);
                    }
                });
            }
        });
        settled
    }

    fn test(&mut self, test: &'a Expr, left: &mut usize) -> Verdict {
        *left = left.checked_sub(1)?;
        let test = plain(&self.group.lets, test);
        match &test.kind {
            ExprKind::Bool(truth) => Some((*truth, Vec::new())),
            ExprKind::Not(inner) => self.test(inner, left).map(|(truth, by)| (!truth, by)),
            ExprKind::Binary(op @ (Op::And | Op::Or), a, b) => self.both(*op, a, b, left),
            ExprKind::Present(thing) => self.there(thing),
            ExprKind::Absent(thing) => self.there(thing).map(|(there, by)| (!there, by)),
            _ => self.repeated(test).or_else(|| self.leaf(test)),
        }
    }

    /// The right side is asked only if the left has not decided.
    fn both(&mut self, op: Op, a: &'a Expr, b: &'a Expr, left: &mut usize) -> Verdict {
        let decides = op == Op::Or;
        let first = self.test(a, left);
        if let Some((truth, _)) = &first
            && *truth == decides
        {
            return first;
        }
        let before = self.facts.len();
        self.facts.extend(Passed::new(a, !decides).atoms(&self.group.lets));
        let second = self.test(b, left);
        self.facts.truncate(before);
        match (first, second) {
            (_, Some((truth, by))) if truth == decides => Some((decides, by)),
            (Some((_, mut by)), Some((_, more))) => {
                by.extend(more);
                Some((!decides, by))
            }
            _ => None,
        }
    }

    /// A comparison of the end of an item that was read with `now`: an item that has ended is not read.
    fn lives(&self, op: Op, a: &'a Expr, b: &'a Expr) -> Verdict {
        let is_now = |expr: &'a Expr| matches!(plain(&self.group.lets, expr).kind, ExprKind::Now);
        let (end, op) = match (is_now(a), is_now(b)) {
            (false, true) => (a, op),
            (true, false) => (b, turned(op)),
            _ => return None,
        };
        let ExprKind::Attribute(item, name) = &plain(&self.group.lets, end).kind else {
            return None;
        };
        let (_, read) = self.group.read_of(*item)?;
        if self.written.contains(item) || !self.model.entities[read.entity].is_end(name) {
            return None;
        }
        match op {
            Op::Greater | Op::GreaterOrEqual | Op::NotEqual => Some((true, Vec::new())),
            Op::Less | Op::LessOrEqual | Op::Equal => Some((false, Vec::new())),
            _ => None,
        }
    }

    fn leaf(&self, test: &'a Expr) -> Verdict {
        match &test.kind {
            ExprKind::Binary(op, a, b) => {
                self.lives(*op, a, b).or_else(|| self.compared(*op, a, b))
            }
            ExprKind::Between(x, low, high) => {
                let sides = [
                    self.compared(Op::GreaterOrEqual, x, low),
                    self.compared(Op::LessOrEqual, x, high),
                ];
                match sides {
                    [Some((false, by)), _] | [_, Some((false, by))] => Some((false, by)),
                    [Some((true, by)), Some((true, more))] => Some((true, [by, more].concat())),
                    _ => None,
                }
            }
            ExprKind::In(thing, values) => self.one_of(thing, values),
            ExprKind::MovesTo(from, to) => self.moves(from, to),
            _ => {
                let (words, by) = self.words(test)?;
                let [word] = words[..] else { return None };
                [true, false]
                    .into_iter()
                    .find(|truth| truth_word(*truth) == word)
                    .map(|it| (it, by))
            }
        }
    }

    /// Whether an input is within its bounds whatever its default: it has none, or a constant.
    pub(super) fn has_constant_default(&self, input: InputId) -> bool {
        let default = &self.contract.inputs[input].default;
        default.as_ref().is_none_or(|value| matches!(value.kind, ExprKind::Number(_)))
    }

    pub(super) fn same(&self, a: &'a Expr, b: &'a Expr) -> bool {
        self.group.alike(a, b, None)
    }

    /// The outcome of the same test before.
    fn repeated(&self, test: &'a Expr) -> Verdict {
        let found = self.facts.iter().find(|fact| self.same(fact.test, test));
        found.map(|fact| (fact.truth, vec![fact.test.span]))
    }

    /// Whether a thing is there.
    fn there(&self, thing: &'a Expr) -> Verdict {
        let thing = plain(&self.group.lets, thing);
        let tested = self.facts.iter().find_map(|fact| {
            let (other, there) = match &fact.test.kind {
                ExprKind::Present(other) => (other, fact.truth),
                ExprKind::Absent(other) => (other, !fact.truth),
                _ => return None,
            };
            self.same(other, thing).then(|| (there, vec![fact.test.span]))
        });
        tested.or_else(|| match &thing.kind {
            ExprKind::Binding(item) if !self.written.contains(item) => {
                let mut found = self.group.way.found.iter();
                let (_, there, span) = found.find(|(other, ..)| other == item)?;
                Some((*there, vec![*span]))
            }
            ExprKind::Input(input) => {
                (!self.contract.inputs[*input].optional).then(|| (true, Vec::new()))
            }
            ExprKind::Attribute(item, name) => {
                let entity = self.contract.bindings[*item].kind.item()?;
                let attribute = self.model.entities[entity].attribute(name)?;
                (!attribute.optional).then(|| (true, Vec::new()))
            }
            _ => None,
        })
    }

    /// A comparison by the comparisons of the same two values, by the words they can be, and by their bounds.
    fn compared(&self, op: Op, a: &'a Expr, b: &'a Expr) -> Verdict {
        let asked = orders(op)?;
        let mut by = Vec::new();
        let mut left = vec![Ordering::Less, Ordering::Equal, Ordering::Greater];
        if self.same(a, b) {
            left = vec![Ordering::Equal];
        }
        for (op, c, d, span) in self.comparisons() {
            let turn = match () {
                () if self.same(a, c) && self.same(b, d) => false,
                () if self.same(a, d) && self.same(b, c) => true,
                () => continue,
            };
            let Some(found) = orders(if turn { turned(op) } else { op }) else { continue };
            left.retain(|order| found.contains(order));
            by.push(span);
        }
        if let (Some((one, more)), Some((other, most))) = (bounds_of(self, a), bounds_of(self, b)) {
            left.retain(|order| Bounds::can(&one, *order, &other));
            by.extend(more.into_iter().chain(most));
        }
        let decided = outcome(&left, |order| asked.contains(order));
        decided.map(|truth| (truth, by)).or_else(|| self.equal_words(op, a, b))
    }

    /// Every comparison that holds, with its place.
    pub(super) fn comparisons(&self) -> impl Iterator<Item = (Op, &'a Expr, &'a Expr, Span)> {
        self.facts.iter().flat_map(|fact| match (&fact.test.kind, fact.truth) {
            (ExprKind::Binary(op, a, b), truth) => {
                let op = if truth { Some(*op) } else { opposite(*op) };
                op.map(|op| (op, &**a, &**b, fact.test.span)).into_iter().collect::<Vec<_>>()
            }
            (ExprKind::Between(x, low, high), true) => vec![
                (Op::GreaterOrEqual, &**x, &**low, fact.test.span),
                (Op::LessOrEqual, &**x, &**high, fact.test.span),
            ],
            _ => Vec::new(),
        })
    }

    fn equal_words(&self, op: Op, a: &'a Expr, b: &'a Expr) -> Verdict {
        let equal = match op {
            Op::Equal => true,
            Op::NotEqual => false,
            _ => return None,
        };
        let ((words, mut by), (others, more)) = (self.words(a)?, self.words(b)?);
        by.extend(more);
        match (&words[..], &others[..]) {
            ([word], [other]) if word == other => Some((equal, by)),
            _ if words.iter().any(|word| others.contains(word)) => None,
            _ => Some((!equal, by)),
        }
    }

    fn one_of(&self, thing: &'a Expr, values: &'a [Expr]) -> Verdict {
        let asked = values.iter().map(|value| self.word(value)).collect::<Option<Vec<_>>>();
        if let (Some(asked), Some((words, by))) = (asked, self.words(thing)) {
            return outcome(&words, |word| asked.contains(word)).map(|truth| (truth, by));
        }
        let mut by = Vec::new();
        for value in values {
            match self.compared(Op::Equal, thing, value)? {
                (true, by) => return Some((true, by)),
                (false, more) => by.extend(more),
            }
        }
        Some((false, by))
    }

    fn moves(&self, from: &'a Expr, to: &'a Expr) -> Verdict {
        let moves = self.moves_of(from)?;
        let ((words, mut by), (targets, more)) = (self.words(from)?, self.words(to)?);
        by.extend(more);
        let pairs = words.iter().flat_map(|from| targets.iter().map(move |to| (*from, *to)));
        let pairs: Vec<(&str, &str)> = pairs.collect();
        outcome(&pairs, |(from, to)| declared(moves, from, to)).map(|truth| (truth, by))
    }

    fn moves_of(&self, from: &'a Expr) -> Option<&'a [(String, Vec<String>)]> {
        let ExprKind::Attribute(item, name) = &plain(&self.group.lets, from).kind else {
            return None;
        };
        let entity = self.contract.bindings[*item].kind.item()?;
        self.model.entities[entity].attribute(name)?.moves.as_deref()
    }

    fn word(&self, expr: &'a Expr) -> Option<&'a str> {
        match &plain(&self.group.lets, expr).kind {
            ExprKind::Word(word) => Some(word),
            ExprKind::Bool(truth) => Some(truth_word(*truth)),
            _ => None,
        }
    }

    /// The words that a value can still be, and the tests that leave out the others. There is always one.
    fn words(&self, thing: &'a Expr) -> Option<(Vec<&'a str>, Vec<Span>)> {
        if let Some(word) = self.word(thing) {
            return Some((vec![word], Vec::new()));
        }
        let mut left: Vec<&str> = match &plain(&self.group.lets, thing).of {
            Kind::Value(Type::Enum(all)) => all.iter().map(String::as_str).collect(),
            Kind::Value(Type::Bool) => vec![truth_word(true), truth_word(false)],
            _ => return None,
        };
        let mut by = Vec::new();
        for fact in &self.facts {
            let before = left.len();
            self.leave(&mut left, thing, fact);
            if left.len() < before {
                by.push(fact.test.span);
            }
        }
        (!left.is_empty()).then_some((left, by))
    }

    /// Leaves those of some words that a thing can be by a fact.
    fn leave(&self, left: &mut Vec<&'a str>, thing: &'a Expr, fact: &Passed<'a>) {
        match &fact.test.kind {
            ExprKind::Binary(op @ (Op::Equal | Op::NotEqual), a, b) => {
                let same = fact.truth == (*op == Op::Equal);
                for (one, other) in [(a, b), (b, a)] {
                    if let Some(word) = self.word(other)
                        && self.same(one, thing)
                    {
                        left.retain(|kept| (*kept == word) == same);
                    }
                }
            }
            ExprKind::In(one, values) if self.same(one, thing) => {
                let words: Option<Vec<_>> = values.iter().map(|value| self.word(value)).collect();
                if let Some(words) = words {
                    left.retain(|kept| words.contains(kept) == fact.truth);
                }
            }
            ExprKind::MovesTo(from, to) if self.same(from, thing) => {
                if let (Some(moves), Some(to)) = (self.moves_of(from), self.word(to)) {
                    left.retain(|kept| declared(moves, kept, to) == fact.truth);
                }
            }
            _ if self.same(fact.test, thing) => left.retain(|kept| *kept == truth_word(fact.truth)),
            _ => {}
        }
    }
}

/// Whether all that is possible is asked for, or none of it. `None` for some of it, and where nothing is possible.
fn outcome<T>(possible: &[T], asked: impl Fn(&T) -> bool) -> Option<bool> {
    let count = possible.iter().filter(|one| asked(one)).count();
    match count {
        _ if possible.is_empty() => None,
        0 => Some(false),
        _ if count == possible.len() => Some(true),
        _ => None,
    }
}

/// The orders of two values for which a comparison holds.
fn orders(op: Op) -> Option<&'static [Ordering]> {
    use Ordering::{Equal, Greater, Less};
    Some(match op {
        Op::Less => &[Less],
        Op::LessOrEqual => &[Less, Equal],
        Op::Equal => &[Equal],
        Op::NotEqual => &[Less, Greater],
        Op::GreaterOrEqual => &[Equal, Greater],
        Op::Greater => &[Greater],
        _ => return None,
    })
}
