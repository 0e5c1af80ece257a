//! The operations of a program: what a contract does, one after the other.

use latchkey_language::Span;
use latchkey_model::model::{BindingId, EntityId};
use latchkey_table::{Direction, Text, Value};

use super::leg::{Assign, Elements, Key, Leg, LegNode};
use super::{Code, Piece, Shown, Sight, Tag};

/// One operation of a program.
#[derive(Debug)]
pub(crate) enum Op {
    /// With where it stands.
    Allow(Code, Span),
    Require(Code, OnFailure),
    /// A caller's precondition; and of which item the test asks the version, by which attribute.
    Match(Code, OnFailure, Option<(BindingId, Text)>),
    JumpUnless(Code, usize),
    Jump(usize),
    Let(BindingId, Code),
    Get(Box<GetOp>),
    Snapshot(Box<SnapshotOp>),
    Batch(Box<BatchOp>),
    Query(Box<QueryOp>),
    Part(Box<PartOp>),
    Write(Box<Leg>),
    Transact(Box<TransactOp>),
    Return(Box<ReturnOp>),
    End(Box<EndOp>),
}

impl Op {
    /// The names of the problems it can answer.
    pub(super) fn problems<'a>(&'a self, codes: &mut Vec<&'a str>) {
        match self {
            Op::Allow(Code::Constant(_), _) => {}
            Op::Allow(..) => codes.push("forbidden"),
            Op::Require(_, failure) | Op::Match(_, failure, _) => failure.problem(codes),
            Op::Get(op) => op.failure.problem(codes),
            Op::Snapshot(op) => op.gets.iter().for_each(|get| get.failure.problem(codes)),
            Op::Batch(op) => op.failure.problem(codes),
            Op::Query(op) => op.failure.problem(codes),
            Op::Part(op) => op.failure.problem(codes),
            Op::Write(leg) => leg.problems(codes),
            Op::Transact(op) => op.legs.iter().for_each(|leg| leg_problems(leg, codes)),
            Op::JumpUnless(..) | Op::Jump(_) | Op::Let(..) | Op::Return(_) | Op::End(_) => {}
        }
    }
}

fn leg_problems<'a>(node: &'a LegNode, codes: &mut Vec<&'a str>) {
    match node {
        LegNode::Leg(leg) => leg.problems(codes),
        LegNode::Send(_) => {}
        LegNode::When(_, then, otherwise) => {
            then.iter().chain(otherwise).for_each(|leg| leg_problems(leg, codes));
        }
        LegNode::Each(each) => each.body.iter().for_each(|leg| leg_problems(leg, codes)),
    }
}

impl Leg {
    fn problems<'a>(&'a self, codes: &mut Vec<&'a str>) {
        self.absent.iter().chain([&self.failure]).for_each(|failure| failure.problem(codes));
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
    /// Where the document says so.
    pub(crate) span: Span,
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

/// Reads several items at one instant, each by itself.
#[derive(Debug)]
pub(crate) struct SnapshotOp {
    pub(crate) gets: Vec<GetOp>,
}

/// Reads several items of one entity.
#[derive(Debug)]
pub(crate) struct BatchOp {
    pub(crate) entity: EntityId,
    pub(crate) binding: Option<BindingId>,
    pub(crate) keys: BatchKeys,
    pub(crate) strong: Strength,
    /// Whether all are read at one instant.
    pub(crate) snapshot: bool,
    pub(crate) failure: OnFailure,
}

/// The keys of several items.
#[derive(Debug)]
pub(crate) enum BatchKeys {
    /// One for each number of a range: the keys, the attribute, its least and its greatest value.
    Numbers(Vec<Key>, (Text, i64, i64)),
    /// One for each element.
    Elements(Box<ElementKeys>),
}

/// A key for each element of a list, or for each item of a result.
#[derive(Debug)]
pub(crate) struct ElementKeys {
    pub(crate) source: Elements,
    pub(crate) key: Key,
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
    /// Whose items are kept: those of one entity, or of several.
    pub(crate) entities: Vec<EntityId>,
    pub(crate) binding: Option<BindingId>,
    pub(crate) index: Option<Text>,
    /// What is seen of each entity, if the index does not hold whole items.
    pub(crate) sights: Vec<Sight>,
    /// The partition; none where all of an index is read.
    pub(crate) partition: Option<Code>,
    /// The partitions, where there are several.
    pub(crate) shards: Option<Shards>,
    pub(crate) range: Bounds,
    /// What is asked of the items of each entity that are read; the others are dropped. Nothing is there if all are kept.
    pub(crate) keep: Vec<Keep>,
    /// The most items that are read, where some may be dropped.
    pub(crate) reading: Option<usize>,
    /// The direction, and when it is the other.
    pub(crate) direction: Direction,
    pub(crate) turned: Option<Code>,
    pub(crate) strong: Strength,
    /// The page a caller can size, or else how many there are at most.
    pub(crate) paging: Option<Paging>,
    pub(crate) items_max: u32,
    pub(crate) failure: OnFailure,
}

/// What is asked of the items of an entity, of those that a query reads.
#[derive(Debug)]
pub(crate) struct Keep {
    pub(crate) entity: EntityId,
    /// What must hold; nothing where all of them are kept.
    pub(crate) test: Option<Code>,
    /// The attributes that the filter asks for and that an item may have in its key alone. Those items are not dropped by
    /// the store: they are tested when they are read.
    pub(crate) told: Vec<Text>,
}

/// Partitions that differ by one whole number, and are read one after the other.
#[derive(Debug)]
pub(crate) struct Shards {
    /// The name of the number, its least and its greatest value.
    pub(crate) through: (Text, i64, i64),
    pub(crate) partitions: Vec<Code>,
}

/// Takes a part of what a query of several entities has found.
#[derive(Debug)]
pub(crate) struct PartOp {
    pub(crate) entity: EntityId,
    pub(crate) binding: BindingId,
    /// What the query has found.
    pub(crate) of: BindingId,
    /// Whether it is the one item there can be, and else all of them.
    pub(crate) one: bool,
    /// Whether the query reads page by page: then the one item is on the first page.
    pub(crate) paged: bool,
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
    /// The entities it writes, each once.
    pub(crate) writes: Vec<EntityId>,
}

/// Answers.
#[derive(Debug)]
pub(crate) struct ReturnOp {
    pub(crate) status: u16,
    pub(crate) binding: Option<BindingId>,
    pub(crate) page: bool,
    pub(crate) shown: Vec<Shown>,
    /// Where items of several entities are returned, how each is shown.
    pub(crate) kinds: Option<Kinds>,
    pub(crate) with: Vec<(Shown, Beside)>,
    /// The page whose cursor is shown beside an item.
    pub(crate) next: Option<BindingId>,
    /// Where the thing is to be found.
    pub(crate) at: Option<Vec<Piece>>,
    pub(crate) tag: Tag,
}

/// What is shown beside what is returned.
#[derive(Debug)]
pub(crate) enum Beside {
    Value(Code),
    /// Items, and what is shown of each.
    List(BindingId, Vec<Shown>),
}

/// How items of several entities are shown: each with its type.
#[derive(Debug)]
pub(crate) struct Kinds {
    pub(crate) discriminator: Shown,
    /// What is shown of an item, by its type.
    pub(crate) shown: Vec<(Value, Vec<Shown>)>,
}
