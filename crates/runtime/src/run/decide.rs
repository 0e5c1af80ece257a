//! The operations that need no request: tests, jumps, answers, failures.

use latchkey_model::model::BindingId;
use latchkey_queue::TryFailure;
use latchkey_table::{Number, Text, Value};

use super::{Ended, Session};
use crate::answer::answer;
use crate::bug::Bug;
use crate::call::IfMatch;
use crate::evaluate::{Bound, Fault, Values};
use crate::plan::{Code, EndOp, OnFailure, Op, ProblemOp};
use crate::problem::Problem;
use crate::work::{CLASS_FAILED, Ending};

impl Session<'_> {
    /// Does an operation that asks nothing of the table.
    pub(super) fn decide(&mut self, op: &Op, at: usize) -> Result<usize, Ended> {
        match op {
            Op::Allow(test, span) => {
                if self.frame.test(test)? {
                    return Ok(at + 1);
                }
                let detail = "the caller does not have the right to do this";
                let refusal = Problem::new(403, "forbidden", detail);
                Err(Ended::Refused(Problem { at: Some(Box::new(*span)), ..refusal }))
            }
            Op::Require(test, failure) => {
                if self.frame.test(test)? {
                    return Ok(at + 1);
                }
                self.fail(failure)
            }
            Op::Match(test, failure, versioned) => {
                self.matches(test, failure, versioned.as_ref(), at)
            }
            Op::JumpUnless(test, target) => {
                Ok(if self.frame.test(test)? { at + 1 } else { *target })
            }
            Op::Jump(target) => Ok(*target),
            Op::Let(binding, code) => {
                let value = self.frame.value(code)?.map(|value| value.into_owned());
                self.frame.bind(*binding, value.map_or(Bound::Nothing, Bound::Value));
                Ok(at + 1)
            }
            Op::Part(op) => self.part(op, at),
            Op::Return(op) => {
                let answer = answer(&self.frame, op)?;
                self.refuse_stale(&answer)?;
                Err(Ended::Answered(answer))
            }
            Op::End(op) => Err(Ended::Over(self.ending(op)?)),
            Op::Get(_)
            | Op::Snapshot(_)
            | Op::Batch(_)
            | Op::Query(_)
            | Op::Write(_)
            | Op::Transact(_) => Err(Ended::Bug(Bug::new("a request is taken for a decision"))),
        }
    }

    /// A caller's precondition. One that came in a header has a status of its own.
    fn matches(
        &mut self,
        test: &Code,
        failure: &OnFailure,
        versioned: Option<&(BindingId, Text)>,
        at: usize,
    ) -> Result<usize, Ended> {
        let tags = match self.call.if_match.take_if(|_| versioned.is_some()) {
            None => {
                let holds = self.frame.test(test)?;
                return if holds { Ok(at + 1) } else { self.fail(failure) };
            }
            Some(tags) => tags,
        };
        self.matched = true;
        let holds = match &tags {
            IfMatch::Any => {
                // Whichever there is: from here on, that is what the caller gave.
                let version = versioned.and_then(|(binding, counter)| {
                    self.frame.item(*binding).and_then(|item| item.get(counter)).cloned()
                });
                *self.version_place()? = version;
                true
            }
            IfMatch::OneOf(versions) => self.any_version(test, versions)?,
        };
        self.call.if_match = Some(tags);
        if holds {
            return Ok(at + 1);
        }
        match self.fail(failure) {
            Err(Ended::Refused(problem)) => Err(Ended::Refused(Problem { status: 412, ..problem })),
            other => other,
        }
    }

    fn any_version(&mut self, test: &Code, versions: &[Number]) -> Result<bool, Fault> {
        // With none at all, a version that no item has.
        let none = [Number::ZERO];
        let versions = if versions.is_empty() { &none } else { versions };
        for version in versions {
            *self.version_place()? = Some(Value::Number(*version));
            if self.frame.test(test)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The input that a version in `If-Match` stands for.
    pub(super) fn version_place(&mut self) -> Result<&mut Option<Value>, Fault> {
        let input = self.call.contract.version_input;
        let input = input.ok_or_else(|| Fault::bug("a version is matched with no input"))?;
        Ok(&mut self.frame.inputs[input])
    }

    /// What happens when a test does not hold, a read finds nothing, or a write is refused.
    pub(super) fn fail(&self, failure: &OnFailure) -> Result<usize, Ended> {
        match failure {
            OnFailure::Problem(op) => Err(Ended::Refused(self.problem(op)?)),
            OnFailure::Retry => Err(Ended::Again),
            OnFailure::End(op) => Err(Ended::Over(self.ending(op)?)),
            OnFailure::Goto { start, .. } => Ok(*start),
            OnFailure::Nothing => {
                let detail = "what is stored does not allow this; read it before you try again";
                Err(Ended::Refused(Problem::new(409, "conflict", detail)))
            }
        }
    }

    fn ending(&self, op: &EndOp) -> Result<Ending, Fault> {
        Ok(match op {
            EndOp::Done => Ending::Done,
            EndOp::Later => Ending::Later,
            EndOp::Fail { code, message } => {
                let message = match message {
                    Some(message) => self.frame.text(message)?,
                    None => Text::default(),
                };
                Ending::Failed(TryFailure::new(CLASS_FAILED, code, &message))
            }
        })
    }

    fn problem(&self, op: &ProblemOp) -> Result<Problem, Fault> {
        let detail = match &op.message {
            Some(message) => self.frame.text(message)?.into(),
            None => op.detail.clone(),
        };
        let mut problem = Problem::new(op.status, op.code.clone(), detail);
        for assign in &op.with {
            if let Some(value) = self.frame.value(&assign.value)? {
                problem.with.push((assign.attribute.clone(), value.into_owned()));
            }
        }
        problem.at = Some(Box::new(op.span));
        if op.status == 503 {
            problem.retry_after = Some(1);
        }
        Ok(problem)
    }
}
