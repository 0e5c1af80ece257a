//! Reads: one item, several, a range, and parts of what a range holds.

use latchkey_language::Span;

use super::{
    BindingId, Contract, EntityId, Expr, ExprKind, Given, IndexId, OnFailure, StepKind, each_step,
};

/// A read of one item or of a range.
#[derive(Debug)]
pub struct Read {
    /// The binding of the item that was found.
    pub binding: Option<BindingId>,
    /// The entity; of a query of several, the first.
    pub entity: EntityId,
    /// The other entities of a query.
    pub also: Vec<EntityId>,
    /// When it must see every write before it.
    pub strong: Strong,
    /// What is read.
    pub what: What,
    /// The number of the `snapshot` that it stands in: all gets of one are read at one instant.
    pub snapshot: Option<u32>,
    /// What happens if nothing is found.
    pub failure: Option<OnFailure>,
    /// Where it is written.
    pub span: Span,
}

impl Read {
    /// The entities it reads items of.
    pub fn entities(&self) -> impl Iterator<Item = EntityId> {
        std::iter::once(self.entity).chain(self.also.iter().copied())
    }

    /// Whether it and another stand in one `snapshot`, and so are of one instant.
    pub fn is_with(&self, other: &Read) -> bool {
        self.snapshot.is_some() && self.snapshot == other.snapshot
    }
}

/// When a read is strong.
#[derive(Debug, Clone)]
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
    /// What a query of several entities has found of one of them. It asks nothing of the table.
    Part(Part),
}

/// A part of what a query of several entities has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// What the query has found.
    pub of: BindingId,
    /// Whether it is the one item there can be, and else all of them.
    pub one: bool,
    /// Whether the query reads page by page.
    pub paged: bool,
    /// How many of the items the query reads for sure if there are as many; `None` where items of other entities may
    /// come in their place.
    pub sure: Option<u32>,
}

/// Items that are read at once.
#[derive(Debug)]
pub struct Batch {
    /// The attributes their keys are made of, but for one that goes through numbers.
    pub key: Vec<Given>,
    /// What their keys differ by.
    pub by: BatchBy,
    /// Whether all are read at one instant.
    pub snapshot: bool,
}

/// What the keys of a batch differ by.
#[derive(Debug)]
pub enum BatchBy {
    /// A whole number.
    Numbers {
        /// The attribute that goes through a range.
        attribute: String,
        /// Its least value.
        low: i64,
        /// Its greatest value.
        high: i64,
    },
    /// The elements of a list, or the items of a result.
    Elements {
        /// The list, or the binding of the result.
        over: Expr,
        /// The binding of the element.
        element: BindingId,
        /// The most elements.
        most: u64,
    },
}

impl Batch {
    /// How many keys there are at most.
    pub fn count(&self) -> u64 {
        match &self.by {
            BatchBy::Numbers { low, high, .. } => high.abs_diff(*low).saturating_add(1),
            BatchBy::Elements { most, .. } => *most,
        }
    }

    /// The list or the result that says which items are read.
    pub fn over(&self) -> Option<&Expr> {
        match &self.by {
            BatchBy::Numbers { .. } => None,
            BatchBy::Elements { over, .. } => Some(over),
        }
    }

    /// The result that says which items are read, and the binding of its element.
    pub fn result(&self) -> Option<(BindingId, BindingId)> {
        match &self.by {
            BatchBy::Elements { over, element, .. } => Some((over.result()?, *element)),
            BatchBy::Numbers { .. } => None,
        }
    }

    /// Whether a value differs from item to item.
    pub fn varies(&self, value: &Expr) -> bool {
        let BatchBy::Elements { element, .. } = &self.by else { return false };
        let mut varies = false;
        value.walk(&mut |part| {
            varies |= matches!(&part.kind, ExprKind::Binding(id) | ExprKind::Attribute(id, _)
                if id == element);
        });
        varies
    }

    /// The values that say which items are read.
    pub fn values(&self) -> impl Iterator<Item = &Expr> {
        self.key.iter().map(|given| &given.value).chain(self.over())
    }
}

/// The numbers that a part of the partition key goes through.
#[derive(Debug, Clone)]
pub struct Through {
    /// The attribute.
    pub attribute: String,
    /// Its least value.
    pub low: i64,
    /// Its greatest value.
    pub high: i64,
    /// Where it is written.
    pub span: Span,
}

impl Through {
    /// How many partitions there are.
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
    /// The numbers by which its partitions differ, if it reads several.
    pub through: Option<Through>,
    /// The partition; `None` where none is fixed.
    pub partition: Option<Expr>,
    /// The sort keys.
    pub range: Range,
    /// Conditions on anything else, in the `where`, which have no meaning.
    pub filters: Vec<Span>,
    /// What is asked of each item that is read, by the store; the others are dropped.
    pub keep: Option<Keep>,
    /// The most items that are read to find those that are kept.
    pub reading: Option<u32>,
    /// Which end comes first.
    pub order: Order,
    /// How many; `None` where the query does not say.
    pub limit: Option<Limit>,
}

impl Query {
    /// The texts its partition and its range are made of.
    pub fn texts(&self) -> impl Iterator<Item = &Expr> {
        self.partition.iter().chain(self.range_texts())
    }

    /// Whether it reads all of an index, whatever the partition.
    pub fn scans(&self) -> bool {
        let open = self.partition.is_none() && self.through.is_none() && self.filters.is_empty();
        open && matches!((self.by, &self.range), (By::Index(_), Range::All))
    }

    /// All that says which items it finds: its texts, and what it keeps them by.
    pub fn values(&self) -> impl Iterator<Item = &Expr> {
        self.texts().chain(self.tests().map(|(_, test)| test))
    }

    /// All that decides what it finds, and in which order: with a limit, the order says which items those are.
    pub fn deciding(&self) -> impl Iterator<Item = &Expr> {
        let order = match &self.order {
            Order::DescendingWhen(test) => Some(test),
            Order::Ascending | Order::Descending => None,
        };
        self.values().chain(order)
    }

    /// What it asks of the items that it keeps, entity by entity.
    pub fn tests(&self) -> impl Iterator<Item = (EntityId, &Expr)> {
        let all = self.keep.iter().flat_map(|keep| &keep.tests);
        all.filter_map(|(entity, test)| Some((*entity, test.as_ref()?)))
    }

    /// What it asks of the items of an entity; nothing where it keeps all of them.
    pub fn test_of(&self, entity: EntityId) -> Option<&Expr> {
        self.tests().find(|(of, _)| *of == entity).map(|(_, test)| test)
    }

    /// The stored attributes that it keeps the items of an entity by.
    pub fn kept_by(&self, entity: EntityId) -> Vec<&str> {
        let mut names = Vec::new();
        if let Some(test) = self.test_of(entity) {
            test.walk(&mut |part| {
                if let ExprKind::Stored(name) = &part.kind
                    && !names.contains(&name.as_str())
                {
                    names.push(name.as_str());
                }
            });
        }
        names
    }

    /// The texts its range is made of.
    pub fn range_texts(&self) -> impl Iterator<Item = &Expr> {
        let (first, second) = match &self.range {
            Range::All => (None, None),
            Range::Equal(text) | Range::BeginsWith(text) | Range::Side { bound: text, .. } => {
                (Some(text), None)
            }
            Range::Between(low, high) => (Some(low), Some(high)),
        };
        first.into_iter().chain(second)
    }
}

/// What a query asks of each item that it reads. An entity that lacks an attribute which the filter names has a test of
/// its own: the attribute is absent there.
#[derive(Debug)]
pub struct Keep {
    /// What is asked of the items of each entity that the query lists; nothing where all of them are kept.
    pub tests: Vec<(EntityId, Option<Expr>)>,
    /// Where the condition is written.
    pub span: Span,
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

impl Range {
    /// The text that its sort keys are, or begin with.
    pub fn start(&self) -> Option<&Expr> {
        match self {
            Range::Equal(text) | Range::BeginsWith(text) => Some(text),
            Range::All | Range::Between(..) | Range::Side { .. } => None,
        }
    }
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

/// The name under which a caller sizes a page, unless the contract has another.
pub const PAGE_SIZE: &str = "pageSize";

/// The input with which a caller asks for the next page.
pub const NEXT_CURSOR: &str = "nextCursor";

/// The page that a caller of a contract can size and continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<'a> {
    /// How many items, unless the caller says.
    pub size: u32,
    /// The most a caller may ask for.
    pub max: u32,
    /// The name by which a caller sizes it.
    pub sized_by: &'a str,
}

impl Contract {
    /// The page that a caller can size and continue. Pages on different ways are of one size.
    pub fn page(&self) -> Option<Page<'_>> {
        let mut found = None;
        each_step(&self.steps, &mut |step| {
            if let StepKind::Read(read) = &step.kind
                && let What::Query(query) = &read.what
                && let Some(Limit::Page { size, max, sized_by }) = &query.limit
            {
                let sized_by = sized_by.as_deref().unwrap_or(PAGE_SIZE);
                found = Some(Page { size: *size, max: *max, sized_by });
            }
        });
        found
    }

    /// The read that a name was first given to.
    pub fn read_of(&self, binding: BindingId) -> Option<&Read> {
        let mut found = None;
        each_step(&self.steps, &mut |step| {
            if let StepKind::Read(read) = &step.kind
                && read.binding == Some(binding)
            {
                found = found.or(Some(&**read));
            }
        });
        found
    }

    /// The query that found what a read has: the read itself, or the one that the read takes a part of.
    pub fn query_of<'a>(&'a self, read: &'a Read) -> Option<(&'a Read, &'a Query)> {
        match &read.what {
            What::Query(query) => Some((read, query)),
            What::Part(part) => match self.read_of(part.of) {
                Some(whole) if let What::Query(query) = &whole.what => Some((whole, query)),
                _ => None,
            },
            What::Get(_) | What::Batch(_) => None,
        }
    }
}
