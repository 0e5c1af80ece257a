//! Writes of a call.

use latchkey_model::model::Verb;
use latchkey_table::{Capacity, Error, Leg, Request, Returning, Transact, Wrote};

use super::{Ended, Session};
use crate::evaluate::Bound;
use crate::plan::{self, Failure, LegNode};
use crate::problem::Problem;

/// The legs of a transaction as they are sent, and what to do about each that fails.
#[derive(Default)]
struct Legs<'a> {
    legs: Vec<Leg>,
    failures: Vec<&'a Failure>,
    /// What the names stood for before, should none of it happen.
    before: Vec<(usize, Bound)>,
}

impl<'a> Session<'a> {
    /// A write of one item for itself.
    pub(super) async fn write_one(
        &mut self,
        leg: &'a plan::Leg,
        at: usize,
    ) -> Result<usize, Ended> {
        // A check writes nothing, so no backend has it alone; and a record goes with its effect.
        if leg.verb == Verb::Check || self.named.is_some() {
            let mut legs = Legs::default();
            self.fill(leg, &mut legs)?;
            return self.send(legs, at).await;
        }
        let filled = self.filler().leg(leg)?;
        let wants = leg.result.is_some() && leg.verb != Verb::Put;
        let returning = if wants { Returning::New } else { Returning::Nothing };
        let kept = self.trace.is_some().then(|| filled.leg.clone());
        self.writing = true;
        let wrote = self.single(filled.leg, returning).await;
        self.writing = false;
        let note = |leg: Leg| match leg {
            Leg::Put(put) => Request::Put(put, returning),
            Leg::Update(update) => Request::Update(update, returning),
            Leg::Delete(delete) => Request::Delete(delete, returning),
            // Never alone.
            Leg::Check(_) => Request::Transact(Transact { legs: vec![leg] }),
        };
        match wrote {
            Ok(wrote) => {
                self.noted(kept.map(note), "written", wrote.capacity);
                let image = if wants { wrote.item } else { filled.image };
                if let (Some(binding), Some(image)) = (leg.result, image) {
                    self.frame.bind(binding, Bound::Item(image));
                }
                Ok(at + 1)
            }
            Err(Error::ConditionFailed(failed)) => {
                self.noted(kept.map(note), "the condition did not hold", failed.capacity);
                self.fail(&leg.failure)
            }
            Err(error) => Err(self.refused(&error)),
        }
    }

    async fn single(&self, leg: Leg, returning: Returning) -> Result<Wrote, Error> {
        let backend = &self.runtime.backend;
        match leg {
            Leg::Put(put) => backend.put(put, returning).await,
            Leg::Update(update) => backend.update(update, returning).await,
            Leg::Delete(delete) => backend.delete(delete, returning).await,
            check @ Leg::Check(_) => {
                let done = backend.transact(Transact { legs: vec![check] }).await?;
                Ok(Wrote { item: None, capacity: done.capacity })
            }
        }
    }

    pub(super) async fn transact(
        &mut self,
        nodes: &'a [LegNode],
        at: usize,
    ) -> Result<usize, Ended> {
        let mut legs = Legs::default();
        self.fill_all(nodes, &mut legs)?;
        if legs.legs.is_empty() {
            return Ok(at + 1);
        }
        self.send(legs, at).await
    }

    fn fill_all(&mut self, nodes: &'a [LegNode], legs: &mut Legs<'a>) -> Result<(), Ended> {
        use crate::evaluate::Scope;
        for node in nodes {
            match node {
                LegNode::Leg(leg) => self.fill(leg, legs)?,
                LegNode::When(test, then, otherwise) => {
                    let branch = if self.frame.test(test)? { then } else { otherwise };
                    self.fill_all(branch, legs)?;
                }
            }
        }
        Ok(())
    }

    /// Fills a leg. Those behind it see what it leaves.
    fn fill(&mut self, leg: &'a plan::Leg, legs: &mut Legs<'a>) -> Result<(), Ended> {
        let filled = self.filler().leg(leg)?;
        legs.legs.push(filled.leg);
        legs.failures.push(&leg.failure);
        if let (Some(binding), Some(image)) = (leg.result, filled.image) {
            let before = self.frame.bind(binding, Bound::Item(image));
            legs.before.push((binding, before));
        }
        Ok(())
    }

    /// Sends a transaction, with the record of the call if this is its last write.
    async fn send(&mut self, mut sent: Legs<'a>, at: usize) -> Result<usize, Ended> {
        let record = self.record(at + 1)?;
        let offset = usize::from(record.is_some());
        // First, so that a call of the same name that was faster is what decides.
        sent.legs.splice(0..0, record.map(Leg::Put));
        let transact = Transact { legs: sent.legs };
        let kept = self.trace.is_some().then(|| Request::Transact(transact.clone()));
        self.writing = true;
        let done = self.runtime.backend.transact(transact).await;
        self.writing = false;
        match done {
            Ok(done) => {
                self.noted(kept, "written", done.capacity);
                self.recorded |= offset == 1;
                Ok(at + 1)
            }
            Err(Error::ConditionFailed(failed)) => {
                let outcome = format!("the condition of leg {} did not hold", failed.leg + 1);
                self.noted(kept, &outcome, failed.capacity);
                for (binding, before) in sent.before.into_iter().rev() {
                    self.frame.bind(binding, before);
                }
                match failed.leg.checked_sub(offset).and_then(|leg| sent.failures.get(leg)) {
                    Some(failure) => self.fail(failure),
                    None => Err(Ended::Again),
                }
            }
            Err(error) => Err(self.refused(&error)),
        }
    }

    pub(super) fn noted(&mut self, request: Option<Request>, outcome: &str, capacity: Capacity) {
        match request {
            Some(request) => self.note(|| request, outcome, capacity),
            None => self.capacity += capacity,
        }
    }
}

/// An answer that is too long to be kept cannot be replayed.
pub(super) fn too_long() -> Ended {
    let detail = "the answer is too long to be kept for `Idempotency-Key`; send it without one";
    Ended::Refused(Problem::bad(detail))
}
