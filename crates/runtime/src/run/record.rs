//! The record of a call that has a name.

use latchkey_table::{Error, Put, Request, Returning};

use super::write::too_long;
use super::{Ended, Session};
use crate::answer::Answer;
use crate::idempotency::Recorded;
use crate::plan::Op;
use crate::problem::Problem;

impl Session<'_> {
    /// Looks whether a call of this name was made.
    pub(super) async fn replay(&mut self) -> Result<Option<Ended>, Ended> {
        let Some(named) = self.named.clone() else { return Ok(None) };
        let request = named.get(self.system);
        let got = match self.runtime.backend.get(&request).await {
            Ok(got) => got,
            Err(error) => return Err(self.refused(&error)),
        };
        let outcome = if got.item.is_some() { "found" } else { "nothing there" };
        self.note(|| Request::Get(request), outcome, got.capacity);
        Ok(match got.item.and_then(|item| named.read(&item)) {
            None => None,
            Some(Recorded::Answer(answer)) => Some(Ended::Replayed(answer)),
            Some(Recorded::Other) => {
                let detail = "this `Idempotency-Key` was used with something else in the request";
                let problem = Problem::new(422, "idempotency-key-reused", detail);
                Some(Ended::Refused(problem))
            }
        })
    }

    /// The record to write with an effect, if nothing but the answer comes after it.
    pub(super) fn record(&mut self, next: usize) -> Result<Option<Put>, Ended> {
        let Some(named) = self.named.clone() else { return Ok(None) };
        match self.preview(next) {
            Some(answer) => match named.put(self.system, &answer) {
                Some(put) => Ok(Some(put)),
                None => Err(too_long()),
            },
            None => Ok(None),
        }
    }

    /// What will be answered from here on, if the table is asked nothing more.
    fn preview(&mut self, mut at: usize) -> Option<Answer> {
        let contract = self.contract;
        loop {
            match contract.program.get(at)? {
                Op::Get(_) | Op::Query(_) | Op::Write(_) | Op::Transact(_) => return None,
                op => match self.decide(op, at) {
                    Ok(next) => at = next,
                    Err(Ended::Answered(answer)) => return Some(answer),
                    Err(_) => return None,
                },
            }
        }
    }

    /// Keeps an answer that had no effect to be kept with.
    pub(super) async fn record_alone(&mut self, answer: Answer) -> Ended {
        let Some(named) = self.named.clone().filter(|_| !self.recorded) else {
            return Ended::Answered(answer);
        };
        let Some(put) = named.put(self.system, &answer) else { return too_long() };
        let kept = self.trace.is_some().then(|| Request::Put(put.clone(), Returning::Nothing));
        self.writing = true;
        let wrote = self.runtime.backend.put(put, Returning::Nothing).await;
        self.writing = false;
        match wrote {
            Ok(wrote) => {
                self.noted(kept, "written", wrote.capacity);
                Ended::Answered(answer)
            }
            Err(Error::ConditionFailed(failed)) => {
                self.noted(kept, "the condition did not hold", failed.capacity);
                Ended::Again
            }
            Err(error) => self.refused(&error),
        }
    }
}
