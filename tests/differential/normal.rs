//! Answers as they are compared, and what is overlooked in comparing them.
//!
//! Each thing overlooked is a function of its own, is named in `NAMES`, and stands with its reason in
//! `docs/differences.md`.

use latchkey_table::{
    self as table, Capacity, Error, Failed, Got, Item, Key, Page, Request, Returning, Update, Wrote,
};

/// What is overlooked.
pub(crate) const NAMES: [&str; 4] = [
    "capacity_of_a_refused_transaction",
    "old_image_of_an_item_that_was_not_there",
    "empty_index_key_in_a_transaction",
    "words_of_a_refusal",
];

/// What became of any request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Ok(table::Answer),
    /// The request is at fault.
    Invalid {
        leg: Option<usize>,
        reason: String,
    },
    Failed(Failed),
    Error(Error),
}

impl Answer {
    pub(crate) fn of(answer: Result<table::Answer, Error>) -> Answer {
        match answer {
            Ok(answer) => Answer::Ok(answer),
            Err(Error::Invalid { leg, reason }) => {
                Answer::Invalid { leg, reason: reason.to_string() }
            }
            Err(Error::ConditionFailed(failed)) => Answer::Failed(*failed),
            Err(error) => Answer::Error(error),
        }
    }

    /// What kind it is, to count.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Answer::Ok(table::Answer::Got(Got { item: None, .. })) => "nothing read",
            Answer::Ok(table::Answer::Got(_)) => "read",
            Answer::Ok(table::Answer::GotMany(_)) => "many read",
            Answer::Ok(table::Answer::Page(Page { resume: None, .. })) => "page",
            Answer::Ok(table::Answer::Page(_)) => "cut page",
            Answer::Ok(table::Answer::Wrote(_)) => "wrote",
            Answer::Ok(table::Answer::Transacted(_)) => "transacted",
            Answer::Invalid { leg: None, .. } => "invalid",
            Answer::Invalid { leg: Some(_), .. } => "invalid leg",
            Answer::Failed(Failed { leg: 0, .. }) => "condition failed",
            Answer::Failed(_) => "condition of a leg failed",
            Answer::Error(_) => "error",
        }
    }
}

/// The two answers to one request, without what is overlooked.
pub(crate) fn normal(request: &Request, ours: Answer, theirs: Answer) -> (Answer, Answer) {
    let (ours, theirs) = match request {
        Request::Transact(_) => {
            let theirs = empty_index_key_in_a_transaction(&ours, theirs);
            (capacity_of_a_refused_transaction(ours), capacity_of_a_refused_transaction(theirs))
        }
        Request::Update(Update { key, .. }, Returning::Old) => {
            let theirs = old_image_of_an_item_that_was_not_there(key, &ours, theirs);
            (ours, theirs)
        }
        _ => (ours, theirs),
    };
    (words_of_a_refusal(ours), words_of_a_refusal(theirs))
}

/// Each says in its own words what is wrong with a request.
fn words_of_a_refusal(answer: Answer) -> Answer {
    match answer {
        Answer::Invalid { leg, .. } => Answer::Invalid { leg, reason: String::new() },
        answer => answer,
    }
}

/// A transaction that would leave an index key empty is refused as a whole, whatever other legs meet.
fn empty_index_key_in_a_transaction(ours: &Answer, theirs: Answer) -> Answer {
    let whole = match &theirs {
        Answer::Invalid { leg: None, reason } => {
            reason.contains("update a secondary index key") && reason.contains("empty")
        }
        _ => false,
    };
    match ours {
        Answer::Invalid { .. } | Answer::Failed(_) if whole => ours.clone(),
        _ => theirs,
    }
}

/// dynoxide takes an item that an update has made for one that had its key before.
fn old_image_of_an_item_that_was_not_there(key: &Key, ours: &Answer, theirs: Answer) -> Answer {
    let key = Item::from([("PK", key.partition.as_str()), ("SK", key.sort.as_str())]);
    match (ours, theirs) {
        (
            Answer::Ok(table::Answer::Wrote(Wrote { item: None, .. })),
            Answer::Ok(table::Answer::Wrote(wrote)),
        ) if wrote.item.as_ref() == Some(&key) => {
            Answer::Ok(table::Answer::Wrote(Wrote { item: None, ..wrote }))
        }
        (_, theirs) => theirs,
    }
}

/// DynamoDB does not say what a transaction consumed that it cancelled.
fn capacity_of_a_refused_transaction(answer: Answer) -> Answer {
    match answer {
        Answer::Failed(failed) => Answer::Failed(Failed { capacity: Capacity::ZERO, ..failed }),
        answer => answer,
    }
}
