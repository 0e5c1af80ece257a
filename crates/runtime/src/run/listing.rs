//! What a list is read from: a range of a partition, or all of an index.

use latchkey_table::{IndexScan, Invalid, Item, Query, Request, Resume};

use crate::cursor::List;

/// A request for the next items of a list.
pub(super) trait Listing: Clone + Into<Request> + Send + Sync {
    /// How many items the next request reads at most.
    fn limit(&mut self, items: u32);
    /// Where the next request goes on.
    fn goes_on(&mut self, behind: Resume);
    /// Whether nothing can lie behind the place where it goes on.
    fn is_at_its_end(&self) -> bool;
    /// The place behind an item that was found.
    fn behind(&self, item: &Item) -> Result<Resume, Invalid>;
    /// What a cursor of the list is bound to.
    fn list(&self) -> List<'_>;
}

impl Listing for Query {
    fn limit(&mut self, items: u32) {
        self.limit = Some(items);
    }

    fn goes_on(&mut self, behind: Resume) {
        self.resume = Some(behind);
    }

    fn is_at_its_end(&self) -> bool {
        Query::is_at_its_end(self)
    }

    fn behind(&self, item: &Item) -> Result<Resume, Invalid> {
        Query::behind(self, item)
    }

    fn list(&self) -> List<'_> {
        List::Query(self)
    }
}

impl Listing for IndexScan {
    fn limit(&mut self, items: u32) {
        self.limit = Some(items);
    }

    fn goes_on(&mut self, behind: Resume) {
        self.resume = Some(behind);
    }

    // In an index there may be more items of the same key.
    fn is_at_its_end(&self) -> bool {
        false
    }

    fn behind(&self, item: &Item) -> Result<Resume, Invalid> {
        IndexScan::behind(self, item)
    }

    fn list(&self) -> List<'_> {
        List::Index(self)
    }
}
