//! What has happened on the way to a place of a contract.

use std::rc::Rc;

use latchkey_language::Span;

use crate::check::truth::Passed;
use crate::model::{BindingId, Expr, Leg, Read};

/// What has happened on the way to a place of a contract.
#[derive(Clone, Default)]
pub(in crate::check) struct Way<'a> {
    /// What every `allow` asked.
    pub(in crate::check) allows: Vec<&'a Expr>,
    /// The tests of rights: what every `allow` asked, and every `require … else 403`.
    pub(in crate::check) rights: Vec<&'a Expr>,
    /// The tests, and how they came out.
    pub(in crate::check) tests: Vec<Passed<'a>>,
    /// The reads, in order, each with how many of the writes came before it.
    pub(in crate::check) reads: Vec<(&'a Read, usize)>,
    /// The reads, in order, and those that may have happened within a `when`.
    pub(in crate::check) readings: Vec<Reading<'a>>,
    /// The bindings of reads that answer when nothing is found, whether something was, and where that is said.
    pub(in crate::check) found: Vec<(BindingId, bool, Span)>,
    /// The writes that may have happened.
    pub(in crate::check) written: Vec<&'a Leg>,
    /// The values that were named, each with how many of the writes came before.
    pub(in crate::check) named: Vec<(&'a Expr, usize)>,
    /// The writes that were refused, and whose `else` leads here.
    pub(in crate::check) refused: Vec<Refusal<'a>>,
    /// How many commits are sure to have happened.
    pub(in crate::check) commits: usize,
    /// The blocks of each `when` that lead back to here, and those within them: what has happened if the tests came out
    /// so.
    pub(in crate::check) branches: Vec<Branch<'a>>,
    /// The tests that may have left writes out.
    pub(in crate::check) left_out: Vec<LeftOut<'a>>,
}

/// The test of a `when` of which one block writes and the other, which leads here too, does not.
#[derive(Clone)]
pub(in crate::check) struct LeftOut<'a> {
    /// The test, as it came out where nothing was written.
    pub(in crate::check) test: Passed<'a>,
    /// The tests of the `when`s around it, and how they came out.
    pub(in crate::check) when: Vec<Passed<'a>>,
    /// How many commits are sure to have come before it.
    pub(in crate::check) commits: usize,
}

/// A read that has happened, or may have.
#[derive(Clone, Copy)]
pub(in crate::check) struct Reading<'a> {
    pub(in crate::check) read: &'a Read,
    /// How many commits are sure to have come before it; nothing, if one is sure to have come after it.
    pub(super) commits: Option<usize>,
}

/// A write that was refused: what it asked of the stored item is known, as of then.
#[derive(Clone)]
pub(in crate::check) struct Refusal<'a> {
    pub(in crate::check) leg: &'a Leg,
    /// Whether it is known that the item was not there: the `else absent` leads here.
    pub(in crate::check) absent: bool,
    /// The legs of its transaction before it, which were not refused.
    pub(in crate::check) passed: Vec<&'a Leg>,
    /// How many reads came before it.
    pub(in crate::check) reads: usize,
    /// How many tests came before it.
    pub(in crate::check) tests: usize,
    /// How many commits are sure to have come before it.
    pub(in crate::check) commits: usize,
}

/// A block of a `when` that does not end the call, at the block's end.
#[derive(Clone)]
pub(in crate::check) struct Branch<'a> {
    /// The tests of the `when`s around it since they went apart from the way, and how they came out; its own is the last.
    pub(in crate::check) when: Vec<Passed<'a>>,
    /// The way through the block to its end, without branches.
    pub(in crate::check) way: Rc<Way<'a>>,
    /// How many tests of the way came before the block, its own test among them.
    tests: usize,
    /// How many finds of the way came before the block.
    found: usize,
}

impl<'a> Branch<'a> {
    /// The tests within the block.
    pub(in crate::check) fn tests(&self) -> &[Passed<'a>] {
        self.way.tests.get(self.tests..).unwrap_or_default()
    }

    /// The bindings of reads within the block, as those of the way.
    pub(in crate::check) fn found(&self) -> &[(BindingId, bool, Span)] {
        self.way.found.get(self.found..).unwrap_or_default()
    }
}

impl<'a> Way<'a> {
    pub(super) fn pass(&mut self, test: &'a Expr, truth: bool) {
        let after = self.written.len();
        self.tests.push(Passed { after, ..Passed::new(test, truth) });
    }

    /// Takes in the tests that left writes out, of the blocks of a `when` that go on, each with whether it may write.
    pub(super) fn leave_out(&mut self, blocks: &[(Way<'a>, Passed<'a>)], writing: &[bool]) {
        let (before, commits) = (self.left_out.len(), self.commits);
        let some = writing.contains(&true);
        for ((inner, test), writes) in blocks.iter().zip(writing) {
            let own = inner.left_out.iter().skip(before);
            let own = own.filter(|left| left.commits >= inner.commits);
            self.left_out.extend(own.map(|left| {
                let when = std::iter::once(*test).chain(left.when.iter().copied()).collect();
                LeftOut { when, ..left.clone() }
            }));
            if some && !writes {
                self.left_out.push(LeftOut { test: *test, when: Vec::new(), commits });
            }
        }
    }

    /// Takes in what may have happened in the blocks of a `when` that go on, each with its test.
    pub(super) fn take_in(&mut self, blocks: Vec<(Way<'a>, Passed<'a>)>) {
        let (reads, branches) = (self.readings.len(), self.branches.len());
        let (tests, found) = (self.tests.len() + 1, self.found.len());
        let commits = blocks.iter().map(|(inner, _)| inner.commits).min();
        for (mut inner, when) in blocks {
            let last = inner.commits;
            self.readings.extend(inner.readings.iter().skip(reads).map(|reading| Reading {
                commits: reading.commits.filter(|commits| *commits >= last),
                ..*reading
            }));
            let deeper = inner.branches.split_off(branches.min(inner.branches.len()));
            inner.branches.clear();
            // A block that looks at nothing says nothing.
            if inner.tests.len() > tests || inner.readings.len() > reads {
                self.branches.push(Branch { when: vec![when], way: Rc::new(inner), tests, found });
            }
            self.branches.extend(deeper.into_iter().map(|mut branch| {
                branch.when.insert(0, when);
                branch
            }));
        }
        self.commits = commits.unwrap_or(self.commits);
    }

    /// Whether no commit is sure to have come since a read.
    pub(in crate::check) fn is_of_unit(&self, reading: &Reading<'_>) -> bool {
        reading.commits.is_some_and(|commits| commits >= self.commits)
    }

    pub(super) fn find(&mut self, read: &Read, found: bool) {
        if let (Some(binding), Some(failure)) = (read.binding, &read.failure) {
            self.found.push((binding, found, failure.span));
        }
    }
}
