//! What the caller asks for in a header before anything is written.
//!
//! `If-None-Match: *`: a call that may make something new, and may not change what is there (RFC 9110, 13.1.2). The first
//! write of the contract decides, after every other check: a call that is refused for another reason is refused for that
//! one. A write that only makes items is itself refused by the store where they are there.
//!
//! `If-Match`: a `match` of the contract compares the versions. A way without one writes nothing.

use latchkey_model::model::Verb;

use super::{Ended, Session};
use crate::plan::{Leg, LegNode};
use crate::problem::Problem;

impl Session<'_> {
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
