//! The record behind an `Idempotency-Key`, explained: the requests a contract does not say.

use latchkey_table::{Key, Leg, Put, Request, Returning, Value, ValueType};

use super::Explainer;
use super::scope::Way;
use super::symbol::{Joined, Symbol};
use super::words::AGAIN;
use crate::answer::NO_CONTENT;
use crate::idempotency::{KEPT_SECONDS, PARTITION, SORT, Written};
use crate::plan::{OnFailure, Op, ReturnOp, Tag};

/// Whether the record of the call has been written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordWritten {
    No,
    Perhaps,
    Yes,
}

impl RecordWritten {
    /// What is known where two ways meet.
    pub(super) fn or(self, other: RecordWritten) -> RecordWritten {
        if self == other { self } else { RecordWritten::Perhaps }
    }
}

/// What can come behind an operation.
#[derive(Default)]
struct Behind<'a> {
    /// Whether the table may be asked for something.
    asks: bool,
    /// The answers that can come before it is.
    returns: Vec<&'a ReturnOp>,
}

impl<'a> Explainer<'a> {
    fn names(&self) -> bool {
        self.contract().takes_names
    }

    /// What the record of a call is written with.
    fn written(&self) -> Written<Symbol> {
        let (mut partition, mut sort) = (Joined::default(), Joined::default());
        partition.literal(PARTITION);
        partition.name("hash of caller, contract, path and key", None);
        sort.literal(SORT);
        let expires = format!("now + {}h, in seconds", KEPT_SECONDS / 3600);
        Written {
            key: Key { partition, sort },
            given: Symbol::named("hash of what was given", ValueType::Text),
            now: Symbol::named("now, in seconds", ValueType::Number),
            expires: Symbol::named(&expires, ValueType::Number),
        }
    }

    /// What every attempt begins with.
    pub(super) fn record_is_looked_up(&mut self) {
        if let Some(entity) = self.contract().idempotent_by.map(|id| &self.system().entities[id]) {
            let name = &entity.name;
            self.gap();
            self.line(&format!(
                "With an Idempotency-Key: no record; a repeated call is known by its {name}."
            ));
        }
        if self.contract().needs_key {
            self.gap();
            self.line("Without an Idempotency-Key: answers 400 idempotency-key-missing.");
        }
        if !self.names() {
            return;
        }
        self.gap();
        self.line("With an Idempotency-Key, at the start of each attempt and before a refusal is answered:");
        let get = self.written().get(self.system());
        self.indented(3, |page| {
            page.requests(Ok(vec![Way { when: None, made: Request::Get(get) }]));
            page.line("if one is there that has not expired: its answer again");
            page.line("if that was of another request: 422 idempotency-key-reused");
        });
    }

    /// The record that goes with a write, if the answer comes next, and whether it is there once that is
    /// made.
    pub(super) fn record_with(&mut self, at: usize, place: &str) -> RecordWritten {
        if !self.names() {
            return self.kept;
        }
        let behind = self.behind(at + 1);
        if behind.returns.is_empty() {
            self.gap();
            self.line(&format!(
                "with an Idempotency-Key, a claim of the call, for its answer is not known yet; {place}"
            ));
            return self.kept;
        }
        let when = if behind.asks { " and nothing more to ask" } else { "" };
        self.gap();
        self.line(&format!("with an Idempotency-Key{when}, the record of the call; {place}"));
        let put = self.record(&behind.returns);
        self.indented(3, |page| {
            let asked = put.and_then(|put| page.as_leg(&Leg::Put(put)));
            page.show(asked.map(|asked| (None, asked)).into_iter().collect());
            page.line(&format!("if refused: {AGAIN}"));
        });
        if behind.asks { self.kept.or(RecordWritten::Yes) } else { RecordWritten::Yes }
    }

    /// The record of an answer that had no effect to be kept with.
    pub(super) fn record_alone(&mut self, op: &ReturnOp) {
        if !self.names() || self.kept == RecordWritten::Yes {
            return;
        }
        let unless =
            if self.kept == RecordWritten::Perhaps { ", unless it was written above" } else { "" };
        self.line(&format!("with an Idempotency-Key, the record of the call{unless}"));
        let put = self.record(&[op]);
        self.indented(3, |page| {
            let made = put.map(|put| Request::Put(put, Returning::Nothing));
            page.requests(Ok(made.map(|made| Way { when: None, made }).into_iter().collect()));
            page.line(&format!("if refused: {AGAIN}"));
        });
    }

    /// The record as it is written, of one of these answers.
    fn record(&self, returns: &[&ReturnOp]) -> Option<Put<Symbol>> {
        let first = returns.first()?;
        let named = |name: &str| Symbol::named(name, ValueType::Text);
        let status = if returns.iter().all(|op| op.status == first.status) {
            Symbol::Known(Value::from(i64::from(first.status)))
        } else {
            Symbol::named("status", ValueType::Number)
        };
        let etag = returns.iter().any(|op| !matches!(op.tag, Tag::None)).then(|| named("ETag"));
        let body = returns.iter().any(|op| op.status != NO_CONTENT).then(|| named("answer"));
        let found_at = returns.iter().any(|op| op.at.is_some()).then(|| named("its path"));
        Some(self.written().answered(self.system(), status, body, etag, found_at))
    }

    /// What can come from an operation on, until the table is asked or an answer is given.
    fn behind(&self, start: usize) -> Behind<'a> {
        let program = &self.contract().program;
        let mut behind = Behind::default();
        let mut seen = vec![false; program.len()];
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            let Some(op) = program.get(at) else { continue };
            if seen.get_mut(at).is_none_or(|seen| std::mem::replace(seen, true)) {
                continue;
            }
            match op {
                Op::Get(_)
                | Op::Snapshot(_)
                | Op::Batch(_)
                | Op::Query(_)
                | Op::Write(_)
                | Op::Transact(_) => behind.asks = true,
                Op::End(_) => {}
                Op::Return(op) => behind.returns.push(op),
                Op::Jump(next) => open.push(*next),
                Op::JumpUnless(_, target) => open.extend([at + 1, *target]),
                Op::Require(_, OnFailure::Goto { start, .. })
                | Op::Match(_, OnFailure::Goto { start, .. }, _) => open.extend([at + 1, *start]),
                Op::Part(op) => match op.failure {
                    OnFailure::Goto { start, .. } => open.extend([at + 1, start]),
                    _ => open.push(at + 1),
                },
                Op::Allow(..) | Op::Require(..) | Op::Match(..) | Op::Let(..) => open.push(at + 1),
            }
        }
        behind
    }
}
