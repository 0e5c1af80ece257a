//! Demos: requests that fill a store, and requests that go on while it is looked at.

use super::{ExampleCall, Expr};
use crate::{Name, Span, Spanned};

/// A block of a demo.
#[derive(Debug, Clone)]
pub struct Demo {
    /// What happens, in order.
    pub steps: Vec<DemoStep>,
    /// Where it stands.
    pub span: Span,
}

/// A line or more of a demo.
#[derive(Debug, Clone)]
pub enum DemoStep {
    /// `at now - 3d`: when what follows happens.
    At(Expr),
    /// `as ID [role R]… [org O]…`, or `as nobody`
    As {
        /// The caller.
        id: Name,
        /// Its roles.
        roles: Vec<Name>,
        /// Its organisations.
        orgs: Vec<Name>,
    },
    /// `name = value`: what `$name` stands for from here on.
    Named(Name, DemoValue),
    /// A request and, if it says so, how it is answered.
    Call(Box<ExampleCall>),
    /// `repeat 40 { … }`
    Repeat {
        /// How often.
        times: Spanned<u32>,
        /// What is done in each round.
        steps: Vec<DemoStep>,
    },
    /// `every 2s { … }`, while the server runs.
    Every {
        /// The time between two rounds.
        pause: Name,
        /// What is done in each round.
        steps: Vec<DemoStep>,
    },
}

/// The value of a name.
#[derive(Debug, Clone)]
pub enum DemoValue {
    /// `one of a, b, "c d"`: one of these texts.
    OneOf(Vec<Name>),
    /// `one of 1..40`: a number between these two, which may be drawn too.
    Between(Spanned<i64>, Spanned<i64>),
    /// A value that is computed.
    Computed(Expr),
}
