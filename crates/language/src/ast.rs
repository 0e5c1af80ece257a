//! The syntax tree of a document: what is written, where, and nothing of what it means.

mod demo;
mod example;
mod expression;
mod operation;
mod table;
mod types;

use std::fmt;

use latchkey_value::Format;

use crate::{Comment, Name, Span, Spanned};

pub use demo::{Demo, DemoStep, DemoValue};
pub use example::{Example, ExampleCall, ExampleStep, QueueMode};
pub use expression::{BinaryOp, Expr, ExprKind};
pub use operation::{Assign, Clause, ClauseKind, Operation, Pick, Removal, Verb};
pub use table::{KeyName, Table, TableIndex};
pub use types::{Bounds, Type, Unique};

/// A whole document.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Its declarations, in order.
    pub items: Vec<Item>,
    /// Its examples, in order.
    pub examples: Vec<Example>,
    /// Its demo blocks, in order.
    pub demos: Vec<Demo>,
    /// Its comments, in order.
    pub comments: Vec<Comment>,
}

/// A declaration.
#[derive(Debug, Clone)]
pub enum Item {
    /// `system NAME`
    System(Name),
    /// `table NAME { … }`
    Table(Table),
    /// `role NAME [implies NAME]`
    Role(Role),
    /// `entity NAME "TYPE" … { … }`
    Entity(Entity),
    /// `contract ID "TITLE" { … }`
    Contract(Contract),
    /// `queue NAME [ordered by FIELD] { … }`
    Queue(Queue),
    /// `worker ID "TITLE" { … }`, which begins with `on QUEUE { … }`
    Worker(Contract),
    /// `steps NAME(a id, b time) { … }`
    Steps(Steps),
    /// `invariant ENTITY "what holds" { … }`
    Invariant(Invariant),
}

/// `role NAME [implies NAME]`
#[derive(Debug, Clone)]
pub struct Role {
    /// The role.
    pub name: Name,
    /// The role whose rights it has too.
    pub implies: Option<Name>,
}

/// `entity NAME "TYPE" [view of NAME] [guarded by NAME] { … }`
#[derive(Debug, Clone)]
pub struct Entity {
    /// Its name.
    pub name: Name,
    /// What its items carry in the discriminator.
    pub discriminator: Name,
    /// The entity it copies from.
    pub view_of: Option<Name>,
    /// The entity every write of it must move.
    pub guarded_by: Option<Name>,
    /// What stands between its braces, in order.
    pub members: Vec<Member>,
    /// Where it stands.
    pub span: Span,
}

/// What an entity declares.
#[derive(Debug, Clone)]
pub enum Member {
    /// `PK = "…"` or `SK = "…"`
    Key(KeyTemplate),
    /// `index NAME [moves] { PK = "…"  SK = "…" }`
    Index(Index),
    /// An attribute.
    Field(Box<Field>),
    /// `copies a, b?, c kept`
    Copies(Vec<Copied>),
    /// `status moves { A -> B, C }`
    Moves(Moves),
    /// `expires endsAt`
    Expires(Name),
    /// `waive RULE "why"`, for what follows.
    Waive(Waive),
}

/// An attribute that a view copies.
#[derive(Debug, Clone)]
pub struct Copied {
    /// The attribute.
    pub name: Name,
    /// The `?` behind it, if stored views may lack it.
    pub optional: Option<Span>,
    /// The `kept` behind it, if stored views may have it where their source has none.
    pub kept: Option<Span>,
}

/// `PK = "…"` or `SK = "…"`
#[derive(Debug, Clone)]
pub struct KeyTemplate {
    /// `PK` or `SK`.
    pub part: Spanned<KeyPart>,
    /// What it is made of.
    pub template: Template,
}

/// Which half of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPart {
    /// The partition.
    Partition,
    /// The place within the partition.
    Sort,
}

/// `index NAME [moves] { PK = "…"  SK = "…" }`
#[derive(Debug, Clone)]
pub struct Index {
    /// The index's name.
    pub name: Name,
    /// Where it says that its key may move.
    pub moves: Option<Span>,
    /// Its keys.
    pub keys: Vec<KeyTemplate>,
    /// Where it stands.
    pub span: Span,
}

/// An attribute of an entity, or an input of a contract.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub kind: Spanned<Type>,
    /// Where it says that it may be absent.
    pub optional: Option<Span>,
    /// Where it says that it is never shown.
    pub secret: Option<Span>,
    /// What it is unless given.
    pub default: Option<Expr>,
}

/// `status moves { A -> B, C }`
#[derive(Debug, Clone)]
pub struct Moves {
    /// The attribute.
    pub attribute: Name,
    /// From what, to what.
    pub moves: Vec<(Name, Vec<Name>)>,
    /// Where it stands.
    pub span: Span,
}

/// `waive RULE "why"`
#[derive(Debug, Clone)]
pub struct Waive {
    /// The rule.
    pub rule: Name,
    /// Why it may be broken here.
    pub reason: Name,
    /// Where it stands.
    pub span: Span,
}

/// A text with holes: `"EVT#{time}#{eventId}"`.
#[derive(Debug, Clone)]
pub struct Template {
    /// Its pieces, in order.
    pub pieces: Vec<Piece>,
    /// Where it stands, with its quotes.
    pub span: Span,
}

/// A piece of a template.
#[derive(Debug, Clone)]
pub enum Piece {
    /// Text as it is.
    Literal(Spanned<String>),
    /// `{expression}`, `{expression:02}` or `{expression:day}`
    Hole {
        /// What fills it.
        value: Expr,
        /// The form it has there, if that is not its own.
        format: Option<Spanned<Format>>,
    },
}

/// `contract ID "TITLE" { … }`
#[derive(Debug, Clone)]
pub struct Contract {
    /// Its id.
    pub id: Name,
    /// Its title.
    pub title: Name,
    /// What it does, from top to bottom.
    pub body: Vec<Statement>,
    /// Where it stands.
    pub span: Span,
}

/// `queue NAME [ordered by FIELD] { … }`
#[derive(Debug, Clone)]
pub struct Queue {
    /// Its name.
    pub name: Name,
    /// The field whose value names a message's group.
    pub ordered_by: Option<Name>,
    /// What its messages are made of.
    pub fields: Vec<Field>,
    /// `lease 30s`, each time it is said.
    pub leases: Vec<Name>,
    /// `tries 5`, each time it is said.
    pub tries: Vec<Name>,
    /// `waive RULE "why"`
    pub waivers: Vec<Waive>,
    /// Where it stands.
    pub span: Span,
}

/// `steps NAME(a id, b time) [gives NAME] { … }`
#[derive(Debug, Clone)]
pub struct Steps {
    /// Its name.
    pub name: Name,
    /// What it is given: values of a type, or items of an entity.
    pub parameters: Vec<Field>,
    /// The name, within it, of what whoever does it gets.
    pub gives: Option<Name>,
    /// What it does.
    pub body: Vec<Statement>,
    /// Where it stands.
    pub span: Span,
}

/// `invariant ENTITY "what holds" { [NAME = get|query …]… CONDITION }`
#[derive(Debug, Clone)]
pub struct Invariant {
    /// The entity whose items it is about.
    pub entity: Name,
    /// What holds, for people.
    pub promise: Name,
    /// What is read besides the item.
    pub reads: Vec<Statement>,
    /// What holds of every item.
    pub condition: Expr,
    /// Where it stands.
    pub span: Span,
}

/// A statement and where it stands.
pub type Statement = Spanned<StatementKind>;

/// The method of a contract's route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Reads.
    Get,
    /// Puts something where the path says.
    Put,
    /// Makes or does something.
    Post,
    /// Changes a part.
    Patch,
    /// Removes.
    Delete,
}

impl Method {
    const ALL: [Method; 5] =
        [Method::Get, Method::Put, Method::Post, Method::Patch, Method::Delete];

    /// The method that a document or a request writes so.
    pub fn named(text: &str) -> Option<Method> {
        Method::ALL.into_iter().find(|method| method.as_str() == text)
    }

    /// As documents and requests write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Put => "PUT",
            Method::Post => "POST",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a contract says or does.
#[derive(Debug, Clone)]
pub enum StatementKind {
    /// `GET /path/{input}`
    Route {
        /// The method.
        method: Method,
        /// The path as it is written.
        path: Name,
    },
    /// `input a id, b int = 1`
    Input(Vec<Field>),
    /// `allow CONDITION`
    Allow(Expr),
    /// `allow anyone`
    AllowAnyone,
    /// `require CONDITION else …`
    Require(Expr, Option<Else>),
    /// `match CONDITION else …`
    Match(Expr, Option<Else>),
    /// `when CONDITION { … } [else { … }]`
    When {
        /// The condition.
        condition: Expr,
        /// What happens if it holds.
        then: Vec<Statement>,
        /// What happens if not.
        otherwise: Vec<Statement>,
    },
    /// `[NAME =] OPERATION`
    Operate(Option<Name>, Operation),
    /// `NAME = the ENTITY in NAME [else …]`
    Pick(Name, Pick),
    /// `NAME = EXPRESSION`
    Let(Name, Expr),
    /// `transact { … }`
    Transact(Vec<Statement>),
    /// `snapshot { … }`
    Snapshot(Vec<Statement>),
    /// `each NAME in LIST { … }`
    Each {
        /// What each element is called.
        element: Name,
        /// The list, or the result of a read.
        over: Expr,
        /// What happens for each.
        body: Vec<Statement>,
    },
    /// `send QUEUE { a, b = x } [at TIME] [accepted { … }] [refused { … }]`
    Send(Send),
    /// `[NAME =] do NAME(a, b)`
    Do {
        /// The name for what the steps give.
        result: Option<Name>,
        /// The steps.
        name: Name,
        /// What they are given.
        arguments: Vec<Expr>,
    },
    /// `on QUEUE { a, b }`
    On(Name, Vec<Name>),
    /// `on dead { … }`
    OnDead(Vec<Statement>),
    /// `done`, `later` or `fail CODE ["message"]`
    End(Ending),
    /// `return [STATUS] [NAME [{ a, b }]] [with { a = x }] [at /path]`
    Return(Return),
    /// `consistency …`, `expect …`, `rate …` or `cost …`
    Fact(Fact),
    /// `waive RULE "why"`, for what follows.
    Waive(Waive),
}

/// `send QUEUE { a, b = x } [at TIME] [accepted { … }] [refused { … }]`
#[derive(Debug, Clone)]
pub struct Send {
    /// The queue.
    pub queue: Name,
    /// The fields of the message.
    pub fields: Vec<Assign>,
    /// When it is due.
    pub at: Option<Expr>,
    /// What happens once the queue has taken it.
    pub accepted: Option<Spanned<Vec<Statement>>>,
    /// What happens once the queue will not take it.
    pub refused: Option<Spanned<Vec<Statement>>>,
}

/// How a run ends that nobody waits for.
#[derive(Debug, Clone)]
pub enum Ending {
    /// `done`
    Done,
    /// `later`
    Later,
    /// `fail CODE ["message"]`
    Fail {
        /// The failure's name.
        code: Name,
        /// What to tell a person.
        message: Option<Template>,
    },
}

/// What happens when a read finds nothing, a test fails or a leg is refused.
#[derive(Debug, Clone)]
pub struct Else {
    /// What happens.
    pub kind: ElseKind,
    /// Where it stands.
    pub span: Span,
}

/// What an `else` does.
#[derive(Debug, Clone)]
pub enum ElseKind {
    /// `else 409 slug ["message"] [with { … }]`
    Fail {
        /// The status.
        status: Spanned<u16>,
        /// The problem's name.
        code: Name,
        /// What to tell a person.
        message: Option<Template>,
        /// What to tell a program.
        with: Vec<Assign>,
    },
    /// `else retry`
    Retry,
    /// `else { … }`
    Block(Vec<Statement>),
    /// `else done`, `else later` or `else fail CODE`
    End(Ending),
}

/// `return [STATUS] [NAME [{ a, b }]] [with { a = x }] [at /path]`
#[derive(Debug, Clone)]
pub struct Return {
    /// The status; 200 unless given.
    pub status: Option<Spanned<u16>>,
    /// The item or the page that is returned, unless values alone are, or nothing.
    pub value: Option<Name>,
    /// The fields that are shown; all of them unless given.
    pub fields: Vec<Name>,
    /// What is shown beside them.
    pub with: Vec<Assign>,
    /// Where the thing can be found.
    pub at: Option<Name>,
}

/// What a contract states of itself.
#[derive(Debug, Clone)]
pub enum Fact {
    /// `consistency eventual` or `consistency strong`
    Consistency(Name),
    /// `expect 0..200 items`
    Expect {
        /// At least.
        low: Spanned<String>,
        /// At most, if there is a bound.
        high: Option<Spanned<String>>,
    },
    /// `rate 100/s`
    Rate {
        /// How often.
        count: Spanned<String>,
        /// In `s`, `m`, `h` or `d`.
        per: Name,
    },
    /// `cost 0.5 rcu, 2 wcu`
    Cost(Vec<(Spanned<String>, Name)>),
    /// `idempotent by Lock`
    Idempotent(Name),
    /// `cache 30s`
    Cache(Name),
    /// `limit 20/s per caller burst 40`
    Limit {
        /// How often.
        count: Spanned<String>,
        /// In `s`, `m`, `h` or `d`.
        per: Name,
        /// Whose calls are counted together: `caller`, `address`, or an input of the path.
        whose: Name,
        /// How many calls may come at once.
        burst: Option<Spanned<String>>,
    },
}
