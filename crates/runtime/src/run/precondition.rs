//! What the caller asks for in a header before anything is written.
//!
//! `If-None-Match: *`: a call that may make something new, and may not change what is there (RFC 9110, 13.1.2). The first
//! write of the contract decides, after every other check: a call that is refused for another reason is refused for that
//! one. A write that only makes items is itself refused by the store where they are there.
//!
//! `If-Match`: a `match` of the contract compares the versions. A way without one writes nothing; the version of what it
//! answers is compared instead, and without a version it answers nothing.

use latchkey_model::model::Verb;

use super::{Ended, Session};
use crate::answer::Answer;
use crate::call::IfMatch;
use crate::plan::{Leg, LegNode, OnFailure, Op};
use crate::problem::Problem;

impl Session<'_> {
    /// Refuses an answer of another version than the caller has named, where no `match` has compared the versions.
    pub(super) fn refuse_stale(&mut self, answer: &Answer) -> Result<(), Ended> {
        let tags = match &self.call.if_match {
            Some(tags) if !self.matched && self.frame.commits == 0 => tags,
            _ => return Ok(()),
        };
        let Some(version) = answer.version() else {
            let detail = "with these inputs nothing compares a version, and the answer has none; leave `If-Match` out";
            return Err(Ended::Refused(Problem::bad(detail)));
        };
        let fits = match tags {
            IfMatch::Any => true,
            IfMatch::OneOf(versions) => {
                versions.iter().any(|one| version.parse().is_ok_and(|version| *one == version))
            }
        };
        if fits {
            return Ok(());
        }
        // The code that a `match` of the contract has for it.
        let code = self.call.contract.program.iter().find_map(|op| match op {
            Op::Match(_, OnFailure::Problem(problem), Some(_)) => Some(problem.code.clone()),
            Op::Match(_, OnFailure::Nothing, Some(_)) => Some("conflict".into()),
            _ => None,
        });
        let detail = "`If-Match` names another version than there is; read it again";
        let code = code.unwrap_or_else(|| "precondition-failed".into());
        Err(Ended::Refused(Problem::new(412, code, detail)))
    }

    /// Refuses a first write that would change what is there, if the caller has asked for that; or one whose way has not
    /// compared the versions that the caller has given.
    pub(super) fn refuse_change(&self, changes: bool) -> Result<(), Ended> {
        if self.call.if_match.is_some() && !self.matched && self.frame.commits == 0 {
            let detail = "with these inputs nothing compares a version, so nothing is written; leave `If-Match` out";
            return Err(Ended::Refused(Problem::bad(detail)));
        }
        if !(self.call.makes_alone && changes && self.frame.commits == 0) {
            return Ok(());
        }
        let detail = "this would change what is there, and `If-None-Match: *` asks that nothing is; leave it out";
        Err(Ended::Refused(Problem::new(412, "precondition-failed", detail)))
    }
}

/// Whether a leg changes or removes an item that is there.
pub(super) fn changes(leg: &Leg) -> bool {
    match leg.verb {
        // A copy of what is made is made with it.
        Verb::Put => !leg.if_absent && leg.of.is_none(),
        Verb::Update | Verb::Upsert | Verb::Delete => true,
        Verb::Check => false,
    }
}

/// Whether one of some legs may do so.
pub(super) fn any_changes(node: &LegNode) -> bool {
    match node {
        LegNode::Leg(leg) => changes(leg),
        LegNode::Send(_) => false,
        LegNode::When(_, one, other) => one.iter().chain(other).any(any_changes),
        LegNode::Each(each) => each.body.iter().any(any_changes),
    }
}
