//! The operations of a program: what a contract does, one after the other.

use latchkey_model::model::{BindingId, EntityId};
use latchkey_table::{Direction, Text};

use super::leg::{Assign, Key, Leg, LegNode};
use super::{Code, Piece, Shown, Tag};

/// One operation of a program.
#[derive(Debug)]
pub(crate) enum Op {
    Allow(Code),
    Require(Code, OnFailure),
    /// A caller's precondition; and of which item the test asks the version, by which attribute.
    Match(Code, OnFailure, Option<(BindingId, Text)>),
    JumpUnless(Code, usize),
    Jump(usize),
    Let(BindingId, Code),
    Get(Box<GetOp>),
    Batch(Box<BatchOp>),
    Query(Box<QueryOp>),
    Write(Box<Leg>),
    Transact(Box<TransactOp>),
    Return(Box<ReturnOp>),
    End(Box<EndOp>),
}

impl Op {
    /// The names of the problems it can answer.
    pub(super) fn problems<'a>(&'a self, codes: &mut Vec<&'a str>) {
        match self {
            Op::Allow(Code::Constant(_)) => {}
            Op::Allow(_) => codes.push("forbidden"),
            Op::Require(_, failure) | Op::Match(_, failure, _) => failure.problem(codes),
            Op::Get(op) => op.failure.problem(codes),
            Op::Batch(op) => op.failure.problem(codes),
            Op::Query(op) => op.failure.problem(codes),
            Op::Write(leg) => leg.failure.problem(codes),
            Op::Transact(op) => op.legs.iter().for_each(|leg| leg_problems(leg, codes)),
            Op::JumpUnless(..) | Op::Jump(_) | Op::Let(..) | Op::Return(_) | Op::End(_) => {}
        }
    }
}

fn leg_problems<'a>(node: &'a LegNode, codes: &mut Vec<&'a str>) {
    match node {
        LegNode::Leg(leg) => leg.failure.problem(codes),
        LegNode::Send(_) => {}
        LegNode::When(_, then, otherwise) => {
            then.iter().chain(otherwise).for_each(|leg| leg_problems(leg, codes));
        }
    }
}

/// The answer when a test does not hold, a read finds nothing, or a write is refused.
#[derive(Debug)]
pub(crate) enum OnFailure {
    Problem(Box<ProblemOp>),
    Retry,
    /// Ends a worker, which has no caller to answer.
    End(Box<EndOp>),
    /// Does a block that ends the call.
    Goto {
        start: usize,
        end: usize,
    },
    /// Nothing: what was asked for may be absent.
    Nothing,
}

impl OnFailure {
    fn problem<'a>(&'a self, codes: &mut Vec<&'a str>) {
        if let OnFailure::Problem(op) = self {
            codes.push(&op.code);
        }
    }
}

/// How a worker ends.
#[derive(Debug)]
pub(crate) enum EndOp {
    Done,
    Later,
    Fail { code: Text, message: Option<Code> },
}

/// A problem to answer.
#[derive(Debug)]
pub(crate) struct ProblemOp {
    pub(crate) status: u16,
    pub(crate) code: Text,
    /// What the document says of it.
    pub(crate) message: Option<Code>,
    /// The text used if the document gives none.
    pub(crate) detail: String,
    pub(crate) with: Vec<Assign>,
}

/// Reads one item.
#[derive(Debug)]
pub(crate) struct GetOp {
    pub(crate) entity: EntityId,
    pub(crate) binding: Option<BindingId>,
    pub(crate) key: Key,
    pub(crate) strong: Strength,
    pub(crate) failure: OnFailure,
}

/// Reads several items of one entity.
#[derive(Debug)]
pub(crate) struct BatchOp {
    pub(crate) entity: EntityId,
    pub(crate) binding: Option<BindingId>,
    pub(crate) keys: Vec<Key>,
    /// The attribute that goes through a range, its least and its greatest value.
    pub(crate) through: (Text, i64, i64),
    pub(crate) strong: Strength,
    /// Whether all are read at one instant.
    pub(crate) snapshot: bool,
    pub(crate) failure: OnFailure,
}

/// When a read is strong.
#[derive(Debug)]
pub(crate) enum Strength {
    Never,
    Always,
    When(Code),
}

/// Reads a range.
#[derive(Debug)]
pub(crate) struct QueryOp {
    pub(crate) entity: EntityId,
    pub(crate) binding: Option<BindingId>,
    pub(crate) index: Option<Text>,
    pub(crate) partition: Code,
    pub(crate) range: Bounds,
    /// The direction, and when it is the other.
    pub(crate) direction: Direction,
    pub(crate) turned: Option<Code>,
    pub(crate) strong: Strength,
    /// The page a caller can size, or else how many there are at most.
    pub(crate) paging: Option<Paging>,
    pub(crate) items_max: u32,
    pub(crate) failure: OnFailure,
}

/// A page: its size, and the largest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paging {
    pub(crate) size: u32,
    pub(crate) size_max: u32,
}

/// The sort keys of a query.
#[derive(Debug)]
pub(crate) enum Bounds {
    All,
    Equal(Code),
    BeginsWith(Code),
    Between(Code, Code),
    Side { below: bool, inclusive: bool, bound: Code },
}

/// Writes several items or none.
#[derive(Debug)]
pub(crate) struct TransactOp {
    pub(crate) legs: Vec<LegNode>,
}

/// Answers.
#[derive(Debug)]
pub(crate) struct ReturnOp {
    pub(crate) status: u16,
    pub(crate) binding: Option<BindingId>,
    pub(crate) page: bool,
    pub(crate) shown: Vec<Shown>,
    pub(crate) with: Vec<(Shown, Code)>,
    /// Where the thing is to be found.
    pub(crate) at: Option<Vec<Piece>>,
    pub(crate) tag: Tag,
}
