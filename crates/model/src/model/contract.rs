//! Contracts: routes, inputs, steps, reads and writes.

use latchkey_language::Span;
use latchkey_language::ast::Method;

use super::{
    BindingId, Each, Expr, ExprKind, Facts, Given, GivenPart, IdVec, InputId, Kind, Leg, Model,
    QueueId, Read, Send, Waiver, each_step,
};
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
    /// Where it says that anyone may call it, without a token.
    pub open: Option<Span>,
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
    /// Does the legs within for each element of a list, as legs of a transaction.
    Each(Box<Each>),
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

/// What happens when a read finds nothing, a test fails or a leg is refused.
#[derive(Debug)]
pub struct OnFailure {
    /// What happens.
    pub kind: FailureKind,
    /// Where it is written.
    pub span: Span,
}

impl OnFailure {
    /// Whether it says that the caller has no right: 403.
    pub fn forbids(&self) -> bool {
        matches!(self.kind, FailureKind::Problem { status: 403, .. })
    }
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
    /// The binding that is returned. Without one the answer is made of the values beside it, or is empty.
    pub binding: Option<BindingId>,
    /// The attributes that are shown; all of them if there are none.
    pub fields: Vec<String>,
    /// What is shown beside them.
    pub with: Vec<Given>,
    /// The page whose cursor is shown beside an item.
    pub next: Option<BindingId>,
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

impl Contract {
    /// Whether an `Idempotency-Key` names a call of it, so that its answer is kept.
    pub fn keeps_records(&self) -> bool {
        let posts = self.route.as_ref().is_some_and(|route| route.method == Method::Post);
        posts && self.facts.idempotent.is_none() && self.open.is_none()
    }
}

impl Model {
    /// The contracts whose path a request has, with the texts at their parameters; the most literal first.
    pub fn routes(&self, path: &str) -> Vec<(&Contract, Vec<String>)> {
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let mut found: Vec<(&Contract, Vec<String>)> = Vec::new();
        for contract in &self.contracts {
            let Some(route) = &contract.route else { continue };
            if route.segments.len() != parts.len() {
                continue;
            }
            let mut parameters = Vec::new();
            let fits = route.segments.iter().zip(&parts).all(|(segment, part)| match segment {
                Segment::Literal(text) => text == part,
                Segment::Input(_) => {
                    parameters.push((*part).to_owned());
                    true
                }
            });
            if fits {
                found.push((contract, parameters));
            }
        }
        found.sort_by_key(|(_, parameters)| parameters.len());
        found
    }

    /// Whether every use of an input of a contract can do with `null`: it is optional, and is never set on an attribute,
    /// or a member of one, that must stay.
    pub fn takes_null(&self, contract: &Contract, input: InputId) -> bool {
        let mut takes = contract.inputs[input].optional;
        each_step(&contract.steps, &mut |step| {
            let StepKind::Write(leg) = &step.kind else { return };
            let entity = &self.entities[leg.entity];
            takes &= !leg.values.iter().any(|given| {
                let must_stay =
                    entity.attribute(&given.attribute).is_some_and(|attribute| match &given.part {
                        GivenPart::Within(steps) => !attribute.kind.is_optional_within(steps),
                        GivenPart::Whole | GivenPart::Element | GivenPart::NoElement => {
                            !attribute.optional
                        }
                    });
                let named = matches!(given.value.kind, ExprKind::Input(id) if id == input);
                given.maybe && must_stay && named
            });
        });
        takes
    }
}
