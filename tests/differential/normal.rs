//! Answers as they are compared, and what is overlooked in comparing them.
//!
//! Each thing overlooked is a function of its own, is named in `NAMES`, and stands with its reason in
//! `docs/differences.md`.

use latchkey_table::{Capacity, Error, Failed, Got, GotMany, Item, Page, Transacted, Wrote};

/// What is overlooked.
pub(crate) const NAMES: [&str; 4] = [
    "capacity_of_a_refused_transaction",
    "old_image_of_an_item_that_was_not_there",
    "empty_index_key_in_a_transaction",
    "words_of_a_refusal",
];

/// An answer to any request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Got(Got),
    GotMany(GotMany),
    Page(Page),
    Wrote(Wrote),
    Transacted(Transacted),
    /// The request is at fault.
    Invalid {
        leg: Option<usize>,
        reason: String,
    },
    Failed(Failed),
    Error(Error),
}

impl From<Got> for Answer {
    fn from(got: Got) -> Answer {
        Answer::Got(got)
    }
}

impl From<GotMany> for Answer {
    fn from(got: GotMany) -> Answer {
        Answer::GotMany(got)
    }
}

impl From<Page> for Answer {
    fn from(page: Page) -> Answer {
        Answer::Page(page)
    }
}

impl From<Wrote> for Answer {
    fn from(wrote: Wrote) -> Answer {
        Answer::Wrote(wrote)
    }
}

impl From<Transacted> for Answer {
    fn from(transacted: Transacted) -> Answer {
        Answer::Transacted(transacted)
    }
}

impl Answer {
    pub(crate) fn of<T: Into<Answer>>(answer: Result<T, Error>) -> Answer {
        match answer {
            Ok(answer) => answer.into(),
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
            Answer::Got(Got { item: None, .. }) => "nothing read",
            Answer::Got(_) => "read",
            Answer::GotMany(_) => "many read",
            Answer::Page(Page { resume: None, .. }) => "page",
            Answer::Page(_) => "cut page",
            Answer::Wrote(_) => "wrote",
            Answer::Transacted(_) => "transacted",
            Answer::Invalid { leg: None, .. } => "invalid",
            Answer::Invalid { leg: Some(_), .. } => "invalid leg",
            Answer::Failed(Failed { leg: 0, .. }) => "condition failed",
            Answer::Failed(_) => "condition of a leg failed",
            Answer::Error(_) => "error",
        }
    }
}

/// What matters of a request to what is overlooked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    Transaction,
    /// An update of the item of this key, asked for its old image.
    OldImage(Item),
    Other,
}

/// The two answers to one request, without what is overlooked.
pub(crate) fn normal(asked: &Asked, ours: Answer, theirs: Answer) -> (Answer, Answer) {
    let (ours, theirs) = match asked {
        Asked::Transaction => {
            let theirs = empty_index_key_in_a_transaction(&ours, theirs);
            (capacity_of_a_refused_transaction(ours), capacity_of_a_refused_transaction(theirs))
        }
        Asked::OldImage(key) => {
            let theirs = old_image_of_an_item_that_was_not_there(key, &ours, theirs);
            (ours, theirs)
        }
        Asked::Other => (ours, theirs),
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
fn old_image_of_an_item_that_was_not_there(key: &Item, ours: &Answer, theirs: Answer) -> Answer {
    match (ours, theirs) {
        (Answer::Wrote(Wrote { item: None, .. }), Answer::Wrote(wrote))
            if wrote.item.as_ref() == Some(key) =>
        {
            Answer::Wrote(Wrote { item: None, ..wrote })
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
