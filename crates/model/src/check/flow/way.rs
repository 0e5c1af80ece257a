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
    /// How many commits are sure to have happened.
    pub(in crate::check) commits: usize,
    /// What may have happened within a `when` that does not end the call.
    pub(in crate::check) asides: Vec<Aside<'a>>,
    /// The blocks of each `when` that lead back to here: what has happened if its test came out so.
    pub(in crate::check) branches: Vec<Rc<Branch<'a>>>,
}

/// A read that has happened, or may have.
#[derive(Clone, Copy)]
pub(in crate::check) struct Reading<'a> {
    pub(in crate::check) read: &'a Read,
    /// How many commits are sure to have come before it; nothing, if one is sure to have come after it.
    pub(super) commits: Option<usize>,
}

/// Tests that were passed within a `when` that does not end the call, if its block was entered.
#[derive(Clone)]
pub(in crate::check) struct Aside<'a> {
    /// The tests of the `when`, and of those around it.
    pub(in crate::check) when: Vec<Passed<'a>>,
    /// The tests within it.
    pub(in crate::check) tests: Vec<Passed<'a>>,
    /// The bindings of reads within it, as those of the way.
    pub(in crate::check) found: Vec<(BindingId, bool, Span)>,
}

/// A block of a `when`, at its end.
pub(in crate::check) struct Branch<'a> {
    /// The test of the `when`, and how it came out.
    pub(in crate::check) test: Passed<'a>,
    /// The way through the block to its end, without the branches before it.
    pub(in crate::check) way: Way<'a>,
}

impl<'a> Way<'a> {
    pub(super) fn pass(&mut self, test: &'a Expr, truth: bool) {
        let after = self.written.len();
        self.tests.push(Passed { after, ..Passed::new(test, truth) });
    }

    /// Takes in what may have happened in the blocks of a `when` that go on, each with its test.
    pub(super) fn take_in(&mut self, blocks: Vec<(Way<'a>, Passed<'a>)>) {
        let (reads, asides) = (self.readings.len(), self.asides.len());
        let (tests, found) = (self.tests.len() + 1, self.found.len());
        let commits = blocks.iter().map(|(inner, _)| inner.commits).min();
        for (inner, when) in blocks {
            let last = inner.commits;
            self.readings.extend(inner.readings.into_iter().skip(reads).map(|reading| Reading {
                commits: reading.commits.filter(|commits| *commits >= last),
                ..reading
            }));
            let own = Aside {
                when: vec![when],
                tests: inner.tests.into_iter().skip(tests).collect(),
                found: inner.found.into_iter().skip(found).collect(),
            };
            let is_own = !own.tests.is_empty() || !own.found.is_empty();
            self.asides.extend(Some(own).filter(|_| is_own));
            for mut deeper in inner.asides.into_iter().skip(asides) {
                deeper.when.insert(0, when);
                self.asides.push(deeper);
            }
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
