//! Contracts: routes, inputs, steps, reads and writes.

use latchkey_language::Span;
use latchkey_language::ast::Method;

use super::{BindingId, EntityId, Expr, Facts, IdVec, IndexId, InputId, Kind, QueueId, Waiver};
use crate::types::Type;

/// What runs: a contract, a worker, or what one of them does later on.
#[derive(Debug)]
pub struct Contract {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it is run by.
    pub trigger: Trigger,
    /// Its method and path.
    pub route: Option<Route>,
    /// What a caller gives it.
    pub inputs: IdVec<InputId, Input>,
    /// What it reads and computes, by name.
    pub bindings: IdVec<BindingId, Binding>,
    /// What it does, from top to bottom.
    pub steps: Vec<Step>,
    /// What it states of itself.
    pub facts: Facts,
    /// Where its id is declared.
    pub span: Span,
}

/// What a contract is run by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trigger {
    /// A request to its route.
    #[default]
    Request,
    /// A message of a queue.
    Message(QueueId),
    /// A message of a queue that was tried too often.
    Dead(QueueId),
    /// A queue that has taken what was sent.
    Accepted(QueueId),
    /// A queue that will not take what was sent.
    Refused(QueueId),
    /// A test that looks at an item.
    Invariant,
}

/// A method and a path.
#[derive(Debug)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path between its slashes.
    pub segments: Vec<Segment>,
    /// Where it is written.
    pub span: Span,
}

/// A part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// Text as it is.
    Literal(String),
    /// An input.
    Input(InputId),
}

/// What a caller gives.
#[derive(Debug, Clone)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Type,
    /// Whether it may be absent.
    pub optional: bool,
    /// What it is unless given.
    pub default: Option<Expr>,
    /// Whether it is never shown.
    pub secret: bool,
    /// Where a caller puts it.
    pub place: Place,
    /// Whether a statement uses it; of a field of a message, one of the worker's or of its `on dead`.
    pub used: bool,
    /// Where it is declared.
    pub span: Span,
}

/// Where a caller puts an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the path.
    Path,
    /// In the query string.
    Query,
    /// In the body.
    Body,
    /// In a message of a queue.
    Message,
    /// In the record of a send, for what runs once the queue has answered.
    Record,
}

/// A name for what was read or computed.
#[derive(Debug)]
pub struct Binding {
    /// The name.
    pub name: String,
    /// Its value.
    pub kind: Kind,
    /// Whether it is never shown.
    pub secret: bool,
    /// Where it is bound.
    pub span: Span,
}

/// Something a contract does.
#[derive(Debug)]
pub struct Step {
    /// What it does.
    pub kind: StepKind,
    /// Rules that are waived for it.
    pub waivers: Vec<Waiver>,
    /// Where it is written.
    pub span: Span,
}

/// What a step does.
#[derive(Debug)]
pub enum StepKind {
    /// Continues only if the caller is allowed to.
    Allow(Expr),
    /// Continues only if the test holds.
    Require(Expr, Option<OnFailure>),
    /// Continues only if the caller's precondition holds.
    Match(Expr, Option<OnFailure>),
    /// Does one of two blocks.
    When(Expr, Vec<Step>, Vec<Step>),
    /// Names a value.
    Let(BindingId, Expr),
    /// Reads.
    Read(Box<Read>),
    /// Writes one item for itself.
    Write(Box<Leg>),
    /// Writes all of the legs within, or none.
    Transact(Vec<Step>),
    /// Sends a message, as a leg of a transaction.
    Send(Box<Send>),
    /// Answers.
    Return(Return),
    /// Ends a worker, which has no caller to answer.
    End(Ending),
}

/// How a worker ends.
#[derive(Debug)]
pub enum Ending {
    /// All is done; the message goes.
    Done,
    /// Not yet: the message comes again, and this was no failed try.
    Later,
    /// A failed try: the message comes again, or is given up.
    Fail {
        /// The failure's name.
        code: String,
        /// The text for a person.
        message: Option<Expr>,
    },
}

/// A read of one item or of a range.
#[derive(Debug)]
pub struct Read {
    /// The binding of the item that was found.
    pub binding: Option<BindingId>,
    /// The entity.
    pub entity: EntityId,
    /// When it must see every write before it.
    pub strong: Strong,
    /// What is read.
    pub what: What,
    /// What happens if nothing is found.
    pub failure: Option<OnFailure>,
    /// Where it is written.
    pub span: Span,
}

/// When a read is strong.
#[derive(Debug)]
pub enum Strong {
    /// Never.
    No,
    /// Always.
    Yes,
    /// If this holds.
    When(Expr),
}

/// What is read.
#[derive(Debug)]
pub enum What {
    /// The item of a key, by the attributes it is made of.
    Get(Vec<Given>),
    /// The items of several keys; those that are not there are left out.
    Batch(Box<Batch>),
    /// A range.
    Query(Box<Query>),
}

/// Items whose keys differ by one whole number.
#[derive(Debug)]
pub struct Batch {
    /// The other attributes their keys are made of.
    pub key: Vec<Given>,
    /// The attribute that goes through a range.
    pub attribute: String,
    /// Its least value.
    pub low: i64,
    /// Its greatest value.
    pub high: i64,
    /// Whether all are read at one instant.
    pub snapshot: bool,
}

impl Batch {
    /// How many keys there are.
    pub fn count(&self) -> u64 {
        self.high.abs_diff(self.low).saturating_add(1)
    }
}

/// What a query reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum By {
    /// The table.
    Table,
    /// An index in which the entity has a place.
    Index(IndexId),
    /// An index that the entity does not have, which is reported.
    Unknown,
}

/// A range of a partition.
#[derive(Debug)]
pub struct Query {
    /// What is read.
    pub by: By,
    /// The partition; `None` where none is fixed.
    pub partition: Option<Expr>,
    /// The sort keys.
    pub range: Range,
    /// Conditions on anything else.
    pub filters: Vec<Span>,
    /// Which end comes first.
    pub order: Order,
    /// How many; `None` where the query does not say.
    pub limit: Option<Limit>,
}

impl Query {
    /// The texts its partition and its range are made of.
    pub fn texts(&self) -> impl Iterator<Item = &Expr> {
        let (first, second) = match &self.range {
            Range::All => (None, None),
            Range::Equal(text) | Range::BeginsWith(text) | Range::Side { bound: text, .. } => {
                (Some(text), None)
            }
            Range::Between(low, high) => (Some(low), Some(high)),
        };
        self.partition.iter().chain(first).chain(second)
    }
}

/// The sort keys of a query.
#[derive(Debug)]
pub enum Range {
    /// All of the partition.
    All,
    /// This one.
    Equal(Expr),
    /// Those that begin with this.
    BeginsWith(Expr),
    /// Those from the first to the second.
    Between(Expr, Expr),
    /// Those on one side of this: below, or above; and whether it is among them.
    Side {
        /// Whether they lie below it.
        below: bool,
        /// Whether it is among them.
        inclusive: bool,
        /// The bound.
        bound: Expr,
    },
}

/// Which end of a range comes first.
#[derive(Debug)]
pub enum Order {
    /// The lowest sort key.
    Ascending,
    /// The highest.
    Descending,
    /// The highest if this holds, or else the lowest.
    DescendingWhen(Expr),
}

/// How many items a query returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// A page.
    Page {
        /// How many, unless the caller says.
        size: u32,
        /// The most a caller may ask for.
        max: u32,
        /// The name by which a caller sizes the page, where that is not `pageSize`.
        sized_by: Option<String>,
    },
    /// The first so many.
    First(u32),
}

/// An attribute and its value.
#[derive(Debug)]
pub struct Given {
    /// The attribute.
    pub attribute: String,
    /// Its value.
    pub value: Expr,
    /// Whether it is left alone when the value is absent.
    pub maybe: bool,
    /// Where it is written.
    pub span: Span,
}

/// A write of one item.
#[derive(Debug)]
pub struct Leg {
    /// What it does.
    pub verb: Verb,
    /// The entity.
    pub entity: EntityId,
    /// The attributes its key is made of.
    pub key: Vec<Given>,
    /// The binding of the item it is on, when it was read before.
    pub target: Option<BindingId>,
    /// The binding its other attributes come from.
    pub of: Option<BindingId>,
    /// The binding of the item it leaves.
    pub result: Option<BindingId>,
    /// The attributes it sets.
    pub values: Vec<Given>,
    /// The attributes it takes out.
    pub removes: Vec<String>,
    /// The attributes it adds to.
    pub adds: Vec<Given>,
    /// Whether it may replace what is there: `None` where a put does not say.
    pub put: Option<PutMode>,
    /// The condition on the stored item.
    pub condition: Option<Expr>,
    /// What happens if it does not.
    pub failure: Option<OnFailure>,
    /// Where it is written.
    pub span: Span,
}

/// A message that is sent if the transaction it is part of happens.
#[derive(Debug)]
pub struct Send {
    /// What tells it apart from every other send of the document.
    pub id: String,
    /// The queue.
    pub queue: QueueId,
    /// The fields of the message that are given.
    pub values: Vec<Given>,
    /// When it is due; at once, unless it says.
    pub at: Option<Expr>,
    /// What runs once the queue has taken it.
    pub accepted: Option<Box<Contract>>,
    /// What runs once the queue will not take it; without it, it is sent again until it does.
    pub refused: Option<Box<Contract>>,
    /// What the record of the send keeps for these two: the names of their inputs, and the values as the
    /// transaction leaves them. An optional value that is absent is left out.
    pub record: Vec<Given>,
    /// Where it is written.
    pub span: Span,
}

/// What a write does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Writes a whole item.
    Put,
    /// Changes an item that is there.
    Update,
    /// Changes an item, or makes it.
    Upsert,
    /// Removes an item.
    Delete,
    /// Requires something of an item.
    Check,
}

impl Verb {
    /// The word it is written with.
    pub fn word(self) -> &'static str {
        match self {
            Verb::Put => "put",
            Verb::Update => "update",
            Verb::Upsert => "upsert",
            Verb::Delete => "delete",
            Verb::Check => "check",
        }
    }
}

/// What a put does about an item that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutMode {
    /// It fails.
    IfAbsent,
    /// It replaces it.
    Replace,
}

/// What happens when a read finds nothing, a test fails or a leg is refused.
#[derive(Debug)]
pub struct OnFailure {
    /// What happens.
    pub kind: FailureKind,
    /// Where it is written.
    pub span: Span,
}

/// What a failure does.
#[derive(Debug)]
pub enum FailureKind {
    /// Answers with a problem.
    Problem {
        /// The status.
        status: u16,
        /// The problem's name.
        code: String,
        /// The text for a person.
        message: Option<Expr>,
        /// The members beside the text.
        with: Vec<Given>,
    },
    /// Runs the contract again.
    Retry,
    /// Does something else, and ends.
    Steps(Vec<Step>),
    /// Ends a worker, which has no caller to answer.
    End(Ending),
}

/// An answer.
#[derive(Debug)]
pub struct Return {
    /// The status.
    pub status: u16,
    /// The binding that is returned.
    pub binding: Option<BindingId>,
    /// The attributes that are shown; all of them if there are none.
    pub fields: Vec<String>,
    /// What is shown beside them.
    pub with: Vec<Given>,
    /// Where the thing can be found.
    pub at: Option<Vec<PathPart>>,
}

/// A part of a path to what is returned, between two slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathPart {
    /// Text as it is.
    Literal(String),
    /// An input.
    Input(InputId),
    /// An attribute of the returned item.
    Attribute(String),
}
