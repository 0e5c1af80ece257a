//! The rules, by name.

use std::fmt;

use crate::Level;

macro_rules! rules {
    ($($(#[$doc:meta])+ $name:ident = $slug:literal $(($level:ident))?;)+) => {
        /// A rule, in the order of the slugs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $($(#[$doc])+ $name,)+
        }

        impl Rule {
            /// Every rule, in order.
            pub const ALL: &[Rule] = &[$(Rule::$name,)+];

            /// Its name in diagnostics, in waivers and in `docs/rules`.
            pub fn slug(self) -> &'static str {
                match self {
                    $(Rule::$name => $slug,)+
                }
            }

            /// Whether a document that breaks the rule is refused.
            pub fn level(self) -> Level {
                match self {
                    $(Rule::$name => level!($($level)?),)+
                }
            }
        }
    };
}

/// A rule is an error unless it says otherwise.
macro_rules! level {
    () => {
        Level::Error
    };
    ($level:ident) => {
        Level::$level
    };
}

rules! {
    /// A value that may be absent is used.
    Absent = "absent";
    /// A put that does not say what becomes of an item that is there.
    BlindPut = "blind-put";
    /// A contract that states less than its most expensive way costs.
    Cost = "cost";
    /// A call that counts, and counts again when it is repeated.
    Drift = "drift" (Warning);
    /// A write that is tried again, and fails again.
    EndlessRetry = "endless-retry" (Warning);
    /// A caller can give a right that the caller does not have.
    Escalation = "escalation" (Warning);
    /// A decision on a read that may be out of date.
    EventualDecision = "eventual-decision";
    /// An example that does not hold.
    Example = "example";
    /// A query condition on anything but its keys.
    Filter = "filter";
    /// An item that is not tied to what `allow` tested.
    ForeignAllow = "foreign-allow";
    /// A query whose range meets the keys of another entity, or none of its own.
    ForeignItems = "foreign-items";
    /// A part of a key whose value could end it and begin the next.
    ForgedKey = "forged-key";
    /// A refusal or a retry after a write that stays.
    HalfDone = "half-done";
    /// A constant partition key, or a rate that one partition cannot keep up with.
    HotPartition = "hot-partition";
    /// A write of a status from which that move is not declared.
    IllegalMove = "illegal-move";
    /// An example that no stored item makes true.
    ImpossibleExample = "impossible-example" (Warning);
    /// Items or messages that can be larger than their store takes.
    ItemSize = "item-size";
    /// A part of a sort key that does not sort as its value does.
    KeyOrder = "key-order";
    /// An item is deleted, and what lies under its id stays for the next item with that id.
    LeftBehind = "left-behind" (Warning);
    /// A copied attribute that nothing keeps up to date.
    LooseCopy = "loose-copy" (Warning);
    /// A status or a code that says something else than what happened.
    Misleading = "misleading" (Warning);
    /// A write that leaves a counter as it was.
    MissingBump = "missing-bump";
    /// A write that may move an item within an index that does not say so.
    MovingIndexKey = "moving-index-key";
    /// A name that means nothing, or two things.
    Name = "name";
    /// A test that cannot hold or always does, or a statement that no way leads to.
    Never = "never";
    /// An index in which no item ever is.
    NeverListed = "never-listed" (Warning);
    /// Something that is read or declared, and that no write can store.
    NeverWritten = "never-written" (Warning);
    /// A way to a write or an answer that no `allow` stands before.
    NoAllow = "no-allow";
    /// A write of something that may run twice, and that does more the second time.
    NotIdempotent = "not-idempotent";
    /// A total over a part of the items, taken for all of them.
    PartialList = "partial-list" (Warning);
    /// A document that passed the check and cannot be planned: a bug of Latchkey.
    Plan = "plan";
    /// A decision by the number of items of which only a part was read.
    RangeAsCount = "range-as-count";
    /// Two contracts that can match one request.
    RouteClash = "route-clash";
    /// A read without a fixed partition key.
    Scan = "scan";
    /// Two entities whose items can have one key.
    SharedKey = "shared-key";
    /// An answer that no order of the calls would give.
    StaleAnswer = "stale-answer" (Warning);
    /// A change of a copied attribute that leaves a view behind.
    StaleCopy = "stale-copy";
    /// Text that is no contract at all.
    Syntax = "syntax";
    /// Numbers that count items by their status, and a change of status that they miss.
    Tally = "tally" (Warning);
    /// Too many legs, or two that may hit one item.
    Transaction = "transaction";
    /// A value of another type than is expected.
    Type = "type";
    /// A query without a bound.
    Unbounded = "unbounded";
    /// A contract that does not state what is expected of it.
    Undeclared = "undeclared";
    /// A write that does not do what all others like it do.
    Uneven = "uneven" (Warning);
    /// A change that a contract speaks of and does not make.
    Unmade = "unmade" (Warning);
    /// A failure with no answer.
    UnmappedFailure = "unmapped-failure";
    /// A write that rests on a fact which may have changed since it was read.
    Unpinned = "unpinned";
    /// An item that keeps a value unique, and stays when its owner gives the value up.
    Unreleased = "unreleased" (Warning);
    /// Something that nothing uses.
    Unused = "unused" (Warning);
    /// A waiver that excuses nothing.
    Waive = "waive";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug())
    }
}

#[cfg(test)]
mod tests {
    use super::Rule;

    #[test]
    fn rules_are_in_the_order_of_their_slugs() {
        assert!(Rule::ALL.is_sorted_by_key(|rule| rule.slug()));
        assert!(Rule::ALL.is_sorted());
    }
}
