//! The table: its name, its keys and its indexes.

use super::KeyPart;
use crate::{Name, Span, Spanned};

/// `table NAME { type NAME  PK NAME  SK NAME  index NAME { … } }`
#[derive(Debug, Clone)]
pub struct Table {
    /// The table's name.
    pub name: Name,
    /// The attribute that tells entities apart.
    pub discriminator: Option<Name>,
    /// The attribute by which the table removes items, where it names one.
    pub ttl: Option<Name>,
    /// The attributes that hold its key, where it names them.
    pub keys: Vec<KeyName>,
    /// Its indexes, where it lists them.
    pub indexes: Vec<TableIndex>,
    /// Where it stands.
    pub span: Span,
}

/// `PK NAME [number]` or `SK NAME [number]`
#[derive(Debug, Clone)]
pub struct KeyName {
    /// `PK` or `SK`.
    pub part: Spanned<KeyPart>,
    /// The attribute that holds it.
    pub attribute: Name,
    /// Where it says that it is a number.
    pub number: Option<Span>,
}

/// `index NAME { PK NAME  SK NAME  holds keys, NAME }`
#[derive(Debug, Clone)]
pub struct TableIndex {
    /// The index's name.
    pub name: Name,
    /// The attributes that hold its key, where it names them.
    pub keys: Vec<KeyName>,
    /// The attributes that it holds beside keys, where it does not hold whole items.
    pub holds: Option<Spanned<Vec<Name>>>,
    /// Where it stands.
    pub span: Span,
}
