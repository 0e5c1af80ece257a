//! Examples: requests, and what they must be answered with.

use crate::{Name, Span, Spanned};

/// A block of requests and their answers, in order.
#[derive(Debug, Clone)]
pub struct Example {
    /// What happens, in order.
    pub steps: Vec<ExampleStep>,
    /// Where it stands.
    pub span: Span,
}

/// A line or more of an example.
#[derive(Debug, Clone)]
pub enum ExampleStep {
    /// `at TIME`
    At(Name),
    /// `as ID [role R]… [org O]…`, or `as nobody`
    As {
        /// The caller.
        id: Name,
        /// Its roles.
        roles: Vec<Name>,
        /// Its organisations.
        orgs: Vec<Name>,
    },
    /// A request, and what it must be answered with.
    Call(ExampleCall),
    /// `queue NAME refuses`, `holds` or `works`
    Queue(Name, Spanned<QueueMode>),
    /// `together { … }`: requests that are made at once, and messages that are delivered with them. With where it
    /// stands.
    Together(Vec<ExampleStep>, Span),
    /// `deliver QUEUE`, within `together`: the message of the queue that is due first.
    Deliver(Name),
}

/// What a queue does from here on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueMode {
    /// It takes messages and hands them out, as it does unless told otherwise.
    Works,
    /// It takes messages and hands none out.
    Holds,
    /// It takes none.
    Refuses,
}

/// `METHOD PATH [Header: value]… [JSON]` and, below, `STATUS [Header: value]… [JSON]`.
#[derive(Debug, Clone)]
pub struct ExampleCall {
    /// The method.
    pub method: Name,
    /// The path and query.
    pub path: Name,
    /// The headers.
    pub headers: Vec<(Name, Name)>,
    /// The body, as it is written.
    pub body: Option<Name>,
    /// The status it must have.
    pub status: Option<Spanned<u16>>,
    /// The headers it must have.
    pub answer_headers: Vec<(Name, Name)>,
    /// A part of the JSON it must have, as it is written.
    pub answer: Option<Name>,
}
