//! What a document means: its entities and contracts, with every name resolved.

mod contract;
mod expression;
mod facts;
mod held;
mod id;
mod leg;
mod queue;
mod read;
mod step;
mod table;
mod version;

use std::collections::BTreeMap;
use std::fmt;

use latchkey_language::ast::{Demo, Example};
use latchkey_language::{Rule, Span};
use latchkey_value::{Format, Value};

use crate::regular::Language;
use crate::types::Type;

pub use contract::{
    Binding, Contract, Ending, FailureKind, Input, OnFailure, PathPart, Place, Return, Route,
    Segment, Step, StepKind, Trigger,
};
pub use expression::{Expr, ExprKind, Kind, New, Op, TextPiece, Told};
pub(crate) use facts::whole_calls;
pub use facts::{CallLimit, CapacityUnit, Cost, Facts, Period, Rate, Stated, Whose};
pub use id::{BindingId, EntityId, Id, IdVec, IndexId, InputId, QueueId, RoleId};
pub use latchkey_language::ast::{KeyPart, Method};
pub use leg::{Each, Given, GivenPart, Leg, PutMode, Send, Verb};
pub use queue::{Queue, QueueField, Worker};
pub use read::{
    Batch, BatchBy, By, Keep, Limit, NEXT_CURSOR, Order, PAGE_SIZE, Page, Part, Query, Range, Read,
    Strong, Through, What,
};
pub use step::each_step;
pub use table::{KeyAttribute, KeyNames, Table, TableIndex};
pub use version::Versioned;

/// A document whose names and types are right.
#[derive(Debug, Default)]
pub struct Model {
    /// The document it was made of, which spans point into.
    pub text: String,
    /// The system's name.
    pub system: String,
    /// The table.
    pub table: Table,
    /// The table's indexes.
    pub indexes: IdVec<IndexId, TableIndex>,
    /// The roles a caller can have.
    pub roles: IdVec<RoleId, Role>,
    /// What is stored.
    pub entities: IdVec<EntityId, Entity>,
    /// What can be called.
    pub contracts: Vec<Contract>,
    /// What messages are sent to.
    pub queues: IdVec<QueueId, Queue>,
    /// What works through the queues, at most one each.
    pub workers: Vec<Worker>,
    /// What holds of items whenever nothing is under way. Tests look at it, and nothing that serves does.
    pub invariants: Vec<Invariant>,
    /// Requests, and the answers they must get.
    pub examples: Vec<Example>,
    /// What fills a store, and goes on, for those who look at it.
    pub demos: Vec<Demo>,
    /// Where the puts are whose item is certainly the first of its key, of entities with a counter whose items can be
    /// deleted and made again.
    pub first_puts: BTreeMap<Span, EntityId>,
}

/// What holds of every item of an entity.
#[derive(Debug)]
pub struct Invariant {
    /// The entity.
    pub entity: EntityId,
    /// Reads an item by its key, and what else is needed, and answers [`Invariant::BROKEN`] where it does not hold.
    pub body: Contract,
    /// Where it is declared.
    pub span: Span,
}

impl Invariant {
    /// The code of the problem by which its body tells that it does not hold.
    pub const BROKEN: &str = "broken";
}

/// A role.
#[derive(Debug)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// The role whose rights it has too.
    pub implies: Option<RoleId>,
    /// Where it is declared.
    pub span: Span,
}

/// A kind of item.
#[derive(Debug)]
pub struct Entity {
    /// Its name.
    pub name: String,
    /// What its items carry in the discriminator.
    pub discriminator: String,
    /// Its attributes, copies among them.
    pub attributes: Vec<Attribute>,
    /// Its place in the table.
    pub key: KeyShape,
    /// Its places in the indexes.
    pub indexes: Vec<IndexShape>,
    /// The entity it copies from.
    pub view_of: Option<EntityId>,
    /// The entity every write of it must move.
    pub guarded_by: Option<EntityId>,
    /// The attribute that holds the end of an item, if its items end.
    pub expires: Option<String>,
    /// Whether a statement of the document deletes an item of it, or replaces one by a `put`, or its items end: then
    /// another item can come into its place, with a counter that starts again.
    pub remade: bool,
    /// The defaults that are computed from what is stored of an item, in the order in which they are computed.
    pub computed: Vec<(String, Expr)>,
    /// Where its name is declared.
    pub span: Span,
    /// Rules that are waived for it.
    pub waivers: Vec<Waiver>,
}

impl Entity {
    /// The keys of the entity in what a query reads, if it has a place there.
    pub fn place(&self, by: By) -> Option<&KeyShape> {
        match by {
            By::Table => Some(&self.key),
            By::Index(id) => {
                self.indexes.iter().find(|shape| shape.index == id).map(|shape| &shape.key)
            }
            By::Unknown => None,
        }
    }

    /// The attribute of a name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// Whether its items end.
    pub fn is_expiring(&self) -> bool {
        self.expires.is_some()
    }

    /// Whether an attribute holds the end of an item.
    pub fn is_end(&self, name: &str) -> bool {
        self.expires.as_deref() == Some(name)
    }

    /// The attribute that counts its changes.
    pub fn counter(&self) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.kind == Type::Counter)
    }
}

/// An attribute.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Type,
    /// Whether it may be absent.
    pub optional: bool,
    /// Whether it is never shown.
    pub secret: bool,
    /// Whether it is copied from the entity this is a view of.
    pub copied: bool,
    /// Whether a stored view may have it where its source has none. A write that would erase it sets it in the source.
    pub kept: bool,
    /// What it is unless given. `null` where the document's constant is not of its type, which was reported.
    pub default: Option<Value>,
    /// Where a default is written that is computed from other attributes. Every `put` has it as a value.
    pub computed: Option<Span>,
    /// Which values can follow which, if that is declared.
    pub moves: Option<Vec<(String, Vec<String>)>>,
    /// Where it is declared.
    pub span: Span,
}

/// A partition and a sort template.
#[derive(Debug, Clone)]
pub struct KeyShape {
    /// Chooses the partition.
    pub partition: Template,
    /// Orders the partition.
    pub sort: Template,
}

impl KeyShape {
    /// One of the two.
    pub fn template(&self, part: KeyPart) -> &Template {
        match part {
            KeyPart::Partition => &self.partition,
            KeyPart::Sort => &self.sort,
        }
    }

    /// The attributes both are made of, each once, in order.
    pub fn attributes(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for hole in self.holes() {
            if !names.contains(&hole.attribute.as_str()) {
                names.push(&hole.attribute);
            }
        }
        names
    }

    /// Whether a key tells the value of an attribute. A key with the day of a time, or a text in lower case, is that of
    /// many values.
    pub fn tells(&self, attribute: &str) -> bool {
        self.holes().any(|hole| hole.attribute == attribute && !hole.is_lossy())
    }

    /// The parts of both halves.
    pub fn holes(&self) -> impl Iterator<Item = &Hole> {
        self.partition.holes().chain(self.sort.holes())
    }

    /// Whether all items of one key have one text for a part of another key: the key tells the attribute, or has the
    /// same form of it, or a longer part of the time.
    pub(crate) fn fixes(&self, part: &Hole) -> bool {
        let mut holes = self.holes().filter(|hole| hole.attribute == part.attribute);
        holes.any(|hole| hole.fixes(part.format))
    }
}

/// An entity's place in an index.
#[derive(Debug)]
pub struct IndexShape {
    /// The index.
    pub index: IndexId,
    /// The name of the index.
    pub name: String,
    /// Its keys.
    pub key: KeyShape,
    /// Whether the place may change.
    pub moves: bool,
    /// Whether its partition is stored for the index alone: under an attribute that is neither one of the entity nor
    /// holds another key of the item.
    pub own_partition: bool,
    /// The same of its sort key.
    pub own_sort: bool,
    /// Where it is declared.
    pub span: Span,
}

/// A key template over attributes.
#[derive(Debug, Clone)]
pub struct Template {
    /// Its pieces, in order.
    pub pieces: Vec<Piece>,
    /// Whether all of its pieces are there: a mistake in one leaves it out.
    pub whole: bool,
    /// Where it is written.
    pub span: Span,
}

/// A piece of a key template.
#[derive(Debug, Clone)]
pub enum Piece {
    /// Text as it is.
    Literal(String),
    /// The value of an attribute.
    Hole(Hole),
}

/// An attribute's place in a key template.
#[derive(Debug, Clone)]
pub struct Hole {
    /// The attribute.
    pub attribute: String,
    /// Its type.
    pub kind: Type,
    /// The form it has there, if that is not its own.
    pub format: Option<Format>,
    /// Where it is written.
    pub span: Span,
}

impl Hole {
    /// Whether two values of the attribute can have the same text there.
    pub fn is_lossy(&self) -> bool {
        self.format.is_some_and(Format::is_lossy)
    }

    /// Whether two values that have the same text there have the same text in another form, too.
    pub(crate) fn fixes(&self, form: Option<Format>) -> bool {
        let prefix = |format: Option<Format>| format.and_then(Format::prefix);
        let longer =
            prefix(self.format).is_some_and(|long| prefix(form).is_some_and(|short| short <= long));
        !self.is_lossy() || self.format == form || longer
    }
}

impl Template {
    /// Its holes, in order.
    pub fn holes(&self) -> impl Iterator<Item = &Hole> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Hole(hole) => Some(hole),
            Piece::Literal(_) => None,
        })
    }

    /// The part that is all of it: its text is the value itself.
    pub fn alone(&self) -> Option<&Hole> {
        match self.pieces.as_slice() {
            [Piece::Hole(hole)] if hole.format.is_none() => Some(hole),
            _ => None,
        }
    }

    /// Whether it is written as another is.
    pub(crate) fn is_like(&self, other: &Template) -> bool {
        let same = |(a, b): (&Piece, &Piece)| match (a, b) {
            (Piece::Literal(a), Piece::Literal(b)) => a == b,
            (Piece::Hole(a), Piece::Hole(b)) => a.attribute == b.attribute && a.format == b.format,
            _ => false,
        };
        self.pieces.len() == other.pieces.len() && self.pieces.iter().zip(&other.pieces).all(same)
    }

    /// The texts it can become.
    pub(crate) fn language(&self) -> Language {
        Template::language_of(&self.pieces)
    }

    /// The texts that pieces of a template can become.
    pub(crate) fn language_of(pieces: &[Piece]) -> Language {
        pieces.iter().fold(Language::default(), |language, piece| {
            language.then(match piece {
                Piece::Literal(text) => Language::literal(text),
                Piece::Hole(hole) => hole.kind.language(hole.format),
            })
        })
    }
}

/// As it is written, without its quotes.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|piece| match piece {
            Piece::Literal(text) => f.write_str(text),
            Piece::Hole(Hole { attribute, format: Some(format), .. }) => {
                write!(f, "{{{attribute}:{format}}}")
            }
            Piece::Hole(Hole { attribute, format: None, .. }) => write!(f, "{{{attribute}}}"),
        })
    }
}

/// A rule that is waived, and why.
#[derive(Debug, Clone)]
pub struct Waiver {
    /// The rule.
    pub rule: Rule,
    /// Why.
    pub reason: String,
    /// Where.
    pub span: Span,
}
