//! What a backend may lack of what DynamoDB does.

/// Something DynamoDB does, and a service that speaks its protocol may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capability {
    /// What a request consumes is counted.
    Capacity,
    /// A query reads 1 MB at once; else all there is.
    ReadsOf1Mb,
    /// A table is made before it is used.
    Tables,
    /// A query of the table goes on behind the last key of its range, where nothing is; else it is refused.
    PlaceAtTheEnd,
    /// Items of one key may be in several tables; else all tables are one, but for their indexes.
    TablesApart,
    /// Transactions of up to 100 legs; else of 10.
    ManyLegs,
    /// A single write that is refused answers with the item it was refused for.
    ItemOfARefusedWrite,
    /// Consumed capacity counts twice for a transaction that writes.
    TransactionCapacity,
    /// A key of a batch that has no item consumes as a small item does; else nothing.
    CapacityOfNothingInABatch,
    /// An update that makes an item answers with no old image; else with its key.
    NoImageOfAnItemThatWasNotThere,
    /// An update is held to the type of an index's key.
    IndexKeyTypes,
    /// An update is held to the length of an index's key.
    IndexKeyBytes,
    /// A text or bytes may be empty, be it in a set, where they are no key.
    EmptyTexts,
    /// A leg that cannot be applied is told by its place; else the transaction is refused as a whole.
    LegThatCannotBeApplied,
}

/// AWS's own, of 2019: the newest there is in a registry.
pub(crate) const DYNAMODB_LOCAL_LACKS: &[Capability] = &[
    Capability::PlaceAtTheEnd,
    Capability::ManyLegs,
    Capability::ItemOfARefusedWrite,
    Capability::TransactionCapacity,
    Capability::CapacityOfNothingInABatch,
    Capability::IndexKeyTypes,
    Capability::IndexKeyBytes,
    Capability::EmptyTexts,
    Capability::LegThatCannotBeApplied,
];

/// dynoxide-rs 3.2.
pub(crate) const DYNOXIDE_LACKS: &[Capability] =
    &[Capability::NoImageOfAnItemThatWasNotThere, Capability::IndexKeyBytes];

/// The table of the race search, which costs nothing and is there as soon as it is asked for.
pub(crate) const MEMORY_LACKS: &[Capability] = &[
    Capability::Capacity,
    Capability::ReadsOf1Mb,
    Capability::Tables,
    Capability::TablesApart,
    // The item is told, what the refusal consumed is not.
    Capability::ItemOfARefusedWrite,
    Capability::TransactionCapacity,
    Capability::CapacityOfNothingInABatch,
];
