//! The record of a call that has a name.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use latchkey_table::{Error, Got, Put, Text, Wrote};

use super::write::too_long;
use super::{Ended, Session, unknown};
use crate::answer::Answer;
use crate::bug::Bug;
use crate::idempotency::Recorded;
use crate::plan::Op;
use crate::problem::Problem;

/// How long a call that has a claim may still be at it.
const CLAIM_SECONDS_MAX: i64 = 15;

/// A record to be written with an effect.
pub(super) struct Record {
    pub(super) put: Put,
    /// What the call is then claimed by, if it has no answer yet.
    pub(super) claim: Option<Text>,
}

impl Session<'_> {
    /// Looks whether a call of this name was made.
    pub(super) async fn replay(&mut self) -> Result<Option<Ended>, Ended> {
        let Some(named) = self.call.named.clone() else { return Ok(None) };
        let request = named.get(self.call.system);
        let got: Result<Got, Error> = self.ask(request).await;
        let got = got.map_err(|error| self.refused(&error))?;
        let recorded = match &got.item {
            Some(item) => named
                .read(self.call.system, item)
                .map_err(|damage| self.damaged("the record of a call", named.key(), &damage))?,
            None => None,
        };
        Ok(match recorded {
            None => None,
            Some(Recorded::Answer(answer)) => Some(Ended::Replayed(answer)),
            Some(Recorded::Claimed(claim, _)) if self.claim.as_ref() == Some(&claim) => None,
            Some(Recorded::Claimed(_, since)) => Some(match named.seconds_since(since) {
                // Whoever made it may still be at it.
                0..=CLAIM_SECONDS_MAX => Ended::Again,
                _ => Ended::Refused(unknown()),
            }),
            Some(Recorded::Other) => {
                let detail = "this `Idempotency-Key` was used with something else in the request";
                let problem = Problem::new(422, "idempotency-key-reused", detail);
                Some(Ended::Refused(problem))
            }
        })
    }

    /// The record to write with an effect: the answer, if nothing but that comes after it, or else a claim.
    pub(super) fn record(&mut self, next: usize) -> Result<Option<Record>, Ended> {
        let Some(named) = self.call.named.clone() else { return Ok(None) };
        let answer = match self.preview(next) {
            Some(Ended::Answered(answer)) => Some(answer),
            // Better before the effect than after it.
            Some(Ended::Bug(bug)) => return Err(Ended::Bug(bug)),
            // So is an answer that cannot be computed. What a statement refuses it may mean to refuse after the effect.
            Some(Ended::Refused(problem)) if problem.status == 400 && problem.at.is_none() => {
                return Err(Ended::Refused(problem));
            }
            _ => None,
        };
        match answer {
            Some(answer) => match named.put(self.call.system, &answer, self.claim.as_ref()) {
                Some(put) => Ok(Some(Record { put, claim: None })),
                None => Err(too_long(self.call.contract)),
            },
            None if self.claim.is_some() => Ok(None),
            None => {
                let random: [u8; 16] = self.random()?;
                let claim = Text::from(BASE64.encode(random));
                let put = named.claim(self.call.system, &claim);
                Ok(Some(Record { put, claim: Some(claim) }))
            }
        }
    }

    /// How it will end from here on, if the table is asked nothing more.
    pub(super) fn preview(&mut self, mut at: usize) -> Option<Ended> {
        let contract = self.call.contract;
        loop {
            match contract.program.get(at) {
                None => return Some(Bug::new("the contract goes on past its end").into()),
                Some(
                    Op::Get(_)
                    | Op::Snapshot(_)
                    | Op::Batch(_)
                    | Op::Query(_)
                    | Op::Write(_)
                    | Op::Transact(_),
                ) => return None,
                Some(op) => match self.decide(op, at) {
                    Ok(next) => at = next,
                    Err(ended) => return Some(ended),
                },
            }
        }
    }

    /// Keeps an answer that had no effect to be kept with.
    pub(super) async fn record_alone(&mut self, answer: Answer) -> Ended {
        let Some(named) = self.call.named.clone().filter(|_| !self.recorded) else {
            return Ended::Answered(answer);
        };
        let Some(put) = named.put(self.call.system, &answer, self.claim.as_ref()) else {
            return too_long(self.call.contract);
        };
        match self.ask::<Wrote>(put).await {
            Ok(_) => Ended::Answered(answer),
            Err(Error::ConditionFailed(_)) => Ended::Again,
            Err(error) => self.refused(&error),
        }
    }
}
