//! The seam to storage: everything that reads or writes items goes through [`Backend`].
//!
//! The embedded store and DynamoDB implement it; so can a test, or a program that decides when each request
//! happens. No I/O here.

use std::error::Error as StdError;
use std::fmt;
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::{Answer, Error, Item, ReadOnly, Request, Scan, Scanned, Schema, Text, ValueType};

/// How long a read may be behind, unless a backend knows better. DynamoDB is usually behind by much less than a second.
const LAG: Duration = Duration::from_secs(5);

/// Carries requests out.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Instant;
/// use latchkey_table::{Answer, Answering, Backend, Error, Need, PrepareError, Request, Tables};
///
/// /// Counts what is asked of another backend.
/// #[derive(Debug)]
/// struct Counted {
///     inner: Arc<dyn Backend>,
///     count: std::sync::atomic::AtomicU64,
/// }
///
/// impl Backend for Counted {
///     fn execute(&self, request: Request, deadline: Instant) -> Answering<'_, Result<Answer, Error>> {
///         self.count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
///         self.inner.execute(request, deadline)
///     }
///
///     fn prepare<'a>(&'a self, tables: &'a Tables, need: Need) -> Answering<'a, Result<(), PrepareError>> {
///         self.inner.prepare(tables, need)
///     }
/// }
/// ```
pub trait Backend: fmt::Debug + Send + Sync {
    /// Carries a request out. A backend that has to wait gives up at the deadline.
    ///
    /// The embedded store begins when this is called and not when the answer is awaited: its writes happen in the
    /// order of the calls.
    fn execute(&self, request: Request, deadline: Instant) -> Answering<'_, Result<Answer, Error>>;

    /// Sees that the tables of a system can be used; a backend that makes its own tables makes them so. Items that
    /// Latchkey keeps for itself, and that an earlier document kept in another table, are brought over; a service does
    /// so unless the tables are only read.
    fn prepare<'a>(
        &'a self,
        tables: &'a Tables,
        need: Need,
    ) -> Answering<'a, Result<(), PrepareError>>;

    /// Whether a refused write that is answered with no item surely found none: the backend always tells the item that
    /// a condition was tested on. Of transactions every backend tells it.
    fn tells_absence(&self) -> bool {
        false
    }

    /// Whether all writers of its tables are in this process, so that calls that want one item can wait for each other.
    fn has_all_writers(&self) -> bool {
        false
    }

    /// How long after a write a read that is not strong, or one by an index, may still miss it. For so long nothing that
    /// was read is kept for other calls.
    fn lag(&self) -> Duration {
        LAG
    }

    /// Reads the next part of a table. Only upkeep and export ask for it.
    fn scan(&self, _: Scan, _: Instant) -> Answering<'_, Result<Scanned, Error>> {
        Answering::ready(Err(unable("scan a table")))
    }

    /// Writes items, no two of one key, in place of any that are there: at most
    /// [`BATCH_ITEMS_MAX`](crate::limits::BATCH_ITEMS_MAX). Only import asks for it.
    ///
    /// After an error any of the items may have been written. The leg of [`Error::Invalid`] is the item at fault,
    /// where the backend knows which.
    fn put_all<'a>(
        &'a self,
        _: &'a Arc<Schema>,
        _: Vec<Item>,
        _: Instant,
    ) -> Answering<'a, Result<(), Error>> {
        Answering::ready(Err(unable("write a batch of items")))
    }

    /// Fails with the reason while every write would be refused.
    fn takes_writes(&self) -> Result<(), ReadOnly> {
        Ok(())
    }

    /// What the backend knows of a table beside its items; nothing by default.
    fn about<'a>(&'a self, _: &'a Schema) -> Answering<'a, About> {
        Answering::ready(About::default())
    }
}

fn unable(what: &str) -> Error {
    Error::Unavailable { reason: format!("this backend does not {what}") }
}

impl dyn Backend + '_ {
    /// Carries a request out, and has the answer as the kind the request has.
    pub async fn ask<T>(
        &self,
        request: impl Into<Request> + Send,
        deadline: Instant,
    ) -> Result<T, Error>
    where
        T: TryFrom<Answer, Error = Error>,
    {
        T::try_from(self.execute(request.into(), deadline).await?)
    }
}

/// The tables of a system, and where the items are that Latchkey keeps for itself.
#[derive(Debug, Clone)]
pub struct Tables {
    /// The table of the items of the document.
    pub main: Arc<Schema>,
    /// The table of the items that Latchkey keeps for itself: the same, or a second one.
    pub own: Arc<Schema>,
    /// The table where a document with other keys or indexes may have kept them.
    pub before: Option<Arc<Schema>>,
    /// What the partitions of these items begin with.
    pub own_prefix: Text,
    /// Those of these partitions that can be named, and so be asked for on a service.
    pub own_partitions: Vec<Text>,
    /// The attributes of the items of the document, and what each is stored as. One of a key of an index has one type, also
    /// in an index that the document does not declare.
    pub stored: Vec<(Text, ValueType)>,
}

impl Tables {
    /// Each table once.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Schema>> {
        let apart = self.own.name != self.main.name;
        std::iter::once(&self.main).chain(apart.then_some(&self.own))
    }
}

/// What a table is prepared for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Reading all its items. The table must be there; indexes do not matter.
    Read,
    /// Reading and writing, by indexes too.
    Write,
    /// The same, with transactions.
    Transact,
}

/// Why a table cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The store refuses the table.
    #[error(transparent)]
    Store(#[from] Error),
    /// A service refuses it, or cannot be asked; its own error says what helps.
    #[error(transparent)]
    Service(Box<dyn StdError + Send + Sync>),
    /// The service has no transactions.
    #[error("this service has no transactions")]
    NoTransactions,
}

/// What a backend knows of a table beside its items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// What no other table is called, and not this one either once it was made anew; empty where the backend
    /// does not say.
    pub identity: String,
    /// How many items it has, or had some hours ago.
    pub items: Option<u64>,
}

/// An answer, at once or later. One that is there at once costs no allocation.
#[must_use = "nothing may be done before it is awaited"]
pub struct Answering<'a, T>(State<'a, T>);

enum State<'a, T> {
    Ready(Ready<T>),
    Waiting(Pin<Box<dyn Future<Output = T> + Send + 'a>>),
}

impl<'a, T> Answering<'a, T> {
    /// An answer that is there.
    pub fn ready(answer: T) -> Answering<'a, T> {
        Answering(State::Ready(ready(answer)))
    }

    /// An answer that is waited for.
    pub fn waiting(answer: impl Future<Output = T> + Send + 'a) -> Answering<'a, T> {
        Answering(State::Waiting(Box::pin(answer)))
    }
}

impl<T> Future for Answering<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match &mut self.0 {
            State::Ready(answer) => Pin::new(answer).poll(context),
            State::Waiting(answer) => answer.as_mut().poll(context),
        }
    }
}

impl<T> fmt::Debug for Answering<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            State::Ready(_) => "Answering::Ready",
            State::Waiting(_) => "Answering::Waiting",
        })
    }
}
