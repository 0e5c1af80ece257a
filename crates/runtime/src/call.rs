//! A call: the contract, the caller and the inputs.

use std::time::Duration;

use latchkey_table::{Number, Text, Value};

/// How long a call may take unless it says otherwise.
pub(crate) const CALL_TIME_MAX: Duration = Duration::from_secs(10);

/// One use of a contract.
///
/// ```
/// use latchkey_runtime::{Call, Caller};
/// let call = Call::new("D-01", Caller::new("alice").role("operator")).input("doorId", "D1");
/// ```
#[derive(Debug, Clone)]
pub struct Call {
    /// The contract's id.
    pub contract: Text,
    /// Who asks.
    pub caller: Caller,
    /// The inputs, by name.
    pub inputs: Vec<(Text, RawInput)>,
    /// The versions in the `If-Match` header.
    pub if_match: Option<IfMatch>,
    /// Whether the call may only make something new, and change nothing that is there: `If-None-Match: *`.
    pub if_none_match: bool,
    /// The name of this very call: made again, it is answered as the first time.
    pub idempotency_key: Option<Text>,
    /// How long it may take.
    pub time_max: Duration,
    /// Whether to keep what was asked of the table.
    pub trace: bool,
    /// The instant of the call, in milliseconds, instead of the clock's.
    pub at: Option<i64>,
}

/// An input as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawInput {
    /// Text, from a path, a query string or a command line; it is read as its type asks.
    Text(Text),
    /// A JSON value, from a body.
    Json(Value),
    /// Text that could not be decoded.
    Undecodable,
    /// Something that was put where it does not belong, and what to say of it.
    Misplaced(&'static str),
}

/// Who asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The id.
    pub id: Text,
    /// The roles.
    pub roles: Vec<Text>,
    /// The organisations whose things the caller owns too.
    pub orgs: Vec<Text>,
}

/// The versions in an `If-Match` header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IfMatch {
    /// Any version: `*`.
    Any,
    /// One of these. A tag that is no version is none of ours, and so is left out.
    OneOf(Vec<Number>),
}

impl Call {
    /// A call of a contract, with nothing given yet.
    pub fn new(contract: impl Into<Text>, caller: Caller) -> Call {
        Call {
            contract: contract.into(),
            caller,
            inputs: Vec::new(),
            if_match: None,
            if_none_match: false,
            idempotency_key: None,
            time_max: CALL_TIME_MAX,
            trace: false,
            at: None,
        }
    }

    /// Gives an input as text.
    #[must_use]
    pub fn input(self, name: impl Into<Text>, text: impl Into<Text>) -> Call {
        self.given(name, RawInput::Text(text.into()))
    }

    /// Gives an input as a JSON value.
    #[must_use]
    pub fn json(self, name: impl Into<Text>, value: impl Into<Value>) -> Call {
        self.given(name, RawInput::Json(value.into()))
    }

    fn given(mut self, name: impl Into<Text>, given: RawInput) -> Call {
        self.inputs.push((name.into(), given));
        self
    }
}

impl Caller {
    /// A caller without roles.
    pub fn new(id: impl Into<Text>) -> Caller {
        Caller { id: id.into(), ..Caller::default() }
    }

    /// Gives the caller a role.
    #[must_use]
    pub fn role(mut self, role: impl Into<Text>) -> Caller {
        self.roles.push(role.into());
        self
    }

    /// Makes the caller a member of an organisation.
    #[must_use]
    pub fn org(mut self, org: impl Into<Text>) -> Caller {
        self.orgs.push(org.into());
        self
    }

    /// Whether a thing of this owner is the caller's.
    pub(crate) fn owns(&self, owner: &str) -> bool {
        self.id == owner || self.orgs.iter().any(|org| org == owner)
    }
}
